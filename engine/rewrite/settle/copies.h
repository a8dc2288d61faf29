/* SPDX-License-Identifier: MIT */
/* copies.h - StridedCopies that round what they move, and those that make the next value of a
 * state. */
#ifndef RILL_ENGINE_REWRITE_SETTLE_COPIES_H
#define RILL_ENGINE_REWRITE_SETTLE_COPIES_H
#include "engine/graph/edit.h"
#include "engine/rewrite/settle/pieces.h"

#define COPY_ELEMENTS_MAX (1 << 18) /* of a tensor that is followed element by element */
#define COPY_PIECES_MORE 8          /* than before, that a copy may have */

static inline const struct strided_copy_attr *copy_attr(const struct node *n)
{
    return n->attr;
}

int64_t piece_count(const struct piece *p);
/* Calls for each element of a piece, innermost last. */
void piece_walk(const struct piece *p, void (*each)(void *to, int64_t from, int64_t at), void *to);

/* The next value of a state, made by a copy of those inputs and pieces, is written over it where an
 * order of the pieces allows that: first what moves within it, under whatever input. False: no
 * memory. */
bool copy_patch_state(const struct graph *g, struct arena *work, const struct node *n,
                      const uint32_t *in, struct strided_copy_attr *a);
#endif
