/* SPDX-License-Identifier: MIT */
/* The frames from one on, written into a copy of a tensor (`x[:, 1:] = y`, which exporters make a
 * ScatterND at every place): what is in front of them, and they. */
#include "engine/graph/edit.h"
#include "engine/ops/attrs.h"
#include "engine/rewrite/declutter/match.h"
#include "engine/rewrite/declutter/passes.h"
#include "engine/rewrite/declutter/put.h"

#define STEPS_MAX 16
#define FIRST_MAX INT32_MAX

/* Whether elements of the constant are `first` and their place on the axis. */
static bool constant_counts(const struct tensor *v, int axis, int64_t *ret_first)
{
    int64_t stride[RANK_MAX], n = tensor_count(v);
    if (!dtype_is_int(v->type) || n == 0 || axis < 0 || axis >= v->rank)
        return false;
    tensor_strides(v, stride);
    const int64_t first = tensor_get_i64(v, v->data, 0);
    if (first < 0 || first > FIRST_MAX)
        return false;
    for (int64_t i = 0; i < n; i++)
        if (tensor_get_i64(v, v->data, i) != first + i / stride[axis] % v->dim[axis])
            return false;
    *ret_first = first;
    return true;
}

/* The only axis that has not one place; -1: there are others, or none. */
static int axis_alone(const struct fact *f)
{
    int ret = -1;
    for (int i = 0; i < f->rank; i++)
        if (!dim_is(f->shape[i], 1)) {
            if (ret >= 0)
                return -1;
            ret = i;
        }
    return ret;
}

/* The axis in front of a node that gives axes of one place, or repeats them; -1: there is none. */
static int axis_in(const struct graph *g, const struct node *n, int axis)
{
    const struct fact *x = &g->wires[n->in[0]].fact, *y = &g->wires[n->out[0]].fact;
    int64_t axes[RANK_MAX];
    unsigned count = 0;
    int before = 0;
    if (node_is(n, OP_EXPAND)) {
        const int in = axis - (y->rank - x->rank);
        return in >= 0 && x->shape[in] == y->shape[axis] ? in : -1;
    }
    if (node_is(n, OP_RESHAPE))
        return axis_alone(y) == axis ? axis_alone(x) : -1;
    if (!node_is(n, OP_UNSQUEEZE) || !match_ints(g, n->in[1], axes, RANK_MAX, &count))
        return -1;
    for (unsigned i = 0; i < count; i++) {
        const int at = axis_normalise(axes[i], y->rank);
        if (at == axis)
            return -1;
        before += at < axis;
    }
    return axis - before;
}

/* Where a Range begins, or what a Slice takes of a list by ones. */
static bool first_of(const struct graph *g, const struct node *n, int64_t *ret)
{
    const bool range = node_is(n, OP_RANGE);
    const unsigned by = range ? 2 : 4;
    int64_t step = 1;
    unsigned one = 1;
    return (range || node_is(n, OP_SLICE)) && g->wires[n->out[0]].fact.rank == 1 &&
        match_ints(g, n->in[range ? 0 : 1], ret, 1, &one) && one == 1 && *ret >= 0 &&
        *ret <= FIRST_MAX &&
        (!node_has_input(n, by) ||
         (match_ints(g, n->in[by], &step, 1, &one) && one == 1 && step == 1));
}

/* Whether the list counts on from *ret_first: a Range, or the rest of one. */
static bool list_counts(const struct graph *g, const struct node *n, int64_t *ret_first)
{
    int64_t first;
    *ret_first = 0;
    for (int steps = 0; n && steps < STEPS_MAX && first_of(g, n, &first); steps++) {
        *ret_first += first;
        if (node_is(n, OP_RANGE))
            return true;
        n = graph_producer(g, n->in[0]);
    }
    return false;
}

/* One number that is repeated. */
static bool repeats_number(const struct graph *g, uint32_t w, int64_t *ret)
{
    static const enum op_id moves[] = { OP_EXPAND, OP_RESHAPE, OP_SQUEEZE, OP_UNSQUEEZE };
    const struct node *n;
    while ((n = graph_producer(g, w)) && node_is_among(n, moves, sizeof moves / sizeof *moves))
        w = n->in[0];
    const struct tensor *v = match_value(g, w);
    if (!v || !dtype_is_int(v->type) || tensor_count(v) != 1)
        return false;
    *ret = tensor_get_i64(v, v->data, 0);
    return true;
}

/* Whether elements of the wire are *ret_first and their place on the axis. */
static bool counts_along(const struct graph *g, uint32_t w, int axis, int64_t *ret_first)
{
    if (dim_is(g->wires[w].fact.shape[axis], 1))
        return repeats_number(g, w, ret_first);
    for (int steps = 0; steps < STEPS_MAX && axis >= 0; steps++) {
        const struct tensor *v = g->wires[w].fact.value;
        const struct node *n = graph_producer(g, w);
        if (v || !n)
            return v && v->type != DTYPE_DIM && constant_counts(v, axis, ret_first);
        if (axis == 0 && list_counts(g, n, ret_first))
            return true;
        axis = axis_in(g, n, axis);
        w = n->in[0];
    }
    return false;
}

/* A node that writes all frames of an axis from the first of these on. */
struct frames_put {
    int axis;
    int64_t first;
};

/* Coordinate k of the places, of so many. */
static uint32_t coordinate(const struct graph *g, const struct node *n, int k, int count)
{
    const struct node *joined = count > 1 ? match_op(g, n->in[1], OP_CONCAT) : NULL;
    const int last = g->wires[n->in[1]].fact.rank - 1;
    if (count == 1)
        return n->in[1];
    return joined && (int) joined->n_in == count &&
            axis_normalise(axis_of(joined), last + 1) == last
        ? joined->in[k]
        : WIRE_NONE;
}

/* Whether it writes as many as there are behind those in front. */
static bool reaches_end(const struct graph *g, const struct node *n, const struct frames_put *q)
{
    struct dims *ds = g->dims;
    const struct dim *size = g->wires[n->in[0]].fact.shape[q->axis],
                     *rest = dim_max(ds, dim_int(ds, 0), dim_add_int(ds, size, -q->first));
    return dim_has_symbol(size) && g->wires[n->in[1]].fact.shape[q->axis] == rest;
}

static bool frames_find(const struct graph *g, const struct node *n, struct frames_put *ret)
{
    if (!node_is(n, OP_SCATTER_ND) || ((const struct scatter_attr *) n->attr)->reduction)
        return false;
    const struct fact *x = &g->wires[n->in[0]].fact, *ix = &g->wires[n->in[1]].fact;
    const int count = ix->rank - 1;
    *ret = (struct frames_put) { .axis = -1 };
    if (count < 1 || count > x->rank || !dim_is(ix->shape[count], count))
        return false;
    for (int k = 0; k < count; k++) {
        const uint32_t w = coordinate(g, n, k, count);
        int64_t first;
        const struct fact *f = w == WIRE_NONE ? NULL : &g->wires[w].fact;
        if (!f || f->rank != ix->rank || !dim_is(f->shape[count], 1) ||
            !counts_along(g, w, k, &first))
            return false;
        if (first == 0 && ix->shape[k] == x->shape[k])
            continue;
        if (ret->axis >= 0)
            return false;
        *ret = (struct frames_put) { k, first };
    }
    return ret->axis >= 0 && ret->first > 0 && reaches_end(g, n, ret);
}

static rill_status no_memory(rill_error *err)
{
    return err_set(err, RILL_NOMEM, "out of memory");
}

/* The tensor's frames in front of those that node `at` writes. */
static rill_status front_put(struct edit *e, uint32_t at, const struct frames_put *q, uint32_t *ret,
                             rill_error *err)
{
    static const struct value_attr none = { 0 };
    struct graph *g = e->g;
    const uint32_t x = g->nodes[at].in[0];
    const int64_t from = 0, axis = q->axis;
    struct fact f = g->wires[x].fact;
    uint32_t in[4] = { x };
    f.shape[axis] = dim_min(g->dims, dim_int(g->dims, q->first), f.shape[axis]);
    TRY(put_ints(g, (struct attr_ints) { .v = &from, .n = 1 }, &in[1], err));
    TRY(put_ints(g, (struct attr_ints) { .v = &q->first, .n = 1 }, &in[2], err));
    TRY(put_ints(g, (struct attr_ints) { .v = &axis, .n = 1 }, &in[3], err));
    TRY(put_wire(g, g->nodes[at].name, &f, ret, err));
    return edit_insert(e, at, op_by_id(OP_SLICE), &none, in, 4, ret, 1) ? RILL_OK : no_memory(err);
}

/* The node joins what it does not write and what it does. */
static rill_status frames_join(struct edit *e, uint32_t at, const struct frames_put *q,
                               rill_error *err)
{
    struct graph *g = e->g;
    uint32_t in[2] = { WIRE_NONE, g->nodes[at].in[2] };
    struct axis_attr *attr = arena_new(g->arena, struct axis_attr);
    TRY(front_put(e, at, q, &in[0], err));
    if (!attr || !edit_inputs(e, at, in, 2))
        return no_memory(err);
    attr->axis = q->axis;
    g->nodes[at].op = op_by_id(OP_CONCAT);
    g->nodes[at].attr = attr;
    return RILL_OK;
}

rill_status graph_with_frames_put(struct graph *ret, const struct graph *g, rill_error *reterr)
{
    struct edit e;
    struct frames_put q;
    TRY(edit_begin(&e, ret, g, reterr));
    for (uint32_t i = 0; i < e.n_nodes; i++)
        if (frames_find(e.g, &e.g->nodes[i], &q))
            TRY(frames_join(&e, i, &q, reterr));
    return edit_end(&e, reterr);
}
