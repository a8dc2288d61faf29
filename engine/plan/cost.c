/* SPDX-License-Identifier: MIT */
#include "engine/plan/cost.h"
#include "engine/graph/control.h"
#include "engine/ops/attrs.h"
#include "engine/ops/count.h"
#include "engine/ops/fused.h"

/* ---- effort ---- */

#define NODE_EFFORT 1000 /* a step without arithmetic, about 100 ns */
/* Numbers that a product makes at once at full speed: 4 chains of 16 lanes. */
#define LANES_FULL 64

/* Each of the numbers that come out is one chain of multiply-adds: of few of them the lanes stand
 * empty. */
static uint64_t node_effort(const struct node_sizes *s, uint64_t multiply_adds)
{
    uint64_t made = sizes_product(&s->out, 0);
    return made && made < LANES_FULL ? count_times(multiply_adds / made, LANES_FULL)
                                     : multiply_adds;
}

/* Of an element, in multiply-adds at full speed. */
#define ELEMENT_EFFORT 8
#define EXP_EFFORT 40 /* of one that goes through a softmax or a normalisation */

static uint64_t element_effort(const struct node *n)
{
    static const enum op_id slow[] = { OP_SOFTMAX, OP_LOG_SOFTMAX, OP_LAYER_NORMALIZATION };
    if (node_is(n, OP_FUSED))
        return count_times(ELEMENT_EFFORT / 2, (uint64_t) fused_steps(n->attr));
    return node_is_among(n, slow, sizeof slow / sizeof *slow) ? EXP_EFFORT : ELEMENT_EFFORT;
}

uint64_t cost_of_node(const struct graph *g, const struct node *n)
{
    uint64_t count;
    struct node_sizes s;
    if (!node_sizes_of(g, n, &s))
        return 0;
    if (node_multiply_adds(n, &s, &count))
        return node_effort(&s, count);
    const uint64_t in = sizes_product(&s.in[0], 0), out = sizes_product(&s.out, 0);
    return count_times(in > out ? in : out, element_effort(n));
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
    c->row[i].nodes = count_plus(c->row[i].nodes, often);
    c->row[i].multiply_adds = count_plus(c->row[i].multiply_adds, multiply_adds);
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
        struct node_sizes s;
        uint64_t runs = 1, once;
        c->effort = count_plus(c->effort, count_times(often, NODE_EFFORT));
        if (n->n_body && !body_runs(g, n, &runs))
            c->open = true;
        for (unsigned b = 0; b < n->n_body; b++)
            graph_count(n->body[b], count_times(often, runs), c);
        if (n->op == &op_fused && fused_in_frames(n->attr)) {
            uint64_t own = count_times(often, fused_multiply_adds(n->attr));
            row_add(c, n->op, often, own);
            c->multiply_adds = count_plus(c->multiply_adds, own);
            c->effort = count_plus(c->effort, own);
        }
        c->open |= n->op->id == OP_NONE; /* what it runs is planned as data comes */
        if (!op_multiplies(n->op))
            continue;
        if (!node_sizes_of(g, n, &s) || !node_multiply_adds(n, &s, &once)) {
            c->open = true;
            continue;
        }
        const uint64_t count = count_times(often, once);
        c->effort = count_plus(c->effort, count_times(often, node_effort(&s, once)));
        row_add(c, n->op, often, count);
        c->multiply_adds = count_plus(c->multiply_adds, count);
    }
}

void cost_of_graph(const struct graph *g, struct cost *ret)
{
    *ret = (struct cost) { 0 };
    graph_count(g, 1, ret);
}
