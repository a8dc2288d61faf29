/* SPDX-License-Identifier: MIT */
/* pgraph.h - the pulsed graph: a typed graph cut for one pulse size.
 *
 * Every wire has integer shapes. A streaming wire carries `pulse` frames per run on `axis`; of all
 * the frames it ever carries, the first `delay` come before frame 0 of the whole-sequence run, and
 * the whole-sequence run has `length` of them. What must survive from run to run is a state of the
 * graph. */
#ifndef RILL_PULSE_PGRAPH_H
#define RILL_PULSE_PGRAPH_H
#include "engine/graph/graph.h"
#include "pulse/offset.h"

#define LENGTHS_MAX 63

struct stream_fact {
    int axis;                 /* -1: the wire does not stream */
    int64_t pulse;            /* frames per run */
    int64_t delay;            /* frames */
    const struct dim *length; /* of the whole sequence, in the stream symbol */
    int64_t hop_num, hop_den; /* input frames per frame of this wire */
    struct offset at;         /* where frame 0 of the whole sequence lies in the input */
    bool uniform; /* all frames are alike, so it is never late: delay 0 stands for any delay */
    int key_axis; /* of scores [.., pulse, .., keys]: column c holds the key that stands c - left */
    int64_t keys,
        left; /* frames from the run's first query; keys is 0 where the wire has one time axis */
    int64_t chunk; /* queries that see the same keys */
    bool masked;   /* keys outside the sequence are hidden */
    bool weights;  /* they went through the softmax: what is hidden is 0 */
};

/* What stands in the pulsed graph for a wire of the typed graph; WIRE_NONE where nothing does. */
struct pulsed_wire {
    uint32_t wire;
    struct stream_fact fact;
};

/* How far a node of the typed graph sees along time, in frames of its input: from `left` before the
 * frame that the output's stands for to `right` behind it, one output frame for `stride`. */
struct axis_window {
    bool is;
    int64_t left, right, stride;
};

struct pgraph {
    struct graph g;
    struct stream_fact *inputs, *outputs; /* one per input and output of the typed graph */
    const char **input_names, **output_names;
    const struct dim *symbol; /* NULL: nothing streams, one run is the whole graph */
    int64_t pulse;            /* input frames per run */
    int64_t tries;            /* pulses that were too short or no multiple of a stride */
    bool has_clock;           /* the last input of g is the clock (engine/ops/clock.h) */
    const struct dim *lengths[LENGTHS_MAX]; /* of the clock's places 1.. */
    uint32_t n_lengths;
    struct pulsed_wire *trace; /* one per wire of the typed graph, for checks and reports */
    uint32_t n_trace;
    struct axis_window *windows; /* one per node of the typed graph */
};

/* For tests: bodies of Scans keep the facts of the typed graph, which then drift from the wires
 * outside. */
struct pulse_opts {
    bool keep_bodies;
};

/* Cuts t for runs of at least `pulse` frames of the stream symbol (0: as few as possible); the
 * pulse taken is the smallest legal one that is not less. symbol NULL: nothing streams. Everything
 * made lives in a. An op that cannot stream along the axis is refused by name, with the reason.
 * opts may be NULL. */
rill_status pgraph_from_dgraph(struct pgraph *ret, const struct dgraph *t, const struct dim *symbol,
                               int64_t pulse, const struct pulse_opts *opts, struct arena *a,
                               rill_error *reterr);

/* UNSUPPORTED, in words: it is not known which symbol of the inputs' sizes is time, or none is a
 * symbol. */
rill_status pgraph_no_time(const struct dgraph *t, rill_error *reterr);
#endif
