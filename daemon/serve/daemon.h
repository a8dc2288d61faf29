/* SPDX-License-Identifier: MIT */
/* daemon.h - where the parts of the daemon are. Each part is declared by the room that it belongs
 * to; a file includes the headers of those that it uses. Loop thread only: workers see lanes. */
#ifndef RILL_DAEMON_SERVE_DAEMON_H
#define RILL_DAEMON_SERVE_DAEMON_H

#include <stdbool.h>

struct daemon {
    /* base */
    struct conf *conf;
    struct lifecycle *life;
    struct log *log;
    struct memory *memory;
    struct slices *slices;
    struct counters *counters;
    struct worst *worst;
    /* compute, models, net */
    struct pool *pool;
    struct registry *registry;
    struct net *net;
    /* serve */
    struct session_list *sessions;
    struct topic *topics;
    struct admission *admission;
    struct metering *metering;
    struct memory_watch *memory_watch;
    /* watch */
    struct health *health; /* NULL before health_start */
    bool profiling;        /* a model's steps are being timed */
    /* the top folder */
    struct reloads *reloads;
    struct uv_loop_s *loop;
};

#endif
