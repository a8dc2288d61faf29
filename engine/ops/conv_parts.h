/* SPDX-License-Identifier: MIT */
/* conv_parts.h - a convolution of a group for each channel, channels last: parts of the output
 * whose places have the same taps, some rows at a time. */
#ifndef RILL_ENGINE_OPS_CONV_PARTS_H
#define RILL_ENGINE_OPS_CONV_PARTS_H
#include "engine/ops/conv_tiles.h"

/* Rows of the output whose places are those of parts [from, to). */
struct conv_part_rows {
    size_t from, to;
    int64_t n;
};

struct conv_parts {
    const ptrdiff_t *at;         /* of all taps */
    struct kern_last *part;      /* of all channels */
    struct conv_part_rows *rows; /* of each row that others follow */
};

/* Images of that many channels. NULL: memory is short. */
struct conv_parts *conv_parts_new(struct arena *a, const struct window3 *g, int64_t channels);
/* `channels` of them, the first of which x, w, bias and y begin with, of rows from o on; returns
 * how many. */
int64_t conv_parts_rows_run(const struct conv_parts *v, const struct conv_tiles_of *of,
                            size_t channels, int64_t o);
#endif
