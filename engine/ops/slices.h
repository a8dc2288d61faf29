/* SPDX-License-Identifier: MIT */
/* slices.h - shares of nodes that compute each place of an outer axis from that place alone: slices
 * of their tensors, which are prepared as tensors of their own. */
#ifndef RILL_ENGINE_OPS_SLICES_H
#define RILL_ENGINE_OPS_SLICES_H
#include "engine/graph/op.h"

/* As divide of struct op. Element-wise with broadcasting: */
rill_status slices_of_all(struct prep *c, unsigned most, struct shares *ret);
/* Of an op that keeps the axes before `axis` of its first input; the other inputs are whole. */
rill_status slices_before(struct prep *c, int axis, unsigned most, struct shares *ret);
#endif
