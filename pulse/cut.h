/* SPDX-License-Identifier: MIT */
/* cut.h - a decluttered graph cut for one pulse. The error of a refusal is that of the node where
 * the walk stopped; refusal_explain says what is behind it. */
#ifndef RILL_PULSE_CUT_H
#define RILL_PULSE_CUT_H
#include "pulse/pulser.h"
#include "pulse/pulsify.h"

/* pgraph_from_dgraph with the words of the walk itself; ret_p: the pulser as it ended, its maps in
 * a. */
rill_status pgraph_cut(struct pgraph *ret, const struct dgraph *t, const struct dim *symbol,
                       int64_t pulse, const struct pulse_opts *opts, struct arena *a,
                       struct pulser *ret_p, rill_error *reterr);
#endif
