/* SPDX-License-Identifier: MIT */
/* Pools with lanes along the places of the last axis, and rows folded into one number each. */

enum { FN(POOL_MAX), FN(POOL_MEAN), FN(POOL_SQUARES) };
enum { FN(POOL_WHOLE), FN(POOL_SOME), FN(POOL_EVEN), FN(POOL_EVEN_SOME), FN(POOL_APART) };

static const float FN(pool_ones)[32] = { 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
                                         1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1 };

/* A vector of places of one tap; those that do not exist are `none`. */
static inline __attribute__((always_inline)) v16 FN(pool_load)(const float *p, uint32_t mask,
                                                               size_t stride, v16 none,
                                                               const int op, const int how)
{
    if (how == FN(POOL_WHOLE))
        return v16_load(p);
    if (how == FN(POOL_EVEN))
        return v16_load_even(p, 0x55555555u);
    v16 v = how == FN(POOL_SOME)    ? v16_load_mask(p, mask)
        : how == FN(POOL_EVEN_SOME) ? v16_load_even(p, mask)
                                    : FN(load_apart)(p, stride, mask);
    if (op != FN(POOL_MAX))
        return v;
    v16 there = how == FN(POOL_EVEN_SOME) ? v16_load_even(FN(pool_ones), mask)
                                          : v16_load_mask(FN(pool_ones), mask);
    return v16_pick(v16_lt(v16_set1(0), there), v, none);
}

#define EACH_VEC V16_UNROLL for (int v = 0; v < vecs; v++)

/* One tap of `vecs` vectors. The greatest: the first of what is equal; `bad`: NaN where there is
 * one. */
static inline __attribute__((always_inline)) void
FN(pool_tap)(v16 *acc, v16 *bad, const float *from, const uint32_t *mask, size_t stride, v16 none,
             const int op, const int how, const int vecs)
{
    EACH_VEC {
        const v16 in = FN(pool_load)(from + (size_t) v * 16 * stride, mask ? mask[v] : 0, stride,
                                     none, op, how);
        if (op == FN(POOL_MAX)) {
            acc[v] = v16_max(in, acc[v]);
            bad[v] = v16_pick(v16_nan(in), in, bad[v]);
        } else {
            acc[v] = op == FN(POOL_MEAN) ? v16_add(acc[v], in) : v16_fma(in, in, acc[v]);
        }
    }
}

/* `vecs` vectors of places from `at` on. taps: how many, where that is a constant, else 0. */
V16_UNROLLED void FN(pool_places)(float *y, const float *x, const float *count,
                                  const struct kern_conv_lines *lines, const struct kern_conv *c,
                                  size_t at, const int op, const int how, const int taps,
                                  const int vecs)
{
    const size_t row_vecs = (c->n + 15) / 16, stride = c->stride;
    const v16 none = v16_set1(op == FN(POOL_MAX) ? -INFINITY : 0);
    v16 acc[2] = { none, none }, bad[2] = { none, none };
    x += c->first + (ptrdiff_t) (at * stride);
    for (size_t l = 0; l < lines->n; l++) {
        const float *from = x + lines->line[l].x;
        V16_UNROLL for (int k = 0; k < taps; k++)
            FN(pool_tap)(acc, bad, from + k * c->step, NULL, stride, none, op, how, vecs);
        for (size_t k = 0; !taps && k < c->n_taps; k++, from += c->step)
            FN(pool_tap)(acc, bad, from, c->mask + at / 16 + k * row_vecs, stride, none, op, how, vecs);
    }
    EACH_VEC {
        const size_t i = at + (size_t) v * 16, left = c->n - i;
        v16 sum = op == FN(POOL_MAX) ? v16_pick(v16_nan(bad[v]), bad[v], acc[v]) : acc[v];
        if (op == FN(POOL_MEAN) && count)
            sum = v16_div(sum, left < 16 ? v16_load_n(count + i, left) : v16_load(count + i));
        if (left < 16)
            v16_store_n(y + i, sum, left);
        else
            v16_store(y + i, sum);
    }
}
#undef EACH_VEC

/* Places at .. end-1 of a row. */
typedef void FN(pool_span)(float *y, const float *x, const float *count,
                           const struct kern_conv_lines *lines, const struct kern_conv *c, size_t at,
                           size_t end);

#define SPAN(name, op, how, taps, vecs)                                                            \
    static __attribute__((noinline)) void FN(name)(                                                \
        float *y, const float *x, const float *count, const struct kern_conv_lines *lines,         \
        const struct kern_conv *c, size_t at, size_t end)                                          \
    {                                                                                              \
        for (; vecs == 2 && at + 32 <= end; at += 32)                                              \
            FN(pool_places)(y, x, count, lines, c, at, FN(op), FN(how), taps, 2);                  \
        for (; at < end; at += 16)                                                                 \
            FN(pool_places)(y, x, count, lines, c, at, FN(op), FN(how), taps, 1);                  \
    }
#define SPANS(op)                                                                                  \
    SPAN(whole_0_##op, op, POOL_WHOLE, 0, 2)                                                       \
    SPAN(whole_2_##op, op, POOL_WHOLE, 2, 2)                                                       \
    SPAN(whole_3_##op, op, POOL_WHOLE, 3, 2)                                                       \
    SPAN(even_0_##op, op, POOL_EVEN, 0, 2)                                                         \
    SPAN(even_2_##op, op, POOL_EVEN, 2, 2)                                                         \
    SPAN(even_3_##op, op, POOL_EVEN, 3, 2)                                                         \
    SPAN(some_##op, op, POOL_SOME, 0, 1)                                                           \
    SPAN(even_some_##op, op, POOL_EVEN_SOME, 0, 1)                                                 \
    SPAN(apart_##op, op, POOL_APART, 0, 1)
SPANS(POOL_MAX)
SPANS(POOL_MEAN)
SPANS(POOL_SQUARES)
#undef SPANS
#undef SPAN

/* Of vectors all of whose taps exist, and of others; strides of 1, 2 and more. */
struct FN(pool_ways) {
    FN(pool_span) *whole[2][4], *some[3];
};
#define WAYS(op)                                                                                   \
    [FN(op)] = {                                                                                   \
        { { FN(whole_0_##op), FN(whole_0_##op), FN(whole_2_##op), FN(whole_3_##op) },              \
          { FN(even_0_##op), FN(even_0_##op), FN(even_2_##op), FN(even_3_##op) } },                \
        { FN(some_##op), FN(even_some_##op), FN(apart_##op) },                                     \
    }
static const struct FN(pool_ways) FN(pool_ways_of)[] = { WAYS(POOL_MAX), WAYS(POOL_MEAN),
                                                         WAYS(POOL_SQUARES) };
#undef WAYS

static void FN(pool_run)(float *y, size_t ldy, const float *x, const float *count,
                         const struct kern_conv_lines *lines, const struct kern_conv *c,
                         const struct kern_rows *rows, int op)
{
    const struct FN(pool_ways) *w = &FN(pool_ways_of)[op];
    const bool near = c->stride <= 2;
    FN(pool_span) *some = w->some[near ? c->stride - 1 : 2],
                  *whole = near ? w->whole[c->stride - 1][c->n_taps < 4 ? c->n_taps : 0] : some;
    const size_t n = c->n, from = c->full_from * 16 < n ? c->full_from * 16 : n,
                 to = near && c->full_to > c->full_from ? c->full_to * 16 : from;
    /* the last vector may take places again */
    const bool again = near && n >= 16 && to < n && to + 16 > n && c->step > 0 &&
        c->first + (ptrdiff_t) ((n - 16) * c->stride) >= 0 &&
        c->first + (ptrdiff_t) ((n - 1) * c->stride) + (ptrdiff_t) (c->n_taps - 1) * c->step <
            (ptrdiff_t) c->n_in;
    for (size_t g = 0; g < c->n_groups; g++, y += ldy, x += c->x_group)
        for (size_t r = 0; r < rows->n; r++) {
            float *yr = y + r * n;
            const float *xr = x + r * rows->x;
            some(yr, xr, count, lines, c, 0, from);
            whole(yr, xr, count, lines, c, from, to);
            if (again)
                whole(yr, xr, count, lines, c, n - 16, n);
            else
                some(yr, xr, count, lines, c, to, n);
        }
}

#define POOL(name, op)                                                                             \
    static void FN(name)(float *restrict y, size_t ldy, const float *restrict x,                   \
                         const float *restrict count, const struct kern_conv_lines *lines,         \
                         const struct kern_conv *c, const struct kern_rows *rows)             \
    {                                                                                              \
        FN(pool_run)(y, ldy, x, count, lines, c, rows, op);                                        \
    }
POOL(pool_max_f32, FN(POOL_MAX))
POOL(pool_mean_f32, FN(POOL_MEAN))
POOL(pool_squares_f32, FN(POOL_SQUARES))
#undef POOL

/* ---- rows of n, each into one number ---- */

/* The greatest, NaN where there is one. The last vector may take elements again. */
static inline float FN(row_max)(const float *x, size_t n)
{
    const v16 none = v16_set1(-INFINITY);
    float t[16], b[16];
    v16 acc = none, bad = none;
    for (size_t i = 0; i < n; i += 16) {
        const size_t at = i + 16 <= n || n < 16 ? i : n - 16;
        v16 v = n < 16
            ? v16_pick(v16_lt(v16_set1(0), v16_load_n(FN(pool_ones), n)), v16_load_n(x, n), none)
            : v16_load(x + at);
        acc = v16_max(v, acc);
        bad = v16_pick(v16_nan(v), v, bad);
    }
    v16_store(t, acc);
    v16_store(b, bad);
    for (size_t half = 8; half; half /= 2)
        for (size_t k = 0; k < half; k++) {
            t[k] = t[k + half] > t[k] ? t[k + half] : t[k];
            b[k] += b[k + half];
        }
    return b[0] != b[0] ? b[0] : t[0];
}

static void FN(rows_max_f32)(float *y, const float *x, size_t rows, size_t n)
{
    for (size_t r = 0; r < rows; r++, x += n)
        y[r] = FN(row_max)(x, n);
}

/* Four columns of four rows that lie n apart, added in order to the rows' sums. */
static inline __attribute__((always_inline)) FN(quad)
    FN(quad_sum)(FN(quad) sum, const float *x, size_t n)
{
    const FN(quad) a = *(const FN(quad) *) (const void *) x,
                   b = *(const FN(quad) *) (const void *) (x + n),
                   c = *(const FN(quad) *) (const void *) (x + 2 * n),
                   d = *(const FN(quad) *) (const void *) (x + 3 * n),
                   ab = __builtin_shufflevector(a, b, 0, 4, 1, 5),
                   cd = __builtin_shufflevector(c, d, 0, 4, 1, 5),
                   ab2 = __builtin_shufflevector(a, b, 2, 6, 3, 7),
                   cd2 = __builtin_shufflevector(c, d, 2, 6, 3, 7);
    sum += __builtin_shufflevector(ab, cd, 0, 1, 4, 5);
    sum += __builtin_shufflevector(ab, cd, 2, 3, 6, 7);
    sum += __builtin_shufflevector(ab2, cd2, 0, 1, 4, 5);
    return sum + __builtin_shufflevector(ab2, cd2, 2, 3, 6, 7);
}

/* `quads` times four rows. */
static inline __attribute__((always_inline)) void FN(rows_sums)(float *y, const float *x, size_t n,
                                                                const int quads)
{
    FN(quad) sum[4];
    size_t i = 0;
    V16_UNROLL for (int q = 0; q < quads; q++) sum[q] =
        *(const FN(quad) *) (const void *) (y + 4 * q);
    for (; i + 4 <= n; i += 4)
        V16_UNROLL for (int q = 0; q < quads; q++) sum[q] =
            FN(quad_sum)(sum[q], x + i + 4 * (size_t) q * n, n);
    V16_UNROLL for (int q = 0; q < quads; q++) * (FN(quad) *) (void *) (y + 4 * q) = sum[q];
    for (; i < n; i++)
        for (int r = 0; r < 4 * quads; r++)
            y[r] += x[(size_t) r * n + i];
}

/* In order, from what y holds: rows side by side. */
static void FN(rows_sum_f32)(float *y, const float *x, size_t rows, size_t n)
{
    size_t r = 0;
    for (; r + 16 <= rows; r += 16, x += 16 * n)
        FN(rows_sums)(y + r, x, n, 4);
    for (; r + 4 <= rows; r += 4, x += 4 * n)
        FN(rows_sums)(y + r, x, n, 1);
    for (; r < rows; r++, x += n) {
        float s = y[r];
        for (size_t i = 0; i < n; i++)
            s += x[i];
        y[r] = s;
    }
}

/* In sixteen chains, halved until one is left, then what is behind the last whole 16. */
static void FN(chains_sum_f32)(float *y, const float *x, size_t count, size_t n)
{
    for (size_t r = 0; r < count; r++, x += n) {
        v16 sum = v16_set1(0);
        size_t i = 0;
        for (; i + 16 <= n; i += 16)
            sum = v16_add(sum, v16_load(x + i));
        float a[16];
        v16_store(a, sum);
        for (size_t half = 8; half; half /= 2)
            for (size_t k = 0; k < half; k++)
                a[k] += a[k + half];
        for (; i < n; i++)
            a[0] += x[i];
        y[r] = a[0];
    }
}

/* As norm_f32 sums. */
static void FN(rows_mean_f32)(float *y, const float *x, size_t rows, size_t n)
{
    for (size_t r = 0; r < rows; r++, x += n)
        y[r] = (float) (FN(row_sum)(x, n) / (double) n);
}

static void FN(rows_norm_f32)(float *y, const float *x, size_t rows, size_t n)
{
    for (size_t r = 0; r < rows; r++, x += n)
        y[r] = (float) sqrt(FN(row_squares)(x, 0, n));
}
