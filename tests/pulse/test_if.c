/* SPDX-License-Identifier: MIT */
/* Ifs by a condition that does not run along time, with random chains of streaming steps in both
 * branches: whole and streamed are the same, whichever runs. And a condition that is set anew in
 * the middle: each branch goes on where it stood. RILL_SEED and RILL_COUNT as in test_random. */
#include "engine/graph/control.h"
#include "tests/pulse/oracle.h"
#include "tests/pulse/steps.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHANNELS 2

struct branches {
    struct chain chain[2];
};

static uint32_t chain_put(struct gb *b, const struct chain *c, uint32_t x, float scale)
{
    struct stage s = { GB(b, "Mul", "", x, gb_scalar(b, scale)), c->channels };
    for (unsigned i = 0; i < c->n; i++)
        c->steps[i].kind->emit(b, &s, c->steps[i].v);
    return s.wire;
}

/* What the branch gives of x, alone or within an If by `gate`. */
static void branches_recipe(struct gb *b, const void *ctx)
{
    const struct branches *two = ctx;
    uint32_t x = gb_input(b, "x", 3, 1, two->chain[0].channels, GB_TIME),
             gate = gb_input(b, "gate", 1, 1),
             on = GB(b, "Greater", "", GB(b, "Squeeze", "", gate), gb_scalar(b, 0));
    struct gb body[2];
    struct graph **bodies = arena_array(b->arena, struct graph *, 2);
    for (int k = 0; k < 2; k++) {
        gb_body(&body[k], b, k ? "else" : "then");
        uint32_t in = gb_body_input(&body[k], "x");
        gb_output(&body[k], chain_put(&body[k], &two->chain[k], in, k ? 0.5f : 1.5f));
        b->seed = body[k].seed;
        b->n_names = body[k].n_names;
        bodies[k] = body[k].g;
        if (body[k].err.status != RILL_OK)
            b->err = body[k].err;
    }
    if (b->err.status != RILL_OK)
        return;
    uint32_t in[2] = { on, x }, out = graph_add_wire(b->g, "chosen", NULL);
    struct node *n = graph_add_node(b->g, &op_if, "chosen", NULL, in, 2, &out, 1);
    n->body = bodies;
    n->n_body = 2;
    gb_output(b, GB(b, "Add", "", out, gb_scalar(b, 0.25f)));
}

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

/* Where the first frame is taken that one branch takes off, the other one convolves: of its input
 * or of what it makes of it, in the branch; there, where a cell begins with it; outside; or by the
 * If, of either, for what is behind. */
enum first_where { OF_INPUT, OF_MADE, BEGINS, OUTSIDE, RESULT };

struct first_taken {
    const char *name;
    int branch;
    enum first_where where;
};

typedef uint32_t branch_of(struct gb *b, const uint32_t *in, const void *ctx, int branch);

typedef void branch_put(struct gb *b, const uint32_t *in, const void *ctx, int branch);

/* An If of two bodies of captures, x the first of them; each puts n_out outputs. */
static void chosen_put(struct gb *b, uint32_t on, branch_put *put, const void *ctx,
                       const uint32_t *captures, unsigned n_captures, uint32_t *out, unsigned n_out)
{
    uint32_t in[3] = { on }, inner[2];
    struct gb body[2];
    struct graph **bodies = arena_array(b->arena, struct graph *, 2);
    for (int k = 0; k < 2; k++) {
        gb_body(&body[k], b, k ? "else" : "then");
        for (unsigned i = 0; i < n_captures; i++) {
            in[1 + i] = captures[i];
            inner[i] = gb_body_input(&body[k], i ? "first" : "x");
        }
        put(&body[k], inner, ctx, k);
        b->n_names = body[k].n_names;
        bodies[k] = body[k].g;
    }
    for (unsigned i = 0; i < n_out; i++)
        out[i] = graph_add_wire(b->g, i ? "beside" : "chosen", NULL);
    struct node *n = graph_add_node(b->g, &op_if, "chosen", NULL, in, 1 + n_captures, out, n_out);
    n->body = bodies;
    n->n_body = 2;
}

struct one_output {
    branch_of *branch;
    const void *ctx;
};

static void one_put(struct gb *b, const uint32_t *in, const void *ctx, int branch)
{
    const struct one_output *one = ctx;
    gb_output(b, one->branch(b, in, one->ctx, branch));
}

static uint32_t chosen_by(struct gb *b, uint32_t on, branch_of *branch, const void *ctx,
                          const uint32_t *captures, unsigned n_captures)
{
    const struct one_output one = { branch, ctx };
    uint32_t out;
    chosen_put(b, on, one_put, &one, captures, n_captures, &out, 1);
    return out;
}

static uint32_t gate_on(struct gb *b)
{
    return GB(b, "Greater", "", GB(b, "Squeeze", "", gb_input(b, "gate", 1, 1)), gb_scalar(b, 0));
}

static uint32_t chosen(struct gb *b, branch_of *branch, const void *ctx, const uint32_t *captures,
                       unsigned n_captures)
{
    return chosen_by(b, gate_on(b), branch, ctx, captures, n_captures);
}

static uint32_t time_input(struct gb *b)
{
    return gb_input(b, "x", 3, 1, CHANNELS, GB_TIME);
}

static uint32_t convolved(struct gb *b, uint32_t x, const char *pads)
{
    return GB(b, "Conv", pads, x, gb_weights(b, 3, CHANNELS, CHANNELS, 3));
}

static uint32_t cell_from_first(struct gb *b, uint32_t x)
{
    const uint32_t frames = gb_transpose(b, x, "2,0,1"),
                   y = GB(b, "GRU", gb_printf(b, "hidden_size=%d", CHANNELS), frames,
                          gb_weights(b, 3, 1, 3 * CHANNELS, CHANNELS),
                          gb_weights(b, 3, 1, 3 * CHANNELS, CHANNELS), WIRE_NONE, WIRE_NONE,
                          gb_slice(b, frames, 0, 0, 1, 1));
    return gb_transpose(b, GB(b, "Squeeze", "", y, gb_ints(b, 1)), "1,2,0");
}

static uint32_t first_branch(struct gb *b, const uint32_t *in, const void *ctx, int branch)
{
    const struct first_taken *t = ctx;
    const bool takes = branch == t->branch;
    uint32_t x = takes && t->where != OF_MADE ? in[0]
        : takes                               ? convolved(b, in[0], "pads=1,1")
                                              : convolved(b, in[0], "pads=2,0");
    if (t->where == RESULT)
        return gb_slice(b, x, 2, 0, 1, 1);
    if (!takes)
        return x;
    if (t->where == BEGINS)
        return cell_from_first(b, x);
    return GB(b, "Sub", "", x, t->where == OUTSIDE ? in[1] : gb_slice(b, x, 2, 0, 1, 1));
}

static void first_recipe(struct gb *b, const void *ctx)
{
    const struct first_taken *t = ctx;
    uint32_t in[2] = { time_input(b) }, out;
    if (t->where == OUTSIDE)
        in[1] = gb_slice(b, in[0], 2, 0, 1, 1);
    out = chosen(b, first_branch, ctx, in, t->where == OUTSIDE ? 2 : 1);
    gb_output(b, t->where == RESULT ? GB(b, "Sub", "", in[0], out) : out);
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
                         (n >= 3 || strstr(o.err.text, "'-3 + S >= 0' is needed")),
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

struct attended {
    const char *name;
    int64_t left, right, first, tokens; /* what a query sees; tokens stand in front of the keys */
    bool nested;
    float hidden; /* the scores of what it does not see; 0: -1e9 */
    bool chosen;  /* it sees its own key, and of the others some, by their numbers */
};

static uint32_t counted(struct gb *b, uint32_t x, unsigned axis, int64_t less)
{
    const uint32_t n = GB(b, "Gather", "axis=0", GB(b, "Shape", "", x), gb_int(b, 1)),
                   at = GB(b, "Range", "", gb_int(b, 0), n, gb_int(b, 1));
    return GB(b, "Unsqueeze", "", GB(b, "Sub", "", at, gb_int(b, less)), gb_ints(b, axis));
}

static uint32_t attention(struct gb *b, const struct attended *t, uint32_t x)
{
    const uint32_t q = gb_transpose(b, x, "0,2,1"),
                   k = t->tokens
        ? GB(b, "Concat", "axis=1", gb_weights(b, 3, 1, (int) t->tokens, CHANNELS), q)
        : q,
                   j = counted(b, k, 0, t->tokens), d = GB(b, "Sub", "", counted(b, q, 1, 0), j);
    uint32_t shown = GB(b, "And", "", GB(b, "LessOrEqual", "", d, gb_int(b, t->left)),
                        GB(b, "GreaterOrEqual", "", d, gb_int(b, -t->right)));
    if (t->first)
        shown = GB(b, "Or", "", shown,
                   GB(b, "And", "", GB(b, "Less", "", j, gb_int(b, t->first - t->tokens)),
                      GB(b, "GreaterOrEqual", "", d, gb_int(b, 0))));
    if (t->chosen) {
        const uint32_t by = gb_slice(b, gb_transpose(b, k, "0,2,1"), 1, 0, 1, 1);
        shown = GB(b, "And", "", shown,
                   GB(b, "Or", "", GB(b, "Greater", "", by, gb_scalar(b, 0.3f)),
                      GB(b, "Equal", "", d, gb_int(b, 0))));
    }
    const uint32_t s =
        GB(b, "Where", "", shown, GB(b, "MatMul", "", q, gb_transpose(b, k, "0,2,1")),
           gb_scalar(b, t->hidden < 0 ? t->hidden : -1e9f));
    return gb_transpose(b, GB(b, "MatMul", "", GB(b, "Softmax", "axis=-1", s), k), "0,2,1");
}

static uint32_t attended_branch(struct gb *b, const uint32_t *in, const void *ctx, int branch)
{
    return branch ? GB(b, "Neg", "", in[0]) : attention(b, ctx, in[0]);
}

static uint32_t nested_branch(struct gb *b, const uint32_t *in, const void *ctx, int branch)
{
    return branch ? GB(b, "Sigmoid", "", in[0]) : chosen_by(b, in[1], attended_branch, ctx, in, 1);
}

static void attended_recipe(struct gb *b, const void *ctx)
{
    const struct attended *t = ctx;
    const uint32_t x = time_input(b), on = gate_on(b), in[] = { x, on };
    gb_output(b,
              t->nested ? chosen_by(b, on, nested_branch, ctx, in, 2)
                        : chosen_by(b, on, attended_branch, ctx, in, 1));
}

static void test_attended(void)
{
    static const struct attended list[] = {
        { "an If in an If, of attention", 2, 0, 0, 0, true, 0, false },
        { "an If in an If, of attention ahead", 3, 1, 0, 0, true, 0, false },
        { "first keys beside a window", 2, 0, 2, 0, false, 0, false },
        { "first keys beside a window ahead", 3, 2, 4, 0, false, 0, false },
        { "first keys in an If in an If", 2, 0, 1, 0, true, 0, false },
        { "tokens that are seen by all", 2, 0, 2, 2, false, 0, false },
        { "keys before the query alone", 2, -1, 0, 0, false, -INFINITY, false },
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

static const struct first_taken first_taken[] = {
    { "then without its first frame", 0, OF_INPUT },
    { "else without its first frame", 1, OF_INPUT },
    { "then without the first frame that it makes", 0, OF_MADE },
    { "else without the first frame that it makes", 1, OF_MADE },
    { "then of a cell that begins with its first frame", 0, BEGINS },
    { "else of a cell that begins with its first frame", 1, BEGINS },
    { "then without a first frame from outside", 0, OUTSIDE },
    { "else without a first frame from outside", 1, OUTSIDE },
    { "behind the first frames, then of the input", 0, RESULT },
    { "behind the first frames, else of the input", 1, RESULT },
};

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

/* ---- a condition that is set anew ---- */

#define FRAMES 60

/* What the stream gives for those of the frames whose gate is `only` (0: all of them), one a run.
 */
static unsigned stream_frames(const rill_plan *p, float (*x)[CHANNELS], const float *gate,
                              float only, float (*ret)[CHANNELS])
{
    void *mem = aligned_alloc(64, (rill_plan_stream_size(p) + 63) & ~(size_t) 63);
    rill_stream *s = rill_stream_init(mem, p);
    unsigned n = 0;
    for (unsigned t = 0; t < FRAMES; t++) {
        size_t done;
        if (only != 0 && gate[t] != only)
            continue;
        rill_stream_push(s, 1, &gate[t], 1, &done);
        rill_stream_push(s, 0, x[t], 1, &done);
        if (rill_stream_run(s) == RILL_OK &&
            rill_stream_pull(s, p->n_inputs, ret[n], 1, &done) == RILL_OK && done == 1)
            n++;
    }
    free(mem);
    return n;
}

/* Each branch gives what it gives where its frames alone come. */
static void switched_check(const rill_plan *plan, const char *what)
{
    float x[FRAMES][CHANNELS], gate[FRAMES], all[FRAMES][CHANNELS], one[2][FRAMES][CHANNELS];
    uint32_t seed = 5;
    unsigned at[2] = { 0, 0 }, wrong = 0;
    for (unsigned t = 0; t < FRAMES; t++) {
        gate[t] = t / 7 % 2 || t % 11 == 3 ? -1.0f : 1.0f;
        for (unsigned c = 0; c < CHANNELS; c++)
            x[t][c] = gb_random_f32(&seed);
    }
    unsigned n = stream_frames(plan, x, gate, 0, all), n0 = stream_frames(plan, x, gate, 1, one[0]),
             n1 = stream_frames(plan, x, gate, -1, one[1]);
    for (unsigned t = 0; t < n; t++) {
        int k = gate[t] < 0;
        wrong += memcmp(all[t], one[k][at[k]++], sizeof all[t]) != 0;
    }
    oracle_check(n == FRAMES && n0 + n1 == n && !wrong,
                 "%s, switched: %u frames, %u and %u alone, %u differ", what, n, n0, n1, wrong);
}

/* Frames by number, of a branch that runs but for frames 2 * pause and the next. */
static void paused_frames(const rill_plan *p, unsigned pulse, unsigned pause,
                          float (*ret)[CHANNELS])
{
    void *mem = aligned_alloc(64, (rill_plan_stream_size(p) + 63) & ~(size_t) 63);
    rill_stream *s = rill_stream_init(mem, p);
    float x[FRAMES][CHANNELS], y[3][CHANNELS];
    unsigned at = 0;
    uint32_t seed = 9;
    for (unsigned t = 0; t < FRAMES * CHANNELS; t++)
        x[t / CHANNELS][t % CHANNELS] = gb_random_f32(&seed);
    for (unsigned t = 0; t < FRAMES; t += pulse) {
        const float on = t / 2 == pause ? -1.0f : 1.0f;
        size_t done;
        rill_stream_push(s, 1, &on, 1, &done);
        rill_stream_push(s, 0, x[t], pulse, &done);
        if (rill_stream_run(s) != RILL_OK ||
            rill_stream_pull(s, p->n_inputs, y, pulse, &done) != RILL_OK)
            break;
        for (unsigned i = 0; i < done; i++)
            memcpy(ret[at++], y[i], sizeof y[i]);
    }
    free(mem);
}

/* Which keys came while the branch ran does not depend on how late its queries are; behind a pause
 * at the start from its end on, behind a later one once the window has gone on. */
static void test_paused(void)
{
    static const struct attended list[] = { { "ahead", 3, 1, 0, 0, false, 0, false },
                                            { "first keys ahead", 1, 1, 2, 0, false, 0, false },
                                            { "first keys", 1, 0, 2, 0, false, 0, false } };
    static const unsigned same_from[] = { 2, 12 };
    for (unsigned i = 0; i < 2 * sizeof list / sizeof *list; i++) {
        const unsigned pause = i % 2, from = same_from[pause];
        float y[2][FRAMES][CHANNELS] = { 0 };
        struct oracle o;
        enum verdict v = oracle_open(&o, attended_recipe, &list[i / 2], NULL);
        for (unsigned pulse = 1; v == LAW_HOLDS && pulse <= 2; pulse++)
            if ((v = oracle_pulse(&o, pulse)) == LAW_HOLDS)
                paused_frames(o.plan, pulse, pause, y[pulse - 1]);
        oracle_check(v == LAW_HOLDS &&
                         !memcmp(y[0][from], y[1][from], (FRAMES - 4 - from) * sizeof *y[0]),
                     "%s, pause %u: pulses of 1 and 2 differ, or %s", list[i / 2].name, pause,
                     o.err.text);
        oracle_close(&o);
    }
}

static void recipe_switched(gb_recipe *recipe, const void *ctx, const char *what)
{
    struct oracle o;
    enum verdict v = oracle_open(&o, recipe, ctx, NULL);
    v = v == LAW_HOLDS ? oracle_pulse(&o, 1) : v;
    oracle_check(v == LAW_HOLDS, "%s: %s", what, o.err.text);
    if (v == LAW_HOLDS)
        switched_check(o.plan, what);
    oracle_close(&o);
}

static void test_switched(const char *then, const char *otherwise)
{
    struct branches two;
    char what[200];
    snprintf(what, sizeof what, "'%s' and '%s'", then, otherwise);
    bool ok = chain_parse(&two.chain[0], then) && chain_parse(&two.chain[1], otherwise);
    oracle_check(ok, "%s are no chains", what);
    if (ok)
        recipe_switched(branches_recipe, &two, what);
}

/* ---- frames of one place ---- */

/* A branch of an input that is 2 frames late: with one that is not, with what counts frames, beside
 * one that takes the input as it is, or less its own first frame. */
enum placed { SKIPS, COUNTS, BYPASSES, FIRST, APART };

static uint32_t placed_branch(struct gb *b, const uint32_t *in, const void *ctx, int branch)
{
    const enum placed how = *(const enum placed *) ctx;
    const uint32_t late = in[1];
    if (branch)
        return how == FIRST ? late : GB(b, "Neg", "", in[0]);
    switch (how) {
    case SKIPS: return GB(b, "Sub", "", late, in[0]);
    case COUNTS: {
        const uint32_t n = GB(b, "Gather", "axis=0", GB(b, "Shape", "", late), gb_int(b, 2)),
                       at = GB(b, "Range", "", gb_int(b, 0), n, gb_int(b, 1));
        return GB(b, "Add", "", late, GB(b, "Cast", "to=1", at));
    }
    case BYPASSES: return late;
    default: return GB(b, "Sub", "", late, gb_slice(b, late, 2, 0, 1, 1));
    }
}

/* Beside an output that is 2 frames late in one branch, one that is late in none. */
static void apart_put(struct gb *b, const uint32_t *in, const void *ctx, int branch)
{
    (void) ctx;
    gb_output(b, branch ? GB(b, "Neg", "", in[0]) : convolved(b, in[0], "pads=0,2"));
    gb_output(b, GB(b, "Neg", "", in[0]));
}

static void placed_recipe(struct gb *b, const void *ctx)
{
    const uint32_t x = time_input(b);
    if (*(const enum placed *) ctx == APART) {
        uint32_t out[2];
        chosen_put(b, gate_on(b), apart_put, NULL, &x, 1, out, 2);
        gb_output(b, GB(b, "Add", "", out[0], out[1]));
        return;
    }
    const uint32_t in[2] = { x, convolved(b, x, "pads=0,2") };
    gb_output(b, chosen(b, placed_branch, ctx, in, 2));
}

static void gates_fill(float *gate, unsigned off, bool switches)
{
    for (unsigned t = 0; t < FRAMES; t++)
        gate[t] = t < off || (switches && (t / 5 % 2 || t % 11 == 3)) ? -1.0f : 1.0f;
}

/* What the branches have no states for, they give in each run as if they had always run; and first
 * frames are those that come first. */
static void placed_check(const rill_plan *p, const char *what, enum placed how)
{
    enum { OFF = 7, LATE = 2 };
    float x[FRAMES][CHANNELS], gate[FRAMES], y[3][FRAMES][CHANNELS];
    unsigned n[3], wrong = 0;
    uint32_t seed = 5;
    for (unsigned t = 0; t < FRAMES * CHANNELS; t++)
        x[t / CHANNELS][t % CHANNELS] = gb_random_f32(&seed);
    for (unsigned k = 0; k < 3; k++) {
        gates_fill(gate, k == 1 ? FRAMES : k == 2 ? OFF : 0, k == 2 && how != FIRST);
        n[k] = stream_frames(p, x, gate, 0, y[k]);
    }
    for (unsigned t = 0; t < n[2]; t++)
        for (unsigned c = 0; c < CHANNELS; c++) {
            const bool on = gate[t + LATE] > 0;
            const float own = how == FIRST ? y[1][t][c] - y[1][OFF - LATE][c] : y[0][t][c];
            if (!on || how != APART) /* whose frames ahead are of its own runs */
                wrong += y[2][t][c] != (on ? own : y[1][t][c]);
        }
    oracle_check(n[0] == FRAMES - LATE && n[1] == n[0] && n[2] == n[0] && !wrong,
                 "%s: %u, %u and %u frames, %u numbers differ", what, n[0], n[1], n[2], wrong);
}

static void test_placed(void)
{
    static const char *const names[] = { "an input that is not late", "frames that are counted",
                                         "a bypass", "a first frame",
                                         "outputs late by different numbers" };
    for (enum placed how = SKIPS; how <= APART; how++) {
        struct oracle o;
        enum verdict v = oracle_open(&o, placed_recipe, &how, NULL);
        v = v == LAW_HOLDS ? oracle_pulse(&o, 1) : v;
        oracle_check(v == LAW_HOLDS, "%s: %s", names[how], o.err.text);
        if (v == LAW_HOLDS)
            placed_check(o.plan, names[how], how);
        oracle_close(&o);
    }
}

static void summed_recipe(struct gb *b, const void *ctx)
{
    const uint32_t x = time_input(b);
    gb_output(b, GB(b, "CumSum", "", chosen(b, attended_branch, ctx, &x, 1), gb_int(b, 2)));
}

/* A branch that begins late has queries of which all keys came before: what they give are numbers,
 * or a sum behind it would never be one again. */
static void test_late_begin(void)
{
    static const struct attended ahead = { "ahead", 1, 1, 0, 0, false, -INFINITY, false };
    struct oracle o;
    enum verdict v = oracle_open(&o, summed_recipe, &ahead, NULL);
    for (unsigned pulse = 1; v == LAW_HOLDS && pulse <= 3; pulse++) {
        float y[FRAMES][CHANNELS] = { 0 };
        bool numbers = true;
        if ((v = oracle_pulse(&o, pulse)) == LAW_HOLDS)
            paused_frames(o.plan, pulse, 0, y);
        for (unsigned t = 0; t < FRAMES; t++)
            numbers &= isfinite(y[t][0]) && isfinite(y[t][1]);
        oracle_check(numbers, "a branch that begins late, pulse %u: no numbers", pulse);
    }
    oracle_check(v == LAW_HOLDS, "a branch that begins late: %s", o.err.text);
    oracle_close(&o);
}

/* Attention, delayed by a pad of two first frames or by the other branch, which looks ahead. */
struct delayed {
    struct attended t;
    bool padded;
};

static uint32_t delayed_branch(struct gb *b, const uint32_t *in, const void *ctx, int branch)
{
    const struct delayed *d = ctx;
    if (branch)
        return d->padded ? GB(b, "Neg", "", in[0]) : convolved(b, in[0], "pads=1,1");
    const uint32_t y = attention(b, &d->t, in[0]);
    if (!d->padded)
        return y;
    return gb_slice(b, GB(b, "Pad", "mode=edge", y, gb_ints(b, 0, 0, 2, 0, 0, 0)), 2, 0, -2, 1);
}

static void delayed_recipe(struct gb *b, const void *ctx)
{
    const uint32_t x = convolved(b, convolved(b, time_input(b), "pads=0,2"), "pads=1,1");
    gb_output(b, chosen(b, delayed_branch, ctx, &x, 1));
}

/* What attention gives to queries in front of the sequence comes out behind a pause: numbers. */
static void test_delayed(void)
{
    static const struct delayed list[] = {
        { { "by the other branch", 3, 0, 0, 0, false, -INFINITY, false }, false },
        { { "by a pad", 3, 0, 0, 0, false, -INFINITY, false }, true },
        { { "by a pad, first keys", 3, 1, 1, 0, false, -INFINITY, false }, true },
        { { "by the other branch, first keys", 4, 1, 1, 0, false, -INFINITY, false }, false },
        { { "by a pad, first keys that are chosen", 3, 1, 3, 0, false, -INFINITY, true }, true },
        { { "by the other branch, keys that are chosen", 3, 1, 3, 0, false, -INFINITY, true },
          false },
    };
    for (unsigned i = 0; i < sizeof list / sizeof *list; i++) {
        struct oracle o;
        enum verdict v = oracle_open(&o, delayed_recipe, &list[i], NULL);
        for (unsigned k = 0; v == LAW_HOLDS && k < 3 * 4; k++) {
            const unsigned pulse = 1 + k % 3, pause = k / 3;
            float y[FRAMES][CHANNELS] = { 0 };
            bool numbers = true;
            if ((v = oracle_pulse(&o, pulse)) == LAW_HOLDS)
                paused_frames(o.plan, pulse, pause, y);
            for (unsigned t = 0; t < FRAMES; t++)
                numbers &= isfinite(y[t][0]) && isfinite(y[t][1]);
            oracle_check(numbers, "delayed %s, pulse %u, pause %u: no numbers", list[i].t.name,
                         pulse, pause);
        }
        oracle_check(v == LAW_HOLDS, "delayed %s: %s", list[i].t.name, o.err.text);
        oracle_close(&o);
    }
}

int main(void)
{
    const char *s = getenv("RILL_SEED"), *n = getenv("RILL_COUNT");
    test_random(s ? (uint32_t) strtoul(s, NULL, 10) : 20261124u, n ? (unsigned) atoi(n) : 300);
    test_switched("2: conv k=3 l=2; cumsum", "2: gru");
    test_switched("2: lstm; conv k=4 l=3", "2: conv k=2 l=1");
    test_switched("2: scan", "2: cumsum; conv k=3 d=2 l=4");
    test_switched("2: gru", "2: attend left=3");
    test_switched("2: attend left=2", "2: attend left=1 right=0 where=1");
    test_switched("2: distances", "2: cumsum; attend left=3");
    test_switched("2: conv k=3 l=2", "2: masked; conv k=2 l=1");
    for (size_t i = 0; i < sizeof by_lengths / sizeof *by_lengths; i++)
        test_by_length(&by_lengths[i]);
    test_outside();
    test_short();
    test_unable();
    test_counted();
    for (size_t i = 0; i < sizeof first_taken / sizeof *first_taken; i++) {
        test_first(&first_taken[i]);
        if (first_taken[i].where == OF_INPUT || first_taken[i].where == BEGINS)
            recipe_switched(first_recipe, &first_taken[i], first_taken[i].name);
    }
    test_unread();
    test_attended();
    test_paused();
    test_placed();
    test_late_begin();
    test_delayed();
    return oracle_end();
}
