/* SPDX-License-Identifier: MIT */
/* cost.h - how much one run of a graph of known sizes, pulsed or settled, multiplies.
 *
 * Counted are the multiply-adds of products: convolutions, matrix products, Einsum and recurrent
 * cells, with what padding and histories make them compute again. Bodies count as often as they
 * run. Element-wise work, transforms and reductions are not counted. */
#ifndef RILL_ENGINE_PLAN_COST_H
#define RILL_ENGINE_PLAN_COST_H
#include "engine/graph/graph.h"

#define COST_ROWS_MAX 16

struct cost_row {
    const struct op *op;
    uint64_t nodes; /* run, each as often as its body runs */
    uint64_t multiply_adds;
};

struct cost {
    struct cost_row row[COST_ROWS_MAX]; /* ops that occur, in the order in which they first do */
    unsigned n_rows;
    uint64_t multiply_adds;
    uint64_t effort; /* a run's, in multiply-adds at full speed: nodes have a price of their own,
                        and products of few numbers do not fill the lanes */
    bool open; /* a Loop's iterations or a size are not known: there is more than is counted */
};

/* Of one node of known sizes, without its bodies and without a step's own price; for ops without
 * products, from the elements they read and make. 0: not known. */
uint64_t cost_of_node(const struct graph *g, const struct node *n);

/* Sums saturate at UINT64_MAX. */
void cost_of_graph(const struct graph *g, struct cost *ret);
#endif
