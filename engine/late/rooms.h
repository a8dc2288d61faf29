/* SPDX-License-Identifier: MIT */
/* rooms.h - plans of a step whose states grow, one for each room: 16 frames, and twice as many from
 * one to the next, up to what is reserved.
 *
 * They are made with the plan of the step. A run makes none then and allocates nothing. */
#ifndef RILL_ENGINE_LATE_ROOMS_H
#define RILL_ENGINE_LATE_ROOMS_H
#include "engine/late/carry.h"
#include "engine/late/late.h"

struct rooms;

/* g: its last inputs and outputs are the states; facts: of the inputs in front of them. *ret NULL
 * and OK: for this graph there are none (engine/late/padded.h). It uses the packed weights of
 * `packs`, which lives longer, and memory of g's arena. */
rill_status rooms_new(struct rooms **ret, const struct graph *g, const struct carry *states,
                      const struct fact *facts, const struct late_opts *opts, rill_error *reterr);
struct rooms *rooms_free(struct rooms *r); /* takes and returns NULL */

/* Makes the plans of all rooms up to what is reserved, as far as memory has them. */
rill_status rooms_prepare(struct rooms *r, rill_error *reterr);

/* Whether the states are of a form that rooms have: as many frames each. */
bool rooms_fit(const struct rooms *r, const struct size_source *inputs);

/* As late_run, for inputs that fit. */
rill_status rooms_run(struct rooms *r, const struct size_source *inputs,
                      const struct tensor **ret_outputs, rill_error *reterr);

void rooms_count(const struct rooms *r, struct late_counts *ret); /* added; r may be NULL */
#endif
