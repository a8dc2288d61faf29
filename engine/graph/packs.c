/* SPDX-License-Identifier: MIT */
#include "engine/graph/packs.h"

#include <string.h>

static bool list_grow(struct packs *p)
{
    if (p->n < p->cap)
        return true;
    uint32_t cap = p->cap ? p->cap * 2 : 64;
    struct pack *more = arena_array(p->arena, struct pack, cap);
    if (!more)
        return false;
    if (p->n)
        memcpy(more, p->list, p->n * sizeof *more);
    p->list = more;
    p->cap = cap;
    return true;
}

void *packs_next(struct packs *p, size_t bytes, bool *ret_there)
{
    *ret_there = p->ready != NULL;
    if (!list_grow(p))
        return NULL;
    if (p->ready && (p->n >= p->n_ready || p->ready[p->n].bytes != bytes)) {
        p->misfit = true;
        return NULL;
    }
    const void *data = p->ready ? p->ready[p->n].data : arena_alloc(p->arena, bytes);
    if (!data)
        return NULL;
    p->list[p->n++] = (struct pack) { data, bytes };
    return (void *) (uintptr_t) data;
}
