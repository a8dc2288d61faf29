/* SPDX-License-Identifier: MIT */
/* Products with weights kept in fewer bytes (kernels/narrow.h). Of few rows, tiles widen weights as
 * they read them; of more, some terms of a few panels are widened once and multiplied as floats. */

#include "kernels/tiles_tmpl.h"

/* Rows of a tile that widens what it reads. */
#define NARROW_ROWS (GEMM_FIT(4) > 1 ? 4 : 2)
#define NARROW_FIT(rows) ((rows) <= NARROW_ROWS ? GEMM_FIT(rows) : 0)
#define NARROW_PANELS 4 /* widened together, of so many terms: 16 KiB */
#define NARROW_TERMS 64
#define NARROW_LIST 32 /* rows that are multiplied by them */

struct FN(narrow) {
    const struct kern_narrow *w;
    float *const *y;
    const float *const *x;
};

/* Sixteen weights of a term; `second`: of the two that share their bytes. */
V16_UNROLLED v16 FN(narrow_load)(const uint8_t *w, const int kind, const int second)
{
    if (kind == KERN_NARROW_F16)
        return v16_load_f16((const uint16_t *) (const void *) w);
    if (kind == KERN_NARROW_BF16)
        return v16_of_bits(i16_shl16(i16_load_s16((const int16_t *) (const void *) w)));
    if (kind != KERN_NARROW_U4)
        return v16_of_int(i16_load_s8(w));
    return v16_of_int(second ? i16_shr4(i16_load_u8(w)) : i16_and(i16_load_u8(w), i16_set1(15)));
}

#define NARROW_TERM_BYTES(kind) ((kind) < KERN_NARROW_S8 ? 32 : 16)
#define EACH_PANEL V16_UNROLL for (int p = 0; p < panels; p++)
#define EACH_ROW V16_UNROLL for (int r = 0; r < rows; r++)
#define TERM(second)                                                                               \
    do {                                                                                           \
        EACH_PANEL                                                                                 \
        {                                                                                          \
            v16 wp = FN(narrow_load)(at + (size_t) p * step, kind, second);                        \
            if (kind > KERN_NARROW_S8)                                                             \
                wp = v16_sub(wp, zero[p]);                                                         \
            if (kind >= KERN_NARROW_S8)                                                            \
                wp = v16_mul(wp, scale[p]);                                                        \
            EACH_ROW                                                                               \
            acc[p * rows + r] = v16_fma(wp, v16_set1(x[r][i]), acc[p * rows + r]);                 \
        }                                                                                          \
        i++;                                                                                       \
    } while (0)

V16_UNROLLED void FN(narrow_tile)(const struct FN(narrow) * g, size_t row, size_t o, const int rows,
                                  const int panels, const int kind)
{
    const struct kern_narrow *b = g->w;
    const size_t k = b->k, step = kern_narrow_panel((enum kern_narrow_kind) kind, k),
                 blocks = (k + b->block - 1) / b->block, last = (size_t) (panels - 1) * 16,
                 left = b->n - o - last;
    const uint8_t *at = b->w + o / 16 * step;
    const float *x[TILE_ROWS_MOST], *bias = b->bias ? b->bias + o : FN(gemm_zeros);
    v16 acc[GEMM_ACC], scale[TILE_PANELS_MOST], zero[TILE_PANELS_MOST];
    EACH_PANEL
    scale[p] = zero[p] = v16_set1(0);
    EACH_ROW
    {
        x[r] = g->x[row + (size_t) r];
        V16_UNROLL for (int p = 0; p + 1 < panels; p++) acc[p * rows + r] = v16_load(bias + p * 16);
        acc[(panels - 1) * rows + r] =
            left >= 16 ? v16_load(bias + last) : v16_load_n(bias + last, left);
    }
    for (size_t i = 0, q = 0, to; i < k; q++) {
        to = k - i < b->block ? k : i + b->block;
        if (kind >= KERN_NARROW_S8)
            EACH_PANEL
            {
                size_t of = ((o / 16 + (size_t) p) * blocks + q) * 16;
                scale[p] = v16_load(b->scale + of);
                if (kind > KERN_NARROW_S8)
                    zero[p] = v16_load(b->zero + of);
            }
        while (kind != KERN_NARROW_U4 && i < to) {
            TERM(0);
            at += NARROW_TERM_BYTES(kind);
        }
        while (kind == KERN_NARROW_U4 && i + 1 < to) {
            TERM(0);
            TERM(1);
            at += 16;
        }
        if (kind == KERN_NARROW_U4 && i < to)
            TERM(0);
    }
    EACH_ROW
    {
        float *y = g->y[row + (size_t) r] + o;
        V16_UNROLL for (int p = 0; p + 1 < panels; p++) v16_store(y + p * 16, acc[p * rows + r]);
        if (left >= 16)
            v16_store(y + last, acc[(panels - 1) * rows + r]);
        else
            v16_store_n(y + last, acc[(panels - 1) * rows + r], left);
    }
}
#undef TERM
#undef EACH_PANEL
#undef EACH_ROW

/* Terms from..to-1 of a panel as floats. */
V16_UNROLLED void FN(narrow_widen)(float *y, const struct kern_narrow *w, size_t panel, size_t from,
                                   size_t to, const int kind)
{
    const uint8_t *at = w->w + panel * kern_narrow_panel((enum kern_narrow_kind) kind, w->k);
    const size_t blocks = (w->k + w->block - 1) / w->block;
    v16 scale = v16_set1(1), zero = v16_set1(0);
    for (size_t i = from, q = from / w->block, end; i < to; q++) {
        end = (q + 1) * w->block < to ? (q + 1) * w->block : to;
        if (kind >= KERN_NARROW_S8)
            scale = v16_load(w->scale + (panel * blocks + q) * 16);
        if (kind > KERN_NARROW_S8)
            zero = v16_load(w->zero + (panel * blocks + q) * 16);
        for (; i < end; i++, y += 16) {
            const int two = kind == KERN_NARROW_U4;
            const uint8_t *of = at + i / (two ? 2 : 1) * NARROW_TERM_BYTES(kind);
            v16 a = two && i % 2 ? FN(narrow_load)(of, kind, 1) : FN(narrow_load)(of, kind, 0);
            if (kind > KERN_NARROW_S8)
                a = v16_sub(a, zero);
            if (kind >= KERN_NARROW_S8)
                a = v16_mul(a, scale);
            v16_store(y, a);
        }
    }
}

typedef void FN(widen_fn)(float *y, const struct kern_narrow *w, size_t panel, size_t from,
                          size_t to);
#define NARROW_EACH(X) X(F16) X(BF16) X(S8) X(S8_ZERO) X(U4)
#define X(kind)                                                                                    \
    V16_UNROLLED void FN(narrow_##kind##_tile)(const struct FN(narrow) * g, size_t row, size_t o,  \
                                               const int rows, const int panels)                   \
    {                                                                                              \
        FN(narrow_tile)(g, row, o, rows, panels, KERN_NARROW_##kind);                              \
    }                                                                                              \
    TILES_DEFINE(narrow_##kind, NARROW_FIT)                                                        \
    static void FN(widen_##kind)(float *y, const struct kern_narrow *w, size_t panel, size_t from, \
                                 size_t to)                                                        \
    {                                                                                              \
        FN(narrow_widen)(y, w, panel, from, to, KERN_NARROW_##kind);                               \
    }
NARROW_EACH(X)
#undef X

static const struct FN(narrow_ways) {
    const struct tiles *tiles;
    FN(widen_fn) * widen;
} FN(narrow_ways)[] = {
#define X(kind) [KERN_NARROW_##kind] = { &FN(narrow_##kind##_tiles), FN(widen_##kind) },
    NARROW_EACH(X)
#undef X
};
#undef NARROW_EACH

/* Up to NARROW_LIST rows with the panels from output o on, some terms at a time. */
static void FN(narrow_wide)(float *const *y, const float *const *x, const struct kern_narrow *w,
                            size_t m, size_t o)
{
    float wide[NARROW_PANELS * NARROW_TERMS * 16], *to[NARROW_LIST];
    const float *of[NARROW_LIST];
    struct kern_block b = { .w = wide, .step_k = 16, .bias = w->bias ? w->bias + o : NULL };
    size_t i = 0;
    b.n = w->n - o < NARROW_PANELS * 16 ? w->n - o : NARROW_PANELS * 16;
    do {
        b.k = w->k - i < NARROW_TERMS ? w->k - i : NARROW_TERMS;
        b.step_panel = 16 * b.k;
        b.more = i > 0;
        for (size_t p = 0; p * 16 < b.n; p++)
            FN(narrow_ways)[w->kind].widen(wide + p * b.step_panel, w, o / 16 + p, i, i + b.k);
        for (size_t r = 0; r < m; r++) {
            to[r] = y[r] + o;
            of[r] = x[r] + i;
        }
        FN(gemm_rows_f32)(to, of, &b, m);
        i += b.k;
    } while (i < w->k);
}

static void FN(gemm_rows_narrow)(float *const *y, const float *const *x,
                                 const struct kern_narrow *w, size_t m)
{
    struct FN(narrow) g = { w, y, x };
    if (m <= NARROW_ROWS) {
        tiles_run(FN(narrow_ways)[w->kind].tiles, &g, m, m, (w->n + 15) / 16);
        return;
    }
    for (size_t r = 0; r < m; r += NARROW_LIST)
        for (size_t o = 0; o < w->n; o += NARROW_PANELS * 16)
            FN(narrow_wide)(y + r, x + r, w, m - r < NARROW_LIST ? m - r : NARROW_LIST, o);
}
