/* SPDX-License-Identifier: MIT */
/* transform.h - model graphs made from model graphs. The graph that is read stays as it is; what is
 * made lives in its arena. Facts of wires in between stay those of the file (typing makes them
 * anew); facts of bodies change together with those around them. */
#ifndef RILL_ENGINE_GRAPH_TRANSFORM_H
#define RILL_ENGINE_GRAPH_TRANSFORM_H
#include "engine/graph/graph.h"

/* Adds the symbols that g mentions, in bodies too, to list[0..n), at most to cap; returns how many
 * there are. */
unsigned graph_symbols(const struct graph *g, const struct dim **list, unsigned n, unsigned cap);

/* g with `to` in the place of symbol: in facts, in constants that hold sizes, in states and in
 * bodies. */
rill_status graph_with_symbol(struct graph *ret, const struct graph *g, const struct dim *symbol,
                              const struct dim *to, rill_error *reterr);

/* g with the named wires as its inputs, in that order; what only fed them is gone. facts: of g's
 * wires (type DTYPE_NONE where not known). Refused where an output or a state still needs another
 * input. */
rill_status graph_with_inputs(struct graph *ret, const struct graph *g, const struct fact *facts,
                              const char *const *names, unsigned n, rill_error *reterr);

/* g with the named wires as its outputs, in that order; what they do not need is gone: nodes,
 * states, inputs. */
rill_status graph_with_outputs(struct graph *ret, const struct graph *g, const char *const *names,
                               unsigned n, rill_error *reterr);

/* g with every Scan, also in bodies, told that its states are the caller's. *ret_n: how many
 * Scans. */
rill_status graph_with_external_states(struct graph *ret, const struct graph *g, unsigned *ret_n,
                                       rill_error *reterr);

/* For transforms elsewhere: a wire by name; INVALID with names that are like it. */
rill_status graph_wire_named(const struct graph *g, const char *name, uint32_t *ret,
                             rill_error *reterr);
#endif
