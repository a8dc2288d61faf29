/* SPDX-License-Identifier: MIT */
/* ring.h - items from exactly one writing thread to exactly one reading thread, without locks.
 * Capacity is a power of two; positions count items for ever and never wrap in practice. */
#ifndef RILL_DAEMON_COMPUTE_RING_H
#define RILL_DAEMON_COMPUTE_RING_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

struct ring {
    unsigned char *mem;
    size_t item_bytes, mask;
    _Alignas(64) _Atomic uint64_t head; /* written by the writer */
    _Alignas(64) _Atomic uint64_t tail; /* written by the reader */
};

/* The room that a ring of at least n items has. */
static inline size_t ring_cap(size_t n)
{
    size_t cap = 16;
    while (cap < n)
        cap *= 2;
    return cap;
}

/* Room for at least n items; pages are touched here, not later. False without memory. */
static inline bool ring_init(struct ring *r, size_t item_bytes, size_t n)
{
    size_t cap = ring_cap(n);
    r->mem = malloc(cap * item_bytes);
    if (!r->mem)
        return false;
    memset(r->mem, 0, cap * item_bytes);
    r->item_bytes = item_bytes;
    r->mask = cap - 1;
    atomic_init(&r->head, 0);
    atomic_init(&r->tail, 0);
    return true;
}

static inline void ring_free(struct ring *r)
{
    free(r->mem);
    r->mem = NULL;
}

static inline size_t ring_bytes(const struct ring *r)
{
    return r->mem ? (r->mask + 1) * r->item_bytes : 0;
}

static inline size_t ring_used(const struct ring *r)
{
    return (size_t) (atomic_load_explicit(&r->head, memory_order_acquire) -
                     atomic_load_explicit(&r->tail, memory_order_acquire));
}

static inline size_t ring_room(const struct ring *r)
{
    return r->mask + 1 - ring_used(r);
}

/* The caller has checked the room. */
static inline void ring_write(struct ring *r, const void *from, size_t n)
{
    uint64_t head = atomic_load_explicit(&r->head, memory_order_relaxed);
    size_t at = (size_t) head & r->mask, first = r->mask + 1 - at;
    if (first > n)
        first = n;
    memcpy(r->mem + at * r->item_bytes, from, first * r->item_bytes);
    memcpy(r->mem, (const unsigned char *) from + first * r->item_bytes,
           (n - first) * r->item_bytes);
    atomic_store_explicit(&r->head, head + n, memory_order_release);
}

/* Copies without taking; the caller has checked that n items are there. */
static inline void ring_peek(const struct ring *r, void *to, size_t n)
{
    uint64_t tail = atomic_load_explicit(&r->tail, memory_order_relaxed);
    size_t at = (size_t) tail & r->mask, first = r->mask + 1 - at;
    if (first > n)
        first = n;
    memcpy(to, r->mem + at * r->item_bytes, first * r->item_bytes);
    memcpy((unsigned char *) to + first * r->item_bytes, r->mem, (n - first) * r->item_bytes);
}

/* The i-th item that waits, without taking it. */
static inline void ring_peek_at(const struct ring *r, size_t i, void *to)
{
    uint64_t tail = atomic_load_explicit(&r->tail, memory_order_relaxed);
    memcpy(to, r->mem + (((size_t) tail + i) & r->mask) * r->item_bytes, r->item_bytes);
}

static inline void ring_drop(struct ring *r, size_t n)
{
    uint64_t tail = atomic_load_explicit(&r->tail, memory_order_relaxed);
    atomic_store_explicit(&r->tail, tail + n, memory_order_release);
}

static inline void ring_read(struct ring *r, void *to, size_t n)
{
    ring_peek(r, to, n);
    ring_drop(r, n);
}

#endif
