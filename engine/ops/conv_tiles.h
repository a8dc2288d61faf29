/* SPDX-License-Identifier: MIT */
/* conv_tiles.h - a convolution over many places as a product whose terms are read from where they
 * lie: of a block of places, from copies of the lines that they read, with their padding, or from
 * the input itself where there is none. Rows of the product are places, its outputs the channels,
 * which are turned as they leave. */
#ifndef RILL_ENGINE_OPS_CONV_TILES_H
#define RILL_ENGINE_OPS_CONV_TILES_H
#include "engine/ops/window.h"

struct conv_tiles {
    struct window3 g; /* of two axes */
    int64_t cin, cout;
    int64_t rows, columns;       /* places of a block */
    size_t span;                 /* floats of a copied line; 0: nothing is copied */
    size_t *row, *at;            /* of each place of a block; of each term */
    struct kern_conv_line *line; /* the channels' first lines */
    size_t terms, copied_floats, scratch_floats;
};

/* Whether it is one that this is for. */
bool conv_tiles_fit(const struct window3 *g, int64_t cin, int64_t cout);
/* cin, cout: of a group. *ret: NULL where memory is short. */
struct conv_tiles *conv_tiles_new(struct arena *a, const struct window3 *g, int64_t cin,
                                  int64_t cout);
/* One group of an image; w: packed by kern_pack_f32; room: scratch_floats. */
void conv_tiles_run(const struct conv_tiles *v, const struct kern *k, float *y, const float *x,
                    const float *w, const float *bias, float *room);
/* gemm_at_f32 of any number of terms: so many at a time that four panels of weights stay in half
 * the second cache. Whole sums: `more` is not read. */
void conv_tiles_sums(const struct kern *k, float *y, const float *x, const size_t *row,
                     const size_t *at, const struct kern_block *of, size_t m);
#endif
