/* SPDX-License-Identifier: MIT */
/* Masks of attention in which the end of the sequence has a part: which keys lie before it a stream
 * learns at its end, and until then each is one of those. */
#include "engine/rewrite/pass.h"
#include "pulse/position_fold.h"
#include "tests/pulse/oracle.h"

#include <math.h>
#include <string.h>

enum { WIDTH = 4, BACK = 2 };

enum end {
    KEYS,         /* j < N - 2 */
    QUERIES,      /* i < N - 2 */
    LEAST,        /* j < min(i + 1, N - 2) */
    LEAST_FLOATS, /* j <= min(i + 1, N - 3), in floats */
    CLIPPED,      /* j <= clip(i, N - 2) */
    CHUNKS,       /* j < min((i / 4 + 1) * 4, N - 1) */
    LAST,         /* j != N - 1 */
    LAST_MORE,    /* or i == N - 1, which sees five */
    BOTH,         /* max(i, j) < N - 1 */
    ALWAYS,       /* j <= min(i, N - 1) in floats: the end has no part in it */
    N_ENDS,
    HALF = N_ENDS /* i - j < N / 2 */
};

static uint32_t minus(struct gb *b, uint32_t x, int64_t v)
{
    return GB(b, "Sub", "", x, gb_int(b, v));
}

static uint32_t floats(struct gb *b, uint32_t x)
{
    return GB(b, "Cast", "to=1", x);
}

/* What is seen, of places i and j in a sequence of n; band: i - BACK <= j. */
static uint32_t seen(struct gb *b, enum end how, uint32_t i, uint32_t j, uint32_t n, uint32_t band)
{
    const uint32_t causal = GB(b, "And", "", band, GB(b, "LessOrEqual", "", j, i));
    uint32_t m;
    switch (how) {
    case KEYS: return GB(b, "And", "", causal, GB(b, "Less", "", j, minus(b, n, 2)));
    case QUERIES: return GB(b, "And", "", causal, GB(b, "Greater", "", minus(b, n, 2), i));
    case LEAST:
        m = GB(b, "Min", "", minus(b, i, -1), minus(b, n, 2));
        return GB(b, "And", "", band, GB(b, "Less", "", j, m));
    case LEAST_FLOATS:
        m = GB(b, "Min", "", floats(b, minus(b, i, -1)), floats(b, minus(b, n, 3)));
        return GB(b, "And", "", band, GB(b, "LessOrEqual", "", floats(b, j), m));
    case ALWAYS:
        m = GB(b, "Min", "", floats(b, i), floats(b, minus(b, n, 1)));
        return GB(b, "And", "", band, GB(b, "LessOrEqual", "", floats(b, j), m));
    case CLIPPED:
        m = GB(b, "Clip", "", i, gb_int(b, -9), minus(b, n, 2));
        return GB(b, "And", "", band, GB(b, "LessOrEqual", "", j, m));
    case CHUNKS:
        m = minus(b, GB(b, "Div", "", i, gb_int(b, 4)), -1);
        m = GB(b, "Min", "", GB(b, "Mul", "", m, gb_int(b, 4)), minus(b, n, 1));
        return GB(b, "And", "", band, GB(b, "Less", "", j, m));
    case LAST:
        m = GB(b, "Not", "", GB(b, "Equal", "", j, minus(b, n, 1)));
        return GB(b, "And", "", causal, m);
    case LAST_MORE:
        m = GB(b, "Less", "", GB(b, "Abs", "", GB(b, "Sub", "", i, j)), gb_int(b, 5));
        m = GB(b, "And", "", m, GB(b, "Equal", "", i, minus(b, n, 1)));
        return GB(b, "Or", "", causal, m);
    case BOTH:
        m = GB(b, "Less", "", GB(b, "Max", "", i, j), minus(b, n, 1));
        return GB(b, "And", "", causal, m);
    default:
        m = GB(b, "Less", "", GB(b, "Sub", "", i, j), GB(b, "Div", "", n, gb_int(b, 2)));
        return GB(b, "And", "", causal, m);
    }
}

struct ended {
    enum end how;
    bool linear; /* not by a softmax */
    int given;   /* frames in front */
};

static void attention(struct gb *b, const void *ctx)
{
    const struct ended *q = ctx;
    uint32_t x = gb_input(b, "x", 3, 1, GB_TIME, WIDTH);
    if (q->given)
        x = GB(b, "Concat", "axis=1", gb_weights(b, 3, 1, q->given, WIDTH), x);
    const uint32_t n = GB(b, "Gather", "axis=0", GB(b, "Shape", "", x), gb_int(b, 1)),
                   at = GB(b, "Range", "", gb_int(b, 0), n, gb_int(b, 1)),
                   i = GB(b, "Unsqueeze", "", at, gb_ints(b, 1)),
                   j = GB(b, "Unsqueeze", "", at, gb_ints(b, 0)),
                   band = GB(b, "LessOrEqual", "", minus(b, i, BACK), j);
    const uint32_t mask = seen(b, q->how, i, j, n, band);
    uint32_t w = GB(b, "MatMul", "", x, GB(b, "Transpose", "perm=0,2,1", x));
    if (q->linear) {
        w = GB(b, "Mul", "", w, floats(b, mask));
    } else {
        w = GB(b, "Softmax", "axis=-1", GB(b, "Where", "", mask, w, gb_scalar(b, -INFINITY)));
        w = GB(b, "Where", "", GB(b, "IsNaN", "", w), gb_scalar(b, 0), w);
    }
    gb_output(b, GB(b, "MatMul", "", w, x));
}

/* Frames of which a mask shows all others are 0: of two frames back, of chunks of 4 and those of
 * the chunk before, or of all up to it. */
static void all_seen(struct gb *b, const void *ctx)
{
    const int how = *(const int *) ctx;
    const uint32_t x = gb_input(b, "x", 3, 1, GB_TIME, WIDTH),
                   n = GB(b, "Gather", "axis=0", GB(b, "Shape", "", x), gb_int(b, 1)),
                   at = GB(b, "Range", "", gb_int(b, 0), n, gb_int(b, 1)),
                   of = how % 3 == 1 ? GB(b, "Div", "", at, gb_int(b, 4)) : at,
                   apart = GB(b, "Sub", "", GB(b, "Unsqueeze", "", of, gb_ints(b, 1)),
                              GB(b, "Unsqueeze", "", of, gb_ints(b, 0)));
    uint32_t m = GB(b, "GreaterOrEqual", "", apart, gb_int(b, 0));
    if (how % 3 < 2)
        m = GB(b, "And", "", m, GB(b, "Less", "", apart, gb_int(b, 2)));
    if (how < 3) {
        m = GB(b, "Where", "", m, gb_scalar(b, 0), gb_scalar(b, -INFINITY));
        m = GB(b, "Equal", "", m, gb_scalar(b, 0));
    }
    m = GB(b, how % 2 ? "ReduceProd" : "ReduceMin", "keepdims=1", GB(b, "Cast", "to=7", m),
           gb_ints(b, 1));
    gb_output(b, GB(b, "Where", "", GB(b, "Cast", "to=13", m), gb_scalar(b, 0), x));
}

/* Places of each fourth frame, at most the last, which they never reach: of a mask of data. */
static void held_places(struct gb *b, const void *ctx)
{
    const int how = *(const int *) ctx;
    const uint32_t x = gb_input(b, "x", 3, 1, 1, GB_TIME),
                   t = GB(b, "Gather", "axis=0", GB(b, "Shape", "", x), gb_int(b, 2)),
                   y = GB(b, "Conv", "strides=4 pads=2,3", x, gb_weights(b, 3, 2, 1, 6)),
                   n = GB(b, "Gather", "axis=0", GB(b, "Shape", "", y), gb_int(b, 2)),
                   last = minus(b, t, 1),
                   mask = GB(b, "Less", "", GB(b, "Squeeze", "", x, gb_ints(b, 1)),
                             gb_scalar(b, 0.4f));
    uint32_t at = GB(b, "Range", "", gb_int(b, 0), n, gb_int(b, 1));
    at = GB(b, "Mul", "", at, gb_int(b, 4));
    at = how % 2 ? GB(b, "Min", "", last, at) : GB(b, "Clip", "", at, gb_int(b, 0), last);
    const uint32_t seen = how < 2
        ? GB(b, "GatherElements", "axis=1", mask, GB(b, "Unsqueeze", "", at, gb_ints(b, 0)))
        : GB(b, "Gather", "axis=1", mask, at);
    gb_output(b,
              GB(b, "Where", "", GB(b, "Unsqueeze", "", seen, gb_ints(b, 1)), y, gb_scalar(b, 0)));
}

static bool opened(struct oracle *o, gb_recipe *recipe, const void *q)
{
    static const struct pass fold = { "positions-folded", true, graph_with_positions_folded };
    const bool made = oracle_open(o, recipe, q, NULL) == LAW_HOLDS;
    struct graph *g = &o->model->decluttered.g;
    return made && passes_run(&fold, 1, g, g, NULL, &o->err) == RILL_OK;
}

static void test_streams(void)
{
    static const int64_t pulses[] = { 1, 3, 4, 8, -1 },
                         lengths[] = { 0, 1, 2, 3, 4, 5, 6, 9, 14, 31, -1 };
    for (int i = 0; i < 4 * N_ENDS; i++) {
        const struct ended q = { i / 4, i % 2, i / 2 % 2 * 3 };
        struct oracle o = { .seed = 1 };
        oracle_check(opened(&o, attention, &q), "%d: %s", i, o.err.text);
        oracle_laws(&o, "masks that end", pulses, lengths);
        oracle_close(&o);
    }
}

static void test_others(gb_recipe *recipe, int n, const char *name)
{
    static const int64_t pulses[] = { 4, 8, -1 }, lengths[] = { 1, 2, 3, 4, 5, 8, 9, 15, 31, -1 };
    for (int i = 0; i < n; i++) {
        struct oracle o = { .seed = 1 };
        oracle_check(opened(&o, recipe, &i), "%s %d: %s", name, i, o.err.text);
        oracle_check(oracle_laws(&o, name, pulses, lengths) > 0, "%s: no whole run", name);
        oracle_close(&o);
    }
}

static void test_refused(void)
{
    const struct ended q = { HALF, false, 0 };
    struct oracle o = { .seed = 1 };
    oracle_check(opened(&o, attention, &q), "%s", o.err.text);
    oracle_check(oracle_pulse(&o, 4) == LAW_REFUSED &&
                     strstr(o.err.text, "what a query sees depends on the length of the sequence"),
                 "%s", o.err.text);
    oracle_close(&o);
}

int main(void)
{
    test_streams();
    test_others(all_seen, 6, "frames that see all");
    test_others(held_places, 4, "places up to the last");
    test_refused();
    return oracle_end();
}
