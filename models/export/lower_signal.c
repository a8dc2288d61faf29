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

/* [frames, size]: where the samples of each frame stand. */
static uint32_t frame_places(struct lower *l, const struct frame_attr *a, int64_t frames)
{
    const int64_t dim[2] = { frames, a->size };
    struct tensor *t = tensor_new(l->arena, DTYPE_I64, 2, dim);
    for (int64_t i = 0; t && i < frames * a->size; i++)
        ((int64_t *) t->data)[i] = i / a->size * a->hop + i % a->size;
    return lower_const(l, t);
}

void lower_frame(struct lower *l, const struct node *n, uint32_t *ret_out)
{
    const struct frame_attr *a = n->attr;
    const struct fact *x = lower_fact(l, n, 0), *y = &l->src->wires[n->out[0]].fact;
    int axis = x->rank - 1;
    int64_t frames = lower_size(y, axis), samples = lower_size(x, axis) + a->before;
    int64_t end = frames ? (frames - 1) * a->hop + a->size : 0;
    uint32_t all = lower_in(l, n, 0);
    if (a->before || end > samples)
        all = lower_padded(l, all, x->rank, axis, a->before, end > samples ? end - samples : 0);
    if (frames != 1) {
        ret_out[0] = lower_gather(l, all, frame_places(l, a, frames), axis);
        return;
    }
    if (end < samples)
        all = lower_slice(l, all, axis, 0, end);
    ret_out[0] = unsqueezed(l, all, axis);
}

/* Frames are cut into parts as long as a hop: parts of one number stand in a row, and so as many
 * rows as a frame has parts are added, the oldest first. */
void lower_overlap(struct lower *l, const struct node *n, uint32_t *ret_out)
{
    const struct fact *x = lower_fact(l, n, 0);
    const int last = x->rank - 1;
    const int64_t hop = ((const struct overlap_attr *) n->attr)->hop, size = lower_size(x, last),
                  frames = lower_size(x, last - 1), parts = (size + hop - 1) / hop,
                  line = (frames - 1 + parts) * hop;
    uint32_t all = lower_in(l, n, 0), sum = WIRE_NONE;
    int64_t row[RANK_MAX];
    for (int i = 0; i < last; i++)
        row[i] = lower_size(x, i);
    row[last - 1] = frames * hop;
    if (parts * hop > size)
        all = lower_padded(l, all, x->rank, last, 0, parts * hop - size);
    if (node_has_input(n, 2))
        sum = lower_padded(l, lower_in(l, n, 2), last, last - 1, 0, line - (size - hop));
    for (int64_t k = parts - 1; k >= 0; k--) {
        uint32_t part = lower_slice(l, all, last, k * hop, (k + 1) * hop);
        part = lower_padded(l, lower_reshape(l, part, row, last), last, last - 1, k * hop,
                            (parts - 1 - k) * hop);
        sum = sum == WIRE_NONE ? part : lower_2(l, OP_ADD, sum, part);
    }
    int64_t given = lower_size(&l->src->wires[n->out[0]].fact, last - 1);
    ret_out[0] = lower_slice(l, sum, last - 1, 0, given);
    if (n->n_out > 1 && n->out[1] != WIRE_NONE)
        ret_out[1] = lower_slice(l, sum, last - 1, frames * hop, frames * hop + size - hop);
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
