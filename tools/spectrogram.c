/* SPDX-License-Identifier: MIT */
#include "tools/spectrogram.h"
#include "tools/tool.h"
#include "tools/spectra.h"

#include <math.h>
#include <stdlib.h>

#define SILENCE 1e-14       /* power that no column is below */
#define SILENCE_DB (-140.f) /* dB of it */

/* Adds the power of each bin of the window around the sample `at`. */
static void power_add(struct spectra *t, const float *x, size_t n_samples, ptrdiff_t at,
                      double *power)
{
    spectra_run(t, x, n_samples, at);
    for (size_t i = 0; i <= t->n / 2; i++)
        power[i] += t->gain *
            ((double) t->bins[2 * i] * (double) t->bins[2 * i] +
             (double) t->bins[2 * i + 1] * (double) t->bins[2 * i + 1]);
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
    struct spectra t;
    spectra_make(&t, rate_hz);
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
    spectra_free(&t);
}

float spectrogram_loudest(const struct spectrogram *s, size_t n)
{
    float top = SILENCE_DB;
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < s[i].n_columns * SPECTROGRAM_ROWS; k++)
            top = s[i].db[k] > top ? s[i].db[k] : top;
    return top > SILENCE_DB + 1 ? top : 0;
}
