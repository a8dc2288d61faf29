/* SPDX-License-Identifier: MIT */
/* counts.h - where a graph counts frames in numbers that end: f32 is exact up to 2^24, i32 wraps at
 * 2^31, narrower types earlier. */
#ifndef RILL_CHECK_COUNTS_H
#define RILL_CHECK_COUNTS_H
#include "lib/model.h"

#include <stdio.h>

/* A line for each node that counts frames of the model's stream in such a type, the first along its
 * wires, and does so while the stream runs; with the time after which the count leaves the type's
 * whole numbers, where the model states a rate. */
rill_status counts_print(FILE *to, const rill_model *m, rill_error *reterr);
#endif
