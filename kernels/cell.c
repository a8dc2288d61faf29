/* SPDX-License-Identifier: MIT */
/* Weights of recurrent cells, in the order in which their kernels read them. */
#include "kernels/cell.h"

#include <math.h>
#include <string.h>

size_t kern_cell_gates(enum kern_cell_kind kind)
{
    return kind == KERN_CELL_RNN ? 1 : kind == KERN_CELL_LSTM ? 4 : 3;
}

static size_t cell_gates(const struct kern_cell *c)
{
    return kern_cell_gates(c->kind);
}

void kern_cell_set(struct kern_cell *c)
{
    c->width = c->hidden <= 4 ? 4 : c->hidden <= 8 ? 8 : 16;
}

size_t kern_cell_sets(const struct kern_cell *c)
{
    return c->width == KERN_LANES ? c->dirs : 1;
}

/* Four vectors of biases, then a vector per input and gate, then per unit and gate. */
size_t kern_cell_floats(const struct kern_cell *c)
{
    return (4 + (c->inputs + c->hidden) * cell_gates(c)) * KERN_LANES;
}

void kern_cell_pack_f32(const struct kern_cell *c, float *ret, size_t d, const float *w,
                        const float *r, const float *bias, const float *bias_rn)
{
    size_t gates = cell_gates(c), sets = kern_cell_sets(c);
    float *b = ret + d % sets * kern_cell_floats(c), *pw = b + 4 * KERN_LANES,
          *pr = pw + c->inputs * gates * KERN_LANES;
    for (size_t lane = 0; lane < KERN_LANES; lane++) {
        size_t u = lane % c->width;
        bool used = u < c->hidden;
        if (sets == 1 && lane / c->width % c->dirs != d)
            continue;
        for (size_t g = 0; g < 4; g++) {
            float own = c->kind == KERN_CELL_GRU && g == gates && used ? bias_rn[u] : 0;
            b[g * KERN_LANES + lane] = g < gates && used ? bias[g * c->hidden + u] : own;
        }
        for (size_t g = 0; g < gates; g++) {
            for (size_t k = 0; k < c->inputs; k++)
                pw[(k * gates + g) * KERN_LANES + lane] =
                    used ? w[(g * c->hidden + u) * c->inputs + k] : 0;
            for (size_t k = 0; k < c->hidden; k++)
                pr[(k * gates + g) * KERN_LANES + lane] =
                    used ? r[(g * c->hidden + u) * c->hidden + k] : 0;
        }
    }
}

/* ---- cells of any size ---- */

size_t kern_cell_seq_columns(const struct kern_cell_seq *c)
{
    return c->groups * kern_cell_gates(c->kind) * KERN_LANES;
}

size_t kern_cell_seq_floats(const struct kern_cell_seq *c)
{
    return c->groups * kern_cell_gates(c->kind) *
        (kern_cell_seq_panel_floats(c, c->inputs) + kern_cell_seq_panel_floats(c, c->hidden));
}

size_t kern_cell_seq_work_floats(const struct kern_cell_seq *c)
{
    const size_t pad = c->groups * KERN_LANES,
                 inputs = kern_cell_seq_slots(c) * kern_cell_seq_inputs_room(c);
    if (!kern_cell_is_whole(c))
        return 4 * pad;
    const size_t sums = c->ahead * kern_cell_seq_columns(c);
    return 4 * pad + kern_cell_seq_units_room(c) + (1 + 2 * kern_cell_seq_slots(c)) * KERN_LANES +
        (pad + 2 * inputs) / 2 + 2 * sums;
}

/* Of gate g and unit u in the order of the projection. */
static size_t column_of(const struct kern_cell_seq *c, size_t g, size_t u)
{
    return (u / KERN_LANES * kern_cell_gates(c->kind) + g) * KERN_LANES + u % KERN_LANES;
}

static float column_most(const float *w, size_t terms, float most)
{
    for (size_t k = 0; k < terms; k++)
        most = fmaxf(most, fabsf(w[k]));
    return most;
}

#define SCALE_LEAST -32 /* weights below 2^(SCALE_LEAST - 16) are zero */

void kern_cell_seq_scale(const struct kern_cell_seq *c, float *ret_scale, const float *w,
                         const float *r, size_t inputs)
{
    size_t rows = kern_cell_gates(c->kind) * c->hidden;
    for (size_t i = 0; i < kern_cell_seq_columns(c); i++)
        ret_scale[i] = 1;
    for (size_t i = 0; i < rows; i++) {
        int most;
        float a = column_most(r + i * c->hidden, c->hidden, column_most(w + i * inputs, inputs, 0));
        most = frexpf(a, &most) * 32768 > 32767 ? most + 1 : most;
        most = a > 0 && most > SCALE_LEAST ? most : SCALE_LEAST;
        ret_scale[column_of(c, i / c->hidden, i % c->hidden)] = ldexpf(1, most - 31);
    }
}

static long nearest_i16(double a)
{
    long n = lrint(a);
    return n > INT16_MAX ? INT16_MAX : n < INT16_MIN ? INT16_MIN : n;
}

/* Of the next weights of n. The first one counts what the second adds to it. */
static uint32_t word_of(const float *w, size_t n, float scale)
{
    uint16_t second = n > 1 ? (uint16_t) nearest_i16((double) w[1] / scale / 65536) : 0;
    uint16_t first = (uint16_t) nearest_i16(((double) w[0] / scale - second) / 65536);
    return (uint32_t) first << 16 | second;
}

/* What the kernels make of weight k of a column's n: a whole number. */
static float whole_of(const float *w, size_t k, size_t n, float scale)
{
    size_t pair = k & ~(size_t) 1;
    return (float) (int32_t) (word_of(w + pair, n - pair, scale) << (k - pair) * 16);
}

/* As r has it: term `at` of the weights from w on of a column, of which n are left: a weight, or
 * two. Returns where the next one goes. */
static char *term_put(const struct kern_cell_seq *c, char *ret, const void *w, size_t at, size_t n,
                      size_t column)
{
    if (c->weights == KERN_CELL_I8_WIDE) {
        const signed char *bytes = (const signed char *) w + at;
        const int16_t two[2] = { bytes[0], n > 1 ? bytes[1] : 0 };
        memcpy(ret, two, sizeof two);
        return ret + sizeof two;
    }
    const float *from = (const float *) w + at;
    uint32_t word;
    if (c->weights == KERN_CELL_I16)
        word = word_of(from, n, c->scale[column]);
    else
        memcpy(&word, from, sizeof word);
    memcpy(ret, &word, sizeof word);
    return ret + sizeof word;
}

/* A lane's next weights from w on of n, in a panel of bytes (struct kern_cell_sums). */
static void bytes_put(char *panel, size_t lane, const char *w, size_t n)
{
    char *at = panel + lane % 8 * 4 + lane / 8;
    const int more = lane < 8 ? 128 : 0;
    at[0] = (char) (w[0] + more);
    at[2] = (char) ((n > 1 ? w[1] : 0) + more);
}

/* Gate g of 16 units, weights from term `at` on. Returns where the next panel goes. */
static char *panel_put(const struct kern_cell_seq *c, char *ret, const void *w, size_t at,
                       size_t terms, size_t first_unit, size_t g)
{
    static const float zeros[2];
    for (size_t lane = 0; lane < KERN_LANES; lane++) {
        const size_t u = first_unit + lane, from = (g * c->hidden + u) * terms + at;
        const bool there = u < c->hidden;
        if (c->weights == KERN_CELL_I8)
            bytes_put(ret, lane, there ? (const char *) w + from : (const char *) zeros,
                      there ? terms - at : 1);
        else
            ret = there ? term_put(c, ret, w, from, terms - at, column_of(c, g, u))
                        : term_put(c, ret, zeros, 0, 1, 0);
    }
    return c->weights == KERN_CELL_I8 ? ret + 2 * KERN_LANES : ret;
}

/* Gates first .. first+n-1 of the groups from place q on: terms in order, in each groups, gates and
 * lanes. */
static char *terms_pack(const struct kern_cell_seq *c, char *ret, const void *w, size_t terms,
                        size_t q, size_t groups, size_t first, size_t n)
{
    for (size_t k = 0; k < terms; k += c->weights == KERN_CELL_F32 ? 1 : 2)
        for (size_t i = 0; i < groups * n; i++)
            ret = panel_put(c, ret, w, k, terms,
                            kern_cell_group(n, c->groups, q + i / n) * KERN_LANES, first + i % n);
    return ret;
}

/* Blocks of groups, in each the inputs and the states. */
static char *gates_pack(const struct kern_cell_seq *c, char *ret, const void *w, const void *r,
                        size_t first, size_t n)
{
    size_t most = kern_cell_block(n), block;
    for (size_t q = 0; q < c->groups; q += block) {
        block = c->groups - q < most ? c->groups - q : most;
        ret = terms_pack(c, ret, w, c->inputs, q, block, first, n);
        ret = terms_pack(c, ret, r, c->hidden, q, block, first, n);
    }
    return ret;
}

void kern_cell_seq_pack(const struct kern_cell_seq *c, float *ret, const void *w, const void *r)
{
    size_t gates = kern_cell_gates(c->kind),
           joint = c->kind == KERN_CELL_GRU_RESET_BEFORE ? 2 : gates;
    char *to = gates_pack(c, (char *) ret, w, r, 0, joint);
    if (joint < gates)
        gates_pack(c, to, w, r, joint, gates - joint);
}

void kern_cell_seq_inputs_pack_f32(const struct kern_cell_seq *c, float *ret, const float *w,
                                   size_t inputs)
{
    size_t gates = kern_cell_gates(c->kind);
    for (size_t p = 0; p < c->groups * gates; p++)
        for (size_t lane = 0; lane < KERN_LANES; lane++) {
            size_t u = p / gates * KERN_LANES + lane, row = p % gates * c->hidden + u;
            float scale = c->weights == KERN_CELL_I16 ? c->scale[p * KERN_LANES + lane] : 1;
            const float *from = w + row * inputs;
            for (size_t k = 0; k < inputs; k++)
                ret[(p * inputs + k) * KERN_LANES + lane] = u >= c->hidden ? 0
                    : c->weights == KERN_CELL_I16 ? whole_of(from, k, inputs, scale)
                                                  : from[k];
        }
}

/* Over `by`, or not where that is NULL. */
static void columns_pack(const struct kern_cell_seq *c, float *ret, const float *v, const float *by)
{
    size_t gates = kern_cell_gates(c->kind);
    for (size_t i = 0; i < kern_cell_seq_columns(c); i++) {
        size_t p = i / KERN_LANES, u = p / gates * KERN_LANES + i % KERN_LANES;
        ret[i] = u < c->hidden ? v[p % gates * c->hidden + u] / (by ? by[i] : 1) : 0;
    }
}

void kern_cell_seq_columns_pack_f32(const struct kern_cell_seq *c, float *ret, const float *v)
{
    columns_pack(c, ret, v, NULL);
}

void kern_cell_seq_bias_pack_f32(const struct kern_cell_seq *c, float *ret, const float *bias)
{
    columns_pack(c, ret, bias, c->weights == KERN_CELL_I16 ? c->scale : NULL);
}

void kern_cell_seq_bias_rn_pack_f32(const struct kern_cell_seq *c, float *ret, const float *bias_rn)
{
    for (size_t u = 0; u < c->groups * KERN_LANES; u++) {
        bool divided = c->weights == KERN_CELL_I16 && c->kind == KERN_CELL_GRU;
        float scale = divided ? c->scale[column_of(c, 2, u)] : 1;
        ret[u] = u < c->hidden ? bias_rn[u] / scale : 0;
    }
}
