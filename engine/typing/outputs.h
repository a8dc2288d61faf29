/* SPDX-License-Identifier: MIT */
/* outputs.h - every output is a wire of its own, called as the file calls it. */
#ifndef RILL_ENGINE_TYPING_OUTPUTS_H
#define RILL_ENGINE_TYPING_OUTPUTS_H
#include "engine/graph/graph.h"

/* Output k of g gets the name of output k of `named`, also where rewriting left another wire in its
 * place; one that is an input, a constant, a state or another output becomes the output of an
 * Identity. g is changed; the lists of wires and nodes may move. */
rill_status graph_outputs_own(struct graph *g, const struct graph *named, rill_error *reterr);
#endif
