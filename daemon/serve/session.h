/* SPDX-License-Identifier: MIT */
/* session.h - a stream that a client opened, from its messages to its lane and back. */
#ifndef RILL_DAEMON_SERVE_SESSION_H
#define RILL_DAEMON_SERVE_SESSION_H

#include "daemon/compute/lane.h"
#include "daemon/compute/options.h"
#include "daemon/compute/pcm.h"
#include "daemon/models/registry.h"
#include "daemon/net/conn.h"
#include "daemon/serve/claim.h"

struct topic;
struct worker;

/* One stream, as the loop sees it. Outlives its connection until the worker let its lane go. */
struct session {
    struct stream_link link; /* of its connection, while that is there */
    struct daemon *daemon;
    struct conn *conn;    /* NULL once the client is gone */
    struct session *next; /* of the daemon */
    uint32_t id, req, serial;
    uint32_t end_req; /* of the message that ends it; Finished carries it */
    struct model *model;
    struct lane *lane; /* NULL while the model loads */
    struct worker *worker;
    struct pcm in, out;
    bool live, align, want_audio, want_vad, want_text, want_keyword, want_endpoint, finishing, gone;
    uint32_t want_mask, max_latency_ms;
    uint64_t audio_us; /* of the newest audio */
    struct stream_options options;
    unsigned char *partial,
        *event; /* the newest one that was not sent; room to read one; NULL: no words are wanted */
    size_t partial_bytes; /* 0 = none waits */
    struct lane_rec vad;  /* the newest probability that was not sent */
    bool vad_waits;
    struct topic *topic;   /* NULL: not published */
    bool mute, complete;   /* the topic alone gets the outputs; it ended as it should */
    uint64_t out_progress; /* how far in the input rate what it said goes */
    uint64_t bypassed;     /* samples that went past the model */
    uint32_t uid;
    struct owner *owner;
    size_t counted_bytes; /* of memory, for the owner */
    uint32_t seq_in, seq_out;
    uint64_t pos_in, window;     /* next position; samples that may wait */
    uint64_t received, granted;  /* counts of samples, without jumps */
    uint64_t marked, marked_pos; /* where it began afresh: counts of samples, position */
    bool any_audio;
    uint64_t sent, dropped, not_finite, vad_frames, skipped, late;
    uint64_t compute_us, counted_us, misses, opened_us;
    uint64_t audio_noted; /* samples already in the model's sums */
    uint32_t max_chunk_us;
    struct claim used;                             /* of late, as shares of a processor */
    double loop_ns;                                /* the loop's work for it since the last tick */
    uint32_t n_messages;                           /* messages since then */
    uint64_t seen_spent_ns, seen_ran_ns, seen_ran; /* up to here its lane's were read */
    struct hist compute, queue;
    struct model_counters *counters; /* of its model; NULL until it runs */
    uint64_t gap_samples;            /* of the input rate, whatever the reason */
};

void session_open(struct conn *c, uint32_t req, const Rill__OpenStream *m);
void session_audio(struct session *s, const Rill__Audio *m);
void session_finish(struct session *s, uint32_t req);
void session_reset(struct session *s, uint32_t req);
void session_cancel(struct session *s, uint32_t req, bool tell);
void session_deliver(struct session *s); /* sends what the lane has; may end the session */
/* It is a live stream, and no more messages of it came in this tick than a microphone sends. */
bool session_has_priority(const struct session *s);
void sessions_deliver(struct daemon *d);
void sessions_drop(struct conn *c);                    /* the connection is going */
void sessions_idle(struct daemon *d, uint64_t now_us); /* ends live streams that get no audio */
uint64_t session_output_bytes_per_s(const struct session *s);

#endif
