/* SPDX-License-Identifier: MIT */
/* control.h - ops with bodies, and how their inputs line up with those of the body.
 *
 *   If    in: condition, captures...
 *         body[0] then, body[1] else in: captures... (the same list)
 *         out: as the outputs of either body
 *   Loop  in: trip count (or absent), condition (or absent), states..., captures...
 *         body in: iteration (i64 scalar), condition (bool), states..., captures...
 *         body out: condition, states..., scanned...
 *         out: states..., scanned (stacked on a new axis 0)
 *   Scan  in: states..., scanned..., captures...
 *         body in: states..., slices..., captures...   (a slice lacks the scanned axis)
 *         body out: states..., slices...
 *         out: states..., scanned */
#ifndef RILL_ENGINE_GRAPH_CONTROL_H
#define RILL_ENGINE_GRAPH_CONTROL_H
#include "engine/graph/op.h"

struct loop_attr {
    int64_t n_states;
};

struct scan_attr {
    int64_t n_states, n_scanned;            /* leading inputs; the rest are captures */
    struct attr_ints in_axes, in_reverse;   /* one per scanned input; empty: axis 0, forward */
    struct attr_ints out_axes, out_reverse; /* one per scanned output */
    int64_t restarts; /* 1: states start from the inputs in every run, also along a stream */
};

extern const struct op op_if, op_loop, op_scan;
extern const struct op *const ops_control[]; /* the family, NULL-ended, as those of engine/ops */

/* A Loop goes on as long as it has trips: its condition, the wire of g that is given and what the
 * body gives of it, is always true. */
bool loop_goes_on(const struct graph *g, uint32_t condition, const struct graph *body);

/* Axis of the k-th scanned input or output (of rank `rank` with the axis), -1 if out of range. */
int scan_axis(struct attr_ints axes, unsigned k, int rank);
bool scan_is_reverse(struct attr_ints reverse, unsigned k);
#endif
