/* SPDX-License-Identifier: MIT */
/* Products of 8 bits whose sums are of 16 bits first (kernels/q8.h): rows are u8. */

#define EACH_PANEL V16_UNROLL for (int p = 0; p < panels; p++)
#define EACH_ROW   V16_UNROLL for (int r = 0; r < rows; r++)

/* n pairs of groups that meet, where order says. */
Q8_TILE void FN(fours_sum)(d16 *acc, const int8_t *w, const uint8_t *order, size_t n, const uint8_t *x, const int rows)
{
    for (size_t i = 0; i < n; i++, order += 2, w += 128)
        d16_dot_fours(acc, w, x + (size_t) order[0] * KERN_Q8_TERMS, x + (size_t) order[1] * KERN_Q8_TERMS, Q8_APART, rows);
}

/* All of a panel but the first `done` pairs. */
Q8_TILE void FN(fours_panel)(const struct FN(q8) *g, d16 *acc, const struct kern_q8_span *s, const int8_t *w,
                             const uint8_t *order, size_t done, const uint8_t *x, const int rows)
{
    FN(fours_sum)(acc, w + done * 128, order + done * 2, s->fours - done, x, rows);
    for (size_t i = 2 * s->fours; i < g->groups; i++)
        d16_dot_single(acc, w + i * 64, x + (size_t) order[i] * KERN_Q8_TERMS, Q8_APART, rows);
    FN(fours_sum)(acc, g->b->more + (size_t) s->from * 128, g->b->more_order + (size_t) s->from * 2, s->mores, x, rows);
}

Q8_TILE void FN(fours_panels)(const struct FN(q8) *g, d16 *acc, const uint8_t *x, size_t o, const int rows, const int panels)
{
    const struct kern_q8 *b = g->b;
    const size_t groups = (b->k + KERN_Q8_TERMS - 1) / KERN_Q8_TERMS, spans = (b->k + KERN_Q8_SPAN - 1) / KERN_Q8_SPAN;
    const struct kern_q8_span *s = b->spans + o / 16 * spans + g->span;
    const uint8_t *order = b->order + o / 16 * groups + g->span * (KERN_Q8_SPAN / KERN_Q8_TERMS);
    const int8_t *w = g->w + o / 16 * groups * 64;
    size_t together = panels > 1 ? s->fours : 0; /* as many as each panel has */
    if (panels > 1)
        EACH_PANEL {
            const size_t fours = s[(size_t) p * spans].fours;
            together = fours < together ? fours : together;
        }
    const uint8_t *next = order;
    const int8_t *at = w;
    for (size_t i = 0; i < together; i++, next += 2, at += 128)
        EACH_PANEL FN(fours_sum)(acc + p * rows, at + (size_t) p * groups * 64, next + (size_t) p * groups, 1, x, rows);
    EACH_PANEL FN(fours_panel)(g, acc + p * rows, s + (size_t) p * spans, w + (size_t) p * groups * 64,
                               order + (size_t) p * groups, together, x, rows);
}

Q8_TILE void FN(q8_fours_tile)(const struct FN(q8) *g, size_t row, size_t o, const int rows, const int panels)
{
    d16 acc[Q8_ACC];
    const bool plain = FN(q8_is_plain)(g, o, (size_t) panels);
    EACH_PANEL {
        if (plain)
            FN(q8_begin)(g, acc + p * rows, row, o + (size_t) p * 16, rows);
        else
            EACH_ROW acc[p * rows + r] = d16_zero();
    }
    FN(fours_panels)(g, acc, g->taken + row * Q8_APART, o, rows, panels);
    EACH_PANEL {
        if (plain) {
            FN(q8_end)(g, acc + p * rows, row, o + (size_t) p * 16, rows);
            continue;
        }
        EACH_ROW {
            const size_t at = row + (size_t) r;
            int32_t *y = (g->y_by ? g->y_by[at] : g->y + at * g->ldy) + o;
            FN(q8_store)(g, y + p * 16, acc[p * rows + r], at, o + (size_t) p * 16);
        }
    }
}
#undef EACH_PANEL
#undef EACH_ROW



TILES_DEFINE(q8_fours, Q8_FITS)

/* The rows taken against all panels. */
static void FN(fours_run)(struct FN(q8) *g, size_t span, size_t m, size_t panels)
{
    g->span = span;
    tiles_run(&FN(q8_fours_tiles), g, m, Q8_TOGETHER(m), panels);
}
