/* SPDX-License-Identifier: MIT */
/* Convolution with lanes along the places of the last axis: weights are broadcast, lines are read
 * where they lie. */

#ifdef CONV_FIVE /* outputs of a group that has no others: one more would wait for itself alone */
#define CONV_ACC 5
#else
#define CONV_ACC (CONV_OUTS * CONV_VECS)
#endif

enum { FN(CONV_PLAIN), FN(CONV_MASKED), FN(CONV_EVEN), FN(CONV_APART) };

static inline v16 FN(load_apart)(const float *p, size_t stride, uint32_t mask)
{
    float t[16];
    for (int l = 0; l < 16; l++)
        t[l] = mask >> l & 1 ? p[(size_t) l * stride] : 0;
    return v16_load(t);
}

/* Vector `vec` (of the row) and the following ones, `vecs` in all, of `outs` outputs. */
V16_UNROLLED void FN(conv_tile)(float *restrict y, size_t ldy, const float *restrict x,
                                const float *restrict w, const float *restrict bias,
                                const struct kern_conv_lines *lines, const struct kern_conv *c,
                                size_t width, size_t vec, const int outs, const int vecs,
                                const int how)
{
    v16 acc[CONV_ACC];
    const ptrdiff_t apart = how == FN(CONV_EVEN) ? 32
        : how == FN(CONV_APART)                  ? 16 * (ptrdiff_t) c->stride
                                                 : 16;
    const size_t row_vecs = (c->n + 15) / 16;
    x += c->first + (ptrdiff_t) vec * apart;
    for (int o = 0; o < outs; o++)
        for (int v = 0; v < vecs; v++)
            acc[o * vecs + v] = v16_set1(bias ? bias[o] : 0);
    for (size_t l = 0; l < lines->n; l++) {
        const float *xl = x + lines->line[l].x, *wl = w + lines->line[l].w * width;
        const uint32_t *mask = c->mask + vec;
        for (size_t k = 0; k < c->n_taps; k++, xl += c->step, wl += width, mask += row_vecs) {
            v16 in[CONV_VECS];
            for (int v = 0; v < vecs; v++)
                in[v] = how == FN(CONV_PLAIN) ? v16_load(xl + v * apart)
                      : how == FN(CONV_MASKED) ? v16_load_mask(xl + v * apart, mask[v])
                      : how == FN(CONV_EVEN) ? v16_load_even(xl + v * apart, mask[v])
                      : FN(load_apart)(xl + v * apart, c->stride, mask[v]);
            for (int o = 0; o < outs; o++)
                for (int v = 0; v < vecs; v++)
                    acc[o * vecs + v] = v16_fma(v16_set1(wl[o]), in[v], acc[o * vecs + v]);
        }
    }
    for (int v = 0; v < vecs; v++) {
        size_t at = (vec + (size_t) v) * 16, left = c->n - at;
        for (int o = 0; o < outs; o++) {
            float *to = y + (size_t) o * ldy + at;
            if (left >= 16)
                v16_store(to, acc[o * vecs + v]);
            else
                v16_store_n(to, acc[o * vecs + v], left);
        }
    }
}

#define CONV_TILE(outs, vecs, how) \
    FN(conv_tile)(y, ldy, x, w, bias, lines, c, width, vec, outs, vecs, how)

/* All vectors of the row for `outs` outputs; strides: it may have others than 1. Where tiles are of one vector, none
 * are left behind them but those of long strides. */
#define CONV_ROW(outs, strides)                                                                                     \
    static void FN(conv_row_##outs)(float *restrict y, size_t ldy, const float *restrict x, const float *restrict w,\
                                    const float *restrict bias, const struct kern_conv_lines *lines,                \
                                    const struct kern_conv *c, size_t width)                                        \
    {                                                                                                               \
        size_t vec = 0, vecs = (c->n + 15) / 16;                                                                    \
        for (; (!strides || c->stride <= 2) && vec + CONV_VECS <= vecs; vec += CONV_VECS) {                         \
            if (strides && c->stride == 2)                                                                          \
                CONV_TILE(outs, CONV_VECS, FN(CONV_EVEN));                                                          \
            else if (vec >= c->full_from && vec + CONV_VECS <= c->full_to)                                          \
                CONV_TILE(outs, CONV_VECS, FN(CONV_PLAIN));                                                         \
            else                                                                                                    \
                CONV_TILE(outs, CONV_VECS, FN(CONV_MASKED));                                                        \
        }                                                                                                           \
        for (; strides && vec < vecs; vec++) {                                                                      \
            if (CONV_VECS == 1 || c->stride > 2)                                                                    \
                CONV_TILE(outs, 1, FN(CONV_APART));                                                                 \
            else if (c->stride == 2)                                                                                \
                CONV_TILE(outs, 1, FN(CONV_EVEN));                                                                  \
            else                                                                                                    \
                CONV_TILE(outs, 1, FN(CONV_MASKED));                                                                \
        }                                                                                                           \
    }
CONV_ROW(1, true)
CONV_ROW(2, true)
CONV_ROW(4, true)
#if CONV_OUTS == 8
CONV_ROW(8, true)
#endif
#ifdef CONV_FIVE
CONV_ROW(5, false)
#endif
#undef CONV_ROW
#undef CONV_TILE

/* All outputs of a group, `width` to a panel. */
static inline __attribute__((always_inline))
void FN(conv_group)(float *restrict y, size_t ldy, const float *restrict x, const float *restrict w,
                    const float *restrict bias, size_t n_outs, const struct kern_conv_lines *lines,
                    const struct kern_conv *c, size_t width)
{
    for (size_t panel = 0; panel < n_outs; panel += KERN_CONV_OUTS, w += width * lines->n_weights) {
        size_t end = n_outs - panel < KERN_CONV_OUTS ? n_outs - panel : KERN_CONV_OUTS, o = 0;
#define ROWS(n)                                                                                    \
    for (; o + n <= end; o += n)                                                                   \
        FN(conv_row_##n)                                                                           \
        (y + (panel + o) * ldy, ldy, x, w + o, bias ? bias + panel + o : bias, lines, c, width);
#if CONV_OUTS == 8
        ROWS(8)
#endif
#ifdef CONV_FIVE
        if (end == 5 && c->stride == 1)
            ROWS(5)
#endif
        ROWS(4)
        ROWS(2)
        ROWS(1)
#undef ROWS
    }
}

#ifdef V16_SHIFTS
/* One output a group, three taps around each of up to 48 places: neighbours come from the
 * registers, not from memory. */
static bool FN(conv_is_three)(size_t n_outs, const struct kern_conv *c)
{
    return n_outs == 1 && c->n_taps == 3 && c->stride == 1 && c->n_in == c->n && c->n > 16 &&
        c->n <= 48 && ((c->step == 1 && c->first == -1) || (c->step == -1 && c->first == 1));
}

/* One row. back: the first tap is the place behind */
V16_UNROLLED void FN(three_row)(float *restrict y, const float *restrict x, const float *restrict w,
                                float bias, const struct kern_conv_lines *lines, size_t n,
                                const bool back)
{
    const v16 zero = v16_set1(0);
    const uint64_t inside = ((uint64_t) 1 << n) - 1;
    v16 a = v16_set1(bias), b = a, d = a;
    for (size_t l = 0; l < lines->n; l++) {
        const float *from = x + lines->line[l].x, *wl = w + lines->line[l].w;
        v16 p = v16_load(from), q = v16_load_mask(from + 16, (uint32_t) (inside >> 16) & 0xffff);
        v16 r = v16_load_mask(from + 32, (uint32_t) (inside >> 32)), s = v16_set1(wl[0]);
        a = v16_fma(s, back ? v16_down(p, q) : v16_up(p, zero), a);
        b = v16_fma(s, back ? v16_down(q, r) : v16_up(q, p), b);
        d = v16_fma(s, back ? v16_down(r, zero) : v16_up(r, q), d);
        s = v16_set1(wl[1]);
        a = v16_fma(s, p, a);
        b = v16_fma(s, q, b);
        d = v16_fma(s, r, d);
        s = v16_set1(wl[2]);
        a = v16_fma(s, back ? v16_up(p, zero) : v16_down(p, q), a);
        b = v16_fma(s, back ? v16_up(q, p) : v16_down(q, r), b);
        d = v16_fma(s, back ? v16_up(r, q) : v16_down(r, zero), d);
    }
    v16_store(y, a);
    v16_store_n(y + 16, b, n < 32 ? n - 16 : 16);
    if (n > 32)
        v16_store_n(y + 32, d, n - 32);
}

/* single: many->n is 1 */
V16_UNROLLED void FN(conv_three)(float *restrict y, size_t ldy, const float *restrict x,
                                 const float *restrict w, const float *restrict bias,
                                 const struct kern_conv_lines *lines, const struct kern_conv *c,
                                 const struct kern_rows *many, const bool single, const bool back)
{
    const size_t n = c->n;
    for (size_t g = 0; g < c->n_groups; g++, y += ldy, x += c->x_group, w += lines->n_weights)
        for (size_t r = 0; r < (single ? 1 : many->n); r++)
            FN(three_row)
            (y + r * n, single ? x : x + r * many->x, w, bias ? bias[g] : 0, lines, n, back);
}

static void FN(threes_many)(float *restrict y, size_t ldy, const float *restrict x,
                            const float *restrict w, const float *restrict bias,
                            const struct kern_conv_lines *lines, const struct kern_conv *c,
                            const struct kern_rows *many)
{
    if (c->step > 0)
        FN(conv_three)(y, ldy, x, w, bias, lines, c, many, false, false);
    else
        FN(conv_three)(y, ldy, x, w, bias, lines, c, many, false, true);
}

/* Three taps around each of up to 16 places, of three lines that are a row apart: a line serves all
 * rows that read it, and neighbours come from the registers. */
static bool FN(conv_is_short)(const struct kern_conv_lines *lines, const struct kern_conv *c,
                              const struct kern_rows *many)
{
    const struct kern_conv_line *l = lines->line;
    return c->n_taps == 3 && c->stride == 1 && c->n_in == c->n && c->n <= 16 && c->step == 1 &&
        c->first == -1 && lines->n == 3 && many->n > 1 && l[1].x == l[0].x + (ptrdiff_t) many->x &&
        l[2].x == l[1].x + (ptrdiff_t) many->x;
}

V16_UNROLLED void FN(short_rows)(float *y, const float *x, const v16 *w, v16 bias, size_t n,
                                 size_t step, const int rows)
{
    const v16 zero = v16_set1(0);
    const uint32_t inside = (1u << n) - 1;
    v16 acc[4];
    V16_UNROLL for (int r = 0; r < rows; r++)
        acc[r] = bias;
    V16_UNROLL for (int i = 0; i < rows + 2; i++) {
        v16 p = v16_load_mask(x + (size_t) i * step, inside), up = v16_up(p, zero),
            down = v16_down(p, zero);
        V16_UNROLL for (int r = 0; r < rows; r++)
            if (i - r >= 0 && i - r < 3) {
                acc[r] = v16_fma(w[3 * (i - r)], up, acc[r]);
                acc[r] = v16_fma(w[3 * (i - r) + 1], p, acc[r]);
                acc[r] = v16_fma(w[3 * (i - r) + 2], down, acc[r]);
            }
    }
    V16_UNROLL for (int r = 0; r < rows; r++)
        v16_store_n(y + (size_t) r * n, acc[r], n);
}

static void FN(conv_short)(float *restrict y, size_t ldy, const float *restrict x,
                           const float *restrict weights, const float *restrict bias,
                           const struct kern_conv_lines *lines, const struct kern_conv *c,
                           const struct kern_rows *many)
{
    const size_t n = c->n, step = many->x;
    x += lines->line[0].x;
    for (size_t g = 0; g < c->n_groups; g++, y += ldy, x += c->x_group, weights += lines->n_weights) {
        v16 w[9], start = v16_set1(bias ? bias[g] : 0);
        size_t r = 0;
        V16_UNROLL for (int k = 0; k < 9; k++)
            w[k] = v16_set1(weights[lines->line[k / 3].w + (size_t) (k % 3)]);
        for (; r + 4 <= many->n; r += 4)
            FN(short_rows)(y + r * n, x + r * step, w, start, n, step, 4);
        for (; r < many->n; r++)
            FN(short_rows)(y + r * n, x + r * step, w, start, n, step, 1);
    }
}
#endif

static void FN(conv_depth_f32)(float *restrict y, size_t ldy, const float *restrict x,
                               const float *restrict w, const float *restrict bias,
                               const struct kern_conv_lines *lines, const struct kern_conv *c,
                               const struct kern_rows *many)
{
    const size_t n_weights = lines->n_weights;
#ifdef V16_SHIFTS
    if (FN(conv_is_three)(1, c)) {
        if (many->n > 1)
            FN(threes_many)(y, ldy, x, w, bias, lines, c, many);
        else if (c->step > 0)
            FN(conv_three)(y, ldy, x, w, bias, lines, c, many, true, false);
        else
            FN(conv_three)(y, ldy, x, w, bias, lines, c, many, true, true);
        return;
    }
    if (FN(conv_is_short)(lines, c, many)) {
        FN(conv_short)(y, ldy, x, w, bias, lines, c, many);
        return;
    }
#endif
    FN(depth_fn) *depth = FN(depth_of)(1, c);
    if (depth) {
        depth(y, ldy, x, w, bias, lines, c, many);
        return;
    }
    for (size_t g = 0; g < c->n_groups; g++, y += ldy, x += c->x_group, w += n_weights) {
        size_t r = 0;
#ifdef V8_MASKS
        r = FN(taps_rows)(y, x, w, bias ? bias[g] : 0, lines, c, many);
#endif
        for (; r < many->n; r++)
            FN(conv_row_1)(y + r * c->n, ldy, x + r * many->x, w, bias ? bias + g : bias, lines, c, 1);
    }
}

static void FN(conv_f32)(float *restrict y, size_t ldy, const float *restrict x,
                         const float *restrict w, const float *restrict bias, size_t n_outs,
                         const struct kern_conv_lines *lines, const struct kern_conv *c)
{
    size_t width = n_outs < KERN_CONV_OUTS ? n_outs : KERN_CONV_OUTS;
    size_t packed = (n_outs + KERN_CONV_OUTS - 1) / KERN_CONV_OUTS * width * lines->n_weights;
    if (n_outs == 1) {
        FN(conv_depth_f32)(y, ldy, x, w, bias, lines, c, &(const struct kern_rows) { 1, 0 });
        return;
    }
    for (size_t g = 0; g < c->n_groups; g++, y += n_outs * ldy, x += c->x_group, w += packed) {
        FN(conv_group)(y, ldy, x, w, bias, n_outs, lines, c, width);
        bias = bias ? bias + n_outs : bias;
    }
}
