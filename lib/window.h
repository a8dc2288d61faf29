/* SPDX-License-Identifier: MIT */
/* window.h - a net that is made for windows of a fixed length, as one over a stream: output frame j
 * is what the net gives of input frames j*hop .. j*hop + size. */
#ifndef RILL_LIB_WINDOW_H
#define RILL_LIB_WINDOW_H
#include "engine/graph/graph.h"

struct windowing {
    const char *input;
    int64_t size, hop;  /* frames */
    int axis;           /* of the input; -1: the one of `size` frames, or else the one left open */
    const char *symbol; /* counts frames; NULL: one that is free is named */
};

/* g with the input's axis as long as the stream and all of it in a Scan over windows. Outputs have
 * windows for their first axis: in the place of a first axis of one (the batch), else in front. An
 * open first axis of the input counts the batch and becomes 1. facts: of g's wires, as far as they
 * are known. What is made lives in g's arena. *ret_symbol: what counts time now. */
rill_status mgraph_windowed(struct mgraph *ret, const struct mgraph *g, const struct fact *facts,
                            const struct windowing *w, const char **ret_symbol, rill_error *reterr);
#endif
