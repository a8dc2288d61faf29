/* SPDX-License-Identifier: MIT */
#include "daemon/compute/pool.h"

#include <pthread.h>
#include <sched.h>
#include <unistd.h>

#define HELPERS_MAX 16 /* of a rill_pool, with the one whose work it is */

static unsigned processors(void)
{
    cpu_set_t set;
    long n = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set)
                                                         : sysconf(_SC_NPROCESSORS_ONLN);
    return n > 0 ? (unsigned) n : 1;
}

/* ---- helpers ---- */

struct helpers {
    rill_pool *made;
    uint32_t threads, priority;
};

static void *helpers_make(void *arg)
{
    struct helpers *h = arg;
    const rill_pool_opts opts = { .struct_bytes = sizeof opts, .threads = h->threads };
    realtime_bequeath(h->priority);
    rill_pool_new(&h->made, &opts, NULL);
    return NULL;
}

/* On a thread of its own, since threads of a pool take on the priority of who makes them. */
static rill_pool *helpers_start(const struct pool *p, const struct conf *conf)
{
    const uint32_t some = p->n_processors < HELPERS_MAX ? p->n_processors : HELPERS_MAX;
    struct helpers h = { .threads = conf->daemon_threads ? conf->daemon_threads : some,
                         .priority = conf->daemon_realtime_priority };
    pthread_t thread;
    if (h.threads > 1 && pthread_create(&thread, NULL, helpers_make, &h) == 0)
        pthread_join(thread, NULL);
    return h.made;
}

/* ---- all ---- */

bool pool_start(struct pool *p, const struct conf *conf, void (*progress)(void *arg), void *arg)
{
    p->n_processors = processors();
    unsigned most = POOL_WORKERS_MAX / 2, some = p->n_processors < most ? p->n_processors : most;
    p->n_live = conf->daemon_workers ? conf->daemon_workers : some;
    size_t bytes = 2 * p->n_live * ((sizeof *p->workers + 63) & ~(size_t) 63);
    p->workers = aligned_alloc(64, bytes);
    if (!p->workers)
        return false;
    memset(p->workers, 0, bytes);
    realtime_setup();
    p->helpers = helpers_start(p, conf);
    for (; p->n < 2 * p->n_live; p->n++) {
        struct worker *w = &p->workers[p->n];
        w->realtime_priority = conf->daemon_realtime_priority;
        w->meter.factor = 1;
        w->background = p->n >= p->n_live;
        if (worker_start(w, conf->limits_max_streams, conf->daemon_batch, progress, arg))
            return false;
    }
    return true;
}

void pool_stop(struct pool *p)
{
    for (unsigned i = 0; i < p->n; i++)
        worker_stop(&p->workers[i]);
}

void pool_free(struct pool *p)
{
    free(p->workers);
    rill_pool_free(p->helpers);
    *p = (struct pool) { .workers = NULL };
}
