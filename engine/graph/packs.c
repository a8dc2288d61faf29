/* SPDX-License-Identifier: MIT */
#include "engine/graph/packs.h"

void *packs_next(struct packs *p, size_t bytes, bool *ret_there)
{
    struct pack *list = arena_grow(p->arena, p->list, p->n, &p->cap, sizeof *list);
    *ret_there = p->ready != NULL;
    if (!list)
        return NULL;
    p->list = list;
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
