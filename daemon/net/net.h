/* SPDX-License-Identifier: MIT */
/* net.h - all that comes and goes over sockets. What it takes from the daemon is pointers that are
 * set before anything is listened to. Loop thread only. */
#ifndef RILL_DAEMON_NET_NET_H
#define RILL_DAEMON_NET_NET_H

#include "daemon/base/conf.h"
#include "daemon/base/counters.h"
#include "daemon/base/log.h"
#include "daemon/base/slices.h"
#include "daemon/net/conn.h"
#include "daemon/net/http_serve.h"
#include "daemon/net/listen.h"

struct net {
    struct daemon *daemon; /* for calls and pages, and of connections */
    const struct conn_calls *calls;
    const struct http_pages *pages;
    uv_loop_t *loop;
    uv_async_t *progress; /* the loop's next turn comes at once */
    const struct conf *conf;
    struct log *log;
    struct memory *memory;
    struct slices *slices;
    struct counters *counters;

    struct listener listeners[MAX_LISTENERS];
    unsigned n_listeners;
    int spare_fd; /* to turn clients away where there is no other; -1 = none */
    struct http_listener http[HTTP_LISTENERS];
    unsigned n_http;
    struct owner *http_owner;   /* of all that HTTP takes */
    size_t http_response_bytes; /* of answers that are not sent yet */
    struct {
        char *s;
        size_t n;
    } http_metrics[2];     /* of this tick, by `open` */
    uint64_t http_evicted; /* connections that gave way */
    struct conn *conns;
    uint32_t n_conns, next_conn;
    uint32_t streams_secret;   /* of connections to come */
    uint32_t last_served_conn; /* connection that had the last one */
    bool any_closing;          /* a connection is closing */
    uint64_t conns_accepted, protocol_errors;
};

#endif
