/* SPDX-License-Identifier: MIT */
#include "pulse/placed_edit.h"
#include "engine/ops/attrs.h"

rill_status placed_edit_want(struct placed_edit *c)
{
    const struct graph *g = c->e->g;
    const struct dim *symbols[2];
    unsigned n = 0;
    if (c->tried)
        return RILL_OK;
    c->tried = true;
    for (uint32_t i = 0; i < g->n_inputs; i++)
        for (int k = 0; k < g->wires[g->inputs[i]].fact.rank; k++)
            n = dim_symbols(g->wires[g->inputs[i]].fact.shape[k], symbols, n, 2);
    c->symbol = n == 1 ? symbols[0] : NULL;
    const rill_status s =
        n == 1 ? positions_find(&c->ps, g, c->symbol, &c->scratch, c->err) : RILL_UNSUPPORTED;
    c->found = s == RILL_OK;
    return s == RILL_NOMEM ? s : RILL_OK;
}

uint32_t placed_sizes(struct graph *g, const struct fact *f)
{
    struct tensor *t = tensor_new(g->arena, DTYPE_DIM, 1, &(int64_t) { f->rank });
    for (int i = 0; t && i < f->rank; i++)
        ((const struct dim **) t->data)[i] = f->shape[i];
    return t ? graph_add_const(g, "sizes", t) : WIRE_NONE;
}

rill_status placed_number(struct placed_edit *c, uint32_t at, double number)
{
    struct graph *g = c->e->g;
    const struct fact *f = &g->wires[g->nodes[at].out[0]].fact;
    struct value_attr *attr = arena_new(g->arena, struct value_attr);
    struct tensor *v = tensor_new(g->arena, f->type, 1, &(int64_t) { 1 });
    const uint32_t sizes = placed_sizes(g, f);
    if (!attr || !v || sizes == WIRE_NONE || !edit_inputs(c->e, at, &sizes, 1))
        return err_set(c->err, RILL_NOMEM, "out of memory");
    tensor_set_f64(v, v->data, 0, number);
    attr->value = v;
    g->nodes[at].op = op_by_id(OP_CONSTANT_OF_SHAPE);
    g->nodes[at].attr = attr;
    return RILL_OK;
}

rill_status graph_edit_placed(struct graph *ret, const struct graph *g,
                              rill_status (*look)(struct placed_edit *c, uint32_t node),
                              rill_error *reterr)
{
    struct edit e;
    struct placed_edit c = { .e = &e, .scratch.owner = g->arena, .err = reterr };
    TRY(edit_begin(&e, ret, g, reterr));
    rill_status s = RILL_OK;
    for (uint32_t i = 0; s == RILL_OK && i < e.n_nodes; i++)
        s = look(&c, i);
    if (c.tried)
        positions_drop(&c.ps);
    arena_drop(&c.scratch);
    return s == RILL_OK ? edit_end(&e, reterr) : s;
}
