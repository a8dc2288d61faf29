/* SPDX-License-Identifier: MIT */
/* outputs.h - what a graph is given at the end of typing. */
#ifndef RILL_ENGINE_TYPING_OUTPUTS_H
#define RILL_ENGINE_TYPING_OUTPUTS_H
#include "engine/graph/graph.h"

/* Sizes, those in bodies too, as they are with all that was assumed of symbols, also behind them.
 */
void graph_sizes_refresh(struct graph *g);

/* Every output is a wire of its own, called as the file calls it: output k of g gets the name of
 * output k of `named`, also where rewriting left another wire in its place; one that is an input, a
 * constant, a state or another output becomes the output of an Identity. g is changed; the lists of
 * wires and nodes may move. */
rill_status graph_outputs_own(struct graph *g, const struct graph *named, rill_error *reterr);
#endif
