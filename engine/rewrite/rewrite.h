/* SPDX-License-Identifier: MIT */
/* rewrite.h - a graph of known sizes made cheaper to run, just before it is planned. Every pass keeps the bits. */
#ifndef ENGINE_REWRITE_REWRITE_H
#define ENGINE_REWRITE_REWRITE_H
#include "engine/graph.h"

/* Chains of ops that only move elements (Transpose, Slice, Gather, Concat, Pad, ScatterND of constant places...)
 * become one Move for each tensor that anybody reads: what is between is gone. Updates of states come last, so that
 * they may happen in place. ret lives in g's arena; ret may not be g. */
rill_status graph_with_moves(struct graph *ret, const struct graph *g, rill_error *reterr);
#endif
