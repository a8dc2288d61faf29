/* SPDX-License-Identifier: MIT */
/* Transposed convolutions: of floats as they are; of bytes as a convolution of a longer image, with
 * zeros between what was there, by weights that are turned round. */
#include "models/tflite/internal.h"

#include <string.h>

struct deconv {
    int64_t stride[2], pad[4]; /* pad: of the output: before, then after; less than 0: more of it */
    int64_t beyond[2];         /* places behind what windows reach: the bias alone */
    int activation;
};

/* The input that says the sizes of the output says them as the output does. */
static rill_status sizes_check(struct conversion *c)
{
    const struct tfl_tensor *t = tfl_in(c, 0), *y = tfl_out(c, 0);
    const struct tensor *sizes;
    uint32_t w;
    if (t->shape.type != DTYPE_I32 || tensor_count(&t->shape) != 4)
        return tfl_fail(c, RILL_MALFORMED,
                        "input 0, '%.80s', is %lld elements of %s; the sizes of its output are 4 "
                        "of i32",
                        t->name, (long long) tensor_count(&t->shape), dtype_name(t->shape.type));
    TRY(tfl_wire(c, 0, &w));
    sizes = c->s->g->wires[w].fact.value;
    for (int i = 0; sizes && i < 4; i++)
        if (tensor_get_i64(sizes, sizes->data, i) != y->shape.dim[i])
            return tfl_fail(c, RILL_MALFORMED,
                            "its output '%.80s' has %lld places along axis %d, and input 0, "
                            "'%.80s', says %lld",
                            y->name, (long long) y->shape.dim[i], i, t->name,
                            (long long) tensor_get_i64(sizes, sizes->data, i));
    return RILL_OK;
}

static rill_status deconv_read(struct conversion *c, struct deconv *ret)
{
    struct flat *f = &c->r->flat;
    const struct tfl_tensor *x = tfl_in(c, 2), *y = tfl_out(c, 0);
    const struct tensor *w = &tfl_in(c, 1)->shape;
    bool same = flat_i8(f, c->options, CONV_PADDING, PADDING_SAME) == PADDING_SAME;
    *ret = (struct deconv) { .activation = flat_i8(f, c->options, CONV_ACTIVATION, 0) };
    if (!x || x->shape.rank != 4 || w->rank != 4 || y->shape.rank != 4)
        return tfl_fail(c, RILL_MALFORMED, "input, weights and output want rank 4");
    TRY(sizes_check(c));
    if (w->dim[3] != x->shape.dim[3] || w->dim[0] != y->shape.dim[3])
        return tfl_fail(c, RILL_MALFORMED, "weights of %lld by %lld channels for %lld by %lld",
                        (long long) w->dim[0], (long long) w->dim[3], (long long) y->shape.dim[3],
                        (long long) x->shape.dim[3]);
    for (unsigned i = 0; i < 2; i++) {
        ret->stride[i] = flat_i32(f, c->options, i ? CONV_STRIDE_W : CONV_STRIDE_H, 0);
        TRY(tfl_step_check(c, "stride", ret->stride[i]));
        TRY(tfl_known(c, x, 1 + (int) i, "a transposed convolution"));
        TRY(tfl_known(c, y, 1 + (int) i, "a transposed convolution"));
        int64_t all =
            (x->shape.dim[1 + i] - 1) * ret->stride[i] + w->dim[1 + i] - y->shape.dim[1 + i];
        if (all <= -ret->stride[i])
            return tfl_fail(c, RILL_UNSUPPORTED,
                            "its output has %lld places, %lld more than its windows reach; by a "
                            "stride of %lld it has less than that many",
                            (long long) y->shape.dim[1 + i], (long long) -all,
                            (long long) ret->stride[i]);
        ret->beyond[i] = all < 0 ? -all : 0;
        ret->pad[i] = same && all > 0 ? all / 2 : 0;
        ret->pad[2 + i] = all - ret->pad[i];
        if (ret->pad[i] >= w->dim[1 + i] || ret->pad[2 + i] >= w->dim[1 + i])
            return tfl_fail(c, RILL_UNSUPPORTED, "its output is smaller than what it is made of");
    }
    return RILL_OK;
}

static rill_status deconv_real(struct conversion *c, const struct deconv *d)
{
    static const int64_t first[] = { 0, 3, 1, 2 }, last[] = { 0, 2, 3, 1 };
    static const int64_t weights[] = { 3, 0, 1, 2 };
    struct deconv *kept = arena_copy(c->r->arena, d, sizeof *d);
    uint32_t in[3], out;
    if (!kept)
        return tfl_no_memory(c->r);
    for (int i = 0; i < 2; i++)
        kept->pad[2 + i] += kept->beyond[i];
    struct attr a[] = { attr_ints("strides", kept->stride, 2), attr_ints("pads", kept->pad, 4),
                        attr_ints("output_padding", kept->beyond, 2) };
    TRY(tfl_wire(c, 2, &in[0]));
    TRY(tfl_wire(c, 1, &in[1]));
    TRY(tfl_wire(c, 3, &in[2]));
    TRY(tfl_emit_transpose(c, first, 4, in[0], &in[0]));
    TRY(tfl_emit_transpose(c, weights, 4, in[1], &in[1]));
    TRY(tfl_emit(c, OP_CONV_TRANSPOSE, a, 3, in, 3, &out, 1));
    TRY(tfl_emit_activation(c, d->activation, out, &out));
    TRY(tfl_emit_transpose(c, last, 4, out, &out));
    return tfl_result(c, 0, out);
}

/* ---- bytes ---- */

/* stride - 1 zeros behind every row of axis 1, or column of axis 2, but the last. */
static rill_status spread(struct conversion *c, const int64_t dim[4], int axis, int64_t stride,
                          uint32_t *x)
{
    const struct tfl_tensor *t = tfl_in(c, 2);
    const int64_t inner = axis == 1 ? dim[2] * dim[3] : dim[3],
                  outer = axis == 1 ? dim[0] : dim[0] * dim[1];
    const int64_t longer = dim[axis] * stride, pads[8] = { 0, 0, 0, 0, 0, 0, stride - 1, 0 };
    struct tensor *zero = tensor_new(c->r->arena, t->shape.type, 0, NULL);
    uint32_t in[5] = { *x };
    if (!zero)
        return tfl_no_memory(c->r);
    tensor_set_f64(zero, zero->data, 0, tfl_quant_zero(c->r, t));
    TRY(tfl_emit_shape(c, in[0], (int64_t[]) { outer, dim[axis], 1, inner }, 4, &in[0]));
    TRY(tfl_wire_i64s(c, pads, 8, &in[1]));
    TRY(tfl_wire_of(c, zero, &in[2]));
    TRY(tfl_emit(c, OP_PAD, NULL, 0, in, 3, &in[0], 1));
    TRY(tfl_emit_shape(c, in[0], (int64_t[]) { outer, 1, longer, inner }, 4, &in[0]));
    TRY(tfl_wire_i64s(c, (int64_t[]) { 0 }, 1, &in[1]));
    TRY(tfl_wire_i64s(c, (int64_t[]) { longer - stride + 1 }, 1, &in[2]));
    TRY(tfl_wire_i64s(c, (int64_t[]) { 2 }, 1, &in[3]));
    TRY(tfl_wire_i64s(c, (int64_t[]) { 1 }, 1, &in[4]));
    return tfl_emit(c, OP_SLICE, NULL, 0, in, 5, x, 1);
}

/* The weights, last rows and columns first. */
static rill_status weights_turned(struct conversion *c, uint32_t *ret)
{
    const struct tensor *w;
    TRY(tfl_const(c, 1, &w));
    struct tensor *turned = tensor_new(c->r->arena, w->type, 4, w->dim);
    const size_t each = (size_t) w->dim[3], places = (size_t) (w->dim[1] * w->dim[2]);
    if (!turned)
        return tfl_no_memory(c->r);
    for (size_t o = 0; o < (size_t) w->dim[0]; o++)
        for (size_t i = 0; i < places; i++)
            memcpy((char *) turned->data + (o * places + places - 1 - i) * each,
                   (const char *) w->data + (o * places + i) * each, each);
    return tfl_wire_of(c, turned, ret);
}

static rill_status deconv_bytes(struct conversion *c, const struct deconv *d)
{
    const struct product_of of = { .x = 2, .w = 1, .bias = 3 };
    const struct tensor *w = &tfl_in(c, 1)->shape;
    int64_t dim[4], *pads = arena_array(c->r->arena, int64_t, 4);
    uint32_t x, weights, y;
    if (!pads)
        return tfl_no_memory(c->r);
    TRY(tfl_byte_scales_check(c, &of, 0, false));
    TRY(tfl_wire(c, 2, &x));
    memcpy(dim, tfl_in(c, 2)->shape.dim, sizeof dim);
    for (int axis = 1; axis < 3; axis++) {
        if (d->stride[axis - 1] > 1)
            TRY(spread(c, dim, axis, d->stride[axis - 1], &x));
        dim[axis] = (dim[axis] - 1) * d->stride[axis - 1] + 1;
    }
    TRY(tfl_emit_shape(c, x, dim, 4, &x));
    TRY(weights_turned(c, &weights));
    for (int i = 0; i < 4; i++)
        pads[i] = w->dim[1 + i % 2] - 1 - d->pad[i];
    struct attr a = attr_ints("pads", pads, 4);
    TRY(tfl_byte_conv_emit(c, &of, &a, 1, d->activation, x, weights, &y));
    return tfl_result(c, 0, y);
}

rill_status tfl_transpose_conv(struct conversion *c)
{
    struct deconv d;
    enum dtype x = tfl_type(c, 2), w = tfl_type(c, 1);
    TRY(deconv_read(c, &d));
    TRY(tfl_bias_check(c, 3, 1, 0));
    if (x == DTYPE_F32 && w == DTYPE_F32)
        return deconv_real(c, &d);
    if (tfl_type_is_whole(x) && tfl_type_is_byte(w))
        return deconv_bytes(c, &d);
    return tfl_fail(c, RILL_UNSUPPORTED,
                    "of %s by %s; both f32, or 8 bits or i16 by 8 bits are read", dtype_name(x),
                    dtype_name(w));
}
