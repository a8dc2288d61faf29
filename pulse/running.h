/* SPDX-License-Identifier: MIT */
/* running.h - linear attention over all frames so far as a sum that runs along them.
 *
 * Products of queries and keys that no softmax reads, 0 where the key is behind the query, and
 * summed with values over the keys, are q(i) * (k(0) v(0) + .. + k(i) v(i)): a Scan over frames
 * whose state is that sum. Weights of the keys that fall by a number to the power of their distance
 * are a factor of the state in each step. */
#ifndef RILL_PULSE_RUNNING_H
#define RILL_PULSE_RUNNING_H
#include "engine/graph/graph.h"

/* What is made lives in g's arena. Changes how results round, and does where time is a symbol, the
 * same for every pulse. */
rill_status graph_with_running_sums(struct graph *ret, const struct graph *g, rill_error *reterr);
#endif
