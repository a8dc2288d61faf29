/* SPDX-License-Identifier: MIT */
#include "daemon/compute/worker.h"
#include "daemon/base/clock.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define STEPS_A_ROUND 4

/* Lanes of one plan stand side by side, live ones and files apart, so that they form batches. */
static void lane_insert(struct worker *w, struct lane *l)
{
    size_t at = w->n_lanes;
    for (size_t i = w->n_lanes; i > 0; i--)
        if (w->lanes[i - 1]->model->plan == l->model->plan && w->lanes[i - 1]->live == l->live) {
            at = i;
            break;
        }
    memmove(w->lanes + at + 1, w->lanes + at, (w->n_lanes - at) * sizeof(struct lane *));
    w->lanes[at] = l;
    w->n_lanes++;
}

static void inbox_take(struct worker *w)
{
    struct lane *l;
    while (ring_used(&w->inbox) && w->n_lanes < w->max_lanes) {
        ring_read(&w->inbox, &l, 1);
        lane_insert(w, l);
    }
}

/* Takes out the lanes that ended; the others keep their order. */
static void lanes_drop(struct worker *w)
{
    size_t n = 0;
    for (size_t i = 0; i < w->n_lanes; i++) {
        struct lane *l = w->lanes[i];
        if (w->ended[i])
            atomic_store_explicit(&l->detached, true, memory_order_release);
        else
            w->lanes[n++] = l;
    }
    if (n != w->n_lanes)
        overload_count(&w->overload, w->lanes, n);
    w->n_lanes = n;
}

/* Up to STEPS_A_ROUND steps for each of n lanes of one plan, none begun after until_us; true if
 * there was anything to do. */
static bool group_step(struct worker *w, size_t first, size_t n, uint64_t until_us)
{
    struct lane *lanes[LANE_BATCH_MAX];
    size_t at[LANE_BATCH_MAX];
    enum lane_result r[LANE_BATCH_MAX];
    bool worked = false;
    for (size_t i = 0; i < n; i++) {
        lanes[i] = w->lanes[first + i];
        at[i] = first + i;
    }
    for (unsigned k = 0; k < STEPS_A_ROUND && n && !(worked && clock_now_us() > until_us); k++) {
        size_t still = 0;
        lanes_step(lanes, n, r);
        for (size_t i = 0; i < n; i++) {
            worked |= r[i] != LANE_IDLE;
            w->ended[at[i]] = r[i] == LANE_ENDED;
            if (r[i] != LANE_WORKED)
                continue;
            lanes[still] = lanes[i];
            at[still++] = at[i];
        }
        n = still;
    }
    return worked;
}

/* How many lanes from the i-th on form a batch. */
static size_t group_size(const struct worker *w, size_t i)
{
    const struct lane *l = w->lanes[i];
    size_t most = lane_batch(l->model, w->shortest_pulse_us), n;
    most = most < w->max_batch ? most : w->max_batch;
    for (n = 1; n < most && i + n < w->n_lanes; n++)
        if (w->lanes[i + n]->model->plan != l->model->plan || w->lanes[i + n]->live != l->live)
            break;
    return n;
}

/* ---- live lanes: earliest deadline first ---- */

static void due_sink(struct worker_due *d, size_t i, size_t n)
{
    for (size_t child; (child = 2 * i + 1) < n; i = child) {
        if (child + 1 < n && d[child + 1].deadline_us > d[child].deadline_us)
            child++;
        if (d[i].deadline_us >= d[child].deadline_us)
            return;
        struct worker_due x = d[i];
        d[i] = d[child];
        d[child] = x;
    }
}

static void due_sort(struct worker_due *d, size_t n)
{
    for (size_t i = n / 2; i-- > 0;)
        due_sink(d, i, n);
    for (size_t left = n; left > 1; left--) {
        struct worker_due x = d[0];
        d[0] = d[left - 1];
        d[left - 1] = x;
        due_sink(d, 0, left - 1);
    }
}

/* Live lanes that have something to do, in order of their deadlines. */
static size_t due_find(struct worker *w)
{
    size_t n = 0;
    for (size_t i = 0; i < w->n_lanes; i++) {
        if (!w->lanes[i]->live || w->ended[i] || w->idle[i])
            continue;
        uint64_t deadline_us = lane_deadline(w->lanes[i]);
        if (deadline_us != LANE_NOTHING)
            w->due[n++] = (struct worker_due) { .deadline_us = deadline_us, .at = (uint32_t) i };
    }
    due_sort(w->due, n);
    return n;
}

/* Until when the present plan may run before the due lanes of other plans must start to meet their
 * deadlines; deadlines that are missed in any case do not count. */
static uint64_t other_plans_start(const struct worker *w, size_t n_due, uint64_t now_us,
                                  uint64_t *ret_first_us)
{
    const rill_plan *plan = w->lanes[w->due[0].at]->model->plan;
    uint64_t cost_us = 0, latest_us = UINT64_MAX;
    *ret_first_us = UINT64_MAX;
    for (size_t k = 1; k < n_due && w->due[k].deadline_us < LANE_PART; k++) {
        const struct lane *l = w->lanes[w->due[k].at];
        if (l->model->plan == plan)
            continue;
        uint64_t deadline_us = w->due[k].deadline_us;
        *ret_first_us = *ret_first_us < deadline_us ? *ret_first_us : deadline_us;
        cost_us += lane_cost_us(l);
        if (deadline_us > now_us + cost_us && deadline_us - cost_us < latest_us)
            latest_us = deadline_us - cost_us;
    }
    return latest_us;
}

/* Fills w->batch: the lane with the first deadline, and those due lanes of its plan that come
 * before any other plan anyway, or that do not make another plan miss its deadline. */
static size_t batch_pick(struct worker *w, size_t n_due)
{
    const struct lane *l = w->lanes[w->due[0].at];
    uint64_t now_us = clock_now_us(), first_us,
             latest_us = other_plans_start(w, n_due, now_us, &first_us);
    uint64_t cost_us = lane_cost_us(l);
    bool part = w->due[0].deadline_us == LANE_PART;
    size_t most = lane_batch(l->model, w->shortest_pulse_us), n = 1;
    most = most < w->max_batch ? most : w->max_batch;
    w->batch[0] = w->due[0].at;
    for (size_t k = 1; k < n_due && n < most; k++) {
        const struct worker_due *d = &w->due[k];
        const struct lane *x = w->lanes[d->at];
        if (x->model->plan != l->model->plan || (d->deadline_us == LANE_PART) != part)
            continue;
        cost_us += lane_cost_us(x);
        if (d->deadline_us > first_us && latest_us != UINT64_MAX && now_us + cost_us > latest_us)
            break;
        w->batch[n++] = d->at;
    }
    return n;
}

void worker_loop_overrun(struct worker *w, uint64_t ended_us, uint64_t took_us)
{
    atomic_store_explicit(&w->loop_took_us, took_us, memory_order_relaxed);
    atomic_store_explicit(&w->loop_ended_us, ended_us, memory_order_release);
}

/* Whether a lane that can be bypassed has pulses that are shorter than that. */
static bool is_overrun(const struct worker *w, uint64_t took_us)
{
    for (size_t i = 0; i < w->n_lanes; i++)
        if (w->lanes[i]->live && w->lanes[i]->opts.bypass_mode != BYPASS_NONE &&
            w->lanes[i]->pulse_us < took_us)
            return true;
    return false;
}

/* An iteration of the loop that is longer than a pulse delays pulses that met their deadlines here,
 * so it counts as a miss: bypassed lanes leave the loop more processor time. True if a step up is
 * due. */
static bool loop_overran(struct worker *w, uint64_t now_us)
{
    uint64_t ended_us = atomic_load_explicit(&w->loop_ended_us, memory_order_acquire);
    if (ended_us == w->loop_seen_us)
        return false;
    w->loop_seen_us = ended_us;
    return is_overrun(w, atomic_load_explicit(&w->loop_took_us, memory_order_relaxed)) &&
        overload_miss(&w->overload, ended_us, now_us);
}

static bool batch_run(struct worker *w, size_t n)
{
    struct lane *lanes[LANE_BATCH_MAX] = { NULL };
    enum lane_result r[LANE_BATCH_MAX];
    bool worked = false;
    for (size_t i = 0; i < n; i++)
        lanes[i] = w->lanes[w->batch[i]];
    lanes_step(lanes, n, r);
    uint64_t now_us = clock_now_us();
    bool step = loop_overran(w, now_us);
    for (size_t i = 0; i < n; i++) {
        worked |= r[i] != LANE_IDLE;
        step |= lanes[i]->missed_deadline && lanes[i]->opts.bypass_mode != BYPASS_NONE &&
            overload_miss(&w->overload, lanes[i]->paced_us, now_us);
        w->ended[w->batch[i]] = r[i] == LANE_ENDED;
        w->idle[w->batch[i]] = r[i] == LANE_IDLE;
    }
    if (step)
        overload_step(&w->overload, w->lanes, w->n_lanes, now_us);
    else
        overload_calm(&w->overload, w->lanes, w->n_lanes, now_us);
    return worked;
}

/* Batch after batch until no live lane is due, at most for the shortest pulse. Deadlines are read
 * anew before each batch. */
static bool live_run(struct worker *w)
{
    uint64_t until_us = clock_now_us() + w->shortest_pulse_us;
    bool worked = false;
    size_t n_due;
    memset(w->idle, 0, w->n_lanes * sizeof *w->idle);
    while ((n_due = due_find(w)) > 0) {
        if (batch_run(w, batch_pick(w, n_due))) {
            worked = true;
            w->progress(w->arg); /* its output need not wait for the next batch */
        }
        atomic_fetch_add_explicit(&w->heartbeat, 1, memory_order_release);
        if (clock_now_us() > until_us)
            break;
    }
    return worked;
}

/* ---- files ---- */

/* Lanes that are not live, group by group in turn, for a quarter of the shortest pulse; then live
 * lanes are looked at again, and the next round goes on behind the last group. Returns false only
 * after every group was asked. */
static bool files_run(struct worker *w)
{
    uint64_t until_us = clock_now_us() + w->shortest_pulse_us / 4;
    bool worked = false;
    size_t i = w->next_file < w->n_lanes ? w->next_file : 0, n;
    for (size_t seen = 0; seen < w->n_lanes && !(worked && clock_now_us() > until_us); seen += n) {
        n = group_size(w, i);
        n = n < w->n_lanes - seen ? n : w->n_lanes - seen; /* no lane twice */
        if (!w->lanes[i]->live)
            worked |= group_step(w, i, n, until_us);
        i = i + n < w->n_lanes ? i + n : 0;
    }
    w->next_file = i;
    return worked;
}

static void shortest_find(struct worker *w)
{
    w->shortest_pulse_us = UINT64_MAX;
    for (size_t i = 0; i < w->n_lanes; i++) {
        uint64_t us = lane_pulse_us(w->lanes[i]->model);
        w->shortest_pulse_us = us < w->shortest_pulse_us ? us : w->shortest_pulse_us;
    }
}

bool worker_round(struct worker *w)
{
    inbox_take(w);
    shortest_find(w);
    memset(w->ended, 0, w->n_lanes * sizeof *w->ended);
    bool live = live_run(w), files = false;
    if (!live)
        overload_idle(&w->overload, w->lanes, w->n_lanes, clock_now_us());
    if (!live || !atomic_load_explicit(&w->overload.level, memory_order_relaxed))
        files = files_run(w);
    lanes_drop(w);
    atomic_fetch_add_explicit(&w->heartbeat, 1, memory_order_release);
    if (files || live)
        w->progress(w->arg);
    return files || live;
}

/* Adds the time awake since since_us; returns now. */
static uint64_t busy_note(struct worker *w, uint64_t since_us)
{
    uint64_t now_us = clock_now_us();
    atomic_store_explicit(&w->busy_us,
                          atomic_load_explicit(&w->busy_us, memory_order_relaxed) + now_us -
                              since_us,
                          memory_order_relaxed);
    return now_us;
}

static void *worker_main(void *arg)
{
    struct worker *w = arg;
    uint64_t since_us = clock_now_us();
    rill_thread_prepare();
    if (w->background)
        thread_background();
    else
        realtime_enter(&w->realtime, w->realtime_priority);
    while (!atomic_load_explicit(&w->stop, memory_order_acquire)) {
        bool worked = worker_round(w);
        since_us = busy_note(w, since_us);
        if (worked)
            continue;
        /* Both sides write first and then read, in one total order: either this round sees what the
         * loop wrote, or the loop sees `sleeping` and wakes the thread. */
        atomic_exchange(&w->sleeping, true);
        if (!worker_round(w) && !atomic_load(&w->stop)) {
            uint64_t n;
            while (read(w->wake_fd, &n, sizeof n) < 0 && errno == EINTR)
                ;
            since_us = clock_now_us();
        }
        atomic_store(&w->sleeping, false);
    }
    return NULL;
}

int worker_make(struct worker *w, size_t max_lanes, size_t max_batch, void (*progress)(void *arg),
                void *arg)
{
    w->progress = progress;
    w->arg = arg;
    w->max_lanes = max_lanes;
    w->max_batch = max_batch;
    w->lanes = calloc(max_lanes, sizeof(struct lane *));
    w->ended = calloc(max_lanes, sizeof *w->ended);
    w->idle = calloc(max_lanes, sizeof *w->idle);
    w->due = calloc(max_lanes, sizeof *w->due);
    w->wake_fd = eventfd(0, EFD_CLOEXEC);
    if (!w->lanes || !w->ended || !w->idle || !w->due || w->wake_fd < 0 ||
        !ring_init(&w->inbox, sizeof(struct lane *), max_lanes))
        return w->wake_fd < 0 ? errno : ENOMEM;
    return 0;
}

int worker_start(struct worker *w, size_t max_lanes, size_t max_batch, void (*progress)(void *arg),
                 void *arg)
{
    int err = worker_make(w, max_lanes, max_batch, progress, arg);
    if (err)
        return err;
    sigset_t all, old;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    err = pthread_create(&w->thread, NULL, worker_main, w);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    w->started = err == 0;
    return err;
}

static void wake_write(struct worker *w)
{
    uint64_t one = 1;
    while (write(w->wake_fd, &one, sizeof one) < 0 && errno == EINTR)
        ;
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
    free(w->ended);
    free(w->idle);
    free(w->due);
    w->lanes = NULL;
    w->ended = w->idle = NULL;
    w->due = NULL;
}

bool worker_add(struct worker *w, struct lane *l)
{
    if (!ring_room(&w->inbox))
        return false;
    const bool alone = !l->live || l->model->threads < 2;
    if (l->stream) /* files leave the helpers to live streams */
        rill_stream_alone(l->stream, alone);
    lane_sinks_alone(&l->sinks, alone);
    ring_write(&w->inbox, &l, 1);
    worker_wake(w);
    return true;
}

void worker_wake(struct worker *w)
{
    if (atomic_exchange(&w->sleeping, false))
        wake_write(w);
}
