/* SPDX-License-Identifier: MIT */
/* Packed products: lanes along the outputs, k in order, one chain of fused multiply-adds per output. */

/* rows x panels outputs at once; both are constants where it is called, so everything stays in registers. */
V16_UNROLLED void FN(gemm_tile)(float *restrict y, size_t ldy, const float *restrict x, size_t ldx,
                                const float *restrict w, const float *restrict bias, size_t n, size_t k,
                                const int rows, const int panels)
{
    v16 acc[32];
    for (int p = 0; p < panels; p++) {
        size_t left = n - (size_t) p * 16;
        v16 b = !bias ? v16_set1(0) : left >= 16 ? v16_load(bias + p * 16) : v16_load_n(bias + p * 16, left);
        for (int r = 0; r < rows; r++)
            acc[p * rows + r] = b;
    }
    for (size_t i = 0; i < k; i++)
        for (int p = 0; p < panels; p++) {
            v16 wp = v16_load(w + (size_t) p * k * 16 + i * 16);
            for (int r = 0; r < rows; r++)
                acc[p * rows + r] = v16_fma(wp, v16_set1(x[(size_t) r * ldx + i]), acc[p * rows + r]);
        }
    for (int p = 0; p < panels; p++) {
        size_t left = n - (size_t) p * 16;
        for (int r = 0; r < rows; r++) {
            float *to = y + (size_t) r * ldy + p * 16;
            if (left >= 16)
                v16_store(to, acc[p * rows + r]);
            else
                v16_store_n(to, acc[p * rows + r], left);
        }
    }
}

/* All panels for `rows` rows, `most` panels at a time. */
#define GEMM_ROWS(rows, most)                                                                              \
    static void FN(gemm_rows_##rows)(float *restrict y, size_t ldy, const float *restrict x, size_t ldx,    \
                                     const float *restrict w, const float *restrict bias, size_t n, size_t k) \
    {                                                                                                      \
        size_t o = 0;                                                                                      \
        for (; o + (most - 1) * 16 < n; o += most * 16)                                                    \
            FN(gemm_tile)(y + o, ldy, x, ldx, w + o * k, bias ? bias + o : bias, n - o, k, rows, most);    \
        for (; o < n; o += 16)                                                                             \
            FN(gemm_tile)(y + o, ldy, x, ldx, w + o * k, bias ? bias + o : bias, n - o, k, rows, 1);       \
    }
GEMM_ROWS(1, 8)
GEMM_ROWS(2, 4)
GEMM_ROWS(3, 4)
GEMM_ROWS(4, 2)
GEMM_ROWS(8, 1)
#undef GEMM_ROWS

static void FN(gemm_f32)(float *restrict y, size_t ldy, const float *restrict x, size_t ldx, const float *restrict w,
                         const float *restrict bias, size_t m, size_t n, size_t k)
{
    size_t r = 0;
    if (n <= 16)
        for (; r + 8 <= m; r += 8)
            FN(gemm_rows_8)(y + r * ldy, ldy, x + r * ldx, ldx, w, bias, n, k);
    for (; r + 4 <= m; r += 4)
        FN(gemm_rows_4)(y + r * ldy, ldy, x + r * ldx, ldx, w, bias, n, k);
    size_t left = m - r;
    if (left == 3)
        FN(gemm_rows_3)(y + r * ldy, ldy, x + r * ldx, ldx, w, bias, n, k);
    else if (left == 2)
        FN(gemm_rows_2)(y + r * ldy, ldy, x + r * ldx, ldx, w, bias, n, k);
    else if (left == 1)
        FN(gemm_rows_1)(y + r * ldy, ldy, x + r * ldx, ldx, w, bias, n, k);
}
