/* SPDX-License-Identifier: MIT */
/* overload.h - overload control of a compute thread: what it does when live lanes miss deadlines.
 *
 * Each step up bypasses lanes, the most costly first, until the others fit the thread, and at least
 * a third of the load, or half where a step up less than a second before did not help. After a
 * while without a miss a step down runs the model of some of them again.
 *
 * From the first step up on, the thread takes no new live streams and runs files only while no live
 * lane is due. Lanes with `sheds` are bypassed from the second step up on. */
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
    _Atomic uint32_t level, n_bypassed;
    _Atomic uint64_t refuse_until_us; /* new live streams */
    /* The worker's. */
    uint64_t miss_us[OVERLOAD_MISSES_MAX]; /* a ring of the last ones */
    uint32_t n_misses;
    uint64_t last_us, counted_us; /* the last miss; the last one that counted */
    uint64_t step_us, down_us;    /* the last step, the last step down */
    uint64_t hold_us;             /* time without a miss until a step down */
};

void overload_set(struct overload *o, const struct overload_conf *conf); /* any thread */

/* A pulse that arrived at arrival_us missed its deadline. Pulses that arrived before the last miss
 * that counted belong to the same stall and do not count again, unless the stall lasts; nor do
 * pulses from before the last step. True if a step up is due. */
bool overload_miss(struct overload *o, uint64_t arrival_us, uint64_t now_us);

/* A step up; n lanes of the thread, of which only live ones are considered. */
void overload_step(struct overload *o, struct lane *const *lanes, size_t n, uint64_t now_us);

/* A step down, if it is time. */
void overload_calm(struct overload *o, struct lane *const *lanes, size_t n, uint64_t now_us);

/* The same for a thread none of whose live lanes had a pulse for a second. */
void overload_idle(struct overload *o, struct lane *const *lanes, size_t n, uint64_t now_us);

/* Counts the bypassed lanes anew: some came or went. */
void overload_count(struct overload *o, struct lane *const *lanes, size_t n);

#endif
