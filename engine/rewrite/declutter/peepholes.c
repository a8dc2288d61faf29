/* SPDX-License-Identifier: MIT */
#include "engine/graph/op.h"
#include "engine/ops/attrs.h"
#include "engine/rewrite/declutter/match.h"
#include "engine/rewrite/declutter/passes.h"
#include "engine/typing/decide.h"

static bool changes_nothing(const struct graph *g, const struct node *n)
{
    return n->n_in && n->n_out == 1 && n->in[0] != WIRE_NONE && n->out[0] != WIRE_NONE &&
        node_gives_back(n, &g->wires[n->in[0]].fact, &g->wires[n->out[0]].fact);
}

/* n gives a tensor its shape back that was flattened to rows for an op over its last axis: that op
 * on the tensor itself takes n's place. */
static bool rows_merge(const struct graph *g, struct node *n)
{
    static const enum op_id ids[] = { OP_SOFTMAX, OP_LOG_SOFTMAX, OP_HARDMAX };
    const struct node *y = NULL, *flat;
    for (size_t i = 0; i < sizeof ids / sizeof *ids && !y && node_is(n, OP_RESHAPE); i++)
        y = match_op(g, n->in[0], ids[i]);
    if (!y || axis_of(y) != -1 || !(flat = match_op(g, y->in[0], OP_FLATTEN)))
        return false;
    const struct fact *x = &g->wires[flat->in[0]].fact;
    if (!fact_same(x, &g->wires[n->out[0]].fact) || axis_of(flat) != x->rank - 1)
        return false;
    n->name = y->name;
    n->op = y->op;
    n->attr = y->attr;
    n->in[0] = flat->in[0];
    n->n_in = 1;
    return true;
}

/* Indices of one coordinate, to which an Unsqueeze gave its axis, are those of a Gather. */
static bool coordinate_goes(const struct graph *g, struct node *n)
{
    static const struct axis_attr first = { .axis = 0 };
    const struct node *wide = node_is(n, OP_GATHER_ND) && !gather_nd_attr_of(n)->batch_dims
        ? match_op(g, n->in[1], OP_UNSQUEEZE)
        : NULL;
    if (!wide)
        return false;
    const struct fact *ix = &g->wires[n->in[1]].fact, *at = &g->wires[wide->in[0]].fact;
    bool is_last = at->rank == ix->rank - 1 && dim_is(ix->shape[at->rank], 1);
    for (int i = 0; is_last && i < at->rank; i++)
        is_last = at->shape[i] == ix->shape[i];
    if (!is_last)
        return false;
    n->op = op_by_id(OP_GATHER);
    n->attr = &first;
    n->in[1] = wide->in[0];
    return true;
}

static void wires_follow(uint32_t *wires, size_t n, const uint32_t *instead)
{
    for (size_t i = 0; i < n; i++)
        if (wires[i] != WIRE_NONE)
            wires[i] = instead[wires[i]];
}

rill_status graph_with_peepholes(struct graph *ret, const struct graph *g, rill_error *reterr)
{
    uint32_t *instead = arena_array(g->arena, uint32_t, g->n_wires + 1);
    if (!instead)
        return err_set(reterr, RILL_NOMEM, "out of memory while nodes are looked at");
    TRY(graph_copied(ret, g, reterr));
    for (uint32_t w = 0; w < g->n_wires; w++)
        instead[w] = w;
    for (uint32_t i = 0; i < ret->n_nodes; i++) {
        struct node *n = &ret->nodes[i];
        wires_follow(n->in, n->n_in, instead);
        if (!rows_merge(ret, n) && !coordinate_goes(ret, n) && changes_nothing(ret, n))
            instead[n->out[0]] = n->in[0];
    }
    wires_follow(ret->outputs, ret->n_outputs, instead);
    for (uint32_t i = 0; i < ret->n_states; i++)
        ret->states[i].out = instead[ret->states[i].out];
    return RILL_OK;
}
