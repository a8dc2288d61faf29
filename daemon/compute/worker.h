/* SPDX-License-Identifier: MIT */
/* worker.h - compute threads. A lane belongs to one worker from worker_add until `detached`. */
#ifndef RILL_DAEMON_COMPUTE_WORKER_H
#define RILL_DAEMON_COMPUTE_WORKER_H

#include "daemon/compute/lane.h"
#include "daemon/base/cost.h"
#include "daemon/compute/overload.h"
#include "daemon/compute/realtime.h"

#include <pthread.h>

/* A live lane that has something to do. */
struct worker_due {
    uint64_t deadline_us;
    uint32_t at; /* of the lanes */
};

struct worker {
    pthread_t thread;
    struct ring inbox; /* struct lane *, from the loop */
    int wake_fd;
    _Atomic bool sleeping, stop;
    _Atomic uint64_t beat;       /* grows with every round */
    void (*progress)(void *arg); /* after a round that did something; any thread may call it */
    void *arg;
    struct lane **lanes; /* those of one plan side by side */
    bool *ended, *idle;  /* of the lanes, in one pass; idle: could do nothing though it was due */
    struct worker_due *due; /* in order of deadlines */
    uint32_t batch[LANE_BATCH_MAX];
    size_t n_lanes, max_lanes;
    size_t max_batch;
    uint64_t shortest_pulse_us; /* of the lanes */
    uint64_t loop_seen_us;      /* the long turn that was looked at */
    size_t turn;                /* lane that is next among those that are not live */
    bool started;
    struct overload overload;
    struct realtime realtime;
    uint32_t realtime_priority; /* set before worker_start */
    bool yields;                /* set before worker_start: gives way to other threads */
    _Atomic uint64_t busy_us;   /* that it did not sleep */
    /* The loop's last turn that was a long one: when it ended and how long it was. */
    _Atomic uint64_t loop_ended_us, loop_took_us;
    struct meter meter;  /* the loop's */
    uint32_t level_told; /* the loop's: what was logged */
    int realtime_told;
};

/* Everything but the thread, for who calls worker_round himself. 0 or an errno. */
int worker_make(struct worker *w, size_t max_lanes, size_t max_batch, void (*progress)(void *arg),
                void *arg);
bool worker_round(struct worker *w); /* false: there was nothing to do */

/* 0 or an errno. */
int worker_start(struct worker *w, size_t max_lanes, size_t max_batch, void (*progress)(void *arg),
                 void *arg);
void worker_stop(struct worker *w);                /* joins; its lanes are the caller's again */
bool worker_add(struct worker *w, struct lane *l); /* false if it is full */
/* Live streams have claimed more than the machine has, and the loop was away from its sockets for
 * so long: what came and what was ready waited meanwhile. */
void worker_loop_turn(struct worker *w, uint64_t ended_us, uint64_t took_us);
void worker_wake(struct worker *w); /* after anything was written to a lane */

#endif
