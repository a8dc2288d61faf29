/* SPDX-License-Identifier: MIT */
/* Scans along time and across it: with late inputs, in both directions, with histories of their own
 * in every iteration, in one another; and those that are refused. */
#include "tests/pulse/drift_random.h"
#include "tests/pulse/oracle.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- across: [3, 2, T] with time on axis `time`, scanned along `axis` ---- */

enum inside { PLAIN, BEFORE, EDGE, POOL, AHEAD, AHEAD_STATE, AHEAD_OWN };

struct across {
    int time, axis, out_axis;
    bool back_in, back_out;
    enum inside inside;
    bool late;
};

/* Frames of y, whose time is on axis t, as [1, channels, T], and back. */
static uint32_t frames_last(struct gb *b, uint32_t y, int t)
{
    return GB(b, "Unsqueeze", "", t ? y : gb_transpose(b, y, "1,0"), gb_ints(b, 0));
}

static uint32_t frames_back(struct gb *b, uint32_t y, int t)
{
    y = GB(b, "Squeeze", "", y, gb_ints(b, 0));
    return t ? y : gb_transpose(b, y, "1,0");
}

/* What the body does to its slice [., T] or [T, .] along time. */
static uint32_t look(struct gb *b, enum inside what, uint32_t x, int t)
{
    if (what == BEFORE)
        return gb_slice(b, gb_pad(b, x, 2, t, "constant", 3, 0), t, 0, -3, 1);
    if (what == EDGE)
        return gb_slice(b, gb_pad(b, x, 2, t, "edge", 2, 0), t, 0, -2, 1);
    if (what == POOL)
        return frames_back(b, GB(b, "MaxPool", "kernel_shape=3 pads=2,0", frames_last(b, x, t)), t);
    if (what >= AHEAD)
        return frames_back(b, GB(b, "MaxPool", "kernel_shape=3 pads=0,2", frames_last(b, x, t)), t);
    return x;
}

static uint32_t shape_without(struct gb *b, const struct across *a, uint32_t x)
{
    const uint32_t first = gb_slice(b, x, a->axis, 0, 1, 1);
    return GB(b, "Mul", "", GB(b, "Squeeze", "", first, gb_ints(b, a->axis)), gb_scalar(b, 0.25f));
}

static void across(struct gb *b, const void *ctx)
{
    const struct across *a = ctx;
    struct gb body;
    int dim[3], k = 3, t = a->time - (a->axis < a->time);
    for (int i = 0; i < 3; i++)
        dim[i] = i == a->time ? GB_TIME : k--;
    uint32_t x = gb_input(b, "x", 3, dim[0], dim[1], dim[2]);
    if (a->late)
        x = gb_slice(b, gb_pad(b, x, 3, a->time, "constant", 0, 2), a->time, 2, INT64_MAX, 1);
    gb_body(&body, b, "across");
    uint32_t state = gb_body_input(&body, "state"), row = gb_body_input(&body, "row");
    const bool own = a->inside == AHEAD_OWN;
    uint32_t y = look(&body, a->inside, own ? state : row, t);
    uint32_t next =
        GB(&body, "Tanh", "",
           GB(&body, "Add", "", GB(&body, "Neg", "", state), a->inside == AHEAD ? row : y));
    gb_output(&body, next);
    gb_output(&body, a->inside == AHEAD ? GB(&body, "Sub", "", y, next) : next);
    const struct gb_scan at =
        SCAN_OF(1, 1, 1, .in_axes = I64S(a->axis), .in_reverse = I64S(a->back_in),
                .out_axes = I64S(a->out_axis), .out_reverse = I64S(a->back_out));
    struct node *n = gb_scan(b, &body, &at, (uint32_t[]) { shape_without(b, a, x), x }, 2);
    if (!n)
        return;
    gb_output(b, n->out[1]);
    gb_output(b, GB(b, "Neg", "", n->out[0])); /* the last state: a wire that streams */
}

/* ---- in one another: [3, 2, T], the inner body has a row of time and remembers ---- */

static void nested(struct gb *b, const void *ctx)
{
    struct gb body, inner;
    const int *back = ctx;
    uint32_t x = gb_input(b, "x", 3, 3, 2, GB_TIME);
    gb_body(&body, b, "outer");
    uint32_t state = gb_body_input(&body, "state"),
             rows = gb_body_input(&body, "rows"); /* [2, T] */
    rows = gb_slice(&body, gb_pad(&body, rows, 2, 1, "edge", 1, 0), 1, 0, -1, 1);
    gb_body(&inner, &body, "inner");
    uint32_t sum = gb_body_input(&inner, "sum"), row = gb_body_input(&inner, "row"); /* [T] */
    uint32_t old = gb_slice(&inner, gb_pad(&inner, row, 1, 0, "constant", 2, 0), 0, 0, -2, 1);
    uint32_t next =
        GB(&inner, "Tanh", "", GB(&inner, "Sub", "", GB(&inner, "Add", "", sum, row), old));
    gb_output(&inner, next);
    gb_output(&inner, next);
    const struct gb_scan in =
        SCAN_OF(1, 1, 1, .in_reverse = I64S(back[1]), .out_reverse = I64S(back[1]));
    uint32_t zero = GB(&body, "ReduceSum", "keepdims=0",
                       GB(&body, "Mul", "", state, gb_scalar(&body, 0.5f)), gb_ints(&body, 0));
    struct node *n = gb_scan(&body, &inner, &in, (uint32_t[]) { zero, rows }, 2);
    uint32_t y = n ? n->out[1] : WIRE_NONE;
    gb_output(&body, GB(&body, "Tanh", "", GB(&body, "Add", "", state, y)));
    gb_output(&body, y);
    const struct gb_scan out = SCAN_OF(1, 1, 1, .in_reverse = I64S(back[0]), .out_axes = I64S(2));
    uint32_t first = GB(b, "Squeeze", "", gb_slice(b, x, 0, 1, 2, 1), gb_ints(b, 0));
    n = gb_scan(b, &body, &out, (uint32_t[]) { first, x }, 2);
    if (n)
        gb_output(b, n->out[1]);
}

/* ---- along: two states, scanned inputs on different axes, one later, a capture, outputs on other
 * axes ---- */

static void along(struct gb *b, const void *ctx)
{
    struct gb body;
    int ahead = *(const int *) ctx;
    uint32_t x = gb_input(b, "x", 3, 1, 3, GB_TIME);
    uint32_t late =
        GB(b, "Conv", gb_printf(b, "pads=%d,%d", 2 - ahead, ahead), x, gb_weights(b, 3, 3, 3, 3));
    gb_body(&body, b, "frames");
    uint32_t h = gb_body_input(&body, "h"), c = gb_body_input(&body, "c");
    uint32_t f = gb_body_input(&body, "f"), g = gb_body_input(&body, "g"),
             bias = gb_body_input(&body, "bias");
    uint32_t c2 = GB(&body, "Add", "", GB(&body, "Mul", "", c, gb_scalar(&body, 0.5f)), f);
    uint32_t h2 = GB(&body, "Tanh", "", GB(&body, "Add", "", GB(&body, "Sub", "", c2, h), bias));
    gb_output(&body, h2);
    gb_output(&body, c2);
    gb_output(&body, GB(&body, "Mul", "", h2, g));
    gb_output(&body, c);
    const struct gb_scan at = SCAN_OF(2, 2, 2, .in_axes = I64S(-1, 0), .out_axes = I64S(-1, 1));
    const uint32_t in[] = { gb_weights(b, 2, 1, 3), gb_full(b, 2.0f, 2, 1, 3), late,
                            gb_transpose(b, x, "2,0,1"), gb_weights(b, 2, 1, 3) };
    struct node *n = gb_scan(b, &body, &at, in, 5);
    if (!n)
        return;
    gb_output(b, n->out[2]);
    gb_output(b,
              GB(b, "Conv", "pads=1,1", gb_transpose(b, n->out[3], "0,2,1"),
                 gb_weights(b, 3, 2, 3, 3)));
}

/* Two cumulative sums one in the other's way: a Scan along time of what one across channels gives,
 * late. */
static void along_and_across(struct gb *b, const void *ctx)
{
    struct gb body;
    const struct across a = { .time = 2, .axis = 0, .out_axis = 0, .inside = AHEAD };
    (void) ctx;
    across(b, &a);
    if (!b->g->n_outputs)
        return;
    uint32_t y = b->g->outputs[0]; /* [3, 2, T] */
    gb_body(&body, b, "sum");
    uint32_t state = gb_body_input(&body, "state"), frame = gb_body_input(&body, "frame");
    uint32_t next =
        GB(&body, "Add", "", GB(&body, "Mul", "", state, gb_scalar(&body, 0.5f)), frame);
    gb_output(&body, next);
    gb_output(&body, next);
    const struct gb_scan at = SCAN_OF(1, 1, 1, .in_axes = I64S(2), .out_axes = I64S(0));
    struct node *n = gb_scan(b, &body, &at, (uint32_t[]) { gb_weights(b, 2, 3, 2), y }, 2);
    if (n)
        gb_output(b, n->out[1]);
}

/* Along time in the body of one across it, each row from a start of its own; ctx: how the rows are
 * read and written. */
static void along_in_across(struct gb *b, const void *ctx)
{
    struct gb body, inner;
    const int *how = ctx;
    uint32_t x = gb_input(b, "x", 3, 3, 2, GB_TIME);
    x = gb_slice(b, gb_pad(b, x, 3, 2, "constant", 0, 2), 2, how[2], INT64_MAX, 1);
    gb_body(&body, b, "rows");
    uint32_t rows = gb_body_input(&body, "rows"),
             start = gb_body_input(&body, "start"); /* [2, T], [2] */
    gb_body(&inner, &body, "frames");
    uint32_t state = gb_body_input(&inner, "state"), frame = gb_body_input(&inner, "frame");
    uint32_t next =
        GB(&inner, "Tanh", "", GB(&inner, "Add", "", GB(&inner, "Neg", "", state), frame));
    gb_output(&inner, next);
    gb_output(&inner, GB(&inner, "Mul", "", next, state));
    const struct gb_scan in = SCAN_OF(1, 1, 1, .in_axes = I64S(1), .out_axes = I64S(1));
    struct node *n =
        gb_scan(&body, &inner, &in, (uint32_t[]) { GB(&body, "Tanh", "", start), rows }, 2);
    gb_output(&body, n ? n->out[1] : WIRE_NONE);
    const struct gb_scan out =
        SCAN_OF(0, 2, 1, .in_reverse = I64S(how[0], how[0]), .out_reverse = I64S(how[1]));
    n = gb_scan(b, &body, &out, (uint32_t[]) { x, gb_weights(b, 2, 3, 2) }, 2);
    if (n)
        gb_output(b, n->out[0]);
}

/* A table is scanned; only what the body captures streams. */
static void table(struct gb *b, const void *ctx)
{
    struct gb body;
    uint32_t x = gb_input(b, "x", 3, 1, 3, GB_TIME);
    (void) ctx;
    gb_body(&body, b, "rows");
    uint32_t row = gb_body_input(&body, "row"), all = gb_body_input(&body, "all");
    gb_output(&body, GB(&body, "Conv", "pads=1,1", all, row));
    const struct gb_scan at = SCAN_OF(0, 1, 1, .in_reverse = I64S(1), .out_axes = I64S(2));
    struct node *n = gb_scan(b, &body, &at, (uint32_t[]) { gb_weights(b, 4, 4, 2, 3, 3), x }, 2);
    if (n)
        gb_output(b, n->out[0]);
}

/* ctx: "captured": every iteration sees all of time; "axes": two scanned inputs, each with time on
 * its own axis. */
static void along_two(struct gb *b, const void *ctx)
{
    struct gb body;
    bool captured = *(const char *) ctx == 'c';
    uint32_t x = gb_transpose(b, gb_input(b, "x", 3, 1, 3, GB_TIME), "2,0,1");
    uint32_t other = captured ? x : gb_transpose(b, x, "1,0,2");
    gb_body(&body, b, "frames");
    uint32_t f = gb_body_input(&body, "f"), g = gb_body_input(&body, "g");
    gb_output(&body,
              captured ? GB(&body, "Mul", "", f,
                            GB(&body, "ReduceMax", "keepdims=0", g, gb_ints(&body, 0)))
                       : GB(&body, "Add", "", f, g));
    const struct gb_scan at = SCAN_OF(0, captured ? 1 : 2, 1, .in_axes = I64S(0, 1));
    struct node *n = gb_scan(b, &body, &at, (uint32_t[]) { x, other }, 2);
    gb_output(b, n ? n->out[0] : WIRE_NONE);
}

/* Each frame times all of them, beside a state: scores of attention, a row in each iteration. */
static void scores(struct gb *b, const void *ctx)
{
    struct gb body;
    const uint32_t x = gb_transpose(b, gb_input(b, "x", 3, 1, 3, GB_TIME), "2,0,1"),
                   y = GB(b, "Squeeze", "", x, gb_ints(b, 1));
    (void) ctx;
    gb_body(&body, b, "frames");
    const uint32_t sum = gb_body_input(&body, "sum"), f = gb_body_input(&body, "f"),
                   all = gb_body_input(&body, "all"),
                   column = GB(&body, "Unsqueeze", "", f, gb_ints(&body, 1));
    gb_output(&body, GB(&body, "Add", "", sum, f));
    gb_output(&body,
              GB(&body, "Squeeze", "", GB(&body, "MatMul", "", all, column), gb_ints(&body, 1)));
    const struct gb_scan at = SCAN_OF(1, 1, 1, .in_axes = I64S(0));
    struct node *n = gb_scan(b, &body, &at, (uint32_t[]) { gb_full(b, 0, 1, 3), y, y }, 3);
    if (n)
        gb_output(b, GB(b, "ReduceMax", "keepdims=1", n->out[1], gb_ints(b, 1)));
}

/* ---- other bodies ---- */

static void branches(struct gb *b, const void *ctx)
{
    struct gb branch[2];
    uint32_t x = gb_input(b, "x", 3, 1, 3, GB_TIME);
    uint32_t flag = GB(b, "Greater", "", GB(b, "ReduceSum", "keepdims=0", gb_input(b, "way", 1, 2)),
                       gb_scalar(b, 0));
    (void) ctx;
    for (int k = 0; k < 2; k++) {
        gb_body(&branch[k], k ? &branch[0] : b, k ? "else" : "then");
        gb_output(&branch[k],
                  GB(&branch[k], k ? "Neg" : "Relu", "", gb_body_input(&branch[k], "x")));
    }
    struct node *n = drift_if(b, branch, (uint32_t[]) { flag, x }, 2, 1);
    gb_output(b, n ? n->out[0] : WIRE_NONE);
}

/* refused */
static void rounds(struct gb *b, const void *ctx)
{
    struct gb body;
    uint32_t x = gb_input(b, "x", 3, 1, 3, GB_TIME);
    (void) ctx;
    gb_body(&body, b, "round");
    gb_body_input(&body, "i");
    uint32_t go = gb_body_input(&body, "go"), v = gb_body_input(&body, "v");
    gb_output(&body, GB(&body, "Identity", "", go));
    gb_output(&body, GB(&body, "Tanh", "", v));
    struct node *n = drift_loop(b, &body, (uint32_t[]) { gb_int(b, 3), WIRE_NONE, x }, 3, 1, 0);
    gb_output(b, n ? n->out[0] : WIRE_NONE);
}

/* clang-format off */
#define ACROSS(...) across, &(const struct across) { __VA_ARGS__ }
#define STREAMS { NULL, NULL, NULL, NULL }
/* clang-format on */

static const struct oracle_case cases[] = {
    { "across, time on axis 0", ACROSS(.time = 0, .axis = 1, .out_axis = 0), STREAMS },
    { "across, time on axis 0, out on 2", ACROSS(.time = 0, .axis = 2, .out_axis = 2), STREAMS },
    { "across, time on axis 1", ACROSS(.time = 1, .axis = 0, .out_axis = 1), STREAMS },
    { "across, time on axis 1, scanned on 2",
      ACROSS(.time = 1, .axis = 2, .out_axis = 0, .late = true), STREAMS },
    { "across, time on axis 2", ACROSS(.time = 2, .axis = 1, .out_axis = 2, .late = true),
      STREAMS },
    { "across, backwards",
      ACROSS(.time = 2, .axis = 0, .out_axis = 0, .back_in = true, .back_out = true), STREAMS },
    { "remembers", ACROSS(.time = 0, .axis = 1, .out_axis = 1, .inside = BEFORE), STREAMS },
    { "remembers, read backwards",
      ACROSS(.time = 2, .axis = 0, .out_axis = 2, .back_in = true, .inside = BEFORE), STREAMS },
    { "remembers, written backwards",
      ACROSS(.time = 2, .axis = 1, .out_axis = 0, .back_out = true, .inside = BEFORE), STREAMS },
    { "remembers late", ACROSS(.time = 1, .axis = 0, .out_axis = 0, .inside = BEFORE, .late = true),
      STREAMS },
    { "edges",
      ACROSS(.time = 2, .axis = 0, .out_axis = 0, .back_in = true, .back_out = true,
             .inside = EDGE),
      STREAMS },
    { "edges late", ACROSS(.time = 2, .axis = 1, .out_axis = 0, .inside = EDGE, .late = true),
      STREAMS },
    { "a pool's past", ACROSS(.time = 2, .axis = 0, .out_axis = 0, .inside = POOL), STREAMS },
    { "a pool's past, late",
      ACROSS(.time = 1, .axis = 2, .out_axis = 0, .back_in = true, .inside = POOL, .late = true),
      STREAMS },
    { "an output looks ahead", ACROSS(.time = 2, .axis = 0, .out_axis = 1, .inside = AHEAD),
      STREAMS },
    { "an output looks ahead, backwards",
      ACROSS(.time = 0, .axis = 1, .out_axis = 2, .back_in = true, .inside = AHEAD), STREAMS },
    { "in one another", nested, &(const int[]) { 0, 0 }, STREAMS },
    { "in one another, outer backwards", nested, &(const int[]) { 1, 0 }, STREAMS },
    { "in one another, inner backwards", nested, &(const int[]) { 0, 1 }, STREAMS },
    { "in one another, both backwards", nested, &(const int[]) { 1, 1 }, STREAMS },
    { "along", along, &(const int) { 0 }, STREAMS },
    { "along, one input later", along, &(const int) { 1 }, STREAMS },
    { "along, one input later by 2", along, &(const int) { 2 }, STREAMS },
    { "along, time on two axes", along_two, "axes", STREAMS },
    { "along after across", along_and_across, NULL, STREAMS },
    { "along in across", along_in_across, &(const int[]) { 0, 0, 0 }, STREAMS },
    { "along in across, late, backwards", along_in_across, &(const int[]) { 1, 0, 2 }, STREAMS },
    { "along in across, written backwards", along_in_across, &(const int[]) { 0, 1, 1 }, STREAMS },
    { "over a table", table, NULL, STREAMS },
    { "a state that waits for its row", ACROSS(.time = 2, .axis = 0, .inside = AHEAD_STATE),
      STREAMS },
    { "the same, late", ACROSS(.time = 1, .axis = 2, .inside = AHEAD_STATE, .late = true),
      STREAMS },
    { "a state that gets later",
      ACROSS(.time = 2, .axis = 0, .inside = AHEAD_OWN),
      { "(Scan)", "state 0", "2 frames later", "every iteration" } },
    { "all of time in each frame",
      along_two,
      "captured",
      { "(Scan)", "input 1", "sees whole", "time" } },
    { "scores, beside a state", scores, NULL, { "(Scan)", "its body makes scores", "mask", NULL } },
    { "branches", branches, NULL, STREAMS },
    { "rounds", rounds, NULL, { "(Loop)", "time axis", "one by one, it streams", NULL } },
};

/* ---- a state that starts from an input ---- */

/* ctx: the state's first value, or NULL: that of an input, which is asked for once. */
static void from_input(struct gb *b, const void *ctx)
{
    struct gb body;
    const float *start = ctx;
    uint32_t x = gb_input(b, "x", 3, 1, 2, GB_TIME),
             h = start ? gb_full(b, *start, 2, 1, 2) : gb_input(b, "h", 2, 1, 2);
    x = gb_slice(b, gb_pad(b, x, 3, 2, "constant", 0, 5), 2, 5, INT64_MAX,
                 1); /* late by 5 frames */
    gb_body(&body, b, "frames");
    uint32_t state = gb_body_input(&body, "state"), frame = gb_body_input(&body, "frame");
    uint32_t next =
        GB(&body, "Sub", "", frame, GB(&body, "Mul", "", state, gb_scalar(&body, 0.75f)));
    gb_output(&body, next);
    gb_output(&body, next);
    const struct gb_scan at = SCAN_OF(1, 1, 1, .in_axes = I64S(2), .out_axes = I64S(2));
    struct node *n = gb_scan(b, &body, &at, (uint32_t[]) { h, x }, 2);
    if (n)
        gb_output(b, n->out[1]);
}

#define LENGTH 23
#define START 0.625f

/* Streams LENGTH frames; input 1, if there is one, is START in the first run and NaN after it.
 * Frames given. */
static int64_t stream_all(const rill_plan *p, float *ret_frames)
{
    rill_stream *s =
        rill_stream_init(aligned_alloc(64, (rill_plan_stream_size(p) + 63) & ~(size_t) 63), p);
    int64_t got = 0;
    size_t pushed = 0, taken, given = 1, out = p->n_inputs;
    for (unsigned runs = 0; runs < 200; runs++) {
        for (taken = 1; pushed < LENGTH && taken; pushed += taken) {
            const float frame[2] = { (float) pushed - 9, 0.5f * (float) (pushed % 5) };
            rill_stream_push(s, 0, frame, 1, &taken);
        }
        const float first = runs ? NAN : START;
        if (p->n_inputs > 1 && pushed < LENGTH)
            rill_stream_push(s, 1, (const float[]) { first, first }, 1, &taken);
        if (pushed == LENGTH)
            rill_stream_finish(s);
        if (rill_stream_run(s) == RILL_END)
            break;
        for (given = 1; given && got < LENGTH; got += (int64_t) given)
            if (rill_stream_pull(s, (unsigned) out, ret_frames + 2 * got, 1, &given) != RILL_OK)
                break;
    }
    free(s);
    return got;
}

static void test_from_input(void)
{
    static const int pulses[] = { 1, 2, 3, 4, 6, 8 };
    const float start = START;
    struct oracle a, b;
    bool open = oracle_open(&a, from_input, &start, NULL) == LAW_HOLDS &&
        oracle_open(&b, from_input, NULL, NULL) == LAW_HOLDS;
    oracle_check(open, "a state from an input does not type");
    for (size_t i = 0; open && i < sizeof pulses / sizeof *pulses; i++) {
        float given[2][2 * LENGTH] = { { 0 } };
        bool cut =
            oracle_pulse(&a, pulses[i]) == LAW_HOLDS && oracle_pulse(&b, pulses[i]) == LAW_HOLDS;
        oracle_check(cut, "a state from an input, pulse %d: %s%s", pulses[i], a.err.text,
                     b.err.text);
        if (!cut)
            continue;
        int64_t n = stream_all(a.plan, given[0]), m = stream_all(b.plan, given[1]);
        oracle_check(n == LENGTH && m == LENGTH,
                     "a state from an input, pulse %d: %d and %d frames", pulses[i], (int) n,
                     (int) m);
        oracle_check(!memcmp(given[0], given[1], sizeof given[0]),
                     "a state from an input, pulse %d: it differs from the same "
                     "state as a constant",
                     pulses[i]);
    }
    oracle_close(&a);
    oracle_close(&b);
}

int main(void)
{
    static const int pulses[] = { 1, 2, 3, 4, 7, 16, -1 },
                     lengths[] = { 0, 1, 2, 3, 5, 8, 17, 40, -1 };
    const struct oracle_trial trial = { pulses, lengths, .cuts = 3, .whole_least = 61 };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        oracle_try(&cases[i], &trial);
    test_from_input();
    return oracle_end();
}
