/* SPDX-License-Identifier: MIT */
/* length_mask.h - frame numbers compared with a length that is computed of the sequence's, as masks
 * of padded frames are written (`arange(frames) < lengths // 2`): which frames lie in a sequence of
 * that length is known once its end is. */
#ifndef RILL_PULSE_LENGTH_MASK_H
#define RILL_PULSE_LENGTH_MASK_H
#include "pulse/pulser.h"

bool length_mask_is(const struct pulser *p, const struct node *n);
/* Of a node that is one. Refused where the length does not grow as the frames do. */
pulse_rule rule_length_mask;
#endif
