/* SPDX-License-Identifier: MIT */
/* Ops with bodies have no infer and eval of their own: typed.c types their
 * bodies, interp.c runs them, plan/control.c makes steps of them. */
#include "engine/graph/control.h"

const struct op op_if = {
    .id = OP_IF,
    .name = "If",
    .min_in = 1,
    .max_in = -1,
    .min_out = 1,
    .max_out = -1,
    .flags = OP_CONTROL,
    .help = "one of two bodies, by a condition",
};

/* Readers fill the structs themselves: the tables are for people, and for graphs that are kept in
 * files. */
static const struct attr_spec loop_attrs[] = {
    { .name = "states",
      .kind = ATTR_INT,
      .offset = offsetof(struct loop_attr, n_states),
      .required = true },
    { 0 },
};

const struct op op_loop = {
    .id = OP_LOOP,
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
    { .name = "states",
      .kind = ATTR_INT,
      .offset = offsetof(struct scan_attr, n_states),
      .required = true },
    { .name = "scans",
      .kind = ATTR_INT,
      .offset = offsetof(struct scan_attr, n_scanned),
      .required = true },
    { .name = "restarts", .kind = ATTR_INT, .offset = offsetof(struct scan_attr, restarts) },
    { .name = "in_axes", .kind = ATTR_INTS, .offset = offsetof(struct scan_attr, in_axes) },
    { .name = "in_reverse", .kind = ATTR_INTS, .offset = offsetof(struct scan_attr, in_reverse) },
    { .name = "out_axes", .kind = ATTR_INTS, .offset = offsetof(struct scan_attr, out_axes) },
    { .name = "out_reverse", .kind = ATTR_INTS, .offset = offsetof(struct scan_attr, out_reverse) },
    { 0 },
};

const struct op op_scan = {
    .id = OP_SCAN,
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

static bool is_true(const struct graph *g, uint32_t w)
{
    const struct tensor *v = g->wires[w].fact.value;
    return v && v->type == DTYPE_BOOL && tensor_count(v) == 1 && tensor_get_i64(v, v->data, 0);
}

bool loop_goes_on(const struct graph *g, uint32_t condition, const struct graph *body)
{
    uint32_t w = body->outputs[0];
    while (body->wires[w].node != WIRE_NONE &&
           node_is(&body->nodes[body->wires[w].node], OP_IDENTITY))
        w = body->nodes[body->wires[w].node].in[0];
    return (condition == WIRE_NONE || is_true(g, condition)) &&
        (w == body->inputs[1] || is_true(body, w));
}
