/* SPDX-License-Identifier: MIT */
#include "engine/graph/prune.h"
#include "engine/graph/control.h"

struct pruner {
    const struct graph *g;
    const bool *wire;   /* needed, or an input */
    uint32_t *in, *out; /* of the node that is copied: the longest lists of the graph */
};

static bool node_needed(const struct node *n, const bool *wire)
{
    for (unsigned k = 0; k < n->n_out; k++)
        if (n->out[k] != WIRE_NONE && wire[n->out[k]])
            return true;
    return false;
}

/* Nodes are in order, so one walk from the end sees every consumer before the producer. */
static void needed_walk(const struct graph *g, bool *wire)
{
    for (uint32_t i = g->n_nodes; i-- > 0;) {
        const struct node *n = &g->nodes[i];
        for (unsigned k = 0, n_in = node_needed(n, wire) ? n->n_in : 0; k < n_in; k++)
            if (n->in[k] != WIRE_NONE)
                wire[n->in[k]] = true;
    }
}

uint32_t graph_uses(const struct graph *g, uint32_t wire)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < g->n_nodes; i++)
        for (unsigned k = 0; k < g->nodes[i].n_in; k++)
            n += g->nodes[i].in[k] == wire;
    for (uint32_t i = 0; i < g->n_outputs; i++)
        n += g->outputs[i] == wire;
    return n;
}

/* A state lives when what is needed reads it: its next value is needed then. */
bool *graph_needed(const struct graph *g)
{
    bool *wire = arena_array(g->arena, bool, g->n_wires + 1), more = wire != NULL;
    for (uint32_t i = 0; wire && i < g->n_outputs; i++)
        wire[g->outputs[i]] = true;
    while (more) {
        more = false;
        needed_walk(g, wire);
        for (uint32_t i = 0; i < g->n_states; i++)
            if (wire[g->states[i].in] && !wire[g->states[i].out])
                more = wire[g->states[i].out] = true;
    }
    return wire;
}

/* Drops a Scan's captures that its body does not read. */
static void captures_drop(struct node *n)
{
    struct graph *body = n->body[0];
    const struct scan_attr *at = n->attr;
    unsigned m = (unsigned) (at->n_states + at->n_scanned);
    for (unsigned i = m; i < n->n_in; i++)
        if (graph_wire_is_read(body, body->inputs[i])) {
            n->in[m] = n->in[i];
            body->inputs[m++] = body->inputs[i];
        }
    n->n_in = m;
    body->n_inputs = m;
}

/* Entries of the stacked outputs that somebody wants. */
static bool ints_keep(struct arena *a, struct attr_ints *list, const uint32_t *out, unsigned n)
{
    int64_t *v = arena_array(a, int64_t, n + 1);
    uint32_t m = 0;
    for (unsigned k = 0; v && k < n; k++)
        if (out[k] != WIRE_NONE)
            v[m++] = k < list->n ? list->v[k] : 0;
    if (list->n)
        *list = (struct attr_ints) { m, v };
    return v != NULL;
}

/* Drops outputs of a Scan or Loop that are stacked for nobody, so that the body need not make
 * them. */
static bool stacked_drop(struct graph *ret, struct node *n, struct graph *body)
{
    const struct loop_attr *loop = n->attr;
    struct scan_attr *scan =
        n->op == &op_scan ? arena_copy(ret->arena, n->attr, sizeof *scan) : NULL;
    unsigned first = (unsigned) (scan ? scan->n_states : loop->n_states),
             before = n->op == &op_loop, m = first;
    uint32_t *list = arena_copy(ret->arena, body->outputs, body->n_outputs * sizeof *list);
    if (!list || (n->op == &op_scan && !scan))
        return false;
    if (scan &&
        (!ints_keep(ret->arena, &scan->out_axes, n->out + first, n->n_out - first) ||
         !ints_keep(ret->arena, &scan->out_reverse, n->out + first, n->n_out - first)))
        return false;
    for (unsigned k = first; k < n->n_out; k++)
        if (n->out[k] != WIRE_NONE) {
            list[before + m] = list[before + k];
            n->out[m++] = n->out[k];
        }
    n->attr = scan ? scan : n->attr;
    n->n_out = m;
    body->outputs = list;
    body->n_outputs = before + m;
    return true;
}

static rill_status bodies_prune(struct graph *ret, struct node *n, rill_error *reterr)
{
    struct graph **body = arena_array(ret->arena, struct graph *, n->n_body);
    if (!body)
        return err_set(reterr, RILL_NOMEM, "out of memory");
    for (unsigned b = 0; b < n->n_body; b++) {
        struct graph from = *n->body[b];
        body[b] = arena_new(ret->arena, struct graph);
        if (!body[b] || (n->op != &op_if && !stacked_drop(ret, n, &from)))
            return err_set(reterr, RILL_NOMEM, "out of memory");
        TRY(graph_pruned(body[b], &from, reterr));
    }
    n->body = body;
    if (n->op == &op_scan)
        captures_drop(n);
    return RILL_OK;
}

/* The program of a Fused stores every output, read or not. */
static rill_status node_copy(struct pruner *p, struct graph *ret, const struct node *n,
                             uint32_t *map, rill_error *reterr)
{
    const struct graph *g = p->g;
    uint32_t *in = p->in, *out = p->out;
    for (unsigned k = 0; k < n->n_in; k++)
        in[k] = n->in[k] == WIRE_NONE ? WIRE_NONE : map[n->in[k]];
    for (unsigned k = 0; k < n->n_out; k++) {
        uint32_t w = n->out[k];
        out[k] = WIRE_NONE;
        if (w != WIRE_NONE && (p->wire[w] || node_is(n, OP_FUSED)))
            out[k] = map[w] = graph_add_wire(ret, g->wires[w].name, &g->wires[w].fact);
    }
    struct node *made = graph_copy_node(ret, n, in, n->n_in, out);
    if (!made)
        return err_set(reterr, RILL_NOMEM, "out of memory");
    return n->n_body ? bodies_prune(ret, made, reterr) : RILL_OK;
}

static bool interface_copy(struct pruner *p, struct graph *ret, uint32_t *map)
{
    const struct graph *g = p->g;
    for (uint32_t w = 0; w < g->n_wires; w++)
        map[w] = WIRE_NONE;
    for (uint32_t i = 0; i < g->n_inputs; i++)
        map[g->inputs[i]] =
            graph_add_input(ret, g->wires[g->inputs[i]].name, &g->wires[g->inputs[i]].fact);
    for (uint32_t w = 0; w < g->n_wires; w++)
        if (p->wire[w] && g->wires[w].node == WIRE_NONE && map[w] == WIRE_NONE) {
            map[w] = graph_add_wire(ret, g->wires[w].name, &g->wires[w].fact);
            if (map[w] == WIRE_NONE)
                return false;
        }
    return true;
}

/* Room for what stays, and for the lists of one node. */
static bool copy_begin(struct pruner *p, struct graph *ret)
{
    uint32_t wires = 0, nodes = 0, in = 1, out = 1;
    const struct graph *g = p->g;
    for (uint32_t w = 0; w < g->n_wires; w++)
        wires += p->wire[w];
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        nodes += node_needed(&g->nodes[i], p->wire);
        in = g->nodes[i].n_in > in ? g->nodes[i].n_in : in;
        out = g->nodes[i].n_out > out ? g->nodes[i].n_out : out;
    }
    p->in = arena_array(g->arena, uint32_t, in);
    p->out = arena_array(g->arena, uint32_t, out);
    return p->in && p->out && graph_reserve(ret, wires, nodes);
}

rill_status graph_pruned(struct graph *ret, const struct graph *g, rill_error *reterr)
{
    bool *wire = graph_needed(g);
    uint32_t *map = arena_array(g->arena, uint32_t, g->n_wires + 1);
    if (!wire || !map)
        return err_set(reterr, RILL_NOMEM, "out of memory");
    for (uint32_t i = 0; i < g->n_inputs; i++)
        wire[g->inputs[i]] = true;
    struct pruner p = { .g = g, .wire = wire };
    graph_init(ret, g->arena, g->dims, g->name);
    ret->meta = g->meta;
    ret->n_meta = g->n_meta;
    if (!copy_begin(&p, ret) || !interface_copy(&p, ret, map))
        return err_set(reterr, RILL_NOMEM, "out of memory");
    for (uint32_t i = 0; i < g->n_nodes; i++)
        if (node_needed(&g->nodes[i], wire))
            TRY(node_copy(&p, ret, &g->nodes[i], map, reterr));
    for (uint32_t i = 0; i < g->n_outputs; i++)
        if (!graph_add_output(ret, map[g->outputs[i]]))
            return err_set(reterr, RILL_NOMEM, "out of memory");
    for (uint32_t i = 0; i < g->n_states; i++) {
        const struct state *s = &g->states[i];
        if (wire[s->in] && !graph_add_state(ret, s->name, map[s->in], map[s->out], s->init))
            return err_set(reterr, RILL_NOMEM, "out of memory");
    }
    return RILL_OK;
}
