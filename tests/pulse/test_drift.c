/* SPDX-License-Identifier: MIT */
/* The checker of bodies: a fact changed by hand in any slot of a Scan, Loop or If is found and
 * named with both facts; typed graphs, also random nested ones, have nothing to find. */
#include "engine/graph/bodies.h"
#include "engine/graph/control.h"
#include "engine/typing/typed.h"
#include "tests/pulse/drift_random.h"
#include "tests/pulse/oracle.h"

#include <stdio.h>
#include <string.h>

struct world {
    struct arena arena;
    struct dims *dims;
    const struct dim *time;
    struct mgraph file;
    struct tgraph typed;
    rill_error err;
};

static bool world_open(struct world *w, gb_recipe *recipe, const void *ctx, uint32_t seed)
{
    struct gb b;
    *w = (struct world) { .dims = dims_new() };
    w->time = dim_symbol(w->dims, "S");
    dims_assert(w->dims, "S>=1", &w->err);
    gb_init(&b, &w->file.g, &w->arena, w->dims, w->time, seed);
    recipe(&b, ctx);
    w->err = b.err;
    return w->err.status == RILL_OK &&
        tgraph_from_mgraph(&w->typed, &w->file, NULL, &w->err) == RILL_OK;
}

static void world_close(struct world *w)
{
    arena_drop(&w->arena);
    dims_free(w->dims);
}

/* ---- one node of each kind ---- */

/* Across axis 1 of x and y; time is a batch. */
static void recipe_scan(struct gb *b, const void *ctx)
{
    (void) ctx;
    struct gb c;
    uint32_t x = gb_input(b, "x", 3, GB_TIME, 6, 4), y = gb_input(b, "y", 3, GB_TIME, 6, 4);
    uint32_t h0 = gb_input(b, "h0", 2, GB_TIME, 4), w = gb_input(b, "w", 2, 4, 4);
    uint32_t full = GB(b, "ConstantOfShape", "", GB(b, "Shape", "", h0));
    gb_body(&c, b, "cell");
    uint32_t h = gb_body_input(&c, "h"), xs = gb_body_input(&c, "xs"), ys = gb_body_input(&c, "ys");
    uint32_t f = gb_body_input(&c, "full"), wb = gb_body_input(&c, "w");
    uint32_t sum = GB(&c, "Add", "", GB(&c, "MatMul", "", GB(&c, "Add", "", h, xs), wb), f);
    uint32_t next = GB(&c, "Tanh", "", sum);
    gb_output(&c, next);
    gb_output(&c, GB(&c, "Mul", "", next, ys));
    const struct gb_scan at = SCAN_OF(1, 2, 1, .in_axes = I64S(1, 1), .out_axes = I64S(1));
    struct node *n = gb_scan(b, &c, &at, (const uint32_t[]) { h0, x, y, full, w }, 5);
    gb_output(b, n ? n->out[0] : WIRE_NONE);
    gb_output(b, n ? n->out[1] : WIRE_NONE);
}

/* Three rounds: h = h + c; h is also stacked. */
static void recipe_loop(struct gb *b, const void *ctx)
{
    (void) ctx;
    struct gb c;
    uint32_t h0 = gb_input(b, "h0", 2, GB_TIME, 4), k = gb_input(b, "c", 2, GB_TIME, 4);
    gb_body(&c, b, "round");
    gb_body_input(&c, "i");
    uint32_t go = gb_body_input(&c, "go"), h = gb_body_input(&c, "h"), kb = gb_body_input(&c, "c");
    uint32_t next = GB(&c, "Add", "", h, kb);
    gb_output(&c, GB(&c, "Identity", "", go));
    gb_output(&c, next);
    gb_output(&c, GB(&c, "Tanh", "", next));
    struct node *n =
        drift_loop(b, &c, (const uint32_t[]) { gb_int(b, 3), WIRE_NONE, h0, k }, 4, 1, 1);
    gb_output(b, n ? n->out[0] : WIRE_NONE);
    gb_output(b, n ? n->out[1] : WIRE_NONE);
}

static void recipe_if(struct gb *b, const void *ctx)
{
    (void) ctx;
    struct gb branch[2];
    uint32_t x = gb_input(b, "x", 2, GB_TIME, 4), y = gb_input(b, "y", 2, GB_TIME, 4);
    uint32_t when = GB(b, "Greater", "", GB(b, "ReduceSum", "keepdims=0", x), gb_scalar(b, 0));
    for (int i = 0; i < 2; i++) {
        gb_body(&branch[i], b, i ? "else" : "then");
        uint32_t xb = gb_body_input(&branch[i], "x"), yb = gb_body_input(&branch[i], "y");
        gb_output(&branch[i], GB(&branch[i], i ? "Add" : "Mul", "", xb, yb));
    }
    struct node *n = drift_if(b, branch, (const uint32_t[]) { when, x, y }, 3, 1);
    gb_output(b, n ? n->out[0] : WIRE_NONE);
}

/* The Scan of recipe_scan in the body of another, which runs over channels of a tensor with one
 * more axis. */
static void recipe_nested(struct gb *b, const void *ctx)
{
    struct gb c;
    uint32_t z = gb_input(b, "z", 3, GB_TIME, 4, 3), full = gb_input(b, "full", 2, GB_TIME, 4);
    gb_body(&c, b, "outer");
    uint32_t zs = gb_body_input(&c, "zs"), fb = gb_body_input(&c, "full");
    struct gb d;
    gb_body(&d, &c, "inner");
    uint32_t h = gb_body_input(&d, "h"), q = gb_body_input(&d, "q"), f2 = gb_body_input(&d, "full");
    uint32_t next =
        GB(&d, "Add", "", GB(&d, "Unsqueeze", "", q, gb_ints(&d, 1)), GB(&d, "Mul", "", h, f2));
    gb_output(&d, next);
    const struct gb_scan in = SCAN_OF(1, 1, 0, .in_axes = I64S(1));
    struct node *n = gb_scan(&c, &d, &in, (const uint32_t[]) { fb, zs, fb }, 3);
    gb_output(&c, n ? n->out[0] : WIRE_NONE);
    const struct gb_scan out = SCAN_OF(0, 1, 1, .in_axes = I64S(2), .out_axes = I64S(0));
    n = gb_scan(b, &c, &out, (const uint32_t[]) { z, full }, 2);
    gb_output(b, n ? n->out[0] : WIRE_NONE);
    (void) ctx;
}

/* ---- changing one fact ---- */

enum side { OUTER_IN, OUTER_OUT, BODY_IN, BODY_OUT, BODY_WIRE };

/* One fact of the first node with a body, and what is said of it. axis -1: the type changes
 * instead. */
struct change {
    gb_recipe *recipe;
    unsigned body;
    enum side side;
    unsigned i; /* of BODY_WIRE: the node that writes it */
    int axis;
    int64_t size;
    const char *words;
};

#define SCAN recipe_scan, 0
#define LOOP recipe_loop, 0
#define THEN recipe_if, 0
#define ELSE recipe_if, 1

static const struct change changes[] = {
    { SCAN, BODY_IN, 0, 0, 4, "slot 0 (state): outside f32[S,4], in the body f32[4,4]" },
    { SCAN, BODY_IN, 1, 0, 4,
      "slot 1 (scanned): outside f32[S,6,4] along axis 1, in the body f32[4,4]" },
    { SCAN, BODY_IN, 2, 1, 5,
      "slot 2 (scanned): outside f32[S,6,4] along axis 1, in the body f32[S,5]" },
    { SCAN, BODY_IN, 3, 0, 4, "slot 3 (capture): outside f32[S,4], in the body f32[4,4]" },
    { SCAN, BODY_IN, 4, -1, 0, "slot 4 (capture): outside f32[4,4], in the body i64[4,4]" },
    { SCAN, OUTER_IN, 0, 0, 4, "slot 0 (state): outside f32[4,4], in the body f32[S,4]" },
    { SCAN, OUTER_IN, 2, 1, 7, "slot 2 (scanned): 7 iterations, those before it have 6" },
    { SCAN, OUTER_IN, 3, 0, 4, "slot 3 (capture): outside f32[4,4], in the body f32[S,4]" },
    { SCAN, BODY_OUT, 0, 0, 4,
      "slot 0 (state): goes into the body as f32[S,4] and comes out as f32[4,4]" },
    { SCAN, BODY_OUT, 1, 0, 4,
      "output 1 (scanned): outside f32[S,6,4] along axis 1, in the body f32[4,4]" },
    { SCAN, OUTER_OUT, 0, 0, 4, "output 0 (state): outside f32[4,4], in the body f32[S,4]" },
    { SCAN, OUTER_OUT, 1, 0, 4,
      "output 1 (scanned): outside f32[4,6,4] along axis 1, in the body f32[S,4]" },
    { SCAN, OUTER_OUT, 1, 1, 5, "output 1 (scanned): 5 iterations, those before it have 6" },
    { SCAN, BODY_WIRE, 1, 0, 4,
      "(MatMul): output 0: in the body f32[4,4], its inputs make f32[S,4]" },
    { SCAN, BODY_WIRE, 2, 1, 3, "(Add): output 0: in the body f32[S,3], its inputs make f32[S,4]" },
    { LOOP, BODY_IN, 0, -1, 0, "slot 0 (iteration): outside i64[], in the body f32[]" },
    { LOOP, BODY_IN, 1, -1, 0, "slot 1 (condition): outside bool[], in the body i64[]" },
    { LOOP, BODY_IN, 2, 0, 4, "slot 2 (state): outside f32[S,4], in the body f32[4,4]" },
    { LOOP, BODY_IN, 3, 0, 4, "slot 3 (capture): outside f32[S,4], in the body f32[4,4]" },
    { LOOP, BODY_OUT, 2, 0, 4,
      "output 1 (scanned): outside f32[3,S,4] along axis 0, in the body f32[4,4]" },
    { LOOP, BODY_WIRE, 0, 0, 4,
      "slot 2 (state): goes into the body as f32[S,4] and comes out as f32[4,4]" },
    { LOOP, OUTER_OUT, 0, 0, 4, "output 0 (state): outside f32[4,4], in the body f32[S,4]" },
    { LOOP, OUTER_OUT, 1, 0, 4, "output 1 (scanned): 4 iterations, those before it have 3" },
    { THEN, BODY_IN, 0, 0, 4, "then: slot 1 (capture): outside f32[S,4], in the body f32[4,4]" },
    { ELSE, BODY_IN, 1, 1, 1, "else: slot 2 (capture): outside f32[S,4], in the body f32[S,1]" },
    { THEN, BODY_OUT, 0, 0, 4, "then: output 0 (value): outside f32[S,4], in the body f32[4,4]" },
    { ELSE, BODY_OUT, 0, -1, 0, "else: output 0 (value): outside f32[S,4], in the body i64[S,4]" },
    { THEN, OUTER_OUT, 0, 0, 4, "then: output 0 (value): outside f32[4,4], in the body f32[S,4]" },
};

static struct node *first_with_body(const struct graph *g)
{
    for (uint32_t i = 0; i < g->n_nodes; i++)
        if (g->nodes[i].n_body)
            return &g->nodes[i];
    return NULL;
}

static struct fact *fact_at(struct graph *g, struct node *n, const struct change *c)
{
    struct graph *body = n->body[c->body];
    switch (c->side) {
    case OUTER_IN: return &g->wires[n->in[c->i]].fact;
    case OUTER_OUT: return &g->wires[n->out[c->i]].fact;
    case BODY_IN: return &body->wires[body->inputs[c->i]].fact;
    case BODY_OUT: return &body->wires[body->outputs[c->i]].fact;
    case BODY_WIRE: return &body->wires[body->nodes[c->i].out[0]].fact;
    }
    return NULL;
}

static void fact_change(struct dims *ds, struct fact *f, int axis, int64_t size)
{
    if (axis < 0)
        f->type = f->type == DTYPE_I64 ? DTYPE_F32 : DTYPE_I64;
    else
        f->shape[axis] = dim_int(ds, size);
}

static void test_change(const struct change *c)
{
    struct world w;
    rill_error err = { 0 };
    char named[64];
    oracle_check(world_open(&w, c->recipe, NULL, 1), "%s: %s", c->words, w.err.text);
    struct graph *g = &w.typed.g;
    struct node *n = first_with_body(g);
    struct body_reports r = { 0 };
    oracle_check(graph_check_bodies(g, NULL, &r, &err) == RILL_OK && !r.n_drifting,
                 "drift before: %s", c->words);
    fact_change(w.dims, fact_at(g, n, c), c->axis, c->size);
    oracle_check(graph_check_bodies(g, NULL, NULL, &err) == RILL_INTERNAL, "not found: %s",
                 c->words);
    snprintf(named, sizeof named, "node '%s' (%s): ", n->name, n->op->name);
    oracle_check(!strncmp(err.text, named, strlen(named)) && strstr(err.text, c->words),
                 "said '%s', not '%s'", err.text, c->words);
    r = (struct body_reports) { 0 };
    oracle_check(graph_check_bodies(g, NULL, &r, &err) == RILL_OK && r.n_drifting == 1,
                 "not counted: %s", c->words);
    world_close(&w);
}

/* ---- counts, depth, symbols ---- */

static void test_counts(void)
{
    struct world w;
    rill_error err = { 0 };
    world_open(&w, recipe_scan, NULL, 1);
    struct node *n = first_with_body(&w.typed.g);
    n->body[0]->n_inputs--;
    oracle_check(graph_check_bodies(&w.typed.g, NULL, NULL, &err) == RILL_INTERNAL &&
                     strstr(err.text, "inputs: 5 outside, 4 in the body"),
                 "inputs: '%s'", err.text);
    n->body[0]->n_inputs++;
    n->body[0]->n_outputs--;
    oracle_check(graph_check_bodies(&w.typed.g, NULL, NULL, &err) == RILL_INTERNAL &&
                     strstr(err.text, "outputs: 2 outside, 1 in the body"),
                 "outputs: '%s'", err.text);
    world_close(&w);
}

struct seen {
    unsigned n, depth[4], drifts[4], captures[4];
    char text[4][200];
};

static void see(void *self, const struct body_report *r)
{
    struct seen *s = self;
    s->depth[s->n % 4] = r->depth;
    s->drifts[s->n % 4] = r->n_drifts;
    s->captures[s->n % 4] = r->n_captures;
    snprintf(s->text[s->n++ % 4], sizeof s->text[0], "%s", r->drift);
}

/* A drift inside the inner body is the inner Scan's alone. */
static void test_nested(void)
{
    struct world w;
    struct seen s = { 0 };
    struct body_reports r = { .each = see, .self = &s };
    oracle_check(world_open(&w, recipe_nested, NULL, 1), "nested: %s", w.err.text);
    struct graph *outer = first_with_body(&w.typed.g)->body[0],
                 *inner = first_with_body(outer)->body[0];
    graph_check_bodies(&w.typed.g, NULL, &r, NULL);
    oracle_check(r.n_scans == 2 && !r.n_others && !r.n_drifting, "%u Scans, %u drifting", r.n_scans,
                 r.n_drifting);
    oracle_check(s.n == 2 && s.depth[0] == 0 && s.depth[1] == 1 && s.captures[0] == 1 &&
                     s.captures[1] == 1,
                 "depths and captures");
    fact_change(w.dims, &inner->wires[inner->inputs[2]].fact, 0, 4);
    s.n = 0;
    graph_check_bodies(&w.typed.g, NULL, &r, NULL);
    oracle_check(s.drifts[0] == 0 && s.drifts[1] > 0 &&
                     strstr(s.text[1], "slot 2 (capture): outside f32[S,4], in the body f32[4,4]"),
                 "inner: '%s'", s.text[1]);
    world_close(&w);
}

/* Once time has got a number no body may speak of it, even where all slots agree. */
static void test_fixed(void)
{
    struct world w;
    struct body_reports r = { 0 };
    rill_error err = { 0 };
    world_open(&w, recipe_scan, NULL, 1);
    oracle_check(graph_check_bodies(&w.typed.g, w.time, NULL, &err) == RILL_INTERNAL &&
                     strstr(err.text, "in the body f32[S,4], outside S is a number"),
                 "fixed: '%s'", err.text);
    graph_check_bodies(&w.typed.g, dim_symbol(w.dims, "N"), &r, NULL);
    oracle_check(r.n_scans == 1 && r.n_drifting == 0, "another symbol: %u drifting", r.n_drifting);
    world_close(&w);
}

/* ---- random nested graphs ---- */

static bool wire_lives(const struct graph *g, uint32_t w)
{
    bool input = false;
    for (uint32_t i = 0; i < g->n_inputs; i++)
        input |= g->inputs[i] == w;
    return input || g->wires[w].node != WIRE_NONE;
}

static struct fact *random_body_fact(const struct graph *g, uint32_t *seed, bool in_body)
{
    struct fact *found = NULL;
    uint32_t n = 0;
    for (uint32_t i = 0; i < g->n_nodes; i++)
        for (unsigned b = 0; b < g->nodes[i].n_body; b++) {
            struct fact *f = random_body_fact(g->nodes[i].body[b], seed, true);
            if (f && gb_random(seed) % ++n == 0)
                found = f;
        }
    for (uint32_t w = 0; in_body && w < g->n_wires; w++)
        if (wire_lives(g, w) && !g->wires[w].fact.value && g->wires[w].fact.rank > 0 &&
            gb_random(seed) % ++n == 0)
            found = &g->wires[w].fact;
    return found;
}

/* No typed graph drifts; any fact in any body that is changed is found. */
static void test_random(uint32_t seed, struct body_reports *total, unsigned *ret_changed)
{
    struct world w;
    struct body_reports r = { 0 };
    const struct drift_opts opts = { .seed = seed };
    bool open = world_open(&w, drift_random, &opts, seed);
    oracle_check(open, "seed %u: %s", seed, w.err.text);
    if (open) {
        graph_check_bodies(&w.typed.g, NULL, &r, NULL);
        total->n_scans += r.n_scans;
        total->n_others += r.n_others;
        oracle_check(!r.n_drifting, "seed %u: %u of %u drift", seed, r.n_drifting,
                     r.n_scans + r.n_others);
    }
    uint32_t pick = seed;
    struct fact *f = open ? random_body_fact(&w.typed.g, &pick, false) : NULL;
    if (f) {
        const struct fact before = *f;
        fact_change(w.dims, f, (int) (gb_random(&pick) % (unsigned) f->rank), 17);
        oracle_check(graph_check_bodies(&w.typed.g, NULL, NULL, NULL) == RILL_INTERNAL,
                     "seed %u: a change is not seen", seed);
        *f = before;
        ++*ret_changed;
        oracle_check(graph_check_bodies(&w.typed.g, NULL, NULL, NULL) == RILL_OK,
                     "seed %u: drift after it is undone", seed);
    }
    world_close(&w);
}

int main(void)
{
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++)
        test_change(&changes[i]);
    test_counts();
    test_nested();
    test_fixed();
    struct body_reports total = { 0 };
    unsigned changed = 0;
    for (uint32_t seed = 1; seed <= 400; seed++)
        test_random(seed, &total, &changed);
    printf("random: %u Scans, %u Loops and Ifs, %u changed facts found\n", total.n_scans,
           total.n_others, changed);
    oracle_check(total.n_scans > 500 && total.n_others > 500 && changed > 200,
                 "the random graphs have too few bodies");
    return oracle_end();
}
