/* SPDX-License-Identifier: MIT */
/* matmul_narrow.h - MatMulNarrow: rows times a matrix whose weights are kept in fewer bytes than
 * floats, to the bits of MatMul with the numbers that they stand for (kernels/narrow.h).
 * ConvNarrow: the same of images that are a row each, [N, C, places..], for channels of one place.
 * Of several matrices each has a row of its own: w is [k, matrices * n], i8 without zeros, n a
 * multiple of 16.
 *
 * Inputs: x; w [k, n] of f16, bf16, i8 or u4; of whole numbers their scales [blocks, n] and, of
 * their type, zeros [blocks, n] (u4 always, i8 where they are not all 0); a bias [n] that sums
 * start from. All but x and the bias are constant. */
#ifndef RILL_ENGINE_OPS_MATMUL_NARROW_H
#define RILL_ENGINE_OPS_MATMUL_NARROW_H
#include "engine/graph/op.h"

enum { NARROW_X, NARROW_W, NARROW_SCALE, NARROW_ZERO, NARROW_BIAS, NARROW_EPILOGUE };

struct matmul_narrow_attr {
    int64_t block;    /* terms that share a scale; even of u4; 0: all */
    int64_t matrices; /* 0: one, for all rows */
    struct attr_ints epilogue;
};

extern const struct op op_matmul_narrow, op_conv_narrow;
#endif
