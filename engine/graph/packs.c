/* SPDX-License-Identifier: MIT */
#include "engine/graph/packs.h"

#include <stdlib.h>
#include <string.h>

static void *packs_add(struct packs *p, const void *data, size_t bytes)
{
    struct pack *list = data ? arena_grow(p->arena, p->list, p->n, &p->cap, sizeof *list) : NULL;
    if (!list)
        return NULL;
    p->list = list;
    p->list[p->n++] = (struct pack) { data, bytes };
    return (void *) (uintptr_t) data;
}

void *packs_next(struct packs *p, size_t bytes, bool *ret_there)
{
    *ret_there = p->ready != NULL;
    if (p->ready && (p->n >= p->n_ready || p->ready[p->n].bytes != bytes)) {
        p->misfit = true;
        return NULL;
    }
    return packs_add(p, p->ready ? p->ready[p->n].data : arena_alloc(p->arena, bytes), bytes);
}

/* ---- blocks that plans share ---- */

struct stored {
    struct stored *next;
    struct pack_key key; /* words are its own */
    struct pack pack;
    bool in_doubt; /* of the plan that is being made */
    bool is_open;  /* of one that failed: to be filled anew */
};

#define STORED_LISTS 256

struct pack_store {
    struct arena arena;
    const void **constants; /* in order of their addresses */
    size_t n;
    struct stored *lists[STORED_LISTS];
};

static int address_order(const void *a, const void *b)
{
    const uintptr_t x = (uintptr_t) * (const void *const *) a,
                    y = (uintptr_t) * (const void *const *) b;
    return (x > y) - (x < y);
}

struct pack_store *pack_store_new(const void *const *constants, size_t n, bool large_pages)
{
    struct pack_store *s = calloc(1, sizeof *s);
    if (!s)
        return NULL;
    s->arena.large_pages = large_pages;
    s->constants = arena_copy(&s->arena, constants, n * sizeof *constants);
    if (!s->constants)
        return pack_store_free(s);
    s->n = n;
    qsort(s->constants, n, sizeof *s->constants, address_order);
    return s;
}

struct pack_store *pack_store_free(struct pack_store *s)
{
    if (s)
        arena_drop(&s->arena);
    free(s);
    return NULL;
}

size_t pack_store_bytes(const struct pack_store *s)
{
    size_t bytes = 0;
    for (size_t i = 0; i < STORED_LISTS; i++)
        for (const struct stored *b = s->lists[i]; b; b = b->next)
            bytes += b->pack.bytes;
    return bytes;
}

void pack_store_end(struct pack_store *s, bool made)
{
    for (size_t i = 0; i < STORED_LISTS; i++)
        for (struct stored *b = s->lists[i]; b; b = b->next) {
            b->is_open = b->is_open || (b->in_doubt && !made);
            b->in_doubt = false;
        }
}

/* Constants that a plan made for itself go with it. */
static bool key_stays(const struct pack_store *s, const struct pack_key *key)
{
    for (size_t i = 0; i < sizeof key->from / sizeof *key->from; i++)
        if (key->from[i] &&
            !bsearch(&key->from[i], s->constants, s->n, sizeof *s->constants, address_order))
            return false;
    return key->from[0] != NULL;
}

static bool key_same(const struct pack_key *a, const struct pack_key *b)
{
    return !memcmp(a->from, b->from, sizeof a->from) && a->n_words == b->n_words &&
        !memcmp(a->words, b->words, a->n_words * sizeof *a->words);
}

static struct stored *stored_find(struct stored *list, const struct pack_key *key, size_t bytes)
{
    while (list && (list->pack.bytes != bytes || !key_same(&list->key, key)))
        list = list->next;
    return list;
}

static struct stored *stored_add(struct pack_store *s, struct stored **list,
                                 const struct pack_key *key, size_t bytes)
{
    struct stored *b = arena_new(&s->arena, struct stored);
    size_t *words = arena_copy(&s->arena, key->words, key->n_words * sizeof *words);
    void *data = arena_alloc(&s->arena, bytes);
    if (!b || !words || !data)
        return NULL;
    *b = (struct stored) { .next = *list, .key = *key, .pack = { data, bytes }, .in_doubt = true };
    b->key.words = words;
    return *list = b;
}

void *packs_next_of(struct packs *p, size_t bytes, const struct pack_key *key, bool *ret_there)
{
    struct pack_store *s = p->shared;
    if (p->ready || !s || !key_stays(s, key))
        return packs_next(p, bytes, ret_there);
    struct stored **list = &s->lists[((uintptr_t) key->from[0] / 64 + bytes) % STORED_LISTS];
    struct stored *b = stored_find(*list, key, bytes);
    *ret_there = b && !b->is_open;
    if (!b && !(b = stored_add(s, list, key, bytes)))
        return NULL;
    if (b->is_open)
        memset((void *) (uintptr_t) b->pack.data, 0, bytes);
    b->in_doubt = b->in_doubt || b->is_open;
    b->is_open = false;
    return packs_add(p, b->pack.data, bytes);
}
