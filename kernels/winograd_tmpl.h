/* SPDX-License-Identifier: MIT */
/* Winograd's F(4, 3): four outputs of a kernel of three places are made of six products, of what
 * six places of the input become and what the kernel becomes. Points 0, 1, -1, 1/2, -1/2 and
 * infinity; docs/kernels.md, "Winograd's products". */

/* In place: places 0..5 of tiles become their components. */
V16_UNROLLED void FN(winograd_parts)(v16 *d)
{
    const v16 quarter = v16_set1(-0.25f), both = v16_set1(-1.25f), half = v16_set1(0.5f);
    const v16 first = v16_fma(v16_set1(0.25f), d[0], v16_fma(both, d[2], d[4])),
              last = v16_fma(v16_set1(0.25f), d[1], v16_fma(both, d[3], d[5])),
              even = v16_fma(quarter, d[2], d[4]), odd = v16_fma(quarter, d[1], d[3]),
              near = v16_sub(d[4], d[2]), far = v16_sub(d[3], d[1]);
    d[0] = first;
    d[1] = v16_add(even, odd);
    d[2] = v16_sub(even, odd);
    d[3] = v16_fma(half, far, near);
    d[4] = v16_fma(v16_set1(-0.5f), far, near);
    d[5] = last;
}

/* In place: six products become four outputs. */
V16_UNROLLED void FN(winograd_whole)(v16 *m)
{
    const v16 one = v16_add(m[1], m[2]), less = v16_sub(m[1], m[2]), two = v16_add(m[3], m[4]),
              apart = v16_sub(m[3], m[4]);
    m[0] = v16_add(v16_add(m[0], one), two);
    m[1] = v16_fma(v16_set1(0.5f), apart, less);
    m[2] = v16_fma(v16_set1(0.25f), two, one);
    m[3] = v16_add(v16_fma(v16_set1(0.125f), apart, less), m[5]);
}

static void FN(winograd_in_f32)(float *restrict y, size_t step, const float *restrict x,
                                size_t rows, size_t n)
{
    for (size_t r = 0; r < rows; r++, x += 4 * n, y += n)
        for (size_t i = 0; i < n; i += 16) {
            v16 d[6];
            V16_UNROLL for (size_t k = 0; k < 6; k++) d[k] = v16_load(x + k * n + i);
            FN(winograd_parts)(d);
            V16_UNROLL for (size_t k = 0; k < 6; k++) v16_store(y + k * step + i, d[k]);
        }
}

/* Of 64 places each fourth, from the first on, and so on. */
V16_UNROLLED void FN(winograd_fours)(v16 *d, const float *x)
{
    v16 a, b, c, e;
    v16_unzip(v16_load(x), v16_load(x + 16), &a, &b);
    v16_unzip(v16_load(x + 32), v16_load(x + 48), &c, &e);
    v16_unzip(a, c, &d[0], &d[2]);
    v16_unzip(b, e, &d[1], &d[3]);
}

static void FN(winograd_in_places_f32)(float *restrict y, size_t step, const float *restrict x,
                                       size_t n)
{
    for (size_t i = 0; i < n; i += 16) {
        v16 d[8]; /* the last two are not read */
        FN(winograd_fours)(d, x + 4 * i);
        FN(winograd_fours)(d + 4, x + 4 * i + 4);
        FN(winograd_parts)(d);
        V16_UNROLL for (size_t k = 0; k < 6; k++) v16_store(y + k * step + i, d[k]);
    }
}

static void FN(winograd_out_f32)(float *restrict y, const float *restrict m, size_t step,
                                 size_t rows, size_t n)
{
    for (size_t r = 0; r < rows; r++, y += 4 * n, m += n)
        for (size_t i = 0; i < n; i += 16) {
            const size_t now = n - i < 16 ? n - i : 16;
            v16 d[6];
            V16_UNROLL for (size_t k = 0; k < 6; k++) d[k] =
                now == 16 ? v16_load(m + k * step + i) : v16_load_n(m + k * step + i, now);
            FN(winograd_whole)(d);
            V16_UNROLL for (size_t k = 0; k < 4; k++) if (now == 16) v16_store(y + k * n + i, d[k]);
            else v16_store_n(y + k * n + i, d[k], now);
        }
}
