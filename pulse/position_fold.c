/* SPDX-License-Identifier: MIT */
#include "pulse/position_fold.h"
#include "engine/ops/attrs.h"
#include "pulse/compared.h"

#define NUMBER_MAX ((int64_t) 1 << 53) /* as doubles hold */

/* The one whole number that all elements of the wire are, at any length. */
static bool number_of(const struct placed_edit *c, uint32_t wire, int64_t *ret)
{
    const struct position *x = &c->ps.of[wire];
    if (!x->e || x->pair || x->parts > 1 || !dim_is_const(x->e))
        return false;
    *ret = dim_value(x->e);
    return *ret <= NUMBER_MAX && *ret >= -NUMBER_MAX;
}

/* A table of a fixed length has no number for places behind its end. */
static bool may_end(const struct graph *g, const struct node *n)
{
    static const enum op_id reads[] = { OP_GATHER, OP_GATHER_ELEMENTS };
    const struct fact *x = &g->wires[n->in[0]].fact, *y = &g->wires[n->out[0]].fact;
    bool ends = node_is_among(n, reads, sizeof reads / sizeof *reads) &&
        !dim_has_symbol(x->shape[axis_normalise(axis_of(n), x->rank)]);
    for (int i = 0; node_is(n, OP_SLICE) && i < y->rank; i++)
        ends |= dim_has_symbol(y->shape[i]) && !dim_has_symbol(x->shape[i]);
    return ends;
}

/* Along one time axis: masks of two are what attention looks at. */
static bool is_along_time(const struct placed_edit *c, const struct fact *f)
{
    int axes = 0;
    for (int i = 0; i < f->rank; i++)
        axes += dim_mentions(f->shape[i], c->symbol);
    return axes == 1 && !dtype_is_float(f->type);
}

/* Whether something in front of the node is not the same everywhere. */
static bool decides(const struct placed_edit *c, const struct node *n)
{
    int64_t v;
    bool all = true;
    for (unsigned i = 0; i < n->n_in; i++)
        all = all && (n->in[i] == WIRE_NONE || number_of(c, n->in[i], &v));
    return !all;
}

static rill_status node_look(struct placed_edit *c, uint32_t at)
{
    const struct node *n = &c->e->g->nodes[at];
    static const enum op_id moves[] = { OP_CONSTANT_OF_SHAPE, OP_EXPAND, OP_RANGE };
    int64_t number;
    if (n->n_out != 1 || n->n_body || n->out[0] >= c->e->n_wires ||
        node_is_among(n, moves, sizeof moves / sizeof *moves) || may_end(c->e->g, n))
        return RILL_OK;
    TRY(placed_edit_want(c));
    return c->found && is_along_time(c, &c->e->g->wires[n->out[0]].fact) &&
            number_of(c, n->out[0], &number) && decides(c, n)
        ? placed_number(c, at, (double) number)
        : compared_look(c, at);
}

rill_status graph_with_positions_folded(struct graph *ret, const struct graph *g,
                                        rill_error *reterr)
{
    return graph_edit_placed(ret, g, node_look, reterr);
}
