/* SPDX-License-Identifier: MIT */
/* strided_copy.h - StridedCopy: elements of some tensors put together to another, as strided
 * pieces.
 *
 * What Transpose, Slice, Gather, Concat, Pad, ScatterND and their kind do with sizes known before
 * running is such a movement, and so is any chain of them. Made by passes only (engine/rewrite). */
#ifndef RILL_ENGINE_OPS_STRIDED_COPY_H
#define RILL_ENGINE_OPS_STRIDED_COPY_H
#include "engine/graph/op.h"
#include "kernels/program.h"

#define PIECE_AXES 4

/* n[0] x .. x n[3] elements from `from` of an input to `to` of the output; strides in elements. */
struct piece {
    int64_t input, from, to;
    int64_t n[PIECE_AXES], from_stride[PIECE_AXES], to_stride[PIECE_AXES];
};
#define PIECE_INTS (sizeof(struct piece) / sizeof(int64_t))

struct strided_copy_attr {
    struct attr_ints shape;  /* of the output */
    struct attr_ints pieces; /* PIECE_INTS each, struct piece laid flat: write every element once */
    struct attr_ints
        patch; /* what is left to do when the output lies where input `base` lay, in this order */
    int64_t base;  /* -1: the output cannot lie there */
    int64_t again; /* 1: the patch holds where other inputs are the base's wire, too */
    /* None, or COPY_GRID_FLOATS of each input: scale and zero of the grid that its elements are
     * rounded to as they move, as Div, RoundS8 and Mul would, and of a second one behind it. A
     * scale of 0: there is none. */
    struct attr_floats grids;
};
#define COPY_GRID_FLOATS 4

/* What rounds so, in one instruction; false: nothing does. */
bool strided_copy_grid(const float grid[COPY_GRID_FLOATS], struct kern_grid *ret);
/* The kernel rounds rows of elements that lie one after the other. */
static inline bool piece_has_rows(const struct piece *p)
{
    return p->from_stride[PIECE_AXES - 1] == 1 && p->to_stride[PIECE_AXES - 1] == 1;
}

extern const struct op op_strided_copy;

/* Input and element where the output lies as it is, one dense part of the input; false: it is put
 * together. */
bool strided_copy_is_part(const struct node *n, unsigned *ret_input, int64_t *ret_first);
#endif
