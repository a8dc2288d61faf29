/* SPDX-License-Identifier: MIT */
/* counts.h - how many keys a triangle shows a query, as a count that runs along.
 *
 * The sum over the keys of a mask that is 1 up to the query's own frame, or the one before it, and
 * 0 behind is what divides means over all frames so far; the mask itself has time on two axes. It
 * is the sum of ones along the queries. */
#ifndef RILL_PULSE_COUNTS_H
#define RILL_PULSE_COUNTS_H
#include "engine/graph/graph.h"

/* What is made lives in g's arena. Sums of more than 2^24 keys may round otherwise. */
rill_status graph_with_masks_counted(struct graph *ret, const struct graph *g, rill_error *reterr);
#endif
