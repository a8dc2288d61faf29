/* SPDX-License-Identifier: MIT */
/* conv_flat.h - convolutions of one output a group over rows much shorter than a vector: lanes
 * along the places of all rows. */
#ifndef RILL_ENGINE_OPS_CONV_FLAT_H
#define RILL_ENGINE_OPS_CONV_FLAT_H
#include "engine/graph/op.h"
#include "engine/ops/window.h"

/* Places of the input are those of the output, row by row, rows are short, and there are several,
 * but not so many that masks fill the first cache. cin: channels of a group. */
bool conv_flat_fits(const struct window3 *g, int64_t cin);

/* Of one group; NULL: no memory. */
struct kern_flat *conv_flat_new(struct arena *a, const struct window3 *g, int64_t cin);
#endif
