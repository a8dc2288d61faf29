/* SPDX-License-Identifier: MIT */
/* Ifs by a condition that does not run along time, with random chains of streaming steps in both
 * branches: whole and streamed are the same, whichever runs. RILL_SEED and RILL_COUNT as in
 * test_random. */
#include "engine/graph/control.h"
#include "tests/pulse/if_parts.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static enum verdict try_law(const struct branches *two, uint32_t *seed, rill_error *err)
{
    struct oracle o;
    enum verdict v = oracle_open(&o, branches_recipe, two, NULL);
    o.zeros_agree = chain_attends(&two->chain[0]) || chain_attends(&two->chain[1]);
    if (v == LAW_HOLDS)
        v = oracle_pulse(&o, 1 + gb_random(seed) % 6);
    for (uint32_t k = 0; k < 6 && v == LAW_HOLDS; k++)
        v = oracle_law(&o, gb_random(seed) % 40, gb_random(seed));
    *err = o.err;
    oracle_close(&o);
    return v;
}

/* A chain of one input. */
static struct chain lone_chain(uint32_t *seed)
{
    for (;;) {
        struct chain c = chain_draw(seed);
        bool others = false;
        for (unsigned i = 0; i < c.n; i++)
            others |= !strcmp(c.steps[i].kind->name, "other");
        if (!others)
            return c;
    }
}

/* Another chain that gives what the first one gives, or that one again. */
static void other_draw(struct branches *two, uint32_t *seed)
{
    struct oracle o;
    for (int i = 0; i < 12; i++) {
        two->chain[1] = lone_chain(seed);
        two->chain[1].channels = two->chain[0].channels;
        enum verdict v = oracle_open(&o, branches_recipe, two, NULL);
        oracle_close(&o);
        if (v == LAW_HOLDS)
            return;
    }
    two->chain[1] = two->chain[0];
}

static void test_random(uint32_t seed, unsigned count)
{
    unsigned held = 0, refused = 0, others = 0;
    for (unsigned i = 0; i < count; i++) {
        struct branches two;
        char text[2][600];
        rill_error err = { 0 };
        two.chain[0] = lone_chain(&seed);
        other_draw(&two, &seed);
        enum verdict v = try_law(&two, &seed, &err);
        held += v == LAW_HOLDS;
        refused += v == LAW_REFUSED;
        for (int k = 0; k < 2; k++)
            chain_print(&two.chain[k], text[k], sizeof text[k]);
        others += v == LAW_HOLDS && strcmp(text[0], text[1]) != 0;
        oracle_check(v != LAW_BROKEN, "If of '%s' and '%s': %s", text[0], text[1], err.text);
    }
    printf("%u pairs of chains: %u stream, %u of them of two kinds, %u refused\n", count, held,
           others, refused);
    oracle_check(held * 2 > count && others * 10 > count, "too few stream");
}

/* ---- what a branch or the condition knows of the length ---- */

struct by_length {
    const char *name;
    bool chooses; /* the length chooses; or the branches multiply by it */
    bool within;  /* it does so in an If within a branch */
};

static uint32_t length_if(struct gb *b, const struct by_length *c, const uint32_t *in, bool inner)
{
    struct gb body[2];
    struct graph **bodies = arena_array(b->arena, struct graph *, 2);
    for (int k = 0; k < 2; k++) {
        gb_body(&body[k], b, k ? "else" : "then");
        uint32_t x = gb_body_input(&body[k], "x"), by = gb_body_input(&body[k], "by");
        uint32_t y = GB(&body[k], "Mul", "", x, gb_scalar(&body[k], k ? 0.5f : 1.5f));
        if (inner)
            y = length_if(&body[k], c, (uint32_t[]) { by, y, by }, false);
        else if (!c->chooses)
            y = GB(&body[k], "Mul", "", y, GB(&body[k], "Cast", "to=1", by));
        gb_output(&body[k], y);
        b->seed = body[k].seed;
        b->n_names = body[k].n_names;
        bodies[k] = body[k].g;
        if (body[k].err.status != RILL_OK)
            b->err = body[k].err;
    }
    uint32_t out = graph_add_wire(b->g, inner || !c->within ? "outer" : "inner", NULL);
    struct node *n = graph_add_node(b->g, &op_if, b->g->wires[out].name, NULL, in, 3, &out, 1);
    n->body = bodies;
    n->n_body = 2;
    return out;
}

static void length_recipe(struct gb *b, const void *ctx)
{
    const struct by_length *c = ctx;
    uint32_t x = gb_input(b, "x", 3, 1, CHANNELS, GB_TIME), gate = gb_input(b, "gate", 1, 1),
             on = GB(b, "Greater", "", GB(b, "Squeeze", "", gate), gb_scalar(b, 0)),
             length = GB(b, "Gather", "axis=0", GB(b, "Shape", "", x), gb_int(b, 2)),
             is_long = GB(b, "Greater", "", length, gb_int(b, 20));
    const uint32_t in[] = { c->chooses && !c->within ? is_long : on, x,
                            c->chooses ? is_long : length };
    if (b->err.status == RILL_OK)
        gb_output(b, length_if(b, c, in, c->within));
}

static const struct by_length by_lengths[] = {
    { "the length chooses", true, false },
    { "a branch multiplies by the length", false, false },
    { "the length chooses within a branch", true, true },
};

/* Refused by the If, not by the plan as a size that is open. */
static void test_by_length(const struct by_length *c)
{
    struct oracle o;
    enum verdict v = oracle_open(&o, length_recipe, c, NULL);
    oracle_check(v == LAW_HOLDS, "%s: %s", c->name, o.err.text);
    v = v == LAW_HOLDS ? oracle_pulse(&o, 4) : LAW_BROKEN;
    oracle_check(v == LAW_REFUSED && strstr(o.err.text, "node 'outer' (If)") &&
                     strstr(o.err.text, "is computed from the length of the whole sequence"),
                 "%s: %s", c->name, v == LAW_HOLDS ? "it streams" : o.err.text);
    oracle_close(&o);
}

/* ---- numbers that stand outside ---- */

/* Pads of one branch, an axis of the other: constants of the graph around. */
static void outside_recipe(struct gb *b, const void *ctx)
{
    (void) ctx;
    uint32_t x = gb_input(b, "x", 3, 1, CHANNELS, GB_TIME), gate = gb_input(b, "gate", 1, 1),
             on = GB(b, "Greater", "", GB(b, "Squeeze", "", gate), gb_scalar(b, 0));
    const uint32_t in[] = { on, x, gb_ints(b, 0, 0, 2, 0, 0, -2), gb_int(b, 2) };
    struct gb body[2];
    struct graph **bodies = arena_array(b->arena, struct graph *, 2);
    for (int k = 0; k < 2; k++) {
        gb_body(&body[k], b, k ? "else" : "then");
        uint32_t y = gb_body_input(&body[k], "x"), pads = gb_body_input(&body[k], "pads"),
                 axis = gb_body_input(&body[k], "axis");
        gb_output(&body[k],
                  k ? GB(&body[k], "CumSum", "", y, axis) : GB(&body[k], "Pad", "", y, pads));
        b->n_names = body[k].n_names;
        bodies[k] = body[k].g;
    }
    uint32_t out = graph_add_wire(b->g, "chosen", NULL);
    struct node *n = graph_add_node(b->g, &op_if, "chosen", NULL, in, 4, &out, 1);
    n->body = bodies;
    n->n_body = 2;
    gb_output(b, out);
}

/* The input, or what is added to frames that come three later: more than it has where it is short.
 */
static uint32_t short_branch(struct gb *b, const uint32_t *in, const void *ctx, int branch)
{
    (void) ctx;
    return !branch ? in[0]
                   : GB(b, "Add", "", in[0],
                        GB(b, "Concat", "axis=2", gb_weights(b, 3, 1, CHANNELS, 3),
                           gb_slice(b, in[0], 2, 0, -3, 1)));
}

static void short_recipe(struct gb *b, const void *ctx)
{
    const uint32_t x = time_input(b);
    gb_output(b, chosen(b, short_branch, ctx, &x, 1));
}

static void test_short(void)
{
    static const int64_t pulses[] = { 1, 4, -1 }, lengths[] = { 3, 9, 30, -1 };
    struct oracle o;
    enum verdict v = oracle_open(&o, short_recipe, NULL, NULL);
    oracle_check(v == LAW_REFUSED &&
                     strstr(o.err.text, "they are the same with --assert \"S >= 3\""),
                 "branches of several lengths: %s", o.err.text);
    oracle_close(&o);
    v = oracle_open(&o, short_recipe, NULL, "S>=3");
    oracle_check(v == LAW_HOLDS, "branches of one length: %s", o.err.text);
    if (v == LAW_HOLDS)
        oracle_laws(&o, "branches of one length", pulses, lengths);
    oracle_close(&o);
}

/* A convolution that cannot do with few frames, or what else is as long: a sequence so short is
 * refused by name, whichever branch would run. */
static uint32_t unable_branch(struct gb *b, const uint32_t *in, const void *ctx, int branch)
{
    (void) ctx;
    return branch ? gb_slice(b, in[0], 2, 2, INT64_MAX, 1) : convolved(b, in[0], "pads=0,0");
}

static void unable_recipe(struct gb *b, const void *ctx)
{
    const uint32_t x = time_input(b), y = chosen(b, unable_branch, ctx, &x, 1);
    gb_output(b, GB(b, "Concat", "axis=2", gb_weights(b, 3, 1, CHANNELS, 2), y));
}

static void test_unable(void)
{
    struct oracle o;
    const bool opens =
        oracle_open(&o, unable_recipe, NULL, NULL) == LAW_HOLDS && oracle_pulse(&o, 1) == LAW_HOLDS;
    oracle_check(opens, "a branch that cannot do with few: %s", o.err.text);
    for (uint32_t n = 0; opens && n < 6; n++) {
        const rill_status s = rill_plan_check_length(o.plan, 0, n, &o.err);
        oracle_check(s == (n < 3 ? RILL_INVALID : RILL_OK) &&
                         (n >= 3 || strstr(o.err.text, "'S >= 3' is needed")),
                     "a branch that cannot do with %u: %s", n,
                     s ? o.err.text : "it is said to fit");
        oracle_check(n < 3 || oracle_law(&o, n, n) == LAW_HOLDS, "%u: %s", n, o.err.text);
    }
    oracle_close(&o);
}

/* Sizes that a branch counts with are told with what the one behind it assumes. */
static uint32_t counted_branch(struct gb *b, const uint32_t *in, const void *ctx, int branch)
{
    (void) ctx;
    if (branch)
        return convolved(b, in[0], "pads=0,2");
    const uint32_t y = gb_slice(b, GB(b, "Concat", "axis=2", gb_slice(b, in[0], 2, 0, 1, 1), in[0]),
                                2, 0, -1, 1),
                   frames = GB(b, "Gather", "axis=0", GB(b, "Shape", "", y), gb_int(b, 2));
    return GB(b, "Add", "", y,
              GB(b, "Cast", "to=1", GB(b, "Range", "", gb_int(b, 0), frames, gb_int(b, 1))));
}

static void counted_recipe(struct gb *b, const void *ctx)
{
    const uint32_t x = time_input(b);
    gb_output(b, chosen(b, counted_branch, ctx, &x, 1));
}

static void test_counted(void)
{
    static const int64_t pulses[] = { 1, 4, -1 }, lengths[] = { 1, 2, 9, 30, -1 };
    struct oracle o;
    const bool opens = oracle_open(&o, counted_recipe, NULL, NULL) == LAW_HOLDS;
    oracle_check(opens, "a branch that counts its frames: %s", o.err.text);
    if (opens)
        oracle_laws(&o, "a branch that counts its frames", pulses, lengths);
    oracle_close(&o);
}

/* ---- attention in branches ---- */

static void test_attended(void)
{
    static const struct attended list[] = {
        { "an If in an If, of attention", 2, 0, 0, 0, true, 0, false, false },
        { "an If in an If, of attention ahead", 3, 1, 0, 0, true, 0, false, false },
        { "first keys beside a window", 2, 0, 2, 0, false, 0, false, false },
        { "first keys beside a window ahead", 3, 2, 4, 0, false, 0, false, false },
        { "first keys in an If in an If", 2, 0, 1, 0, true, 0, false, false },
        { "tokens that are seen by all", 2, 0, 2, 2, false, 0, false, false },
        { "keys before the query alone", 2, -1, 0, 0, false, -INFINITY, false, false },
    };
    static const int64_t pulses[] = { 1, 2, 3, 7, -1 }, lengths[] = { 0, 1, 2, 3, 5, 9, 30, -1 };
    for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
        struct oracle o;
        const bool opens = oracle_open(&o, attended_recipe, &list[i], NULL) == LAW_HOLDS;
        oracle_check(opens, "%s: %s", list[i].name, o.err.text);
        for (unsigned k = 0; opens && k < 3; k++)
            oracle_laws(&o, list[i].name, pulses, lengths);
        oracle_close(&o);
    }
}

/* What a pad keeps of the past is read by nothing where windows read what is in front of it; of
 * pulses that are long beside it. */
static void test_unread(void)
{
    static const char *const chains[] = { "2: pad mode=0 l=2 r=1; conv k=3",
                                          "2: pad mode=1 l=2 r=1; conv k=3",
                                          "2: pad mode=2 l=2 r=1; conv k=3" };
    static const int64_t pulses[] = { 3, 40, -1 }, lengths[] = { 4, 39, 90, -1 };
    for (size_t i = 0; i < sizeof chains / sizeof *chains; i++) {
        struct branches two;
        struct oracle o;
        bool ok = chain_parse(&two.chain[0], chains[i]) && chain_parse(&two.chain[1], chains[i]) &&
            oracle_open(&o, branches_recipe, &two, "S>=4") == LAW_HOLDS;
        oracle_check(ok, "both branches '%s'", chains[i]);
        if (ok)
            oracle_laws(&o, chains[i], pulses, lengths);
        oracle_close(&o);
    }
}

static void test_outside(void)
{
    static const int64_t pulses[] = { 1, 3, 8, -1 }, lengths[] = { 3, 9, 30, -1 };
    struct oracle o;
    enum verdict v = oracle_open(&o, outside_recipe, NULL, NULL);
    oracle_check(v == LAW_HOLDS, "numbers that stand outside: %s", o.err.text);
    if (v == LAW_HOLDS)
        oracle_laws(&o, "numbers that stand outside", pulses, lengths);
    oracle_close(&o);
}

static void test_first(const struct first_taken *t)
{
    static const int64_t pulses[] = { 1, 4, -1 }, lengths[] = { 1, 3, 9, 30, -1 };
    struct oracle o;
    enum verdict v = oracle_open(&o, first_recipe, t, NULL);
    oracle_check(v == LAW_HOLDS, "%s: %s", t->name, o.err.text);
    if (v == LAW_HOLDS)
        oracle_laws(&o, t->name, pulses, lengths);
    oracle_close(&o);
}

int main(void)
{
    const char *s = getenv("RILL_SEED"), *n = getenv("RILL_COUNT");
    test_random(s ? (uint32_t) strtoul(s, NULL, 10) : 20261124u, n ? (unsigned) atoi(n) : 300);
    for (size_t i = 0; i < sizeof by_lengths / sizeof *by_lengths; i++)
        test_by_length(&by_lengths[i]);
    test_outside();
    test_short();
    test_unable();
    test_counted();
    for (size_t i = 0; i < FIRST_TAKEN; i++)
        test_first(&first_taken[i]);
    test_unread();
    test_attended();
    return oracle_end();
}
