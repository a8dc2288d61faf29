/* SPDX-License-Identifier: MIT */
/* Resize of a window onto a stream: of each output frame its taps are gathered, weighed and summed.
 */
#include "engine/base/err.h"
#include "engine/ops/resize.h"
#include "models/export/lower.h"

struct taps {
    const struct resize_attr *attr;
    const struct fact *x;
    int axis;
    int64_t frames; /* of the output */
};

static struct resize_taps taps_at(const struct taps *t, int64_t frame)
{
    const struct resize_map m = {
        .attr = t->attr, .out = -1, .num = t->attr->up, .den = t->attr->down
    };
    struct resize_taps r;
    resize_taps_of(&m, t->attr->first + frame, &r);
    return r;
}

/* Where tap k lies; where it weighs nothing, where one lies that does weigh. */
static int64_t tap_place(const struct resize_taps *r, int k)
{
    int heavy = 0;
    for (int i = 0; i < r->n; i++)
        heavy = r->weight[i] != 0 ? i : heavy;
    return r->at[r->weight[k] != 0 ? k : heavy];
}

/* Tap k of every frame. */
static uint32_t frames_of_tap(struct lower *l, const struct taps *t, int k)
{
    int64_t last = lower_size(t->x, t->axis) - 1;
    struct tensor *at = tensor_new(l->arena, DTYPE_I64, 1, &t->frames);
    for (int64_t i = 0; at && i < t->frames; i++) {
        const struct resize_taps r = taps_at(t, i);
        int64_t v = tap_place(&r, k) + t->attr->shift;
        ((int64_t *) at->data)[i] = v < 0 ? 0 : v > last ? last : v;
    }
    return at ? lower_gather(l, lower_in(l, l->at, 0), lower_const(l, at), t->axis)
              : lower_fail(l, RILL_NOMEM);
}

static uint32_t weights_of_tap(struct lower *l, const struct taps *t, int k)
{
    int64_t dim[RANK_MAX];
    for (int i = 0; i < t->x->rank; i++)
        dim[i] = i == t->axis ? t->frames : 1;
    struct tensor *w = tensor_new(l->arena, t->x->type, t->x->rank, dim);
    for (int64_t i = 0; w && i < t->frames; i++)
        tensor_set_f64(w, w->data, i, taps_at(t, i).weight[k]);
    return w ? lower_const(l, w) : lower_fail(l, RILL_NOMEM);
}

static bool others_kept(const struct lower *l, const struct node *n, int axis)
{
    const struct fact *x = lower_fact(l, n, 0), *y = &l->src->wires[n->out[0]].fact;
    for (int i = 0; i < x->rank; i++)
        if (i != axis && x->shape[i] != y->shape[i])
            return false;
    return true;
}

void lower_resize(struct lower *l, const struct node *n, uint32_t *ret_out)
{
    const struct resize_attr *a = n->attr;
    struct taps t = { a, lower_fact(l, n, 0), (int) a->window_axis, 0 };
    t.frames = lower_size(&l->src->wires[n->out[0]].fact, t.axis);
    if (!others_kept(l, n, t.axis)) {
        ret_out[0] = lower_fail(l,
                                op_fail(l->err, RILL_UNSUPPORTED, n,
                                        "it resizes time and another axis at once, which no op "
                                        "of a file does in steps"));
        return;
    }
    int taps = taps_at(&t, 0).n;
    ret_out[0] = frames_of_tap(l, &t, 0);
    if (taps > 1)
        ret_out[0] = lower_2(l, OP_MUL, ret_out[0], weights_of_tap(l, &t, 0));
    for (int k = 1; k < taps; k++)
        ret_out[0] = lower_2(l, OP_ADD, ret_out[0],
                             lower_2(l, OP_MUL, frames_of_tap(l, &t, k), weights_of_tap(l, &t, k)));
}
