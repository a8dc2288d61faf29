/* SPDX-License-Identifier: MIT */
/* listen.h - listening sockets for clients. */
#ifndef RILL_DAEMON_NET_LISTEN_H
#define RILL_DAEMON_NET_LISTEN_H

#include "daemon/net/sockets.h"

#include <stdbool.h>
#include <uv.h>

#define MAX_LISTENERS 8

struct net;

struct listener {
    uv_poll_t poll;
    struct net *net;
    int fd;
    bool is_control, open;
    bool paused, failing;         /* accepts nothing until the next tick; accept failed last */
    char name[SOCKET_NAME_BYTES]; /* for the log */
    struct own_socket own;
};

bool listen_all(struct net *net, char *err, size_t n);
void listen_tick(struct net *net);                             /* accepts again after a failure */
void listen_names(const struct net *net, char *ret, size_t n); /* without control sockets */
void listen_close(struct net *net);

#endif
