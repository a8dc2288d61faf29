/* SPDX-License-Identifier: MIT */
/* rewrite.h - the passes of engine/rewrite/passes.c, one graph at a time: bodies are walked there.
 * What is made lives in g's arena; ret may not be g. Dead nodes and wires are left for pruning. */
#ifndef RILL_ENGINE_REWRITE_REWRITE_H
#define RILL_ENGINE_REWRITE_REWRITE_H
#include "engine/graph/graph.h"

/* Chains of ops that only move elements (Transpose, Slice, Gather, Concat, Pad, ScatterND of
 * constant places...) become one Move for each tensor that anybody reads: what is between is gone.
 * Updates of states come last, so that they may happen in place. Sizes must be known. */
rill_status graph_with_moves(struct graph *ret, const struct graph *g, rill_error *reterr);

/* Moves f32 elements between tensors of known sizes by constants alone. */
bool node_is_mover(const struct graph *g, const struct node *n);

/* A batch normalisation of known statistics after a convolution of known weights that nobody else
 * reads goes into those weights, computed in f64. Changes how results round. */
rill_status graph_with_norms_folded(struct graph *ret, const struct graph *g, rill_error *reterr);

/* A convolution, also a transposed one, whose dilated kernel sees one place along an axis reads
 * only the places under its taps: the input is sliced by the dilation. Sizes must be known. */
rill_status graph_with_rows_picked(struct graph *ret, const struct graph *g, rill_error *reterr);

/* Element-wise ops behind a convolution or a product that nobody else reads become stages of it
 * (engine/ops/then.h). Sizes must be known. */
rill_status graph_with_stages_joined(struct graph *ret, const struct graph *g, rill_error *reterr);

/* Work of Scan bodies that needs no state leaves them: products of scanned inputs become one for
 * all iterations, and so do products of what is stacked; what is the same in all iterations is
 * computed once. */
rill_status graph_with_scans_hoisted(struct graph *ret, const struct graph *g, rill_error *reterr);

/* Layer normalisations written out as means, differences, roots and quotients become
 * LayerNormalization. Changes how results round. */
rill_status graph_with_norms_recognised(struct graph *ret, const struct graph *g,
                                        rill_error *reterr);

/* Steps of an LSTM or GRU written out become the op, and so do Scans over steps of an LSTM, GRU or
 * RNN; what else the body did stays in a Scan without states. Weights must be known. Changes how
 * results round. */
rill_status graph_with_cells_recognised(struct graph *ret, const struct graph *g,
                                        rill_error *reterr);

/* Element-wise nodes that read each other's results become one Chain. Sizes must be known. */
rill_status graph_with_chains(struct graph *ret, const struct graph *g, rill_error *reterr);

/* Convolutions of known weights that read one tensor with the same geometry become one with the
 * outputs of all. Sizes must be known. */
rill_status graph_with_twins_joined(struct graph *ret, const struct graph *g, rill_error *reterr);

/* A convolution over one axis whose weights are those of a windowed Fourier transform of one real
 * channel becomes an STFT, unless a logarithm takes its bins. Changes how results round. */
rill_status graph_with_dfts_recognised(struct graph *ret, const struct graph *g,
                                       rill_error *reterr);

/* Zeros that a Pad puts around a convolution's input are the convolution's own padding, on axes of
 * known size. May change the sign of a zero. */
rill_status graph_with_pads_absorbed(struct graph *ret, const struct graph *g, rill_error *reterr);
#endif
