/* SPDX-License-Identifier: MIT */
/* session.h - a stream that a client has open, between its messages and its lane. */
#ifndef RILL_DAEMON_SERVE_SESSION_H
#define RILL_DAEMON_SERVE_SESSION_H

#include "daemon/base/hist.h"
#include "daemon/compute/lane.h"
#include "daemon/compute/options.h"
#include "daemon/compute/pcm.h"
#include "daemon/net/streams.h"
#include "daemon/serve/claim.h"
#include "rilld.pb-c.h"

struct conn;
struct daemon;
struct model;
struct model_counters;
struct owner;
struct session_ports;
struct topic;
struct worker;

/* A stream as the loop thread sees it. It outlives its connection until the worker has detached its
 * lane. */
struct session {
    struct stream_link link; /* of its connection; first member */
    struct daemon *daemon;
    struct conn *conn;    /* NULL once the connection is closed */
    struct session *next; /* of the daemon */
    uint32_t id, req, serial;
    uint32_t end_req; /* of the message that ended it, for Finished */
    struct model *model;
    struct lane *lane;           /* NULL while the model loads */
    struct session_ports *ports; /* NULL: audio */
    struct worker *worker;
    struct pcm in, out;
    bool live, align, want_audio, want_vad, want_text, want_keyword, want_endpoint, finishing, gone;
    uint32_t want_mask, max_latency_ms;
    uint64_t audio_us; /* when the newest audio came */
    struct stream_options options;
    unsigned char *partial,
        *event; /* a partial that is held back; room to read an event; NULL: no events are wanted */
    size_t partial_bytes; /* 0: none is held back */
    struct lane_rec vad;  /* a probability that is held back */
    bool vad_waits;
    struct topic *topic;   /* NULL: not published */
    bool mute, complete;   /* only the topic gets the outputs; it ended after Finish */
    uint64_t out_progress; /* the position that its outputs have reached, at the input rate */
    uint64_t bypassed;     /* samples of the dry signal */
    uint32_t uid;
    struct owner *owner;
    size_t counted_bytes; /* charged to the owner */
    uint32_t seq_in, seq_out;
    uint64_t pos_in, window;     /* the next position; samples of input that may wait */
    uint64_t received, granted;  /* counts of samples, jumps not included */
    uint64_t marked, marked_pos; /* the last mark: count of samples and position */
    bool any_audio;
    uint64_t sent, dropped, not_finite, vad_frames, skipped, late;
    uint64_t compute_us, counted_us, misses, opened_us;
    uint64_t audio_noted; /* samples that are in the model's statistics */
    uint32_t max_chunk_us;
    struct claim used;                             /* moving average, in processors */
    double loop_ns;                                /* of the loop for it since the last tick */
    uint32_t n_messages;                           /* of audio since then */
    uint64_t seen_spent_ns, seen_ran_ns, seen_ran; /* of its lane's clocks at the last reading */
    struct hist compute, queue;
    struct model_counters *counters; /* of its model; NULL before it runs */
    uint64_t gap_samples;            /* at the input rate, for all reasons */
};

void session_open(struct conn *c, uint32_t req, const Rill__OpenStream *m);
void session_open_ports(struct conn *c, uint32_t req, const Rill__OpenPorts *m);
void session_audio(struct session *s, const Rill__Audio *m);
void session_frames(struct session *s, const Rill__Frames *m);
void session_finish(struct session *s, uint32_t req);
void session_reset(struct session *s, uint32_t req);
void session_cancel(struct session *s, uint32_t req, bool tell);
void session_deliver(struct session *s); /* sends what the lane has put out; may end the session */
/* A live stream that sent no more messages in this tick than a microphone does; it is served at
 * once, others get slices. */
bool session_has_priority(const struct session *s);
void sessions_deliver(struct daemon *d);
void sessions_drop(struct conn *c);                    /* the connection is closing */
void sessions_idle(struct daemon *d, uint64_t now_us); /* ends live streams that get no audio */
uint64_t session_output_bytes_per_s(const struct session *s);

#endif
