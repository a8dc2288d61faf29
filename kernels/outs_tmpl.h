/* SPDX-License-Identifier: MIT */
/* Convolution with lanes along the outputs: inputs are broadcast from where they lie, sums are
 * turned as they are stored. */

#ifdef V16_TRANSPOSES
#define OUTS_ROWS_MOST 17       /* rows of 2^n + 1 places are common */
#define OUTS_TILES(X) X(17) X(16) X(8) X(4) X(2) X(1)
#elif defined V16_TURNS_4
#define OUTS_ROWS_MOST 6
#define OUTS_TILES(X) X(6) X(4) X(2) X(1)
#else
#define OUTS_ROWS_MOST 4
#define OUTS_TILES(X) X(4) X(2) X(1)
#endif

#define EACH_ROW V16_UNROLL for (int r = 0; r < rows; r++)

/* Rows [place][output] from `from` on, `apart` floats each, to y[output][place]. */
static inline void FN(outs_turn)(float *restrict y, size_t ldy, const float *restrict from,
                                 size_t apart, size_t rows, size_t n_outs)
{
    for (size_t o = 0; o < n_outs; o++)
        for (size_t r = 0; r < rows; r++)
            y[o * ldy + r] = from[r * apart + o];
}

/* `rows` places of up to 16 outputs; rows and stride are constants where it is called. */
V16_UNROLLED void FN(outs_tile)(float *restrict y, size_t ldy, const float *restrict x,
                                const float *restrict w, const float *restrict bias, size_t n_outs,
                                const struct kern_conv_lines *lines, const struct kern_conv *c,
                                const int rows, const int stride)
{
    v16 acc[OUTS_ROWS_MOST], b = bias ? v16_load_n(bias, n_outs) : v16_set1(0);
    EACH_ROW
        acc[r] = b;
    for (size_t l = 0; l < lines->n; l++) {
        const float *xl = x + lines->line[l].x, *wl = w + lines->line[l].w * 16;
        for (size_t k = 0; k < c->n_taps; k++, xl += c->step, wl += 16) {
            v16 wk = v16_load(wl);
            EACH_ROW
                acc[r] = v16_fma(wk, v16_set1(xl[r * stride]), acc[r]);
        }
    }
#ifdef V16_TRANSPOSES
    if (rows >= 16) {
        float rest[16];
        if (rows == 17) {
            v16_store(rest, acc[rows - 1]);
            FN(outs_turn)(y + 16, ldy, rest, 16, 1, n_outs);
        }
        v16_transpose(acc);
        V16_UNROLL for (size_t o = 0; o < 16; o++)
            if (o < n_outs)
                v16_store(y + o * ldy, acc[o]);
        return;
    }
#endif
#ifdef V16_TURNS_4
    if (rows >= 4 && n_outs == 16) {
        v16_store_turned(y, ldy, acc);
        if (rows > 4)
            v16_store_turned(y + rows - 4, ldy, acc + rows - 4);
        return;
    }
#endif
    float all[OUTS_ROWS_MOST * 16];
    EACH_ROW
        v16_store(all + r * 16, acc[r]);
    FN(outs_turn)(y, ldy, all, 16, (size_t) rows, n_outs);
}

/* The same for up to 8 outputs. */
V16_UNROLLED void FN(outs_half)(float *restrict y, size_t ldy, const float *restrict x,
                                const float *restrict w, const float *restrict bias, size_t n_outs,
                                const struct kern_conv_lines *lines, const struct kern_conv *c,
                                const int rows, const int stride)
{
#ifdef V16_TRANSPOSES
    v8 acc[OUTS_ROWS_MOST], b = bias ? v8_load_n(bias, n_outs) : v8_set1(0);
    EACH_ROW
        acc[r] = b;
    for (size_t l = 0; l < lines->n; l++) {
        const float *xl = x + lines->line[l].x, *wl = w + lines->line[l].w * 8;
        for (size_t k = 0; k < c->n_taps; k++, xl += c->step, wl += 8) {
            v8 wk = v8_load(wl);
            EACH_ROW
                acc[r] = v8_fma(wk, v8_set1(xl[r * stride]), acc[r]);
        }
    }
    float all[OUTS_ROWS_MOST * 8];
    if (rows >= 16) {
        v16 turned[8];
        if (rows == 17) {
            v8_store_n(all, acc[rows - 1], 8);
            FN(outs_turn)(y + 16, ldy, all, 8, 1, n_outs);
        }
        v8_transpose(turned, acc);
        V16_UNROLL for (size_t o = 0; o < 8; o++)
            if (o < n_outs)
                v16_store(y + o * ldy, turned[o]);
        return;
    }
    EACH_ROW
        v8_store_n(all + r * 8, acc[r], 8);
    FN(outs_turn)(y, ldy, all, 8, (size_t) rows, n_outs);
#else
    v16 acc[OUTS_ROWS_MOST], b = bias ? v16_load_n(bias, n_outs) : v16_set1(0);
    EACH_ROW
        acc[r] = b;
    for (size_t l = 0; l < lines->n; l++) {
        const float *xl = x + lines->line[l].x, *wl = w + lines->line[l].w * 8;
        for (size_t k = 0; k < c->n_taps; k++, xl += c->step, wl += 8) {
            v16 wk = v16_load_n(wl, 8);
            EACH_ROW
                acc[r] = v16_fma(wk, v16_set1(xl[r * stride]), acc[r]);
        }
    }
    float all[OUTS_ROWS_MOST * 16];
    EACH_ROW
        v16_store(all + r * 16, acc[r]);
    FN(outs_turn)(y, ldy, all, 16, (size_t) rows, n_outs);
#endif
}
#undef EACH_ROW

/* All places of a row for one panel of outputs. */
#define OUTS_ROW(name, tile, stride)                                                                                 \
    static void FN(name)(float *restrict y, size_t ldy, const float *restrict x, const float *restrict w,            \
                         const float *restrict bias, size_t n_outs, const struct kern_conv_lines *lines,             \
                         const struct kern_conv *c)                                                                  \
    {                                                                                                                \
        size_t left = c->n;                                                                                          \
        x += c->first;                                                                                               \
        while (left > 0) {                                                                                           \
            size_t done = 0;                                                                                         \
            OUTS_TILES(TILE_##name)                                                                                  \
            y += done;                                                                                               \
            x += done * stride;                                                                                      \
            left -= done;                                                                                            \
        }                                                                                                            \
    }
/* 17 only where that is all that is left */
#define OUTS_TAKE(rows, tile, stride)                                                                                \
    if (!done && (rows == 17 ? left == 17 : left >= rows)) {                                                         \
        FN(tile)(y, ldy, x, w, bias, n_outs, lines, c, rows, stride);                                                \
        done = rows;                                                                                                 \
    }
#define TILE_outs_row_1(rows)  OUTS_TAKE(rows, outs_tile, 1)
#define TILE_outs_row_2(rows)  OUTS_TAKE(rows, outs_tile, 2)
#define TILE_outs_half_1(rows) OUTS_TAKE(rows, outs_half, 1)
#define TILE_outs_half_2(rows) OUTS_TAKE(rows, outs_half, 2)
OUTS_ROW(outs_row_1, outs_tile, 1)
OUTS_ROW(outs_row_2, outs_tile, 2)
OUTS_ROW(outs_half_1, outs_half, 1)
OUTS_ROW(outs_half_2, outs_half, 2)
#undef OUTS_TAKE
#undef OUTS_ROW

#ifdef V8_WINDOWS
/* A row of up to 8 places with lanes along them, 4 or 8 outputs beside each other, of which n_outs exist: nothing is turned. */
V16_UNROLLED void FN(outs_places)(float *restrict y, size_t ldy, const float *restrict x, const float *restrict w,
                                  size_t width, const float *restrict bias, size_t n_outs,
                                  const struct kern_conv_lines *lines, const struct kern_conv *c, const int outs,
                                  const bool whole)
{
    const uint32_t there = (1u << c->n) - 1;
    v8 acc[8];
    V16_UNROLL for (size_t o = 0; o < (size_t) outs; o++) acc[o] = v8_set1(bias && o < n_outs ? bias[o] : 0);
    for (size_t l = 0; l < lines->n; l++) {
        const float *xl = x + lines->line[l].x, *wl = w + lines->line[l].w * width;
        for (size_t k = 0; k < c->n_taps; k++, xl += c->step, wl += width) {
            const v8 in = whole ? v8_load(xl) : v8_load_mask(xl, there);
            V16_UNROLL for (size_t o = 0; o < (size_t) outs; o++) acc[o] = v8_fma(v8_set1(wl[o]), in, acc[o]);
        }
    }
    V16_UNROLL for (size_t o = 0; o < (size_t) outs; o++)
        if (o < n_outs)
            v8_store_n(y + o * ldy, acc[o], c->n);
}

/* Whether that pays: vectors along whole panels are turned quickly. */
static bool FN(outs_are_short)(const struct kern_conv *c, size_t n_outs)
{
    return c->stride == 1 && c->n > (n_outs > 8 ? 4 : 2) && c->n <= 8 && n_outs < 16;
}

static void FN(outs_short)(float *restrict y, size_t ldy, const float *restrict x, const float *restrict w,
                           size_t width, const float *restrict bias, size_t n_outs,
                           const struct kern_conv_lines *lines, const struct kern_conv *c)
{
    for (size_t o = 0, left; o < n_outs; o += 8) {
        left = n_outs - o;
#define PLACES(outs, whole)                                                                                          \
    FN(outs_places)(y + o * ldy, ldy, x + c->first, w + o, width, bias ? bias + o : bias, left, lines, c, outs, whole)
        if (left > 4 && c->n == 8)
            PLACES(8, true);
        else if (left > 4)
            PLACES(8, false);
        else
            PLACES(4, false);
#undef PLACES
    }
}
#endif

/* Whether lines of one tap lie at even distances: then they are one line of as many taps. */
static bool FN(lines_even)(const struct kern_conv_lines *lines, const struct kern_conv *c)
{
    const struct kern_conv_line *l = lines->line;
    bool even = c->n_taps == 1 && lines->n > 1;
    for (size_t i = 1; even && i < lines->n; i++)
        even = l[i].x - l[i - 1].x == l[1].x - l[0].x && l[i].w == l[i - 1].w + 1;
    return even;
}

static void FN(conv_outs_f32)(float *restrict y, size_t ldy, const float *restrict x,
                              const float *restrict w, const float *restrict bias, size_t n_outs,
                              const struct kern_conv_lines *lines, const struct kern_conv *c)
{
    struct kern_conv column;
    const struct kern_conv_lines single = { lines->line, 1, lines->n_weights };
    if (FN(lines_even)(lines, c)) {
        column = *c;
        column.n_taps = lines->n;
        column.step = lines->line[1].x - lines->line[0].x;
        lines = &single;
        c = &column;
    }
    const bool half = n_outs <= 8, two = c->stride == 2;
    size_t width = half ? 8 : 16;
    for (size_t g = 0; g < c->n_groups; g++, x += c->x_group)
        for (size_t o = 0; o < n_outs; o += 16, w += width * lines->n_weights) {
            size_t now = n_outs - o < 16 ? n_outs - o : 16;
#ifdef V8_WINDOWS
            if (FN(outs_are_short)(c, now))
                FN(outs_short)(y, ldy, x, w, width, bias, now, lines, c);
            else
#endif
            (half ? two ? FN(outs_half_2) : FN(outs_half_1) : two ? FN(outs_row_2) : FN(outs_row_1))
                (y, ldy, x, w, bias, now, lines, c);
            y += now * ldy;
            bias = bias ? bias + now : bias;
        }
}

#define LINES_AHEAD 4
#define LINES_VECS 16 /* of a line that is copied vector by vector; the C library copies longer ones */

/* Lanes from .. to-1 of 16. */
static inline uint32_t FN(lanes)(ptrdiff_t from, ptrdiff_t to)
{
    from = from < 0 ? 0 : from > 16 ? 16 : from;
    to = to < from ? from : to > 16 ? 16 : to;
    return ((1u << to) - 1) & ~((1u << from) - 1);
}

/* Of all lines, the places from first up to end, whose lanes are in the masks. */
static void FN(lines_short)(float *restrict to, size_t span, const float *restrict x,
                            const struct kern_conv_lines *lines, ptrdiff_t at, ptrdiff_t first, ptrdiff_t end)
{
    uint32_t mask[LINES_VECS];
    const size_t whole = span / 16, rest = span % 16;
    for (size_t v = 0; v * 16 < span; v++)
        mask[v] = FN(lanes)(first - (ptrdiff_t) v * 16, end - (ptrdiff_t) v * 16);
    for (size_t l = 0; l < lines->n; l++, to += span) {
        const float *from = x + lines->line[l].x + at;
        if (l + LINES_AHEAD < lines->n) /* each is far from the one before */
            for (ptrdiff_t f = first; f < end; f += 16)
                __builtin_prefetch(x + lines->line[l + LINES_AHEAD].x + at + f);
        for (size_t v = 0; v < whole; v++)
            v16_store(to + v * 16, mask[v] == 0xffff ? v16_load(from + v * 16) : v16_load_mask(from + v * 16, mask[v]));
        if (rest)
            v16_store_n(to + whole * 16, v16_load_mask(from + whole * 16, mask[whole]), rest);
    }
}

static void FN(lines_long)(float *restrict to, size_t span, const float *restrict x,
                           const struct kern_conv_lines *lines, ptrdiff_t at, ptrdiff_t first, ptrdiff_t end)
{
    for (size_t l = 0; l < lines->n; l++, to += span) {
        __builtin_memset(to, 0, (size_t) first * sizeof *to);
        __builtin_memcpy(to + first, x + lines->line[l].x + at + first, (size_t) (end - first) * sizeof *to);
        __builtin_memset(to + end, 0, (span - (size_t) end) * sizeof *to);
    }
}

/* Lines of n places from `at` on, zeros outside of 0 .. n_in-1, one after the other, `span`
 * apart. */
static void FN(conv_lines_f32)(float *restrict to, size_t span, const float *restrict x,
                               const struct kern_conv_lines *lines, ptrdiff_t at, size_t n_in)
{
    ptrdiff_t first = at < 0 ? -at : 0, end = (ptrdiff_t) n_in - at;
    first = first < (ptrdiff_t) span ? first : (ptrdiff_t) span;
    end = end < first ? first : end < (ptrdiff_t) span ? end : (ptrdiff_t) span;
    if (span <= LINES_VECS * 16)
        FN(lines_short)(to, span, x, lines, at, first, end);
    else
        FN(lines_long)(to, span, x, lines, at, first, end);
}
#undef LINES_AHEAD
#undef LINES_VECS

static void FN(weave_f32)(float *restrict y, const float *restrict a, const float *restrict b,
                          size_t n)
{
    size_t i = 0;
#ifdef V16_TRANSPOSES
    for (; i + 16 <= n; i += 16)
        v16_weave(y + 2 * i, v16_load(a + i), v16_load(b + i));
#endif
    for (; i < n; i++) {
        y[2 * i] = a[i];
        y[2 * i + 1] = b[i];
    }
}
