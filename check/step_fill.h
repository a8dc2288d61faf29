/* SPDX-License-Identifier: MIT */
/* step_fill.h - constants in the place of inputs whose size grows with the states, as an attention
 * mask over all that was heard. */
#ifndef RILL_CHECK_STEP_FILL_H
#define RILL_CHECK_STEP_FILL_H
#include "check/step_model.h"

/* Whether a constant of that shape has no size of its own. */
bool step_fill_waits(const struct step_decl *d, const struct fact *f);

/* The wire is whether that one has a frame along the axis. The caller sorts g. */
rill_status step_fill_any_frame(struct graph *g, uint32_t wire, uint32_t of, int axis,
                                rill_error *reterr);

/* Once the states are those of g: what waits is made of their sizes in every run. */
rill_status step_fills_apply(struct graph *g, const struct step_decl *d, rill_error *reterr);
#endif
