/* SPDX-License-Identifier: MIT */
/* Integer products: the zeros are taken off first, then an exact product, then scales and
 * rounding. */
#include "models/onnx/internal.h"

#include <string.h>

/* Products of 8-bit numbers whose sum is exact in a float: 2^24 / 255^2. */
#define EXACT_TERMS 258

static const struct fact *fact_at(const struct conversion *l, uint32_t w)
{
    return &l->scope->g->wires[w].fact;
}

/* A list of one number a row (or channel) gets trailing axes, so that it broadcasts along the axis
 * before them. */
static rill_status trailing(struct conversion *l, uint32_t v, int n, uint32_t *ret)
{
    const struct fact *f = fact_at(l, v);
    int64_t axes[RANK_MAX];
    uint32_t w;
    *ret = v;
    if (f->rank != 1 || dim_is(f->shape[0], 1) || n <= 0)
        return RILL_OK;
    for (int i = 0; i < n; i++)
        axes[i] = i + 1;
    TRY(convert_ints(l, axes, (unsigned) n, &w));
    return convert_binary(l, "Unsqueeze", v, w, ret);
}

/* x in another type, less a zero. axes: how many follow the axis that the zero goes along. */
static rill_status less_zero(struct conversion *l, uint32_t x, uint32_t z, int axes,
                             enum dtype type, uint32_t *ret)
{
    uint32_t zero, wide;
    TRY(convert_cast(l, x, type, ret));
    if (z == WIRE_NONE)
        return RILL_OK;
    TRY(trailing(l, z, axes, &wide));
    TRY(convert_cast(l, wide, type, &zero));
    return convert_binary(l, "Sub", *ret, zero, ret);
}

/* The same of input i and the zero at input z. */
static rill_status centred(struct conversion *l, unsigned i, unsigned z, int axes, enum dtype type,
                           uint32_t *ret)
{
    if (!convert_has(l, i))
        return convert_fail(l, RILL_MALFORMED, "input %u is required", i);
    return less_zero(l, l->in[i], convert_has(l, z) ? l->in[z] : WIRE_NONE, axes, type, ret);
}

rill_status convert_product(struct conversion *l, uint32_t a, uint32_t b, uint32_t zero_a,
                            uint32_t zero_b, uint32_t *ret)
{
    TRY(less_zero(l, a, zero_a, 1, DTYPE_I32, &a));
    TRY(less_zero(l, b, zero_b, 0, DTYPE_I32, &b));
    return convert_binary(l, "MatMul", a, b, ret);
}

rill_status up_matmul_integer(struct conversion *l)
{
    uint32_t a, b, y;
    TRY(centred(l, 0, 2, 1, DTYPE_I32, &a));
    TRY(centred(l, 1, 3, 0, DTYPE_I32, &b));
    TRY(convert_binary(l, "MatMul", a, b, &y));
    return convert_finish(l, y);
}

/* y * scale a * scale b, as small integers again. axes as above, for scale b. */
static rill_status requantize(struct conversion *l, uint32_t y, unsigned scale_a, unsigned scale_b,
                              int axes, unsigned scale_y)
{
    uint32_t b, scale, real, wide[3];
    for (unsigned i = 0; i < 3; i++) {
        unsigned at = (unsigned[]) { scale_a, scale_b, scale_y }[i];
        if (!convert_has(l, at))
            return convert_fail(l, RILL_MALFORMED, "its scales are required");
        TRY(convert_cast(l, l->in[at], DTYPE_F32, &wide[i]));
    }
    TRY(trailing(l, l->in[scale_b], axes, &b));
    if (b != l->in[scale_b])
        TRY(convert_cast(l, b, DTYPE_F32, &wide[1]));
    TRY(convert_binary(l, "Mul", wide[0], wide[1], &scale));
    TRY(convert_binary(l, "Mul", y, scale, &real));
    l->engine = NULL;
    uint32_t zero = convert_has(l, scale_y + 1) ? l->in[scale_y + 1] : WIRE_NONE;
    return convert_emit(l, "QuantizeLinear", NULL, 0, (uint32_t[]) { real, wide[2], zero }, 3,
                        l->out, 1);
}

rill_status up_qlinear_matmul(struct conversion *l)
{
    uint32_t a, b, y, real;
    TRY(centred(l, 0, 2, 1, DTYPE_I32, &a));
    TRY(centred(l, 3, 5, 0, DTYPE_I32, &b));
    TRY(convert_binary(l, "MatMul", a, b, &y));
    TRY(convert_cast(l, y, DTYPE_F32, &real));
    l->n_out = 1;
    return requantize(l, real, 1, 4, 0, 6);
}

/* A convolution in floats is exact as long as its sums stay below 2^24. */
static rill_status exact_conv(struct conversion *l, uint32_t x, uint32_t w, unsigned weights,
                              uint32_t bias, uint32_t *ret)
{
    const struct fact *f = fact_at(l, l->in[weights]);
    int64_t terms = 1;
    if (f->rank < 2)
        return convert_fail(l, RILL_UNSUPPORTED, "the shape of its weights must be declared");
    for (int i = 1; i < f->rank && terms <= EXACT_TERMS; i++)
        terms *= dim_is_const(f->shape[i]) && dim_value(f->shape[i]) < EXACT_TERMS
            ? dim_value(f->shape[i])
            : EXACT_TERMS + 1;
    if (terms > EXACT_TERMS)
        return convert_fail(l, RILL_UNSUPPORTED,
                            "sums more than %d products, which would not be exact; use "
                            "DequantizeLinear and Conv",
                            EXACT_TERMS);
    *ret = WIRE_NONE;
    return convert_emit(l, "Conv", l->attr, l->n_attr, (uint32_t[]) { x, w, bias }, 3, ret, 1);
}

rill_status up_conv_integer(struct conversion *l)
{
    uint32_t x, w, y, whole;
    if (!convert_has(l, 1))
        return convert_fail(l, RILL_MALFORMED, "input 1, the weights, is required");
    TRY(centred(l, 0, 2, 0, DTYPE_F32, &x));
    TRY(centred(l, 1, 3, fact_at(l, l->in[1])->rank - 1, DTYPE_F32, &w));
    TRY(exact_conv(l, x, w, 1, WIRE_NONE, &y));
    TRY(convert_cast(l, y, DTYPE_I32, &whole));
    return convert_finish(l, whole);
}

rill_status up_qlinear_conv(struct conversion *l)
{
    uint32_t x, w, y, bias = WIRE_NONE;
    if (!convert_has(l, 3))
        return convert_fail(l, RILL_MALFORMED, "input 3, the weights, is required");
    int axes = fact_at(l, l->in[3])->rank - 1;
    TRY(centred(l, 0, 2, 0, DTYPE_F32, &x));
    TRY(centred(l, 3, 5, axes, DTYPE_F32, &w));
    if (convert_has(l, 8))
        TRY(convert_cast(l, l->in[8], DTYPE_F32, &bias));
    TRY(exact_conv(l, x, w, 3, bias, &y));
    l->n_out = 1;
    return requantize(l, y, 1, 4, axes - 1, 6);
}
