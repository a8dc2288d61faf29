/* SPDX-License-Identifier: MIT */
#include "pulse/counts.h"
#include "engine/ops/attrs.h"
#include "pulse/extremes.h"

/* The sum that a node is. */
struct count {
    int query, key; /* axes of what is summed */
    bool before;    /* the query's own frame is not shown */
};

static rill_status no_memory(rill_error *err)
{
    return err_set(err, RILL_NOMEM, "out of memory");
}

/* The one axis that it sums over, and the other one that is as long; the rest have one place. */
static bool axes_of(const struct graph *g, const struct node *n, struct count *ret)
{
    const struct tensor *axes = n->n_in == 2 ? node_value(g, n, 1) : NULL;
    const struct fact *f = &g->wires[n->in[0]].fact;
    if (!axes || tensor_count(axes) != 1 || f->type != DTYPE_F32)
        return false;
    ret->key = axis_normalise(tensor_get_i64(axes, axes->data, 0), f->rank);
    ret->query = -1;
    if (ret->key < 0 || !dim_has_symbol(f->shape[ret->key]))
        return false;
    for (int i = 0; i < f->rank; i++)
        if (i != ret->key && f->shape[i] == f->shape[ret->key] && ret->query < 0)
            ret->query = i;
        else if (i != ret->key && !dim_is(f->shape[i], 1))
            return false;
    return ret->query >= 0;
}

/* Whether the wire, of axes as q says, is 1 for keys up to the query's frame and 0 for others. */
static bool is_triangle(struct placed_edit *c, uint32_t wire, struct count *q)
{
    const struct position *at = &c->ps.of[wire];
    struct dims *ds = c->ps.dims;
    if (!at->e || at->parts > 1 || (at->pair && (at->one != 1 || at->zero != 0)))
        return false;
    const struct dim *i = c->ps.axis[q->query], *j = c->ps.axis[q->key];
    q->before = at->e == dim_ge(ds, i, dim_add_int(ds, j, 1));
    return q->before || at->e == dim_ge(ds, i, j);
}

/* Ones, as many as come out, in front of node `at`. */
static rill_status ones_put(struct placed_edit *c, uint32_t at, uint32_t *ret)
{
    static const float one = 1;
    struct graph *g = c->e->g;
    struct fact f = g->wires[g->nodes[at].out[0]].fact;
    struct value_attr *attr = arena_new(g->arena, struct value_attr);
    const uint32_t sizes = placed_sizes(g, &f);
    f.value = NULL;
    *ret = graph_add_wire(g, "ones", &f);
    if (!attr || sizes == WIRE_NONE || *ret == WIRE_NONE)
        return no_memory(c->err);
    attr->value = tensor_from_data(g->arena, DTYPE_F32, 1, &(int64_t) { 1 }, &one);
    return attr->value &&
            edit_insert(c->e, at, op_by_id(OP_CONSTANT_OF_SHAPE), attr, &sizes, 1, ret, 1)
        ? RILL_OK
        : no_memory(c->err);
}

static rill_status count_put(struct placed_edit *c, uint32_t at, const struct count *q)
{
    struct graph *g = c->e->g;
    const struct op *op = op_by_id(OP_CUMSUM);
    struct cumsum_attr *attr = arena_alloc(g->arena, op->attr_bytes);
    const bool dropped = !reduce_attr_of(&g->nodes[at])->keepdims && q->key < q->query;
    uint32_t in[2] = { WIRE_NONE, edit_int(g, q->query - dropped) };
    if (!attr || in[1] == WIRE_NONE)
        return no_memory(c->err);
    TRY(ones_put(c, at, &in[0]));
    TRY(attrs_parse(op, g->nodes[at].name, NULL, 0, attr, c->err));
    attr->exclusive = q->before;
    if (!edit_inputs(c->e, at, in, 2))
        return no_memory(c->err);
    g->nodes[at].op = op;
    g->nodes[at].attr = attr;
    return RILL_OK;
}

static rill_status node_look(struct placed_edit *c, uint32_t at)
{
    const struct node *n = &c->e->g->nodes[at];
    struct count q;
    TRY(extreme_look(c, at));
    if (!node_is(n, OP_REDUCE_SUM) || !axes_of(c->e->g, n, &q))
        return RILL_OK;
    TRY(placed_edit_want(c));
    return c->found && n->in[0] < c->e->n_wires && is_triangle(c, n->in[0], &q)
        ? count_put(c, at, &q)
        : RILL_OK;
}

rill_status graph_with_masks_counted(struct graph *ret, const struct graph *g, rill_error *reterr)
{
    return graph_edit_placed(ret, g, node_look, reterr);
}
