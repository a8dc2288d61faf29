/* SPDX-License-Identifier: MIT */
/* passes.h - the passes of declutter.c, one graph at a time (struct pass of engine/rewrite/pass.h).
 */
#ifndef RILL_ENGINE_REWRITE_DECLUTTER_PASSES_H
#define RILL_ENGINE_REWRITE_DECLUTTER_PASSES_H
#include "engine/graph/graph.h"

/* Loops over all places of an axis that take place by place become Scans. */
rill_status graph_with_loops_scanned(struct graph *ret, const struct graph *g, rill_error *reterr);

/* States of Scans that are written place by place, one an iteration, become scanned outputs. */
rill_status graph_with_writes_scanned(struct graph *ret, const struct graph *g, rill_error *reterr);

/* max(0, x) + log(1 + e^-|0 - x|) in functions that programs have. Changes the sign of zeros
 * within. */
rill_status graph_with_softplus_in_parts(struct graph *ret, const struct graph *g,
                                         rill_error *reterr);

/* The exponential of a LogSoftmax becomes a Softmax. Changes how results round. */
rill_status graph_with_softmax_of_logs(struct graph *ret, const struct graph *g,
                                       rill_error *reterr);

/* A Trilu of scores becomes a Where by a Trilu of ones. */
rill_status graph_with_triangles_chosen(struct graph *ret, const struct graph *g,
                                        rill_error *reterr);

/* Masks that are stacked along an axis of their own and reduced along it, or taken out again, are
 * joined two by two. */
rill_status graph_with_stacks_joined(struct graph *ret, const struct graph *g, rill_error *reterr);

/* Nodes that give their input back go, a Slice of everything among them, and so do those that
 * flatten a tensor to rows for an op over its last axis, and a Where for infinite elements of what
 * has none. A GatherND of one coordinate becomes a Gather. */
rill_status graph_with_peepholes(struct graph *ret, const struct graph *g, rill_error *reterr);

/* Of those, a Where whose condition is the same all over goes: again, once it is known what masks
 * show. */
rill_status graph_with_choices_made(struct graph *ret, const struct graph *g, rill_error *reterr);

/* Copies of the last place of an axis that are joined behind it become a Pad, and so do those of
 * its first and last that a Gather picks at clamped places. */
rill_status graph_with_last_frames_padded(struct graph *ret, const struct graph *g,
                                          rill_error *reterr);

/* What is made of the last frames of sequences, element by element, and joined behind others is
 * made of all frames, and chosen by where they stand. */
rill_status graph_with_ends_chosen(struct graph *ret, const struct graph *g, rill_error *reterr);

/* Frames that are written into a copy of a tensor one behind the other are joined to what is around
 * them. */
rill_status graph_with_frames_put(struct graph *ret, const struct graph *g, rill_error *reterr);

/* Linear resizing written out as gathered neighbours becomes Resize. Changes how results round. */
rill_status graph_with_resizes_recognised(struct graph *ret, const struct graph *g,
                                          rill_error *reterr);

/* Nearest resizing written out as a Gather at computed places becomes Resize. */
rill_status graph_with_nearest_recognised(struct graph *ret, const struct graph *g,
                                          rill_error *reterr);

/* Ops on rows that were merged of several axes, time not the outermost, are done on the axes apart.
 * Changes how results round where a Gemm becomes a product and a sum. */
rill_status graph_with_rows_apart(struct graph *ret, const struct graph *g, rill_error *reterr);

/* A batch normalisation of known statistics after a convolution of known weights that nobody else
 * reads goes into those weights, computed in f64. Changes how results round. */
rill_status graph_with_norms_folded(struct graph *ret, const struct graph *g, rill_error *reterr);

/* Work of Scan bodies that needs no state leaves them: products of scanned inputs become one for
 * all iterations, and so do products of what is stacked; what is the same in all iterations is
 * computed once. */
rill_status graph_with_scans_hoisted(struct graph *ret, const struct graph *g, rill_error *reterr);

/* Layers of nets over windows of a stream (Scans behind a Frame) that need no window to be whole
 * are computed along the stream: slide.h. */
rill_status graph_with_windows_slid(struct graph *ret, const struct graph *g, rill_error *reterr);

/* Sequences of a batch whose chunks are rows of one axis are computed apart. */
rill_status graph_with_batches_apart(struct graph *ret, const struct graph *g, rill_error *reterr);

/* Frames that are cut off the front behind attention are cut off its queries. */
rill_status graph_with_early_cuts(struct graph *ret, const struct graph *g, rill_error *reterr);

/* Sequences that were joined along time and are split again, behind attention or rows of it, are
 * computed apart. May change how results round. */
rill_status graph_with_queries_apart(struct graph *ret, const struct graph *g, rill_error *reterr);

/* A softmax over the keys of several sequences that were joined along time, and what it weighs, is
 * made of each apart. Changes how results round. */
rill_status graph_with_keys_apart(struct graph *ret, const struct graph *g, rill_error *reterr);

/* Layer normalisations written out as means, differences, roots and quotients become
 * LayerNormalization. Changes how results round. */
rill_status graph_with_norms_recognised(struct graph *ret, const struct graph *g,
                                        rill_error *reterr);

/* Steps of an LSTM or GRU written out become the op, and so do Scans over steps of an LSTM, GRU or
 * RNN; what else the body did stays in a Scan without states. Weights must be known. Changes how
 * results round. */
rill_status graph_with_cells_recognised(struct graph *ret, const struct graph *g,
                                        rill_error *reterr);

/* A convolution over one axis whose weights are those of a windowed Fourier transform of one real
 * channel becomes an STFT, unless a logarithm takes its bins. Changes how results round. */
rill_status graph_with_dfts_recognised(struct graph *ret, const struct graph *g,
                                       rill_error *reterr);
/* Whether weights of a convolution are such. */
bool weights_are_fourier(const struct tensor *w);

/* Zeros that a Pad puts around a convolution's input are the convolution's own padding, on axes of
 * known size. May change the sign of a zero. */
rill_status graph_with_pads_absorbed(struct graph *ret, const struct graph *g, rill_error *reterr);

/* What only moves elements moves the integers that they were dequantised from, and quantising again
 * by the same scale gives those back. Scales and zeros must be known, one for all. */
rill_status graph_with_integers_moved(struct graph *ret, const struct graph *g, rill_error *reterr);

/* Transposed convolutions and Einsums of dequantised bytes by many known weights become
 * convolutions and products of matrices, for what is below. Changes how results round. */
rill_status graph_with_integer_forms(struct graph *ret, const struct graph *g, rill_error *reterr);

/* Convolutions and products of matrices of dequantised bytes by many weights, which were
 * dequantised, too, sum integers and scale the sums. Changes how results round. */
rill_status graph_with_integer_products(struct graph *ret, const struct graph *g,
                                        rill_error *reterr);

/* Large recurrent cells whose constant weights are whole numbers of 8 bits times a scale for each
 * row keep them so, whichever way they were dequantised: sums over inputs and over states are whole
 * numbers, too (kernels/cell.h). Changes how results round. */
rill_status graph_with_byte_cells(struct graph *ret, const struct graph *g, rill_error *reterr);

/* Convolutions of many known weights, three places along an axis of known size, are made by
 * Winograd's products along it: attribute `winograd`. Changes how results round. */
rill_status graph_with_winograd(struct graph *ret, const struct graph *g, rill_error *reterr);
#endif
