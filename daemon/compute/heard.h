/* SPDX-License-Identifier: MIT */
/* heard.h - the sinks of one lane. The worker reads frames into them and writes what they say as
 * bytes; the loop reads those. */
#ifndef RILL_DAEMON_COMPUTE_HEARD_H
#define RILL_DAEMON_COMPUTE_HEARD_H

#include "daemon/compute/options.h"
#include "daemon/compute/ring.h"

#include <rill.h>

#define HEARD_PORTS_MAX 8
#define HEARD_EVENT_BYTES ((size_t) 65536) /* of one event, or of a part of a long final */
#define HEARD_RING_BYTES (2 * HEARD_EVENT_BYTES)
#define HEARD_WORDS_MAX 1024

/* What stands around a text and around each of its words, in a message and in the ring. */
#define HEARD_TEXT_BYTES 64
#define HEARD_WORD_BYTES 40

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
    uint32_t segment, n_words, text_bytes; /* the zero counted */
};

struct heard_word {
    uint64_t pos, end_pos;
    float confidence;
    uint32_t text_bytes;
};

/* For a part of a text: bytes of that and of its words, each of which takes HEARD_WORD_BYTES
 * besides its letters. */
struct heard_room {
    size_t bytes;
    uint32_t words;
};

/* How much of an event was told; zero: nothing. */
struct heard_told {
    uint32_t words;
    size_t bytes;
    size_t bare_end; /* until there the text is told without its word */
    bool begun;
};

/* A part of a text with the words in it, and where they lie; of a word without room beside its text
 * where that lies. */
struct heard_part {
    const char *text;
    size_t n_bytes;
    uint64_t pos, end_pos;
    const rill_word *words;
    uint32_t n_words;
};

_Static_assert(sizeof(struct heard_head) < HEARD_TEXT_BYTES &&
                   sizeof(struct heard_word) < HEARD_WORD_BYTES,
               "what fits a message of HEARD_EVENT_BYTES fits the ring, zeros counted");

struct heard_source {
    struct heard_port port;
    rill_sink *sink; /* NULL: nobody wants it; its frames are dropped */
    bool tells_endpoints;
};

struct heard {
    struct heard_source list[HEARD_PORTS_MAX + 2];
    unsigned n;
    rill_sink *edges;    /* of the detector: one edge for each frame; NULL: there is none */
    rill_sink *listener; /* one of the list, which needs the audio; NULL: none */
    struct ring bytes;
    unsigned char *buf; /* HEARD_EVENT_BYTES of the worker */
    rill_event event;   /* a final that is being told: */
    struct heard_told told;
    bool tells; /* there is more of it */
    bool finished;
};

/* What is made of it for a stream. */
struct heard_wants {
    bool text, keyword, endpoint;
    struct stream_options options; /* of the others */
    rill_sink_opts vad;            /* of the detector */
};

struct lane_model;
bool heard_make(struct heard *h, const struct lane_model *m, const struct heard_wants *w);
void heard_drop(struct heard *h);
size_t heard_bytes(const struct heard *h);       /* of memory, besides *h */
void heard_reset(struct heard *h, uint64_t pos); /* pos: of the next frame, model's rate */
void heard_end(struct heard *h, uint64_t pos);   /* the input ends before pos, model's rate */

/* All sinks of the model are made once, so that a bad one fails when it is loaded. */
rill_status heard_check(const struct lane_model *m, rill_error *reterr);

/* The next part of an event; false: all was told. Parts are of whole words, the space between two
 * parts is in neither; but a word for which there is no room beside its text is in texts alone. An
 * event without a text is one part. */
bool heard_part(const rill_event *e, const struct heard_room *room, struct heard_told *told,
                struct heard_part *ret);

/* All of a partial; without room for that its text alone, without room for that the text's end. */
void heard_newest(const rill_event *e, const struct heard_room *room, struct heard_part *ret);

/* The next part of h->event that HEARD_EVENT_BYTES hold; h->tells: whether there is more. */
void heard_next(struct heard *h, struct heard_part *ret);

/* Bytes of an event with such a part of its text, at most HEARD_EVENT_BYTES, in h->buf. */
size_t heard_write(struct heard *h, const rill_event *e, const struct heard_part *part);

/* The event in n bytes; words: HEARD_WORDS_MAX places that *ret points to. */
void heard_read(const unsigned char *bytes, size_t n, rill_event *ret, rill_word *words);

#endif
