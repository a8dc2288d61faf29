/* SPDX-License-Identifier: MIT */
/* position_windows.h - counts of what a window of a mask shows: how pad masks go through
 * convolutions (ones in front of which zeros are padded, convolved with ones, above 0). */
#ifndef RILL_PULSE_POSITION_WINDOWS_H
#define RILL_PULSE_POSITION_WINDOWS_H
#include "pulse/positions.h"

/* x: that of input 0, in whole numbers; e NULL: not a function of positions that is known. */

/* Of a Pad by one whole number in front alone: it before so many places, x behind them. */
struct position position_padded(const struct positions *ps, const struct graph *g,
                                const struct node *n, struct position x);

/* Of a Conv of one channel, padded in front alone, with whole weights from 0 on and of numbers from
 * 0 on: the sum that its taps see, exact in any order. */
struct position position_convolved(const struct positions *ps, const struct graph *g,
                                   const struct node *n, struct position x);
#endif
