/* SPDX-License-Identifier: MIT */
/* conv_rows.h - what Conv and ConvTranspose share: rows of outputs, each the sum over lines of the
 * input and taps on those lines. Every output is one chain of fused multiply-adds that starts from
 * the bias and runs through (channel, kernel place) in order. There are six ways with the same
 * bits, chosen by the shape: lanes along the places of a row, or of all rows (conv_flat.h), along
 * the outputs, or along the groups, and a product: over columns, or, of many places, of terms that
 * are read from where they lie (conv_tiles.h), or with its operands swapped (conv_swapped.h).
 *
 * A transposed convolution of stride s on the last axis is s convolutions (phases), each with its
 * own taps and every s-th place of the output. */
#ifndef RILL_ENGINE_OPS_CONV_ROWS_H
#define RILL_ENGINE_OPS_CONV_ROWS_H
#include "engine/ops/conv_flat.h"
#include "engine/ops/conv_tiles.h"
#include "engine/ops/epilogue.h"
#include "engine/ops/window.h"

/* Products first. */
enum conv_way { CONV_PRODUCT, CONV_SWAPPED, CONV_PLACES, CONV_CHANNELS, CONV_GROUPS, CONV_FLAT };

struct conv_phase {
    struct kern_conv row; /* places of the last axis; n: of this phase */
    struct kern_conv_line
        *line;                 /* of a row of outputs whose lines all exist, from the row's first */
    size_t n_lines, n_weights; /* n_weights: taps of all lines */
    struct kern_conv block,
        tail;           /* places of a row, and its last ones, over copied lines; tail.n may be 0 */
    size_t span;        /* places of a copied line */
    bool columns_again; /* of a product: they are those of the phase before */
    size_t *tap_at;     /* each tap's place in the weights of an output; NULL: in order */
    size_t packed_floats; /* of a group */
    const float *packed;  /* NULL: weights are packed into scratch */
};

struct conv_rows {
    struct window3 g;
    bool transposed;
    int64_t batch, group, cin, cout; /* channels of one group */
    struct conv_phase *phase;
    int64_t n_phases;
    enum conv_way way;
    bool inside;   /* all places that taps read along the last axis exist */
    bool blocked;  /* lines are copied, those under a block of places at a time */
    bool in_place; /* the columns of a product lie in the input, stride apart */
    size_t in_place_at;
    bool tiles_fit;
    struct conv_tiles *tiles; /* of a product; NULL: over columns */
    struct conv_flat *flat;   /* NULL: row by row */
    int64_t kernel[3],
        n_kernel;      /* of the weights; g has those that are not in the padding always */
    int64_t first_tap; /* of g in the weights */
    int64_t stride_in; /* from input channel to input channel in the weights */
    size_t stride_out; /* from output to output */
    size_t most_weights, most_places, packed_floats; /* of any phase */
    int64_t tile;                                    /* places whose columns are made at once */
    struct epilogue epilogue;
};

/* Input place of output place o at kernel place k; -1: none. */
static inline int64_t conv_place(const struct conv_rows *v, int axis, int64_t o, int64_t k)
{
    const struct window3 *g = &v->g;
    int64_t at;
    if (v->transposed) {
        at = o + g->before[axis] - k * g->dilation[axis];
        at = at % g->stride[axis] ? -1 : at / g->stride[axis];
    } else {
        at = o * g->stride[axis] - g->before[axis] + k * g->dilation[axis];
    }
    return at >= 0 && at < g->in[axis] ? at : -1;
}

/* before: of w, as the output's size demands. */
rill_status conv_rows_prepare(struct prep *c, const struct window *w, int64_t group,
                              bool transposed, struct attr_ints epilogue);

/* y = bias + sums, then the epilogue. */
void conv_rows_eval(const struct eval *e);
void conv_rows_eval_many(const struct eval *e, unsigned n);
/* As divide of struct op. */
rill_status conv_rows_divide(struct prep *c, unsigned most, struct shares *ret);
#endif
