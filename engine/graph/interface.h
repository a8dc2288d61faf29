/* SPDX-License-Identifier: MIT */
/* interface.h - the same graph with other inputs or outputs, or with states that are the caller's.
 * The graph that is read stays as it is; what is made lives in its arena. Facts of wires in between
 * stay those of the file: typing makes them anew. */
#ifndef RILL_ENGINE_GRAPH_INTERFACE_H
#define RILL_ENGINE_GRAPH_INTERFACE_H
#include "engine/graph/graph.h"

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

/* For others that change graphs: a wire by name; INVALID with names that are like it. */
rill_status graph_wire_named(const struct graph *g, const char *name, uint32_t *ret,
                             rill_error *reterr);
#endif
