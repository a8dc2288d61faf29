/* SPDX-License-Identifier: MIT */
/* ring.h - floats from one thread to one other, without locks. */
#ifndef TOOLS_RING_H
#define TOOLS_RING_H
#include <stdatomic.h>
#include <stddef.h>

struct ring {
    float *data;
    size_t cap;               /* a power of two */
    atomic_size_t head, tail; /* written in all, read in all */
};

static inline size_t ring_filled(struct ring *r)
{
    return atomic_load_explicit(&r->head, memory_order_acquire) -
        atomic_load_explicit(&r->tail, memory_order_acquire);
}

/* Writes what there is room for; returns how many. Producer only, real-time safe. */
static inline size_t ring_write(struct ring *r, const float *x, size_t n)
{
    size_t head = atomic_load_explicit(&r->head, memory_order_relaxed);
    size_t room = r->cap - (head - atomic_load_explicit(&r->tail, memory_order_acquire));
    n = n < room ? n : room;
    for (size_t i = 0; i < n; i++)
        r->data[(head + i) & (r->cap - 1)] = x[i];
    atomic_store_explicit(&r->head, head + n, memory_order_release);
    return n;
}

/* Reads what there is, n at most; returns how many. Consumer only, real-time safe. */
static inline size_t ring_read(struct ring *r, float *x, size_t n)
{
    size_t tail = atomic_load_explicit(&r->tail, memory_order_relaxed);
    size_t have = atomic_load_explicit(&r->head, memory_order_acquire) - tail;
    n = n < have ? n : have;
    for (size_t i = 0; i < n; i++)
        x[i] = r->data[(tail + i) & (r->cap - 1)];
    atomic_store_explicit(&r->tail, tail + n, memory_order_release);
    return n;
}
#endif
