/* SPDX-License-Identifier: MIT */
/* cut.h - a graph that is to run one frame at a time, for the reader of NNEF. */
#ifndef RILL_LIB_CUT_H
#define RILL_LIB_CUT_H
#include "engine/graph/pulsed.h"

/* Takes m through typing, decluttering and pulsing with one frame of symbol a run. Everything made
 * lives in the arena of m and in a. */
rill_status graph_cut_to_frames(struct pgraph *ret, const struct mgraph *m,
                                const struct dim *symbol, struct arena *a, rill_error *reterr);
#endif
