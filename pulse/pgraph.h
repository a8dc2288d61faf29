/* SPDX-License-Identifier: MIT */
/* pgraph.h - the pulsed graph: a typed graph cut for one pulse size.
 *
 * Every wire has integer shapes. A streaming wire carries `pulse` frames per run on `axis`; of all the
 * frames it ever carries, the first `delay` come before frame 0 of the whole-sequence run, and the
 * whole-sequence run has `length` of them. What must survive from run to run is a state of the graph. */
#ifndef PULSE_PGRAPH_H
#define PULSE_PGRAPH_H
#include "engine/graph.h"

struct stream_fact {
    int axis;                   /* -1: the wire does not stream */
    int64_t pulse;              /* frames per run */
    int64_t delay;              /* frames */
    const struct dim *length;   /* of the whole sequence, in the stream symbol */
    int64_t hop_num, hop_den;   /* input frames per frame of this wire */
    int64_t origin;             /* input frame that frame 0 of the whole sequence starts at */
};

struct pgraph {
    struct graph g;
    struct stream_fact *inputs, *outputs;   /* one per graph input and output */
    const struct dim *symbol;               /* NULL: nothing streams, one run is the whole graph */
    int64_t pulse;                          /* input frames per run */
};

/* Cuts t for runs of at least `pulse` frames of the stream symbol (0: as few as possible); the pulse
 * taken is the smallest legal one that is not less. symbol NULL: nothing streams. Everything made lives in a.
 * An op that cannot stream along the axis is refused by name, with the reason. */
rill_status pgraph_from_tgraph(struct pgraph *ret, const struct tgraph *t, const struct dim *symbol, int64_t pulse,
                               struct arena *a, rill_error *reterr);
#endif
