/* SPDX-License-Identifier: MIT */
/* figures.h - counts that only grow, for metrics and Stats. Those of a model are kept by its name:
 * they go on over reloads, and what a swapped model's old streams do is counted with the new
 * ones. */
#ifndef RILL_DAEMON_BASE_FIGURES_H
#define RILL_DAEMON_BASE_FIGURES_H

#include <stdbool.h>
#include <stdint.h>

#define FIGURES_MODELS_MAX 128 /* names beyond these are counted together as "other" */
#define FIGURES_CODES 32
#define FIGURES_REASONS 16
#define FIGURES_BATCHES 33

/* Upper ends of a histogram of times; one more bucket holds the rest. */
#define FIGURES_TIMES 13
extern const uint32_t figures_time_us[FIGURES_TIMES];

struct time_hist {
    uint64_t count[FIGURES_TIMES + 1], sum_us;
};

struct figures {
    struct figures *next;
    char model[65];
    uint64_t streams_opened, pulses, audio_us, misses;
    struct time_hist compute, queue;
    uint64_t batch[FIGURES_BATCHES]; /* [n]: stream pulses that ran in batches of n */
    uint64_t gap_us, gap_samples;
};

struct figures_all {
    struct figures *models;
    unsigned n_models;
    struct figures other;
    uint64_t errors[FIGURES_CODES], refused[FIGURES_CODES]; /* by Code */
    uint64_t gap_us[FIGURES_REASONS],
        gap_samples[FIGURES_REASONS]; /* by Gap.Reason, at the client's rates */
};

/* Those of the model; never NULL. */
struct figures *figures_of(struct figures_all *a, const char *model);
void figures_clear(struct figures_all *a);

struct pulse_figures {
    uint32_t compute_us, queue_us, batch;
    uint64_t audio_us;
    bool miss;
};
void figures_pulse(struct figures *f, const struct pulse_figures *p);
/* f: NULL where it is nobody's model, as of a subscriber. */
void figures_gap(struct figures_all *a, struct figures *f, unsigned reason, uint64_t samples,
                 uint32_t rate);

/* Runs of n streams at once. */
uint64_t figures_batches(const struct figures *f, unsigned n);
uint64_t time_hist_total(const struct time_hist *h);

#endif
