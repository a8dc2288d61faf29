/* SPDX-License-Identifier: MIT */
/* streams.h - a hash table of a connection's streams by number. The hash has a secret, so clients
 * cannot choose numbers that collide. Loop thread only. */
#ifndef RILL_DAEMON_NET_STREAMS_H
#define RILL_DAEMON_NET_STREAMS_H

#include <stddef.h>
#include <stdint.h>

#define STREAMS_PLACES 128 /* a power of two; a connection has at most 64 streams */

/* The first member of what serves a stream. */
struct stream_link {
    struct stream_link *next; /* of the bucket */
    uint32_t id;
    unsigned kind; /* the rooms above tell their streams apart by it */
};

struct streams {
    struct stream_link *places[STREAMS_PLACES];
    uint32_t n, secret; /* secret: odd */
};

void streams_add(struct streams *t, struct stream_link *l); /* the number must be free */
void streams_remove(struct streams *t, const struct stream_link *l);
struct stream_link *streams_find(const struct streams *t, uint32_t id); /* NULL: there is none */

/* The streams of a kind, unordered, after one (NULL: the first). The last one may have been
 * removed, as long as its memory is valid. */
struct stream_link *streams_next(const struct streams *t, unsigned kind,
                                 const struct stream_link *after);

#endif
