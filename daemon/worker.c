/* SPDX-License-Identifier: MIT */
#include "daemon/worker.h"

#include <errno.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define STEPS_A_ROUND 4

static void inbox_take(struct worker *w)
{
    while (ring_used(&w->inbox) && w->n_lanes < w->max_lanes)
        ring_read(&w->inbox, &w->lanes[w->n_lanes++], 1);
}

/* One pass over the lanes of one kind; a lane that ended is let go. */
static bool lanes_step(struct worker *w, bool live, unsigned n_steps)
{
    bool worked = false;
    for (size_t i = 0; i < w->n_lanes; i++) {
        struct lane *l = w->lanes[i];
        enum lane_result r = LANE_IDLE;
        if (l->live != live)
            continue;
        for (unsigned k = 0; k < n_steps && (r = lane_step(l)) == LANE_WORKED; k++)
            worked = true;
        if (r != LANE_ENDED)
            continue;
        worked = true;
        w->lanes[i--] = w->lanes[--w->n_lanes];
        atomic_store_explicit(&l->detached, true, memory_order_release);
    }
    return worked;
}

static bool round_run(struct worker *w)
{
    inbox_take(w);
    bool worked = lanes_step(w, true, STEPS_A_ROUND);
    worked |= lanes_step(w, false, worked ? 1 : STEPS_A_ROUND);
    atomic_fetch_add_explicit(&w->beat, 1, memory_order_release);
    if (worked)
        w->progress(w->arg);
    return worked;
}

static void *worker_main(void *arg)
{
    struct worker *w = arg;
    rill_thread_prepare();
    while (!atomic_load_explicit(&w->stop, memory_order_acquire)) {
        if (round_run(w))
            continue;
        /* Either this round sees what the loop wrote, or the loop sees `sleeping` and wakes us. */
        atomic_store(&w->sleeping, true);
        atomic_thread_fence(memory_order_seq_cst);
        if (!round_run(w) && !atomic_load(&w->stop)) {
            uint64_t n;
            while (read(w->wake_fd, &n, sizeof n) < 0 && errno == EINTR)
                ;
        }
        atomic_store(&w->sleeping, false);
    }
    return NULL;
}

int worker_start(struct worker *w, size_t max_lanes, void (*progress)(void *arg), void *arg)
{
    w->progress = progress;
    w->arg = arg;
    w->max_lanes = max_lanes;
    w->lanes = calloc(max_lanes, sizeof(struct lane *));
    w->wake_fd = eventfd(0, EFD_CLOEXEC);
    if (!w->lanes || w->wake_fd < 0 || !ring_init(&w->inbox, sizeof(struct lane *), max_lanes))
        return w->wake_fd < 0 ? errno : ENOMEM;
    sigset_t all, old;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    int err = pthread_create(&w->thread, NULL, worker_main, w);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    w->started = err == 0;
    return err;
}

static void wake_write(struct worker *w)
{
    uint64_t one = 1;
    ssize_t n = write(w->wake_fd, &one, sizeof one);
    (void) n;
}

void worker_stop(struct worker *w)
{
    atomic_store(&w->stop, true);
    if (w->started) {
        wake_write(w);
        pthread_join(w->thread, NULL);
    }
    if (w->wake_fd > 0)
        close(w->wake_fd);
    ring_free(&w->inbox);
    free(w->lanes);
    w->lanes = NULL;
}

bool worker_add(struct worker *w, struct lane *l)
{
    if (!ring_room(&w->inbox))
        return false;
    ring_write(&w->inbox, &l, 1);
    worker_wake(w);
    return true;
}

void worker_wake(struct worker *w)
{
    atomic_thread_fence(memory_order_seq_cst);
    if (atomic_load(&w->sleeping))
        wake_write(w);
}
