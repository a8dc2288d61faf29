/* SPDX-License-Identifier: MIT */
#include "daemon/watch/health.h"
#include "daemon/base/clock.h"
#include "daemon/base/lifecycle.h"
#include "daemon/base/log.h"
#include "daemon/compute/lane.h"
#include "daemon/compute/pcm.h"
#include "daemon/compute/pool.h"
#include "daemon/compute/ports.h"
#include "daemon/compute/worker.h"
#include "daemon/serve/daemon.h"
#include "daemon/serve/session.h"
#include "daemon/serve/session_list.h"

#define LOOP_SLACK_US 150000 /* a tick and a margin */

bool health_start(struct daemon *d, uint64_t watchdog_us)
{
    struct health *h = d->health = calloc(1, sizeof *h);
    uint64_t half = watchdog_us / 2,
             most = half > 2 * LOOP_SLACK_US ? half - LOOP_SLACK_US : half / 2;
    if (!h)
        return false;
    h->limit_us = watchdog_us && most < HEALTH_LIMIT_US ? most : HEALTH_LIMIT_US;
    h->threads = calloc(d->pool->n ? d->pool->n : 1, sizeof *h->threads);
    h->updated_us = clock_now_us();
    for (unsigned i = 0; h->threads && i < d->pool->n; i++)
        h->threads[i].moved_us = h->updated_us;
    return h->threads;
}

void health_stop(struct daemon *d)
{
    if (d->health)
        free(d->health->threads);
    free(d->health);
    d->health = NULL;
}

/* A whole pulse of input waits, and there is room for its output. */
static bool lane_is_due(const struct session *s)
{
    const struct lane *l = s->lane;
    const struct lane_model *m = l->model;
    if (l->ports)
        return !atomic_load_explicit(&l->detached, memory_order_acquire) && !ring_used(&l->recs) &&
            lane_ports_wait(l->ports);
    uint64_t pulse = rate_rescale(m->pulse_samples, l->opts.in_rate, m->rate) + 1;
    uint64_t most = l->in.mask < pulse ? l->in.mask : pulse;
    return !atomic_load_explicit(&l->detached, memory_order_acquire) && ring_used(&l->in) >= most &&
        !ring_used(&l->recs) && !ring_used(&l->out);
}

static void busy_find(struct daemon *d)
{
    for (unsigned i = 0; i < d->pool->n; i++)
        d->health->threads[i].busy = !atomic_load(&d->pool->workers[i].sleeping);
    for (const struct session *s = d->sessions->first; s; s = s->next)
        if (!s->gone && s->lane && s->worker && lane_is_due(s))
            d->health->threads[s->worker - d->pool->workers].busy = true;
}

static void thread_update(struct daemon *d, unsigned i, uint64_t now_us)
{
    struct health *h = d->health;
    struct health_thread *t = &h->threads[i];
    uint64_t heartbeat = atomic_load(&d->pool->workers[i].heartbeat);
    if (heartbeat != t->heartbeat || !t->busy)
        t->moved_us = now_us;
    t->heartbeat = heartbeat;
    if (now_us - t->moved_us <= h->limit_us || h->reason[0])
        return;
    snprintf(h->reason, sizeof h->reason,
             "compute thread %u has work and does not advance for %llu ms%s", i,
             (unsigned long long) ((now_us - t->moved_us) / 1000),
             atomic_load(&d->pool->workers[i].sleeping) ? ", it sleeps" : "");
}

void health_update(struct daemon *d, uint64_t now_us)
{
    struct health *h = d->health;
    uint64_t late_us = now_us - h->updated_us;
    bool was = h->stuck;
    h->updated_us = now_us;
    h->loop_late_us = late_us > h->loop_late_us ? late_us : h->loop_late_us;
    busy_find(d);
    /* What stalled the loop for so long stalled the threads too, so that time does not count
     * against them. */
    for (unsigned i = 0; late_us > h->limit_us / 2 && i < d->pool->n; i++)
        h->threads[i].moved_us += late_us;
    h->reason[0] = '\0';
    for (unsigned i = 0; i < d->pool->n; i++)
        thread_update(d, i, now_us);
    h->stuck = h->reason[0];
    if (h->stuck && !was)
        log_event(d->log, LOG_ERROR, EVENT_STUCK, "%s", h->reason);
    if (was && !h->stuck)
        log_event(d->log, LOG_WARN, EVENT_RECOVERED, "the compute threads advance again");
}

enum health_state health_state(const struct daemon *d)
{
    return d->health->stuck      ? HEALTH_STUCK
        : d->life->draining      ? HEALTH_DRAINING
        : d->life->preloads_left ? HEALTH_STARTING
                                 : HEALTH_OK;
}

bool health_is_live(const struct daemon *d)
{
    return health_state(d) != HEALTH_STUCK;
}

const char *health_state_name(enum health_state s)
{
    static const char *const names[] = { "", "ok", "draining", "stuck", "starting" };
    return names[s];
}

const char *health_reason(const struct daemon *d)
{
    static const char *const reasons[] = {
        [HEALTH_OK] = "",
        [HEALTH_DRAINING] = "the daemon is stopping and opens no new streams",
        [HEALTH_STARTING] = "models are being loaded",
    };
    enum health_state s = health_state(d);
    return s == HEALTH_STUCK ? d->health->reason : reasons[s];
}

bool health_page(const struct daemon *d, bool live, char *ret, size_t bytes)
{
    bool good = live ? health_is_live(d) : health_state(d) == HEALTH_OK;
    if (good)
        snprintf(ret, bytes, "ok\n");
    else
        snprintf(ret, bytes, "%s: %s\n", health_state_name(health_state(d)), health_reason(d));
    return good;
}

uint64_t health_silent_us(const struct daemon *d, unsigned thread)
{
    const struct health *h = d->health;
    return h->updated_us - h->threads[thread].moved_us;
}
