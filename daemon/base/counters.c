/* SPDX-License-Identifier: MIT */
#include "daemon/base/counters.h"

#include <stdlib.h>
#include <string.h>

const uint32_t time_bucket_us[TIME_BUCKETS] = {
    100, 250, 500, 1000, 2500, 5000, 10000, 25000, 50000, 100000, 250000, 500000, 1000000,
};

struct model_counters *counters_of_model(struct counters *a, const char *model)
{
    struct model_counters **at = &a->models;
    for (; *at; at = &(*at)->next)
        if (strcmp((*at)->model, model) == 0)
            return *at;
    struct model_counters *f = a->n_models < COUNTERS_MODELS_MAX ? calloc(1, sizeof *f) : NULL;
    if (!f) {
        memcpy(a->other.model, "other", sizeof "other");
        return &a->other;
    }
    size_t n = strlen(model);
    memcpy(f->model, model, n < sizeof f->model - 1 ? n : sizeof f->model - 1);
    a->n_models++;
    *at = f;
    return f;
}

void counters_clear(struct counters *a)
{
    for (struct model_counters *f = a->models, *next; f; f = next) {
        next = f->next;
        free(f);
    }
    a->models = NULL;
    a->n_models = 0;
}

static void time_hist_add(struct time_hist *h, uint32_t us)
{
    unsigned low = 0, high = TIME_BUCKETS;
    while (low < high) {
        unsigned at = (low + high) / 2;
        if (us <= time_bucket_us[at])
            high = at;
        else
            low = at + 1;
    }
    h->count[low]++;
    h->sum_us += us;
}

void counters_add_pulse(struct model_counters *f, const struct pulse_counts *p)
{
    f->pulses++;
    f->audio_us += p->audio_us;
    f->misses += p->miss;
    f->batch[p->batch < COUNTERS_BATCHES ? p->batch : COUNTERS_BATCHES - 1]++;
    time_hist_add(&f->compute, p->compute_us);
    time_hist_add(&f->queue, p->queue_us);
}

void counters_add_gap(struct counters *a, struct model_counters *f, unsigned reason,
                      uint64_t samples, uint32_t rate)
{
    uint64_t us = rate ? samples / rate * 1000000u + samples % rate * 1000000u / rate : 0;
    unsigned r = reason < COUNTERS_REASONS ? reason : 0;
    a->gap_us[r] += us;
    a->gap_samples[r] += samples;
    if (!f)
        return;
    f->gap_us += us;
    f->gap_samples += samples;
}

uint64_t counters_batches(const struct model_counters *f, unsigned n)
{
    return n && n < COUNTERS_BATCHES ? (f->batch[n] + n - 1) / n : 0;
}
