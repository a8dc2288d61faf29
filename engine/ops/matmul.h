/* SPDX-License-Identifier: MIT */
/* matmul.h - the shapes of matrix products with broadcast batches. */
#ifndef RILL_ENGINE_OPS_MATMUL_H
#define RILL_ENGINE_OPS_MATMUL_H
#include "engine/graph/op.h"

/* m x k times k x n, for each of the batches. */
struct matmul_shape {
    int64_t m, n, k, batches;
    int rank;                                          /* of the batch */
    int64_t dim[RANK_MAX], sa[RANK_MAX], sb[RANK_MAX]; /* strides in matrices, 0 where broadcast */
};

/* The output of inputs 0 and 1, whatever their types. */
rill_status matmul_shape_infer(struct infer *c, enum dtype type);
void matmul_shape_set(struct matmul_shape *ret, const struct tensor *a, const struct tensor *b,
                      const struct tensor *y);
/* One matrix for all rows of the batch: one taller product. */
void matmul_rows_join(struct matmul_shape *g);
/* Which matrices batch i multiplies. */
void matmul_batch(const struct matmul_shape *g, int64_t i, int64_t *ret_a, int64_t *ret_b);
#endif
