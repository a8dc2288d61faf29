/* SPDX-License-Identifier: MIT */
/* A product cut into tiles: rows by panels of 16 outputs whose sums are in registers. */
#ifndef KERN_TILES_TMPL_H
#define KERN_TILES_TMPL_H
#include "kernels/isa_name.h"
#include <stddef.h>

#define TILE_ROWS_MOST   8
#define TILE_PANELS_MOST 8

/* The tile of a product that starts at a row and an output. */
typedef void tile_fn(const void *product, size_t row, size_t o);

struct tiles {
    tile_fn *of[TILE_ROWS_MOST + 1][TILE_PANELS_MOST + 1];
    unsigned char panels[TILE_ROWS_MOST + 1]; /* how many fit beside so many rows */
};

/* clang-format off */
#define TILES_EACH(X, kind, fit)                                                                   \
    X(kind, fit, 1, 1) X(kind, fit, 1, 2) X(kind, fit, 1, 3) X(kind, fit, 1, 4)                    \
    X(kind, fit, 1, 5) X(kind, fit, 1, 6) X(kind, fit, 1, 7) X(kind, fit, 1, 8)                    \
    X(kind, fit, 2, 1) X(kind, fit, 2, 2) X(kind, fit, 2, 3) X(kind, fit, 2, 4)                    \
    X(kind, fit, 2, 5) X(kind, fit, 2, 6)                                                          \
    X(kind, fit, 3, 1) X(kind, fit, 3, 2) X(kind, fit, 3, 3) X(kind, fit, 3, 4)                    \
    X(kind, fit, 3, 5) X(kind, fit, 3, 6)                                                          \
    X(kind, fit, 4, 1) X(kind, fit, 4, 2) X(kind, fit, 4, 3) X(kind, fit, 4, 4)                    \
    X(kind, fit, 4, 5) X(kind, fit, 4, 6)                                                          \
    X(kind, fit, 5, 1) X(kind, fit, 5, 2) X(kind, fit, 5, 3) X(kind, fit, 5, 4)                    \
    X(kind, fit, 6, 1) X(kind, fit, 6, 2) X(kind, fit, 6, 3) X(kind, fit, 6, 4)                    \
    X(kind, fit, 7, 1) X(kind, fit, 7, 2) X(kind, fit, 7, 3) X(kind, fit, 7, 4)                    \
    X(kind, fit, 8, 1) X(kind, fit, 8, 2) X(kind, fit, 8, 3)
/* clang-format on */
#define TILE_FN(kind, fit, rows, panels)                                                           \
    static void FN(kind##_##rows##x##panels)(const void *g, size_t row, size_t o)                  \
    {                                                                                              \
        if (panels <= fit(rows))                                                                   \
            FN(kind##_tile)(g, row, o, rows, panels);                                              \
    }
#define TILE_ENTRY(kind, fit, rows, panels) [rows][panels] = FN(kind##_##rows##x##panels),

/* FN(kind_tiles), of FN(kind_tile)(product, row, o, rows, panels), where fit(rows) panels fit. */
#define TILES_DEFINE(kind, fit)                                                                    \
    TILES_EACH(TILE_FN, kind, fit)                                                                 \
    static const struct tiles FN(kind##_tiles) = {                                                 \
        { TILES_EACH(TILE_ENTRY, kind, fit) },                                                     \
        { 0, fit(1), fit(2), fit(3), fit(4), fit(5), fit(6), fit(7), fit(8) }                      \
    };

/* How many of those that are left the next tile takes: the last four share alike, so that no tile
 * is left with a single row or panel, whose few chains would wait for each other. Constants divide
 * faster than variables. */
static inline size_t tile_share(size_t left, size_t most)
{
    return left <= most    ? left
        : left <= 2 * most ? (left + 1) / 2
        : left <= 3 * most ? (left + 2) / 3
        : left <= 4 * most ? (left + 3) / 4
                           : most;
}

/* m rows, up to `most` at a time, against the panels from output o on that of[rows * next] takes;
 * they stay in cache meanwhile. */
static inline void tiles_rows(const void *product, size_t m, size_t most, tile_fn *const *of,
                              size_t next, size_t o)
{
    for (size_t r = 0, rows; r < m; r += rows) {
        rows = tile_share(m - r, most);
        of[rows * next](product, r, o);
    }
}

/* m rows, at most `most` together, against all panels. */
static inline void tiles_run(const struct tiles *t, const void *product, size_t m, size_t most,
                             size_t panels)
{
    for (size_t p = 0, wide; m && p < panels; p += wide) {
        wide = tile_share(panels - p, t->panels[most]);
        tiles_rows(product, m, most, t->of[0] + wide, TILE_PANELS_MOST + 1, p * 16);
    }
}
#endif
