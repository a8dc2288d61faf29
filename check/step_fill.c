/* SPDX-License-Identifier: MIT */
#include "check/step_fill.h"
#include "engine/graph/op.h"

#include <string.h>

bool step_fill_waits(const struct step_decl *d, const struct fact *f)
{
    if (d->looks)
        return fact_is_static(f) ? false : f->rank >= 0;
    for (int k = 0; k < f->rank; k++) {
        const struct dim *list[STEP_SYMBOLS_MAX];
        const unsigned n = dim_symbols(f->shape[k], list, 0, STEP_SYMBOLS_MAX);
        for (unsigned i = 0; i < n; i++)
            for (uint32_t s = 0; s < d->grows.n; s++)
                if (!strcmp(d->grows.name[s], dim_name(list[i])))
                    return true;
    }
    return false;
}

static rill_status no_memory(rill_error *err)
{
    return err_set(err, RILL_NOMEM, "out of memory");
}

/* ---- the shape, as what the state's size is times one list, and another ---- */

struct fill {
    uint32_t state; /* wire that has the symbol as axis */
    int axis;
    int64_t slope[RANK_MAX], base[RANK_MAX];
};

static bool state_of_symbol(const struct graph *g, const struct dim *symbol, struct fill *ret)
{
    for (uint32_t i = 0; i < g->n_states; i++) {
        const struct fact *f = &g->wires[g->states[i].in].fact;
        for (int k = 0; k < f->rank; k++)
            if (f->shape[k] == symbol) {
                ret->state = g->states[i].in;
                ret->axis = k;
                return true;
            }
    }
    return false;
}

static rill_status fill_size(struct fill *f, const struct graph *g, const struct wire *w,
                             rill_error *err)
{
    const struct dim *symbol = NULL;
    int64_t den = 1;
    for (int k = 0; k < w->fact.rank; k++)
        if (dim_symbols(w->fact.shape[k], &symbol, 0, 1))
            break;
    bool linear = symbol && state_of_symbol(g, symbol, f);
    for (int k = 0; linear && k < w->fact.rank; k++)
        linear = dim_slope(w->fact.shape[k], symbol, &f->slope[k], &den) && den == 1 &&
            dim_eval(w->fact.shape[k], symbol, 0, &f->base[k]);
    if (linear)
        return RILL_OK;
    char text[160];
    fact_print(&w->fact, text, sizeof text);
    return err_set(err, RILL_UNSUPPORTED,
                   "constant '%.80s' is %s, which is no number of times a state's size and a "
                   "number: --shape says how large it is",
                   w->name, text);
}

/* ---- the nodes ---- */

static uint32_t list_const(struct graph *g, const char *name, const int64_t *v, int64_t n)
{
    struct tensor *t = tensor_new(g->arena, DTYPE_I64, 1, &n);
    if (!t)
        return WIRE_NONE;
    memcpy(t->data, v, (size_t) n * sizeof *v);
    return graph_add_const(g, graph_name_next(g, name), t);
}

static uint32_t node_make(struct graph *g, const char *name, enum op_id id, uint32_t a, uint32_t b,
                          uint32_t out)
{
    const struct op *op = op_by_id(id);
    void *attr = arena_alloc(g->arena, op->attr_bytes + 1);
    if (out == WIRE_NONE)
        out = graph_add_wire(g, graph_name_next(g, name), NULL);
    const bool made = attr && attrs_parse(op, name, NULL, 0, attr, NULL) == RILL_OK &&
        graph_add_node(g, op, name, attr, (uint32_t[]) { a, b }, b == WIRE_NONE ? 1 : 2, &out, 1);
    return made ? out : WIRE_NONE;
}

static uint32_t value_const(struct graph *g, const char *name, enum dtype type, double value)
{
    struct tensor *t = tensor_new(g->arena, type, 0, NULL);
    if (!t)
        return WIRE_NONE;
    tensor_set_f64(t, t->data, 0, value);
    return graph_add_const(g, graph_name_next(g, name), t);
}

static rill_status fill_make(struct graph *g, const struct fill *f, uint32_t w, double value,
                             rill_error *err)
{
    const char *name = g->wires[w].name;
    const int64_t axis = f->axis, rank = g->wires[w].fact.rank;
    const uint32_t shape = node_make(g, name, OP_SHAPE, f->state, WIRE_NONE, WIRE_NONE);
    const uint32_t size =
        node_make(g, name, OP_GATHER, shape, list_const(g, name, &axis, 1), WIRE_NONE);
    const uint32_t times =
        node_make(g, name, OP_MUL, size, list_const(g, name, f->slope, rank), WIRE_NONE);
    const uint32_t all =
        node_make(g, name, OP_ADD, times, list_const(g, name, f->base, rank), WIRE_NONE);
    const uint32_t one = value_const(g, name, g->wires[w].fact.type, value);
    g->wires[w].fact = (struct fact) { .rank = -1 };
    return one != WIRE_NONE && node_make(g, name, OP_EXPAND, one, all, w) != WIRE_NONE
        ? RILL_OK
        : no_memory(err);
}

rill_status step_fill_any_frame(struct graph *g, uint32_t wire, uint32_t of, int axis,
                                rill_error *reterr)
{
    const char *name = g->wires[wire].name;
    const int64_t along = axis, none = 0;
    const uint32_t shape = node_make(g, name, OP_SHAPE, of, WIRE_NONE, WIRE_NONE);
    const uint32_t size =
        node_make(g, name, OP_GATHER, shape, list_const(g, name, &along, 1), WIRE_NONE);
    g->wires[wire].fact = (struct fact) { .rank = -1 };
    return node_make(g, name, OP_GREATER, size, list_const(g, name, &none, 1), wire) != WIRE_NONE
        ? RILL_OK
        : no_memory(reterr);
}

rill_status step_fills_apply(struct graph *g, const struct step_decl *d, rill_error *reterr)
{
    bool any = false;
    for (uint32_t i = 0; i < d->n_consts; i++)
        for (uint32_t k = 0; k < g->n_inputs; k++) {
            const uint32_t w = g->inputs[k];
            struct fill f = { 0 };
            if (strcmp(g->wires[w].name, d->consts[i].name) != 0)
                continue;
            TRY(fill_size(&f, g, &g->wires[w], reterr));
            TRY(fill_make(g, &f, w, d->consts[i].value, reterr));
            memmove(&g->inputs[k], &g->inputs[k + 1], (g->n_inputs - k - 1) * sizeof *g->inputs);
            g->n_inputs--;
            any = true;
            break;
        }
    return any ? graph_sort(g, reterr) : RILL_OK;
}
