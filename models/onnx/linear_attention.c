/* SPDX-License-Identifier: MIT */
/* LinearAttention (opset 27) as a Scan along its frames. */
#include "models/onnx/internal.h"

#include "engine/graph/control.h"

#include <math.h>
#include <string.h>

enum { IN_Q, IN_K, IN_V, IN_PAST, IN_DECAY, IN_BETA };
enum { FRAME_Q, FRAME_K, FRAME_V, FRAME_DECAY, FRAME_BETA, FRAMES };

static const struct rule {
    const char *name;
    bool decays, corrects;
} rules[] = { { "linear", false, false },
              { "gated", true, false },
              { "delta", false, true },
              { "gated_delta", true, true } };

static rill_status rule_take(struct conversion *l, const struct rule **ret)
{
    const char *name = convert_text(l, "update_rule", "gated_delta");
    const int64_t q = convert_int(l, "q_num_heads", 0), kv = convert_int(l, "kv_num_heads", 0);
    *ret = NULL;
    TRY(convert_inputs_check(l, 3, 6, 0x7));
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
        if (!strcmp(rules[i].name, name))
            *ret = &rules[i];
    if (!*ret)
        return convert_fail(l, RILL_MALFORMED,
                            "update_rule '%.40s'; known: linear, gated, delta, gated_delta", name);
    if (q < 1 || kv < 1 || q % kv)
        return convert_fail(l, RILL_MALFORMED, "q_num_heads is a multiple of kv_num_heads");
    if (convert_has(l, IN_DECAY) != (*ret)->decays || convert_has(l, IN_BETA) != (*ret)->corrects)
        return convert_fail(l, RILL_MALFORMED, "update_rule '%s' wants %s decay and %s beta", name,
                            (*ret)->decays ? "a" : "no", (*ret)->corrects ? "a" : "no");
    return RILL_OK;
}

/* The body of one frame: state [batch, heads, d_k, d_v] and what is of the frame, [batch, heads,
 * ..], q [batch, heads, heads that share, d_k]. */
static uint32_t state_next(struct emitter *e, const struct rule *rule, uint32_t state,
                           const uint32_t frame[FRAMES])
{
    uint32_t across = emit_list(e, 2), along = emit_list(e, -1);
    uint32_t v = emit(e, "Unsqueeze", frame[FRAME_V], across);
    if (rule->decays) {
        uint32_t kept = emit(e, "Exp", frame[FRAME_DECAY]);
        state = emit(e, "Mul", state, emit(e, "Unsqueeze", kept, along));
    }
    if (rule->corrects) {
        uint32_t k = emit(e, "Unsqueeze", frame[FRAME_K], across);
        uint32_t off = emit(e, "Sub", v, emit(e, "MatMul", k, state));
        v = emit(e, "Mul", emit(e, "Unsqueeze", frame[FRAME_BETA], along), off);
    }
    uint32_t k = emit(e, "Unsqueeze", frame[FRAME_K], along);
    return emit(e, "Add", state, emit(e, "Mul", k, v));
}

static rill_status body_make(struct conversion *l, const struct rule *rule, struct graph *body)
{
    struct scope scope = *l->scope;
    struct conversion inside = *l;
    struct emitter e = { &inside, RILL_OK };
    const bool has[FRAMES] = { true, true, true, rule->decays, rule->corrects };
    static const char *const name[FRAMES] = { "q", "k", "v", "decay", "beta" };
    uint32_t frame[FRAMES];
    scope.g = body;
    inside.scope = &scope;
    graph_init(body, l->r->arena, l->r->dims, l->name);
    uint32_t state = graph_add_input(body, "state", NULL);
    for (int i = 0; i < FRAMES; i++)
        frame[i] = has[i] ? graph_add_input(body, name[i], NULL) : WIRE_NONE;
    uint32_t next = state_next(&e, rule, state, frame);
    uint32_t y = emit(&e, "MatMul", frame[FRAME_Q], next);
    TRY(e.status);
    return graph_add_output(body, next) && graph_add_output(body, y) ? RILL_OK : no_memory(l->r);
}

static uint32_t start_of(struct emitter *e, const uint32_t frame[FRAMES])
{
    struct conversion *l = e->l;
    if (convert_has(l, IN_PAST))
        return emit_cast(e, l->in[IN_PAST], DTYPE_F32);
    uint32_t to =
        emit_joined(e, emit_sizes(e, frame[FRAME_K], 0, 1), emit_sizes(e, frame[FRAME_K], 2, 4),
                    emit_sizes(e, frame[FRAME_V], 3, 4));
    return emit(e, "Expand", emit_float(e, 0, frame[FRAME_K]), to);
}

static rill_status scan_put(struct emitter *e, const struct rule *rule, uint32_t state,
                            const uint32_t frame[FRAMES], uint32_t ret[2])
{
    struct conversion *l = e->l;
    struct graph **body = arena_array(l->r->arena, struct graph *, 1);
    struct scan_attr *at = arena_new(l->r->arena, struct scan_attr);
    int64_t *axes = arena_array(l->r->arena, int64_t, FRAMES);
    uint32_t in[1 + FRAMES] = { state };
    unsigned n = 1;
    TRY(e->status);
    if (!body || !at || !axes || !(body[0] = arena_new(l->r->arena, struct graph)))
        return no_memory(l->r);
    for (int i = 0; i < FRAMES; i++) {
        axes[i] = 1;
        if (frame[i] != WIRE_NONE)
            in[n++] = frame[i];
    }
    *at = (struct scan_attr) {
        .n_states = 1, .n_scanned = n - 1, .in_axes = { n - 1, axes }, .out_axes = { 1, axes }
    };
    TRY(body_make(l, rule, body[0]));
    return convert_with_body(l, &op_scan, at, body, in, n, ret, 2);
}

static uint32_t heads_of(struct emitter *e, unsigned i, int64_t heads)
{
    uint32_t x = emit_cast(e, e->l->in[i], DTYPE_F32);
    return emit(e, "Reshape", x, emit_list(e, 0, 0, heads, -1));
}

rill_status up_linear_attention(struct conversion *l)
{
    struct emitter e = { l, RILL_OK };
    const struct rule *rule;
    TRY(rule_take(l, &rule));
    const int64_t q = convert_int(l, "q_num_heads", 0), kv = convert_int(l, "kv_num_heads", 0);
    const float scale = convert_float_of(l, "scale", 0);
    uint32_t frame[FRAMES] = { WIRE_NONE, heads_of(&e, IN_K, kv), heads_of(&e, IN_V, kv), WIRE_NONE,
                               WIRE_NONE };
    uint32_t wide = emit_cast(&e, l->in[IN_Q], DTYPE_F32), got[2] = { WIRE_NONE, WIRE_NONE };
    frame[FRAME_Q] = emit(&e, "Reshape", wide, emit_list(&e, 0, 0, kv, q / kv, -1));
    if (rule->decays)
        frame[FRAME_DECAY] = heads_of(&e, IN_DECAY, kv);
    if (rule->corrects) {
        uint32_t beta = emit_cast(&e, l->in[IN_BETA], DTYPE_F32);
        frame[FRAME_BETA] = emit(&e, "Unsqueeze", beta, emit_list(&e, -1));
    }
    TRY(scan_put(&e, rule, start_of(&e, frame), frame, got));
    uint32_t width = emit_cast(&e, emit_sizes(&e, frame[FRAME_K], 3, 4), DTYPE_F32);
    uint32_t by = scale > 0 || scale < 0 ? emit_float(&e, scale, wide)
                                         : emit(&e, "Reciprocal", emit(&e, "Sqrt", width));
    uint32_t y = emit(&e, "Reshape", emit(&e, "Mul", got[1], by), emit_list(&e, 0, 0, -1));
    uint32_t like = convert_has(l, IN_PAST) ? l->in[IN_PAST] : l->in[IN_Q];
    (void) emit_output(&e, 0, emit(&e, "CastLike", y, l->in[IN_Q]));
    return emit_output(&e, 1, emit(&e, "CastLike", got[0], like));
}

/* The form of com.microsoft: its state keeps no windows. */
rill_status up_vendor_linear_attention(struct conversion *l)
{
    return convert_int(l, "state_window", 0)
        ? convert_fail(l, RILL_UNSUPPORTED, "attribute 'state_window' is supported as 0")
        : up_linear_attention(l);
}
