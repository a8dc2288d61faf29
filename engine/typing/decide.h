/* SPDX-License-Identifier: MIT */
/* decide.h - what is known of a node whatever runs: that it gives its input back, or comparisons
 * whose answer is the same everywhere (positions below a length and the like). */
#ifndef RILL_ENGINE_TYPING_DECIDE_H
#define RILL_ENGINE_TYPING_DECIDE_H
#include "engine/graph/op.h"

/* Output 0 is input 0: types and shapes agree, and the op does nothing else. */
bool node_gives_back(const struct node *n, const struct fact *in, const struct fact *out);

/* Node n, not yet part of g, reads the wires `in` of g. True where it compares integers, or
 * floats that are made of them, and what is known of their sizes and positions decides it;
 * *ret_truth is every element of its output. Bit-preserving, of floats as far as they count. */
bool compare_decided(const struct graph *g, const struct node *n, const uint32_t *in,
                     bool *ret_truth);
#endif
