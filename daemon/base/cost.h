/* SPDX-License-Identifier: MIT */
/* cost.h - an estimate of processor time for a unit of work (a second of audio, a pulse). Whoever
 * measures says how long the work took and how much of that was processor time; the rest is
 * contention, which is reported but is no cost. A reading is the mean of about a second. The
 * estimate (`price`) is the median of the last five readings, or a quantile of those of half a
 * minute where that is more: it follows a rise within seconds, a single reading changes nothing
 * once there are four, and old ones are dropped. Until there are readings, and after half a minute
 * without any, it is what a probe found, which ran the model on noise. Times are the caller's
 * clock. */
#ifndef RILL_DAEMON_BASE_COST_H
#define RILL_DAEMON_BASE_COST_H

#include <stdbool.h>
#include <stdint.h>

#define COST_READINGS 32
#define COST_AGE_US UINT64_C(30000000)
#define COST_READING_US UINT64_C(1000000)

struct cost_reading {
    uint64_t at_us;
    float cpu, wall; /* of a unit of work */
    float weight;    /* against the probe, 0 to 1 */
};

struct cost {
    float price;
    float quantile;            /* of the readings; 0: the median of the last ones alone */
    float probed, probed_wall; /* by the probe */
    uint64_t probed_us;
    bool probe_is_floor; /* the price is never less than that */
    bool is_stale;       /* there were readings since the probe, and all of them are too old */
    struct cost_reading readings[COST_READINGS]; /* a ring */
    uint32_t n, at;
    double cpu_ns, wall_ns, work; /* of the next reading */
    double seen_work;
    uint64_t since_us, moved_us; /* the last reading; when work was last added */
};

void cost_probe(struct cost *c, float cpu, float wall, uint64_t now_us);

/* So much work took wall_ns of time and cpu_ns of processor time. */
void cost_add(struct cost *c, double cpu_ns, double wall_ns, double work);

/* Makes a reading if `least` work was added. weight, 0 to 1: how well it predicts a full machine,
 * since while little runs every pulse wakes a thread and finds caches cold. */
void cost_tick(struct cost *c, double least, double weight, uint64_t now_us);

/* Whether a new probe is worth while: the readings are too old, or the last probe ran under
 * contention. */
bool cost_wants_probe(const struct cost *c, uint64_t now_us);

/* The newest reading; NULL: there is none. */
const struct cost_reading *cost_newest(const struct cost *c);

/* The share of the time asked for in which a processor was had, over about the last second; between
 * CONTENTION_LEAST and 1, to which it decays while little runs. */
#define CONTENTION_LEAST 0.25

struct contention {
    double cpu_ns, busy_ns; /* decaying sums */
};

void contention_tick(struct contention *c, uint64_t cpu_ns, uint64_t busy_ns, uint64_t took_ns);
double contention_share(const struct contention *c);

/* What has been read of one thread's clocks. */
struct meter {
    uint64_t cpu_ns, busy_ns; /* at the last reading */
    double spent_ns;          /* on streams since then, wall time */
    double factor;            /* processor time over spent_ns; 1 at the start */
    struct contention contention;
};

#endif
