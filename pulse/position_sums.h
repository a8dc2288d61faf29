/* SPDX-License-Identifier: MIT */
/* position_sums.h - sums of floats that positions make, compared with a constant.
 *
 * Each summand is one of two numbers, 0 or -1e9 where a mask hides, say; of many of them the sum is
 * one of more numbers than can be told, but whether any of them is the low one can. */
#ifndef RILL_PULSE_POSITION_SUMS_H
#define RILL_PULSE_POSITION_SUMS_H
#include "pulse/positions.h"

/* Of a comparison of such a sum that says whether all summands are high, or all low; .e is NULL: it
 * is something else. */
struct position position_sum_compared(const struct positions *ps, const struct graph *g,
                                      const struct node *n);
#endif
