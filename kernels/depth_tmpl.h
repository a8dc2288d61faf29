/* SPDX-License-Identifier: MIT */
/* Convolution of many groups of one output each, short rows and few taps: sizes are constants,
 * masks stay in registers. */

#define DEPTH_TAPS 3
#define DEPTH_VECS 3
#define EACH_TAP V16_UNROLL for (int k = 0; k < taps; k++)
#define EACH_VEC V16_UNROLL for (int v = 0; v < vecs; v++)
#define EACH_ROW V16_UNROLL for (int r = 0; r < rows; r++)
#ifdef V16_TRANSPOSES
#define DEPTH_SUMS 4 /* vectors of places, of some rows, at once */
#else
#define DEPTH_SUMS 2
#endif

typedef void FN(depth_fn)(float *restrict y, size_t ldy, const float *restrict x,
                          const float *restrict w, const float *restrict bias,
                          const struct kern_conv_lines *lines, const struct kern_conv *c,
                          const struct kern_rows *many);

/* `rows` rows of a group, `step` floats of x apart. */
V16_UNROLLED void FN(depth_tile)(float *restrict y, const float *restrict x, const float *restrict w,
                                 float bias, const struct kern_conv_lines *lines, size_t n,
                                 size_t step, const uint32_t *mask, const ptrdiff_t *at,
                                 const int taps, const int vecs, const bool even, const int rows)
{
    const size_t last = n - (size_t) (vecs - 1) * 16;
    v16 acc[DEPTH_SUMS * DEPTH_VECS], start = v16_set1(bias);
    EACH_ROW
        EACH_VEC
            acc[r * vecs + v] = start;
    for (size_t l = 0; l < lines->n; l++) {
        const float *xl = x + lines->line[l].x, *wl = w + lines->line[l].w;
        EACH_TAP {
            v16 wk = v16_set1(wl[k]);
            EACH_ROW
                EACH_VEC {
                    const float *from = xl + at[k] + (size_t) r * step + v * (even ? 32 : 16);
                    v16 in = even ? v16_load_even(from, mask[k * vecs + v])
                                  : v16_load_mask(from, mask[k * vecs + v]);
                    acc[r * vecs + v] = v16_fma(wk, in, acc[r * vecs + v]);
                }
        }
    }
    EACH_ROW
        EACH_VEC {
            float *to = y + (size_t) r * n + v * 16;
            if (v < vecs - 1)
                v16_store(to, acc[r * vecs + v]);
            else
                v16_store_n(to, acc[r * vecs + v], last);
        }
}

#ifdef V8_MASKS
/* The same of up to 8 places: twice as many rows. */
V16_UNROLLED void FN(depth_half)(float *restrict y, const float *restrict x, const float *restrict w,
                                 float bias, const struct kern_conv_lines *lines, size_t n,
                                 size_t step, const uint32_t *mask, const ptrdiff_t *at,
                                 const int taps, const int rows)
{
    v8 acc[2 * DEPTH_SUMS], start = v8_set1(bias);
    EACH_ROW
        acc[r] = start;
    for (size_t l = 0; l < lines->n; l++) {
        const float *xl = x + lines->line[l].x, *wl = w + lines->line[l].w;
        EACH_TAP {
            v8 wk = v8_set1(wl[k]);
            EACH_ROW
                acc[r] = v8_fma(wk, v8_load_mask(xl + at[k] + (size_t) r * step, mask[k]), acc[r]);
        }
    }
    EACH_ROW
        v8_store_n(y + (size_t) r * n, acc[r], n);
}
#endif

#ifdef V8_MASKS
/* Any number of taps, rows of up to 8 places: masks are made once for all rows of a tile. */
V16_UNROLLED void FN(taps_half)(float *restrict y, const float *restrict x, const float *restrict w, float bias,
                                const struct kern_conv_lines *lines, const struct kern_conv *c, size_t step,
                                const int rows, const bool whole)
{
    v8 acc[2 * DEPTH_SUMS], start = v8_set1(bias);
    EACH_ROW
        acc[r] = start;
    for (size_t l = 0; l < lines->n; l++) {
        const float *xl = x + lines->line[l].x + c->first, *wl = w + lines->line[l].w;
        for (size_t k = 0; k < c->n_taps; k++, xl += c->step) {
            const v8 wk = v8_set1(wl[k]);
            EACH_ROW
                acc[r] = v8_fma(wk,
                                whole ? v8_load(xl + (size_t) r * step)
                                      : v8_load_mask(xl + (size_t) r * step, c->mask[k]),
                                acc[r]);
        }
    }
    EACH_ROW
        v8_store_n(y + (size_t) r * c->n, acc[r], c->n);
}

/* The same of up to 16. */
V16_UNROLLED void FN(taps_tile)(float *restrict y, const float *restrict x, const float *restrict w, float bias,
                                const struct kern_conv_lines *lines, const struct kern_conv *c, size_t step,
                                const int rows)
{
    v16 acc[DEPTH_SUMS], start = v16_set1(bias);
    EACH_ROW
        acc[r] = start;
    for (size_t l = 0; l < lines->n; l++) {
        const float *xl = x + lines->line[l].x + c->first, *wl = w + lines->line[l].w;
        for (size_t k = 0; k < c->n_taps; k++, xl += c->step) {
            const v16 wk = v16_set1(wl[k]);
            EACH_ROW
                acc[r] = v16_fma(wk, v16_load_mask(xl + (size_t) r * step, c->mask[k]), acc[r]);
        }
    }
    EACH_ROW
        v16_store_n(y + (size_t) r * c->n, acc[r], c->n);
}

/* As many rows of a group as fill tiles; returns how many. */
static size_t FN(taps_rows)(float *restrict y, const float *restrict x, const float *restrict w, float bias,
                            const struct kern_conv_lines *lines, const struct kern_conv *c,
                            const struct kern_rows *many)
{
    const size_t n = c->n, step = many->x;
    uint32_t all = 0xff;
    size_t r = 0;
    if (n > 16 || c->stride != 1)
        return 0;
    for (size_t k = 0; k < c->n_taps; k++)
        all &= c->mask[k];
    for (; all == 0xff && n == 8 && r + 2 * DEPTH_SUMS <= many->n; r += 2 * DEPTH_SUMS)
        FN(taps_half)(y + r * n, x + r * step, w, bias, lines, c, step, 2 * DEPTH_SUMS, true);
    for (; n <= 8 && r + 2 * DEPTH_SUMS <= many->n; r += 2 * DEPTH_SUMS)
        FN(taps_half)(y + r * n, x + r * step, w, bias, lines, c, step, 2 * DEPTH_SUMS, false);
    for (; n <= 8 && r + DEPTH_SUMS <= many->n; r += DEPTH_SUMS)
        FN(taps_half)(y + r * n, x + r * step, w, bias, lines, c, step, DEPTH_SUMS, false);
    for (; r + DEPTH_SUMS <= many->n; r += DEPTH_SUMS)
        FN(taps_tile)(y + r * n, x + r * step, w, bias, lines, c, step, DEPTH_SUMS);
    return r;
}
#endif

/* even: every second place is read */
V16_UNROLLED void FN(depth_run)(float *restrict y, size_t ldy, const float *restrict x,
                                const float *restrict w, const float *restrict bias,
                                const struct kern_conv_lines *lines, const struct kern_conv *c,
                                const struct kern_rows *many, const int taps, const int vecs,
                                const bool even)
{
    const int most = DEPTH_SUMS / vecs > 1 ? DEPTH_SUMS / vecs : 1;
    uint32_t mask[DEPTH_TAPS * DEPTH_VECS];
    ptrdiff_t at[DEPTH_TAPS];
    EACH_TAP {
        at[k] = c->first + k * c->step;
        EACH_VEC
            mask[k * vecs + v] = c->mask[k * vecs + v];
    }
#define ROWS(now)                                                                                  \
    FN(depth_tile)(y + r * c->n, x + r * many->x, w, bias ? bias[g] : 0, lines, c->n, many->x, mask, at, \
                   taps, vecs, even, now)
    if (many->n == 1) {
        for (size_t g = 0; g < c->n_groups; g++, y += ldy, x += c->x_group, w += lines->n_weights)
            FN(depth_tile)
            (y, x, w, bias ? bias[g] : 0, lines, c->n, 0, mask, at, taps, vecs, even, 1);
        return;
    }
    for (size_t g = 0; g < c->n_groups; g++, y += ldy, x += c->x_group, w += lines->n_weights) {
        size_t r = 0;
#ifdef V8_MASKS
        for (; vecs == 1 && !even && c->n <= 8 && r + 2 * DEPTH_SUMS <= many->n; r += 2 * DEPTH_SUMS)
            FN(depth_half)(y + r * c->n, x + r * many->x, w, bias ? bias[g] : 0, lines, c->n, many->x,
                           mask, at, taps, 2 * DEPTH_SUMS);
#endif
        for (; most > 1 && r + (size_t) most <= many->n; r += (size_t) most)
            ROWS(most);
        for (; r < many->n; r++)
            ROWS(1);
    }
#undef ROWS
}
#undef EACH_TAP
#undef EACH_VEC
#undef EACH_ROW

#define DEPTH_ALL(X) X(1, 1) X(1, 2) X(1, 3) X(2, 1) X(2, 2) X(2, 3) X(3, 1) X(3, 2) X(3, 3)
#define DEPTH(name, taps, vecs, even)                                                                              \
    static void FN(name)(float *restrict y, size_t ldy, const float *restrict x, const float *restrict w,          \
                         const float *restrict bias, const struct kern_conv_lines *lines, const struct kern_conv *c, \
                         const struct kern_rows *many)                                                             \
    {                                                                                                              \
        FN(depth_run)(y, ldy, x, w, bias, lines, c, many, taps, vecs, even);                                       \
    }
#define X(taps, vecs)                                                                              \
    DEPTH(depth_##taps##_##vecs, taps, vecs, false)                                                \
    DEPTH(depth_even_##taps##_##vecs, taps, vecs, true)
DEPTH_ALL(X)
#undef X
#undef DEPTH

static FN(depth_fn) *const FN(depth_fns)[2][DEPTH_TAPS][DEPTH_VECS] = {
#define X(taps, vecs) [0][(taps) - 1][(vecs) - 1] = FN(depth_##taps##_##vecs), \
                      [1][(taps) - 1][(vecs) - 1] = FN(depth_even_##taps##_##vecs),
    DEPTH_ALL(X)
#undef X
};
#undef DEPTH_ALL

/* NULL: not of these sizes. */
static FN(depth_fn) *FN(depth_of)(size_t n_outs, const struct kern_conv *c)
{
    if (n_outs != 1 || c->n == 0 || c->n > DEPTH_VECS * 16 || c->n_taps == 0 ||
        c->n_taps > DEPTH_TAPS || c->stride > 2)
        return NULL;
    return FN(depth_fns)[c->stride - 1][c->n_taps - 1][(c->n - 1) / 16];
}
#undef DEPTH_TAPS
#undef DEPTH_VECS
