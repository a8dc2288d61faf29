/* SPDX-License-Identifier: MIT */
#include "engine/plan/cost.h"
#include "engine/graph/control.h"
#include "engine/ops/attrs.h"
#include "engine/ops/einsum.h"
#include "engine/ops/fused.h"

static uint64_t times(uint64_t a, uint64_t b)
{
    uint64_t r;
    return __builtin_mul_overflow(a, b, &r) ? UINT64_MAX : r;
}

static uint64_t plus(uint64_t a, uint64_t b)
{
    uint64_t r;
    return __builtin_add_overflow(a, b, &r) ? UINT64_MAX : r;
}

/* The sizes of a node's inputs, then of its outputs; rank -1 where there is none. */
struct sizes {
    struct tensor in[8], out;
};

static bool size_of(const struct graph *g, uint32_t w, struct tensor *ret)
{
    *ret = (struct tensor) { .rank = -1 };
    return w == WIRE_NONE || fact_to_tensor(&g->wires[w].fact, ret);
}

static bool sizes_of(const struct graph *g, const struct node *n, struct sizes *ret)
{
    bool known = size_of(g, n->n_out ? n->out[0] : WIRE_NONE, &ret->out);
    for (unsigned i = 0; i < 8; i++)
        known &= size_of(g, i < n->n_in ? n->in[i] : WIRE_NONE, &ret->in[i]);
    return known;
}

static uint64_t product(const struct tensor *t, int first)
{
    uint64_t n = 1;
    for (int i = first; i < t->rank; i++)
        n = times(n, (uint64_t) t->dim[i]);
    return n;
}

/* ---- one node ---- */

static uint64_t conv_count(const struct node *n, const struct sizes *s, unsigned weights)
{
    (void) n;
    return times(product(&s->out, 0), product(&s->in[weights], 1));
}

static uint64_t conv_transpose_count(const struct node *n, const struct sizes *s, unsigned weights)
{
    (void) n;
    return times(product(&s->in[0], 0), product(&s->in[weights], 1));
}

/* All weights at each place of the result, depthwise or not. */
static uint64_t byte_conv_count(const struct node *n, const struct sizes *s, unsigned weights)
{
    (void) n;
    uint64_t outputs = (uint64_t) s->out.dim[3];
    return outputs ? times(product(&s->out, 0) / outputs, product(&s->in[weights], 0)) : 0;
}

static uint64_t matmul_count(const struct node *n, const struct sizes *s, unsigned other)
{
    (void) n, (void) other;
    return times(product(&s->out, 0), product(&s->in[0], s->in[0].rank - 1));
}

/* Weights [terms, outputs], each used once an image. */
static uint64_t image_count(const struct node *n, const struct sizes *s, unsigned weights)
{
    (void) n;
    return times((uint64_t) s->in[0].dim[0], product(&s->in[weights], 0));
}

static uint64_t gemm_count(const struct node *n, const struct sizes *s, unsigned other)
{
    (void) other;
    return times(product(&s->out, 0), (uint64_t) s->in[0].dim[gemm_attr_of(n)->ta ? 0 : 1]);
}

static uint64_t einsum_count(const struct node *n, const struct sizes *s, unsigned other)
{
    uint64_t count = 0;
    (void) other;
    return n->n_in <= 8 && einsum_loops(n, s->in, &count) ? count : 0;
}

/* Weights [directions, gates, inputs] and [directions, gates, hidden], each used once a step. */
static uint64_t cell_count(const struct node *n, const struct sizes *s, unsigned weights)
{
    (void) n;
    const struct tensor *x = &s->in[0], *w = &s->in[weights];
    uint64_t each = plus(product(w, 0), product(w + 1, 0)), steps = 1;
    for (int i = 0; i < x->rank - 1; i++)
        steps = times(steps, (uint64_t) x->dim[i]);
    return times(steps, each);
}

static const struct counted {
    enum op_id op;
    uint64_t (*count)(const struct node *, const struct sizes *, unsigned weights);
    unsigned weights; /* input that has them */
} counted[] = {
    { OP_CONV, conv_count, 1 },
    { OP_CONV_TRANSPOSE, conv_transpose_count, 1 },
    { OP_MATMUL, matmul_count, 1 },
    { OP_GEMM, gemm_count, 1 },
    { OP_EINSUM, einsum_count, 1 },
    { OP_GRU, cell_count, 1 },
    { OP_LSTM, cell_count, 1 },
    { OP_RNN, cell_count, 1 },
    { OP_CONV_INTEGER, conv_count, 1 },
    { OP_MATMUL_INTEGER, matmul_count, 1 },
    { OP_BYTE_CONV, byte_conv_count, 1 },
    { OP_DYNAMIC_QUANTIZE_LSTM, cell_count, 1 },
    { OP_MATMUL_NARROW, matmul_count, 1 },
    { OP_CONV_NARROW, image_count, 1 },
};

static const struct counted *counted_find(const struct op *op)
{
    for (size_t i = 0; i < sizeof counted / sizeof *counted; i++)
        if (counted[i].op == op->id)
            return &counted[i];
    return NULL;
}

/* ---- effort ---- */

#define NODE_EFFORT 1000 /* a step without arithmetic, about 100 ns */
/* Numbers that a product makes at once at full speed: 4 chains of 16 lanes. */
#define LANES_FULL 64

/* Each of the numbers that come out is one chain of multiply-adds: of few of them the lanes stand
 * empty. */
static uint64_t node_effort(const struct sizes *s, uint64_t multiply_adds)
{
    uint64_t made = product(&s->out, 0);
    return made && made < LANES_FULL ? times(multiply_adds / made, LANES_FULL) : multiply_adds;
}

/* Of an element, in multiply-adds at full speed. */
#define ELEMENT_EFFORT 8
#define EXP_EFFORT 40 /* of one that goes through a softmax or a normalisation */

static uint64_t element_effort(const struct node *n)
{
    static const enum op_id slow[] = { OP_SOFTMAX, OP_LOG_SOFTMAX, OP_LAYER_NORMALIZATION };
    if (node_is(n, OP_FUSED))
        return times(ELEMENT_EFFORT / 2, (uint64_t) fused_steps(n->attr));
    return node_is_among(n, slow, sizeof slow / sizeof *slow) ? EXP_EFFORT : ELEMENT_EFFORT;
}

uint64_t cost_of_node(const struct graph *g, const struct node *n)
{
    const struct counted *k = counted_find(n->op);
    struct sizes s;
    if (!sizes_of(g, n, &s))
        return 0;
    if (k)
        return node_effort(&s, k->count(n, &s, k->weights));
    const uint64_t in = product(&s.in[0], 0), out = product(&s.out, 0);
    return times(in > out ? in : out, element_effort(n));
}

/* ---- graphs ---- */

static void row_add(struct cost *c, const struct op *op, uint64_t often, uint64_t multiply_adds)
{
    unsigned i = 0;
    while (i < c->n_rows && c->row[i].op != op)
        i++;
    if (i == COST_ROWS_MAX)
        return;
    c->n_rows += i == c->n_rows;
    c->row[i].op = op;
    c->row[i].nodes = plus(c->row[i].nodes, often);
    c->row[i].multiply_adds = plus(c->row[i].multiply_adds, multiply_adds);
}

/* How often a body runs: a Scan's by the scanned axis, an If's once (the dearer branch is not
 * known: both count). */
static bool body_runs(const struct graph *g, const struct node *n, uint64_t *ret)
{
    struct tensor t;
    *ret = 1;
    if (n->op == &op_if)
        return true;
    if (n->op != &op_scan)
        return false;
    const struct scan_attr *a = n->attr;
    uint32_t w = a->n_scanned ? n->in[a->n_states] : WIRE_NONE;
    if (w == WIRE_NONE || !fact_to_tensor(&g->wires[w].fact, &t))
        return false;
    int axis = scan_axis(a->in_axes, 0, t.rank);
    *ret = axis < 0 ? 0 : (uint64_t) t.dim[axis];
    return axis >= 0;
}

static void graph_count(const struct graph *g, uint64_t often, struct cost *c)
{
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        const struct node *n = &g->nodes[i];
        const struct counted *k = counted_find(n->op);
        struct sizes s;
        uint64_t runs = 1;
        c->effort = plus(c->effort, times(often, NODE_EFFORT));
        if (n->n_body && !body_runs(g, n, &runs))
            c->open = true;
        for (unsigned b = 0; b < n->n_body; b++)
            graph_count(n->body[b], times(often, runs), c);
        if (n->op == &op_fused && fused_in_frames(n->attr)) {
            uint64_t own = times(often, fused_multiply_adds(n->attr));
            row_add(c, n->op, often, own);
            c->multiply_adds = plus(c->multiply_adds, own);
            c->effort = plus(c->effort, own);
        }
        c->open |= n->op->id == OP_NONE; /* what it runs is planned as data comes */
        if (!k)
            continue;
        if (!sizes_of(g, n, &s)) {
            c->open = true;
            continue;
        }
        uint64_t once = k->count(n, &s, k->weights), count = times(often, once);
        c->effort = plus(c->effort, times(often, node_effort(&s, once)));
        row_add(c, n->op, often, count);
        c->multiply_adds = plus(c->multiply_adds, count);
    }
}

void cost_of_graph(const struct graph *g, struct cost *ret)
{
    *ret = (struct cost) { 0 };
    graph_count(g, 1, ret);
}
