/* SPDX-License-Identifier: MIT */
/* daemon.h - everything that the loop thread owns. Workers see lanes only. */
#ifndef RILL_DAEMON_SERVE_DAEMON_H
#define RILL_DAEMON_SERVE_DAEMON_H

#include "daemon/base/conf.h"
#include "daemon/base/cost.h"
#include "daemon/base/counters.h"
#include "daemon/base/log.h"
#include "daemon/base/memory.h"
#include "daemon/base/slices.h"
#include "daemon/base/worst.h"
#include "daemon/compute/worker.h"
#include "daemon/models/registry.h"
#include "daemon/net/net.h"
#include "daemon/serve/admit.h"

struct health;
struct reload;
struct session;
struct topic;

#define WORKERS_MAX 128 /* twice the most of the settings */

struct daemon {
    uv_loop_t loop;
    uv_async_t progress;
    uv_timer_t tick;
    uv_prepare_t before_poll;
    uv_check_t after_poll;
    uint64_t polled_us;  /* when the loop last went to wait */
    uint64_t stalled_us; /* when it had before, if it stood still since then; 0: it did not */
    uv_signal_t sig_term, sig_int, sig_hup;
    struct conf conf;
    char conf_path[512];
    bool conf_may_miss;
    char instance_id[33];
    struct log log;
    struct memory memory;
    struct registry registry;
    struct counters counters;
    struct worst worst;
    bool profiling; /* a model's steps are being timed */
    struct worker *workers;
    unsigned n_workers, n_live; /* all; the first of them, which live streams run in */
    unsigned n_processors;
    struct meter meter;    /* of the loop */
    struct cost loop_cost; /* of a pulse's messages, in nanoseconds of the loop */
    uint64_t metered_us;
    bool probing; /* a model is tried out again */
    struct net net;
    struct session *sessions;
    struct topic *topics;
    uint32_t n_sessions, next_serial;
    uint64_t streams_opened, streams_refused;
    struct load load; /* of the live streams that were let in */
    uint64_t started_us, started_wall_us, tick_us, drain_until_us, next_summary_us;
    uint64_t next_memory_us; /* when what is in memory is looked at again */
    bool memory_full;        /* without clients; that has been said */
    uint64_t watchdog_us, next_pet_us;
    struct health *health; /* of the compute threads */
    uint32_t last_served;  /* stream that had the last turn */
    struct slices slices;
    bool ready, draining, stopping;
    int preloads_left, exit_code;
    struct reload *reload, *next_reload; /* that runs; that is asked for */
    uint64_t reload_from_us;             /* the next one may run */
};

#endif
