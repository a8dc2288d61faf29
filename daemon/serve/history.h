/* SPDX-License-Identifier: MIT */
/* history.h - the newest entries of a published stream, in a ring of chunks. While there is memory
 * it grows to its full length; where there is none, its oldest entries make room for new ones, and
 * chunks can be reclaimed down to the minimum that it has from the beginning. Writing never waits
 * for readers. */
#ifndef RILL_DAEMON_SERVE_HISTORY_H
#define RILL_DAEMON_SERVE_HISTORY_H

#include "daemon/compute/lane.h"
#include "daemon/base/memory.h"

/* Stands in front of the samples or the event of a record. Progress is a position at the source's
 * input rate. */
struct history_entry {
    struct lane_rec rec;
    uint64_t before, after; /* progress */
    uint32_t bytes;         /* that follow */
};

struct history {
    struct memory *memory;              /* charged here, beyond the minimum; */
    struct owner *owner;                /* to this account */
    unsigned char **chunks;             /* a ring: chunk k at k % most */
    size_t chunk_bytes, n, least, most; /* chunks: present, at least, at most */
    uint64_t first;                     /* number of the oldest chunk */
    uint64_t head,
        tail; /* offsets in bytes since the beginning: of the end, and of the oldest entry */
};

/* Bytes that the minimum takes, which the caller charges before it is made. */
size_t history_min_bytes(size_t least_bytes, size_t most_bytes, size_t entry_bytes);

/* entry_bytes: the most that follow an entry. The owner is referred to elsewhere. False without
 * memory. */
bool history_make(struct history *t, size_t least_bytes, size_t most_bytes, size_t entry_bytes);
void history_drop(struct history *t); /* also where history_make failed */

void history_append(struct history *t, const struct history_entry *e, const void *bytes);

/* n bytes from an offset that is not before the tail */
void history_read(const struct history *t, uint64_t offset, void *to, size_t n);

size_t history_bytes(const struct history *t);             /* of memory */
size_t history_reclaimable_bytes(const struct history *t); /* of it, beyond the minimum */

/* Frees the oldest chunk; returns its bytes, 0 where only the minimum is left. */
size_t history_reclaim(struct history *t);

#endif
