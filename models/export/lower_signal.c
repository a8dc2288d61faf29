/* SPDX-License-Identifier: MIT */
/* Framing, transforms and rounding by ops of the standard. */
#include "engine/ops/attrs.h"
#include "models/export/lower.h"
#include "models/export/writer.h"

static uint32_t unsqueezed(struct lower *l, uint32_t x, int64_t axis)
{
    return lower_2(l, OP_UNSQUEEZE, x, lower_ints(l, &axis, 1));
}

/* ---- Frame, OverlapAdd ---- */

#define FRAMES_WRITTEN 64 /* whose places are written out */

/* [frames, size]: where the samples of each frame stand. */
static uint32_t frame_places(struct lower *l, const struct frame_attr *a, const struct dim *frames)
{
    const bool few = dim_is_const(frames) && dim_value(frames) <= FRAMES_WRITTEN;
    const int64_t dim[2] = { few ? dim_value(frames) : 1, a->size }, last = 1;
    struct tensor *t = tensor_new(l->arena, DTYPE_I64, 2, dim);
    for (int64_t i = 0; t && i < dim[0] * a->size; i++)
        ((int64_t *) t->data)[i] = i / a->size * a->hop + i % a->size;
    uint32_t places = lower_const(l, t);
    if (few)
        return places;
    uint32_t range[3] = { lower_int(l, 0), lower_dim(l, frames), lower_int(l, 1) };
    uint32_t hops =
        lower_2(l, OP_MUL, lower_op(l, OP_RANGE, NULL, 0, range, 3), lower_int(l, a->hop));
    return lower_2(l, OP_ADD, lower_2(l, OP_UNSQUEEZE, hops, lower_ints(l, &last, 1)), places);
}

void lower_frame(struct lower *l, const struct node *n, uint32_t *ret_out)
{
    const struct frame_attr *a = n->attr;
    const struct fact *x = lower_fact(l, n, 0), *y = &l->src->wires[n->out[0]].fact;
    struct dims *ds = l->dst->dims;
    const int axis = x->rank - 1;
    const struct dim *frames = y->shape[axis], *none = dim_int(ds, 0),
                     *samples = dim_add_int(ds, x->shape[axis], a->before),
                     *end = dim_add_int(ds, dim_mul_int(ds, frames, a->hop), a->size - a->hop);
    const struct dim *more =
        a->end == END_DROP ? none : dim_max(ds, none, dim_sub(ds, end, samples));
    uint32_t all = lower_padded_dim(l, lower_in(l, n, 0), x->rank, axis, a->before, more);
    if (!dim_is(frames, 1)) {
        ret_out[0] = lower_gather(l, all, frame_places(l, a, frames), axis);
        return;
    }
    if (end != samples)
        all = lower_slice_dims(l, all, axis, none, end);
    ret_out[0] = unsqueezed(l, all, axis);
}

/* What OverlapAdd is made of: frames of x, which are cut into parts as long as a hop. */
struct overlap {
    int last; /* axis of x: the samples of a frame */
    int64_t hop, size, parts;
    const struct dim *frames;
    const struct dim *row[RANK_MAX]; /* parts of one number, one behind the other */
};

static struct overlap overlap_of(struct lower *l, const struct node *n)
{
    const struct fact *x = lower_fact(l, n, 0);
    struct overlap o = { .last = x->rank - 1, .hop = ((const struct overlap_attr *) n->attr)->hop };
    o.size = lower_size(x, o.last);
    o.parts = (o.size + o.hop - 1) / o.hop;
    o.frames = x->shape[o.last - 1];
    for (int i = 0; i < o.last; i++)
        o.row[i] = x->shape[i];
    o.row[o.last - 1] = dim_mul_int(l->dst->dims, o.frames, o.hop);
    return o;
}

/* As many rows as a frame has parts are added, the oldest first, on top of sum. */
static uint32_t overlap_sum(struct lower *l, const struct overlap *o, uint32_t x, uint32_t sum)
{
    const int last = o->last;
    uint32_t all = lower_padded(l, x, last + 1, last, 0, o->parts * o->hop - o->size);
    for (int64_t k = o->parts - 1; k >= 0; k--) {
        uint32_t part = lower_slice(l, all, last, k * o->hop, (k + 1) * o->hop);
        part = lower_padded(l, lower_reshape_dims(l, part, o->row, last), last, last - 1,
                            k * o->hop, (o->parts - 1 - k) * o->hop);
        sum = sum == WIRE_NONE ? part : lower_2(l, OP_ADD, sum, part);
    }
    return sum;
}

/* Over the squares of the window that were added at each place, where they are some. */
static uint32_t overlap_normalised(struct lower *l, const struct overlap *o, uint32_t sum,
                                   uint32_t window)
{
    const struct dim *every[RANK_MAX];
    struct overlap one = *o;
    for (int i = 0; i <= o->last; i++)
        every[i] = dim_int(l->dst->dims, i == o->last ? o->size : 1);
    every[o->last - 1] = o->frames;
    for (int i = 0; i < o->last - 1; i++)
        one.row[i] = every[i];
    uint32_t squares = lower_2(l, OP_MUL, window, window);
    squares = lower_2(l, OP_EXPAND, squares, lower_sizes(l, every, (unsigned) o->last + 1));
    squares = overlap_sum(l, &one, squares, WIRE_NONE);
    uint32_t some = lower_2(l, OP_GREATER, squares, lower_float(l, 1e-8f));
    return lower_where(l, some, lower_2(l, OP_DIV, sum, squares), sum);
}

void lower_overlap(struct lower *l, const struct node *n, uint32_t *ret_out)
{
    const struct overlap_attr *a = n->attr;
    const struct overlap o = overlap_of(l, n);
    struct dims *ds = l->dst->dims;
    const struct dim *given = l->src->wires[n->out[0]].fact.shape[o.last - 1],
                     *line = dim_mul_int(ds, dim_add_int(ds, o.frames, o.parts - 1), o.hop),
                     *rest = dim_mul_int(ds, o.frames, o.hop);
    uint32_t sum = WIRE_NONE;
    if (node_has_input(n, 2))
        sum = lower_padded_dim(l, lower_in(l, n, 2), o.last, o.last - 1, 0,
                               dim_add_int(ds, line, o.hop - o.size));
    sum = overlap_sum(l, &o, lower_in(l, n, 0), sum);
    if (a->normalise)
        sum = overlap_normalised(l, &o, sum, lower_in(l, n, 1));
    ret_out[0] = lower_slice_dims(l, sum, o.last - 1, dim_int(ds, 0), given);
    if (n->n_out > 1 && n->out[1] != WIRE_NONE)
        ret_out[1] =
            lower_slice_dims(l, sum, o.last - 1, rest, dim_add_int(ds, rest, o.size - o.hop));
}

/* ---- transforms ---- */

/* Along the axis before the last, which holds the parts of a number. */
static uint32_t dft(struct lower *l, uint32_t x, int rank, int64_t points, bool inverse)
{
    const struct attr attrs[] = {
        { .name = "inverse", .kind = ATTR_INT, .i = inverse },
        { .name = "onesided", .kind = ATTR_INT, .i = !inverse },
    };
    const int64_t front = 0;
    bool alone = rank < 3; /* the op wants an axis of batches */
    uint32_t in[3] = { alone ? unsqueezed(l, x, 0) : x, lower_int(l, points), lower_int(l, -2) };
    uint32_t y = lower_op(l, OP_DFT, attrs, 2, in, 3);
    return alone ? lower_2(l, OP_SQUEEZE, y, lower_ints(l, &front, 1)) : y;
}

void lower_rfft(struct lower *l, const struct node *n, uint32_t *ret_out)
{
    const struct fact *x = lower_fact(l, n, 0);
    int64_t points = attr_int(n, "n") ? attr_int(n, "n") : lower_size(x, x->rank - 1);
    ret_out[0] = dft(l, unsqueezed(l, lower_in(l, n, 0), x->rank), x->rank + 1, points, false);
}

/* The half that is not there mirrors the other; the real part of what comes out is all of it. */
void lower_irfft(struct lower *l, const struct node *n, uint32_t *ret_out)
{
    const struct fact *x = lower_fact(l, n, 0), *y = &l->src->wires[n->out[0]].fact;
    const int64_t points = lower_size(y, y->rank - 1), sign_dim[2] = { points, 2 };
    struct tensor *at = tensor_new(l->arena, DTYPE_I64, 1, &points);
    struct tensor *sign = tensor_new(l->arena, DTYPE_F32, 2, sign_dim);
    for (int64_t i = 0; at && sign && i < points; i++) {
        ((int64_t *) at->data)[i] = i <= points / 2 ? i : points - i;
        ((float *) sign->data)[2 * i] = 1;
        ((float *) sign->data)[2 * i + 1] = i <= points / 2 ? 1 : -1;
    }
    uint32_t all = lower_gather(l, lower_in(l, n, 0), lower_const(l, at), x->rank - 2);
    all = lower_2(l, OP_MUL, all, lower_const(l, sign));
    ret_out[0] = lower_gather(l, dft(l, all, x->rank, points, true), lower_int(l, 0), x->rank - 1);
}

void lower_magnitude(struct lower *l, const struct node *n, uint32_t *ret_out)
{
    const struct attr away = { .name = "keepdims", .kind = ATTR_INT, .i = 0 };
    const int64_t last = lower_fact(l, n, 0)->rank - 1;
    uint32_t in[2] = { lower_in(l, n, 0), lower_ints(l, &last, 1) };
    ret_out[0] = lower_op(l, OP_REDUCE_L2, &away, 1, in, 2);
}

void lower_complex_mul(struct lower *l, const struct node *n, uint32_t *ret_out)
{
    uint32_t part[2][2];
    for (unsigned i = 0; i < 2; i++)
        for (int k = 0; k < 2; k++)
            part[i][k] = lower_slice(l, lower_in(l, n, i), lower_fact(l, n, i)->rank - 1, k, k + 1);
    uint32_t re = lower_2(l, OP_SUB, lower_2(l, OP_MUL, part[0][0], part[1][0]),
                          lower_2(l, OP_MUL, part[0][1], part[1][1]));
    uint32_t im = lower_2(l, OP_ADD, lower_2(l, OP_MUL, part[0][0], part[1][1]),
                          lower_2(l, OP_MUL, part[0][1], part[1][0]));
    ret_out[0] = lower_concat(l, -1, re, im);
}

/* ---- rounding ---- */

void lower_round(struct lower *l, const struct node *n, uint32_t *ret_out)
{
    enum dtype half = node_is(n, OP_ROUND_F16) ? DTYPE_F16 : DTYPE_BF16;
    ret_out[0] = lower_cast(l, lower_cast(l, lower_in(l, n, 0), half), DTYPE_F32);
}
