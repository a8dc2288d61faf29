/* SPDX-License-Identifier: MIT */
/* health.h - whether the compute threads make progress. The watchdog, the Health message, /health
 * and the state of CtlStatus all report what health_update found. A thread is healthy if its
 * heartbeat advances, or if it sleeps and no stream of it has a pulse to run. A thread that was
 * woken and never gets the processor, or that sleeps though there is work, is as stuck as one that
 * hangs. */
#ifndef RILL_DAEMON_WATCH_HEALTH_H
#define RILL_DAEMON_WATCH_HEALTH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HEALTH_LIMIT_US 2000000

struct health_thread {
    uint64_t heartbeat; /* at the last update */
    uint64_t moved_us;  /* when it was last healthy */
    bool busy;          /* it has work */
};

struct health {
    struct health_thread *threads;
    uint64_t limit_us; /* a thread without progress for longer is stuck */
    uint64_t updated_us;
    uint64_t loop_late_us; /* the longest time between two updates */
    bool stuck;
    char reason[200]; /* why it is stuck; else "" */
};

struct daemon;

/* False without memory. watchdog_us: the watchdog's timeout, 0: none; the limit is set so that
 * notifications stop within half of it. */
bool health_start(struct daemon *d, uint64_t watchdog_us);
void health_stop(struct daemon *d);

/* Called in every tick. */
void health_update(struct daemon *d, uint64_t now_us);

enum health_state { HEALTH_OK = 1, HEALTH_DRAINING, HEALTH_STUCK, HEALTH_STARTING };
enum health_state health_state(const struct daemon *d);
/* Liveness: it may be starting or draining, but not stuck. */
bool health_is_live(const struct daemon *d);
const char *health_state_name(enum health_state s);
const char *health_reason(const struct daemon *d); /* "" while it is healthy */
/* Whether it is healthy, or, for `live`, alive; the text of the page. */
bool health_page(const struct daemon *d, bool live, char *ret, size_t bytes);
/* since it was last healthy; 0: it is */
uint64_t health_silent_us(const struct daemon *d, unsigned thread);

#endif
