/* SPDX-License-Identifier: MIT */
/* A Pad of what a Pad alone has made is one Pad. Zeros around a tensor that only a convolution
 * reads: the convolution pads by itself. Not along an axis of which the size is open, which may be
 * time: how long the padded tensor is says where its frames lie (pulse/offset.h), and who streams
 * it widens the windows by itself. */
#include "engine/graph/edit.h"
#include "engine/ops/attrs.h"
#include "engine/rewrite/declutter/passes.h"
#include "engine/rewrite/declutter/put.h"

#include <string.h>

enum { PAD_X, PAD_PADS, PAD_VALUE, PAD_AXES };

static bool pads_with_zero(const struct graph *g, const struct node *n)
{
    const struct tensor *v = node_value(g, n, PAD_VALUE);
    return node_is(n, OP_PAD) && pad_attr_of(n)->mode == PAD_CONSTANT &&
        g->wires[n->in[PAD_X]].fact.type == DTYPE_F32 &&
        (!node_has_input(n, PAD_VALUE) ||
         (v && tensor_count(v) == 1 && tensor_get_f64(v, v->data, 0) == 0));
}

/* How much is put before each axis, and after each; negative: taken away. False: it is not known.
 */
static bool amounts_read(const struct graph *g, const struct node *n, int64_t *ret, int rank)
{
    const struct tensor *p = node_value(g, n, PAD_PADS), *axes = node_value(g, n, PAD_AXES);
    if (!p || p->type != DTYPE_I64 || (node_has_input(n, PAD_AXES) && !axes))
        return false;
    int64_t named = tensor_count(p) / 2;
    memset(ret, 0, 2 * (size_t) rank * sizeof *ret);
    for (int64_t i = 0; i < named; i++) {
        int a = axes ? axis_normalise(tensor_get_i64(axes, axes->data, i), rank) : (int) i;
        int64_t before = ((const int64_t *) p->data)[i],
                after = ((const int64_t *) p->data)[named + i];
        if (a < 0 || a >= rank || before < -INT32_MAX || after < -INT32_MAX || before > INT32_MAX ||
            after > INT32_MAX)
            return false;
        ret[a] = before;
        ret[rank + a] = after;
    }
    return true;
}

/* The same of zeros; false also: some are taken away, or batch or channels get some. */
static bool zeros_read(const struct graph *g, const struct node *n, int64_t *ret, int rank)
{
    bool zeros = amounts_read(g, n, ret, rank);
    for (int i = 0; zeros && i < 2 * rank; i++)
        zeros = i % rank < 2 ? ret[i] == 0 : ret[i] >= 0;
    return zeros;
}

/* The number that a Pad by constants puts, NULL for 0; false: it is not known. */
static bool value_read(const struct graph *g, const struct node *n, const struct tensor **ret)
{
    static const unsigned char zero[16];
    const struct tensor *v = node_value(g, n, PAD_VALUE);
    const bool known = v && tensor_count(v) == 1 && tensor_bytes(v) <= sizeof zero;
    *ret = known && memcmp(v->data, zero, tensor_bytes(v)) ? v : NULL;
    return known || !node_has_input(n, PAD_VALUE);
}

static bool values_same(const struct graph *g, const struct node *a, const struct node *b)
{
    const struct tensor *x, *y;
    return value_read(g, a, &x) && value_read(g, b, &y) &&
        (x == y || (x && y && x->type == y->type && !memcmp(x->data, y->data, tensor_bytes(x))));
}

/* Adds the pads of an axis that are put around what has those of `all`. What is cut says nothing of
 * what was cut before. Mirrored frames that are mirrored again are others; as many as lie in front
 * of a sequence its end has, too. */
static bool axis_adds(int mode, const int64_t *more, int64_t *all, int axis, int rank)
{
    const int64_t before = all[axis], after = all[rank + axis], first = more[axis],
                  last = more[rank + axis];
    const bool both = (first || last) && (before || after),
               puts = first >= 0 && last >= 0 && before >= 0 && after >= 0,
               apart = (!after && !first && last <= before) || (!before && !last && first <= after);
    if (both &&
        !(puts && (mode == PAD_CONSTANT || mode == PAD_EDGE || (mode == PAD_REFLECT && apart))))
        return false;
    all[axis] += first;
    all[rank + axis] += last;
    return true;
}

/* What a Pad of a Pad's output pads in all; false: one Pad does not do it. */
static bool pads_add(const struct graph *g, const struct node *inner, const struct node *n,
                     int64_t *ret, int rank)
{
    const int mode = pad_attr_of(n)->mode;
    int64_t more[2 * RANK_MAX];
    if (!node_is(inner, OP_PAD) || pad_attr_of(inner)->mode != mode ||
        !amounts_read(g, inner, ret, rank) || !amounts_read(g, n, more, rank) ||
        (mode == PAD_CONSTANT && !values_same(g, inner, n)))
        return false;
    for (int axis = 0; axis < rank; axis++)
        if (!axis_adds(mode, more, ret, axis, rank))
            return false;
    return true;
}

static rill_status pads_merge(struct edit *e, uint32_t i, rill_error *err)
{
    struct graph *g = e->g;
    const struct node *n = &g->nodes[i];
    int64_t all[2 * RANK_MAX];
    uint32_t pad;
    if (!node_is(n, OP_PAD) || !edit_sole_producer(e, n->in[PAD_X], &pad))
        return RILL_OK;
    const int rank = g->wires[n->in[PAD_X]].fact.rank;
    if (!pads_add(g, &g->nodes[pad], n, all, rank))
        return RILL_OK;
    uint32_t in[] = { g->nodes[pad].in[PAD_X], WIRE_NONE,
                      node_has_input(n, PAD_VALUE) ? n->in[PAD_VALUE] : WIRE_NONE };
    TRY(put_ints(g, (struct attr_ints) { 2 * (uint32_t) rank, all }, &in[PAD_PADS], err));
    if (!edit_inputs(e, i, in, 3))
        return err_set(err, RILL_NOMEM, "out of memory");
    e->gone[pad] = true;
    return RILL_OK;
}

/* Moves the zeros on axes of known size from `all` to `taken`; false: there are none. */
static bool zeros_take(const struct fact *x, int64_t *all, int64_t *taken)
{
    bool any = false;
    memset(taken, 0, 2 * (size_t) x->rank * sizeof *taken);
    for (int i = 0; i < 2 * x->rank; i++)
        if (dim_is_const(x->shape[i % x->rank])) {
            any |= all[i] != 0;
            taken[i] = all[i];
            all[i] = 0;
        }
    return any;
}

static bool pad_drop(struct edit *e, uint32_t pad, uint32_t consumer)
{
    struct node *n = &e->g->nodes[consumer];
    uint32_t *in = arena_copy(e->g->arena, n->in, n->n_in * sizeof *in);
    if (!in)
        return false;
    in[0] = e->g->nodes[pad].in[PAD_X];
    n->in = in;
    e->gone[pad] = true;
    return true;
}

/* Leaves the node only the zeros of `left`; without any it goes. */
static bool pad_leave(struct edit *e, uint32_t pad, uint32_t consumer, const int64_t *left,
                      int rank)
{
    struct graph *g = e->g;
    struct node *n = &g->nodes[pad];
    const struct fact *x = &g->wires[n->in[PAD_X]].fact;
    const int64_t count = 2 * rank, none[2 * RANK_MAX] = { 0 };
    struct fact *y = &g->wires[n->out[0]].fact;
    if (!memcmp(left, none, (size_t) count * sizeof *left))
        return pad_drop(e, pad, consumer);
    uint32_t in[] = { n->in[PAD_X], WIRE_NONE,
                      node_has_input(n, PAD_VALUE) ? n->in[PAD_VALUE] : WIRE_NONE };
    for (int i = 0; i < rank; i++)
        if (dim_is_const(x->shape[i]))
            y->shape[i] = x->shape[i];
    in[PAD_PADS] =
        graph_add_const(g, n->name, tensor_from_data(g->arena, DTYPE_I64, 1, &count, left));
    return in[PAD_PADS] != WIRE_NONE && edit_inputs(e, pad, in, 3);
}

/* What is cut in front and padded behind is cut first: what pads it in front may be cut so. */
static rill_status pads_split(struct edit *e, uint32_t i, rill_error *err)
{
    struct graph *g = e->g;
    const struct node n = g->nodes[i];
    const int rank = node_is(&n, OP_PAD) ? g->wires[n.in[PAD_X]].fact.rank : 0;
    int64_t cut[2 * RANK_MAX], puts[2 * RANK_MAX];
    bool both = false;
    if (!rank || !amounts_read(g, &n, puts, rank))
        return RILL_OK;
    for (int k = 0; k < 2 * rank; k++) {
        both |= k < rank && puts[k] < 0 && puts[rank + k] > 0;
        cut[k] = puts[k] < 0 ? puts[k] : 0;
        puts[k] -= cut[k];
    }
    if (!both)
        return RILL_OK;
    uint32_t in[] = { n.in[PAD_X], WIRE_NONE,
                      node_has_input(&n, PAD_VALUE) ? n.in[PAD_VALUE] : WIRE_NONE };
    const uint32_t count = 2 * (uint32_t) rank;
    uint32_t rest;
    TRY(put_ints(g, (struct attr_ints) { count, cut }, &in[PAD_PADS], err));
    TRY(put_before(e, i, n.op, n.attr, in, 3, &rest, err));
    in[PAD_X] = rest;
    TRY(put_ints(g, (struct attr_ints) { count, puts }, &in[PAD_PADS], err));
    return edit_inputs(e, i, in, 3) ? RILL_OK : err_set(err, RILL_NOMEM, "out of memory");
}

static bool conv_takes(const struct node *n)
{
    return node_is(n, OP_CONV) && window_attr_of(n)->auto_pad == PAD_NOTSET;
}

static bool conv_widen(struct edit *e, uint32_t conv, const int64_t *zeros, int rank)
{
    struct attr_ints was = window_attr_of(&e->g->nodes[conv])->pads;
    uint32_t axes = (uint32_t) rank - 2;
    int64_t *all = arena_array(e->g->arena, int64_t, 2 * axes);
    if (!all)
        return false;
    for (uint32_t i = 0; i < axes; i++) {
        all[i] = (was.n ? was.v[i] : 0) + zeros[2 + i];
        all[axes + i] = (was.n ? was.v[axes + i] : 0) + zeros[rank + 2 + (int) i];
    }
    struct conv_attr *own = edit_attr(e, conv);
    if (own)
        own->w.pads = (struct attr_ints) { 2 * axes, all };
    return own != NULL;
}

rill_status graph_with_pads_absorbed(struct graph *ret, const struct graph *g, rill_error *reterr)
{
    struct edit e;
    TRY(edit_begin(&e, ret, g, reterr));
    for (uint32_t i = 0; i < e.n_nodes; i++)
        TRY(pads_merge(&e, i, reterr));
    for (uint32_t i = 0; i < e.n_nodes; i++)
        TRY(pads_split(&e, i, reterr));
    for (uint32_t i = 0; i < e.n_nodes; i++) {
        uint32_t pad;
        int64_t zeros[2 * RANK_MAX], taken[2 * RANK_MAX];
        if (!conv_takes(&ret->nodes[i]) || !edit_sole_producer(&e, ret->nodes[i].in[0], &pad) ||
            !pads_with_zero(ret, &ret->nodes[pad]))
            continue;
        const struct fact *x = &ret->wires[ret->nodes[pad].in[PAD_X]].fact;
        int rank = x->rank;
        if (!zeros_read(ret, &ret->nodes[pad], zeros, rank) || !zeros_take(x, zeros, taken))
            continue;
        if (!conv_widen(&e, i, taken, rank) || !pad_leave(&e, pad, i, zeros, rank))
            return err_set(reterr, RILL_NOMEM, "out of memory");
    }
    return edit_end(&e, reterr);
}
