/* SPDX-License-Identifier: MIT */
/* overload.h - what a compute thread does when pulses of live lanes come out after their deadlines:
 * steps, each of which relieves lanes, the most costly first, until the rest fits, and at least a
 * third of what runs, or half where the step a second before did not help; and back again when all
 * has been well for a while.
 *
 * From the first step on, the thread takes no new live streams and runs files only while no live
 * lane is due. Lanes that shed are relieved from the second step on. */
#ifndef RILL_DAEMON_COMPUTE_OVERLOAD_H
#define RILL_DAEMON_COMPUTE_OVERLOAD_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define OVERLOAD_MISSES_MAX 64

struct lane;

/* Settings, as in conf.h. */
struct overload_conf {
    uint32_t misses, window_ms, calm_ms;
    double share;
};

struct overload {
    /* The loop writes these and reads those of the second line. */
    _Atomic uint32_t misses, window_ms, calm_ms, share_permille;
    _Atomic uint32_t level, n_relieved;
    _Atomic uint64_t refuse_until_us; /* new live streams */
    /* The worker's. */
    uint64_t miss_us[OVERLOAD_MISSES_MAX]; /* the last ones, in turn */
    uint32_t n_misses;
    uint64_t last_us, counted_us; /* the last miss, the last one that counted */
    uint64_t step_us, back_us;    /* step up or down, step down */
    uint64_t hold_us;             /* time without a miss until a step back */
};

void overload_set(struct overload *o, const struct overload_conf *conf); /* any thread */

/* A pulse that arrived at arrival_us came out late. Pulses that came while the last miss that
 * counted was on its way are of the same stall, unless that lasts; those from before the last step
 * do not count. True if a step is due. */
bool overload_miss(struct overload *o, uint64_t arrival_us, uint64_t now_us);

/* A step; n lanes of the thread, of which those that are not live do not count. */
void overload_step(struct overload *o, struct lane *const *lanes, size_t n, uint64_t now_us);

/* A step back, if it is time. */
void overload_calm(struct overload *o, struct lane *const *lanes, size_t n, uint64_t now_us);

/* The same where no live lane had a pulse for a second, so that no pulse asks. */
void overload_idle(struct overload *o, struct lane *const *lanes, size_t n, uint64_t now_us);

/* Lanes came or went. */
void overload_count(struct overload *o, struct lane *const *lanes, size_t n);

#endif
