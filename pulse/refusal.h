/* SPDX-License-Identifier: MIT */
/* refusal.h - what to blame for a graph that does not stream.
 *
 * The pulser stops at the first node that it cannot cut. That one may only prepare what another
 * asks for: a Reshape for a normalisation over groups, a length for the mean of a whole recording.
 * And outputs that nobody needs may be all that stands in the way. */
#ifndef RILL_PULSE_REFUSAL_H
#define RILL_PULSE_REFUSAL_H
#include "pulse/pulser.h"

/* Rewrites the error of a walk that was refused: the node that is to blame in the place of the one
 * that it stopped at, and outputs that would stream, where there are any. */
void refusal_explain(const struct pulser *stopped, const struct dgraph *t);
#endif
