/* SPDX-License-Identifier: MIT */
/* hist.h - a histogram of times with eight buckets an octave: a percentile is within 9 %. */
#ifndef RILL_DAEMON_BASE_HIST_H
#define RILL_DAEMON_BASE_HIST_H

#include <stdint.h>
#include <string.h>

#define HIST_STEPS 8
#define HIST_BUCKETS (32 * HIST_STEPS)

struct hist {
    uint64_t total;
    uint32_t count[HIST_BUCKETS];
};

static inline unsigned hist_bucket(uint32_t us)
{
    if (us < HIST_STEPS)
        return us;
    unsigned top = 31 - (unsigned) __builtin_clz(us);
    return (top - 2) * HIST_STEPS + ((us >> (top - 3)) & (HIST_STEPS - 1));
}

static inline void hist_add(struct hist *h, uint32_t us)
{
    h->total++;
    h->count[hist_bucket(us)]++;
}

/* Upper end of the bucket that holds the q-quantile; 0 if empty. */
static inline uint32_t hist_quantile(const struct hist *h, double q)
{
    uint64_t want = (uint64_t) ((double) h->total * q), seen = 0;
    for (unsigned b = 0; b < HIST_BUCKETS; b++) {
        seen += h->count[b];
        if (h->count[b] && seen > want)
            return b < HIST_STEPS ? b
                                  : (uint32_t) (((uint64_t) (HIST_STEPS + b % HIST_STEPS + 1)
                                                 << (b / HIST_STEPS - 1)) -
                                                1);
    }
    return 0;
}

static inline void hist_merge(struct hist *to, const struct hist *from)
{
    to->total += from->total;
    for (unsigned b = 0; b < HIST_BUCKETS; b++)
        to->count[b] += from->count[b];
}

#endif
