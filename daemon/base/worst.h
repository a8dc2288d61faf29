/* SPDX-License-Identifier: MIT */
/* worst.h - a slow log: the pulses of the last hour that took longest for their length. */
#ifndef RILL_DAEMON_BASE_WORST_H
#define RILL_DAEMON_BASE_WORST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WORST_KEPT 32
#define WORST_AGE_US UINT64_C(3600000000)

struct worst_pulse {
    uint64_t mono_us, wall_us;
    char model[65];
    uint32_t serial, uid, queue_us, compute_us, batch, pulse_us;
    bool live;
};

struct worst {
    struct worst_pulse list[WORST_KEPT]; /* unordered */
    unsigned n;
    double bar;       /* the share that a pulse must exceed to be kept once the list is full */
    uint64_t look_us; /* when old entries are dropped next */
};

/* Whether worst_put would keep it. */
static inline bool worst_is(const struct worst *w, uint32_t took_us, uint32_t pulse_us,
                            uint64_t now_us)
{
    return w->n < WORST_KEPT || (double) took_us > w->bar * (double) pulse_us ||
        now_us >= w->look_us;
}

void worst_put(struct worst *w, const struct worst_pulse *p);
/* model "": all */
size_t worst_sorted(const struct worst *w, const char *model,
                    const struct worst_pulse *ret[WORST_KEPT]);

#endif
