/* SPDX-License-Identifier: MIT */
/* Flat states that are cut up, shifted and put together anew: what rewriting makes of them, in
 * place where it may be, gives for two streams in turns what the graph gives whose states are
 * inputs and outputs. */
#include "engine/typing/interp.h"
#include "engine/ops/strided_copy.h"
#include "engine/plan/plan.h"
#include "engine/graph/prune.h"
#include "engine/rewrite/settle/settle.h"
#include "engine/rewrite/settle/passes.h"
#include "tests/engine/build.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define GRAPHS 600
#define RUNS 12
#define STREAMS 3 /* the last is a copy of the first, taken in the middle */
#define STATES_MAX 3
#define WIRES_MAX 64

static unsigned in_place;

/* ---- drawing ---- */

struct pool {
    struct build *b;
    uint32_t wire[WIRES_MAX];
    int64_t len[WIRES_MAX];
    unsigned n;
};

static uint32_t op_add_as(struct pool *p, const char *name, const uint32_t *in, unsigned n_in,
                          struct fact f)
{
    const struct op *op = op_find(name);
    const struct attr axis = { .name = "axis", .kind = ATTR_INT };
    void *a = arena_alloc(&p->b->arena, op->attr_bytes + 1);
    if (attrs_parse(op, "test", &axis, !strcmp(name, "Concat"), a, &p->b->err) != RILL_OK)
        abort();
    uint32_t out = graph_add_wire(&p->b->g, name, &f);
    graph_add_node(&p->b->g, op, name, a, in, n_in, &out, 1);
    return out;
}

static uint32_t op_add(struct pool *p, const char *name, const uint32_t *in, unsigned n_in,
                       int64_t len)
{
    return op_add_as(p, name, in, n_in, vec(p->b, len));
}

static uint32_t int_const(struct pool *p, int64_t v)
{
    int64_t one = 1;
    struct tensor *t = tensor_new(&p->b->arena, DTYPE_I64, 1, &one);
    *(int64_t *) t->data = v;
    return graph_add_const(&p->b->g, "int", t);
}

static void pool_add(struct pool *p, uint32_t wire, int64_t len)
{
    p->wire[p->n] = wire;
    p->len[p->n++] = len;
}

/* Elements from.. of a wire; the wire itself where they are all of them. */
static uint32_t part(struct pool *p, unsigned i, int64_t from, int64_t n)
{
    if (n == p->len[i])
        return p->wire[i];
    return op_add(p, "Slice",
                  (uint32_t[]) { p->wire[i], int_const(p, from), int_const(p, from + n) }, 3, n);
}

/* A vector of n elements of others; of state `mine`, mostly, shifted by a little. */
static uint32_t together(struct pool *p, int64_t n, unsigned mine)
{
    uint32_t list[16];
    unsigned k = 0;
    for (int64_t at = 0; at < n;) {
        unsigned i = rnd(3) ? mine : rnd(p->n);
        int64_t left = n - at, most = p->len[i] < left ? p->len[i] : left;
        if (k == 15) { /* the rest, of the state, which is as long as all */
            i = mine;
            most = left;
        }
        int64_t own = k == 15 ? left : 1 + rnd((uint32_t) most),
                from = rnd((uint32_t) (p->len[i] - own + 1));
        if (i == mine && rnd(4)) {
            from = at + rnd(3);
            from = from + own <= p->len[i] ? from : p->len[i] - own;
        }
        list[k++] = part(p, i, from, own);
        at += own;
    }
    return k == 1 ? list[0] : op_add(p, "Concat", list, k, n);
}

/* Read under another shape. */
static uint32_t viewed(struct pool *p, uint32_t x, int64_t n)
{
    struct dims *ds = p->b->dims;
    const struct fact row = { .type = DTYPE_F32,
                              .rank = 2,
                              .shape = { dim_int(ds, 1), dim_int(ds, n) } };
    uint32_t y = op_add_as(p, "Unsqueeze", (uint32_t[]) { x, int_const(p, 0) }, 2, row);
    uint32_t z = op_add_as(p, "Neg", &y, 1, row);
    return op_add(p, "Squeeze", (uint32_t[]) { z, int_const(p, 0) }, 2, n);
}

static void readers_draw(struct pool *p)
{
    for (unsigned k = rnd(4); k > 0 && p->n < WIRES_MAX - 8; k--) {
        unsigned i = rnd(p->n);
        int64_t n = 1 + rnd((uint32_t) p->len[i]);
        unsigned how = rnd(4);
        if (how == 3)
            n = p->len[i];
        uint32_t x = part(p, i, rnd((uint32_t) (p->len[i] - n + 1)), n);
        pool_add(p, how < 2 ? x : how == 2 ? op_add(p, "Neg", &x, 1, n) : viewed(p, x, n), n);
    }
}

/* A state of the same length, itself at last. */
static uint32_t other_state(const int64_t *len, const uint32_t *state, unsigned n, unsigned me)
{
    for (unsigned i = 0; i < n; i++)
        if (i != me && len[i] == len[me])
            return state[i];
    return state[me];
}

struct drawn {
    unsigned n_inputs, n_states, n_outputs;
};

/* The same graph from the same seed; with states, or with inputs and outputs behind the others in
 * their stead. */
static struct drawn graph_draw(struct build *b, bool with_states)
{
    struct pool p = { .b = b };
    struct drawn d = { .n_inputs = 1 + rnd(2), .n_states = 1 + rnd(STATES_MAX) };
    uint32_t state[STATES_MAX], next[STATES_MAX];
    int64_t len[STATES_MAX];
    for (unsigned i = 0; i < d.n_inputs; i++) {
        int64_t n = 1 + rnd(3);
        struct fact f = vec(b, n);
        pool_add(&p, graph_add_input(&b->g, "x", &f), n);
    }
    for (unsigned i = 0; i < d.n_states; i++) {
        len[i] = i && rnd(2) ? len[i - 1] : 2 + rnd(14);
        struct fact f = vec(b, len[i]);
        state[i] = with_states ? graph_add_wire(&b->g, "s", &f) : graph_add_input(&b->g, "s", &f);
        pool_add(&p, state[i], len[i]);
    }
    for (unsigned i = 0; i < d.n_states; i++) {
        readers_draw(&p);
        next[i] =
            rnd(5) ? together(&p, len[i], d.n_inputs + i) : other_state(len, state, d.n_states, i);
        pool_add(&p, next[i], len[i]);
    }
    readers_draw(&p);
    for (unsigned i = 0; with_states && i < d.n_states; i++)
        graph_add_state(&b->g, "s", state[i], next[i], NULL);
    d.n_outputs = 1 + rnd(4);
    for (unsigned i = 0; i < d.n_outputs; i++)
        graph_add_output(&b->g, rnd(2) ? next[rnd(d.n_states)] : p.wire[rnd(p.n)]);
    for (unsigned i = 0; !with_states && i < d.n_states; i++)
        graph_add_output(&b->g, next[i]);
    return d;
}

/* ---- comparing ---- */

static bool is_written_in_place(const struct graph *g)
{
    for (uint32_t i = 0; i < g->n_nodes; i++)
        if (g->nodes[i].op->base && g->nodes[i].op->base(&g->nodes[i], 0) >= 0)
            return true;
    return false;
}

static bool outputs_same(const struct plan *p, const unsigned char *mem, const struct tensor **want)
{
    for (uint32_t i = 0; i < p->n_outputs; i++)
        if (memcmp(place_read(p->outputs[i].at, mem), want[i]->data, tensor_bytes(want[i])))
            return false;
    return true;
}

/* One run of one stream; in holds the states of the run before and then those of this one. */
static void stream_run(const struct plan *p, unsigned char *mem, struct build *ref,
                       const struct drawn *d, const struct tensor **in, uint32_t s)
{
    const struct tensor *want[16];
    for (unsigned k = 0; k < d->n_inputs; k++) {
        struct tensor *t = tensor_new(&ref->arena, DTYPE_F32, 1, in[k]->dim);
        for (int64_t e = 0; e < tensor_count(t); e++)
            ((float *) t->data)[e] = (float) (1 + rnd(100000));
        memcpy(mem + p->inputs[k].at.offset, t->data, tensor_bytes(t));
        in[k] = t;
    }
    plan_run(p, mem);
    if (interp_run(&ref->g, in, &ref->arena, want, &ref->err) != RILL_OK) {
        check(false, ref->err.text, s);
        return;
    }
    check(outputs_same(p, mem, want), "outputs differ", s);
    memcpy(&in[d->n_inputs], &want[d->n_outputs], d->n_states * sizeof *want);
}

static void streams_run(const struct plan *p, struct build *ref, const struct drawn *d, uint32_t s)
{
    const struct tensor *in[STREAMS][8];
    size_t bytes = (p->mem_bytes + 127) / 64 * 64;
    unsigned char *mem[STREAMS];
    for (int i = 0; i < STREAMS; i++) {
        mem[i] = aligned_alloc(64, bytes);
        memset(mem[i], 0xff, bytes);
        plan_reset(p, mem[i]);
        for (unsigned k = 0; k < d->n_inputs + d->n_states; k++) {
            struct tensor t;
            fact_to_tensor(&ref->g.wires[ref->g.inputs[k]].fact, &t);
            in[i][k] = tensor_new(&ref->arena, DTYPE_F32, 1, t.dim);
        }
    }
    for (int run = 0; run < RUNS; run++) {
        if (run == RUNS / 2) {
            memcpy(mem[STREAMS - 1], mem[0], bytes);
            memcpy(in[STREAMS - 1], in[0], sizeof in[0]);
        }
        if (run == RUNS - 3) {
            plan_reset(p, mem[1]);
            for (unsigned k = 0; k < d->n_states; k++)
                in[1][d->n_inputs + k] =
                    tensor_new(&ref->arena, DTYPE_F32, 1, in[1][d->n_inputs + k]->dim);
        }
        for (int i = 0; i < STREAMS; i++)
            stream_run(p, mem[i], ref, d, in[i], s);
    }
    for (int i = 0; i < STREAMS; i++)
        free(mem[i]);
}

static void graph_try(uint32_t s)
{
    struct build b, ref;
    struct graph moved, pruned;
    struct plan *p = NULL;
    build_init(&b);
    build_init(&ref);
    seed = s;
    struct drawn d = graph_draw(&b, true);
    seed = s;
    graph_draw(&ref, false);
    bool ok = (s & 1 ? graph_settle(&moved, &b.g, NULL, &b.err)
                     : graph_with_strided_copies(&moved, &b.g, &b.err)) == RILL_OK &&
        graph_pruned(&pruned, &moved, &b.err) == RILL_OK &&
        plan_from_sgraph(&p, &(struct sgraph) { pruned }, NULL, &b.err) == RILL_OK;
    check(ok, b.err.text, s);
    if (ok) {
        check(memplan_is_sound(p->spans, p->n_spans), "live ranges overlap", s);
        in_place += is_written_in_place(&pruned);
        streams_run(p, &ref, &d, s);
    }
    plan_free(p);
    build_drop(&b);
    build_drop(&ref);
}

/* ---- movements by hand ---- */

/* Four elements turned by one; in its base's place the others move up, then the last comes from the
 * second input. */
static uint32_t turn(struct build *b, uint32_t base, uint32_t first)
{
    static const struct piece piece[] = {
        { .input = 0,
          .from = 1,
          .to = 0,
          .n = { 1, 1, 1, 3 },
          .from_stride = { 0, 0, 0, 1 },
          .to_stride = { 0, 0, 0, 1 } },
        { .input = 1,
          .from = 0,
          .to = 3,
          .n = { 1, 1, 1, 1 },
          .from_stride = { 0, 0, 0, 1 },
          .to_stride = { 0, 0, 0, 1 } },
    };
    static const int64_t four = 4;
    struct strided_copy_attr *a = arena_new(&b->arena, struct strided_copy_attr);
    *a = (struct strided_copy_attr) { .shape = { .v = &four, .n = 1 }, .base = 0 };
    a->pieces = (struct attr_ints) { .v = (const int64_t *) piece, .n = 2 * PIECE_INTS };
    a->patch = a->pieces;
    struct fact f = vec(b, 4);
    uint32_t out = graph_add_wire(&b->g, "turn", &f);
    graph_add_node(&b->g, &op_strided_copy, "turn", a, (uint32_t[]) { base, first }, 2, &out, 1);
    return out;
}

/* What is turned is read twice, as it is or through a view of it: it may not be written where it
 * lies. Last, with its first element out of a wire of its own, it may be. */
static void turn_try(int how)
{
    struct build b;
    struct plan *p = NULL;
    build_init(&b);
    struct pool pool = { .b = &b };
    struct fact f = vec(&b, 4),
                row = { .type = DTYPE_F32,
                        .rank = 2,
                        .shape = { dim_int(b.dims, 1), dim_int(b.dims, 4) } };
    uint32_t x = graph_add_input(&b.g, "x", &f), old = op_add(&pool, "Neg", &x, 1, 4), second = old;
    if (how == 1)
        second = op_add_as(&pool, "Unsqueeze", (uint32_t[]) { old, int_const(&pool, 0) }, 2, row);
    else if (how == 2)
        second = op_add(&pool, "Neg", &x, 1, 4);
    graph_add_output(&b.g, turn(&b, old, second));
    bool ok = plan_from_sgraph(&p, &(struct sgraph) { b.g }, NULL, &b.err) == RILL_OK;
    check(ok, b.err.text, (uint32_t) how);
    if (ok) {
        unsigned char *mem = aligned_alloc(64, (p->mem_bytes + 127) / 64 * 64);
        const float in[4] = { 1, 2, 3, 4 }, want[4] = { -2, -3, -4, -1 };
        plan_reset(p, mem);
        memcpy(mem + p->inputs[0].at.offset, in, sizeof in);
        plan_run(p, mem);
        check(!memcmp(place_read(p->outputs[0].at, mem), want, sizeof want),
              "what is read twice was written over", (uint32_t) how);
        free(mem);
    }
    plan_free(p);
    build_drop(&b);
}

/* state' = x, and parts of the state each of which writes where another one is read, the last
 * through a view that somebody else wants. Read in the right order they are written where the state
 * lies. */
static void chain_try(void)
{
    struct build b;
    struct graph moved, pruned;
    struct plan *p = NULL;
    build_init(&b);
    struct pool pool = { .b = &b };
    struct fact f = vec(&b, 12), two = vec(&b, 2);
    uint32_t x = graph_add_input(&b.g, "x", &two), s = graph_add_wire(&b.g, "s", &f);
    pool_add(&pool, s, 12);
    uint32_t first = part(&pool, 0, 0, 3);
    graph_add_output(&b.g, op_add(&pool, "Neg", &first, 1, 3));
    uint32_t list[] = { part(&pool, 0, 2, 2), x, part(&pool, 0, 7, 5), first };
    uint32_t next = op_add(&pool, "Concat", list, 4, 12);
    graph_add_state(&b.g, "s", s, next, NULL);
    graph_add_output(&b.g, next);
    bool ok = graph_settle(&moved, &b.g, NULL, &b.err) == RILL_OK &&
        graph_pruned(&pruned, &moved, &b.err) == RILL_OK &&
        plan_from_sgraph(&p, &(struct sgraph) { pruned }, NULL, &b.err) == RILL_OK;
    check(ok, b.err.text, 0);
    if (ok) {
        unsigned char *mem = aligned_alloc(64, (p->mem_bytes + 127) / 64 * 64);
        float want[12] = { 0 };
        check(p->n_steps == 2, "the state is written where it lies, by one of two steps",
              p->n_steps);
        plan_reset(p, mem);
        for (int run = 1; run < RUNS; run++) {
            const float in[2] = { (float) run, (float) -run };
            float was[12];
            memcpy(was, want, sizeof was);
            memcpy(want, was + 2, 2 * sizeof *was);
            memcpy(want + 2, in, sizeof in);
            memcpy(want + 4, was + 7, 5 * sizeof *was);
            memcpy(want + 9, was, 3 * sizeof *was);
            memcpy(mem + p->inputs[0].at.offset, in, sizeof in);
            plan_run(p, mem);
            check(!memcmp(place_read(p->outputs[1].at, mem), want, sizeof want), "a chain of parts",
                  (uint32_t) run);
        }
        free(mem);
    }
    plan_free(p);
    build_drop(&b);
}

int main(void)
{
    chain_try();
    for (int how = 0; how < 3; how++)
        turn_try(how);
    for (uint32_t s = 1; s <= GRAPHS; s++)
        graph_try(s * 2654435761u);
    check(in_place * 2 > GRAPHS, "graphs that are written in place", in_place);
    printf("%u of %u graphs are written in place\n", in_place, GRAPHS);
    return check_done();
}
