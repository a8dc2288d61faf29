/* SPDX-License-Identifier: MIT */
/* passes.h - the passes of settle.c, one graph at a time (struct pass of engine/rewrite/pass.h),
 * and layer fusion, which comes before them. */
#ifndef RILL_ENGINE_REWRITE_SETTLE_PASSES_H
#define RILL_ENGINE_REWRITE_SETTLE_PASSES_H
#include "engine/graph/graph.h"

/* Layer fusion: convolutions along time over a few frames and what stands between them become one
 * Fused (engine/ops/fused.h) where that pays. Sizes must be known. */
rill_status graph_with_layers_fused(struct graph *ret, const struct graph *g, rill_error *reterr);

/* Nodes that read constants alone, and give no more than 4 MiB, become constants. */
rill_status graph_with_constants_folded(struct graph *ret, const struct graph *g,
                                        rill_error *reterr);

/* A DequantizeLinear of what a QuantizeLinear of 8 or 16 bits made by the same scale and zero,
 * directly or through ops that only move elements, becomes a division, a RoundS8 or RoundS16 and a
 * product by the scale, which the passes below know: the same numbers. They stand where the numbers
 * are made, before what puts them together, and what was rounded to the same numbers before is left
 * as it is. */
rill_status graph_with_pairs_rounded(struct graph *ret, const struct graph *g, rill_error *reterr);

/* Products of rows by large matrices of known weights that are halves, or were dequantised from
 * integers of up to 8 bits, become MatMulNarrow, which keeps them so; convolutions of a single
 * place ConvNarrow. */
rill_status graph_with_narrow_products(struct graph *ret, const struct graph *g,
                                       rill_error *reterr);

/* Convolutions of known weights that read one tensor with the same geometry become one with the
 * outputs of all. Sizes must be known. */
rill_status graph_with_siblings_fused(struct graph *ret, const struct graph *g, rill_error *reterr);

/* A convolution, also a transposed one, whose dilated kernel sees one place along an axis reads
 * only the places under its taps: the input is sliced by the dilation. Sizes must be known. */
rill_status graph_with_dilations_sliced(struct graph *ret, const struct graph *g,
                                        rill_error *reterr);

/* Chains of ops that only move elements (Transpose, Slice, Gather, Concat, Pad, ScatterND of
 * constant places...) become one StridedCopy for each tensor that anybody reads: what is between is
 * gone. Updates of states come last, so that they may happen in place. Sizes must be known. */
rill_status graph_with_strided_copies(struct graph *ret, const struct graph *g, rill_error *reterr);

/* What is rounded to a grid only for StridedCopies to read is rounded as they move it. */
rill_status graph_with_copies_rounded(struct graph *ret, const struct graph *g, rill_error *reterr);

/* Numbers of a state that lie on a grid already are not rounded to it by the copies that read them.
 */
rill_status graph_with_steady_states(struct graph *ret, const struct graph *g, rill_error *reterr);

/* Moves f32 elements between tensors of known sizes by constants alone. */
bool node_moves_elements(const struct graph *g, const struct node *n);

/* Products of 8-bit numbers whose sums are biased, scaled and quantised, each once and by nobody
 * else, give bytes. */
rill_status graph_with_byte_sums(struct graph *ret, const struct graph *g, rill_error *reterr);

/* Functions of bytes that products made, dequantised for them and quantised behind them, become
 * tables. */
rill_status graph_with_byte_tables(struct graph *ret, const struct graph *g, rill_error *reterr);

/* Convolutions that give bytes and follow each other become ones with their channels last, and so
 * does what stands between them. Sizes must be known. */
rill_status graph_with_channels_last(struct graph *ret, const struct graph *g, rill_error *reterr);
/* The same of f32, of one place or one output a channel, by ConvLast (engine/ops/conv_last.h). */
rill_status graph_with_floats_channels_last(struct graph *ret, const struct graph *g,
                                            rill_error *reterr);

/* Products of 8-bit numbers whose sums only a Cast to f32 reads give floats. */
rill_status graph_with_float_sums(struct graph *ret, const struct graph *g, rill_error *reterr);

/* BatchNormalizations of known numbers behind other steps of programs become products and sums. */
rill_status graph_with_batch_norms(struct graph *ret, const struct graph *g, rill_error *reterr);

/* LeakyRelus of f32 become PRelus of a constant slope, which the passes below know. */
rill_status graph_with_prelus(struct graph *ret, const struct graph *g, rill_error *reterr);

/* Element-wise ops behind a convolution, a product or a cell that nobody else reads become its
 * epilogue (engine/ops/epilogue.h). Sizes must be known. */
rill_status graph_with_epilogues_fused(struct graph *ret, const struct graph *g,
                                       rill_error *reterr);

/* Element-wise nodes that read each other's results become one Fused. Sizes must be known. */
rill_status graph_with_elements_fused(struct graph *ret, const struct graph *g, rill_error *reterr);
#endif
