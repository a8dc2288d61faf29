/* SPDX-License-Identifier: MIT */
/* latency.h - what makes an output late, op by op. */
#ifndef PULSE_LATENCY_H
#define PULSE_LATENCY_H
#include "pulse/pgraph.h"

struct latency_part {
    const struct node *node;    /* of the typed graph */
    int64_t frames; /* added delay, in frames of the node's output (rounded towards zero) */
    double input_frames;        /* the same in frames of the input's time axis, exact */
    const struct stream_fact *fact;     /* of the output */
};

struct latency {
    struct latency_part *part;  /* from the input to the output, only those that add something */
    unsigned n_parts;
    int64_t frames;             /* of the output */
    double input_frames;        /* the sum of the parts */
};

/* Walks back from output `output` of t along the wires with the largest delay. origins: frames are
 * counted from where they lie in the input, so that frames put in front of the sequence make it
 * late. Frames that a pad puts in front count against the window behind it. An output that does not
 * stream has no parts. */
rill_status latency_of(const struct pgraph *g, const struct graph *t, uint32_t output, bool origins,
                       struct arena *a, struct latency *ret, rill_error *reterr);
#endif
