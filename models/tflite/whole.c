/* SPDX-License-Identifier: MIT */
/* Operators on bytes by scales, and the ways between bytes and floats. */
#include "models/tflite/internal.h"

#include <math.h>

/* ---- from scale to scale ---- */

/* The input as the output has it. */
static rill_status requantized(struct conversion *c, int activation, double factor, uint32_t *ret)
{
    const struct tfl_tensor *x = tfl_in(c, 0);
    const struct factor f = tfl_factor_of(factor);
    struct attr a[3 + RANGE_ATTRS];
    uint32_t in;
    TRY(tfl_single_whole(c, x));
    TRY(tfl_range_attrs(c, tfl_out(c, 0), activation, a + 3));
    a[0] = attr_int("x_zero", tfl_quant_zero(c->r, x));
    a[1] = attr_int("multiplier", f.multiplier);
    a[2] = attr_int("shift", f.shift);
    TRY(tfl_wire(c, 0, &in));
    return tfl_emit(c, OP_REQUANTIZE, a, 3 + RANGE_ATTRS, &in, 1, ret, 1);
}

/* The reference divides the scales as floats here, and as doubles in QUANTIZE. */
rill_status tfl_byte_relu(struct conversion *c, int activation)
{
    uint32_t out;
    float of_x = tfl_quant_scale(c->r, tfl_in(c, 0), 0),
          of_y = tfl_quant_scale(c->r, tfl_out(c, 0), 0);
    TRY(requantized(c, activation, (double) (of_x / of_y), &out));
    return tfl_result(c, 0, out);
}

static rill_status requantize(struct conversion *c)
{
    uint32_t out;
    double of_x = tfl_quant_scale(c->r, tfl_in(c, 0), 0),
           of_y = tfl_quant_scale(c->r, tfl_out(c, 0), 0);
    TRY(requantized(c, ACTIVATION_NONE, of_x / of_y, &out));
    return tfl_result(c, 0, out);
}

/* Scale and zero of a tensor as the inputs of QuantizeLinear and DequantizeLinear. */
static rill_status quant_wires(struct conversion *c, const struct tfl_tensor *t, uint32_t ret[2])
{
    int64_t n = t->q.n > 1 ? t->q.n : 1;
    int rank = t->q.n > 1;
    struct tensor *scale = tensor_new(c->r->arena, DTYPE_F32, rank, &n),
                  *zero = tensor_new(c->r->arena, t->shape.type, rank, &n);
    if (!scale || !zero)
        return tfl_no_memory(c->r);
    for (uint32_t i = 0; i < n; i++) {
        int64_t z =
            t->q.zero.n ? flat_list_i64(&c->r->flat, t->q.zero, t->q.zero.n > 1 ? i : 0) : 0;
        ((float *) scale->data)[i] = tfl_quant_scale(c->r, t, i);
        tensor_set_f64(zero, zero->data, i, (double) z);
    }
    TRY(tfl_wire_of(c, scale, &ret[0]));
    return tfl_wire_of(c, zero, &ret[1]);
}

/* Floats to bytes round half away from zero, as the format has it. */
rill_status tfl_emit_bytes(struct conversion *c, const struct tfl_tensor *t, uint32_t x,
                           uint32_t *ret)
{
    struct attr a[1 + RANGE_ATTRS] = { { .name = "scale", .kind = ATTR_FLOAT } };
    TRY(tfl_range_attrs(c, t, ACTIVATION_NONE, a + 1));
    a[0].f = tfl_quant_scale(c->r, t, 0);
    return tfl_emit(c, OP_BYTE_OF, a, 1 + RANGE_ATTRS, &x, 1, ret, 1);
}

rill_status tfl_emit_reals(struct conversion *c, const struct tfl_tensor *t, uint32_t x,
                           uint32_t *ret)
{
    struct attr axis = attr_int("axis", t->q.axis);
    uint32_t in[3] = { x };
    TRY(quant_wires(c, t, in + 1));
    return tfl_emit(c, OP_DEQUANTIZE_LINEAR, &axis, t->shape.rank > 0, in, 3, ret, 1);
}

rill_status tfl_quantize(struct conversion *c)
{
    uint32_t x, y;
    if (tfl_type_is_whole(tfl_type(c, 0)))
        return requantize(c);
    if (tfl_type(c, 0) == DTYPE_F32) {
        TRY(tfl_wire(c, 0, &x));
        TRY(tfl_emit_bytes(c, tfl_out(c, 0), x, &y));
        return tfl_result(c, 0, y);
    }
    return tfl_fail(c, RILL_UNSUPPORTED, "of %s; 8 bits, i16 or f32 are read",
                    dtype_name(tfl_type(c, 0)));
}

rill_status tfl_dequantize(struct conversion *c)
{
    const struct tfl_tensor *x = tfl_in(c, 0);
    struct attr to = attr_int("to", DTYPE_F32);
    uint32_t w, y;
    TRY(tfl_wire(c, 0, &w));
    if (x->shape.type != DTYPE_F16 && !x->q.n)
        return tfl_fail(c, RILL_MALFORMED, "tensor '%.80s' says no scale", x->name);
    TRY(x->shape.type == DTYPE_F16 ? tfl_emit(c, OP_CAST, &to, 1, &w, 1, &y, 1)
                                   : tfl_emit_reals(c, x, w, &y));
    return tfl_result(c, 0, y);
}

/* ---- sums and products ---- */

static void factor_attrs(struct attr *a, const char *multiplier, const char *shift, double v)
{
    struct factor f = tfl_factor_of(v);
    a[0] = attr_int(multiplier, f.multiplier);
    a[1] = attr_int(shift, f.shift);
}

/* Bits that a sum has below its operands. */
static int sum_up(enum dtype t)
{
    return t == DTYPE_I16 ? 15 : 20;
}

/* Both operands are of one type. */
static rill_status kinds_agree(struct conversion *c)
{
    const struct tfl_tensor *a = tfl_in(c, 0), *b = tfl_in(c, 1);
    TRY(tfl_single_whole(c, a));
    TRY(tfl_single_whole(c, b));
    if (a->shape.type == b->shape.type)
        return RILL_OK;
    return tfl_fail(c, RILL_UNSUPPORTED, "of '%.80s', %s, and '%.80s', %s; both must agree",
                    a->name, dtype_name(a->shape.type), b->name, dtype_name(b->shape.type));
}

#define SUM_ATTRS 6 /* factors of the sum and of both operands */

static void sum_attrs(struct attr *at, float of_a, float of_b, float of_y, int up)
{
    const double twice = 2 * (double) (of_a > of_b ? of_a : of_b);
    factor_attrs(at, "multiplier", "shift", twice / ((double) (1 << up) * (double) of_y));
    factor_attrs(at + 2, "a_multiplier", "a_shift", (double) of_a / twice);
    factor_attrs(at + 4, "b_multiplier", "b_shift", (double) of_b / twice);
}

/* Scales that are powers of two: one operand has that of the sum, the other is shifted to it. */
static rill_status shifted_sum_attrs(struct conversion *c, struct attr *at, const int power[3])
{
    const int shift[3] = { 0, power[0] - power[2], power[1] - power[2] };
    static const char *const names[3][2] = { { "multiplier", "shift" },
                                             { "a_multiplier", "a_shift" },
                                             { "b_multiplier", "b_shift" } };
    if (shift[1] > 0 || shift[2] > 0 || shift[1] < -31 || shift[2] < -31 || (shift[1] && shift[2]))
        return tfl_fail(
            c, RILL_UNSUPPORTED,
            "scales of 2^%d and 2^%d, which makes one of 2^%d; wants one operand of the "
            "result's scale and another of no larger one",
            power[0], power[1], power[2]);
    for (unsigned i = 0; i < 3; i++) {
        at[2 * i] = attr_int(names[i][0], INT32_MAX);
        at[2 * i + 1] = attr_int(names[i][1], shift[i]);
    }
    return RILL_OK;
}

/* Whether sums of i16 are to be shifted: unless the file says no, where all scales are powers. */
static bool sums_shift(struct conversion *c, int power[3])
{
    const struct tfl_tensor *t[3] = { tfl_in(c, 0), tfl_in(c, 1), tfl_out(c, 0) };
    bool all = tfl_type(c, 0) == DTYPE_I16 && flat_i8(&c->r->flat, c->options, BINARY_POWERS, 1);
    for (unsigned i = 0; i < 3; i++)
        all = tfl_power_of_two(tfl_quant_scale(c->r, t[i], 0), &power[i]) && all;
    return all;
}

/* Products of scales are made as floats, as the format's own kernels make them. */
rill_status tfl_byte_binary(struct conversion *c, int activation)
{
    const struct tfl_tensor *a = tfl_in(c, 0), *b = tfl_in(c, 1);
    struct attr attrs[4 + SUM_ATTRS + RANGE_ATTRS], *at = attrs + RANGE_ATTRS;
    uint32_t in[2], out;
    enum op_id id = (enum op_id) c->row->with;
    bool product = id == OP_MUL;
    int power[3], up = sum_up(a->shape.type);
    if (!product && id != OP_ADD && id != OP_SUB)
        return tfl_fail(c, RILL_UNSUPPORTED, "on whole numbers is not read; ADD, SUB and MUL are");
    TRY(kinds_agree(c));
    TRY(tfl_range_attrs(c, tfl_out(c, 0), activation, attrs));
    float of_a = tfl_quant_scale(c->r, a, 0), of_b = tfl_quant_scale(c->r, b, 0),
          of_y = tfl_quant_scale(c->r, tfl_out(c, 0), 0);
    at[0] = attr_int("a_zero", tfl_quant_zero(c->r, a));
    at[1] = attr_int("b_zero", tfl_quant_zero(c->r, b));
    if (product) {
        factor_attrs(at + 2, "multiplier", "shift", (double) (of_a * of_b / of_y));
    } else if (sums_shift(c, power)) {
        TRY(shifted_sum_attrs(c, at + 2, power));
        up = 0;
    } else {
        sum_attrs(at + 2, of_a, of_b, of_y, up);
    }
    at[2 + SUM_ATTRS] = attr_int("up", up);
    at[3 + SUM_ATTRS] = attr_int("minus", id == OP_SUB);
    TRY(tfl_wire(c, 0, &in[0]));
    TRY(tfl_wire(c, 1, &in[1]));
    TRY(tfl_emit(c, product ? OP_BYTE_MUL : OP_BYTE_ADD, attrs,
                 RANGE_ATTRS + (product ? 4 : 4 + SUM_ATTRS), in, 2, &out, 1));
    return tfl_result(c, 0, out);
}

/* Numbers from zero up are scaled, those below it by their slopes, too. */
rill_status tfl_byte_prelu(struct conversion *c)
{
    const struct tfl_tensor *x = tfl_in(c, 0), *w = tfl_in(c, 1), *y = tfl_out(c, 0);
    struct attr a[4 + RANGE_ATTRS];
    struct tensor *zero = tensor_new(c->r->arena, x->shape.type, 0, NULL);
    uint32_t in[2], part[3];
    if (!zero)
        return tfl_no_memory(c->r);
    TRY(kinds_agree(c));
    TRY(tfl_range_attrs(c, y, ACTIVATION_NONE, a + 4));
    const float of_x = tfl_quant_scale(c->r, x, 0), of_w = tfl_quant_scale(c->r, w, 0),
                of_y = tfl_quant_scale(c->r, y, 0);
    tensor_set_f64(zero, zero->data, 0, tfl_quant_zero(c->r, x));
    a[0] = attr_int("a_zero", tfl_quant_zero(c->r, x));
    a[1] = attr_int("b_zero", tfl_quant_zero(c->r, w));
    factor_attrs(a + 2, "multiplier", "shift", (double) (of_x * of_w / of_y));
    TRY(tfl_wire(c, 0, &in[0]));
    TRY(tfl_wire(c, 1, &in[1]));
    TRY(requantized(c, ACTIVATION_NONE, (double) (of_x / of_y), &part[1]));
    TRY(tfl_emit(c, OP_BYTE_MUL, a, 4 + RANGE_ATTRS, in, 2, &part[2], 1));
    TRY(tfl_wire_of(c, zero, &in[1]));
    TRY(tfl_emit2(c, OP_GREATER_OR_EQUAL, in[0], in[1], &part[0]));
    TRY(tfl_emit(c, OP_WHERE, NULL, 0, part, 3, &part[0], 1));
    return tfl_result(c, 0, part[0]);
}

/* ---- windows and axes ---- */

static rill_status same_scale(struct conversion *c)
{
    const struct tfl_tensor *x = tfl_in(c, 0), *y = tfl_out(c, 0);
    TRY(tfl_single_whole(c, x));
    TRY(tfl_single_whole(c, y));
    if (tfl_quant_scale(c->r, x, 0) == tfl_quant_scale(c->r, y, 0) &&
        tfl_quant_zero(c->r, x) == tfl_quant_zero(c->r, y))
        return RILL_OK;
    return tfl_fail(c, RILL_UNSUPPORTED,
                    "its input and output have different scales or zero points");
}

rill_status tfl_byte_pool(struct conversion *c, const int64_t kept[8], int activation)
{
    struct attr a[4 + RANGE_ATTRS] = { attr_ints("strides", kept, 2),
                                       attr_ints("kernel", kept + 2, 2),
                                       attr_ints("pads", kept + 4, 4),
                                       attr_int("mean", c->row->with == OP_AVERAGE_POOL) };
    uint32_t x, y;
    TRY(same_scale(c));
    TRY(tfl_range_attrs(c, tfl_out(c, 0), activation, a + 4));
    TRY(tfl_wire(c, 0, &x));
    TRY(tfl_emit(c, OP_BYTE_POOL, a, 4 + RANGE_ATTRS, &x, 1, &y, 1));
    return tfl_result(c, 0, y);
}

#define EXP_BITS 5 /* before the point, of what goes into an exponential */

rill_status tfl_byte_softmax(struct conversion *c, double beta)
{
    const struct tfl_tensor *x = tfl_in(c, 0), *y = tfl_out(c, 0);
    const double largest = (double) INT32_MAX;
    uint32_t in, out;
    TRY(tfl_single(c, x));
    TRY(tfl_single(c, y));
    if (tfl_quant_scale(c->r, y, 0) != 1.0f / 256 ||
        tfl_quant_zero(c->r, y) != (y->shape.type == DTYPE_I8 ? -128 : 0))
        return tfl_fail(c, RILL_UNSUPPORTED, "its output is not in steps of 1/256 from 0");
    double v = beta * (double) tfl_quant_scale(c->r, x, 0) * (1 << (31 - EXP_BITS));
    struct factor f = tfl_factor_of(v < largest ? v : largest);
    if (f.shift < 0)
        return tfl_fail(c, RILL_UNSUPPORTED, "its input has a scale of %g, which is too small",
                        (double) tfl_quant_scale(c->r, x, 0));
    double least = floor((double) ((1 << EXP_BITS) - 1) * (double) (1 << (31 - EXP_BITS)) /
                         (double) ((int64_t) 1 << f.shift));
    struct attr a[] = { attr_int("multiplier", f.multiplier), attr_int("shift", f.shift),
                        attr_int("least", -(int64_t) least), attr_int("to", y->shape.type) };
    TRY(tfl_wire(c, 0, &in));
    TRY(tfl_emit(c, OP_BYTE_SOFTMAX, a, 4, &in, 1, &out, 1));
    return tfl_result(c, 0, out);
}

rill_status tfl_byte_norm(struct conversion *c)
{
    const struct tfl_tensor *x = tfl_in(c, 0), *y = tfl_out(c, 0);
    struct attr a[] = { attr_int("x_zero", tfl_quant_zero(c->r, x)),
                        attr_int("to", y->shape.type) };
    uint32_t in, out;
    TRY(tfl_single(c, x));
    TRY(tfl_single(c, y));
    if (tfl_quant_scale(c->r, y, 0) != 1.0f / 128 ||
        tfl_quant_zero(c->r, y) != (y->shape.type == DTYPE_I8 ? 0 : 128))
        return tfl_fail(c, RILL_UNSUPPORTED, "its output is not in steps of 1/128 around 0");
    if (flat_i8(&c->r->flat, c->options, 0, 0))
        return tfl_fail(c, RILL_UNSUPPORTED, "an activation behind 8 bits is not read here");
    TRY(tfl_wire(c, 0, &in));
    TRY(tfl_emit(c, OP_BYTE_NORM, a, 2, &in, 1, &out, 1));
    return tfl_result(c, 0, out);
}

/* The factor over n, with as many bits as there were. */
static struct factor factor_over(struct factor f, int64_t n)
{
    int by = 63 - __builtin_clzll((unsigned long long) n);
    by = by < 31 + f.shift ? by : 31 + f.shift;
    return (struct factor) { (int32_t) (((int64_t) f.multiplier << by) / n), f.shift - by };
}

/* The largest or least of bytes, which stay what they are. */
static rill_status byte_extreme(struct conversion *c, const int64_t *axes, unsigned n,
                                const struct attr *keep)
{
    uint32_t in[2], out;
    TRY(same_scale(c));
    TRY(tfl_wire(c, 0, &in[0]));
    TRY(tfl_wire_i64s(c, axes, n, &in[1]));
    TRY(tfl_emit(c, (enum op_id) c->row->with, keep, 1, in, 2, &out, 1));
    return tfl_result(c, 0, out);
}

/* How many of x each result is made of; an axis may be named twice. */
static int64_t reduced_count(const struct tensor *x, const int64_t *axes, unsigned n)
{
    bool seen[RANK_MAX] = { false };
    int64_t each = 1;
    for (unsigned i = 0; i < n; i++) {
        const int axis = axis_normalise(axes[i], x->rank);
        each *= seen[axis] ? 1 : x->dim[axis];
        seen[axis] = true;
    }
    return each;
}

rill_status tfl_byte_reduce(struct conversion *c, const int64_t *axes, unsigned n,
                            const struct attr *keep)
{
    const struct tfl_tensor *x = tfl_in(c, 0), *y = tfl_out(c, 0);
    struct attr to = attr_int("to", DTYPE_I32), a[3 + RANGE_ATTRS];
    uint32_t in[2], out;
    if (c->row->with == OP_REDUCE_MAX || c->row->with == OP_REDUCE_MIN)
        return byte_extreme(c, axes, n, keep);
    TRY(tfl_range_attrs(c, y, ACTIVATION_NONE, a + 3));
    TRY(tfl_single_whole(c, x));
    for (unsigned i = 0; i < n; i++)
        TRY(tfl_known(c, x, axis_normalise(axes[i], x->shape.rank), "a mean of bytes"));
    const int64_t each = reduced_count(&x->shape, axes, n);
    const bool byte = tfl_type_is_byte(x->shape.type);
    if (c->row->with != OP_REDUCE_MEAN || each < 1 || each > (byte ? 1 << 20 : 1 << 15))
        return tfl_fail(c, RILL_UNSUPPORTED,
                        "on whole numbers is not read; MEAN of at most 2^20 of 8 bits and 2^15 of "
                        "16, REDUCE_MAX and REDUCE_MIN are");
    struct factor f = factor_over(tfl_factor_of((double) tfl_quant_scale(c->r, x, 0) /
                                                (double) tfl_quant_scale(c->r, y, 0)),
                                  each);
    a[0] = attr_int("x_zero", tfl_quant_zero(c->r, x) * each);
    a[1] = attr_int("multiplier", f.multiplier);
    a[2] = attr_int("shift", f.shift);
    TRY(tfl_wire(c, 0, &in[0]));
    TRY(tfl_wire_i64s(c, axes, n, &in[1]));
    TRY(tfl_emit(c, OP_CAST, &to, 1, in, 1, in, 1));
    TRY(tfl_emit(c, OP_REDUCE_SUM, keep, 1, in, 2, &out, 1));
    TRY(tfl_emit(c, OP_REQUANTIZE, a, 3 + RANGE_ATTRS, &out, 1, &out, 1));
    return tfl_result(c, 0, out);
}
