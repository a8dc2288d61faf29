/* SPDX-License-Identifier: MIT */
/* prune.h - who reads a wire, and the same graph without nodes, wires, states and body inputs that
 * no output needs. */
#ifndef RILL_ENGINE_GRAPH_PRUNE_H
#define RILL_ENGINE_GRAPH_PRUNE_H
#include "engine/graph/graph.h"

/* How often nodes read the wire and outputs are it. */
uint32_t graph_uses(const struct graph *g, uint32_t wire);

/* Which wires the outputs need, through states too: a flag a wire, in g's arena. NULL: no memory.
 */
bool *graph_needed(const struct graph *g);

/* Graph inputs are kept, also unused ones. ret may not be g. Bit-preserving. */
rill_status graph_pruned(struct graph *ret, const struct graph *g, rill_error *reterr);
#endif
