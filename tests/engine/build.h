/* SPDX-License-Identifier: MIT */
/* build.h - a graph to be built, in an arena of its own, and a repeatable source of numbers. */
#ifndef TESTS_ENGINE_BUILD_H
#define TESTS_ENGINE_BUILD_H
#include "engine/graph.h"

#include <string.h>

struct build {
    struct arena arena;
    struct dims *dims;
    struct graph g;
    rill_error err;
};

static inline void build_init(struct build *b)
{
    memset(b, 0, sizeof *b);
    b->dims = dims_new();
    graph_init(&b->g, &b->arena, b->dims, "test");
}

static inline void build_drop(struct build *b)
{
    arena_drop(&b->arena);
    dims_free(b->dims);
}

/* 0 .. n-1 */
static inline uint32_t build_random(uint32_t *seed, uint32_t n)
{
    *seed = *seed * 1664525u + 1013904223u;
    return (*seed >> 8) % n;
}
#endif
