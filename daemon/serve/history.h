/* SPDX-License-Identifier: MIT */
/* tape.h - what a published stream gave, the newest of it. Made of pieces: while there is memory it
 * grows to its full length, where there is not its oldest entries make room for new ones, and it
 * can be made shorter down to its least length, which it has from the beginning. Never waits. */
#ifndef RILL_DAEMON_SERVE_HISTORY_H
#define RILL_DAEMON_SERVE_HISTORY_H

#include "daemon/compute/lane.h"
#include "daemon/base/memory.h"

/* In front of the samples or the event of a record. Progress is a position at the source's input
 * rate. */
struct history_entry {
    struct lane_rec rec;
    uint64_t before, after; /* progress */
    uint32_t bytes;         /* that follow */
};

struct history {
    struct memory *memory;  /* where it is counted: its least as a topic's, the rest as */
    struct owner *owner;    /* a history */
    unsigned char **pieces; /* number k at k % most */
    size_t piece_bytes, n, least, most; /* pieces: those there are, the fewest, the most */
    uint64_t first;                     /* number of the oldest piece */
    uint64_t head, tail;                /* bytes since the beginning; from tail on they are there */
};

/* Bytes that its least length takes, to be asked for before it is made. */
size_t history_min_bytes(size_t least_bytes, size_t most_bytes, size_t entry_bytes);

/* entry_bytes: the most that an entry has behind it. The owner has a reference elsewhere; what the
 * least length takes has been counted. False without memory. */
bool history_make(struct history *t, size_t least_bytes, size_t most_bytes, size_t entry_bytes);
void history_drop(struct history *t); /* takes one that could not be made */

void history_append(struct history *t, const struct history_entry *e, const void *bytes);

/* n bytes from a place that is not before the tail */
void history_read(const struct history *t, uint64_t place, void *to, size_t n);

size_t history_bytes(const struct history *t);             /* of memory */
size_t history_reclaimable_bytes(const struct history *t); /* of it, what it can do without */

/* Gives the oldest piece back; how many bytes it was, 0 where only the least is left. */
size_t history_reclaim(struct history *t);

#endif
