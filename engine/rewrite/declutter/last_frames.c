/* SPDX-License-Identifier: MIT */
/* Copies of the last frame behind a sequence, cut out, repeated and joined to it, are a Pad by the
 * edge: icefall's zipformers fill up chunks so. */
#include "engine/graph/edit.h"
#include "engine/ops/attrs.h"
#include "engine/rewrite/declutter/match.h"
#include "engine/rewrite/declutter/passes.h"
#include "engine/rewrite/declutter/put.h"

/* The one bound of a Slice, as a size; NULL: there are several, or it is not known. */
static const struct dim *bound_of(const struct graph *g, uint32_t w)
{
    const struct tensor *v = match_value(g, w);
    if (!v || tensor_count(v) != 1)
        return NULL;
    return v->type == DTYPE_DIM ? dim_refresh(g->dims, *(const struct dim *const *) v->data)
                                : dim_int(g->dims, tensor_get_i64(v, v->data, 0));
}

/* Whether the Slice takes the last place of axis `along`, if there is any, and cuts no other. */
static bool is_last(const struct graph *g, const struct node *n, int along)
{
    const struct dim *from = bound_of(g, n->in[1]), *to = bound_of(g, n->in[2]),
                     *size = dim_refresh(g->dims, g->wires[n->in[0]].fact.shape[along]);
    int64_t axis = 0, step = 1;
    unsigned one = 1;
    if (!from || !to ||
        (node_has_input(n, 3) && (!match_ints(g, n->in[3], &axis, 1, &one) || one != 1)) ||
        (node_has_input(n, 4) && (!match_ints(g, n->in[4], &step, 1, &one) || one != 1)) ||
        step != 1 || axis_normalise(axis, g->wires[n->in[0]].fact.rank) != along)
        return false;
    return (dim_is(from, -1) || from == dim_add_int(g->dims, size, -1)) &&
        (to == size || (dim_is_const(to) && dim_value(to) >= INT32_MAX));
}

/* The Concat joins a sequence and copies of its last frame. */
static bool copies_last(const struct graph *g, const struct node *n)
{
    const struct node *copies =
        node_is(n, OP_CONCAT) && n->n_in == 2 ? match_op(g, n->in[1], OP_EXPAND) : NULL;
    const struct node *last = copies ? match_op(g, copies->in[0], OP_SLICE) : NULL;
    if (!last || last->in[0] != n->in[0])
        return false;
    const struct fact *x = &g->wires[n->in[0]].fact, *y = &g->wires[n->in[1]].fact;
    const int along = axis_normalise(axis_of(n), x->rank);
    return y->rank == x->rank && g->wires[last->out[0]].fact.rank == x->rank &&
        is_last(g, last, along);
}

/* Pads of nothing but so many frames behind an axis. */
static uint32_t pads_behind(struct graph *g, int rank, int along, const struct dim *frames)
{
    const struct dim *pads[2 * RANK_MAX];
    for (int i = 0; i < 2 * rank; i++)
        pads[i] = i == rank + along ? frames : dim_int(g->dims, 0);
    return put_sizes(g, "pads", pads, 2 * rank);
}

static rill_status pad_put(struct edit *e, uint32_t at, rill_error *reterr)
{
    struct graph *g = e->g;
    const struct op *op = op_by_id(OP_PAD);
    const struct node *n = &g->nodes[at];
    const struct attr edge = { .name = "mode",
                               .kind = ATTR_STRINGS,
                               .strings = { 1, (const char *const[]) { "edge" } } };
    const int rank = g->wires[n->in[0]].fact.rank, along = axis_normalise(axis_of(n), rank);
    void *attr = arena_alloc(g->arena, op->attr_bytes + 1);
    const uint32_t in[2] = { n->in[0],
                             pads_behind(g, rank, along, g->wires[n->in[1]].fact.shape[along]) };
    if (in[1] == WIRE_NONE || !attr || !edit_inputs(e, at, in, 2))
        return err_set(reterr, RILL_NOMEM, "out of memory");
    TRY(attrs_parse(op, n->name, &edge, 1, attr, reterr));
    g->nodes[at].op = op;
    g->nodes[at].attr = attr;
    return RILL_OK;
}

rill_status graph_with_last_frames_padded(struct graph *ret, const struct graph *g,
                                          rill_error *reterr)
{
    struct edit e;
    TRY(edit_begin(&e, ret, g, reterr));
    for (uint32_t i = 0; i < e.n_nodes; i++)
        if (copies_last(ret, &ret->nodes[i]))
            TRY(pad_put(&e, i, reterr));
    return edit_end(&e, reterr);
}
