/* SPDX-License-Identifier: MIT */
/* extremes.h - the least, the largest and the product of a mask of positions along its keys:
 * whether a query sees all keys, or any.
 *
 * Where the mask has its least number (its largest) at a key that each query surely has, that of
 * its own frame, or one so many further on where the keys are so many more, that number comes out
 * for each query, whatever the length: a constant. Elsewhere, of zeros and ones, the largest is
 * their sum or 1, what is less, and the least is 1 less the largest of what each lacks of 1: a sum
 * of what is 0 far from a query streams as other sums of masks do, at both ends of the sequence. */
#ifndef RILL_PULSE_EXTREMES_H
#define RILL_PULSE_EXTREMES_H
#include "pulse/placed_edit.h"

/* Of one node; what is made lives in the graph's arena. */
rill_status extreme_look(struct placed_edit *c, uint32_t at);
#endif
