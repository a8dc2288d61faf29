/* SPDX-License-Identifier: MIT */
#include "engine/rewrite/declutter/put.h"
#include "engine/ops/attrs.h"

static rill_status no_memory(rill_error *err)
{
    return err_set(err, RILL_NOMEM, "out of memory");
}

rill_status put_wire(struct graph *g, const char *name, const struct fact *f, uint32_t *ret,
                     rill_error *err)
{
    struct fact plain = *f;
    plain.value = NULL;
    *ret = graph_add_wire(g, name, &plain);
    return *ret == WIRE_NONE ? no_memory(err) : RILL_OK;
}

uint32_t put_sizes(struct graph *g, const char *name, const struct dim *const *sizes, int64_t n)
{
    struct tensor *t = tensor_new(g->arena, DTYPE_DIM, 1, &n);
    for (int64_t i = 0; t && i < n; i++)
        ((const struct dim **) t->data)[i] = sizes[i];
    const struct tensor *list = t ? tensor_resolved(g->arena, t) : NULL;
    return list ? graph_add_const(g, name, list) : WIRE_NONE;
}

rill_status put_ints(struct graph *g, struct attr_ints list, uint32_t *ret, rill_error *err)
{
    const int64_t n = list.n;
    *ret = graph_add_const(g, "sizes", tensor_from_data(g->arena, DTYPE_I64, 1, &n, list.v));
    return *ret == WIRE_NONE ? no_memory(err) : RILL_OK;
}

rill_status put_op(struct graph *g, enum op_id id, const uint32_t *in, unsigned n_in,
                   const struct fact *f, uint32_t *out, void **ret_attr, rill_error *err)
{
    const struct op *op = op_by_id(id);
    const char *name = g->wires[in[0]].name;
    void *attr = arena_alloc(g->arena, op->attr_bytes + 1);
    if (!attr)
        return no_memory(err);
    if (id != OP_FRAME && id != OP_CONCAT)
        TRY(attrs_parse(op, name, NULL, 0, attr, err));
    if (*out == WIRE_NONE)
        TRY(put_wire(g, name, f, out, err));
    if (ret_attr)
        *ret_attr = attr;
    return graph_add_node(g, op, name, attr, in, n_in, out, 1) ? RILL_OK : no_memory(err);
}

rill_status put_before(struct edit *e, uint32_t at, const struct op *op, const void *attr,
                       const uint32_t *in, unsigned n_in, uint32_t *ret, rill_error *err)
{
    struct graph *g = e->g;
    const char *name = g->nodes[at].name;
    const struct fact *facts[PUT_INPUTS];
    struct fact out;
    void *own = attr ? NULL : arena_alloc(g->arena, op->attr_bytes + 1);
    if (n_in > PUT_INPUTS || (!attr && !own))
        return no_memory(err);
    if (own)
        TRY(attrs_parse(op, name, NULL, 0, own, err));
    for (unsigned i = 0; i < n_in; i++)
        facts[i] = in[i] == WIRE_NONE ? NULL : &g->wires[in[i]].fact;
    const struct node n = { .name = name,
                            .op = op,
                            .attr = attr ? attr : own,
                            .in = (uint32_t *) (uintptr_t) in,
                            .n_in = n_in,
                            .n_out = 1 };
    TRY(op_infer(&n, facts, &out, g->dims, g->arena, err));
    *ret = graph_add_wire(g, name, &out);
    return *ret != WIRE_NONE && edit_insert(e, at, op, n.attr, in, n_in, ret, 1) ? RILL_OK
                                                                                 : no_memory(err);
}

rill_status put_turned(struct graph *g, uint32_t wire, const int64_t *perm, uint32_t *out,
                       rill_error *err)
{
    struct fact f = g->wires[wire].fact, turned = f;
    void *attr;
    bool same = true;
    for (int i = 0; i < f.rank; i++) {
        turned.shape[i] = f.shape[perm[i]];
        same &= perm[i] == i;
    }
    if (same && *out == WIRE_NONE) {
        *out = wire;
        return RILL_OK;
    }
    int64_t *v = arena_copy(g->arena, perm, (size_t) f.rank * sizeof *v);
    if (!v)
        return no_memory(err);
    TRY(put_op(g, OP_TRANSPOSE, &wire, 1, &turned, out, &attr, err));
    ((struct transpose_attr *) attr)->perm = (struct attr_ints) { (uint32_t) f.rank, v };
    return RILL_OK;
}

rill_status put_cut(struct graph *g, uint32_t wire, int axis, int64_t front, int64_t end,
                    uint32_t *ret, rill_error *err)
{
    const int64_t cut[4] = { front, end ? -end : INT64_MAX, axis, 1 };
    struct fact f = g->wires[wire].fact;
    uint32_t in[5] = { wire };
    *ret = wire;
    if (!front && !end)
        return RILL_OK;
    for (unsigned k = 0; k < 4; k++)
        TRY(put_ints(g, (struct attr_ints) { 1, &cut[k] }, &in[1 + k], err));
    f.shape[axis] = dim_add_int(g->dims, f.shape[axis], -front - end);
    *ret = WIRE_NONE;
    return put_op(g, OP_SLICE, in, 5, &f, ret, NULL, err);
}
