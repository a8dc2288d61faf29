/* SPDX-License-Identifier: MIT */
/* Attention under masks of chunks joined with bands, over a cache that is joined to its keys, and
 * over means of segments: a stream is the whole run, and as late as the frames that each query sees
 * make it. */
#include "engine/rewrite/declutter/declutter.h"
#include "engine/rewrite/declutter/passes.h"
#include "pulse/running.h"
#include "tests/pulse/oracle.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { WIDTH = 3 };

/* A query sees `back` chunks before its own and `ahead` behind it, of those the keys from `left`
 * frames before it to `right` behind it. */
struct joint {
    int64_t chunk, back, ahead, left, right;
    enum { AND, MUL, NESTED, ADDED, CHAINED } join;
    int64_t look; /* frames that keys and values see ahead */
    bool late;    /* only the values do, which are made behind the scores */
};

static bool sees(const struct joint *t, int64_t i, int64_t j)
{
    const int64_t chunks = i / t->chunk - j / t->chunk;
    return chunks >= -t->ahead && chunks <= t->back && i - j <= t->left && i - j >= -t->right;
}

/* The newest input frame that query i depends on. */
static int64_t newest(const struct joint *t, int64_t i)
{
    int64_t j = i + t->right;
    while (!sees(t, i, j))
        j--;
    return j + t->look;
}

static bool is_enough(const struct joint *t, int64_t pulse, int64_t delay)
{
    const int64_t first = 100 * pulse * t->chunk;
    for (int64_t i = first; i < first + pulse * t->chunk; i++)
        if ((i + delay) / pulse < newest(t, i) / pulse)
            return false;
    return true;
}

static int64_t least_delay(const struct joint *t, int64_t pulse)
{
    int64_t d = 0;
    while (!is_enough(t, pulse, d))
        d++;
    return d;
}

static uint32_t between(struct gb *b, uint32_t x, int64_t least, int64_t most)
{
    return GB(b, "And", "", GB(b, "GreaterOrEqual", "", x, gb_int(b, least)),
              GB(b, "LessOrEqual", "", x, gb_int(b, most)));
}

static uint32_t masked(struct gb *b, const struct joint *t, uint32_t s, uint32_t one,
                       uint32_t other)
{
    const uint32_t never = gb_scalar(b, -INFINITY), zero = gb_scalar(b, 0);
    switch (t->join) {
    case AND: return GB(b, "Where", "", GB(b, "And", "", one, other), s, never);
    case MUL:
        one = GB(b, "Mul", "", GB(b, "Cast", "to=1", one), GB(b, "Cast", "to=1", other));
        return GB(b, "Where", "", GB(b, "Greater", "", one, zero), s, never);
    case NESTED: return GB(b, "Where", "", one, GB(b, "Where", "", other, s, never), never);
    case ADDED: s = GB(b, "Add", "", s, GB(b, "Where", "", one, zero, never)); break;
    case CHAINED: s = GB(b, "Where", "", one, s, never); break;
    }
    return GB(b, "Add", "", s, GB(b, "Where", "", other, zero, never));
}

static uint32_t ahead(struct gb *b, uint32_t x, int64_t frames)
{
    x = GB(b, "Conv", gb_printf(b, "pads=%d,%d", (int) frames, (int) frames),
           gb_transpose(b, x, "0,2,1"), gb_weights(b, 3, WIDTH, WIDTH, (int) (2 * frames + 1)));
    return gb_transpose(b, x, "0,2,1");
}

static void recipe(struct gb *b, const void *ctx)
{
    const struct joint *t = ctx;
    const uint32_t x = gb_input(b, "x", 3, 1, GB_TIME, WIDTH);
    const uint32_t length = GB(b, "Gather", "axis=0", GB(b, "Shape", "", x), gb_int(b, 1)),
                   at = GB(b, "Range", "", gb_int(b, 0), length, gb_int(b, 1)),
                   of = GB(b, "Div", "", at, gb_int(b, t->chunk));
    const uint32_t queries = gb_ints(b, 1), keys = gb_ints(b, 0);
    const uint32_t chunks = GB(b, "Sub", "", GB(b, "Unsqueeze", "", of, queries),
                               GB(b, "Unsqueeze", "", of, keys)),
                   frames = GB(b, "Sub", "", GB(b, "Unsqueeze", "", at, queries),
                               GB(b, "Unsqueeze", "", at, keys));
    uint32_t v = t->late ? x : ahead(b, x, t->look), k = v;
    const uint32_t s = GB(b, "MatMul", "", GB(b, "MatMul", "", x, gb_weights(b, 2, WIDTH, WIDTH)),
                          gb_transpose(b, k, "0,2,1"));
    const uint32_t m = masked(b, t, s, between(b, chunks, -t->ahead, t->back),
                              between(b, frames, -t->right, t->left));
    if (t->late)
        v = ahead(b, x, t->look);
    gb_output(b, GB(b, "MatMul", "", GB(b, "Softmax", "axis=-1", m), v));
}

static void joint_test(const struct joint *t)
{
    static const int64_t lengths[] = { 1, 3, 4, 9, 30, -1 };
    char name[120];
    snprintf(name, sizeof name, "chunks of %d, %d back, %d ahead, from -%d to %d, join %d, look %d",
             (int) t->chunk, (int) t->back, (int) t->ahead, (int) t->left, (int) t->right,
             (int) t->join, (int) t->look);
    for (int64_t k = 1; k <= 3; k++) {
        const int64_t pulse = k * t->chunk, pulses[] = { pulse, -1 };
        struct oracle o = { .seed = 1 };
        const bool opens =
            oracle_open(&o, recipe, t, NULL) == LAW_HOLDS && oracle_pulse(&o, pulse) == LAW_HOLDS;
        oracle_check(opens, "%s: %s", name, o.err.text);
        const int64_t late = opens ? o.plan->pgraph.outputs[0].delay : 0,
                      least = least_delay(t, pulse);
        oracle_check(late == least, "%s: %lld late at pulse %lld, not %lld", name, (long long) late,
                     (long long) pulse, (long long) least);
        if (opens)
            oracle_laws(&o, name, pulses, lengths);
        oracle_close(&o);
    }
}

/* ---- frames that are there from the beginning on, in front of the keys ---- */

struct cache {
    int64_t frames, left, right; /* query i is key `frames` + i */
    int64_t first;               /* so many keys are seen by all, too */
    int64_t behind;              /* frames that are there behind the keys */
    /* of a group: two heads share keys; of late ones: values see a frame ahead; of a mean: there
     * are no scores; of turned or placed ones: each key meets numbers of its place, which are
     * computed or rows of a table, or of one that is cut to the length */
    enum {
        OF_KEYS,
        OF_BOTH,
        OF_INPUT,
        OF_GROUP,
        OF_LATE,
        OF_MEAN,
        OF_TURNED,
        OF_PLACED,
        OF_CUT
    } of;
    const char *mode; /* of a Pad that puts copies there; NULL: they are given */
};

static uint32_t frames_in(struct gb *b, uint32_t x)
{
    const uint32_t length = GB(b, "Gather", "axis=0", GB(b, "Shape", "", x), gb_int(b, 1));
    return GB(b, "Range", "", gb_int(b, 0), length, gb_int(b, 1));
}

static uint32_t counted(struct gb *b, uint32_t x, unsigned axis)
{
    return GB(b, "Unsqueeze", "", frames_in(b, x), gb_ints(b, axis));
}

/* A mask over the keys that it shows. */
static uint32_t shares(struct gb *b, uint32_t mask)
{
    const uint32_t m = GB(b, "Cast", "to=1", mask);
    return GB(b, "Div", "", m, GB(b, "ReduceSum", "keepdims=1", m, gb_ints(b, 1)));
}

/* x between frames that are there from the beginning on. */
static uint32_t amid(struct gb *b, const struct cache *t, uint32_t x)
{
    if (t->mode)
        return gb_pad(b, x, 3, 1, t->mode, t->frames, t->behind);
    const uint32_t past = gb_weights(b, 3, 1, (int) t->frames, WIDTH);
    return t->behind
        ? GB(b, "Concat", "axis=1", past, x, gb_weights(b, 3, 1, (int) t->behind, WIDTH))
        : GB(b, "Concat", "axis=1", past, x);
}

/* What all keys have in them of their places, the given ones too. */
static uint32_t of_places(struct gb *b, const struct cache *t, uint32_t k)
{
    if (t->of == OF_PLACED)
        return GB(b, "Add", "", k,
                  GB(b, "Gather", "axis=0", gb_weights(b, 2, 64, WIDTH), frames_in(b, k)));
    if (t->of == OF_CUT)
        return GB(b, "Add", "", k,
                  GB(b, "Slice", "", gb_weights(b, 2, 64, WIDTH), gb_ints(b, 0),
                     GB(b, "Slice", "", GB(b, "Shape", "", k), gb_ints(b, 1), gb_ints(b, 2)),
                     gb_ints(b, 0)));
    if (t->of != OF_TURNED)
        return k;
    const uint32_t angles =
        GB(b, "Mul", "", GB(b, "Cast", "to=1", counted(b, k, 1)), gb_weights(b, 2, 1, WIDTH));
    return GB(b, "Add", "", GB(b, "Mul", "", k, GB(b, "Cos", "", angles)),
              GB(b, "Sin", "", angles));
}

static void cached(struct gb *b, const void *ctx)
{
    const struct cache *t = ctx;
    const uint32_t x = gb_input(b, "x", 3, 1, GB_TIME, WIDTH), w = gb_weights(b, 2, WIDTH, WIDTH);
    const uint32_t all = gb_pad(b, x, 3, 1, "constant", t->frames, t->behind);
    const uint32_t given = t->of == OF_INPUT ? GB(b, "MatMul", "", all, w) : amid(b, t, x),
                   k = of_places(b, t, given),
                   v = t->of == OF_BOTH ? amid(b, t, x)
        : t->of == OF_LATE              ? amid(b, t, ahead(b, x, 1))
                                        : k;
    const uint32_t d = GB(b, "Sub", "", GB(b, "Add", "", counted(b, x, 1), gb_int(b, t->frames)),
                          counted(b, k, 0));
    uint32_t q = GB(b, "MatMul", "", x, w), keys = gb_transpose(b, k, "0,2,1"), values = v;
    if (t->of == OF_GROUP) {
        q = GB(b, "Unsqueeze", "", q, gb_ints(b, 1));
        values =
            GB(b, "Expand", "", GB(b, "Unsqueeze", "", k, gb_ints(b, 1)), gb_ints(b, 1, 2, 1, 1));
        keys = gb_transpose(b, values, "0,1,3,2");
    }
    const uint32_t s = GB(b, "MatMul", "", q, keys);
    uint32_t m = between(b, d, -t->right, t->left);
    if (t->first)
        m = GB(b, "Or", "", m, GB(b, "Less", "", counted(b, k, 0), gb_int(b, t->first)));
    const uint32_t shown = GB(b, "Where", "", m, s, gb_scalar(b, -INFINITY));
    gb_output(b,
              GB(b, "MatMul", "",
                 t->of == OF_MEAN ? shares(b, m) : GB(b, "Softmax", "axis=-1", shown), values));
}

/* A query waits for the keys behind it alone, the first for what copies are made of, too. */
static int64_t least_of_cache(const struct cache *t, int64_t pulse)
{
    const int64_t more = t->of == OF_LATE, last = t->mode && *t->mode == 'r' ? t->frames : 0,
                  copies = t->mode ? (last + more) / pulse * pulse : 0;
    return t->right + more > copies ? t->right + more : copies;
}

static void cache_test(const struct cache *t)
{
    static const int64_t lengths[] = { 0, 1, 2, 5, 9, 30, -1 };
    char name[120];
    snprintf(name, sizeof name, "%d frames in front, %d behind, from -%d to %d, first %d, of %d %s",
             (int) t->frames, (int) t->behind, (int) t->left, (int) t->right, (int) t->first,
             (int) t->of, t->mode ? t->mode : "");
    for (int64_t pulse = 1; pulse <= 4; pulse++) {
        const int64_t pulses[] = { pulse, -1 };
        struct oracle o = { .seed = 1 };
        const bool opens =
            oracle_open(&o, cached, t, t->of == OF_CUT ? "S<=40" : NULL) == LAW_HOLDS &&
            oracle_pulse(&o, pulse) == LAW_HOLDS;
        oracle_check(opens, "%s: %s", name, o.err.text);
        const int64_t late = opens ? o.plan->pgraph.outputs[0].delay : 0,
                      least = least_of_cache(t, pulse);
        oracle_check(late == least || t->first > t->frames + 1, "%s: %lld late at pulse %lld", name,
                     (long long) late, (long long) pulse);
        if (opens)
            oracle_laws(&o, name, pulses, lengths);
        oracle_close(&o);
    }
}

static void test_caches(void)
{
    for (int64_t frames = 1; frames <= 9; frames += 4)
        for (int64_t left = 0; left <= 8; left += 4)
            for (int64_t right = 0; right <= 2; right += 2)
                for (int of = OF_KEYS; of <= OF_CUT; of++)
                    cache_test(&(struct cache) { frames, left, right, 0, 0, of, NULL });
    for (int64_t frames = 2; frames <= 6; frames += 4)
        for (int64_t first = 1; first <= frames + 1; first++)
            for (int of = OF_KEYS; of <= OF_CUT; of++)
                cache_test(&(struct cache) { frames, 2, frames % 4, first, 0, of, NULL });
}

/* So it is between frames on both sides, as local attention pads its keys. */
static void test_amid(void)
{
    for (int64_t frames = 1; frames <= 3; frames += 2)
        for (int64_t behind = 1; behind <= 4; behind++)
            for (int of = OF_KEYS; of <= OF_CUT; of++)
                cache_test(&(struct cache) { frames, 2, behind % 3, 0, behind, of, NULL });
    for (int64_t first = 1; first <= 6; first++)
        for (int of = OF_KEYS; of <= OF_CUT; of++)
            cache_test(&(struct cache) { 2, 1, first % 3, first, 1 + first % 2 * 2, of, NULL });
}

/* And between copies of its frames. */
static void test_amid_copies(void)
{
    static const char *const modes[] = { "edge", "reflect" };
    for (int k = 0; k < 48; k++)
        cache_test(&(struct cache) { .frames = 1 + k % 4,
                                     .left = 2,
                                     .right = k % 3,
                                     .first = k % 5 ? 0 : 1 + k % 4,
                                     .behind = k / 2 % 3,
                                     .of = (int[]) { OF_KEYS, OF_BOTH, OF_LATE, OF_MEAN }[k / 12],
                                     .mode = modes[k / 3 % 2] });
}

/* ---- attention of what is padded in front ---- */

static void padded_all(struct gb *b, const void *ctx)
{
    const struct cache *t = ctx;
    const uint32_t x = gb_pad(b, gb_input(b, "x", 3, 1, GB_TIME, WIDTH), 3, 1, "constant",
                              t->frames, t->behind),
                   k = of_places(b, t, x), d = GB(b, "Sub", "", counted(b, x, 1), counted(b, k, 0));
    const uint32_t m = GB(b, "Or", "", between(b, d, -t->right, t->left),
                          GB(b, "Less", "", counted(b, k, 0), gb_int(b, t->first)));
    const uint32_t s = GB(b, "Where", "", m, GB(b, "MatMul", "", k, gb_transpose(b, k, "0,2,1")),
                          gb_scalar(b, -INFINITY));
    gb_output(b, GB(b, "MatMul", "", GB(b, "Softmax", "axis=-1", s), x));
}

/* Query 0 waits for the last first key, others for those ahead; what is in front is there. */
static void test_padded(void)
{
    static const int64_t lengths[] = { 0, 1, 2, 3, 8, 30, -1 };
    static const int of[] = { OF_KEYS, OF_TURNED, OF_PLACED };
    for (int64_t k = 0; k < 54; k++) {
        const struct cache t = { .frames = 1 + k % 5,
                                 .left = 3,
                                 .right = k % 3,
                                 .first = k / 3 % 7,
                                 .behind = k / 2 % 3,
                                 .of = of[k / 18] };
        const int64_t pulse = 1 + k % 3, pulses[] = { pulse, -1 }, last = t.first - 1 - t.frames,
                      ahead = t.right - t.frames, waits = last > 0 ? last / pulse * pulse : 0,
                      least = waits > ahead ? waits : ahead;
        struct oracle o = { .seed = 1 };
        const bool opens = oracle_open(&o, padded_all, &t, NULL) == LAW_HOLDS &&
            oracle_pulse(&o, pulse) == LAW_HOLDS;
        const int64_t late = opens ? o.plan->pgraph.outputs[0].delay : -1;
        oracle_check(late == least, "padded %d: %lld late at pulse %lld, not %lld: %s", (int) k,
                     (long long) late, (long long) pulse, (long long) least, o.err.text);
        if (opens)
            oracle_laws(&o, "padded", pulses, lengths);
        oracle_close(&o);
    }
}

/* ---- tokens in front of all, cut off again ---- */

struct tokens {
    int64_t frames, left, right, first;
    bool written; /* softmax in parts */
    bool matrix;  /* the mask is cut out of one of ones */
    bool apart;   /* the first is cut off alone */
};

static uint32_t softmax_written(struct gb *b, uint32_t s)
{
    const uint32_t last = gb_ints(b, -1), most = GB(b, "ReduceMax", "", s, last);
    s = GB(b, "Exp", "", GB(b, "Sub", "", s, most));
    return GB(b, "Div", "", s, GB(b, "ReduceSum", "", s, last));
}

static uint32_t band_of_ones(struct gb *b, uint32_t y, int64_t left, int64_t right)
{
    const uint32_t n = GB(b, "Gather", "", GB(b, "Shape", "", y), gb_ints(b, 1));
    uint32_t m = GB(b, "ConstantOfShape", "", GB(b, "Concat", "axis=0", n, n));
    m = GB(b, "Trilu", "upper=0", GB(b, "Add", "", m, gb_scalar(b, 1)), gb_int(b, right));
    m = GB(b, "Trilu", "upper=1", m, gb_int(b, -left));
    return GB(b, "Greater", "", m, gb_scalar(b, .5f));
}

static void tokens(struct gb *b, const void *ctx)
{
    const struct tokens *t = ctx;
    const uint32_t x = gb_input(b, "x", 3, 1, GB_TIME, WIDTH),
                   y = GB(b, "Concat", "axis=1", gb_weights(b, 3, 1, (int) t->frames, WIDTH), x);
    const uint32_t d = GB(b, "Sub", "", counted(b, y, 1), counted(b, y, 0));
    uint32_t m =
        t->matrix ? band_of_ones(b, y, t->left, t->right) : between(b, d, -t->right, t->left);
    if (t->first)
        m = GB(b, "Or", "", m, GB(b, "Less", "", counted(b, y, 0), gb_int(b, t->first)));
    uint32_t s = GB(b, "MatMul", "", GB(b, "MatMul", "", y, gb_weights(b, 2, WIDTH, WIDTH)),
                    gb_transpose(b, y, "0,2,1"));
    s = GB(b, "Where", "", m, s, gb_scalar(b, t->written ? -1e30f : -INFINITY));
    s = t->written ? softmax_written(b, s) : GB(b, "Softmax", "axis=-1", s);
    s = GB(b, "Where", "", GB(b, "IsNaN", "", s), gb_scalar(b, 0), s);
    uint32_t z = GB(b, "Add", "", y, GB(b, "MatMul", "", s, y));
    if (t->apart)
        z = gb_slice(b, z, 1, 1, INT64_MAX, 1);
    gb_output(b, gb_slice(b, z, 1, t->frames - t->apart, INT64_MAX, 1));
}

/* A node of that op is named after another. */
static bool is_renamed(const struct graph *g, const char *op)
{
    for (uint32_t i = 0; i < g->n_nodes; i++)
        if (!strcmp(g->nodes[i].op->name, op) && strncmp(g->nodes[i].name, op, strlen(op)))
            return true;
    return false;
}

static void test_tokens(void)
{
    static const int64_t lengths[] = { 0, 1, 2, 5, 9, 30, -1 };
    for (int64_t k = 0; k < 32; k++) {
        const struct tokens t = { .frames = 1 + k % 5,
                                  .left = k % 4,
                                  .right = k % 3,
                                  .first = k % 2 * (1 + k % 5),
                                  .written = k >= 16,
                                  .matrix = k % 8 == 6,
                                  .apart = k % 5 > 1 && k % 4 == 0 };
        const int64_t pulse = 1 + k % 4, pulses[] = { pulse, -1 };
        struct oracle o;
        bool opens = oracle_open(&o, tokens, &t, NULL) == LAW_HOLDS;
        struct graph *g = opens ? &o.model->decluttered.g : NULL;
        opens = opens && graph_declutter(g, g, NULL, &o.err) == RILL_OK &&
            oracle_pulse(&o, pulse) == LAW_HOLDS;
        const int64_t late = opens ? o.plan->pgraph.outputs[0].delay : -1;
        oracle_check(late == t.right, "tokens %d: %lld late at pulse %lld: %s", (int) k,
                     (long long) late, (long long) pulse, o.err.text);
        oracle_check(opens && !is_renamed(g, "MatMul") && !is_renamed(g, "Softmax") &&
                         !is_renamed(g, "Exp"),
                     "tokens %d: what is cut has other names", (int) k);
        if (opens)
            oracle_laws(&o, "tokens", pulses, lengths);
        oracle_close(&o);
    }
}

/* ---- scores that a Trilu cuts ---- */

struct triangle {
    int64_t low, high; /* diagonals: key i + high is the last, i + low the first; low 1: none */
    bool mean;
};

static void cut_scores(struct gb *b, const void *ctx)
{
    const struct triangle *t = ctx;
    const uint32_t x = gb_input(b, "x", 3, 1, GB_TIME, WIDTH),
                   q = GB(b, "Sigmoid", "", GB(b, "MatMul", "", x, gb_weights(b, 2, WIDTH, WIDTH)));
    uint32_t s = GB(b, "MatMul", "", q, gb_transpose(b, GB(b, "Sigmoid", "", x), "0,2,1"));
    s = GB(b, "Trilu", "upper=0", s, gb_int(b, t->high));
    if (t->low <= 0)
        s = GB(b, "Trilu", "upper=1", s, gb_int(b, t->low));
    if (t->mean)
        s = GB(b, "Div", "", s, GB(b, "ReduceSum", "", s, gb_ints(b, -1)));
    gb_output(b, GB(b, "MatMul", "", s, x));
}

static void test_cut_scores(void)
{
    static const struct triangle list[] = {
        { -3, 0, true }, { -2, 1, true }, { 1, 0, false }, { -4, -1, false }
    };
    static const struct pass chosen[] = {
        { "triangles", true, graph_with_triangles_chosen },
        { "running-sums", false, graph_with_running_sums },
    };
    static const int64_t pulses[] = { 1, 2, 5, -1 }, lengths[] = { 0, 1, 2, 5, 30, -1 };
    for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
        struct oracle o;
        bool opens = oracle_open(&o, cut_scores, &list[i], NULL) == LAW_HOLDS;
        struct graph *g = opens ? &o.model->decluttered.g : NULL;
        opens = opens && passes_run(chosen, 2, g, g, NULL, &o.err) == RILL_OK;
        o.tolerance = list[i].low > 0 ? 1e-5f : 0; /* sums so far */
        oracle_check(opens && oracle_laws(&o, "cut scores", pulses, lengths) > 0,
                     "scores from %d to %d: %s", (int) list[i].low, (int) list[i].high, o.err.text);
        oracle_close(&o);
    }
}

/* ---- keys that are means of segments ---- */

/* Query i sees the means of segments from `far` before its own to `near` before it. */
struct segments {
    int64_t frames, near, far;
    int64_t look;     /* frames that queries see ahead */
    int64_t front;    /* so many means are put in front */
    const char *mode; /* how: of a Pad */
    bool mean;        /* there are no scores */
};

static int64_t newest_of_segments(const struct segments *t, int64_t i)
{
    const int64_t key = (i / t->frames - t->near + 1) * t->frames - 1;
    return i + t->look > key ? i + t->look : key;
}

static int64_t least_of_segments(const struct segments *t, int64_t pulse)
{
    const int64_t first = 100 * pulse * t->frames;
    int64_t d = 0;
    for (int64_t i = first; i < first + pulse * t->frames; i++)
        while ((i + d) / pulse < newest_of_segments(t, i) / pulse)
            d++;
    return d;
}

static void segmented(struct gb *b, const void *ctx)
{
    const struct segments *t = ctx;
    const uint32_t x = gb_input(b, "x", 3, 1, GB_TIME, WIDTH);
    const char *const means =
        gb_printf(b, "kernel_shape=%d strides=%d", (int) t->frames, (int) t->frames);
    uint32_t c = GB(b, "AveragePool", means, gb_transpose(b, x, "0,2,1"));
    if (t->front)
        c = gb_pad(b, c, 3, 2, t->mode, t->front, 0);
    const uint32_t v = gb_transpose(b, c, "0,2,1"), zero = gb_scalar(b, 0),
                   i = GB(b, "Div", "", counted(b, x, 1), gb_int(b, t->frames));
    const uint32_t d = GB(b, "Sub", "", GB(b, "Add", "", i, gb_int(b, t->front)), counted(b, v, 0));
    const uint32_t s = GB(b, "MatMul", "", ahead(b, x, t->look), c),
                   m = GB(b, "Where", "", between(b, d, t->near, t->far), s,
                          gb_scalar(b, -INFINITY));
    const uint32_t soft = GB(b, "Softmax", "axis=-1", m),
                   w = t->mean ? shares(b, between(b, d, t->near, t->far)) : soft;
    gb_output(b, GB(b, "MatMul", "", GB(b, "Where", "", GB(b, "IsNaN", "", w), zero, w), v));
}

static void segments_test(const struct segments *t)
{
    static const int64_t lengths[] = { 1, 3, 4, 9, 30, -1 };
    char name[120];
    snprintf(name, sizeof name, "segments of %d, from %d to %d before, look %d, %d in front",
             (int) t->frames, (int) t->far, (int) t->near, (int) t->look, (int) t->front);
    for (int64_t k = 1; k <= 3; k++) {
        const int64_t pulse = k * t->frames, pulses[] = { pulse, -1 };
        struct oracle o = { .seed = 1 };
        const bool opens = oracle_open(&o, segmented, t, NULL) == LAW_HOLDS &&
            oracle_pulse(&o, pulse) == LAW_HOLDS;
        oracle_check(opens, "%s: %s", name, o.err.text);
        const int64_t late = opens ? o.plan->pgraph.outputs[0].delay : 0,
                      least = least_of_segments(t, pulse);
        oracle_check(late == least || (t->front && *t->mode != 'c'),
                     "%s: %lld late at pulse %lld, not %lld", name, (long long) late,
                     (long long) pulse, (long long) least);
        if (opens)
            oracle_laws(&o, name, pulses, lengths);
        oracle_close(&o);
    }
}

/* Queries begin anywhere in a segment; and wait for what copies of segments are made of. */
static void test_segments(void)
{
    static const char *const modes[] = { "edge", "reflect", "constant" };
    for (int64_t frames = 2; frames <= 5; frames++)
        for (int64_t near = -1; near <= 2; near++) {
            for (int64_t look = 0; look <= frames + 1; look++)
                segments_test(&(struct segments) { frames, near, near + 1, look, 0, NULL, false });
            for (int64_t k = 0; k < 18; k++)
                segments_test(&(struct segments) { .frames = frames,
                                                   .near = near,
                                                   .far = near + 2,
                                                   .look = k < 9 ? k % 2 : 0,
                                                   .front = 1 + k % 3,
                                                   .mode = modes[k / 3 % 3],
                                                   .mean = k >= 9 });
        }
}

/* ---- scores that wait for what is added to them ---- */

/* A number of each query that looks two frames further ahead than queries and keys do. */
static void late_bias(struct gb *b, const void *ctx)
{
    (void) ctx;
    const uint32_t x = ahead(b, gb_input(b, "x", 3, 1, GB_TIME, WIDTH), 1);
    const uint32_t d = GB(b, "Sub", "", counted(b, x, 1), counted(b, x, 0));
    uint32_t s = GB(b, "MatMul", "", x, gb_transpose(b, x, "0,2,1"));
    s = GB(b, "Add", "", s, GB(b, "ReduceMax", "keepdims=1", ahead(b, x, 2), gb_ints(b, 2)));
    s = GB(b, "Where", "", between(b, d, 0, 4), s, gb_scalar(b, -INFINITY));
    gb_output(b, GB(b, "MatMul", "", GB(b, "Softmax", "axis=-1", s), x));
}

static void test_late_bias(void)
{
    static const int64_t lengths[] = { 1, 3, 9, 30, -1 };
    for (int64_t pulse = 1; pulse <= 4; pulse++) {
        const int64_t pulses[] = { pulse, -1 };
        struct oracle o = { .seed = 1 };
        const bool opens = oracle_open(&o, late_bias, NULL, NULL) == LAW_HOLDS &&
            oracle_pulse(&o, pulse) == LAW_HOLDS;
        const int64_t late = opens ? o.plan->pgraph.outputs[0].delay : -1;
        oracle_check(late == 3, "a late bias: %lld late at pulse %lld: %s", (long long) late,
                     (long long) pulse, o.err.text);
        if (opens)
            oracle_laws(&o, "a late bias", pulses, lengths);
        oracle_close(&o);
    }
}

/* ---- scores that no keys are in ---- */

struct apart {
    int64_t left, right, front; /* so many keys in front of the frames */
    bool most;                  /* not their sum */
};

/* A number of each query over the distance, summed over what a mask shows. */
static void queries_alone(struct gb *b, const void *ctx)
{
    const struct apart *t = ctx;
    const uint32_t x = gb_input(b, "x", 3, 1, GB_TIME, WIDTH),
                   all = gb_pad(b, x, 3, 1, "constant", t->front, 0);
    const uint32_t d = GB(b, "Sub", "", GB(b, "Add", "", counted(b, x, 1), gb_int(b, t->front)),
                          counted(b, all, 0)),
                   far = GB(b, "Cast", "to=1", GB(b, "Abs", "", d)),
                   m = between(b, d, -t->right, t->left);
    uint32_t s = GB(b, "Sub", "", GB(b, "ReduceSum", "keepdims=1", x, gb_ints(b, 2)),
                    GB(b, "Min", "", far, gb_scalar(b, 5)));
    s = t->most
        ? GB(b, "ReduceMax", "keepdims=1", GB(b, "Where", "", m, s, gb_scalar(b, -INFINITY)),
             gb_ints(b, 2))
        : GB(b, "ReduceSum", "keepdims=1",
             GB(b, "Mul", "", GB(b, "Sigmoid", "", s), GB(b, "Cast", "to=1", m)), gb_ints(b, 2));
    gb_output(b, GB(b, "Add", "", x, s));
}

/* Which of the keys ahead lie in the sequence is known once their frames could have come. */
static void test_queries_alone(void)
{
    static const int64_t lengths[] = { 0, 1, 2, 5, 30, -1 };
    for (int64_t pulse = 1; pulse <= 4; pulse++)
        for (int k = 0; k < 16; k++) {
            const struct apart t = { k % 2, k / 2 % 4, k % 3, k >= 8 };
            const int64_t pulses[] = { pulse, -1 };
            struct oracle o = { .seed = 1 };
            const bool opens = oracle_open(&o, queries_alone, &t, NULL) == LAW_HOLDS &&
                oracle_pulse(&o, pulse) == LAW_HOLDS;
            const int64_t late = opens ? o.plan->pgraph.outputs[0].delay : -1;
            oracle_check(late == t.right, "queries alone: %lld late at pulse %lld: %s",
                         (long long) late, (long long) pulse, o.err.text);
            if (opens)
                oracle_laws(&o, "queries alone", pulses, lengths);
            oracle_close(&o);
        }
}

/* ---- a learned key beside the frames, as PyTorch's MultiheadAttention writes it ---- */

/* The mask is padded for it, and then laid out for the heads. */
static void learned_key(struct gb *b, const void *ctx)
{
    (void) ctx;
    const uint32_t x = gb_input(b, "x", 3, 1, GB_TIME, WIDTH), heads = gb_ints(b, 1);
    const uint32_t kv =
        GB(b, "Unsqueeze", "", GB(b, "Concat", "axis=1", x, gb_weights(b, 3, 1, 1, WIDTH)), heads);
    const uint32_t d = GB(b, "Sub", "", counted(b, x, 1), counted(b, x, 0));
    uint32_t m = GB(b, "Where", "", between(b, d, 0, 3), gb_scalar(b, 0), gb_scalar(b, -INFINITY));
    m = GB(b, "Pad", "", GB(b, "Unsqueeze", "", m, gb_ints(b, 0)), gb_ints(b, 0, 0, 0, 0, 0, 1));
    m = GB(b, "Unsqueeze", "", m, heads);
    uint32_t s =
        GB(b, "MatMul", "", GB(b, "Unsqueeze", "", x, heads), gb_transpose(b, kv, "0,1,3,2"));
    s = GB(b, "Softmax", "axis=-1", GB(b, "Add", "", s, m));
    gb_output(b, GB(b, "Squeeze", "", GB(b, "MatMul", "", s, kv), heads));
}

static void test_learned_key(void)
{
    static const struct pass apart = { "joined-keys", false, graph_with_keys_apart };
    static const int64_t pulses[] = { 1, 2, 5, -1 }, lengths[] = { 1, 2, 5, 30, -1 };
    struct oracle o;
    bool opens = oracle_open(&o, learned_key, NULL, NULL) == LAW_HOLDS;
    struct graph *g = opens ? &o.model->decluttered.g : NULL;
    opens = opens && passes_run(&apart, 1, g, g, NULL, &o.err) == RILL_OK;
    o.tolerance = 1e-6f; /* a softmax in two parts */
    oracle_check(opens && oracle_laws(&o, "a learned key", pulses, lengths) > 0,
                 "a learned key: %s", o.err.text);
    oracle_close(&o);
}

int main(void)
{
    static const struct joint list[] = {
        { 4, 0, 0, 99, 0, AND, 1, false },     { 4, 1, 0, 99, 0, MUL, 1, false },
        { 4, 1, 1, 6, 1, NESTED, 0, false },   { 4, 1, 1, 6, 1, ADDED, 2, false },
        { 4, 2, 1, 99, 2, CHAINED, 1, false }, { 4, 1, 0, 3, 2, AND, 1, false },
        { 4, 1, 0, 3, 2, NESTED, 2, true },    { 6, 1, 0, 99, 1, NESTED, 0, false },
        { 6, 1, 1, 5, 3, ADDED, 1, true },     { 8, 0, 1, 99, 0, CHAINED, 3, false },
        { 3, 2, 2, 7, 4, NESTED, 1, false },   { 5, 1, 0, 99, 99, AND, 1, false },
        { 5, 1, 1, 99, 99, NESTED, 2, false },
    };
    for (size_t i = 0; i < sizeof list / sizeof *list; i++)
        joint_test(&list[i]);
    test_caches();
    test_amid();
    test_amid_copies();
    test_padded();
    test_tokens();
    test_cut_scores();
    test_segments();
    test_late_bias();
    test_queries_alone();
    test_learned_key();
    return oracle_end();
}
