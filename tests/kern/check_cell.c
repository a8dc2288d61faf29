/* SPDX-License-Identifier: MIT */
/* Recurrent cells against their equations, spelled out over the kernels of single operations. */
#include "tests/kern/check.h"
#include "kernels/cell.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define ROWS_MOST 9
#define UNITS_MOST 80

static const struct {
    const char *name;
    size_t gates;
} kinds[] = { [KERN_CELL_RNN] = { "rnn", 1 },
              [KERN_CELL_GRU] = { "gru", 3 },
              [KERN_CELL_GRU_RESET_BEFORE] = { "gru reset before", 3 },
              [KERN_CELL_LSTM] = { "lstm", 4 } };

struct cell {
    struct kern_cell c;
    size_t rows, steps;
    bool equal;                                /* all inputs are one number */
    float *w[2], *r[2], *bias[2], *bias_rn[2]; /* of each direction, as a file has them */
    /* those of which weights of 16 bits are made; w and r: their values */
    float *fine_w, *fine_r;
    /* weights of 8 bits, and a scale for each row */
    int8_t *bytes_w, *bytes_r;
    float *scale_w, *scale_r;
    float *x, *y, *h, *s; /* [rows][steps][inputs], [rows][steps][hidden], [rows][hidden] */
    const struct kern *kern;
    struct kern_cell_row row[ROWS_MOST * 8];
};

/* One chain: from `a` on over the rows of w and x. */
static float chain(float a, const float *w, const float *x, size_t n)
{
    for (size_t i = 0; i < n; i++)
        a = fmaf(w[i], x[i], a);
    return a;
}

/* Bytes times x in whole numbers of 16 bits, and what one of those is. */
static float whole_sum(const int8_t *w, const float *x, size_t n)
{
    const float most = n < 512 ? 32767 : (float) (16777215 / n);
    float top = 0;
    int64_t sum = 0;
    for (size_t i = 0; i < n; i++)
        top = fmaxf(top, fabsf(x[i]));
    for (size_t i = 0; i < n; i++)
        sum += w[i] * (int64_t) rintf(x[i] * (top > 1e-30f ? most / top : 0));
    return (float) sum * (top / most);
}

/* a and what those whole numbers leave of x, where more than an eighth of what is not 0 is below a
 * 64th of the largest. */
static float rest_sum(float a, const int8_t *w, const float *x, size_t n)
{
    const float most = n < 512 ? 32767 : (float) (16777215 / n);
    float top = 0;
    int64_t sum = 0;
    size_t few = 0, many = 0;
    for (size_t i = 0; i < n; i++)
        top = fmaxf(top, fabsf(x[i]));
    const float unit = top / most;
    if (!(unit > 1e-30f))
        return a;
    for (size_t i = 0; i < n; i++) {
        const float whole = rintf(x[i] * (most / top));
        many += x[i] != 0;
        few += x[i] != 0 && !(fabsf(x[i]) * (64 / (unit * most)) > 1);
        sum += w[i] * (int64_t) rintf(fmaf(whole, -unit, x[i]) * (most / unit));
    }
    return few * 8 > many ? fmaf((float) sum, unit / most, a) : a;
}

/* Row `row` of direction d over its inputs, from the bias on. */
static float inputs_sum(const struct cell *q, size_t d, size_t row, const float *x)
{
    const size_t in = q->c.inputs;
    const float bias = q->bias[d][row];
    const int8_t *w = q->bytes_w ? q->bytes_w + row * in : NULL;
    return w ? fmaf(rest_sum(whole_sum(w, x, in), w, x, in), q->scale_w[row], bias)
             : chain(bias, q->w[d] + row * in, x, in);
}

/* Row `row` of direction d over states, from `a` on. */
static float states_sum(const struct cell *q, size_t d, size_t row, float a, const float *h)
{
    const size_t n = q->c.hidden;
    return q->bytes_r ? fmaf(whole_sum(q->bytes_r + row * n, h, n), q->scale_r[row], a)
                      : chain(a, q->r[d] + row * n, h, n);
}

static float one(void (*f)(float *, const float *, size_t), float x)
{
    f(&x, &x, 1);
    return x;
}

static void step(const struct check *t, const struct cell *q, size_t d, const float *x, float *h,
                 float *s)
{
    const struct kern *k = &t->ref;
    size_t n = q->c.hidden;
    float a[4][UNITS_MOST], rh[UNITS_MOST], next[UNITS_MOST];
    for (size_t g = 0; g < kinds[q->c.kind].gates; g++)
        for (size_t u = 0; u < n; u++) {
            size_t row = g * n + u;
            bool apart = g == 2 && q->c.kind != KERN_CELL_LSTM;
            a[g][u] = inputs_sum(q, d, row, x);
            a[g][u] = apart ? a[g][u] : states_sum(q, d, row, a[g][u], h);
        }
    for (size_t u = 0; u < n && q->c.kind != KERN_CELL_LSTM && q->c.kind != KERN_CELL_RNN; u++) {
        a[1][u] = one(k->sigmoid_f32, a[1][u]);
        rh[u] = a[1][u] * h[u];
    }
    for (size_t u = 0; u < n; u++) {
        const size_t row = 2 * n + u; /* the candidate's */
        switch (q->c.kind) {
        case KERN_CELL_RNN: next[u] = one(k->tanh_f32, a[0][u]); break;
        case KERN_CELL_GRU:
        case KERN_CELL_GRU_RESET_BEFORE: {
            float own = q->c.kind == KERN_CELL_GRU
                ? states_sum(q, d, row, q->bias_rn[d][u], h) * a[1][u]
                : 0;
            float c =
                q->c.kind == KERN_CELL_GRU ? a[2][u] + own : states_sum(q, d, row, a[2][u], rh);
            float z = one(k->sigmoid_f32, a[0][u]), zh = z * h[u],
                  zc = (1 - z) * one(k->tanh_f32, c);
            next[u] = zc + zh;
            break;
        }
        case KERN_CELL_LSTM: {
            float old = one(k->sigmoid_f32, a[2][u]) * s[u],
                  new = one(k->sigmoid_f32, a[0][u]) * one(k->tanh_f32, a[3][u]);
            s[u] = old + new;
            next[u] = one(k->sigmoid_f32, a[1][u]) * one(k->tanh_f32, s[u]);
        }
        }
    }
    memcpy(h, next, n * sizeof *h);
}

static float *filled(struct check *t, size_t n, bool low)
{
    float *p = check_buf(t, n, low);
    check_fill(t, p, n);
    return p;
}

static void cell_make(struct check *t, struct cell *q, bool low)
{
    struct kern_cell *c = &q->c;
    size_t n = kinds[c->kind].gates * c->hidden;
    kern_cell_set(c);
    bool small = c->hidden <= KERN_CELL_SMALL;
    float *to = small ? check_buf(t, kern_cell_floats(c) * kern_cell_sets(c), false) : NULL;
    check_fill_bits(t, to, small ? kern_cell_floats(c) * kern_cell_sets(c) : 0);
    float *all = filled(t, 2 * n * (c->inputs + c->hidden + 1) + 2 * c->hidden, low);
    for (size_t d = 0; d < c->dirs; d++) {
        q->w[d] = all + d * n * c->inputs;
        q->r[d] = all + 2 * n * c->inputs + d * n * c->hidden;
        q->bias[d] = all + 2 * n * (c->inputs + c->hidden) + d * n;
        q->bias_rn[d] = all + 2 * n * (c->inputs + c->hidden + 1) + d * c->hidden;
        if (small)
            kern_cell_pack_f32(c, to, d, q->w[d], q->r[d], q->bias[d], q->bias_rn[d]);
    }
    c->weights = to;
    q->x = filled(t, q->rows * q->steps * c->inputs, low);
    for (size_t i = 0; i < q->rows * q->steps; i++) /* one large among the others, in some steps */
        q->x[i * c->inputs + i % c->inputs] *= check_bits(t) % 4 ? 1 : 5000;
    q->y = filled(t, q->rows * q->steps * c->hidden, low);
    q->h = filled(t, q->rows * c->hidden, low);
    q->s = filled(t, q->rows * c->hidden, low);
    for (size_t i = 0; i < q->rows; i++) {
        bool back = i % c->dirs;
        size_t first = back ? q->steps - 1 : 0;
        ptrdiff_t in = (ptrdiff_t) c->inputs, out = (ptrdiff_t) c->hidden;
        q->row[i] = (struct kern_cell_row) { .x = q->x + (i * q->steps + first) * c->inputs,
                                             .y = q->y + (i * q->steps + first) * c->hidden,
                                             .x_step = back ? -in : in,
                                             .y_step = back ? -out : out,
                                             .h_from = q->h + i * c->hidden,
                                             .c_from = q->s + i * c->hidden,
                                             .h = q->h + i * c->hidden,
                                             .c = q->s + i * c->hidden };
    }
}

/* Runs the cell's equations over all rows and steps: y, last h and last c. */
static void want_make(const struct check *t, const struct cell *q, float *y, float *h, float *s)
{
    size_t n = q->c.hidden, each = q->steps * n;
    memcpy(h, q->h, q->rows * n * sizeof *h);
    memcpy(s, q->s, q->rows * n * sizeof *s);
    for (size_t i = 0; i < q->rows; i++)
        for (size_t k = 0; k < q->steps; k++) {
            size_t at = i % q->c.dirs ? q->steps - 1 - k : k;
            step(t, q, i % q->c.dirs, q->x + (i * q->steps + at) * q->c.inputs, h + i * n,
                 s + i * n);
            memcpy(y + i * each + at * n, h + i * n, n * sizeof *y);
        }
}

/* ---- weights of 16 bits ---- */

static double nearest(double a)
{
    return fmax(-32768, fmin(32767, rint(a)));
}

/* From w to ret: each second weight is a whole number of units; each first one is so many and as
 * many 65536ths as the second one has units, modulo 65536. Both are as near as that can be. */
static bool column_round(float *ret, const float *w, size_t n, double unit)
{
    bool near = true;
    for (size_t k = 0; k < n; k += 2) {
        double second = k + 1 < n ? nearest(w[k + 1] / unit) : 0;
        double part = (second < 0 ? second + 65536 : second) / 65536;
        double first = (float) (nearest(w[k] / unit - part) + part);
        near = near && fabs(first * unit - w[k]) <= unit;
        ret[k] = (float) (first * unit);
        if (k + 1 < n) {
            near = near && fabs(second * unit - w[k + 1]) <= unit / 2;
            ret[k + 1] = (float) (second * unit);
        }
    }
    return near;
}

/* Weights of many magnitudes, and the values that 16 bits give them. */
static void cell_narrow(struct check *t, struct cell *q, bool low)
{
    size_t in = q->c.inputs, n = q->c.hidden, rows = kinds[q->c.kind].gates * n;
    bool near = true;
    q->fine_w = q->w[0];
    q->fine_r = q->r[0];
    q->w[0] = check_buf(t, rows * (in + n), low);
    q->r[0] = q->w[0] + rows * in;
    for (size_t i = 0; i < rows; i++) {
        float *w = q->fine_w + i * in, *r = q->fine_r + i * n, most = 0;
        int shift = i % 7 ? 3 - (int) (i % 48) : 0, exp;
        for (size_t k = 0; k < in; k++)
            most = fmaxf(most, fabsf(w[k] = ldexpf(i % 11 ? w[k] : 0, shift)));
        for (size_t k = 0; k < n; k++)
            most = fmaxf(most, fabsf(r[k] = ldexpf(i % 11 ? r[k] : 0, shift)));
        exp = frexpf(most, &exp) * 32768 > 32767 ? exp + 1 : exp;
        exp = most > 0 && exp > -32 ? exp : -32;
        near = column_round(q->w[0] + i * in, w, in, ldexp(1, exp - 15)) && near;
        near = column_round(q->r[0] + i * n, r, n, ldexp(1, exp - 15)) && near;
    }
    check_true(t, near, "weights of 16 bits: farther than half a unit from those of 32");
}

/* ---- weights of 8 bits ---- */

/* Whole numbers of a row, -128 and 127 among them, and its scale. */
static float row_bytes(struct check *t, int8_t *ret, const float *w, size_t n)
{
    float scale;
    check_fill(t, &scale, 1);
    const bool least = check_bits(t) % 8 == 0; /* the largest sums that there are */
    for (size_t k = 0; k < n; k++)
        ret[k] = (int8_t) (least ? -128 : rintf(fmaxf(-128, fminf(127, w[k] * 200))));
    return scale / 128;
}

static void cell_bytes(struct check *t, struct cell *q, bool low)
{
    size_t in = q->c.inputs, n = q->c.hidden, rows = kinds[q->c.kind].gates * n;
    for (size_t i = 0; q->equal && i < q->rows * q->steps * in; i++)
        q->x[i] = q->x[0];
    q->scale_w = check_buf(t, 2 * rows, low);
    q->scale_r = q->scale_w + rows;
    q->bytes_w = (int8_t *) check_buf(t, (rows * (in + n) + 3) / 4, low);
    q->bytes_r = q->bytes_w + rows * in;
    for (size_t i = 0; i < rows; i++) {
        q->scale_w[i] = row_bytes(t, q->bytes_w + i * in, q->w[0] + i * in, in);
        q->scale_r[i] = row_bytes(t, q->bytes_r + i * n, q->r[0] + i * n, n);
    }
}

/* Scales of weights of 16 or 8 bits, in the order of c's projection. */
static void seq_scales(struct check *t, const struct cell *q, struct kern_cell_seq *c, bool low)
{
    const size_t n = kern_cell_seq_columns(c);
    float *scale = check_buf(t, 2 * n, low);
    if (q->fine_w) {
        c->weights = KERN_CELL_I16;
        kern_cell_seq_scale(c, scale, q->fine_w, q->fine_r, q->c.inputs);
    } else if (q->bytes_w) {
        c->weights = check_bits(t) % 2 ? KERN_CELL_I8 : KERN_CELL_I8_WIDE;
        c->sums = t->new.cell_sums;
        c->ahead = (size_t) (KERN_CELL_TOGETHER << check_bits(t) % 4 &
                             31); /* of several rows without effect */
        kern_cell_seq_columns_pack_f32(c, scale, q->scale_r);
        kern_cell_seq_columns_pack_f32(c, scale + n, q->scale_w);
    }
    c->scale = scale;
    c->w_scale = scale + n;
}

/* Of one direction: the projection, then the steps; or both together. */
static void seq_run(struct check *t, const struct cell *q, bool low, bool together)
{
    struct kern_cell_seq c = { .kind = q->c.kind,
                               .hidden = q->c.hidden,
                               .groups = (q->c.hidden + 15) / 16,
                               .inputs = together ? q->c.inputs : 0 };
    const void *from_w = q->bytes_w ? (void *) q->bytes_w
        : q->fine_w                 ? q->fine_w
                                    : q->w[0],
               *from_r = q->bytes_r ? (void *) q->bytes_r
        : q->fine_r                 ? q->fine_r
                                    : q->r[0];
    seq_scales(t, q, &c, low);
    together = together || q->bytes_w;
    c.inputs = together ? q->c.inputs : 0;
    size_t n = kern_cell_seq_columns(&c), work = kern_cell_seq_work_floats(&c), in = q->c.inputs;
    float *w = check_buf(t, n * in + n, low), *r = check_buf(t, kern_cell_seq_floats(&c), low);
    float *x = check_buf(t, q->rows * q->steps * n, low),
          *bias_rn = check_buf(t, c.groups * 16, low);
    float *rooms = check_buf(t, q->rows * work, low);
    struct kern_cell_row rows[ROWS_MOST];
    check_fill_bits(t, rooms, q->rows * work);
    if (!together)
        kern_cell_seq_inputs_pack_f32(&c, w, from_w, in);
    kern_cell_seq_bias_pack_f32(&c, w + n * in, q->bias[0]);
    kern_cell_seq_pack(&c, r, from_w, from_r);
    kern_cell_seq_bias_rn_pack_f32(&c, bias_rn, q->bias_rn[0]);
    c.r = r;
    c.bias_rn = bias_rn;
    c.bias = w + n * in;
    if (!together)
        t->new.gemm_f32(x, n, q->x, in, w, c.bias, q->rows * q->steps, n, in);
    for (size_t i = 0; i < q->rows; i++) {
        rows[i] = q->row[i];
        if (!together) {
            rows[i].x = x + i * q->steps * n;
            rows[i].x_step = (ptrdiff_t) n;
        }
        rows[i].work = rooms + i * work;
    }
    t->new.cell_seq_f32(&c, rows, q->rows, q->steps);
}

enum form { SMALL, SEQ, NARROW, BYTES };

static void cell_check(struct check *t, const struct cell *shape, bool low, enum form form)
{
    static const char *const names[] = { "cell_small_f32", "cell_seq_f32",
                                         "cell_seq_f32 of 16 bits", "cell_seq_f32 of 8 bits" };
    struct cell q = *shape;
    cell_make(t, &q, low);
    if (form == NARROW)
        cell_narrow(t, &q, low);
    if (form == BYTES)
        cell_bytes(t, &q, low);
    size_t n = q.c.hidden, each = q.steps * n;
    float *y = check_buf(t, q.rows * each, low), *h = check_buf(t, q.rows * n, low),
          *s = check_buf(t, q.rows * n, low);
    char text[96];
    want_make(t, &q, y, h, s);
    if (form == SMALL)
        t->new.cell_small_f32(&q.c, q.row, q.rows, q.steps);
    else
        seq_run(t, &q, low, (q.c.hidden + q.c.inputs) & 1);
    snprintf(text, sizeof text, "%s inputs %zu hidden %zu dirs %zu rows %zu steps %zu",
             kinds[q.c.kind].name, q.c.inputs, n, q.c.dirs, q.rows, q.steps);
    const char *what = names[form];
    check_same(t, what, y, q.y, q.rows * each, "%s", text);
    check_same(t, what, h, q.h, q.rows * n, "last h, %s", text);
    check_same(t, what, s, q.s, q.rows * n, "last c, %s", text);
    check_drop(t);
}

static void small_call(void *arg)
{
    const struct cell *q = arg;
    q->kern->cell_small_f32(&q->c, q->row, q->rows, q->steps);
}

static void small_time(struct check *t, const char *what, const struct cell *shape)
{
    struct cell q = *shape;
    q.kern = &t->new;
    cell_make(t, &q, true);
    check_time(t, what,
               2.0 *
                   (double) (q.rows * q.steps * kinds[q.c.kind].gates * q.c.hidden *
                             (q.c.inputs + q.c.hidden)),
               small_call, &q);
    check_drop(t);
}

static void seq_checks(struct check *t)
{
    static const size_t hiddens[] = { 1, 16, 17, 33, 48, 80 };
    unsigned variant = 0;
    for (size_t h = 0; h < sizeof hiddens / sizeof *hiddens; h++)
        for (size_t rows = 1; rows <= ROWS_MOST; rows++)
            for (int kind = KERN_CELL_RNN; kind <= KERN_CELL_LSTM; kind++, variant++) {
                struct cell q = { .c = { .kind = kind,
                                         .inputs = 1 + variant % 9,
                                         .hidden = hiddens[h],
                                         .dirs = 1 },
                                  .rows = rows,
                                  .steps = 1 + variant % 7 };
                cell_check(t, &q, variant & 1, SEQ);
                cell_check(t, &q, variant & 1, NARROW);
                cell_check(t, &q, variant & 1, BYTES);
            }
}

/* Bytes of so many terms that 32 bits are full. */
static void long_checks(struct check *t)
{
    static const size_t inputs[] = { 511, 512, 513, 1024, 4096 };
    for (size_t i = 0; i < sizeof inputs / sizeof *inputs; i++) {
        struct cell q = { .c = { .kind = i % 2 ? KERN_CELL_GRU : KERN_CELL_LSTM,
                                 .inputs = inputs[i],
                                 .hidden = 5,
                                 .dirs = 1 },
                          .rows = 1 + i,
                          .steps = 2,
                          .equal = true };
        cell_check(t, &q, i & 1, BYTES);
    }
}

void check_cell(struct check *t)
{
    seq_checks(t);
    long_checks(t);
    static const size_t hiddens[] = { 1, 3, 4, 5, 8, 11, 16 }, inputs[] = { 1, 8, 17 };
    unsigned variant = 0;
    for (size_t h = 0; h < sizeof hiddens / sizeof *hiddens; h++)
        for (size_t i = 0; i < sizeof inputs / sizeof *inputs; i++)
            for (int kind = KERN_CELL_RNN; kind <= KERN_CELL_LSTM; kind++)
                for (size_t dirs = 1; dirs <= 2; dirs++, variant++) {
                    struct cell q = { .c = { .kind = kind,
                                             .inputs = inputs[i],
                                             .hidden = hiddens[h],
                                             .dirs = dirs },
                                      .rows = dirs * (1 + variant * 5 % ROWS_MOST),
                                      .steps = variant % 3 ? 1 + variant % 7 : 1 };
                    cell_check(t, &q, variant & 1, SMALL);
                }
    if (!t->bench)
        return;
    small_time(t, "gtcrn intra 33 steps",
               &(struct cell) { .c = { .kind = KERN_CELL_GRU, .inputs = 8, .hidden = 4, .dirs = 2 },
                                .rows = 2,
                                .steps = 33 });
    small_time(t, "gtcrn inter 33 rows",
               &(struct cell) { .c = { .kind = KERN_CELL_GRU, .inputs = 8, .hidden = 8, .dirs = 1 },
                                .rows = 33,
                                .steps = 1 });
    small_time(t, "gtcrn tra",
               &(struct cell) {
                   .c = { .kind = KERN_CELL_GRU, .inputs = 8, .hidden = 16, .dirs = 1 },
                   .rows = 1,
                   .steps = 1 });
}
