/* SPDX-License-Identifier: MIT */
/* tape.h - what a published stream gave, the newest of it. Made of pieces: while there is memory it
 * grows to its full length, where there is not its oldest entries make room for new ones, and it
 * can be made shorter down to its least length, which it has from the beginning. Never waits. */
#ifndef RILL_DAEMON_SERVE_TAPE_H
#define RILL_DAEMON_SERVE_TAPE_H

#include "daemon/compute/lane.h"
#include "daemon/base/memory.h"

/* In front of the samples or the event of a record. Progress is a position at the source's input
 * rate. */
struct entry {
    struct lane_rec rec;
    uint64_t before, after; /* progress */
    uint32_t bytes;         /* that follow */
};

struct tape {
    struct memory *memory;  /* where it is counted: its least as a topic's, the rest as */
    struct owner *owner;    /* a history */
    unsigned char **pieces; /* number k at k % most */
    size_t piece_bytes, n, least, most; /* pieces: those there are, the fewest, the most */
    uint64_t first;                     /* number of the oldest piece */
    uint64_t head, tail;                /* bytes since the beginning; from tail on they are there */
};

/* Bytes that its least length takes, to be asked for before it is made. */
size_t tape_least_bytes(size_t least_bytes, size_t most_bytes, size_t entry_bytes);

/* entry_bytes: the most that an entry has behind it. The owner has a reference elsewhere; what the
 * least length takes has been counted. False without memory. */
bool tape_make(struct tape *t, size_t least_bytes, size_t most_bytes, size_t entry_bytes);
void tape_drop(struct tape *t); /* takes one that could not be made */

void tape_put(struct tape *t, const struct entry *e, const void *bytes);

/* n bytes from a place that is not before the tail */
void tape_read(const struct tape *t, uint64_t place, void *to, size_t n);

size_t tape_bytes(const struct tape *t);         /* of memory */
size_t tape_history_bytes(const struct tape *t); /* of it, what it can do without */

/* Gives the oldest piece back; how many bytes it was, 0 where only the least is left. */
size_t tape_shorten(struct tape *t);

#endif
