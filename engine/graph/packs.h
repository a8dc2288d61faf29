/* SPDX-License-Identifier: MIT */
/* packs.h - blocks that prepare made of constants alone, in the order of their making. Making the
 * same plan again takes them as they are: a compiled file keeps them. */
#ifndef RILL_ENGINE_GRAPH_PACKS_H
#define RILL_ENGINE_GRAPH_PACKS_H
#include "engine/base/arena.h"

#include <stdbool.h>
#include <stdint.h>

struct pack {
    const void *data;
    size_t bytes;
};

struct packs {
    struct arena *arena; /* of the list and of new blocks */
    struct pack *list;   /* made or taken so far */
    uint32_t n, cap;
    const struct pack *ready; /* to take; NULL: none, all are made */
    uint32_t n_ready;
    bool misfit; /* one was asked for that ready has not */
};

/* The next block of that many bytes, 64-byte aligned. *ret_there: it is filled and must not be
 * written; else it is zeroed. NULL: out of memory, or misfit. */
void *packs_next(struct packs *p, size_t bytes, bool *ret_there);
#endif
