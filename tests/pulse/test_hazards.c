/* SPDX-License-Identifier: MIT */
/* Graphs that are easy to stream wrongly: each either obeys the law or is refused by op, axis and
 * reason. */
#include "tests/pulse/oracle.h"
#include "tests/pulse/steps.h"

#include <stdio.h>
#include <string.h>

/* ctx: a chain as text. */
static void chain_text(struct gb *b, const void *ctx)
{
    struct chain c;
    if (chain_parse(&c, ctx))
        chain_recipe(b, &c);
    else
        err_set(&b->err, RILL_INVALID, "'%s' is not understood", (const char *) ctx);
}

/* ---- ops that look at all of time ---- */

/* ctx: op and attributes, on [1, 3, T]. */
struct over_time {
    const char *op, *attrs;
    int extra;
};

enum { EXTRA_NONE, EXTRA_AXES, EXTRA_SCALE, EXTRA_SCALE_BIAS, EXTRA_K, EXTRA_AXIS };

static void over_time(struct gb *b, const void *ctx)
{
    const struct over_time *o = ctx;
    uint32_t x = gb_input(b, "x", 3, 1, 3, GB_TIME), y = WIRE_NONE;
    x = GB(b, "Relu", "", x);
    if (o->extra == EXTRA_NONE)
        y = GB(b, o->op, o->attrs, x);
    if (o->extra == EXTRA_AXES)
        y = GB(b, o->op, o->attrs, x, gb_ints(b, 2));
    if (o->extra == EXTRA_AXIS)
        y = GB(b, o->op, o->attrs, x, gb_int(b, 2));
    if (o->extra == EXTRA_SCALE)
        y = GB(b, o->op, o->attrs, x, gb_weights(b, 2, 3, 1));
    if (o->extra == EXTRA_SCALE_BIAS)
        y = GB(b, o->op, o->attrs, x, gb_weights(b, 1, 3), gb_weights(b, 1, 3));
    if (o->extra == EXTRA_K) {
        struct node *n = gb_node(b, o->op, o->attrs, (uint32_t[]) { x, gb_ints(b, 1) }, 2, 2);
        y = n ? n->out[0] : WIRE_NONE;
    }
    gb_output(b, GB(b, "Cast", "to=1", y));
}

/* Root mean square over time, as exporters write it. */
static void rms_norm(struct gb *b, const void *ctx)
{
    uint32_t x = gb_input(b, "x", 3, 1, 3, GB_TIME);
    (void) ctx;
    uint32_t m = GB(b, "ReduceMean", "keepdims=1", GB(b, "Mul", "", x, x), gb_ints(b, 2));
    gb_output(b, GB(b, "Div", "", x, GB(b, "Sqrt", "", m)));
}

/* ---- cuts ---- */

static void last_frames(struct gb *b, const void *ctx)
{
    (void) ctx;
    gb_output(b, gb_slice(b, gb_input(b, "x", 3, 1, 3, GB_TIME), 2, -3, INT32_MAX, 1));
}

/* From T - 3 on, with the length read from the shape. */
static void last_frames_by_shape(struct gb *b, const void *ctx)
{
    uint32_t x = gb_input(b, "x", 3, 1, 3, GB_TIME);
    (void) ctx;
    uint32_t t = GB(b, "Slice", "", GB(b, "Shape", "", x), gb_ints(b, 2), gb_ints(b, 3));
    uint32_t from = GB(b, "Sub", "", t, gb_ints(b, 3));
    gb_output(b, GB(b, "Slice", "", x, from, t, gb_ints(b, 2)));
}

/* A loop over the frames of an example of four, as one that traces writes it; or a factor of x. */
static void unrolled(struct gb *b, const void *ctx)
{
    const uint32_t x = gb_input(b, "x", 2, 2, GB_TIME);
    uint32_t h[4] = { gb_slice(b, x, 1, 0, 1, 1) };
    for (int i = 1; i < 4; i++)
        h[i] = GB(b, "Add", "", h[i - 1], GB(b, "Gather", "axis=1", x, gb_ints(b, i)));
    const uint32_t y = gb_op(b, "Concat", "axis=1", h, 4);
    gb_output(b, ctx ? GB(b, "Mul", "", x, y) : y);
}

static void first_frame(struct gb *b, const void *ctx)
{
    (void) ctx;
    gb_output(b, gb_slice(b, gb_input(b, "x", 3, 1, 3, GB_TIME), 2, 0, 1, 1));
}

static void first_frame_by_index(struct gb *b, const void *ctx)
{
    (void) ctx;
    gb_output(b, GB(b, "Gather", "axis=2", gb_input(b, "x", 3, 1, 3, GB_TIME), gb_int(b, 0)));
}

static void first_frame_as_context(struct gb *b, const void *ctx)
{
    uint32_t x = gb_input(b, "x", 3, 1, 3, GB_TIME);
    (void) ctx;
    gb_output(b, GB(b, "Sub", "", x, gb_slice(b, x, 2, 0, 1, 1)));
}

static void backwards(struct gb *b, const void *ctx)
{
    (void) ctx;
    gb_output(b, gb_slice(b, gb_input(b, "x", 3, 1, 3, GB_TIME), 2, -1, INT32_MIN, -1));
}

/* most - T % of behind it, which takes frames away where it is negative, and a window over that. */
struct pads_by_length {
    int64_t most, of;
};

static void pads_by_length(struct gb *b, const void *ctx)
{
    const struct pads_by_length *c = ctx;
    uint32_t x = gb_input(b, "x", 3, 1, 3, GB_TIME);
    uint32_t t = GB(b, "Slice", "", GB(b, "Shape", "", x), gb_ints(b, 2), gb_ints(b, 3));
    uint32_t after = GB(b, "Sub", "", gb_ints(b, c->most), GB(b, "Mod", "", t, gb_ints(b, c->of)));
    uint32_t pads = GB(b, "Concat", "axis=0", gb_ints(b, 0, 0, 0, 0, 0), after);
    gb_output(b, GB(b, "Conv", "pads=1,1", GB(b, "Pad", "", x, pads), gb_weights(b, 3, 3, 3, 3)));
}

/* The first frame of a pool, from T = 512 on. */
static void first_of_pool(struct gb *b, const void *ctx)
{
    uint32_t x = gb_input(b, "x", 3, 1, 3, GB_TIME);
    (void) ctx;
    uint32_t t = GB(b, "Slice", "", GB(b, "Shape", "", x), gb_ints(b, 2), gb_ints(b, 3));
    uint32_t end = GB(b, "Min", "", gb_ints(b, 1), GB(b, "Div", "", t, gb_ints(b, 512)));
    x = GB(b, "AveragePool", "kernel_shape=128 strides=128", x);
    uint32_t first = GB(b, "Slice", "", x, gb_ints(b, 0), end, gb_ints(b, 2));
    gb_output(b, GB(b, "Add", "", x, GB(b, "ReduceSum", "", first, gb_ints(b, 2))));
}

/* Frame i, but for one. */
static void one_frame_twice(struct gb *b, const void *ctx)
{
    uint32_t x = gb_input(b, "x", 3, 1, 3, GB_TIME);
    (void) ctx;
    uint32_t t = GB(b, "Gather", "axis=0", GB(b, "Shape", "", x), gb_int(b, 2));
    uint32_t i = GB(b, "Range", "", gb_int(b, 0), t, gb_int(b, 1));
    uint32_t late = GB(b, "Cast", "to=8", GB(b, "Equal", "", i, gb_int(b, 9000)));
    gb_output(b, GB(b, "Gather", "axis=2", x, GB(b, "Sub", "", i, late)));
}

/* Twice as many frames, and one more at a single length. */
static void size_of_one_length(struct gb *b, const void *ctx)
{
    uint32_t x = gb_input(b, "x", 3, 1, 3, GB_TIME);
    (void) ctx;
    uint32_t t = GB(b, "Slice", "", GB(b, "Shape", "", x), gb_ints(b, 2), gb_ints(b, 3));
    uint32_t one = GB(b, "Cast", "to=8", GB(b, "Equal", "", t, gb_ints(b, 5000)));
    uint32_t size = GB(b, "Add", "", GB(b, "Mul", "", t, gb_ints(b, 2)), one);
    size = GB(b, "Concat", "axis=0", gb_ints(b, 1, 3), size);
    gb_output(b, GB(b, "Resize", "mode='linear", x, WIRE_NONE, WIRE_NONE, size));
}

/* The rest: frames around the middle, which no stream knows. */
static void half(struct gb *b, const void *ctx)
{
    uint32_t x = gb_input(b, "x", 3, 1, 3, GB_TIME);
    (void) ctx;
    uint32_t t = GB(b, "Slice", "", GB(b, "Shape", "", x), gb_ints(b, 2), gb_ints(b, 3));
    gb_output(b, GB(b, "Slice", "", x, GB(b, "Div", "", t, gb_ints(b, 2)), t, gb_ints(b, 2)));
}

/* ---- stream times stream ---- */

static void product_matmul(struct gb *b, const void *ctx)
{
    uint32_t x = gb_input(b, "x", 3, 1, 3, GB_TIME);
    (void) ctx;
    gb_output(b,
              GB(b, "ReduceSum", "keepdims=0", GB(b, "MatMul", "", gb_transpose(b, x, "0,2,1"), x),
                 gb_ints(b, 1)));
}

static void product_einsum(struct gb *b, const void *ctx)
{
    uint32_t x = gb_input(b, "x", 3, 1, 3, GB_TIME);
    uint32_t y = GB(b, "Einsum", gb_printf(b, "equation='%s", (const char *) ctx), x, x);
    gb_output(b, y);
}

static void product_outer(struct gb *b, const void *ctx)
{
    uint32_t x = gb_input(b, "x", 2, 1, GB_TIME);
    (void) ctx;
    gb_output(b, GB(b, "Mul", "", x, gb_transpose(b, x, "1,0")));
}

static void product_contracted(struct gb *b, const void *ctx)
{
    uint32_t x = gb_input(b, "x", 3, 1, 3, GB_TIME);
    (void) ctx;
    gb_output(b, GB(b, "MatMul", "", x, gb_transpose(b, x, "0,2,1")));
}

/* ---- Scans ---- */

/* ctx: "in" or "out": which side runs backwards. */
static void scan_backwards(struct gb *b, const void *ctx)
{
    struct gb body;
    bool in = ((const char *) ctx)[0] == 'i';
    uint32_t x = gb_transpose(b, gb_input(b, "x", 3, 1, 3, GB_TIME), "2,0,1");
    gb_body(&body, b, "leak");
    uint32_t state = gb_body_input(&body, "state"), frame = gb_body_input(&body, "x");
    uint32_t next =
        GB(&body, "Add", "", GB(&body, "Mul", "", state, gb_scalar(&body, 0.5f)), frame);
    gb_output(&body, next);
    gb_output(&body, next);
    const struct gb_scan at = SCAN_OF(1, 1, 1, .in_reverse = I64S(in), .out_reverse = I64S(!in));
    struct node *n = gb_scan(b, &body, &at, (uint32_t[]) { gb_weights(b, 2, 1, 3), x }, 2);
    gb_output(b, n ? n->out[1] : WIRE_NONE);
}

/* A wire that holds from run to run what `like` begins with. */
static uint32_t kept_wire(struct gb *b, uint32_t like)
{
    struct fact f = b->g->wires[like].fact;
    f.value = NULL;
    return graph_add_wire(b->g, "kept", &f);
}

/* The last value of the state comes out; or, ctx, it is what the next run begins with. */
static void scan_last(struct gb *b, const void *ctx)
{
    struct gb body;
    uint32_t x = gb_transpose(b, gb_input(b, "x", 3, 1, 3, GB_TIME), "2,0,1");
    uint32_t first = gb_weights(b, 2, 1, 3);
    first = ctx ? kept_wire(b, first) : first;
    gb_body(&body, b, "sum");
    uint32_t state = gb_body_input(&body, "state"), frame = gb_body_input(&body, "x");
    gb_output(&body, GB(&body, "Add", "", state, frame));
    gb_output(&body, GB(&body, "Neg", "", frame));
    const struct gb_scan at = { .states = 1, .scans = 1, .outs = 1 };
    struct node *n = gb_scan(b, &body, &at, (uint32_t[]) { first, x }, 2);
    gb_output(b, n ? n->out[ctx != NULL] : WIRE_NONE);
    if (ctx && n)
        graph_add_state(b->g, "kept", first, n->out[0], NULL);
}

/* A declared state that each run adds 1 to. */
static void runs_counted(struct gb *b, const void *ctx)
{
    uint32_t x = gb_input(b, "x", 2, 1, GB_TIME), one = gb_weights(b, 2, 1, 1);
    uint32_t kept = kept_wire(b, one), next = GB(b, "Add", "", kept, one);
    (void) ctx;
    gb_output(b, GB(b, "Add", "", x, kept));
    graph_add_state(b->g, "kept", kept, next, NULL);
}

/* ---- recurrent cells: ctx says which, how, and what is wanted of it ---- */

struct cell {
    const char *op, *attrs;
    int gates, directions, output;
    bool layout, initial, lens, peepholes, late;
};

static void cell(struct gb *b, const void *ctx)
{
    const struct cell *c = ctx;
    int h = 3, d = c->directions, states = strcmp(c->op, "LSTM") ? 2 : 3;
    uint32_t x = gb_input(b, "x", 3, 1, 3, GB_TIME);
    if (c->late)
        x = GB(b, "Conv", "pads=1,1", x, gb_weights(b, 3, 3, 3, 3));
    x = gb_transpose(b, x, c->layout ? "0,2,1" : "2,0,1");
    uint32_t w = gb_weights(b, 3, d, c->gates * h, 3), r = gb_weights(b, 3, d, c->gates * h, h);
    uint32_t bias = gb_weights(b, 2, d, 2 * c->gates * h), lens = WIRE_NONE, p = WIRE_NONE;
    uint32_t h0 = c->initial ? gb_weights(b, 3, 1, d, h) : WIRE_NONE,
             c0 = c->initial && states == 3 ? gb_weights(b, 3, 1, d, h) : WIRE_NONE;
    if (c->lens)
        lens = gb_const(b, DTYPE_I32, 1, (int64_t[]) { 1 }, (int32_t[]) { 4 });
    if (c->peepholes)
        p = gb_weights(b, 2, d, 3 * h);
    const uint32_t in[] = { x, w, r, bias, lens, h0, c0, p };
    struct node *n =
        gb_node(b, c->op, gb_printf(b, "hidden_size=3 layout=%d %s", c->layout, c->attrs), in,
                states == 3 ? 8 : 6, (unsigned) states);
    if (!n)
        return;
    for (unsigned k = 0; k < (unsigned) states; k++) /* an output nobody wants */
        n->out[k] = (int) k == c->output ? n->out[k] : WIRE_NONE;
    uint32_t y = n->out[c->output];
    gb_output(b,
              c->output ? y : GB(b, "ReduceSum", "keepdims=0", y, gb_ints(b, c->layout ? 2 : 1)));
}

static void cumsum(struct gb *b, const void *ctx)
{
    gb_output(b, GB(b, "CumSum", ctx, gb_input(b, "x", 3, 1, 3, GB_TIME), gb_int(b, 2)));
}

/* ---- Scans over chunks: ctx is the number of frames in one ---- */

static void scan_chunks(struct gb *b, const void *ctx)
{
    struct gb body;
    int n = *(const int *) ctx;
    uint32_t x = gb_input(b, "x", 2, GB_TIME * n, 2);
    x = GB(b, "Concat", "axis=0", gb_weights(b, 2, n - 1, 2), x,
           gb_weights(b, 2, 1, 2)); /* n - 1 frames in front */
    uint32_t chunks = GB(b, "Reshape", "", x, gb_ints(b, -1, n, 2));
    gb_body(&body, b, "chunk");
    uint32_t state = gb_body_input(&body, "state"),
             frames = gb_body_input(&body, "frames"); /* [2], [n, 2] */
    uint32_t sum = GB(&body, "ReduceSum", "keepdims=0", frames, gb_ints(&body, 0));
    uint32_t next = GB(&body, "Tanh", "", GB(&body, "Add", "", state, sum));
    gb_output(&body, next);
    gb_output(&body, GB(&body, "Mul", "", frames, state));
    const struct gb_scan at = { .states = 1, .scans = 1, .outs = 1 };
    struct node *made = gb_scan(b, &body, &at, (uint32_t[]) { gb_weights(b, 1, 2), chunks }, 2);
    if (made)
        gb_output(b, GB(b, "Reshape", "", made->out[1], gb_ints(b, -1, 2)));
}

/* Two frames a turn of a late stream: ctx is unused. */
static void scan_late_pairs(struct gb *b, const void *ctx)
{
    struct gb body;
    uint32_t x = GB(b, "Conv", "pads=1,1", gb_input(b, "x", 3, 1, 2, 2 * GB_TIME),
                    gb_weights(b, 3, 2, 2, 3));
    (void) ctx;
    uint32_t pairs = GB(b, "Reshape", "", gb_transpose(b, x, "0,2,1"), gb_ints(b, -1, 2, 2));
    gb_body(&body, b, "pair");
    uint32_t state = gb_body_input(&body, "state"), frames = gb_body_input(&body, "frames");
    uint32_t next =
        GB(&body, "Tanh", "", GB(&body, "Add", "", GB(&body, "Neg", "", state), frames));
    gb_output(&body, next);
    gb_output(&body, next);
    const struct gb_scan at = { .states = 1, .scans = 1, .outs = 1 };
    struct node *made = gb_scan(b, &body, &at, (uint32_t[]) { gb_weights(b, 2, 2, 2), pairs }, 2);
    if (made)
        gb_output(b, made->out[1]);
}

/* clang-format off */
#define STREAMS { NULL, NULL, NULL, NULL }
#define GLOBAL(op) { "(" op ")", "time axis", "at once", NULL }
#define BACKWARDS(op) { "(" op ")", "backwards", "time axis", NULL }
#define LAST(op) { "(" op ")", "last frame", "end of the stream", NULL }
/* clang-format on */
#define CELL_WITH(name, text, g, d, ...)                                                           \
    &(const struct cell)                                                                           \
    {                                                                                              \
        .op = name, .attrs = text, .gates = g, .directions = d, __VA_ARGS__                        \
    }
#define CELL(name, text, g, d) CELL_WITH(name, text, g, d, .output = 0)
/* clang-format off */
#define OVER(op, attrs, extra) &(const struct over_time) { op, attrs, extra }
/* clang-format on */

/* clang-format off */
static const struct oracle_case hazards[] = {
    { "H1 a late wire into a strided deconv", chain_text, "2: conv k=3; deconv k=4 s=2; conv k=2",
      STREAMS },
    { "H1 an encoder and a decoder", chain_text,
      "2: conv k=4 s=2; conv k=4 s=2; deconv k=4 s=2 l=1 r=1; deconv k=4 s=2 l=1 r=1", STREAMS },
    { "H2 a Scan backwards", scan_backwards, "in", { "(Scan)", "backwards", "time", NULL } },
    { "H2 a Scan that writes backwards", scan_backwards, "out",
      { "(Scan)", "backwards", "time", NULL } },
    { "H2 the last state of a Scan", scan_last, NULL,
      { "(Scan)", "state 0", "end of the stream", NULL } },
    { "H2 the last state of a Scan as a state of the net", scan_last, "kept",
      { "(Scan)", "state 0", "end of the stream", NULL } },
    { "H2 a state that changes with each run", runs_counted, NULL,
      { "state 'kept' changes once in a run", NULL } },
    { "H2 a GRU backwards", cell, CELL("GRU", "direction=reverse", 3, 1), BACKWARDS("GRU") },
    { "H2 an LSTM backwards", cell, CELL("LSTM", "direction=reverse", 4, 1), BACKWARDS("LSTM") },
    { "H2 an RNN backwards", cell, CELL("RNN", "direction=reverse", 1, 1), BACKWARDS("RNN") },
    { "H2 a GRU both ways", cell, CELL("GRU", "direction=bidirectional", 3, 2), BACKWARDS("GRU") },
    { "H2 an LSTM both ways", cell, CELL("LSTM", "direction=bidirectional", 4, 2),
      BACKWARDS("LSTM") },
    { "H2 an RNN both ways", cell, CELL("RNN", "direction=bidirectional", 1, 2), BACKWARDS("RNN") },
    { "H2 a sum backwards", cumsum, "reverse=1", BACKWARDS("CumSum") },
    { "H2 a sum backwards without its own", cumsum, "reverse=1 exclusive=1", BACKWARDS("CumSum") },
    { "a sum", cumsum, "exclusive=1", STREAMS },
    { "H2 the last state of a GRU", cell, CELL_WITH("GRU", "", 3, 1, .output = 1), LAST("GRU") },
    { "H2 the last state of an LSTM", cell, CELL_WITH("LSTM", "", 4, 1, .output = 2),
      LAST("LSTM") },
    { "H3 Softmax over time", over_time, OVER("Softmax", "axis=2", EXTRA_NONE), GLOBAL("Softmax") },
    { "H3 LogSoftmax over time", over_time, OVER("LogSoftmax", "axis=-1", EXTRA_NONE),
      GLOBAL("LogSoftmax") },
    { "H3 Hardmax over time", over_time, OVER("Hardmax", "axis=2", EXTRA_NONE),
      { "(Hardmax)", "time axis", NULL, NULL } },
    { "H3 ReduceMean over time", over_time, OVER("ReduceMean", "keepdims=1", EXTRA_AXES),
      GLOBAL("ReduceMean") },
    { "H3 ReduceMax over time", over_time, OVER("ReduceMax", "keepdims=0", EXTRA_AXES),
      GLOBAL("ReduceMax") },
    { "H3 ArgMax over time", over_time, OVER("ArgMax", "axis=2 keepdims=1", EXTRA_NONE),
      { "(ArgMax)", "time axis", NULL, NULL } },
    { "H3 TopK over time", over_time, OVER("TopK", "axis=2", EXTRA_K),
      { "(TopK)", "time axis", NULL, NULL } },
    { "H3 LayerNormalization over time and channels", over_time,
      OVER("LayerNormalization", "axis=1", EXTRA_SCALE), GLOBAL("LayerNormalization") },
    { "H3 InstanceNormalization", over_time, OVER("InstanceNormalization", "", EXTRA_SCALE_BIAS),
      { "(InstanceNormalization)", "time axis", NULL, NULL } },
    { "H3 GroupNormalization", over_time,
      OVER("GroupNormalization", "num_groups=3", EXTRA_SCALE_BIAS),
      { "(GroupNormalization)", "time axis", NULL, NULL } },
    { "H3 LpNormalization over time", over_time, OVER("LpNormalization", "axis=2", EXTRA_NONE),
      { "(LpNormalization)", "time axis", NULL, NULL } },
    { "H3 GlobalAveragePool", over_time, OVER("GlobalAveragePool", "", EXTRA_NONE),
      { "(GlobalAveragePool)", "time axis", NULL, NULL } },
    { "H3 a DFT over time", over_time, OVER("RFFT", "n=8", EXTRA_NONE), GLOBAL("RFFT") },
    { "H3 RMS norm over time, written out", rms_norm, NULL, GLOBAL("ReduceMean") },
    { "H4 scanned inputs of different delay", chain_text, "2: scanpair late=1", STREAMS },
    { "H4 the later one first", chain_text, "2: conv k=3; scanpair late=3 swap=1; conv k=2",
      STREAMS },
    { "H5 a Scan over chunks of 3", scan_chunks, &(const int) { 3 }, STREAMS },
    { "H5 a Scan over chunks of 4", scan_chunks, &(const int) { 4 }, STREAMS },
    { "H5 a Scan over pairs of a late stream", scan_late_pairs, NULL, STREAMS },
    { "H6 STFT at any pulse", chain_text, "1: stft size=7 hop=4", STREAMS },
    { "H6 frames at any pulse", chain_text, "1: conv k=2; frame size=6 hop=5 before=3 end=1",
      STREAMS },
    { "H6 the only frame of a sequence resized by PyTorch", chain_text,
      "1: resample up=1 down=2 place=2", STREAMS },
    { "H7 zeros like the first frame in front", chain_text, "2: shift; conv k=3; shift", STREAMS },
    { "H7 ones like the first frames in front", chain_text, "2: shift by=3 ones=1; conv k=2",
      STREAMS },
    { "H7 the last frames", last_frames, NULL, { "(Slice)", "time axis", "from the end", NULL } },
    { "H7 the last frames, by the shape", last_frames_by_shape, NULL,
      { "(Slice)", "time axis", "from the end", NULL } },
    { "H7 the second half", half, NULL, { "(Slice)", "time axis", NULL, NULL } },
    { "H7 frames up to a multiple, then a window", pads_by_length,
      &(const struct pads_by_length) { 0, 4 }, STREAMS },
    { "H7 pads of either sign, then a window", pads_by_length,
      &(const struct pads_by_length) { 2, 5 }, STREAMS },
    { "H7 pads by the length, then a window", pads_by_length,
      &(const struct pads_by_length) { 3, 4 }, STREAMS },
    { "H8 the first frame of a pool, where there are four", first_of_pool, NULL,
      { "(ReduceSum)", "global along axis 2", NULL, NULL } },
    { "H7 indices that repeat but for one", one_frame_twice, NULL,
      { "(Gather)", "not a range", NULL, NULL } },
    { "H7 a size that one length has", size_of_one_length, NULL,
      { "(Resize)", "depends on the length", NULL, NULL } },
    { "H8 the first frame", first_frame, NULL, { "(Slice)", "fixed number", "time axis", NULL } },
    { "H8 a loop that was unrolled", unrolled, NULL,
      { "(Concat)", "unrolled over the frames of the example", NULL, NULL } },
    { "H8 a loop that was unrolled, beside a stream", unrolled, "",
      { "(Mul): cannot stream: input 1", "unrolled over the frames of the example", NULL, NULL } },
    { "H8 the first frame by index", first_frame_by_index, NULL,
      { "(Gather)", "time axis", NULL, NULL } },
    { "H8 the first frame taken off all", first_frame_as_context, NULL, STREAMS },
    { "H9 frames times frames", product_matmul, NULL, { "(MatMul)", "time", NULL, NULL } },
    { "H9 a sum over time of products", product_contracted, NULL,
      { "(MatMul)", "time axis", NULL, NULL } },
    { "H9 an outer product in time", product_outer, NULL, { "(Mul)", "time", NULL, NULL } },
    { "H9 Einsum of frames and frames", product_einsum, "bci,bcj->bij",
      { "(Einsum)", "time", NULL, NULL } },
    { "H9 Einsum that sums over time", product_einsum, "bct,bdt->bcd",
      { "(Einsum)", "time axis", NULL, NULL } },
    { "H9 Einsum of each frame with itself", product_einsum, "bct,bdt->bcdt", STREAMS },
    { "H10 a convolution in time in a Scan over channels", chain_text, "3: scanacross k=2 l=2",
      STREAMS },
    { "H10 one that its states wait for", chain_text, "3: scanacross k=2", STREAMS },
    { "H10 the same, late", chain_text, "3: conv k=3; scanacross k=1 l=1; conv k=2", STREAMS },
    { "H10 a Scan over channels", chain_text, "3: conv k=3; scanacross", STREAMS },
    { "H11 both states of an LSTM", cell,
      CELL_WITH("LSTM", "", 4, 1, .initial = true, .late = true), STREAMS },
    { "H11 both states of an LSTM with peepholes", cell,
      CELL_WITH("LSTM", "", 4, 1, .initial = true, .peepholes = true), STREAMS },
    { "H12 a GRU's clip and activations", cell,
      CELL_WITH("GRU", "clip=0.25 activations=HardSigmoid,Softsign linear_before_reset=1", 3, 1,
                .late = true),
      STREAMS },
    { "H12 an LSTM's clip and activations", cell,
      CELL("LSTM", "clip=0.5 activations=HardSigmoid,Relu,ScaledTanh activation_alpha=0.3,0.9 "
      "activation_beta=0.4,1.1", 4, 1), STREAMS },
    { "H12 an RNN's activation", cell,
      CELL("RNN", "activations=ThresholdedRelu activation_alpha=0.1,0.2", 1, 1), STREAMS },
    { "H12 an LSTM with input_forget", cell,
      CELL_WITH("LSTM", "input_forget=1", 4, 1, .late = true), STREAMS },
    { "H12 batch first", cell, CELL_WITH("GRU", "", 3, 1, .layout = true, .late = true), STREAMS },
    { "H12 lengths of its own", cell, CELL_WITH("GRU", "", 3, 1, .lens = true),
      { "(GRU)", "sequence_lens", NULL, NULL } },
    { "H12 backwards by a step of -1", backwards, NULL,
      { "(Slice)", "backwards", "time axis", NULL } },
    { "H13 scales of each channel", chain_text, "5: quant; conv k=3; quant", STREAMS },
};
/* clang-format on */

int main(void)
{
    static const int pulses[] = { 1, 2, 3, 4, 5, 7, 8, 13, 16, 33, -1 },
                     lengths[] = { 0, 1, 2, 3, 5, 8, 17, 40, 96, -1 };
    const struct oracle_trial trial = { pulses, lengths, .cuts = 3, .whole_least = 1 };
    for (size_t i = 0; i < sizeof hazards / sizeof *hazards; i++)
        oracle_try(&hazards[i], &trial);
    return oracle_end();
}
