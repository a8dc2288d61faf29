/* SPDX-License-Identifier: MIT */
/* The frames from one on, written into a copy of a tensor (`x[:, 1:] = y`, which exporters make a
 * ScatterND at every place): what is in front of them, and they. A box of such places on several
 * axes (`x[:, :2, :-1] = y`, `x[:, 0::2] = y`) is joined axis by axis. */
#include "engine/base/dim_claims.h"
#include "engine/graph/edit.h"
#include "engine/ops/attrs.h"
#include "engine/rewrite/declutter/match.h"
#include "engine/rewrite/declutter/passes.h"
#include "engine/rewrite/declutter/put.h"

#include <stdio.h>

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

/* ---- boxes ---- */

#define LIST_MAX 4096
#define ENDS_MAX 64 /* frames at an end of an open axis */

enum box_kind {
    BOX_WHOLE,
    BOX_REST, /* from frame `first` on, but for the last `behind` */
    BOX_HEAD, /* n frames from `first` on */
    BOX_TAIL, /* the last n */
    BOX_LIST  /* n places of an axis of known size */
};

/* The places along each axis at which a node writes. */
struct box {
    int rank;
    struct {
        enum box_kind kind;
        int64_t first, behind, n, *list;
    } on[RANK_MAX];
};

/* Numbers of the constant along an axis, the same at all other places. */
static bool constant_list(const struct tensor *v, int axis, int64_t n, int64_t *list)
{
    int64_t stride[RANK_MAX];
    if (!dtype_is_int(v->type) || axis < 0 || axis >= v->rank || v->dim[axis] != n)
        return false;
    tensor_strides(v, stride);
    for (int64_t i = 0; i < tensor_count(v); i++) {
        const int64_t at = i / stride[axis] % n, x = tensor_get_i64(v, v->data, i);
        if (i == at * stride[axis])
            list[at] = x;
        else if (list[at] != x)
            return false;
    }
    return true;
}

static bool list_along(const struct graph *g, uint32_t w, int axis, int64_t n, int64_t *list)
{
    int64_t first;
    if (n == 1 && repeats_number(g, w, list))
        return true;
    for (int steps = 0; steps < STEPS_MAX && axis >= 0; steps++) {
        const struct tensor *v = g->wires[w].fact.value;
        const struct node *m = graph_producer(g, w);
        if (v || !m)
            return v && v->type != DTYPE_DIM && constant_list(v, axis, n, list);
        if (axis == 0 && list_counts(g, m, &first)) {
            for (int64_t i = 0; i < n; i++)
                list[i] = first + i;
            return true;
        }
        axis = axis_in(g, m, axis);
        w = m->in[0];
    }
    return false;
}

/* Coordinate k of constant places. */
static bool list_within(const struct tensor *v, int k, int64_t n, int64_t *list)
{
    const int last = v->rank - 1;
    struct tensor of = *v;
    int64_t stride[RANK_MAX];
    tensor_strides(v, stride);
    if (!dtype_is_int(v->type) || v->dim[k] != n)
        return false;
    for (int64_t i = 0; i < tensor_count(v); i += of.dim[last]) {
        const int64_t at = i / stride[k] % n, x = tensor_get_i64(v, v->data, i + k);
        if (i == at * stride[k])
            list[at] = x;
        else if (list[at] != x)
            return false;
    }
    return true;
}

/* Frames at an end of an axis that is open. */
static bool ends_take(struct box *b, int k, const int64_t *list, int64_t n)
{
    for (int64_t i = 1; i < n; i++)
        if (list[i] != list[0] + i)
            return false;
    if (n > ENDS_MAX || (list[0] < 0 ? list[0] != -n : list[0] > ENDS_MAX))
        return false;
    b->on[k].kind = list[0] < 0 ? BOX_TAIL : BOX_HEAD;
    b->on[k].first = list[0];
    b->on[k].n = n;
    return true;
}

/* Places of an axis of known size, each once. */
static bool places_take(struct box *b, int k, int64_t *list, int64_t n, int64_t size)
{
    bool whole = n == size;
    for (int64_t i = 0; i < n; i++) {
        list[i] += list[i] < 0 ? size : 0;
        whole &= list[i] == i;
        if (list[i] < 0 || list[i] >= size)
            return false;
        for (int64_t j = 0; j < i; j++)
            if (list[j] == list[i])
                return false;
    }
    b->on[k].kind = whole ? BOX_WHOLE : BOX_LIST;
    b->on[k].n = n;
    b->on[k].list = list;
    return true;
}

/* The frames of an open axis but for some at its ends, `n` in all. */
static bool rest_take(const struct graph *g, struct box *b, int k, int64_t first,
                      const struct dim *size, const struct dim *n)
{
    struct dims *ds = g->dims;
    b->on[k].kind = n == size && first == 0 ? BOX_WHOLE : BOX_REST;
    b->on[k].first = first;
    for (int64_t c = 0; c <= ENDS_MAX; c++) {
        b->on[k].behind = c;
        if (n == dim_max(ds, dim_int(ds, 0), dim_add_int(ds, size, -first - c)))
            return true;
    }
    return b->on[k].kind == BOX_WHOLE;
}

static bool axis_take(const struct graph *g, const struct node *n, int k, int count, struct box *b)
{
    const struct fact *x = &g->wires[n->in[0]].fact, *ix = &g->wires[n->in[1]].fact;
    const struct tensor *v = ix->value;
    const uint32_t w = v ? WIRE_NONE : coordinate(g, n, k, count);
    const struct fact *f = w == WIRE_NONE ? NULL : &g->wires[w].fact;
    int64_t first;
    if (!v && (!f || f->rank != ix->rank || !dim_is(f->shape[count], 1)))
        return false;
    if (!dim_is_const(ix->shape[k]))
        return !v && counts_along(g, w, k, &first) && first <= ENDS_MAX &&
            rest_take(g, b, k, first, x->shape[k], ix->shape[k]);
    const int64_t many = dim_value(ix->shape[k]);
    int64_t *list = many > 0 && many <= LIST_MAX ? arena_array(g->arena, int64_t, many) : NULL;
    if (!list || !(v ? list_within(v, k, many, list) : list_along(g, w, k, many, list)))
        return false;
    return dim_is_const(x->shape[k]) ? places_take(b, k, list, many, dim_value(x->shape[k]))
                                     : ends_take(b, k, list, many);
}

static bool box_find(const struct graph *g, const struct node *n, struct box *b)
{
    if (!node_is(n, OP_SCATTER_ND) || ((const struct scatter_attr *) n->attr)->reduction)
        return false;
    const struct fact *x = &g->wires[n->in[0]].fact, *ix = &g->wires[n->in[1]].fact;
    const int count = ix->rank - 1;
    bool open = false, some = false;
    *b = (struct box) { .rank = x->rank };
    if (count < 1 || count > x->rank || !dim_is(ix->shape[count], count) ||
        (ix->value && ix->value->type == DTYPE_DIM))
        return false;
    for (int k = 0; k < x->rank; k++)
        open |= dim_has_symbol(x->shape[k]);
    for (int k = 0; k < count; k++) {
        if (!axis_take(g, n, k, count, b))
            return false;
        some |= b->on[k].kind != BOX_WHOLE;
    }
    return open && some;
}

static rill_status slice_put(struct edit *e, uint32_t at, uint32_t x, int axis, int64_t from,
                             int64_t to, uint32_t *ret, rill_error *err)
{
    static const struct value_attr none = { 0 };
    const int64_t cut[3] = { from, to, axis };
    uint32_t in[4] = { x };
    for (unsigned i = 0; i < 3; i++)
        TRY(put_ints(e->g, (struct attr_ints) { .v = &cut[i], .n = 1 }, &in[1 + i], err));
    return put_before(e, at, op_by_id(OP_SLICE), &none, in, 4, ret, err);
}

static rill_status join_put(struct edit *e, uint32_t at, int axis, const uint32_t *in, unsigned n,
                            uint32_t *ret, rill_error *err)
{
    struct axis_attr *attr = arena_new(e->g->arena, struct axis_attr);
    if (!attr)
        return no_memory(err);
    attr->axis = axis;
    return put_before(e, at, op_by_id(OP_CONCAT), attr, in, n, ret, err);
}

static rill_status pick_put(struct edit *e, uint32_t at, uint32_t x, int axis, const int64_t *list,
                            int64_t n, uint32_t *ret, rill_error *err)
{
    struct axis_attr *attr = arena_new(e->g->arena, struct axis_attr);
    uint32_t in[2] = { x };
    if (!attr)
        return no_memory(err);
    attr->axis = axis;
    TRY(put_ints(e->g, (struct attr_ints) { .v = list, .n = (uint32_t) n }, &in[1], err));
    return put_before(e, at, op_by_id(OP_GATHER), attr, in, 2, ret, err);
}

/* So many frames there are: a ScatterND ends the whole run on an axis that lacks them. */
static rill_status frames_need(struct graph *g, const struct dim *size, int64_t least,
                               rill_error *err)
{
    char name[160], text[200];
    const struct dim *ge0 = dim_add_int(g->dims, size, -least);
    dim_print(size, name, sizeof name);
    snprintf(text, sizeof text, "%s >= %lld", name, (long long) least);
    TRY(dims_assume(g->dims, ge0, err));
    TRY(dims_claim_keep(g->dims, text, ge0, err));
    return dims_claim_add(g->dims, DIM_CLAIM_NEEDED, text, ge0, err);
}

/* x from so many frames on; of frames that were joined, those in front fall away. */
static rill_status behind_put(struct edit *e, uint32_t at, uint32_t x, int axis, int64_t frames,
                              uint32_t *ret, rill_error *err)
{
    const struct graph *g = e->g;
    const struct node *n = match_op(g, x, OP_CONCAT);
    const struct dim *front = n ? g->wires[n->in[0]].fact.shape[axis] : NULL;
    if (n && n->n_in == 2 && axis_normalise(axis_of(n), g->wires[x].fact.rank) == axis &&
        dim_is_const(front) && dim_value(front) <= frames)
        return behind_put(e, at, n->in[1], axis, frames - dim_value(front), ret, err);
    *ret = x;
    return frames ? slice_put(e, at, x, axis, frames, INT64_MAX, ret, err) : RILL_OK;
}

static rill_status box_put(struct edit *e, uint32_t at, const struct box *b, int k, uint32_t x,
                           uint32_t *ret, rill_error *err);

/* What is written between `front` frames and `behind` others of x. */
static rill_status between_put(struct edit *e, uint32_t at, const struct box *b, int k, uint32_t x,
                               uint32_t *ret, rill_error *err)
{
    const int64_t front = b->on[k].first, behind = b->on[k].behind;
    uint32_t in[3], mid = x, part;
    unsigned n = 0;
    if (front) {
        TRY(slice_put(e, at, x, k, 0, front, &in[n++], err));
        TRY(slice_put(e, at, x, k, front, INT64_MAX, &mid, err));
    }
    part = mid;
    if (behind)
        TRY(slice_put(e, at, mid, k, 0, -behind, &part, err));
    TRY(box_put(e, at, b, k + 1, part, &in[n++], err));
    if (behind)
        TRY(slice_put(e, at, mid, k, -behind, INT64_MAX, &in[n++], err));
    return n == 1 ? (*ret = in[0], RILL_OK) : join_put(e, at, k, in, n, ret, err);
}

/* What is written over n frames at an end of x. */
static rill_status end_put(struct edit *e, uint32_t at, const struct box *b, int k, uint32_t x,
                           uint32_t *ret, rill_error *err)
{
    const bool tail = b->on[k].kind == BOX_TAIL;
    const int64_t n = b->on[k].n, first = tail ? -n : b->on[k].first, to = first + n;
    uint32_t in[3], part;
    unsigned count = 0;
    TRY(frames_need(e->g, e->g->wires[x].fact.shape[k], tail ? n : to, err));
    if (first)
        TRY(slice_put(e, at, x, k, 0, first, &in[count++], err));
    TRY(slice_put(e, at, x, k, first, tail ? INT64_MAX : to, &part, err));
    TRY(box_put(e, at, b, k + 1, part, &in[count++], err));
    if (!tail)
        TRY(behind_put(e, at, x, k, to, &in[count++], err));
    return join_put(e, at, k, in, count, ret, err);
}

/* What is written at places of an axis of known size: of x and it, joined, those that are left. */
static rill_status places_put(struct edit *e, uint32_t at, const struct box *b, int k, uint32_t x,
                              uint32_t *ret, rill_error *err)
{
    const int64_t size = dim_value(e->g->wires[x].fact.shape[k]), n = b->on[k].n;
    int64_t *from = arena_array(e->g->arena, int64_t, size);
    uint32_t in[2] = { x };
    if (!from)
        return no_memory(err);
    for (int64_t i = 0; i < size; i++)
        from[i] = i;
    for (int64_t i = 0; i < n; i++)
        from[b->on[k].list[i]] = size + i;
    TRY(pick_put(e, at, x, k, b->on[k].list, n, &in[1], err));
    TRY(box_put(e, at, b, k + 1, in[1], &in[1], err));
    TRY(join_put(e, at, k, in, 2, ret, err));
    return pick_put(e, at, *ret, k, from, size, ret, err);
}

/* x, a part of what node `at` writes to, with what it writes there, from axis k on. */
static rill_status box_put(struct edit *e, uint32_t at, const struct box *b, int k, uint32_t x,
                           uint32_t *ret, rill_error *err)
{
    while (k < b->rank && b->on[k].kind == BOX_WHOLE)
        k++;
    if (k == b->rank) {
        *ret = e->g->nodes[at].in[2];
        return RILL_OK;
    }
    switch (b->on[k].kind) {
    case BOX_REST: return between_put(e, at, b, k, x, ret, err);
    case BOX_LIST: return places_put(e, at, b, k, x, ret, err);
    default: return end_put(e, at, b, k, x, ret, err);
    }
}

static rill_status box_join(struct edit *e, uint32_t at, const struct box *b, rill_error *err)
{
    uint32_t y;
    TRY(box_put(e, at, b, 0, e->g->nodes[at].in[0], &y, err));
    if (!edit_inputs(e, at, &y, 1))
        return no_memory(err);
    e->g->nodes[at].op = op_by_id(OP_IDENTITY);
    e->g->nodes[at].attr = NULL;
    return RILL_OK;
}

rill_status graph_with_frames_put(struct graph *ret, const struct graph *g, rill_error *reterr)
{
    struct edit e;
    struct frames_put q;
    struct box b;
    TRY(edit_begin(&e, ret, g, reterr));
    for (uint32_t i = 0; i < e.n_nodes; i++)
        if (frames_find(e.g, &e.g->nodes[i], &q))
            TRY(frames_join(&e, i, &q, reterr));
        else if (box_find(e.g, &e.g->nodes[i], &b))
            TRY(box_join(&e, i, &b, reterr));
    return edit_end(&e, reterr);
}
