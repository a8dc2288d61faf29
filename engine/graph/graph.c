/* SPDX-License-Identifier: MIT */
#include "engine/graph/graph.h"
#include "engine/graph/op.h"

#include <string.h>

void graph_init(struct graph *g, struct arena *a, struct dims *ds, const char *name)
{
    *g = (struct graph) { .arena = a, .dims = ds, .name = name };
}

bool graph_reserve(struct graph *g, uint32_t n_wires, uint32_t n_nodes)
{
    g->wires = arena_array(g->arena, struct wire, n_wires);
    g->nodes = arena_array(g->arena, struct node, n_nodes);
    g->cap_wires = n_wires;
    g->cap_nodes = n_nodes;
    return g->wires && g->nodes;
}

#define GROW(g, field)                                                                             \
    arena_grow((g)->arena, (g)->field, (g)->n_##field, &(g)->cap_##field, sizeof *(g)->field)

uint32_t graph_add_wire(struct graph *g, const char *name, const struct fact *fact)
{
    struct wire *w = GROW(g, wires);
    if (!w)
        return WIRE_NONE;
    g->wires = w;
    w[g->n_wires] = (struct wire) { .name = name, .node = WIRE_NONE, .fact = { .rank = -1 } };
    if (fact)
        w[g->n_wires].fact = *fact;
    return g->n_wires++;
}

uint32_t graph_add_input(struct graph *g, const char *name, const struct fact *fact)
{
    uint32_t *list = GROW(g, inputs);
    if (!list)
        return WIRE_NONE;
    g->inputs = list;
    uint32_t w = graph_add_wire(g, name, fact);
    if (w != WIRE_NONE)
        list[g->n_inputs++] = w;
    return w;
}

uint32_t graph_add_const(struct graph *g, const char *name, const struct tensor *value)
{
    struct fact f;
    if (!name || !value)
        return WIRE_NONE;
    fact_of_tensor(&f, g->dims, value);
    return graph_add_wire(g, name, &f);
}

const char *graph_name_next(const struct graph *g, const char *node)
{
    return arena_printf(g->arena, "%s/%u", node, g->n_wires);
}

bool graph_add_output(struct graph *g, uint32_t wire)
{
    uint32_t *list = GROW(g, outputs);
    if (!list)
        return false;
    g->outputs = list;
    list[g->n_outputs++] = wire;
    return true;
}

bool graph_add_state(struct graph *g, const char *name, uint32_t in, uint32_t out,
                     const struct tensor *init)
{
    struct state *list = GROW(g, states);
    if (!list)
        return false;
    g->states = list;
    list[g->n_states++] = (struct state) { .name = name, .in = in, .out = out, .init = init };
    return true;
}

struct node *graph_add_node(struct graph *g, const struct op *op, const char *name,
                            const void *attr, const uint32_t *in, unsigned n_in,
                            const uint32_t *out, unsigned n_out)
{
    struct node *list = GROW(g, nodes);
    uint32_t *i = arena_array(g->arena, uint32_t, (size_t) n_in + n_out);
    if (g->arena->ran_out) /* also for a wire of this node, which is WIRE_NONE then */
        return NULL;
    uint32_t *o = i + n_in;
    if (n_in)
        memcpy(i, in, n_in * sizeof *in);
    if (n_out)
        memcpy(o, out, n_out * sizeof *out);
    g->nodes = list;
    struct node *n = &list[g->n_nodes];
    *n = (struct node) {
        .name = name, .op = op, .attr = attr, .in = i, .n_in = n_in, .out = o, .n_out = n_out
    };
    for (unsigned k = 0; k < n_out; k++)
        if (o[k] != WIRE_NONE)
            g->wires[o[k]].node = g->n_nodes;
    g->n_nodes++;
    return n;
}

struct node *graph_copy_node(struct graph *g, const struct node *n, const uint32_t *in,
                             unsigned n_in, const uint32_t *out)
{
    struct node *made = graph_add_node(g, n->op, n->name, n->attr, in, n_in, out, n->n_out);
    if (made) {
        made->origin = n->origin;
        made->claim = n->claim;
        made->body = n->body;
        made->n_body = n->n_body;
    }
    return made;
}

const struct node *graph_producer(const struct graph *g, uint32_t wire)
{
    const uint32_t at = wire == WIRE_NONE ? WIRE_NONE : g->wires[wire].node;
    return at == WIRE_NONE ? NULL : &g->nodes[at];
}

struct fact graph_declared(const struct graph *g, uint32_t wire)
{
    const struct declared *said = g->wires[wire].declared;
    struct fact f = { .rank = -1 };
    if (!said)
        return f;
    f.type = said->type;
    f.rank = said->rank;
    for (int k = 0; k < f.rank; k++)
        f.shape[k] = said->dim[k] < 0 ? dim_fresh(g->dims) : dim_int(g->dims, said->dim[k]);
    return f;
}

uint32_t graph_find_wire(const struct graph *g, const char *name)
{
    for (uint32_t w = 0; w < g->n_wires; w++)
        if (!strcmp(g->wires[w].name, name))
            return w;
    return WIRE_NONE;
}

bool graph_wire_is_given(const struct graph *g, uint32_t w)
{
    for (uint32_t i = 0; i < g->n_outputs; i++)
        if (g->outputs[i] == w)
            return true;
    for (uint32_t i = 0; i < g->n_states; i++)
        if (g->states[i].out == w)
            return true;
    return false;
}

bool graph_wire_is_read(const struct graph *g, uint32_t w)
{
    if (graph_wire_is_given(g, w))
        return true;
    for (uint32_t i = 0; i < g->n_nodes; i++)
        for (unsigned k = 0; k < g->nodes[i].n_in; k++)
            if (g->nodes[i].in[k] == w)
                return true;
    return false;
}

/* A wire that may be read by node i. */
static bool wire_ready(const struct graph *g, uint32_t w, uint32_t i)
{
    return w < g->n_wires && (g->wires[w].node == WIRE_NONE || g->wires[w].node < i);
}

static rill_status node_check(const struct graph *g, uint32_t i, rill_error *reterr)
{
    const struct node *n = &g->nodes[i];
    for (unsigned k = 0; k < n->n_in; k++)
        if (n->in[k] != WIRE_NONE && !wire_ready(g, n->in[k], i))
            return op_fail(reterr, RILL_INTERNAL, n, "input %u is read before it is written", k);
    for (unsigned k = 0; k < n->n_out; k++)
        if (n->out[k] != WIRE_NONE && (n->out[k] >= g->n_wires || g->wires[n->out[k]].node != i))
            return op_fail(reterr, RILL_INTERNAL, n, "output %u has another producer", k);
    for (unsigned k = 0; k < n->n_body; k++)
        TRY(graph_check(n->body[k], reterr));
    return RILL_OK;
}

rill_status graph_check(const struct graph *g, rill_error *reterr)
{
    if (g->arena->ran_out)
        return err_set(reterr, RILL_NOMEM, "out of memory while graph '%s' was built", g->name);
    for (uint32_t i = 0; i < g->n_nodes; i++)
        TRY(node_check(g, i, reterr));
    for (uint32_t i = 0; i < g->n_outputs; i++)
        if (!wire_ready(g, g->outputs[i], g->n_nodes))
            return err_set(reterr, RILL_INTERNAL, "graph '%s': output %u has no producer", g->name,
                           i);
    return RILL_OK;
}

unsigned graph_count_nodes(const struct graph *g)
{
    unsigned n = g->n_nodes;
    for (uint32_t i = 0; i < g->n_nodes; i++)
        for (unsigned b = 0; b < g->nodes[i].n_body; b++)
            n += graph_count_nodes(g->nodes[i].body[b]);
    return n;
}

static rill_status no_memory(rill_error *err)
{
    return err_set(err, RILL_NOMEM, "out of memory while changing a graph");
}

/* ---- copies ---- */

/* A copy of a list, NULL only where memory is out. */
static void *list_copy(struct arena *a, const void *list, size_t n, size_t bytes)
{
    return n ? arena_copy(a, list, n * bytes) : arena_alloc(a, 1);
}

static bool node_own(struct arena *a, struct node *n)
{
    uint32_t *wires = arena_array(a, uint32_t, (size_t) n->n_in + n->n_out);
    if (!wires)
        return false;
    if (n->n_in)
        memcpy(wires, n->in, n->n_in * sizeof *wires);
    if (n->n_out)
        memcpy(wires + n->n_in, n->out, n->n_out * sizeof *wires);
    n->in = wires;
    n->out = wires + n->n_in;
    if (n->n_body)
        n->body = arena_copy(a, n->body, n->n_body * sizeof *n->body);
    return n->body || !n->n_body;
}

rill_status graph_copied(struct graph *ret, const struct graph *g, rill_error *reterr)
{
    struct graph c = *g;
    c.wires = list_copy(g->arena, g->wires, g->n_wires, sizeof *g->wires);
    c.nodes = list_copy(g->arena, g->nodes, g->n_nodes, sizeof *g->nodes);
    c.inputs = list_copy(g->arena, g->inputs, g->n_inputs, sizeof *g->inputs);
    c.outputs = list_copy(g->arena, g->outputs, g->n_outputs, sizeof *g->outputs);
    c.states = list_copy(g->arena, g->states, g->n_states, sizeof *g->states);
    if (!c.wires || !c.nodes || !c.inputs || !c.outputs || !c.states)
        return no_memory(reterr);
    c.cap_wires = c.n_wires;
    c.cap_nodes = c.n_nodes;
    c.cap_inputs = c.n_inputs;
    c.cap_outputs = c.n_outputs;
    c.cap_states = c.n_states;
    for (uint32_t i = 0; i < c.n_nodes; i++)
        if (!node_own(g->arena, &c.nodes[i]))
            return no_memory(reterr);
    *ret = c;
    return RILL_OK;
}

/* ---- order ---- */

enum mark { NEW, OPEN, DONE };

struct sorter {
    const struct graph *g;
    enum mark *mark;
    uint32_t *stack, *order;
    uint32_t depth, n;
};

/* An input's producer that is not placed yet; WIRE_NONE: none. */
static uint32_t writer_missing(const struct sorter *s, uint32_t node)
{
    const struct node *n = &s->g->nodes[node];
    for (unsigned k = 0; k < n->n_in; k++) {
        uint32_t from = n->in[k] == WIRE_NONE ? WIRE_NONE : s->g->wires[n->in[k]].node;
        if (from != WIRE_NONE && s->mark[from] != DONE)
            return from;
    }
    return WIRE_NONE;
}

/* Places node after all it reads; the stack is as deep as the graph. */
static rill_status node_place(struct sorter *s, uint32_t node, rill_error *err)
{
    s->stack[0] = node;
    s->mark[node] = OPEN;
    for (s->depth = 1; s->depth;) {
        uint32_t top = s->stack[s->depth - 1], from = writer_missing(s, top);
        if (from == WIRE_NONE) {
            s->mark[top] = DONE;
            s->order[s->n++] = top;
            s->depth--;
            continue;
        }
        if (s->mark[from] == OPEN)
            return err_set(err, RILL_INVALID, "'%.80s' would depend on itself, through '%.80s'",
                           s->g->nodes[from].name, s->g->nodes[top].name);
        s->mark[from] = OPEN;
        s->stack[s->depth++] = from;
    }
    return RILL_OK;
}

rill_status graph_sort(struct graph *g, rill_error *reterr)
{
    struct sorter s = { .g = g,
                        .mark = arena_array(g->arena, enum mark, g->n_nodes + 1),
                        .stack = arena_array(g->arena, uint32_t, g->n_nodes + 1),
                        .order = arena_array(g->arena, uint32_t, g->n_nodes + 1) };
    struct node *nodes = arena_array(g->arena, struct node, g->n_nodes + 1);
    if (!s.mark || !s.stack || !s.order || !nodes)
        return no_memory(reterr);
    for (uint32_t i = 0; i < g->n_nodes; i++)
        if (s.mark[i] == NEW)
            TRY(node_place(&s, i, reterr));
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        nodes[i] = g->nodes[s.order[i]];
        for (unsigned k = 0; k < nodes[i].n_out; k++)
            if (nodes[i].out[k] != WIRE_NONE)
                g->wires[nodes[i].out[k]].node = i;
    }
    g->nodes = nodes;
    g->cap_nodes = g->n_nodes;
    return RILL_OK;
}
