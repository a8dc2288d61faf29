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

/* A number of each frame, along time. */
static struct tensor *frames_tensor(struct lower *l, const struct taps *t, enum dtype type)
{
    int64_t dim[RANK_MAX];
    for (int i = 0; i < t->x->rank; i++)
        dim[i] = i == t->axis ? t->frames : 1;
    return tensor_new(l->arena, type, t->x->rank, dim);
}

/* Tap k by its weights; where these are 0 it is not read, infinite or not. */
static uint32_t weighed_tap(struct lower *l, const struct taps *t, int k)
{
    struct tensor *w = frames_tensor(l, t, DTYPE_F64), *some = frames_tensor(l, t, DTYPE_BOOL);
    if (!w || !some)
        return lower_fail(l, RILL_NOMEM);
    for (int64_t i = 0; i < t->frames; i++) {
        const double weight = ((double *) w->data)[i] = taps_at(t, i).weight[k];
        ((uint8_t *) some->data)[i] = weight != 0;
    }
    return lower_where(l, lower_const(l, some),
                       lower_2(l, OP_MUL, lower_cast(l, frames_of_tap(l, t, k), DTYPE_F64),
                               lower_const(l, w)),
                       lower_zero(l, DTYPE_F64));
}

static bool tap_is_all(const struct resize_taps *r)
{
    double most = 0;
    int n = 0;
    for (int k = 0; k < r->n; k++) {
        most = r->weight[k] > most ? r->weight[k] : most;
        n += r->weight[k] != 0;
    }
    return n == 1 && most == 1;
}

/* As the engine stores a sum: halves by way of f32, and whole numbers keep the bits that they have
 * room for, where a cast of its own would keep the range. */
static uint32_t stored(struct lower *l, uint32_t sum, enum dtype to)
{
    if (dtype_is_half(to))
        sum = lower_cast(l, sum, DTYPE_F32);
    if (dtype_is_int(to) && to != DTYPE_U64)
        sum = lower_cast(l, sum, DTYPE_I64);
    return lower_cast(l, sum, to);
}

/* As the engine does it: summed from 0 in f64, and what one tap gives whole is moved. */
static uint32_t taps_sum(struct lower *l, const struct taps *t, int n)
{
    struct tensor *moved = frames_tensor(l, t, DTYPE_BOOL);
    uint32_t sum = lower_zero(l, DTYPE_F64);
    for (int64_t i = 0; moved && i < t->frames; i++) {
        const struct resize_taps r = taps_at(t, i);
        ((uint8_t *) moved->data)[i] = tap_is_all(&r);
    }
    for (int k = 0; k < n; k++)
        sum = lower_2(l, OP_ADD, sum, weighed_tap(l, t, k));
    return moved
        ? lower_where(l, lower_const(l, moved), frames_of_tap(l, t, 0), stored(l, sum, t->x->type))
        : lower_fail(l, RILL_NOMEM);
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
    const int taps = taps_at(&t, 0).n;
    ret_out[0] = taps > 1 ? taps_sum(l, &t, taps) : frames_of_tap(l, &t, 0);
}
