/* SPDX-License-Identifier: MIT */
/* count.h - the multiply-adds of products: convolutions, matrix products, Einsum and recurrent
 * cells of known sizes. Counts saturate at UINT64_MAX. */
#ifndef RILL_ENGINE_OPS_COUNT_H
#define RILL_ENGINE_OPS_COUNT_H
#include "engine/graph/graph.h"

#define COUNT_INPUTS 8

/* Of a node's inputs, and of its first output; rank -1 where there is none. */
struct node_sizes {
    struct tensor in[COUNT_INPUTS], out;
};

/* false: one is not known. */
bool node_sizes_of(const struct graph *g, const struct node *n, struct node_sizes *ret);
/* Elements of the axes from `first` on. */
uint64_t sizes_product(const struct tensor *t, int first);

bool op_multiplies(const struct op *op);
/* false: it is of an op that does not. */
bool node_multiply_adds(const struct node *n, const struct node_sizes *s, uint64_t *ret);

uint64_t count_times(uint64_t a, uint64_t b);
uint64_t count_plus(uint64_t a, uint64_t b);
#endif
