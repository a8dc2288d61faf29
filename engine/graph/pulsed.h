/* SPDX-License-Identifier: MIT */
/* pulsed.h - the pulsed graph: a decluttered graph cut for one pulse size. pulse makes it.
 *
 * Every wire has integer shapes. A streaming wire carries `pulse` frames per run on `axis`; of all
 * the frames it ever carries, the first `delay` come before frame 0 of the whole-sequence run, and
 * the whole-sequence run has `length` of them. What must survive from run to run is a state of the
 * graph. */
#ifndef RILL_ENGINE_GRAPH_PULSED_H
#define RILL_ENGINE_GRAPH_PULSED_H
#include "engine/graph/graph.h"
#include "engine/base/ratio.h"

#define LENGTHS_MAX 63

/* Where the frames of a wire lie in the input: pulse/offset.h tells how. */
struct offset_anchor {
    const struct dim *length; /* NULL: none */
    int64_t hop_num, hop_den;
    struct ratio origin, lead;
};

struct offset {
    struct ratio origin;       /* input frame that frame 0 of the whole sequence stands for */
    struct ratio lead;         /* input frames from its own first sample to there */
    int64_t before, after;     /* frames put around the sequence that no window has reached over */
    bool guessed;              /* windows that were not padded, or less than whole, stand for their
                                  middle: who meets a wire that is laid by slices goes by that */
    struct offset_anchor root; /* the input, or what was overlapped last */
    struct offset_anchor rate; /* the first wire of this rate on the way */
};

struct stream_fact {
    int axis;                 /* -1: the wire does not stream */
    int64_t pulse;            /* frames per run */
    int64_t delay;            /* frames */
    const struct dim *length; /* of the whole sequence, in the stream symbol */
    int64_t hop_num, hop_den; /* input frames per frame of this wire */
    struct offset at;         /* where frame 0 of the whole sequence lies in the input */
    bool uniform; /* all frames are alike, so it is never late: delay 0 stands for any delay */
    int key_axis; /* of scores [.., pulse, .., keys]: column c holds the key that stands c - left */
    int64_t keys, left; /* frames from that of the run's first query; keys is 0 where the wire has
                           one time axis */
    int64_t first_keys; /* columns in front of those: of the first keys of the sequence */
    int64_t key_pulse;  /* of the keys, frames per run */
    int64_t
        key_came;  /* how late they come before they wait for the queries; below 0: they do not */
    int64_t chunk; /* queries that see the same keys */
    int64_t heads; /* so many first queries are in no run; the delay may be as much below 0 */
    bool masked;   /* keys outside the sequence are hidden */
    bool weights;  /* they went through the softmax: what is hidden is 0 */
};

/* What stands in the pulsed graph for a wire of the decluttered graph; WIRE_NONE where nothing
 * does. */
struct pulsed_wire {
    uint32_t wire;
    struct stream_fact fact;
};

/* How far a node of the decluttered graph sees along time, in frames of its input: from `left`
 * before the frame that the output's stands for to `right` behind it, one output frame for
 * `stride`. */
struct axis_window {
    bool is;
    int64_t left, right, stride;
};

struct pgraph {
    struct graph g;
    struct stream_fact *inputs, *outputs; /* one per input and output of the decluttered graph */
    const struct dim *symbol;             /* NULL: nothing streams, one run is the whole graph */
    int64_t pulse;                        /* input frames per run */
    int64_t lead_in;    /* of them, in the first run, come before the stream: delay of the inputs */
    int64_t tries;      /* pulses that were too short or no multiple of a stride */
    const char *longer; /* node and reason why the pulse asked for was not taken; NULL: it was */
    bool has_clock;     /* the last input of g is the clock (engine/ops/clock.h) */
    const struct dim *lengths[LENGTHS_MAX]; /* of the clock's places 1.. */
    uint32_t n_lengths;
    struct pulsed_wire *trace; /* one per wire of the decluttered graph, for checks and reports */
    uint32_t n_trace;
    struct axis_window *windows; /* one per node of the decluttered graph */
};
#endif
