/* SPDX-License-Identifier: MIT */
/* worker.h - compute threads. A lane belongs to one worker from worker_add until `detached`. */
#ifndef RILL_DAEMON_COMPUTE_WORKER_H
#define RILL_DAEMON_COMPUTE_WORKER_H

#include "daemon/compute/lane.h"
#include "daemon/base/cost.h"
#include "daemon/compute/overload.h"
#include "daemon/compute/realtime.h"

#include <pthread.h>

/* A live lane with something to do. */
struct worker_due {
    uint64_t deadline_us;
    uint32_t at; /* index in lanes */
};

struct worker {
    pthread_t thread;
    struct ring inbox; /* struct lane *, from the loop */
    int wake_fd;
    _Atomic bool sleeping, stop;
    _Atomic uint64_t heartbeat; /* grows with every round */
    /* Called after a round that did something, on the worker's thread. The daemon's is loop_wake
     * (daemon/loop.c), set by run.c. */
    void (*progress)(void *arg);
    void *arg;
    struct lane **lanes;    /* those of one plan side by side */
    bool *ended, *idle;     /* per lane, in this round; idle: it was due but could do nothing */
    struct worker_due *due; /* in order of deadlines */
    uint32_t batch[LANE_BATCH_MAX];
    size_t n_lanes, max_lanes;
    size_t max_batch;
    uint64_t shortest_pulse_us; /* of all its lanes */
    uint64_t loop_seen_us;      /* the overrun of the loop that was counted last */
    size_t next_file;           /* index of the lane where files_run goes on */
    bool started;
    struct overload overload;
    struct realtime realtime;
    uint32_t realtime_priority; /* set before worker_start */
    bool background;            /* set before worker_start: of low priority, for files */
    _Atomic uint64_t busy_us;   /* time awake */
    /* The last overrun of the loop: when it ended and how long it took. */
    _Atomic uint64_t loop_ended_us, loop_took_us;
    struct meter meter;    /* used by the loop alone */
    uint32_t level_logged; /* what the loop logged last */
    int realtime_logged;
};

/* Everything but the thread, for a caller of worker_round. 0 or an errno. */
int worker_make(struct worker *w, size_t max_lanes, size_t max_batch, void (*progress)(void *arg),
                void *arg);
bool worker_round(struct worker *w); /* false: there was nothing to do */

/* 0 or an errno. */
int worker_start(struct worker *w, size_t max_lanes, size_t max_batch, void (*progress)(void *arg),
                 void *arg);
void worker_stop(struct worker *w);                /* joins; its lanes are the caller's again */
bool worker_add(struct worker *w, struct lane *l); /* false if it is full */
/* The loop did not poll its sockets for so long while live streams claimed more than the machine
 * has: input and output waited meanwhile. */
void worker_loop_overrun(struct worker *w, uint64_t ended_us, uint64_t took_us);
void worker_wake(struct worker *w); /* after anything was written to a lane */

#endif
