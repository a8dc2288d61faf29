/* SPDX-License-Identifier: MIT */
#include "daemon/base/cost.h"

#include <stddef.h>
#include <string.h>

#define FEW 3 /* figures: of so few the largest counts, or what was tried */
#define LATE_FIGURES 5
#define HELD_UP 1.5f              /* wall clock over processor time: others computed */
#define FORGET_A_SECOND 1.4       /* of what was seen of contention: a fifth is left of it */
#define LEFT_US UINT64_C(2000000) /* work that was left then is no part of a later figure */
#define EVIDENCE_NS 4e8           /* so much running weighs as much as no contention */
#define CONTENTION_NONE 0.9       /* a share that is as good as all */

static void sort(float *x, size_t n)
{
    for (size_t i = 1; i < n; i++)
        for (size_t k = i; k > 0 && x[k - 1] > x[k]; k--) {
            float y = x[k];
            x[k] = x[k - 1];
            x[k - 1] = y;
        }
}

/* The k-th figure before the newest. */
static const struct cost_figure *figure_at(const struct cost *c, uint32_t k)
{
    return &c->figures[(c->at + COST_FIGURES - 1 - k) % COST_FIGURES];
}

static float figure_value(const struct cost *c, uint32_t k)
{
    const struct cost_figure *f = figure_at(c, k);
    return c->tried + (f->cpu - c->tried) * f->weight;
}

static float median_late(const struct cost *c)
{
    float x[LATE_FIGURES];
    uint32_t n = c->n < LATE_FIGURES ? c->n : LATE_FIGURES;
    for (uint32_t k = 0; k < n; k++)
        x[k] = figure_value(c, k);
    sort(x, n);
    return x[n / 2];
}

static float price_of(const struct cost *c)
{
    float x[COST_FIGURES];
    for (uint32_t k = 0; k < c->n; k++)
        x[k] = figure_value(c, k);
    sort(x, c->n);
    if (c->n <= FEW)
        return c->n && x[c->n - 1] > c->tried ? x[c->n - 1] : c->tried;
    float most = x[(uint32_t) ((float) (c->n - 1) * c->quantile)], late = median_late(c);
    most = late > most ? late : most;
    return c->tried_stays && c->tried > most ? c->tried : most;
}

void cost_try(struct cost *c, float cpu, float wall, uint64_t now_us)
{
    c->tried = cpu;
    c->tried_wall = wall;
    c->tried_us = now_us;
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

/* Work that nothing was added to for a while. */
static void work_forget(struct cost *c, uint64_t now_us)
{
    if (c->work > c->seen_work)
        c->moved_us = now_us;
    else if (now_us - c->moved_us > LEFT_US)
        work_clear(c);
    c->seen_work = c->work;
}

static void figure_put(struct cost *c, double weight, uint64_t now_us)
{
    c->figures[c->at] = (struct cost_figure) { .at_us = now_us,
                                               .cpu = (float) (c->cpu_ns / c->work),
                                               .wall = (float) (c->wall_ns / c->work),
                                               .weight = weight < 1 ? (float) weight : 1 };
    c->at = (c->at + 1) % COST_FIGURES;
    c->n += c->n < COST_FIGURES;
    work_clear(c);
    c->since_us = now_us;
}

void cost_tick(struct cost *c, double least, double weight, uint64_t now_us)
{
    uint32_t n = c->n;
    bool is_due = now_us - c->since_us >= COST_FIGURE_US;
    work_forget(c, now_us);
    while (c->n && now_us - figure_at(c, c->n - 1)->at_us > COST_AGE_US)
        c->n--;
    c->is_stale |= n && !c->n;
    if (is_due && c->work >= least)
        figure_put(c, weight, now_us);
    else if (c->n == n)
        return;
    c->price = price_of(c);
}

bool cost_wants_try(const struct cost *c, uint64_t now_us)
{
    bool held_up = c->tried_wall > HELD_UP * c->tried && now_us - c->tried_us > COST_AGE_US;
    return !c->n && (c->is_stale || held_up);
}

const struct cost_figure *cost_newest(const struct cost *c)
{
    return c->n ? figure_at(c, 0) : NULL;
}

/* ---- contention ---- */

void contention_tick(struct contention *c, uint64_t cpu_ns, uint64_t busy_ns, uint64_t took_ns)
{
    double seconds = (double) took_ns * 1e-9, kept = 1 - FORGET_A_SECOND * seconds;
    kept = kept > 0 ? kept : 0;
    c->cpu_ns = c->cpu_ns * kept + (double) cpu_ns;
    c->busy_ns = c->busy_ns * kept + (double) busy_ns;
}

double contention_share(const struct contention *c)
{
    double share = (c->cpu_ns + EVIDENCE_NS) / (c->busy_ns + EVIDENCE_NS) / CONTENTION_NONE;
    return share > 1 ? 1 : share < CONTENTION_LEAST ? CONTENTION_LEAST : share;
}
