/* SPDX-License-Identifier: MIT */
/* Frames that are cut off behind attention, as start tokens that were joined in front, are cut off
 * its queries: they are not computed, and nothing waits until they have passed. Their keys and
 * values stay. */
#include "engine/graph/edit.h"
#include "engine/ops/attrs.h"
#include "engine/rewrite/declutter/match.h"
#include "engine/rewrite/declutter/passes.h"
#include "engine/rewrite/declutter/put.h"

#include <inttypes.h>

#define LOOKS_MAX 128 /* wires that are cut */

/* A wire, its axis from the end, and what it is without so many first frames. */
struct cut_wire {
    uint32_t w, cut;
    int back;
    int64_t front;
    unsigned readers; /* that take it so */
};

struct cuts {
    struct edit *e;
    uint32_t at; /* the Slice, which what is made goes before */
    int64_t front;
    const bool *data; /* per wire: it depends on more than sizes and constants */
    struct cut_wire done[LOOKS_MAX];
    unsigned n_done;
    bool attends, weighs; /* a product over keys, of a softmax or sigmoid */
    rill_error *err;
    rill_status status;
};

static const struct fact *fact_at(const struct cuts *c, uint32_t w)
{
    return &c->e->g->wires[w].fact;
}

static const struct dim *size_at(const struct cuts *c, uint32_t w, int back)
{
    const struct fact *f = w == WIRE_NONE ? NULL : fact_at(c, w);
    return f && back <= f->rank ? f->shape[f->rank - back] : NULL;
}

static uint32_t put(struct cuts *c, const struct op *op, const void *attr, const uint32_t *in,
                    unsigned n_in)
{
    uint32_t w = WIRE_NONE;
    if (c->status == RILL_OK)
        c->status = put_before(c->e, c->at, op, attr, in, n_in, &w, c->err);
    return w;
}

/* Scores, masks and what is made of them: with queries and keys on two axes. */
static bool is_square(const struct cuts *c, uint32_t w)
{
    const struct fact *f = fact_at(c, w);
    int open = 0;
    for (int i = 0; i < f->rank; i++)
        open += dim_has_symbol(f->shape[i]);
    return open > 1;
}

static uint32_t cut_wire(struct cuts *c, uint32_t w, int back);

static uint32_t cut_here(struct cuts *c, uint32_t w, int back)
{
    struct graph *g = c->e->g;
    const uint32_t in[4] = { w, edit_int(g, c->front), edit_int(g, INT64_MAX),
                             edit_int(g, fact_at(c, w)->rank - back) };
    return is_square(c, w) && (w >= c->e->n_wires || c->data[w])
        ? WIRE_NONE
        : put(c, op_by_id(OP_SLICE), NULL, in, 4);
}

/* The node on its first input without them. */
static uint32_t cut_first(struct cuts *c, const struct node *n, int back)
{
    uint32_t in[8];
    for (unsigned i = 0; i < n->n_in && i < 8; i++)
        in[i] = n->in[i];
    in[0] = cut_wire(c, in[0], back);
    return in[0] == WIRE_NONE || n->n_in > 8 ? WIRE_NONE : put(c, n->op, n->attr, in, n->n_in);
}

/* Inputs that have the axis are cut. */
static uint32_t cut_elements(struct cuts *c, const struct node *n, int back)
{
    const struct dim *frames = size_at(c, n->out[0], back);
    uint32_t in[4];
    for (unsigned i = 0; i < n->n_in; i++) {
        const struct dim *size = size_at(c, n->in[i], back);
        in[i] = size == frames ? cut_wire(c, n->in[i], back) : n->in[i];
        if ((size == frames && in[i] == WIRE_NONE) || (size && size != frames && !dim_is(size, 1)))
            return WIRE_NONE;
    }
    return put(c, n->op, n->attr, in, n->n_in);
}

static uint32_t cut_turned(struct cuts *c, const struct node *n, int back)
{
    const struct attr_ints perm = transpose_attr_of(n)->perm;
    const int rank = fact_at(c, n->out[0])->rank, axis = rank - back;
    return cut_first(c, n, rank - (perm.n ? (int) perm.v[axis] : rank - 1 - axis));
}

/* A Reshape that keeps the axis and what is before it, to sizes that are known but for that. */
static uint32_t cut_reshaped(struct cuts *c, const struct node *n, int back)
{
    struct graph *g = c->e->g;
    const struct fact *x = fact_at(c, n->in[0]), *y = fact_at(c, n->out[0]);
    const int to = y->rank - back;
    const struct dim *before = dim_int(g->dims, 1), *behind = before;
    int64_t shape[RANK_MAX];
    int from = 0;
    for (int i = 0; i < y->rank; i++) {
        if (i != to && !dim_is_const(y->shape[i]))
            return cut_here(c, n->out[0], back);
        behind = i < to ? dim_mul(g->dims, behind, y->shape[i]) : behind;
        shape[i] = i == to ? -1 : dim_value(y->shape[i]);
    }
    while (from < x->rank && (before != behind || x->shape[from] != y->shape[to]))
        before = dim_mul(g->dims, before, x->shape[from++]);
    if (from == x->rank)
        return cut_here(c, n->out[0], back);
    uint32_t in[2] = { cut_wire(c, n->in[0], x->rank - from) };
    if (in[0] == WIRE_NONE ||
        put_ints(g, (struct attr_ints) { (uint32_t) y->rank, shape }, &in[1], c->err) != RILL_OK)
        return WIRE_NONE;
    return put(c, n->op, n->attr, in, 2);
}

static uint32_t cut_unsqueezed(struct cuts *c, const struct node *n, int back)
{
    const int rank = fact_at(c, n->out[0])->rank, axis = rank - back;
    int64_t axes[RANK_MAX];
    unsigned count;
    int behind = 0; /* axes put in behind that one */
    if (n->n_in < 2 || !match_ints(c->e->g, n->in[1], axes, RANK_MAX, &count))
        return cut_here(c, n->out[0], back);
    for (unsigned i = 0; i < count; i++)
        behind += axis_normalise(axes[i], rank) > axis;
    return cut_first(c, n, back - behind);
}

/* The frames that a Slice cuts off the front of an axis whose length is open, and of which there
 * are so many always; 0: it does another thing. */
static int64_t cut_of(const struct edit *e, const struct node *n, int *ret_back)
{
    int64_t start, axis, step = 1;
    unsigned count;
    if (!node_is(n, OP_SLICE) || n->n_in < 4 || !match_ints(e->g, n->in[1], &start, 1, &count) ||
        !match_ints(e->g, n->in[3], &axis, 1, &count) || start <= 0 || start > INT32_MAX ||
        (n->n_in > 4 && n->in[4] != WIRE_NONE &&
         (!match_ints(e->g, n->in[4], &step, 1, &count) || step != 1)))
        return 0;
    const struct fact *x = &e->g->wires[n->in[0]].fact, *y = &e->g->wires[n->out[0]].fact;
    axis = axis_normalise(axis, x->rank);
    *ret_back = x->rank - (int) axis;
    return dim_has_symbol(y->shape[axis]) &&
            dim_add_int(e->g->dims, x->shape[axis], -start) == y->shape[axis]
        ? start
        : 0;
}

/* A cut of what is cut is one; one along other axes comes behind it. */
static uint32_t cut_sliced(struct cuts *c, const struct node *n, int back)
{
    const int rank = fact_at(c, n->out[0])->rank;
    int64_t axes[RANK_MAX];
    unsigned count = 0;
    int along;
    const int64_t front = cut_of(c->e, n, &along);
    if (front && along == back) {
        c->front += front;
        const uint32_t cut = cut_wire(c, n->in[0], back);
        c->front -= front;
        return cut;
    }
    bool beside = n->n_in > 3 && match_ints(c->e->g, n->in[3], axes, RANK_MAX, &count);
    for (unsigned i = 0; i < count; i++)
        beside = beside && axis_normalise(axes[i], rank) != rank - back;
    return beside ? cut_first(c, n, back) : cut_here(c, n->out[0], back);
}

/* Inputs joined along another axis. */
static uint32_t cut_joined(struct cuts *c, const struct node *n, int back)
{
    const int rank = fact_at(c, n->out[0])->rank;
    uint32_t in[4];
    if (n->n_in > 4 || axis_normalise(axis_of(n), rank) == rank - back)
        return cut_here(c, n->out[0], back);
    for (unsigned i = 0; i < n->n_in; i++)
        if ((in[i] = cut_wire(c, n->in[i], back)) == WIRE_NONE)
            return WIRE_NONE;
    return put(c, n->op, n->attr, in, n->n_in);
}

/* Positions that begin so many steps later. */
static uint32_t cut_range(struct cuts *c, const struct node *n)
{
    struct graph *g = c->e->g;
    int64_t start, step;
    if (!match_whole(g, n->in[0], &start) || !match_whole(g, n->in[2], &step) ||
        c->front > MATCH_WHOLE_MAX || (start += c->front * step, imaxabs(start) > MATCH_WHOLE_MAX))
        return cut_here(c, n->out[0], 1);
    const enum dtype type = match_value(g, n->in[0])->type;
    struct tensor *from = tensor_new(g->arena, type == DTYPE_DIM ? DTYPE_I64 : type, 0, NULL);
    if (!from)
        return WIRE_NONE;
    tensor_set_f64(from, from->data, 0, (double) start);
    const uint32_t in[3] = { graph_add_const(g, n->name, from), n->in[1], n->in[2] };
    return in[0] == WIRE_NONE ? WIRE_NONE : put(c, n->op, n->attr, in, 3);
}

/* Rows of a constant at places that have the axis. */
static uint32_t cut_gathered(struct cuts *c, const struct node *n, int back)
{
    const int rank = fact_at(c, n->out[0])->rank, at = fact_at(c, n->in[1])->rank,
              first = axis_normalise(axis_of(n), fact_at(c, n->in[0])->rank),
              axis = rank - back - first;
    uint32_t in[2] = { n->in[0] };
    if (axis < 0 || axis >= at)
        return cut_here(c, n->out[0], back);
    in[1] = cut_wire(c, n->in[1], at - axis);
    return in[1] == WIRE_NONE ? WIRE_NONE : put(c, n->op, n->attr, in, 2);
}

/* A sum or an extreme along one axis, which stays as one element. */
static bool reduces(const struct cuts *c, const struct node *n, int64_t *ret_axis)
{
    static const enum op_id ops[] = { OP_REDUCE_MAX, OP_REDUCE_MEAN, OP_REDUCE_MIN, OP_REDUCE_SUM };
    unsigned count;
    return node_is_among(n, ops, sizeof ops / sizeof *ops) && reduce_attr_of(n)->keepdims &&
        node_has_input(n, 1) && match_ints(c->e->g, n->in[1], ret_axis, 1, &count) && count == 1;
}

/* An op over other axes, which gives as many. */
static bool runs_across(const struct cuts *c, const struct node *n, int back)
{
    const int rank = fact_at(c, n->in[0])->rank, axis = rank - back;
    int64_t reduced;
    if (reduces(c, n, &reduced))
        return axis_normalise(reduced, rank) != axis;
    if (node_is(n, OP_SOFTMAX) || node_is(n, OP_LOG_SOFTMAX))
        return axis_normalise(axis_of(n), rank) != axis;
    return node_is(n, OP_LAYER_NORMALIZATION) && axis_normalise(axis_of(n), rank) > axis;
}

static uint32_t cut_node(struct cuts *c, const struct node *n, int back)
{
    if (node_is(n, OP_TRANSPOSE))
        return cut_turned(c, n, back);
    if (node_is(n, OP_RESHAPE))
        return cut_reshaped(c, n, back);
    if (node_is(n, OP_MATMUL) && back == 2 && fact_at(c, n->in[0])->rank >= 2) {
        c->attends |= dim_has_symbol(size_at(c, n->in[0], 1));
        return cut_first(c, n, back);
    }
    if (runs_across(c, n, back)) {
        c->weighs |= is_square(c, n->in[0]);
        return cut_first(c, n, back);
    }
    if (node_is(n, OP_GATHER) && match_value(c->e->g, n->in[0]))
        return cut_gathered(c, n, back);
    if (node_is(n, OP_UNSQUEEZE))
        return cut_unsqueezed(c, n, back);
    if (node_is(n, OP_SLICE))
        return cut_sliced(c, n, back);
    if (node_is(n, OP_CONCAT))
        return cut_joined(c, n, back);
    if (node_is(n, OP_RANGE))
        return cut_range(c, n);
    c->weighs |= (node_is(n, OP_SIGMOID) || node_is(n, OP_EXP)) && is_square(c, n->in[0]);
    if ((n->op->flags & OP_POINTWISE) && n->n_in <= 4)
        return cut_elements(c, n, back);
    return cut_here(c, n->out[0], back);
}

/* What is made of n bears its name. */
static uint32_t named(const struct cuts *c, const struct node *n, uint32_t cut)
{
    struct graph *g = c->e->g;
    struct node *made = &g->nodes[g->n_nodes - 1];
    if (cut == WIRE_NONE || made->op != n->op || made->out[0] != cut)
        return cut;
    made->name = g->wires[cut].name = n->name;
    made->origin = n->origin;
    return cut;
}

/* Wire w without its first frames; WIRE_NONE: that is left. What others read, too, is cut itself;
 * but what has queries and keys is made anew of what is cut, and so is what positions alone make:
 * it is known however early it is wanted. */
static uint32_t cut_wire(struct cuts *c, uint32_t w, int back)
{
    uint32_t at;
    for (unsigned k = 0; k < c->n_done; k++)
        if (c->done[k].w == w && c->done[k].back == back && c->done[k].front == c->front) {
            c->done[k].readers++;
            return c->done[k].cut;
        }
    if (c->n_done == LOOKS_MAX || c->status != RILL_OK)
        return WIRE_NONE;
    if (w >= c->e->n_wires) /* an earlier cut has made it */
        return cut_here(c, w, back);
    const struct node *by = graph_producer(c->e->g, w);
    const bool sole = is_square(c, w) || !c->data[w] || edit_sole_producer(c->e, w, &at);
    struct cut_wire *done = &c->done[c->n_done++];
    *done = (struct cut_wire) {
        .w = w, .cut = WIRE_NONE, .back = back, .front = c->front, .readers = 1
    };
    const struct node n = by ? *by : (struct node) { 0 }; /* nodes may move as others are put in */
    done->cut = by && sole && n.n_out == 1 && !n.n_body && n.n_in
        ? named(c, &n, cut_node(c, &n, back))
        : cut_here(c, w, back);
    return done->cut;
}

/* No scores are computed twice. */
static bool scores_are_read_so(const struct cuts *c)
{
    for (unsigned k = 0; k < c->n_done; k++)
        if (c->data[c->done[k].w] && is_square(c, c->done[k].w) &&
            c->done[k].readers != c->e->consumers[c->done[k].w])
            return false;
    return true;
}

static rill_status slice_rewrite(struct edit *e, uint32_t i, const bool *data, rill_error *err)
{
    const struct node n = e->g->nodes[i];
    struct cuts c = { .e = e, .at = i, .data = data, .err = err };
    uint32_t by;
    int back;
    c.front = cut_of(e, &n, &back);
    if (!c.front || !edit_sole_producer(e, n.in[0], &by))
        return RILL_OK;
    const uint32_t w = cut_wire(&c, n.in[0], back);
    if (w == WIRE_NONE || c.status != RILL_OK || !c.attends || !c.weighs ||
        !scores_are_read_so(&c) || !fact_same(fact_at(&c, w), fact_at(&c, n.out[0])))
        return c.status;
    if (!edit_insert(e, i, op_by_id(OP_IDENTITY), NULL, &w, 1, &n.out[0], 1))
        return err_set(err, RILL_NOMEM, "out of memory");
    e->gone[i] = true;
    return RILL_OK;
}

rill_status graph_with_early_cuts(struct graph *ret, const struct graph *g, rill_error *reterr)
{
    struct edit e;
    TRY(edit_begin(&e, ret, g, reterr));
    const bool *data = match_data(e.g);
    if (!data)
        return err_set(reterr, RILL_NOMEM, "out of memory");
    for (uint32_t i = e.n_nodes; i-- > 0;) /* the last of several in a row cuts for all */
        TRY(slice_rewrite(&e, i, data, reterr));
    return edit_end(&e, reterr);
}
