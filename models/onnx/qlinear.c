/* SPDX-License-Identifier: MIT */
/* Quantised ops of the domain com.microsoft, as the standard ops that they are made of: operands
 * become real numbers, the op is done on those, and what comes out is rounded to small integers. */
#include "models/onnx/internal.h"

#include <inttypes.h>
#include <string.h>

#define INPUT(i) (1u << (i))

static uint32_t input_or_none(const struct conversion *l, unsigned i)
{
    return convert_has(l, i) ? l->in[i] : WIRE_NONE;
}

static const struct fact *fact_at(const struct conversion *l, uint32_t w)
{
    return &l->scope->g->wires[w].fact;
}

static const struct qparam_form one_number;

/* The scale at input `at` and the zero behind it are one number each. */
static rill_status one_params(struct conversion *l, unsigned at, unsigned like, uint32_t ret[2])
{
    TRY(convert_scale_check(l, at, &one_number));
    TRY(convert_zero_check(l, at + 1, like, &one_number));
    ret[1] = input_or_none(l, at + 1);
    TRY(convert_one(l, l->in[at], &ret[0]));
    return ret[1] == WIRE_NONE ? RILL_OK : convert_one(l, ret[1], &ret[1]);
}

/* Inputs at, at + 1, at + 2 are small integers, their scale and their zero. */
static rill_status real_of(struct conversion *l, unsigned at, uint32_t *ret)
{
    uint32_t by[2];
    TRY(one_params(l, at + 1, at, by));
    *ret = WIRE_NONE;
    return convert_emit(l, "DequantizeLinear", NULL, 0, (uint32_t[]) { l->in[at], by[0], by[1] }, 3,
                        ret, 1);
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

/* x by the scale at input `scale` and the zero behind it, of the type of input `like`; without one
 * it is 0 of that type. */
static rill_status small_of(struct conversion *l, uint32_t x, unsigned scale, unsigned like,
                            uint32_t *ret)
{
    uint32_t by[2];
    TRY(one_params(l, scale, like, by));
    if (by[1] == WIRE_NONE)
        TRY(zero_like(l, like, &by[1]));
    return convert_emit(l, "QuantizeLinear", NULL, 0, (uint32_t[]) { x, by[0], by[1] }, 3, ret, 1);
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
    TRY(convert_inputs_check(l, 7, 8, INPUT(0) | INPUT(1) | INPUT(3) | INPUT(4) | INPUT(6)));
    TRY(convert_zero_check(l, 5, 0, &one_number));
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
    TRY(convert_inputs_check(l, 9, 9, 0x1ff));
    TRY(convert_zero_check(l, 6, 1, &one_number));
    TRY(real_of(l, 1, &x));
    TRY(real_of(l, 4, &y));
    TRY(convert_emit(l, "Where", NULL, 0, (uint32_t[]) { l->in[0], x, y }, 3, &z, 1));
    return finish_small(l, z, 7, 1);
}

/* The attributes of the node are those of the op; the zeros may be absent. */
static rill_status up_unary(struct conversion *l, const char *engine)
{
    uint32_t x, y = WIRE_NONE;
    TRY(convert_inputs_check(l, 4, 5, INPUT(0) | INPUT(1) | INPUT(3)));
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

/* Channels behind the places go in front while the op is done, by letters: ranks need not be known.
 */
static rill_status up_pool(struct conversion *l, const char *engine, unsigned least)
{
    const bool last = convert_int(l, "channels_last", 0) != 0;
    uint32_t x, y = WIRE_NONE;
    TRY(convert_inputs_check(l, least, 5, least == 5 ? 0x1f : INPUT(0) | INPUT(1) | INPUT(3)));
    convert_attr_drop(l, "channels_last");
    TRY(real_of(l, 0, &x));
    if (last)
        TRY(convert_einsum(l, "n...c->nc...", &x, 1, &x));
    TRY(convert_emit(l, engine, l->attr, l->n_attr, &x, 1, &y, 1));
    if (last)
        TRY(convert_einsum(l, "nc...->n...c", &y, 1, &y));
    return finish_small(l, y, 3, 0);
}

rill_status up_qlinear_pool(struct conversion *l)
{
    return up_pool(l, "AveragePool", 4);
}

rill_status up_qlinear_global_pool(struct conversion *l)
{
    return up_pool(l, "GlobalAveragePool", 5);
}

rill_status up_qlinear_mean(struct conversion *l)
{
    struct attr *axes = convert_attr(l, "axes"),
                keep = { .name = "keepdims", .kind = ATTR_INT, .i = convert_int(l, "keepdims", 1) };
    uint32_t in[2] = { WIRE_NONE, WIRE_NONE }, y = WIRE_NONE;
    TRY(convert_inputs_check(l, 4, 5, INPUT(0) | INPUT(1) | INPUT(3)));
    TRY(real_of(l, 0, &in[0]));
    if (axes && axes->kind == ATTR_INTS)
        TRY(convert_ints(l, axes->ints.v, axes->ints.n, &in[1]));
    TRY(convert_emit(l, "ReduceMean", &keep, 1, in, 2, &y, 1));
    return finish_small(l, y, 3, 0);
}

/* ---- bytes with the channels behind the places ---- */

/* Channels to the second axis of `rank`, or from there to the last. */
static rill_status channels_move(struct conversion *l, uint32_t x, int rank, bool to_second,
                                 uint32_t *ret)
{
    int64_t *perm = arena_array(l->r->arena, int64_t, RANK_MAX);
    if (!perm)
        return no_memory(l->r);
    for (int i = 1; i < rank; i++)
        perm[i] = to_second ? (i == 1 ? rank - 1 : i - 1) : i == rank - 1 ? 1 : i + 1;
    const struct attr a = { .name = "perm", .kind = ATTR_INTS, .ints = { (uint32_t) rank, perm } };
    return convert_emit(l, "Transpose", &a, 1, &x, 1, ret, 1);
}

rill_status up_vendor_qlinear_conv(struct conversion *l)
{
    const bool last = convert_int(l, "channels_last", 0) != 0;
    uint32_t *out = l->out, x = WIRE_NONE, y = WIRE_NONE;
    convert_attr_drop(l, "channels_last");
    if (!last)
        return up_qlinear_conv(l);
    TRY(convert_inputs_check(l, 8, 9, 0xff));
    const int rank = fact_at(l, l->in[3])->rank;
    if (rank < 3 || rank > RANK_MAX)
        return convert_fail(l, RILL_UNSUPPORTED,
                            "channels are last and input 3, the weights, does not say how many "
                            "axes there are; make them a constant");
    TRY(channels_move(l, l->in[0], rank, true, &x));
    l->in[0] = x;
    l->out = &y;
    rill_status s = up_qlinear_conv(l);
    l->out = out;
    return s == RILL_OK ? channels_move(l, y, rank, false, l->out) : s;
}

/* Weights are [outputs, places .., inputs of a group]. */
rill_status up_nhwc_conv(struct conversion *l)
{
    uint32_t in[3] = { WIRE_NONE, WIRE_NONE, WIRE_NONE }, y = WIRE_NONE;
    struct conv_activation a;
    TRY(convert_inputs_check(l, 2, 3, INPUT(0) | INPUT(1)));
    const int rank = fact_at(l, l->in[1])->rank;
    conv_activation_take(l, &a);
    TRY(nchwc_origin_refuse(l));
    if (rank < 3 || rank > RANK_MAX)
        return convert_fail(l, RILL_UNSUPPORTED,
                            "input 1, the weights, does not say how many axes there are; make them "
                            "a constant");
    TRY(channels_move(l, l->in[0], rank, true, &in[0]));
    TRY(channels_move(l, l->in[1], rank, true, &in[1]));
    in[2] = convert_has(l, 2) ? l->in[2] : WIRE_NONE;
    TRY(convert_emit(l, "Conv", l->attr, l->n_attr, in, in[2] == WIRE_NONE ? 2 : 3, &y, 1));
    TRY(activated(l, a.name, a.number, a.n_number, y, &y));
    l->engine = NULL;
    return channels_move(l, y, rank, false, l->out);
}

rill_status up_nhwc_max_pool(struct conversion *l)
{
    const struct attr *kernel = convert_attr(l, "kernel_shape");
    uint32_t x = WIRE_NONE, y = WIRE_NONE;
    TRY(convert_inputs_check(l, 1, 1, INPUT(0)));
    if (!kernel || kernel->kind != ATTR_INTS || kernel->ints.n < 1 || kernel->ints.n > RANK_MAX - 2)
        return convert_fail(l, RILL_MALFORMED, "attribute 'kernel_shape' is missing or too long");
    const int rank = (int) kernel->ints.n + 2;
    TRY(channels_move(l, l->in[0], rank, true, &x));
    TRY(convert_emit(l, "MaxPool", l->attr, l->n_attr, &x, 1, &y, 1));
    l->engine = NULL;
    return channels_move(l, y, rank, false, l->out);
}

/* Which Softmax is meant is said by its opset: before 13 it goes over all axes from `axis` on. */
rill_status up_qlinear_softmax(struct conversion *l)
{
    int64_t opset = convert_int(l, "opset", 0);
    uint32_t x, y = WIRE_NONE;
    TRY(convert_inputs_check(l, 5, 5, 0x1f & ~INPUT(2)));
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
    unsigned n = l->n_in > 2 ? (l->n_in - 2) / 3 : 0;
    uint32_t *part = arena_array(l->r->arena, uint32_t, n + 1), x;
    if (!part)
        return no_memory(l->r);
    if (n == 0 || l->n_in != 2 + 3 * n)
        return convert_fail(l, RILL_MALFORMED,
                            "has %u inputs; wants 2, and integers, scale and zero of each that is "
                            "put together",
                            l->n_in);
    for (unsigned i = 0; i < l->n_in; i++)
        if (!convert_has(l, i))
            return convert_fail(l, RILL_MALFORMED, "input %u is required", i);
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
                          uint32_t *ret)
{
    uint32_t scale, x;
    TRY(convert_binary(l, "Mul", scale_a, scale_b, &scale));
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

/* Operand b at input `at`, its scale, zero and, where there is one, a bias of floats. */
static rill_status columns_check(struct conversion *l, unsigned at, unsigned scale, unsigned zero,
                                 unsigned bias)
{
    struct qparam_form columns = convert_matrix_form(l, at, false);
    TRY(convert_scale_check(l, scale, &columns));
    TRY(convert_zero_check(l, zero, at, &columns));
    columns.of = NULL;
    columns.list_only = true;
    return convert_bias_check(l, bias, DTYPE_F32, &columns);
}

rill_status up_matmul_to_float(struct conversion *l)
{
    uint32_t whole, y, one;
    TRY(convert_inputs_check(l, 4, 7, 0xf));
    const struct qparam_form rows = convert_matrix_form(l, 0, true);
    TRY(convert_scale_check(l, 2, &one_number));
    TRY(convert_zero_check(l, 4, 0, &rows));
    TRY(columns_check(l, 1, 3, 5, 6));
    TRY(convert_product(l, l->in[0], l->in[1], input_or_none(l, 4), input_or_none(l, 5), &whole));
    TRY(convert_one(l, l->in[2], &one));
    TRY(scaled(l, whole, one, l->in[3], &y));
    return biased(l, y, 6);
}

rill_status up_dynamic_matmul(struct conversion *l)
{
    uint32_t a[3] = { WIRE_NONE, WIRE_NONE, WIRE_NONE }, whole, y;
    TRY(convert_inputs_check(l, 3, 5, 0x7));
    TRY(columns_check(l, 1, 2, 3, 4));
    TRY(convert_emit(l, "DynamicQuantizeLinear", NULL, 0, l->in, 1, a, 3));
    TRY(convert_product(l, a[0], l->in[1], a[2], input_or_none(l, 3), &whole));
    TRY(scaled(l, whole, a[1], l->in[2], &y));
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

static rill_status qgemm_check(struct conversion *l)
{
    TRY(convert_inputs_check(l, 6, 9, 0x3f));
    struct qparam_form columns = convert_matrix_form(l, 3, convert_int(l, "transB", 0) != 0);
    columns.each = "column";
    columns.of = NULL;
    TRY(convert_scale_check(l, 1, &one_number));
    TRY(convert_zero_check(l, 2, 0, &one_number));
    TRY(convert_scale_check(l, 4, &columns));
    TRY(convert_zero_check(l, 5, 3, &columns));
    if (convert_has(l, 7) != convert_has(l, 8))
        return convert_fail(l, RILL_MALFORMED,
                            "has input %d and not input %d: scale and zero of the result stand "
                            "together",
                            convert_has(l, 7) ? 7 : 8, convert_has(l, 7) ? 8 : 7);
    if (convert_has(l, 6) && fact_at(l, l->in[6])->rank > 2)
        return convert_fail(l, RILL_MALFORMED, "input 6, C, has %d dimensions, at most 2 fit",
                            fact_at(l, l->in[6])->rank);
    return RILL_OK;
}

/* C holds whole numbers of scale alpha * a * b; without a scale of its own the result is real. */
rill_status up_qgemm(struct conversion *l)
{
    const struct attr *alpha = convert_attr(l, "alpha");
    const float by = alpha && alpha->kind == ATTR_FLOAT ? alpha->f : 1;
    uint32_t a, b, whole, sum, y, more, scale = l->in[1];
    TRY(qgemm_check(l));
    TRY(turned(l, "transA", l->in[0], &a));
    TRY(turned(l, "transB", l->in[3], &b));
    TRY(convert_product(l, a, b, l->in[2], input_or_none(l, 5), &whole));
    sum = whole;
    if (convert_has(l, 6))
        TRY(convert_binary(l, "Add", whole, l->in[6], &sum));
    if (by < 1 || by > 1) {
        TRY(convert_float(l, by, scale, &more));
        TRY(convert_binary(l, "Mul", scale, more, &scale));
    }
    if (convert_has(l, 7))
        return convert_requantized(l, sum, scale, l->in[4], 7);
    TRY(scaled(l, sum, scale, l->in[4], &y));
    return convert_finish(l, y);
}

rill_status up_qattention(struct conversion *l)
{
    return convert_fail(l, RILL_UNSUPPORTED,
                        "attention fused with its quantised products is not supported; quantise "
                        "the model before attention is fused (optimisation level 'basic')");
}

/* ---- LSTM of quantised weights ---- */

/* A scale or a zero is one for each direction, or also for each column, of weights [D,I,4H]. */
static rill_status cell_param_check(const struct conversion *l, unsigned i, unsigned weights)
{
    const struct wire *p = &l->scope->g->wires[l->in[i]];
    const struct fact *w = fact_at(l, l->in[weights]), *f = &p->fact;
    const bool known = w->rank == 3;
    if ((f->rank == 1 || f->rank == 2) && (!known || f->shape[0] == w->shape[0]) &&
        (!known || f->rank == 1 || f->shape[1] == w->shape[2]))
        return RILL_OK;
    char have[160];
    fact_print(f, have, sizeof have);
    return convert_fail(
        l, f->rank < 0 ? RILL_UNSUPPORTED : RILL_MALFORMED,
        "input %u ('%.80s') is %s; wants one or two dimensions, declared: one number "
        "for each direction, or also for each column",
        i, p->name, have);
}

static rill_status cell_params_check(const struct conversion *l, unsigned weights, unsigned scale)
{
    for (unsigned i = 0; i < 1u + convert_has(l, scale + 1); i++)
        TRY(cell_param_check(l, scale + i, weights));
    return convert_scale_values_check(l, scale);
}

rill_status up_dynamic_lstm(struct conversion *l)
{
    TRY(convert_inputs_check(l, 11, 12, INPUT(0) | INPUT(1) | INPUT(2) | INPUT(8) | INPUT(10)));
    TRY(cell_params_check(l, 1, 8));
    TRY(cell_params_check(l, 2, 10));
    l->engine = NULL;
    return convert_add(l, "DynamicQuantizeLSTM", l->attr, l->n_attr, l->in, l->n_in, l->out,
                       l->n_out);
}
