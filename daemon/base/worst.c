/* SPDX-License-Identifier: MIT */
#include "daemon/base/worst.h"

#include <stdlib.h>
#include <string.h>

/* The time from the arrival of its last sample to its end, over its length. */
static double share_of(const struct worst_pulse *p)
{
    return ((double) p->queue_us + (double) p->compute_us) /
        (double) (p->pulse_us ? p->pulse_us : 1);
}

static void old_drop(struct worst *w, uint64_t now_us)
{
    unsigned n = 0;
    uint64_t oldest_us = now_us;
    for (unsigned i = 0; i < w->n; i++) {
        if (now_us - w->list[i].mono_us > WORST_AGE_US)
            continue;
        oldest_us = w->list[i].mono_us < oldest_us ? w->list[i].mono_us : oldest_us;
        w->list[n++] = w->list[i];
    }
    w->n = n;
    w->look_us = oldest_us + WORST_AGE_US + 1;
}

static unsigned least_find(const struct worst *w)
{
    unsigned at = 0;
    for (unsigned i = 1; i < w->n; i++)
        if (share_of(&w->list[i]) < share_of(&w->list[at]))
            at = i;
    return at;
}

void worst_put(struct worst *w, const struct worst_pulse *p)
{
    if (p->mono_us >= w->look_us)
        old_drop(w, p->mono_us);
    bool full = w->n == WORST_KEPT;
    unsigned at = full ? least_find(w) : w->n++;
    if (full && share_of(p) <= share_of(&w->list[at]))
        return;
    w->list[at] = *p;
    w->bar = w->n == WORST_KEPT ? share_of(&w->list[least_find(w)]) : 0;
}

static int by_share(const void *a, const void *b)
{
    double x = share_of(*(const struct worst_pulse *const *) a),
           y = share_of(*(const struct worst_pulse *const *) b);
    return x > y ? -1 : x < y;
}

size_t worst_sorted(const struct worst *w, const char *model,
                    const struct worst_pulse *ret[WORST_KEPT])
{
    size_t n = 0;
    for (unsigned i = 0; i < w->n; i++)
        if (!*model || strcmp(w->list[i].model, model) == 0)
            ret[n++] = &w->list[i];
    qsort(ret, n, sizeof *ret, by_share);
    return n;
}
