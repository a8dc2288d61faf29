/* SPDX-License-Identifier: MIT */
#include "tests/kern/check.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define ROWS_MOST 64

struct gemm {
    const struct kern *kern;
    float *y, *x, *w, *b;
    size_t ldy, ldx, m, n, k;
};

static void call(void *arg)
{
    const struct gemm *g = arg;
    g->kern->gemm_f32(g->y, g->ldy, g->x, g->ldx, g->w, g->b, g->m, g->n, g->k);
}

static float *packed(struct check *t, const float *w, size_t n, size_t k)
{
    size_t floats = kern_packed_floats(n, k);
    float *p = check_buf(t, floats + (16 - floats % 16) % 16, false);
    kern_pack_f32(p, w, n, k, k, 1);
    return p;
}

/* The contract, spelled out. */
static void chain(const struct gemm *g, const float *w, float *y)
{
    for (size_t i = 0; i < g->m; i++)
        for (size_t o = 0; o < g->n; o++) {
            float s = g->b ? g->b[o] : 0;
            for (size_t l = 0; l < g->k; l++)
                s = fmaf(w[o * g->k + l], g->x[i * g->ldx + l], s);
            y[i * g->ldy + o] = s;
        }
}

static void shape_check(struct check *t, size_t m, size_t n, size_t k, unsigned variant)
{
    bool low = variant & 1;
    struct gemm g = { &t->new, NULL, NULL, NULL, NULL, n + (variant & 2), k + (variant & 4) / 2,
                      m,       n,    k };
    size_t n_y = (m - 1) * g.ldy + n, n_x = (m - 1) * g.ldx + k;
    float *w = check_buf(t, n * k, low), *want = check_buf(t, n_y, low),
          *row = check_buf(t, n, low);
    g.x = check_buf(t, n_x, low);
    g.y = check_buf(t, n_y, low);
    g.b = variant & 8 ? check_buf(t, n, low) : NULL;
    check_fill(t, w, n * k);
    check_fill(t, g.x, n_x);
    check_fill(t, g.y, n_y);
    memcpy(want, g.y, n_y * sizeof *want); /* what lies between the rows stays */
    if (g.b)
        check_fill(t, g.b, n);
    g.w = packed(t, w, n, k);
    chain(&g, w, want);
    call(&g);
    check_same(t, "gemm_f32", want, g.y, n_y, "m %zu n %zu k %zu variant %u", m, n, k, variant);
    t->new.gemm_f32(row, n, g.x + (m - 1) * g.ldx, k, g.w, g.b, 1, n, k);
    check_same(t, "gemm_f32", row, g.y + (m - 1) * g.ldy, n, "last row alone, m %zu n %zu k %zu", m,
               n, k);
    check_drop(t);
}

/* Rows that lie anywhere, here in reverse order. */
static void rows_check(struct check *t, size_t m, size_t n, size_t k, unsigned variant)
{
    bool low = variant & 1;
    float *w = check_buf(t, n * k, low), *want = check_buf(t, m * n, low),
          *got = check_buf(t, m * n, low);
    float *x = check_buf(t, m * k, low), *b = variant & 2 ? check_buf(t, n, low) : NULL,
          *yr[ROWS_MOST];
    const float *xr[ROWS_MOST];
    check_fill(t, w, n * k);
    check_fill(t, x, m * k);
    if (b)
        check_fill(t, b, n);
    for (size_t i = 0; i < m; i++) {
        yr[i] = got + (m - 1 - i) * n;
        xr[i] = x + (m - 1 - i) * k;
    }
    const float *p = packed(t, w, n, k);
    t->ref.gemm_f32(want, n, x, k, p, b, m, n, k);
    struct kern_block block = {
        .w = p, .step_panel = KERN_LANES * k, .step_k = KERN_LANES, .bias = b, .n = n, .k = k / 3
    };
    t->new.gemm_rows_f32(yr, xr, &block, m);
    for (size_t i = 0; i < m; i++)
        xr[i] += k / 3;
    block.w += KERN_LANES * (k / 3);
    block.k = k - k / 3;
    block.more = true;
    t->new.gemm_rows_f32(yr, xr, &block, m);
    check_same(t, "gemm_rows_f32", want, got, m * n, "m %zu n %zu k %zu variant %u", m, n, k,
               variant);
    check_drop(t);
}

/* Rows and terms that lie anywhere. */
static void at_check(struct check *t, size_t m, size_t n, size_t k, unsigned variant)
{
    const bool low = variant & 1;
    size_t row[ROWS_MOST], at[ROWS_MOST];
    float *w = check_buf(t, n * k, low), *x = check_buf(t, m + 3 * k, low),
          *b = variant & 2 ? check_buf(t, n, low) : NULL;
    float *want = check_buf(t, m * (n + 1), low), *got = check_buf(t, m * (n + 1), low);
    check_fill(t, w, n * k);
    check_fill(t, x, m + 3 * k);
    check_fill(t, want, m * (n + 1));
    memcpy(got, want, m * (n + 1) * sizeof *got);
    if (b)
        check_fill(t, b, n);
    for (size_t i = 0; i < m; i++)
        row[i] = m - 1 - i;
    for (size_t i = 0; i < k; i++)
        at[i] = i * 7 % (3 * k);
    for (size_t i = 0; i < m; i++)
        for (size_t o = 0; o < n; o++) {
            float s = b ? b[o] : 0;
            for (size_t l = 0; l < k; l++)
                s = fmaf(w[o * k + l], x[row[i] + at[l]], s);
            want[i * (n + 1) + o] = s;
        }
    const struct kern_block block = { .w = packed(t, w, n, k),
                                      .step_panel = KERN_LANES * k,
                                      .step_k = KERN_LANES,
                                      .bias = b,
                                      .n = n,
                                      .k = k };
    t->new.gemm_at_f32(got, n + 1, x, row, at, &block, m);
    check_same(t, "gemm_at_f32", want, got, m * (n + 1), "m %zu n %zu k %zu variant %u", m, n, k,
               variant);
    check_drop(t);
}

/* A row for each of several matrices. */
static void each_check(struct check *t, size_t count, size_t n, size_t k, bool low)
{
    size_t ldy = n + 3 * low, ldx = k + low, floats = kern_packed_floats(n, k),
           n_y = (count - 1) * ldy + n;
    float *w = check_buf(t, count * n * k, low), *p = check_buf(t, count * floats, false),
          *x = check_buf(t, count * ldx, low);
    float *want = check_buf(t, n_y, low), *got = check_buf(t, n_y, low);
    check_fill(t, w, count * n * k);
    check_fill(t, x, count * ldx);
    check_fill(t, want, n_y);
    memcpy(got, want, n_y * sizeof *got);
    for (size_t i = 0; i < count; i++) {
        kern_pack_f32(p + i * floats, w + i * n * k, n, k, k, 1);
        struct gemm g = { .x = x + i * ldx, .ldx = ldx, .ldy = ldy, .m = 1, .n = n, .k = k };
        chain(&g, w + i * n * k, want + i * ldy);
    }
    t->new.gemm_each_f32(got, ldy, x, ldx, p, n, k, count);
    check_same(t, "gemm_each_f32", want, got, n_y, "count %zu n %zu k %zu", count, n, k);
    check_drop(t);
}

/* Blocks of a product with caches so small that k and rows are cut; seventeen panels and more. */
static void blocks_check(struct check *t, size_t m, size_t n, size_t k, bool biased)
{
    float *w = check_buf(t, n * k, false), *want = check_buf(t, m * n, false),
          *got = check_buf(t, m * n, false);
    float *x = check_buf(t, m * k, false), *b = biased ? check_buf(t, n, false) : NULL;
    check_fill(t, w, n * k);
    check_fill(t, x, m * k);
    if (b)
        check_fill(t, b, n);
    const float *p = packed(t, w, n, k);
    t->ref.gemm_f32(want, n, x, k, p, b, m, n, k);
    struct kern small = t->new;
    small.l2_bytes = 16 << 10;
    small.l3_bytes = 40 << 10;
    kern_gemm_f32(&small, got, n, x, k, p, b, m, n, k);
    check_same(t, "kern_gemm_f32", want, got, m * n, "m %zu n %zu k %zu in blocks", m, n, k);
    kern_gemm_f32(&t->new, got, n, x, k, p, b, m, n, k);
    check_same(t, "kern_gemm_f32", want, got, m * n, "m %zu n %zu k %zu", m, n, k);
    check_drop(t);
}

/* The second operand as it lies, k rows of n, where n is whole panels. */
static void direct_check(struct check *t, size_t m, size_t n, size_t k)
{
    float *w = check_buf(t, k * n, false), *want = check_buf(t, m * n, false),
          *got = check_buf(t, m * n, false);
    float *x = check_buf(t, m * k, false), *p = check_buf(t, kern_packed_floats(n, k), false);
    check_fill(t, w, n * k);
    check_fill(t, x, m * k);
    kern_pack_f32(p, w, n, k, 1, n);
    t->ref.gemm_f32(want, n, x, k, p, NULL, m, n, k);
    struct kern_block b = { .w = w, .step_panel = KERN_LANES, .step_k = n, .n = n, .k = k };
    t->new.gemm_block_f32(got, n, x, k, &b, m);
    check_same(t, "gemm_block_f32", want, got, m * n, "m %zu n %zu k %zu as it lies", m, n, k);
    check_drop(t);
}

/* A bias for each row, with k in parts. */
static void row_bias_check(struct check *t, size_t m, size_t n, size_t k)
{
    float *w = check_buf(t, k * n, false), *want = check_buf(t, m * n, false),
          *got = check_buf(t, m * n, false), *bias = check_buf(t, m, false),
          *x = check_buf(t, m * k, false);
    check_fill(t, w, n * k);
    check_fill(t, x, m * k);
    check_fill(t, bias, m);
    for (size_t r = 0; r < m; r++)
        for (size_t o = 0; o < n; o++) {
            float s = bias[r];
            for (size_t i = 0; i < k; i++)
                s = fmaf(x[r * k + i], w[i * n + o], s);
            want[r * n + o] = s;
        }
    float *p = check_buf(t, kern_packed_floats(n, k), false);
    kern_pack_f32(p, w, n, k, 1, n);
    struct kern_block b = { .w = p,
                            .step_panel = KERN_LANES * k,
                            .step_k = KERN_LANES,
                            .n = n,
                            .k = k / 2,
                            .row_bias = bias };
    t->new.gemm_block_f32(got, n, x, k, &b, m);
    b.w += b.k * KERN_LANES;
    b.more = true;
    b.row_bias = NULL;
    b.k = k - k / 2;
    t->new.gemm_block_f32(got, n, x + k / 2, k, &b, m);
    check_same(t, "gemm_block_f32", want, got, m * n, "m %zu n %zu k %zu, a bias a row", m, n, k);
    check_drop(t);
}

static void caches_check(struct check *t)
{
    size_t l2 = 0, l3 = 0;
    kern_caches(&l2, &l3);
    check_true(t, l2 >= 64 << 10 && l3 >= l2, "caches of %zu and %zu bytes", l2, l3);
}

static void shape_time(struct check *t, const char *what, size_t m, size_t n, size_t k)
{
    char text[64];
    float *w = check_buf(t, n * k, false);
    check_fill(t, w, n * k);
    struct gemm g = { &t->new,
                      check_buf(t, m * n, true),
                      check_buf(t, m * k, true),
                      packed(t, w, n, k),
                      check_buf(t, n, true),
                      n,
                      k,
                      m,
                      n,
                      k };
    check_fill(t, g.x, m * k);
    snprintf(text, sizeof text, "gemm %zux%zux%zu %s", m, n, k, what);
    check_time(t, text, 2.0 * (double) (m * n * k), call, &g);
    check_drop(t);
}

void check_gemm(struct check *t)
{
    for (size_t m = 1; m < 60; m += 1 + m / 7)
        for (size_t n = 1; n < 150; n += 1 + n / 4)
            row_bias_check(t, m, n, 2 + (m + n) % 40);
    static const size_t ms[] = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 19, 33 };
    static const size_t ns[] = { 1, 2, 8, 9, 16, 17, 31, 33, 64, 90, 97, 129, 145 };
    static const size_t ks[] = { 0, 1, 2, 5, 16, 33, 130 };
    /* clang-format off */
    static const struct { const char *what; size_t m, n, k; } timed[] = {
        { "dtln gates", 1, 512, 257 },   { "dtln dense", 1, 257, 128 },
        { "dtln decoder", 1, 512, 256 }, { "silero stft", 4, 258, 256 },
        { "silero conv1", 4, 128, 387 }, { "silero conv2", 2, 64, 384 },
        { "silero conv4", 1, 128, 192 }, { "gtcrn conv", 33, 16, 40 },
        { "gtcrn first", 65, 16, 45 },   { "gtcrn pointwise", 33, 16, 16 },
        { "gtcrn bands", 3, 64, 192 },   { "square", 128, 128, 128 },
    };
    /* clang-format on */
    unsigned variant = 0;
    for (size_t m = 0; m < sizeof ms / sizeof *ms; m++)
        for (size_t n = 0; n < sizeof ns / sizeof *ns; n++)
            for (size_t k = 0; k < sizeof ks / sizeof *ks; k++)
                shape_check(t, ms[m], ns[n], ks[k], variant++ % 16);
    caches_check(t);
    blocks_check(t, 100, 17 * 16 + 5, 200, true);
    blocks_check(t, 61, 20 * 16, 129, false);
    blocks_check(t, 350, 40, 31, true);
    blocks_check(t, 100, 70, 31, false);
    blocks_check(t, 350, 300, 31, true);
    for (size_t m = 1; m < 12; m++)
        direct_check(t, m, 16 * m, 7 * m);
    for (variant = 0; variant < 80; variant++) {
        rows_check(t, 1 + variant * 7 % 60, 1 + variant * 5 % 70, 1 + variant % 40, variant);
        at_check(t, 1 + variant * 7 % 60, 1 + variant * 5 % 70, 1 + variant % 40, variant);
        each_check(t, 1 + variant * 7 % 19, 1 + variant * 5 % 70, variant % 40, variant & 1);
    }
    for (variant = 0; variant < 4; variant++) /* so many weights that the next panels are fetched */
        at_check(t, 12 + variant * 7, 1170 + variant * 5, 60, variant);
    for (size_t i = 0; t->bench && i < sizeof timed / sizeof *timed; i++)
        shape_time(t, timed[i].what, timed[i].m, timed[i].n, timed[i].k);
}
