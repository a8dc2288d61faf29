/* SPDX-License-Identifier: MIT */
/* Products of 8 bits whose weights have outliers (kernels/q8.h): rows are u8. What outliers add is
 * computed for a few panels and all rows of a block, and is what their tiles begin with. */
#define OUT_PANELS 4 /* the most that are taken together */

struct FN(outliers) {
    uint8_t turned[Q8_BLOCK / 8][KERN_Q8_SPAN * 8]; /* term by term, of eight rows each */
    int32_t sums[Q8_BLOCK * OUT_PANELS * 16];
};

/* Rows of a block, term by term. */
static void FN(outliers_turn)(struct FN(outliers) *t, const uint8_t *taken, size_t m, size_t terms)
{
    const uint8_t *x[8];
    for (size_t r = 0; r < m; r += 8) {
        for (size_t i = 0; i < 8; i++)
            x[i] = taken + (r + i < m ? r + i : r) * Q8_APART;
        x8_turn(t->turned[r / 8], x, terms);
    }
}

/* Of one panel and one row: sums[16] */
static void FN(outliers_row)(int32_t *restrict sums, const struct kern_q8_outlier *at,
                             const struct kern_q8_outlier *end, const uint8_t *x)
{
    for (; at != end; at++)
        sums[at->at / KERN_Q8_SPAN] += at->by * x[at->at % KERN_Q8_SPAN];
}

/* Of one panel and eight rows, the first m of which there are: sums[row][step] */
static void FN(outliers_eight)(int32_t *restrict sums, size_t step, const struct kern_q8_outlier *at,
                               const struct kern_q8_outlier *end, const uint8_t *turned, size_t m)
{
    n8 by_lane[16];
    for (int l = 0; l < 16; l++)
        by_lane[l] = n8_zero();
    for (; at != end; at++) {
        n8 *sum = by_lane + at->at / KERN_Q8_SPAN;
        *sum = n8_add_product(*sum, turned + at->at % KERN_Q8_SPAN * 8, at);
    }
    n8_turn_store(sums, step, by_lane, m);
}

/* Of panels p .. p + wide - 1. Returns whether there are any. */
static bool FN(outliers_sum)(struct FN(outliers) *t, const struct FN(q8) *g, size_t span, size_t m, size_t p, size_t wide)
{
    const struct kern_q8 *b = g->b;
    const size_t spans = b->k / KERN_Q8_SPAN + (b->k % KERN_Q8_SPAN > 0), step = OUT_PANELS * 16;
    bool any = false;
    for (size_t i = 0; i < wide; i++)
        any = any || b->from[(p + i) * spans + span] < b->from[(p + i) * spans + span + 1];
    for (size_t i = 0; i < wide && any; i++) {
        const struct kern_q8_outlier *at = b->outliers + b->from[(p + i) * spans + span],
                                     *end = b->outliers + b->from[(p + i) * spans + span + 1];
        int32_t *sums = t->sums + i * 16;
        for (size_t r = 0; r < m; r += m < KERN_Q8_EIGHT ? 1 : 8)
            if (m < KERN_Q8_EIGHT) {
                memset(sums + r * step, 0, 16 * sizeof *sums);
                FN(outliers_row)(sums + r * step, at, end, g->taken + r * Q8_APART);
            } else
                FN(outliers_eight)(sums + r * step, step, at, end, t->turned[r / 8], m - r);
    }
    return any;
}

#define EACH_PANEL V16_UNROLL for (int p = 0; p < panels; p++)
#define EACH_ROW   V16_UNROLL for (int r = 0; r < rows; r++)
/* Pairs of terms meet, in each group. */
Q8_TILE void FN(outliers_pairs)(d16 *acc, const int8_t *w, size_t step, const uint8_t *x, size_t groups, const int rows,
                                const int panels)
{
    for (size_t i = 0; i < groups; i++, w += 64, x += KERN_Q8_TERMS)
        EACH_PANEL {
            const w64 wp = w64_load(w + (size_t) p * step);
            EACH_ROW acc[p * rows + r] = d16_dot_2(acc[p * rows + r], wp, u4_load(x + r * Q8_APART));
        }
}

/* And those of two groups. */
Q8_TILE void FN(outliers_fours)(d16 *acc, const int8_t *w, size_t step, const uint8_t *x, size_t groups, const int rows,
                                const int panels)
{
    size_t i = 0;
    for (; i + 2 <= groups; i += 2, w += 128, x += 2 * KERN_Q8_TERMS)
        EACH_PANEL {
            const int8_t *at = w + (size_t) p * step;
            d16_dot_fours(acc + p * rows, at, x, Q8_APART, rows);
        }
    FN(outliers_pairs)(acc, w, step, x, groups - i, rows, panels);
}

Q8_TILE void FN(q8_outliers_tile)(const struct FN(q8) *g, size_t row, size_t o, const int rows, const int panels)
{
    const struct kern_q8 *b = g->b;
    d16 acc[Q8_ACC];
    const size_t step = (b->k + KERN_Q8_TERMS - 1) / KERN_Q8_TERMS * 64;
    const int8_t *w = g->w + o / 16 * step;
    const uint8_t *x = g->taken + row * Q8_APART;
    const bool plain = FN(q8_is_plain)(g, o, (size_t) panels);
    EACH_PANEL {
        if (plain)
            FN(q8_begin)(g, acc + p * rows, row, o + (size_t) p * 16, rows);
        else
            EACH_ROW acc[p * rows + r] = d16_zero();
        if (g->outliers)
            EACH_ROW acc[p * rows + r] = n16_add(acc[p * rows + r], n16_load(g->outliers + (row + (size_t) r) * OUT_PANELS * 16 + (o - g->outliers_o) + p * 16));
    }
    if (b->in_16 == 4)
        FN(outliers_fours)(acc, w, step, x, g->groups, rows, panels);
    else
        FN(outliers_pairs)(acc, w, step, x, g->groups, rows, panels);
    EACH_PANEL {
        if (plain)
            FN(q8_end)(g, acc + p * rows, row, o + (size_t) p * 16, rows);
        else
            EACH_ROW {
                const size_t at = row + (size_t) r;
                int32_t *y = (g->y_by ? g->y_by[at] : g->y + at * g->ldy) + o;
                FN(q8_store)(g, y + p * 16, acc[p * rows + r], at, o + (size_t) p * 16);
            }
    }
}
#undef EACH_PANEL
#undef EACH_ROW

TILES_DEFINE(q8_outliers, Q8_FITS)

/* The rows taken against all panels. */
static void FN(outliers_run)(struct FN(q8) *g, size_t span, size_t m, size_t terms, size_t panels)
{
    struct FN(outliers) t;
    const struct tiles *tiles = &FN(q8_outliers_tiles);
    const size_t most = Q8_TOGETHER(m);
    const struct kern_q8 *b = g->b;
    if (m >= KERN_Q8_EIGHT && b->from[panels * ((b->k + KERN_Q8_SPAN - 1) / KERN_Q8_SPAN)])
        FN(outliers_turn)(&t, g->taken, m, terms);
    for (size_t p = 0, wide; p < panels; p += wide) {
        wide = tile_share(panels - p, tiles->panels[most]);
        g->outliers = FN(outliers_sum)(&t, g, span, m, p, wide) ? t.sums : NULL;
        g->outliers_o = p * 16;
        tiles_rows(g, m, most, tiles->of[0] + wide, TILE_PANELS_MOST + 1, p * 16);
    }
}
