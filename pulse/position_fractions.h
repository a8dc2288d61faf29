/* SPDX-License-Identifier: MIT */
/* position_fractions.h - comparisons of positions, also with what lies between two of them.
 *
 * A float that is a whole number over a power of two is as exact as that number, so halves of
 * positions are added and compared as whole numbers are; with any other constant a comparison asks
 * for the next whole number above or below it. */
#ifndef RILL_PULSE_POSITION_FRACTIONS_H
#define RILL_PULSE_POSITION_FRACTIONS_H
#include "engine/graph/op.h"
#include "pulse/positions.h"

#define PARTS_MAX 4096 /* of a quotient of floats */

/* Less, greater, or equal too. */
bool position_orders(enum op_id op);

/* Whether it holds of whole numbers. */
const struct dim *positions_ordered(const struct positions *ps, enum op_id op, const struct dim *a,
                                    const struct dim *b);

/* The whole number that stands for a constant beside whole numbers, on that side of the comparison;
 * .e is NULL: it is none, or too large. */
struct position position_bound(const struct positions *ps, enum op_id op,
                               const struct position *constant, bool right);

/* Sums, differences and comparisons of floats of which one is no whole number, products, and
 * quotients by a constant; all others: .e is NULL. */
struct position position_fractions(const struct positions *ps, enum op_id op,
                                   const struct position *a, const struct position *b);

/* The whole number next to x, of two the even one; NULL: that x is rounded may decide. */
const struct dim *position_nearest(const struct positions *ps, const struct position *x);
#endif
