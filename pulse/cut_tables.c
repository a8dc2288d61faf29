/* SPDX-License-Identifier: MIT */
#include "pulse/cut_tables.h"
#include "engine/ops/attrs.h"
#include "pulse/placed_edit.h"

#include <string.h>

/* A table, and the first row that is read of it, which depends on the length. */
struct cut {
    uint32_t table;
    const struct node *turn; /* a Transpose of what is cut out; NULL: there is none */
    const struct dim *from, *rows;
};

/* The node that writes the wire, if it is one of that op. */
static const struct node *producer(const struct graph *g, uint32_t wire, enum op_id id)
{
    const struct node *n = graph_producer(g, wire);
    return n && node_is(n, id) ? n : NULL;
}

/* The Gather reads rows of a constant that are cut along the axis that it picks on. */
static bool cut_of(const struct graph *g, const struct node *n, struct cut *ret)
{
    if (!node_is(n, OP_GATHER) || g->wires[n->in[1]].fact.type != DTYPE_I64)
        return false;
    const struct node *turn = producer(g, n->in[0], OP_TRANSPOSE),
                      *cut = producer(g, turn ? turn->in[0] : n->in[0], OP_SLICE);
    if (!cut || !g->wires[cut->in[0]].fact.value)
        return false;
    const struct fact *f = &g->wires[cut->out[0]].fact;
    const int picked = axis_normalise(axis_of(n), f->rank),
              axis = turn && transpose_attr_of(turn)->perm.n
        ? (int) transpose_attr_of(turn)->perm.v[picked]
        : turn ? f->rank - 1 - picked
               : picked;
    const struct tensor *from = node_value(g, cut, 1), *axes = node_value(g, cut, 3),
                        *steps = node_value(g, cut, 4);
    if (!from || from->type != DTYPE_DIM || tensor_count(from) != 1 ||
        axis_normalise(axes ? tensor_get_i64(axes, axes->data, 0) : 0, f->rank) != axis ||
        (steps && (steps->type == DTYPE_DIM || tensor_get_i64(steps, steps->data, 0) != 1)))
        return false;
    *ret =
        (struct cut) { cut->in[0], turn, *(const struct dim *const *) from->data, f->shape[axis] };
    return dim_has_symbol(ret->from);
}

/* Whether e, a sum of coordinates of a wire of fact f, is nowhere below 0: it is not where each of
 * those that take from it is the last. */
static bool nowhere_negative(const struct placed_edit *c, const struct dim *e, const struct fact *f)
{
    struct dims *ds = c->ps.dims;
    for (int k = 0; k < f->rank; k++) {
        const struct dim *size = positions_dim(&c->ps, f->shape[k], c->symbol);
        const struct dim *next = dim_subst(ds, e, c->ps.axis[k], dim_add_int(ds, c->ps.axis[k], 1));
        const struct dim *step = dim_sub(ds, next, e);
        if (!size || !dim_is_const(step))
            return false;
        if (dim_value(step) < 0)
            e = dim_subst(ds, e, c->ps.axis[k], dim_add_int(ds, size, -1));
    }
    return dim_is(dim_ge(ds, e, dim_int(ds, 0)), 1);
}

/* How many rows are cut out of a table that is long enough. */
static const struct dim *rows_of(const struct placed_edit *c, const struct dim *rows)
{
    const struct dim_parts x = dim_parts(rows);
    for (unsigned i = 0; x.form == DIM_FORM_MOST && x.n == 2 && i < 2; i++)
        if (dim_is(x.arg[i], 0))
            rows = x.arg[1 - i];
    return positions_dim(&c->ps, dim_unbounded(c->ps.graph, rows), c->symbol);
}

/* Whether all that it reads lies in what is cut out. */
static bool reads_inside(const struct placed_edit *c, uint32_t index, const struct cut *q)
{
    const struct position *at = &c->ps.of[index];
    const struct fact *f = &c->e->g->wires[index].fact;
    struct dims *ds = c->ps.dims;
    const struct dim *rows = rows_of(c, q->rows);
    return at->e && !at->pair && at->parts <= 1 && rows && nowhere_negative(c, at->e, f) &&
        nowhere_negative(c, dim_add_int(ds, dim_sub(ds, rows, at->e), -1), f);
}

/* index + from, in front of node `at`. */
static rill_status index_put(struct placed_edit *c, uint32_t at, const struct dim *from,
                             uint32_t *ret)
{
    struct graph *g = c->e->g;
    const struct op *op = op_by_id(OP_ADD);
    const uint32_t index = g->nodes[at].in[1];
    struct tensor *t = tensor_new(g->arena, DTYPE_DIM, 0, NULL);
    struct fact f = g->wires[index].fact;
    void *attr = arena_alloc(g->arena, op->attr_bytes + 1);
    if (!t || !attr)
        return err_set(c->err, RILL_NOMEM, "out of memory");
    *(const struct dim **) t->data = from;
    f.value = NULL;
    const uint32_t in[2] = { index, graph_add_const(g, "from", t) };
    *ret = graph_add_wire(g, g->wires[index].name, &f);
    TRY(attrs_parse(op, g->nodes[at].name, NULL, 0, attr, c->err));
    return in[1] != WIRE_NONE && *ret != WIRE_NONE && edit_insert(c->e, at, op, attr, in, 2, ret, 1)
        ? RILL_OK
        : err_set(c->err, RILL_NOMEM, "out of memory");
}

/* The whole table with its axes in the order of what was cut out: axis i is that one. NULL: no
 * memory. */
static const struct tensor *table_turned(struct arena *a, const struct tensor *x,
                                         const struct attr_ints *perm)
{
    int64_t dim[RANK_MAX], step[RANK_MAX], from[RANK_MAX];
    const size_t bytes = dtype_bytes(x->type);
    int64_t all = 1;
    for (int i = x->rank; i-- > 0; all *= x->dim[i])
        step[i] = all;
    for (int i = 0; i < x->rank; i++) {
        const int axis = perm->n ? (int) perm->v[i] : x->rank - 1 - i;
        dim[i] = x->dim[axis];
        from[i] = step[axis];
    }
    struct tensor *y = tensor_new(a, x->type, x->rank, dim);
    for (int64_t k = 0; y && k < all; k++) {
        int64_t at = 0, rest = k;
        for (int i = x->rank; i-- > 0; rest /= dim[i])
            at += rest % dim[i] * from[i];
        memcpy((char *) y->data + (size_t) k * bytes, (const char *) x->data + (size_t) at * bytes,
               bytes);
    }
    return y;
}

static rill_status turned_put(struct placed_edit *c, const struct cut *q, uint32_t *ret)
{
    struct graph *g = c->e->g;
    *ret = q->table;
    if (!q->turn)
        return RILL_OK;
    const struct tensor *t =
        table_turned(g->arena, g->wires[q->table].fact.value, &transpose_attr_of(q->turn)->perm);
    *ret = t ? graph_add_const(g, g->wires[q->table].name, t) : WIRE_NONE;
    return *ret != WIRE_NONE ? RILL_OK : err_set(c->err, RILL_NOMEM, "out of memory");
}

static rill_status node_look(struct placed_edit *c, uint32_t at)
{
    struct cut q;
    if (!cut_of(c->e->g, &c->e->g->nodes[at], &q))
        return RILL_OK;
    TRY(placed_edit_want(c));
    uint32_t in[2] = { q.table, c->e->g->nodes[at].in[1] };
    if (!c->found || in[1] >= c->e->n_wires || !reads_inside(c, in[1], &q))
        return RILL_OK;
    TRY(turned_put(c, &q, &in[0]));
    TRY(index_put(c, at, q.from, &in[1]));
    return edit_inputs(c->e, at, in, 2) ? RILL_OK : err_set(c->err, RILL_NOMEM, "out of memory");
}

rill_status graph_with_tables_whole(struct graph *ret, const struct graph *g, rill_error *reterr)
{
    return graph_edit_placed(ret, g, node_look, reterr);
}
