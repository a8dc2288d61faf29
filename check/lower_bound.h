/* SPDX-License-Identifier: MIT */
/* lower_bound.h - how late outputs must be, found without the rules that stream them.
 *
 * An output frame that becomes another where the input frames from the start of a run on are
 * others, or are not there, cannot come in a run before. It is seen on whole runs of the
 * interpreter: at a few runs, so a stream may have to be later, but none can be earlier. */
#ifndef RILL_CHECK_LOWER_BOUND_H
#define RILL_CHECK_LOWER_BOUND_H
#include "engine/graph/pulsed.h"

#define BOUND_COST_MAX 2e9 /* multiply-adds of all whole runs */

/* ret: of each output of t its least delay in its own frames at the pulse of g; -1 of one that does
 * not stream, or that no input frame changes. LIMIT: it would cost more than BOUND_COST_MAX,
 * or a whole run more than 128 MiB.
 * UNSUPPORTED: no length that is long enough runs. */
rill_status delay_bounds(const struct pgraph *g, const struct graph *t, int64_t *ret,
                         rill_error *reterr);
#endif
