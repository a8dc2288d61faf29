/* SPDX-License-Identifier: MIT */
/* Floats to small integers and back: x = (q - zero) * scale. Rounding is to nearest even, results
 * saturate. */
#include "engine/ops/attrs.h"
#include "engine/ops/elem.h"
#include "engine/ops/ops.h"

#include <math.h>
#include <string.h>

struct quant_attr {
    struct axis_attr on;
    int64_t block_size, saturate, output_dtype;
};

#define AT(member) offsetof(struct quant_attr, member)
static const struct attr_spec quantize_attrs[] = {
    { .name = "axis", .kind = ATTR_INT, .offset = AT(on.axis), .def_i = 1 },
    { .name = "block_size", .kind = ATTR_INT, .offset = AT(block_size) },
    { .name = "saturate", .kind = ATTR_INT, .offset = AT(saturate), .def_i = 1 },
    /* enum dtype; 0: that of the zero */
    { .name = "output_dtype", .kind = ATTR_INT, .offset = AT(output_dtype) },
    { 0 },
};

static const struct attr_spec dequantize_attrs[] = {
    { .name = "axis", .kind = ATTR_INT, .offset = AT(on.axis), .def_i = 1 },
    { .name = "block_size", .kind = ATTR_INT, .offset = AT(block_size) },
    { 0 },
};
#undef AT

enum { IN_X, IN_SCALE, IN_ZERO };

#define TYPES_SMALL (TYPE_U8 | TYPE_I8 | TYPE_U16 | TYPE_I16)

static bool is_single(const struct fact *f)
{
    return f->rank == 0 || (f->rank == 1 && dim_is(f->shape[0], 1));
}

/* Scale and zero: one for all (a scalar or a list of one, each as it likes), or one for each place
 * of the axis. */
static rill_status scale_check(struct infer *c)
{
    const struct quant_attr *a = c->attr;
    const struct fact *x = c->in[IN_X];
    if (a->block_size)
        return infer_fail(
            c,
            "block_size=%lld is not supported; one scale, or one for each place of an "
            "axis, is",
            (long long) a->block_size);
    TRY(elem_check_type(c, IN_SCALE, TYPE_F32));
    for (unsigned i = IN_SCALE; i <= IN_ZERO && infer_has(c, i); i++) {
        const struct fact *f = c->in[i];
        if (is_single(f))
            continue;
        int axis = axis_normalise(a->on.axis, x->rank);
        if (f->rank != 1 || axis < 0 || f->shape[0] != x->shape[axis])
            return infer_fail(c, "input %u does not fit axis %lld of an input of rank %d", i,
                              (long long) a->on.axis, x->rank);
    }
    return RILL_OK;
}

static rill_status quantize_infer(struct infer *c)
{
    const struct quant_attr *a = c->attr;
    enum dtype to = infer_has(c, IN_ZERO) ? c->in[IN_ZERO]->type
        : a->output_dtype                 ? (enum dtype) a->output_dtype
                                          : DTYPE_U8;
    TRY(elem_check_type(c, IN_X, TYPE_F32 | TYPE_I32));
    TRY(scale_check(c));
    if (a->output_dtype && !types_hold(TYPES_ANY | TYPE_DIM, a->output_dtype))
        return infer_fail(c, "output_dtype %lld is no type", (long long) a->output_dtype);
    if (!types_hold(TYPES_SMALL, to))
        return infer_fail(c, "its output would be %s; wants u8, i8, u16 or i16", dtype_name(to));
    infer_shape(c, 0, to, c->in[IN_X]->rank, c->in[IN_X]->shape);
    return RILL_OK;
}

static rill_status dequantize_infer(struct infer *c)
{
    TRY(elem_check_type(c, IN_X, TYPES_SMALL | TYPE_I32));
    TRY(scale_check(c));
    if (infer_has(c, IN_ZERO) && c->in[IN_ZERO]->type != c->in[IN_X]->type)
        return infer_fail(c, "its zero is %s, its input %s", dtype_name(c->in[IN_ZERO]->type),
                          dtype_name(c->in[IN_X]->type));
    infer_shape(c, 0, DTYPE_F32, c->in[IN_X]->rank, c->in[IN_X]->shape);
    return RILL_OK;
}

/* Which scale element i takes: i / inner % n. */
struct channel {
    int64_t inner, n;
};

static struct channel channel_of(const struct eval *e, unsigned input)
{
    const struct tensor *x = e->in[IN_X], *s = input < e->n_in ? e->in[input] : NULL;
    struct channel c = { 1, 1 };
    if (!s || tensor_count(s) <= 1)
        return c;
    int axis = axis_normalise(((const struct quant_attr *) e->attr)->on.axis, x->rank);
    c.n = x->dim[axis];
    for (int i = axis + 1; i < x->rank; i++)
        c.inner *= x->dim[i];
    return c;
}

static int64_t zero_at(const struct eval *e, struct channel c, int64_t i)
{
    bool has = IN_ZERO < e->n_in && e->x[IN_ZERO];
    return has ? tensor_get_i64(e->in[IN_ZERO], e->x[IN_ZERO], i / c.inner % c.n) : 0;
}

static void small_limits(enum dtype t, double *low, double *high)
{
    bool wide = t == DTYPE_U16 || t == DTYPE_I16, is_signed = t == DTYPE_I8 || t == DTYPE_I16;
    double span = wide ? 65535 : 255;
    *low = is_signed ? -(span + 1) / 2 : 0;
    *high = *low + span;
}

static double saturate(double v, double low, double high)
{
    return !(v > low) ? low : v > high ? high : v;
}

static void quantize_eval(const struct eval *e)
{
    const struct tensor *x = e->in[IN_X], *y = e->out[0];
    struct channel scale = channel_of(e, IN_SCALE), zero = channel_of(e, IN_ZERO);
    double low, high;
    small_limits(y->type, &low, &high);
    for (int64_t i = 0, n = tensor_count(x); i < n; i++) {
        float s = ((const float *) e->x[IN_SCALE])[i / scale.inner % scale.n];
        float q = rintf((float) tensor_get_f64(x, e->x[IN_X], i) / s);
        tensor_set_f64(y, e->y[0], i,
                       saturate((double) q + (double) zero_at(e, zero, i), low, high));
    }
}

static void dequantize_eval(const struct eval *e)
{
    const struct tensor *x = e->in[IN_X];
    struct channel scale = channel_of(e, IN_SCALE), zero = channel_of(e, IN_ZERO);
    float *y = e->y[0];
    for (int64_t i = 0, n = tensor_count(x); i < n; i++) {
        float s = ((const float *) e->x[IN_SCALE])[i / scale.inner % scale.n];
        y[i] = (float) (tensor_get_i64(x, e->x[IN_X], i) - zero_at(e, zero, i)) * s;
    }
}

/* ---- the scale from the data's own range ---- */

static rill_status dynamic_infer(struct infer *c)
{
    TRY(elem_check_type(c, IN_X, TYPE_F32));
    infer_shape(c, 0, DTYPE_U8, c->in[IN_X]->rank, c->in[IN_X]->shape);
    if (c->n_out > 1)
        infer_shape(c, 1, DTYPE_F32, 0, NULL);
    if (c->n_out > 2)
        infer_shape(c, 2, DTYPE_U8, 0, NULL);
    return RILL_OK;
}

static void dynamic_eval(const struct eval *e)
{
    const float *x = e->x[0];
    float low = 0, high = 0;
    int64_t n = tensor_count(e->in[0]);
    for (int64_t i = 0; i < n; i++) {
        low = x[i] < low ? x[i] : low;
        high = x[i] > high ? x[i] : high;
    }
    float scale = (high - low) / 255;
    double zero = scale > 0 ? saturate((double) rintf(0 - low / scale), 0, 255) : 0;
    uint8_t *y = e->y[0];
    for (int64_t i = 0; i < n && y; i++)
        y[i] = (uint8_t) (scale > 0 ? saturate((double) rintf(x[i] / scale) + zero, 0, 255) : 0);
    if (e->n_out > 1 && e->y[1])
        *(float *) e->y[1] = scale;
    if (e->n_out > 2 && e->y[2])
        *(uint8_t *) e->y[2] = (uint8_t) zero;
}

static const struct op op_quantize = {
    .id = OP_QUANTIZE_LINEAR,
    .name = "QuantizeLinear",
    .attrs = quantize_attrs,
    .attr_bytes = sizeof(struct quant_attr),
    .min_in = 2,
    .max_in = 3,
    .min_out = 1,
    .max_out = 1,
    .infer = quantize_infer,
    .eval = quantize_eval,
    .help = "x / scale + zero, rounded to nearest even and saturated",
};

static const struct op op_dequantize = {
    .id = OP_DEQUANTIZE_LINEAR,
    .name = "DequantizeLinear",
    .attrs = dequantize_attrs,
    .attr_bytes = sizeof(struct quant_attr),
    .min_in = 2,
    .max_in = 3,
    .min_out = 1,
    .max_out = 1,
    .infer = dequantize_infer,
    .eval = dequantize_eval,
    .help = "(q - zero) * scale",
};

static const struct op op_dynamic = {
    .id = OP_DYNAMIC_QUANTIZE_LINEAR,
    .name = "DynamicQuantizeLinear",
    .min_in = 1,
    .max_in = 1,
    .min_out = 1,
    .max_out = 3,
    .infer = dynamic_infer,
    .eval = dynamic_eval,
    .help = "x as u8 with the scale and zero of its own range",
};

const struct op *const ops_quant[] = { &op_quantize, &op_dequantize, &op_dynamic, NULL };
