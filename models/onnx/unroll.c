/* SPDX-License-Identifier: MIT */
#include "models/onnx/unroll.h"
#include "engine/graph/control.h"

#define TRIPS_MAX 64
#define NODES_MAX 4096

struct unroller {
    struct graph *to;
    const struct graph *from;
    rill_error *err;
};

static rill_status no_memory(const struct unroller *u)
{
    return err_set(u->err, RILL_NOMEM, "out of memory");
}

/* ---- which ---- */

/* 0: it stays a Loop. */
static int64_t trips_of(const struct graph *g, const struct node *n)
{
    const struct tensor *v =
        n->op != &op_loop || n->in[0] == WIRE_NONE ? NULL : g->wires[n->in[0]].fact.value;
    int64_t trips =
        v && v->type != DTYPE_DIM && tensor_count(v) == 1 ? tensor_get_i64(v, v->data, 0) : 0;
    bool fits = trips > 0 && trips <= TRIPS_MAX &&
        trips * graph_count_nodes(n->body[0]) <= NODES_MAX && loop_goes_on(g, n->in[1], n->body[0]);
    return fits ? trips : 0;
}

/* ---- copies of the body ---- */

static uint32_t scalar_add(const struct unroller *u, enum dtype type, int64_t v)
{
    struct tensor *t = tensor_new(u->to->arena, type, 0, NULL);
    if (!t)
        return WIRE_NONE;
    tensor_set_f64(t, t->data, 0, (double) v);
    return graph_add_const(u->to, graph_name_next(u->to, "trip"), t);
}

static rill_status node_again(const struct unroller *u, const struct graph *g, const struct node *n,
                              uint32_t *map)
{
    uint32_t *in = arena_array(u->to->arena, uint32_t, n->n_in + 1),
             *out = arena_array(u->to->arena, uint32_t, n->n_out + 1);
    if (!in || !out)
        return no_memory(u);
    for (unsigned k = 0; k < n->n_in; k++)
        in[k] = n->in[k] == WIRE_NONE ? WIRE_NONE : map[n->in[k]];
    for (unsigned k = 0; k < n->n_out; k++) {
        const struct wire *w = n->out[k] == WIRE_NONE ? NULL : &g->wires[n->out[k]];
        out[k] = w ? graph_add_wire(u->to, graph_name_next(u->to, w->name), &w->fact) : WIRE_NONE;
        if (w && (map[n->out[k]] = out[k]) == WIRE_NONE)
            return no_memory(u);
    }
    return graph_copy_node(u->to, n, in, n->n_in, out) ? RILL_OK : no_memory(u);
}

/* states: in and out. */
static rill_status trip_copy(const struct unroller *u, const struct node *n, int64_t trip,
                             unsigned n_states, uint32_t *states, uint32_t *stacked)
{
    const struct graph *b = n->body[0];
    uint32_t *map = arena_array(u->to->arena, uint32_t, b->n_wires + 1);
    if (!map)
        return no_memory(u);
    for (uint32_t w = 0; w < b->n_wires; w++)
        if (b->wires[w].fact.value &&
            (map[w] = graph_add_const(u->to, graph_name_next(u->to, b->wires[w].name),
                                      b->wires[w].fact.value)) == WIRE_NONE)
            return no_memory(u);
    for (uint32_t i = 0; i < b->n_inputs; i++)
        map[b->inputs[i]] = i == 0 ? scalar_add(u, DTYPE_I64, trip)
            : i == 1               ? scalar_add(u, DTYPE_BOOL, 1)
            : i < 2 + n_states     ? states[i - 2]
                                   : n->in[i];
    for (uint32_t i = 0; i < b->n_nodes; i++)
        TRY(node_again(u, b, &b->nodes[i], map));
    for (unsigned i = 0; i < n_states; i++)
        states[i] = map[b->outputs[1 + i]];
    for (unsigned i = n_states; i + 1 < b->n_outputs; i++)
        stacked[i - n_states] = map[b->outputs[1 + i]];
    return RILL_OK;
}

static rill_status op_add(const struct unroller *u, enum op_id id, const struct attr *attrs,
                          unsigned n_attrs, const uint32_t *in, unsigned n_in, uint32_t out)
{
    const struct op *op = op_by_id(id);
    void *attr = arena_alloc(u->to->arena, op->attr_bytes + 1);
    if (!attr)
        return no_memory(u);
    TRY(attrs_parse(op, "stacked", attrs, n_attrs, attr, u->err));
    return graph_add_node(u->to, op, u->to->wires[out].name, attr, in, n_in, &out, 1)
        ? RILL_OK
        : no_memory(u);
}

/* What the trips gave for one output, stacked on a new axis in front. */
static rill_status stack_add(const struct unroller *u, const uint32_t *list, unsigned stride,
                             int64_t trips, uint32_t out)
{
    static const struct attr axis = { .name = "axis", .kind = ATTR_INT, .i = 0 };
    uint32_t *in = arena_array(u->to->arena, uint32_t, (size_t) trips + 1), two[2];
    const int64_t one = 1, zero = 0;
    const char *name = u->to->wires[out].name;
    two[1] = graph_add_const(u->to, graph_name_next(u->to, name),
                             tensor_from_data(u->to->arena, DTYPE_I64, 1, &one, &zero));
    if (!in || two[1] == WIRE_NONE)
        return no_memory(u);
    for (int64_t k = 0; k < trips; k++) {
        two[0] = list[(size_t) k * stride];
        in[k] = graph_add_wire(u->to, graph_name_next(u->to, name), NULL);
        if (in[k] == WIRE_NONE)
            return no_memory(u);
        TRY(op_add(u, OP_UNSQUEEZE, NULL, 0, two, 2, in[k]));
    }
    return op_add(u, OP_CONCAT, &axis, 1, in, (unsigned) trips, out);
}

static rill_status identity_add(const struct unroller *u, uint32_t from, uint32_t out)
{
    return op_add(u, OP_IDENTITY, NULL, 0, &from, 1, out);
}

static rill_status loop_unroll(const struct unroller *u, const struct node *n, int64_t trips)
{
    unsigned n_states = (unsigned) ((const struct loop_attr *) n->attr)->n_states,
             n_stacked = n->body[0]->n_outputs - 1 - n_states;
    uint32_t *states = arena_array(u->to->arena, uint32_t, n_states + 1),
             *stacked = arena_array(u->to->arena, uint32_t, (size_t) trips * n_stacked + 1);
    if (!states || !stacked)
        return no_memory(u);
    for (unsigned i = 0; i < n_states; i++)
        states[i] = n->in[2 + i];
    for (int64_t k = 0; k < trips; k++)
        TRY(trip_copy(u, n, k, n_states, states, stacked + k * n_stacked));
    for (unsigned i = 0; i < n->n_out; i++) {
        if (n->out[i] == WIRE_NONE)
            continue;
        TRY(i < n_states ? identity_add(u, states[i], n->out[i])
                         : stack_add(u, stacked + (i - n_states), n_stacked, trips, n->out[i]));
    }
    return RILL_OK;
}

rill_status graph_unrolled(struct graph *ret, const struct graph *g, rill_error *reterr)
{
    struct unroller u = { .to = ret, .from = g, .err = reterr };
    bool any = false;
    for (uint32_t i = 0; i < g->n_nodes; i++)
        any |= trips_of(g, &g->nodes[i]) > 0;
    if (!any) {
        *ret = *g;
        return RILL_OK;
    }
    TRY(graph_copied(ret, g, reterr));
    const struct node *nodes = ret->nodes;
    uint32_t n = ret->n_nodes;
    ret->nodes = NULL;
    ret->n_nodes = ret->cap_nodes = 0;
    for (uint32_t i = 0; i < n; i++) {
        int64_t trips = trips_of(g, &nodes[i]);
        if (trips)
            TRY(loop_unroll(&u, &nodes[i], trips));
        else if (!graph_copy_node(ret, &nodes[i], nodes[i].in, nodes[i].n_in, nodes[i].out))
            return no_memory(&u);
    }
    return RILL_OK;
}
