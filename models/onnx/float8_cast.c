/* SPDX-License-Identifier: MIT */
/* What becomes a float of 8 bits is rounded to a number that there is; scales of such. */
#include "models/onnx/internal.h"

#include <inttypes.h>
#include <math.h>

/* ---- rounding ---- */

/* The power of two at or below each number of x, and at least that of the smallest numbers. */
static uint32_t power_below(struct emitter *e, const struct float8 *k, uint32_t x)
{
    const uint32_t mask = 0x7f800000;
    uint32_t exponent, bits = emit_with(e, "BitCast", "to", DTYPE_U32, &x, 1);
    if (e->status == RILL_OK)
        e->status = convert_const(e->l, tensor_from_data(e->l->r->arena, DTYPE_U32, 0, NULL, &mask),
                                  &exponent);
    if (e->status != RILL_OK)
        return WIRE_NONE;
    uint32_t kept = emit(e, "BitwiseAnd", bits, exponent);
    uint32_t power = emit_with(e, "BitCast", "to", DTYPE_F32, &kept, 1);
    return emit(e, "Max", power, emit_float(e, ldexpf(1, k->least), x));
}

/* x, of any float type, as numbers of the kind, of 16 bits. */
static uint32_t rounded(struct emitter *e, const struct float8 *k, uint32_t x, bool saturate)
{
    x = emit_cast(e, x, DTYPE_F32);
    uint32_t step = emit(e, "Mul", power_below(e, k, x), emit_float(e, ldexpf(1, -k->mantissa), x));
    uint32_t y = emit(e, "Mul", emit(e, "Round", emit(e, "Div", x, step)), step);
    uint32_t over = emit(e, "Greater", emit(e, "Abs", y), emit_float(e, k->most, x));
    over = emit(e, "Or", over, emit_node(e, "IsInf", NULL, 0, &x, 1));
    const float most = saturate ? k->most : k->infinite ? INFINITY : NAN;
    uint32_t end = emit(e, "Mul", emit(e, "Sign", x), emit_float(e, most, x));
    y = emit(e, "Where", over, end, y);
    if (k->one_zero) {
        uint32_t zero = emit_float(e, 0, x);
        y = emit(e, "Where", emit(e, "Equal", y, zero), zero, y);
    }
    return emit_cast(e, y, DTYPE_F16);
}

static rill_status rounded_out(struct emitter *e, int64_t code, uint32_t x)
{
    struct conversion *l = e->l;
    uint32_t y = rounded(e, float8_find(code), x, convert_int(l, "saturate", 1) != 0);
    TRY(emit_output(e, 0, y));
    return scope_float8_set(l->scope, l->node->out[0], code);
}

/* ---- where they come from and go to ---- */

/* Its number in the format; 0: input i is none of them. */
static int64_t float8_in(const struct conversion *l, unsigned i)
{
    const uint32_t *code = i < l->node->n_in ? map_get(&l->scope->float8, l->node->in[i]) : NULL;
    return code ? *code : 0;
}

static void rounding_drop(struct conversion *l)
{
    convert_attr_drop(l, "saturate"); /* of floats of 8 bits alone */
    convert_attr_drop(l, "round_mode");
}

rill_status up_cast(struct conversion *l)
{
    struct emitter e = { l, RILL_OK };
    const int64_t to = convert_int(l, "to", 0);
    if (!float8_is(to)) {
        rounding_drop(l);
        return up_dtype_attr(l);
    }
    TRY(convert_inputs_check(l, 1, 1, 0x1));
    return rounded_out(&e, to, l->in[0]);
}

rill_status up_cast_like(struct conversion *l)
{
    struct emitter e = { l, RILL_OK };
    if (float8_in(l, 1))
        return rounded_out(&e, float8_in(l, 1), l->in[0]);
    rounding_drop(l);
    return RILL_OK;
}

/* ---- scales ---- */

/* Ones, as many as x has axes from first to end - 1. */
static uint32_t ones(struct emitter *e, uint32_t x, int first, int end)
{
    uint32_t none = emit(e, "Mul", emit_sizes(e, x, first, end), emit_int(e, 0));
    return emit(e, "Add", none, emit_int(e, 1));
}

/* Of an input whose number of axes is known when it is typed: -1 along the axis, 1 else. */
static uint32_t shape_later(struct emitter *e, int axis)
{
    const uint32_t x = e->l->in[0], along = emit_list(e, -1);
    const int least = axis < 0 ? -axis : axis + 1;
    uint32_t rank = emit(e, "Shape", emit_sizes(e, x, 0, RANK_MAX));
    uint32_t off = emit(e, "Max", emit(e, "Sub", emit_int(e, least), rank), emit_int(e, 0));
    uint32_t held = emit_held(e, off, "its axis is none of the input's");
    uint32_t after = ones(e, x, axis == -1 ? RANK_MAX : axis + 1, RANK_MAX);
    uint32_t shape = emit_joined(e, ones(e, x, 0, axis), along, after);
    return emit(e, "Add", shape, held);
}

/* The scale at input 1 beside x at input 0. */
static uint32_t scale_beside(struct emitter *e)
{
    struct conversion *l = e->l;
    const int rank = convert_rank(l, 0), scales = convert_rank(l, 1);
    const int64_t axis = convert_int(l, "axis", 1);
    int64_t shape[RANK_MAX];
    const int at = rank > 0 && rank <= RANK_MAX ? axis_normalise(axis, rank) : -1;
    if (scales == 0)
        return l->in[1];
    if (e->status == RILL_OK &&
        (scales > 1 || axis < -RANK_MAX || axis >= RANK_MAX || (rank >= 0 && at < 0 && rank != 1)))
        e->status =
            convert_fail(l, RILL_UNSUPPORTED,
                         "of floats of 8 bits one scale, or a list of them along an axis of "
                         "the input, is supported");
    if (rank < 0)
        return emit(e, "Reshape", l->in[1], shape_later(e, (int) axis));
    for (int i = 0; i < rank && i < RANK_MAX; i++)
        shape[i] = i == at || rank == 1 ? -1 : 1;
    return emit(e, "Reshape", l->in[1], emit_ints(e, shape, (unsigned) rank));
}

static rill_status zero_is_none(const struct conversion *l, const char *of)
{
    const struct tensor *zero = convert_value(l, 2);
    for (int64_t i = 0; zero && i < tensor_count(zero); i++)
        if (fpclassify(tensor_get_f64(zero, zero->data, i)) != FP_ZERO)
            return convert_fail(l, RILL_MALFORMED,
                                "its zero point (input 2) is %g at place %" PRId64
                                "; that of %s is 0",
                                tensor_get_f64(zero, zero->data, i), i, of);
    return RILL_OK;
}

rill_status up_quantize(struct conversion *l)
{
    struct emitter e = { l, RILL_OK };
    const int64_t of_zero = float8_in(l, 2), given = convert_int(l, "output_dtype", 0);
    const int64_t to = of_zero ? of_zero : given;
    if (!float8_is(to)) {
        rounding_drop(l);
        return up_dtype_attr(l);
    }
    TRY(convert_inputs_check(l, 2, 3, 0x3));
    TRY(zero_is_none(l, "floats of 8 bits"));
    if (convert_int(l, "block_size", 0))
        return convert_fail(l, RILL_UNSUPPORTED, "floats of 8 bits in blocks are not supported");
    uint32_t x = emit_cast(&e, l->in[0], DTYPE_F32);
    uint32_t scale = emit_cast(&e, scale_beside(&e), DTYPE_F32);
    return rounded_out(&e, to, emit(&e, "Div", x, scale));
}

rill_status up_dequantize(struct conversion *l)
{
    struct emitter e = { l, RILL_OK };
    const struct tensor *zero = convert_value(l, 2);
    if (zero && zero->type == DTYPE_I32)
        TRY(zero_is_none(l, "i32, which the standard dequantises without one,"));
    if (!float8_in(l, 0))
        return up_dtype_attr(l);
    TRY(convert_inputs_check(l, 2, 3, 0x3));
    TRY(zero_is_none(l, "floats of 8 bits"));
    if (convert_int(l, "block_size", 0) || convert_int(l, "output_dtype", 0))
        return convert_fail(l, RILL_UNSUPPORTED,
                            "floats of 8 bits in blocks, or of another type than their scale, are "
                            "not supported");
    uint32_t x = emit_cast(&e, l->in[0], DTYPE_F32), scale = scale_beside(&e);
    uint32_t y = emit(&e, "Mul", x, emit_cast(&e, scale, DTYPE_F32));
    return emit_output(&e, 0, emit(&e, "CastLike", y, l->in[1]));
}
