/* SPDX-License-Identifier: MIT */
#include "daemon/base/cost.h"

#include <stddef.h>
#include <string.h>

#define FEW 3 /* readings: of so few the largest counts, or the probe */
#define LAST_READINGS 5
#define CONTENDED 1.5f /* wall time over processor time: there was contention */
/* decay of the contention's sums: after a second a fifth of them is left */
#define DECAY_A_SECOND 1.4
#define LEFT_US UINT64_C(2000000) /* work without an addition for so long is dropped */
#define EVIDENCE_NS 4e8           /* so much running outweighs the prior of no contention */
#define CONTENTION_NONE 0.9       /* a share from here on counts as no contention */

static void sort(float *x, size_t n)
{
    for (size_t i = 1; i < n; i++)
        for (size_t k = i; k > 0 && x[k - 1] > x[k]; k--) {
            float y = x[k];
            x[k] = x[k - 1];
            x[k - 1] = y;
        }
}

/* The k-th reading before the newest. */
static const struct cost_reading *reading_at(const struct cost *c, uint32_t k)
{
    return &c->readings[(c->at + COST_READINGS - 1 - k) % COST_READINGS];
}

static float reading_value(const struct cost *c, uint32_t k)
{
    const struct cost_reading *f = reading_at(c, k);
    return c->probed + (f->cpu - c->probed) * f->weight;
}

static float median_last(const struct cost *c)
{
    float x[LAST_READINGS];
    uint32_t n = c->n < LAST_READINGS ? c->n : LAST_READINGS;
    for (uint32_t k = 0; k < n; k++)
        x[k] = reading_value(c, k);
    sort(x, n);
    return x[n / 2];
}

static float price_of(const struct cost *c)
{
    float x[COST_READINGS];
    for (uint32_t k = 0; k < c->n; k++)
        x[k] = reading_value(c, k);
    sort(x, c->n);
    if (c->n <= FEW)
        return c->n && x[c->n - 1] > c->probed ? x[c->n - 1] : c->probed;
    float most = x[(uint32_t) ((float) (c->n - 1) * c->quantile)], late = median_last(c);
    most = late > most ? late : most;
    return c->probe_is_floor && c->probed > most ? c->probed : most;
}

void cost_probe(struct cost *c, float cpu, float wall, uint64_t now_us)
{
    c->probed = cpu;
    c->probed_wall = wall;
    c->probed_us = now_us;
    c->is_stale = false;
    c->price = price_of(c);
}

void cost_add(struct cost *c, double cpu_ns, double wall_ns, double work)
{
    c->cpu_ns += cpu_ns;
    c->wall_ns += wall_ns;
    c->work += work;
}

static void work_clear(struct cost *c)
{
    c->cpu_ns = c->wall_ns = c->work = c->seen_work = 0;
}

/* Drops work that is too little for a reading and was not added to for a while. */
static void work_forget(struct cost *c, uint64_t now_us)
{
    if (c->work > c->seen_work)
        c->moved_us = now_us;
    else if (now_us - c->moved_us > LEFT_US)
        work_clear(c);
    c->seen_work = c->work;
}

static void reading_add(struct cost *c, double weight, uint64_t now_us)
{
    c->readings[c->at] = (struct cost_reading) { .at_us = now_us,
                                                 .cpu = (float) (c->cpu_ns / c->work),
                                                 .wall = (float) (c->wall_ns / c->work),
                                                 .weight = weight < 1 ? (float) weight : 1 };
    c->at = (c->at + 1) % COST_READINGS;
    c->n += c->n < COST_READINGS;
    work_clear(c);
    c->since_us = now_us;
}

void cost_tick(struct cost *c, double least, double weight, uint64_t now_us)
{
    uint32_t n = c->n;
    bool is_due = now_us - c->since_us >= COST_READING_US;
    work_forget(c, now_us);
    while (c->n && now_us - reading_at(c, c->n - 1)->at_us > COST_AGE_US)
        c->n--;
    c->is_stale |= n && !c->n;
    if (is_due && c->work >= least)
        reading_add(c, weight, now_us);
    else if (c->n == n)
        return;
    c->price = price_of(c);
}

bool cost_wants_probe(const struct cost *c, uint64_t now_us)
{
    bool was_contended =
        c->probed_wall > CONTENDED * c->probed && now_us - c->probed_us > COST_AGE_US;
    return !c->n && (c->is_stale || was_contended);
}

const struct cost_reading *cost_newest(const struct cost *c)
{
    return c->n ? reading_at(c, 0) : NULL;
}

/* ---- contention ---- */

void contention_tick(struct contention *c, uint64_t cpu_ns, uint64_t busy_ns, uint64_t took_ns)
{
    double seconds = (double) took_ns * 1e-9, kept = 1 - DECAY_A_SECOND * seconds;
    kept = kept > 0 ? kept : 0;
    c->cpu_ns = c->cpu_ns * kept + (double) cpu_ns;
    c->busy_ns = c->busy_ns * kept + (double) busy_ns;
}

double contention_share(const struct contention *c)
{
    double share = (c->cpu_ns + EVIDENCE_NS) / (c->busy_ns + EVIDENCE_NS) / CONTENTION_NONE;
    return share > 1 ? 1 : share < CONTENTION_LEAST ? CONTENTION_LEAST : share;
}
