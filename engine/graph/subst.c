/* SPDX-License-Identifier: MIT */
#include "engine/graph/subst.h"

#include <string.h>

/* ---- which there are ---- */

static unsigned tensor_symbols(const struct tensor *t, const struct dim **list, unsigned n,
                               unsigned cap)
{
    for (int64_t i = 0; t && t->type == DTYPE_DIM && i < tensor_count(t); i++)
        n = dim_symbols(((const struct dim *const *) t->data)[i], list, n, cap);
    return n;
}

static unsigned fact_symbols(const struct fact *f, const struct dim **list, unsigned n,
                             unsigned cap)
{
    for (int k = 0; k < f->rank; k++)
        n = dim_symbols(f->shape[k], list, n, cap);
    return n;
}

unsigned graph_input_symbols(const struct graph *g, const struct dim **list, unsigned cap)
{
    unsigned n = 0;
    for (uint32_t i = 0; i < g->n_inputs; i++)
        n = fact_symbols(&g->wires[g->inputs[i]].fact, list, n, cap);
    return n;
}

unsigned graph_symbols(const struct graph *g, const struct dim **list, unsigned n, unsigned cap)
{
    for (uint32_t w = 0; w < g->n_wires; w++) {
        const struct fact *f = &g->wires[w].fact;
        n = fact_symbols(f, list, n, cap);
        n = tensor_symbols(f->value, list, n, cap);
    }
    for (uint32_t i = 0; i < g->n_nodes; i++)
        for (unsigned b = 0; b < g->nodes[i].n_body; b++)
            n = graph_symbols(g->nodes[i].body[b], list, n, cap);
    return n;
}

/* ---- one of them replaced ---- */

struct subst {
    struct arena *arena;
    struct dims *dims;
    const struct dim *symbol, *to;
    rill_error *err;
};

static rill_status no_memory(const struct subst *s)
{
    return err_set(s->err, RILL_NOMEM, "out of memory");
}

/* A copy of a tensor of dimensions; of plain numbers where no symbol is left. */
static const struct tensor *value_substituted(const struct subst *s, const struct tensor *v)
{
    struct tensor *t = tensor_clone(s->arena, v);
    const struct dim **d = t ? t->data : NULL;
    for (int64_t i = 0; t && i < tensor_count(t); i++)
        d[i] = dim_subst(s->dims, d[i], s->symbol, s->to);
    return t ? tensor_resolved(s->arena, t) : NULL;
}

static rill_status wire_substitute(const struct subst *s, struct wire *w)
{
    struct fact *f = &w->fact;
    for (int i = 0; i < f->rank; i++)
        f->shape[i] = dim_subst(s->dims, f->shape[i], s->symbol, s->to);
    if (!f->value || f->value->type != DTYPE_DIM)
        return RILL_OK;
    f->value = value_substituted(s, f->value);
    if (!f->value)
        return no_memory(s);
    f->type = f->value->type;
    f->number = f->value->number;
    return RILL_OK;
}

static rill_status graph_copy(const struct subst *s, struct graph *ret, const struct graph *g);

static rill_status bodies_copy(const struct subst *s, struct node *n)
{
    struct graph **from = n->body;
    if (!n->n_body)
        return RILL_OK;
    if (!(n->body = arena_array(s->arena, struct graph *, n->n_body)))
        return no_memory(s);
    for (unsigned b = 0; b < n->n_body; b++) {
        if (!(n->body[b] = arena_new(s->arena, struct graph)))
            return no_memory(s);
        TRY(graph_copy(s, n->body[b], from[b]));
    }
    return RILL_OK;
}

static rill_status graph_copy(const struct subst *s, struct graph *ret, const struct graph *g)
{
    *ret = *g;
    ret->arena = s->arena;
    ret->wires = arena_copy(s->arena, g->wires, g->n_wires * sizeof *g->wires);
    ret->nodes = arena_copy(s->arena, g->nodes, g->n_nodes * sizeof *g->nodes);
    ret->inputs = arena_copy(s->arena, g->inputs, g->n_inputs * sizeof *g->inputs);
    ret->outputs = arena_copy(s->arena, g->outputs, g->n_outputs * sizeof *g->outputs);
    ret->cap_wires = g->n_wires;
    ret->cap_nodes = g->n_nodes;
    ret->cap_inputs = g->n_inputs;
    ret->cap_outputs = g->n_outputs;
    if ((g->n_wires && !ret->wires) || (g->n_nodes && !ret->nodes))
        return no_memory(s);
    for (uint32_t i = 0; i < ret->n_wires; i++) {
        TRY(wire_substitute(s, &ret->wires[i]));
        TRY(dims_status_at(s->dims, ret->wires[i].name, s->err));
    }
    for (uint32_t i = 0; i < ret->n_nodes; i++)
        TRY(bodies_copy(s, &ret->nodes[i]));
    return dims_status(s->dims, s->err);
}

rill_status graph_substituted(struct graph *ret, const struct graph *g, const struct dim *symbol,
                              const struct dim *to, struct arena *a, rill_error *reterr)
{
    const struct subst s = { a, g->dims, symbol, to, reterr };
    return graph_copy(&s, ret, g);
}

rill_status graph_with_symbol(struct graph *ret, const struct graph *g, const struct dim *symbol,
                              const struct dim *to, rill_error *reterr)
{
    TRY(dims_inherit(g->dims, symbol, to, reterr));
    return graph_substituted(ret, g, symbol, to, g->arena, reterr);
}
