/* SPDX-License-Identifier: MIT */
#include "engine/graph/edit.h"

rill_status edit_begin(struct edit *e, struct graph *ret, const struct graph *g, rill_error *reterr)
{
    TRY(graph_copied(ret, g, reterr));
    *e = (struct edit) { .g = ret,
                         .consumers = arena_array(g->arena, uint32_t, g->n_wires + 1),
                         .gone = arena_array(g->arena, bool, g->n_nodes + 1),
                         .n_wires = g->n_wires,
                         .n_nodes = g->n_nodes };
    if (!e->consumers || !e->gone)
        return err_set(reterr, RILL_NOMEM, "out of memory");
    for (uint32_t i = 0; i < g->n_nodes; i++)
        for (unsigned k = 0; k < g->nodes[i].n_in; k++)
            if (g->nodes[i].in[k] != WIRE_NONE)
                e->consumers[g->nodes[i].in[k]]++;
    for (uint32_t i = 0; i < g->n_outputs; i++)
        e->consumers[g->outputs[i]]++;
    for (uint32_t i = 0; i < g->n_states; i++)
        e->consumers[g->states[i].out]++;
    return RILL_OK;
}

uint32_t edit_int(struct graph *g, int64_t v)
{
    return graph_add_const(g, "int",
                           tensor_from_data(g->arena, DTYPE_I64, 1, &(int64_t) { 1 }, &v));
}

bool edit_sole_producer(const struct edit *e, uint32_t wire, uint32_t *ret_node)
{
    if (wire >= e->n_wires || e->consumers[wire] != 1 || e->g->wires[wire].node == WIRE_NONE)
        return false;
    *ret_node = e->g->wires[wire].node;
    return !e->gone[*ret_node];
}

bool edit_inputs(struct edit *e, uint32_t node, const uint32_t *in, unsigned n)
{
    uint32_t *list = arena_copy(e->g->arena, in, n * sizeof *list);
    if (!list)
        return false;
    e->g->nodes[node].in = list;
    e->g->nodes[node].n_in = n;
    return true;
}

void edit_replace(struct edit *e, uint32_t node, uint32_t by)
{
    struct graph *g = e->g;
    uint32_t mine = g->nodes[by].out[0], w = g->nodes[node].out[0];
    g->wires[mine].node = WIRE_NONE;
    g->nodes[by].out[0] = w;
    g->wires[w].node = by;
    e->gone[node] = true;
}

bool edit_insert(struct edit *e, uint32_t node, const struct op *op, const void *attr,
                 const uint32_t *in, unsigned n_in, const uint32_t *out, unsigned n_out)
{
    uint32_t k = e->g->n_nodes - e->n_nodes;
    uint32_t *list = arena_grow(e->g->arena, e->before, k, &e->cap_before, sizeof *list);
    if (!list)
        return false;
    e->before = list;
    list[k] = node;
    const struct node at = e->g->nodes[node];
    struct node *made = graph_add_node(e->g, op, at.name, attr, in, n_in, out, n_out);
    if (made)
        made->origin = at.origin;
    return made != NULL;
}

void *edit_attr(struct edit *e, uint32_t node)
{
    struct node *n = &e->g->nodes[node];
    void *attr = arena_copy(e->g->arena, n->attr, n->op->attr_bytes);
    if (attr)
        n->attr = attr;
    return attr;
}

static void node_keep(struct graph *g, struct node *list, uint32_t *at, const struct node *n)
{
    list[*at] = *n;
    for (unsigned k = 0; k < n->n_out; k++)
        if (n->out[k] != WIRE_NONE)
            g->wires[n->out[k]].node = *at;
    ++*at;
}

rill_status edit_end(struct edit *e, rill_error *reterr)
{
    struct graph *g = e->g;
    uint32_t kept = 0, n_new = g->n_nodes - e->n_nodes;
    struct node *list = arena_array(g->arena, struct node, g->n_nodes + 1);
    if (!list)
        return err_set(reterr, RILL_NOMEM, "out of memory");
    for (uint32_t i = 0; i < e->n_nodes; i++) {
        for (uint32_t k = 0; k < n_new; k++)
            if (e->before[k] == i)
                node_keep(g, list, &kept, &g->nodes[e->n_nodes + k]);
        if (!e->gone[i])
            node_keep(g, list, &kept, &g->nodes[i]);
    }
    g->nodes = list;
    g->cap_nodes = g->n_nodes + 1;
    g->n_nodes = kept;
    return RILL_OK;
}
