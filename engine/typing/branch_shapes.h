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
#endif
