/* SPDX-License-Identifier: MIT */
/* conv_flat.h - convolutions of one output a group over rows much shorter than a vector: lanes
 * along the places of all rows. Rows of a single place are turned first. */
#ifndef RILL_ENGINE_OPS_CONV_FLAT_H
#define RILL_ENGINE_OPS_CONV_FLAT_H
#include "engine/graph/op.h"
#include "engine/ops/window.h"

struct conv_flat {
    struct kern_flat f;
    struct kern_strided_copy turn; /* of the channels of a group */
    bool turned;                   /* it is needed */
};

/* Rows are short, and there are several, but not so many that masks fill the first cache; places of
 * the input are those of the output, row by row, or each row of the output is one place. cin:
 * channels of a group. */
bool conv_flat_fits(const struct window3 *g, int64_t cin);

/* NULL: no memory. */
struct conv_flat *conv_flat_new(struct arena *a, const struct window3 *g, int64_t cin);

/* Floats that n groups want where they are turned. */
size_t conv_flat_room(const struct conv_flat *c, int64_t n);

/* n groups; packed as kern_conv_pack_f32 does. */
void conv_flat_run(const struct conv_flat *c, const struct kern *kern, size_t n, float *y,
                   const float *x, const float *packed, const float *bias, float *room);
#endif
