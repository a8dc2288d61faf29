/* SPDX-License-Identifier: MIT */
/* event_parts.h - events of sinks as bytes, and long texts in parts that fit a message or a ring.
 */
#ifndef RILL_DAEMON_COMPUTE_EVENT_PARTS_H
#define RILL_DAEMON_COMPUTE_EVENT_PARTS_H

#include <rill.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define EVENT_BYTES_MAX ((size_t) 65536) /* of one event, or of a part of a long final */
#define EVENT_WORDS_MAX 1024

/* Bytes that a message or the ring needs beside the letters of a text, and of each of its words. */
#define EVENT_TEXT_OVERHEAD 64
#define EVENT_WORD_OVERHEAD 40

/* As bytes an event is this header, its text with a zero, and then for each word a struct
 * event_word and the word with a zero. */
struct event_header {
    rill_event_kind kind;
    rill_rule rule;
    uint64_t pos, end_pos;
    float score, stability;
    uint32_t segment, n_words, text_bytes; /* the zero counted */
};

struct event_word {
    uint64_t pos, end_pos;
    float confidence;
    uint32_t text_bytes; /* the zero counted */
};

_Static_assert(sizeof(struct event_header) < EVENT_TEXT_OVERHEAD &&
                   sizeof(struct event_word) < EVENT_WORD_OVERHEAD,
               "a part that fits a message of EVENT_BYTES_MAX fits the ring");

/* What a part may hold: bytes of its text and of its words, and so many words. */
struct event_space {
    size_t bytes;
    uint32_t words;
};

/* How far into an event its parts have come; zero: to none. */
struct event_cursor {
    uint32_t words;
    size_t bytes;
    size_t text_only_end; /* up to here the text belongs to a word that is too long to be listed */
    bool started;
};

/* A part of a text, the words in it, and the positions that they span. A word that is too long to
 * be listed beside its text has its positions here alone. */
struct event_part {
    const char *text;
    size_t n_bytes;
    uint64_t pos, end_pos;
    const rill_word *words;
    uint32_t n_words;
};

/* The next part of an event; false: there is no more of it. A part has whole words, and the space
 * between two parts belongs to neither. An event without a text is one part. */
bool event_next_part(const rill_event *e, const struct event_space *space,
                     struct event_cursor *cursor, struct event_part *ret);

/* The newest part of a partial: all of it, or its text without words, or the end of its text. */
void event_last_part(const rill_event *e, const struct event_space *space, struct event_part *ret);

/* Writes the event with this part of its text to buf, which has EVENT_BYTES_MAX bytes; returns how
 * many it took. */
size_t event_write(unsigned char *buf, const rill_event *e, const struct event_part *part);

/* Reads an event of n bytes. words: room for EVENT_WORDS_MAX, which *ret refers to, as it refers to
 * the bytes. */
void event_read(const unsigned char *bytes, size_t n, rill_event *ret, rill_word *words);

#endif
