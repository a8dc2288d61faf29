/* SPDX-License-Identifier: MIT */
/* The loop thread: what wakes it, its tick, its signals. */
#include "daemon/base/clock.h"
#include "daemon/base/notify.h"
#include "daemon/parts.h"
#include "daemon/serve/session.h"
#include "daemon/serve/topic.h"
#include "daemon/watch/health.h"
#include "daemon/watch/stats.h"

#include <signal.h>

/* an iteration of the loop that is longer than the shortest pulse */
#define LONG_ITERATION_US UINT64_C(1000)
#define LOOP_STALL_US UINT64_C(250000) /* between ticks: the loop was stalled */

static void on_wake(uv_async_t *a)
{
    struct daemon *d = a->data;
    sessions_deliver(d);
    conns_resume(d->net);
    conns_reap(d->net);
}

void loop_wake(void *parts)
{
    struct daemon_parts *p = parts;
    uv_async_send(&p->wake);
}

/* Notifies the watchdog from the loop itself, so that a stalled loop does not. */
static void watchdog_notify(struct daemon_parts *p, uint64_t now_us)
{
    if (!p->watchdog_us || now_us < p->next_notify_us)
        return;
    p->next_notify_us = now_us + p->watchdog_us / 3;
    if (health_is_live(&p->daemon))
        notify_send("WATCHDOG=1");
}

/* ---- the tick ---- */

static void ready_check(struct daemon *d)
{
    if (d->life->ready || d->life->preloads_left || d->life->draining)
        return;
    if (d->life->exit_code) {
        uv_stop(d->loop);
        return;
    }
    char names[512];
    d->life->ready = true;
    listen_names(d->net, names, sizeof names);
    log_event(d->log, LOG_INFO, EVENT_READY, "rilld %s ready: %u threads, %s", RILL_VERSION,
              d->pool->n_live, names);
    notify_send("READY=1\nSTATUS=Running, %u threads", d->pool->n_live);
}

/* Reports an iteration that took long to the workers, if live streams have claimed more than there
 * is: otherwise other work caused it and will pass. libuv's clock counts whole milliseconds. */
static void on_after_poll(uv_check_t *c)
{
    struct daemon *d = c->data;
    uint64_t now_us = clock_now_us(), woke_us = (uv_now(d->loop) + 1) * 1000;
    if (now_us <= woke_us + LONG_ITERATION_US || !admit_is_overcommitted(d))
        return;
    for (unsigned i = 0; i < d->pool->n; i++)
        worker_loop_overrun(&d->pool->workers[i], now_us, now_us - woke_us);
}

static void on_before_poll(uv_prepare_t *p)
{
    struct daemon *d = p->data;
    stall_before_poll(&d->net->stall, clock_now_us());
    slices_next_iteration(d->slices);
}

/* Moves all deadlines by the time of a stall: what clients sent meanwhile has not been read yet. */
static void loop_stalled(struct daemon *d, uint64_t us)
{
    for (struct conn *c = d->net->conns; c; c = c->next) {
        c->deadline_us += us;
        c->active_us += us;
        c->last_write_us += us;
        c->over_soft_us += c->over_soft_us ? us : 0;
    }
    for (struct session *s = d->sessions->first; s; s = s->next)
        s->audio_us += us;
    topics_shift_times(d, us);
    http_shift_deadlines(d->net, us);
}

static void on_tick(uv_timer_t *t)
{
    struct daemon_parts *p = t->data;
    struct daemon *d = &p->daemon;
    slices_tick(d->slices, d->admission->load.loop > 0);
    uint64_t before_us = d->life->tick_us, now_us = d->life->tick_us = clock_now_us();
    if (before_us && now_us - before_us > LOOP_STALL_US)
        loop_stalled(d, now_us - before_us);
    sessions_deliver(d);
    topics_sweep(d);
    meter_tick(d, now_us);
    sessions_idle(d, now_us);
    for (struct conn *c = d->net->conns, *next; c; c = next) {
        next = c->next;
        conn_tick(c, now_us);
    }
    if (d->slices->tick_pending)
        slices_resume(d->slices, SLICE_NEXT_ITERATION);
    d->slices->tick_pending = false;
    listen_tick(d->net);
    admit_tick(d);
    meter_idle(d, now_us);
    reload_tick(d, now_us);
    ready_check(d);
    memory_tick(d, now_us);
    registry_tick(d->registry, now_us);
    health_update(d, now_us);
    http_tick(d->net, now_us);
    watchdog_notify(p, now_us);
    if (now_us >= p->next_summary_us) {
        p->next_summary_us = now_us + d->conf->log_interval_s * UINT64_C(1000000);
        stats_summary(d);
    }
    drain_tick(d, now_us);
    if (d->life->stopping && !d->net->conns && !d->life->preloads_left && !d->reloads->running)
        uv_stop(d->loop);
}

static void on_signal(uv_signal_t *h, int number)
{
    struct daemon *d = h->data;
    if (number == SIGHUP)
        reload_start(d, NULL, 0);
    else
        daemon_drain(d, d->conf->limits_drain_grace_ms);
}

/* ---- start ---- */

static void reload_signal_mask(int how)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGHUP);
    pthread_sigmask(how, &set, NULL);
}

void signals_hold(void)
{
    reload_signal_mask(SIG_BLOCK);
}

static bool signals_start(struct daemon_parts *p)
{
    static const int numbers[] = { SIGTERM, SIGINT, SIGHUP };
    uv_signal_t *handles[] = { &p->sig_term, &p->sig_int, &p->sig_hup };
    signal(SIGPIPE, SIG_IGN);
    for (int i = 0; i < 3; i++) {
        if (uv_signal_init(&p->loop, handles[i]) < 0)
            return false;
        handles[i]->data = &p->daemon;
        if (uv_signal_start(handles[i], on_signal, numbers[i]) < 0)
            return false;
    }
    reload_signal_mask(SIG_UNBLOCK);
    return true;
}

bool loop_start(struct daemon_parts *p)
{
    p->wake.data = p->before_poll.data = p->after_poll.data = &p->daemon;
    p->tick.data = p;
    if (uv_async_init(&p->loop, &p->wake, on_wake) < 0) {
        log_line(&p->log, LOG_ERROR, "no descriptor to be woken by");
        return false;
    }
    uv_timer_init(&p->loop, &p->tick);
    uv_prepare_init(&p->loop, &p->before_poll);
    uv_check_init(&p->loop, &p->after_poll);
    uv_check_start(&p->after_poll, on_after_poll);
    uv_prepare_start(&p->before_poll, on_before_poll);
    uv_timer_start(&p->tick, on_tick, 0, TICK_MS);
    if (!signals_start(p)) {
        log_line(&p->log, LOG_ERROR, "signals cannot be watched");
        return false;
    }
    return true;
}
