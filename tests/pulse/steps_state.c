/* SPDX-License-Identifier: MIT */
/* Steps whose state is the stream's: recurrent cells, Scans, running sums. */
#include "tests/pulse/steps.h"

/* Y [T, 1, 1, C] of a cell along time. */
static void emit_cell(struct gb *b, struct stage *s, const char *op, int gates, const char *attrs)
{
    int c = s->channels;
    uint32_t x = gb_transpose(b, s->wire, "2,0,1"), w = gb_weights(b, 3, 1, gates * c, c),
             r = gb_weights(b, 3, 1, gates * c, c);
    uint32_t y = GB(b, op, gb_printf(b, "hidden_size=%d %s", c, attrs), x, w, r,
                    gb_weights(b, 2, 1, 2 * gates * c));
    s->wire = gb_transpose(b, GB(b, "Squeeze", "", y, gb_ints(b, 1)), "1,2,0");
}

static void emit_gru(struct gb *b, struct stage *s, const int *v)
{
    emit_cell(b, s, "GRU", 3,
              gb_printf(b, "linear_before_reset=%d%s", v[0], v[1] ? " clip=0.3" : ""));
}

static void emit_lstm(struct gb *b, struct stage *s, const int *v)
{
    emit_cell(b, s, "LSTM", 4, v[0] ? "clip=0.3" : "");
}

static void emit_rnn(struct gb *b, struct stage *s, const int *v)
{
    emit_cell(b, s, "RNN", 1, v[0] ? "activations=Relu clip=1.5" : "");
}

/* Over channels, in each frame afresh: time is the batch. */
static void emit_gru_across(struct gb *b, struct stage *s, const int *v)
{
    int h = 2;
    uint32_t x = gb_transpose(b, s->wire, "1,2,0"), w = gb_weights(b, 3, 1, 3 * h, 1),
             r = gb_weights(b, 3, 1, 3 * h, h);
    uint32_t y = GB(b, "GRU", gb_printf(b, "hidden_size=2 linear_before_reset=%d", v[0]), x, w, r);
    y = GB(b, "ReduceSum", "keepdims=0", y, gb_ints(b, 1, 3)); /* [C, T] */
    s->wire = GB(b, "Unsqueeze", "", y, gb_ints(b, 0));
}

static void emit_cumsum(struct gb *b, struct stage *s, const int *v)
{
    s->wire = GB(b, "CumSum", gb_printf(b, "exclusive=%d", v[0]), s->wire, gb_int(b, 2));
}

/* A leaky sum along time. */
static void emit_scan(struct gb *b, struct stage *s, const int *v)
{
    struct gb body;
    gb_body(&body, b, "leak");
    uint32_t state = gb_body_input(&body, "state"), x = gb_body_input(&body, "x");
    uint32_t next = GB(&body, "Add", "", GB(&body, "Mul", "", state, gb_scalar(&body, 0.5f)), x);
    gb_output(&body, next);
    gb_output(&body, v[0] ? GB(&body, "Tanh", "", next) : next);
    const struct gb_scan at = SCAN_OF(1, 1, 1, .in_axes = I64S(2), .out_axes = I64S(2));
    const uint32_t in[] = { gb_weights(b, 2, 1, s->channels), s->wire };
    struct node *n = gb_scan(b, &body, &at, in, 2);
    s->wire = n ? n->out[1] : WIRE_NONE;
}

/* Two scanned inputs, one later than the other by the right pad of its convolution. */
static void emit_scan_pair(struct gb *b, struct stage *s, const int *v)
{
    struct gb body;
    uint32_t w = gb_weights(b, 3, s->channels, s->channels, v[0] + 1);
    uint32_t late = GB(b, "Conv", gb_printf(b, "pads=0,%d", v[0]), s->wire, w);
    gb_body(&body, b, "pair");
    uint32_t state = gb_body_input(&body, "state"), x = gb_body_input(&body, "x"),
             y = gb_body_input(&body, "y");
    uint32_t next = GB(&body, "Tanh", "", GB(&body, "Add", "", GB(&body, "Mul", "", state, x), y));
    gb_output(&body, next);
    gb_output(&body, GB(&body, "Sub", "", next, x));
    const struct gb_scan at = SCAN_OF(1, 2, 1, .in_axes = I64S(2, 2), .out_axes = I64S(2));
    const uint32_t in[] = { gb_weights(b, 2, 1, s->channels), v[1] ? late : s->wire,
                            v[1] ? s->wire : late };
    struct node *n = gb_scan(b, &body, &at, in, 3);
    s->wire = n ? n->out[1] : WIRE_NONE;
}

/* Along the channels: the state is one row of time and starts afresh in every run. */
static void emit_scan_across(struct gb *b, struct stage *s, const int *v)
{
    struct gb body;
    gb_body(&body, b, "across");
    uint32_t state = gb_body_input(&body, "state"), x = gb_body_input(&body, "x"); /* [1, T] */
    uint32_t y = x;
    if (v[0])
        y = GB(&body, "Conv",
               gb_printf(&body, "pads=%d,%d", v[1], v[0] - v[1] > 0 ? v[0] - v[1] : 0),
               GB(&body, "Unsqueeze", "", x, gb_ints(&body, 0)),
               gb_weights(&body, 3, 1, 1, v[0] + 1));
    if (v[0])
        y = GB(&body, "Squeeze", "", y, gb_ints(&body, 0));
    y = GB(&body, "Tanh", "", GB(&body, "Add", "", state, y));
    gb_output(&body, y);
    gb_output(&body, y);
    const struct gb_scan at = SCAN_OF(1, 1, 1, .in_axes = I64S(1), .out_axes = I64S(1));
    uint32_t zero =
        GB(b, "Mul", "", GB(b, "Gather", "axis=1", s->wire, gb_int(b, 0)), gb_scalar(b, 0.25f));
    const uint32_t in[] = { zero, s->wire };
    struct node *n = gb_scan(b, &body, &at, in, 2);
    s->wire = n ? n->out[1] : WIRE_NONE;
}

const struct step_kind steps_state[] = {
    { "gru", { { "lbr", 0, 1, 0 }, { "clip", 0, 1, 0 } }, emit_gru },
    { "lstm", { { "clip", 0, 1, 0 } }, emit_lstm },
    { "rnn", { { "relu", 0, 1, 0 } }, emit_rnn },
    { "gruacross", { { "lbr", 0, 1, 0 } }, emit_gru_across },
    { "cumsum", { { "exclusive", 0, 1, 0 } }, emit_cumsum },
    { "scan", { { "tanh", 0, 1, 0 } }, emit_scan },
    { "scanpair", { { "late", 0, 3, 1 }, { "swap", 0, 1, 0 } }, emit_scan_pair },
    { "scanacross", { { "k", 0, 2, 0 }, { "l", 0, 2, 0 } }, emit_scan_across },
    { NULL, { { NULL, 0, 0, 0 } }, NULL },
};
