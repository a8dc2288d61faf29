/* SPDX-License-Identifier: MIT */
/* Rows that a Reshape made of several axes, time not the first of them ([K, S, F] -> [K*S, F], as
 * attention within chunks is written), cannot be cut along time. Ops on each row alone are done
 * before the axes are merged; a Reshape that splits them again takes the axes as they were. */
#include "engine/graph/edit.h"
#include "engine/ops/attrs.h"
#include "engine/rewrite/declutter/match.h"
#include "engine/rewrite/declutter/passes.h"
#include "engine/rewrite/declutter/put.h"

struct rows {
    struct edit *e;
    rill_error *err;
};

static rill_status no_memory(const struct rows *r)
{
    return err_set(r->err, RILL_NOMEM, "out of memory");
}

static const struct fact *fact_at(const struct rows *r, uint32_t w)
{
    return &r->e->g->wires[w].fact;
}

/* ---- which ---- */

/* The first axes of x, which together are the first of y: their number; 0: there are none, or time
 * is the outermost of them. */
static int merged_axes(const struct graph *g, const struct fact *x, const struct fact *y)
{
    const struct dim *size = dim_int(g->dims, 1), *front = NULL;
    for (int k = 0; y->rank > 0 && k < x->rank; k++) {
        front = dim_has_symbol(x->shape[k]) && !front ? size : front;
        size = dim_mul(g->dims, size, x->shape[k]);
        if (k > 0 && size == y->shape[0])
            return front && !dim_is(front, 1) ? k + 1 : 0;
    }
    return 0;
}

/* The tensor whose first *ret_axes axes the wire has merged; WIRE_NONE: it has not. */
static uint32_t behind_merge(const struct rows *r, uint32_t w, int *ret_axes)
{
    const struct node *n = match_op(r->e->g, w, OP_RESHAPE);
    n = n || w == WIRE_NONE ? n : match_op(r->e->g, w, OP_FLATTEN);
    if (!n)
        return WIRE_NONE;
    *ret_axes = merged_axes(r->e->g, fact_at(r, n->in[0]), fact_at(r, w));
    return *ret_axes && *ret_axes + fact_at(r, w)->rank - 1 <= RANK_MAX ? n->in[0] : WIRE_NONE;
}

/* Ops that do the same with each row, of input 0 at least. */
static bool is_of_rows(const struct rows *r, const struct node *n)
{
    static const enum op_id last[] = { OP_LAYER_NORMALIZATION, OP_SOFTMAX, OP_LOG_SOFTMAX };
    const struct gemm_attr *gemm = node_is(n, OP_GEMM) ? gemm_attr_of(n) : NULL;
    if (n->n_out != 1 || n->n_in == 0)
        return false;
    if (gemm)
        return !gemm->ta && gemm->alpha == 1 && gemm->beta == 1 && !gemm->epilogue.n;
    if (node_is(n, OP_MATMUL))
        return n->in[0] != n->in[1] && fact_at(r, n->in[1])->rank == 2 &&
            fact_at(r, n->in[0])->rank >= 2;
    return (n->op->flags & OP_POINTWISE) ||
        (node_is_among(n, last, sizeof last / sizeof *last) && axis_of(n) < 0 &&
         -axis_of(n) < fact_at(r, n->in[0])->rank);
}

/* The other side of a product, whatever it is made of. */
static bool is_other_side(const struct node *n, unsigned i)
{
    return i == 1 && (node_is(n, OP_GEMM) || node_is(n, OP_MATMUL));
}

/* Broadcast along the rows. */
static bool is_of_all_rows(const struct rows *r, const struct node *n, unsigned i, int rank)
{
    if (n->in[i] == WIRE_NONE || is_other_side(n, i))
        return true;
    return fact_at(r, n->in[i])->rank < rank;
}

/* The axes that all rows of n were merged of are those of wire x; WIRE_NONE: they are not. */
static uint32_t merged_of(const struct rows *r, const struct node *n, int *ret_axes)
{
    uint32_t x = WIRE_NONE;
    const int rank = n->n_out == 1 ? fact_at(r, n->out[0])->rank : 0;
    if (!is_of_rows(r, n))
        return x;
    for (unsigned i = 0; i < n->n_in; i++) {
        int axes;
        const uint32_t w = n->in[i] == WIRE_NONE || is_other_side(n, i)
            ? WIRE_NONE
            : behind_merge(r, n->in[i], &axes);
        const bool same = w != WIRE_NONE && fact_at(r, n->in[i])->rank == rank;
        if (!same && !is_of_all_rows(r, n, i, rank))
            return WIRE_NONE;
        for (int k = 0; same && x != WIRE_NONE && k < axes; k++)
            if (axes != *ret_axes || fact_at(r, x)->shape[k] != fact_at(r, w)->shape[k])
                return WIRE_NONE;
        x = same && x == WIRE_NONE ? w : x;
        *ret_axes = same ? axes : *ret_axes;
    }
    return x;
}

/* ---- the same before the axes are merged ---- */

static uint32_t sizes_add(const struct rows *r, const struct fact *f)
{
    return put_sizes(r->e->g, "sizes", f->shape, f->rank);
}

/* f with the first `axes` axes of x for its first one. */
static struct fact apart(const struct rows *r, const struct fact *f, uint32_t x, int axes)
{
    struct fact y = *f;
    y.value = NULL;
    y.rank = f->rank - 1 + axes;
    for (int i = 0; i < y.rank; i++)
        y.shape[i] = i < axes ? fact_at(r, x)->shape[i] : f->shape[i - axes + 1];
    return y;
}

/* Before node `at`; *ret gets the wire that it writes. */
static rill_status put(const struct rows *r, uint32_t at, enum op_id id, const void *attr,
                       const uint32_t *in, unsigned n_in, const struct fact *f, uint32_t *ret)
{
    const struct op *op = op_by_id(id);
    struct graph *g = r->e->g;
    void *own = arena_alloc(g->arena, op->attr_bytes + 1);
    if (!own)
        return no_memory(r);
    if (!attr)
        TRY(attrs_parse(op, g->nodes[at].name, NULL, 0, own, r->err));
    const uint32_t w = graph_add_wire(g, g->nodes[at].name, f);
    if (w == WIRE_NONE || !edit_insert(r->e, at, op, attr ? attr : own, in, n_in, &w, 1))
        return no_memory(r);
    *ret = w;
    return RILL_OK;
}

static rill_status reshape_put(const struct rows *r, uint32_t at, uint32_t w, const struct fact *f,
                               uint32_t *ret)
{
    const uint32_t in[2] = { w, sizes_add(r, f) };
    if (in[1] == WIRE_NONE)
        return no_memory(r);
    return put(r, at, OP_RESHAPE, NULL, in, 2, f, ret);
}

/* Input w, its rows not merged where they were. */
static rill_status operand_put(const struct rows *r, uint32_t at, uint32_t *w)
{
    int axes;
    const uint32_t x = *w == WIRE_NONE ? WIRE_NONE : behind_merge(r, *w, &axes);
    if (x == WIRE_NONE)
        return RILL_OK;
    const struct fact f = apart(r, fact_at(r, *w), x, axes);
    if (f.type == fact_at(r, x)->type && fact_same(&f, fact_at(r, x))) {
        *w = x;
        return RILL_OK;
    }
    return reshape_put(r, at, x, &f, w);
}

/* Gemm has rows in two axes only: a product and a sum. */
static rill_status gemm_put(const struct rows *r, uint32_t at, uint32_t *in, unsigned n_in,
                            const struct fact *f, uint32_t *ret)
{
    static const struct transpose_attr turned = { .perm = { 0 } };
    if (gemm_attr_of(&r->e->g->nodes[at])->tb) {
        struct fact w = *fact_at(r, in[1]);
        w.value = NULL;
        w.shape[0] = fact_at(r, in[1])->shape[1];
        w.shape[1] = fact_at(r, in[1])->shape[0];
        TRY(put(r, at, OP_TRANSPOSE, &turned, &in[1], 1, &w, &in[1]));
    }
    TRY(put(r, at, OP_MATMUL, NULL, in, 2, f, ret));
    if (n_in < 3 || in[2] == WIRE_NONE)
        return RILL_OK;
    return put(r, at, OP_ADD, NULL, (uint32_t[]) { *ret, in[2] }, 2, f, ret);
}

/* Node `at` becomes the Reshape that merges what it does with rows apart. */
static rill_status rows_move(const struct rows *r, uint32_t at, uint32_t x, int axes)
{
    struct graph *g = r->e->g;
    const struct node n = g->nodes[at];
    const struct fact f = apart(r, fact_at(r, n.out[0]), x, axes);
    uint32_t *in = arena_copy(g->arena, n.in, n.n_in * sizeof *in), y, sizes;
    void *plain = arena_alloc(g->arena, op_by_id(OP_RESHAPE)->attr_bytes + 1);
    if (!in || !plain)
        return no_memory(r);
    for (unsigned i = 0; i < n.n_in; i++)
        TRY(is_other_side(&n, i) ? RILL_OK : operand_put(r, at, &in[i]));
    if (node_is(&n, OP_GEMM))
        TRY(gemm_put(r, at, in, n.n_in, &f, &y));
    else
        TRY(put(r, at, n.op->id, n.attr, in, n.n_in, &f, &y));
    TRY(attrs_parse(op_by_id(OP_RESHAPE), n.name, NULL, 0, plain, r->err));
    sizes = sizes_add(r, fact_at(r, n.out[0]));
    if (sizes == WIRE_NONE || !edit_inputs(r->e, at, (uint32_t[]) { y, sizes }, 2))
        return no_memory(r);
    g->nodes[at].op = op_by_id(OP_RESHAPE);
    g->nodes[at].attr = plain;
    return RILL_OK;
}

/* A Reshape of merged rows takes what they were merged of. */
static rill_status split_move(const struct rows *r, uint32_t at)
{
    const struct node *n = &r->e->g->nodes[at];
    int axes;
    const uint32_t x = node_is(n, OP_RESHAPE) && n->in[0] != WIRE_NONE
        ? behind_merge(r, n->in[0], &axes)
        : WIRE_NONE;
    if (x == WIRE_NONE)
        return RILL_OK;
    const uint32_t sizes = sizes_add(r, fact_at(r, n->out[0]));
    return sizes != WIRE_NONE && edit_inputs(r->e, at, (uint32_t[]) { x, sizes }, 2) ? RILL_OK
                                                                                     : no_memory(r);
}

rill_status graph_with_rows_apart(struct graph *ret, const struct graph *g, rill_error *reterr)
{
    struct edit e;
    const struct rows r = { &e, reterr };
    TRY(edit_begin(&e, ret, g, reterr));
    for (uint32_t i = 0; i < e.n_nodes; i++) {
        int axes = 0;
        const uint32_t x = merged_of(&r, &ret->nodes[i], &axes);
        TRY(x != WIRE_NONE ? rows_move(&r, i, x, axes) : split_move(&r, i));
    }
    return edit_end(&e, reterr);
}
