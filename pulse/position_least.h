/* SPDX-License-Identifier: MIT */
/* position_least.h - whether what positions make is true all along an axis.
 *
 * Each comparison of coordinates turns once along an axis, so all of it is true where it is at the
 * end at which that is least likely: of a mask, whether a query sees all keys says the last key,
 * and so the length. */
#ifndef RILL_PULSE_POSITION_LEAST_H
#define RILL_PULSE_POSITION_LEAST_H
#include "pulse/positions.h"

/* Of a ReduceMin or ReduceProd of truths; .e is NULL: it is something else. */
struct position position_least(const struct positions *ps, const struct graph *g,
                               const struct dim *symbol, const struct node *n);
#endif
