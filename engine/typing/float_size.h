/* SPDX-License-Identifier: MIT */
/* float_size.h - sizes that go through floats: exporters write ceil(T / 2) as Cast, Div, Ceil and
 * Cast back, which is a size again. */
#ifndef RILL_ENGINE_TYPING_FLOAT_SIZE_H
#define RILL_ENGINE_TYPING_FLOAT_SIZE_H
#include "engine/graph/graph.h"

/* What n, a Cast to i64 or i32 of wire in[0] of g, gives where that is made of symbolic sizes by
 * sums, products with numbers, roundings and the like: DIM. NULL: it is made of something else, or
 * there is no memory. */
const struct tensor *float_size_cast(const struct graph *g, const struct node *n,
                                     const uint32_t *in, struct arena *a);

/* RILL_UNSUPPORTED where `reader` could not be typed because a symbolic size became another kind of
 * number on its way to that wire: with words about a product with a float that is no ratio of whole
 * numbers, or, in front of those that are there, about the node where it became one. */
rill_status float_size_blame(const struct graph *g, uint32_t wire, const struct node *reader,
                             struct arena *a, rill_error *reterr);

/* A Range of floats takes whole sizes as they are: in[] of such become constants of g. */
rill_status float_size_range(struct graph *g, const struct node *n, uint32_t *in,
                             rill_error *reterr);
#endif
