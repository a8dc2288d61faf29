/* SPDX-License-Identifier: MIT */
/* Convolutions whose kernels have three places along an axis of known size are made by Winograd's
 * products along it (engine/ops/conv_winograd.h). The axis of a stream has no known size. */
#include "engine/graph/edit.h"
#include "engine/ops/attrs.h"
#include "engine/rewrite/declutter/passes.h"

#define OUTPUTS_MIN 16  /* along the axis: with fewer, tiles are too few for their weights */
#define CHANNELS_MIN 24 /* of the input and of the output: with fewer, components cost too much */
#define WEIGHTS_MAX ((int64_t) 1 << 20) /* twice as many then: 8 MiB */

enum { CONV_X, CONV_W };
enum { FIRST = 2, LAST }; /* axes of the tensors */

static int64_t int_at(struct attr_ints l, int i)
{
    return (int) l.n > i ? l.v[i] : 1;
}

static bool conv_fits(const struct graph *g, const struct node *n)
{
    const struct tensor *w = node_is(n, OP_CONV) ? node_value(g, n, CONV_W) : NULL;
    return w && n->out[0] != WIRE_NONE && w->type == DTYPE_F32 && w->rank == LAST + 1 &&
        conv_attr_of(n)->group == 1 && !conv_attr_of(n)->winograd && w->dim[0] >= CHANNELS_MIN &&
        w->dim[1] >= CHANNELS_MIN && tensor_count(w) <= WEIGHTS_MAX;
}

static bool axis_fits(const struct graph *g, const struct node *n, int axis)
{
    const struct window_attr *a = window_attr_of(n);
    const struct dim *y = g->wires[n->out[0]].fact.shape[axis];
    return node_value(g, n, CONV_W)->dim[axis] == 3 && int_at(a->strides, axis - FIRST) == 1 &&
        int_at(a->dilations, axis - FIRST) == 1 && dim_is_const(y) && dim_value(y) >= OUTPUTS_MIN;
}

/* The axis of its tiles: the last one, so that a net of windows does the same in front of them,
 * where time, the first one, is open; the first one where time is the last. 0: none. A kernel of 3
 * x 1 has too few terms for lines of a few frames. */
static int tiles_axis(const struct graph *g, const struct node *n)
{
    const struct fact *x = &g->wires[n->in[CONV_X]].fact;
    if (dim_is_const(x->shape[LAST]))
        return axis_fits(g, n, LAST) ? LAST : 0;
    return node_value(g, n, CONV_W)->dim[LAST] > 1 && axis_fits(g, n, FIRST) ? FIRST : 0;
}

rill_status graph_with_winograd(struct graph *ret, const struct graph *g, rill_error *reterr)
{
    struct edit e;
    TRY(edit_begin(&e, ret, g, reterr));
    for (uint32_t i = 0; i < ret->n_nodes; i++) {
        const struct node *n = &ret->nodes[i];
        const int axis = conv_fits(ret, n) ? tiles_axis(ret, n) : 0;
        struct conv_attr *own = axis ? edit_attr(&e, i) : NULL;
        if (axis && !own)
            return err_set(reterr, RILL_NOMEM, "out of memory");
        if (own)
            own->winograd = axis;
    }
    return edit_end(&e, reterr);
}
