/* SPDX-License-Identifier: MIT */
/* parts.h - all parts of the daemon, for who makes, starts and stops them. */
#ifndef RILL_DAEMON_PARTS_H
#define RILL_DAEMON_PARTS_H

#include "daemon/daemon.h"
#include "daemon/base/conf.h"
#include "daemon/base/counters.h"
#include "daemon/base/lifecycle.h"
#include "daemon/base/log.h"
#include "daemon/base/memory.h"
#include "daemon/base/slices.h"
#include "daemon/base/worst.h"
#include "daemon/compute/pool.h"
#include "daemon/models/registry.h"
#include "daemon/net/net.h"
#include "daemon/serve/admit.h"
#include "daemon/serve/limits.h"
#include "daemon/serve/meter.h"
#include "daemon/serve/session_list.h"

/* Owns the parts; `daemon` refers to them. */
struct daemon_parts {
    struct daemon daemon;
    struct conf conf;
    struct lifecycle life;
    struct log log;
    struct memory memory;
    struct slices slices;
    struct counters counters;
    struct worst worst;
    struct pool pool;
    struct registry registry;
    struct net net;
    struct session_list sessions;
    struct admission admission;
    struct metering metering;
    struct memory_watch memory_watch;
    struct reloads reloads;
    uv_loop_t loop;
    uv_async_t wake;
    uv_timer_t tick;
    uv_prepare_t before_poll;
    uv_check_t after_poll;
    uv_signal_t sig_term, sig_int, sig_hup;
    uint64_t watchdog_us, next_notify_us;
    uint64_t next_summary_us;
};

/* --- run.c --- */
struct daemon_parts *daemon_new(void);    /* to be freed; NULL without memory */
void daemon_link(struct daemon_parts *p); /* lets p->daemon refer to the parts, which are zero */
int daemon_run(struct daemon_parts *p);   /* exit code */

/* --- loop.c --- */
void signals_hold(void);                 /* SIGHUP waits for loop_start: by default it kills */
bool loop_start(struct daemon_parts *p); /* false: the log says why */
void loop_wake(void *parts);             /* from any thread: one write to an eventfd at most */

#endif
