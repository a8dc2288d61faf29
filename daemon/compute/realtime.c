/* SPDX-License-Identifier: MIT */
#include "daemon/compute/realtime.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/resource.h>
#include <ucontext.h>

#define NICE_BACKGROUND 10

static _Atomic uint64_t n_demotions;
static _Thread_local struct realtime *self;

/* SCHED_RESET_ON_FORK: what a compute thread starts has no real-time priority. A thread without
 * rights may not clear the flag. */
static int scheduler_set(int policy, int priority)
{
    const struct sched_param p = { .sched_priority = priority };
    return sched_setscheduler(0, policy | SCHED_RESET_ON_FORK, &p);
}

/* SIGXCPU is sent to the process, and any thread that does not block it may get it: a thread that
 * has lost its priority blocks it, so that the next one reaches a thread that has not. */
static void on_sigxcpu(int number, siginfo_t *info, void *context)
{
    int saved = errno;
    (void) number, (void) info;
    if (self && atomic_load(&self->state) == REALTIME_ON && scheduler_set(SCHED_OTHER, 0) == 0) {
        sigaddset(&((ucontext_t *) context)->uc_sigmask, SIGXCPU);
        atomic_store(&self->state, REALTIME_DEMOTED);
        atomic_fetch_add(&n_demotions, 1);
    }
    errno = saved;
}

static void sigxcpu_mask(int how)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGXCPU);
    pthread_sigmask(how, &set, NULL);
}

void realtime_setup(void)
{
    struct sigaction a = { .sa_sigaction = on_sigxcpu, .sa_flags = SA_SIGINFO };
    sigemptyset(&a.sa_mask);
    sigaction(SIGXCPU, &a, NULL);
    sigxcpu_mask(SIG_BLOCK);
}

void realtime_enter(struct realtime *t, uint32_t priority)
{
    if (!priority)
        return;
    self = t;
    if (scheduler_set(SCHED_FIFO, (int) priority) < 0) {
        atomic_store(&t->error, errno);
        atomic_store(&t->state, REALTIME_FAILED);
    } else {
        atomic_store(&t->state, REALTIME_ON);
        sigxcpu_mask(SIG_UNBLOCK);
    }
}

void realtime_bequeath(uint32_t priority)
{
    const struct sched_param p = { .sched_priority = (int) priority };
    if (priority)
        sched_setscheduler(0, SCHED_FIFO, &p);
}

uint64_t realtime_demotions(void)
{
    return atomic_load(&n_demotions);
}

void thread_background(void)
{
    setpriority(PRIO_PROCESS, 0, NICE_BACKGROUND); /* Linux: of the thread */
}
