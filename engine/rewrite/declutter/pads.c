/* SPDX-License-Identifier: MIT */
/* Zeros around a tensor that only a convolution reads: the convolution pads by itself. Not along an
 * axis of which the size is open, which may be time: how long the padded tensor is says where its
 * frames lie (pulse/offset.h), and who streams it widens the windows by itself. */
#include "engine/graph/edit.h"
#include "engine/ops/attrs.h"
#include "engine/rewrite/declutter/passes.h"

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

/* Zeros before and after each axis; false: not known, some are taken away, or batch or channels get
 * some. */
static bool zeros_read(const struct graph *g, const struct node *n, int64_t *ret, int rank)
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
        if (a < 0 || a >= rank || before < 0 || after < 0 || before > INT32_MAX ||
            after > INT32_MAX || (a < 2 && (before || after)))
            return false;
        ret[a] = before;
        ret[rank + a] = after;
    }
    return true;
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
    for (uint32_t i = 0; i < ret->n_nodes; i++) {
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
