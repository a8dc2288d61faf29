/* SPDX-License-Identifier: MIT */
/* Weights of recurrent cells, in the order in which their kernels read them. */
#include "kernels/cell.h"

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
    return kern_cell_seq_columns(c) * (c->inputs + c->hidden);
}

size_t kern_cell_seq_work_floats(const struct kern_cell_seq *c)
{
    return 4 * c->groups * KERN_LANES;
}

/* Gates first .. first+n-1 of the groups from place q on: terms in order, in each groups, gates and
 * lanes. */
static float *terms_pack(const struct kern_cell_seq *c, float *ret, const float *w, size_t terms,
                         size_t q, size_t groups, size_t first, size_t n)
{
    for (size_t k = 0; k < terms; k++)
        for (size_t i = 0; i < groups * n; i++)
            for (size_t lane = 0; lane < KERN_LANES; lane++) {
                size_t u = kern_cell_group(n, c->groups, q + i / n) * KERN_LANES + lane,
                       g = first + i % n;
                *ret++ = u < c->hidden ? w[(g * c->hidden + u) * terms + k] : 0;
            }
    return ret;
}

/* Blocks of groups, in each the inputs and the states. */
static float *gates_pack(const struct kern_cell_seq *c, float *ret, const float *w, const float *r,
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

void kern_cell_seq_pack_f32(const struct kern_cell_seq *c, float *ret, const float *w,
                            const float *r)
{
    size_t gates = kern_cell_gates(c->kind), joint = c->kind == KERN_CELL_GRU_LATE ? 2 : gates;
    ret = gates_pack(c, ret, w, r, 0, joint);
    if (joint < gates)
        gates_pack(c, ret, w, r, joint, gates - joint);
}

void kern_cell_seq_inputs_pack_f32(const struct kern_cell_seq *c, float *ret_w, float *ret_bias,
                                   const float *w, const float *bias, size_t inputs)
{
    size_t gates = kern_cell_gates(c->kind);
    for (size_t p = 0; p < c->groups * gates; p++)
        for (size_t lane = 0; lane < KERN_LANES; lane++) {
            size_t u = p / gates * KERN_LANES + lane, row = p % gates * c->hidden + u;
            bool used = u < c->hidden;
            ret_bias[p * KERN_LANES + lane] = used ? bias[row] : 0;
            for (size_t k = 0; ret_w && k < inputs; k++)
                ret_w[(p * inputs + k) * KERN_LANES + lane] = used ? w[row * inputs + k] : 0;
        }
}
