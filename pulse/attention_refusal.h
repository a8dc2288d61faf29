/* SPDX-License-Identifier: MIT */
/* attention_refusal.h - why scores of attention over time do not stream, and what would. */
#ifndef RILL_PULSE_ATTENTION_REFUSAL_H
#define RILL_PULSE_ATTENTION_REFUSAL_H
#include "pulse/sections.h"

/* Of masks that cannot be looked at. */
#define MASKS_COST                                                                                 \
    "the masks of the graph are too many, or their chunks too large, to find out which keys each " \
    "shows; the same mask for all layers, or smaller chunks, would do"

/* n multiplies or joins every frame with every frame; why: what is missing. */
rill_status scores_refuse(const struct pulser *p, const struct node *n, const char *why);

/* n cannot be in a section. */
rill_status stuck_refuse(const struct pulser *p, const struct node *n);

/* Along that axis of input i what a mask has hidden would show. */
rill_status shown_refuse(const struct pulser *p, const struct node *n, int axis, unsigned i);

/* Refuses the first node of a section that has no window. */
rill_status section_check(const struct pulser *p, const struct node *n, const struct section *s);
#endif
