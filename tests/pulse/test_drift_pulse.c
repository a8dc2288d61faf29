/* SPDX-License-Identifier: MIT */
/* Bodies after pulsing: a dual-path net of more than a hundred Scans has no drift after any pass,
 * and the checker sees the Scans drift when their bodies keep the symbol of time. */
#include "engine/graph/bodies.h"
#include "engine/graph/control.h"
#include "engine/rewrite/settle/inline_scan.h"
#include "engine/plan/plan.h"
#include "engine/graph/prune.h"
#include "engine/typing/typed.h"
#include "tests/pulse/drift_random.h"
#include "tests/pulse/oracle.h"

#include <string.h>

#define BLOCKS 52 /* of two Scans over bands and one over time */
#define BANDS 3
#define WIDTH 4

/* ---- dual path ---- */

/* h' = tanh(h A + x B + bias); the bias comes whole from outside. y is stacked along `axis` of
 * x. */
static uint32_t cell(struct gb *b, uint32_t x, uint32_t h0, uint32_t bias, int axis, bool back)
{
    struct gb c;
    gb_body(&c, b, "cell");
    uint32_t h = gb_body_input(&c, "h"), xs = gb_body_input(&c, "x"), f = gb_body_input(&c, "bias");
    uint32_t a = GB(&c, "MatMul", "", h, gb_weights(&c, 2, WIDTH, WIDTH));
    uint32_t m = GB(&c, "MatMul", "", xs, gb_weights(&c, 2, WIDTH, WIDTH));
    uint32_t next = GB(&c, "Tanh", "", GB(&c, "Add", "", GB(&c, "Add", "", a, m), f));
    gb_output(&c, next);
    gb_output(&c, next);
    const int64_t axes[] = { axis }, reverse[] = { back };
    const struct gb_scan at =
        SCAN_OF(1, 1, 1, .in_axes = axes, .in_reverse = reverse, .out_axes = axes);
    struct node *n = gb_scan(b, &c, &at, (const uint32_t[]) { h0, x, bias }, 3);
    return n ? n->out[1] : WIRE_NONE;
}

/* x [S,BANDS,WIDTH]: over the bands forward and back, then over time, and so on. ctx: the number of
 * blocks. */
static void recipe_dual_path(struct gb *b, const void *ctx)
{
    uint32_t x = gb_input(b, "x", 3, GB_TIME, BANDS, WIDTH);
    for (int i = 0; i < *(const int *) ctx; i++) {
        uint32_t like = GB(b, "ReduceSum", "keepdims=0", x, gb_ints(b, 1));
        uint32_t zero = GB(b, "ConstantOfShape", "", GB(b, "Shape", "", like));
        uint32_t up = cell(b, x, zero, like, 1, false), down = cell(b, x, zero, zero, 1, true);
        x = GB(b, "Add", "", x, GB(b, "Add", "", up, down));
        uint32_t still = gb_full(b, 0, 2, BANDS, WIDTH);
        x = GB(b, "Add", "", x, cell(b, x, still, still, 0, false));
    }
    gb_output(b, x);
}

/* ---- every pass ---- */

struct counts {
    unsigned load, typed, pulse, declutter, scans, scans_left;
};

static unsigned count(const struct graph *g, const struct dim *fixed, unsigned *ret_scans)
{
    struct body_reports r = { 0 };
    oracle_check(graph_check_bodies(g, fixed, &r, NULL) == RILL_OK, "the check itself");
    *ret_scans = r.n_scans;
    return r.n_drifting;
}

static bool passes_count(struct oracle *o, int64_t pulse, bool keep_bodies, struct counts *ret)
{
    const struct pulse_opts opts = { .keep_bodies = keep_bodies };
    const struct dim *s = o->model->stream;
    struct arena a = { 0 };
    struct pgraph pg;
    struct graph inlined, pruned;
    ret->load = count(&o->model->mgraph.g, NULL, &ret->scans);
    ret->typed = count(&o->model->decluttered.g, NULL, &ret->scans);
    bool ok =
        pgraph_from_dgraph(&pg, &o->model->decluttered, s, pulse, &opts, &a, &o->err) == RILL_OK;
    if (ok)
        ret->pulse = count(&pg.g, s, &ret->scans);
    if (ok && !keep_bodies) {
        ok = graph_with_scans_inlined(&inlined, &pg.g, &a, &o->err) == RILL_OK &&
            graph_pruned(&pruned, &inlined, &o->err) == RILL_OK;
        ret->declutter = ok ? count(&pruned, s, &ret->scans_left) : 0;
    }
    if (ok) {
        struct plan *plan = NULL;
        rill_status st = plan_from_sgraph(&plan, &(struct sgraph) { keep_bodies ? pg.g : pruned },
                                          NULL, &o->err);
        ok = st == (keep_bodies ? RILL_INTERNAL : RILL_OK);
        oracle_check(!keep_bodies || strstr(o->err.text, "outside f32["),
                     "planning what drifts: %s", o->err.text);
        plan_free(plan);
    }
    arena_drop(&a);
    return ok;
}

static void test_dual_path(void)
{
    static const int blocks = BLOCKS;
    static const int64_t pulses[] = { 1, 2, 4, 7 };
    struct oracle o;
    struct counts c;
    oracle_check(oracle_open(&o, recipe_dual_path, &blocks, "S>=1") == LAW_HOLDS, "%s", o.err.text);
    for (size_t i = 0; i < sizeof pulses / sizeof *pulses; i++) {
        c = (struct counts) { 0 };
        oracle_check(passes_count(&o, pulses[i], false, &c), "pulse %d: %s", (int) pulses[i],
                     o.err.text);
        oracle_check(c.scans == 3 * BLOCKS && c.scans_left == (pulses[i] == 1 ? 2 : 3) * BLOCKS,
                     "%u Scans, %u left", c.scans, c.scans_left);
        oracle_check(!c.load && !c.typed && !c.pulse && !c.declutter,
                     "pulse %d: drift after load %u, typed %u, pulse %u, "
                     "pulse-declutter %u",
                     (int) pulses[i], c.load, c.typed, c.pulse, c.declutter);
        c = (struct counts) { 0 };
        oracle_check(passes_count(&o, pulses[i], true, &c), "kept, pulse %d: %s", (int) pulses[i],
                     o.err.text);
        oracle_check(!c.typed && c.pulse == 2 * BLOCKS && c.pulse >= 100,
                     "kept, pulse %d: %u drift, not %d", (int) pulses[i], c.pulse, 2 * BLOCKS);
    }
    oracle_close(&o);
}

/* What the Scans give is right as well. */
static void test_law(void)
{
    static const int blocks = 3;
    static const int64_t pulses[] = { 1, 3, 4, -1 }, lengths[] = { 1, 6, 11, -1 };
    struct oracle o;
    oracle_check(oracle_open(&o, recipe_dual_path, &blocks, "S>=1") == LAW_HOLDS, "%s", o.err.text);
    oracle_check(oracle_laws(&o, "dual path", pulses, lengths) == 9, "%s", o.err.text);
    oracle_close(&o);
}

/* ---- a Full slot that is made inside ---- */

/* A Scan over bands whose capture is [S,4], made from the shape of the input. ctx: the op that
 * makes it. */
static void recipe_full(struct gb *b, const void *ctx)
{
    struct gb c;
    const char *op = ctx;
    uint32_t x = gb_input(b, "x", 3, GB_TIME, BANDS, WIDTH);
    uint32_t shape = GB(b, "Gather", "", GB(b, "Shape", "", x), gb_ints(b, 0, 2));
    uint32_t full = strcmp(op, "Expand") ? GB(b, op, "", shape)
                                         : GB(b, op, "", gb_weights(b, 2, 1, WIDTH), shape);
    gb_body(&c, b, "cell");
    uint32_t h = gb_body_input(&c, "h"), xs = gb_body_input(&c, "x"), f = gb_body_input(&c, "full");
    uint32_t next = GB(&c, "Add", "", GB(&c, "Mul", "", h, xs), f);
    gb_output(&c, next);
    gb_output(&c, GB(&c, "Tanh", "", next));
    const struct gb_scan at = SCAN_OF(1, 1, 1, .in_axes = I64S(1), .out_axes = I64S(1));
    uint32_t h0 = GB(b, "ReduceSum", "keepdims=0", x, gb_ints(b, 1));
    struct node *n = gb_scan(b, &c, &at, (const uint32_t[]) { h0, x, full }, 3);
    gb_output(b, n ? n->out[1] : WIRE_NONE);
}

static const struct node *scan_of(const struct graph *g)
{
    for (uint32_t i = 0; i < g->n_nodes; i++)
        if (g->nodes[i].op == &op_scan)
            return &g->nodes[i];
    return NULL;
}

static void source_check(const struct graph *g, const char *want)
{
    const struct node *n = scan_of(g);
    bool one = n && n->n_in == 3 && n->body[0]->n_inputs == 3;
    char outside[64] = "", inside[64] = "";
    oracle_check(one, "no Scan of three inputs");
    if (!one)
        return;
    fact_print(&g->wires[n->in[2]].fact, outside, sizeof outside);
    fact_print(&n->body[0]->wires[n->body[0]->inputs[2]].fact, inside, sizeof inside);
    oracle_check(!strcmp(outside, want) && !strcmp(inside, want),
                 "outside %s, in the body %s, not %s", outside, inside, want);
}

static void full_see(void *self, const struct body_report *r)
{
    bool *seen = self;
    *seen |= strstr(r->drift, "slot 2 (capture): outside f32[4,4], in the body f32[S,4]") != NULL;
}

static void test_full(const char *op)
{
    bool seen = false;
    struct body_reports r = { .each = full_see, .self = &seen };
    const struct pulse_opts keep = { .keep_bodies = true };
    struct oracle o;
    struct arena a = { 0 };
    struct pgraph pg;
    oracle_check(oracle_open(&o, recipe_full, op, "S>=1") == LAW_HOLDS, "%s", o.err.text);
    source_check(&o.model->decluttered.g, "f32[S,4]");
    if (pgraph_from_dgraph(&pg, &o.model->decluttered, o.model->stream, 4, NULL, &a, &o.err) ==
        RILL_OK)
        source_check(&pg.g, "f32[4,4]");
    else
        oracle_check(false, "%s: %s", op, o.err.text);
    oracle_check(pgraph_from_dgraph(&pg, &o.model->decluttered, o.model->stream, 4, &keep, &a,
                                    &o.err) == RILL_OK &&
                     graph_check_bodies(&pg.g, o.model->stream, &r, &o.err) == RILL_OK &&
                     r.n_drifting == 1 && seen,
                 "%s: drift of the whole slot is not seen", op);
    oracle_check(oracle_laws(&o, op, (int64_t[]) { 1, 4, -1 }, (int64_t[]) { 0, 3, 6, 9, -1 }) == 8,
                 "%s: %s", op, o.err.text);
    arena_drop(&a);
    oracle_close(&o);
}

/* ---- what bodies make for nobody, and out of nothing ---- */

/* A Scan over a constant that stacks Neg of its slice (along axis 1) and a tensor as long as time;
 * ctx: which of the two is wanted. */
static void recipe_two(struct gb *b, const void *ctx)
{
    struct gb c;
    uint32_t x = gb_input(b, "x", 2, GB_TIME, 3), w = gb_weights(b, 2, 3, WIDTH);
    gb_body(&c, b, "two");
    uint32_t xs = gb_body_input(&c, "w");
    gb_output(&c, GB(&c, "ConstantOfShape", "", gb_shape(&c, 1, &b->time)));
    gb_output(&c, GB(&c, "Add", "", xs, gb_body_input(&c, "v")));
    const struct gb_scan at = SCAN_OF(0, 1, 2, .out_axes = I64S(0, 1));
    uint32_t v = gb_input(b, "v", 1, WIDTH);
    struct node *n = gb_scan(b, &c, &at, (const uint32_t[]) { w, v }, 2);
    gb_output(b, GB(b, "Tanh", "", x));
    gb_output(b, n ? n->out[*(const int *) ctx] : WIRE_NONE);
}

static void test_stacked(void)
{
    struct oracle o;
    for (int wanted = 0; wanted < 2; wanted++) {
        oracle_check(oracle_open(&o, recipe_two, &wanted, "S>=1") == LAW_HOLDS, "%s", o.err.text);
        const struct node *n = scan_of(&o.model->decluttered.g);
        bool one = n && n->n_out == 1 && n->body[0]->n_outputs == 1 && n->body[0]->n_nodes == 1;
        oracle_check(one && n->n_in == 1u + (unsigned) wanted, "the other output is still made");
        const struct scan_attr *attr = n ? n->attr : NULL;
        oracle_check(one && attr->out_axes.n == 1 && attr->out_axes.v[0] == wanted,
                     "the axis is not that of the output");
        bool streams = oracle_pulse(&o, 2) == LAW_HOLDS;
        oracle_check(streams == wanted &&
                         (streams ||
                          strstr(o.err.text, "its body makes a tensor as long as the sequence")),
                     "%d: %s", wanted, o.err.text);
        oracle_close(&o);
    }
}

/* Random Scans in Scans, along time and across it: no drift after any pass, and what they give is
 * right. */
static void test_random(uint32_t seed, unsigned *ret_scans)
{
    struct oracle o;
    struct counts c = { 0 };
    const struct drift_opts opts = { .seed = seed, .streams = true };
    int64_t pulse = 1 + seed % 5;
    oracle_check(oracle_open(&o, drift_random, &opts, "S>=1") == LAW_HOLDS, "seed %u: %s", seed,
                 o.err.text);
    oracle_check(oracle_pulse(&o, pulse) == LAW_HOLDS, "seed %u: %s", seed, o.err.text);
    if (o.plan) {
        oracle_check(passes_count(&o, pulse, false, &c) && !c.typed && !c.pulse && !c.declutter,
                     "seed %u: drift", seed);
        for (int64_t length = 1; length < 9; length += 3)
            oracle_check(oracle_law(&o, length, seed) == LAW_HOLDS, "seed %u, length %d: %s", seed,
                         (int) length, o.err.text);
    }
    *ret_scans += c.scans;
    oracle_close(&o);
}

int main(void)
{
    test_dual_path();
    test_law();
    test_full("ConstantOfShape");
    test_full("Expand");
    test_stacked();
    unsigned scans = 0;
    for (uint32_t seed = 1; seed <= 600; seed++)
        test_random(seed, &scans);
    oracle_check(scans > 500, "the random graphs have only %u Scans", scans);
    return oracle_end();
}
