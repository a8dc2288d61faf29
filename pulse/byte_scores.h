/* SPDX-License-Identifier: MIT */
/* byte_scores.h - scores and weights of attention that were quantised. What was 0 is the zero of
 * the bytes, and 0 again where they are dequantised or summed less that zero. */
#ifndef RILL_PULSE_BYTE_SCORES_H
#define RILL_PULSE_BYTE_SCORES_H
#include "pulse/pulser.h"
#include "pulse/sizes.h"

bool node_quantises(const struct node *n); /* or dequantises */

/* The QuantizeLinear whose bytes the wire holds, moved at most since; NULL: there is none, or its
 * zero is not one known number. */
const struct node *bytes_quantiser(const struct pulser *p, uint32_t src_wire, double *ret_zero);

/* Input i of n, which may be absent, as a known number; false: it is none, or several. */
bool bytes_zero(const struct pulser *p, const struct node *n, unsigned i, double *ret);

/* That QuantizeLinear, if its zero is that; the axes of the wire become those of what it quantises.
 */
const struct node *bytes_source(const struct pulser *p, uint32_t src_wire, double zero, int *query,
                                int *key);

/* Whether all that counts of a QuantizeLinear's bytes was a number at every query, where each sees
 * some of the scores *ret_seen, on whose axes the two lie then; WIRE_NONE: whatever they see. */
bool quantises_numbers(const struct pulser *p, const struct node *quantiser,
                       const struct size *sizes, int *query, int *key, uint32_t *ret_seen);
#endif
