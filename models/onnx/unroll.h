/* SPDX-License-Identifier: MIT */
/* unroll.h - Loops of a small number of trips that the file says, whose condition stays true,
 * become copies of their bodies, one after the other. */
#ifndef RILL_MODELS_ONNX_UNROLL_H
#define RILL_MODELS_ONNX_UNROLL_H
#include "engine/graph/graph.h"

/* What is made lives in g's arena; ret may be g. Loops in bodies stay. */
rill_status graph_unrolled(struct graph *ret, const struct graph *g, rill_error *reterr);
#endif
