/* SPDX-License-Identifier: MIT */
/* Rows of zero mean and unit variance, or of unit mean square. A sum has 16 lanes of f32, element i
 * in lane i % 16, over blocks of NORM_BLOCK elements; the lanes of a block are added in a fixed
 * tree and the blocks in order, in f64: the same on every machine. */

#define NORM_BLOCK 1024

typedef float FN(f8) __attribute__((vector_size(32)));
typedef double FN(d8) __attribute__((vector_size(64)));
typedef double FN(d4) __attribute__((vector_size(32)));

static inline double FN(lanes_sum)(v16 a)
{
    _Alignas(64) FN(f8) t[2];
    v16_store((float *) t, a);
    const FN(d8) s = __builtin_convertvector(t[0], FN(d8)) + __builtin_convertvector(t[1], FN(d8));
    const FN(d4) f =
        __builtin_shufflevector(s, s, 0, 1, 2, 3) + __builtin_shufflevector(s, s, 4, 5, 6, 7);
    return (f[0] + f[2]) + (f[1] + f[3]);
}

V16_UNROLLED double FN(row_sum)(const float *x, size_t n)
{
    double sum = 0;
    for (size_t at = 0; at < n; at += NORM_BLOCK) {
        size_t end = n - at < NORM_BLOCK ? n : at + NORM_BLOCK, i = at;
        v16 s = v16_set1(0.0f);
        for (; i + 16 <= end; i += 16)
            s = v16_add(s, v16_load(x + i));
        if (i < end)
            s = v16_add(s, v16_load_n(x + i, end - i));
        sum += FN(lanes_sum)(s);
    }
    return sum;
}

V16_UNROLLED double FN(row_squares)(const float *x, float mean, size_t n)
{
    v16 m = v16_set1(mean);
    double sum = 0;
    for (size_t at = 0; at < n; at += NORM_BLOCK) {
        size_t end = n - at < NORM_BLOCK ? n : at + NORM_BLOCK, i = at;
        v16 s = v16_set1(0.0f);
        for (; i + 16 <= end; i += 16) {
            v16 d = v16_sub(v16_load(x + i), m);
            s = v16_fma(d, d, s);
        }
        if (i < end) {
            float t[16];
            v16_store(t, v16_sub(v16_load_n(x + i, end - i), m));
            v16 d = v16_load_n(t, end - i);
            s = v16_fma(d, d, s);
        }
        sum += FN(lanes_sum)(s);
    }
    return sum;
}

static inline v16 FN(norm_one)(v16 x, v16 m, v16 s, v16 gain, v16 shift, bool has_gain,
                               bool has_shift)
{
    v16 v = v16_mul(v16_sub(x, m), s);
    v = has_gain ? v16_mul(v, gain) : v;
    return has_shift ? v16_add(v, shift) : v;
}

V16_UNROLLED void FN(row_write)(float *y, const float *x, const float *gain, const float *shift,
                          float mean, float inv, size_t n)
{
    v16 m = v16_set1(mean), s = v16_set1(inv), none = v16_set1(0.0f);
    size_t i = 0;
    for (; i + 16 <= n; i += 16)
        v16_store(y + i,
                  FN(norm_one)(v16_load(x + i), m, s, gain ? v16_load(gain + i) : none,
                               shift ? v16_load(shift + i) : none, gain, shift));
    if (i < n)
        v16_store_n(y + i,
                    FN(norm_one)(v16_load_n(x + i, n - i), m, s,
                                 gain ? v16_load_n(gain + i, n - i) : none,
                                 shift ? v16_load_n(shift + i, n - i) : none, gain, shift),
                    n - i);
}

static void FN(norm_f32)(float *y, const float *x, const float *gain, const float *shift,
                         float epsilon, size_t n, float ret_moments[2])
{
    if (!n)
        return;
    float mean = (float) (FN(row_sum)(x, n) / (double) n);
    float inv = (float) (1 / sqrt(FN(row_squares)(x, mean, n) / (double) n + (double) epsilon));
    ret_moments[0] = mean;
    ret_moments[1] = inv;
    if (y)
        FN(row_write)(y, x, gain, shift, mean, inv, n);
}

/* Step by step: what the moments of one row wait for is time for the others. */
static void FN(norm_rows_f32)(float *y, const float *x, const float *gain, const float *shift,
                              float epsilon, size_t n, float ret_moments[KERN_NORM_ROWS][2])
{
    enum { ROWS = KERN_NORM_ROWS };
    double sum[ROWS];
    for (size_t r = 0; r < ROWS; r++)
        sum[r] = FN(row_sum)(x + r * n, n);
    for (size_t r = 0; r < ROWS; r++)
        ret_moments[r][0] = (float) (sum[r] / (double) n);
    for (size_t r = 0; r < ROWS; r++)
        sum[r] = FN(row_squares)(x + r * n, ret_moments[r][0], n);
    for (size_t r = 0; r < ROWS; r++)
        ret_moments[r][1] = (float) (1 / sqrt(sum[r] / (double) n + (double) epsilon));
    for (size_t r = 0; y && r < ROWS; r++)
        FN(row_write)(y + r * n, x + r * n, gain, shift, ret_moments[r][0], ret_moments[r][1], n);
}

static void FN(rms_f32)(float *y, const float *x, const float *gain, float epsilon, size_t n)
{
    double squares = n ? FN(row_squares)(x, 0, n) / (double) n : 0;
    FN(row_write)(y, x, gain, NULL, 0, (float) (1 / sqrt(squares + (double) epsilon)), n);
}
