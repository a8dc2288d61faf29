/* SPDX-License-Identifier: MIT */
/* Operators by elements, reductions and pools, of floats; those of bytes are handed on. */
#include "models/tflite/internal.h"

#include <string.h>

static rill_status real_check(struct conversion *c, unsigned i)
{
    if (tfl_type(c, i) == DTYPE_F32)
        return RILL_OK;
    return tfl_fail(c, RILL_UNSUPPORTED, "input %u, tensor '%.80s', is %s; f32 is read here", i,
                    tfl_in(c, i) ? tfl_in(c, i)->name : "", dtype_name(tfl_type(c, i)));
}

rill_status tfl_unary(struct conversion *c)
{
    uint32_t x, y;
    TRY(real_check(c, 0));
    TRY(tfl_wire(c, 0, &x));
    TRY(tfl_emit1(c, (enum op_id) c->row->with, x, &y));
    return tfl_result(c, 0, y);
}

rill_status tfl_rsqrt(struct conversion *c)
{
    uint32_t x, y;
    TRY(real_check(c, 0));
    TRY(tfl_wire(c, 0, &x));
    TRY(tfl_emit1(c, OP_SQRT, x, &y));
    TRY(tfl_emit1(c, OP_RECIPROCAL, y, &y));
    return tfl_result(c, 0, y);
}

/* SQUARE and SQUARED_DIFFERENCE */
rill_status tfl_squared_difference(struct conversion *c)
{
    uint32_t x, y;
    TRY(real_check(c, 0));
    TRY(tfl_wire(c, 0, &x));
    if (c->in.n > 1) {
        TRY(real_check(c, 1));
        TRY(tfl_wire(c, 1, &y));
        TRY(tfl_emit2(c, OP_SUB, x, y, &x));
    }
    TRY(tfl_emit2(c, OP_MUL, x, x, &y));
    return tfl_result(c, 0, y);
}

static bool type_is_plain(enum dtype t)
{
    return t == DTYPE_F32 || t == DTYPE_I32 || t == DTYPE_I64;
}

rill_status tfl_binary(struct conversion *c)
{
    uint32_t x, w, y;
    enum dtype t = tfl_type(c, 0);
    int activation = flat_i8(&c->r->flat, c->options, 0, 0);
    if (tfl_type_is_whole(t))
        return tfl_byte_binary(c, activation);
    if (!type_is_plain(t) || t != tfl_type(c, 1))
        return tfl_fail(c, RILL_UNSUPPORTED,
                        "of %s and %s; both f32, i32, i64, i16 or 8 bits are read", dtype_name(t),
                        dtype_name(tfl_type(c, 1)));
    TRY(tfl_wire(c, 0, &x));
    TRY(tfl_wire(c, 1, &w));
    TRY(tfl_emit2(c, (enum op_id) c->row->with, x, w, &y));
    if (t != DTYPE_F32 && activation)
        return tfl_fail(c, RILL_UNSUPPORTED, "an activation on %s is not read", dtype_name(t));
    TRY(tfl_emit_activation(c, activation, y, &y));
    return tfl_result(c, 0, y);
}

/* Bytes of one scale, whose order is that of the numbers that they stand for. */
static rill_status bytes_agree(struct conversion *c)
{
    const struct tfl_tensor *y = tfl_out(c, 0);
    TRY(tfl_single_whole(c, y));
    for (unsigned i = 0; i < 2; i++) {
        const struct tfl_tensor *x = tfl_in(c, i);
        TRY(tfl_single_whole(c, x));
        if (x->shape.type != y->shape.type ||
            tfl_quant_scale(c->r, x, 0) != tfl_quant_scale(c->r, y, 0) ||
            tfl_quant_zero(c->r, x) != tfl_quant_zero(c->r, y))
            return tfl_fail(c, RILL_UNSUPPORTED,
                            "tensor '%.80s' has another scale, zero point or type than the result",
                            x->name);
    }
    return RILL_OK;
}

/* Two operands as they are: floats or whole numbers; the extremes of bytes where scales agree. */
rill_status tfl_alike(struct conversion *c)
{
    const struct tfl_tensor *a = tfl_in(c, 0), *b = tfl_in(c, 1), *y = tfl_out(c, 0);
    uint32_t x, w, out;
    bool extreme = c->row->with == OP_MAX || c->row->with == OP_MIN,
         bytes = extreme && tfl_type_is_whole(y->shape.type);
    bool plain = type_is_plain(a->shape.type) && a->shape.type == b->shape.type;
    if (bytes)
        TRY(bytes_agree(c));
    else if (!plain)
        return tfl_fail(c, RILL_UNSUPPORTED,
                        "of %s and %s, which makes %s; f32, i32 or i64 are "
                        "read",
                        dtype_name(a->shape.type), dtype_name(b->shape.type),
                        dtype_name(y->shape.type));
    TRY(tfl_wire(c, 0, &x));
    TRY(tfl_wire(c, 1, &w));
    TRY(tfl_emit2(c, (enum op_id) c->row->with, x, w, &out));
    return tfl_result(c, 0, out);
}

rill_status tfl_compare(struct conversion *c)
{
    return tfl_alike(c);
}

rill_status tfl_table(struct conversion *c)
{
    if (tfl_type(c, 0) == DTYPE_I16)
        return tfl_short_table(c);
    return tfl_type_is_byte(tfl_type(c, 0)) ? tfl_byte_table(c) : tfl_unary(c);
}

rill_status tfl_relu_like(struct conversion *c)
{
    uint32_t x, y;
    if (tfl_type_is_whole(tfl_type(c, 0)))
        return tfl_byte_relu(c, c->row->with);
    TRY(real_check(c, 0));
    TRY(tfl_wire(c, 0, &x));
    TRY(tfl_emit_activation(c, c->row->with, x, &y));
    return tfl_result(c, 0, y);
}

rill_status tfl_leaky_relu(struct conversion *c)
{
    struct attr a = { .name = "alpha", .kind = ATTR_FLOAT };
    uint32_t x, y;
    if (tfl_type_is_whole(tfl_type(c, 0)))
        return tfl_table(c);
    TRY(real_check(c, 0));
    a.f = flat_f32(&c->r->flat, c->options, 0, 0);
    TRY(tfl_wire(c, 0, &x));
    TRY(tfl_emit(c, OP_LEAKY_RELU, &a, 1, &x, 1, &y, 1));
    return tfl_result(c, 0, y);
}

rill_status tfl_prelu(struct conversion *c)
{
    uint32_t x, slope, y;
    if (tfl_type_is_byte(tfl_type(c, 0)))
        return tfl_byte_prelu(c);
    TRY(real_check(c, 0));
    TRY(real_check(c, 1));
    TRY(tfl_wire(c, 0, &x));
    TRY(tfl_wire(c, 1, &slope));
    TRY(tfl_emit2(c, OP_PRELU, x, slope, &y));
    return tfl_result(c, 0, y);
}

rill_status tfl_cast(struct conversion *c)
{
    struct attr to = attr_int("to", tfl_out(c, 0)->shape.type);
    uint32_t x, y;
    TRY(tfl_wire(c, 0, &x));
    TRY(tfl_emit(c, OP_CAST, &to, 1, &x, 1, &y, 1));
    return tfl_result(c, 0, y);
}

/* ---- along axes ---- */

rill_status tfl_softmax(struct conversion *c)
{
    float beta = flat_f32(&c->r->flat, c->options, 0, c->row->with == OP_SOFTMAX ? 0 : 1);
    struct attr axis = attr_int("axis", -1);
    uint32_t x, y, by;
    if (tfl_type_is_byte(tfl_type(c, 0)) && c->row->with == OP_SOFTMAX)
        return tfl_byte_softmax(c, (double) beta);
    if (tfl_type(c, 0) == DTYPE_I16 && c->row->with == OP_SOFTMAX)
        return tfl_short_softmax(c, (double) beta);
    TRY(real_check(c, 0));
    TRY(tfl_wire(c, 0, &x));
    if (c->row->with == OP_SOFTMAX && beta != 1) {
        TRY(tfl_wire_f32(c, beta, &by));
        TRY(tfl_emit2(c, OP_MUL, x, by, &x));
    }
    TRY(tfl_emit(c, (enum op_id) c->row->with, &axis, 1, &x, 1, &y, 1));
    return tfl_result(c, 0, y);
}

/* The axes of input 0 that input 1 has. */
static rill_status axes_read(struct conversion *c, unsigned cap, int64_t *ret, unsigned *ret_n)
{
    const struct tfl_tensor *x = tfl_in(c, 0);
    TRY(tfl_ints(c, 1, ret, cap, ret_n));
    if (cap == 1 && *ret_n == 0)
        return tfl_fail(c, RILL_MALFORMED, "input 1, its axis, is empty");
    for (unsigned i = 0; i < *ret_n; i++)
        if (axis_normalise(ret[i], x->shape.rank) < 0)
            return tfl_fail(c, RILL_MALFORMED, "axis %lld of tensor '%.80s', which is of rank %d",
                            (long long) ret[i], x->name, x->shape.rank);
    return RILL_OK;
}

rill_status tfl_reduce(struct conversion *c)
{
    struct attr keep = attr_int("keepdims", flat_i8(&c->r->flat, c->options, 0, 0) != 0);
    int64_t axes[RANK_MAX];
    uint32_t in[2], y;
    unsigned n;
    TRY(axes_read(c, RANK_MAX, axes, &n));
    if (tfl_type_is_whole(tfl_type(c, 0)))
        return tfl_byte_reduce(c, axes, n, &keep);
    TRY(real_check(c, 0));
    TRY(tfl_wire(c, 0, &in[0]));
    TRY(tfl_wire_i64s(c, axes, n, &in[1]));
    TRY(tfl_emit(c, (enum op_id) c->row->with, &keep, 1, in, 2, &y, 1));
    return tfl_result(c, 0, y);
}

/* Each row of the last axis over its length, which is at least 1e-6. */
rill_status tfl_l2_normalization(struct conversion *c)
{
    struct attr keep = attr_int("keepdims", 1);
    const int64_t last = -1;
    uint32_t x, in[2], least, y;
    if (tfl_type_is_byte(tfl_type(c, 0)))
        return tfl_byte_norm(c);
    TRY(real_check(c, 0));
    TRY(tfl_wire(c, 0, &x));
    in[0] = x;
    TRY(tfl_wire_i64s(c, &last, 1, &in[1]));
    TRY(tfl_emit(c, OP_REDUCE_SUM_SQUARE, &keep, 1, in, 2, &y, 1));
    TRY(tfl_emit1(c, OP_SQRT, y, &y));
    TRY(tfl_wire_f32(c, 1e-6f, &least));
    TRY(tfl_emit2(c, OP_MAX, y, least, &y));
    TRY(tfl_emit2(c, OP_DIV, x, y, &y));
    TRY(tfl_emit_activation(c, flat_i8(&c->r->flat, c->options, 0, 0), y, &y));
    return tfl_result(c, 0, y);
}

rill_status tfl_cumsum(struct conversion *c)
{
    struct flat *f = &c->r->flat;
    struct attr a[] = { attr_int("exclusive", flat_i8(f, c->options, 0, 0) != 0),
                        attr_int("reverse", flat_i8(f, c->options, 1, 0) != 0) };
    int64_t axis = 0;
    uint32_t in[2], y;
    unsigned n;
    TRY(axes_read(c, 1, &axis, &n));
    if (!type_is_plain(tfl_type(c, 0)))
        return tfl_fail(c, RILL_UNSUPPORTED, "of %s; f32, i32 and i64 are read",
                        dtype_name(tfl_type(c, 0)));
    TRY(tfl_wire(c, 0, &in[0]));
    TRY(tfl_wire_i64(c, axis, &in[1]));
    TRY(tfl_emit(c, OP_CUMSUM, a, 2, in, 2, &y, 1));
    return tfl_result(c, 0, y);
}

/* Where the largest or the least is: the first of several. */
rill_status tfl_arg(struct conversion *c)
{
    struct attr a[] = { attr_int("axis", 0), attr_int("keepdims", 0) },
                to = attr_int("to", tfl_out(c, 0)->shape.type);
    int64_t axis = 0;
    uint32_t x, y;
    unsigned n;
    TRY(axes_read(c, 1, &axis, &n));
    if (to.i != DTYPE_I32 && to.i != DTYPE_I64)
        return tfl_fail(c, RILL_MALFORMED, "makes '%.80s' of %s; wants i32 or i64",
                        tfl_out(c, 0)->name, dtype_name((enum dtype) to.i));
    a[0].i = axis;
    TRY(tfl_wire(c, 0, &x));
    TRY(tfl_emit(c, (enum op_id) c->row->with, a, 2, &x, 1, &y, 1));
    TRY(tfl_emit(c, OP_CAST, &to, 1, &y, 1, &y, 1));
    return tfl_result(c, 0, y);
}

/* ---- pools ---- */

static rill_status pool_read(struct conversion *c, int64_t kept[8])
{
    struct flat *f = &c->r->flat;
    const struct tensor *x = &tfl_in(c, 0)->shape, *y = &tfl_out(c, 0)->shape;
    if (x->rank != 4 || y->rank != 4)
        return tfl_fail(c, RILL_MALFORMED, "an input of rank %d; wants 4", x->rank);
    for (unsigned i = 0; i < 2; i++) {
        kept[i] = flat_i32(f, c->options, i ? POOL_STRIDE_W : POOL_STRIDE_H, 0);
        kept[2 + i] = flat_i32(f, c->options, i ? POOL_WIDTH : POOL_HEIGHT, 0);
        TRY(tfl_step_check(c, "stride", kept[i]));
        TRY(tfl_step_check(c, "window", kept[2 + i]));
        if (flat_i8(f, c->options, POOL_PADDING, PADDING_SAME) != PADDING_SAME)
            continue;
        if (kept[i] > 1)
            TRY(tfl_known(c, tfl_in(c, 0), 1 + (int) i, "SAME padding with a stride"));
        int64_t outputs = (x->dim[1 + i] + kept[i] - 1) / kept[i];
        int64_t all = (outputs - 1) * kept[i] + kept[2 + i] - x->dim[1 + i];
        all = all > 0 ? all : 0;
        kept[4 + i] = all / 2;
        kept[6 + i] = all - all / 2;
    }
    return RILL_OK;
}

rill_status tfl_pool(struct conversion *c)
{
    static const int64_t first[] = { 0, 3, 1, 2 }, last[] = { 0, 2, 3, 1 };
    int64_t *kept = arena_array(c->r->arena, int64_t, 8);
    int activation = flat_i8(&c->r->flat, c->options, POOL_ACTIVATION, 0);
    uint32_t x, y;
    if (!kept)
        return tfl_no_memory(c->r);
    TRY(pool_read(c, kept));
    if (tfl_type_is_whole(tfl_type(c, 0)))
        return tfl_byte_pool(c, kept, activation);
    TRY(real_check(c, 0));
    struct attr a[] = { attr_ints("strides", kept, 2), attr_ints("kernel_shape", kept + 2, 2),
                        attr_ints("pads", kept + 4, 4) };
    TRY(tfl_wire(c, 0, &x));
    TRY(tfl_emit_transpose(c, first, 4, x, &x));
    TRY(tfl_emit(c, (enum op_id) c->row->with, a, 3, &x, 1, &y, 1));
    TRY(tfl_emit_activation(c, activation, y, &y));
    TRY(tfl_emit_transpose(c, last, 4, y, &y));
    return tfl_result(c, 0, y);
}
