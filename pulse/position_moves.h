/* SPDX-License-Identifier: MIT */
/* position_moves.h - elements that stand elsewhere behind a node: broadcast, reshaped, turned, cut
 * out, picked. */
#ifndef RILL_PULSE_POSITION_MOVES_H
#define RILL_PULSE_POSITION_MOVES_H
#include "pulse/positions.h"

struct walk {
    struct positions *ps;
    const struct graph *g;
    const struct dim *symbol;
    const struct dim *spare[RANK_MAX]; /* while axes are renamed */
};

static inline bool has_parts(const struct position *x)
{
    return x->parts > 1;
}

/* As an operand that is broadcast to `rank` axes. */
struct position broadcast(const struct walk *w, uint32_t wire, int rank);

/* Operand i of a product of two whose labels are all in the output: of Einsum, or of MatMul along
 * an axis of one element; e NULL: it sums, or is not known. */
struct position factor(const struct walk *w, const struct node *n, unsigned i);

/* Of what the node moves; e NULL: not known. */
struct position reshaped(const struct walk *w, const struct node *n);
struct position transposed(const struct walk *w, const struct node *n);
struct position sliced(const struct walk *w, const struct node *n, int rank);
struct position gathered(const struct walk *w, const struct node *n);
struct position tiled(const struct walk *w, const struct node *n, int rank);
#endif
