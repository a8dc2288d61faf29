/* SPDX-License-Identifier: MIT */
/* late_slice.h - a Slice of one axis that begins where data says and has a size that it does not.
 */
#ifndef RILL_ENGINE_TYPING_LATE_SLICE_H
#define RILL_ENGINE_TYPING_LATE_SLICE_H
#include "engine/graph/op.h"

/* *ret_done: n, whose inputs are `in` in g, is such a Slice (its end is its start and a constant,
 * its step 1) and stands in g as a Gather whose output is *ret. A start below 0 and an end behind
 * the last place, which would make it shorter, stop the run as any index does that is outside. */
rill_status late_slice(struct graph *g, const struct node *n, const char *name, const uint32_t *in,
                       uint32_t *ret, bool *ret_done, rill_error *reterr);
#endif
