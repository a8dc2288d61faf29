/* SPDX-License-Identifier: MIT */
/* Layers of attention behind start tokens, or behind frames that pad the sequence: a stream is the
 * whole run, and no layer waits for frames that its queries do not see. */
#include "engine/rewrite/declutter/declutter.h"
#include "engine/rewrite/declutter/passes.h"
#include "pulse/counts.h"
#include "pulse/ints.h"
#include "tests/pulse/oracle.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { WIDTH = 4, FRAMES = 96, NOTHING = -1000 };

struct net {
    int64_t layers, front, left, right; /* frames in front; a query sees from -left to right */
    int64_t first, chunk; /* and so many first keys; chunks alone, and the one before */
    int64_t cut, behind;  /* frames that the output lacks; tokens behind */
    enum {
        TOKENS,
        ZEROS,
        EDGE,
        REFLECT,
        COPIES,
        MARKED,
        FIRSTS,
        MOVED
    } pad; /* COPIES: of the first frame, joined; MARKED: one token in front of such; FIRSTS: as
              many first frames; MOVED: frames come two later, behind zeros, the first `front`
              tokens */
    enum {
        SOFTMAX,
        WRITTEN,
        SIGMOID,
        BIASED,
        TURNED,
        ASKED,
        MEANS
    } of;                    /* ASKED: weights of queries that see nothing are 0; MEANS: weights are
                                scores over how many keys the query sees */
    bool heads, norm, hides; /* hides: the frames decide which keys others see */
    int64_t asking, marked;  /* layers of which the frames decide what they see themselves; of which
                                the first frame is turned, by its number */
    int64_t ends;            /* so many last queries see their own frame alone; 0: as all others */
    int64_t look;            /* frames that a convolution in front of all sees ahead */
};

/* ---- how late it must be ---- */

static bool sees(const struct net *t, int64_t i, int64_t j)
{
    if (t->chunk)
        return i / t->chunk == j / t->chunk || i / t->chunk == j / t->chunk + 1;
    return (i - j <= t->left && i - j >= -t->right) || (j < t->first && j <= i + t->right);
}

/* The newest input frame that frame i of the padded sequence is made of. */
static int64_t newest_in(const struct net *t, int64_t i)
{
    const int64_t k = i - t->front - (t->pad == MOVED ? 2 : 0);
    if (k >= 0)
        return k + t->look;
    if (t->pad == FIRSTS)
        return i + t->look;
    return t->pad == EDGE || t->pad == COPIES || (t->pad == MARKED && k > -t->front) ? t->look
        : t->pad == REFLECT                                                          ? t->look - k
                                                                                     : NOTHING;
}

static int64_t least_delay(const struct net *t, int64_t pulse)
{
    int64_t newest[FRAMES], seen[FRAMES], d = 0;
    for (int64_t i = 0; i < FRAMES; i++)
        newest[i] = newest_in(t, i);
    for (int64_t l = 0; l < t->layers; l++) {
        for (int64_t i = 0; i < FRAMES; i++) {
            seen[i] = newest[i];
            for (int64_t j = 0; j < FRAMES; j++)
                seen[i] = sees(t, i, j) ? larger(seen[i], newest[j]) : seen[i];
            if (t->ends && i - t->front + t->ends >= 0)
                seen[i] = larger(seen[i], i - t->front + t->ends);
        }
        for (int64_t i = 0; i < FRAMES; i++)
            newest[i] = seen[i];
    }
    for (int64_t i = 0; i < FRAMES - 32 - t->cut; i++)
        while (newest[i + t->cut] >= 0 && (i + d) / pulse < newest[i + t->cut] / pulse)
            d++;
    return d;
}

/* ---- the net ---- */

static uint32_t counted(struct gb *b, uint32_t x, unsigned axis)
{
    const uint32_t n = GB(b, "Gather", "axis=0", GB(b, "Shape", "", x), gb_int(b, 1));
    return GB(b, "Unsqueeze", "", GB(b, "Range", "", gb_int(b, 0), n, gb_int(b, 1)),
              gb_ints(b, axis));
}

static uint32_t between(struct gb *b, uint32_t x, int64_t least, int64_t most)
{
    return GB(b, "And", "", GB(b, "GreaterOrEqual", "", x, gb_int(b, least)),
              GB(b, "LessOrEqual", "", x, gb_int(b, most)));
}

static uint32_t mask(struct gb *b, const struct net *t, uint32_t y)
{
    uint32_t i = counted(b, y, 1), j = counted(b, y, 0);
    const uint32_t d = GB(b, "Sub", "", i, j);
    if (t->chunk) {
        i = GB(b, "Div", "", i, gb_int(b, t->chunk));
        return between(b, GB(b, "Sub", "", i, GB(b, "Div", "", j, gb_int(b, t->chunk))), 0, 1);
    }
    const uint32_t band = between(b, d, -t->right, t->left);
    if (!t->first)
        return band;
    return GB(b, "Or", "", band,
              GB(b, "And", "", GB(b, "Less", "", j, gb_int(b, t->first)),
                 GB(b, "GreaterOrEqual", "", d, gb_int(b, -t->right))));
}

static uint32_t turned(struct gb *b, uint32_t y, uint32_t x)
{
    const uint32_t at =
        GB(b, "Mul", "", GB(b, "Cast", "to=1", counted(b, y, 1)), gb_weights(b, 2, 1, WIDTH));
    return GB(b, "Add", "", GB(b, "Mul", "", x, GB(b, "Cos", "", at)), GB(b, "Sin", "", at));
}

static uint32_t product(struct gb *b, uint32_t x)
{
    return GB(b, "MatMul", "", x, gb_weights(b, 2, WIDTH, WIDTH));
}

static uint32_t split(struct gb *b, const struct net *t, uint32_t x)
{
    return t->heads
        ? gb_transpose(b, GB(b, "Reshape", "", x, gb_ints(b, 1, -1, 2, WIDTH / 2)), "0,2,1,3")
        : x;
}

/* Each query sees its own frame, and others where their first number, or its own, is large enough.
 */
static uint32_t mask_of_frames(struct gb *b, const struct net *t, uint32_t y, bool asks)
{
    uint32_t k = GB(b, "Greater", "", gb_slice(b, y, 2, 0, 1, 1), gb_scalar(b, -.1f));
    const uint32_t own = GB(b, "Equal", "", counted(b, y, 1), counted(b, y, 0));
    k = asks ? k : gb_transpose(b, k, "0,2,1");
    k = t->heads ? GB(b, "Unsqueeze", "", k, gb_ints(b, 1)) : k;
    return GB(b, "And", "", mask(b, t, y), GB(b, "Or", "", k, own));
}

/* What m shows, without keys of the last queries but their own. */
static uint32_t ended(struct gb *b, const struct net *t, uint32_t y, uint32_t m)
{
    const uint32_t i = counted(b, y, 1),
                   n = GB(b, "Gather", "axis=0", GB(b, "Shape", "", y), gb_int(b, 1)),
                   first = GB(b, "Less", "", i, GB(b, "Sub", "", n, gb_int(b, t->ends)));
    return GB(b, "And", "", m, GB(b, "Or", "", first, GB(b, "Equal", "", i, counted(b, y, 0))));
}

static uint32_t weights_of(struct gb *b, const struct net *t, uint32_t y, uint32_t s, bool asks)
{
    uint32_t m = t->hides || asks ? mask_of_frames(b, t, y, asks) : mask(b, t, y);
    const uint32_t last = gb_ints(b, -1);
    m = t->ends ? ended(b, t, y, m) : m;
    if (t->of == SIGMOID)
        return GB(b, "Mul", "", GB(b, "Sigmoid", "", s), GB(b, "Cast", "to=1", m));
    if (t->of == MEANS) {
        const uint32_t shown = GB(b, "Cast", "to=1", mask(b, t, y)),
                       seen = GB(b, "ReduceSum", "keepdims=1", shown, last);
        return GB(b, "Div", "", GB(b, "Mul", "", s, GB(b, "Cast", "to=1", m)),
                  GB(b, "Max", "", seen, gb_scalar(b, 1)));
    }
    if (t->of == BIASED)
        s = GB(b, "Sub", "", s,
               GB(b, "Cast", "to=1",
                  GB(b, "Abs", "", GB(b, "Sub", "", counted(b, y, 1), counted(b, y, 0)))));
    const uint32_t hidden = gb_scalar(b, -INFINITY);
    if (t->of == ASKED) {
        const uint32_t low = GB(b, "Where", "", m, gb_scalar(b, 0), hidden),
                       sees = GB(b, "Greater", "", GB(b, "ReduceMax", "keepdims=1", low, last),
                                 hidden);
        return GB(b, "Where", "", sees, GB(b, "Softmax", "axis=-1", GB(b, "Add", "", s, low)),
                  gb_scalar(b, 0));
    }
    s = GB(b, "Where", "", m, s, hidden);
    if (t->of != WRITTEN)
        return GB(b, "Softmax", "axis=-1", s);
    s = GB(b, "Exp", "", GB(b, "Sub", "", s, GB(b, "ReduceMax", "keepdims=1", s, last)));
    return GB(b, "Div", "", s, GB(b, "ReduceSum", "keepdims=1", s, last));
}

/* The frames, the first turned to its negative. */
static uint32_t first_marked(struct gb *b, uint32_t y)
{
    const uint32_t is = GB(b, "Less", "", counted(b, y, 1), gb_int(b, 1));
    return GB(b, "Where", "", GB(b, "Reshape", "", is, gb_ints(b, 1, -1, 1)), GB(b, "Neg", "", y),
              y);
}

static uint32_t layer(struct gb *b, const struct net *t, uint32_t y, int64_t at)
{
    y = at < t->marked ? first_marked(b, y) : y;
    const uint32_t x =
        t->norm ? GB(b, "LayerNormalization", "axis=-1", y, gb_full(b, 1, 1, WIDTH)) : y;
    uint32_t q = product(b, x), k = product(b, x), v = split(b, t, product(b, x));
    if (t->of == TURNED) {
        q = turned(b, y, q);
        k = turned(b, y, k);
    }
    const uint32_t s = GB(b, "MatMul", "", split(b, t, q),
                          gb_transpose(b, split(b, t, k), t->heads ? "0,1,3,2" : "0,2,1"));
    v = GB(b, "MatMul", "", weights_of(b, t, y, s, at < t->asking), v);
    if (t->heads)
        v = GB(b, "Reshape", "", gb_transpose(b, v, "0,2,1,3"), gb_ints(b, 1, -1, WIDTH));
    y = GB(b, "Add", "", y, v);
    return GB(b, "Add", "", y, product(b, GB(b, "Relu", "", product(b, y))));
}

static uint32_t padded(struct gb *b, const struct net *t, uint32_t x)
{
    static const char *const modes[] = { "", "constant", "edge", "reflect" };
    const uint32_t first = gb_slice(b, x, 1, 0, 1, 1);
    for (int64_t i = t->pad == MARKED; (t->pad == COPIES || t->pad == MARKED) && i < t->front; i++)
        x = GB(b, "Concat", "axis=1", first, x);
    if (t->pad == MARKED)
        x = GB(b, "Concat", "axis=1", gb_weights(b, 3, 1, 1, WIDTH), x);
    if (t->pad == FIRSTS)
        x = GB(b, "Concat", "axis=1", gb_slice(b, x, 1, 0, t->front, 1), x);
    if (t->pad >= COPIES && t->pad < MOVED)
        return x;
    if (t->pad == MOVED)
        x = gb_slice(b, gb_pad(b, x, 3, 1, "constant", 4, 0), 1, 0, -2, 1);
    if (t->pad && t->pad < COPIES)
        return gb_pad(b, x, 3, 1, modes[t->pad], t->front, 0);
    x = GB(b, "Concat", "axis=1", gb_weights(b, 3, 1, (int) t->front, WIDTH), x);
    return t->behind ? GB(b, "Concat", "axis=1", x, gb_weights(b, 3, 1, (int) t->behind, WIDTH))
                     : x;
}

static void recipe(struct gb *b, const void *ctx)
{
    const struct net *t = ctx;
    uint32_t y = gb_input(b, "x", 3, 1, GB_TIME, WIDTH);
    if (t->look) {
        y = GB(b, "Conv", gb_printf(b, "pads=%d,%d", (int) t->look, (int) t->look),
               gb_transpose(b, y, "0,2,1"),
               gb_weights(b, 3, WIDTH, WIDTH, (int) (2 * t->look + 1)));
        y = gb_transpose(b, y, "0,2,1");
    }
    y = padded(b, t, y);
    for (int64_t l = 0; l < t->layers; l++)
        y = layer(b, t, y, l);
    gb_output(b, t->cut ? gb_slice(b, y, 1, t->cut, INT64_MAX, 1) : y);
}

static const struct pass decided[] = { { "masks-counted", false, graph_with_masks_counted },
                                       { "choices-made", true, graph_with_choices_made } };

static void net_test(const struct net *t, int64_t pulse, bool declutters)
{
    static const int64_t from[] = { 0, 1, 2, 3, 5, 9, 30, -1 };
    const int64_t pulses[] = { pulse, -1 },
                  *lengths = t->pad == FIRSTS ? from + 3
        : t->pad < EDGE || t->pad >= COPIES   ? from
                                              : from + 4;
    char name[160];
    struct oracle o = { .seed = 1 };
    snprintf(name, sizeof name,
             "%d layers, %d in front by %d, from -%d to %d, first %d, chunks of %d, cut %d, of %d",
             (int) t->layers, (int) t->front, (int) t->pad, (int) t->left, (int) t->right,
             (int) t->first, (int) t->chunk, (int) t->cut, (int) t->of);
    bool opens = oracle_open(&o, recipe, t, t->pad == FIRSTS ? "S>=3" : NULL) == LAW_HOLDS;
    struct graph *g = opens ? &o.model->decluttered.g : NULL;
    if (opens && declutters)
        opens = graph_declutter(g, g, NULL, &o.err) == RILL_OK;
    if (opens && t->of == ASKED) /* as a model is opened */
        opens = passes_run(decided, 2, g, g, NULL, &o.err) == RILL_OK;
    opens = opens && oracle_pulse(&o, pulse) == LAW_HOLDS;
    const int64_t late = opens ? o.plan->pgraph.outputs[0].delay : -1,
                  least = least_delay(t, pulse);
    oracle_check(late == least, "%s: %lld late at pulse %lld, not %lld: %s", name, (long long) late,
                 (long long) pulse, (long long) least, o.err.text);
    if (opens)
        oracle_laws(&o, name, pulses, lengths);
    oracle_close(&o);
}

/* Frames in front that are cut off again, some of them, or none. */
static void test_layers(void)
{
    for (int64_t k = 0; k < 72; k++) {
        struct net t = { .layers = 1 + k % 3,
                         .front = 1 + k % 4,
                         .left = k % 5,
                         .right = k / 3 % 3,
                         .pad = k % 8 < 4 ? TOKENS : k % 4,
                         .of = k / 2 % 5,
                         .heads = k % 2,
                         .norm = k % 3 == 1,
                         .hides = k % 11 < 3,
                         .look = k % 6 == 5 };
        t.right = t.pad == REFLECT ? 0 : t.right;
        t.first = t.right == 0 && k % 7 == 0 ? t.front : 0;
        t.cut = k % 5 == 0 ? 0 : k % 5 == 1 ? 1 : t.front;
        t.behind = t.pad == TOKENS && k % 8 == 3 ? 2 : 0;
        net_test(&t, 1 + k / 5 % 4, k % 2);
    }
}

static void test_asked(void)
{
    for (int64_t k = 0; k < 8; k++)
        net_test(&(struct net) { .layers = 1 + k % 3,
                                 .front = 1 + k % 4,
                                 .left = 1 + k % 3,
                                 .right = k / 4,
                                 .of = ASKED,
                                 .heads = k % 2,
                                 .cut = k % 4 },
                 1 + k % 3, k % 2);
}

static void test_asking(void)
{
    for (int64_t k = 0; k < 24; k++)
        net_test(&(struct net) { .layers = 1 + k % 3,
                                 .front = 1 + k % 4,
                                 .left = 1 + k % 3,
                                 .right = k / 5 % 2,
                                 .pad = k % 5 < 3 ? TOKENS : k % 5 - 2,
                                 .of = k % 4 == 3 ? SIGMOID : SOFTMAX,
                                 .asking = k % 4 ? k % 4 : 0,
                                 .marked = k % 3 ? 0 : 1 + k % 2,
                                 .heads = k / 3 % 2,
                                 .cut = k % 5 },
                 1 + k % 3, k % 2);
}

/* What the keys that a query sees are counted to be is known of first queries, too. */
static void test_means(void)
{
    for (int64_t k = 0; k < 24; k++)
        net_test(&(struct net) { .layers = 1 + k % 3,
                                 .front = 1 + k % 4,
                                 .left = k % 4,
                                 .right = k / 5 % 2,
                                 .chunk = k % 7 == 6 ? 2 : 0,
                                 .first = k % 9 == 4 ? 1 + k % 4 : 0,
                                 .pad = k % 6 < 4 ? TOKENS : k % 6 - 3,
                                 .of = MEANS,
                                 .hides = k % 5 == 2,
                                 .heads = k / 3 % 2,
                                 .cut = k % 5 },
                 k % 7 == 6 ? 2 * (1 + k % 2) : 1 + k % 3, k % 2);
}

/* Copies of the first frame, of which a sequence without frames has none. */
static void test_copies(void)
{
    for (int64_t k = 0; k < 12; k++)
        net_test(&(struct net) { .layers = 1 + k % 2,
                                 .front = 1 + k % 3,
                                 .left = 1 + k % 3,
                                 .pad = COPIES,
                                 .of = k % 4 == 3 ? SIGMOID : SOFTMAX,
                                 .asking = k % 3,
                                 .look = k % 5 == 4,
                                 .cut = k % 4 },
                 1 + k % 3, false);
}

/* A sequence without frames has the token alone in front. */
static void test_marked(void)
{
    for (int64_t k = 0; k < 24; k++)
        net_test(&(struct net) { .layers = 1 + k % 3,
                                 .front = 2 + k % 3,
                                 .left = 1 + k % 3,
                                 .right = k % 4 == 2 ? 0 : k / 3 % 3,
                                 .first = k % 5 == 3,
                                 .pad = MARKED,
                                 .of = k % 4 == 3 ? SIGMOID
                                     : k % 4 == 2 ? MEANS
                                     : k % 8 == 1 ? WRITTEN
                                                  : SOFTMAX,
                                 .asking = k % 4 == 2 ? 0 : k % 3,
                                 .hides = k % 6 == 5,
                                 .look = k % 5 == 4,
                                 .cut = k % 5 },
                 1 + k % 3, k % 2);
}

/* A mask that asks data of its queries finds as many first ones as the keys do. */
static void test_firsts(void)
{
    for (int64_t k = 0; k < 12; k++)
        net_test(&(struct net) { .layers = 1 + k % 2,
                                 .front = 2 + k % 2,
                                 .left = 1 + k % 3,
                                 .pad = FIRSTS,
                                 .of = k % 4 == 3 ? SIGMOID : SOFTMAX,
                                 .asking = k % 3,
                                 .cut = k % 4 },
                 1 + k / 4, false);
}

/* Of constants in front a short sequence has fewer. */
static void test_moved(void)
{
    for (int64_t k = 0; k < 12; k++)
        net_test(&(struct net) { .layers = 1 + k % 2,
                                 .front = 1 + k % 3,
                                 .left = 1 + k % 3,
                                 .right = k % 5 == 4,
                                 .pad = MOVED,
                                 .of = k % 4 == 3 ? SIGMOID
                                     : k % 4 == 2 ? MEANS
                                                  : SOFTMAX,
                                 .asking = k % 4 == 2 ? 0 : k % 3,
                                 .cut = k % 4 },
                 1 + k % 3, k % 2);
}

/* Of first queries it is known which are the last when the sequence is as long as that wants. */
static void test_ends(void)
{
    for (int64_t k = 0; k < 24; k++)
        net_test(&(struct net) { .layers = 1 + k % 2,
                                 .front = 1 + k % 4,
                                 .left = 1 + k % 3,
                                 .right = k % 6 == 5,
                                 .pad = k % 4 == 3 ? EDGE
                                     : k % 4 == 1  ? MARKED
                                                   : TOKENS,
                                 .of = k % 4 == 3 ? SIGMOID : SOFTMAX,
                                 .ends = 1 + k % 3,
                                 .asking = k % 5 == 4,
                                 .cut = k % 5 },
                 1 + k % 3, k % 2);
}

static void test_chunks(void)
{
    for (int64_t k = 0; k < 24; k++)
        net_test(&(struct net) { .layers = 1 + k % 3,
                                 .front = 1 + k % 5,
                                 .chunk = 2 + k % 2,
                                 .pad = k % 4,
                                 .of = k % 5,
                                 .cut = k % 3 ? 1 + k % 5 : 0 },
                 (2 + k % 2) * (1 + k / 12), k % 4 == 1);
}

/* Queries of a sequence that comes two frames later, behind tokens and in front of one: of a short
 * one the token behind is where zeros of the delay are in others. */
static void delayed(struct gb *b, const void *ctx)
{
    const struct net *t = ctx;
    const uint32_t x = gb_input(b, "x", 3, 1, GB_TIME, WIDTH),
                   late = gb_slice(b, gb_pad(b, x, 3, 1, "constant", 2, 0), 1, 0, -2, 1);
    uint32_t y = GB(b, "Concat", "axis=1", gb_weights(b, 3, 1, 2, WIDTH), late);
    y = GB(b, "Concat", "axis=1", y, gb_weights(b, 3, 1, (int) t->behind, WIDTH));
    const uint32_t k = GB(b, "Concat", "axis=1", gb_weights(b, 3, 1, 2 + (int) t->behind, WIDTH),
                          x),
                   at = GB(b, "Cast", "to=1", counted(b, y, 1)),
                   s = GB(b, "MatMul", "",
                          GB(b, "Mul", "", y, GB(b, "Mul", "", at, gb_scalar(b, .1f))),
                          gb_transpose(b, k, "0,2,1"));
    y = GB(b, "MatMul", "", weights_of(b, t, y, s, false), k);
    gb_output(b, gb_slice(b, GB(b, "Add", "", y, GB(b, "Tanh", "", y)), 1, t->cut, INT64_MAX, 1));
}

static void test_delayed(void)
{
    static const int64_t pulses[] = { 1, 3, -1 }, lengths[] = { 0, 1, 2, 3, 9, -1 };
    for (int64_t k = 0; k < 8; k++) {
        const struct net t = { .left = 2, .behind = 1 + k % 2, .cut = 2 + k / 2 % 2, .of = k / 4 };
        struct oracle o = { .seed = 1 };
        oracle_check(oracle_open(&o, delayed, &t, NULL) == LAW_HOLDS, "%s", o.err.text);
        oracle_laws(&o, "behind tokens and a delay", pulses, lengths);
        oracle_close(&o);
    }
}

/* Operands that are longer than the sequence where this is short: one frame of the others would be
 * copied, and of no keys there are no weights. */
enum { QUERIES, KEYS, PRODUCT, MASK, NO_KEYS };

static void longer(struct gb *b, const void *ctx)
{
    const int what = *(const int *) ctx;
    const struct net t = { .left = 2, .of = what == NO_KEYS ? SOFTMAX : SIGMOID };
    const uint32_t x = gb_input(b, "x", 3, 1, GB_TIME, WIDTH), xt = gb_transpose(b, x, "0,2,1"),
                   w = GB(b, "Concat", "axis=1", gb_weights(b, 3, 1, 3, WIDTH),
                          gb_slice(b, x, 1, 3, INT64_MAX, 1)),
                   q = what == NO_KEYS ? GB(b, "Concat", "axis=1", gb_weights(b, 3, 1, 1, WIDTH), x)
                                       : x,
                   one = gb_slice(b, w, 2, 0, 1, 1);
    uint32_t s = GB(b, "MatMul", "", q, xt), v = what == KEYS ? w : x;
    if (what == QUERIES)
        s = GB(b, "Add", "", s, one);
    if (what == KEYS)
        s = GB(b, "Add", "", s, gb_transpose(b, one, "0,2,1"));
    if (what == PRODUCT)
        s = GB(b, "Add", "", s, GB(b, "MatMul", "", w, xt));
    if (what == NO_KEYS)
        s = GB(b, "Where", "",
               between(b, GB(b, "Sub", "", counted(b, q, 1), counted(b, x, 0)), 0, 2), s,
               gb_scalar(b, -INFINITY));
    s = what == NO_KEYS ? GB(b, "Softmax", "axis=-1", s)
                        : weights_of(b, &t, what == MASK ? w : x, s, false);
    gb_output(b, GB(b, "MatMul", "", s, v));
}

static void test_longer(void)
{
    static const int64_t pulses[] = { 1, 3, -1 }, lengths[] = { 3, 4, 9, -1 };
    for (int what = QUERIES; what <= NO_KEYS; what++) {
        const char *assertion = what == NO_KEYS ? "S>=1" : "S>=3";
        struct oracle o = { .seed = 1 };
        const bool refused = oracle_open(&o, longer, &what, NULL) == LAW_REFUSED ||
            oracle_pulse(&o, 1) == LAW_REFUSED;
        oracle_check(refused && strstr(o.err.text, what == NO_KEYS ? "S >= 1" : "S >= 3"),
                     "longer, %d: %s", what, o.err.text);
        oracle_close(&o);
        o = (struct oracle) { .seed = 1 };
        oracle_check(oracle_open(&o, longer, &what, assertion) == LAW_HOLDS, "%s", o.err.text);
        oracle_laws(&o, "longer, where it is not", pulses, lengths);
        oracle_close(&o);
    }
}

int main(void)
{
    test_longer();
    test_delayed();
    test_layers();
    test_asked();
    test_asking();
    test_means();
    test_copies();
    test_marked();
    test_firsts();
    test_moved();
    test_ends();
    test_chunks();
    return oracle_end();
}
