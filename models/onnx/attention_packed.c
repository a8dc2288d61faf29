/* SPDX-License-Identifier: MIT */
/* Attention and MultiHeadAttention of the domain com.microsoft. */
#include "models/onnx/attention.h"

#include <string.h>

static uint32_t joined_frames(struct emitter *e, uint32_t past, uint32_t x)
{
    return past == WIRE_NONE ? x : emit_with(e, "Concat", "axis", 2, (uint32_t[]) { past, x }, 2);
}

/* What is not seen of a mask, as numbers that are added to the scores. */
static uint32_t mask_bias(struct emitter *e, uint32_t seen, uint32_t like)
{
    const float not_seen = convert_float_of(e->l, "mask_filter_value", -10000);
    return emit(e, "Where", seen, emit_float(e, 0, like), emit_float(e, not_seen, like));
}

/* Frames in front of the numbers of a list, one of each of the batch. */
static uint32_t frames_before(struct emitter *e, uint32_t frames, const char *relation, uint32_t n)
{
    uint32_t each = emit(e, "Reshape", emit_cast(e, n, DTYPE_I64), emit_list(e, -1, 1, 1, 1));
    return emit(e, relation, frames, each);
}

/* A list of where each sequence of keys ends, and behind that, if it is as long again, where each
 * begins. */
static uint32_t mask_of_ends(struct emitter *e, const struct attention *a, uint32_t list)
{
    uint32_t frames = emit_range(e, emit_sizes(e, a->k, 2, 3));
    uint32_t batch = emit_sizes(e, a->q, 0, 1), none = emit_list(e, 0);
    uint32_t ends = emit(e, "Slice", list, none, batch);
    uint32_t seen = frames_before(e, frames, "Less", ends);
    /* Without begins their list is empty: it is filled up with zeros. */
    uint32_t twice = emit(e, "Add", batch, batch);
    uint32_t pads = emit_joined(e, none, emit(e, "Sub", twice, emit(e, "Shape", list)));
    uint32_t begins = emit(e, "Slice", emit(e, "Pad", list, pads), batch, twice);
    return emit(e, "And", seen, frames_before(e, frames, "GreaterOrEqual", begins));
}

/* Input `in` is a mask of keys: [batch, keys], [batch, frames, keys], or a list of ends. */
static uint32_t key_mask(struct emitter *e, const struct attention *a, unsigned in)
{
    struct conversion *l = e->l;
    const int rank = convert_rank(l, in);
    if (!convert_has(l, in))
        return WIRE_NONE;
    if (rank == 1)
        return mask_bias(e, mask_of_ends(e, a, l->in[in]), a->q);
    uint32_t mask = emit_cast(e, l->in[in], DTYPE_I64);
    uint32_t axes = rank == 2 ? emit_list(e, 1, 2) : emit_list(e, 1);
    uint32_t seen = emit(e, "Greater", emit(e, "Unsqueeze", mask, axes), emit_int(e, 0));
    return mask_bias(e, seen, a->q);
}

static rill_status key_mask_check(const struct conversion *l, unsigned in, const char *name)
{
    const int rank = convert_rank(l, in);
    if (convert_has(l, in) && (rank < 1 || rank > 3))
        return convert_fail(l, RILL_UNSUPPORTED, "%s must be known to have rank 1, 2 or 3", name);
    return RILL_OK;
}

static void bias_add(struct emitter *e, struct attention *a, unsigned in)
{
    struct conversion *l = e->l;
    if (convert_has(l, in))
        a->bias = a->bias == WIRE_NONE ? l->in[in] : emit(e, "Add", a->bias, l->in[in]);
}

/* ---- MultiHeadAttention ---- */

enum {
    MHA_Q,
    MHA_K,
    MHA_V,
    MHA_BIAS,
    MHA_KEY_MASK,
    MHA_SCORE_BIAS,
    MHA_PAST_K,
    MHA_PAST_V,
    MHA_INS
};

#define UNIDIRECTIONAL                                                                             \
    "unidirectional is read of no more keys than queries and the cache have frames; an "           \
    "attention_bias, or a mask, says which keys each query sees"

/* As far as the file says them. */
static rill_status mha_sizes_check(struct conversion *l)
{
    const bool rows = convert_rank(l, MHA_Q) == 3 && convert_has(l, MHA_K);
    const int64_t q = convert_size(l, MHA_Q, 1),
                  k = convert_size(l, MHA_K, convert_rank(l, MHA_K) == 4 ? 2 : 1),
                  past = convert_has(l, MHA_PAST_K) ? convert_size(l, MHA_PAST_K, 2) : 0;
    if (rows && convert_int(l, "unidirectional", 0) && q >= 0 && past >= 0 && k > q)
        return convert_fail(l, RILL_UNSUPPORTED, UNIDIRECTIONAL);
    return RILL_OK;
}

static rill_status mha_check(struct conversion *l)
{
    TRY(convert_inputs_check(l, 1, 10, 1u << MHA_Q));
    TRY(attention_inputs_absent(l, MHA_INS, 10, 10));
    if (convert_int(l, "num_heads", 0) < 1)
        return convert_fail(l, RILL_MALFORMED, "num_heads is at least 1");
    if (!convert_has(l, MHA_K) && convert_has(l, MHA_V))
        return convert_fail(l, RILL_MALFORMED, "values come without keys");
    if (convert_has(l, MHA_PAST_K) != convert_has(l, MHA_PAST_V))
        return convert_fail(l, RILL_MALFORMED, "past_key and past_value come together");
    TRY(mha_sizes_check(l));
    return key_mask_check(l, MHA_KEY_MASK, "key_padding_mask");
}

/* [batch, frames, heads, n, width] -> n of [batch, frames, heads * width]. */
static void heads_unpacked(struct emitter *e, uint32_t x, unsigned n, uint32_t *ret)
{
    struct attr split[] = { { .name = "axis", .kind = ATTR_INT, .i = 3 },
                            { .name = "num_outputs", .kind = ATTR_INT, .i = n } };
    uint32_t part[3] = { WIRE_NONE, WIRE_NONE, WIRE_NONE };
    uint32_t held = emit_turned(e, x, (const int64_t[]) { 0, 1, 2, 3, 4 }, 5);
    if (e->status == RILL_OK)
        e->status = convert_emit(e->l, "Split", split, 2, &held, 1, part, n);
    for (unsigned i = 0; i < n; i++)
        ret[i] = emit(e, "Reshape", part[i], emit_list(e, 0, 0, -1));
}

/* q, k and v, each with its part of the bias; k and v may be of heads already, and have none. */
static void mha_biased(struct emitter *e, uint32_t x[3], bool keys_are_heads)
{
    struct conversion *l = e->l;
    uint32_t part[3] = { WIRE_NONE, WIRE_NONE, WIRE_NONE };
    if (!convert_has(l, MHA_BIAS))
        return;
    if (keys_are_heads) {
        uint32_t width = emit_sizes(e, x[0], 2, 3);
        part[0] = emit(e, "Slice", l->in[MHA_BIAS], emit_list(e, 0), width);
        x[0] = emit(e, "Add", x[0], part[0]);
        return;
    }
    uint32_t widths = emit_joined(e, emit_sizes(e, x[0], 2, 3), emit_sizes(e, x[1], 2, 3),
                                  emit_sizes(e, x[2], 2, 3));
    uint32_t in[] = { l->in[MHA_BIAS], widths };
    if (e->status == RILL_OK)
        e->status = convert_emit(l, "Split", NULL, 0, in, 2, part, 3);
    for (unsigned i = 0; i < 3; i++)
        x[i] = emit(e, "Add", x[i], part[i]);
}

/* Heads of q, k and v, of inputs in any form: of three, of two with k and v in one, or of one. */
static void mha_heads(struct emitter *e, struct attention *a)
{
    struct conversion *l = e->l;
    const int64_t heads = convert_int(l, "num_heads", 0);
    const bool keys_are_heads = convert_has(l, MHA_V) && convert_rank(l, MHA_K) == 4;
    uint32_t x[3] = { l->in[MHA_Q] };
    if (!convert_has(l, MHA_K))
        heads_unpacked(e, l->in[MHA_Q], 3, x);
    else if (!convert_has(l, MHA_V))
        heads_unpacked(e, l->in[MHA_K], 2, &x[1]);
    else
        memcpy(&x[1], &l->in[MHA_K], 2 * sizeof *x);
    mha_biased(e, x, keys_are_heads);
    a->q = attention_heads(e, x[0], heads);
    a->k = keys_are_heads ? x[1] : attention_heads(e, x[1], heads);
    a->v = keys_are_heads ? x[2] : attention_heads(e, x[2], heads);
}

/* Of more keys than frames were before and are now, ONNX Runtime shows the last frame all. */
static uint32_t mha_before(struct emitter *e, const struct attention *a)
{
    uint32_t seen = emit(e, "Add", a->before, emit_sizes(e, a->q, 2, 3));
    uint32_t more = emit(e, "Sub", emit_sizes(e, a->k, 2, 3), seen);
    return emit(e, "Add", a->before,
                emit_held(e, emit(e, "Max", more, emit_int(e, 0)), UNIDIRECTIONAL));
}

rill_status up_multi_head_attention(struct conversion *l)
{
    struct emitter e = { l, RILL_OK };
    struct attention a = attention_none();
    TRY(mha_check(l));
    const bool cached = convert_has(l, MHA_PAST_K);
    a.joined = true;
    a.causal = convert_int(l, "unidirectional", 0) != 0;
    a.scale = convert_float_of(l, "scale", 0);
    a.scaled_once = true;
    a.shown = SCORES_SOFTMAX;
    mha_heads(&e, &a);
    a.k = joined_frames(&e, cached ? l->in[MHA_PAST_K] : WIRE_NONE, a.k);
    a.v = joined_frames(&e, cached ? l->in[MHA_PAST_V] : WIRE_NONE, a.v);
    a.before = cached ? emit_sizes(&e, l->in[MHA_PAST_K], 2, 3) : emit_list(&e, 0);
    if (a.causal)
        a.before = mha_before(&e, &a);
    a.bias = key_mask(&e, &a, MHA_KEY_MASK);
    bias_add(&e, &a, MHA_SCORE_BIAS);
    attention_window(&e, &a);
    (void) emit_output(&e, 1, a.k);
    (void) emit_output(&e, 2, a.v);
    attention_put(&e, &a);
    return e.status;
}

/* ---- Attention: the product with the weights of q, k and v is its own ---- */

enum { AT_X, AT_W, AT_BIAS, AT_MASK, AT_PAST, AT_SCORE_BIAS, AT_PAST_LENGTH };

static rill_status packed_check(struct conversion *l)
{
    static const char *const absent[] = { "do_rotary", "past_present_share_buffer",
                                          "rotary_embedding_dim" };
    const struct attr *widths = convert_attr(l, "qkv_hidden_sizes");
    TRY(convert_inputs_check(l, 2, 7, 1u << AT_X | 1u << AT_W));
    TRY(attention_attrs_absent(l, absent, sizeof absent / sizeof *absent));
    TRY(attention_inputs_absent(l, AT_PAST_LENGTH, 7, 7));
    if (convert_int(l, "num_heads", 0) < 1)
        return convert_fail(l, RILL_MALFORMED, "num_heads is at least 1");
    if (widths && (widths->kind != ATTR_INTS || widths->ints.n != 3))
        return convert_fail(l, RILL_MALFORMED, "attribute 'qkv_hidden_sizes' wants 3 integers");
    return key_mask_check(l, AT_MASK, "mask_index");
}

static void packed_heads(struct emitter *e, struct attention *a)
{
    struct conversion *l = e->l;
    const struct attr *widths = convert_attr(l, "qkv_hidden_sizes");
    struct attr split[] = { { .name = "axis", .kind = ATTR_INT, .i = -1 },
                            { .name = "num_outputs", .kind = ATTR_INT, .i = 3 } };
    const int64_t heads = convert_int(l, "num_heads", 0);
    uint32_t part[3] = { WIRE_NONE, WIRE_NONE, WIRE_NONE };
    uint32_t all = emit(e, "MatMul", l->in[AT_X], l->in[AT_W]);
    if (convert_has(l, AT_BIAS))
        all = emit(e, "Add", all, l->in[AT_BIAS]);
    uint32_t in[] = { all, widths ? emit_ints(e, widths->ints.v, 3) : WIRE_NONE };
    if (e->status == RILL_OK)
        e->status = convert_emit(l, "Split", split, widths ? 1 : 2, in, 2, part, 3);
    a->q = attention_heads(e, part[0], heads);
    a->k = attention_heads(e, part[1], heads);
    a->v = attention_heads(e, part[2], heads);
}

/* Keys and values lie in one cache, [2, batch, heads, frames, width]. */
static void packed_cache(struct emitter *e, struct attention *a)
{
    struct conversion *l = e->l;
    uint32_t first = emit_list(e, 0), *both[] = { &a->k, &a->v }, now[2];
    a->before = emit_list(e, 0);
    if (convert_has(l, AT_PAST))
        a->before = emit_sizes(e, l->in[AT_PAST], 3, 4);
    for (int64_t i = 0; i < 2; i++) {
        if (convert_has(l, AT_PAST)) {
            uint32_t past[] = { l->in[AT_PAST], emit_int(e, i) };
            *both[i] = joined_frames(e, emit_with(e, "Gather", "axis", 0, past, 2), *both[i]);
        }
        if (l->n_out > 1)
            now[i] = emit(e, "Unsqueeze", *both[i], first);
    }
    if (l->n_out > 1)
        (void) emit_output(e, 1, emit_with(e, "Concat", "axis", 0, now, 2));
}

rill_status up_packed_attention(struct conversion *l)
{
    struct emitter e = { l, RILL_OK };
    struct attention a = attention_none();
    TRY(packed_check(l));
    a.joined = true;
    a.causal = convert_int(l, "unidirectional", 0) != 0;
    a.scale = convert_float_of(l, "scale", 0);
    a.scaled_once = true;
    packed_heads(&e, &a);
    packed_cache(&e, &a);
    a.bias = key_mask(&e, &a, AT_MASK);
    bias_add(&e, &a, AT_SCORE_BIAS);
    attention_window(&e, &a);
    attention_put(&e, &a);
    return e.status;
}
