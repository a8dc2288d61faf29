/* SPDX-License-Identifier: MIT */
/* What reads sequences that are padded comes no later than it must: recurrences, resized frames,
 * windows further apart, transposed convolutions, and cuts behind them. */
#include "tests/pulse/oracle.h"

#include <stdio.h>
#include <stdlib.h>

/* A cell of 2 channels over [1, 2, S], with what it starts from where `start`. */
static uint32_t cell_over(struct gb *b, uint32_t x, const char *cell, bool start)
{
    const int gates = cell[0] == 'G' ? 3 : cell[0] == 'L' ? 4 : 1;
    const uint32_t in[] = { gb_transpose(b, x, "2,0,1"),
                            gb_weights(b, 3, 1, 2 * gates, 2),
                            gb_weights(b, 3, 1, 2 * gates, 2),
                            gb_weights(b, 2, 1, 4 * gates),
                            WIRE_NONE,
                            start ? gb_weights(b, 3, 1, 1, 2) : WIRE_NONE,
                            start && gates == 4 ? gb_weights(b, 3, 1, 1, 2) : WIRE_NONE };
    struct node *n = gb_node(b, cell, "hidden_size=2", in, start ? (gates == 4 ? 7 : 6) : 4, 1);
    if (!n)
        return WIRE_NONE;
    return gb_transpose(b, GB(b, "Squeeze", "", n->out[0], gb_ints(b, 1)), "1,2,0");
}

/* Pads and what reads them; frames that are cut off in front of that. */
struct read {
    const char *op, *attrs; /* op: a cell, Sum (of all before), Resize, ConvTranspose, Conv or
                               AveragePool */
    const char *mode;       /* of the Pad */
    int64_t before, after, cut;
    int64_t behind; /* given frames that are joined to what is padded */
    float scale;    /* of Resize */
    bool layer;     /* between them */
    bool start;     /* of cells */
    bool ahead;     /* what is padded looks one frame ahead */
};

static uint32_t read_emit(struct gb *b, const struct read *c, uint32_t x)
{
    switch (c->op[0] == 'C' && c->op[4] == 'T' ? 'T' : c->op[0]) {
    case 'G':
    case 'L': return cell_over(b, x, c->op, c->start);
    case 'R': {
        const float scales[] = { 1, 1, c->scale };
        return c->op[1] == 'N' ? cell_over(b, x, c->op, c->start)
                               : GB(b, "Resize", c->attrs, x, WIRE_NONE, gb_floats(b, 3, scales));
    }
    case 'A': return GB(b, c->op, c->attrs, x);
    case 'S': return GB(b, "CumSum", c->attrs ? c->attrs : "", x, gb_int(b, 2));
    default: return GB(b, c->op, c->attrs ? c->attrs : "", x, gb_weights(b, 3, 2, 2, 4));
    }
}

static void pads_read(struct gb *b, const void *ctx)
{
    const struct read *c = ctx;
    uint32_t x = gb_input(b, "x", 3, 1, 2, GB_TIME);
    if (c->ahead)
        x = GB(b, "Conv", "pads=0,1", x, gb_weights(b, 3, 2, 2, 2));
    x = gb_pad(b, x, 3, 2, c->mode ? c->mode : "constant", c->before, c->after);
    if (c->behind)
        x = GB(b, "Concat", "axis=2", x, gb_weights(b, 3, 1, 2, (int) c->behind));
    if (c->layer)
        x = GB(b, "Cos", "", x);
    x = read_emit(b, c, x);
    gb_output(b, c->cut ? gb_slice(b, x, 2, c->cut, INT64_MAX, 1) : GB(b, "Relu", "", x));
}

static void test_reads(const char *what, const struct read *list, size_t n, int64_t hop)
{
    static const int64_t lengths[] = { 0, 1, 2, 3, 4, 9, 30, -1 };
    for (size_t i = 0; i < n; i++)
        for (int64_t pulse = hop; pulse <= 6 * hop; pulse += hop) {
            const int64_t pulses[] = { pulse, -1 },
                          more = oracle_needless(pads_read, &list[i], NULL, pulse);
            struct oracle o = { .seed = 1 };
            oracle_check(more == 0, "%s %zu at %lld: %lld late", what, i, (long long) pulse,
                         (long long) more);
            if (oracle_open(&o, pads_read, &list[i], NULL) == LAW_HOLDS)
                oracle_laws(&o, what, pulses, lengths);
            oracle_close(&o);
        }
}

static void test_cells(void)
{
    static const struct read list[] = {
        { .op = "GRU", .before = 2, .cut = 2 },
        { .op = "GRU", .before = 3, .after = 2, .cut = 1, .layer = true },
        { .op = "LSTM", .before = 2, .cut = 2, .start = true },
        { .op = "RNN", .before = 4, .cut = 5, .layer = true, .start = true },
        { .op = "GRU", .before = 3, .cut = 3, .ahead = true, .start = true },
        { .op = "LSTM", .before = 1, .after = 1, .cut = 1, .ahead = true, .layer = true },
    };
    test_reads("a cell", list, sizeof list / sizeof *list, 1);
    static const struct read copies[] = {
        { .op = "GRU", .mode = "edge", .before = 2, .cut = 2 },
        { .op = "LSTM", .mode = "edge", .before = 3, .after = 2, .cut = 2, .layer = true },
        { .op = "RNN", .mode = "edge", .before = 2, .cut = 3, .ahead = true, .start = true },
        { .op = "GRU", .mode = "reflect", .before = 2, .after = 1, .cut = 1 },
        { .op = "LSTM", .mode = "reflect", .before = 3, .cut = 3, .layer = true, .ahead = true },
    };
    test_reads("a cell behind copies", copies, sizeof copies / sizeof *copies, 1);
}

/* Sums of all frames so far. */
static void test_sums(void)
{
    static const struct read list[] = {
        { .op = "Sum", .before = 2, .cut = 2 },
        { .op = "Sum", .before = 3, .after = 2, .cut = 1, .layer = true },
        { .op = "Sum", .attrs = "exclusive=1", .before = 2, .cut = 2, .layer = true },
        { .op = "Sum", .attrs = "exclusive=1", .before = 3, .cut = 3 },
        { .op = "Sum", .attrs = "exclusive=1", .ahead = true },
        { .op = "Sum", .attrs = "exclusive=1", .ahead = true, .cut = 1 },
        { .op = "Sum", .attrs = "exclusive=1", .ahead = true, .cut = 2 },
        { .op = "Sum", .mode = "edge", .before = 2, .cut = 2 },
        { .op = "Sum", .mode = "edge", .before = 3, .after = 1, .cut = 2, .layer = true },
        { .op = "Sum", .attrs = "exclusive=1", .mode = "edge", .before = 2, .cut = 3 },
        { .op = "Sum", .mode = "reflect", .before = 2, .cut = 2, .ahead = true },
        { .op = "Sum", .mode = "reflect", .before = 3, .after = 2, .cut = 1, .layer = true },
    };
    test_reads("sums", list, sizeof list / sizeof *list, 1);
}

/* First frames of what is padded, which become their negatives, in front of those behind them. */
struct turned {
    const char *mode; /* NULL: given frames are joined */
    int64_t before, frames, after;
    bool split; /* by a Split, else by Slices */
    bool cell;  /* between those and a convolution that looks one frame ahead */
    bool ahead; /* what is padded looks one frame ahead */
};

static void first_turned(struct gb *b, const void *ctx)
{
    const struct turned *c = ctx;
    uint32_t x = gb_input(b, "x", 3, 1, 2, GB_TIME), first, rest;
    if (c->ahead)
        x = GB(b, "Conv", "pads=0,1", x, gb_weights(b, 3, 2, 2, 2));
    x = c->mode ? gb_pad(b, x, 3, 2, c->mode, c->before, c->after)
                : GB(b, "Concat", "axis=2", gb_weights(b, 3, 1, 2, (int) c->before), x);
    first = gb_slice(b, x, 2, 0, c->frames, 1);
    if (c->split)
        first = GB(b, "Gather", "axis=2", x, gb_ints(b, 0, 1));
    rest = gb_slice(b, x, 2, c->frames, INT64_MAX, 1);
    x = GB(b, "Concat", "axis=2", GB(b, "Neg", "", first), rest);
    if (c->cell)
        x = cell_over(b, x, "GRU", false);
    gb_output(b, GB(b, "Conv", "pads=0,1", x, gb_weights(b, 3, 2, 2, 2)));
}

static void test_turned(void)
{
    static const int64_t lengths[] = { 2, 3, 4, 9, 30, -1 };
    static const struct turned list[] = {
        { .before = 1, .frames = 2 },
        { .before = 1, .frames = 2, .cell = true },
        { .before = 3, .frames = 2, .cell = true },
        { .before = 2, .frames = 3, .ahead = true },
        { .before = 1, .frames = 2, .split = true },
        { .mode = "constant", .before = 2, .frames = 3, .after = 2 },
        { .mode = "edge", .before = 2, .frames = 3, .after = 2, .ahead = true },
        { .mode = "edge", .before = 2, .frames = 3, .cell = true },
        { .mode = "reflect", .before = 1, .frames = 2 },
    };
    for (size_t i = 0; i < sizeof list / sizeof *list; i++)
        for (int64_t pulse = 1; pulse <= 5; pulse++) {
            const int64_t pulses[] = { pulse, -1 },
                          more = oracle_needless(first_turned, &list[i], NULL, pulse);
            struct oracle o = { .seed = 1 };
            oracle_check(more == 0, "first %zu at %lld: %lld late", i, (long long) pulse,
                         (long long) more);
            if (oracle_open(&o, first_turned, &list[i], NULL) == LAW_HOLDS)
                oracle_laws(&o, "first", pulses, lengths);
            oracle_close(&o);
        }
}

#define NEAREST_HALF "mode='nearest coordinate_transformation_mode='half_pixel"
#define LINEAR_HALF "mode='linear coordinate_transformation_mode='half_pixel"
#define LINEAR_LEFT "mode='linear coordinate_transformation_mode='asymmetric"
#define LINEAR_TORCH "mode='linear coordinate_transformation_mode='pytorch_half_pixel"
#define CUBIC_HALF "mode='cubic coordinate_transformation_mode='half_pixel"

static void test_resizes(void)
{
    static const struct read list[] = {
        { .op = "Resize", .attrs = NEAREST_HALF, .scale = 3, .before = 1, .cut = 3 },
        { .op = "Resize",
          .attrs = NEAREST_HALF,
          .scale = 2,
          .before = 2,
          .after = 1,
          .cut = 3,
          .layer = true },
        { .op = "Resize",
          .attrs = NEAREST_HALF,
          .scale = 2,
          .before = 2,
          .cut = 4,
          .mode = "edge" },
        { .op = "Resize", .attrs = LINEAR_HALF, .scale = 2, .before = 2 },
        { .op = "Resize", .attrs = LINEAR_HALF, .scale = 2, .before = 3, .cut = 4, .layer = true },
        { .op = "Resize",
          .attrs = LINEAR_LEFT,
          .scale = 3,
          .before = 3,
          .after = 2,
          .cut = 5,
          .layer = true },
        { .op = "Resize", .attrs = CUBIC_HALF, .scale = 2, .before = 5, .cut = 4, .layer = true },
        { .op = "Resize", .attrs = LINEAR_HALF, .scale = 2, .before = 6, .cut = 4, .ahead = true },
    };
    test_reads("resized", list, sizeof list / sizeof *list, 1);
    static const struct read copies[] = {
        { .op = "Resize",
          .attrs = LINEAR_HALF,
          .mode = "edge",
          .scale = 2,
          .before = 1,
          .after = 1 },
        { .op = "Resize",
          .attrs = LINEAR_LEFT,
          .mode = "edge",
          .scale = 2,
          .before = 3,
          .cut = 2,
          .layer = true },
        { .op = "Resize",
          .attrs = LINEAR_LEFT,
          .mode = "edge",
          .scale = 3,
          .before = 4,
          .after = 1,
          .cut = 5 },
        { .op = "Resize", .attrs = CUBIC_HALF, .mode = "edge", .scale = 2, .before = 4, .cut = 2 },
        { .op = "Resize", .attrs = LINEAR_HALF, .mode = "reflect", .scale = 2, .before = 2 },
        { .op = "Resize",
          .attrs = LINEAR_LEFT,
          .mode = "reflect",
          .scale = 2,
          .before = 3,
          .after = 2,
          .layer = true },
    };
    test_reads("resized copies", copies, sizeof copies / sizeof *copies, 1);
    static const struct read fewer[] = {
        { .op = "Resize", .attrs = LINEAR_HALF, .scale = 0.5f, .before = 4, .cut = 2 },
        { .op = "Resize",
          .attrs = LINEAR_LEFT,
          .scale = 1.5f,
          .before = 6,
          .cut = 4,
          .layer = true },
        { .op = "Resize",
          .attrs = NEAREST_HALF,
          .scale = 0.5f,
          .before = 3,
          .after = 1,
          .cut = 1,
          .layer = true },
    };
    test_reads("fewer", fewer, sizeof fewer / sizeof *fewer, 2);
}

/* One frame alone is the first of the input: that there are more is known by what has come. */
static void test_alone(void)
{
    static const struct read alone[] = {
        { .op = "Resize", .attrs = LINEAR_TORCH, .scale = 0.5f, .ahead = true },
    };
    test_reads("alone", alone, sizeof alone / sizeof *alone, 2);
}

/* Windows of which some lie in copies of frames alone. */
static void test_windows(void)
{
    static const struct read list[] = {
        { .op = "Conv", .mode = "edge", .before = 5, .cut = 2 },
        { .op = "Conv", .mode = "edge", .before = 6, .after = 1, .cut = 2, .layer = true },
        { .op = "Conv", .mode = "edge", .before = 4, .cut = 3 },
        { .op = "Conv", .mode = "edge", .before = 6, .cut = 2, .ahead = true },
        { .op = "Conv", .attrs = "pads=2,1", .mode = "edge", .before = 3, .cut = 2 },
        { .op = "AveragePool", .attrs = "kernel_shape=2", .mode = "edge", .before = 3, .cut = 2 },
    };
    test_reads("windows", list, sizeof list / sizeof *list, 1);
    static const struct read apart[] = {
        { .op = "Conv", .attrs = "strides=2", .mode = "edge", .before = 7, .cut = 1 },
        { .op = "Conv",
          .attrs = "strides=2 pads=1,0",
          .mode = "edge",
          .before = 5,
          .cut = 2,
          .layer = true },
        { .op = "AveragePool",
          .attrs = "kernel_shape=3 strides=2",
          .mode = "edge",
          .before = 5,
          .cut = 1 },
    };
    test_reads("windows apart", apart, sizeof apart / sizeof *apart, 2);
}

/* Frames that are put in front, and others that are cut off behind by the same Pad. */
static void test_shifts(void)
{
    static const struct read list[] = {
        { .op = "Conv", .before = 2, .after = -1 },
        { .op = "Conv", .attrs = "pads=1,2", .before = 3, .after = -2, .layer = true },
        { .op = "GRU", .before = 3, .after = -3, .cut = 2 },
        { .op = "Conv", .before = 5, .after = -1, .cut = 2, .ahead = true },
    };
    test_reads("shifted", list, sizeof list / sizeof *list, 1);
}

/* Frames of a transposed convolution that come of the pad alone. */
static void test_transposed(void)
{
    static const struct read list[] = {
        { .op = "ConvTranspose", .attrs = "strides=3 pads=2,0", .before = 2, .layer = true },
        { .op = "ConvTranspose", .attrs = "strides=2 pads=1,0", .before = 3, .after = 1, .cut = 3 },
        { .op = "ConvTranspose",
          .attrs = "strides=2 pads=2,1",
          .before = 4,
          .cut = 5,
          .ahead = true,
          .layer = true },
        { .op = "ConvTranspose", .attrs = "strides=4", .before = 1, .cut = 4 },
        { .op = "ConvTranspose",
          .attrs = "strides=5 output_padding=1",
          .before = 2,
          .cut = 7,
          .layer = true },
        { .op = "ConvTranspose",
          .attrs = "dilations=2 pads=2,2",
          .before = 3,
          .after = 2,
          .cut = 1,
          .layer = true },
    };
    test_reads("transposed", list, sizeof list / sizeof *list, 1);
    static const struct read copies[] = {
        { .op = "ConvTranspose", .attrs = "strides=2 pads=1,0", .mode = "edge", .before = 3 },
        { .op = "ConvTranspose",
          .attrs = "strides=3 pads=2,1",
          .mode = "edge",
          .before = 2,
          .after = 2,
          .cut = 4,
          .layer = true,
          .ahead = true },
        { .op = "ConvTranspose", .attrs = "strides=2", .mode = "reflect", .before = 2, .cut = 3 },
    };
    test_reads("transposed copies", copies, sizeof copies / sizeof *copies, 1);
}

/* Layers of causal convolutions behind mirrored frames, as encoders of codecs are: so late as the
 * first frames of one of them are, not all together. */
struct mirrored {
    int layers, taps[4], stride[4];
    int after; /* frames that are mirrored behind the input */
    bool cell; /* in front of the last layer */
};

static void layers_mirrored(struct gb *b, const void *ctx)
{
    const struct mirrored *c = ctx;
    uint32_t x = gb_input(b, "x", 3, 1, 2, GB_TIME);
    for (int i = 0; i < c->layers; i++) {
        if (c->cell && i == c->layers - 1)
            x = cell_over(b, x, "GRU", false);
        x = gb_pad(b, x, 3, 2, "reflect", c->taps[i] - c->stride[i], i ? 0 : c->after);
        x = GB(b, "Conv", gb_printf(b, "strides=%d", c->stride[i]), x,
               gb_weights(b, 3, 2, 2, c->taps[i]));
        x = GB(b, "Sin", "", x);
    }
    gb_output(b, x);
}

static void test_mirrored(void)
{
    static const struct mirrored list[] = {
        { .layers = 2, .taps = { 3, 3 }, .stride = { 1, 1 } },
        { .layers = 3, .taps = { 3, 5, 2 }, .stride = { 1, 1, 1 } },
        { .layers = 2, .taps = { 4, 3 }, .stride = { 2, 1 } },
        { .layers = 3, .taps = { 3, 4, 4 }, .stride = { 1, 2, 1 }, .cell = true },
        { .layers = 4, .taps = { 2, 4, 6, 3 }, .stride = { 1, 2, 3, 1 }, .cell = true },
        { .layers = 2, .taps = { 5, 3 }, .stride = { 2, 1 }, .after = 1, .cell = true },
    };
    static const int64_t lengths[] = { 1, 2, 3, 4, 5, 8, 12, 13, 30, 48, -1 };
    for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
        int64_t hop = 1;
        for (int k = 0; k < list[i].layers; k++)
            hop *= list[i].stride[k];
        for (int64_t pulse = hop; pulse <= 4 * hop; pulse += hop) {
            const int64_t pulses[] = { pulse, -1 },
                          more = oracle_needless(layers_mirrored, &list[i], NULL, pulse);
            struct oracle o = { .seed = 1 };
            oracle_check(more == 0, "mirrored %zu at %lld: %lld late", i, (long long) pulse,
                         (long long) more);
            if (oracle_open(&o, layers_mirrored, &list[i], NULL) == LAW_HOLDS)
                oracle_check(oracle_laws(&o, "mirrored", pulses, lengths) > 0, "no whole run");
            oracle_close(&o);
        }
    }
}

/* Frames behind a sequence that is cut by more than it has stand where those in front were. */
static void test_behind(void)
{
    static const struct read list[] = {
        { .op = "GRU", .before = 1, .after = -1, .behind = 1 },
        { .op = "LSTM", .before = 2, .after = -3, .behind = 2, .layer = true, .start = true },
        { .op = "Resize", .attrs = LINEAR_HALF, .scale = 2, .before = 2, .after = -2, .behind = 2 },
        { .op = "Resize", .attrs = CUBIC_HALF, .scale = 3, .before = 3, .after = -2, .behind = 1 },
        { .op = "Resize",
          .attrs = NEAREST_HALF,
          .scale = 2,
          .before = 2,
          .after = -2,
          .behind = 1 },
        { .op = "Conv", .before = 5, .after = -2, .behind = 2 },
        { .op = "ConvTranspose", .attrs = "strides=2", .before = 2, .after = -2, .behind = 2 },
        { .op = "AveragePool", .attrs = "kernel_shape=2", .before = 4, .after = -3, .behind = 1 },
    };
    static const int64_t lengths[] = { 0, 1, 2, 3, 4, 9, -1 }, pulses[] = { 1, 2, 3, 4, -1 };
    for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
        struct oracle o = { .seed = 1 };
        if (oracle_open(&o, pads_read, &list[i], NULL) == LAW_HOLDS)
            oracle_laws(&o, list[i].op, pulses, lengths);
        oracle_close(&o);
    }
}

/* ---- random nets ---- */

static int drawn(uint32_t *draw, int n)
{
    return (int) (gb_random(draw) % (uint32_t) n);
}

static uint32_t net_part(struct gb *b, uint32_t x, uint32_t *draw)
{
    static const char *const cells[] = { "GRU", "LSTM", "RNN" };
    static const char *const ways[] = { NEAREST_HALF, LINEAR_HALF, LINEAR_LEFT };
    static const char *const modes[] = { "constant", "constant", "edge" };
    const float scales[] = { 1, 1, (float) (2 + drawn(draw, 2)) };
    const int k = 1 + drawn(draw, 4), before = drawn(draw, 5);
    switch (drawn(draw, 9)) {
    case 0:
    case 1: return gb_pad(b, x, 3, 2, modes[drawn(draw, 3)], before, drawn(draw, 4) - 1);
    case 2: {
        const uint32_t given = gb_weights(b, 3, 1, 2, before + 1);
        return drawn(draw, 3) ? GB(b, "Concat", "axis=2", given, x)
                              : GB(b, "Concat", "axis=2", x, given);
    }
    case 3: return cell_over(b, x, cells[drawn(draw, 3)], drawn(draw, 2) != 0);
    case 4: return GB(b, "Resize", ways[drawn(draw, 3)], x, WIRE_NONE, gb_floats(b, 3, scales));
    case 5: return GB(b, "Sigmoid", "", x);
    case 6: return gb_slice(b, x, 2, drawn(draw, 4), drawn(draw, 2) ? -1 : INT64_MAX, 1);
    case 7:
        return GB(b, "ConvTranspose", gb_printf(b, "strides=2 pads=%d,0", drawn(draw, 3)), x,
                  gb_weights(b, 3, 2, 2, 3));
    default:
        return GB(b, "Conv",
                  gb_printf(b, "strides=%d pads=%d,%d", 1 + drawn(draw, 2) / 2, drawn(draw, k),
                            drawn(draw, 2)),
                  x, gb_weights(b, 3, 2, 2, k), gb_weights(b, 1, 2));
    }
}

/* ctx: a seed. */
static void net_random(struct gb *b, const void *ctx)
{
    uint32_t draw = *(const uint32_t *) ctx, x = gb_input(b, "x", 3, 1, 2, GB_TIME);
    for (int i = 3 + drawn(&draw, 3); i > 0; i--)
        x = net_part(b, x, &draw);
    gb_output(b, GB(b, "Relu", "", x));
}

/* All stream and obey the law. */
static void test_nets(uint32_t first, uint32_t nets)
{
    static const int64_t lengths[] = { 0, 1, 2, 3, 5, 9, 30, -1 };
    unsigned late = 0;
    for (uint32_t seed = first; seed < first + nets; seed++) {
        const uint32_t draw = seed * 2654435761u;
        const int64_t pulses[] = { 1 + seed % 6, -1 };
        const int64_t more = oracle_needless(net_random, &draw, NULL, pulses[0]);
        struct oracle o = { .seed = 1 };
        char name[32];
        snprintf(name, sizeof name, "net %u", (unsigned) seed);
        if (more > 0 && getenv("RILL_NETS"))
            printf("%s: %d late\n", name, (int) more);
        late += more > 0;
        if (oracle_open(&o, net_random, &draw, NULL) == LAW_HOLDS)
            oracle_laws(&o, name, pulses, lengths);
        oracle_close(&o);
    }
    printf("%u of %u nets are later than they must\n", late, (unsigned) nets);
}

/* Copies of the frames at both ends of what is padded, read by a convolution. */
struct around {
    const char *mode;
    const char *inner; /* mode of the zeros, which are copies, too; NULL: they are zeros */
    int64_t zeros[2], copies[2];
    float fill;        /* in the place of the zeros */
    const char *layer; /* between them */
    bool ahead;        /* what is padded looks one frame ahead */
    int64_t late;      /* by how much it is later than it must */
};

static void copies_around(struct gb *b, const void *ctx)
{
    const struct around *c = ctx;
    uint32_t x = gb_input(b, "x", 3, 1, 2, GB_TIME);
    if (c->ahead)
        x = GB(b, "Conv", "pads=0,1", x, gb_weights(b, 3, 2, 2, 2));
    if (c->inner)
        x = gb_pad(b, x, 3, 2, c->inner, c->zeros[0], c->zeros[1]);
    else
        x = GB(b, "Pad", "mode='constant", x, gb_ints(b, 0, 0, c->zeros[0], 0, 0, c->zeros[1]),
               gb_scalar(b, c->fill));
    if (c->layer)
        x = GB(b, c->layer, "", x);
    x = gb_pad(b, x, 3, 2, c->mode, c->copies[0], c->copies[1]);
    gb_output(b, GB(b, "Conv", "", x, gb_weights(b, 3, 2, 2, 4)));
}

static void test_around(void)
{
    static const int64_t lengths[] = { 0, 1, 2, 3, 4, 9, 30, -1 };
    static const struct around list[] = {
        { .mode = "edge", .zeros = { 3, 0 }, .copies = { 1, 1 } },
        { .mode = "edge", .zeros = { 2, 0 }, .copies = { 2, 2 }, .layer = "Abs" },
        { .mode = "edge", .zeros = { 3, 0 }, .copies = { 0, 2 }, .ahead = true },
        { .mode = "edge", .zeros = { 2, 3 }, .copies = { 1, 2 }, .layer = "Abs", .ahead = true },
        { .mode = "edge", .zeros = { 2, 0 }, .copies = { 1, 1 }, .layer = "Neg", .ahead = true },
        { .mode = "edge", .zeros = { 3, 0 }, .copies = { 1, 2 }, .layer = "Cos", .ahead = true },
        { .mode = "edge", .zeros = { 3, 0 }, .copies = { 1, 2 }, .fill = .5f, .late = 1 },
        { .mode = "reflect", .zeros = { 4, 0 }, .copies = { 2, 2 } },
        { .mode = "reflect", .inner = "edge", .zeros = { 2, 0 }, .copies = { 2, 3 }, .late = 4 },
        { .mode = "edge", .inner = "reflect", .zeros = { 1, 0 }, .copies = { 2, 3 }, .late = 4 },
        { .mode = "reflect", .zeros = { 3, 0 }, .copies = { 1, 3 }, .layer = "Abs", .ahead = true },
        { .mode = "reflect", .zeros = { 3, 3 }, .copies = { 2, 2 }, .layer = "Cos" },
        { .mode = "reflect", .zeros = { 4, 0 }, .copies = { 1, 1 }, .fill = .5f, .late = 2 },
        { .mode = "reflect",
          .zeros = { 4, 0 },
          .copies = { 1, 1 },
          .layer = "Cos",
          .ahead = true,
          .late = 1 },
    };
    for (size_t i = 0; i < sizeof list / sizeof *list; i++)
        for (int64_t pulse = 1; pulse <= 5; pulse++) {
            const int64_t pulses[] = { pulse, -1 };
            const int64_t more = oracle_needless(copies_around, &list[i], NULL, pulse);
            struct oracle o = { .seed = 1 };
            oracle_check(more >= 0 && more <= list[i].late, "copies %zu at %lld: %lld late", i,
                         (long long) pulse, (long long) more);
            if (oracle_open(&o, copies_around, &list[i], NULL) == LAW_HOLDS)
                oracle_laws(&o, "copies", pulses, lengths);
            oracle_close(&o);
        }
}

/* Frames that a Pad of negative amounts cuts off, of what a Pad or a window has put there. */
struct cropped {
    const char *mode, *window;
    int64_t pads[2], cut[2];
};

static void pads_cropped(struct gb *b, const void *ctx)
{
    const struct cropped *c = ctx;
    uint32_t x = gb_input(b, "x", 3, 1, 2, GB_TIME);
    x = c->window ? GB(b, "Conv", c->window, x, gb_weights(b, 3, 2, 2, 3))
                  : gb_pad(b, x, 3, 2, c->mode, c->pads[0], c->pads[1]);
    x = gb_pad(b, x, 3, 2, "constant", -c->cut[0], -c->cut[1]);
    gb_output(b, c->window ? x : GB(b, "Conv", "", x, gb_weights(b, 3, 2, 2, 5)));
}

/* A mean of the frames that are there, over what is padded. ctx: how. */
static void mean_of_padded(struct gb *b, const void *ctx)
{
    uint32_t x = gb_pad(b, gb_input(b, "x", 3, 1, 2, GB_TIME), 3, 2, ctx, 2, 1);
    gb_output(b, GB(b, "AveragePool", "kernel_shape=3 strides=1 pads=1,1", x));
}

/* A Pad of nothing between a Pad and what reads it. ctx: its mode. */
static void padded_nowhere(struct gb *b, const void *ctx)
{
    uint32_t x = gb_pad(b, gb_input(b, "x", 3, 1, 2, GB_TIME), 3, 2, "constant", 3, 1);
    gb_output(b, GB(b, "Conv", "", gb_pad(b, x, 3, 2, ctx, 0, 0), gb_weights(b, 3, 2, 2, 5)));
}

/* A sequence of which the first frames are copies of copies, and the same so much later: of the
 * latter more frames are in front than of their difference. ctx: the inner pad's mode. */
static void copies_shifted(struct gb *b, const void *ctx)
{
    uint32_t x = gb_pad(b, gb_input(b, "x", 3, 1, 2, GB_TIME), 3, 2, ctx, 4, 1), y;
    x = gb_pad(b, x, 3, 2, "edge", 2, 0);
    y = GB(b, "Sub", "", gb_slice(b, x, 2, 4, INT64_MAX, 1), gb_slice(b, x, 2, 0, -4, 1));
    gb_output(b, GB(b, "Conv", "", y, gb_weights(b, 3, 2, 2, 3)));
}

static void test_copies_shifted(void)
{
    static const char *const modes[] = { "edge", "reflect", "constant" };
    static const int64_t lengths[] = { 5, 6, 9, 30, -1 }, pulses[] = { 1, 2, 3, 5, 8, -1 };
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
        struct oracle o = { .seed = 1 };
        oracle_check(oracle_open(&o, copies_shifted, modes[i], NULL) == LAW_HOLDS, "%s",
                     o.err.text);
        oracle_check(oracle_laws(&o, modes[i], pulses, lengths) > 0, "no whole run");
        oracle_close(&o);
    }
}

/* Frames that become one of several, behind a Pad of as many or more; ctx: its mode. Windows over
 * them. */
static void blocks_of_padded(struct gb *b, const void *ctx)
{
    uint32_t x = gb_input(b, "x", 3, 1, GB_TIME, 2), n;
    x = gb_pad(b, x, 3, 1, ctx, 5, 3);
    n = GB(b, "Gather", "", GB(b, "Shape", "", x), gb_ints(b, 1));
    n = GB(b, "Concat", "axis=0", gb_ints(b, 0, 0, 0, 0),
           GB(b, "Mod", "", GB(b, "Neg", "", n), gb_ints(b, 2)), gb_ints(b, 0));
    x = GB(b, "Reshape", "", GB(b, "Pad", "", x, n), gb_ints(b, 1, -1, 4));
    gb_output(b, GB(b, "Conv", "", gb_transpose(b, x, "0,2,1"), gb_weights(b, 3, 2, 4, 3)));
}

static void test_cropped(void)
{
    static const int64_t lengths[] = { 5, 6, 9, 30, -1 };
    static const struct cropped in_front = { "constant", NULL, { 3, 2 }, { 2, 1 } },
                                behind = { "constant", NULL, { 3, 2 }, { 0, 1 } },
                                edges = { "edge", NULL, { 3, 2 }, { 2, 1 } },
                                mirror = { "reflect", NULL, { 3, 2 }, { 1, 1 } },
                                windows = { .window = "pads=6,4", .cut = { 3, 2 } },
                                strided = { .window = "strides=2 dilations=3 pads=13,6",
                                            .cut = { 3, 2 } };
    const struct {
        gb_recipe *recipe;
        const void *ctx;
    } list[] = { { pads_cropped, &in_front },      { pads_cropped, &behind },
                 { pads_cropped, &edges },         { pads_cropped, &mirror },
                 { pads_cropped, &windows },       { pads_cropped, &strided },
                 { mean_of_padded, "constant" },   { mean_of_padded, "edge" },
                 { blocks_of_padded, "constant" }, { blocks_of_padded, "edge" },
                 { mean_of_padded, "reflect" },    { padded_nowhere, "edge" },
                 { padded_nowhere, "reflect" } };
    for (size_t i = 0; i < sizeof list / sizeof *list; i++)
        for (int64_t pulse = 1; pulse <= 8; pulse++) {
            const int64_t pulses[] = { pulse, -1 },
                          more = oracle_needless(list[i].recipe, list[i].ctx, NULL, pulse);
            struct oracle o = { .seed = 1 };
            oracle_check(more == 0, "cropped %zu at %lld: %lld late", i, (long long) pulse,
                         (long long) more);
            if (oracle_open(&o, list[i].recipe, list[i].ctx, NULL) == LAW_HOLDS)
                oracle_laws(&o, "cropped", pulses, lengths);
            oracle_close(&o);
        }
}

/* Sequences so short that what is cut off behind takes frames of the pad away. */
static void cut_and_padded(struct gb *b, const void *ctx)
{
    (void) ctx;
    uint32_t x = gb_pad(b, gb_input(b, "x", 3, 1, 2, GB_TIME), 3, 2, "constant", 2, -2);
    x = gb_pad(b, GB(b, "Cos", "", x), 3, 2, "constant", -1, 0);
    x = gb_pad(b, gb_pad(b, x, 3, 2, "constant", 0, 3), 3, 2, "edge", 2, 0);
    gb_output(b, GB(b, "Conv", "", x, gb_weights(b, 3, 2, 2, 2)));
}

static void test_short(void)
{
    static const struct read list[] = {
        { .op = "ConvTranspose", .attrs = "strides=2", .before = 3, .after = -2, .layer = true },
        { .op = "Resize", .attrs = LINEAR_HALF, .scale = 2, .before = 3, .after = -2 },
        { .op = "Resize",
          .attrs = LINEAR_LEFT,
          .scale = 3,
          .before = 4,
          .after = -3,
          .layer = true },
        { .op = "LSTM", .before = 4, .after = -2, .layer = true },
        { .op = "Conv", .before = 6, .after = -2, .layer = true },
    };
    static const int64_t lengths[] = { 0, 1, 2, 3, 9, -1 }, pulses[] = { 1, 2, 5, -1 };
    for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
        struct oracle o = { .seed = 1 };
        oracle_check(oracle_open(&o, pads_read, &list[i], NULL) == LAW_HOLDS, "%s", o.err.text);
        oracle_check(oracle_laws(&o, "short", pulses, lengths) > 0, "no whole run");
        oracle_close(&o);
    }
    struct oracle cut = { .seed = 1 };
    oracle_check(oracle_open(&cut, cut_and_padded, NULL, NULL) == LAW_HOLDS, "%s", cut.err.text);
    oracle_check(oracle_laws(&cut, "cut", pulses, lengths + 1) > 0, "no whole run");
    oracle_close(&cut);
    static const uint32_t seeds[] = { 9056, 9529, 9698 };
    for (size_t i = 0; i < sizeof seeds / sizeof *seeds; i++)
        test_nets(seeds[i], 1);
}

int main(void)
{
    const char *nets = getenv("RILL_NETS"), *first = getenv("RILL_NETS_FIRST");
    test_cells();
    test_sums();
    test_turned();
    test_resizes();
    test_alone();
    test_windows();
    test_shifts();
    test_transposed();
    test_mirrored();
    test_around();
    test_cropped();
    test_copies_shifted();
    test_short();
    test_behind();
    test_nets(first ? (uint32_t) atoi(first) : 1, nets ? (uint32_t) atoi(nets) : 150);
    return oracle_end();
}
