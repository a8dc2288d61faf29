/* SPDX-License-Identifier: MIT */
/* within.h - comparisons of coordinates with the length: a coordinate is less than its axis is
 * long. */
#ifndef RILL_PULSE_WITHIN_H
#define RILL_PULSE_WITHIN_H
#include "pulse/positions.h"

/* Of truth values. */
const struct dim *truth_or(struct dims *ds, const struct dim *a, const struct dim *b);
bool truth_is(const struct dim *e); /* comparisons, several of them, or what they are not */

/* Whether a >= b: of the least or largest of what the length is among, each is compared. */
const struct dim *within_ge(const struct positions *ps, const struct dim *a, const struct dim *b);

/* Whether a == b: what is clipped and then compared with what it was tells distances by the parts
 * of which it is the least or largest, not as a whole. */
const struct dim *within_eq(struct dims *ds, const struct dim *a, const struct dim *b);

/* e, an element of a wire of these sizes (NULL: not known), with the comparisons that its axes
 * decide. */
const struct dim *within_axes(const struct positions *ps, const struct dim *e,
                              const struct dim *const *size, int rank);
#endif
