/* SPDX-License-Identifier: MIT */
/* Packed products: lanes along the outputs, k in order, one chain of fused multiply-adds per
 * output. A tile is `rows` rows by `panels` panels of 16 outputs held in registers; vec_*.h says
 * how many panels fit beside each number of rows. */

#include "kernels/tiles_tmpl.h"
#ifndef GEMM_FETCH
#define GEMM_FETCH(p) (void) (p)
#endif

/* A product, the same for all its tiles. Rows lie at lists of pointers or (NULL) at a base and a
 * step, or, with `at`, at a base and a list of distances, and their terms at those of another. */
struct FN(gemm) {
    const struct kern_block *b;
    float *const *y_by;
    const float *const *x_by;
    float *y;
    const float *x;
    size_t ldy, ldx;
    const size_t *row, *at;
    size_t ahead; /* bytes of the next panels that a row and panel of a tile fetches for each term,
                     in 65536ths; 0: none */
};

static const float FN(gemm_zeros)[TILE_PANELS_MOST * 16];

#define EACH_PANEL V16_UNROLL for (int p = 0; p < panels; p++)
#define EACH_ROW   V16_UNROLL for (int r = 0; r < rows; r++)

/* Pointers to `rows` rows from `row` on. Nothing is stored on the way: the stores of a tile wait
 * for its sums, and few others fit beside them. */
#define ROWS_OF_X                                                            \
    if (g->x_by) {                                                           \
        EACH_ROW                                                             \
            x[r] = g->x_by[row + (size_t) r];                                \
    } else {                                                                 \
        x[0] = g->x + row * g->ldx;                                          \
        V16_UNROLL for (int r = 1; r < rows; r++)                            \
            x[r] = x[r - 1] + g->ldx;                                        \
    }
#define ROW_OF_Y(g, row)                                                                           \
    ((g)->y_by ? (g)->y_by[(row) + (size_t) r] : (g)->y + ((row) + (size_t) r) * (g)->ldy)

/* 16 * panels outputs of `rows` rows; both, whether terms are gathered and whether the next panels
 * are fetched are constants where it is called. Only the last panel may lack outputs. */
V16_UNROLLED void FN(gemm_sums)(const struct FN(gemm) * g, size_t row, size_t o, const int rows,
                                const int panels, const bool gathers, const bool fetches)
{
    v16 acc[GEMM_ACC];
    const struct kern_block *b = g->b;
    const float *x[TILE_ROWS_MOST], *w = b->w + o / 16 * b->step_panel,
                                    *bias = b->bias ? b->bias + o : FN(gemm_zeros);
    const size_t k = b->k, step = b->step_panel, down = b->step_k,
                 last = (size_t) (panels - 1) * 16, left = b->n - o - last;
    EACH_ROW {
        const float *from = b->more ? ROW_OF_Y(g, row) + o : bias;
        V16_UNROLL for (int p = 0; p + 1 < panels; p++)
            acc[p * rows + r] = v16_load(from + p * 16);
        acc[(panels - 1) * rows + r] =
            left >= 16 ? v16_load(from + last) : v16_load_n(from + last, left);
    }
    if (b->row_bias)
        EACH_ROW
            V16_UNROLL for (int p = 0; p < panels; p++)
                acc[p * rows + r] = v16_set1(b->row_bias[row + (size_t) r]);
    const size_t *at = g->at;
    if (gathers) {
        EACH_ROW
            x[r] = g->x + g->row[row + (size_t) r];
    } else {
        ROWS_OF_X
    }
    struct { const struct FN(gemm) *g; size_t row, o; } kept = { g, row, o };
    __asm__("" : "+m"(kept)); /* not in registers while the sums run: the row pointers need those */
    const size_t by = (size_t) (rows * panels) * g->ahead >> 16;
    const char *next = (const char *) (w + (left > 16 ? (size_t) panels * step : 0));
    next += row * k * (size_t) panels * g->ahead >> 16;
    for (size_t i = 0; i < k; i++, w += down) {
        const size_t from = gathers ? at[i] : i;
        if (fetches)
            GEMM_FETCH(next);
        next += by;
        EACH_PANEL {
            v16 wp = v16_load(w + (size_t) p * step);
            EACH_ROW
                acc[p * rows + r] = v16_fma(wp, v16_set1(x[r][from]), acc[p * rows + r]);
        }
    }
    /* row by row: lines that follow each other drain faster */
    size_t rest = kept.g->b->n - kept.o - last;
    EACH_ROW {
        float *to = ROW_OF_Y(kept.g, kept.row) + kept.o;
        V16_UNROLL for (int p = 0; p + 1 < panels; p++)
            v16_store(to + p * 16, acc[p * rows + r]);
        if (rest >= 16)
            v16_store(to + last, acc[(panels - 1) * rows + r]);
        else
            v16_store_n(to + last, acc[(panels - 1) * rows + r], rest);
    }
}

V16_UNROLLED void FN(gemm_tile)(const struct FN(gemm) * g, size_t row, size_t o, const int rows,
                                const int panels)
{
    FN(gemm_sums)(g, row, o, rows, panels, false, false);
}

V16_UNROLLED void FN(gather_tile)(const struct FN(gemm) * g, size_t row, size_t o, const int rows,
                                  const int panels)
{
    FN(gemm_sums)(g, row, o, rows, panels, true, false);
}

#ifdef GEMM_AHEAD
V16_UNROLLED void FN(fetch_tile)(const struct FN(gemm) * g, size_t row, size_t o, const int rows,
                                 const int panels)
{
    FN(gemm_sums)(g, row, o, rows, panels, false, true);
}

V16_UNROLLED void FN(gather_fetch_tile)(const struct FN(gemm) * g, size_t row, size_t o,
                                        const int rows, const int panels)
{
    FN(gemm_sums)(g, row, o, rows, panels, true, true);
}
#endif

#ifdef GEMM_HALF
/* The last panel, where it has no more than 8 outputs. */
V16_UNROLLED void FN(gemm_half)(const struct FN(gemm) *g, size_t row, size_t o, const int rows)
{
    v8 acc[TILE_ROWS_MOST];
    const struct kern_block *b = g->b;
    const float *x[TILE_ROWS_MOST], *w = b->w + o / 16 * b->step_panel;
    const size_t k = b->k, down = b->step_k, left = b->n - o;
    v8 bias = b->bias ? v8_load_n(b->bias + o, left) : v8_set1(0);
    EACH_ROW
        acc[r] = b->more ? v8_load_n(ROW_OF_Y(g, row) + o, left)
            : b->row_bias ? v8_set1(b->row_bias[row + (size_t) r]) : bias;
    ROWS_OF_X
    for (size_t i = 0; i < k; i++, w += down) {
        v8 wp = v8_load(w);
        EACH_ROW
            acc[r] = v8_fma(wp, v8_set1(x[r][i]), acc[r]);
    }
    EACH_ROW
        v8_store_n(ROW_OF_Y(g, row) + o, acc[r], left);
}
#endif
#undef ROWS_OF_X
#undef ROW_OF_Y
#undef EACH_PANEL
#undef EACH_ROW

TILES_DEFINE(gemm, GEMM_FIT)
TILES_DEFINE(gather, GEMM_FIT)
#ifdef GEMM_AHEAD
/* Of so many rows no tile has fewer than four, nor more than four panels. */
#define GEMM_FIT_AHEAD(rows) ((rows) < 4 ? 0 : GEMM_FIT(rows) < 4 ? GEMM_FIT(rows) : 4)
TILES_DEFINE(fetch, GEMM_FIT_AHEAD)
TILES_DEFINE(gather_fetch, GEMM_FIT_AHEAD)

/* While many rows pass some panels, the next ones, which lie behind them, are fetched, a part by
 * each tile: nothing else knows where they begin. Not worth it where weights of less than `least`
 * are near anyway. */
static inline bool FN(gemm_fetches)(struct FN(gemm) * g, size_t m, size_t least)
{
    const struct kern_block *b = g->b;
    const bool fetches = m >= GEMM_AHEAD && m <= GEMM_AHEAD_MOST && b->n * b->k >= least &&
        (GEMM_FIT(GEMM_ROWS) == 1 || b->step_panel == 16 * b->k);
    g->ahead = fetches ? (64 << 16) / m : 0;
    return fetches;
}
#define GEMM_TILES(g, m, least, tiles, fetching)                                                   \
    (FN(gemm_fetches)(g, m, least) ? &FN(fetching##_tiles) : &FN(tiles##_tiles))
#else
#define GEMM_TILES(g, m, least, tiles, fetching) &FN(tiles##_tiles)
#endif

#ifdef GEMM_HALF
#define X(rows)                                                                                            \
    static void FN(gemm_##rows##xhalf)(const void *g, size_t row, size_t o)                                \
    {                                                                                                      \
        FN(gemm_half)(g, row, o, rows);                                                                   \
    }
X(4) X(5) X(6) X(7) X(8)
#undef X
static tile_fn *const FN(gemm_halves)[TILE_ROWS_MOST + 1] = {
    [4] = FN(gemm_4xhalf), FN(gemm_5xhalf), FN(gemm_6xhalf), FN(gemm_7xhalf), FN(gemm_8xhalf)
};
#else
#define GEMM_HALF(m, n) 0
static tile_fn *const FN(gemm_halves)[1];
#endif

/* Rows of a tile, for so many panels. */
static inline size_t FN(rows_most)(size_t m, size_t panels)
{
    return m <= GEMM_ROWS_FEW                            ? m
        : panels <= FN(gemm_tiles).panels[GEMM_ROWS_FEW] ? GEMM_ROWS_FEW
                                                         : GEMM_ROWS;
}

static void FN(gemm_run)(struct FN(gemm) *g, size_t m)
{
    bool half = GEMM_HALF(m, g->b->n);
    size_t panels = g->b->n / 16 + (g->b->n % 16 && !half);
    tiles_run(GEMM_TILES(g, m, 16384, gemm, fetch), g, m, FN(rows_most)(m, panels), panels);
    if (half)
        tiles_rows(g, m, TILE_ROWS_MOST, FN(gemm_halves), 1, panels * 16);
}

static void FN(gemm_block_f32)(float *y, size_t ldy, const float *x, size_t ldx,
                               const struct kern_block *b, size_t m)
{
    struct FN(gemm) g = { .b = b, .y = y, .x = x, .ldy = ldy, .ldx = ldx };
    FN(gemm_run)(&g, m);
}

static void FN(gemm_f32)(float *restrict y, size_t ldy, const float *restrict x, size_t ldx,
                         const float *restrict w, const float *restrict bias, size_t m, size_t n,
                         size_t k)
{
    struct kern_block b = {
        .w = w, .step_panel = 16 * k, .step_k = 16, .bias = bias, .n = n, .k = k
    };
    FN(gemm_block_f32)(y, ldy, x, ldx, &b, m);
}

static void FN(gemm_rows_f32)(float *const *y, const float *const *x, const struct kern_block *b,
                              size_t m)
{
    struct FN(gemm) g = { .b = b, .y_by = y, .x_by = x };
    FN(gemm_run)(&g, m);
}

static void FN(gemm_at_f32)(float *restrict y, size_t ldy, const float *restrict x,
                            const size_t *row, const size_t *at, const struct kern_block *b,
                            size_t m)
{
    struct FN(gemm) g = { .b = b, .y = y, .x = x, .ldy = ldy, .row = row, .at = at };
    const size_t panels = (b->n + 15) / 16;
    tiles_run(GEMM_TILES(&g, m, 65536, gather, gather_fetch), &g, m, FN(rows_most)(m, panels),
              panels);
}
