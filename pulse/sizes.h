/* SPDX-License-Identifier: MIT */
/* sizes.h - between which numbers a wire lies, where scores and data are of usual size. */
#ifndef RILL_PULSE_SIZES_H
#define RILL_PULSE_SIZES_H
#include "engine/graph/graph.h"

#define SIZE_USUAL 16.0 /* of scores and data, to both sides of 0 */

struct size {
    double low, high; /* infinite: without a bound, or not a number */
};

struct size size_of_constant(const struct tensor *v);
/* Of what node n makes of inputs of such sizes, n_in of them. */
struct size size_made(const struct graph *g, const struct node *n, const struct size *in);

/* One per wire of g; lives in a; NULL: no memory. */
struct size *sizes_find(const struct graph *g, struct arena *a);
#endif
