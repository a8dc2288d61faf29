/* SPDX-License-Identifier: MIT */
#include "tools/spectrogram.h"
#include "kernels/fft.h"
#include "kernels/kern.h"
#include "tools/tool.h"

#include <math.h>
#include <stdlib.h>

#define SILENCE 1e-14           /* power that no column is below */
#define SILENCE_DB (-140.f)     /* dB of it */

struct transform {
    struct kern kern;
    struct kern_rfft fft;
    float *table, *work, *frame, *bins, *window;
    size_t n;
    double gain;                /* of power: a sine of full scale gives 1 */
};

static void transform_make(struct transform *t, int rate_hz)
{
    double sum = 0;
    *t = (struct transform) { .n = (size_t) (rate_hz * 16 / 1000) * 2 };
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

static void transform_free(struct transform *t)
{
    free(t->table);
    free(t->work);
    free(t->frame);
    free(t->window);
    free(t->bins);
}

/* What is no number, or beyond any scale, is drawn as silence. */
static float sample_drawn(float x)
{
    return x > -1e6f && x < 1e6f ? x : 0;
}

/* Adds the power of each bin of the window around the sample `at`. */
static void power_add(struct transform *t, const float *x, size_t n_samples, ptrdiff_t at,
                      double *power)
{
    for (size_t i = 0; i < t->n; i++) {
        ptrdiff_t k = at - (ptrdiff_t) (t->n / 2) + (ptrdiff_t) i;
        t->frame[i] = k >= 0 && k < (ptrdiff_t) n_samples ? sample_drawn(x[k]) * t->window[i] : 0;
    }
    t->kern.rfft_f32(&t->fft, t->bins, t->frame, t->work);
    for (size_t i = 0; i <= t->n / 2; i++)
        power[i] += t->gain * ((double) t->bins[2 * i] * (double) t->bins[2 * i]
                               + (double) t->bins[2 * i + 1] * (double) t->bins[2 * i + 1]);
}

/* The largest bin of each row's band, so that a single tone shows at any height. */
static void column_fill(const double *power, size_t n_bins, double frames, float *db)
{
    for (size_t row = 0; row < SPECTROGRAM_ROWS; row++) {
        size_t from = row * (n_bins - 1) / SPECTROGRAM_ROWS,
               to = (row + 1) * (n_bins - 1) / SPECTROGRAM_ROWS;
        double top = power[from];
        for (size_t i = from + 1; i < to; i++)
            top = power[i] > top ? power[i] : top;
        db[row] = (float) (10 * log10(top / frames + SILENCE));
    }
}

void spectrogram_make(struct spectrogram *ret, const float *x, size_t n_samples, int rate_hz,
                      size_t n_columns, double column_s)
{
    struct transform t;
    transform_make(&t, rate_hz);
    double *power = tool_alloc((t.n / 2 + 1) * sizeof *power), column = column_s * rate_hz;
    *ret =
        (struct spectrogram) { .n_columns = n_columns, .column_s = column_s, .rate_hz = rate_hz };
    ret->db = tool_alloc(n_columns * SPECTROGRAM_ROWS * sizeof *ret->db);
    for (size_t c = 0; c < n_columns; c++) {
        double start = (double) c * column, frames = 0;
        float *db = ret->db + c * SPECTROGRAM_ROWS;
        for (size_t i = 0; i <= t.n / 2; i++)
            power[i] = 0;
        for (double at = start + column / 2; at < start + column + 0.5 && at < (double) n_samples;
             at += (double) (t.n / 2)) {
            power_add(&t, x, n_samples, (ptrdiff_t) at, power);
            frames++;
        }
        if (frames > 0)
            column_fill(power, t.n / 2 + 1, frames, db);
        for (size_t row = 0; frames <= 0 && row < SPECTROGRAM_ROWS; row++)
            db[row] = SPECTROGRAM_NONE;
    }
    free(power);
    transform_free(&t);
}

float spectrogram_loudest(const struct spectrogram *s, size_t n)
{
    float top = SILENCE_DB;
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < s[i].n_columns * SPECTROGRAM_ROWS; k++)
            top = s[i].db[k] > top ? s[i].db[k] : top;
    return top > SILENCE_DB + 1 ? top : 0;
}
