/* SPDX-License-Identifier: MIT */
#include "models/export/lower.h"
#include "engine/base/err.h"

uint32_t lower_fail(struct lower *l, rill_status s)
{
    if (l->status == RILL_OK)
        l->status = s == RILL_NOMEM ? err_set(l->err, RILL_NOMEM, "out of memory") : s;
    return WIRE_NONE;
}

const struct fact *lower_fact(const struct lower *l, const struct node *n, unsigned i)
{
    return &l->src->wires[n->in[i]].fact;
}

int64_t lower_size(const struct fact *f, int axis)
{
    return dim_value(f->shape[axis]);
}

uint32_t lower_in(const struct lower *l, const struct node *n, unsigned i)
{
    return node_has_input(n, i) ? l->map[n->in[i]] : WIRE_NONE;
}

uint32_t lower_node(struct lower *l, enum op_id id, void *attr, const uint32_t *in, unsigned n_in)
{
    const char *node = l->at ? l->at->name : "clock", *name = graph_name_next(l->dst, node);
    uint32_t out = l->status == RILL_OK && name ? graph_add_wire(l->dst, name, NULL) : WIRE_NONE;
    if (out == WIRE_NONE || !graph_add_node(l->dst, op_by_id(id), node, attr, in, n_in, &out, 1))
        return lower_fail(l, RILL_NOMEM);
    return out;
}

uint32_t lower_op(struct lower *l, enum op_id id, const struct attr *attrs, unsigned n_attrs,
                  const uint32_t *in, unsigned n_in)
{
    const struct op *op = op_by_id(id);
    void *attr = op->attr_bytes ? arena_alloc(l->arena, op->attr_bytes) : NULL;
    if (l->status != RILL_OK || (op->attr_bytes && !attr))
        return lower_fail(l, RILL_NOMEM);
    rill_status s = attr
        ? attrs_parse(op, l->at ? l->at->name : "clock", attrs, n_attrs, attr, l->err)
        : RILL_OK;
    return s == RILL_OK ? lower_node(l, id, attr, in, n_in) : lower_fail(l, s);
}

uint32_t lower_1(struct lower *l, enum op_id id, uint32_t x)
{
    return lower_op(l, id, NULL, 0, &x, 1);
}

uint32_t lower_2(struct lower *l, enum op_id id, uint32_t x, uint32_t y)
{
    return lower_op(l, id, NULL, 0, (uint32_t[]) { x, y }, 2);
}

uint32_t lower_where(struct lower *l, uint32_t condition, uint32_t x, uint32_t y)
{
    return lower_op(l, OP_WHERE, NULL, 0, (uint32_t[]) { condition, x, y }, 3);
}

uint32_t lower_const(struct lower *l, const struct tensor *t)
{
    uint32_t w = graph_add_const(l->dst, graph_name_next(l->dst, "constant"), t);
    return w == WIRE_NONE ? lower_fail(l, RILL_NOMEM) : w;
}

uint32_t lower_ints(struct lower *l, const int64_t *v, unsigned n)
{
    const int64_t count = n;
    return lower_const(l, tensor_from_data(l->arena, DTYPE_I64, 1, &count, v));
}

uint32_t lower_int(struct lower *l, int64_t v)
{
    return lower_const(l, tensor_from_data(l->arena, DTYPE_I64, 0, NULL, &v));
}

/* Of rank 0 or 1; integers where no size is open. */
static uint32_t sizes(struct lower *l, const struct dim *const *d, int rank, unsigned n)
{
    const int64_t count = n;
    int64_t v[2 * RANK_MAX];
    bool open = false;
    for (unsigned i = 0; i < n; i++) {
        open |= !dim_is_const(d[i]);
        v[i] = open ? 0 : dim_value(d[i]);
    }
    return lower_const(l,
                       open ? tensor_from_data(l->arena, DTYPE_DIM, rank, &count, d)
                            : tensor_from_data(l->arena, DTYPE_I64, rank, &count, v));
}

uint32_t lower_sizes(struct lower *l, const struct dim *const *d, unsigned n)
{
    return sizes(l, d, 1, n);
}

uint32_t lower_dim(struct lower *l, const struct dim *d)
{
    return sizes(l, &d, 0, 1);
}

uint32_t lower_zero(struct lower *l, enum dtype type)
{
    return lower_const(l, tensor_new(l->arena, type, 0, NULL));
}

uint32_t lower_float(struct lower *l, float v)
{
    return lower_const(l, tensor_from_data(l->arena, DTYPE_F32, 0, NULL, &v));
}

uint32_t lower_cast(struct lower *l, uint32_t x, enum dtype to)
{
    const struct attr attr = { .name = "to", .kind = ATTR_INT, .i = to };
    return lower_op(l, OP_CAST, &attr, 1, &x, 1);
}

uint32_t lower_slice(struct lower *l, uint32_t x, int axis, int64_t from, int64_t to)
{
    const int64_t at = axis;
    uint32_t in[4] = { x, lower_ints(l, &from, 1), lower_ints(l, &to, 1), lower_ints(l, &at, 1) };
    return lower_op(l, OP_SLICE, NULL, 0, in, 4);
}

uint32_t lower_slice_dims(struct lower *l, uint32_t x, int axis, const struct dim *from,
                          const struct dim *to)
{
    const int64_t at = axis;
    uint32_t in[4] = { x, lower_sizes(l, &from, 1), lower_sizes(l, &to, 1), lower_ints(l, &at, 1) };
    return lower_op(l, OP_SLICE, NULL, 0, in, 4);
}

uint32_t lower_gather(struct lower *l, uint32_t x, uint32_t at, int axis)
{
    const struct attr attr = { .name = "axis", .kind = ATTR_INT, .i = axis };
    return lower_op(l, OP_GATHER, &attr, 1, (uint32_t[]) { x, at }, 2);
}

uint32_t lower_concat(struct lower *l, int axis, uint32_t x, uint32_t y)
{
    const struct attr attr = { .name = "axis", .kind = ATTR_INT, .i = axis };
    return lower_op(l, OP_CONCAT, &attr, 1, (uint32_t[]) { x, y }, 2);
}

uint32_t lower_reshape(struct lower *l, uint32_t x, const int64_t *dim, int rank)
{
    return lower_2(l, OP_RESHAPE, x, lower_ints(l, dim, (unsigned) rank));
}

uint32_t lower_reshape_dims(struct lower *l, uint32_t x, const struct dim *const *dim, int rank)
{
    return lower_2(l, OP_RESHAPE, x, lower_sizes(l, dim, (unsigned) rank));
}

uint32_t lower_padded(struct lower *l, uint32_t x, int rank, int axis, int64_t before,
                      int64_t after)
{
    return lower_padded_dim(l, x, rank, axis, before, dim_int(l->dst->dims, after));
}

uint32_t lower_padded_dim(struct lower *l, uint32_t x, int rank, int axis, int64_t before,
                          const struct dim *after)
{
    const struct dim *pads[2 * RANK_MAX];
    if (before == 0 && dim_is(after, 0))
        return x;
    for (int i = 0; i < 2 * rank; i++)
        pads[i] = dim_int(l->dst->dims, i == axis ? before : 0);
    pads[rank + axis] = after;
    return lower_2(l, OP_PAD, x, lower_sizes(l, pads, 2 * (unsigned) rank));
}

uint32_t lower_place(struct lower *l, int64_t place)
{
    if (l->place[place] == WIRE_NONE)
        l->place[place] = lower_gather(l, l->map[l->clock], lower_int(l, place), 0);
    return l->place[place];
}
