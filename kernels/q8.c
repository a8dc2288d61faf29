/* SPDX-License-Identifier: MIT */
#include "kernels/q8.h"
#include "kernels/kern.h"

#include <math.h>
#include <string.h>

/* Panels, sums, zeros, and whether there are zeros. */
struct layout {
    size_t panels, w, sums, bytes;
};

static size_t groups_of(size_t k)
{
    return k / KERN_Q8_TERMS + (k % KERN_Q8_TERMS > 0);
}

static struct layout layout_of(size_t n, size_t k)
{
    struct layout l = { .panels = n / KERN_LANES + (n % KERN_LANES > 0) };
    const size_t most = PTRDIFF_MAX / 256, out = KERN_LANES * sizeof(int32_t);
    if (k > most || l.panels > most ||
        __builtin_mul_overflow(l.panels, groups_of(k) * KERN_LANES * KERN_Q8_TERMS, &l.w) ||
        l.w > most)
        return (struct layout) { 0 };
    l.sums = l.panels * out;
    l.bytes = l.w + 2 * l.sums + 64;
    return l;
}

size_t kern_q8_bytes(size_t n, size_t k)
{
    return layout_of(n, k).bytes;
}

struct kern_q8 kern_q8_open(const void *packed, size_t n, size_t k)
{
    const struct layout l = layout_of(n, k);
    const char *at = packed;
    struct kern_q8 q = { .w = packed, .by = 1, .n = n, .k = k };
    q.sums = (const int32_t *) (const void *) (at + l.w);
    q.zeros = at[l.w + 2 * l.sums] ? q.sums + l.panels * KERN_LANES : NULL;
    return q;
}

/* One output: its column of the panel, its sum. */
static int32_t output_pack(int8_t *to, const struct kern_q8_w *w, size_t o)
{
    const uint8_t *from = (const uint8_t *) w->w + o * w->stride_o, flip = w->is_signed ? 0 : 0x80;
    uint32_t sum = 0;
    for (size_t i = 0; i < w->k; i++) {
        int8_t v = (int8_t) (from[i * w->stride_k] ^ flip);
        to[i / KERN_Q8_TERMS * KERN_LANES * KERN_Q8_TERMS + i % KERN_Q8_TERMS] = v;
        sum += (uint32_t) v;
    }
    return (int32_t) sum;
}

void kern_q8_pack(void *ret, const struct kern_q8_w *w)
{
    const struct layout l = layout_of(w->n, w->k);
    int8_t *to = ret;
    int32_t *sums = (int32_t *) (void *) (to + l.w), *zeros = sums + l.panels * KERN_LANES;
    int8_t *any_zero = to + l.w + 2 * l.sums;
    memset(ret, 0, l.bytes);
    for (size_t o = 0; o < w->n; o++) {
        size_t panel = o / KERN_LANES;
        sums[o] = output_pack(to + l.w / l.panels * panel + o % KERN_LANES * KERN_Q8_TERMS, w, o);
        zeros[o] = (w->zero ? w->zero[o * w->zero_step] : 0) - (w->is_signed ? 0 : 128);
        *any_zero |= zeros[o] != 0;
    }
}

struct kern_quant kern_quant_of_range(float low, float high)
{
    struct kern_quant q = { .scale = (high - low) / 255 };
    if (!(q.scale > 0))
        return q;
    float zero = rintf(0 - low / q.scale);
    q.most = 255;
    q.zero = !(zero > 0) ? 0 : zero > 255 ? 255 : (int32_t) zero;
    return q;
}

/* Rows for tiles of every height, outputs and terms that fill neither a panel nor a group. */
enum { SELF_ROWS = 9, SELF_N = 16 * 9 + 5, SELF_K = 39 };

/* One of the cases: bits 0 and 1: rows and weights are signed; 2: weights have zeros. */
static bool case_same(const struct kern *a, const struct kern *b, unsigned variant)
{
    static const int32_t zeros[2] = { 3, -7 };
    _Alignas(64) uint8_t packed[16 * 1024], w[SELF_N * SELF_K], x[SELF_ROWS * SELF_K];
    int32_t y[2][SELF_ROWS * SELF_N];
    uint32_t r = 1;
    for (size_t i = 0; i < sizeof w; i++)
        w[i] = (uint8_t) ((r = r * 1664525u + 1013904223u) >> 24);
    for (size_t i = 0; i < sizeof x; i++)
        x[i] = i % 5 ? (uint8_t) ((r = r * 1664525u + 1013904223u) >> 24) : 0xff;
    struct kern_q8_w from = { w,      variant & 2, SELF_N, SELF_K,
                              SELF_K, 1,           0,      variant & 4 ? zeros : NULL };
    struct kern_q8_x how = { variant & 1, 0, zeros + 1 };
    if (kern_q8_bytes(SELF_N, SELF_K) > sizeof packed)
        return false;
    kern_q8_pack(packed, &from);
    struct kern_q8 q = kern_q8_open(packed, SELF_N, SELF_K);
    for (size_t m = 1; m <= SELF_ROWS; m++) {
        a->gemm_q8(y[0], SELF_N, x, SELF_K, &q, &how, m);
        b->gemm_q8(y[1], SELF_N, x, SELF_K, &q, &how, m);
        if (memcmp(y[0], y[1], m * SELF_N * sizeof **y))
            return false;
    }
    return true;
}

/* Tiles of cells (struct kern_cell_sums). */
static bool sums_same(const struct kern *a, const struct kern *b)
{
    enum { PAIRS = 9, MOST = 24 };
    _Alignas(64) int16_t w[PAIRS * 8 * 32], all[4 * PAIRS * 2];
    const int16_t *x[4];
    int32_t y[2][MOST * 16];
    uint32_t r = 1;
    for (size_t i = 0; i < sizeof w / sizeof *w; i++)
        w[i] = (int8_t) ((r = r * 1664525u + 1013904223u) >> 24);
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        all[i] = (int16_t) ((r = r * 1664525u + 1013904223u) >> 16);
    for (size_t i = 0; i < 4; i++)
        x[i] = all + PAIRS * 2 * i;
    for (unsigned i = 0; i < 30; i++) {
        struct kern_cell_sums s = { .w = w,
                                    .down = 8,
                                    .pairs = PAIRS,
                                    .rows = 1u << i % 3,
                                    .panels = (unsigned[]) { 1, 2, 3, 4, 6 }[i / 3 % 5],
                                    .wide = i >= 15 };
        a->cell_sums(y[0], &s, x);
        b->cell_sums(y[1], &s, x);
        if (memcmp(y[0], y[1], s.rows * s.panels * 16 * sizeof **y))
            return false;
    }
    return true;
}

bool kern_q8_same(const struct kern *a, const struct kern *b)
{
    for (unsigned v = 0; v < 8; v++)
        if (!case_same(a, b, v))
            return false;
    return sums_same(a, b);
}
