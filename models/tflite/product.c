/* SPDX-License-Identifier: MIT */
/* Convolutions and full products: of floats, of bytes, and of floats by bytes, where what comes in
 * is made bytes of, each row with a scale of its own. */
#include "models/tflite/internal.h"

#include <string.h>

/* What a convolution does to the axes of rows and columns. */
struct window {
    int64_t stride[2], dilation[2], pad[4];
    int activation;
    bool depthwise, full; /* full: a product of rows, which the format's kernels round once */
    bool shifted;         /* rows of floats are made bytes around a zero of their own */
};

static const int64_t to_channels_first[] = { 0, 3, 1, 2 }, to_channels_last[] = { 0, 2, 3, 1 };

/* Zeros in front and behind, so that the sizes of the result are those of the input over the
 * stride, rounded up; one more behind than in front where that is odd. */
static void window_pad(struct window *w, const struct tensor *x, int64_t rows, int64_t columns)
{
    const int64_t size[2] = { rows, columns };
    for (unsigned i = 0; i < 2; i++) {
        int64_t reach = (size[i] - 1) * w->dilation[i] + 1, n = x->dim[1 + i],
                outputs = (n + w->stride[i] - 1) / w->stride[i],
                all = (outputs - 1) * w->stride[i] + reach - n;
        all = all > 0 ? all : 0;
        w->pad[i] = all / 2;
        w->pad[2 + i] = all - all / 2;
    }
}

static rill_status window_read(struct conversion *c, bool depthwise, struct window *ret)
{
    struct flat *f = &c->r->flat;
    const struct tensor *x = &tfl_in(c, 0)->shape, *w = &tfl_in(c, 1)->shape;
    unsigned dilation = depthwise ? DEPTHWISE_DILATION_W : CONV_DILATION_W;
    *ret = (struct window) { .depthwise = depthwise };
    ret->stride[0] = flat_i32(f, c->options, CONV_STRIDE_H, 0);
    ret->stride[1] = flat_i32(f, c->options, CONV_STRIDE_W, 0);
    ret->dilation[0] = flat_i32(f, c->options, dilation + 1, 1);
    ret->dilation[1] = flat_i32(f, c->options, dilation, 1);
    ret->activation = flat_i8(f, c->options, depthwise ? DEPTHWISE_ACTIVATION : CONV_ACTIVATION, 0);
    for (unsigned i = 0; i < 2; i++) {
        TRY(tfl_step_check(c, "stride", ret->stride[i]));
        TRY(tfl_step_check(c, "dilation", ret->dilation[i]));
    }
    if (x->rank != 4 || w->rank != 4 || tfl_out(c, 0)->shape.rank != 4)
        return tfl_fail(c, RILL_MALFORMED, "input of rank %d, weights of rank %d; wants 4", x->rank,
                        w->rank);
    if (depthwise)
        TRY(tfl_known(c, tfl_in(c, 0), 3, "a depthwise convolution"));
    if (flat_i8(f, c->options, CONV_PADDING, PADDING_SAME) != PADDING_SAME)
        return RILL_OK;
    for (unsigned i = 0; i < 2; i++)
        if (ret->stride[i] > 1)
            TRY(tfl_known(c, tfl_in(c, 0), 1 + (int) i, "SAME padding with a stride"));
    window_pad(ret, x, w->dim[1], w->dim[2]);
    return RILL_OK;
}

/* ---- floats ---- */

static rill_status real_product(struct conversion *c, enum op_id id, const struct attr *attrs,
                                unsigned n_attrs, const int64_t *weights, int activation)
{
    uint32_t in[3], y;
    for (unsigned i = 0; i < 3; i++)
        TRY(tfl_wire(c, i, &in[i]));
    TRY(tfl_bias_check(c, 2, 1, (int) weights[0]));
    TRY(tfl_emit_transpose(c, to_channels_first, 4, in[0], &in[0]));
    TRY(tfl_emit_transpose(c, weights, 4, in[1], &in[1]));
    TRY(tfl_emit(c, id, attrs, n_attrs, in, 3, &y, 1));
    TRY(tfl_emit_activation(c, activation, y, &y));
    TRY(tfl_emit_transpose(c, to_channels_last, 4, y, &y));
    return tfl_result(c, 0, y);
}

static rill_status real_conv(struct conversion *c, const struct window *w)
{
    static const int64_t plain[] = { 0, 3, 1, 2 }, depthwise[] = { 3, 0, 1, 2 };
    struct window *kept = arena_copy(c->r->arena, w, sizeof *w);
    if (!kept)
        return tfl_no_memory(c->r);
    struct attr a[] = { attr_ints("strides", kept->stride, 2),
                        attr_ints("dilations", kept->dilation, 2), attr_ints("pads", kept->pad, 4),
                        attr_int("group", w->depthwise ? tfl_in(c, 0)->shape.dim[3] : 1) };
    return real_product(c, OP_CONV, a, 4, w->depthwise ? depthwise : plain, w->activation);
}

/* ---- bytes ---- */

static const struct product_of depthwise_of = { .x = 0, .w = 1, .bias = 2 },
                               conv_of = { 0, 1, 2, .bias_type = CONV_BIAS_TYPE },
                               full_of = { 0, 1, 2, .bias_type = FULL_BIAS_TYPE, .full = true };

rill_status tfl_byte_scales_check(struct conversion *c, const struct product_of *of, int axis,
                                  bool full)
{
    const struct tfl_tensor *w = tfl_in(c, of->w);
    TRY(tfl_single_whole(c, tfl_in(c, of->x)));
    TRY(tfl_single_whole(c, tfl_out(c, 0)));
    const enum dtype x = tfl_type(c, of->x), type = x == DTYPE_I16 ? DTYPE_I8 : x;
    if (w->shape.type != type || w->q.n == 0 || (w->q.n > 1 && w->q.axis != axis))
        return tfl_fail(c, RILL_UNSUPPORTED,
                        "weights '%.80s' are %s with %u scales along axis %d; by an input of %s "
                        "they want %s with one scale, or one for each output along axis %d",
                        w->name, dtype_name(w->shape.type), w->q.n, w->q.axis, dtype_name(x),
                        dtype_name(type), axis);
    if (x == DTYPE_I16)
        return tfl_short_scales_check(c, of, axis);
    if (w->shape.type == DTYPE_I8 && !(full && w->q.n == 1) && !tfl_quant_centred(c->r, w))
        return tfl_fail(c, RILL_UNSUPPORTED,
                        "weights '%.80s' of i8 have a zero point that is not 0", w->name);
    if (tfl_in(c, of->bias) && tfl_type(c, of->bias) != DTYPE_I32)
        return tfl_fail(c, RILL_UNSUPPORTED, "its bias is %s; wants i32",
                        dtype_name(tfl_type(c, of->bias)));
    return RILL_OK;
}

rill_status tfl_byte_conv_emit(struct conversion *c, const struct product_of *of,
                               const struct attr *how, unsigned n_how, int activation, uint32_t x,
                               uint32_t weights, uint32_t *ret)
{
    if (tfl_type(c, of->x) == DTYPE_I16)
        return tfl_short_conv_emit(c, of, how, n_how, activation, x, weights, ret);
    uint32_t in[5] = { x, weights };
    struct attr a[CONV_HOW_MAX + 2 + RANGE_ATTRS], *at = a + n_how;
    memcpy(a, how, n_how * sizeof *a);
    *at++ = attr_int("x_zero", tfl_quant_zero(c->r, tfl_in(c, of->x)));
    *at++ = attr_int("w_zero", tfl_quant_zero(c->r, tfl_in(c, of->w)));
    TRY(tfl_range_attrs(c, tfl_out(c, 0), activation, at));
    TRY(tfl_wire(c, of->bias, &in[2]));
    TRY(tfl_factors_make(c, of, &in[3]));
    return tfl_emit(c, OP_BYTE_CONV, a, n_how + 2 + RANGE_ATTRS, in, 5, ret, 1);
}

/* x and weights: wires in the shapes that ByteConv wants. */
static rill_status byte_conv(struct conversion *c, const struct window *w, uint32_t x,
                             uint32_t weights, uint32_t *ret)
{
    const struct window *kept = arena_copy(c->r->arena, w, sizeof *w);
    if (!kept)
        return tfl_no_memory(c->r);
    const struct attr how[CONV_HOW_MAX] = { attr_ints("strides", kept->stride, 2),
                                            attr_ints("dilations", kept->dilation, 2),
                                            attr_ints("pads", kept->pad, 4),
                                            attr_int("depthwise", w->depthwise),
                                            attr_int("once", w->full) };
    const struct product_of *of = w->full ? &full_of : w->depthwise ? &depthwise_of : &conv_of;
    return tfl_byte_conv_emit(c, of, how, CONV_HOW_MAX, w->activation, x, weights, ret);
}

/* ---- floats by bytes ---- */

/* One scale an output, or one for all. */
static struct tensor *scales_of(struct conversion *c, const struct tfl_tensor *w)
{
    int64_t n = w->q.n;
    struct tensor *t = tensor_new(c->r->arena, DTYPE_F32, 1, &n);
    for (uint32_t i = 0; t && i < w->q.n; i++)
        ((float *) t->data)[i] = tfl_quant_scale(c->r, w, i);
    return t;
}

/* x: [rows, rows of the image, columns, channels]; each row gets a scale of its own and, shifted, a
 * zero of its own. */
static rill_status mixed_sums(struct conversion *c, const struct window *w, uint32_t x,
                              uint32_t weights, const struct tensor *scales, uint32_t *ret)
{
    const struct window *kept = arena_copy(c->r->arena, w, sizeof *w);
    uint32_t rows[3], scale, sum;
    int64_t axes[] = { 1, 2, 3 };
    if (!kept)
        return tfl_no_memory(c->r);
    struct attr a[] = { attr_ints("strides", kept->stride, 2),
                        attr_ints("dilations", kept->dilation, 2), attr_ints("pads", kept->pad, 4),
                        attr_int("depthwise", w->depthwise) },
                shifted = attr_int("shifted", w->shifted), to = attr_int("to", DTYPE_F32);
    uint32_t in[] = { WIRE_NONE, weights, WIRE_NONE, WIRE_NONE, WIRE_NONE, WIRE_NONE };
    TRY(tfl_emit(c, OP_BYTE_ROWS, &shifted, 1, &x, 1, rows, w->shifted ? 3 : 2));
    in[0] = rows[0];
    in[5] = w->shifted ? rows[2] : WIRE_NONE;
    TRY(tfl_emit(c, OP_BYTE_CONV, a, 4, in, 6, &sum, 1));
    TRY(tfl_emit(c, OP_CAST, &to, 1, &sum, 1, &sum, 1));
    TRY(tfl_wire_i64s(c, axes, 3, &scale));
    TRY(tfl_emit2(c, OP_UNSQUEEZE, rows[1], scale, &rows[1]));
    TRY(tfl_wire_of(c, scales, &scale));
    TRY(tfl_emit2(c, OP_MUL, rows[1], scale, &scale));
    return tfl_emit2(c, OP_MUL, sum, scale, ret);
}

static rill_status mixed_product(struct conversion *c, const struct window *w, uint32_t x,
                                 uint32_t weights, uint32_t *ret)
{
    uint32_t bias;
    TRY(mixed_sums(c, w, x, weights, scales_of(c, tfl_in(c, 1)), ret));
    TRY(tfl_wire(c, 2, &bias));
    if (bias != WIRE_NONE)
        TRY(tfl_emit2(c, OP_ADD, *ret, bias, ret));
    return tfl_emit_activation(c, w->activation, *ret, ret);
}

rill_status tfl_emit_shape(struct conversion *c, uint32_t x, const int64_t *dim, unsigned n,
                           uint32_t *ret)
{
    uint32_t shape;
    TRY(tfl_wire_i64s(c, dim, n, &shape));
    return tfl_emit2(c, OP_RESHAPE, x, shape, ret);
}

rill_status tfl_emit_rows(struct conversion *c, uint32_t x, const struct tensor *w,
                          const struct tensor *scales, bool shifted, uint32_t *ret)
{
    const struct window one = {
        .stride = { 1, 1 }, .dilation = { 1, 1 }, .full = true, .shifted = shifted
    };
    const int64_t n = w->dim[0], k = w->dim[1];
    struct attr turned = attr_int("transB", 1);
    uint32_t in[2] = { x };
    TRY(tfl_wire_of(c, w, &in[1]));
    if (w->type == DTYPE_F32)
        return tfl_emit(c, OP_GEMM, &turned, 1, in, 2, ret, 1);
    TRY(tfl_emit_shape(c, in[0], (int64_t[]) { -1, 1, 1, k }, 4, &in[0]));
    TRY(tfl_emit_shape(c, in[1], (int64_t[]) { n, 1, 1, k }, 4, &in[1]));
    TRY(mixed_sums(c, &one, in[0], in[1], scales, ret));
    return tfl_emit_shape(c, *ret, (int64_t[]) { -1, n }, 2, ret);
}

static rill_status mixed_check(struct conversion *c, int axis)
{
    const struct tfl_tensor *w = tfl_in(c, 1);
    if (w->shape.type != DTYPE_I8 || w->q.n == 0 || (w->q.n > 1 && w->q.axis != axis) ||
        !tfl_quant_centred(c->r, w))
        return tfl_fail(c, RILL_UNSUPPORTED,
                        "weights '%.80s' of floats are %s with %u scales; wants floats, or i8 "
                        "with one scale, or one for each output along axis %d, and a zero "
                        "point of 0",
                        w->name, dtype_name(w->shape.type), w->q.n, axis);
    return RILL_OK;
}

/* ---- operators ---- */

static rill_status conv(struct conversion *c, bool depthwise)
{
    struct window w;
    uint32_t x, weights, y;
    bool real = tfl_type(c, 0) == DTYPE_F32;
    int axis = depthwise ? 3 : 0;
    TRY(window_read(c, depthwise, &w));
    if (real && tfl_type(c, 1) == DTYPE_F32)
        return real_conv(c, &w);
    TRY(real ? mixed_check(c, axis)
             : tfl_byte_scales_check(c, depthwise ? &depthwise_of : &conv_of, axis, false));
    if (real && depthwise && tfl_in(c, 1)->q.n != (uint64_t) tfl_in(c, 1)->shape.dim[3])
        return tfl_fail(c, RILL_UNSUPPORTED,
                        "weights '%.80s' have one scale and its input is of floats; a scale for "
                        "each channel is read",
                        tfl_in(c, 1)->name);
    w.shifted = real && (depthwise || tfl_in(c, 1)->q.n > 1);
    TRY(tfl_wire(c, 0, &x));
    TRY(tfl_wire(c, 1, &weights));
    TRY(tfl_bias_check(c, 2, 1, axis));
    TRY(real ? mixed_product(c, &w, x, weights, &y) : byte_conv(c, &w, x, weights, &y));
    return tfl_result(c, 0, y);
}

rill_status tfl_conv_2d(struct conversion *c)
{
    return conv(c, false);
}

rill_status tfl_depthwise_conv_2d(struct conversion *c)
{
    return conv(c, true);
}

static rill_status real_full(struct conversion *c, int64_t k, int activation, uint32_t *ret)
{
    struct attr a = attr_int("transB", 1);
    uint32_t in[3];
    for (unsigned i = 0; i < 3; i++)
        TRY(tfl_wire(c, i, &in[i]));
    TRY(tfl_bias_check(c, 2, 1, 0));
    TRY(tfl_emit_shape(c, in[0], (int64_t[]) { -1, k }, 2, &in[0]));
    TRY(tfl_emit(c, OP_GEMM, &a, 1, in, 3, ret, 1));
    return tfl_emit_activation(c, activation, *ret, ret);
}

static rill_status whole_full(struct conversion *c, bool real, int64_t k, int activation,
                              uint32_t *ret)
{
    const struct window one = {
        .full = true,
        .stride = { 1, 1 },
        .dilation = { 1, 1 },
        .activation = activation,
        .shifted = flat_i8(&c->r->flat, c->options, FULL_ASYMMETRIC, 0),
    };
    int64_t outputs = tfl_in(c, 1)->shape.dim[0];
    uint32_t x, weights;
    TRY(real ? mixed_check(c, 0) : tfl_byte_scales_check(c, &full_of, 0, true));
    TRY(tfl_wire(c, 0, &x));
    TRY(tfl_wire(c, 1, &weights));
    TRY(tfl_bias_check(c, 2, 1, 0));
    TRY(tfl_emit_shape(c, x, (int64_t[]) { -1, 1, 1, k }, 4, &x));
    TRY(tfl_emit_shape(c, weights, (int64_t[]) { outputs, 1, 1, k }, 4, &weights));
    return real ? mixed_product(c, &one, x, weights, ret) : byte_conv(c, &one, x, weights, ret);
}

/* Rows of n, in the output's shape. */
static rill_status rows_result(struct conversion *c, int64_t n, uint32_t w)
{
    const struct tfl_tensor *y = tfl_out(c, 0);
    const int last = y->shape.rank - 1;
    if (last >= 0 && !(y->open >> last & 1) && y->shape.dim[last] != n)
        return tfl_fail(c, RILL_MALFORMED, "its output '%.80s' has rows of %lld; %lld are made",
                        y->name, (long long) y->shape.dim[last], (long long) n);
    TRY(tfl_emit_reshape(c, w, y, &w));
    return tfl_result(c, 0, w);
}

rill_status tfl_fully_connected(struct conversion *c)
{
    struct flat *f = &c->r->flat;
    const struct tensor *x = &tfl_in(c, 0)->shape, *w = &tfl_in(c, 1)->shape;
    int activation = flat_i8(f, c->options, FULL_ACTIVATION, 0);
    bool real = x->type == DTYPE_F32;
    uint32_t y;
    if (w->rank != 2 || w->dim[1] < 1 || tensor_count(x) % w->dim[1])
        return tfl_fail(c, RILL_MALFORMED, "an input of %lld elements for weights of rank %d",
                        (long long) tensor_count(x), w->rank);
    if (flat_i8(f, c->options, FULL_FORMAT, 0))
        return tfl_fail(c, RILL_UNSUPPORTED, "its weights are shuffled; plain ones are read");
    TRY(real && w->type == DTYPE_F32 ? real_full(c, w->dim[1], activation, &y)
                                     : whole_full(c, real, w->dim[1], activation, &y));
    return rows_result(c, w->dim[0], y);
}

/* The last two axes changed. */
static rill_status turned(struct conversion *c, unsigned i, bool turn, uint32_t *ret)
{
    int64_t perm[RANK_MAX];
    int rank = tfl_in(c, i)->shape.rank;
    TRY(tfl_wire(c, i, ret));
    if (!turn)
        return RILL_OK;
    if (rank < 2)
        return tfl_fail(c, RILL_MALFORMED, "input %u is of rank %d", i, rank);
    for (int k = 0; k < rank; k++)
        perm[k] = k < rank - 2 ? k : 2 * rank - 3 - k;
    return tfl_emit_transpose(c, perm, (unsigned) rank, *ret, ret);
}

static rill_status zero_wire(struct conversion *c, const struct tfl_tensor *t, uint32_t *ret)
{
    struct tensor *zero = tensor_new(c->r->arena, t->shape.type, 0, NULL);
    if (!zero)
        return tfl_no_memory(c->r);
    tensor_set_f64(zero, zero->data, 0, tfl_quant_zero(c->r, t));
    return tfl_wire_of(c, zero, ret);
}

static rill_status byte_matmul(struct conversion *c, uint32_t x, uint32_t w, uint32_t *ret)
{
    const struct tfl_tensor *tx = tfl_in(c, 0), *tw = tfl_in(c, 1), *ty = tfl_out(c, 0);
    uint32_t in[4] = { x, w };
    struct attr a[2 + RANGE_ATTRS];
    TRY(tfl_single(c, tx));
    TRY(tfl_single(c, tw));
    TRY(tfl_range_attrs(c, ty, ACTIVATION_NONE, a + 2));
    double product = (double) (tfl_quant_scale(c->r, tx, 0) * tfl_quant_scale(c->r, tw, 0));
    struct factor f = tfl_factor_of(product / (double) tfl_quant_scale(c->r, ty, 0));
    a[0] = attr_int("multiplier", f.multiplier);
    a[1] = attr_int("shift", f.shift);
    TRY(zero_wire(c, tx, &in[2]));
    TRY(zero_wire(c, tw, &in[3]));
    TRY(tfl_emit(c, OP_MATMUL_INTEGER, NULL, 0, in, 4, ret, 1));
    return tfl_emit(c, OP_REQUANTIZE, a, 2 + RANGE_ATTRS, ret, 1, ret, 1);
}

/* Weights [1, .., k, n], or turned, as [n, k]. */
static rill_status weights_of_matrix(struct conversion *c, bool turned_already, struct tensor **ret)
{
    const struct tensor *w;
    TRY(tfl_const(c, 1, &w));
    const int64_t rows = w->rank > 1 ? w->dim[w->rank - 2] : 0,
                  columns = w->rank > 1 ? w->dim[w->rank - 1] : 0,
                  dim[] = { turned_already ? rows : columns, turned_already ? columns : rows };
    if (rows < 1 || columns < 1 || tensor_count(w) != rows * columns)
        return tfl_fail(c, RILL_UNSUPPORTED,
                        "weights '%.80s' of floats are of rank %d; wants one matrix for all",
                        tfl_in(c, 1)->name, w->rank);
    struct tensor *t = *ret = tensor_new(c->r->arena, w->type, 2, dim);
    if (!t)
        return tfl_no_memory(c->r);
    for (int64_t i = 0; i < rows * columns; i++)
        ((int8_t *) t->data)[turned_already ? i : i % columns * rows + i / columns] =
            ((const int8_t *) w->data)[i];
    return RILL_OK;
}

/* Rows of floats, made bytes as in FULLY_CONNECTED. */
static rill_status mixed_matmul(struct conversion *c)
{
    struct flat *f = &c->r->flat;
    struct tensor *w;
    uint32_t x, y;
    TRY(mixed_check(c, -1));
    TRY(weights_of_matrix(c, flat_i8(f, c->options, MATMUL_ADJ_Y, 0), &w));
    TRY(turned(c, 0, flat_i8(f, c->options, MATMUL_ADJ_X, 0), &x));
    TRY(tfl_emit_shape(c, x, (int64_t[]) { -1, w->dim[1] }, 2, &x));
    TRY(tfl_emit_rows(c, x, w, scales_of(c, tfl_in(c, 1)),
                      flat_i8(f, c->options, MATMUL_ASYMMETRIC, 0), &y));
    return rows_result(c, w->dim[0], y);
}

rill_status tfl_batch_matmul(struct conversion *c)
{
    enum dtype tx = tfl_type(c, 0), tw = tfl_type(c, 1);
    uint32_t x, w, y;
    bool real = tx == DTYPE_F32 && tw == DTYPE_F32;
    if (tx == DTYPE_F32 && tw == DTYPE_I8)
        return mixed_matmul(c);
    if (!real && !(tx == DTYPE_I8 && tw == DTYPE_I8))
        return tfl_fail(c, RILL_UNSUPPORTED,
                        "of %s by %s; f32 by f32 or i8, and i8 by i8, are read", dtype_name(tx),
                        dtype_name(tw));
    TRY(turned(c, 0, flat_i8(&c->r->flat, c->options, MATMUL_ADJ_X, 0), &x));
    TRY(turned(c, 1, flat_i8(&c->r->flat, c->options, MATMUL_ADJ_Y, 0), &w));
    TRY(real ? tfl_emit2(c, OP_MATMUL, x, w, &y) : byte_matmul(c, x, w, &y));
    return tfl_result(c, 0, y);
}
