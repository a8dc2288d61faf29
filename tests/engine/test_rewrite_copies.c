/* SPDX-License-Identifier: MIT */
/* What is quantised and dequantised as it is moved gives the bits of the graph as it was written.
 */
#include "engine/ops/strided_copy.h"
#include "engine/plan/plan.h"
#include "engine/rewrite/settle/settle.h"
#include "engine/typing/interp.h"
#include "tests/engine/build.h"

#include <math.h>
#include <stdlib.h>

struct scale {
    float scale;
    enum dtype type;
    int zero;
};

static uint32_t rounded(struct build *b, uint32_t w, const struct scale *s)
{
    static const char *const ops[] = { "QuantizeLinear", "DequantizeLinear" };
    for (unsigned i = 0; i < 2; i++)
        w = build_node(b, ops[i], NULL, 0,
                       (uint32_t[]) { w, build_number(b, DTYPE_F32, (double) s->scale),
                                      build_number(b, s->type, s->zero) },
                       3);
    return w;
}

static uint32_t input(struct build *b)
{
    struct fact f = { .type = DTYPE_F32,
                      .rank = 3,
                      .shape = { dim_int(b->dims, 4), dim_int(b->dims, 3), dim_int(b->dims, 24) } };
    return graph_add_input(&b->g, "x", &f);
}

static uint32_t slice(struct build *b, uint32_t w, int64_t axis, int64_t from, int64_t to)
{
    uint32_t in[] = { w, build_i64s(b, 1, &from), build_i64s(b, 1, &to), build_i64s(b, 1, &axis) };
    return build_node(b, "Slice", NULL, 0, in, 4);
}

static unsigned count(const struct graph *g, enum op_id id)
{
    unsigned n = 0;
    for (uint32_t i = 0; i < g->n_nodes; i++)
        n += node_is(&g->nodes[i], id);
    return n;
}

static struct tensor *noise(struct build *b, uint32_t w)
{
    struct tensor t, *x;
    fact_to_tensor(&b->g.wires[w].fact, &t);
    x = tensor_new(&b->arena, DTYPE_F32, t.rank, t.dim);
    for (int64_t i = 0; i < tensor_count(x); i++)
        ((float *) x->data)[i] = rnd(40)
            ? (float) rnd(4000) * 2e-3f - 4
            : (const float[]) { NAN, INFINITY, -INFINITY, -0.0f }[rnd(4)];
    return x;
}

/* Slices of a tensor that are rounded, twice or once, only to be put together are rounded by the
 * copy that does so; what somebody else reads, or what lies across, is not. */
static void test_settles_into_copies(int kind)
{
    static const struct {
        const char *what;
        unsigned nodes;
    } rows[] = { { "one copy rounds", 1 },
                 { "both copies round", 2 },
                 { "an output is rounded once", 4 },
                 { "columns are rounded where they lie", 3 } };
    static const struct scale first = { .07f, DTYPE_I8, -3 }, wider = { .0937f, DTYPE_U8, 120 };
    static const int64_t perm[] = { 2, 0, 1 };
    struct attr turn = { .name = "perm", .kind = ATTR_INTS, .ints = { 3, perm } };
    struct build b;
    struct graph made;
    build_init(&b);
    uint32_t x = input(&b), y = input(&b), mixed[2];
    struct attr along = { .name = "axis", .kind = ATTR_INT, .i = 0 };
    uint32_t w = rounded(&b, rounded(&b, slice(&b, x, 0, 1, 3), &first), &wider);
    for (int k = 0; k < 2; k++)
        mixed[k] = build_node(&b, "Concat", &along, 1, (uint32_t[]) { k ? y : w, k ? w : y }, 2);
    graph_add_output(&b.g, kind == 3 ? build_node(&b, "Transpose", &turn, 1, mixed, 1) : mixed[0]);
    if (kind == 1)
        graph_add_output(&b.g, slice(&b, mixed[1], 2, 3, 7));
    if (kind == 2)
        graph_add_output(&b.g, w);
    bool ok = graph_settle(&made, &b.g, NULL, &b.err) == RILL_OK;
    check(ok && made.n_nodes == rows[kind].nodes &&
              count(&made, OP_STRIDED_COPY) + count(&made, OP_FUSED) == rows[kind].nodes,
          ok ? rows[kind].what : b.err.text, ok ? made.n_nodes : 0);
    check(!ok || count(&made, OP_FUSED) == (kind > 1), "programs", kind);
    const struct tensor *in[] = { noise(&b, x), noise(&b, y) }, *want[2] = { 0 }, *got[2] = { 0 };
    bool ran = ok && interp_run(&b.g, in, &b.arena, want, &b.err) == RILL_OK &&
        interp_run(&made, in, &b.arena, got, &b.err) == RILL_OK;
    check(ran, b.err.text, kind);
    for (uint32_t i = 0; ran && i < b.g.n_outputs; i++)
        check(!memcmp(want[i]->data, got[i]->data, tensor_bytes(want[i])), "bits", kind);
    build_drop(&b);
}

/* Two histories of rows in one state, as nets keep them: each is rounded to a grid of its own as it
 * moves down, and a new row follows. up: the second moves up instead, over what is read later. */
struct history {
    bool up, begins; /* begins: with numbers that lie on no grid */
    bool chain;      /* rounded to a finer grid first */
    int fresh;       /* new rows are rounded, 1: to the same grid, 2: to another */
    int64_t rounds;  /* numbers of the old state in every run; the others lie on the grid already */
};

static uint32_t next_history(struct build *b, uint32_t state, uint32_t x, const struct history *h)
{
    static const struct scale grids[] = { { .07f, DTYPE_I8, -3 }, { .0937f, DTYPE_U8, 120 } },
                              fine = { .029f, DTYPE_I8, 10 }, other = { .05f, DTYPE_I8, 9 };
    const bool up = h->up;
    struct attr along = { .name = "axis", .kind = ATTR_INT, .i = 1 };
    uint32_t half[2], part[3];
    for (int k = 0; k < 2; k++) {
        uint32_t of = slice(b, state, 0, 2 * k, 2 * k + 2);
        part[0] = slice(b, of, 1, up && k ? 0 : 1, up && k ? 2 : 3);
        if (h->chain)
            part[0] = rounded(b, part[0], &fine);
        part[0] = rounded(b, part[0], &grids[k]);
        part[1] = slice(b, slice(b, x, 0, 2 * k, 2 * k + 2), 1, 0, 1);
        if (h->fresh)
            part[1] = rounded(b, part[1], h->fresh == 1 ? &grids[k] : &other);
        if (up && k)
            half[k] = build_node(b, "Concat", &along, 1, (uint32_t[]) { part[1], part[0] }, 2);
        else
            half[k] = build_node(b, "Concat", &along, 1, part, 2);
    }
    along.i = 0;
    return build_node(b, "Concat", &along, 1, half, 2);
}

/* Elements that copies round of a wire of that name. */
static int64_t rounded_of(const struct graph *g, const char *name)
{
    int64_t all = 0;
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        const struct node *n = &g->nodes[i];
        const struct strided_copy_attr *a = n->attr;
        const struct piece *p = node_is(n, OP_STRIDED_COPY) ? (const void *) a->pieces.v : NULL;
        for (uint32_t k = 0; p && a->grids.n && k < a->pieces.n / PIECE_INTS; k++)
            if (a->grids.v[p[k].input * COPY_GRID_FLOATS] > 0 &&
                !strcmp(g->wires[n->in[p[k].input]].name, name))
                all += p[k].n[0] * p[k].n[1] * p[k].n[2] * p[k].n[3];
    }
    return all;
}

static struct plan *history_plan(struct build *b, const struct history *h,
                                 const struct tensor *init)
{
    struct plan *p = NULL;
    struct graph made;
    uint32_t x = input(b);
    struct fact f = b->g.wires[x].fact;
    uint32_t state = graph_add_wire(&b->g, "state", &f), next = next_history(b, state, x, h);
    graph_add_output(&b->g, next);
    bool ok = graph_add_state(&b->g, "state", state, next, h->begins ? init : NULL) &&
        graph_settle(&made, &b->g, NULL, &b->err) == RILL_OK;
    check(ok && rounded_of(&made, "state") == h->rounds, ok ? "numbers are rounded" : b->err.text,
          ok ? (unsigned) rounded_of(&made, "state") : 0);
    ok = ok && plan_from_sgraph(&p, &(struct sgraph) { made }, NULL, &b->err) == RILL_OK;
    check(ok, b->err.text, h->up);
    return p;
}

/* The next value lies where the state lay, where an order of the moves allows it; its bits are
 * those of the graph as it was written, run by run. */
static void test_state_in_place(const struct history *h)
{
    struct build b, plain;
    build_init(&b);
    build_init(&plain);
    uint32_t x = input(&plain), state = input(&plain);
    graph_add_output(&plain.g, next_history(&plain, state, x, h));
    const struct tensor *in[] = { NULL, noise(&plain, state) }, *want[1];
    if (!h->begins)
        memset(in[1]->data, 0, tensor_bytes(in[1]));
    struct plan *p = history_plan(&b, h, in[1]);
    unsigned char *mem = p ? aligned_alloc(64, p->mem_bytes) : NULL;
    unsigned copies = 0;
    for (uint32_t i = 0; p && i < p->n_steps; i++)
        copies += !strcmp(p->steps[i].name, "states");
    check(p && copies == h->up, "a state that is copied", copies);
    if (p)
        plan_reset(p, mem);
    for (int run = 0; p && run < 5; run++) {
        in[0] = noise(&plain, x);
        memcpy(mem + p->inputs[0].at.offset, in[0]->data, tensor_bytes(in[0]));
        plan_run(p, mem);
        check(interp_run(&plain.g, in, &plain.arena, want, &plain.err) == RILL_OK &&
                  !memcmp(place_read(p->outputs[0].at, mem), want[0]->data, tensor_bytes(want[0])),
              "bits of a state", run);
        in[1] = want[0];
    }
    free(mem);
    plan_free(p);
    build_drop(&plain);
    build_drop(&b);
}

int main(void)
{
    static const struct history histories[] = {
        { .rounds = 96 },
        { .up = true, .rounds = 96 },
        { .begins = true, .rounds = 192 },
        { .chain = true, .rounds = 96 },
        { .fresh = 1, .rounds = 0 },
        { .fresh = 1, .begins = true, .rounds = 192 },
        { .fresh = 2, .rounds = 96 },
    };
    for (size_t i = 0; i < sizeof histories / sizeof *histories; i++)
        test_state_in_place(&histories[i]);
    for (int kind = 0; kind < 4; kind++)
        test_settles_into_copies(kind);
    return check_done();
}
