/* SPDX-License-Identifier: MIT */
/* net.h - all listeners and connections. Its pointers to the rest of the daemon are set before it
 * listens. Loop thread only. */
#ifndef RILL_DAEMON_NET_NET_H
#define RILL_DAEMON_NET_NET_H

#include "daemon/base/conf.h"
#include "daemon/base/counters.h"
#include "daemon/base/log.h"
#include "daemon/base/slices.h"
#include "daemon/base/stall.h"
#include "daemon/net/conn.h"
#include "daemon/net/http_serve.h"
#include "daemon/net/listen.h"

struct net {
    struct daemon *daemon; /* passed to calls and pages */
    const struct conn_calls *calls;
    const struct http_pages *pages;
    uv_loop_t *loop;
    uv_async_t *wake; /* wakes the loop */
    const struct conf *conf;
    struct log *log;
    struct memory *memory;
    struct slices *slices;
    struct counters *counters;
    struct stall stall;

    struct listener listeners[MAX_LISTENERS];
    unsigned n_listeners;
    int spare_fd; /* kept to refuse clients where descriptors have run out; -1: none */
    struct http_listener http[HTTP_LISTENERS];
    unsigned n_http;
    struct owner *http_owner;   /* the account of HTTP */
    size_t http_response_bytes; /* of responses that are not sent */
    struct {
        char *s;
        size_t n;
    } http_metrics[2];     /* made in this tick; [1]: OpenMetrics */
    uint64_t http_evicted; /* connections evicted for others */
    struct conn *conns;
    uint32_t n_conns, next_conn;
    uint32_t streams_secret;   /* for new connections */
    uint32_t last_served_conn; /* number of the connection that was served last */
    bool any_closing;          /* conns_reap has something to do */
    uint64_t conns_accepted, protocol_errors;
};

#endif
