/* SPDX-License-Identifier: MIT */
/* Operators on numbers of 16 bits around 0: products by weights of 8 bits, made of both halves of
 * each number; functions of one number, worked out here for each of 65536; softmax. */
#include "models/tflite/internal.h"

#include <math.h>

/* ---- products ---- */

#define ELEMENT_INT32 2

/* Sums have 64 bits unless the operator names 32 for its bias. */
static bool sums_are_narrow(struct conversion *c, const struct product_of *of)
{
    return of->bias_type && flat_i8(&c->r->flat, c->options, of->bias_type, 0) == ELEMENT_INT32;
}

#define TERMS_MAX 65536 /* sums of the halves are exact in 32 bits */

rill_status tfl_short_scales_check(struct conversion *c, const struct product_of *of, int axis)
{
    const struct tfl_tensor *w = tfl_in(c, of->w);
    const enum dtype bias = sums_are_narrow(c, of) ? DTYPE_I32 : DTYPE_I64;
    if (!tfl_quant_centred(c->r, w))
        return tfl_fail(c, RILL_UNSUPPORTED,
                        "of i16 by weights '%.80s' of i8 with a zero point that is not 0", w->name);
    if (tensor_count(&w->shape) > w->shape.dim[axis] * TERMS_MAX)
        return tfl_fail(c, RILL_UNSUPPORTED,
                        "sums more than %d products of i16; at most so many are read", TERMS_MAX);
    if (tfl_in(c, of->bias) && tfl_type(c, of->bias) != bias)
        return tfl_fail(c, RILL_UNSUPPORTED, "its bias is %s; wants %s, as its options say",
                        dtype_name(tfl_type(c, of->bias)), dtype_name(bias));
    return RILL_OK;
}

/* The sums of each half of x, joined and scaled to the output. */
rill_status tfl_short_conv_emit(struct conversion *c, const struct product_of *of,
                                const struct attr *how, unsigned n_how, int activation, uint32_t x,
                                uint32_t weights, uint32_t *ret)
{
    const struct attr upper = attr_int("upper", 1);
    struct attr a[2 + RANGE_ATTRS] = { attr_int("wide", !sums_are_narrow(c, of)),
                                       attr_int("once", of->full) };
    uint32_t in[5];
    for (unsigned k = 0; k < 2; k++) {
        uint32_t half[2] = { x, weights };
        TRY(tfl_emit(c, OP_BYTE_HALF, &upper, k == 0, half, 1, half, 1));
        TRY(tfl_emit(c, OP_BYTE_CONV, how, n_how, half, 2, &in[k], 1));
    }
    TRY(tfl_factors_make(c, of, in + 2));
    TRY(tfl_wire(c, of->bias, &in[4]));
    TRY(tfl_range_attrs(c, tfl_out(c, 0), activation, a + 2));
    return tfl_emit(c, OP_BYTE_JOIN, a, 2 + RANGE_ATTRS, in, 5, ret, 1);
}

/* ---- functions of one number ---- */

#define SHORTS ((int64_t) 1 << 16)

/* The logistic function at i / 24, in 16 bits: raised by half of what a line between two of them
 * lies too low in its middle. */
#define POINTS 256
static void points_make(int32_t ret[POINTS])
{
    for (int i = 0; i < POINTS; i++) {
        const double y = 1 / (1 + exp(-i / 24.0)), bend = y * (1 - y) * (2 * y - 1) / (24 * 24);
        ret[i] = (int32_t) floor(65536 * (y + bend / 16) + 0.5);
    }
    ret[POINTS - 1] = UINT16_MAX;
}

/* From the numbers of a tensor to 3/4 of what they stand for, in 1/4096: x * by / 2^down. */
struct ramp {
    uint32_t by;
    int down;
};

static struct ramp ramp_of(float scale, int left_most)
{
    struct ramp r = { 0, 0 };
    double v = (double) scale * 4096 * 3;
    int power;
    if (tfl_power_of_two(scale, &power) && power + 12 >= 0 && power + 12 <= left_most)
        return (struct ramp) { 3u << (power + 12), 0 };
    while (v <= 32767.0 / 2 && r.down <= 30) {
        r.down++;
        v *= 2;
    }
    r.by = (uint32_t) (int64_t) (v < INT32_MAX ? v : INT32_MAX);
    return r;
}

static int32_t ramp_at(struct ramp r, int32_t x)
{
    const uint32_t half = r.down ? 1u << (r.down - 1) : 0;
    return (int32_t) ((uint32_t) x * r.by + half) >> r.down;
}

/* Between the points, of which each has 2^bits steps; at its end `most`. */
static int32_t point_at(const int32_t point[POINTS], uint32_t v, int bits, int32_t most)
{
    const uint32_t i = v >> bits, part = v & ((1u << bits) - 1);
    if (i >= POINTS - 1)
        return most;
    return (point[i] << bits) + (int32_t) part * (point[i + 1] - point[i]);
}

static uint32_t size_of(int32_t v)
{
    return v < 0 ? 0 - (uint32_t) v : (uint32_t) v;
}

static void logistic_table(struct conversion *c, int16_t *ret)
{
    const struct ramp r = ramp_of(tfl_quant_scale(c->r, tfl_in(c, 0), 0), 0);
    int32_t point[POINTS];
    points_make(point);
    for (int32_t x = INT16_MIN; x <= INT16_MAX; x++) {
        const int32_t v = ramp_at(r, x), y = point_at(point, size_of(v), 9, 0x7fff << 10);
        ret[x - INT16_MIN] =
            (int16_t) ((v >= 0 ? y + (1 << 9) : (1 << 25) - y + (1 << 9) - 1) >> 10);
    }
}

/* Twice the logistic function of twice as much, less one. */
static void tangent_table(struct conversion *c, int16_t *ret)
{
    const struct ramp r = ramp_of(tfl_quant_scale(c->r, tfl_in(c, 0), 0), 1);
    int32_t point[POINTS];
    points_make(point);
    for (int32_t x = INT16_MIN; x <= INT16_MAX; x++) {
        const int32_t v = ramp_at(r, x),
                      y = point_at(point, size_of(v), 8, 0xffff << 8) - (1 << 23);
        ret[x - INT16_MIN] = (int16_t) ((v >= 0 ? y + (1 << 7) : (1 << 7) - 1 - y) >> 8);
    }
}

static void leaky_table(struct conversion *c, int16_t *ret)
{
    const float alpha = flat_f32(&c->r->flat, c->options, 0, 0),
                of_x = tfl_quant_scale(c->r, tfl_in(c, 0), 0),
                of_y = tfl_quant_scale(c->r, tfl_out(c, 0), 0);
    const struct factor above = tfl_factor_of((double) (of_x / of_y)),
                        below = tfl_factor_of(fabs((double) (of_x * alpha / of_y)));
    for (int32_t x = INT16_MIN; x <= INT16_MAX; x++) {
        const int64_t scaled = tfl_factor_apply(x >= 0 ? above : below, x);
        ret[x - INT16_MIN] = (int16_t) tfl_cut_16(x < 0 && alpha < 0 ? -scaled : scaled);
    }
}

static rill_status table_emit(struct conversion *c, const struct tensor *table, uint32_t x,
                              uint32_t *ret)
{
    uint32_t t;
    TRY(tfl_wire_of(c, table, &t));
    return tfl_emit2(c, OP_SHORT_TABLE, x, t, ret);
}

static rill_status unit_steps_check(struct conversion *c)
{
    const struct tfl_tensor *y = tfl_out(c, 0);
    int power;
    if (tfl_power_of_two(tfl_quant_scale(c->r, y, 0), &power) && power == -15)
        return RILL_OK;
    return tfl_fail(c, RILL_UNSUPPORTED, "output '%.80s' is in steps of %g; wants 1/32768", y->name,
                    (double) tfl_quant_scale(c->r, y, 0));
}

rill_status tfl_short_table(struct conversion *c)
{
    const int64_t n = SHORTS;
    struct tensor *t = tensor_new(c->r->arena, DTYPE_I16, 1, &n);
    uint32_t x;
    if (!t)
        return tfl_no_memory(c->r);
    TRY(tfl_single_whole(c, tfl_in(c, 0)));
    TRY(tfl_single_whole(c, tfl_out(c, 0)));
    if (c->row->with == OP_SIGMOID || c->row->with == OP_TANH)
        TRY(unit_steps_check(c));
    switch (c->row->with) {
    case OP_SIGMOID: logistic_table(c, t->data); break;
    case OP_TANH: tangent_table(c, t->data); break;
    case OP_LEAKY_RELU: leaky_table(c, t->data); break;
    default:
        return tfl_fail(c, RILL_UNSUPPORTED,
                        "on 16 bits is not read; LOGISTIC, TANH and LEAKY_RELU are");
    }
    TRY(tfl_wire(c, 0, &x));
    TRY(table_emit(c, t, x, &x));
    return tfl_result(c, 0, x);
}

/* ---- softmax ---- */

#define CURVE_STEPS 512
#define CURVE_ONE 32768.0 /* steps of 1 */

static double inverse(double x)
{
    return 1 / (1 + x);
}

/* f over low..high: each point is moved by half of what the line behind it is off in its middle. */
static rill_status curve_wire(struct conversion *c, double (*f)(double), double low, double high,
                              uint32_t *ret)
{
    const int64_t n = CURVE_STEPS + 1;
    const double step = (high - low) / CURVE_STEPS;
    struct tensor *t = tensor_new(c->r->arena, DTYPE_I16, 1, &n);
    int16_t *v = t ? t->data : NULL;
    if (!t)
        return tfl_no_memory(c->r);
    for (int i = 0; i < CURVE_STEPS; i++) {
        const double at = round(f(low + i * step) * CURVE_ONE),
                     next = f(low + (i + 1) * step) * CURVE_ONE,
                     middle = round(f(low + i * step + step / 2) * CURVE_ONE);
        v[i] = (int16_t) tfl_cut_16((int64_t) (at - round((round((next + at) / 2) - middle) / 2)));
    }
    v[CURVE_STEPS] = (int16_t) tfl_cut_16((int64_t) round(f(high) * CURVE_ONE));
    return tfl_wire_of(c, t, ret);
}

#define EXP_LEAST 10.0 /* exponentials are looked up from -10 to 0 */

rill_status tfl_short_softmax(struct conversion *c, double beta)
{
    const struct tfl_tensor *x = tfl_in(c, 0);
    uint32_t in[3], out;
    TRY(tfl_single_whole(c, x));
    TRY(tfl_single_whole(c, tfl_out(c, 0)));
    TRY(unit_steps_check(c));
    struct factor f =
        tfl_factor_of((double) tfl_quant_scale(c->r, x, 0) * beta / (EXP_LEAST / 65535));
    struct attr a[] = { attr_int("multiplier", f.multiplier), attr_int("shift", f.shift) };
    TRY(tfl_wire(c, 0, &in[0]));
    TRY(curve_wire(c, exp, -EXP_LEAST, 0, &in[1]));
    TRY(curve_wire(c, inverse, 0, 1, &in[2]));
    TRY(tfl_emit(c, OP_SHORT_SOFTMAX, a, 2, in, 3, &out, 1));
    return tfl_result(c, 0, out);
}
