/* SPDX-License-Identifier: MIT */
/* What is made of the last frames of sequences, element by element, and joined behind others
 * (`cat(tanh(x[1:]), tanh(x[-1:]))`, a difference that is one-sided at the end): the same is made
 * of all frames, and those behind the others are chosen by where they stand. */
#include "engine/graph/edit.h"
#include "engine/ops/attrs.h"
#include "engine/rewrite/declutter/match.h"
#include "engine/rewrite/declutter/passes.h"
#include "engine/rewrite/declutter/put.h"

#define STEPS_MAX 16
#define FRAMES_MAX 64

static rill_status no_memory(rill_error *err)
{
    return err_set(err, RILL_NOMEM, "out of memory");
}

/* Sequences are apart by what is not the same at every length. */
static rill_status lengths_differ(rill_error *err)
{
    return err_set(err, RILL_UNSUPPORTED, "lengths differ");
}

/* Element by element. */
static bool is_pointwise(const struct node *n)
{
    static const enum op_id ids[] = {
        OP_ABS, OP_ADD,  OP_CAST,     OP_CLIP,       OP_COS, OP_DIV,  OP_ELU, OP_ERF,
        OP_EXP, OP_GELU, OP_IDENTITY, OP_LEAKY_RELU, OP_LOG, OP_MAX,  OP_MIN, OP_MUL,
        OP_NEG, OP_POW,  OP_RELU,     OP_SIGMOID,    OP_SIN, OP_SQRT, OP_SUB, OP_TANH,
    };
    return node_is_among(n, ids, sizeof ids / sizeof *ids);
}

/* The axis of input i of a pointwise node that is axis `along` of its output; -1: it has none, or
 * one place. */
static int axis_at(const struct graph *g, const struct node *n, unsigned i, int along)
{
    const struct fact *x = &g->wires[n->in[i]].fact, *y = &g->wires[n->out[0]].fact;
    const int axis = along - (y->rank - x->rank);
    return axis < 0 || dim_is(x->shape[axis], 1) ? -1 : axis;
}

/* A Slice of one axis, forward. */
static bool slice_axis(const struct graph *g, const struct node *n, int *ret)
{
    int64_t axis = 0, step = 1;
    unsigned one = 1;
    if (!node_is(n, OP_SLICE) ||
        (node_has_input(n, 3) && (!match_ints(g, n->in[3], &axis, 1, &one) || one != 1)) ||
        (node_has_input(n, 4) && (!match_ints(g, n->in[4], &step, 1, &one) || one != 1)))
        return false;
    *ret = axis_normalise(axis, g->wires[n->in[0]].fact.rank);
    return step == 1;
}

/* A place of the Slice as a number of frames from the end; -1: it counts from the start. */
static int64_t from_end(const struct graph *g, const struct dim *at, const struct dim *size)
{
    if (!at)
        return -1;
    if (at == size || (dim_is_const(at) && dim_value(at) >= INT32_MAX))
        return 0;
    const struct dim *back = dim_is_const(at) && dim_value(at) < 0 ? dim_mul_int(g->dims, at, -1)
                                                                   : dim_sub(g->dims, size, at);
    return dim_is_const(back) && dim_value(back) > 0 && dim_value(back) <= FRAMES_MAX
        ? dim_value(back)
        : -1;
}

/* Frames of an open axis from so many before its end to so many. */
struct last {
    int64_t from, to;
};

static bool takes_last(const struct graph *g, const struct node *n, int along, struct last *ret)
{
    int axis;
    if (!slice_axis(g, n, &axis) || axis != along)
        return false;
    const struct dim *size = dim_refresh(g->dims, g->wires[n->in[0]].fact.shape[along]);
    ret->from = from_end(g, match_size(g, n->in[1]), size);
    ret->to = from_end(g, match_size(g, n->in[2]), size);
    return dim_has_symbol(size) && ret->to >= 0 && ret->from > ret->to;
}

/* How many last frames wire w is made of; 0: of something else. */
static int64_t frames_of(const struct graph *g, uint32_t w, int along, int steps)
{
    const struct node *n = w == WIRE_NONE ? NULL : graph_producer(g, w);
    struct last l;
    int axis;
    int64_t frames = 0;
    if (!n || steps == STEPS_MAX || n->n_out != 1 || n->n_in > PUT_INPUTS)
        return 0;
    if (takes_last(g, n, along, &l))
        return l.from - l.to;
    if (slice_axis(g, n, &axis) && axis != along)
        return frames_of(g, n->in[0], along, steps + 1);
    for (unsigned i = 0; is_pointwise(n) && i < n->n_in; i++) {
        const int own = n->in[i] == WIRE_NONE
            ? -1
            : along - (g->wires[w].fact.rank - g->wires[n->in[i]].fact.rank);
        const int64_t more = own < 0 ? 0 : frames_of(g, n->in[i], own, steps + 1);
        if (more && frames && more != frames)
            return 0;
        if (!more && n->in[i] != WIRE_NONE && axis_at(g, n, i, along) >= 0)
            return 0;
        frames = more ? more : frames;
    }
    return frames;
}

static const struct dim *size_of(const struct graph *g, uint32_t w, int along)
{
    return dim_refresh(g->dims, g->wires[w].fact.shape[along]);
}

/* x without so many frames at its front and its end. */
static rill_status cut_put(struct edit *e, uint32_t at, uint32_t x, int along, int64_t front,
                           int64_t end, uint32_t *ret, rill_error *err)
{
    const int64_t cut[3] = { front, end ? -end : INT64_MAX, along };
    uint32_t in[4] = { x };
    *ret = x;
    if (!front && !end)
        return RILL_OK;
    for (unsigned i = 0; i < 3; i++)
        TRY(put_ints(e->g, (struct attr_ints) { .v = &cut[i], .n = 1 }, &in[1 + i], err));
    return put_before(e, at, op_by_id(OP_SLICE), NULL, in, 4, ret, err);
}

static rill_status whole_put(struct edit *e, uint32_t at, uint32_t w, int along, uint32_t *ret,
                             rill_error *err);

/* The node on sequences of which its inputs are the last frames, cut to the length of the
 * shortest. */
static rill_status pointwise_put(struct edit *e, uint32_t at, const struct node *n, int along,
                                 uint32_t *ret, rill_error *err)
{
    struct graph *g = e->g;
    uint32_t in[PUT_INPUTS];
    int own[PUT_INPUTS];
    const struct dim *least = NULL;
    const struct node copy = *n;
    const int rank = g->wires[n->out[0]].fact.rank;
    for (unsigned i = 0; i < copy.n_in; i++) {
        in[i] = copy.in[i];
        own[i] = in[i] == WIRE_NONE ? -1 : along - (rank - g->wires[in[i]].fact.rank);
        if (own[i] < 0 || !frames_of(g, in[i], own[i], 0)) {
            own[i] = -1;
            continue;
        }
        TRY(whole_put(e, at, in[i], own[i], &in[i], err));
        const struct dim *size = size_of(g, in[i], own[i]);
        least = least && dim_is(dim_ge(g->dims, size, least), 1) ? least : size;
    }
    for (unsigned i = 0; i < copy.n_in; i++) {
        const struct dim *more =
            own[i] < 0 ? NULL : dim_sub(g->dims, size_of(g, in[i], own[i]), least);
        if (more && !dim_is_const(more))
            return lengths_differ(err);
        if (more)
            TRY(cut_put(e, at, in[i], own[i], dim_value(more), 0, &in[i], err));
    }
    return put_before(e, at, copy.op, copy.attr, in, copy.n_in, ret, err);
}

/* The sequence of which wire w is the last frames. */
static rill_status whole_put(struct edit *e, uint32_t at, uint32_t w, int along, uint32_t *ret,
                             rill_error *err)
{
    struct graph *g = e->g;
    const struct node n = *graph_producer(g, w);
    struct last l;
    if (takes_last(g, &n, along, &l))
        return cut_put(e, at, n.in[0], along, 0, l.to, ret, err);
    if (!node_is(&n, OP_SLICE))
        return pointwise_put(e, at, &n, along, ret, err);
    uint32_t in[PUT_INPUTS];
    for (unsigned i = 0; i < n.n_in; i++)
        in[i] = n.in[i];
    TRY(whole_put(e, at, n.in[0], along, &in[0], err));
    return put_before(e, at, n.op, n.attr, in, n.n_in, ret, err);
}

/* x with so many zeros in front of an axis and behind it. */
static rill_status pad_put(struct edit *e, uint32_t at, uint32_t x, int along,
                           const struct dim *front, const struct dim *end, uint32_t *ret,
                           rill_error *err)
{
    struct graph *g = e->g;
    const int rank = g->wires[x].fact.rank;
    const struct dim *pads[2 * RANK_MAX];
    *ret = x;
    if (dim_is(front, 0) && dim_is(end, 0))
        return RILL_OK;
    for (int i = 0; i < 2 * rank; i++)
        pads[i] = i == along ? front : i == rank + along ? end : dim_int(g->dims, 0);
    const uint32_t in[2] = { x, put_sizes(g, "pads", pads, 2 * rank) };
    return in[1] == WIRE_NONE ? no_memory(err)
                              : put_before(e, at, op_by_id(OP_PAD), NULL, in, 2, ret, err);
}

static uint32_t size_add(struct graph *g, const struct dim *size)
{
    struct tensor *t = tensor_new(g->arena, DTYPE_DIM, 0, NULL);
    if (!t)
        return WIRE_NONE;
    *(const struct dim **) t->data = size;
    return graph_add_const(g, "length", t);
}

static uint32_t whole_add(struct graph *g, int64_t v)
{
    struct tensor *t = tensor_new(g->arena, DTYPE_I64, 0, NULL);
    if (!t)
        return WIRE_NONE;
    tensor_set_f64(t, t->data, 0, (double) v);
    return graph_add_const(g, "number", t);
}

/* Which of `size` frames lie before `end`, along an axis of so many. */
static rill_status before_put(struct edit *e, uint32_t at, const struct dim *size,
                              const struct dim *end, int rank, int along, uint32_t *ret,
                              rill_error *err)
{
    struct graph *g = e->g;
    uint32_t range[3] = { whole_add(g, 0), size_add(g, size), whole_add(g, 1) };
    uint32_t in[2] = { WIRE_NONE, size_add(g, end) };
    int64_t axes[RANK_MAX];
    for (int k = 0; k < rank - along - 1; k++)
        axes[k] = k + 1;
    if (range[0] == WIRE_NONE || range[1] == WIRE_NONE || range[2] == WIRE_NONE ||
        in[1] == WIRE_NONE)
        return no_memory(err);
    TRY(put_before(e, at, op_by_id(OP_RANGE), NULL, range, 3, &in[0], err));
    TRY(put_before(e, at, op_by_id(OP_LESS), NULL, in, 2, ret, err));
    if (along == rank - 1)
        return RILL_OK;
    in[0] = *ret;
    TRY(put_ints(g, (struct attr_ints) { .v = axes, .n = (uint32_t) (rank - along - 1) }, &in[1],
                 err));
    return put_before(e, at, op_by_id(OP_UNSQUEEZE), NULL, in, 2, ret, err);
}

/* *x, and behind it the last frames that wire w is. */
static rill_status end_put(struct edit *e, uint32_t at, uint32_t w, int along, uint32_t *x,
                           rill_error *err)
{
    struct graph *g = e->g;
    const int rank = g->wires[w].fact.rank;
    const struct dim *frames = size_of(g, w, along), *zero = dim_int(g->dims, 0);
    uint32_t in[3], whole;
    TRY(whole_put(e, at, w, along, &whole, err));
    const struct dim *before = size_of(g, *x, along), *size = dim_add(g->dims, before, frames),
                     *late = dim_sub(g->dims, size, size_of(g, whole, along));
    if (!dim_is_const(late))
        return lengths_differ(err);
    const int64_t by = dim_value(late);
    TRY(before_put(e, at, size, before, rank, along, &in[0], err));
    TRY(pad_put(e, at, *x, along, zero, frames, &in[1], err));
    TRY(cut_put(e, at, whole, along, by < 0 ? -by : 0, 0, &whole, err));
    TRY(pad_put(e, at, whole, along, by > 0 ? late : zero, zero, &in[2], err));
    if (size_of(g, in[1], along) != size || size_of(g, in[2], along) != size)
        return lengths_differ(err);
    return put_before(e, at, op_by_id(OP_WHERE), NULL, in, 3, x, err);
}

/* From which of the inputs of the Concat on all are last frames, behind others; 0: none. */
static unsigned ends_find(const struct graph *g, const struct node *n, int *ret_along)
{
    if (!node_is(n, OP_CONCAT) || g->wires[n->out[0]].fact.type != DTYPE_F32)
        return 0;
    const int along = axis_normalise(axis_of(n), g->wires[n->out[0]].fact.rank);
    unsigned first = n->n_in;
    while (first > 0 && frames_of(g, n->in[first - 1], along, 0))
        first--;
    *ret_along = along;
    bool grows = false;
    for (unsigned i = 0; i < first; i++)
        grows |= dim_has_symbol(g->wires[n->in[i]].fact.shape[along]);
    return grows && first < n->n_in ? first : 0;
}

static rill_status ends_put(struct edit *e, uint32_t at, unsigned first, int along, rill_error *err)
{
    const struct node n = e->g->nodes[at];
    uint32_t x = n.in[0];
    if (first > 1)
        TRY(put_before(e, at, n.op, n.attr, n.in, first, &x, err));
    for (unsigned i = first; i < n.n_in; i++)
        TRY(end_put(e, at, n.in[i], along, &x, err));
    if (!edit_inputs(e, at, &x, 1))
        return no_memory(err);
    e->g->nodes[at].op = op_by_id(OP_IDENTITY);
    e->g->nodes[at].attr = NULL;
    return RILL_OK;
}

/* *ret_lost: the node that stays as it is. */
static rill_status all_put(struct edit *e, const bool *lost, uint32_t *ret_lost, rill_error *err)
{
    unsigned first;
    int along;
    for (uint32_t i = 0; i < e->n_nodes; i++)
        if (!lost[i] && (first = ends_find(e->g, &e->g->nodes[i], &along))) {
            *ret_lost = i;
            TRY(ends_put(e, i, first, along, err));
        }
    return RILL_OK;
}

rill_status graph_with_ends_chosen(struct graph *ret, const struct graph *g, rill_error *reterr)
{
    struct edit e;
    bool *lost = arena_array(g->arena, bool, g->n_nodes + 1);
    uint32_t at = 0;
    rill_status s = RILL_UNSUPPORTED;
    for (uint32_t tries = 0; s == RILL_UNSUPPORTED && tries <= g->n_nodes; tries++) {
        if (!lost)
            return no_memory(reterr);
        TRY(edit_begin(&e, ret, g, reterr));
        s = all_put(&e, lost, &at, reterr);
        lost[at] |= s == RILL_UNSUPPORTED;
    }
    return s == RILL_OK ? edit_end(&e, reterr) : s;
}
