/* SPDX-License-Identifier: MIT */
/* interp.h - runs a graph node by node on tensors that may have any shape: the growable mode.
 *
 * It allocates for every node; it serves constant folding, conformance data and graphs whose sizes
 * depend on data. The stream path never uses it. */
#ifndef RILL_ENGINE_TYPING_INTERP_H
#define RILL_ENGINE_TYPING_INTERP_H
#include "engine/graph/op.h"

/* Runs g on inputs (one per graph input, in order; types must agree with declared ones). Symbols of
 * declared shapes take the values that the inputs' sizes give them, everywhere and in bodies; an
 * input that does not fit, or two that contradict each other, are INVALID. States start from their
 * initial values. Outputs are allocated in a, whose limit is that of all that the run keeps: it is
 * refused before it begins where known sizes are over it. */
rill_status interp_run(const struct graph *g, const struct tensor *const *inputs, struct arena *a,
                       const struct tensor **ret_outputs, rill_error *reterr);

/* Who looks on: called after every node, also of bodies, with what went in and came out (NULL where
 * absent), which lives until see returns. What is not RILL_OK ends the run. */
struct interp_watch {
    rill_status (*see)(void *arg, const struct node *n, const struct tensor *const *in,
                       const struct tensor *const *out);
    void *arg;
};
rill_status interp_run_watched(const struct graph *g, const struct tensor *const *inputs,
                               struct arena *a, const struct interp_watch *watch,
                               const struct tensor **ret_outputs, rill_error *reterr);

/* Runs one node, whose bodies know all their sizes. in[i] is NULL where absent; ret_out[i] is set
 * for every output, also those that nobody wants. Symbolic sizes (DTYPE_DIM) are computed
 * symbolically; a result without symbols comes back as I64. */
rill_status interp_node(struct dims *ds, const struct node *n, const struct tensor *const *in,
                        const struct kern *kern, struct arena *a, const struct tensor **ret_out,
                        rill_error *reterr);
#endif
