/* SPDX-License-Identifier: MIT */
/* Sizes that are others at a few single lengths, far from those that anybody would try: what
 * streams obeys the law there too, and what cannot is refused. */
#include "engine/rewrite/pass.h"
#include "pulse/position_fold.h"
#include "tests/pulse/oracle.h"

#include <math.h>
#include <string.h>

enum { AT = 100000, WIDTH = 3 };

/* 0, but 1, 2, .. WIDTH, .. 1 where the length is near `at`. */
static uint32_t bump(struct gb *b, uint32_t t, int64_t at)
{
    uint32_t n = gb_ints(b, at);
    uint32_t far = GB(b, "Max", "", GB(b, "Sub", "", t, n), GB(b, "Sub", "", n, t));
    return GB(b, "Max", "", gb_ints(b, 0), GB(b, "Sub", "", gb_ints(b, WIDTH), far));
}

static uint32_t input(struct gb *b, uint32_t *ret_length)
{
    uint32_t x = gb_input(b, "x", 2, 1, GB_TIME);
    *ret_length = GB(b, "Slice", "", GB(b, "Shape", "", x), gb_ints(b, 1), gb_ints(b, 2));
    return x;
}

static uint32_t shorter(struct gb *b, uint32_t x, uint32_t t, uint32_t by)
{
    return GB(b, "Slice", "", x, gb_ints(b, 0), GB(b, "Sub", "", t, by), gb_ints(b, 1));
}

static void padded(struct gb *b, const void *ctx)
{
    uint32_t t, x = input(b, &t);
    (void) ctx;
    gb_output(b,
              GB(b, "Pad", "", x, GB(b, "Concat", "axis=0", gb_ints(b, 0, 0, 0), bump(b, t, AT))));
}

static void cut(struct gb *b, const void *ctx)
{
    uint32_t t, x = input(b, &t);
    (void) ctx;
    gb_output(b, shorter(b, x, t, bump(b, t, AT)));
}

/* Windows over what is padded and cut again. */
static void windowed(struct gb *b, const void *ctx)
{
    uint32_t t, x = input(b, &t), more = bump(b, t, AT);
    (void) ctx;
    x = GB(b, "Pad", "", x, GB(b, "Concat", "axis=0", gb_ints(b, 0, 1, 0), more));
    x = GB(b, "Unsqueeze", "", x, gb_ints(b, 0));
    gb_output(b, GB(b, "Conv", "pads=1,1", x, gb_weights(b, 3, 1, 1, 3)));
}

/* Added to what is as long but for a few lengths. */
static void joined(struct gb *b, const void *ctx)
{
    uint32_t t, x = input(b, &t);
    (void) ctx;
    gb_output(b, GB(b, "Add", "", x, shorter(b, x, t, bump(b, t, AT))));
}

/* The first four frames, or fewer, in front. */
static void head(struct gb *b, const void *ctx)
{
    uint32_t t, x = input(b, &t), end = GB(b, "Sub", "", gb_ints(b, 4), bump(b, t, AT / 100));
    (void) ctx;
    uint32_t first = GB(b, "Slice", "", x, gb_ints(b, 0), end, gb_ints(b, 1));
    gb_output(b, GB(b, "Add", "", x, GB(b, "ReduceSum", "", first, gb_ints(b, 1))));
}

static void picked(struct gb *b, const void *ctx)
{
    uint32_t t, x = input(b, &t), end = GB(b, "Squeeze", "", t, gb_ints(b, 0));
    uint32_t i = GB(b, "Range", "", gb_int(b, 0), end, gb_int(b, 1));
    if (ctx) /* in pairs, of which the last is the first of the next */
        i = GB(b, "Add", "", i, GB(b, "Mod", "", i, gb_int(b, 2)));
    x = GB(b, "Pad", "", x, gb_ints(b, 0, 0, 0, 1));
    gb_output(b, GB(b, "Gather", "axis=1", shorter(b, x, t, bump(b, t, AT)), i));
}

/* A row so long that the way which keeps a mask for each term and place is not taken: the whole run
 * takes another than the stream, of the same bits. */
static void long_row(struct gb *b, const void *ctx)
{
    uint32_t t, x = GB(b, "Unsqueeze", "", input(b, &t), gb_ints(b, 0));
    (void) ctx;
    gb_output(b, GB(b, "Conv", "pads=1023,0", x, gb_weights(b, 3, 2, 1, 1024)));
}

/* Padded to whole pieces of 8, the rest cut off by an end that counts from behind. */
static void cut_behind(struct gb *b, const void *ctx)
{
    uint32_t t, x = input(b, &t), eight = gb_ints(b, 8);
    (void) ctx;
    uint32_t half =
        GB(b, "Mod", "", GB(b, "Add", "", gb_ints(b, 4), GB(b, "Mod", "", t, eight)), eight);
    uint32_t rest = GB(b, "Sub", "", eight, half);
    x = GB(b, "Pad", "", x, GB(b, "Concat", "axis=0", gb_ints(b, 0, 4, 0), rest));
    x = GB(b, "Mul", "", x, x);
    gb_output(b, GB(b, "Slice", "", x, gb_ints(b, 4), GB(b, "Neg", "", rest), gb_ints(b, 1)));
}

/* Windows of 4 every 2, of which there is one where the sequence is shorter. */
static void hops(struct gb *b, const void *ctx)
{
    uint32_t t, x = input(b, &t);
    (void) ctx;
    uint32_t n = GB(b, "Div", "", GB(b, "Sub", "", t, gb_ints(b, 4)), gb_ints(b, 2));
    n = GB(b, "Squeeze", "", GB(b, "Add", "", n, gb_ints(b, 1)), gb_ints(b, 0));
    uint32_t i = GB(b, "Range", "", gb_int(b, 0), n, gb_int(b, 1));
    i = GB(b, "Unsqueeze", "", GB(b, "Mul", "", i, gb_int(b, 2)), gb_ints(b, 1));
    i = GB(b, "Add", "", i, gb_ints(b, 0, 1, 2, 3));
    gb_output(b, GB(b, "Gather", "axis=1", x, i));
}

/* A length that is counted by a quotient below 0, as programs write a ceiling: cut towards 0. */
static void counted_down(struct gb *b, const void *ctx)
{
    uint32_t t, x = input(b, &t), four = gb_ints(b, 4);
    (void) ctx;
    uint32_t n = GB(b, "Div", "", GB(b, "Sub", "", gb_ints(b, 2), t), four);
    n = GB(b, "Mul", "", GB(b, "Neg", "", n), four);
    uint32_t i =
        GB(b, "Range", "", gb_int(b, 0), GB(b, "Squeeze", "", n, gb_ints(b, 0)), gb_int(b, 1));
    gb_output(b, GB(b, "Gather", "axis=1", x, i));
}

/* From a frame on that the length says. */
static void trimmed(struct gb *b, const void *ctx)
{
    uint32_t t, x = input(b, &t);
    (void) ctx;
    t = GB(b, "Mod", "", t, gb_ints(b, 2));
    gb_output(b, GB(b, "Slice", "", x, t, gb_ints(b, INT64_MAX), gb_ints(b, 1)));
}

/* Zeros in front, as many as the length lacks. */
static void moved_on(struct gb *b, const void *ctx)
{
    uint32_t t, x = input(b, &t);
    (void) ctx;
    uint32_t lacks = GB(b, "Mod", "", GB(b, "Neg", "", t), gb_ints(b, 3));
    uint32_t zeros = GB(b, "ConstantOfShape", "", GB(b, "Concat", "axis=0", gb_ints(b, 1), lacks));
    gb_output(b, GB(b, "Concat", "axis=1", zeros, x));
}

/* Even frames and odd ones. */
static void halves(struct gb *b, const void *ctx)
{
    uint32_t t, x = input(b, &t);
    (void) ctx;
    (void) t;
    gb_output(b,
              GB(b, "Add", "", gb_slice(b, x, 1, 0, INT64_MAX, 2),
                 gb_slice(b, x, 1, 1, INT64_MAX, 2)));
}

static const struct oracle_case near[] = {
    { "halves", halves, NULL, { "(Add)", "--assert \"S == 2*(S/2)\"" } },
    { "moved on", moved_on, NULL, { "(ConstantOfShape)", "does not grow evenly" } },
    { "trimmed", trimmed, NULL, { "(Slice)", "depends on the length of the sequence" } },
    { "cut behind", cut_behind, NULL, { NULL } },
    { "counted down", counted_down, NULL, { NULL } },
    { "hops", hops, NULL, { "(Gather)", "--assert \"S >= 4\"" } },
};

static const struct oracle_case cases[] = {
    { "a long row of a convolution", long_row, NULL, { NULL } },
    { "frames behind", padded, NULL, { NULL } },
    { "frames cut off", cut, NULL, { NULL } },
    { "windows over frames behind", windowed, NULL, { NULL } },
    { "added", joined, NULL, { "(Add)", "as many from S = 100003 on" } },
    { "the first frames", head, NULL, { "(ReduceSum)", "global" } },
    { "picked", picked, NULL, { "(Gather)", "picks frame 99997", "--assert \"S >= 100003\"" } },
    { "picked by a table", picked, "", { "(Gather)", "picks frame" } },
};

/* First and last frames of what is cut, copied at its ends, again and again: without a least length
 * the size is what every cut and join may be. */
static void copied_ends(struct gb *b, const void *ctx)
{
    (void) ctx;
    uint32_t x = gb_input(b, "x", 3, 1, 3, GB_TIME);
    for (int i = 0; i < 4; i++) {
        const uint32_t first = GB(b, "Expand", "", gb_slice(b, x, 2, 2, 3, 1), gb_ints(b, 1, 1, 2));
        x = gb_slice(b, GB(b, "Concat", "axis=2", first, x), 2, 2, -2, 1);
        const uint32_t last =
            GB(b, "Expand", "", gb_slice(b, x, 2, -1, INT64_MAX, 1), gb_ints(b, 1, 3, 1 + i));
        x = GB(b, "Concat", "axis=2", x, last);
    }
    gb_output(b, x);
}

static void test_long_sizes(void)
{
    struct oracle o = { .seed = 1 };
    const enum verdict v = oracle_open(&o, copied_ends, NULL, NULL);
    oracle_check(v == LAW_REFUSED && strstr(o.err.text, "node 'Concat_") &&
                     strstr(o.err.text, "a least length"),
                 "%s", o.err.text);
    oracle_close(&o);
    oracle_check(oracle_open(&o, copied_ends, NULL, "S>=16") == LAW_HOLDS, "%s", o.err.text);
    oracle_close(&o);
}

/* Zeros in front of sequences that are shorter than five. */
static void at_least_five(struct gb *b, const void *ctx)
{
    uint32_t t, x = input(b, &t);
    (void) ctx;
    const uint32_t lacks = GB(b, "Max", "", gb_ints(b, 0), GB(b, "Sub", "", gb_ints(b, 5), t));
    const uint32_t sizes = GB(b, "Concat", "axis=0", gb_ints(b, 1), lacks);
    gb_output(b, GB(b, "Concat", "axis=1", GB(b, "ConstantOfShape", "", sizes), x));
}

/* The refusal of a length that grows evenly from a least one on says which, and what streams. */
static void test_even_from(void)
{
    static const int64_t pulses[] = { 1, 3, 8, -1 }, lengths[] = { 5, 6, 17, 30, -1 };
    struct oracle o = { .seed = 1 };
    enum verdict v = oracle_open(&o, at_least_five, NULL, NULL);
    v = v == LAW_HOLDS ? oracle_pulse(&o, 1) : v;
    oracle_check(v == LAW_REFUSED && strstr(o.err.text, "(ConstantOfShape)") &&
                     strstr(o.err.text, "grows evenly with the stream from S = 5 on only") &&
                     strstr(o.err.text, "--assert \"S >= 5\" leaves shorter ones out"),
                 "%s", o.err.text);
    oracle_close(&o);
    oracle_check(oracle_open(&o, at_least_five, NULL, "S>=5") == LAW_HOLDS, "%s", o.err.text);
    oracle_laws(&o, "at least five", pulses, lengths);
    oracle_close(&o);
}

/* Chosen by whether a whole number, repeated, is greater than ctx. */
static void chosen_all_over(struct gb *b, const void *ctx)
{
    uint32_t t, x = input(b, &t);
    const uint32_t all =
        GB(b, "Expand", "", gb_int(b, ((int64_t) 1 << 53) + 1), GB(b, "Shape", "", x));
    gb_output(b,
              GB(b, "Where", "", GB(b, "Greater", "", all, gb_int(b, *(const int64_t *) ctx)), x,
                 GB(b, "Neg", "", x)));
}

/* A condition is known where doubles tell its numbers apart. */
static void test_chosen_all_over(void)
{
    const int64_t than = (int64_t) 1 << 53;
    struct oracle o = { .seed = 1 };
    bool where = false;
    oracle_check(oracle_open(&o, chosen_all_over, &than, NULL) == LAW_HOLDS, "%s", o.err.text);
    const struct graph *g = &o.model->decluttered.g;
    for (uint32_t i = 0; i < g->n_nodes; i++)
        where |= g->nodes[i].op->id == OP_WHERE;
    oracle_check(where, "2^53 + 1 > 2^53 is decided by doubles");
    oracle_close(&o);
}

/* Blocks as many as fit, of whatever frames each then has. */
static void blocks(struct gb *b, const void *ctx)
{
    const uint32_t x = gb_input(b, "x", 3, 1, GB_TIME, 2),
                   t = GB(b, "Slice", "", GB(b, "Shape", "", x), gb_ints(b, 1), gb_ints(b, 2)),
                   many = GB(b, "Div", "", t, gb_ints(b, 4)),
                   sizes = GB(b, "Concat", "axis=0", gb_ints(b, 1), many, GB(b, "Div", "", t, many),
                              gb_ints(b, 2));
    (void) ctx;
    gb_output(b, GB(b, "Tanh", "", GB(b, "Reshape", "", x, sizes)));
}

static void test_blocks(void)
{
    static const int64_t pulses[] = { 4, 8, -1 }, lengths[] = { 4, 8, 28, -1 };
    struct oracle o = { .seed = 1 };
    enum verdict v = oracle_open(&o, blocks, NULL, NULL);
    v = v == LAW_HOLDS ? oracle_pulse(&o, 4) : v;
    oracle_check(v == LAW_REFUSED && strstr(o.err.text, "(Reshape)") &&
                     strstr(o.err.text, "--assert \"S == 4*(S/4)\" makes it a number"),
                 "%s", o.err.text);
    oracle_close(&o);
    oracle_check(oracle_open(&o, blocks, NULL, "S == 4*(S/4)") == LAW_HOLDS, "%s", o.err.text);
    oracle_laws(&o, "blocks", pulses, lengths);
    oracle_close(&o);
}

/* Distances from the newest frame to the oldest one: there are none where there is no frame. */
static void distances(struct gb *b, const void *ctx)
{
    uint32_t t, x = input(b, &t);
    (void) ctx;
    t = GB(b, "Squeeze", "", t);
    gb_output(b, x);
    gb_output(b,
              GB(b, "Cast", "to=1",
                 GB(b, "Range", "", GB(b, "Sub", "", t, gb_int(b, 1)), GB(b, "Neg", "", t),
                    gb_int(b, -1))));
}

static void test_distances(void)
{
    struct oracle o = { .seed = 1 };
    enum verdict v = oracle_open(&o, distances, NULL, NULL);
    v = v == LAW_HOLDS ? oracle_pulse(&o, 1) : v;
    oracle_check(v == LAW_REFUSED && strstr(o.err.text, "(Range)") &&
                     strstr(o.err.text, "--assert \"S >= 1\" leaves shorter ones out"),
                 "%s", o.err.text);
    oracle_close(&o);
}

/* The first frames, changed, in front of the rest: as many as a sequence has. ctx: what changes
 * them, and what reads that. */
struct changed {
    enum { CHANGED_ALL, CHANGED_BY_FIRST, CHANGED_ONE_BY_ONE } how;
    bool pooled, ahead;
};

static void first_changed(struct gb *b, const void *ctx)
{
    const struct changed *q = ctx;
    uint32_t x = gb_input(b, "x", 3, 1, 2, GB_TIME);
    if (q->ahead)
        x = GB(b, "Conv", "pads=0,1", x, gb_weights(b, 3, 2, 2, 2));
    uint32_t f = gb_slice(b, x, 2, 0, 3, 1);
    f = GB(b, "Add", "", GB(b, "Neg", "", f), gb_scalar(b, 1.5f));
    if (q->how == CHANGED_BY_FIRST)
        f = GB(b, "Mul", "", gb_slice(b, x, 2, 0, 3, 1), f);
    if (q->how == CHANGED_ONE_BY_ONE)
        f = GB(b, "Mul", "", f, gb_weights(b, 3, 1, 2, 3));
    x = GB(b, "Concat", "axis=2", f, gb_slice(b, x, 2, 3, INT64_MAX, 1));
    if (q->pooled)
        x = GB(b, "MaxPool", "kernel_shape=3 pads=2,2 strides=2", x);
    gb_output(b, x);
}

static void test_first_changed(void)
{
    static const int64_t pulses[] = { 2, 4, 6, -1 }, lengths[] = { 1, 2, 3, 4, 5, 9, 30, -1 };
    for (int i = 0; i < 12; i++) {
        const struct changed q = { i % 3, i / 3 % 2, i / 6 };
        struct oracle o = { .seed = 1 };
        oracle_check(oracle_open(&o, first_changed, &q, NULL) == LAW_HOLDS, "%s", o.err.text);
        if (q.how != CHANGED_ONE_BY_ONE)
            oracle_laws(&o, "first frames that are changed", pulses, lengths);
        else
            oracle_check(
                oracle_pulse(&o, 2) == LAW_REFUSED &&
                    strstr(
                        o.err.text,
                        "which may be shorter; assert a least length, as in --assert \"S >= 3\""),
                "%s", o.err.text);
        oracle_close(&o);
    }
}

/* Frames of every second one, of odd lengths one more, hidden from a half of the length on, one
 * more or less: by a comparison of their numbers with it, either way round. */
struct length_mask {
    const char *op;
    bool length_first, counted;
    int more;
};

static void masked_by_length(struct gb *b, const void *ctx)
{
    const struct length_mask *q = ctx;
    const uint32_t x = gb_input(b, "x", 3, 1, 2, GB_TIME);
    const uint32_t t = GB(b, "Gather", "axis=0", GB(b, "Shape", "", x), gb_int(b, 2));
    const uint32_t y = GB(b, "Conv", "pads=2,1 strides=2", x, gb_weights(b, 3, 2, 2, 4));
    const uint32_t n = GB(b, "Gather", "axis=0", GB(b, "Shape", "", y), gb_int(b, 2));
    const uint32_t ones =
        GB(b, "Expand", "", gb_int(b, 1), GB(b, "Unsqueeze", "", n, gb_ints(b, 0)));
    const uint32_t at = q->counted ? GB(b, "CumSum", "", ones, gb_int(b, 0))
                                   : GB(b, "Range", "", gb_int(b, 0), n, gb_int(b, 1));
    const uint32_t length = GB(b, "Add", "", GB(b, "Div", "", t, gb_int(b, 2)), gb_int(b, q->more));
    const uint32_t mask =
        q->length_first ? GB(b, q->op, "", length, at) : GB(b, q->op, "", at, length);
    gb_output(b, GB(b, "Where", "", mask, y, gb_scalar(b, 0.5f)));
}

/* Frames before the half of the sequence. */
static void before_half(struct gb *b, const void *ctx)
{
    const uint32_t x = gb_input(b, "x", 3, 1, 2, GB_TIME),
                   t = GB(b, "Gather", "axis=0", GB(b, "Shape", "", x), gb_int(b, 2)),
                   at = GB(b, "Range", "", gb_int(b, 0), t, gb_int(b, 1));
    (void) ctx;
    const uint32_t mask = GB(b, "Less", "", at, GB(b, "Div", "", t, gb_int(b, 2)));
    gb_output(b, GB(b, "Where", "", mask, x, gb_scalar(b, 0.5f)));
}

/* Attention of all frames to every second one, by distances of their numbers as they are. */
static void two_rates(struct gb *b, const void *ctx)
{
    const uint32_t x = gb_input(b, "x", 3, 1, GB_TIME, 2),
                   y = GB(b, "Slice", "", x, gb_ints(b, 0), gb_ints(b, INT64_MAX), gb_ints(b, 1),
                          gb_ints(b, 2));
    uint32_t at[2];
    (void) ctx;
    for (int k = 0; k < 2; k++) {
        const uint32_t n = GB(b, "Gather", "axis=0", GB(b, "Shape", "", k ? y : x), gb_int(b, 1));
        at[k] = GB(b, "Unsqueeze", "", GB(b, "Range", "", gb_int(b, 0), n, gb_int(b, 1)),
                   gb_ints(b, 1 - k));
    }
    const uint32_t far = GB(b, "Abs", "", GB(b, "Sub", "", at[0], at[1])),
                   s = GB(b, "MatMul", "", x, gb_transpose(b, y, "0,2,1"));
    const uint32_t m =
        GB(b, "Where", "", GB(b, "Less", "", far, gb_int(b, 4)), s, gb_scalar(b, -INFINITY));
    gb_output(b, GB(b, "MatMul", "", GB(b, "Softmax", "axis=-1", m), y));
}

static void test_known_ever_later(void)
{
    static const struct {
        void (*recipe)(struct gb *b, const void *ctx);
        const char *words;
    } refused[] = { { before_half, "which frames lie before S/2, a length that does not grow" },
                    { two_rates, "2 queries come for 1 key," } };
    for (int i = 0; i < 2; i++) {
        struct oracle o = { .seed = 1 };
        oracle_check(oracle_open(&o, refused[i].recipe, NULL, NULL) == LAW_HOLDS &&
                         oracle_pulse(&o, 2) == LAW_REFUSED && strstr(o.err.text, refused[i].words),
                     "%s: %s", refused[i].words, o.err.text);
        oracle_close(&o);
    }
}

static void test_masked_by_length(void)
{
    static const char *const ops[] = { "Less", "LessOrEqual", "Greater", "GreaterOrEqual" };
    static const int64_t pulses[] = { 2, 6, -1 }, lengths[] = { 1, 2, 3, 6, 7, 12, 31, -1 };
    for (int i = 0; i < 48; i++) {
        const struct length_mask q = { ops[i % 4], i / 4 % 2, i / 8 % 2, i / 16 - 1 };
        struct oracle o = { .seed = 1 };
        oracle_check(oracle_open(&o, masked_by_length, &q, NULL) == LAW_HOLDS, "%s", o.err.text);
        oracle_laws(&o, q.op, pulses, lengths);
        oracle_close(&o);
    }
}

/* The same otherwise written: of numbers k of the frames and their count n in front of a plain
 * comparison. */
static uint32_t told(struct gb *b, int how, uint32_t k, uint32_t n)
{
    const uint32_t last = GB(b, "Sub", "", n, gb_int(b, 1)), floats = GB(b, "Cast", "to=1", k),
                   length = GB(b, "Cast", "to=1", n);
    switch (how) {
    case 0: return GB(b, "Less", "", floats, GB(b, "Sub", "", length, gb_scalar(b, 2)));
    case 1: return GB(b, "Equal", "", k, last);
    case 2: return GB(b, "Greater", "", GB(b, "Sub", "", last, k), gb_int(b, 1));
    case 3: return GB(b, "Less", "", GB(b, "Sub", "", k, n), gb_int(b, -2));
    case 4:
        return GB(b, "Less", "", GB(b, "Range", "", last, gb_int(b, -1), gb_int(b, -1)),
                  gb_int(b, 3));
    case 5: /* all whole chunks but the last, and the frames behind it */
        return GB(b, "Equal", "", GB(b, "Div", "", k, gb_int(b, 4)),
                  GB(b, "Div", "", last, gb_int(b, 4)));
    case 6:
        return GB(b, "LessOrEqual", "",
                  GB(b, "Floor", "", GB(b, "Div", "", floats, gb_scalar(b, 3))),
                  GB(b, "Floor", "", GB(b, "Div", "", length, gb_scalar(b, 3))));
    case 7: return GB(b, "Not", "", GB(b, "Equal", "", GB(b, "Sub", "", n, k), gb_int(b, 3)));
    default: /* of two rows */
        return GB(b, "Greater", "", GB(b, "Unsqueeze", "", floats, gb_ints(b, 0)),
                  GB(b, "Expand", "", GB(b, "Sub", "", length, gb_scalar(b, 4)), gb_ints(b, 2, 1)));
    }
}
enum { N_TOLD = 9 };

static void told_by_length(struct gb *b, const void *ctx)
{
    const uint32_t x = gb_input(b, "x", 3, 1, 2, GB_TIME);
    const uint32_t y = GB(b, "Conv", "pads=2,1 strides=2", x, gb_weights(b, 3, 2, 2, 4));
    const uint32_t n = GB(b, "Gather", "axis=0", GB(b, "Shape", "", y), gb_int(b, 2));
    const uint32_t k = GB(b, "Range", "", gb_int(b, 0), n, gb_int(b, 1));
    gb_output(b, GB(b, "Where", "", told(b, *(const int *) ctx, k, n), y, gb_scalar(b, 0.5f)));
}

static void test_told_by_length(void)
{
    static const struct pass fold = { "positions-folded", true, graph_with_positions_folded };
    static const int64_t pulses[] = { 2, 6, -1 },
                         lengths[] = { 0, 1, 2, 3, 6, 7, 8, 9, 12, 15, 31, -1 };
    for (int i = 0; i < N_TOLD; i++) {
        struct oracle o = { .seed = 1 };
        bool made = oracle_open(&o, told_by_length, &i, NULL) == LAW_HOLDS;
        struct graph *g = &o.model->decluttered.g;
        made = made && passes_run(&fold, 1, g, g, NULL, &o.err) == RILL_OK;
        oracle_check(made, "%d: %s", i, o.err.text);
        oracle_laws(&o, "told by the length", pulses, lengths);
        oracle_close(&o);
    }
}

/* The first frame in front of all of them, several times: a sequence without one has none there. */
struct copied {
    int copies;
    bool ahead, given; /* behind a layer that looks ahead; given frames in front of the copies */
};

static void first_copied(struct gb *b, const void *ctx)
{
    const struct copied *q = ctx;
    uint32_t x = gb_input(b, "x", 3, 1, 2, GB_TIME);
    if (q->ahead)
        x = GB(b, "Conv", "pads=0,1", x, gb_weights(b, 3, 2, 2, 2));
    uint32_t y = gb_slice(b, x, 2, 0, 1, 1);
    const uint32_t given = gb_weights(b, 3, 1, 2, 3);
    if (q->copies == 2)
        y = q->given ? GB(b, "Concat", "axis=2", given, y, y, x)
                     : GB(b, "Concat", "axis=2", y, y, x);
    else
        y = q->given ? GB(b, "Concat", "axis=2", given, y, y, y, x)
                     : GB(b, "Concat", "axis=2", y, y, y, x);
    gb_output(b, y);
}

static void test_first_copied(void)
{
    static const int64_t pulses[] = { 1, 3, 8, -1 }, lengths[] = { 0, 1, 2, 3, 4, 9, 30, -1 };
    for (int i = 0; i < 8; i++) {
        const struct copied q = { 2 + i % 2, i / 2 % 2, i / 4 };
        struct oracle o = { .seed = 1 };
        oracle_check(oracle_open(&o, first_copied, &q, NULL) == LAW_HOLDS, "%s", o.err.text);
        oracle_laws(&o, "copies of the first frame", pulses, lengths);
        oracle_close(&o);
    }
}

/* The first two frames in front of all: where there is one, it is not the last. */
static void two_in_front(struct gb *b, const void *ctx)
{
    (void) ctx;
    const uint32_t x = gb_input(b, "x", 3, 1, 2, GB_TIME);
    gb_output(b, GB(b, "Concat", "axis=2", gb_slice(b, x, 2, 0, 2, 1), x));
}

static void test_two_in_front(void)
{
    static const int64_t pulses[] = { 1, 3, 8, -1 }, lengths[] = { 2, 3, 9, 30, -1 };
    struct oracle o = { .seed = 1 };
    enum verdict v = oracle_open(&o, two_in_front, NULL, NULL);
    v = v == LAW_HOLDS ? oracle_pulse(&o, 1) : v;
    oracle_check(v == LAW_REFUSED && strstr(o.err.text, "--assert \"S >= 2\" leaves those out"),
                 "%s", o.err.text);
    oracle_close(&o);
    oracle_check(oracle_open(&o, two_in_front, NULL, "S>=2") == LAW_HOLDS, "%s", o.err.text);
    oracle_laws(&o, "two frames in front", pulses, lengths);
    oracle_close(&o);
}

int main(void)
{
    test_first_copied();
    test_two_in_front();
    test_long_sizes();
    test_masked_by_length();
    test_known_ever_later();
    test_told_by_length();
    test_even_from();
    test_distances();
    test_blocks();
    test_chosen_all_over();
    test_first_changed();
    static const int pulses[] = { 4000, -1 }, lengths[] = { 6, AT - 1, AT, AT + 2, -1 };
    const struct oracle_trial trial = { pulses, lengths, .cuts = 1, .whole_least = 3 };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        oracle_try(&cases[i], &trial);
    static const int few[] = { 1, 3, 8, 10, -1 }, all[] = { 3, 4, 5, 7, 9, 12, 21, 34, -1 };
    const struct oracle_trial close = { few, all, .cuts = 1, .whole_least = 8 };
    for (size_t i = 0; i < sizeof near / sizeof *near; i++)
        oracle_try(&near[i], &close);
    return oracle_end();
}
