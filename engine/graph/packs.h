/* SPDX-License-Identifier: MIT */
/* packs.h - blocks that prepare made of constants alone, in the order of their making. Making the
 * same plan again takes them as they are: a compiled file keeps them. Plans of one model at other
 * sizes share those whose layout does not hang on sizes. */
#ifndef RILL_ENGINE_GRAPH_PACKS_H
#define RILL_ENGINE_GRAPH_PACKS_H
#include "engine/base/arena.h"

#include <stdbool.h>
#include <stdint.h>

struct pack {
    const void *data;
    size_t bytes;
};

/* Whose layout it is: the first word of a key. */
enum pack_layout { PACK_MATRICES, PACK_NARROW, PACK_ROWS, PACK_WINOGRAD };

/* What a block is made of, and all that its layout hangs on beside its size. */
struct pack_key {
    const void *from[3]; /* data of constants; NULL: none */
    const size_t *words;
    unsigned n_words;
};

/* Blocks that plans share; it outlives them. One thread makes plans with it at a time. */
struct pack_store;
/* constants: data that stay where they are, and as they are, as long as the store; copied.
 * large_pages: as of an arena. NULL: no memory. */
struct pack_store *pack_store_new(const void *const *constants, size_t n, bool large_pages);
struct pack_store *pack_store_free(struct pack_store *s); /* takes and returns NULL */
/* A plan was made, or not: then what it was the first to lay out may not be filled, and the next
 * one lays it out in the same place. */
void pack_store_end(struct pack_store *s, bool made);
size_t pack_store_bytes(const struct pack_store *s); /* of its blocks */

struct packs {
    struct arena *arena; /* of the list and of new blocks */
    struct pack *list;   /* made or taken so far */
    uint32_t n, cap;
    const struct pack *ready; /* to take; NULL: none, all are made */
    uint32_t n_ready;
    bool misfit;               /* one was asked for that ready has not */
    bool has_outliers;         /* one is of bytes with outliers apart (kernels/q8.h) */
    struct pack_store *shared; /* NULL: nothing is */
};

/* The next block of that many bytes, 64-byte aligned. *ret_there: it is filled and must not be
 * written; else it is zeroed. NULL: out of memory, or misfit. */
void *packs_next(struct packs *p, size_t bytes, bool *ret_there);
/* The same of a block that other plans may have. */
void *packs_next_of(struct packs *p, size_t bytes, const struct pack_key *key, bool *ret_there);
#endif
