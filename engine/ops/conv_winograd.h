/* SPDX-License-Identifier: MIT */
/* conv_winograd.h - a convolution whose kernel has three places along one axis, a stride apart, in
 * tiles of four outputs along it: six products of components in twelve's place (docs/kernels.md,
 * "Winograd's products"). What an output's sums are is fixed by the attribute `winograd` and by the
 * output's place on that axis; sizes, pulses and shares change no bit. */
#ifndef RILL_ENGINE_OPS_CONV_WINOGRAD_H
#define RILL_ENGINE_OPS_CONV_WINOGRAD_H
#include "engine/ops/epilogue.h"
#include "engine/ops/window.h"

#define WINOGRAD_OUTS 4 /* of a tile */
#define WINOGRAD_PARTS 6

struct conv_winograd {
    struct window3 g; /* of two axes */
    int axis;         /* of g, 1 or 2 */
    int64_t batch, cin, cout;
    int64_t rows, columns; /* of a block: tiles along the axis, places along the other one */
    size_t span, width;    /* floats of a channel in a copied line, and in a line of a component */
    size_t step;           /* floats from component to component of the input */
    size_t *row, *at;      /* of each row of the product; of each term */
    /* Lines that are copied at once: of all channels along rows, else those of a channel, or, where
     * nothing pads them, all channels whole. */
    struct kern_conv_line *line;
    size_t n_lines;
    bool lines_of_channel, long_lines;
    size_t terms;
    const float *packed;                /* panel after panel, component after component in each */
    size_t copied_floats, parts_floats; /* of scratch, see the evaluation */
    struct epilogue epilogue;
};

/* axis: of the tensor, 2 or 3; w as window_fix makes it. */
rill_status conv_winograd_prepare(struct prep *c, const struct window *w, int64_t axis,
                                  struct attr_ints epilogue);
void conv_winograd_eval(const struct eval *e);
/* As divide of struct op. */
rill_status conv_winograd_divide(struct prep *c, unsigned most, struct shares *ret);
#endif
