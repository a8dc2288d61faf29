/* SPDX-License-Identifier: MIT */
/* Bodies that run once a frame: where an op checks its numbers, those of frames outside the
 * sequence become 0, so that nothing is wrong with them. */
#include "pulse/pulser.h"

/* in: its inputs in g. */
static bool node_checks(const struct graph *g, const struct node *n, const uint32_t *in)
{
    unsigned i = n->op->checked;
    return i && i < n->n_in && in[i] != WIRE_NONE && !g->wires[in[i]].fact.value;
}

bool graph_checks(const struct graph *g)
{
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        if (node_checks(g, &g->nodes[i], g->nodes[i].in))
            return true;
        for (unsigned b = 0; b < g->nodes[i].n_body; b++)
            if (graph_checks(g->nodes[i].body[b]))
                return true;
    }
    return false;
}

/* `wire`, or 0 where the frame is none of the sequence's. */
static rill_status wire_guard(struct pulser *p, struct graph *g, const char *name, uint32_t valid,
                              uint32_t *wire)
{
    struct fact f = g->wires[*wire].fact;
    struct tensor *zero = tensor_new(p->arena, f.type, 0, NULL);
    uint32_t in[3] = { valid, *wire, graph_add_const(g, name, zero) },
             out = graph_add_wire(g, name, &f);
    if (in[2] == WIRE_NONE || out == WIRE_NONE ||
        !graph_add_node(g, op_by_id(OP_WHERE), name, NULL, in, 3, &out, 1))
        return pulser_no_memory(p);
    *wire = out;
    return RILL_OK;
}

static rill_status body_guard(struct pulser *p, const struct graph *g, struct graph **ret);

/* Adds a copy of n to g, with `valid` for all its bodies where one of them checks. */
static rill_status node_guard(struct pulser *p, struct graph *g, const struct node *n,
                              const uint32_t *from, uint32_t valid, const uint32_t *out)
{
    uint32_t *in = arena_array(p->arena, uint32_t, n->n_in + 1);
    bool checks = false;
    unsigned n_in = n->n_in;
    if (!in)
        return pulser_no_memory(p);
    for (unsigned i = 0; i < n->n_in; i++)
        in[i] = from[i];
    if (node_checks(g, n, in))
        TRY(wire_guard(p, g, n->name, valid, &in[n->op->checked]));
    for (unsigned b = 0; b < n->n_body; b++)
        checks |= graph_checks(n->body[b]);
    if (checks)
        in[n_in++] = valid;
    struct node *made = graph_copy_node(g, n, in, n_in, out);
    struct graph **body = arena_array(p->arena, struct graph *, n->n_body + 1);
    if (!made || !body)
        return pulser_no_memory(p);
    if (checks)
        made->body = body;
    for (unsigned b = 0; checks && b < n->n_body; b++)
        TRY(body_guard(p, n->body[b], &body[b]));
    return RILL_OK;
}

/* A copy of the body with one more input behind the others: whether the frame is one. */
static rill_status body_guard(struct pulser *p, const struct graph *g, struct graph **ret)
{
    const struct fact flag = { .type = DTYPE_BOOL };
    struct graph *made = arena_new(p->arena, struct graph);
    uint32_t *inputs = arena_array(p->arena, uint32_t, g->n_inputs + 1);
    if (!made || !inputs)
        return pulser_no_memory(p);
    graph_init(made, p->arena, g->dims, g->name);
    for (uint32_t w = 0; w < g->n_wires; w++)
        if (graph_add_wire(made, g->wires[w].name, &g->wires[w].fact) == WIRE_NONE)
            return pulser_no_memory(p);
    for (uint32_t i = 0; i < g->n_inputs; i++)
        inputs[i] = g->inputs[i];
    uint32_t valid = inputs[g->n_inputs] = graph_add_wire(made, "valid", &flag);
    if (valid == WIRE_NONE)
        return pulser_no_memory(p);
    made->inputs = inputs;
    made->n_inputs = made->cap_inputs = g->n_inputs + 1;
    for (uint32_t i = 0; i < g->n_nodes; i++)
        TRY(node_guard(p, made, &g->nodes[i], g->nodes[i].in, valid, g->nodes[i].out));
    for (uint32_t i = 0; i < g->n_outputs; i++)
        if (!graph_add_output(made, g->outputs[i]))
            return pulser_no_memory(p);
    *ret = made;
    return RILL_OK;
}

rill_status pulser_guard(struct pulser *p, const struct node *n, const uint32_t *in,
                         const uint32_t *out)
{
    return node_guard(p, p->dst, n, in, p->valid, out);
}
