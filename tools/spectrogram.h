/* SPDX-License-Identifier: MIT */
/* spectrogram.h - the power of a recording over time and frequency, and pictures of it. */
#ifndef TOOLS_SPECTROGRAM_H
#define TOOLS_SPECTROGRAM_H
#include "rill.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SPECTROGRAM_ROWS 256

/* SPECTROGRAM_ROWS numbers a column, from 0 Hz up to half the rate: dB of the mean power in the
 * column's time and the row's band, 0 dB for a sine of full scale. A column past the end of the
 * recording holds SPECTROGRAM_NONE. */
#define SPECTROGRAM_NONE (-1e30f)
struct spectrogram {
    float *db;
    size_t n_columns;
    double column_s; /* seconds of a column */
    int rate_hz;
};

/* n_columns of column_s seconds each; Hann windows of 32 ms, half overlapping. Free ret->db. */
void spectrogram_make(struct spectrogram *ret, const float *x, size_t n_samples, int rate_hz,
                      size_t n_columns, double column_s);

/* dB of the loudest point of n of them; 0 where all is silent, so that silence is dark. */
float spectrogram_loudest(const struct spectrogram *s, size_t n);

/* What stands at v of an axis with a mark every `step`, in plain decimals; bytes: at least 32. */
void spectrogram_tick(char *ret, size_t bytes, double v, double step, const char *unit);

/* One above the other with axes in seconds and kHz, colours from top_db down to range_db below it.
 * IO: it cannot be written, and what was there before stays. */
rill_status spectrogram_png(const char *path, const struct spectrogram *s, size_t n, float top_db,
                            float range_db, rill_error *reterr);
#endif
