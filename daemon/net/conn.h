/* SPDX-License-Identifier: MIT */
/* conn.h - a client's connection: bytes in, frames out, and when it ends. What frames say and whom
 * they pay for is asked through conn_calls. Loop thread only. */
#ifndef RILL_DAEMON_NET_CONN_H
#define RILL_DAEMON_NET_CONN_H

#include "daemon/base/memory.h"
#include "daemon/net/streams.h"
#include "rilld.pb-c.h"

#include <uv.h>

#define RETIRED_IDS 16

struct conn;
struct daemon;
struct listener;
struct net;

/* What a connection's streams and subscriptions give. */
struct conn_outputs {
    uint64_t bytes_per_s;
    uint32_t lag_ms; /* of live sources that wait elsewhere, the longest */
    bool any_live;
    bool overdue; /* a source ended so long ago that whoever reads has read the rest */
};

/* What is above connections. */
struct conn_calls {
    void (*message)(struct conn *c, const uint8_t *bytes, size_t n); /* a message came */
    void (*writable)(struct conn *c); /* there is room again for what waits elsewhere */
    void (*drop)(struct conn *c);     /* its streams end: it is closing */
    void (*gone)(struct conn *c);     /* nothing is sent any more */
    void (*outputs)(const struct conn *c, uint64_t now_us, struct conn_outputs *ret);
    /* a price covers the messages that this stream gets */
    bool (*has_priority)(const struct stream_link *l);
    /* The loop worked for it since then, on that stream or on none (NULL). Returns now. */
    uint64_t (*worked)(struct conn *c, struct stream_link *l, uint64_t since_us);
    enum memory_answer (*claim)(struct conn *c, enum memory_kind k, size_t bytes);
    uint32_t (*retry_ms)(struct conn *c);          /* for who is told that there is too much load */
    bool (*idle)(struct conn *c, uint64_t now_us); /* true: it was closed for that */
    void (*fit)(struct conn *c); /* the socket's buffer to what its streams give */
};

struct conn {
    uv_pipe_t pipe; /* first: the handle is the connection */
    struct net *net;
    struct daemon *daemon;
    struct conn *next;
    uint32_t id, uid, pid;
    bool has_place; /* one of max_connections; not an operator's, not a refused one */
    bool is_control, preface_done, hello_done, closing, paused;
    bool broken;     /* a write failed: it ends with this turn of the loop */
    bool error_sent; /* it is told why it ends, whatever waits already */
    struct owner *owner;
    size_t counted_bytes; /* of its buffers, for the owner */
    bool input_pending;   /* whole messages of it wait in `in`; nothing is read meanwhile */
    char client[64];
    uint8_t *in;
    size_t in_fill, in_cap;
    uint32_t max_message_bytes;
    uint8_t *arena;
    size_t arena_used, arena_bytes;
    uint64_t accepted_us, deadline_us;    /* deadline of closing or of Hello */
    uint64_t over_soft_us, last_write_us; /* 0 = not over */
    uint64_t active_us;                   /* of the newest bytes or the last end of a stream */
    size_t unsent_bytes; /* memory of what waits to be written, counted as it comes */
    size_t last_queue_bytes;
    struct streams streams;
    struct stream_link *last_audio; /* whose audio the last message was; NULL: none */
    uint32_t retired_ids[RETIRED_IDS], retired_at;
};

void conn_accept(struct net *net, const struct listener *l, int fd); /* takes fd, in every case */
/* one Error, and closes */
void conn_refuse(struct net *net, int fd, Rill__Code code, const char *text);
/* f->m_case and member are set */
void conn_send(struct conn *c, uint32_t req, Rill__ServerFrame *f);
void conn_error(struct conn *c, uint32_t req, uint32_t stream, Rill__Code code, bool fatal,
                const char *format, ...) __attribute__((format(printf, 6, 7)));
void conn_close(struct conn *c);    /* after what is queued was written, within a second */
void conns_end(struct net *net);    /* all of them, at once */
void conns_resume(struct net *net); /* messages that were read and had no time in their turn */
void conns_reap(struct net *net);   /* those that are closing and have nothing left to say */
size_t conn_queue_bytes(const struct conn *c);
void conn_tick(struct conn *c, uint64_t now_us);
void conn_id_retire(struct conn *c, uint32_t stream); /* late messages for it are no error */
bool conn_id_is_retired(const struct conn *c, uint32_t stream);
void conn_id_reuse(struct conn *c, uint32_t stream); /* a new stream has that number */
/* Whether more may wait to be read than what any connection may have. */
bool conn_has_room(const struct conn *c);
ProtobufCAllocator conn_allocator(struct conn *c);

#endif
