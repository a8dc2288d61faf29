/* SPDX-License-Identifier: MIT */
/* subst.h - the same graph with an expression in the place of a symbol. */
#ifndef RILL_ENGINE_GRAPH_SUBST_H
#define RILL_ENGINE_GRAPH_SUBST_H
#include "engine/graph/graph.h"

/* Facts, values that hold dimensions and bodies take `to` where they have the symbol; nothing is
 * inferred anew. A value without symbols becomes one of plain integers. ret may not be g; wires and
 * nodes of ret live in a, attributes and other values stay g's. Bit-preserving. */
rill_status graph_substituted(struct graph *ret, const struct graph *g, const struct dim *symbol,
                              const struct dim *to, struct arena *a, rill_error *reterr);
#endif
