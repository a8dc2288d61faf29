/* SPDX-License-Identifier: MIT */
/* arrays.h - what a bare net is calibrated with: an array for each of some inputs, by name, with an
 * axis of steps in front, or of one step, which is then that of all. */
#ifndef RILL_TOOLS_QUANTIZE_ARRAYS_H
#define RILL_TOOLS_QUANTIZE_ARRAYS_H
#include "engine/graph/graph.h"
#include "models/npz.h"

/* Each of them is of an input of the net. */
rill_status arrays_check(const struct npz *given, const struct graph *g, rill_error *reterr);

/* Sizes of an input that are open become those of its array, if it has one. */
void arrays_shape(const struct npz *given, const char *input, struct dims *ds, struct fact *f);

/* How many steps they are, 0 where there are none: INVALID where they differ, or where one is of
 * another type or size than the net's input, whose sizes are known. */
rill_status arrays_steps(const struct npz *given, const struct graph *g, unsigned *ret,
                         rill_error *reterr);

/* The array of an input at a step, which borrows; data NULL: it has none. */
struct tensor arrays_at(const struct npz *given, const struct wire *input, unsigned step);
#endif
