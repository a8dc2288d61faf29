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

/* Adds to the error about a port that is no f32 how the model does without: an input may be the
 * length of another, an output is left away. g: typed; symbol: time. */
void refusal_of_port(rill_error *err, const struct graph *g, const struct dim *symbol,
                     uint32_t port_wire, bool is_input);
#endif
