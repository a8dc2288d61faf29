/* SPDX-License-Identifier: MIT */
/* branch_shapes.h - branches of an If that give an output different shapes. */
#ifndef RILL_ENGINE_BRANCH_SHAPES_H
#define RILL_ENGINE_BRANCH_SHAPES_H
#include "engine/graph/graph.h"

/* UNSUPPORTED, with both shapes, and the lengths at which they are the same, or at which the
 * condition is known, where such are seen. cond: a value of one length that is told, or NULL. */
rill_status branch_shapes_refuse(struct dims *ds, const struct node *n, unsigned output,
                                 const struct fact *then_gives, const struct fact *else_gives,
                                 const struct tensor *cond, rill_error *err);

/* Status s of a branch that could not be typed, as the lengths that it makes sizes of are told at
 * the end only; or UNSUPPORTED, with the lengths for which the condition is known, where such are
 * seen. */
rill_status branch_untyped(struct dims *ds, const struct node *n, const struct tensor *cond,
                           rill_status s, rill_error *err);
#endif
