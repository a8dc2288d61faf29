/* SPDX-License-Identifier: MIT */
/* Quantised ops of the domain com.microsoft, as the standard ops that they are made of: operands
 * become real numbers, the op is done on those, and what comes out is rounded to small integers. */
#include "models/onnx/internal.h"

#include <inttypes.h>
#include <string.h>

static rill_status need(const struct conversion *l, unsigned first, unsigned n)
{
    for (unsigned i = first; i < first + n; i++)
        if (!convert_has(l, i))
            return convert_fail(l, RILL_MALFORMED, "input %u is required", i);
    return RILL_OK;
}

static uint32_t input_or_none(const struct conversion *l, unsigned i)
{
    return convert_has(l, i) ? l->in[i] : WIRE_NONE;
}

static const struct fact *fact_at(const struct conversion *l, uint32_t w)
{
    return &l->scope->g->wires[w].fact;
}

/* Inputs at, at + 1, at + 2 are small integers, their scale and their zero. */
static rill_status real_of(struct conversion *l, unsigned at, uint32_t *ret)
{
    TRY(need(l, at, 2));
    *ret = WIRE_NONE;
    return convert_emit(l, "DequantizeLinear", NULL, 0,
                        (uint32_t[]) { l->in[at], l->in[at + 1], input_or_none(l, at + 2) }, 3, ret,
                        1);
}

/* A zero of the type of the small integers at input `like`, whose own zero follows two later. */
static rill_status zero_like(struct conversion *l, unsigned like, uint32_t *ret)
{
    enum dtype type = fact_at(l, l->in[like])->type;
    if (type == DTYPE_NONE && convert_has(l, like + 2))
        type = fact_at(l, l->in[like + 2])->type;
    uint32_t zero;
    TRY(convert_int_scalar(l, 0, &zero));
    if (type == DTYPE_NONE)
        return convert_binary(l, "CastLike", zero, l->in[like], ret);
    return convert_cast(l, zero, type, ret);
}

/* x by the scale at input `scale` and the zero behind it; without one it is 0 of the type of input
 * `like`. */
static rill_status small_of(struct conversion *l, uint32_t x, unsigned scale, unsigned like,
                            uint32_t *ret)
{
    TRY(need(l, scale, 1));
    uint32_t zero = input_or_none(l, scale + 1);
    if (zero == WIRE_NONE)
        TRY(zero_like(l, like, &zero));
    return convert_emit(l, "QuantizeLinear", NULL, 0, (uint32_t[]) { x, l->in[scale], zero }, 3,
                        ret, 1);
}

static rill_status finish_small(struct conversion *l, uint32_t x, unsigned scale, unsigned like)
{
    l->engine = NULL;
    return small_of(l, x, scale, like, l->out);
}

/* ---- two operands, one, many ---- */

static rill_status up_binary(struct conversion *l, const char *engine)
{
    uint32_t a, b, y;
    TRY(real_of(l, 0, &a));
    TRY(real_of(l, 3, &b));
    TRY(convert_binary(l, engine, a, b, &y));
    return finish_small(l, y, 6, 0);
}

rill_status up_qlinear_add(struct conversion *l)
{
    return up_binary(l, "Add");
}

rill_status up_qlinear_mul(struct conversion *l)
{
    return up_binary(l, "Mul");
}

rill_status up_qlinear_where(struct conversion *l)
{
    uint32_t x, y, z = WIRE_NONE;
    TRY(need(l, 0, 1));
    TRY(real_of(l, 1, &x));
    TRY(real_of(l, 4, &y));
    TRY(convert_emit(l, "Where", NULL, 0, (uint32_t[]) { l->in[0], x, y }, 3, &z, 1));
    return finish_small(l, z, 7, 1);
}

/* The attributes of the node are those of the op. */
static rill_status up_unary(struct conversion *l, const char *engine)
{
    uint32_t x, y = WIRE_NONE;
    TRY(real_of(l, 0, &x));
    TRY(convert_emit(l, engine, l->attr, l->n_attr, &x, 1, &y, 1));
    return finish_small(l, y, 3, 0);
}

rill_status up_qlinear_sigmoid(struct conversion *l)
{
    return up_unary(l, "Sigmoid");
}

rill_status up_qlinear_leaky_relu(struct conversion *l)
{
    return up_unary(l, "LeakyRelu");
}

static rill_status channels_first(struct conversion *l)
{
    if (convert_int(l, "channels_last", 0) != 0)
        return convert_fail(l, RILL_UNSUPPORTED,
                            "attribute 'channels_last' is not 0; only channels in front are "
                            "supported: export without the optimisation for NHWC");
    convert_attr_drop(l, "channels_last");
    return RILL_OK;
}

rill_status up_qlinear_pool(struct conversion *l)
{
    TRY(channels_first(l));
    return up_unary(l, "AveragePool");
}

rill_status up_qlinear_global_pool(struct conversion *l)
{
    TRY(channels_first(l));
    return up_unary(l, "GlobalAveragePool");
}

/* Which Softmax is meant is said by its opset: before 13 it goes over all axes from `axis` on. */
rill_status up_qlinear_softmax(struct conversion *l)
{
    int64_t opset = convert_int(l, "opset", 0);
    uint32_t x, y = WIRE_NONE;
    if (opset < 1)
        return convert_fail(l, RILL_MALFORMED, "attribute 'opset' is missing or no opset");
    convert_attr_drop(l, "opset");
    TRY(convert_set_int(l, "axis", convert_int(l, "axis", -1)));
    TRY(real_of(l, 0, &x));
    TRY(opset < 13 ? convert_softmax_rows(l, "Softmax", x, convert_int(l, "axis", -1), &y)
                   : convert_emit(l, "Softmax", l->attr, l->n_attr, &x, 1, &y, 1));
    return finish_small(l, y, 3, 0);
}

/* Inputs: scale and zero of the result, then {integers, scale, zero} of each operand. All get the
 * scale of the result first, so that only bytes are put together. */
rill_status up_qlinear_concat(struct conversion *l)
{
    unsigned n = l->n_in > 2 ? (l->n_in - 2 + 2) / 3 : 0;
    uint32_t *part = arena_array(l->r->arena, uint32_t, n + 1), x;
    if (!part)
        return no_memory(l->r);
    if (n == 0)
        return convert_fail(l, RILL_MALFORMED, "has nothing to put together");
    TRY(need(l, 0, 1));
    for (unsigned i = 0; i < n; i++) {
        TRY(real_of(l, 2 + 3 * i, &x));
        part[i] = WIRE_NONE;
        TRY(small_of(l, x, 0, 2 + 3 * i, &part[i]));
    }
    l->engine = NULL;
    return convert_emit(l, "Concat", l->attr, l->n_attr, part, n, l->out, 1);
}

/* ---- products ---- */

/* Whole numbers times both scales; scale b may have one for each column. */
static rill_status scaled(struct conversion *l, uint32_t whole, uint32_t scale_a, uint32_t scale_b,
                          float alpha, uint32_t *ret)
{
    uint32_t scale, x, more;
    TRY(convert_scale_check(l, scale_a));
    TRY(convert_scale_check(l, scale_b));
    TRY(convert_binary(l, "Mul", scale_a, scale_b, &scale));
    if (alpha < 1 || alpha > 1) {
        TRY(convert_float(l, alpha, scale_a, &more));
        TRY(convert_binary(l, "Mul", scale, more, &scale));
    }
    TRY(convert_cast(l, whole, DTYPE_F32, &x));
    return convert_binary(l, "Mul", x, scale, ret);
}

static rill_status biased(struct conversion *l, uint32_t y, unsigned bias)
{
    uint32_t sum = y;
    if (convert_has(l, bias))
        TRY(convert_binary(l, "Add", y, l->in[bias], &sum));
    return convert_finish(l, sum);
}

rill_status up_matmul_to_float(struct conversion *l)
{
    uint32_t whole, y;
    TRY(need(l, 0, 4));
    TRY(convert_product(l, l->in[0], l->in[1], input_or_none(l, 4), input_or_none(l, 5), &whole));
    TRY(scaled(l, whole, l->in[2], l->in[3], 1, &y));
    return biased(l, y, 6);
}

rill_status up_dynamic_matmul(struct conversion *l)
{
    uint32_t a[3] = { WIRE_NONE, WIRE_NONE, WIRE_NONE }, whole, y;
    TRY(need(l, 0, 3));
    TRY(convert_emit(l, "DynamicQuantizeLinear", NULL, 0, l->in, 1, a, 3));
    TRY(convert_product(l, a[0], l->in[1], a[2], input_or_none(l, 3), &whole));
    TRY(scaled(l, whole, a[1], l->in[2], 1, &y));
    return biased(l, y, 4);
}

static rill_status turned(struct conversion *l, const char *flag, uint32_t x, uint32_t *ret)
{
    *ret = x;
    if (convert_int(l, flag, 0) == 0)
        return RILL_OK;
    static const int64_t swapped[] = { 1, 0 };
    struct attr perm = { .name = "perm", .kind = ATTR_INTS, .ints = { 2, swapped } };
    *ret = WIRE_NONE;
    return convert_emit(l, "Transpose", &perm, 1, &x, 1, ret, 1);
}

/* C holds whole numbers of scale alpha * a * b; without a scale of its own the result is real. */
rill_status up_qgemm(struct conversion *l)
{
    const struct attr *alpha = convert_attr(l, "alpha");
    uint32_t a, b, whole, sum, y;
    TRY(need(l, 0, 5));
    TRY(turned(l, "transA", l->in[0], &a));
    TRY(turned(l, "transB", l->in[3], &b));
    TRY(convert_product(l, a, b, l->in[2], input_or_none(l, 5), &whole));
    sum = whole;
    if (convert_has(l, 6))
        TRY(convert_binary(l, "Add", whole, l->in[6], &sum));
    TRY(scaled(l, sum, l->in[1], l->in[4], alpha && alpha->kind == ATTR_FLOAT ? alpha->f : 1, &y));
    return convert_has(l, 7) ? finish_small(l, y, 7, 0) : convert_finish(l, y);
}

rill_status up_qattention(struct conversion *l)
{
    return convert_fail(l, RILL_UNSUPPORTED,
                        "attention fused with its quantised products is not supported; quantise "
                        "the model before attention is fused (optimisation level 'basic')");
}

/* ---- LSTM of quantised weights ---- */

/* Weights [D,I,4H] with a scale and a zero for each direction, or also for each of the 4H columns,
 * become real ones as LSTM takes them: [D,4H,I]. */
static rill_status cell_weights(struct conversion *l, unsigned weights, unsigned scale)
{
    static const int64_t swapped[] = { 0, 2, 1 };
    struct attr perm = { .name = "perm", .kind = ATTR_INTS, .ints = { 3, swapped } };
    uint32_t axes, by[2], x, zero;
    TRY(need(l, weights, 1));
    TRY(need(l, scale, 1));
    TRY(convert_scale_check(l, l->in[scale]));
    for (unsigned i = 0; i < 1u + convert_has(l, scale + 1); i++) {
        int rank = fact_at(l, l->in[scale + i])->rank;
        if (rank != 1 && rank != 2)
            return convert_fail(l, RILL_UNSUPPORTED,
                                "input %u must be declared with one or two dimensions: one for "
                                "each direction, or also for each column",
                                scale + i);
        TRY(convert_ints(l, rank == 1 ? (const int64_t[]) { 1, 2 } : (const int64_t[]) { 1 },
                         rank == 1 ? 2 : 1, &axes));
        TRY(convert_binary(l, "Unsqueeze", l->in[scale + i], axes, &by[i]));
    }
    TRY(convert_cast(l, l->in[weights], DTYPE_F32, &x));
    if (convert_has(l, scale + 1)) {
        TRY(convert_cast(l, by[1], DTYPE_F32, &zero));
        TRY(convert_binary(l, "Sub", x, zero, &x));
    }
    TRY(convert_binary(l, "Mul", x, by[0], &x));
    l->in[weights] = WIRE_NONE;
    return convert_emit(l, "Transpose", &perm, 1, &x, 1, &l->in[weights], 1);
}

/* What goes in and the state stay real: rounding them to the range of a whole sequence, as the
 * original does, would only add noise, and need its end. */
rill_status up_dynamic_lstm(struct conversion *l)
{
    TRY(cell_weights(l, 1, 8));
    TRY(cell_weights(l, 2, 10));
    l->engine = NULL;
    return convert_add(l, "LSTM", l->attr, l->n_attr, l->in, 8, l->out, l->n_out);
}
