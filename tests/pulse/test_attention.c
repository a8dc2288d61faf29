/* SPDX-License-Identifier: MIT */
/* Attention along time under masks of positions: what a stream gives is what the whole sequence
 * gives. The softmax adds its row in the order of its places, which a window shifts, so bits may
 * differ there: a tolerance. */
#include "tests/pulse/oracle.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { WIDTH = 6 };

struct attention {
    const char *name;
    int64_t chunk, left, right;   /* in chunks */
    int form;                     /* how the mask is laid over the scores */
    int64_t query_late, key_late; /* frames that a convolution makes queries and keys late */
    int64_t stride;               /* frames of the input per frame of the attention */
    int relative;                 /* values of distances are added (Shaw); 0: none */
};

enum { RELATIVE_EINSUM = 1, RELATIVE_MATMUL };

enum {
    FORM_WHERE_KEEP,
    FORM_WHERE_HIDE,
    FORM_ADD,
    FORM_TRIANGLES,
    FORM_TWO_ADDED,
    FORM_LESS,
    FORM_ROWS,
    FORM_ALL_ROWS
};

/* Index of the chunk that each frame is in, as a row or a column. */
static uint32_t chunks_of(struct gb *b, uint32_t x, int64_t chunk, int64_t new_axis)
{
    uint32_t shape = GB(b, "Shape", "", x);
    uint32_t length = GB(b, "Gather", "axis=0", shape, gb_int(b, 1));
    uint32_t at = GB(b, "Range", "", gb_int(b, 0), length, gb_int(b, 1));
    return GB(b, "Unsqueeze", "", chunk > 1 ? GB(b, "Div", "", at, gb_int(b, chunk)) : at,
              gb_ints(b, new_axis));
}

/* True where the key is hidden from the query. */
static uint32_t hidden_of(struct gb *b, uint32_t x, const struct attention *a)
{
    uint32_t i = chunks_of(b, x, a->chunk, 1), j = chunks_of(b, x, a->chunk, 0);
    uint32_t apart = GB(b, "Sub", "", i, j);
    uint32_t near = GB(b, "LessOrEqual", "", apart, gb_int(b, a->left));
    return GB(b, "Not", "",
              GB(b, "And", "", near, GB(b, "GreaterOrEqual", "", apart, gb_int(b, -a->right))));
}

/* The product of two triangles of ones, 1 where the key is seen; chunk 1. */
static uint32_t triangles(struct gb *b, uint32_t scores, const struct attention *a)
{
    uint32_t shape = GB(b, "Slice", "", GB(b, "Shape", "", scores), gb_ints(b, 1), gb_ints(b, 3));
    uint32_t ones = GB(b, "Expand", "", gb_scalar(b, 1), shape);
    return GB(b, "Mul", "", GB(b, "Trilu", "upper=0", ones, gb_int(b, a->right)),
              GB(b, "Trilu", "upper=1", ones, gb_int(b, -a->left)));
}

/* Masks of what lies too far back and of what lies too far ahead, one added to the other. */
static uint32_t two_added(struct gb *b, uint32_t x, const struct attention *a)
{
    uint32_t apart = GB(b, "Sub", "", chunks_of(b, x, a->chunk, 1), chunks_of(b, x, a->chunk, 0));
    uint32_t never = gb_scalar(b, -INFINITY), zero = gb_scalar(b, 0);
    return GB(b, "Add", "",
              GB(b, "Where", "", GB(b, "Greater", "", apart, gb_int(b, a->left)), never, zero),
              GB(b, "Where", "", GB(b, "Less", "", apart, gb_int(b, -a->right)), never, zero));
}

static uint32_t masked(struct gb *b, uint32_t scores, uint32_t x, const struct attention *a)
{
    if (a->form == FORM_TRIANGLES)
        return GB(b, "Where", "", GB(b, "Equal", "", triangles(b, scores, a), gb_scalar(b, 0)),
                  gb_scalar(b, -INFINITY), scores);
    if (a->form == FORM_LESS)
        return GB(b, "Where", "", GB(b, "Less", "", gb_scalar(b, 0.5f), triangles(b, scores, a)),
                  scores, gb_scalar(b, -1e9f));
    if (a->form == FORM_TWO_ADDED)
        return GB(b, "Add", "", scores, two_added(b, x, a));
    uint32_t hidden = hidden_of(b, x, a);
    if (a->form == FORM_WHERE_HIDE)
        return GB(b, "Where", "", hidden, gb_scalar(b, -INFINITY), scores);
    if (a->form == FORM_WHERE_KEEP)
        return GB(b, "Where", "", GB(b, "Not", "", hidden), scores, gb_scalar(b, -1e9f));
    return GB(b, "Add", "", scores,
              GB(b, "Where", "", hidden, gb_scalar(b, -1e9f), gb_scalar(b, 0)));
}

/* [1, S, WIDTH] times weights, `late` frames late. */
static uint32_t projection(struct gb *b, uint32_t x, int64_t late)
{
    uint32_t y = GB(b, "MatMul", "", x, gb_weights(b, 2, WIDTH, WIDTH));
    if (!late)
        return y;
    uint32_t c = gb_transpose(b, y, "0,2,1");
    char attrs[64];
    snprintf(attrs, sizeof attrs, "pads=0,%d", (int) late);
    c = GB(b, "Conv", attrs, c, gb_weights(b, 3, WIDTH, WIDTH, (int) late + 1));
    return gb_transpose(b, c, "0,2,1");
}

/* As older files say it: over all axes from one on, flattened to rows for it. */
static uint32_t softmax(struct gb *b, uint32_t scores, const struct attention *a)
{
    if (a->form != FORM_ROWS && a->form != FORM_ALL_ROWS)
        return GB(b, "Softmax", "axis=-1", scores);
    uint32_t rows = GB(b, "Flatten", a->form == FORM_ROWS ? "axis=2" : "axis=1", scores);
    return GB(b, "Reshape", "", GB(b, "Softmax", "axis=-1", rows), GB(b, "Shape", "", scores));
}

/* Weights times rows of a table by distances, of which it has those up to 3. */
static uint32_t relative(struct gb *b, uint32_t x, uint32_t weights, int form)
{
    uint32_t apart = GB(b, "Sub", "", chunks_of(b, x, 1, 1), chunks_of(b, x, 1, 0));
    apart = GB(b, "Clip", "", apart, gb_int(b, -3), gb_int(b, 3));
    uint32_t rows = GB(b, "Gather", "axis=0", gb_weights(b, 2, 7, WIDTH),
                       GB(b, "Add", "", apart, gb_int(b, 3)));
    if (form == RELATIVE_EINSUM)
        return GB(b, "Einsum", "equation='bij,ijd->bid", weights, rows);
    return gb_transpose(b, GB(b, "MatMul", "", gb_transpose(b, weights, "1,0,2"), rows), "1,0,2");
}

static void recipe(struct gb *b, const void *ctx)
{
    const struct attention *a = ctx;
    uint32_t x = gb_input(b, "x", 3, 1, WIDTH, GB_TIME);
    if (a->stride > 1) {
        char attrs[64];
        snprintf(attrs, sizeof attrs, "strides=%d pads=%d,0", (int) a->stride, (int) a->stride - 1);
        x = GB(b, "Conv", attrs, x, gb_weights(b, 3, WIDTH, WIDTH, (int) a->stride));
    }
    x = gb_transpose(b, x, "0,2,1");
    uint32_t q = projection(b, x, a->query_late), k = projection(b, x, a->key_late),
             v = projection(b, x, 0);
    uint32_t scores = GB(b, "MatMul", "", q, gb_transpose(b, k, "0,2,1"));
    scores = GB(b, "Mul", "", scores, gb_scalar(b, 0.4f));
    uint32_t weights = softmax(b, masked(b, scores, x, a), a);
    uint32_t y = GB(b, "MatMul", "", weights, v);
    if (a->relative)
        y = GB(b, "Add", "", y, relative(b, x, weights, a->relative));
    gb_output(b, GB(b, "Add", "", x, y));
}

/* ---- a softmax written out over two parts ---- */

/* Of one part all keys of most queries are hidden, by a number; of the other each query sees
 * itself. largest: of the first part, an output of its own too. */
struct parts {
    bool largest_given;
};

static void parts_recipe(struct gb *b, const void *ctx)
{
    const struct parts *c = ctx;
    uint32_t x = gb_transpose(b, gb_input(b, "x", 3, 1, WIDTH, GB_TIME), "0,2,1");
    uint32_t scores = GB(b, "MatMul", "", x, gb_transpose(b, x, "0,2,1"));
    uint32_t apart =
        GB(b, "Abs", "", GB(b, "Sub", "", chunks_of(b, x, 1, 1), chunks_of(b, x, 1, 0)));
    uint32_t same = GB(b, "Equal", "", chunks_of(b, x, 8, 1), chunks_of(b, x, 8, 0));
    uint32_t seen[] = { GB(b, "And", "", GB(b, "LessOrEqual", "", apart, gb_int(b, 2)),
                           GB(b, "Not", "", same)),
                        GB(b, "LessOrEqual", "", apart, gb_int(b, 1)) };
    uint32_t part[2], largest[2], sum[2], product[2];
    for (int k = 0; k < 2; k++) {
        part[k] = GB(b, "Add", "", scores,
                     GB(b, "Where", "", seen[k], gb_scalar(b, 0), gb_scalar(b, -1e4f)));
        largest[k] = GB(b, "ReduceMax", "keepdims=1", part[k], gb_ints(b, 2));
    }
    const uint32_t both = GB(b, "Max", "", largest[0], largest[1]);
    for (int k = 0; k < 2; k++) {
        uint32_t e = GB(b, "Exp", "", GB(b, "Sub", "", part[k], both));
        sum[k] = GB(b, "ReduceSum", "keepdims=1", e, gb_ints(b, 2));
        product[k] = GB(b, "MatMul", "", e, x);
    }
    gb_output(b,
              GB(b, "Div", "", GB(b, "Add", "", product[0], product[1]),
                 GB(b, "Add", "", sum[0], sum[1])));
    if (c->largest_given)
        gb_output(b, largest[0]);
}

static void parts_test(void)
{
    static const int64_t lengths[] = { 0, 1, 8, 17, 40, -1 }, pulses[] = { 8, 24, -1 };
    struct oracle o;
    enum verdict v = oracle_open(&o, parts_recipe, &(struct parts) { false }, NULL);
    oracle_check(v == LAW_HOLDS, "parts: %s", o.err.text);
    o.tolerance = 1e-5f;
    if (v == LAW_HOLDS)
        oracle_laws(&o, "parts", pulses, lengths);
    oracle_close(&o);
    v = oracle_open(&o, parts_recipe, &(struct parts) { true }, NULL);
    v = v == LAW_HOLDS ? oracle_pulse(&o, 8) : v;
    oracle_check(v == LAW_REFUSED && strstr(o.err.text, "all of whose keys are hidden"),
                 "parts, the largest given: %s", o.err.text);
    oracle_close(&o);
}

/* ---- keys behind a cache ---- */

/* A constant cache of `past` frames in front of keys and values: query i, whose own frame is key
 * past + i, sees the keys from `near` to `far` frames before that. */
static const struct cached {
    const char *name;
    int64_t past, near, far;
    float hidden; /* added where it does not see */
    bool by_hand; /* the softmax is written out */
    const char *refused;
} cached[] = {
    { "a short cache", 2, 0, 3, -1e9f, false, NULL },
    { "a cache as long as the window", 4, 0, 3, -1e9f, false, NULL },
    { "a longer cache", 9, 0, 3, -1e9f, false, NULL },
    { "a longer cache, by hand", 9, 0, 3, -1e9f, true, NULL },
    { "a cache of more frames than are tried", 200, 0, 3, -1e9f, false, NULL },
    { "not its own frame", 9, 2, 4, -1e4f, false, NULL },
    { "not its own frame, by hand", 5, 2, 4, -1e9f, true, NULL },
    { "the key of its number alone", 200, 200, 200, -1e9f, false, NULL },
    { "behind the cache", 3, 4, 6, -1e9f, false, "not -inf" },
    { "behind the cache, by hand", 3, 4, 6, -1e9f, true, "not -inf" },
    { "behind the cache, -inf", 3, 4, 6, -INFINITY, false, NULL },
    { "ahead", 3, -2, -1, -1e9f, false, "not -inf" },
};

static uint32_t softmax_of(struct gb *b, uint32_t scores, bool by_hand)
{
    if (!by_hand)
        return GB(b, "Softmax", "axis=-1", scores);
    const uint32_t key = gb_ints(b, 2), largest = GB(b, "ReduceMax", "", scores, key),
                   e = GB(b, "Exp", "", GB(b, "Sub", "", scores, largest));
    return GB(b, "Div", "", e, GB(b, "ReduceSum", "", e, key));
}

static void behind_cache(struct gb *b, const void *ctx)
{
    const struct cached *c = ctx;
    const uint32_t x = gb_input(b, "x", 3, 1, GB_TIME, WIDTH),
                   keys = GB(b, "Concat", "axis=1", gb_weights(b, 3, 1, (int) c->past, WIDTH), x),
                   far =
                       GB(b, "Sub", "", GB(b, "Add", "", chunks_of(b, x, 1, 1), gb_int(b, c->past)),
                          chunks_of(b, keys, 1, 0)),
                   seen = GB(b, "And", "", GB(b, "GreaterOrEqual", "", far, gb_int(b, c->near)),
                             GB(b, "LessOrEqual", "", far, gb_int(b, c->far))),
                   bias = GB(b, "Where", "", seen, gb_scalar(b, 0), gb_scalar(b, c->hidden));
    uint32_t scores = GB(b, "MatMul", "", x, gb_transpose(b, keys, "0,2,1"));
    scores = softmax_of(b, GB(b, "Add", "", scores, bias), c->by_hand);
    scores = GB(b, "Where", "", GB(b, "IsNaN", "", scores), gb_scalar(b, 0), scores);
    gb_output(b, GB(b, "MatMul", "", scores, keys));
}

static void cached_test(const struct cached *c)
{
    static const int64_t lengths[] = { 1, 2, 5, 17, 32, -1 }, pulses[] = { 1, 3, 8, -1 };
    struct oracle o;
    enum verdict v = oracle_open(&o, behind_cache, c, NULL);
    o.tolerance = 1e-5f;
    if (!c->refused && v == LAW_HOLDS)
        oracle_laws(&o, c->name, pulses, lengths);
    if (c->refused && v == LAW_HOLDS)
        v = oracle_pulse(&o, 1);
    oracle_check(c->refused ? v == LAW_REFUSED && strstr(o.err.text, c->refused) : v == LAW_HOLDS,
                 "%s: %s", c->name, o.err.text);
    oracle_close(&o);
}

/* ---- keys of half the rate ---- */

/* Query i sees the means j of two frames for which `near` <= i - 2 * j <= `far`. */
static const struct pooled {
    const char *name;
    int64_t near, far;
    bool refused; /* a query may see none */
} pooled[] = {
    { "means so far", 0, 5, false },
    { "means ahead", -2, 5, false },
    { "its own mean alone", 0, 1, false },
    { "means before its own", 1, 5, true },
    { "a mean for every second query", 0, 0, true },
};

static void keys_pooled(struct gb *b, const void *ctx)
{
    const struct pooled *c = ctx;
    const uint32_t x = gb_input(b, "x", 3, 1, GB_TIME, WIDTH);
    const uint32_t keys = GB(b, "ReduceMean", "keepdims=0",
                             GB(b, "Reshape", "", x, gb_ints(b, 1, -1, 2, WIDTH)), gb_ints(b, 2));
    const uint32_t far = GB(b, "Sub", "", chunks_of(b, x, 1, 1),
                            GB(b, "Mul", "", chunks_of(b, keys, 1, 0), gb_int(b, 2)));
    const uint32_t seen = GB(b, "And", "", GB(b, "GreaterOrEqual", "", far, gb_int(b, c->near)),
                             GB(b, "LessOrEqual", "", far, gb_int(b, c->far)));
    const uint32_t scores =
        GB(b, "Where", "", seen, GB(b, "MatMul", "", x, gb_transpose(b, keys, "0,2,1")),
           gb_scalar(b, -1e9f));
    gb_output(b, GB(b, "MatMul", "", GB(b, "Softmax", "axis=-1", scores), keys));
}

static void pooled_test(const struct pooled *c)
{
    static const int64_t lengths[] = { 2, 4, 6, 18, 32, -1 }, pulses[] = { 2, 4, 10, -1 };
    struct oracle o;
    enum verdict v = oracle_open(&o, keys_pooled, c, "S==2*(S/2)");
    o.tolerance = 1e-5f;
    if (!c->refused && v == LAW_HOLDS)
        oracle_laws(&o, c->name, pulses, lengths);
    if (c->refused && v == LAW_HOLDS)
        v = oracle_pulse(&o, 2);
    oracle_check(c->refused ? v == LAW_REFUSED && strstr(o.err.text, "not -inf") : v == LAW_HOLDS,
                 "%s: %s", c->name, o.err.text);
    oracle_close(&o);
}

/* ---- rows ---- */

static const struct attention rows[] = {
    { "block diagonal", 4, 0, 0, FORM_WHERE_HIDE, 0, 0, 1, 0 },
    { "left context", 4, 2, 0, FORM_WHERE_HIDE, 0, 0, 1, 0 },
    { "left context, kept", 4, 2, 0, FORM_WHERE_KEEP, 0, 0, 1, 0 },
    { "left context, added", 3, 1, 0, FORM_ADD, 0, 0, 1, 0 },
    { "causal band", 1, 7, 0, FORM_WHERE_HIDE, 0, 0, 1, 0 },
    { "causal band of triangles", 1, 7, 0, FORM_TRIANGLES, 0, 0, 1, 0 },
    { "triangles with lookahead", 1, 4, 2, FORM_TRIANGLES, 2, 0, 1, 0 },
    { "triangles compared", 1, 3, 1, FORM_LESS, 0, 1, 1, 0 },
    { "two masks added", 3, 2, 0, FORM_TWO_ADDED, 0, 0, 1, 0 },
    { "two masks added, both sides", 2, 1, 2, FORM_TWO_ADDED, 0, 0, 1, 0 },
    { "rows", 3, 1, 0, FORM_ROWS, 1, 0, 1, 0 },
    { "both sides", 2, 1, 1, FORM_ADD, 0, 0, 1, 0 },
    { "band with lookahead", 1, 5, 3, FORM_WHERE_HIDE, 0, 0, 1, 0 },
    { "late queries", 4, 1, 0, FORM_WHERE_HIDE, 3, 0, 1, 0 },
    { "late keys", 4, 1, 0, FORM_WHERE_HIDE, 0, 2, 1, 0 },
    { "after subsampling", 4, 2, 0, FORM_WHERE_HIDE, 0, 0, 4, 0 },
    { "values of distances", 1, 7, 0, FORM_WHERE_HIDE, 0, 0, 1, RELATIVE_EINSUM },
    { "values of distances, multiplied", 1, 5, 2, FORM_ADD, 0, 0, 1, RELATIVE_MATMUL },
    { "values of distances, chunks", 4, 2, 0, FORM_WHERE_KEEP, 3, 0, 1, RELATIVE_EINSUM },
    { "values of distances, keys late", 2, 2, 1, FORM_WHERE_HIDE, 0, 3, 1, RELATIVE_MATMUL },
};

static void row_test(const struct attention *a)
{
    static const int64_t lengths[] = { 0, 1, 3, 8, 17, 32, 61, -1 }, pulses[] = { 1, 4, 6, 24, -1 };
    struct oracle o;
    enum verdict v = oracle_open(&o, recipe, a, NULL);
    oracle_check(v == LAW_HOLDS, "%s: %s", a->name, o.err.text);
    o.tolerance = 1e-5f;
    if (v == LAW_HOLDS)
        oracle_laws(&o, a->name, pulses, lengths);
    oracle_close(&o);
}

static void refused(const char *name, const struct attention *a, const char *words)
{
    struct oracle o;
    enum verdict v = oracle_open(&o, recipe, a, NULL);
    v = v == LAW_HOLDS ? oracle_pulse(&o, 1) : v;
    oracle_check(v == LAW_REFUSED && strstr(o.err.text, words), "%s: %s", name, o.err.text);
    oracle_close(&o);
}

int main(void)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        row_test(&rows[i]);
    for (size_t i = 0; i < sizeof cached / sizeof *cached; i++)
        cached_test(&cached[i]);
    for (size_t i = 0; i < sizeof pooled / sizeof *pooled; i++)
        pooled_test(&pooled[i]);
    parts_test();
    refused("all the past",
            &(struct attention) { "all", 1, 1 << 20, 0, FORM_WHERE_HIDE, 0, 0, 1, 0 }, "2048 away");
    refused("all rows as one", &(struct attention) { "rows", 3, 1, 0, FORM_ALL_ROWS, 0, 0, 1, 0 },
            "(Flatten)");
    refused("all the future",
            &(struct attention) { "all", 4, 0, 1 << 20, FORM_WHERE_HIDE, 0, 0, 1, 0 }, "2048 away");
    return oracle_end();
}
