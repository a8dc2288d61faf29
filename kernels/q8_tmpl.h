/* SPDX-License-Identifier: MIT */
/* Products of 8 bits (kernels/q8.h). A tile is `rows` rows by `panels` panels of 16 outputs whose sums
 * are in registers; vec_q8_*.h says how many fit. */
#include "kernels/q8.h"
#include "kernels/tiles_tmpl.h"
#include <string.h>

#define Q8_BLOCK 16   /* rows that are taken at once */
#define Q8_SPAN  2048 /* bytes of what is taken of a row */
#ifndef Q8_TAKE       /* bytes that a term takes there */
#define Q8_TAKE 1
#endif
#define Q8_TERMS (Q8_SPAN / Q8_TAKE)
#ifndef Q8_TOGETHER /* the most rows of a tile, of m that there are */
#define Q8_TOGETHER(m) ((m) < Q8_ROWS ? (m) : Q8_ROWS)
#endif
#ifndef Q8_PARTS    /* registers of a panel's weights, where a row's terms take one */
#define Q8_PARTS 1
#endif
#ifndef Q8_OUTLIERS /* whether there are sums of 16 bits */
#define Q8_OUTLIERS 0
#endif
#define Q8_APART (Q8_SPAN + 64) /* from row to row: other places of the first cache */

/* A product, the same for all its tiles. Rows are taken before they are multiplied, some of their terms
 * at a time: `taken` is what the kernel reads, `w` are the weights of these terms, and `y` has the sums
 * of the terms before. `z`, `sum` and `extra` are of the rows of the block: x_zero + d, the sum of
 * x - x_zero, and what the kernel's sums of the terms taken lack. */
struct FN(q8) {
    const struct kern_q8 *b;
    int32_t *const *y_by;
    const void *const *x_by;
    int32_t *y;
    const uint8_t *x;
    size_t ldy, ldx;
    const uint8_t *taken;
    const int8_t *w;
    size_t groups; /* of four terms */
    bool first, last;
    bool zero_is_one; /* of the rows of the block */
    int32_t z[Q8_BLOCK], sum[Q8_BLOCK], extra[Q8_BLOCK];
    size_t span; /* of the terms taken, where sums are of 16 bits */
};

#if Q8_TAKE == 1 || Q8_OUTLIERS
typedef uint64_t q8_chunk __attribute__((vector_size(32)));

/* Terms as the kernel's instructions want them, whole groups; what is missing meets weights of zero. */
static int32_t bytes_take(uint8_t *restrict to, const uint8_t *restrict x, size_t n, uint8_t flip)
{
    const uint64_t by = flip * 0x0101010101010101u;
    size_t i = 0;
    for (q8_chunk chunk; n - i >= sizeof chunk; i += sizeof chunk) {
        memcpy(&chunk, x + i, sizeof chunk);
        chunk ^= by;
        memcpy(to + i, &chunk, sizeof chunk);
    }
    for (uint64_t eight; n - i >= sizeof eight; i += sizeof eight) {
        memcpy(&eight, x + i, sizeof eight);
        eight ^= by;
        memcpy(to + i, &eight, sizeof eight);
    }
    for (; i < n; i++)
        to[i] = x[i] ^ flip;
    for (; i % KERN_Q8_TERMS; i++)
        to[i] = 0;
    return 0;
}
#endif
#if Q8_TAKE == 1
#define q8_take bytes_take
#endif

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

/* The sums of row r and a panel, of which n outputs exist: see kernels/q8.h. */
Q8_INLINE n16 FN(q8_whole)(const struct FN(q8) *g, n16 sums, size_t row, size_t o, size_t n)
{
    const struct kern_q8 *b = g->b;
    if (b->bias)
        sums = n16_add(sums, n >= 16 ? n16_load(b->bias + o) : n16_load_n(b->bias + o, n));
    sums = n16_less(sums, n16_load(b->sums + o), g->z[row]);
    if (b->zeros)
        sums = n16_less(sums, n16_load(b->zeros + o), g->sum[row]);
    return b->floats ? n16_floats(sums, b->by) : sums;
}

/* Of these terms, behind those before. */
Q8_INLINE void FN(q8_store)(const struct FN(q8) *g, int32_t *y, n16 sums, size_t row, size_t o)
{
    const size_t n = g->b->n - o;
    if (!g->first)
        sums = n16_add(sums, n >= 16 ? n16_load(y) : n16_load_n(y, n));
    if (g->last)
        sums = FN(q8_whole)(g, sums, row, o, n);
    if (n >= 16)
        n16_store(y, sums);
    else
        n16_store_n(y, sums, n);
}

#ifdef Q8_PAIRS
#define PAIRS_MOST ((Q8_ROWS + 1) / 2)
/* Rows in pairs, groups, too; a row without another is its own. */
Q8_TILE void FN(q8_tile_pairs)(const struct FN(q8) *g, size_t row, size_t o, const int rows, const int panels)
{
    const int pairs = (rows + 1) / 2;
    d16x2 acc[Q8_ACC];
    x8x2 xs[PAIRS_MOST];
    const size_t step = (g->b->k + KERN_Q8_TERMS - 1) / KERN_Q8_TERMS * 64;
    const int8_t *w = g->w + o / 16 * step;
    const uint8_t *x = g->taken + row * Q8_APART;
#define FIRST(r)  (x + (size_t) (2 * (r)) * Q8_APART)
#define SECOND(r) (x + (size_t) (2 * (r) + 1 < rows ? 2 * (r) + 1 : 2 * (r)) * Q8_APART)
#define EACH_PAIR V16_UNROLL for (int r = 0; r < pairs; r++)
    EACH_PAIR
        EACH_PANEL acc[p * pairs + r] = d16x2_zero();
    size_t i = 0;
    for (; i + 2 <= g->groups; i += 2, w += 128, x += 2 * KERN_Q8_TERMS) {
        EACH_PAIR xs[r] = x8x2_load(FIRST(r), SECOND(r));
        EACH_PANEL {
            const int8_t *at = w + (size_t) p * step;
            d16x2_dot(acc + p * pairs, w64_load(at), w64_load(at + 64), xs, pairs);
        }
    }
    if (i < g->groups) {
        EACH_PAIR xs[r] = x8x2_load_half(FIRST(r), SECOND(r));
        EACH_PANEL {
            const w64 last = w64_load(w + (size_t) p * step);
            d16x2_dot(acc + p * pairs, last, last, xs, pairs);
        }
    }
    EACH_ROW {
        const size_t at = row + (size_t) r;
        int32_t *y = (g->y_by ? g->y_by[at] : g->y + at * g->ldy) + o;
        EACH_PANEL FN(q8_store)(g, y + p * 16, d16x2_row(acc[p * pairs + r / 2], r % 2), at, o + (size_t) p * 16);
    }
#undef FIRST
#undef SECOND
#undef EACH_PAIR
}
#endif

#ifdef Q8_PLAIN
/* Whether what sums of whole panels lack is the same for all rows but `extra`: most products. They begin
 * with it then. */
Q8_INLINE bool FN(q8_is_plain)(const struct FN(q8) *g, size_t o, size_t panels)
{
    return g->first && g->last && g->zero_is_one && !g->b->zeros && g->b->n - o >= panels * 16;
}

/* What plain sums begin with: there it waits for nothing. */
Q8_INLINE void FN(q8_begin)(const struct FN(q8) *g, d16 *acc, size_t row, size_t o, const int rows)
{
    static const int32_t none[16];
    const struct kern_q8 *b = g->b;
    const n16 begin = n16_less(n16_load(b->bias ? b->bias + o : none), n16_load(b->sums + o), g->z[0]);
    EACH_ROW acc[r] = d16_sums(begin, g->extra[row + (size_t) r]);
}

Q8_INLINE void FN(q8_end)(const struct FN(q8) *g, const d16 *acc, size_t row, size_t o, const int rows)
{
    EACH_ROW {
        const size_t at = row + (size_t) r;
        n16_store((g->y_by ? g->y_by[at] : g->y + at * g->ldy) + o, g->b->floats ? n16_floats(acc[r], g->b->by) : acc[r]);
    }
}

#endif

#ifdef Q8_STAGES
/* A group of several rows: the pairs of a dot are added while those of the next are multiplied. */
Q8_TILE void FN(q8_group)(d16 *acc, const int8_t *w, size_t step, const uint8_t *x, const int rows, const int panels)
{
    w64 ws[TILE_PANELS_MOST];
    p32 before = { { 0 }, { 0 } };
    EACH_PANEL ws[p] = w64_load(w + (size_t) p * step);
    EACH_ROW {
        const x4 xr = x4_load(x + r * Q8_APART);
        EACH_PANEL {
            const int last = p ? (p - 1) * rows + r : (panels - 1) * rows + r - 1;
            const p32 next = pairs_of(ws[p], xr);
            if (r || p)
                acc[last] = d16_add_pairs(acc[last], before);
            before = next;
        }
    }
    acc[panels * rows - 1] = d16_add_pairs(acc[panels * rows - 1], before);
}

/* The sums of several rows go on, two groups at a time. */
Q8_TILE void FN(q8_groups)(const struct FN(q8) *g, d16 *acc, size_t row, size_t o, const int rows, const int panels)
{
    const size_t step = (g->b->k + KERN_Q8_TERMS - 1) / KERN_Q8_TERMS * 64;
    const int8_t *w = g->w + o / 16 * step;
    const uint8_t *x = g->taken + row * Q8_APART;
    size_t i = 0;
    for (; i + 2 <= g->groups; i += 2, w += 128, x += 2 * KERN_Q8_TERMS) {
        FN(q8_group)(acc, w, step, x, rows, panels);
        FN(q8_group)(acc, w + 64, step, x + KERN_Q8_TERMS, rows, panels);
    }
    if (i < g->groups)
        FN(q8_group)(acc, w, step, x, rows, panels);
}

Q8_TILE void FN(q8_tile_plain)(const struct FN(q8) *g, size_t row, size_t o, const int rows, const int panels)
{
    d16 acc[Q8_ACC];
    EACH_PANEL FN(q8_begin)(g, acc + p * rows, row, o + (size_t) p * 16, rows);
    FN(q8_groups)(g, acc, row, o, rows, panels);
    EACH_PANEL FN(q8_end)(g, acc + p * rows, row, o + (size_t) p * 16, rows);
}
#endif

#ifdef Q8_HALF
/* A last panel of up to eight outputs, which take half the lanes. */
Q8_TILE void FN(q8_half)(const struct FN(q8) *g, size_t row, size_t o, const int rows)
{
    d16 acc[Q8_ROWS];
    const int8_t *w = g->w + o / 16 * ((g->b->k + KERN_Q8_TERMS - 1) / KERN_Q8_TERMS * 64);
    const uint8_t *x = g->taken + row * Q8_APART;
    EACH_ROW acc[r] = d16_zero();
    for (size_t i = 0; i < g->groups; i++, w += 64, x += KERN_Q8_TERMS) {
        const w64 half = w64_load(w);
        EACH_ROW acc[r] = d16_dot_half(acc[r], half.a, x4_load(x + r * Q8_APART));
    }
    EACH_ROW {
        const size_t at = row + (size_t) r;
        FN(q8_store)(g, (g->y_by ? g->y_by[at] : g->y + at * g->ldy) + o, d16_sums(acc[r], g->extra[at]), at, o);
    }
}
#endif

/* 16 * panels outputs of `rows` rows; both are constants where it is called. What there is less of, rows
 * or panels, is held in registers. */
Q8_TILE void FN(q8_tile)(const struct FN(q8) *g, size_t row, size_t o, const int rows, const int panels)
{
#ifdef Q8_PAIRS
    if (rows > 1) {
        FN(q8_tile_pairs)(g, row, o, rows, panels);
        return;
    }
#endif
#ifdef Q8_HALF
    if (panels == 1 && g->b->n - o <= 8) {
        FN(q8_half)(g, row, o, rows);
        return;
    }
#endif
#ifdef Q8_STAGES
    if (rows >= Q8_STAGES && FN(q8_is_plain)(g, o, (size_t) panels)) {
        FN(q8_tile_plain)(g, row, o, rows, panels);
        return;
    }
#endif
    d16 acc[Q8_ACC];
    const size_t step = (g->b->k + KERN_Q8_TERMS - 1) / KERN_Q8_TERMS * 64;
    const int8_t *w = g->w + o / 16 * step;
    const uint8_t *x = g->taken + row * Q8_APART;
#if defined(Q8_PLAIN) && !defined(Q8_STAGES)
    const bool plain = FN(q8_is_plain)(g, o, (size_t) panels);
    if (plain)
        EACH_PANEL FN(q8_begin)(g, acc + p * rows, row, o + (size_t) p * 16, rows);
    else
#endif
        EACH_ROW
            EACH_PANEL acc[p * rows + r] = d16_zero();
    size_t i = 0;
#ifdef Q8_FOUR_GROUPS
    /* A row's terms of four groups in one register; each panel has a pointer, which its loads move. */
    if (rows == 1) {
        const int8_t *at[TILE_PANELS_MOST];
        EACH_PANEL at[p] = w + (size_t) p * step;
        for (; i + 4 <= g->groups; i += 4, x += 4 * KERN_Q8_TERMS) {
            const x4 four = x16_load(x);
            EACH_PANEL acc[p] = d16_dot_4(acc[p], &at[p], four);
        }
        w += i * 64;
    }
#endif
#ifdef Q8_STAGES
    if (rows >= Q8_STAGES) {
        FN(q8_groups)(g, acc, row, o, rows, panels);
        i = g->groups;
    }
#endif
    for (; i < g->groups; i++, w += 64, x += KERN_Q8_TERMS) {
        if (rows < panels * Q8_PARTS) {
            x4 xs[TILE_ROWS_MOST];
            EACH_ROW xs[r] = x4_load(x + r * Q8_APART);
            EACH_PANEL {
                w64 wp = w64_load(w + (size_t) p * step);
                EACH_ROW acc[p * rows + r] = d16_dot(acc[p * rows + r], wp, xs[r]);
            }
        } else {
            w64 ws[TILE_PANELS_MOST];
            EACH_PANEL ws[p] = w64_load(w + (size_t) p * step);
            EACH_ROW {
                x4 xr = x4_load(x + r * Q8_APART);
                EACH_PANEL acc[p * rows + r] = d16_dot(acc[p * rows + r], ws[p], xr);
            }
        }
    }
#if defined(Q8_PLAIN) && !defined(Q8_STAGES)
    if (plain) {
        EACH_PANEL FN(q8_end)(g, acc + p * rows, row, o + (size_t) p * 16, rows);
        return;
    }
#endif
    EACH_ROW {
        const size_t at = row + (size_t) r;
        int32_t *y = (g->y_by ? g->y_by[at] : g->y + at * g->ldy) + o;
        EACH_PANEL FN(q8_store)(g, y + p * 16, d16_sums(acc[p * rows + r], g->extra[at]), at, o + (size_t) p * 16);
    }
}
#undef EACH_PANEL
#undef EACH_ROW

#define Q8_FITS(rows) ((rows) <= Q8_ROWS ? Q8_FIT(rows) : 0)
TILES_DEFINE(q8, Q8_FITS)
#if Q8_OUTLIERS
#include "kernels/fours_tmpl.h"
#endif

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

/* Rows 0 .. m-1, no more than a block. */
static void FN(q8_block)(struct FN(q8) *g, const struct kern_q8_x *how, const int32_t *zero, size_t m)
{
    _Alignas(64) uint8_t taken[Q8_BLOCK * Q8_APART];
    const bool outliers = Q8_OUTLIERS && g->b->in_16;
    const int32_t d = how->is_signed - (Q8_ROWS_ARE_SIGNED && !outliers);
    const size_t k = g->b->k, panels = g->b->n / 16 + (g->b->n % 16 > 0);
    const uint8_t *x[Q8_BLOCK];
    for (size_t i = 0; i < m; i++) {
        x[i] = g->x_by ? g->x_by[i] : g->x + i * g->ldx;
        g->z[i] = zero[i * how->zero_step] + 128 * d;
        if (g->b->zeros)
            g->sum[i] = FN(q8_row_sum)(x[i], k, how->is_signed, zero[i * how->zero_step]);
    }
    g->taken = taken;
    g->zero_is_one = !how->zero_step;
    size_t at = 0, n;
    do {
        n = k - at < Q8_TERMS ? k - at : Q8_TERMS;
        for (size_t i = 0; i < m; i++)
            g->extra[i] = (outliers ? bytes_take : q8_take)(taken + i * Q8_APART, x[i] + at, n, d ? 0x80 : 0);
        g->w = g->b->w + at / KERN_Q8_TERMS * 64;
        g->groups = (n + KERN_Q8_TERMS - 1) / KERN_Q8_TERMS;
        g->first = at == 0;
        g->last = at + n == k;
#if Q8_OUTLIERS
        if (outliers)
            FN(fours_run)(g, at / KERN_Q8_SPAN, m, panels);
        else
#endif
            tiles_run(&FN(q8_tiles), g, m, Q8_TOGETHER(m), panels);
        at += n;
    } while (at < k);
}

static void FN(q8_run)(struct FN(q8) *g, const struct kern_q8_x *how, size_t m)
{
    const int32_t none[Q8_BLOCK] = { 0 }, *zero = how->zero;
    for (size_t r = 0, rows; r < m; r += rows) {
        rows = m - r < Q8_BLOCK ? m - r : Q8_BLOCK;
        FN(q8_block)(g, how, zero ? zero + r * how->zero_step : none, rows);
        g->x_by += g->x_by ? rows : 0;
        g->y_by += g->y_by ? rows : 0;
        g->x += g->x ? rows * g->ldx : 0;
        g->y += g->y ? rows * g->ldy : 0;
    }
}

static void FN(gemm_q8)(int32_t *restrict y, size_t ldy, const void *restrict x, size_t ldx,
                        const struct kern_q8 *w, const struct kern_q8_x *how, size_t m)
{
    struct FN(q8) g = { .b = w, .y = y, .x = x, .ldy = ldy, .ldx = ldx };
    FN(q8_run)(&g, how, m);
}

static void FN(gemm_rows_q8)(int32_t *const *y, const void *const *x, const struct kern_q8 *w,
                             const struct kern_q8_x *how, size_t m)
{
    struct FN(q8) g = { .b = w, .y_by = y, .x_by = x };
    FN(q8_run)(&g, how, m);
}
