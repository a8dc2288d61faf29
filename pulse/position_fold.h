/* SPDX-License-Identifier: MIT */
/* position_fold.h - what positions decide alike in every frame.
 *
 * A mask of padding that the sequence's own length makes (`arange(T / 4) < T / 4`), a packing of
 * one sequence, a constant that is read at computed places: one number in every frame, at every
 * length of the sequence from 1 on. It becomes that number, and lengths that were computed for it
 * are needed no more. */
#ifndef RILL_PULSE_POSITION_FOLD_H
#define RILL_PULSE_POSITION_FOLD_H
#include "engine/graph/graph.h"

/* What is made lives in g's arena. Keeps all bits. */
rill_status graph_with_positions_folded(struct graph *ret, const struct graph *g,
                                        rill_error *reterr);
#endif
