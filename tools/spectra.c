/* SPDX-License-Identifier: MIT */
#include "tools/spectra.h"
#include "tools/tool.h"

#include <math.h>
#include <stdlib.h>

void spectra_make(struct spectra *t, int rate_hz)
{
    double sum = 0;
    *t = (struct spectra) { .n = (size_t) (rate_hz * 16 / 1000) * 2 };
    kern_init(&t->kern, kern_cpu_detect());
    t->table = tool_alloc(kern_rfft_floats(t->n) * sizeof(float));
    kern_rfft_init(&t->fft, t->n, t->table);
    t->work = tool_alloc(kern_rfft_work_floats(&t->fft) * sizeof(float));
    t->frame = tool_alloc(t->n * sizeof(float));
    t->window = tool_alloc(t->n * sizeof(float));
    t->bins = tool_alloc((t->n + 2) * sizeof(float));
    for (size_t i = 0; i < t->n; i++) {
        t->window[i] = (float) (0.5 - 0.5 * cos(2 * M_PI * (double) i / (double) t->n));
        sum += (double) t->window[i];
    }
    t->gain = 4 / (sum * sum);
}

void spectra_free(struct spectra *t)
{
    free(t->table);
    free(t->work);
    free(t->frame);
    free(t->window);
    free(t->bins);
}

static float sample_heard(float x)
{
    return x > -1e6f && x < 1e6f ? x : 0;
}

void spectra_run(struct spectra *t, const float *x, size_t n_samples, ptrdiff_t at)
{
    for (size_t i = 0; i < t->n; i++) {
        ptrdiff_t k = at - (ptrdiff_t) (t->n / 2) + (ptrdiff_t) i;
        t->frame[i] = k >= 0 && k < (ptrdiff_t) n_samples ? sample_heard(x[k]) * t->window[i] : 0;
    }
    t->kern.rfft_f32(&t->fft, t->bins, t->frame, t->work);
}
