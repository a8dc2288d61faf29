/* SPDX-License-Identifier: MIT */
/* http_serve.h - metrics and health over HTTP. */
#ifndef RILL_DAEMON_NET_HTTP_SERVE_H
#define RILL_DAEMON_NET_HTTP_SERVE_H

#include "daemon/net/sockets.h"

#include <stdbool.h>
#include <uv.h>

struct daemon;
struct net;

/* The contents of the pages. */
struct http_pages {
    /* to be freed; NULL without memory. open: OpenMetrics, not Prometheus' older text */
    char *(*metrics)(struct daemon *d, bool open, size_t *ret_bytes);
    /* Whether it is healthy, or, for `live`, alive; the text of the page with its newline. */
    bool (*health)(const struct daemon *d, bool live, char *ret, size_t bytes);
};

#define HTTP_LISTENERS 8
struct http_conn;

/* Each has a limit of its own, so that clients of one cannot use up the connections of another. */
struct http_listener {
    uv_poll_t poll;
    struct net *net;
    int fd;
    struct own_socket own;
    bool health_only;             /* no /metrics */
    bool paused;                  /* accepts nothing until the next tick */
    struct http_conn *conns;      /* in order of eviction */
    unsigned n_conns, n_accepted; /* accepted: since the last tick */
};

/* takes fd */
bool http_passed(struct net *net, int fd, bool health_only, char *err, size_t n);
bool http_start(struct net *net, char *err, size_t n); /* listens where the settings say */
void http_tick(struct net *net, uint64_t now_us);
void http_shift_deadlines(struct net *net, uint64_t us);
bool http_evict_one(
    struct net *net); /* closes a connection to free its descriptor; false: there is none */
void http_close(struct net *net); /* called last: health is answered while the daemon drains */

#endif
