/* SPDX-License-Identifier: MIT */
#include "tests/kern/check.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

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
    struct gemm g = { &t->new, NULL, NULL, NULL, NULL, n + (variant & 2), k + (variant & 4) / 2, m, n, k };
    size_t n_y = (m - 1) * g.ldy + n, n_x = (m - 1) * g.ldx + k;
    float *w = check_buf(t, n * k, low), *want = check_buf(t, n_y, low), *row = check_buf(t, n, low);
    g.x = check_buf(t, n_x, low);
    g.y = check_buf(t, n_y, low);
    g.b = variant & 8 ? check_buf(t, n, low) : NULL;
    check_fill(t, w, n * k);
    check_fill(t, g.x, n_x);
    check_fill(t, g.y, n_y);
    memcpy(want, g.y, n_y * sizeof *want);          /* what lies between the rows stays */
    if (g.b)
        check_fill(t, g.b, n);
    g.w = packed(t, w, n, k);
    chain(&g, w, want);
    call(&g);
    check_same(t, "gemm_f32", want, g.y, n_y, "m %zu n %zu k %zu variant %u", m, n, k, variant);
    t->new.gemm_f32(row, n, g.x + (m - 1) * g.ldx, k, g.w, g.b, 1, n, k);
    check_same(t, "gemm_f32", row, g.y + (m - 1) * g.ldy, n, "last row alone, m %zu n %zu k %zu", m, n, k);
    check_drop(t);
}

static void shape_time(struct check *t, const char *what, size_t m, size_t n, size_t k)
{
    char text[64];
    float *w = check_buf(t, n * k, false);
    check_fill(t, w, n * k);
    struct gemm g = { &t->new, check_buf(t, m * n, true), check_buf(t, m * k, true), packed(t, w, n, k),
                      check_buf(t, n, true), n, k, m, n, k };
    check_fill(t, g.x, m * k);
    snprintf(text, sizeof text, "gemm %zux%zux%zu %s", m, n, k, what);
    check_time(t, text, 2.0 * (double) (m * n * k), call, &g);
    check_drop(t);
}

void check_gemm(struct check *t)
{
    static const size_t ms[] = { 1, 2, 3, 4, 5, 7, 8, 9, 19 };
    static const size_t ns[] = { 1, 2, 15, 16, 17, 31, 33, 64, 127, 129, 145 };
    static const size_t ks[] = { 0, 1, 2, 5, 16, 33, 130 };
    static const struct { const char *what; size_t m, n, k; } timed[] = {
        { "dtln gates", 1, 512, 257 }, { "dtln dense", 1, 257, 128 }, { "dtln decoder", 1, 512, 256 },
        { "silero stft", 4, 258, 256 }, { "silero conv1", 4, 128, 387 }, { "silero conv2", 2, 64, 384 },
        { "silero conv4", 1, 128, 192 }, { "gtcrn conv", 33, 16, 40 }, { "gtcrn first", 65, 16, 45 },
        { "gtcrn pointwise", 33, 16, 16 }, { "gtcrn bands", 3, 64, 192 }, { "square", 128, 128, 128 },
    };
    unsigned variant = 0;
    for (size_t m = 0; m < sizeof ms / sizeof *ms; m++)
        for (size_t n = 0; n < sizeof ns / sizeof *ns; n++)
            for (size_t k = 0; k < sizeof ks / sizeof *ks; k++)
                shape_check(t, ms[m], ns[n], ks[k], variant++ % 16);
    for (size_t i = 0; t->bench && i < sizeof timed / sizeof *timed; i++)
        shape_time(t, timed[i].what, timed[i].m, timed[i].n, timed[i].k);
}
