/* SPDX-License-Identifier: MIT */
/* einsum.h - where an Einsum sends the axes of its inputs. */
#ifndef RILL_ENGINE_OPS_EINSUM_H
#define RILL_ENGINE_OPS_EINSUM_H
#include "engine/graph/op.h"

/* The axis of the output that has the label of that axis of input i; -1 where it is summed or is a
 * diagonal. ranks: of all inputs of the node. */
int einsum_output_axis(const struct node *n, const int *ranks, unsigned i, int axis);

/* Two inputs with one summed label, that either has once: its axes. False: the equation is another.
 */
bool einsum_summed(const struct node *n, const int *ranks, int ret_axis[2]);

/* How many products the node sums: the sizes of all labels multiplied. in: shapes. False where the
 * equation does not fit them. */
bool einsum_loops(const struct node *n, const struct tensor *in, uint64_t *ret);
#endif
