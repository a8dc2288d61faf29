/* SPDX-License-Identifier: MIT */
/* Linear resizing written out, as PyTorch's newer exporter does: the places of the output among
 * those of the input as floats, the neighbours on both sides gathered by their whole parts (the
 * right one is at most the last), and the sum of both by what is left. It becomes a Resize, whose
 * places do not end where floats cannot count any more. */
#include "engine/graph/edit.h"
#include "engine/ops/attrs.h"
#include "engine/ops/resize.h"
#include "engine/rewrite/declutter/match.h"
#include "engine/rewrite/declutter/passes.h"
#include "engine/rewrite/declutter/put.h"

#include <math.h>

/* Places of an axis of data, which may be turned behind. */
struct picked {
    const struct node *gather, *turned; /* turned NULL: not */
    uint32_t data, index;
    int axis;
};

struct resized {
    struct picked left, right;
    const struct dim *from, *to;
    float times; /* as long as before, a ratio; 0: as the lengths say */
};

static bool picked_of(const struct graph *g, uint32_t w, struct picked *ret)
{
    ret->turned = match_op(g, w, OP_TRANSPOSE);
    ret->gather = match_op(g, ret->turned ? ret->turned->in[0] : w, OP_GATHER);
    if (!ret->gather || g->wires[ret->gather->in[1]].fact.rank != 1)
        return false;
    ret->data = ret->gather->in[0];
    ret->index = ret->gather->in[1];
    ret->axis = axis_normalise(axis_of(ret->gather), g->wires[ret->data].fact.rank);
    return ret->axis >= 0;
}

static int64_t turned_to(const struct graph *g, const struct node *n, int i)
{
    const struct attr_ints perm = transpose_attr_of(n)->perm;
    return perm.n ? perm.v[i] : g->wires[n->in[0]].fact.rank - 1 - i;
}

/* Of the same data, along the same axis, and turned alike. */
static bool picked_alike(const struct graph *g, const struct picked *a, const struct picked *b)
{
    if (a->data != b->data || a->axis != b->axis || !a->turned != !b->turned)
        return false;
    for (int i = 0; a->turned && i < g->wires[a->data].fact.rank; i++)
        if (turned_to(g, a->turned, i) != turned_to(g, b->turned, i))
            return false;
    return true;
}

/* What is at least `least` and, where there is `most`, at most that. */
static bool clipped(const struct graph *g, uint32_t w, float least, const float *most,
                    uint32_t *ret)
{
    const struct node *n = match_op(g, w, OP_CLIP);
    if (!n || !node_has_input(n, 1) || !match_is_number(g, n->in[1], least) ||
        node_has_input(n, 2) != (most != NULL) || (most && !match_is_number(g, n->in[2], *most)))
        return false;
    *ret = n->in[0];
    return true;
}

/* The other operand of a sum with that number. */
static bool sum_with(const struct graph *g, uint32_t w, float number, uint32_t *ret)
{
    const struct node *n = match_op(g, w, OP_ADD);
    for (int k = 0; n && k < 2; k++)
        if (match_is_number(g, n->in[k], number)) {
            *ret = match_other(n, k);
            return true;
        }
    return false;
}

/* 0, 1, .. up to `to`, as floats. */
static bool counts(const struct graph *g, uint32_t w, const struct dim *to)
{
    const struct node *cast = match_op(g, w, OP_CAST),
                      *n = cast ? match_op(g, cast->in[0], OP_RANGE) : NULL;
    const struct dim *from = n ? match_size(g, n->in[0]) : NULL,
                     *by = n ? match_size(g, n->in[2]) : NULL;
    return from && by && dim_is(from, 0) && dim_is(by, 1) && match_size(g, n->in[1]) == to;
}

/* The ratio of whole numbers that 1 / scale stands for, of which Resize makes the same length. */
#define TIMES_MAX 1024
static bool is_ratio(const struct graph *g, float scale, struct resized *r)
{
    for (int64_t num = 1, a, b; num <= TIMES_MAX; num++) {
        const int64_t den = llround((double) scale * (double) num);
        const double times = (double) num / (double) den;
        if (den < 1 || den > TIMES_MAX || (float) ((double) den / (double) num) != scale)
            continue;
        r->times = (float) times;
        return resize_ratio(times, &a, &b) && a == num && b == den &&
            r->to == dim_div_int(g->dims, dim_mul_int(g->dims, r->from, num), den);
    }
    return false;
}

/* Frames of the input for one of the output. */
static bool is_scale(const struct graph *g, uint32_t w, struct resized *r)
{
    const struct node *n = match_op(g, w, OP_DIV);
    const struct node *from = n ? match_op(g, n->in[0], OP_CAST) : NULL,
                      *to = n ? match_op(g, n->in[1], OP_CAST) : NULL;
    float scale;
    r->times = 0;
    if (from && to)
        return match_size(g, from->in[0]) == r->from && match_size(g, to->in[0]) == r->to;
    return match_number(g, w, &scale) && scale > 0 && scale <= TIMES_MAX && is_ratio(g, scale, r);
}

/* max(0, (i + 0.5) * scale - 0.5) */
static bool is_place(const struct graph *g, uint32_t w, struct resized *r)
{
    uint32_t x, i;
    if (!clipped(g, w, 0, NULL, &x))
        return false;
    const struct node *sub = match_op(g, x, OP_SUB),
                      *mul = sub ? match_op(g, sub->in[0], OP_MUL) : NULL;
    for (int k = 0; mul && match_is_number(g, sub->in[1], 0.5F) && k < 2; k++)
        if (is_scale(g, match_other(mul, k), r) && sum_with(g, mul->in[k], 0.5F, &i))
            return counts(g, i, r->to);
    return false;
}

/* min(left + 1, from - 1) */
static bool is_right(const struct graph *g, uint32_t w, const struct resized *r)
{
    const struct node *n = match_op(g, w, OP_CLIP);
    const struct dim *most = n && node_has_input(n, 2) ? match_size(g, n->in[2]) : NULL;
    const struct node *sum = n ? match_op(g, n->in[0], OP_ADD) : NULL;
    if (!most || most != dim_add_int(g->dims, r->from, -1) || node_has_input(n, 1))
        return false;
    for (int k = 0; sum && k < 2; k++) {
        const struct dim *one = match_size(g, sum->in[k]);
        if (one && dim_is(one, 1) && match_other(sum, k) == r->left.index)
            return true;
    }
    return false;
}

/* What is left of a place, 0 to 1, along the axis of the output. */
static bool is_rest(const struct graph *g, uint32_t w, struct resized *r)
{
    static const float one = 1;
    const struct node *whole = match_op(g, r->left.index, OP_CAST), *n, *moves;
    uint32_t x;
    while ((moves = match_op(g, w, OP_UNSQUEEZE)))
        w = moves->in[0];
    if (!whole || g->wires[w].fact.rank != 1 || !clipped(g, w, 0, &one, &x) ||
        !(n = match_op(g, x, OP_SUB)) || n->in[0] != whole->in[0])
        return false;
    const struct node *back = match_op(g, n->in[1], OP_CAST);
    return back && back->in[0] == r->left.index && is_place(g, n->in[0], r);
}

/* The axis of what comes out along which it was picked. */
static int axis_out(const struct graph *g, const struct picked *q)
{
    for (int i = 0; q->turned && i < g->wires[q->data].fact.rank; i++)
        if (turned_to(g, q->turned, i) == q->axis)
            return i;
    return q->axis;
}

/* The wire runs along one axis of a tensor of that rank. */
static bool lies_along(const struct graph *g, uint32_t w, int rank, int axis)
{
    const struct fact *f = &g->wires[w].fact;
    for (int i = 0; i < f->rank; i++)
        if (i != axis - (rank - f->rank) && !dim_is(f->shape[i], 1))
            return false;
    return axis >= rank - f->rank;
}

/* left + (right - left) * rest, left being operand k. */
static bool resized_find(const struct graph *g, const struct node *n, int k, struct resized *r)
{
    const struct node *mul = match_op(g, match_other(n, k), OP_MUL);
    const int rank = g->wires[n->out[0]].fact.rank;
    for (int m = 0; mul && m < 2; m++) {
        const struct node *sub = match_op(g, mul->in[m], OP_SUB);
        if (!sub || sub->in[1] != n->in[k] || !picked_of(g, sub->in[1], &r->left) ||
            !picked_of(g, sub->in[0], &r->right) || !picked_alike(g, &r->left, &r->right))
            continue;
        const struct picked *q = &r->left;
        r->from = dim_refresh(g->dims, g->wires[q->data].fact.shape[q->axis]);
        r->to = dim_refresh(g->dims, g->wires[q->index].fact.shape[0]);
        return g->wires[q->data].fact.type == DTYPE_F32 && g->wires[q->data].fact.rank == rank &&
            lies_along(g, match_other(mul, m), rank, axis_out(g, q)) &&
            is_right(g, r->right.index, r) && is_rest(g, match_other(mul, m), r);
    }
    return false;
}

static rill_status attr_make(struct graph *g, const char *name, int axis, void **ret,
                             rill_error *reterr)
{
    const struct op *op = op_by_id(OP_RESIZE);
    int64_t *along = arena_new(g->arena, int64_t);
    *ret = arena_alloc(g->arena, op->attr_bytes + 1);
    if (!*ret || !along)
        return err_set(reterr, RILL_NOMEM, "out of memory");
    *along = axis;
    const struct attr list[] = {
        { .name = "mode",
          .kind = ATTR_STRINGS,
          .strings = { 1, (const char *const[]) { "linear" } } },
        { .name = "axes", .kind = ATTR_INTS, .ints = { 1, along } },
    };
    return attrs_parse(op, name, list, 2, *ret, reterr);
}

static uint32_t scales_put(struct graph *g, float times)
{
    const int64_t n = 1;
    return graph_add_const(g, "scales", tensor_from_data(g->arena, DTYPE_F32, 1, &n, &times));
}

/* The sum becomes the Resize, or the Transpose behind it. */
static rill_status resize_put(struct edit *e, uint32_t at, const struct resized *r,
                              rill_error *reterr)
{
    struct graph *g = e->g;
    const struct picked *q = &r->left;
    const uint32_t last = r->times > 0 ? scales_put(g, r->times) : put_sizes(g, "sizes", &r->to, 1);
    const unsigned n_in = r->times > 0 ? 3 : 4;
    const uint32_t in[] = { q->data, WIRE_NONE, n_in == 3 ? last : WIRE_NONE, last };
    uint32_t out = graph_add_wire(g, g->nodes[at].name, &g->wires[q->gather->out[0]].fact);
    void *attr = NULL;
    TRY(attr_make(g, g->nodes[at].name, q->axis, &attr, reterr));
    bool ok = last != WIRE_NONE && out != WIRE_NONE;
    if (ok && q->turned) {
        const struct node *turned = q->turned;
        ok = edit_insert(e, at, op_by_id(OP_RESIZE), attr, in, n_in, &out, 1) &&
            edit_inputs(e, at, &out, 1);
        g->nodes[at].op = op_by_id(OP_TRANSPOSE);
        g->nodes[at].attr = turned->attr;
    } else if (ok) {
        ok = edit_inputs(e, at, in, n_in);
        g->nodes[at].op = op_by_id(OP_RESIZE);
        g->nodes[at].attr = attr;
    }
    return ok ? RILL_OK : err_set(reterr, RILL_NOMEM, "out of memory");
}

rill_status graph_with_resizes_recognised(struct graph *ret, const struct graph *g,
                                          rill_error *reterr)
{
    struct edit e;
    struct resized r;
    TRY(edit_begin(&e, ret, g, reterr));
    for (uint32_t i = 0; i < e.n_nodes; i++) {
        const struct node *n = &ret->nodes[i];
        if (node_is(n, OP_ADD) && (resized_find(ret, n, 0, &r) || resized_find(ret, n, 1, &r)))
            TRY(resize_put(&e, i, &r, reterr));
    }
    return edit_end(&e, reterr);
}
