/* SPDX-License-Identifier: MIT */
/* A plan gives what the interpreter gives, bit for bit, on random graphs; its memory never
 * overlaps; states move together. */
#include "engine/graph/control.h"
#include "engine/rewrite/settle/inline_scan.h"
#include "engine/typing/interp.h"
#include "engine/plan/plan.h"
#include "engine/graph/prune.h"
#include "engine/rewrite/settle/passes.h"
#include "engine/typing/typed.h"
#include "tests/engine/build.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- building ---- */

static const void *attr_default(struct build *b, const struct op *op)
{
    void *a = arena_alloc(&b->arena, op->attr_bytes + 1);
    const struct attr axis = { .name = "axis", .kind = ATTR_INT };
    if (attrs_parse(op, "test", &axis, op->id == OP_CONCAT, a, &b->err) != RILL_OK)
        abort();
    return a;
}

static uint32_t add(struct build *b, struct graph *g, const char *name, const uint32_t *in,
                    unsigned n_in, struct fact f)
{
    const struct op *op = op_find(name);
    if (!op)
        abort();
    uint32_t out = graph_add_wire(g, name, &f);
    graph_add_node(g, op, name, attr_default(b, op), in, n_in, &out, 1);
    return out;
}

static const struct tensor *ramp(struct build *b, int64_t n, float scale)
{
    struct tensor *t = tensor_new(&b->arena, DTYPE_F32, 1, &n);
    for (int64_t i = 0; i < n; i++)
        ((float *) t->data)[i] = scale * (float) (i + 1);
    return t;
}

/* ---- random element-wise graphs ---- */

static void random_graph(struct build *b, uint32_t n_nodes)
{
    static const char *const unary[] = { "Relu", "Sigmoid", "Tanh", "Neg", "Abs" };
    static const char *const binary[] = { "Add", "Mul", "Sub", "Max" };
    struct fact f = vec(b, 1 + rnd(40));
    uint32_t wires[200], n = 0;
    for (uint32_t i = 0; i < 1 + rnd(3); i++)
        wires[n++] = graph_add_input(&b->g, "x", &f);
    wires[n++] = graph_add_const(&b->g, "c", ramp(b, dim_value(f.shape[0]), 0.01f));
    for (uint32_t i = 0; i < n_nodes; i++) {
        uint32_t in[2] = { wires[rnd(n)], wires[rnd(n)] };
        wires[n] = rnd(2) ? add(b, &b->g, unary[rnd(5)], in, 1, f)
                          : add(b, &b->g, binary[rnd(4)], in, 2, f);
        n++;
    }
    for (uint32_t i = 0; i < 1 + rnd(3); i++)
        graph_add_output(&b->g, wires[n - 1 - rnd(n)]);
}

static void inputs_fill(const struct plan *p, unsigned char *mem, struct build *b,
                        const struct tensor **inputs)
{
    for (uint32_t i = 0; i < p->n_inputs; i++) {
        const struct plan_port *q = &p->inputs[i];
        struct tensor *t = tensor_new(&b->arena, q->shape.type, q->shape.rank, q->shape.dim);
        for (int64_t k = 0; k < tensor_count(t); k++)
            ((float *) t->data)[k] = (float) rnd(2000) * 1e-3f - 1;
        memcpy(mem + q->at.offset, t->data, tensor_bytes(t));
        inputs[i] = t;
    }
}

static bool outputs_same(const struct plan *p, const unsigned char *mem, const struct tensor **want)
{
    for (uint32_t i = 0; i < p->n_outputs; i++)
        if (memcmp(place_read(p->outputs[i].at, mem), want[i]->data, tensor_bytes(want[i])))
            return false;
    return true;
}

static void plan_against_interp(struct build *b, uint32_t s)
{
    struct plan *p = NULL;
    const struct tensor *inputs[8], *want[8];
    check(plan_from_sgraph(&p, &(struct sgraph) { b->g }, NULL, &b->err) == RILL_OK, b->err.text,
          s);
    if (!p)
        return;
    check(memplan_is_sound(p->spans, p->n_spans), "live ranges overlap", s);
    unsigned char *mem = aligned_alloc(64, p->mem_bytes + 64);
    memset(mem, 0xff, p->mem_bytes);
    plan_reset(p, mem);
    for (int run = 0; run < 3; run++) {
        inputs_fill(p, mem, b, inputs);
        plan_run(p, mem);
        check(interp_run(&b->g, inputs, &b->arena, want, &b->err) == RILL_OK, b->err.text, s);
        check(outputs_same(p, mem, want), "plan and interpreter differ", s);
    }
    free(mem);
    plan_free(p);
}

static void test_random(void)
{
    for (uint32_t s = 1; s <= 150; s++) {
        struct build b;
        seed = s;
        build_init(&b);
        random_graph(&b, 1 + rnd(60));
        plan_against_interp(&b, s);
        build_drop(&b);
    }
}

/* ---- Scan: y[t] = s + x[t]; s' = s * 0.5 + x[t] * c ---- */

static struct graph *scan_body(struct build *b, int64_t width)
{
    struct graph *body = arena_new(&b->arena, struct graph);
    graph_init(body, &b->arena, b->dims, "body");
    struct fact f = vec(b, width);
    uint32_t s = graph_add_input(body, "s", &f), x = graph_add_input(body, "x", &f),
             c = graph_add_input(body, "c", &f);
    uint32_t half = graph_add_const(body, "half", ramp(b, 1, 0.5f));
    uint32_t y = add(b, body, "Add", (uint32_t[]) { s, x }, 2, f);
    uint32_t decayed = add(b, body, "Mul", (uint32_t[]) { s, half }, 2, f);
    uint32_t scaled = add(b, body, "Mul", (uint32_t[]) { x, c }, 2, f);
    uint32_t next = add(b, body, "Add", (uint32_t[]) { decayed, scaled }, 2, f);
    graph_add_output(body, next);
    graph_add_output(body, y);
    return body;
}

static void scan_graph(struct build *b, int64_t length, int64_t width, bool reverse)
{
    static const int64_t one = 1;
    struct fact f = { .type = DTYPE_F32,
                      .rank = 2,
                      .shape = { dim_int(b->dims, length), dim_int(b->dims, width) } };
    struct fact v = vec(b, width);
    struct scan_attr *at = arena_new(&b->arena, struct scan_attr);
    *at = (struct scan_attr) { .n_states = 1, .n_scanned = 1 };
    if (reverse)
        at->in_reverse = at->out_reverse = (struct attr_ints) { 1, &one };
    uint32_t s0 = graph_add_input(&b->g, "s0", &v), x = graph_add_input(&b->g, "x", &f),
             c = graph_add_input(&b->g, "c", &v);
    uint32_t out[2] = { graph_add_wire(&b->g, "last", &v), graph_add_wire(&b->g, "y", &f) };
    struct node *n =
        graph_add_node(&b->g, &op_scan, "scan", at, (uint32_t[]) { s0, x, c }, 3, out, 2);
    n->body = arena_array(&b->arena, struct graph *, 1);
    n->body[0] = scan_body(b, width);
    n->n_body = 1;
    graph_add_output(&b->g, out[0]);
    graph_add_output(&b->g, out[1]);
}

static void test_scan(void)
{
    for (int64_t length = 0; length < 6; length++)
        for (int reverse = 0; reverse < 2; reverse++) {
            struct build b;
            seed = (uint32_t) length + 7;
            build_init(&b);
            scan_graph(&b, length, 5, reverse);
            check(graph_check(&b.g, &b.err) == RILL_OK, b.err.text, 0);
            if (length)
                plan_against_interp(&b, (uint32_t) length);
            build_drop(&b);
        }
}

/* ---- a state that a condition keeps is updated where it lies ---- */

static void kept_graph(struct build *b)
{
    const struct fact f = vec(b, 4),
                      flag = { .type = DTYPE_BOOL, .rank = 1, .shape = { dim_int(b->dims, 1) } };
    const int64_t four = 4;
    const uint32_t c = graph_add_input(&b->g, "c", &flag), x = graph_add_input(&b->g, "x", &f),
                   s = graph_add_wire(&b->g, "s", &f);
    graph_add_output(&b->g, add(b, &b->g, "Neg", &s, 1, f));
    const uint32_t next = add(b, &b->g, "Where", (uint32_t[]) { c, x, s }, 3, f);
    graph_add_state(&b->g, "s", s, next, tensor_new(&b->arena, DTYPE_F32, 1, &four));
}

static void test_kept_state(void)
{
    static const struct {
        bool changes;
        float x, said; /* of what was there before */
    } runs[] = {
        { false, 1, 0 }, { true, 2, 0 }, { false, 3, -2 }, { true, 4, -2 }, { true, 5, -4 }
    };
    struct build b;
    struct plan *p = NULL;
    build_init(&b);
    kept_graph(&b);
    check(plan_from_sgraph(&p, &(struct sgraph) { b.g }, NULL, &b.err) == RILL_OK, b.err.text, 0);
    check(p && p->n_steps_all == 2, "two steps, and no copy of states", p ? p->n_steps_all : 0);
    unsigned char *mem = p ? aligned_alloc(64, p->mem_bytes + 64) : NULL;
    if (mem)
        plan_reset(p, mem);
    for (uint32_t i = 0; mem && i < sizeof runs / sizeof *runs; i++) {
        mem[p->inputs[0].at.offset] = runs[i].changes;
        for (int k = 0; k < 4; k++)
            ((float *) (mem + p->inputs[1].at.offset))[k] = runs[i].x;
        plan_run(p, mem);
        check(((const float *) place_read(p->outputs[0].at, mem))[3] == runs[i].said,
              "what the state was", i);
    }
    free(mem);
    plan_free(p);
    build_drop(&b);
}

/* ---- limits ---- */

/* A row of n, `op` of it; told: what the refusal says. */
struct large {
    const char *op;
    int64_t n;
    struct attr attr;
    size_t mem_bytes_max, own_bytes_max;
    const char *told;
};

static void large_refused(const struct large *c, uint32_t number)
{
    struct build b;
    struct plan *p = NULL;
    build_init(&b);
    struct fact f = {
        .type = DTYPE_F32,
        .rank = 3,
        .shape = { dim_int(b.dims, 1), dim_int(b.dims, 3), dim_int(b.dims, c->n) },
    };
    uint32_t x = graph_add_input(&b.g, "x", &f);
    graph_add_output(&b.g, build_node(&b, c->op, &c->attr, 1, &x, 1));
    const struct plan_opts opts = {
        .mem_bytes_max = c->mem_bytes_max,
        .own_bytes_max = c->own_bytes_max,
    };
    rill_status s = plan_from_sgraph(&p, &(struct sgraph) { b.g }, &opts, &b.err);
    check(s == RILL_LIMIT && strstr(b.err.text, c->told), b.err.text, number);
    plan_free(p);
    build_drop(&b);
}

/* No table is made of the size of what is refused, and all of them together have a limit, too. */
static void test_limits(void)
{
    static const int64_t kernel[] = { 3 };
    const struct attr window = INTS_OF("kernel_shape", 1, kernel);
    const struct large cases[] = {
        { "AveragePool", INT32_MAX, window, 0, 0,
          "'x': a tensor of 25769803764 bytes is over the limit of 1073741824 bytes" },
        { "AveragePool", 1 << 18, window, 1 << 21, 1 << 16,
          "'x': a tensor of 3145728 bytes is over the limit of 2097152 bytes" },
        { "MaxPool", 1 << 18, window, 1 << 23, 1 << 16, "node 'MaxPool' (MaxPool): its tables, " },
        { "LpPool", 1 << 18, window, 1 << 23, 1 << 16, "over its limit of 65536 bytes" },
    };
    for (uint32_t i = 0; i < sizeof cases / sizeof *cases; i++)
        large_refused(&cases[i], i);
}

/* x twice, n times; a row of 2^n, of which all are kept. */
static rill_status doubled_run(struct build *b, int n, size_t limit_bytes, struct arena *ret)
{
    struct fact f = vec(b, 1);
    const struct attr axis = ONE_INT("axis", 0);
    const struct tensor *in = ramp(b, 1, 1), *out;
    uint32_t w = graph_add_input(&b->g, "x", &f);
    for (int i = 0; i < n; i++)
        w = build_node(b, "Concat", &axis, 1, (uint32_t[]) { w, w }, 2);
    graph_add_output(&b->g, w);
    *ret = (struct arena) { .limit_bytes = limit_bytes };
    return interp_run(&b->g, &in, ret, &out, &b->err);
}

static void test_run_limits(void)
{
    struct build b;
    struct arena a;
    build_init(&b);
    check(doubled_run(&b, 12, 1 << 17, &a) == RILL_OK, b.err.text, 12);
    arena_drop(&a);
    build_drop(&b);
    build_init(&b);
    check(doubled_run(&b, 40, 1 << 17, &a) == RILL_LIMIT &&
              strstr(b.err.text, "a tensor of 4398046511104 bytes; the run keeps ") &&
              strstr(b.err.text, "over the limit of 131072 bytes"),
          b.err.text, 40);
    check(a.at_limit && a.used_bytes < 1 << 12, "refused before it begins", 40);
    arena_drop(&a);
    build_drop(&b);
}

/* A frame of zeros has a scale of 0, which is no error of the model; that of DynamicQuantizeLinear
 * is 1. */
static void test_silence(void)
{
    struct build b;
    build_init(&b);
    const struct fact f = vec(&b, 3);
    const struct tensor *in = ramp(&b, 3, 0), *out[2];
    uint32_t x = graph_add_input(&b.g, "x", &f), y[3];
    uint32_t s = build_node(&b, "ReduceMax", (struct attr[]) { ONE_INT("keepdims", 0) }, 1,
                            (uint32_t[]) { build_node(&b, "Abs", NULL, 0, &x, 1) }, 1);
    uint32_t q = build_node(&b, "QuantizeLinear", NULL, 0, (uint32_t[]) { x, s }, 2);
    graph_add_output(&b.g, build_node(&b, "DequantizeLinear", NULL, 0, (uint32_t[]) { q, s }, 2));
    build_nodes(&b, "DynamicQuantizeLinear", NULL, 0, &x, 1, y, 3);
    graph_add_output(&b.g, y[1]);
    check(interp_run(&b.g, &in, &b.arena, out, &b.err) == RILL_OK, b.err.text, 0);
    check(b.err.status == RILL_OK && ((const float *) out[0]->data)[2] == 0, "silence stays", 0);
    check(b.err.status == RILL_OK && *(const float *) out[1]->data == 1, "its scale is 1", 0);
    build_drop(&b);
}

/* ---- typing ---- */

/* Known If conditions and constant subexpressions leave nothing but what depends on the input. */
static void test_fold(void)
{
    struct build b;
    build_init(&b);
    struct fact f = vec(&b, 3);
    struct tensor *yes = tensor_new(&b.arena, DTYPE_BOOL, 0, NULL);
    *(uint8_t *) yes->data = 1;
    struct graph *branch[2];
    for (int i = 0; i < 2; i++) {
        branch[i] = arena_new(&b.arena, struct graph);
        graph_init(branch[i], &b.arena, b.dims, "branch");
        uint32_t x = graph_add_input(branch[i], "x", &f);
        graph_add_output(branch[i],
                         add(&b, branch[i], i ? "Neg" : "Relu", &x, 1,
                             (struct fact) { .rank = -1 }));
    }
    uint32_t x = graph_add_input(&b.g, "x", &f), c = graph_add_const(&b.g, "c", ramp(&b, 3, 1));
    uint32_t cond = graph_add_const(&b.g, "cond", yes);
    uint32_t folded = add(&b, &b.g, "Mul", (uint32_t[]) { c, c }, 2, (struct fact) { .rank = -1 });
    uint32_t picked = graph_add_wire(&b.g, "picked", NULL);
    struct node *n =
        graph_add_node(&b.g, &op_if, "if", NULL, (uint32_t[]) { cond, x }, 2, &picked, 1);
    n->body = branch;
    n->n_body = 2;
    add(&b, &b.g, "Exp", &x, 1, (struct fact) { .rank = -1 }); /* nobody reads it */
    graph_add_output(&b.g,
                     add(&b, &b.g, "Add", (uint32_t[]) { picked, folded }, 2,
                         (struct fact) { .rank = -1 }));
    struct tgraph t;
    check(tgraph_from_mgraph(&t, &(struct mgraph) { b.g }, NULL, &b.err) == RILL_OK, b.err.text, 0);
    check(t.g.n_nodes == 2, "two nodes are left", t.g.n_nodes);
    check(t.g.n_nodes == 2 && node_is(&t.g.nodes[0], OP_RELU), "the then branch was taken", 0);
    const struct tensor *in = ramp(&b, 3, -1), *out[1];
    check(interp_run(&t.g, &in, &b.arena, out, &b.err) == RILL_OK, b.err.text, 0);
    check(((float *) out[0]->data)[2] == 9, "0 + 3 * 3", 0);
    build_drop(&b);
}

int main(void)
{
    test_random();
    test_scan();
    test_kept_state();
    test_limits();
    test_run_limits();
    test_silence();
    test_fold();
    return check_done();
}
