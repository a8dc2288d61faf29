/* SPDX-License-Identifier: MIT */
/* heard.h - the sinks of one lane. The worker reads frames into them and writes what they say as
 * bytes; the loop reads those. */
#ifndef RILLD_HEARD_H
#define RILLD_HEARD_H

#include "daemon/options.h"
#include "daemon/ring.h"

#include <rill.h>

#define HEARD_PORTS_MAX 8
#define HEARD_EVENT_BYTES                                                                          \
    ((size_t) 65536) /* of one event; words without room are left out, then the rest of a text */
#define HEARD_RING_BYTES (2 * HEARD_EVENT_BYTES)
#define HEARD_WORDS_MAX 1024

/* An output that a sink reads. */
struct heard_port {
    unsigned port;
    rill_port_kind kind;
    uint32_t width;
};

/* In front of an event's text, a string, and its words: each a struct heard_word and a string. */
struct heard_head {
    rill_event_kind kind;
    rill_rule rule;
    uint64_t pos, end_pos;
    float score, stability;
    uint32_t segment, n_words, text_bytes;      /* the zero counted */
};

struct heard_word {
    uint64_t pos, end_pos;
    float confidence;
    uint32_t text_bytes;
};

struct heard_source {
    struct heard_port port;
    rill_sink *sink;                /* NULL: nobody wants it; its frames are dropped */
    bool tells_endpoints;
};

struct heard {
    struct heard_source list[HEARD_PORTS_MAX + 2];
    unsigned n;
    rill_sink *edges; /* of the detector: one edge for each frame; NULL: there is none */
    rill_sink *listener;            /* one of the list, which needs the audio; NULL: none */
    struct ring bytes;
    unsigned char *buf;             /* HEARD_EVENT_BYTES of the worker */
    bool finished;
};

/* What is made of it for a stream. */
struct heard_wants {
    bool text, keyword, endpoint;
    struct stream_options options;         /* of the others */
    rill_sink_opts vad;             /* of the detector */
};

struct lane_model;
bool heard_make(struct heard *h, const struct lane_model *m, const struct heard_wants *w);
void heard_drop(struct heard *h);
size_t heard_bytes(const struct heard *h);          /* of memory, besides *h */
void heard_reset(struct heard *h, uint64_t pos);     /* pos: of the next frame, model's rate */

/* All sinks of the model are made once, so that a bad one fails when it is loaded. */
rill_status heard_check(const struct lane_model *m, rill_error *reterr);

/* Bytes of an event, at most HEARD_EVENT_BYTES, in h->buf. */
size_t heard_write(struct heard *h, const rill_event *e);

/* The event in n bytes; words: HEARD_WORDS_MAX places that *ret points to. */
void heard_read(const unsigned char *bytes, size_t n, rill_event *ret, rill_word *words);

#endif
