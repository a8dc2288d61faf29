/* SPDX-License-Identifier: MIT */
/* Integer products, then scales and rounding. */
#include "models/onnx/internal.h"

#include <string.h>

static const struct fact *fact_at(const struct conversion *l, uint32_t w)
{
    return &l->scope->g->wires[w].fact;
}

/* What is one number or a list of them gets n axes behind it. */
static rill_status as_list(struct conversion *l, uint32_t v, int n, uint32_t *ret)
{
    int64_t sizes[RANK_MAX] = { -1 };
    uint32_t w;
    for (int i = 0; i < n; i++)
        sizes[1 + i] = 1;
    TRY(convert_ints(l, sizes, (unsigned) n + 1, &w));
    return convert_binary(l, "Reshape", v, w, ret);
}

/* A list of one number a row (or channel) gets trailing axes, so that it broadcasts along the axis
 * before them; so does what may be one. */
static rill_status trailing(struct conversion *l, uint32_t v, int n, uint32_t *ret)
{
    const struct fact *f = fact_at(l, v);
    int64_t axes[RANK_MAX];
    uint32_t w;
    *ret = v;
    if ((f->rank >= 0 && f->rank != 1) || fact_is_single(f) || n <= 0)
        return RILL_OK;
    if (f->rank < 0)
        return as_list(l, v, n, ret);
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

static uint32_t input_or_none(const struct conversion *l, unsigned i)
{
    return convert_has(l, i) ? l->in[i] : WIRE_NONE;
}

rill_status up_matmul_integer(struct conversion *l)
{
    uint32_t y;
    TRY(convert_inputs_check(l, 2, 4, 1u << 0 | 1u << 1));
    const struct qparam_form rows = convert_matrix_form(l, 0, true),
                             columns = convert_matrix_form(l, 1, false);
    TRY(convert_zero_check(l, 2, 0, &rows));
    TRY(convert_zero_check(l, 3, 1, &columns));
    TRY(convert_product(l, l->in[0], l->in[1], input_or_none(l, 2), input_or_none(l, 3), &y));
    return convert_finish(l, y);
}

/* One factor of all three scales, as the standard's reference has it. */
rill_status convert_requantized(struct conversion *l, uint32_t y, uint32_t scale_a,
                                uint32_t scale_b, unsigned to)
{
    uint32_t scale, real, a, b, one, zero, unit;
    TRY(convert_cast(l, y, DTYPE_F32, &y));
    TRY(convert_cast(l, scale_a, DTYPE_F32, &a));
    TRY(convert_cast(l, scale_b, DTYPE_F32, &b));
    TRY(convert_one(l, l->in[to], &one));
    TRY(convert_cast(l, one, DTYPE_F32, &one));
    TRY(convert_binary(l, "Mul", a, b, &scale));
    TRY(convert_binary(l, "Div", scale, one, &scale));
    TRY(convert_binary(l, "Mul", y, scale, &real));
    TRY(convert_float(l, 1, one, &unit));
    TRY(convert_one(l, l->in[to + 1], &zero));
    l->n_out = 1;
    l->engine = NULL;
    return convert_emit(l, "QuantizeLinear", NULL, 0, (uint32_t[]) { real, unit, zero }, 3, l->out,
                        1);
}

/* The scale at input `scale` and the zero behind it, of the operand before it. */
static rill_status params_check(const struct conversion *l, unsigned scale,
                                const struct qparam_form *form)
{
    TRY(convert_scale_check(l, scale, form));
    return convert_zero_check(l, scale + 1, scale - 1, form);
}

static rill_status result_check(const struct conversion *l, unsigned scale, bool halves)
{
    const struct qparam_form one = { .halves = halves };
    TRY(convert_scale_check(l, scale, &one));
    return convert_zero_check(l, scale + 1, scale + 1, &one);
}

rill_status up_qlinear_matmul(struct conversion *l)
{
    uint32_t y, rows;
    const bool halves = l->r->version.opset >= 21;
    TRY(convert_inputs_check(l, 8, 8, 0xff));
    struct qparam_form a = convert_matrix_form(l, 0, true), b = convert_matrix_form(l, 3, false);
    a.halves = b.halves = halves;
    TRY(params_check(l, 1, &a));
    TRY(params_check(l, 4, &b));
    TRY(result_check(l, 6, halves));
    TRY(convert_product(l, l->in[0], l->in[3], l->in[2], l->in[5], &y));
    TRY(trailing(l, l->in[1], 1, &rows));
    return convert_requantized(l, y, rows, l->in[4], 6);
}

/* Known zeros that are all alike are one number: of a ConvInteger ONNX Runtime takes no list. */
static rill_status zero_shared(struct conversion *l, unsigned i, uint32_t *ret)
{
    const struct tensor *t = convert_has(l, i) ? convert_value(l, i) : NULL;
    *ret = l->in[i];
    if (!t || (t->type != DTYPE_U8 && t->type != DTYPE_I8) || tensor_count(t) < 2 ||
        memcmp(t->data, (const char *) t->data + 1, (size_t) tensor_count(t) - 1) != 0)
        return RILL_OK;
    struct tensor *one = tensor_from_data(l->r->arena, t->type, 0, NULL, t->data);
    return one ? convert_const(l, one, ret) : no_memory(l->r);
}

rill_status up_qlinear_conv(struct conversion *l)
{
    uint32_t y = WIRE_NONE, bias, each, zero;
    const struct qparam_form one = { 0 };
    TRY(convert_inputs_check(l, 8, 9, 0xff));
    const struct fact *x = fact_at(l, l->in[0]), *w = fact_at(l, l->in[3]);
    const int spatial = (w->rank >= 0 ? w->rank : x->rank) - 2;
    struct qparam_form outs = { .each = "output channel", .n = w->rank > 0 ? w->shape[0] : NULL };
    if (w->rank < 0 && x->rank < 0)
        return convert_fail(l, RILL_UNSUPPORTED,
                            "the rank of neither input 0 nor input 3 is declared; declare it or "
                            "make the weights a constant");
    TRY(params_check(l, 1, &one));
    TRY(params_check(l, 4, &outs));
    TRY(result_check(l, 6, false));
    outs.list_only = true;
    TRY(convert_bias_check(l, 8, DTYPE_I32, &outs));
    TRY(zero_shared(l, 5, &zero));
    TRY(convert_emit(l, "ConvInteger", l->attr, l->n_attr,
                     (uint32_t[]) { l->in[0], l->in[3], l->in[2], zero }, 4, &y, 1));
    if (convert_has(l, 8)) {
        TRY(trailing(l, l->in[8], spatial, &bias));
        TRY(convert_binary(l, "Add", y, bias, &y));
    }
    TRY(trailing(l, l->in[4], spatial, &each));
    return convert_requantized(l, y, l->in[1], each, 6);
}
