/* SPDX-License-Identifier: MIT */
#include "daemon/serve/history.h"
#include "daemon/base/memory.h"

#include <stdlib.h>
#include <string.h>

#define CHUNK_BYTES_MIN 4096
/* malloc maps blocks of that size, so free returns them to the system. */
#define CHUNK_BYTES_MAX 131072
#define CHUNKS_WANTED 64
#define MAPPED_OVERHEAD_BYTES 4096 /* overhead of such a block */

/* ---- making ---- */

struct lengths {
    size_t chunk_bytes, least, most;
};

/* The minimum holds the largest entry and the chunk that is being written, so that the oldest chunk
 * can always be dropped. */
static struct lengths lengths_find(size_t least_bytes, size_t most_bytes, size_t entry_bytes)
{
    struct lengths l = { .chunk_bytes = CHUNK_BYTES_MIN };
    entry_bytes += sizeof(struct history_entry);
    least_bytes = least_bytes > entry_bytes ? least_bytes : entry_bytes;
    while (l.chunk_bytes < CHUNK_BYTES_MAX && most_bytes / l.chunk_bytes > CHUNKS_WANTED)
        l.chunk_bytes *= 2;
    l.least = (least_bytes + l.chunk_bytes - 1) / l.chunk_bytes + 1;
    l.most = (most_bytes + l.chunk_bytes - 1) / l.chunk_bytes + 1;
    l.most = l.most > l.least ? l.most : l.least;
    return l;
}

static size_t chunk_takes(size_t chunk_bytes)
{
    return chunk_bytes + (chunk_bytes < CHUNK_BYTES_MAX ? 16 : MAPPED_OVERHEAD_BYTES);
}

size_t history_min_bytes(size_t least_bytes, size_t most_bytes, size_t entry_bytes)
{
    struct lengths l = lengths_find(least_bytes, most_bytes, entry_bytes);
    return l.least * chunk_takes(l.chunk_bytes) + l.most * sizeof(unsigned char *);
}

static bool chunk_add(struct history *t)
{
    unsigned char *chunk = malloc(t->chunk_bytes);
    if (!chunk)
        return false;
    t->chunks[(t->first + t->n++) % t->most] = chunk;
    return true;
}

bool history_make(struct history *t, size_t least_bytes, size_t most_bytes, size_t entry_bytes)
{
    struct lengths l = lengths_find(least_bytes, most_bytes, entry_bytes);
    t->chunk_bytes = l.chunk_bytes;
    t->least = l.least;
    t->most = l.most;
    t->chunks = calloc(t->most, sizeof *t->chunks);
    while (t->chunks && t->n < t->least)
        if (!chunk_add(t))
            return false;
    return t->chunks;
}

void history_drop(struct history *t)
{
    if (t->n > t->least)
        memory_uncharge(t->memory, t->owner, MEMORY_HISTORIES, history_reclaimable_bytes(t));
    for (size_t i = 0; i < t->n; i++)
        free(t->chunks[(t->first + i) % t->most]);
    free(t->chunks);
    t->chunks = NULL;
    t->n = 0;
}

size_t history_bytes(const struct history *t)
{
    return t->n * chunk_takes(t->chunk_bytes) + t->most * sizeof *t->chunks;
}

size_t history_reclaimable_bytes(const struct history *t)
{
    return t->n > t->least ? (t->n - t->least) * chunk_takes(t->chunk_bytes) : 0;
}

/* ---- reading and writing ---- */

/* The bytes at an offset, and how many of them are contiguous. */
static unsigned char *bytes_at(const struct history *t, uint64_t offset, size_t *ret_n)
{
    size_t at = (size_t) (offset % t->chunk_bytes);
    *ret_n = t->chunk_bytes - at;
    return t->chunks[offset / t->chunk_bytes % t->most] + at;
}

void history_read(const struct history *t, uint64_t offset, void *to, size_t n)
{
    for (size_t row; n; n -= row) {
        const unsigned char *from = bytes_at(t, offset, &row);
        row = row < n ? row : n;
        memcpy(to, from, row);
        to = (unsigned char *) to + row;
        offset += row;
    }
}

static void copy_in(struct history *t, const void *from, size_t n)
{
    for (size_t row; n; n -= row) {
        unsigned char *to = bytes_at(t, t->head, &row);
        row = row < n ? row : n;
        memcpy(to, from, row);
        from = (const unsigned char *) from + row;
        t->head += row;
    }
}

/* Removes the oldest chunk, which is not the one that is written. */
static unsigned char *chunk_take(struct history *t)
{
    struct history_entry e;
    uint64_t end = (t->first + 1) * t->chunk_bytes;
    while (t->tail < end && t->tail < t->head) {
        history_read(t, t->tail, &e, sizeof e);
        t->tail += sizeof e + e.bytes;
    }
    t->n--;
    return t->chunks[t->first++ % t->most];
}

static bool grow(struct history *t)
{
    size_t bytes = chunk_takes(t->chunk_bytes);
    if (t->n == t->most ||
        !memory_charge_history(t->memory, t->owner, history_reclaimable_bytes(t), bytes))
        return false;
    if (chunk_add(t))
        return true;
    memory_uncharge(t->memory, t->owner, MEMORY_HISTORIES, bytes);
    return false;
}

void history_append(struct history *t, const struct history_entry *e, const void *bytes)
{
    size_t takes = sizeof *e + e->bytes;
    while (t->head + takes > (t->first + t->n) * t->chunk_bytes) {
        if (grow(t))
            continue;
        unsigned char *chunk = chunk_take(t);
        t->chunks[(t->first + t->n++) % t->most] = chunk;
    }
    copy_in(t, e, sizeof *e);
    if (e->bytes)
        copy_in(t, bytes, e->bytes);
}

size_t history_reclaim(struct history *t)
{
    if (t->n <= t->least || t->head < (t->first + 1) * t->chunk_bytes)
        return 0;
    free(chunk_take(t));
    size_t bytes = chunk_takes(t->chunk_bytes);
    memory_uncharge(t->memory, t->owner, MEMORY_HISTORIES, bytes);
    return bytes;
}
