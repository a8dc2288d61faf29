/* SPDX-License-Identifier: MIT */
/* Convolutions of one place and of one output a channel that follow each other keep their channels
 * last, and so does what stands between them: places are rows of a product as they lie, and lanes
 * run along the channels. Images are turned where such a part of the graph begins and ends. The
 * same numbers. */
#include "engine/ops/attrs.h"
#include "engine/ops/conv_last.h"
#include "engine/rewrite/settle/passes.h"
#include "engine/rewrite/settle/turned.h"

enum { CONV_X, CONV_W, CONV_B };

#define CHANNELS_MIN 32 /* of fewer lanes stand empty */
#define PLACES_MIN 12   /* of fewer the weights are what costs */

/* One that ConvLast computes. */
static bool conv_fits(const struct graph *g, const struct node *n, struct tensor *ret_x,
                      struct window *ret)
{
    const struct tensor *w;
    const struct conv_attr *a = n->attr;
    struct tensor y;
    if (!node_is(n, OP_CONV) || a->winograd || a->w.may_lack || a->epilogue.n ||
        !(w = node_value(g, n, CONV_W)) || w->type != DTYPE_F32 || w->rank != 4 ||
        (node_has_input(n, CONV_B) && !node_value(g, n, CONV_B)) ||
        !turned_image(g, n->in[CONV_X], ret_x) || !turned_image(g, n->out[0], &y) ||
        !turned_window(g, n, &a->w, SAME_CONV, w->dim + 2, ret))
        return false;
    for (int i = 0; i < 2; i++)
        if ((ret->kernel[i] - 1) * ret->dilation[i] >= ret_x->dim[2 + i])
            return false; /* taps that lie in the padding always are left out of a Conv */
    return y.dim[1] >= CHANNELS_MIN && y.dim[2] * y.dim[3] >= PLACES_MIN &&
        (a->group == 1 || (a->group == ret_x->dim[1] && a->group == y.dim[1]));
}

/* And is faster so. */
static bool conv_gains(const struct graph *g, const struct node *n)
{
    struct tensor x;
    struct window w;
    if (!conv_fits(g, n, &x, &w) || x.dim[1] < CHANNELS_MIN)
        return false;
    return conv_attr_of(n)->group > 1 ||
        (w.kernel[0] * w.kernel[1] == 1 && w.stride[0] * w.stride[1] == 1);
}

static bool conv_turn(struct turned *t, uint32_t i, const struct window *w)
{
    struct graph *g = t->e.g;
    const struct node n = g->nodes[i];
    struct conv_attr *a = arena_new(g->arena, struct conv_attr);
    if (!a || !turned_ready(t, i))
        return false;
    *a = (struct conv_attr) {
        .w = { .strides = turned_pair(g->arena, w->stride[0], w->stride[1]),
               .dilations = turned_pair(g->arena, w->dilation[0], w->dilation[1]),
               .pads = turned_pads(g->arena, w) },
        .group = conv_attr_of(&n)->group,
    };
    const uint32_t in[] = { t->last[n.in[CONV_X]], n.in[CONV_W],
                            n.n_in > CONV_B ? n.in[CONV_B] : WIRE_NONE };
    return a->w.strides.v && a->w.dilations.v && a->w.pads.v &&
        turned_put(t, i, op_by_id(OP_CONV_LAST), a, in, n.n_in);
}

static bool node_turn(struct turned *t, uint32_t i)
{
    const struct graph *g = t->e.g;
    const struct node *n = &g->nodes[i];
    struct tensor x;
    struct window w;
    if ((turned_is_there(t, n) || turned_is_wanted(t, n)) && conv_fits(g, n, &x, &w))
        return conv_turn(t, i, &w);
    if (n->n_out == 1 && n->out[0] != WIRE_NONE && turned_elements_fit(g, n))
        t->wanted[n->out[0]] = true; /* what follows is turned instead */
    return turned_rest(t, i);
}

/* Wires that convolutions read which gain, from the last node to the first. */
static void wanted_set(struct turned *t)
{
    const struct graph *g = t->e.g;
    for (uint32_t i = t->e.n_nodes; i-- > 0;) {
        const struct node *n = &g->nodes[i];
        if (conv_gains(g, n))
            t->wanted[n->in[CONV_X]] = true;
        else if (turned_is_wanted(t, n) && turned_elements_fit(g, n))
            turned_want_inputs(t, n);
    }
}

rill_status graph_with_floats_channels_last(struct graph *ret, const struct graph *g,
                                            rill_error *reterr)
{
    return graph_with_parts_turned(ret, g, wanted_set, node_turn, reterr);
}
