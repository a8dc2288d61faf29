/* SPDX-License-Identifier: MIT */
/* The parts of the daemon, in the order in which they start and stop. */
#include "daemon/base/clock.h"
#include "daemon/base/loop_init.h"
#include "daemon/base/notify.h"
#include "daemon/base/process.h"
#include "daemon/compute/work.h"
#include "daemon/models/load.h"
#include "daemon/parts.h"
#include "daemon/serve/session.h"
#include "daemon/serve/topic.h"
#include "daemon/watch/health.h"
#include "daemon/watch/metrics.h"

#include <rill.h>
#include <sys/random.h>

void daemon_link(struct daemon_parts *p)
{
    p->daemon = (struct daemon) { .conf = &p->conf,
                                  .life = &p->life,
                                  .log = &p->log,
                                  .memory = &p->memory,
                                  .slices = &p->slices,
                                  .counters = &p->counters,
                                  .worst = &p->worst,
                                  .pool = &p->pool,
                                  .registry = &p->registry,
                                  .net = &p->net,
                                  .sessions = &p->sessions,
                                  .admission = &p->admission,
                                  .metering = &p->metering,
                                  .memory_watch = &p->memory_watch,
                                  .reloads = &p->reloads,
                                  .loop = &p->loop };
}

struct daemon_parts *daemon_new(void)
{
    struct daemon_parts *p = calloc(1, sizeof *p);
    if (p)
        daemon_link(p);
    return p;
}

/* ---- start ---- */

static void instance_id_make(char id[33])
{
    uint8_t b[16] = { 0 };
    ssize_t n = getrandom(b, sizeof b, 0);
    (void) n;
    for (int i = 0; i < 16; i++)
        snprintf(id + 2 * i, 3, "%02x", b[i]);
}

static void net_link(struct daemon_parts *p)
{
    static const struct http_pages pages = { metrics_text, health_page };
    p->net.daemon = &p->daemon;
    p->net.calls = &client_calls;
    p->net.pages = &pages;
    p->net.loop = &p->loop;
    p->net.wake = &p->wake;
    p->net.conf = &p->conf;
    p->net.log = &p->log;
    p->net.memory = &p->memory;
    p->net.slices = &p->slices;
    p->net.counters = &p->counters;
    p->net.spare_fd = -1;
    if (getrandom(&p->net.streams_secret, sizeof p->net.streams_secret, 0) < 0)
        p->net.streams_secret = (uint32_t) p->life.started_us * UINT32_C(0x9e3779b1);
    p->net.streams_secret |= 1;
}

static bool memory_start(struct daemon_parts *p)
{
    memory_init(&p->memory, 0);
    p->memory.reclaim = topics_reclaim;
    p->memory.arg = &p->daemon;
    memory_conf(&p->daemon);
    p->net.http_owner = memory_owner(&p->memory, (struct principal) { PRINCIPAL_HTTP, 0 });
    if (!p->net.http_owner)
        log_line(&p->log, LOG_ERROR, "out of memory");
    return p->net.http_owner;
}

static bool runtime_is_there(struct daemon_parts *p)
{
    rill_error why = { .text = "" };
    if (rill_runtime_check(p->conf.daemon_runtime, NULL, &why) == RILL_OK)
        return true;
    log_line(&p->log, LOG_ERROR, "daemon.runtime: '%s': %s", p->conf.daemon_runtime, why.text);
    return false;
}

static bool daemon_start(struct daemon_parts *p)
{
    struct daemon *d = &p->daemon;
    char err[512];
    p->life.started_us = clock_now_us();
    p->life.started_wall_us = process_wall_us();
    p->next_summary_us = p->life.started_us + p->conf.log_interval_s * UINT64_C(1000000);
    p->watchdog_us = notify_watchdog_us();
    instance_id_make(p->life.instance_id);
    p->slices.wake = loop_wake;
    p->slices.wake_arg = p;
    net_link(p);
    if (!runtime_is_there(p) || !memory_start(p))
        return false;
    registry_init(&p->registry, &p->loop, &p->conf);
    p->registry.log = &p->log;
    p->registry.memory = &p->memory;
    meter_start(d);
    if (!loop_start(p))
        return false;
    if (!pool_start(&p->pool, &p->conf, loop_wake, p) || !health_start(d, p->watchdog_us)) {
        log_line(&p->log, LOG_ERROR, "compute threads cannot be started");
        return false;
    }
    p->registry.pool = p->pool.helpers;
    admit_conf(d);
    if (!listen_all(&p->net, err, sizeof err)) {
        log_line(&p->log, LOG_ERROR, "%s", err);
        return false;
    }
    return daemon_preload(d);
}

/* ---- stop ---- */

static void handle_close(uv_handle_t *h, void *arg)
{
    (void) arg;
    if (!uv_is_closing(h) && !work_owns(h))
        uv_close(h, NULL);
}

static void daemon_stop(struct daemon_parts *p)
{
    struct daemon *d = &p->daemon;
    atomic_store(&p->registry.stop, true);
    listen_close(&p->net);
    http_close(&p->net);
    conns_end(&p->net);
    pool_stop(&p->pool);
    for (struct session *s = p->sessions.first; s; s = s->next) {
        s->gone = true;
        if (s->lane)
            atomic_store(&s->lane->detached, true);
    }
    sessions_deliver(d);
    topics_sweep(d);
    reload_drop(d);
    registry_clear(&p->registry);
    counters_clear(&p->counters);
    uv_walk(&p->loop, handle_close, NULL);
    uv_run(&p->loop, UV_RUN_DEFAULT);
    uv_loop_close(&p->loop);
    memory_clear(&p->memory);
    pool_free(&p->pool);
    health_stop(d);
}

int daemon_run(struct daemon_parts *p)
{
    const char *why;
    memory_setup();
    if (!loop_init(&p->loop, &why)) {
        log_line(&p->log, LOG_ERROR, "cannot start: %s", why);
        return 1;
    }
    if (daemon_start(p))
        uv_run(&p->loop, UV_RUN_DEFAULT);
    else
        p->life.exit_code = 1;
    daemon_stop(p);
    return p->life.exit_code;
}
