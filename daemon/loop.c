/* SPDX-License-Identifier: MIT */
#include "daemon/daemon.h"
#include "daemon/base/loop_init.h"
#include "daemon/base/process.h"
#include "daemon/compute/work.h"

#include <sched.h>
#include <signal.h>
#include <sys/random.h>
#include <unistd.h>

#define LONG_ITERATION_US                                                                          \
    UINT64_C(1000) /* an iteration of the loop that is longer than the shortest pulse */
#define LOOP_STALL_US UINT64_C(250000) /* between ticks: the loop was stalled */

static void on_wake(uv_async_t *a)
{
    struct daemon *d = a->data;
    sessions_deliver(d);
    conns_resume(&d->net);
    conns_reap(&d->net);
}

/* Wakes the loop from any thread: one write to an eventfd at most. */
static void progress_send(void *arg)
{
    uv_async_send(arg);
}

/* ---- health ---- */

/* Notifies the watchdog from the loop itself, so that a stalled loop does not. */
static void watchdog_pet(struct daemon *d, uint64_t now_us)
{
    if (!d->watchdog_us || now_us < d->next_pet_us)
        return;
    d->next_pet_us = now_us + d->watchdog_us / 3;
    if (health_is_live(d))
        notify_send("WATCHDOG=1");
}

/* ---- the tick ---- */

static void ready_check(struct daemon *d)
{
    if (d->ready || d->preloads_left || d->draining)
        return;
    if (d->exit_code) {
        uv_stop(&d->loop);
        return;
    }
    char names[512];
    d->ready = true;
    listen_names(&d->net, names, sizeof names);
    log_event(&d->log, LOG_INFO, EVENT_READY, "rilld %s ready: %u threads, %s", RILL_VERSION,
              d->n_live, names);
    notify_send("READY=1\nSTATUS=Running, %u threads", d->n_live);
}

/* Reports an iteration that took long to the workers, if live streams have claimed more than there
 * is: otherwise other work caused it and will pass. libuv's clock counts whole milliseconds. */
static void on_after_poll(uv_check_t *c)
{
    struct daemon *d = c->data;
    uint64_t now_us = lane_now_us(), woke_us = (uv_now(&d->loop) + 1) * 1000;
    if (now_us <= woke_us + LONG_ITERATION_US || !admit_over(d))
        return;
    for (unsigned i = 0; i < d->n_workers; i++)
        worker_loop_overrun(&d->workers[i], now_us, now_us - woke_us);
}

static void on_before_poll(uv_prepare_t *p)
{
    struct daemon *d = p->data;
    admit_before_poll(d);
    slices_next_iteration(&d->slices);
}

/* Moves all deadlines by the time of a stall: what clients sent meanwhile has not been read yet. */
static void loop_stalled(struct daemon *d, uint64_t us)
{
    for (struct conn *c = d->net.conns; c; c = c->next) {
        c->deadline_us += us;
        c->active_us += us;
        c->last_write_us += us;
        c->over_soft_us += c->over_soft_us ? us : 0;
    }
    for (struct session *s = d->sessions; s; s = s->next)
        s->audio_us += us;
    topics_shift_times(d, us);
    http_shift_deadlines(&d->net, us);
}

static void on_tick(uv_timer_t *t)
{
    struct daemon *d = t->data;
    slices_tick(&d->slices, d->load.loop > 0);
    uint64_t before_us = d->tick_us, now_us = d->tick_us = lane_now_us();
    if (before_us && now_us - before_us > LOOP_STALL_US)
        loop_stalled(d, now_us - before_us);
    sessions_deliver(d);
    topics_sweep(d);
    meter_tick(d, now_us);
    sessions_idle(d, now_us);
    for (struct conn *c = d->net.conns, *next; c; c = next) {
        next = c->next;
        conn_tick(c, now_us);
    }
    if (d->slices.tick_pending)
        slices_resume(&d->slices, SLICE_NEXT_ITERATION);
    d->slices.tick_pending = false;
    listen_tick(&d->net);
    admit_tick(d);
    meter_idle(d, now_us);
    reload_tick(d, now_us);
    ready_check(d);
    memory_tick(d, now_us);
    registry_tick(&d->registry, now_us);
    health_update(d, now_us);
    http_tick(&d->net, now_us);
    watchdog_pet(d, now_us);
    if (now_us >= d->next_summary_us) {
        d->next_summary_us = now_us + d->conf.log_interval_s * UINT64_C(1000000);
        stats_summary(d);
    }
    drain_tick(d, now_us);
    if (d->stopping && !d->net.conns && !d->preloads_left && !d->reload)
        uv_stop(&d->loop);
}

static void on_signal(uv_signal_t *h, int number)
{
    struct daemon *d = h->data;
    if (number == SIGHUP)
        reload_start(d, NULL, 0);
    else
        daemon_drain(d, d->conf.limits_drain_grace_ms);
}

/* ---- start and stop ---- */

static unsigned processors(void)
{
    cpu_set_t set;
    long n = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set)
                                                         : sysconf(_SC_NPROCESSORS_ONLN);
    return n > 0 ? (unsigned) n : 1;
}

static bool workers_start(struct daemon *d)
{
    d->n_processors = processors();
    unsigned most = WORKERS_MAX / 2, some = d->n_processors < most ? d->n_processors : most,
             n = d->conf.daemon_workers ? d->conf.daemon_workers : some;
    d->n_live = n;
    n *= 2; /* files have threads of their own, of low priority */
    d->workers = aligned_alloc(64, n * ((sizeof *d->workers + 63) & ~(size_t) 63));
    if (!d->workers)
        return false;
    memset(d->workers, 0, n * sizeof *d->workers);
    realtime_setup();
    for (; d->n_workers < n; d->n_workers++) {
        d->workers[d->n_workers].realtime_priority = d->conf.daemon_realtime_priority;
        d->workers[d->n_workers].meter.factor = 1;
        d->workers[d->n_workers].background = d->n_workers >= d->n_live;
        if (worker_start(&d->workers[d->n_workers], d->conf.limits_max_streams,
                         d->conf.daemon_batch, progress_send, &d->progress))
            return false;
    }
    admit_conf(d);
    return true;
}

static void instance_id_make(char id[33])
{
    uint8_t b[16] = { 0 };
    ssize_t n = getrandom(b, sizeof b, 0);
    (void) n;
    for (int i = 0; i < 16; i++)
        snprintf(id + 2 * i, 3, "%02x", b[i]);
}

static bool signals_start(struct daemon *d)
{
    static const int numbers[] = { SIGTERM, SIGINT, SIGHUP };
    uv_signal_t *handles[] = { &d->sig_term, &d->sig_int, &d->sig_hup };
    signal(SIGPIPE, SIG_IGN);
    for (int i = 0; i < 3; i++) {
        if (uv_signal_init(&d->loop, handles[i]) < 0)
            return false;
        handles[i]->data = d;
        if (uv_signal_start(handles[i], on_signal, numbers[i]) < 0)
            return false;
    }
    return true;
}

static void net_set(struct daemon *d)
{
    static const struct http_pages pages = { metrics_text, health_page };
    d->net.daemon = d;
    d->net.calls = &client_calls;
    d->net.pages = &pages;
    d->net.loop = &d->loop;
    d->net.progress = &d->progress;
    d->net.conf = &d->conf;
    d->net.log = &d->log;
    d->net.memory = &d->memory;
    d->net.slices = &d->slices;
    d->net.counters = &d->counters;
}

static bool daemon_start(struct daemon *d)
{
    char err[512];
    d->started_us = lane_now_us();
    d->started_wall_us = process_wall_us();
    d->next_summary_us = d->started_us + d->conf.log_interval_s * UINT64_C(1000000);
    d->watchdog_us = notify_watchdog_us();
    instance_id_make(d->instance_id);
    if (getrandom(&d->net.streams_secret, sizeof d->net.streams_secret, 0) < 0)
        d->net.streams_secret = (uint32_t) d->started_us * UINT32_C(0x9e3779b1);
    d->net.streams_secret |= 1;
    d->progress.data = d;
    d->slices.wake = progress_send;
    d->slices.wake_arg = &d->progress;
    net_set(d);
    d->net.spare_fd = -1;
    memory_init(&d->memory, 0);
    d->memory.reclaim = topics_reclaim;
    d->memory.arg = d;
    memory_conf(d);
    d->net.http_owner = memory_owner(&d->memory, (struct principal) { PRINCIPAL_HTTP, 0 });
    if (!d->net.http_owner) {
        log_line(&d->log, LOG_ERROR, "out of memory");
        return false;
    }
    registry_init(&d->registry, &d->loop, &d->conf);
    d->registry.log = &d->log;
    d->registry.memory = &d->memory;
    meter_start(d);
    if (uv_async_init(&d->loop, &d->progress, on_wake) < 0) {
        log_line(&d->log, LOG_ERROR, "no descriptor to be woken by");
        return false;
    }
    uv_timer_init(&d->loop, &d->tick);
    uv_prepare_init(&d->loop, &d->before_poll);
    uv_check_init(&d->loop, &d->after_poll);
    d->before_poll.data = d->after_poll.data = d;
    uv_check_start(&d->after_poll, on_after_poll);
    uv_prepare_start(&d->before_poll, on_before_poll);
    d->tick.data = d;
    uv_timer_start(&d->tick, on_tick, 0, TICK_MS);
    if (!signals_start(d)) {
        log_line(&d->log, LOG_ERROR, "signals cannot be watched");
        return false;
    }
    if (!workers_start(d) || !health_start(d, d->watchdog_us)) {
        log_line(&d->log, LOG_ERROR, "compute threads cannot be started");
        return false;
    }
    if (!listen_all(&d->net, err, sizeof err)) {
        log_line(&d->log, LOG_ERROR, "%s", err);
        return false;
    }
    return daemon_preload(d);
}

static void handle_close(uv_handle_t *h, void *arg)
{
    (void) arg;
    if (!uv_is_closing(h) && !work_owns(h))
        uv_close(h, NULL);
}

static void daemon_stop(struct daemon *d)
{
    atomic_store(&d->registry.stop, true);
    listen_close(&d->net);
    http_close(&d->net);
    conns_end(&d->net);
    for (unsigned i = 0; i < d->n_workers; i++)
        worker_stop(&d->workers[i]);
    for (struct session *s = d->sessions; s; s = s->next) {
        s->gone = true;
        if (s->lane)
            atomic_store(&s->lane->detached, true);
    }
    sessions_deliver(d);
    topics_sweep(d);
    reload_drop(d);
    registry_clear(&d->registry);
    counters_clear(&d->counters);
    uv_walk(&d->loop, handle_close, NULL);
    uv_run(&d->loop, UV_RUN_DEFAULT);
    uv_loop_close(&d->loop);
    memory_clear(&d->memory);
    free(d->workers);
    health_stop(d);
}

int daemon_run(struct daemon *d)
{
    const char *why;
    if (!loop_init(&d->loop, &why)) {
        log_line(&d->log, LOG_ERROR, "cannot start: %s", why);
        return 1;
    }
    if (daemon_start(d))
        uv_run(&d->loop, UV_RUN_DEFAULT);
    else
        d->exit_code = 1;
    daemon_stop(d);
    return d->exit_code;
}
