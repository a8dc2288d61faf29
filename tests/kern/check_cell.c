/* SPDX-License-Identifier: MIT */
/* Recurrent cells against their equations, spelled out over the kernels of single operations. */
#include "tests/kern/check.h"
#include "kernels/cell.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define ROWS_MOST  9
#define UNITS_MOST 16

static const struct { const char *name; size_t gates; } kinds[] = {
    [KERN_CELL_RNN] = { "rnn", 1 }, [KERN_CELL_GRU] = { "gru", 3 }, [KERN_CELL_GRU_LATE] = { "gru late", 3 },
    [KERN_CELL_LSTM] = { "lstm", 4 }
};

struct cell {
    struct kern_cell c;
    size_t rows, steps;
    float *w[2], *r[2], *bias[2], *bias_rn[2];      /* of each direction, as a file has them */
    float *x, *y, *h, *s;                           /* [rows][steps][inputs], [rows][steps][hidden], [rows][hidden] */
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

static float one(void (*f)(float *, const float *, size_t), float x)
{
    f(&x, &x, 1);
    return x;
}

static void step(const struct check *t, const struct cell *q, size_t d, const float *x, float *h, float *s)
{
    const struct kern *k = &t->ref;
    size_t n = q->c.hidden, in = q->c.inputs;
    float a[4][UNITS_MOST], rh[UNITS_MOST], next[UNITS_MOST];
    for (size_t g = 0; g < kinds[q->c.kind].gates; g++)
        for (size_t u = 0; u < n; u++) {
            size_t row = g * n + u;
            bool apart = g == 2 && q->c.kind != KERN_CELL_LSTM;
            a[g][u] = chain(q->bias[d][row], q->w[d] + row * in, x, in);
            a[g][u] = apart ? a[g][u] : chain(a[g][u], q->r[d] + row * n, h, n);
        }
    for (size_t u = 0; u < n && q->c.kind != KERN_CELL_LSTM && q->c.kind != KERN_CELL_RNN; u++) {
        a[1][u] = one(k->sigmoid_f32, a[1][u]);
        rh[u] = a[1][u] * h[u];
    }
    for (size_t u = 0; u < n; u++) {
        const float *rn = q->r[d] + (2 * n + u) * n;
        switch (q->c.kind) {
        case KERN_CELL_RNN:
            next[u] = one(k->tanh_f32, a[0][u]);
            break;
        case KERN_CELL_GRU:
        case KERN_CELL_GRU_LATE: {
            float own = q->c.kind == KERN_CELL_GRU ? chain(q->bias_rn[d][u], rn, h, n) * a[1][u] : 0;
            float c = q->c.kind == KERN_CELL_GRU ? a[2][u] + own : chain(a[2][u], rn, rh, n);
            float z = one(k->sigmoid_f32, a[0][u]), zh = z * h[u], zc = (1 - z) * one(k->tanh_f32, c);
            next[u] = zc + zh;
            break;
        }
        case KERN_CELL_LSTM: {
            float old = one(k->sigmoid_f32, a[2][u]) * s[u], new = one(k->sigmoid_f32, a[0][u]) * one(k->tanh_f32, a[3][u]);
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
    float *to = check_buf(t, kern_cell_floats(c) * kern_cell_sets(c), false);
    check_fill_bits(t, to, kern_cell_floats(c) * kern_cell_sets(c));
    float *all = filled(t, 2 * n * (c->inputs + c->hidden + 1) + 2 * c->hidden, low);
    for (size_t d = 0; d < c->dirs; d++) {
        q->w[d] = all + d * n * c->inputs;
        q->r[d] = all + 2 * n * c->inputs + d * n * c->hidden;
        q->bias[d] = all + 2 * n * (c->inputs + c->hidden) + d * n;
        q->bias_rn[d] = all + 2 * n * (c->inputs + c->hidden + 1) + d * c->hidden;
        kern_cell_pack_f32(c, to, d, q->w[d], q->r[d], q->bias[d], q->bias_rn[d]);
    }
    c->weights = to;
    q->x = filled(t, q->rows * q->steps * c->inputs, low);
    q->y = filled(t, q->rows * q->steps * c->hidden, low);
    q->h = filled(t, q->rows * c->hidden, low);
    q->s = filled(t, q->rows * c->hidden, low);
    for (size_t i = 0; i < q->rows; i++) {
        bool back = i % c->dirs;
        size_t first = back ? q->steps - 1 : 0;
        ptrdiff_t in = (ptrdiff_t) c->inputs, out = (ptrdiff_t) c->hidden;
        q->row[i] = (struct kern_cell_row) {
            .x = q->x + (i * q->steps + first) * c->inputs, .y = q->y + (i * q->steps + first) * c->hidden,
            .x_step = back ? -in : in, .y_step = back ? -out : out, .h_from = q->h + i * c->hidden,
            .c_from = q->s + i * c->hidden, .h = q->h + i * c->hidden, .c = q->s + i * c->hidden
        };
    }
}

static void small_check(struct check *t, const struct cell *shape, bool low)
{
    struct cell q = *shape;
    cell_make(t, &q, low);
    size_t n = q.c.hidden, each = q.steps * n;
    float *y = check_buf(t, q.rows * each, low), *h = check_buf(t, q.rows * n, low), *s = check_buf(t, q.rows * n, low);
    memcpy(h, q.h, q.rows * n * sizeof *h);
    memcpy(s, q.s, q.rows * n * sizeof *s);
    for (size_t i = 0; i < q.rows; i++)
        for (size_t k = 0; k < q.steps; k++) {
            size_t at = i % q.c.dirs ? q.steps - 1 - k : k;
            step(t, &q, i % q.c.dirs, q.x + (i * q.steps + at) * q.c.inputs, h + i * n, s + i * n);
            memcpy(y + i * each + at * n, h + i * n, n * sizeof *y);
        }
    t->new.cell_small_f32(&q.c, q.row, q.rows, q.steps);
    char text[96];
    snprintf(text, sizeof text, "%s inputs %zu hidden %zu dirs %zu rows %zu steps %zu", kinds[q.c.kind].name, q.c.inputs, n,
             q.c.dirs, q.rows, q.steps);
    check_same(t, "cell_small_f32", y, q.y, q.rows * each, "%s", text);
    check_same(t, "cell_small_f32", h, q.h, q.rows * n, "last h, %s", text);
    check_same(t, "cell_small_f32", s, q.s, q.rows * n, "last c, %s", text);
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
    check_time(t, what, 2.0 * (double) (q.rows * q.steps * kinds[q.c.kind].gates * q.c.hidden * (q.c.inputs + q.c.hidden)),
               small_call, &q);
    check_drop(t);
}

void check_cell(struct check *t)
{
    static const size_t hiddens[] = { 1, 3, 4, 5, 8, 11, 16 }, inputs[] = { 1, 8, 17 };
    unsigned variant = 0;
    for (size_t h = 0; h < sizeof hiddens / sizeof *hiddens; h++)
        for (size_t i = 0; i < sizeof inputs / sizeof *inputs; i++)
            for (int kind = KERN_CELL_RNN; kind <= KERN_CELL_LSTM; kind++)
                for (size_t dirs = 1; dirs <= 2; dirs++, variant++) {
                    struct cell q = { .c = { .kind = kind, .inputs = inputs[i], .hidden = hiddens[h], .dirs = dirs },
                                      .rows = dirs * (1 + variant * 5 % ROWS_MOST), .steps = variant % 3 ? 1 + variant % 7 : 1 };
                    small_check(t, &q, variant & 1);
                }
    if (!t->bench)
        return;
    small_time(t, "gtcrn intra 33 steps", &(struct cell) {
        .c = { .kind = KERN_CELL_GRU, .inputs = 8, .hidden = 4, .dirs = 2 }, .rows = 2, .steps = 33 });
    small_time(t, "gtcrn inter 33 rows", &(struct cell) {
        .c = { .kind = KERN_CELL_GRU, .inputs = 8, .hidden = 8, .dirs = 1 }, .rows = 33, .steps = 1 });
    small_time(t, "gtcrn tra", &(struct cell) {
        .c = { .kind = KERN_CELL_GRU, .inputs = 8, .hidden = 16, .dirs = 1 }, .rows = 1, .steps = 1 });
}
