/* SPDX-License-Identifier: MIT */
/* choose.h - the pulse of a plan that was asked for none. */
#ifndef RILL_LIB_CHOOSE_H
#define RILL_LIB_CHOOSE_H
#include "lib/plan_internal.h"

#define PULSE_BUDGET_MS 20 /* unless asked */

/* The pulse, in frames of the stream symbol, that takes little effort a frame and lasts no longer
 * than budget_ms (0: PULSE_BUDGET_MS): the shortest of the smallest legal one and its doubles that
 * takes at most a quarter more than the best of them. From sizes alone: the same on every machine.
 * The smallest legal one where the model states no rate. `least` is the graph cut for that. */
rill_status pulse_choose(const rill_plan *p, const struct pgraph *least, uint32_t budget_ms,
                         int64_t *ret, rill_error *err);
#endif
