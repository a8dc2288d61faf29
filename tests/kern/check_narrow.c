/* SPDX-License-Identifier: MIT */
/* Products with narrow weights against products of floats with the numbers that they stand for. */
#include "tests/kern/check.h"

#include <math.h>
#include <string.h>

#define ROWS_MOST 70

struct narrow {
    struct kern_narrow_w from;
    struct kern_narrow packed;
    float *w; /* [k][n], what they stand for */
};

static float f16_number(uint16_t h)
{
    int e = h >> 10 & 31, m = h & 0x3ff;
    double v = e == 31 ? (m ? (double) NAN : (double) INFINITY)
        : e            ? ldexp(1024 + m, e - 25)
                       : ldexp(m, -24);
    return (float) (h & 0x8000 ? -v : v);
}

static float bf16_number(uint16_t h)
{
    uint32_t bits = (uint32_t) h << 16;
    float v;
    memcpy(&v, &bits, sizeof v);
    return v;
}

static bool is_half(enum kern_narrow_kind kind)
{
    return kind == KERN_NARROW_F16 || kind == KERN_NARROW_BF16;
}

/* Weight i of the block whose scale and zero lie at `at`. */
static float number(const struct kern_narrow_w *w, size_t i, size_t at)
{
    uint16_t half;
    if (is_half(w->kind)) {
        memcpy(&half, (const uint8_t *) w->w + 2 * i, 2);
        return w->kind == KERN_NARROW_F16 ? f16_number(half) : bf16_number(half);
    }
    bool four = w->kind == KERN_NARROW_U4;
    int q = four ? ((const uint8_t *) w->w)[i] : ((const int8_t *) w->w)[i],
        z = !w->zero ? 0
        : four       ? ((const uint8_t *) w->zero)[at]
                     : ((const int8_t *) w->zero)[at];
    return (float) (q - z) * w->scale[at];
}

/* Weights of 16 bits that are no number, or too large to sum, are left to values_check. */
static uint8_t *bytes_make(struct check *t, enum kern_narrow_kind kind, size_t n)
{
    size_t bytes = n * (is_half(kind) ? 2 : 1);
    uint8_t *p = check_bytes(t, bytes, false);
    for (size_t i = 0; i < bytes; i++)
        p[i] = (uint8_t) check_bits(t) & (kind == KERN_NARROW_U4 ? 15 : 255);
    for (size_t i = 1; i < bytes && is_half(kind); i += 2)
        p[i] &= 0xbf;
    return p;
}

static void narrow_make(struct check *t, struct narrow *v, enum kern_narrow_kind kind, size_t n,
                        size_t k, size_t block)
{
    size_t blocks = (k + block - 1) / block, bytes = kern_narrow_bytes(kind, n, k, block);
    float *scale = check_buf(t, blocks * n, false);
    check_fill(t, scale, blocks * n);
    v->from =
        (struct kern_narrow_w) { .kind = kind,
                                 .n = n,
                                 .k = k,
                                 .block = block,
                                 .w = bytes_make(t, kind, n * k),
                                 .zero =
                                     kind > KERN_NARROW_S8 ? bytes_make(t, kind, blocks * n) : NULL,
                                 .scale = scale };
    void *to = check_bytes(t, bytes, false);
    kern_narrow_pack(to, &v->from);
    v->packed = kern_narrow_open(to, kind, n, k, block);
    v->w = check_buf(t, n * k, false);
    for (size_t i = 0; i < n * k; i++)
        v->w[i] = number(&v->from, i, i / n / block * n + i % n);
}

/* Rows that lie in reverse order. */
static void shape_check(struct check *t, enum kern_narrow_kind kind, size_t m, size_t n, size_t k,
                        size_t block, bool low)
{
    struct narrow v;
    float *yr[ROWS_MOST];
    const float *xr[ROWS_MOST];
    narrow_make(t, &v, kind, n, k, block);
    float *x = check_buf(t, m * k, low), *want = check_buf(t, m * n, low),
          *got = check_buf(t, m * n, low), *p = check_buf(t, kern_packed_floats(n, k), false);
    float *bias = low ? check_buf(t, n, true) : NULL;
    check_fill(t, x, m * k);
    if (bias)
        check_fill(t, bias, n);
    for (size_t i = 0; i < m; i++) {
        yr[i] = got + (m - 1 - i) * n;
        xr[i] = x + (m - 1 - i) * k;
    }
    kern_pack_f32(p, v.w, n, k, 1, n);
    t->ref.gemm_f32(want, n, x, k, p, bias, m, n, k);
    v.packed.bias = bias;
    t->new.gemm_rows_narrow(yr, xr, &v.packed, m);
    check_same(t, "gemm_rows_narrow", want, got, m * n, "kind %d m %zu n %zu k %zu block %zu",
               (int) kind, m, n, k, block);
    check_drop(t);
}

/* A row for each of several matrices, beside each of them alone. */
static void each_check(struct check *t, size_t count, size_t n, size_t k, bool low)
{
    struct narrow v;
    const size_t all = count * n, ldx = k + 3 * low;
    narrow_make(t, &v, KERN_NARROW_S8, all, k, k + 1);
    float *x = check_buf(t, count * ldx, low), *want = check_buf(t, all, low),
          *got = check_buf(t, all, low), *p = check_buf(t, kern_packed_floats(n, k), false);
    check_fill(t, x, count * ldx);
    for (size_t i = 0; i < count; i++) {
        kern_pack_f32(p, v.w + i * n, n, k, 1, all);
        t->ref.gemm_f32(want + i * n, n, x + i * ldx, ldx, p, NULL, 1, n, k);
    }
    t->new.gemm_each_narrow(got, x, ldx, &v.packed, count);
    check_same(t, "gemm_each_narrow", want, got, all, "count %zu n %zu k %zu", count, n, k);
    check_drop(t);
}

/* All numbers of 16 bits, each alone times 1. */
static void values_check(struct check *t, enum kern_narrow_kind kind)
{
    const size_t n = 65536;
    const float one = 1;
    const float *x = &one;
    float *y = check_buf(t, n, false), *want = check_buf(t, n, false);
    uint8_t *w = check_bytes(t, 2 * n, false);
    for (size_t i = 0; i < n; i++) {
        uint16_t half = (uint16_t) i;
        memcpy(w + 2 * i, &half, 2);
    }
    const struct kern_narrow_w from = { .kind = kind, .n = n, .k = 1, .block = 1, .w = w };
    void *to = check_bytes(t, kern_narrow_bytes(kind, n, 1, 1), false);
    kern_narrow_pack(to, &from);
    const struct kern_narrow packed = kern_narrow_open(to, kind, n, 1, 1);
    for (size_t i = 0; i < n; i++)
        want[i] = 0 + number(&from, i, 0);
    t->new.gemm_rows_narrow(&y, &x, &packed, 1);
    check_same(t, "gemm_rows_narrow", want, y, n, "all numbers of kind %d", (int) kind);
    check_drop(t);
}

void check_narrow(struct check *t)
{
    static const size_t ms[] = { 1, 2, 3, 4, 5, 9, 33, 70 };
    static const size_t ns[] = { 1, 15, 16, 33, 97, 145 };
    static const size_t ks[] = { 0, 1, 2, 33, 63, 64, 65, 130 };
    unsigned variant = 0;
    for (enum kern_narrow_kind kind = 0; kind < KERN_NARROW_KINDS; kind++)
        for (size_t m = 0; m < sizeof ms / sizeof *ms; m++)
            for (size_t n = 0; n < sizeof ns / sizeof *ns; n++)
                for (size_t k = 0; k < sizeof ks / sizeof *ks; k++, variant++) {
                    const size_t blocks[] = { 2, 16, 34, ks[k] + 1 };
                    shape_check(t, kind, ms[m], ns[n], ks[k], blocks[variant % 4], variant / 4 & 1);
                }
    for (size_t count = 1; count < 20; count++)
        for (size_t k = 0; k < sizeof ks / sizeof *ks; k++)
            each_check(t, count, 16 * (1 + count % 3), ks[k], count & 1);
    values_check(t, KERN_NARROW_F16);
    values_check(t, KERN_NARROW_BF16);
    check_true(t, !kern_narrow_bytes(KERN_NARROW_S8, PTRDIFF_MAX / 64, 1024, 1),
               "a product that no memory holds has a size");
}
