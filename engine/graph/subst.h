/* SPDX-License-Identifier: MIT */
/* subst.h - the symbols of a graph, and the same graph with an expression in the place of one. */
#ifndef RILL_ENGINE_GRAPH_SUBST_H
#define RILL_ENGINE_GRAPH_SUBST_H
#include "engine/graph/graph.h"

/* Adds the symbols that g mentions, in bodies too, to list[0..n), at most to cap; returns how many
 * there are. */
unsigned graph_symbols(const struct graph *g, const struct dim **list, unsigned n, unsigned cap);
/* Those that the shapes of its inputs mention. */
unsigned graph_input_symbols(const struct graph *g, const struct dim **list, unsigned cap);

/* Facts, values that hold dimensions and bodies take `to` where they have the symbol; nothing is
 * inferred anew. A value without symbols becomes one of plain integers. ret may not be g; wires and
 * nodes of ret live in a, attributes and other values stay g's. Bit-preserving. */
rill_status graph_substituted(struct graph *ret, const struct graph *g, const struct dim *symbol,
                              const struct dim *to, struct arena *a, rill_error *reterr);

/* The same for good, in g's arena: what is asserted of symbol is asserted of `to`, too. */
rill_status graph_with_symbol(struct graph *ret, const struct graph *g, const struct dim *symbol,
                              const struct dim *to, rill_error *reterr);
#endif
