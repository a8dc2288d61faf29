/* SPDX-License-Identifier: MIT */
/* Pools with lanes along the places of the last axis, and rows folded into one number each. */

enum { FN(POOL_MAX), FN(POOL_MEAN), FN(POOL_SQUARES) };
enum {
    FN(POOL_WHOLE),
    FN(POOL_SOME),
    FN(POOL_EVEN),
    FN(POOL_EVEN_SOME),
    FN(POOL_FOURS), /* four taps, four places apart, all of which exist */
    FN(POOL_NEAR),  /* three taps, of which some do not exist; what lies there may be read */
    FN(POOL_EVEN_NEAR),
    FN(POOL_APART)
};

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

/* Of 64 places each fourth, from the first, the second, the third and the fourth on. */
V16_UNROLLED void FN(fours_load)(v16 *in, const float *p)
{
    v16 a, b, c, d;
    v16_unzip(v16_load(p), v16_load(p + 16), &a, &b);
    v16_unzip(v16_load(p + 32), v16_load(p + 48), &c, &d);
    v16_unzip(a, c, &in[0], &in[2]);
    v16_unzip(b, d, &in[1], &in[3]);
}

/* Three taps, and `none` instead of those that do not exist. */
V16_UNROLLED void FN(near_load)(v16 *in, const float *p, const uint32_t *mask, size_t row_vecs,
                                v16 none, const bool even)
{
    if (even)
        v16_unzip(v16_load(p), v16_load(p + 16), &in[0], &in[1]);
    in[2] = even ? v16_load_even(p + 2, 0x55555555u) : v16_load(p + 2);
    V16_UNROLL for (int k = 0; k < 3; k++)
    {
        const uint32_t there = mask[(size_t) k * row_vecs];
        const v16 one =
            even ? v16_load_even(FN(pool_ones), there) : v16_load_mask(FN(pool_ones), there);
        in[k] = v16_pick(v16_lt(v16_set1(0), one), even || k == 2 ? in[k] : v16_load(p + k), none);
    }
}

/* The taps of a vector of places, which follow each other; mask: of the first one, `row_vecs` from
 * tap to tap. */
V16_UNROLLED void FN(pool_taps)(v16 *in, const float *from, const uint32_t *mask, size_t row_vecs,
                                v16 none, const int op, const int how, const int taps)
{
    if (how == FN(POOL_NEAR) || how == FN(POOL_EVEN_NEAR)) {
        FN(near_load)(in, from, mask, row_vecs, none, how == FN(POOL_EVEN_NEAR));
        return;
    }
    if (how == FN(POOL_FOURS)) {
        FN(fours_load)(in, from);
        return;
    }
    if (how == FN(POOL_EVEN)) {
        v16_unzip(v16_load(from), v16_load(from + 16), &in[0], &in[1]);
        if (taps == 3)
            in[2] = v16_load_even(from + 2, 0x55555555u);
        return;
    }
    V16_UNROLL for (int k = 0; k < taps; k++) in[k] =
        FN(pool_load)(from + k, mask[(size_t) k * row_vecs], 1, none, op, how);
}

/* The greatest so far, the first of what is equal, NaN where there is one; or sums. */
static inline __attribute__((always_inline)) v16 FN(pool_more)(v16 acc, v16 in, const int op)
{
    return op == FN(POOL_MAX) ? v16_most(acc, in)
        : op == FN(POOL_MEAN) ? v16_add(acc, in)
                              : v16_fma(in, in, acc);
}

static inline __attribute__((always_inline)) void FN(pool_store)(float *y, const float *count,
                                                                 v16 sum, size_t left, const int op)
{
    if (op == FN(POOL_MEAN) && count)
        sum = v16_div(sum, left < 16 ? v16_load_n(count, left) : v16_load(count));
    if (left < 16)
        v16_store_n(y, sum, left);
    else
        v16_store(y, sum);
}

/* The places from `at` on of a row. taps: how many, where that is a constant and they follow each
 * other, else 0. */
V16_UNROLLED void FN(pool_places)(float *y, const float *x, const float *count,
                                  const struct kern_conv_lines *lines, const struct kern_conv *c,
                                  size_t at, const int op, const int how, const int taps)
{
    const size_t row_vecs = (c->n + 15) / 16, stride = c->stride;
    const v16 none = v16_set1(op == FN(POOL_MAX) ? -INFINITY : 0);
    const uint32_t *mask = c->mask + at / 16;
    v16 acc = none, in[4];
    x += c->first + (ptrdiff_t) (at * stride);
    for (size_t l = 0; l < lines->n; l++) {
        const float *from = x + lines->line[l].x;
        if (taps)
            FN(pool_taps)(in, from, mask, row_vecs, none, op, how, taps);
        V16_UNROLL for (int k = 0; k < taps; k++) acc = FN(pool_more)(acc, in[k], op);
        for (size_t k = 0; !taps && k < c->n_taps; k++, from += c->step)
            acc = FN(pool_more)(acc, FN(pool_load)(from, mask[k * row_vecs], stride, none, op, how),
                                op);
    }
    FN(pool_store)(y + at, count ? count + at : NULL, acc, c->n - at, op);
}

/* Lines from a row to the next, where rows of three lines that follow each other share some; else
 * 0. */
static int FN(pool_down)(const struct kern_conv_lines *lines, const struct kern_rows *rows)
{
    const struct kern_conv_line *l = lines->line;
    const ptrdiff_t step = lines->n == 3 ? l[1].x - l[0].x : 0, row = (ptrdiff_t) rows->x;
    if (rows->n < 2 || step <= 0 || l[2].x - l[1].x != step)
        return 0;
    return row == step ? 1 : row == 2 * step ? 2 : 0;
}

/* The greatest of three taps of one line. */
static inline __attribute__((always_inline)) v16 FN(line_most)(const float *from,
                                                               const uint32_t *mask,
                                                               size_t row_vecs, const int how)
{
    v16 in[4];
    FN(pool_taps)(in, from, mask, row_vecs, v16_set1(-INFINITY), FN(POOL_MAX), how, 3);
    return v16_most(v16_most(in[0], in[1]), in[2]);
}

/* All rows: each line once. */
V16_UNROLLED void FN(pool_rolled)(float *y, const float *x, const struct kern_conv_lines *lines,
                                  const struct kern_conv *c, const struct kern_rows *rows,
                                  size_t at, const int how, const int down)
{
    const size_t row_vecs = (c->n + 15) / 16, left = c->n - at, step = rows->x / (size_t) down;
    const uint32_t *mask = c->mask + at / 16;
    v16 h[3];
    x += lines->line[0].x + c->first + (ptrdiff_t) (at * c->stride);
    V16_UNROLL for (int l = 0; l < 3 - down; l++, x += step) h[l] =
        FN(line_most)(x, mask, row_vecs, how);
    for (size_t r = 0; r < rows->n; r++) {
        V16_UNROLL for (int l = 3 - down; l < 3; l++, x += step) h[l] =
            FN(line_most)(x, mask, row_vecs, how);
        FN(pool_store)
        (y + r * c->n + at, NULL, v16_most(v16_most(h[0], h[1]), h[2]), left, FN(POOL_MAX));
        V16_UNROLL for (int l = 0; l < 3 - down; l++) h[l] = h[l + down];
    }
}

/* Sums of four rows at a time from six lines. Returns the rows that were done. */
V16_UNROLLED size_t FN(pool_shared)(float *y, const float *x, const float *count,
                                    const struct kern_conv_lines *lines, const struct kern_conv *c,
                                    const struct kern_rows *rows, size_t at, const int op,
                                    const int how)
{
    const size_t row_vecs = (c->n + 15) / 16, left = c->n - at;
    const uint32_t *mask = c->mask + at / 16;
    const v16 none = v16_set1(0);
    size_t r = 0;
    y += at;
    x += lines->line[0].x + c->first + (ptrdiff_t) (at * c->stride);
    for (; r + 4 <= rows->n; r += 4, x += 4 * rows->x) {
        v16 acc[4] = { none, none, none, none }, in[4];
        V16_UNROLL for (int l = 0; l < 6; l++)
        {
            FN(pool_taps)(in, x + (size_t) l * rows->x, mask, row_vecs, none, op, how, 3);
            V16_UNROLL for (int i = 0; i < 4; i++)
                V16_UNROLL for (int k = 0; k < 3; k++) if (l - i >= 0 && l - i < 3) acc[i] =
                    FN(pool_more)(acc[i], in[k], op);
        }
        V16_UNROLL for (int i = 0; i < 4; i++) FN(
            pool_store)(y + (r + (size_t) i) * c->n, count ? count + at : NULL, acc[i], left, op);
    }
    return r;
}

/* Places at .. end-1 of all rows of a group. */
typedef void FN(pool_span)(float *y, const float *x, const float *count,
                           const struct kern_conv_lines *lines, const struct kern_conv *c,
                           const struct kern_rows *rows, size_t at, size_t end);

/* All rows of a vector of places, where they share lines. Returns the rows that were done. */
V16_UNROLLED size_t FN(pool_column)(float *y, const float *x, const float *count,
                                    const struct kern_conv_lines *lines, const struct kern_conv *c,
                                    const struct kern_rows *rows, size_t at, int down, const int op,
                                    const int how)
{
    if (op != FN(POOL_MAX))
        return down == 1 ? FN(pool_shared)(y, x, count, lines, c, rows, at, op, how) : 0;
    if (down == 1)
        FN(pool_rolled)(y, x, lines, c, rows, at, how, 1);
    else
        FN(pool_rolled)(y, x, lines, c, rows, at, how, 2);
    return rows->n;
}

#define SPAN(name, op, how, taps)                                                                  \
    static __attribute__((noinline)) void FN(                                                      \
        name)(float *y, const float *x, const float *count, const struct kern_conv_lines *lines,   \
              const struct kern_conv *c, const struct kern_rows *rows, size_t at, size_t end)      \
    {                                                                                              \
        const int down = taps == 3 ? FN(pool_down)(lines, rows) : 0;                               \
        size_t r = 0;                                                                              \
        for (size_t i = at; taps == 3 && down && i < end; i += 16)                                 \
            r = FN(pool_column)(y, x, count, lines, c, rows, i, down, FN(op), FN(how));            \
        for (; r < rows->n; r++)                                                                   \
            for (size_t i = at; i < end; i += 16)                                                  \
                FN(pool_places)                                                                    \
        (y + r * c->n, x + r * rows->x, count, lines, c, i, FN(op), FN(how), taps);                \
    }
#define SPANS(op)                                                                                  \
    SPAN(whole_0_##op, op, POOL_WHOLE, 0)                                                          \
    SPAN(whole_2_##op, op, POOL_WHOLE, 2)                                                          \
    SPAN(whole_3_##op, op, POOL_WHOLE, 3)                                                          \
    SPAN(even_0_##op, op, POOL_EVEN, 0)                                                            \
    SPAN(even_2_##op, op, POOL_EVEN, 2)                                                            \
    SPAN(even_3_##op, op, POOL_EVEN, 3)                                                            \
    SPAN(some_0_##op, op, POOL_SOME, 0)                                                            \
    SPAN(some_3_##op, op, POOL_SOME, 3)                                                            \
    SPAN(even_some_0_##op, op, POOL_EVEN_SOME, 0)                                                  \
    SPAN(even_some_3_##op, op, POOL_EVEN_SOME, 3)                                                  \
    SPAN(near_##op, op, POOL_NEAR, 3)                                                              \
    SPAN(even_near_##op, op, POOL_EVEN_NEAR, 3)                                                    \
    SPAN(fours_##op, op, POOL_FOURS, 4)                                                            \
    SPAN(apart_##op, op, POOL_APART, 0)
SPANS(POOL_MAX)
SPANS(POOL_MEAN)
SPANS(POOL_SQUARES)
#undef SPANS
#undef SPAN

/* Of vectors all of whose taps exist, and of others; strides of 1 and 2, by the taps that follow
 * each other (0: others); strides of 4 with as many taps, and all others. */
struct FN(pool_ways) {
    FN(pool_span) * whole[2][4], *some[2][4], *near[2], *fours, *apart;
};
#define WAYS(op)                                                                                   \
    [FN(op)] = {                                                                                   \
        { { FN(whole_0_##op), FN(whole_0_##op), FN(whole_2_##op), FN(whole_3_##op) },              \
          { FN(even_0_##op), FN(even_0_##op), FN(even_2_##op), FN(even_3_##op) } },                \
        { { FN(some_0_##op), FN(some_0_##op), FN(some_0_##op), FN(some_3_##op) },                  \
          { FN(even_some_0_##op), FN(even_some_0_##op), FN(even_some_0_##op),                      \
            FN(even_some_3_##op) } },                                                              \
        { FN(near_##op), FN(even_near_##op) },                                                     \
        FN(fours_##op),                                                                            \
        FN(apart_##op),                                                                            \
    }
static const struct FN(pool_ways)
    FN(pool_ways_of)[] = { WAYS(POOL_MAX), WAYS(POOL_MEAN), WAYS(POOL_SQUARES) };
#undef WAYS

/* Of the rows of the groups from x on, those whose vector of places from `at` on may be read beyond
 * the row's end, as others lie behind it. */
static size_t FN(rows_followed)(const struct kern_conv_lines *lines, const struct kern_conv *c,
                                const struct kern_rows *rows, size_t groups, size_t at)
{
    ptrdiff_t last = 0, left;
    for (size_t l = 0; l < lines->n; l++)
        last = lines->line[l].x > last ? lines->line[l].x : last;
    left = (ptrdiff_t) (groups * c->x_group) - last - c->first -
        (ptrdiff_t) ((at + 16) * c->stride + c->n_taps);
    const size_t most = left < 0 ? 0 : (size_t) left / (rows->x ? rows->x : 1) + 1;
    return most < rows->n ? most : rows->n;
}

static void FN(pool_run)(float *y, size_t ldy, const float *x, const float *count,
                         const struct kern_conv_lines *lines, const struct kern_conv *c,
                         const struct kern_rows *rows, int op)
{
    const struct FN(pool_ways) *w = &FN(pool_ways_of)[op];
    const size_t n = c->n, taps = c->step == 1 && c->n_taps < 4 ? c->n_taps : 0, by = c->stride - 1;
    const bool near = c->stride <= 2, fours = c->stride == 4 && c->step == 1 && c->n_taps == 4;
    FN(pool_span) *some = near ? w->some[by][taps] : w->apart,
                  *whole = near ? w->whole[by][taps]
        : fours                 ? w->fours
                                : w->apart;
    size_t from = c->full_from * 16 < n ? c->full_from * 16 : n,
           to = (near || fours) && c->full_to > c->full_from ? c->full_to * 16 : from;
    if (n < 16)
        from = to = 0;
    /* all places of the last vector have all taps */
    const size_t tail = n < 16 ? 0 : n - 16;
    const bool all = (near || fours) && to < n && to + 16 > n && c->step == 1 &&
        c->first + (ptrdiff_t) (tail * c->stride) >= 0 &&
        c->first + (ptrdiff_t) ((n - 1) * c->stride) + (ptrdiff_t) c->n_taps <= (ptrdiff_t) c->n_in;
    /* it may take places again */
    const bool again = all && n >= 16;
    /* the first vector lacks places on its left alone, where the groups before lie */
    const bool left = near && taps == 3 && from == 16 && c->first < 0 &&
        -c->first <= (ptrdiff_t) c->n_in &&
        c->first + (ptrdiff_t) (15 * c->stride + c->n_taps) <= (ptrdiff_t) c->n_in;
    for (size_t g = 0; g < c->n_groups; g++, y += ldy, x += c->x_group) {
        (left && g ? w->near[by] : some)(y, x, count, lines, c, rows, 0, from);
        whole(y, x, count, lines, c, rows, from, to);
        if (again) {
            whole(y, x, count, lines, c, rows, n - 16, n);
            continue;
        }
        const size_t many = all ? FN(rows_followed)(lines, c, rows, c->n_groups - g, to) : 0;
        const struct kern_rows followed = { many, rows->x }, rest = { rows->n - many, rows->x };
        whole(y, x, count, lines, c, &followed, to, n);
        some(y + many * n, x + many * rows->x, count, lines, c, &rest, to, n);
    }
}

#define POOL(name, op)                                                                             \
    static void FN(name)(float *restrict y, size_t ldy, const float *restrict x,                   \
                         const float *restrict count, const struct kern_conv_lines *lines,         \
                         const struct kern_conv *c, const struct kern_rows *rows)                  \
    {                                                                                              \
        FN(pool_run)(y, ldy, x, count, lines, c, rows, op);                                        \
    }
POOL(pool_max_f32, FN(POOL_MAX))
POOL(pool_mean_f32, FN(POOL_MEAN))
POOL(pool_squares_f32, FN(POOL_SQUARES))
#undef POOL

/* ---- rows of n, each into one number ---- */

/* The greatest, NaN where there is one, in 16 lanes, and sums that are NaN where one is. The last
 * vector may take elements again. */
static inline __attribute__((always_inline)) v16 FN(lanes_most)(const float *x, size_t n,
                                                                v16 *ret_sum)
{
    const v16 none = v16_set1(-INFINITY);
    v16 acc = none, sum = v16_set1(0);
    for (size_t i = 0; i + 16 <= n; i += 16) {
        const v16 in = v16_load(x + i);
        acc = v16_max(in, acc);
        sum = v16_add(sum, in);
    }
    if (n % 16 && n > 16) {
        const v16 in = v16_load(x + n - 16);
        acc = v16_max(in, acc);
        sum = v16_add(sum, in);
    } else if (n % 16) {
        const v16 in = v16_load_n(x, n);
        acc = v16_pick(v16_lt(v16_set1(0), v16_load_n(FN(pool_ones), n)), in, none);
        sum = in;
    }
    *ret_sum = sum;
    return acc;
}

/* The first NaN of a row that may have one. */
static float FN(row_most)(const float *x, size_t n)
{
    float most = -INFINITY;
    for (size_t i = 0; i < n && most == most; i++)
        most = x[i] > most || x[i] != x[i] ? x[i] : most;
    return most;
}

typedef int32_t FN(quad_mask) __attribute__((vector_size(16)));

/* b where it is more, else a. */
static inline __attribute__((always_inline)) FN(quad) FN(quad_most)(FN(quad) a, FN(quad) b)
{
    const FN(quad_mask) more = b > a;
    return (FN(quad))((more & (FN(quad_mask)) b) | (~more & (FN(quad_mask)) a));
}

static inline float FN(most)(float a, float b)
{
    return b > a ? b : a;
}

/* Four quads by columns: t[k][r] becomes t[r][k]. */
static inline __attribute__((always_inline)) void FN(quads_turn)(FN(quad) * t)
{
    const FN(quad) a = __builtin_shufflevector(t[0], t[1], 0, 4, 1, 5),
                   b = __builtin_shufflevector(t[2], t[3], 0, 4, 1, 5),
                   c = __builtin_shufflevector(t[0], t[1], 2, 6, 3, 7),
                   d = __builtin_shufflevector(t[2], t[3], 2, 6, 3, 7);
    t[0] = __builtin_shufflevector(a, b, 0, 1, 4, 5);
    t[1] = __builtin_shufflevector(a, b, 2, 3, 6, 7);
    t[2] = __builtin_shufflevector(c, d, 0, 1, 4, 5);
    t[3] = __builtin_shufflevector(c, d, 2, 3, 6, 7);
}

/* What four lanes of a row's maxima and of its sums come to: the same columns of each. */
static inline __attribute__((always_inline)) void FN(row_quads)(const float *x, size_t n,
                                                                FN(quad) * ret_most,
                                                                FN(quad) * ret_sum)
{
    FN(quad) t[4], u[4];
    v16 sums;
    v16_store((float *) t, FN(lanes_most)(x, n, &sums));
    v16_store((float *) u, sums);
    *ret_most = FN(quad_most)(FN(quad_most)(t[0], t[2]), FN(quad_most)(t[1], t[3]));
    *ret_sum = (u[0] + u[2]) + (u[1] + u[3]);
}

/* Of four rows the greatest of each, and sums that are NaN where an element is. */
static inline __attribute__((always_inline)) FN(quad)
    FN(four_rows_most)(const float *x, size_t n, FN(quad) * ret_sums)
{
    FN(quad) m[4], s[4];
    V16_UNROLL for (size_t k = 0; k < 4; k++) FN(row_quads)(x + k * n, n, &m[k], &s[k]);
    FN(quads_turn)(m);
    FN(quads_turn)(s);
    *ret_sums = (s[0] + s[2]) + (s[1] + s[3]);
    return FN(quad_most)(FN(quad_most)(m[0], m[2]), FN(quad_most)(m[1], m[3]));
}

static void FN(rows_max_f32)(float *y, const float *x, size_t rows, size_t n)
{
    size_t r = 0;
    for (; r + 4 <= rows; r += 4, x += 4 * n) {
        FN(quad) sums, most = FN(four_rows_most)(x, n, &sums);
        for (size_t k = 0; k < 4; k++)
            y[r + k] = sums[k] != sums[k] ? FN(row_most)(x + k * n, n) : most[k];
    }
    for (; r < rows; r++, x += n) {
        FN(quad) m, s;
        FN(row_quads)(x, n, &m, &s);
        const float sum = (s[0] + s[2]) + (s[1] + s[3]);
        y[r] =
            sum != sum ? FN(row_most)(x, n) : FN(most)(FN(most)(m[0], m[2]), FN(most)(m[1], m[3]));
    }
}

/* Four columns of eight rows that lie n apart, added in order to the rows' sums. */
typedef float FN(oct) __attribute__((vector_size(32), aligned(4)));
#define PAIR(at)                                                                                   \
    __builtin_shufflevector(*(const FN(quad) *) (const void *) (at),                               \
                            *(const FN(quad) *) (const void *) ((at) + 4 * n), 0, 1, 2, 3, 4, 5,   \
                            6, 7)
static inline __attribute__((always_inline)) void FN(oct_sum)(FN(oct) * sum, const float *x,
                                                              size_t n)
{
    const FN(oct) a = PAIR(x), b = PAIR(x + n), c = PAIR(x + 2 * n), d = PAIR(x + 3 * n),
                  ab = __builtin_shufflevector(a, b, 0, 8, 1, 9, 4, 12, 5, 13),
                  cd = __builtin_shufflevector(c, d, 0, 8, 1, 9, 4, 12, 5, 13),
                  ab2 = __builtin_shufflevector(a, b, 2, 10, 3, 11, 6, 14, 7, 15),
                  cd2 = __builtin_shufflevector(c, d, 2, 10, 3, 11, 6, 14, 7, 15);
    *sum += __builtin_shufflevector(ab, cd, 0, 1, 8, 9, 4, 5, 12, 13);
    *sum += __builtin_shufflevector(ab, cd, 2, 3, 10, 11, 6, 7, 14, 15);
    *sum += __builtin_shufflevector(ab2, cd2, 0, 1, 8, 9, 4, 5, 12, 13);
    *sum += __builtin_shufflevector(ab2, cd2, 2, 3, 10, 11, 6, 7, 14, 15);
}
#undef PAIR

/* `octs` times eight rows. Lines of more than sixteen would not stay in the first cache where rows
 * are a power of two long. more: as many rows follow, which are fetched meanwhile. */
static inline __attribute__((always_inline)) void FN(rows_sums)(float *y, const float *x, size_t n,
                                                                const int octs, bool more)
{
    FN(oct) sum[2];
    size_t i = 0;
    V16_UNROLL for (int q = 0; q < octs; q++) sum[q] =
        *(const FN(oct) *) (const void *) (y + 8 * q);
    for (; i + 4 <= n; i += 4) {
        if (more)
            V16_UNROLL for (int q = 0; q < 2 * octs; q++)
                __builtin_prefetch(x + 8 * (size_t) octs * (n + i) + 16 * q);
        V16_UNROLL for (int q = 0; q < octs; q++)
            FN(oct_sum)(&sum[q], x + i + 8 * (size_t) q * n, n);
    }
    V16_UNROLL for (int q = 0; q < octs; q++) * (FN(oct) *) (void *) (y + 8 * q) = sum[q];
    for (; i < n; i++)
        for (int r = 0; r < 8 * octs; r++)
            y[r] += x[(size_t) r * n + i];
}

/* In order, from what y holds: rows side by side. */
static void FN(rows_sum_f32)(float *y, const float *x, size_t rows, size_t n)
{
    size_t r = 0;
    for (; r + 16 <= rows; r += 16, x += 16 * n)
        FN(rows_sums)(y + r, x, n, 2, r + 32 <= rows);
    for (; r + 8 <= rows; r += 8, x += 8 * n)
        FN(rows_sums)(y + r, x, n, 1, false);
    for (; r < rows; r++, x += n) {
        float s = y[r];
        for (size_t i = 0; i < n; i++)
            s += x[i];
        y[r] = s;
    }
}

/* In sixteen chains, halved until one is left, then what is behind the last whole 16: four rows,
 * whose lanes are turned. */
static inline __attribute__((always_inline)) FN(quad) FN(four_chains)(const float *x, size_t n)
{
    FN(quad) t[4], u[4];
    v16 sum[4] = { v16_set1(0), v16_set1(0), v16_set1(0), v16_set1(0) };
    size_t i = 0;
    for (; i + 16 <= n; i += 16)
        V16_UNROLL for (size_t k = 0; k < 4; k++) sum[k] = v16_add(sum[k], v16_load(x + k * n + i));
    V16_UNROLL for (size_t k = 0; k < 4; k++)
    {
        v16_store((float *) u, sum[k]);
        t[k] = (u[0] + u[2]) + (u[1] + u[3]);
    }
    FN(quads_turn)(t);
    FN(quad) a = (t[0] + t[2]) + (t[1] + t[3]);
    for (; i + 4 <= n; i += 4) {
        V16_UNROLL for (size_t k = 0; k < 4; k++) t[k] =
            *(const FN(quad) *) (const void *) (x + k * n + i);
        FN(quads_turn)(t);
        V16_UNROLL for (size_t k = 0; k < 4; k++) a += t[k];
    }
    for (; i < n; i++)
        a += (FN(quad)) { x[i], x[n + i], x[2 * n + i], x[3 * n + i] };
    return a;
}

static void FN(chains_sum_f32)(float *y, const float *x, size_t count, size_t n)
{
    size_t r = 0;
    for (; r + 4 <= count; r += 4, x += 4 * n)
        *(FN(quad) *) (void *) (y + r) = FN(four_chains)(x, n);
    for (; r < count; r++, x += n) {
        v16 sum = v16_set1(0);
        size_t i = 0;
        for (; i + 16 <= n; i += 16)
            sum = v16_add(sum, v16_load(x + i));
        FN(quad) u[4];
        v16_store((float *) u, sum);
        const FN(quad) t = (u[0] + u[2]) + (u[1] + u[3]);
        float a = (t[0] + t[2]) + (t[1] + t[3]);
        for (; i < n; i++)
            a += x[i];
        y[r] = a;
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

/* ---- rows of n onto one row ---- */

V16_UNROLLED v16 FN(folded)(v16 a, v16 x, const int how)
{
    return how == KERN_FOLD_SUM ? v16_add(a, x)
        : how == KERN_FOLD_ABS  ? v16_add(a, v16_of_bits(i16_and(v16_bits(x), i16_set1(INT32_MAX))))
        : how == KERN_FOLD_SQUARE ? v16_add(a, v16_mul(x, x))
        : how == KERN_FOLD_PROD   ? v16_mul(a, x)
        : how == KERN_FOLD_MAX    ? v16_most(a, x)
                                  : v16_pick(v16_nan(x), x, v16_min(x, a));
}

V16_UNROLLED void FN(rows_fold)(float *y, const float *x, size_t n, const int rows, const int how)
{
    size_t i = 0;
    for (; i + 16 <= n; i += 16) {
        v16 a = v16_load(y + i);
        V16_UNROLL for (size_t r = 0; r < (size_t) rows; r++) a =
            FN(folded)(a, v16_load(x + r * n + i), how);
        v16_store(y + i, a);
    }
    if (i == n)
        return;
    v16 a = v16_load_n(y + i, n - i);
    V16_UNROLL for (size_t r = 0; r < (size_t) rows; r++) a =
        FN(folded)(a, v16_load_n(x + r * n + i, n - i), how);
    v16_store_n(y + i, a, n - i);
}

/* The same of short rows, column by column: what is stored under a mask of AVX-512 waits before it
 * is loaded again. */
#ifdef V16_TRANSPOSES
#define FOLD_SHORT 64
#else
#define FOLD_SHORT 0
#endif

V16_UNROLLED void FN(short_fold)(float *y, const float *x, size_t rows, size_t n, const int how)
{
    for (size_t i = 0; i < n; i += 16) {
        const size_t now = n - i < 16 ? n - i : 16;
        v16 a = v16_load_n(y + i, now);
        for (size_t r = 0; r < rows; r++)
            a = FN(folded)(a, v16_load_n(x + r * n + i, now), how);
        v16_store_n(y + i, a, now);
    }
}

#define FOLD(how)                                                                                  \
    static void FN(fold_##how)(float *y, const float *x, size_t rows, size_t n)                    \
    {                                                                                              \
        if (n <= FOLD_SHORT && n % 16) {                                                           \
            FN(short_fold)(y, x, rows, n, KERN_FOLD_##how);                                        \
            return;                                                                                \
        }                                                                                          \
        for (; rows >= 4; rows -= 4, x += 4 * n)                                                   \
            FN(rows_fold)(y, x, n, 4, KERN_FOLD_##how);                                            \
        for (; rows; rows--, x += n)                                                               \
            FN(rows_fold)(y, x, n, 1, KERN_FOLD_##how);                                            \
    }
FOLD(SUM)
FOLD(ABS)
FOLD(SQUARE)
FOLD(PROD)
FOLD(MAX)
FOLD(MIN)
#undef FOLD

static void FN(fold_rows_f32)(float *y, const float *x, size_t rows, size_t n, enum kern_fold how)
{
    static void (*const each[])(float *, const float *, size_t, size_t) = {
        [KERN_FOLD_SUM] = FN(fold_SUM),       [KERN_FOLD_ABS] = FN(fold_ABS),
        [KERN_FOLD_SQUARE] = FN(fold_SQUARE), [KERN_FOLD_PROD] = FN(fold_PROD),
        [KERN_FOLD_MAX] = FN(fold_MAX),       [KERN_FOLD_MIN] = FN(fold_MIN),
    };
    each[how](y, x, rows, n);
}

typedef double FN(d4u) __attribute__((vector_size(32), aligned(8)));

static void FN(sum_rows_f64)(double *y, const float *x, size_t rows, size_t n)
{
    for (size_t now; rows; rows -= now, x += now * n) {
        now = rows < 4 ? 1 : 4;
        size_t i = 0;
        for (; i + 4 <= n; i += 4) {
            FN(d4u) a = *(FN(d4u) *) (void *) (y + i);
            for (size_t r = 0; r < now; r++)
                a += __builtin_convertvector(*(const FN(quad) *) (const void *) (x + r * n + i),
                                             FN(d4u));
            *(FN(d4u) *) (void *) (y + i) = a;
        }
        for (; i < n; i++)
            for (size_t r = 0; r < now; r++)
                y[i] += (double) x[r * n + i];
    }
}
