/* SPDX-License-Identifier: MIT */
/* Scores that a Trilu cuts are chosen by a triangle of ones, element by element, or are 0: of which
 * keys a query sees positions tell, as under any mask. */
#include "engine/graph/edit.h"
#include "engine/ops/attrs.h"
#include "engine/rewrite/declutter/match.h"
#include "engine/rewrite/declutter/passes.h"
#include "engine/rewrite/declutter/put.h"

/* A matrix of data whose rows and columns are both open. */
static bool is_score(const struct graph *g, const bool *data, uint32_t w)
{
    const struct fact *f = &g->wires[w].fact;
    return data[w] && f->type == DTYPE_F32 && f->rank >= 2 &&
        dim_has_symbol(f->shape[f->rank - 1]) && dim_has_symbol(f->shape[f->rank - 2]);
}

/* The triangle of ones as truths, in front of node i, the Trilu. */
static rill_status triangle_put(struct edit *e, uint32_t i, uint32_t *ret, rill_error *err)
{
    struct graph *g = e->g;
    const struct node n = g->nodes[i];
    const struct fact x = g->wires[n.in[0]].fact;
    struct value_attr *ones = arena_new(g->arena, struct value_attr);
    struct tensor *one = tensor_new(g->arena, DTYPE_BOOL, 1, &(int64_t) { 1 });
    uint32_t in[2] = { put_sizes(g, n.name, x.shape + x.rank - 2, 2), WIRE_NONE };
    if (!ones || !one || in[0] == WIRE_NONE)
        return err_set(err, RILL_NOMEM, "out of memory");
    tensor_set_f64(one, one->data, 0, 1);
    ones->value = one;
    TRY(put_before(e, i, op_by_id(OP_CONSTANT_OF_SHAPE), ones, in, 1, ret, err));
    in[0] = *ret;
    in[1] = node_has_input(&n, 1) ? n.in[1] : WIRE_NONE;
    return put_before(e, i, n.op, n.attr, in, 2, ret, err);
}

static rill_status trilu_choose(struct edit *e, uint32_t i, rill_error *err)
{
    struct graph *g = e->g;
    const uint32_t x = g->nodes[i].in[0];
    const struct tensor *zero = tensor_new(g->arena, DTYPE_F32, 0, NULL);
    uint32_t mask;
    TRY(triangle_put(e, i, &mask, err));
    const uint32_t in[3] = { mask, x, zero ? graph_add_const(g, "zero", zero) : WIRE_NONE };
    if (in[2] == WIRE_NONE || !edit_inputs(e, i, in, 3))
        return err_set(err, RILL_NOMEM, "out of memory");
    g->nodes[i].op = op_by_id(OP_WHERE);
    return RILL_OK;
}

rill_status graph_with_triangles_chosen(struct graph *ret, const struct graph *g,
                                        rill_error *reterr)
{
    struct edit e;
    TRY(edit_begin(&e, ret, g, reterr));
    const bool *data = match_data(ret);
    if (!data)
        return err_set(reterr, RILL_NOMEM, "out of memory");
    for (uint32_t i = 0; i < e.n_nodes; i++)
        if (node_is(&ret->nodes[i], OP_TRILU) && is_score(ret, data, ret->nodes[i].in[0]))
            TRY(trilu_choose(&e, i, reterr));
    return edit_end(&e, reterr);
}
