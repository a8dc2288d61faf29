/* SPDX-License-Identifier: MIT */
/* Convolution of bytes, channels last: exact sums as i32, or scaled to bytes again by fixed-point
 * multipliers, one for all channels or one a channel. A full product is one of 1 x 1. */
#include "engine/ops/fixed.h"
#include "engine/ops/ops.h"

#include <string.h>

struct byte_conv_attr {
    struct attr_ints strides, dilations, pads; /* of rows, columns; before, then after */
    int64_t depthwise, x_zero, w_zero, once;   /* once: the factor rounds once, not twice */
    struct byte_range y;
};

#define AT(member) offsetof(struct byte_conv_attr, member)
static const struct attr_spec conv_attrs[] = {
    { .name = "strides", .kind = ATTR_INTS, .offset = AT(strides) },
    { .name = "dilations", .kind = ATTR_INTS, .offset = AT(dilations) },
    { .name = "pads", .kind = ATTR_INTS, .offset = AT(pads) },
    { .name = "depthwise", .kind = ATTR_INT, .offset = AT(depthwise) },
    { .name = "x_zero", .kind = ATTR_INT, .offset = AT(x_zero) },
    { .name = "w_zero", .kind = ATTR_INT, .offset = AT(w_zero) },
    { .name = "once", .kind = ATTR_INT, .offset = AT(once) },
    BYTE_RANGE_SPECS(struct byte_conv_attr, y),
    { 0 },
};
#undef AT

/* x: [batch, rows, columns, channels]; w: [outputs, rows, columns, channels], depthwise: [1, rows,
 * columns, outputs], where output o reads channel o / (outputs / channels) */
enum { IN_X, IN_W, IN_BIAS, IN_MULTIPLIER, IN_SHIFT };

#define SIDE_MAX ((int64_t) 1 << 30)

/* ---- shapes ---- */

static int64_t list_at(struct attr_ints v, unsigned i, int64_t absent)
{
    return v.n ? v.v[i] : absent;
}

static rill_status lists_check(struct infer *c)
{
    const struct byte_conv_attr *a = c->attr;
    const struct {
        struct attr_ints v;
        uint32_t n;
        int64_t least;
    } lists[] = { { a->strides, 2, 1 }, { a->dilations, 2, 1 }, { a->pads, 4, 0 } };
    for (unsigned k = 0; k < 3; k++) {
        if (lists[k].v.n && lists[k].v.n != lists[k].n)
            return infer_fail(c, "wants 2 strides, 2 dilations and 4 pads");
        for (uint32_t i = 0; i < lists[k].v.n; i++)
            if (lists[k].v.v[i] < lists[k].least || lists[k].v.v[i] > SIDE_MAX)
                return infer_fail(c, "a stride, dilation or pad of %lld",
                                  (long long) lists[k].v.v[i]);
    }
    return RILL_OK;
}

static int64_t size_at(const struct fact *f, int i)
{
    return dim_value(f->shape[i]);
}

static rill_status image_check(struct infer *c, unsigned i)
{
    const struct fact *f = c->in[i];
    if (f->rank != 4)
        return infer_fail(c, "input %u is of rank %d, wants 4", i, f->rank);
    for (int k = i == IN_X; k < 4; k++)
        if (!dim_is_const(f->shape[k]) || size_at(f, k) < 1 || size_at(f, k) > SIDE_MAX)
            return infer_fail(c, "input %u, axis %d: a size that is not known or not above 0", i,
                              k);
    return RILL_OK;
}

/* A list of n numbers, or of one. */
static rill_status list_check(struct infer *c, unsigned i, int64_t n, bool one)
{
    if (!infer_has(c, i))
        return RILL_OK;
    const struct fact *f = c->in[i];
    TRY(elem_check_type(c, i, TYPE_I32));
    if (f->rank != 1 || !(dim_is(f->shape[0], n) || (one && dim_is(f->shape[0], 1))))
        return infer_fail(c, "input %u does not fit %lld outputs", i, (long long) n);
    return RILL_OK;
}

static rill_status factors_check(struct infer *c, int64_t outputs)
{
    TRY(list_check(c, IN_BIAS, outputs, false));
    if (infer_has(c, IN_MULTIPLIER) != infer_has(c, IN_SHIFT))
        return infer_fail(c, "wants multipliers and shifts, or neither");
    TRY(list_check(c, IN_MULTIPLIER, outputs, true));
    TRY(list_check(c, IN_SHIFT, outputs, true));
    for (unsigned i = IN_MULTIPLIER; i <= IN_SHIFT && infer_has(c, i); i++) {
        const struct tensor *t = c->in[i]->value;
        if (!t)
            return infer_fail(c, "its multipliers and shifts must be constants");
        for (int64_t k = 0; i == IN_SHIFT && k < tensor_count(t); k++)
            if (((const int32_t *) t->data)[k] < -31 || ((const int32_t *) t->data)[k] > 30)
                return infer_fail(c, "a shift of %d, wants -31 to 30",
                                  ((const int32_t *) t->data)[k]);
    }
    return RILL_OK;
}

static rill_status channels_check(struct infer *c, int64_t *ret_outputs)
{
    const struct byte_conv_attr *a = c->attr;
    int64_t cin = size_at(c->in[IN_X], 3), o = size_at(c->in[IN_W], 0), k = size_at(c->in[IN_W], 3);
    *ret_outputs = a->depthwise ? k : o;
    if (a->depthwise ? o != 1 || k % cin != 0 : k != cin)
        return infer_fail(c, "weights for %lld do not fit %lld channels", (long long) k,
                          (long long) cin);
    return RILL_OK;
}

static rill_status conv_infer(struct infer *c)
{
    const struct byte_conv_attr *a = c->attr;
    const struct dim *shape[4];
    enum dtype to = DTYPE_I32;
    int64_t outputs;
    for (unsigned i = IN_X; i <= IN_W; i++) {
        TRY(elem_check_type(c, i, TYPES_BYTE));
        TRY(image_check(c, i));
        TRY(byte_zero_check(c, c->in[i]->type, i == IN_X ? a->x_zero : a->w_zero));
    }
    TRY(lists_check(c));
    TRY(channels_check(c, &outputs));
    TRY(factors_check(c, outputs));
    if (infer_has(c, IN_MULTIPLIER))
        TRY(byte_range_check(c, &a->y, &to));
    shape[0] = c->in[IN_X]->shape[0];
    shape[3] = dim_int(c->dims, outputs);
    for (unsigned i = 0; i < 2; i++) {
        int64_t room =
            size_at(c->in[IN_X], 1 + (int) i) + list_at(a->pads, i, 0) + list_at(a->pads, 2 + i, 0);
        int64_t reach = (size_at(c->in[IN_W], 1 + (int) i) - 1) * list_at(a->dilations, i, 1) + 1;
        if (reach > room)
            return infer_fail(c, "a window of %lld does not fit %lld", (long long) reach,
                              (long long) room);
        shape[1 + i] = dim_int(c->dims, (room - reach) / list_at(a->strides, i, 1) + 1);
    }
    infer_shape(c, 0, to, 4, shape);
    return RILL_OK;
}

/* ---- sums ---- */

struct conv_args {
    int64_t stride[2], dilation[2], pad[2];
    int64_t n[4], w[4], y[4]; /* sizes of x, weights and result */
    int64_t k;                /* products of a sum; depthwise: places of the window */
    const int16_t *weights;   /* less their zero: [outputs][k], depthwise [k][outputs] */
};

static rill_status conv_prepare(struct prep *c)
{
    const struct byte_conv_attr *a = c->attr;
    const struct tensor *w = c->in[IN_W];
    struct conv_args *args = arena_new(c->arena, struct conv_args);
    bool there;
    if (!args)
        return op_fail(c->err, RILL_NOMEM, c->node, "out of memory");
    for (unsigned i = 0; i < 2; i++) {
        args->stride[i] = list_at(a->strides, i, 1);
        args->dilation[i] = list_at(a->dilations, i, 1);
        args->pad[i] = list_at(a->pads, i, 0);
    }
    memcpy(args->n, c->in[IN_X]->dim, sizeof args->n);
    memcpy(args->w, w->dim, sizeof args->w);
    memcpy(args->y, c->out[0]->dim, sizeof args->y);
    args->k = w->dim[1] * w->dim[2] * (a->depthwise ? 1 : w->dim[3]);
    if (!w->data)
        return prep_fail(c, "its weights must be constants");
    int64_t n = tensor_count(w);
    int16_t *packed = prep_pack(c, (size_t) n, sizeof *packed, &there);
    if (!packed)
        return op_fail(c->err, RILL_NOMEM, c->node, "out of memory");
    for (int64_t i = 0; !there && i < n; i++)
        packed[i] = (int16_t) (byte_at(w->type, w->data, i) - (int32_t) a->w_zero);
    args->weights = packed;
    c->packed = 1u << IN_W;
    c->args = args;
    c->scratch_bytes = (size_t) (args->w[1] * args->w[2] * args->n[3]) * sizeof(int16_t);
    return RILL_OK;
}

/* What lies under the window at (row, column), less its zero; 0 where that is padding. */
static void window_gather(const struct eval *e, const struct conv_args *s, int64_t batch,
                          int64_t row, int64_t column, int16_t *ret)
{
    const struct byte_conv_attr *a = e->attr;
    int64_t channels = s->n[3], zero = a->x_zero;
    enum dtype t = e->in[IN_X]->type;
    for (int64_t i = 0; i < s->w[1]; i++)
        for (int64_t j = 0; j < s->w[2]; j++, ret += channels) {
            int64_t r = row * s->stride[0] - s->pad[0] + i * s->dilation[0];
            int64_t k = column * s->stride[1] - s->pad[1] + j * s->dilation[1];
            if (r < 0 || r >= s->n[1] || k < 0 || k >= s->n[2]) {
                memset(ret, 0, (size_t) channels * sizeof *ret);
                continue;
            }
            int64_t from = ((batch * s->n[1] + r) * s->n[2] + k) * channels;
            for (int64_t c = 0; c < channels; c++)
                ret[c] = (int16_t) (byte_at(t, e->x[IN_X], from + c) - zero);
        }
}

static int32_t sum_at(const struct byte_conv_attr *a, const struct conv_args *s, const int16_t *x,
                      int64_t o)
{
    uint32_t sum = 0;
    if (a->depthwise) {
        int64_t outputs = s->w[3], channel = o / (outputs / s->n[3]);
        for (int64_t k = 0; k < s->k; k++)
            sum += (uint32_t) ((int32_t) x[k * s->n[3] + channel] * s->weights[k * outputs + o]);
        return (int32_t) sum;
    }
    const int16_t *w = s->weights + o * s->k;
    for (int64_t k = 0; k < s->k; k++)
        sum += (uint32_t) ((int32_t) x[k] * w[k]);
    return (int32_t) sum;
}

static void sum_put(const struct eval *e, int64_t o, int64_t at, int32_t sum)
{
    const struct byte_range *r = &((const struct byte_conv_attr *) e->attr)->y;
    if (e->n_in <= IN_MULTIPLIER || !e->x[IN_MULTIPLIER]) {
        ((int32_t *) e->y[0])[at] = sum;
        return;
    }
    int64_t k = e->in[IN_MULTIPLIER]->dim[0] > 1 ? o : 0;
    int64_t q = e->in[IN_SHIFT]->dim[0] > 1 ? o : 0;
    int32_t by = ((const int32_t *) e->x[IN_MULTIPLIER])[k],
            shift = ((const int32_t *) e->x[IN_SHIFT])[q];
    bool once = ((const struct byte_conv_attr *) e->attr)->once;
    int32_t v = once ? fixed_scale_once(sum, by, shift) : fixed_scale(sum, by, shift);
    int32_t moved = (int32_t) ((uint32_t) v + (uint32_t) r->zero);
    byte_put(e->out[0]->type, e->y[0], at, fixed_clip(moved, (int32_t) r->low, (int32_t) r->high));
}

static void conv_eval(const struct eval *e)
{
    const struct conv_args *s = e->args;
    const int32_t *bias = e->n_in > IN_BIAS ? e->x[IN_BIAS] : NULL;
    int64_t at = 0;
    for (int64_t b = 0; b < e->out[0]->dim[0]; b++)
        for (int64_t i = 0; i < s->y[1]; i++)
            for (int64_t j = 0; j < s->y[2]; j++) {
                window_gather(e, s, b, i, j, e->scratch);
                for (int64_t o = 0; o < s->y[3]; o++, at++) {
                    uint32_t sum = (uint32_t) sum_at(e->attr, s, e->scratch, o);
                    sum_put(e, o, at, (int32_t) (sum + (uint32_t) (bias ? bias[o] : 0)));
                }
            }
}

static const struct op op_byte_conv = {
    .id = OP_BYTE_CONV,
    .name = "ByteConv",
    .attrs = conv_attrs,
    .attr_bytes = sizeof(struct byte_conv_attr),
    .min_in = 2,
    .max_in = 5,
    .min_out = 1,
    .max_out = 1,
    .infer = conv_infer,
    .prepare = conv_prepare,
    .eval = conv_eval,
    .help = "convolution of bytes, channels last, to exact sums or by fixed-point factors to bytes",
};

const struct op *const ops_byte_conv[] = { &op_byte_conv, NULL };
