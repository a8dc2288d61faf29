/* SPDX-License-Identifier: MIT */
/* view.h - copies between two layouts of the same elements: transposes, slices, joins, tiles. */
#ifndef RILL_ENGINE_OPS_VIEW_H
#define RILL_ENGINE_OPS_VIEW_H
#include "engine/graph/op.h"

struct view_copy {
    int rank; /* after merging what lies in a row on both sides */
    int64_t dim[RANK_MAX + 1];
    int64_t from[RANK_MAX + 1],
        to[RANK_MAX + 1];   /* strides in elements; 0 repeats, negative walks back */
    int64_t from_at, to_at; /* offset of the first element */
    size_t bytes;           /* of an element: 1, 2, 4 or 8 */
};

/* rank at most RANK_MAX + 1. */
void view_copy_init(struct view_copy *v, int rank, const int64_t *dim, const int64_t *from,
                    const int64_t *to, size_t bytes);
void view_copy_run(const struct view_copy *v, void *to, const void *from);
void view_copy_eval(const struct eval *e); /* of an op whose args are a copy: of input 0 */
#endif
