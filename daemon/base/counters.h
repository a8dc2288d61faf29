/* SPDX-License-Identifier: MIT */
/* counters.h - counters for metrics and Stats, which only grow. Those of a model are kept by its
 * name, so a new version goes on where the old one was. */
#ifndef RILL_DAEMON_BASE_COUNTERS_H
#define RILL_DAEMON_BASE_COUNTERS_H

#include <stdbool.h>
#include <stdint.h>

#define COUNTERS_MODELS_MAX 128 /* names beyond these are counted together as "other" */
#define COUNTERS_CODES 32
#define COUNTERS_REASONS 16
#define COUNTERS_BATCHES 33

/* Upper ends of a histogram of times; one more bucket holds the rest. */
#define TIME_BUCKETS 13
extern const uint32_t time_bucket_us[TIME_BUCKETS];

struct time_hist {
    uint64_t count[TIME_BUCKETS + 1], sum_us;
};

struct model_counters {
    struct model_counters *next;
    char model[65];
    uint64_t streams_opened, pulses, audio_us, misses;
    struct time_hist compute, queue;
    uint64_t batch[COUNTERS_BATCHES]; /* [n]: stream pulses that ran in batches of n */
    uint64_t gap_us, gap_samples;
};

struct counters {
    struct model_counters *models;
    unsigned n_models;
    struct model_counters other;
    uint64_t errors[COUNTERS_CODES], refused[COUNTERS_CODES]; /* by Code */
    uint64_t gap_us[COUNTERS_REASONS],
        gap_samples[COUNTERS_REASONS]; /* by Gap.Reason, at the client's rates */
};

/* Those of the model; never NULL. */
struct model_counters *counters_of_model(struct counters *a, const char *model);
void counters_clear(struct counters *a);

struct pulse_counts {
    uint32_t compute_us, queue_us, batch;
    uint64_t audio_us;
    bool miss;
};
void counters_add_pulse(struct model_counters *f, const struct pulse_counts *p);
/* f: NULL for gaps of subscribers, which count for no model. */
void counters_add_gap(struct counters *a, struct model_counters *f, unsigned reason,
                      uint64_t samples, uint32_t rate);

/* How many batches of n streams ran. */
uint64_t counters_batches(const struct model_counters *f, unsigned n);

#endif
