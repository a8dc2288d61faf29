/* SPDX-License-Identifier: MIT */
#include "engine/graph/graph.h"
#include "engine/graph/op.h"

#include <stdio.h>
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

/* Room for one more element in an arena array that doubles; NULL when the arena is full. */
static void *list_grow(struct arena *a, void *list, uint32_t n, uint32_t *cap, size_t bytes)
{
    if (n < *cap)
        return list;
    uint32_t want = *cap ? *cap * 2 : 16;
    void *more = want > *cap ? arena_alloc_array(a, want, bytes) : NULL;
    if (!more)
        return NULL;
    if (n)
        memcpy(more, list, n * bytes);
    *cap = want;
    return more;
}

#define GROW(g, field)                                                                             \
    list_grow((g)->arena, (g)->field, (g)->n_##field, &(g)->cap_##field, sizeof *(g)->field)

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
    fact_of_tensor(&f, g->dims, value);
    return graph_add_wire(g, name, &f);
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
    uint32_t *i = arena_array(g->arena, uint32_t, (size_t) n_in + n_out), *o = i + n_in;
    if (!list || !i)
        return NULL;
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

uint32_t graph_find_wire(const struct graph *g, const char *name)
{
    for (uint32_t w = 0; w < g->n_wires; w++)
        if (!strcmp(g->wires[w].name, name))
            return w;
    return WIRE_NONE;
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
            return op_fail(reterr, RILL_INTERNAL, n, "output %u has another writer", k);
    for (unsigned k = 0; k < n->n_body; k++)
        TRY(graph_check(n->body[k], reterr));
    return RILL_OK;
}

rill_status graph_check(const struct graph *g, rill_error *reterr)
{
    for (uint32_t i = 0; i < g->n_nodes; i++)
        TRY(node_check(g, i, reterr));
    for (uint32_t i = 0; i < g->n_outputs; i++)
        if (!wire_ready(g, g->outputs[i], g->n_nodes))
            return err_set(reterr, RILL_INTERNAL, "graph '%s': output %u has no writer", g->name,
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

void fact_of_tensor(struct fact *f, struct dims *ds, const struct tensor *t)
{
    *f = (struct fact) { .type = t->type, .number = t->number, .rank = t->rank, .value = t };
    for (int i = 0; i < t->rank; i++)
        f->shape[i] = dim_int(ds, t->dim[i]);
}

static bool is_plain(const struct tensor *t)
{
    for (int64_t i = 0, n = tensor_count(t); i < n; i++)
        if (!dim_is_const(((const struct dim *const *) t->data)[i]))
            return false;
    return true;
}

const struct tensor *tensor_settled(struct arena *a, const struct tensor *t)
{
    if (t->type != DTYPE_DIM || !is_plain(t))
        return t;
    struct tensor *s = tensor_new(a, dtype_number(t->type, t->number), t->rank, t->dim);
    for (int64_t i = 0, n = s ? tensor_count(s) : 0; i < n; i++) {
        int64_t v = dim_value(((const struct dim *const *) t->data)[i]);
        if (s->type == DTYPE_I64)
            ((int64_t *) s->data)[i] = v;
        else
            tensor_set_f64(s, s->data, i, (double) v);
    }
    return s;
}

bool fact_is_static(const struct fact *f)
{
    struct tensor t;
    return fact_to_tensor(f, &t);
}

bool fact_to_tensor(const struct fact *f, struct tensor *ret)
{
    if (f->type == DTYPE_NONE || f->rank < 0)
        return false;
    struct tensor t = { .type = f->type, .number = f->number, .rank = f->rank };
    for (int i = 0; i < f->rank; i++) {
        if (!dim_is_const(f->shape[i]))
            return false;
        t.dim[i] = dim_value(f->shape[i]);
    }
    int64_t n;
    if (!tensor_count_checked(&t, &n))
        return false;
    *ret = t;
    return true;
}

int fact_print(const struct fact *f, char *buf, size_t cap)
{
    char d[256];
    size_t at = 0;
#define PUT(...)                                                                                   \
    do {                                                                                           \
        int n_ = snprintf(buf + (at < cap ? at : cap), at < cap ? cap - at : 0, __VA_ARGS__);      \
        at += n_ > 0 ? (size_t) n_ : 0;                                                            \
    } while (0)
    PUT("%s", f->type ? dtype_name(f->type) : "?");
    if (f->rank < 0) {
        PUT("[?]");
        return (int) at;
    }
    PUT("[");
    for (int i = 0; i < f->rank; i++) {
        dim_print(f->shape[i], d, sizeof d);
        PUT("%s%s", i ? "," : "", d);
    }
    PUT("]");
#undef PUT
    return (int) at;
}

bool fact_same(const struct fact *a, const struct fact *b)
{
    if (a->type != b->type || fact_number(a) != fact_number(b) || a->rank != b->rank)
        return false;
    for (int i = 0; i < a->rank; i++)
        if (a->shape[i] != b->shape[i])
            return false;
    return true;
}

enum dtype fact_number(const struct fact *f)
{
    return dtype_number(f->type, f->number);
}
