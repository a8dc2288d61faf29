/* SPDX-License-Identifier: MIT */
/* streams.h - what the numbers of a connection's streams stand for. A number is found in a few
 * steps however many streams the daemon has and whatever numbers clients choose: their places are
 * secret. Loop thread only. */
#ifndef RILL_DAEMON_NET_STREAMS_H
#define RILL_DAEMON_NET_STREAMS_H

#include <stddef.h>
#include <stdint.h>

#define STREAMS_PLACES 128 /* a power of two; a connection has at most 64 streams */

enum stream_kind { STREAM_SESSION, STREAM_SUB };

/* The first member of a session and of a subscription. */
struct stream_link {
    struct stream_link *next; /* in its place */
    uint32_t id;
    enum stream_kind kind;
};

struct streams {
    struct stream_link *places[STREAMS_PLACES];
    uint32_t n, secret; /* secret: odd */
};

void streams_add(struct streams *t, struct stream_link *l); /* its number is not there yet */
void streams_remove(struct streams *t, const struct stream_link *l);
struct stream_link *streams_find(const struct streams *t, uint32_t id); /* NULL: there is none */

/* Those of a kind, in any order, after one (NULL: the first). What was given may be removed before
 * the next is asked for, as long as its memory is there. */
struct stream_link *streams_next(const struct streams *t, enum stream_kind k,
                                 const struct stream_link *after);

#endif
