/* SPDX-License-Identifier: MIT */
/* Integer products, then scales and rounding. */
#include "models/onnx/internal.h"

#include <string.h>

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

/* An operand of MatMulInteger: of 8 bits, as it is where a node makes it (the standard has no
 * other), with no axes of its zero but rows or columns. */
static bool is_of_8_bits(const struct conversion *l, uint32_t x, uint32_t zero)
{
    const enum dtype type = fact_at(l, x)->type;
    return (type == DTYPE_U8 || type == DTYPE_I8 || type == DTYPE_NONE) &&
        (zero == WIRE_NONE || fact_at(l, zero)->rank <= 1);
}

rill_status convert_product(struct conversion *l, uint32_t a, uint32_t b, uint32_t zero_a,
                            uint32_t zero_b, uint32_t *ret)
{
    *ret = WIRE_NONE;
    if (is_of_8_bits(l, a, zero_a) && is_of_8_bits(l, b, zero_b))
        return convert_emit(l, "MatMulInteger", NULL, 0, (uint32_t[]) { a, b, zero_a, zero_b }, 4,
                            ret, 1);
    TRY(less_zero(l, a, zero_a, 1, DTYPE_I32, &a));
    TRY(less_zero(l, b, zero_b, 0, DTYPE_I32, &b));
    return convert_binary(l, "MatMul", a, b, ret);
}

/* The same of inputs, the zeros optional. */
static rill_status inputs_product(struct conversion *l, unsigned a, unsigned zero_a, unsigned b,
                                  unsigned zero_b, uint32_t *ret)
{
    if (!convert_has(l, a) || !convert_has(l, b))
        return convert_fail(l, RILL_MALFORMED, "inputs %u and %u are required", a, b);
    return convert_product(l, l->in[a], l->in[b],
                           convert_has(l, zero_a) ? l->in[zero_a] : WIRE_NONE,
                           convert_has(l, zero_b) ? l->in[zero_b] : WIRE_NONE, ret);
}

rill_status up_matmul_integer(struct conversion *l)
{
    uint32_t y;
    TRY(inputs_product(l, 0, 2, 1, 3, &y));
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
        TRY(convert_scale_check(l, l->in[at]));
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
    uint32_t y, real;
    TRY(inputs_product(l, 0, 2, 3, 5, &y));
    TRY(convert_cast(l, y, DTYPE_F32, &real));
    l->n_out = 1;
    return requantize(l, real, 1, 4, 0, 6);
}

rill_status up_qlinear_conv(struct conversion *l)
{
    uint32_t y = WIRE_NONE, bias, real;
    if (!convert_has(l, 0) || !convert_has(l, 3))
        return convert_fail(l, RILL_MALFORMED, "inputs 0 and 3 are required");
    const int axes = fact_at(l, l->in[3])->rank - 1;
    const uint32_t in[] = { l->in[0], l->in[3], convert_has(l, 2) ? l->in[2] : WIRE_NONE,
                            convert_has(l, 5) ? l->in[5] : WIRE_NONE };
    TRY(convert_emit(l, "ConvInteger", l->attr, l->n_attr, in, 4, &y, 1));
    if (convert_has(l, 8)) {
        TRY(trailing(l, l->in[8], axes - 1, &bias));
        TRY(convert_binary(l, "Add", y, bias, &y));
    }
    TRY(convert_cast(l, y, DTYPE_F32, &real));
    l->n_out = 1;
    return requantize(l, real, 1, 4, axes - 1, 6);
}
