/* SPDX-License-Identifier: MIT */
/* A settled graph gives the bits of the graph it was made from, over several runs with states, on
 * random chains of ops that move elements, add, multiply and convolve; and the passes do what they
 * are for. */
#include "engine/ops/attrs.h"
#include "engine/ops/fused.h"
#include "engine/ops/strided_copy.h"
#include "engine/plan/plan.h"
#include "engine/graph/prune.h"
#include "engine/rewrite/declutter/declutter.h"
#include "engine/rewrite/settle/settle.h"
#include "engine/rewrite/settle/pieces.h"
#include "tests/engine/build.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WIRES_MAX 64
#define RUNS 4

/* ---- building ---- */

/* Wires that a random graph may go on from. */
static struct {
    uint32_t wire[WIRES_MAX];
    unsigned n;
} pool;
static uint32_t floats(struct build *b, int rank, const int64_t *dim)
{
    struct tensor *t = tensor_new(&b->arena, DTYPE_F32, rank, dim);
    for (int64_t i = 0; i < tensor_count(t); i++)
        ((float *) t->data)[i] = (float) rnd(2000) * 1e-3f - 1;
    return graph_add_const(&b->g, "floats", t);
}

static struct tensor shape_of(const struct build *b, uint32_t w)
{
    struct tensor t;
    if (!fact_to_tensor(&b->g.wires[w].fact, &t))
        abort();
    return t;
}

/* ---- random steps: each returns a new wire or WIRE_NONE ---- */

static uint32_t step_turn(struct build *b, uint32_t w)
{
    struct tensor t = shape_of(b, w);
    int64_t perm[RANK_MAX];
    for (int i = 0; i < t.rank; i++)
        perm[i] = i;
    for (int i = t.rank - 1; i > 0; i--) {
        int k = (int) rnd((uint32_t) i + 1);
        int64_t kept = perm[i];
        perm[i] = perm[k];
        perm[k] = kept;
    }
    struct attr a = INTS_OF("perm", (uint32_t) t.rank, perm);
    return build_node(b, "Transpose", &a, 1, &w, 1);
}

static uint32_t step_slice(struct build *b, uint32_t w)
{
    struct tensor t = shape_of(b, w);
    int64_t axis = rnd((uint32_t) t.rank), n = t.dim[axis], from = rnd((uint32_t) n),
            to = from + 1 + rnd((uint32_t) (n - from));
    int64_t step = 1 + rnd(3);
    bool back = rnd(4) == 0;
    int64_t first = back ? to - 1 : from, end = back ? (from ? from - 1 : INT64_MIN) : to,
            by = back ? -step : step;
    uint32_t in[] = { w, build_i64s(b, 1, &first), build_i64s(b, 1, &end), build_i64s(b, 1, &axis),
                      build_i64s(b, 1, &by) };
    return build_node(b, "Slice", NULL, 0, in, 5);
}

static uint32_t step_flat(struct build *b, uint32_t w)
{
    struct tensor t = shape_of(b, w);
    int64_t whole = tensor_count(&t), dim[3] = { 1, whole, 1 };
    for (int64_t d = 2; d < 8; d++)
        if (whole % d == 0 && rnd(2)) {
            dim[0] = d;
            dim[1] = whole / d;
        }
    uint32_t in[] = { w, build_i64s(b, 2 + rnd(2), dim) };
    return build_node(b, "Reshape", NULL, 0, in, 2);
}

static uint32_t step_pad(struct build *b, uint32_t w)
{
    static const char *const modes[] = { "constant", "edge", "wrap" };
    struct tensor t = shape_of(b, w);
    int64_t pads[2 * RANK_MAX] = { 0 }, one = 1;
    pads[rnd((uint32_t) t.rank)] = rnd(3);
    pads[t.rank + (int) rnd((uint32_t) t.rank)] = rnd(3);
    struct attr a = ONE_TEXT("mode", modes[rnd(3)]);
    uint32_t in[] = { w, build_i64s(b, 2 * t.rank, pads), floats(b, rnd(2) ? 0 : 1, &one) };
    return build_node(b, "Pad", &a, 1, in, 2 + rnd(2));
}

static uint32_t step_gather(struct build *b, uint32_t w)
{
    struct tensor t = shape_of(b, w);
    int64_t axis = rnd((uint32_t) t.rank), v[6];
    for (int i = 0; i < 6; i++)
        v[i] = rnd((uint32_t) t.dim[axis]);
    struct attr a = ONE_INT("axis", axis);
    uint32_t in[] = { w, build_i64s(b, 1 + rnd(6), v) };
    return build_node(b, "Gather", &a, 1, in, 2);
}

static uint32_t step_concat(struct build *b, uint32_t w)
{
    struct tensor t = shape_of(b, w);
    struct attr a = ONE_INT("axis", rnd((uint32_t) t.rank));
    uint32_t in[3] = { w, w, w };
    for (int i = 1; i < 3; i++) {
        uint32_t other = pool.wire[rnd(pool.n)];
        in[i] = fact_same(&b->g.wires[w].fact, &b->g.wires[other].fact) ? other : w;
    }
    return build_node(b, "Concat", &a, 1, in, 2 + rnd(2));
}

/* A row along axis 0 is put elsewhere. */
static uint32_t step_scatter(struct build *b, uint32_t w)
{
    struct tensor t = shape_of(b, w);
    int64_t at = rnd((uint32_t) t.dim[0]), one = 1, two[] = { 1, 1 };
    struct attr a = ONE_INT("axis", 0);
    uint32_t from[] = { w, build_i64s(b, 1, &one) }, row;
    if (t.dim[0] < 2 || (row = build_node(b, "Gather", &a, 1, from, 2)) == WIRE_NONE)
        return WIRE_NONE;
    struct tensor *index = tensor_new(&b->arena, DTYPE_I64, 2, two);
    *(int64_t *) index->data = at;
    uint32_t in[] = { w, graph_add_const(&b->g, "index", index), row };
    return build_node(b, "ScatterND", NULL, 0, in, 3);
}

static uint32_t step_alone(struct build *b, uint32_t w)
{
    static const char *const ops[] = { "Tanh", "Sigmoid", "Relu", "Exp", "Neg", "LeakyRelu" };
    return build_node(b, ops[rnd(6)], NULL, 0, &w, 1);
}

/* Two tensors of one shape, or one and a part of it that is broadcast. */
static uint32_t step_both(struct build *b, uint32_t w)
{
    static const char *const ops[] = { "Add", "Sub", "Mul", "PRelu", "Max" };
    struct tensor t = shape_of(b, w);
    uint32_t in[2] = { w, pool.wire[rnd(pool.n)] };
    bool same = fact_same(&b->g.wires[w].fact, &b->g.wires[in[1]].fact);
    for (int i = 0; i < t.rank; i++)
        t.dim[i] = rnd(2) ? t.dim[i] : 1;
    if (!same || rnd(2))
        in[1] = floats(b, t.rank, t.dim);
    return build_node(b, ops[rnd(5)], NULL, 0, in, 2);
}

/* Two convolutions of one geometry over [1, C, n], one of which may be thrown away. */
static uint32_t step_conv(struct build *b, uint32_t w)
{
    struct tensor t = shape_of(b, w);
    int64_t shape[] = { 1, t.dim[0], tensor_count(&t) / t.dim[0] }, taps = 1 + rnd(3),
            outs = 1 + rnd(5), dilation = 1 + rnd(3);
    uint32_t flat[] = { w, build_i64s(b, 3, shape) },
             x = build_node(b, "Reshape", NULL, 0, flat, 2);
    struct attr a[] = { INTS_OF("dilations", 1, &dilation) };
    for (int twin = 0; twin < 2; twin++) {
        int64_t weights[] = { outs + twin, t.dim[0], taps };
        uint32_t in[] = { x, floats(b, 3, weights), floats(b, 1, weights) };
        if (x == WIRE_NONE || shape[2] <= (taps - 1) * dilation || pool.n == WIRES_MAX)
            return WIRE_NONE;
        uint32_t y = build_node(b, "Conv", a, 1, in, 3);
        if (y != WIRE_NONE)
            pool.wire[pool.n++] = y;
    }
    return step_alone(b, pool.wire[pool.n - 1 - rnd(2)]);
}

static uint32_t (*const steps[])(struct build *, uint32_t) = {
    step_turn,    step_slice, step_flat, step_pad,  step_gather, step_concat,
    step_scatter, step_alone, step_both, step_both, step_conv,
};

/* Some wires are fed back: a next state of the shape of a state. */
static void states_close(struct build *b, const uint32_t *states, unsigned n)
{
    for (unsigned s = 0; s < n; s++) {
        uint32_t next = states[s];
        for (unsigned i = 0; i < pool.n; i++)
            if (fact_same(&b->g.wires[states[s]].fact, &b->g.wires[pool.wire[i]].fact) && rnd(2))
                next = pool.wire[i];
        graph_add_state(&b->g, "state", states[s], next, NULL);
    }
}

static void random_graph(struct build *b)
{
    uint32_t states[2];
    pool.n = 0;
    struct fact f = { .type = DTYPE_F32,
                      .rank = 3,
                      .shape = { dim_int(b->dims, 1 + rnd(3)), dim_int(b->dims, 2 + rnd(9)),
                                 dim_int(b->dims, 1 + rnd(20)) } };
    for (int i = 0; i < 2; i++)
        pool.wire[pool.n++] = graph_add_input(&b->g, "x", &f);
    for (int i = 0; i < 2; i++)
        pool.wire[pool.n++] = states[i] = graph_add_wire(&b->g, "state", &f);
    for (uint32_t i = 5 + rnd(30); i > 0 && pool.n < WIRES_MAX; i--) {
        uint32_t from = pool.wire[rnd(3) ? pool.n - 1 : rnd(pool.n)];
        struct tensor t = shape_of(b, from);
        if (tensor_count(&t) > 4000 || tensor_count(&t) < 2)
            continue;
        uint32_t w = steps[rnd(sizeof steps / sizeof *steps)](b, from);
        if (w != WIRE_NONE && pool.n < WIRES_MAX)
            pool.wire[pool.n++] = w;
    }
    for (uint32_t i = 0; i < 1 + rnd(3); i++)
        graph_add_output(&b->g, pool.wire[pool.n - 1 - rnd(pool.n < 6 ? pool.n : 6)]);
    states_close(b, states, 2);
}

/* ---- comparing ---- */

struct running {
    struct plan *plan;
    unsigned char *mem;
};

static bool running_init(struct running *r, const struct graph *g, uint32_t s)
{
    rill_error err = { 0 };
    if (!check(plan_from_sgraph(&r->plan, &(struct sgraph) { *g }, NULL, &err) == RILL_OK, err.text,
               s))
        return false;
    check(memplan_is_sound(r->plan->spans, r->plan->n_spans), "live ranges overlap", s);
    r->mem = aligned_alloc(64, r->plan->mem_bytes);
    memset(r->mem, 0xff, r->plan->mem_bytes);
    plan_reset(r->plan, r->mem);
    return true;
}

static void running_drop(struct running *r)
{
    free(r->mem);
    plan_free(r->plan);
}

/* NaN is a class. */
static bool bits_same(const float *a, const float *b, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        if (memcmp(&a[i], &b[i], sizeof *a) && !(a[i] != a[i] && b[i] != b[i]))
            return false;
    return true;
}

static void same_run(struct running *a, struct running *b, uint32_t s)
{
    for (uint32_t i = 0; i < a->plan->n_inputs; i++) {
        const struct plan_port *p = &a->plan->inputs[i];
        float *x = (float *) (void *) (a->mem + p->at.offset);
        for (int64_t k = 0; k < tensor_count(&p->shape); k++)
            x[k] = (float) rnd(2000) * 1e-3f - 1;
        memcpy(b->mem + b->plan->inputs[i].at.offset, x, tensor_bytes(&p->shape));
    }
    plan_run(a->plan, a->mem);
    plan_run(b->plan, b->mem);
    for (uint32_t i = 0; i < a->plan->n_outputs; i++)
        check(bits_same(place_read(a->plan->outputs[i].at, a->mem),
                        place_read(b->plan->outputs[i].at, b->mem),
                        tensor_count(&a->plan->outputs[i].shape)),
              "a settled graph gives other bits", s);
}

static void copy_move(struct running *r)
{
    unsigned char *mem = aligned_alloc(64, r->plan->mem_bytes);
    memcpy(mem, r->mem, r->plan->mem_bytes);
    memset(r->mem, 0xff, r->plan->mem_bytes);
    free(r->mem);
    r->mem = mem;
}

static unsigned ops_count(const struct graph *g, const struct op *op)
{
    unsigned n = 0;
    for (uint32_t i = 0; i < g->n_nodes; i++)
        n += g->nodes[i].op == op;
    return n;
}

static void test_random(uint32_t count)
{
    unsigned moves = 0, fused = 0;
    for (uint32_t s = 1; s <= count; s++) {
        struct build b;
        struct graph pruned, settled;
        struct running before = { 0 }, after = { 0 };
        seed = s;
        build_init(&b);
        random_graph(&b);
        if (check(graph_pruned(&pruned, &b.g, &b.err) == RILL_OK &&
                      graph_settle(&settled, &pruned, NULL, &b.err) == RILL_OK &&
                      graph_check(&settled, &b.err) == RILL_OK,
                  b.err.text, s) &&
            running_init(&before, &pruned, s) && running_init(&after, &settled, s))
            for (int run = 0; run < RUNS; run++) {
                same_run(&before, &after, s);
                if (run == 1)
                    copy_move(&after); /* a snapshot goes on elsewhere */
            }
        moves += ops_count(&settled, &op_strided_copy);
        fused += ops_count(&settled, &op_fused);
        running_drop(&before);
        running_drop(&after);
        build_drop(&b);
    }
    check(moves > count && fused > count / 8, "there are copies and Fused", moves);
}

/* ---- what single passes are for ---- */

/* state' = rows 1.. of the state and a new one: one StridedCopy, where the state lies. */
static void test_delay_line(void)
{
    struct build b;
    struct graph settled;
    struct running r = { 0 };
    build_init(&b);
    struct fact row = { .type = DTYPE_F32,
                        .rank = 2,
                        .shape = { dim_int(b.dims, 1), dim_int(b.dims, 5) } },
                all = row;
    all.shape[0] = dim_int(b.dims, 4);
    int64_t one = 1, end = INT64_MAX, zero = 0;
    uint32_t x = graph_add_input(&b.g, "x", &row), s = graph_add_wire(&b.g, "s", &all);
    uint32_t cut[] = { s, build_i64s(&b, 1, &one), build_i64s(&b, 1, &end),
                       build_i64s(&b, 1, &zero) };
    uint32_t join[] = { build_node(&b, "Slice", NULL, 0, cut, 4), x };
    struct attr axis = ONE_INT("axis", 0);
    uint32_t next = build_node(&b, "Concat", &axis, 1, join, 2);
    uint32_t first = build_node(&b, "Neg", NULL, 0, &s, 1);
    graph_add_output(&b.g, first);
    graph_add_state(&b.g, "s", s, next, NULL);
    check(graph_settle(&settled, &b.g, NULL, &b.err) == RILL_OK, b.err.text, 0);
    check(ops_count(&settled, &op_strided_copy) == 1 && settled.n_nodes == 2,
          "one StridedCopy and one Neg are left", settled.n_nodes);
    if (running_init(&r, &settled, 0)) {
        check(r.plan->n_steps == 2, "the state is not copied", r.plan->n_steps);
        for (int run = 0; run < 9; run++) {
            float *in = (float *) (void *) (r.mem + r.plan->inputs[0].at.offset);
            for (int i = 0; i < 5; i++)
                in[i] = (float) run;
            plan_run(r.plan, r.mem);
            const float *y = place_read(r.plan->outputs[0].at, r.mem);
            check(y[15] == (run ? -(float) (run - 1) : 0) &&
                      y[0] == (run > 3 ? -(float) (run - 4) : 0),
                  "delay line", (uint32_t) run);
        }
    }
    running_drop(&r);
    build_drop(&b);
}

/* state' = the state's rows turned by one, the first of them read through a view that somebody else
 * wants too: in place it would be read after it was written. */
static void test_view_of_base(void)
{
    struct build b;
    struct graph settled;
    struct running before = { 0 }, after = { 0 };
    build_init(&b);
    int64_t all[] = { 4, 5 }, flat = 20, row[] = { 1, 5 }, zero = 0, one = 1, five = 5,
            end = INT64_MAX;
    struct fact f = { .type = DTYPE_F32,
                      .rank = 2,
                      .shape = { dim_int(b.dims, 4), dim_int(b.dims, 5) } };
    uint32_t s = graph_add_wire(&b.g, "s", &f), init = floats(&b, 2, all);
    uint32_t reshape[] = { s, build_i64s(&b, 1, &flat) };
    uint32_t view = build_node(&b, "Reshape", NULL, 0, reshape, 2);
    graph_add_output(&b.g, build_node(&b, "Neg", NULL, 0, &view, 1));
    uint32_t later[] = { s, build_i64s(&b, 1, &one), build_i64s(&b, 1, &end),
                         build_i64s(&b, 1, &zero) };
    uint32_t first[] = { view, build_i64s(&b, 1, &zero), build_i64s(&b, 1, &five),
                         build_i64s(&b, 1, &zero) };
    uint32_t back[] = { build_node(&b, "Slice", NULL, 0, first, 4), build_i64s(&b, 2, row) };
    uint32_t join[] = { build_node(&b, "Slice", NULL, 0, later, 4),
                        build_node(&b, "Reshape", NULL, 0, back, 2) };
    struct attr axis = ONE_INT("axis", 0);
    graph_add_state(&b.g, "s", s, build_node(&b, "Concat", &axis, 1, join, 2),
                    b.g.wires[init].fact.value);
    check(graph_settle(&settled, &b.g, NULL, &b.err) == RILL_OK, b.err.text, 0);
    if (running_init(&before, &b.g, 0) && running_init(&after, &settled, 0))
        for (int run = 0; run < RUNS; run++)
            same_run(&before, &after, (uint32_t) run);
    running_drop(&before);
    running_drop(&after);
    build_drop(&b);
}

/* What the op says of a StridedCopy that a file may hold: a base has the size of the output. */
static void test_move_bounds(void)
{
    static const struct {
        const char *what;
        int64_t base, shape, n, floats;
        bool taken;
        uint32_t n_grids;
        float grid[4];
        int64_t step;
    } rows[] = {
        { "all of x", 0, 8, 8, 8, true, 0, { 0 }, 1 },
        { "a part of x, which lies elsewhere", -1, 4, 4, 8, true, 0, { 0 }, 1 },
        { "where x lay, which is larger", 0, 4, 4, 8, false, 0, { 0 }, 1 },
        { "where x lay, which is smaller", 0, 8, 4, 4, false, 0, { 0 }, 1 },
        { "x, rounded twice", -1, 8, 8, 8, true, 4, { .07f, -3, .0937f, -8 }, 1 },
        { "x, to a grid of no whole zero", -1, 8, 8, 8, false, 4, { .1f, 3.5f }, 1 },
        { "x, to a grid of an endless scale", -1, 8, 8, 8, false, 4, { INFINITY }, 1 },
        { "half a grid", -1, 8, 8, 8, false, 2, { .1f, 3 }, 1 },
        { "every second of x, rounded", -1, 4, 4, 8, false, 4, { .1f, 3 }, 2 },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct build b;
        build_init(&b);
        struct piece p = { .n = { 1, 1, 1, rows[i].n },
                           .from_stride = { 0, 0, 0, rows[i].step },
                           .to_stride = { 0, 0, 0, 1 } };
        const struct attr_ints pieces = { PIECE_INTS, (const int64_t *) (const void *) &p };
        const struct strided_copy_attr a = { .shape = { 1, &rows[i].shape },
                                             .pieces = pieces,
                                             .grids = { rows[i].n_grids, rows[i].grid },
                                             .base = rows[i].base };
        struct fact x = { .type = DTYPE_F32,
                          .rank = 1,
                          .shape = { dim_int(b.dims, rows[i].floats) } },
                    out = { 0 };
        const struct fact *in = &x;
        uint32_t none = WIRE_NONE;
        struct node n = { .name = "move",
                          .op = &op_strided_copy,
                          .attr = &a,
                          .in = &none,
                          .out = &none,
                          .n_in = 1,
                          .n_out = 1 };
        rill_status status = op_infer(&n, &in, &out, b.dims, &b.arena, &b.err);
        check((status == RILL_OK) == rows[i].taken, rows[i].what, (uint32_t) i);
        build_drop(&b);
    }
}

/* One dense piece is a view only where it is all of the output. */
static void test_move_is_part(void)
{
    static const float grid[] = { .1f, 0, 0, 0 };
    for (int64_t n = 4; n <= 8; n += 4) {
        struct piece p = { .from = 2,
                           .n = { 1, 1, 1, 4 },
                           .from_stride = { 0, 0, 0, 1 },
                           .to_stride = { 0, 0, 0, 1 } };
        const struct attr_ints pieces = { PIECE_INTS, (const int64_t *) (const void *) &p };
        const struct strided_copy_attr a = { .shape = { 1, &n }, .pieces = pieces, .base = -1 };
        const struct node move = { .name = "move", .op = &op_strided_copy, .attr = &a };
        unsigned input;
        int64_t first;
        check(strided_copy_is_part(&move, &input, &first) == (n == 4),
              "a view is as large as what it shows", (uint32_t) n);
        struct strided_copy_attr rounds = a;
        rounds.grids = (struct attr_floats) { 4, grid };
        const struct node round = { .name = "round", .op = &op_strided_copy, .attr = &rounds };
        check(!strided_copy_is_part(&round, &input, &first), "what rounds is no view",
              (uint32_t) n);
    }
}

/* Pad, convolution, batch normalisation: one convolution that gives the same but for rounding. */
static void test_folded(bool transposed, int64_t groups)
{
    struct build b;
    struct graph made;
    struct running before = { 0 }, after = { 0 };
    build_init(&b);
    struct fact f = { .type = DTYPE_F32,
                      .rank = 3,
                      .shape = { dim_int(b.dims, 1), dim_int(b.dims, 4), dim_int(b.dims, 20) } };
    int64_t pads[] = { 0, 0, 2, 0, 0, 1 }, outs = 6,
            w[] = { transposed ? 4 : outs, transposed ? outs / groups : 4 / groups, 3 };
    uint32_t pad[] = { graph_add_input(&b.g, "x", &f), build_i64s(&b, 6, pads) };
    uint32_t conv[] = { build_node(&b, "Pad", NULL, 0, pad, 2), floats(&b, 3, w),
                        floats(&b, 1, &outs) };
    struct attr group = ONE_INT("group", groups);
    uint32_t norm[5] = { build_node(&b, transposed ? "ConvTranspose" : "Conv", &group, 1, conv,
                                    3) };
    for (int i = 1; i < 5; i++)
        norm[i] = floats(&b, 1, &outs);
    float *var = b.g.wires[norm[4]].fact.value->data;
    for (int i = 0; i < outs; i++)
        var[i] = 0.5f + var[i] * var[i];
    graph_add_output(&b.g, build_node(&b, "BatchNormalization", NULL, 0, norm, 5));
    check(graph_declutter(&made, &b.g, NULL, &b.err) == RILL_OK, b.err.text, 0);
    check(made.n_nodes == (transposed ? 2 : 1), "norm and zeros are the convolution's",
          made.n_nodes);
    if (running_init(&before, &b.g, 0) && running_init(&after, &made, 0)) {
        float *x = (float *) (void *) (before.mem + before.plan->inputs[0].at.offset);
        for (int i = 0; i < 80; i++)
            x[i] = (float) rnd(2000) * 1e-3f - 1;
        memcpy(after.mem + after.plan->inputs[0].at.offset, x, 80 * sizeof *x);
        plan_run(before.plan, before.mem);
        plan_run(after.plan, after.mem);
        const float *y = place_read(before.plan->outputs[0].at, before.mem),
                    *z = place_read(after.plan->outputs[0].at, after.mem);
        float worst = 0;
        for (int64_t i = 0; i < tensor_count(&after.plan->outputs[0].shape); i++)
            worst = fmaxf(worst, fabsf(y[i] - z[i]));
        check(worst < 1e-5f, "a folded convolution is another one", (uint32_t) groups);
    }
    running_drop(&before);
    running_drop(&after);
    build_drop(&b);
}

/* Zeros along an axis of open size stay where they are, those beside them are the convolution's. */
static void test_open_pads(bool beside)
{
    struct build b;
    struct graph made;
    build_init(&b);
    const struct dim *t = dim_symbol(b.dims, "T");
    struct fact f = { .type = DTYPE_F32,
                      .rank = 4,
                      .shape = { dim_int(b.dims, 1), dim_int(b.dims, 2), t, dim_int(b.dims, 20) } };
    int64_t pads[] = { 0, 0, 2, beside, 0, 0, 1, 2 * beside }, w[] = { 3, 2, 2, 3 };
    uint32_t pad[] = { graph_add_input(&b.g, "x", &f), build_i64s(&b, 8, pads) };
    uint32_t conv[] = { build_node(&b, "Pad", NULL, 0, pad, 2), floats(&b, 4, w) };
    graph_add_output(&b.g, build_node(&b, "Conv", NULL, 0, conv, 2));
    check(graph_declutter(&made, &b.g, NULL, &b.err) == RILL_OK, b.err.text, 0);
    check(made.n_nodes == 2, "the pad along T stays", made.n_nodes);
    const struct node *first = &made.nodes[0], *last = &made.nodes[made.n_nodes - 1];
    const struct fact *between = &made.wires[last->in[0]].fact;
    struct attr_ints own = window_attr_of(last)->pads;
    check(dim_is(between->shape[3], 20) && between->shape[2] == dim_add_int(b.dims, t, 3),
          "the padded wire is as long as it was, and no wider", beside);
    check(beside ? own.n == 4 && own.v[0] == 0 && own.v[1] == 1 && own.v[2] == 0 && own.v[3] == 2
                 : own.n == 0 || own.v[1] == 0,
          "pads of the convolution", own.n);
    const int64_t *left = made.wires[first->in[1]].fact.value->data;
    check(left[2] == 2 && left[6] == 1 && left[3] == 0 && left[7] == 0, "pads that stay", beside);
    build_drop(&b);
}

/* Reversal in place would read what it wrote. */
static void test_hazard(void)
{
    struct arena a = { 0 };
    struct origin up[8], down[8], turned[8];
    for (uint32_t i = 0; i < 8; i++) {
        down[i] = (struct origin) { i < 7 ? 0 : 1, i < 7 ? i + 1 : 0 };
        up[i] = (struct origin) { i ? 0 : 1, i ? i - 1 : 0 };
        turned[i] = (struct origin) { 0, 7 - i };
    }
    const struct {
        const struct origin *o;
        bool safe;
    } rows[] = { { down, true }, { up, false }, { turned, false } };
    for (unsigned i = 0; i < 3; i++) {
        uint32_t n;
        bool safe = !rows[i].safe;
        struct piece *p = pieces_from_origins(&a, rows[i].o, 8, &n);
        check(p && pieces_in_place(&a, p, n, 0, 8, &safe) && safe == rows[i].safe,
              "what is safe in place", i);
    }
    arena_drop(&a);
}

/* Every element of a random movement is written once, from where it should come. */
static void test_pieces(uint32_t count)
{
    for (uint32_t s = 1; s <= count; s++) {
        struct arena a = { 0 };
        struct origin o[600];
        float x[3][600], y[600];
        uint32_t n = 1 + rnd(600), n_pieces;
        seed = s;
        for (uint32_t i = 0, left = 0, input = 0, at = 0, step = 0; i < n; i++, at += step) {
            if (!left--) {
                left = rnd(40);
                input = rnd(3);
                step = rnd(4);
                at = rnd(100);
            }
            o[i] = (struct origin) { (int32_t) input, at % 600 };
        }
        for (int k = 0; k < 3; k++)
            for (int i = 0; i < 600; i++)
                x[k][i] = (float) (k * 1000 + i);
        memset(y, 0, sizeof y);
        struct piece *p = pieces_from_origins(&a, o, n, &n_pieces);
        int64_t written = 0;
        for (uint32_t i = 0; i < n_pieces; i++) {
            int64_t e = 1;
            for (int k = 0; k < PIECE_AXES; k++)
                e *= p[i].n[k];
            written += e;
            for (int64_t k = 0; k < e; k++) {
                int64_t from = p[i].from, to = p[i].to, left = k;
                for (int d = PIECE_AXES; d-- > 0; left /= p[i].n[d]) {
                    from += left % p[i].n[d] * p[i].from_stride[d];
                    to += left % p[i].n[d] * p[i].to_stride[d];
                }
                y[to] = x[p[i].input][from];
            }
        }
        bool same = written == n;
        for (uint32_t i = 0; i < n; i++)
            same &= y[i] == x[o[i].input][o[i].at];
        check(same, "pieces are the movement", s);
        arena_drop(&a);
    }
}

/* A pass that finds nothing to do leaves no copy behind. */
static void test_passes_without_work(void)
{
    struct build b;
    struct graph copy, made;
    struct pass_log log = { 0 };
    build_init(&b);
    struct fact v = vec(&b, 4);
    uint32_t w = graph_add_input(&b.g, "x", &v);
    for (int i = 0; i < 2000; i++)
        w = build_node(&b, i % 2 ? "Tanh" : "Neg", NULL, 0, &w, 1);
    graph_add_output(&b.g, w);
    size_t before = b.arena.used_bytes;
    check(graph_pruned(&copy, &b.g, &b.err) == RILL_OK, b.err.text, 0);
    const size_t copy_bytes = b.arena.used_bytes - before;
    before = b.arena.used_bytes;
    check(graph_declutter(&made, &b.g, &log, &b.err) == RILL_OK, b.err.text, 0);
    check(made.n_nodes == 2000 && log.n > 15 && log.at[log.n - 1].nodes == 2000, "nothing goes",
          made.n_nodes);
    check(b.arena.used_bytes - before < 4 * copy_bytes, "passes without work take memory",
          (long) ((b.arena.used_bytes - before) / copy_bytes));
    made.wires[made.outputs[0]].node = WIRE_NONE;
    check(b.g.wires[w].node == 1999, "what is made is a graph of its own", 0);
    build_drop(&b);
}

int main(void)
{
    const char *count = getenv("RILL_COUNT");
    test_pieces(300);
    test_hazard();
    test_passes_without_work();
    test_delay_line();
    test_view_of_base();
    test_move_bounds();
    test_move_is_part();
    for (int64_t groups = 1; groups < 3; groups++) {
        test_folded(false, groups);
        test_folded(true, groups);
    }
    test_open_pads(false);
    test_open_pads(true);
    test_random(count ? (uint32_t) strtoul(count, NULL, 10) : 600);
    return check_done();
}
