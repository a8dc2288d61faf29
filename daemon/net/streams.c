/* SPDX-License-Identifier: MIT */
#include "daemon/net/streams.h"

#define PLACE_BITS 7

_Static_assert(STREAMS_PLACES == 1 << PLACE_BITS, "a place is the upper bits of a product");

static size_t place_of(const struct streams *t, uint32_t id)
{
    uint32_t h = id * t->secret;
    h = (h ^ h >> 15) * UINT32_C(0x85ebca6b);
    return (h ^ h >> 13) * UINT32_C(0xc2b2ae35) >> (32 - PLACE_BITS);
}

void streams_add(struct streams *t, struct stream_link *l)
{
    struct stream_link **at = &t->places[place_of(t, l->id)];
    l->next = *at;
    *at = l;
    t->n++;
}

void streams_remove(struct streams *t, const struct stream_link *l)
{
    struct stream_link **at = &t->places[place_of(t, l->id)];
    while (*at && *at != l)
        at = &(*at)->next;
    if (!*at)
        return;
    *at = l->next;
    t->n--;
}

struct stream_link *streams_find(const struct streams *t, uint32_t id)
{
    struct stream_link *l = t->places[place_of(t, id)];
    while (l && l->id != id)
        l = l->next;
    return l;
}

struct stream_link *streams_next(const struct streams *t, unsigned kind,
                                 const struct stream_link *after)
{
    size_t place = after ? place_of(t, after->id) : 0;
    struct stream_link *l = after ? after->next : t->places[0];
    for (;;) {
        while (l && l->kind != kind)
            l = l->next;
        if (l || ++place == STREAMS_PLACES)
            return l;
        l = t->places[place];
    }
}
