/* SPDX-License-Identifier: MIT */
/* conv_tiles.h - a convolution over many places as a product whose terms are read from where they
 * lie: of a block of places, from copies of the lines that they read, with their padding, or from
 * the input itself where there is none. Rows of the product are places, its outputs the channels,
 * which are turned as they leave, or stay as they are where the input's are last, too. */
#ifndef RILL_ENGINE_OPS_CONV_TILES_H
#define RILL_ENGINE_OPS_CONV_TILES_H
#include "engine/ops/window.h"

struct conv_tiles {
    struct window3 g; /* of two axes */
    int64_t cin, cout;
    int64_t ldx, ldy;            /* channels from place to place, where they are last; 0: first */
    int64_t rows, columns;       /* places of a block */
    size_t span;                 /* places of a copied line; 0: nothing is copied */
    size_t *row, *at;            /* of each place of a block; of each term */
    struct kern_conv_line *line; /* the channels' first lines */
    size_t terms, copied_floats, scratch_floats;
};

/* Whether it is one that this is for. */
bool conv_tiles_fit(const struct window3 *g, int64_t cin, int64_t cout);
/* Of cin and cout channels of a group, which come first. NULL: memory is short. */
struct conv_tiles *conv_tiles_new(struct arena *a, const struct window3 *g, int64_t cin,
                                  int64_t cout);
/* The same where channels are last, ldx of the input and ldy of the output. */
struct conv_tiles *conv_tiles_new_last(struct arena *a, const struct window3 *g, int64_t cout,
                                       int64_t ldx, int64_t ldy);
/* One group of an image, or, channels last, an image; w: packed by kern_pack_f32; room:
 * scratch_floats. */
struct conv_tiles_of {
    const struct kern *k;
    float *y;
    const float *x, *w, *bias;
    float *room;
};
void conv_tiles_run(const struct conv_tiles *v, const struct conv_tiles_of *of);
/* Rows of the output from o on; returns how many. */
int64_t conv_tiles_rows_run(const struct conv_tiles *v, const struct conv_tiles_of *of, int64_t o);
/* gemm_at_f32 of any number of terms: so many at a time that the weights of a tile stay in the
 * first cache while all rows pass. Whole sums: `more` is not read. */
void conv_tiles_sums(const struct kern *k, float *y, size_t ldy, const float *x, const size_t *row,
                     const size_t *at, const struct kern_block *of, size_t m);
#endif
