/* SPDX-License-Identifier: MIT */
/* conn.h - a client's connection: bytes in, messages out, and when it ends. It knows no sessions:
 * what messages mean and who is served first is asked through conn_calls. Loop thread only. */
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

/* The output of all streams of a connection. */
struct conn_outputs {
    uint64_t bytes_per_s;
    uint32_t lag_ms; /* the longest lag behind a live source */
    bool any_live;
    const char *overdue; /* why what waits should have been read long ago; NULL: it need not */
};

/* What a connection calls in the rooms above. */
struct conn_calls {
    void (*message)(struct conn *c, const uint8_t *bytes, size_t n); /* a message came */
    void (*writable)(struct conn *c); /* after `paused`: the queue has been written */
    void (*drop)(struct conn *c);     /* it is closing: ends its streams */
    void (*gone)(struct conn *c);     /* it is freed: nothing may refer to it */
    void (*outputs)(const struct conn *c, uint64_t now_us, struct conn_outputs *ret);
    /* the stream's messages are handled at once, without a slice */
    bool (*has_priority)(const struct stream_link *l);
    /* charges the loop's time since then to that stream or to none (NULL); returns now */
    uint64_t (*worked)(struct conn *c, struct stream_link *l, uint64_t since_us);
    enum memory_answer (*claim)(struct conn *c, enum memory_kind k, size_t bytes);
    uint32_t (*retry_ms)(struct conn *c); /* for an OVERLOADED error */
    bool (*idle)(struct conn *c,
                 uint64_t now_us); /* true: it was idle for too long and is closed */
    void (*fit)(struct conn *c);   /* sets the size of the socket's buffer */
};

struct conn {
    uv_pipe_t pipe; /* first: the handle is the connection */
    struct net *net;
    struct daemon *daemon;
    struct conn *next;
    uint32_t id, uid, pid;
    bool is_counted; /* counts in max_connections: not on the control socket, not refused */
    bool is_control, preface_done, hello_done, closing, paused;
    bool broken;     /* a write failed: it ends with this iteration of the loop */
    bool error_sent; /* a last error is queued, and nothing else is sent */
    struct owner *owner;
    size_t counted_bytes; /* charged to the owner for its buffers */
    bool input_pending;   /* whole messages wait in `in` for a slice; nothing is read meanwhile */
    char client[64];
    uint8_t *in;
    size_t in_fill, in_cap;
    uint32_t max_message_bytes;
    uint8_t *arena;
    size_t arena_used, arena_bytes;
    bool arena_ran_out;                   /* by the message that is read */
    uint64_t accepted_us, deadline_us;    /* deadline: of Hello, or of closing */
    uint64_t over_soft_us, last_write_us; /* over_soft_us 0: it is not over output_soft_ms */
    uint64_t active_us;                   /* when it last sent bytes or a stream of it ended */
    uint64_t waited_since_us; /* what is handled now may have waited since then, for the loop was
                                 stalled; 0: it came just now */
    uint32_t resumed_at;      /* iteration of the loop in which it went on reading after a slice */
    size_t unsent_bytes;      /* memory of queued messages */
    size_t last_queue_bytes;
    uint64_t ended_bytes_per_s; /* of the largest stream that ended since the queue was empty: what
                                   it left there is still its client's to read */
    struct streams streams;
    struct stream_link *last_audio; /* the stream of the last message, if that was Audio */
    uint32_t retired_ids[RETIRED_IDS], retired_at;
};

void conn_accept(struct net *net, const struct listener *l, int fd); /* always takes fd */
/* sends one Error and closes fd */
void conn_refuse(struct net *net, int fd, Rill__Code code, const char *text);
/* f->m_case and member are set */
void conn_send(struct conn *c, uint32_t req, Rill__ServerFrame *f);
void conn_error(struct conn *c, uint32_t req, uint32_t stream, Rill__Code code, bool fatal,
                const char *format, ...) __attribute__((format(printf, 6, 7)));
/* A stream with so much output ends: its client may take as long to read the rest as before. */
void conn_output_end(struct conn *c, uint64_t bytes_per_s);
void conn_close(struct conn *c);    /* once the queue is written, or after a second */
void conns_end(struct net *net);    /* all at once */
void conns_resume(struct net *net); /* handles messages that waited for a slice */
void conns_reap(struct net *net);   /* frees those that are closing and have nothing queued */
struct conn *conn_find(const struct net *net, uint32_t id); /* NULL: it is closed */
size_t conn_queue_bytes(const struct conn *c);
/* Whether f is short enough for the client, whatever req conn_send gives it. */
bool conn_takes(const struct conn *c, const Rill__ServerFrame *f);
void conn_tick(struct conn *c, uint64_t now_us);
void conn_id_retire(struct conn *c,
                    uint32_t stream); /* messages for it that were under way are ignored */
bool conn_id_is_retired(const struct conn *c, uint32_t stream);
bool conn_id_is_taken(const struct conn *c, uint32_t stream); /* by a session or a subscription */
void conn_id_reuse(struct conn *c, uint32_t stream);          /* a new stream takes the number */
/* Whether memory allows it a longer queue. */
bool conn_has_room(const struct conn *c);
ProtobufCAllocator conn_allocator(struct conn *c);

#endif
