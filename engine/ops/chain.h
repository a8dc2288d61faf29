/* SPDX-License-Identifier: MIT */
/* chain.h - Chain: an element-wise program over tensors of one number of elements. Made by passes
 * only. */
#ifndef RILL_ENGINE_OPS_CHAIN_H
#define RILL_ENGINE_OPS_CHAIN_H
#include "engine/graph/op.h"

#define CHAIN_PORTS_MAX 16 /* inputs, and outputs */

/* The elements are m rows of n. */
struct chain_attr {
    int64_t m, n, n_tmp;
    struct attr_ints steps;  /* op, to, a, b of each: struct kern_chain_step */
    struct attr_ints dense;  /* of each input: 1, or 0 where a row reads one element */
    struct attr_ints rows;   /* of each input: elements from row to row */
    struct attr_ints shapes; /* of each output: rank, then dims */
};

extern const struct op op_chain;
#endif
