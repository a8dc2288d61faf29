/* SPDX-License-Identifier: MIT */
/* Attention (opsets 23 to 25) and RotaryEmbedding, written as products, masks and softmax. */
#include "models/onnx/attention.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

enum { IN_Q, IN_K, IN_V, IN_MASK, IN_PAST_K, IN_PAST_V, IN_NONPAD };
enum { OUT_Y, OUT_PRESENT_K, OUT_PRESENT_V, OUT_SCORES };

struct attention attention_none(void)
{
    return (struct attention) {
        .bias = WIRE_NONE, .allowed = WIRE_NONE, .sink = WIRE_NONE, .left = -1, .right = -1
    };
}

/* The first Transpose holds the rank to 3. */
uint32_t attention_heads(struct emitter *e, uint32_t x, int64_t heads)
{
    struct graph *g = e->l->scope->g;
    uint32_t held = emit_turned(e, x, (const int64_t[]) { 0, 1, 2 }, 3);
    uint32_t y = emit(e, "Reshape", held, emit_list(e, 0, 0, heads, -1));
    const char *origin =
        arena_printf(e->l->r->arena, "%s%s%s, whose %" PRId64 " heads have to divide the channels",
                     e->l->domain, *e->l->domain ? "." : "", e->l->node->op, heads);
    if (e->status == RILL_OK && !origin)
        e->status = no_memory(e->l->r);
    if (e->status == RILL_OK)
        g->nodes[g->n_nodes - 1].origin = origin;
    return emit_turned(e, y, (const int64_t[]) { 0, 2, 1, 3 }, 4);
}

static uint32_t heads_joined(struct emitter *e, uint32_t x)
{
    uint32_t y = emit_turned(e, x, (const int64_t[]) { 0, 2, 1, 3 }, 4);
    return emit(e, "Reshape", y, emit_list(e, 0, 0, -1));
}

/* Each head of x as often as it serves heads of q: [h0, h0, h1, h1, ..]. */
static uint32_t heads_repeated(struct emitter *e, uint32_t x, uint32_t q)
{
    uint32_t all = emit_sizes(e, q, 1, 2), own = emit_sizes(e, x, 1, 2);
    uint32_t times = emit(e, "Div", all, own), ones = emit_list(e, 1, 1);
    uint32_t shape = emit_joined(e, ones, times, ones);
    uint32_t wide = emit(e, "Expand", emit(e, "Unsqueeze", x, emit_list(e, 2)), shape);
    uint32_t to = emit_joined(e, emit_sizes(e, x, 0, 1), all, emit_sizes(e, x, 2, 4));
    return emit(e, "Reshape", wide, to);
}

/* What q and k are times each, or scores once: that is worked out in f32, as ONNX Runtime does. */
static uint32_t scale_put(struct emitter *e, const struct attention *a)
{
    const double scale = (double) a->scale;
    if (a->scale > 0)
        return emit_float(e, (float) (a->scaled_once ? scale : sqrt(scale)), a->q);
    uint32_t width =
        emit_cast(e, emit_sizes(e, a->q, 3, 4), a->scaled_once ? DTYPE_F32 : DTYPE_F64);
    uint32_t root = emit(e, "Sqrt", a->scaled_once ? width : emit(e, "Sqrt", width));
    return emit(e, "CastLike", emit(e, "Reciprocal", root), a->q);
}

static uint32_t scores_put(struct emitter *e, const struct attention *a)
{
    uint32_t scale = scale_put(e, a);
    uint32_t k = emit_turned(e, heads_repeated(e, a->k, a->q), (const int64_t[]) { 0, 1, 3, 2 }, 4);
    if (a->scaled_once)
        return emit(e, "Mul", emit(e, "MatMul", a->q, k), scale);
    return emit(e, "MatMul", emit(e, "Mul", a->q, scale), emit(e, "Mul", k, scale));
}

/* ---- masks ---- */

static uint32_t both(struct emitter *e, uint32_t a, uint32_t b)
{
    return a == WIRE_NONE ? b : b == WIRE_NONE ? a : emit(e, "And", a, b);
}

/* Of so many frames of k as a number says; a symbol, or what is not known yet, is that of k. */
static bool mask_may_end(const struct conversion *l)
{
    const struct fact *f = &l->scope->g->wires[l->in[IN_MASK]].fact;
    return l->r->version.opset >= 24 &&
        (convert_has(l, IN_NONPAD) ||
         (f->type && f->rank > 0 && dim_is_const(f->shape[f->rank - 1])));
}

uint32_t attention_padded(struct emitter *e, uint32_t x, uint32_t k, uint32_t behind)
{
    uint32_t missing = emit(e, "Sub", emit_sizes(e, k, 2, 3), emit_sizes(e, x, -1, 9));
    uint32_t pads = emit_joined(e, emit_list(e, 0), missing);
    return emit(e, "Pad", x, pads, behind, emit_list(e, -1));
}

/* What is behind the end of a mask is not seen. */
static uint32_t mask_padded(struct emitter *e, uint32_t mask, uint32_t k, uint32_t behind)
{
    return mask_may_end(e->l) ? attention_padded(e, mask, k, behind) : mask;
}

static void mask_take(struct emitter *e, struct attention *a)
{
    struct conversion *l = e->l;
    if (!convert_has(l, IN_MASK))
        return;
    uint32_t mask = l->in[IN_MASK];
    a->rows_empty = true;
    if (convert_type(l, IN_MASK) == DTYPE_BOOL)
        a->allowed = mask_padded(e, mask, a->k, emit_cast(e, emit_int(e, 0), DTYPE_BOOL));
    else
        a->bias = mask_padded(e, mask, a->k, emit_float(e, -INFINITY, mask));
}

void attention_window(struct emitter *e, struct attention *a)
{
    if (!a->causal && a->left < 0 && a->right < 0)
        return;
    uint32_t rows = emit_range(e, emit_sizes(e, a->q, 2, 3));
    uint32_t at = emit(e, "Add", emit(e, "Unsqueeze", rows, emit_list(e, 1)), a->before);
    uint32_t of = emit_range(e, emit_sizes(e, a->k, 2, 3));
    a->rows_empty |= a->left >= 0 || a->right >= 0;
    if (a->causal || a->right >= 0) {
        uint32_t last = a->causal ? at : emit(e, "Add", at, emit_int(e, a->right));
        a->allowed = both(e, a->allowed, emit(e, "LessOrEqual", of, last));
    }
    if (a->left >= 0) {
        uint32_t first = emit(e, "Sub", at, emit_int(e, a->left));
        a->allowed = both(e, a->allowed, emit(e, "GreaterOrEqual", of, first));
    }
}

/* Of a cache that is filled outside, how much of it holds frames. */
static void filled_take(struct emitter *e, struct attention *a)
{
    if (!convert_has(e->l, IN_NONPAD))
        return;
    uint32_t filled = emit(e, "Reshape", e->l->in[IN_NONPAD], emit_list(e, -1, 1, 1, 1));
    uint32_t of = emit_range(e, emit_sizes(e, a->k, 2, 3));
    a->rows_empty = true;
    a->before = emit(e, "Sub", filled, emit_sizes(e, a->q, 2, 3));
    a->allowed = both(e, a->allowed, emit(e, "Less", of, filled));
}

/* Scores of what is not seen are -inf; *ret_seen: whether a frame of q sees any (WIRE_NONE: all
 * do), by the mask and not by the scores, which may be NaN. */
static uint32_t scores_masked(struct emitter *e, const struct attention *a, uint32_t scores,
                              uint32_t *ret_seen)
{
    uint32_t bias = a->bias, none = emit_float(e, -INFINITY, a->q);
    *ret_seen = WIRE_NONE;
    if (bias == WIRE_NONE && a->allowed == WIRE_NONE)
        return scores;
    if (a->allowed != WIRE_NONE)
        bias =
            emit(e, "Where", a->allowed, bias == WIRE_NONE ? emit_float(e, 0, a->q) : bias, none);
    if (a->rows_empty) {
        uint32_t most = emit(e, "ReduceMax", bias, emit_list(e, -1));
        *ret_seen = emit(e, "Greater", most, none);
    }
    return emit(e, "Add", scores, bias);
}

/* ---- the whole ---- */

/* Weights over keys and one score more, which takes its part and gives nothing. */
static uint32_t softmax_beside(struct emitter *e, uint32_t sink, uint32_t scores)
{
    uint32_t of_heads = emit(e, "Reshape", sink, emit_list(e, 1, -1, 1, 1));
    uint32_t rows = emit_joined(e, emit_sizes(e, scores, 0, 3), emit_list(e, 1));
    uint32_t last = emit(e, "CastLike", emit(e, "Expand", of_heads, rows), scores);
    uint32_t all = emit_with(e, "Concat", "axis", -1, (uint32_t[]) { scores, last }, 2);
    return last_sliced(e, emit_with(e, "Softmax", "axis", -1, &all, 1), 0, -1, 1);
}

static uint32_t softmax_put(struct emitter *e, const struct attention *a, uint32_t scores,
                            uint32_t seen)
{
    enum dtype type;
    if (a->precision && e->status == RILL_OK)
        e->status = convert_dtype(e->l, "softmax_precision", a->precision, &type);
    if (a->precision && e->status == RILL_OK)
        scores = emit_cast(e, scores, type);
    uint32_t y = a->sink == WIRE_NONE ? emit_with(e, "Softmax", "axis", -1, &scores, 1)
                                      : softmax_beside(e, a->sink, scores);
    if (seen != WIRE_NONE)
        y = emit(e, "Where", seen, y, emit_float(e, 0, y));
    return a->precision ? emit(e, "CastLike", y, a->q) : y;
}

void attention_put(struct emitter *e, const struct attention *a)
{
    uint32_t scores = scores_put(e, a), seen;
    uint32_t of[SCORES_SOFTMAX + 1] = { scores };
    if (a->softcap > 0) {
        uint32_t by = emit_float(e, a->softcap, a->q);
        scores = emit(e, "Mul", emit(e, "Tanh", emit(e, "Div", scores, by)), by);
    }
    of[SCORES_CAPPED] = scores;
    of[SCORES_MASKED] = scores = scores_masked(e, a, scores, &seen);
    of[SCORES_SOFTMAX] = scores = softmax_put(e, a, scores, seen);
    uint32_t y = emit(e, "MatMul", scores, heads_repeated(e, a->v, a->q));
    (void) emit_output(e, OUT_Y, a->joined ? heads_joined(e, y) : y);
    (void) emit_output(e, OUT_SCORES, of[a->shown]);
}

/* 0: as the queries. */
static rill_status precision_check(struct conversion *l)
{
    const int64_t code = convert_int(l, "softmax_precision", 0);
    enum dtype type = DTYPE_F32;
    if (float8_is(code) ||
        (code && (onnx_dtype(l->r, code, "", &type) != RILL_OK || !dtype_is_float(type))))
        return convert_fail(l, RILL_MALFORMED,
                            "softmax_precision is %lld, and no type of floats that a softmax is "
                            "computed in: 1 (f32), 10 (f16), 11 (f64) and 16 (bf16) are",
                            (long long) code);
    return RILL_OK;
}

static rill_status attention_check(struct conversion *l, bool joined)
{
    int64_t q = convert_int(l, "q_num_heads", 0), kv = convert_int(l, "kv_num_heads", 0),
            shown = convert_int(l, "qk_matmul_output_mode", 0);
    TRY(convert_inputs_check(l, 3, 7, 0x7));
    if (convert_has(l, IN_PAST_K) != convert_has(l, IN_PAST_V))
        return convert_fail(l, RILL_MALFORMED, "past_key and past_value come together");
    if (convert_has(l, IN_PAST_K) && convert_has(l, IN_NONPAD))
        return convert_fail(l, RILL_MALFORMED,
                            "nonpad_kv_seqlen is of caches that are filled "
                            "outside: past_key cannot be beside it");
    if (joined && (q < 1 || kv < 1 || q % kv))
        return convert_fail(l, RILL_MALFORMED,
                            "inputs of rank 3 want q_num_heads, a multiple of kv_num_heads");
    const struct attr *scale = convert_attr(l, "scale");
    if (scale && scale->kind == ATTR_FLOAT && !(scale->f > 0))
        return convert_fail(l, RILL_MALFORMED, "scale is %g; it is greater than 0",
                            (double) scale->f);
    if (shown < (int64_t) SCORES_RAW || shown > (int64_t) SCORES_SOFTMAX)
        return convert_fail(l, RILL_MALFORMED, "qk_matmul_output_mode is 0 to 3");
    return precision_check(l);
}

static uint32_t cached(struct emitter *e, unsigned past, uint32_t x)
{
    struct conversion *l = e->l;
    if (!convert_has(l, past))
        return x;
    return emit_with(e, "Concat", "axis", 2, (uint32_t[]) { l->in[past], x }, 2);
}

rill_status up_attention(struct conversion *l)
{
    struct emitter e = { l, RILL_OK };
    const int rank = convert_rank(l, IN_Q);
    struct attention a = attention_none();
    a.joined = rank == 3 || (rank < 0 && convert_attr(l, "q_num_heads"));
    TRY(attention_check(l, a.joined));
    const int64_t q = a.joined ? convert_int(l, "q_num_heads", 0) : 0,
                  kv = a.joined ? convert_int(l, "kv_num_heads", 0) : 0;
    a.q = q ? attention_heads(&e, l->in[IN_Q], q) : l->in[IN_Q];
    a.k = cached(&e, IN_PAST_K, kv ? attention_heads(&e, l->in[IN_K], kv) : l->in[IN_K]);
    a.v = cached(&e, IN_PAST_V, kv ? attention_heads(&e, l->in[IN_V], kv) : l->in[IN_V]);
    a.before =
        convert_has(l, IN_PAST_K) ? emit_sizes(&e, l->in[IN_PAST_K], 2, 3) : emit_list(&e, 0);
    a.causal = convert_int(l, "is_causal", 0) != 0;
    a.left = convert_int(l, "left_window_size", -1);
    a.right = convert_int(l, "right_window_size", -1);
    a.scale = convert_float_of(l, "scale", 0);
    a.softcap = convert_float_of(l, "softcap", 0);
    a.precision = convert_int(l, "softmax_precision", 0);
    a.shown = (enum attention_scores) convert_int(l, "qk_matmul_output_mode", SCORES_RAW);
    mask_take(&e, &a);
    filled_take(&e, &a);
    attention_window(&e, &a);
    (void) emit_output(&e, OUT_PRESENT_K, a.k);
    (void) emit_output(&e, OUT_PRESENT_V, a.v);
    attention_put(&e, &a);
    return e.status;
}

/* ---- RotaryEmbedding ---- */

enum { IN_X, IN_COS, IN_SIN, IN_POSITIONS };

uint32_t last_sliced(struct emitter *e, uint32_t x, int64_t first, int64_t end, int64_t step)
{
    return emit(e, "Slice", x, emit_list(e, first), emit_list(e, end), emit_list(e, -1),
                emit_list(e, step));
}

/* Cosines or sines of each frame, laid beside the heads. */
static uint32_t angles(struct emitter *e, unsigned i, int64_t heads_axis)
{
    struct conversion *l = e->l;
    uint32_t of = l->in[i];
    if (convert_has(l, IN_POSITIONS))
        of = emit(e, "Gather", of, l->in[IN_POSITIONS]);
    return emit(e, "Unsqueeze", of, emit_list(e, heads_axis));
}

uint32_t rotary_put(struct emitter *e, uint32_t x, uint32_t cosine, uint32_t sine, bool woven)
{
    uint32_t half[2] = { WIRE_NONE, WIRE_NONE };
    struct attr split[] = { { .name = "axis", .kind = ATTR_INT, .i = -1 },
                            { .name = "num_outputs", .kind = ATTR_INT, .i = 2 } };
    if (woven)
        for (int i = 0; i < 2; i++)
            half[i] = last_sliced(e, x, i, INT64_MAX, 2);
    else if (e->status == RILL_OK)
        e->status = convert_emit(e->l, "Split", split, 2, &x, 1, half, 2);
    uint32_t real = emit(e, "Sub", emit(e, "Mul", cosine, half[0]), emit(e, "Mul", sine, half[1])),
             imag = emit(e, "Add", emit(e, "Mul", sine, half[0]), emit(e, "Mul", cosine, half[1]));
    if (!woven)
        return emit_with(e, "Concat", "axis", -1, (uint32_t[]) { real, imag }, 2);
    uint32_t last = emit_list(e, -1);
    uint32_t pair[] = { emit(e, "Unsqueeze", real, last), emit(e, "Unsqueeze", imag, last) };
    uint32_t y = emit_with(e, "Concat", "axis", -1, pair, 2);
    return emit(e, "Reshape", y, emit_list(e, 0, 0, 0, -1));
}

uint32_t rotary_part_put(struct emitter *e, uint32_t x, uint32_t cosine, uint32_t sine, bool woven,
                         int64_t width)
{
    if (!width)
        return rotary_put(e, x, cosine, sine, woven);
    /* A head that does not say its width may not be narrower. */
    uint32_t part =
        emit(e, "Reshape", last_sliced(e, x, 0, width, 1), emit_list(e, 0, 0, 0, width));
    uint32_t turned = rotary_put(e, part, cosine, sine, woven);
    uint32_t rest = last_sliced(e, x, width, INT64_MAX, 1);
    return emit_with(e, "Concat", "axis", -1, EMIT_WIRES(turned, rest));
}

/* Of com.microsoft's, which may leave their number open: twice the cosines of a frame; 0: unknown.
 */
static int64_t head_width(const struct conversion *l)
{
    if (!*l->domain || !convert_has(l, IN_COS))
        return 0;
    const int64_t angles = convert_size(l, IN_COS, -1);
    return angles > 0 ? 2 * angles : 0;
}

/* x [batch, frames, heads side by side] with an axis of heads */
static uint32_t heads_apart(struct emitter *e, uint32_t x, int64_t heads)
{
    x = emit_turned(e, x, (const int64_t[]) { 0, 1, 2 }, 3);
    return emit(e, "Reshape", x,
                heads ? emit_list(e, 0, 0, heads, -1) : emit_list(e, 0, 0, -1, head_width(e->l)));
}

rill_status rotary_caches_check(const struct conversion *l, unsigned cosine, unsigned sine)
{
    const int64_t a = convert_size(l, cosine, -1), b = convert_size(l, sine, -1);
    return a < 0 || b < 0 || a == b
        ? RILL_OK
        : convert_fail(l, RILL_MALFORMED,
                       "cos_cache has %" PRId64 " angles a frame, sin_cache %" PRId64, a, b);
}

/* A part of a head that turns has an angle for each two of its numbers. */
static rill_status angles_check(const struct conversion *l, int64_t width)
{
    TRY(rotary_caches_check(l, IN_COS, IN_SIN));
    for (unsigned i = IN_COS; width && i <= IN_SIN; i++) {
        const int64_t have = convert_size(l, i, -1);
        if (have >= 0 && have != width / 2)
            return convert_fail(l, RILL_MALFORMED,
                                "%s_cache has %" PRId64
                                " angles a frame; rotary_embedding_dim=%" PRId64 " wants %" PRId64,
                                i == IN_COS ? "cos" : "sin", have, width, width / 2);
    }
    return RILL_OK;
}

rill_status up_rotary(struct conversion *l)
{
    struct emitter e = { l, RILL_OK };
    const int64_t width = convert_int(l, "rotary_embedding_dim", 0),
                  heads = convert_int(l, "num_heads", 0);
    const int rank = convert_rank(l, IN_X);
    const bool joined = rank == 3 || (rank < 0 && heads);
    TRY(convert_inputs_check(l, 3, 4, 0x7));
    if (width < 0 || width % 2 || heads < 0 || (joined && !heads && (width || !head_width(l))))
        return convert_fail(l, RILL_MALFORMED,
                            "wants an even rotary_embedding_dim, and num_heads "
                            "where its input has rank 3");
    TRY(angles_check(l, width));
    uint32_t x = l->in[IN_X];
    if (joined)
        x = heads_apart(&e, x, heads);
    const int64_t beside = joined ? 2 : 1;
    uint32_t cosine = angles(&e, IN_COS, beside), sine = angles(&e, IN_SIN, beside);
    uint32_t y = rotary_part_put(&e, x, cosine, sine, convert_int(l, "interleaved", 0) != 0, width);
    if (joined)
        y = emit(&e, "Reshape", y, emit_list(&e, 0, 0, -1));
    return emit_output(&e, 0, y);
}

/* ---- CausalConvWithState ---- */

enum { IN_SIGNAL, IN_WEIGHT, IN_BIAS, IN_STATE };

static rill_status activation_take(struct conversion *l, bool *gated)
{
    const char *name = convert_text(l, "activation", "none");
    *gated = !strcmp(name, "silu") || !strcmp(name, "swish");
    return *gated || !strcmp(name, "none")
        ? RILL_OK
        : convert_fail(l, RILL_UNSUPPORTED, "activation '%.40s'; known: none, silu, swish", name);
}

/* What came before is as long as the taps reach back. */
static rill_status conv_past_check(const struct conversion *l, int64_t reach)
{
    const struct fact *f =
        convert_has(l, IN_STATE) ? &l->scope->g->wires[l->in[IN_STATE]].fact : NULL;
    if (!f || f->type == DTYPE_NONE || f->rank != 3 || !dim_is_const(f->shape[2]) ||
        dim_is(f->shape[2], reach))
        return RILL_OK;
    return convert_fail(l, RILL_MALFORMED,
                        "past_state has %" PRId64
                        " frames, the taps of its weight reach back %" PRId64,
                        dim_value(f->shape[2]), reach);
}

/* dilation: places from tap to tap. */
static rill_status causal_conv_put(struct conversion *l, int64_t dilation)
{
    struct emitter e = { l, RILL_OK };
    bool gated = false;
    TRY(convert_inputs_check(l, 2, 4, 0x3));
    const struct fact *w = &l->scope->g->wires[l->in[IN_WEIGHT]].fact;
    if (w->rank != 3 || !dim_is_const(w->shape[0]) || !dim_is_const(w->shape[2]))
        return convert_fail(l, RILL_UNSUPPORTED,
                            "its weight must be of a known shape [channels, 1, "
                            "taps]: a constant, or an input of that shape");
    TRY(activation_take(l, &gated));
    int64_t *apart = arena_new(l->r->arena, int64_t);
    if (!apart)
        return no_memory(l->r);
    *apart = dilation;
    const int64_t past = (dim_value(w->shape[2]) - 1) * dilation;
    uint32_t x = l->in[IN_SIGNAL], all;
    TRY(conv_past_check(l, past));
    if (convert_has(l, IN_STATE))
        all = emit_with(&e, "Concat", "axis", 2, (uint32_t[]) { l->in[IN_STATE], x }, 2);
    else
        all = emit(&e, "Pad", x, emit_list(&e, 0, 0, past, 0, 0, 0));
    const struct attr at[] = {
        { .name = "group", .kind = ATTR_INT, .i = dim_value(w->shape[0]) },
        { .name = "dilations", .kind = ATTR_INTS, .ints = { 1, apart } },
    };
    uint32_t in[] = { all, l->in[IN_WEIGHT], convert_has(l, IN_BIAS) ? l->in[IN_BIAS] : WIRE_NONE };
    uint32_t y = WIRE_NONE;
    TRY(e.status);
    TRY(convert_emit(l, "Conv", at, 2, in, 3, &y, 1));
    TRY(emit_output(&e, 0, gated ? emit(&e, "Swish", y) : y));
    uint32_t end = emit_list(&e, INT64_MAX), axis = emit_list(&e, 2);
    uint32_t first = past ? emit_list(&e, -past) : end;
    return emit_output(&e, 1, emit(&e, "Slice", all, first, end, axis));
}

rill_status up_causal_conv(struct conversion *l)
{
    return causal_conv_put(l, 1);
}

/* The form of com.microsoft: what is beside taps apart is refused. */
rill_status up_vendor_causal_conv(struct conversion *l)
{
    static const struct {
        const char *name;
        int64_t usual;
    } fixed[] = { { "channels_last", 0 },         { "input_channel_offset", 0 },
                  { "input_channels", 0 },        { "ndim", 1 },
                  { "state_channels_last", -1 },  { "state_length", 0 },
                  { "state_update_capacity", 0 }, { "state_window", 0 } };
    const int64_t dilation = convert_int(l, "dilation", 1);
    for (size_t i = 0; i < sizeof fixed / sizeof *fixed; i++)
        if (convert_int(l, fixed[i].name, fixed[i].usual) != fixed[i].usual)
            return convert_fail(l, RILL_UNSUPPORTED, "attribute '%s' is supported as %" PRId64,
                                fixed[i].name, fixed[i].usual);
    if (dilation < 1 || dilation > INT32_MAX)
        return convert_fail(l, RILL_MALFORMED, "dilation is from 1 to 2147483647");
    return causal_conv_put(l, dilation);
}
