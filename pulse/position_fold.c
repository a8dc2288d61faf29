/* SPDX-License-Identifier: MIT */
#include "pulse/position_fold.h"
#include "engine/ops/attrs.h"
#include "pulse/compared.h"
#include "pulse/mask_order.h"

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

/* The operand of a Clip, or of a least or largest, that is what comes out in every frame, beside
 * one that the length makes; WIRE_NONE: none is. */
static uint32_t passed_on(const struct placed_edit *c, const struct node *n)
{
    static const enum op_id ends[] = { OP_CLIP, OP_MAX, OP_MIN };
    const struct position *of = c->ps.of, *y = &of[n->out[0]];
    uint32_t same = WIRE_NONE;
    bool length = false;
    for (unsigned i = 0; node_is_among(n, ends, sizeof ends / sizeof *ends) && i < n->n_in; i++) {
        const uint32_t w = n->in[i];
        if (w == WIRE_NONE || !of[w].e)
            continue;
        length |= dim_mentions(of[w].e, c->ps.time);
        if (of[w].e == y->e && !of[w].pair && !y->pair && of[w].parts <= 1 && y->parts <= 1 &&
            fact_same(&c->e->g->wires[w].fact, &c->e->g->wires[n->out[0]].fact))
            same = w;
    }
    return length ? same : WIRE_NONE;
}

static rill_status pass_on(struct placed_edit *c, uint32_t at, uint32_t wire)
{
    struct node *n = &c->e->g->nodes[at];
    n->op = op_by_id(OP_IDENTITY);
    n->attr = NULL;
    return edit_inputs(c->e, at, &wire, 1) ? RILL_OK : err_set(c->err, RILL_NOMEM, "out of memory");
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
    const uint32_t same = c->found ? passed_on(c, n) : WIRE_NONE;
    if (same != WIRE_NONE)
        return pass_on(c, at, same);
    return c->found && is_along_time(c, &c->e->g->wires[n->out[0]].fact) &&
            number_of(c, n->out[0], &number) && decides(c, n)
        ? placed_number(c, at, (double) number)
        : node_is(n, OP_AND) || node_is(n, OP_OR) ? mask_order_look(c, at)
                                                  : compared_look(c, at);
}

rill_status graph_with_positions_folded(struct graph *ret, const struct graph *g,
                                        rill_error *reterr)
{
    return graph_edit_placed(ret, g, node_look, reterr);
}
