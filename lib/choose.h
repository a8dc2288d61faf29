/* SPDX-License-Identifier: MIT */
/* choose.h - the pulse of a plan that was asked for none. */
#ifndef RILL_LIB_CHOOSE_H
#define RILL_LIB_CHOOSE_H
#include "lib/plan_internal.h"

#define PULSE_BUDGET_MS 20 /* unless asked */

struct pulse_choice {
    const rill_model *model;
    uint32_t asked_frames;
    uint32_t budget_ms; /* 0: as the model says, or PULSE_BUDGET_MS */
    const struct pulse_opts *opts;
};

/* pgraph_from_dgraph for the model's symbol and the pulse asked for, or, where none is, for the one
 * that takes little effort a frame and lasts no longer than budget_ms: the shortest of the smallest
 * legal one and its doubles that takes at most a quarter more than the best of them. From sizes
 * alone: the same on every machine. The smallest legal one where the model states no rate. */
rill_status pgraph_chosen(struct pgraph *ret, const struct dgraph *t, const struct pulse_choice *c,
                          struct arena *a, rill_error *err);
#endif
