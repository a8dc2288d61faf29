/* SPDX-License-Identifier: MIT */
/* First frames in front of a sequence, of which one without frames has none: what stands around
 * them, and what reads that, is the whole run at every length. */
#include "engine/rewrite/declutter/passes.h"
#include "engine/rewrite/pass.h"
#include "tests/pulse/oracle.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { WIDTH = 3 };

enum head { ONE, ONE_OF_REST, TWO_OF_REST, BEHIND_TOKEN, TWICE, WITH_TAIL, N_HEADS };
enum around {
    BARE,
    TOKENS,
    TAIL,
    BOTH,
    NUMBERS,
    NUMBERS_BEHIND,
    TOKENS_PADDED,
    LAYERS,
    CUT,
    SUM,
    N_AROUND
};
enum reader {
    AS_IT_IS,
    CONV,
    CONV_PADDED,
    STRIDE,
    POOL,
    RESIZE,
    DECONV,
    ATTENTION,
    CELL,
    N_READERS
};

struct net {
    enum head head;
    enum around around;
    enum reader reader;
};

static uint32_t tokens(struct gb *b, int n)
{
    return gb_weights(b, 3, 1, n, WIDTH);
}

static uint32_t join(struct gb *b, uint32_t x, uint32_t y)
{
    return GB(b, "Concat", "axis=1", x, y);
}

static uint32_t first(struct gb *b, uint32_t x, int64_t n)
{
    return GB(b, "Exp", "", gb_slice(b, x, 1, 0, n, 1));
}

static uint32_t headed(struct gb *b, const struct net *t, uint32_t x)
{
    const uint32_t one = first(b, x, 1), rest = gb_slice(b, x, 1, 1, INT64_MAX, 1);
    switch (t->head) {
    case ONE_OF_REST: return join(b, one, rest);
    case TWO_OF_REST: return join(b, first(b, x, 2), gb_slice(b, x, 1, 2, INT64_MAX, 1));
    case BEHIND_TOKEN: return GB(b, "Concat", "axis=1", tokens(b, 1), one, x);
    case TWICE: return GB(b, "Concat", "axis=1", one, GB(b, "Neg", "", one), x);
    case WITH_TAIL: return GB(b, "Concat", "axis=1", one, x, tokens(b, 1));
    default: return join(b, one, x);
    }
}

static uint32_t amid(struct gb *b, const struct net *t, uint32_t x, uint32_t y)
{
    const uint32_t value = gb_scalar(b, 2.5f);
    switch (t->around) {
    case TOKENS: return join(b, tokens(b, 2), y);
    case TAIL: return join(b, y, tokens(b, 2));
    case BOTH: return GB(b, "Concat", "axis=1", tokens(b, 2), y, tokens(b, 1));
    case NUMBERS: return GB(b, "Pad", "mode='constant", y, gb_ints(b, 0, 2, 0, 0, 1, 0), value);
    case NUMBERS_BEHIND: return gb_pad(b, y, 3, 1, "constant", 0, 2);
    case TOKENS_PADDED: return gb_pad(b, join(b, tokens(b, 1), y), 3, 1, "constant", 1, 2);
    case LAYERS:
        y = GB(b, "Concat", "axis=1", tokens(b, 1), y, tokens(b, 1));
        return GB(b, "Concat", "axis=1", tokens(b, 1), GB(b, "Cos", "", y), tokens(b, 1));
    case CUT:
        return gb_slice(b, GB(b, "Concat", "axis=1", tokens(b, 2), y, tokens(b, 2)), 1, 1, -1, 1);
    case SUM:
        y = GB(b, "Add", "", y, GB(b, "Concat", "axis=1", GB(b, "Sin", "", first(b, x, 1)), x));
        return GB(b, "Concat", "axis=1", tokens(b, 1), y, tokens(b, 1));
    default: return y;
    }
}

static uint32_t frames_of(struct gb *b, uint32_t x, unsigned axis)
{
    const uint32_t n = GB(b, "Gather", "axis=0", GB(b, "Shape", "", x), gb_int(b, 1));
    return GB(b, "Unsqueeze", "", GB(b, "Range", "", gb_int(b, 0), n, gb_int(b, 1)),
              gb_ints(b, axis));
}

/* A query sees two keys before its own and one behind it. */
static uint32_t attention(struct gb *b, uint32_t y)
{
    const uint32_t d = GB(b, "Sub", "", frames_of(b, y, 1), frames_of(b, y, 0)),
                   shown = GB(b, "And", "", GB(b, "LessOrEqual", "", d, gb_int(b, 2)),
                              GB(b, "GreaterOrEqual", "", d, gb_int(b, -1))),
                   s = GB(b, "MatMul", "", y, gb_transpose(b, y, "0,2,1"));
    return GB(b, "MatMul", "",
              GB(b, "Softmax", "axis=-1", GB(b, "Where", "", shown, s, gb_scalar(b, -INFINITY))),
              y);
}

static uint32_t cell(struct gb *b, uint32_t y)
{
    const uint32_t h =
        GB(b, "GRU", gb_printf(b, "hidden_size=%d", WIDTH), gb_transpose(b, y, "1,0,2"),
           gb_weights(b, 3, 1, 3 * WIDTH, WIDTH), gb_weights(b, 3, 1, 3 * WIDTH, WIDTH));
    return gb_transpose(b, GB(b, "Squeeze", "", h, gb_ints(b, 1)), "1,0,2");
}

static uint32_t along(struct gb *b, const struct net *t, uint32_t y)
{
    const float scales[] = { 1, 1, 2 };
    y = gb_transpose(b, y, "0,2,1");
    switch (t->reader) {
    case CONV: return GB(b, "Conv", "", y, gb_weights(b, 3, WIDTH, WIDTH, 3));
    case CONV_PADDED: return GB(b, "Conv", "pads=1,1", y, gb_weights(b, 3, WIDTH, WIDTH, 3));
    case STRIDE: return GB(b, "Conv", "strides=2", y, gb_weights(b, 3, WIDTH, WIDTH, 2));
    case POOL: return GB(b, "MaxPool", "kernel_shape=2 pads=1,1", y);
    case RESIZE:
        return GB(b, "Resize", "mode='linear coordinate_transformation_mode='half_pixel", y,
                  WIRE_NONE, gb_floats(b, 3, scales));
    default:
        return GB(b, "ConvTranspose", "strides=2 pads=1,1", y, gb_weights(b, 3, WIDTH, WIDTH, 4));
    }
}

static void recipe(struct gb *b, const void *ctx)
{
    const struct net *t = ctx;
    const uint32_t x = gb_input(b, "x", 3, 1, GB_TIME, WIDTH), y = amid(b, t, x, headed(b, t, x));
    gb_output(b,
              t->reader == AS_IT_IS        ? GB(b, "Cos", "", y)
                  : t->reader == ATTENTION ? attention(b, y)
                  : t->reader == CELL      ? cell(b, y)
                                           : along(b, t, y));
}

static void net_test(const struct net *t)
{
    static const int64_t lengths[] = { 0, 1, 2, 3, 8, -1 };
    const int64_t hop = t->reader == STRIDE ? 2 : 1, pulses[] = { hop, 2 * hop, 4 * hop, -1 };
    char name[80];
    snprintf(name, sizeof name, "head %d, around %d, reader %d", (int) t->head, (int) t->around,
             (int) t->reader);
    struct oracle o = { .seed = 1 };
    if (oracle_open(&o, recipe, t, NULL) == LAW_HOLDS)
        oracle_laws(&o, name, pulses, lengths);
    else
        oracle_check(false, "%s: %s", name, o.err.text);
    oracle_close(&o);
}

/* ---- what is made of them all the same ---- */

enum made { JOINED, JOINED_BEHIND, TAKEN_OFF, TAKEN_OFF_TOKENS, FROM_JOINED, N_MADE };

static uint32_t mean(struct gb *b, uint32_t x)
{
    return GB(b, "ReduceMean", "keepdims=1", x, gb_ints(b, 1));
}

static void made_recipe(struct gb *b, const void *ctx)
{
    const uint32_t x = gb_input(b, "x", 3, 1, GB_TIME, WIDTH), one = first(b, x, 1);
    switch (*(const enum made *) ctx) {
    case JOINED: gb_output(b, join(b, mean(b, one), x)); return;
    case JOINED_BEHIND: gb_output(b, join(b, join(b, one, tokens(b, 2)), x)); return;
    case TAKEN_OFF: gb_output(b, GB(b, "Sub", "", x, mean(b, one))); return;
    case TAKEN_OFF_TOKENS:
        gb_output(b, GB(b, "Sub", "", join(b, tokens(b, 1), x), mean(b, one)));
        return;
    default: gb_output(b, join(b, GB(b, "Mul", "", one, mean(b, one)), x));
    }
}

static void made_test(enum made t)
{
    static const int64_t pulses[] = { 1, 3, -1 }, lengths[] = { 0, 1, 2, 9, -1 };
    const bool streams = t == TAKEN_OFF || t == FROM_JOINED;
    struct oracle o = { .seed = 1 };
    const enum verdict v =
        oracle_open(&o, made_recipe, &t, NULL) == LAW_HOLDS ? oracle_pulse(&o, 1) : LAW_REFUSED;
    oracle_check(streams ? v == LAW_HOLDS
                         : v == LAW_REFUSED && strstr(o.err.text, "--assert \"S >= 1\""),
                 "made %d: %s", (int) t, o.err.text);
    oracle_close(&o);
    o.err.text[0] = 0;
    if (oracle_open(&o, made_recipe, &t, streams ? NULL : "S>=1") == LAW_HOLDS)
        oracle_laws(&o, "made of first frames", pulses, lengths + !streams);
    oracle_close(&o);
}

/* ---- what windows make of one frame too few ---- */

enum window { MAX_2, MEAN_3, MAX_3_PADDED, CONV_2, N_WINDOWS };
enum behind { TOKENS_EDGE, TOKENS_EDGES, TOKENS_LAST, FIRST, TOKEN_FIRST, LAST_TWICE, N_BEHIND };

struct lacking {
    enum window window;
    enum behind behind;
};

static uint32_t last(struct gb *b, uint32_t x)
{
    return gb_slice(b, x, 1, -1, INT64_MAX, 1);
}

static uint32_t windows(struct gb *b, enum window w, uint32_t x)
{
    x = gb_transpose(b, x, "0,2,1");
    switch (w) {
    case MAX_2: x = GB(b, "MaxPool", "kernel_shape=2", x); break;
    case MEAN_3: x = GB(b, "AveragePool", "kernel_shape=3", x); break;
    case MAX_3_PADDED: x = GB(b, "MaxPool", "kernel_shape=3 pads=1,0", x); break;
    default: x = GB(b, "Conv", "", x, gb_weights(b, 3, WIDTH, WIDTH, 2));
    }
    return gb_transpose(b, x, "0,2,1");
}

static void lacking_recipe(struct gb *b, const void *ctx)
{
    const struct lacking *t = ctx;
    const uint32_t x = gb_input(b, "x", 3, 1, GB_TIME, WIDTH), y = windows(b, t->window, x),
                   one = gb_slice(b, y, 1, 0, 1, 1), z = join(b, tokens(b, 2), y);
    switch (t->behind) {
    case TOKENS_EDGE: gb_output(b, gb_pad(b, z, 3, 1, "edge", 0, 2)); return;
    case TOKENS_EDGES: gb_output(b, gb_pad(b, z, 3, 1, "edge", 1, 1)); return;
    case TOKENS_LAST: gb_output(b, join(b, gb_slice(b, z, 1, 1, INT64_MAX, 1), last(b, z))); return;
    case FIRST: gb_output(b, join(b, one, y)); return;
    case TOKEN_FIRST: gb_output(b, GB(b, "Concat", "axis=1", tokens(b, 1), one, y)); return;
    default:
        gb_output(b,
                  GB(b, "Concat", "axis=1", gb_slice(b, y, 1, 3, INT64_MAX, 1), last(b, y),
                     last(b, y)));
    }
}

/* Frames of the output; no more than 0: none. */
static int64_t output_frames(const struct oracle *o, int64_t length)
{
    int64_t frames = 0;
    const struct port *y = &o->plan->ports[o->plan->n_inputs];
    return dim_eval(y->length, o->plan->symbol, length, &frames) ? frames : 1;
}

/* Pools give no frames of it, as far as the whole run goes; of less, as convolutions do of any, the
 * length is refused where an output has frames of it. */
static void lacking_test(const struct lacking *t)
{
    static const struct pass copies = { "last-frames", true, graph_with_last_frames_padded };
    static const int64_t pulses[] = { 1, 3, -1 };
    const int64_t least = t->window == MEAN_3 || t->window == CONV_2 ? 2 : 1;
    struct oracle o = { .seed = 1 };
    char name[60];
    snprintf(name, sizeof name, "window %d, behind %d", (int) t->window, (int) t->behind);
    const bool streams = oracle_open(&o, lacking_recipe, t, NULL) == LAW_HOLDS &&
        passes_run(&copies, 1, &o.model->decluttered.g, &o.model->decluttered.g, NULL, &o.err) ==
            RILL_OK;
    oracle_check(streams, "%s: %s", name, o.err.text);
    for (const int64_t *p = pulses; streams && *p > 0; p++) {
        const bool cut = oracle_pulse(&o, *p) == LAW_HOLDS;
        oracle_check(cut, "%s, pulse %d: %s", name, (int) *p, o.err.text);
        for (int64_t n = 0; cut && n < 9; n++) {
            const enum verdict v = oracle_law(&o, n, (uint32_t) (3 * n));
            oracle_check(v == (n >= least ? LAW_HOLDS : LAW_NO_WHOLE),
                         "%s, pulse %d, length %d: %s", name, (int) *p, (int) n, o.err.text);
            const rill_status s = rill_plan_check_length(o.plan, 0, (uint64_t) n, &o.err);
            oracle_check((s == RILL_OK) == (n >= least || output_frames(&o, n) <= 0),
                         "%s: length %d is taken for another", name, (int) n);
        }
    }
    oracle_close(&o);
}

/* ---- what pools further apart make of less than a window ---- */

struct cut_short {
    const char *op, *attrs;
    int times;
    unsigned refused; /* bits of the lengths, of which a whole run has a frame of what is there */
};

static void cut_short_recipe(struct gb *b, const void *ctx)
{
    const struct cut_short *t = ctx;
    uint32_t x = gb_transpose(b, gb_input(b, "x", 3, 1, GB_TIME, WIDTH), "0,2,1");
    for (int i = 0; i < t->times; i++)
        x = GB(b, t->op, t->attrs, x);
    gb_output(b, x);
}

static void cut_short_test(const struct cut_short *t)
{
    struct oracle o = { .seed = 1 };
    const bool streams = oracle_open(&o, cut_short_recipe, t, NULL) == LAW_HOLDS &&
        oracle_pulse(&o, 12) == LAW_HOLDS;
    oracle_check(streams, "%s %s: %s", t->op, t->attrs, o.err.text);
    for (int64_t n = 0; streams && n < 12; n++) {
        const bool refused = t->refused >> n & 1;
        const rill_status s = rill_plan_check_length(o.plan, 0, (uint64_t) n, &o.err);
        oracle_check(s == (refused ? RILL_INVALID : RILL_OK) &&
                         (!refused || strstr(o.err.text, "is needed")),
                     "%s %s, length %d: %s", t->op, t->attrs, (int) n, s ? o.err.text : "taken");
        if (s == RILL_OK)
            oracle_check(oracle_law(&o, n, 1) != LAW_BROKEN, "%s %s, length %d: %s", t->op,
                         t->attrs, (int) n, o.err.text);
    }
    oracle_close(&o);
}

/* ---- parts that are joined along another axis ---- */

static void beside_recipe(struct gb *b, const void *ctx)
{
    (void) ctx;
    const uint32_t x = gb_input(b, "x", 3, 1, GB_TIME, WIDTH),
                   next = gb_pad(b, gb_slice(b, x, 1, 1, INT64_MAX, 1), 3, 1, "constant", 0, 1);
    gb_output(b, GB(b, "Concat", "axis=2", x, next));
}

/* At length 0 one of them has a frame. */
static void beside_test(void)
{
    static const int64_t pulses[] = { 1, 3, -1 }, lengths[] = { 1, 2, 3, 8, -1 };
    struct oracle o = { .seed = 1 };
    oracle_check(oracle_open(&o, beside_recipe, NULL, NULL) == LAW_HOLDS &&
                     oracle_pulse(&o, 1) == LAW_HOLDS,
                 "%s", o.err.text);
    const rill_status s = rill_plan_check_length(o.plan, 0, 0, &o.err);
    oracle_check(s == RILL_INVALID && strstr(o.err.text, "is needed"), "no frames beside one: %s",
                 s ? o.err.text : "taken");
    oracle_laws(&o, "joined along another axis", pulses, lengths);
    oracle_close(&o);
}

int main(void)
{
    static const struct cut_short cut_short[] = {
        { "MaxPool", "kernel_shape=2 strides=2", 1, 1 << 1 },
        { "AveragePool", "kernel_shape=3 strides=2", 1, 1 << 2 },
        { "LpPool", "kernel_shape=3 strides=3", 1, 1 << 1 | 1 << 2 },
        { "MaxPool", "kernel_shape=5 strides=2", 1, 1 << 2 | 1 << 4 },
        { "MaxPool", "kernel_shape=4 strides=2 pads=1,0", 1, 1 << 2 },
        { "MaxPool", "kernel_shape=2 strides=2", 2, 1 << 1 | 1 << 2 | 1 << 3 },
        { "MaxPool", "kernel_shape=3", 1, 0 },
    };

    for (int h = 0; h < N_HEADS; h++)
        for (int a = 0; a < N_AROUND; a++)
            for (int r = 0; r < N_READERS; r++)
                if (h == ONE || a != SUM)
                    net_test(&(struct net) { (enum head) h, (enum around) a, (enum reader) r });
    for (int m = 0; m < N_MADE; m++)
        made_test((enum made) m);
    for (int w = 0; w < N_WINDOWS; w++)
        for (int k = 0; k < N_BEHIND; k++)
            lacking_test(&(struct lacking) { (enum window) w, (enum behind) k });
    for (size_t i = 0; i < sizeof cut_short / sizeof *cut_short; i++)
        cut_short_test(&cut_short[i]);
    beside_test();
    return oracle_end();
}
