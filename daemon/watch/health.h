/* SPDX-License-Identifier: MIT */
/* health.h - whether the compute threads advance. The watchdog, the Health message, /health and the
 * state of CtlStatus all say what health_update found. A thread is well if its rounds go on, or if
 * it sleeps and no stream of it has a pulse to run; a thread that was woken and never gets the
 * processor, or that sleeps over work, is as stuck as one that hangs. */
#ifndef RILL_DAEMON_WATCH_HEALTH_H
#define RILL_DAEMON_WATCH_HEALTH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HEALTH_LIMIT_US 2000000

struct health_thread {
    uint64_t heartbeat; /* when last looked at */
    uint64_t moved_us;  /* when it was last seen to be well */
    bool busy;          /* it has work */
};

struct health {
    struct health_thread *threads;
    uint64_t limit_us; /* a thread may stand still for so long */
    uint64_t updated_us;
    uint64_t loop_late_us; /* the longest time between two looks */
    bool stuck;
    char reason[200]; /* why; "" while it is not */
};

struct daemon;

/* False without memory. watchdog_us: 0 = none; otherwise the limit makes pets stop within half of
 * it. */
bool health_start(struct daemon *d, uint64_t watchdog_us);
void health_stop(struct daemon *d);

/* From the loop's tick. */
void health_update(struct daemon *d, uint64_t now_us);

enum health_state { HEALTH_OK = 1, HEALTH_DRAINING, HEALTH_STUCK, HEALTH_STARTING };
enum health_state health_state(const struct daemon *d);
/* Whether keeping the process makes sense: it may be starting or draining. */
bool health_is_live(const struct daemon *d);
const char *health_state_name(enum health_state s);
const char *health_reason(const struct daemon *d); /* "" while it is well */
/* Whether it is well, or, for live, is_live; the words of a page about it. */
bool health_page(const struct daemon *d, bool live, char *ret, size_t bytes);
/* since it was last well; 0: now */
uint64_t health_silent_us(const struct daemon *d, unsigned thread);

#endif
