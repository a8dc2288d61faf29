/* SPDX-License-Identifier: MIT */
/* latency.h - what makes an output late, and what moves it against the input, op by op. */
#ifndef RILL_CHECK_LATENCY_H
#define RILL_CHECK_LATENCY_H
#include "engine/graph/pulsed.h"

struct latency_part {
    const struct node *node; /* of the decluttered graph */
    int64_t frames;      /* added delay, in frames of the node's output (rounded towards zero) */
    double input_frames; /* the same in frames of the input's time axis, exact */
    const struct stream_fact *fact; /* of the output */
};

struct latency {
    struct latency_part *part; /* from the input to the output, only those that add something */
    unsigned n_parts;
    int64_t frames;      /* of the output */
    double input_frames; /* the sum of the parts */
};

enum latency_what {
    LATENCY,       /* by how much a frame comes later than what it stands for */
    LATENCY_OFFSET /* what frame 0 stands for */
};

/* Walks back from output `output` of t along the wires that come latest. Frames that a pad
 * puts in front count against the windows behind it. An output that does not stream has no
 * parts. */
rill_status latency_of(const struct pgraph *g, const struct graph *t, uint32_t output,
                       enum latency_what what, struct arena *a, struct latency *ret,
                       rill_error *reterr);
#endif
