/* SPDX-License-Identifier: MIT */
/* realtime.h - real-time priority for compute threads, where it is asked for and allowed. A thread
 * that runs for longer than the kernel lets it (RLIMIT_RTTIME) gets SIGXCPU, and goes on without
 * the priority. */
#ifndef RILL_DAEMON_COMPUTE_REALTIME_H
#define RILL_DAEMON_COMPUTE_REALTIME_H

#include <stdatomic.h>
#include <stdint.h>

enum realtime_state { REALTIME_NONE, REALTIME_ON, REALTIME_FAILED, REALTIME_DEMOTED };

struct realtime {
    _Atomic int state; /* any thread may read it */
    _Atomic int error; /* errno of FAILED */
};

/* Once, before any thread is started: takes SIGXCPU, and blocks it here and so in all threads to
 * come but those of realtime_enter. */
void realtime_setup(void);

/* For the calling thread, whose t must outlive it; priority 0: none is wanted. */
void realtime_enter(struct realtime *t, uint32_t priority);

/* For a thread that only makes others, which are to have the priority that it has, for good: as far
 * as that is allowed. */
void realtime_bequeath(uint32_t priority);

uint64_t realtime_demotions(void);

/* Gives the calling thread, and what it starts, the lowest priority, as far as that is allowed. */
void thread_background(void);

#endif
