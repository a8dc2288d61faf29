/* SPDX-License-Identifier: MIT */
/* lane_sinks.h - the sinks of one lane. The worker pushes frames of the model's outputs into them
 * and writes their events to a ring of bytes, which the loop reads. */
#ifndef RILL_DAEMON_COMPUTE_LANE_SINKS_H
#define RILL_DAEMON_COMPUTE_LANE_SINKS_H

#include "daemon/compute/event_parts.h"
#include "daemon/compute/options.h"
#include "daemon/compute/ring.h"

#define SINK_PORTS_MAX 32
#define EVENT_RING_BYTES (2 * EVENT_BYTES_MAX)

/* An output of the model that a sink reads. */
struct sink_port {
    unsigned port;
    rill_port_kind kind;
    uint32_t width;
};

/* Its sink gives texts and endpoints; those of other kinds with events give keywords. */
bool port_is_recogniser(rill_port_kind kind);

struct lane_sink {
    struct sink_port port;
    rill_sink *sink; /* NULL: the client wants none of its events, and its frames are dropped */
    bool reports_endpoints;
};

struct lane_sinks {
    struct lane_sink list[SINK_PORTS_MAX + 2];
    unsigned n;
    rill_sink *vad_edges; /* gives an edge for each frame of the detector; NULL: no detector */
    rill_sink *gated;     /* of the list: a detector that gates a recogniser; NULL: none */
    struct ring bytes;
    unsigned char *buf;         /* EVENT_BYTES_MAX of the worker */
    rill_event event;           /* which is being written in parts, */
    struct event_cursor cursor; /* up to here, */
    bool part_pending;          /* and not all of it */
    const rill_sink *failed;    /* of which a network failed: the lane ends; NULL: none */
    bool finished;
};

/* Which events the client wants, and what it changes of the sinks' options. */
struct lane_sinks_opts {
    bool text, keyword, endpoint;
    struct stream_options options; /* of recognisers and keywords */
    rill_sink_opts vad;
};

struct lane_model;
bool lane_sinks_have(const struct lane_model *m, rill_port_kind kind);
/* False without memory. */
bool lane_sinks_make(struct lane_sinks *h, const struct lane_model *m,
                     const struct lane_sinks_opts *w);
/* Why it did not; OK: only for want of memory. */
rill_status lane_sinks_try(const struct lane_model *m, const struct lane_sinks_opts *w,
                           rill_error *reterr);
void lane_sinks_drop(struct lane_sinks *h);
size_t lane_sinks_bytes(const struct lane_sinks *h); /* of memory, besides *h */

/* Positions are at the model's rate: of the next frame; of the end of the input. */
void lane_sinks_reset(struct lane_sinks *h, uint64_t pos);
void lane_sinks_alone(struct lane_sinks *h, bool alone); /* rill_sink_alone */
void lane_sinks_end(struct lane_sinks *h, uint64_t pos);

/* Makes every sink of the model once, so that a bad option is refused when the model is loaded. */
rill_status lane_sinks_check(const struct lane_model *m, rill_error *reterr);

/* The next part of h->event that EVENT_BYTES_MAX hold; h->part_pending: whether there is more. */
void lane_sinks_next_part(struct lane_sinks *h, struct event_part *ret);

#endif
