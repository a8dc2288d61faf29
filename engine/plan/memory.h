/* SPDX-License-Identifier: MIT */
/* memory.h - lays out blocks in one piece of memory by when they are needed. A pure function. */
#ifndef RILL_ENGINE_PLAN_MEMORY_H
#define RILL_ENGINE_PLAN_MEMORY_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MEMPLAN_ALIGN_BYTES 64

struct span {
    size_t bytes;
    uint32_t first, last; /* needed in steps first..last, both included */
    size_t offset;        /* set by memplan_place */
};

/* Gives every span an offset, aligned, so that no two spans that are needed in one step share a
 * byte. room: for MEMPLAN_ROOM indices a span. Returns the bytes needed in total. *ret_visited: how
 * often a span was looked at, which is a few times log n for each where few live long. */
#define MEMPLAN_ROOM 4
size_t memplan_place(struct span *spans, uint32_t *room, uint32_t n, uint64_t *ret_visited);

/* True when no two spans that are needed in one step share a byte. Quadratic: for tests. */
bool memplan_is_sound(const struct span *spans, uint32_t n);
#endif
