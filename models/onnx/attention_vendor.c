/* SPDX-License-Identifier: MIT */
/* GroupQueryAttention and RotaryEmbedding of the domain com.microsoft. */
#include "models/onnx/attention.h"
#include "engine/base/checked.h"

#include <inttypes.h>
#include <string.h>

static uint32_t input_or_none(const struct conversion *l, unsigned i)
{
    return convert_has(l, i) ? l->in[i] : WIRE_NONE;
}

static uint32_t joined_frames(struct emitter *e, uint32_t past, uint32_t x)
{
    return past == WIRE_NONE ? x : emit_with(e, "Concat", "axis", 2, (uint32_t[]) { past, x }, 2);
}

rill_status attention_attrs_absent(struct conversion *l, const char *const *name, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        const struct attr *a = convert_attr(l, name[i]);
        bool none = !a || (a->kind == ATTR_INT && a->i == 0) ||
            !strcmp(convert_text(l, name[i], ""), "NONE");
        if (!none)
            return convert_fail(l, RILL_UNSUPPORTED, "attribute '%s' is not supported", name[i]);
    }
    return RILL_OK;
}

rill_status attention_inputs_absent(const struct conversion *l, unsigned first, unsigned end,
                                    unsigned but)
{
    for (unsigned i = first; i < end; i++)
        if (convert_has(l, i) && i != but)
            return convert_fail(l, RILL_UNSUPPORTED, "input %u, '%.80s', is not supported", i,
                                l->scope->g->wires[l->in[i]].name);
    return RILL_OK;
}

/* ---- GroupQueryAttention ---- */

enum {
    GQA_Q,
    GQA_K,
    GQA_V,
    GQA_PAST_K,
    GQA_PAST_V,
    GQA_LAST, /* for each of the batch, frames in all less one */
    GQA_TOTAL,
    GQA_COS,
    GQA_SIN,
    GQA_POSITIONS,
    GQA_BIAS,
    GQA_SINK,
    GQA_SCALES,
    GQA_INS = 17
};

/* The cache is a buffer for all frames, which the outputs give back filled further: the file says
 * of the keys or the values that they stay as large. */
static bool gqa_is_in_place(const struct conversion *l)
{
    return convert_has(l, GQA_PAST_K) &&
        (convert_output_told(l, 1, GQA_PAST_K, 2) == SIZE_KEPT ||
         convert_output_told(l, 2, GQA_PAST_V, 2) == SIZE_KEPT);
}

/* Not as a buffer of the one and a cache of the other that grows. */
static rill_status gqa_caches_check(const struct conversion *l)
{
    const enum size_told k = convert_output_told(l, 1, GQA_PAST_K, 2),
                         v = convert_output_told(l, 2, GQA_PAST_V, 2);
    if (gqa_is_in_place(l) && (k == SIZE_OTHER || v == SIZE_OTHER))
        return convert_fail(l, RILL_MALFORMED,
                            "output %d is declared as large as its cache, output %d is not; keys "
                            "and values both stay as large, or both grow",
                            k == SIZE_KEPT ? 1 : 2, k == SIZE_KEPT ? 2 : 1);
    return RILL_OK;
}

/* Heads that lie side by side in the first input: with no keys of their own all three kinds. */
static bool gqa_count_heads(struct conversion *l, int64_t *ret)
{
    const int64_t q = convert_int(l, "num_heads", 0), kv = convert_int(l, "kv_num_heads", 0);
    *ret = q;
    return convert_has(l, GQA_K) || (int_mul(kv, 2, ret) && int_add(*ret, q, ret));
}

/* Numbers of a head; -1: open. */
static int64_t gqa_head_width(struct conversion *l)
{
    const int64_t width = convert_size(l, GQA_Q, -1);
    int64_t heads;
    if (width > 0 && gqa_count_heads(l, &heads))
        return width / heads;
    return convert_has(l, GQA_PAST_K) ? convert_size(l, GQA_PAST_K, 3) : -1;
}

/* Numbers of a head that turn, two for each angle of a frame; 0: all. */
static int64_t gqa_turned_width(struct conversion *l)
{
    const int64_t head = gqa_head_width(l), angles = convert_size(l, GQA_COS, -1);
    return angles > 0 && head != 2 * angles ? 2 * angles : 0;
}

static rill_status gqa_angles_check(struct conversion *l)
{
    if (!convert_int(l, "do_rotary", 0))
        return RILL_OK;
    if (!convert_has(l, GQA_COS) || !convert_has(l, GQA_SIN))
        return convert_fail(l, RILL_MALFORMED, "do_rotary wants cos_cache and sin_cache");
    TRY(rotary_caches_check(l, GQA_COS, GQA_SIN));
    const int64_t head = gqa_head_width(l);
    for (unsigned i = GQA_COS; i <= GQA_SIN; i++) {
        const int64_t angles = convert_size(l, i, -1);
        if (angles == 0 || (head > 0 && angles > head / 2))
            return convert_fail(l, RILL_MALFORMED,
                                "%s_cache has %" PRId64 " angles a frame; wanted: one for each two "
                                "numbers of a head that turn, 1 to half as many as it has",
                                i == GQA_COS ? "cos" : "sin", angles);
    }
    return RILL_OK;
}

static rill_status gqa_check(struct conversion *l)
{
    static const char *const absent[] = { "kv_cache_bit_width", "sliding_window_cache", "qk_output",
                                          "k_quant_type", "v_quant_type" };
    const int64_t q = convert_int(l, "num_heads", 0), kv = convert_int(l, "kv_num_heads", 0);
    TRY(convert_inputs_check(l, 7, GQA_INS, 1u << GQA_Q | 1u << GQA_LAST | 1u << GQA_TOTAL));
    TRY(attention_attrs_absent(l, absent, sizeof absent / sizeof *absent));
    TRY(attention_inputs_absent(l, GQA_SCALES, GQA_INS, GQA_INS));
    if (q < 1 || kv < 1 || q % kv)
        return convert_fail(l, RILL_MALFORMED, "num_heads is a multiple of kv_num_heads");
    if (convert_has(l, GQA_K) != convert_has(l, GQA_V) ||
        convert_has(l, GQA_PAST_K) != convert_has(l, GQA_PAST_V))
        return convert_fail(l, RILL_MALFORMED, "keys and values come together");
    if (convert_int(l, "local_window_size", -1) == 0)
        return convert_fail(l, RILL_MALFORMED,
                            "local_window_size=0 leaves no frame to see; it is at least 1, or -1 "
                            "for all of them");
    TRY(convert_least_check(l, GQA_LAST, "seqlens_k", 0));
    TRY(convert_least_check(l, GQA_TOTAL, "total_sequence_length", 1));
    TRY(gqa_angles_check(l));
    return gqa_caches_check(l);
}

/* Heads of q, k and v, from an input each or from one that holds all. */
static void gqa_heads(struct emitter *e, struct attention *a)
{
    struct conversion *l = e->l;
    const int64_t q = convert_int(l, "num_heads", 0), kv = convert_int(l, "kv_num_heads", 0);
    struct attr axis = { .name = "axis", .kind = ATTR_INT, .i = 1 };
    uint32_t part[3] = { WIRE_NONE, WIRE_NONE, WIRE_NONE };
    if (convert_has(l, GQA_K)) {
        a->q = attention_heads(e, l->in[GQA_Q], q);
        a->k = attention_heads(e, l->in[GQA_K], kv);
        a->v = attention_heads(e, l->in[GQA_V], kv);
        return;
    }
    int64_t heads;
    if (!gqa_count_heads(l, &heads)) {
        e->status =
            convert_fail(l, RILL_LIMIT, "num_heads=%" PRId64 " and kv_num_heads=%" PRId64, q, kv);
        return;
    }
    uint32_t all[] = { attention_heads(e, l->in[GQA_Q], heads), emit_list(e, q, kv, kv) };
    if (e->status == RILL_OK)
        e->status = convert_emit(l, "Split", &axis, 1, all, 2, part, 3);
    a->q = part[0];
    a->k = part[1];
    a->v = part[2];
}

/* Frames in all, for each of the batch. */
static uint32_t gqa_filled(struct emitter *e)
{
    return emit(e, "Add", emit_cast(e, e->l->in[GQA_LAST], DTYPE_I64), emit_int(e, 1));
}

/* 0; without a cache the frames of now are all, and no sequence ends behind them. One of no frames
 * ends at -1. */
static uint32_t gqa_prompt_held(struct emitter *e, uint32_t q)
{
    struct conversion *l = e->l;
    uint32_t now = emit_sizes(e, q, 2, 3), none = emit_int(e, 0), filled = gqa_filled(e);
    uint32_t over = emit(e, "Max", emit(e, "Sub", filled, now), none);
    uint32_t off = emit(e, "Sub", over, emit(e, "Min", filled, none));
    uint32_t total = emit_cast(e, l->in[GQA_TOTAL], DTYPE_I64);
    return emit(e, "Add",
                emit_held(e, off,
                          "seqlens_k is a frame of now where there is no cache: from 0 to "
                          "their number less one"),
                emit_held(e, emit(e, "Sub", total, now),
                          "total_sequence_length is the number of frames of now where there "
                          "is no cache"));
}

/* Frames in front of those of now: what the cache holds, [1]; of one in place [batch,1,1,1]. */
static uint32_t gqa_before(struct emitter *e, uint32_t q)
{
    struct conversion *l = e->l;
    if (!convert_has(l, GQA_PAST_K))
        return gqa_prompt_held(e, q);
    uint32_t now = emit_sizes(e, q, 2, 3);
    if (gqa_is_in_place(l)) {
        uint32_t before = emit(e, "Sub", gqa_filled(e), now);
        uint32_t less = emit(e, "Min", before, emit_int(e, 0));
        before = emit(e, "Add", before,
                      emit_held(e, less,
                                "seqlens_k counts the frames of now as well: it is at least "
                                "their number less one"));
        return emit(e, "Reshape", before, emit_list(e, -1, 1, 1, 1));
    }
    uint32_t past = emit_sizes(e, l->in[GQA_PAST_K], 2, 3);
    uint32_t last = emit(e, "Add", past, emit(e, "Sub", now, emit_int(e, 1)));
    uint32_t off = emit(e, "Sub", emit_cast(e, l->in[GQA_LAST], DTYPE_I64), last);
    return emit(e, "Add", past,
                emit_held(e, off,
                          "seqlens_k has to be all frames less one where the cache grows; for "
                          "sequences of different lengths declare present_key as large as "
                          "past_key, a buffer for all frames"));
}

/* The cache with frames of now behind those that it holds. */
static uint32_t gqa_kept(struct emitter *e, unsigned past, uint32_t x, uint32_t before)
{
    struct conversion *l = e->l;
    if (!gqa_is_in_place(l))
        return joined_frames(e, input_or_none(l, past), x);
    uint32_t frames =
        emit(e, "Reshape", emit_range(e, emit_sizes(e, x, 2, 3)), emit_list(e, 1, 1, -1, 1));
    uint32_t to = emit(e, "Expand", emit(e, "Add", frames, before), emit(e, "Shape", x));
    return emit_with(e, "ScatterElements", "axis", 2, (uint32_t[]) { l->in[past], to, x }, 3);
}

/* The place of each frame of x. Of those that are given a first prompt takes the first alone. */
static uint32_t gqa_places(struct emitter *e, uint32_t x, uint32_t before)
{
    struct conversion *l = e->l;
    const bool given = convert_has(l, GQA_POSITIONS); /* [batch, frames] */
    if (given && convert_has(l, GQA_PAST_K))
        return emit(e, "Unsqueeze", l->in[GQA_POSITIONS], emit_list(e, 1));
    if (given)
        before = emit_with(e, "Gather", "axis", 0,
                           EMIT_WIRES(emit(e, "Reshape", l->in[GQA_POSITIONS], emit_list(e, -1)),
                                      emit_list(e, 0)));
    else if (gqa_is_in_place(l))
        before = emit(e, "Reshape", before, emit_list(e, -1, 1, 1));
    return emit(e, "Add", emit_range(e, emit_sizes(e, x, 2, 3)), before);
}

static uint32_t gqa_turned(struct emitter *e, uint32_t x, uint32_t before)
{
    struct conversion *l = e->l;
    const bool woven = convert_int(l, "rotary_interleaved", 0) != 0;
    uint32_t of[2], at = gqa_places(e, x, before);
    for (unsigned i = 0; i < 2; i++)
        of[i] = emit(e, "Gather", l->in[GQA_COS + i], at);
    return rotary_part_put(e, x, of[0], of[1], woven, gqa_turned_width(l));
}

static uint32_t gqa_sink(struct emitter *e)
{
    struct conversion *l = e->l;
    if (convert_has(l, GQA_SINK) || convert_int(l, "smooth_softmax", 0) <= 0)
        return input_or_none(l, GQA_SINK);
    return emit_float(e, 0, l->in[GQA_Q]);
}

/* Of a buffer: as wide as the frames that it holds, which may be less than all of it. */
static bool gqa_bias_is_short(struct emitter *e)
{
    return input_or_none(e->l, GQA_BIAS) != WIRE_NONE && gqa_is_in_place(e->l);
}

/* 0, where a bias is as wide as it has to be. */
static uint32_t gqa_bias_held(struct emitter *e)
{
    struct conversion *l = e->l;
    uint32_t width = emit_sizes(e, l->in[GQA_BIAS], -1, 9);
    uint32_t total = emit_cast(e, l->in[GQA_TOTAL], DTYPE_I64);
    uint32_t of_total = emit(e, "Sub", total, width);
    uint32_t of_all = emit(e, "Sub", emit_sizes(e, l->in[GQA_PAST_K], 2, 3), width);
    return emit_held(e, emit(e, "Mul", of_total, of_all),
                     "attention_bias is as wide as total_sequence_length, or as the cache");
}

/* What is behind the frames that a buffer holds is not seen. */
static uint32_t gqa_bias(struct emitter *e, uint32_t k)
{
    const uint32_t bias = input_or_none(e->l, GQA_BIAS);
    return gqa_bias_is_short(e) ? attention_padded(e, bias, k, emit_float(e, 0, bias)) : bias;
}

rill_status up_group_query_attention(struct conversion *l)
{
    struct emitter e = { l, RILL_OK };
    struct attention a = attention_none();
    TRY(gqa_check(l));
    const int64_t window = convert_int(l, "local_window_size", -1);
    a.joined = true;
    a.causal = convert_int(l, "causal", 1) != 0;
    a.left = window > 0 ? window - 1 : -1; /* the frame of now is one of them */
    a.scale = convert_float_of(l, "scale", 0);
    a.scaled_once = true;
    a.softcap = convert_float_of(l, "softcap", 0);
    a.sink = gqa_sink(&e);
    gqa_heads(&e, &a);
    a.before = gqa_before(&e, a.q);
    if (gqa_bias_is_short(&e))
        a.before = emit(&e, "Add", a.before, gqa_bias_held(&e));
    if (convert_int(l, "do_rotary", 0)) {
        a.q = gqa_turned(&e, a.q, a.before);
        a.k = gqa_turned(&e, a.k, a.before);
    }
    a.k = gqa_kept(&e, GQA_PAST_K, a.k, a.before);
    a.v = gqa_kept(&e, GQA_PAST_V, a.v, a.before);
    a.bias = gqa_bias(&e, a.k);
    if (gqa_is_in_place(l) && !a.causal)
        a.allowed = emit(&e, "Less", emit_range(&e, emit_sizes(&e, a.k, 2, 3)),
                         emit(&e, "Reshape", gqa_filled(&e), emit_list(&e, -1, 1, 1, 1)));
    attention_window(&e, &a);
    a.rows_empty = false; /* each frame sees itself */
    (void) emit_output(&e, 1, a.k);
    (void) emit_output(&e, 2, a.v);
    attention_put(&e, &a);
    return e.status;
}

/* ---- RotaryEmbedding: inputs in another order ---- */

/* Places that count on from the one that is given, the same for all of the batch. */
static rill_status positions_from(struct conversion *l, uint32_t first, uint32_t *ret)
{
    struct emitter e = { l, RILL_OK };
    const int rank = convert_rank(l, 0);
    const int axis = rank == 3 || (rank < 0 && convert_int(l, "num_heads", 0)) ? 1 : 2;
    uint32_t frames = emit_range(&e, emit_sizes(&e, l->in[0], axis, axis + 1));
    uint32_t at = emit(&e, "Add", emit_cast(&e, first, DTYPE_I64), frames);
    *ret = emit(&e, "Unsqueeze", at, emit_list(&e, 0));
    return e.status;
}

rill_status up_vendor_rotary(struct conversion *l)
{
    static const char *const absent[] = { "is_packed_batching" };
    TRY(convert_inputs_check(l, 4, 4, 0xf));
    TRY(attention_attrs_absent(l, absent, 1));
    const float scale = convert_float_of(l, "scale", 1);
    const int rank = convert_rank(l, 1);
    if (!(scale >= 1 && scale <= 1) || (rank != 1 && rank != 2))
        return convert_fail(
            l, RILL_UNSUPPORTED,
            "wants position_ids of known rank, [1] or [batch, frames], and no scale");
    uint32_t positions = l->in[1];
    if (rank == 1)
        TRY(positions_from(l, positions, &positions));
    memmove(&l->in[1], &l->in[2], 2 * sizeof *l->in);
    l->in[3] = positions;
    return up_rotary(l);
}
