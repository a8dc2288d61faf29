/* SPDX-License-Identifier: MIT */
/* Products of 8 bits (kernels/q8.h). A tile is `rows` rows by `panels` panels of 16 outputs whose sums
 * are in registers; vec_q8_*.h says how many fit. */
#include "kernels/q8.h"
#include "kernels/tiles_tmpl.h"
#include <string.h>

#define Q8_BLOCK 64 /* rows whose numbers are taken at once */

/* A product, the same for all its tiles. `z`, `sum` and `extra` are of the rows of the block: x_zero +
 * d, the sum of x - x_zero, and what the kernel's sums lack. */
struct FN(q8) {
    const struct kern_q8 *b;
    int32_t *const *y_by;
    const void *const *x_by;
    int32_t *y;
    const uint8_t *x;
    size_t ldy, ldx;
    uint32_t flip; /* what makes the kernel's bytes of the row's, four at once */
    const int32_t *z, *sum, *extra;
};

static inline uint32_t FN(q8_four)(const uint8_t *p)
{
    uint32_t v;
    memcpy(&v, p, sizeof v);
    return v;
}

/* The last terms; what is missing meets weights of zero. */
static inline uint32_t FN(q8_few)(const uint8_t *p, size_t n)
{
    uint32_t v = 0;
    for (size_t i = 0; i < n; i++)
        v |= (uint32_t) p[i] << 8 * i;
    return v;
}

#ifndef N16_MASKED /* sets with masks have their own */
Q8_INLINE n16 n16_load_n(const int32_t *p, size_t n)
{
    int32_t whole[16] = { 0 };
    memcpy(whole, p, n * sizeof *p);
    return n16_load(whole);
}
Q8_INLINE void n16_store_n(int32_t *p, n16 a, size_t n)
{
    int32_t whole[16];
    n16_store(whole, a);
    memcpy(p, whole, n * sizeof *p);
}
#endif

#define EACH_PANEL V16_UNROLL for (int p = 0; p < panels; p++)
#define EACH_ROW   V16_UNROLL for (int r = 0; r < rows; r++)
#define Q8_STEP(bytes)                                                       \
    do {                                                                     \
        x4 xs[TILE_ROWS_MOST];                                                 \
        EACH_ROW xs[r] = x4_of(bytes, flip);                                 \
        EACH_PANEL {                                                         \
            w64 wp = w64_load(w + (size_t) p * step);                        \
            EACH_ROW acc[p * rows + r] = d16_dot(acc[p * rows + r], wp, xs[r]); \
        }                                                                    \
    } while (0)

/* What is added to the sum of row r and a panel: see kernels/q8.h. */
Q8_INLINE n16 FN(q8_whole)(const struct FN(q8) *g, n16 sums, size_t row, size_t o, size_t n)
{
    const struct kern_q8 *b = g->b;
    if (b->bias)
        sums = n16_add(sums, n >= 16 ? n16_load(b->bias + o) : n16_load_n(b->bias + o, n));
    sums = n16_less(sums, n16_load(b->sums + o), g->z[row]);
    if (b->zeros)
        sums = n16_less(sums, n16_load(b->zeros + o), g->sum[row]);
    return b->floats ? n16_floats(sums) : sums;
}

/* 16 * panels outputs of `rows` rows; both are constants where it is called. */
Q8_TILE void FN(q8_tile)(const struct FN(q8) *g, size_t row, size_t o, const int rows, const int panels)
{
    d16 acc[Q8_ACC];
    const struct kern_q8 *b = g->b;
    const size_t groups = b->k / 4, rest = b->k % 4, step = (groups + (rest > 0)) * 64;
    const int8_t *w = b->w + o / 16 * step;
    const uint32_t flip = g->flip;
    const uint8_t *x[TILE_ROWS_MOST];
    EACH_ROW
        x[r] = g->x_by ? g->x_by[row + (size_t) r] : g->x + (row + (size_t) r) * g->ldx;
    V16_UNROLL for (int j = 0; j < rows * panels; j++)
        acc[j] = d16_zero();
    for (size_t i = 0; i < groups; i++, w += 64)
        Q8_STEP(FN(q8_four)(x[r] + 4 * i));
    if (rest)
        Q8_STEP(FN(q8_few)(x[r] + 4 * groups, rest));
    EACH_ROW {
        int32_t *y = g->y_by ? g->y_by[row + (size_t) r] : g->y + (row + (size_t) r) * g->ldy;
        EACH_PANEL {
            size_t at = o + (size_t) p * 16, left = b->n - at;
            n16 sums = d16_sums(acc[p * rows + r], g->extra[row + (size_t) r]);
            n16 whole = FN(q8_whole)(g, sums, row + (size_t) r, at, left);
            if (left >= 16)
                n16_store(y + at, whole);
            else
                n16_store_n(y + at, whole, left);
        }
    }
}
#undef Q8_STEP
#undef EACH_PANEL
#undef EACH_ROW

#define Q8_FITS(rows) ((rows) <= Q8_ROWS ? Q8_FIT(rows) : 0)
TILES_DEFINE(q8, Q8_FITS)

static int32_t FN(q8_row_sum)(const uint8_t *x, size_t k, bool is_signed, int32_t zero)
{
    uint32_t s = 0;
    if (is_signed)
        for (size_t i = 0; i < k; i++)
            s += (uint32_t) (int32_t) (int8_t) x[i];
    else
        for (size_t i = 0; i < k; i++)
            s += x[i];
    return (int32_t) (s - (uint32_t) k * (uint32_t) zero);
}

static void FN(q8_run)(struct FN(q8) g, const struct kern_q8_x *how, size_t m)
{
    int32_t z[Q8_BLOCK], sum[Q8_BLOCK], extra[Q8_BLOCK] = { 0 }, d = how->is_signed - Q8_ROWS_ARE_SIGNED;
    g.flip = d ? 0x80808080u : 0;
    g.z = z;
    g.sum = sum;
    g.extra = extra;
    const size_t panels = g.b->n / 16 + (g.b->n % 16 > 0);
    for (size_t r = 0, rows; r < m; r += rows) {
        rows = m - r < Q8_BLOCK ? m - r : Q8_BLOCK;
        for (size_t i = 0; i < rows; i++) {
            int32_t zero = how->zero ? how->zero[(r + i) * how->zero_step] : 0;
            z[i] = zero + 128 * d;
            const uint8_t *x = g.x_by ? g.x_by[i] : g.x + i * g.ldx;
            if (g.b->zeros)
                sum[i] = FN(q8_row_sum)(x, g.b->k, how->is_signed, zero);
#ifdef Q8_EXTRA
            extra[i] = q8_extra(x, g.b->k, (uint8_t) g.flip);
#endif
        }
        tiles_run(&FN(q8_tiles), &g, rows, rows < Q8_ROWS ? rows : Q8_ROWS, panels);
        g.x_by += g.x_by ? rows : 0;
        g.y_by += g.y_by ? rows : 0;
        g.x += g.x ? rows * g.ldx : 0;
        g.y += g.y ? rows * g.ldy : 0;
    }
}

static void FN(gemm_q8)(int32_t *restrict y, size_t ldy, const void *restrict x, size_t ldx,
                        const struct kern_q8 *w, const struct kern_q8_x *how, size_t m)
{
    struct FN(q8) g = { .b = w, .y = y, .x = x, .ldy = ldy, .ldx = ldx };
    FN(q8_run)(g, how, m);
}

static void FN(gemm_rows_q8)(int32_t *const *y, const void *const *x, const struct kern_q8 *w,
                             const struct kern_q8_x *how, size_t m)
{
    struct FN(q8) g = { .b = w, .y_by = y, .x_by = x };
    FN(q8_run)(g, how, m);
}

#define Q8_LINE(type)                                                                              \
    static void FN(line_##type)(int32_t *restrict y, const type *restrict x, size_t n,             \
                                size_t stride, uint32_t zero, uint32_t w)                          \
    {                                                                                              \
        if (stride == 1)                                                                           \
            for (size_t i = 0; i < n; i++)                                                         \
                y[i] = (int32_t) ((uint32_t) y[i] + w * ((uint32_t) x[i] - zero));                 \
        else                                                                                       \
            for (size_t i = 0; i < n; i++)                                                         \
                y[i] = (int32_t) ((uint32_t) y[i] + w * ((uint32_t) x[i * stride] - zero));        \
    }
Q8_LINE(int8_t)
Q8_LINE(uint8_t)
#undef Q8_LINE

static void FN(line_q8)(int32_t *restrict y, const void *restrict x, size_t n, size_t stride,
                        bool is_signed, int32_t zero, int32_t w)
{
    if (is_signed)
        FN(line_int8_t)(y, x, n, stride, (uint32_t) zero, (uint32_t) w);
    else
        FN(line_uint8_t)(y, x, n, stride, (uint32_t) zero, (uint32_t) w);
}
