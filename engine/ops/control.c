/* SPDX-License-Identifier: MIT */
/* Ops with bodies have no infer and eval of their own: typed.c, interp.c and plan.c run their
 * bodies. */
#include "engine/control.h"
#include "engine/ops.h"

const struct op op_if = {
    .name = "If", .min_in = 1, .max_in = -1, .min_out = 1, .max_out = -1, .flags = OP_CONTROL,
    .help = "one of two bodies, by a condition",
};

/* Readers fill the structs themselves: the tables are for people, and for graphs that are kept in
 * files. */
static const struct attr_spec loop_attrs[] = {
    { "states", ATTR_INT, offsetof(struct loop_attr, n_states), true, 0, 0, NULL },
    { 0 },
};

const struct op op_loop = {
    .name = "Loop",
    .attrs = loop_attrs,
    .attr_bytes = sizeof(struct loop_attr),
    .min_in = 2,
    .max_in = -1,
    .min_out = 1,
    .max_out = -1,
    .flags = OP_CONTROL,
    .help = "a body repeated by count or condition",
};

static const struct attr_spec scan_attrs[] = {
    { "states", ATTR_INT, offsetof(struct scan_attr, n_states), true, 0, 0, NULL },
    { "scans", ATTR_INT, offsetof(struct scan_attr, n_scans), true, 0, 0, NULL },
    { "external", ATTR_INT, offsetof(struct scan_attr, external), false, 0, 0, NULL },
    { "in_axes", ATTR_INTS, offsetof(struct scan_attr, in_axes), false, 0, 0, NULL },
    { "in_reverse", ATTR_INTS, offsetof(struct scan_attr, in_reverse), false, 0, 0, NULL },
    { "out_axes", ATTR_INTS, offsetof(struct scan_attr, out_axes), false, 0, 0, NULL },
    { "out_reverse", ATTR_INTS, offsetof(struct scan_attr, out_reverse), false, 0, 0, NULL },
    { 0 },
};

const struct op op_scan = {
    .name = "Scan",
    .attrs = scan_attrs,
    .attr_bytes = sizeof(struct scan_attr),
    .min_in = 1,
    .max_in = -1,
    .min_out = 1,
    .max_out = -1,
    .flags = OP_CONTROL,
    .help = "a body run over slices of an axis, with state from slice to slice",
};

int scan_axis(struct attr_ints axes, unsigned k, int rank)
{
    return axis_normalise(k < axes.n ? axes.v[k] : 0, rank);
}

bool scan_is_reverse(struct attr_ints reverse, unsigned k)
{
    return k < reverse.n && reverse.v[k] != 0;
}

const struct op *const ops_control[] = { &op_if, &op_loop, &op_scan, NULL };
