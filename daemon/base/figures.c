/* SPDX-License-Identifier: MIT */
#include "daemon/base/figures.h"

#include <stdlib.h>
#include <string.h>

const uint32_t figures_time_us[FIGURES_TIMES] = {
    100, 250, 500, 1000, 2500, 5000, 10000, 25000, 50000, 100000, 250000, 500000, 1000000,
};

struct figures *figures_of(struct figures_all *a, const char *model)
{
    struct figures **at = &a->models;
    for (; *at; at = &(*at)->next)
        if (strcmp((*at)->model, model) == 0)
            return *at;
    struct figures *f = a->n_models < FIGURES_MODELS_MAX ? calloc(1, sizeof *f) : NULL;
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

void figures_clear(struct figures_all *a)
{
    for (struct figures *f = a->models, *next; f; f = next) {
        next = f->next;
        free(f);
    }
    a->models = NULL;
    a->n_models = 0;
}

static void time_hist_add(struct time_hist *h, uint32_t us)
{
    unsigned low = 0, high = FIGURES_TIMES;
    while (low < high) {
        unsigned at = (low + high) / 2;
        if (us <= figures_time_us[at])
            high = at;
        else
            low = at + 1;
    }
    h->count[low]++;
    h->sum_us += us;
}

void figures_pulse(struct figures *f, const struct pulse_figures *p)
{
    f->pulses++;
    f->audio_us += p->audio_us;
    f->misses += p->miss;
    f->batch[p->batch < FIGURES_BATCHES ? p->batch : FIGURES_BATCHES - 1]++;
    time_hist_add(&f->compute, p->compute_us);
    time_hist_add(&f->queue, p->queue_us);
}

void figures_gap(struct figures_all *a, struct figures *f, unsigned reason, uint64_t samples,
                 uint32_t rate)
{
    uint64_t us = rate ? samples / rate * 1000000u + samples % rate * 1000000u / rate : 0;
    unsigned r = reason < FIGURES_REASONS ? reason : 0;
    a->gap_us[r] += us;
    a->gap_samples[r] += samples;
    if (!f)
        return;
    f->gap_us += us;
    f->gap_samples += samples;
}

uint64_t figures_batches(const struct figures *f, unsigned n)
{
    return n && n < FIGURES_BATCHES ? (f->batch[n] + n - 1) / n : 0;
}

uint64_t time_hist_total(const struct time_hist *h)
{
    uint64_t n = 0;
    for (unsigned i = 0; i <= FIGURES_TIMES; i++)
        n += h->count[i];
    return n;
}
