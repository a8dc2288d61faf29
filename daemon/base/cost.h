/* SPDX-License-Identifier: MIT */
/* cost.h - a price found from what was measured: processor time for a unit of work (a second of
 * audio, a pulse). Whoever measures says how long the work took and how much of that a processor
 * worked on it; the rest is contention, which is told but is no cost.
 *
 * A figure is the mean of about a second. The price is the median of the last five, or a quantile
 * of those of half a minute where that is more: it follows a rise within seconds, one figure alone
 * changes nothing once there are four, and what is over is forgotten. Until there are figures, and
 * in half a minute without any, it is what was found by trying out. Times are the caller's clock.
 */
#ifndef RILL_DAEMON_BASE_COST_H
#define RILL_DAEMON_BASE_COST_H

#include <stdbool.h>
#include <stdint.h>

#define COST_FIGURES 32
#define COST_AGE_US UINT64_C(30000000)
#define COST_FIGURE_US UINT64_C(1000000)

struct cost_figure {
    uint64_t at_us;
    float cpu, wall; /* of a unit of work */
    float weight;    /* beside what was tried */
};

struct cost {
    float price;
    float quantile;          /* of the figures; 0: the late median alone */
    float tried, tried_wall; /* what trying out found */
    uint64_t tried_us;
    bool tried_stays; /* the price is never less than that */
    bool is_stale;    /* there were figures since it was tried, and none is left */
    struct cost_figure figures[COST_FIGURES]; /* in turn */
    uint32_t n, at;
    double cpu_ns, wall_ns, work; /* of the next figure */
    double seen_work;
    uint64_t since_us, moved_us; /* the last figure; when work was last added */
};

void cost_try(struct cost *c, float cpu, float wall, uint64_t now_us);

/* So much work took wall_ns, of which a processor worked cpu_ns on it. */
void cost_add(struct cost *c, double cpu_ns, double wall_ns, double work);

/* As time goes. least: work that makes a figure; weight: how much that says of a machine that is
 * full, 0 to 1. While little runs, every pulse wakes a thread and finds caches cold. */
void cost_tick(struct cost *c, double least, double weight, uint64_t now_us);

/* There is reason to try it out again, if nothing else runs: what was found last is not known any
 * more, or was found while others computed. */
bool cost_wants_try(const struct cost *c, uint64_t now_us);

/* The newest figure; NULL: there is none. */
const struct cost_figure *cost_newest(const struct cost *c);

/* Of so much wall time a processor worked that share, over about the last second; between
 * CONTENTION_LEAST and 1, which it goes back to while little runs: that says little. */
#define CONTENTION_LEAST 0.25

struct contention {
    double cpu_ns, busy_ns; /* decaying sums */
};

void contention_tick(struct contention *c, uint64_t cpu_ns, uint64_t busy_ns, uint64_t took_ns);
double contention_share(const struct contention *c);

/* What is read of the time of one thread. */
struct meter {
    uint64_t cpu_ns, busy_ns; /* up to here it was read */
    double spent_ns;          /* on streams since then, by the wall clock */
    double factor;            /* processor time for what was spent; 1 at the start */
    struct contention contention;
};

#endif
