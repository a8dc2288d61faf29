/* SPDX-License-Identifier: MIT */
/* Ops of the domain com.microsoft that optimisers make of several, as those again. */
#include "models/onnx/internal.h"

#include <string.h>

/* ---- functions of one operand ---- */

static rill_status gelu_of(struct conversion *l, uint32_t x, const char *approximate)
{
    const char **text = arena_array(l->r->arena, const char *, 1);
    uint32_t y = WIRE_NONE;
    if (!text)
        return no_memory(l->r);
    *text = approximate;
    struct attr how = { .name = "approximate", .kind = ATTR_STRINGS, .strings = { 1, text } };
    TRY(convert_emit(l, "Gelu", &how, 1, &x, 1, &y, 1));
    return convert_finish(l, y);
}

static rill_status biased(struct conversion *l, uint32_t *ret)
{
    *ret = l->in[0];
    return convert_has(l, 1) ? convert_binary(l, "Add", l->in[0], l->in[1], ret) : RILL_OK;
}

rill_status up_fast_gelu(struct conversion *l)
{
    uint32_t x;
    TRY(convert_inputs_check(l, 1, 2, 0x1));
    TRY(biased(l, &x));
    return gelu_of(l, x, "tanh");
}

rill_status up_bias_gelu(struct conversion *l)
{
    uint32_t x;
    TRY(convert_inputs_check(l, 2, 2, 0x3));
    TRY(biased(l, &x));
    return gelu_of(l, x, "none");
}

rill_status up_quick_gelu(struct conversion *l)
{
    struct attr alpha = { .name = "alpha",
                          .kind = ATTR_FLOAT,
                          .f = convert_float_of(l, "alpha", 1.702f) };
    uint32_t y = WIRE_NONE;
    TRY(convert_inputs_check(l, 1, 1, 0x1));
    TRY(convert_emit(l, "Swish", &alpha, 1, l->in, 1, &y, 1));
    return convert_finish(l, y);
}

/* From a start to an end, by 1 unless it says another step. */
rill_status up_vendor_range(struct conversion *l)
{
    uint32_t in[3], y = WIRE_NONE;
    TRY(convert_inputs_check(l, 2, 3, 0x3));
    memcpy(in, l->in, 2 * sizeof *in);
    if (convert_has(l, 2))
        in[2] = l->in[2];
    else
        TRY(convert_float(l, 1, in[0], &in[2]));
    TRY(convert_emit(l, "Range", NULL, 0, in, 3, &y, 1));
    return convert_finish(l, y);
}

/* x, scaled by a number or by alpha, through Swish. */
rill_status up_scaled_silu(struct conversion *l)
{
    uint32_t by = WIRE_NONE, z = WIRE_NONE, y = WIRE_NONE;
    TRY(convert_inputs_check(l, 1, 2, 0x1));
    if (convert_has(l, 1))
        by = l->in[1];
    else
        TRY(convert_float(l, convert_float_of(l, "alpha", 1), l->in[0], &by));
    TRY(convert_binary(l, "Mul", l->in[0], by, &z));
    TRY(convert_emit(l, "Swish", NULL, 0, &z, 1, &y, 1));
    return convert_finish(l, y);
}

/* ---- normalisation of a sum ---- */

enum { SKIP_SUM = 3 }; /* behind the outputs of the norm itself */

/* The sum, which is as large as x: what is added may be smaller. */
static rill_status skip_sum(struct conversion *l, uint32_t *ret)
{
    struct graph *g = l->scope->g;
    struct declared *d = arena_new(l->r->arena, struct declared);
    TRY(convert_binary(l, "Add", l->in[0], l->in[1], ret));
    const char *origin =
        arena_printf(l->r->arena, "node '%.80s' (%s.%s)", l->name, l->domain, l->node->op);
    if (!d || !origin)
        return no_memory(l->r);
    *d = (struct declared) { .tensor = g->wires[l->in[1]].name, .like = l->in[0], .rank = -1 };
    g->wires[*ret].declared = d;
    g->nodes[g->n_nodes - 1].origin = origin;
    return RILL_OK;
}

/* n_gain: gain, and shift, of the norm; a bias may stand behind them. */
static rill_status skip_norm(struct conversion *l, const char *engine, unsigned n_gain)
{
    struct emitter e = { l, RILL_OK };
    struct attr epsilon = { .name = "epsilon",
                            .kind = ATTR_FLOAT,
                            .f = convert_float_of(l, "epsilon", 1e-12f) };
    const unsigned bias = 2 + n_gain;
    TRY(convert_inputs_check(l, 3, bias + 1, 0x7));
    uint32_t sum;
    TRY(skip_sum(l, &sum));
    if (convert_has(l, bias))
        sum = emit(&e, "Add", sum, l->in[bias]);
    uint32_t in[] = { sum, l->in[2], n_gain > 1 && convert_has(l, 3) ? l->in[3] : WIRE_NONE };
    TRY(emit_output(&e, SKIP_SUM, sum));
    const unsigned most = n_gain > 1 ? SKIP_SUM : 1;
    for (unsigned i = most; i < l->n_out && i < SKIP_SUM; i++)
        if (l->out[i] != WIRE_NONE)
            return convert_fail(l, RILL_UNSUPPORTED,
                                "output %u is for training; export the model for inference", i);
    return convert_emit(l, engine, &epsilon, 1, in, 1 + n_gain, l->out,
                        l->n_out < most ? l->n_out : most);
}

rill_status up_skip_layer_norm(struct conversion *l)
{
    return skip_norm(l, "LayerNormalization", 2);
}

rill_status up_skip_rms_norm(struct conversion *l)
{
    return skip_norm(l, "RMSNormalization", 1);
}

rill_status up_simplified_norm(struct conversion *l)
{
    if (l->n_out > 1 && l->out[1] != WIRE_NONE)
        return convert_fail(l, RILL_UNSUPPORTED,
                            "output 1 is for training; export the model for inference");
    l->n_out = 1;
    return RILL_OK;
}

/* ---- embeddings ---- */

/* Rows of a table, for 0, 1, 2 .. where nobody says which. */
static uint32_t rows_of(struct emitter *e, uint32_t table, uint32_t ids, uint32_t at)
{
    if (at == WIRE_NONE)
        at = emit_range(e, emit_sizes(e, ids, 1, 2));
    return emit_with(e, "Gather", "axis", 0, (uint32_t[]) { table, at }, 2);
}

/* How many places of each row the mask lets through; none without a mask. */
static uint32_t mask_counts(struct emitter *e, uint32_t ids, uint32_t mask)
{
    if (mask == WIRE_NONE)
        return emit(e, "Expand", emit_cast(e, emit_int(e, 0), DTYPE_I32), emit_sizes(e, ids, 0, 1));
    uint32_t one = emit(e, "Equal", emit_cast(e, mask, DTYPE_I64), emit_int(e, 1));
    uint32_t in[] = { emit_cast(e, one, DTYPE_I32), emit_list(e, 1) };
    return emit_with(e, "ReduceSum", "keepdims", 0, in, 2);
}

/* Output 1, of rank 1: who reads it as a mask wants to know that. */
static rill_status counts_give(struct emitter *e, uint32_t ids, uint32_t mask)
{
    struct conversion *l = e->l;
    struct declared *d = arena_new(l->r->arena, struct declared);
    if (l->n_out < 2 || l->out[1] == WIRE_NONE)
        return RILL_OK;
    if (!d)
        return no_memory(l->r);
    struct wire *w = &l->scope->g->wires[l->out[1]];
    *d = (struct declared) { .tensor = w->name, .like = WIRE_NONE, .rank = 1, .dim = { -1 } };
    w->declared = w->declared ? w->declared : d;
    return emit_output(e, 1, mask_counts(e, ids, mask));
}

rill_status up_embed_layer_norm(struct conversion *l)
{
    enum { IDS, SEGMENTS, WORD, POSITION, SEGMENT, GAIN, SHIFT, MASK, PLACES };
    struct emitter e = { l, RILL_OK };
    struct attr epsilon = { .name = "epsilon",
                            .kind = ATTR_FLOAT,
                            .f = convert_float_of(l, "epsilon", 1e-12f) };
    TRY(convert_inputs_check(l, SHIFT + 1, PLACES + 1, 0x6d));
    const bool has_segments = convert_has(l, SEGMENTS);
    if (has_segments != convert_has(l, SEGMENT))
        return convert_fail(l, RILL_MALFORMED, "segments and their table come together");
    const uint32_t ids = l->in[IDS], mask = convert_has(l, MASK) ? l->in[MASK] : WIRE_NONE,
                   places = convert_has(l, PLACES) ? l->in[PLACES] : WIRE_NONE;
    uint32_t sum = emit(&e, "Add", rows_of(&e, l->in[WORD], ids, ids),
                        rows_of(&e, l->in[POSITION], ids, places));
    if (has_segments)
        sum = emit(&e, "Add", sum, rows_of(&e, l->in[SEGMENT], ids, l->in[SEGMENTS]));
    TRY(counts_give(&e, ids, mask));
    TRY(emit_output(&e, 2, sum));
    l->engine = NULL;
    uint32_t in[] = { sum, l->in[GAIN], l->in[SHIFT] };
    return convert_emit(l, "LayerNormalization", &epsilon, 1, in, 3, l->out, 1);
}

/* ---- products with an activation ---- */

/* What a fused activation takes of the numbers beside it, in their order; "": nothing there. */
static const struct activation {
    const char *name, *number[2];
} activations[] = {
    { "Relu", { "", "" } },       { "Sigmoid", { "", "" } },
    { "Tanh", { "", "" } },       { "LeakyRelu", { "alpha", "" } },
    { "Elu", { "alpha", "" } },   { "HardSigmoid", { "alpha", "beta" } },
    { "Clip", { "min", "max" } }, { "Softplus", { "", "" } },
    { "HardSwish", { "", "" } },  { "Gelu", { "", "" } },
};

rill_status activated(struct conversion *l, const char *name, const float *number,
                      unsigned n_number, uint32_t x, uint32_t *ret)
{
    const struct activation *a = NULL;
    struct emitter e = { l, RILL_OK };
    struct attr attr[2];
    unsigned n = 0;
    *ret = x;
    if (!*name)
        return RILL_OK;
    for (size_t i = 0; i < sizeof activations / sizeof *activations; i++)
        if (!strcmp(activations[i].name, name))
            a = &activations[i];
    if (!a)
        return convert_fail(l, RILL_UNSUPPORTED, "activation '%.40s' is not known", name);
    for (; n < 2 && *a->number[n] && n < n_number; n++)
        attr[n] = (struct attr) { .name = a->number[n], .kind = ATTR_FLOAT, .f = number[n] };
    if (strcmp(name, "Clip") != 0)
        *ret = emit_node(&e, name, attr, n, &x, 1);
    else if (n == 2)
        *ret = emit(&e, name, x, emit_float(&e, number[0], x), emit_float(&e, number[1], x));
    else
        return convert_fail(l, RILL_MALFORMED, "activation Clip wants two numbers");
    return e.status;
}

void conv_activation_take(struct conversion *l, struct conv_activation *ret)
{
    const struct attr *numbers = convert_attr(l, "activation_params");
    const bool has = numbers && numbers->kind == ATTR_FLOATS;
    *ret = (struct conv_activation) { .name = convert_text(l, "activation", ""),
                                      .number = has ? numbers->floats.v : NULL,
                                      .n_number = has ? (unsigned) numbers->floats.n : 0 };
    convert_attr_drop(l, "activation_params");
    convert_attr_drop(l, "activation");
}

/* Input 3 is added before the activation. */
rill_status up_fused_conv(struct conversion *l)
{
    struct conv_activation a;
    uint32_t y = WIRE_NONE;
    TRY(convert_inputs_check(l, 2, 4, 0x3));
    conv_activation_take(l, &a);
    TRY(convert_emit(l, "Conv", l->attr, l->n_attr, l->in, l->n_in < 3 ? l->n_in : 3, &y, 1));
    if (convert_has(l, 3))
        TRY(convert_binary(l, "Add", y, l->in[3], &y));
    TRY(activated(l, a.name, a.number, a.n_number, y, &y));
    return convert_finish(l, y);
}

rill_status up_fused_gemm(struct conversion *l)
{
    static const char *const drop[] = { "activation", "activation_alpha", "activation_beta",
                                        "activation_gamma" };
    const float number[2] = { convert_float_of(l, "activation_alpha", 0),
                              convert_float_of(l, "activation_beta", 0) };
    const unsigned n_number = convert_attr(l, "activation_beta") ? 2
        : convert_attr(l, "activation_alpha")                    ? 1
                                                                 : 0;
    const char *name = convert_text(l, "activation", "");
    uint32_t y = WIRE_NONE;
    TRY(convert_inputs_check(l, 2, 3, 0x3));
    for (size_t i = 0; i < sizeof drop / sizeof *drop; i++)
        convert_attr_drop(l, drop[i]);
    TRY(convert_emit(l, "Gemm", l->attr, l->n_attr, l->in, l->n_in, &y, 1));
    TRY(activated(l, name, number, n_number, y, &y));
    return convert_finish(l, y);
}
