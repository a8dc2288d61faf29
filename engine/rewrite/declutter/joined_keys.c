/* SPDX-License-Identifier: MIT */
/* What was joined along time and is split again behind attention, as queries and summaries of
 * segments, is computed apart.
 *
 * A softmax over scores of several runs of keys that were joined, as a memory and the frames
 * themselves, is one over each: exponentials under the largest of all, and what they weigh, are
 * summed apart and then together. Nothing is joined along time any more. So is one over scores
 * beside which there are columns of sinks, that are cut off again (Xiao et al., 2023). */
#include "engine/graph/edit.h"
#include "engine/ops/attrs.h"
#include "engine/rewrite/declutter/match.h"
#include "engine/rewrite/declutter/passes.h"
#include "engine/rewrite/declutter/put.h"

#include <string.h>

#define PARTS_MAX 4
#define SINKS_MAX 1024
#define LOOKS_MAX 256      /* nodes that are taken apart */
#define FILL_MAX (1 << 20) /* elements of what pads */

struct parts {
    unsigned n;
    uint32_t w[PARTS_MAX];
};

struct apart {
    struct edit *e;
    uint32_t at;    /* the node that what is made goes before */
    unsigned looks; /* that are left */
    bool nested;    /* parts are taken apart that constants were joined to */
    rill_error *err;
    rill_status status;
};

static const struct fact *fact_at(const struct apart *l, uint32_t w)
{
    return &l->e->g->wires[w].fact;
}

/* Size of the axis that is `back` from the end; NULL: there is none. */
static const struct dim *size_at(const struct apart *l, uint32_t w, int back)
{
    const struct fact *f = w == WIRE_NONE ? NULL : fact_at(l, w);
    return f && back <= f->rank ? f->shape[f->rank - back] : NULL;
}

/* A node of that op; attr NULL: its defaults. WIRE_NONE and a status where it cannot be made. */
static uint32_t put(struct apart *l, const struct op *op, const void *attr, const uint32_t *in,
                    unsigned n_in)
{
    uint32_t w = WIRE_NONE;
    if (l->status == RILL_OK && n_in <= PUT_INPUTS)
        l->status = put_before(l->e, l->at, op, attr, in, n_in, &w, l->err);
    return w;
}

static uint32_t put_two(struct apart *l, enum op_id id, uint32_t a, uint32_t b)
{
    return put(l, op_by_id(id), NULL, (uint32_t[]) { a, b }, 2);
}

/* ---- taking a wire apart along an axis ---- */

static bool take_apart(struct apart *l, uint32_t w, int back, struct parts *ret);

static bool parts_fit(const struct apart *l, const struct parts *a, int back_a,
                      const struct parts *b, int back_b)
{
    bool fit = a->n == b->n;
    for (unsigned k = 0; fit && k < a->n; k++)
        fit = size_at(l, a->w[k], back_a) == size_at(l, b->w[k], back_b);
    return fit;
}

/* The parts are as large as what they are of on all other axes: what pads it is of size 1 on those
 * that are open, which only element by element is the same. */
static bool parts_whole(const struct apart *l, uint32_t w, int back, const struct parts *of)
{
    const int rank = fact_at(l, w)->rank;
    for (unsigned k = 0; k < of->n; k++)
        for (int b = 1; b <= rank; b++)
            if (b != back && size_at(l, of->w[k], b) != size_at(l, w, b))
                return false;
    return true;
}

static bool whole_apart(struct apart *l, uint32_t w, int back, struct parts *ret)
{
    return take_apart(l, w, back, ret) && parts_whole(l, w, back, ret);
}

/* The node on each part of input i, the other inputs as they are. */
static bool node_on_parts(struct apart *l, const struct node *n, unsigned i, const struct parts *of,
                          struct parts *ret)
{
    uint32_t in[8];
    for (unsigned k = 0; k < of->n; k++) {
        for (unsigned j = 0; j < n->n_in; j++)
            in[j] = j == i ? of->w[k] : n->in[j];
        ret->w[k] = put(l, n->op, n->attr, in, n->n_in);
    }
    ret->n = of->n;
    return l->status == RILL_OK;
}

/* The parts of one input on that axis. */
static bool node_apart(struct apart *l, const struct node *n, unsigned i, int back,
                       struct parts *ret)
{
    struct parts of;
    return n->n_in <= 8 && whole_apart(l, n->in[i], back, &of) && node_on_parts(l, n, i, &of, ret);
}

/* Of an op that moves axes: those of size 1 stay so. */
static bool moved_apart(struct apart *l, const struct node *n, int back, struct parts *ret)
{
    struct parts of;
    return n->n_in <= 8 && take_apart(l, n->in[0], back, &of) && node_on_parts(l, n, 0, &of, ret);
}

/* One place of that axis of a wire that is the same number all over; WIRE_NONE: it is none. */
static uint32_t uniform_put(struct apart *l, uint32_t w, int back)
{
    struct graph *g = l->e->g;
    const struct node *of = match_op(g, w, OP_CONSTANT_OF_SHAPE);
    const struct dim *sizes[RANK_MAX];
    if (!of)
        return WIRE_NONE;
    const struct node n = *of; /* nodes may move while others are put in */
    const struct fact *f = fact_at(l, w);
    for (int i = 0; i < f->rank; i++)
        sizes[i] = i == f->rank - back ? dim_int(g->dims, 1) : f->shape[i];
    const uint32_t shape = put_sizes(g, n.name, sizes, f->rank);
    return shape == WIRE_NONE ? WIRE_NONE : put(l, n.op, n.attr, &shape, 1);
}

/* Inputs that have the axis are taken apart, all alike. */
static bool elements_apart(struct apart *l, const struct node *n, int back, struct parts *ret)
{
    struct parts of[4];
    bool has[4] = { false };
    uint32_t whole[4];
    int first = -1;
    if (n->n_in > 4)
        return false;
    for (unsigned i = 0; i < n->n_in; i++) {
        const struct dim *size = size_at(l, n->in[i], back);
        const bool along = size && !dim_is(size, 1);
        const uint32_t same = along ? uniform_put(l, n->in[i], back) : WIRE_NONE;
        whole[i] = same == WIRE_NONE ? n->in[i] : same;
        has[i] = along && same == WIRE_NONE;
        if (has[i] &&
            (!take_apart(l, n->in[i], back, &of[i]) ||
             (first >= 0 && !parts_fit(l, &of[first], back, &of[i], back))))
            return false;
        first = has[i] && first < 0 ? (int) i : first;
    }
    ret->n = first < 0 ? 0 : of[first].n;
    for (unsigned k = 0; k < ret->n; k++) {
        uint32_t in[4];
        for (unsigned i = 0; i < n->n_in; i++)
            in[i] = has[i] ? of[i].w[k] : whole[i];
        ret->w[k] = put(l, n->op, n->attr, in, n->n_in);
    }
    return ret->n > 0 && l->status == RILL_OK;
}

#define STEPS_MAX 8

/* Nothing but constants goes into it. */
static bool is_fixed(const struct graph *g, uint32_t w, int steps)
{
    const struct node *n = w == WIRE_NONE ? NULL : graph_producer(g, w);
    bool fixed = n && !n->n_body && steps < STEPS_MAX;
    for (unsigned i = 0; fixed && i < n->n_in; i++)
        fixed = n->in[i] == WIRE_NONE || is_fixed(g, n->in[i], steps + 1);
    return fixed || (w != WIRE_NONE && match_value(g, w));
}

/* All but one part are constants; that one is open. */
static bool constants_beside(const struct apart *l, const struct parts *of, int back)
{
    unsigned open = 0;
    for (unsigned k = 0; k < of->n; k++) {
        const bool known = dim_is_const(size_at(l, of->w[k], back));
        open += !known;
        if (known && !is_fixed(l->e->g, of->w[k], 0))
            return false;
    }
    return open == 1;
}

/* A learned key and one of zeros were put beside the frames one after the other. */
static bool parts_flatten(struct apart *l, int back, struct parts *of)
{
    struct parts all = { 0 };
    for (unsigned k = 0; l->nested && k < of->n; k++) {
        const struct parts whole = { 1, { of->w[k] } };
        struct parts in;
        if (dim_is_const(size_at(l, of->w[k], back)) || !take_apart(l, of->w[k], back, &in) ||
            !constants_beside(l, &in, back))
            in = whole;
        for (unsigned i = 0; i < in.n && all.n <= PARTS_MAX; i++, all.n++)
            if (all.n < PARTS_MAX)
                all.w[all.n] = in.w[i];
    }
    if (l->nested && all.n <= PARTS_MAX)
        *of = all;
    return l->status == RILL_OK;
}

static bool concat_apart(struct apart *l, const struct node *n, int back, struct parts *ret)
{
    const int rank = fact_at(l, n->out[0])->rank;
    if (axis_normalise(axis_of(n), rank) != rank - back || n->n_in < 2 || n->n_in > PARTS_MAX)
        return false;
    ret->n = n->n_in;
    for (unsigned k = 0; k < n->n_in; k++)
        ret->w[k] = n->in[k];
    return parts_flatten(l, back, ret);
}

/* Which end of that axis a Pad makes longer and by how many, *ret_more; no other. */
static bool pad_end(const struct apart *l, const struct node *n, int axis, int64_t *ret_more,
                    bool *ret_behind)
{
    const int rank = fact_at(l, n->in[0])->rank;
    int64_t pads[2 * RANK_MAX], others = 0;
    unsigned count;
    if (pad_attr_of(n)->mode != 0 || node_has_input(n, 3) ||
        !match_ints(l->e->g, n->in[1], pads, 2 * RANK_MAX, &count) || (int) count != 2 * rank)
        return false;
    for (int i = 0; i < 2 * rank; i++)
        others += i % rank != axis && pads[i] != 0;
    *ret_behind = pads[axis] == 0;
    *ret_more = pads[axis] + pads[rank + axis];
    return others == 0 && *ret_more > 0 && *ret_more <= SINKS_MAX &&
        (pads[axis] == 0 || pads[rank + axis] == 0);
}

/* `more` places of what pads along the axis, of size 1 on others that are open; NULL: too many. */
static struct tensor *fill_make(const struct apart *l, const struct fact *x, int axis, int64_t more,
                                const struct tensor *fill)
{
    const size_t bytes = dtype_bytes(x->type);
    int64_t dim[RANK_MAX], count = 1;
    for (int i = 0; i < x->rank; i++) {
        dim[i] = i == axis ? more : dim_is_const(x->shape[i]) ? dim_value(x->shape[i]) : 1;
        if (dim[i] > FILL_MAX || (count *= dim[i]) > FILL_MAX)
            return NULL;
    }
    struct tensor *t = tensor_new(l->e->g->arena, x->type, x->rank, dim);
    for (int64_t i = 0; t && fill && i < count; i++)
        memcpy((unsigned char *) t->data + (size_t) i * bytes, fill->data, bytes);
    return t;
}

/* What is padded, and what pads it. */
static bool pad_apart(struct apart *l, const struct node *n, int back, struct parts *ret)
{
    const struct fact *x = fact_at(l, n->in[0]);
    const struct tensor *fill = node_has_input(n, 2) ? match_value(l->e->g, n->in[2]) : NULL;
    const int axis = x->rank - back;
    int64_t more = 0;
    bool behind = false;
    if (!pad_end(l, n, axis, &more, &behind) || (node_has_input(n, 2) && !fill))
        return false;
    struct tensor *t = fill_make(l, x, axis, more, fill);
    if (!t)
        return false;
    const uint32_t pads = graph_add_const(l->e->g, n->name, t);
    ret->n = 2;
    ret->w[!behind] = n->in[0];
    ret->w[behind] = pads;
    if (pads == WIRE_NONE)
        l->status = err_set(l->err, RILL_NOMEM, "out of memory");
    return l->status == RILL_OK && parts_flatten(l, back, ret);
}

/* Sizes of the output, `size` along its axis `to`; WIRE_NONE: another one is not known. */
static uint32_t sizes_put(struct apart *l, const struct node *n, int to, int64_t size)
{
    struct graph *g = l->e->g;
    const struct fact *y = fact_at(l, n->out[0]);
    int64_t shape[RANK_MAX], rank = y->rank;
    for (int i = 0; i < y->rank; i++) {
        if (i != to && !dim_is_const(y->shape[i]))
            return WIRE_NONE;
        shape[i] = i == to ? size : dim_value(y->shape[i]);
    }
    return graph_add_const(g, n->name, tensor_from_data(g->arena, DTYPE_I64, 1, &rank, shape));
}

/* The node on each part of its first input, to sizes that are known but for that axis. */
static bool sized_apart(struct apart *l, const struct node *n, int from, int to, int64_t size,
                        struct parts *ret)
{
    struct parts of;
    const uint32_t sizes = sizes_put(l, n, to, size);
    if (sizes == WIRE_NONE || !whole_apart(l, n->in[0], fact_at(l, n->in[0])->rank - from, &of))
        return false;
    for (unsigned k = 0; k < of.n; k++)
        ret->w[k] = put(l, n->op, n->attr, (uint32_t[]) { of.w[k], sizes }, 2);
    ret->n = of.n;
    return l->status == RILL_OK;
}

/* A Reshape that keeps the axis and what is before it, as heads are split off or joined. */
static bool reshape_apart(struct apart *l, const struct node *n, int back, struct parts *ret)
{
    const struct fact *x = fact_at(l, n->in[0]), *y = fact_at(l, n->out[0]);
    const int to = y->rank - back;
    const struct dim *before = dim_int(l->e->g->dims, 1), *behind = before;
    for (int i = 0; i < to; i++)
        behind = dim_mul(l->e->g->dims, behind, y->shape[i]);
    for (int i = 0; i < x->rank; i++) {
        if (before == behind && x->shape[i] == y->shape[to])
            return sized_apart(l, n, i, to, -1, ret);
        before = dim_mul(l->e->g->dims, before, x->shape[i]);
    }
    return false;
}

static bool expand_apart(struct apart *l, const struct node *n, int back, struct parts *ret)
{
    const struct fact *x = fact_at(l, n->in[0]), *y = fact_at(l, n->out[0]);
    const int from = x->rank - back, to = y->rank - back;
    return from >= 0 && x->shape[from] == y->shape[to] && sized_apart(l, n, from, to, 1, ret);
}

static bool unsqueeze_apart(struct apart *l, const struct node *n, int back, struct parts *ret)
{
    const int rank = fact_at(l, n->out[0])->rank, axis = rank - back;
    int64_t axes[RANK_MAX];
    unsigned count;
    int behind = 0; /* axes put in behind that one */
    if (n->n_in < 2 || !match_ints(l->e->g, n->in[1], axes, RANK_MAX, &count))
        return false;
    for (unsigned i = 0; i < count; i++) {
        const int at = axis_normalise(axes[i], rank);
        if (at == axis)
            return false;
        behind += at > axis;
    }
    return moved_apart(l, n, back - behind, ret);
}

static bool transpose_apart(struct apart *l, const struct node *n, int back, struct parts *ret)
{
    const struct attr_ints perm = transpose_attr_of(n)->perm;
    const int rank = fact_at(l, n->out[0])->rank, axis = rank - back;
    const int from = perm.n ? (int) perm.v[axis] : rank - 1 - axis;
    return moved_apart(l, n, rank - from, ret);
}

/* Whether an op over other axes leaves that one alone. */
static bool runs_across(const struct apart *l, const struct node *n, int back)
{
    const int rank = fact_at(l, n->in[0])->rank, axis = rank - back;
    int64_t axes[RANK_MAX];
    unsigned count;
    if (node_is(n, OP_SOFTMAX))
        return axis_normalise(axis_of(n), rank) != axis;
    if (node_is(n, OP_LAYER_NORMALIZATION))
        return axis_normalise(axis_of(n), rank) > axis;
    if ((!node_is(n, OP_REDUCE_MAX) && !node_is(n, OP_REDUCE_SUM)) ||
        !reduce_attr_of(n)->keepdims || n->n_in < 2 ||
        !match_ints(l->e->g, n->in[1], axes, RANK_MAX, &count) || count == 0)
        return false;
    for (unsigned i = 0; i < count; i++)
        if (axis_normalise(axes[i], rank) == axis)
            return false;
    return true;
}

/* A Slice along other axes. */
static bool slices_across(const struct apart *l, const struct node *n, int back)
{
    const int rank = fact_at(l, n->in[0])->rank;
    int64_t axes[RANK_MAX];
    unsigned count;
    if (!node_is(n, OP_SLICE) || n->n_in < 4 ||
        !match_ints(l->e->g, n->in[3], axes, RANK_MAX, &count))
        return false;
    for (unsigned i = 0; i < count; i++)
        if (axis_normalise(axes[i], rank) == rank - back)
            return false;
    return true;
}

/* Where the piece that wire w is of a Split begins along its axis, and where it ends. */
static bool piece_of(const struct apart *l, const struct node *n, uint32_t w, int axis,
                     int64_t ret[2])
{
    ret[1] = 0;
    for (unsigned i = 0; i < n->n_out; i++) {
        const struct dim *size = n->out[i] == WIRE_NONE ? NULL : fact_at(l, n->out[i])->shape[axis];
        if (!size || !dim_is_const(size))
            return false;
        ret[0] = ret[1];
        ret[1] += dim_value(size);
        if (n->out[i] == w)
            return true;
    }
    return false;
}

/* A piece of a Split along another axis is cut out of each part. */
static bool split_apart(struct apart *l, const struct node *n, uint32_t w, int back,
                        struct parts *ret)
{
    struct graph *g = l->e->g;
    const int rank = fact_at(l, n->in[0])->rank, axis = axis_normalise(axis_of(n), rank);
    int64_t piece[2];
    if (axis == rank - back || !piece_of(l, n, w, axis, piece) ||
        !whole_apart(l, n->in[0], back, ret))
        return false;
    const uint32_t from = edit_int(g, piece[0]), to = edit_int(g, piece[1]),
                   along = edit_int(g, axis);
    for (unsigned k = 0; k < ret->n; k++)
        ret->w[k] =
            put(l, op_by_id(OP_SLICE), NULL, (uint32_t[]) { ret->w[k], from, to, along }, 4);
    return l->status == RILL_OK;
}

static bool take_apart(struct apart *l, uint32_t w, int back, struct parts *ret)
{
    const struct graph *g = l->e->g;
    if (w == WIRE_NONE || g->wires[w].node == WIRE_NONE || l->looks == 0 || l->status != RILL_OK)
        return false;
    const struct node n = g->nodes[g->wires[w].node]; /* nodes may move while others are put in */
    l->looks--;
    if (node_is(&n, OP_SPLIT))
        return split_apart(l, &n, w, back, ret);
    if (n.n_out != 1 || n.n_body || n.n_in == 0)
        return false;
    if (node_is(&n, OP_CONCAT))
        return concat_apart(l, &n, back, ret);
    if (node_is(&n, OP_PAD))
        return pad_apart(l, &n, back, ret);
    if (node_is(&n, OP_TRANSPOSE))
        return transpose_apart(l, &n, back, ret);
    if (node_is(&n, OP_RESHAPE))
        return reshape_apart(l, &n, back, ret);
    if (node_is(&n, OP_EXPAND))
        return expand_apart(l, &n, back, ret);
    if (node_is(&n, OP_UNSQUEEZE))
        return unsqueeze_apart(l, &n, back, ret);
    if (node_is(&n, OP_MATMUL))
        return back <= 2 && fact_at(l, n.in[2 - back])->rank >= 2 &&
            node_apart(l, &n, 2 - (unsigned) back, back, ret);
    if (runs_across(l, &n, back) || slices_across(l, &n, back))
        return node_apart(l, &n, 0, back, ret);
    return (n.op->flags & OP_POINTWISE) && elements_apart(l, &n, back, ret);
}

/* ---- softmax and what it weighs ---- */

/* [.., 1]: over the last axis of all parts. */
static uint32_t reduced(struct apart *l, const struct parts *of, enum op_id over, enum op_id of_two)
{
    const uint32_t axis = edit_int(l->e->g, -1);
    uint32_t all = put_two(l, over, of->w[0], axis);
    for (unsigned k = 1; k < of->n; k++)
        all = put_two(l, of_two, all, put_two(l, over, of->w[k], axis));
    return all;
}

/* The node becomes another one, of default attributes. */
static rill_status node_become(struct apart *l, enum op_id id, const uint32_t *in, unsigned n_in)
{
    struct node *n = &l->e->g->nodes[l->at];
    const struct op *op = op_by_id(id);
    void *attr = arena_alloc(l->e->g->arena, op->attr_bytes + 1);
    TRY(l->status);
    if (!attr || !edit_inputs(l->e, l->at, in, n_in))
        return err_set(l->err, RILL_NOMEM, "out of memory");
    TRY(attrs_parse(op, n->name, NULL, 0, attr, l->err));
    n->op = op;
    n->attr = attr;
    return RILL_OK;
}

struct weighing {
    uint32_t scores, values;
    uint32_t seen,
        zero;     /* weights are 0 where a query sees no key; WIRE_NONE: they are as they are */
    uint32_t cut; /* of the weights, which is weighed alone; WIRE_NONE: all are */
    const struct dim *from; /* the key it begins with */
};

/* The product becomes the quotient of what the exponentials weigh and their sum. Parts without
 * values are in the sum alone. */
static rill_status product_put(struct apart *l, const struct weighing *of, struct parts *scores,
                               const struct parts *values)
{
    const uint32_t most = reduced(l, scores, OP_REDUCE_MAX, OP_MAX);
    uint32_t sum = WIRE_NONE;
    for (unsigned k = 0; k < scores->n; k++) {
        const uint32_t under = put_two(l, OP_SUB, scores->w[k], most);
        scores->w[k] = put(l, op_by_id(OP_EXP), NULL, &under, 1);
        if (values->w[k] == WIRE_NONE)
            continue;
        const uint32_t weighed = put_two(l, OP_MATMUL, scores->w[k], values->w[k]);
        sum = sum == WIRE_NONE ? weighed : put_two(l, OP_ADD, sum, weighed);
    }
    const uint32_t in[2] = { sum, reduced(l, scores, OP_REDUCE_SUM, OP_ADD) };
    if (of->seen == WIRE_NONE)
        return node_become(l, OP_DIV, in, 2);
    const uint32_t chosen[3] = { of->seen, put_two(l, OP_DIV, in[0], in[1]), of->zero };
    return node_become(l, OP_WHERE, chosen, 3);
}

/* The length of the axis that is `back` from the end is not known: it may be time. */
static bool is_open(const struct graph *g, uint32_t w, int back)
{
    const struct fact *f = w == WIRE_NONE ? NULL : &g->wires[w].fact;
    return f && f->type == DTYPE_F32 && f->rank >= back && !dim_is_const(f->shape[f->rank - back]);
}

/* What a softmax gives the same of: that from which its own largest is not taken. */
static uint32_t before_largest(const struct graph *g, uint32_t w)
{
    const struct node *sub = match_op(g, w, OP_SUB);
    const struct node *most = sub ? match_op(g, sub->in[1], OP_REDUCE_MAX) : NULL;
    int64_t axis;
    unsigned one;
    const bool own = most && most->in[0] == sub->in[0] && most->n_in == 2 &&
        reduce_attr_of(most)->keepdims && match_ints(g, most->in[1], &axis, 1, &one) && one == 1 &&
        axis_normalise(axis, g->wires[w].fact.rank) == g->wires[w].fact.rank - 1;
    return own ? sub->in[0] : w;
}

static bool softmax_find(const struct edit *e, uint32_t w, uint32_t *ret_scores)
{
    uint32_t at;
    if (!match_op(e->g, w, OP_SOFTMAX) || !edit_sole_producer(e, w, &at))
        return false;
    *ret_scores = before_largest(e->g, e->g->nodes[at].in[0]);
    const int rank = e->g->wires[w].fact.rank;
    return rank >= 2 && axis_normalise(axis_of(&e->g->nodes[at]), rank) == rank - 1 &&
        is_open(e->g, w, 1) && is_open(e->g, w, 2);
}

/* Weights of which the Slice that gives w takes some along the last axis. */
static bool cut_find(const struct edit *e, uint32_t w, struct weighing *ret)
{
    uint32_t at;
    int64_t axis, step = 1;
    unsigned one;
    if (!match_op(e->g, w, OP_SLICE) || !edit_sole_producer(e, w, &at))
        return false;
    const struct node *n = &e->g->nodes[at];
    ret->cut = w;
    ret->from = match_size(e->g, n->in[1]);
    return ret->from && node_has_input(n, 3) && match_ints(e->g, n->in[3], &axis, 1, &one) &&
        axis_normalise(axis, e->g->wires[w].fact.rank) == e->g->wires[w].fact.rank - 1 &&
        (!node_has_input(n, 4) || (match_ints(e->g, n->in[4], &step, 1, &one) && step == 1)) &&
        softmax_find(e, n->in[0], &ret->scores);
}

/* A product of weights, which a softmax makes, or are 0 for queries of which one says that they see
 * no key. */
static bool weighing_find(const struct edit *e, const struct node *n, struct weighing *ret)
{
    uint32_t at;
    if (!node_is(n, OP_MATMUL) || n->n_in != 2)
        return false;
    *ret = (struct weighing) { WIRE_NONE, n->in[1], WIRE_NONE, WIRE_NONE, WIRE_NONE, NULL };
    if (softmax_find(e, n->in[0], &ret->scores))
        return true;
    if (match_op(e->g, n->in[0], OP_SLICE))
        return cut_find(e, n->in[0], ret);
    if (!match_op(e->g, n->in[0], OP_WHERE) || !edit_sole_producer(e, n->in[0], &at))
        return false;
    const struct node *where = &e->g->nodes[at];
    const struct fact *seen = &e->g->wires[where->in[0]].fact;
    ret->seen = where->in[0];
    ret->zero = where->in[2];
    return match_is_number(e->g, ret->zero, 0) && tensor_count(match_value(e->g, ret->zero)) == 1 &&
        seen->rank > 0 && dim_is(seen->shape[seen->rank - 1], 1) &&
        softmax_find(e, where->in[1], &ret->scores);
}

/* The largest of joined keys, alone. */
static bool largest_find(const struct graph *g, const struct node *n)
{
    int64_t axis;
    unsigned one;
    return node_is(n, OP_REDUCE_MAX) && n->n_in == 2 && reduce_attr_of(n)->keepdims &&
        is_open(g, n->in[0], 1) && is_open(g, n->in[0], 2) &&
        match_ints(g, n->in[1], &axis, 1, &one) && one == 1 &&
        axis_normalise(axis, g->wires[n->in[0]].fact.rank) == g->wires[n->in[0]].fact.rank - 1;
}

/* Both grow with one symbol. */
static bool grow_alike(const struct dim *a, const struct dim *b)
{
    const struct dim_parts x = dim_parts(a);
    bool alike = x.form == DIM_FORM_SYMBOL && dim_mentions(b, a);
    for (unsigned i = 0; i < x.n && !alike; i++)
        alike = grow_alike(x.arg[i], b);
    return alike;
}

static unsigned growing_of(const struct apart *l, uint32_t w, const struct parts *of)
{
    unsigned growing = 0;
    for (unsigned k = 0; k < of->n; k++)
        growing += grow_alike(size_at(l, w, 2), size_at(l, of->w[k], 1));
    return growing;
}

/* Of a wire of keys along its last axis, of which several parts grow with the queries: a cache in
 * front of frames grows by itself. */
static bool keys_apart(struct apart *l, uint32_t w, struct parts *ret)
{
    return take_apart(l, w, 1, ret) && growing_of(l, w, ret) > 1;
}

/* One part grows with the queries, and others have values that are constants (a learned key beside
 * those of the frames). */
static bool learned_apart(const struct apart *l, uint32_t w, const struct parts *scores,
                          const struct parts *values)
{
    for (unsigned k = 0; k < scores->n; k++) {
        const struct dim *size = size_at(l, scores->w[k], 1);
        if (!grow_alike(size_at(l, w, 2), size) &&
            (!dim_is_const(size) || !is_fixed(l->e->g, values->w[k], 0)))
            return false;
    }
    return growing_of(l, w, scores) == 1;
}

/* Of the scores of a cut softmax, the part that is weighed has the values; others have none and do
 * not grow. */
static bool sinks_apart(struct apart *l, const struct weighing *of, struct parts *scores,
                        struct parts *values)
{
    struct dims *ds = l->e->g->dims;
    const struct dim *from = dim_int(ds, 0);
    unsigned weighed = 0;
    if (!take_apart(l, of->scores, 1, scores))
        return false;
    values->n = scores->n;
    for (unsigned k = 0; k < scores->n; k++) {
        const struct dim *size = size_at(l, scores->w[k], 1);
        const bool own = from == of->from && size == size_at(l, of->cut, 1);
        if (!own && !dim_is_const(size))
            return false;
        values->w[k] = own ? of->values : WIRE_NONE;
        weighed += own;
        from = dim_add(ds, from, size);
    }
    return weighed == 1;
}

static bool weighed_apart(struct apart *l, const struct weighing *of, struct parts *scores,
                          struct parts *values)
{
    if (of->cut != WIRE_NONE)
        return sinks_apart(l, of, scores, values);
    return take_apart(l, of->scores, 1, scores) && growing_of(l, of->scores, scores) > 0 &&
        take_apart(l, of->values, 2, values) && parts_fit(l, scores, 1, values, 2) &&
        (growing_of(l, of->scores, scores) > 1 || learned_apart(l, of->scores, scores, values));
}

static rill_status node_rewrite(struct edit *e, uint32_t i, rill_error *err)
{
    const struct node n = e->g->nodes[i];
    struct apart l = { .e = e, .at = i, .looks = LOOKS_MAX, .err = err };
    struct weighing of;
    struct parts scores, values;
    const bool weighs = weighing_find(e, &n, &of);
    for (int flat = 0; weighs && flat < 2; flat++) {
        l.looks = LOOKS_MAX;
        l.nested = !flat;
        if (weighed_apart(&l, &of, &scores, &values))
            return product_put(&l, &of, &scores, &values);
    }
    if (largest_find(e->g, &n) && keys_apart(&l, n.in[0], &scores)) {
        const uint32_t all[2] = { reduced(&l, &scores, OP_REDUCE_MAX, OP_MAX), WIRE_NONE };
        return node_become(&l, OP_IDENTITY, all, 1);
    }
    return l.status;
}

typedef rill_status rewrite(struct edit *e, uint32_t i, rill_error *err);

static rill_status graph_rewritten(struct graph *ret, const struct graph *g, rewrite *of_node,
                                   rill_error *reterr)
{
    struct edit e;
    TRY(edit_begin(&e, ret, g, reterr));
    for (uint32_t i = 0; i < e.n_nodes; i++)
        TRY(of_node(&e, i, reterr));
    return edit_end(&e, reterr);
}

rill_status graph_with_keys_apart(struct graph *ret, const struct graph *g, rill_error *reterr)
{
    return graph_rewritten(ret, g, node_rewrite, reterr);
}

/* ---- queries ---- */

/* The outputs of a Split are the parts of what was joined. */
static rill_status split_rewrite(struct edit *e, uint32_t i, rill_error *err)
{
    const struct node n = e->g->nodes[i];
    struct apart l = { .e = e, .at = i, .looks = LOOKS_MAX, .err = err };
    struct parts of;
    if (!node_is(&n, OP_SPLIT) || n.n_out < 2)
        return RILL_OK;
    const struct fact *x = &e->g->wires[n.in[0]].fact;
    const int back = x->rank - axis_normalise(axis_of(&n), x->rank);
    if (!is_open(e->g, n.in[0], back) || !take_apart(&l, n.in[0], back, &of) || of.n != n.n_out ||
        !grow_alike(size_at(&l, of.w[0], back), size_at(&l, of.w[1], back)))
        return l.status;
    for (unsigned k = 0; k < of.n; k++)
        if (n.out[k] != WIRE_NONE && size_at(&l, n.out[k], back) != size_at(&l, of.w[k], back))
            return l.status;
    for (unsigned k = 0; k < of.n; k++)
        if (n.out[k] != WIRE_NONE &&
            !edit_insert(e, i, op_by_id(OP_IDENTITY), NULL, &of.w[k], 1, &n.out[k], 1))
            return err_set(err, RILL_NOMEM, "out of memory");
    e->gone[i] = true;
    return RILL_OK;
}

rill_status graph_with_queries_apart(struct graph *ret, const struct graph *g, rill_error *reterr)
{
    return graph_rewritten(ret, g, split_rewrite, reterr);
}
