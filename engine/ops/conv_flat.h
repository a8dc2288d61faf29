/* SPDX-License-Identifier: MIT */
/* conv_flat.h - convolutions of one output a group, or of one group, over rows shorter than a
 * vector: lanes along the places of all rows. Rows of a single place are turned first, every place
 * of a stride apart; rows shorter than those of the input are computed as long as these are. */
#ifndef RILL_ENGINE_OPS_CONV_FLAT_H
#define RILL_ENGINE_OPS_CONV_FLAT_H
#include "engine/graph/op.h"
#include "engine/ops/window.h"

struct conv_flat {
    struct kern_flat f;
    struct kern_strided_copy turn, cut; /* of the channels of a group, and of outputs */
    bool turned, wide;                  /* which of them are needed */
};

/* Rows are short, and there are several, but not so many that masks fill the first cache. cin:
 * channels of a group. */
bool conv_flat_fits(const struct window3 *g, int64_t cin);

/* Vectors of places. */
int64_t conv_flat_vecs(const struct window3 *g);

/* one: all outputs read the same input. NULL: no memory. */
struct conv_flat *conv_flat_new(struct arena *a, const struct window3 *g, int64_t cin, bool one);

/* Floats that n outputs want. */
size_t conv_flat_room(const struct conv_flat *c, int64_t n);

/* n outputs; packed: their weights one after the other. */
void conv_flat_run(const struct conv_flat *c, const struct kern *kern, size_t n, float *y,
                   const float *x, const float *packed, const float *bias, float *room);
#endif
