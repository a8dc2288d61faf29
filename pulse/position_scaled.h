/* SPDX-License-Identifier: MIT */
/* position_scaled.h - positions that a type rounds: frames of 0.01 seconds, thirds that are
 * subtracted.
 *
 * Such a wire has no expression, but is known to be nearly a number of times another that has one
 * (positions.h: scaled), so that a comparison with what lies far enough from all of those is known
 * for as many frames as are on one axis of a mask at most, PLACES_SCALED. */
#ifndef RILL_PULSE_POSITION_SCALED_H
#define RILL_PULSE_POSITION_SCALED_H
#include "pulse/position_moves.h"

#define PLACES_SCALED ((int64_t) 1 << 18) /* a mask of more would be of 2^36 elements */

/* What the node's output, a float without an expression, nearly is; e NULL: not known. */
struct position position_scaled(const struct walk *w, const struct node *n, int rank);

/* Of a comparison of such a one with a constant; e NULL: it is another node, or rounding may
 * decide. */
struct position scaled_compared(const struct walk *w, const struct node *n, int rank);
#endif
