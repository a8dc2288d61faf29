/* SPDX-License-Identifier: MIT */
/* spectra.h - spectra of Hann windows of 32 ms, one at a time. */
#ifndef TOOLS_SPECTRA_H
#define TOOLS_SPECTRA_H
#include "kernels/fft.h"
#include "kernels/kern.h"

struct spectra {
    struct kern kern;
    struct kern_rfft fft;
    float *table, *work, *frame, *window;
    float *bins; /* n / 2 + 1 complex numbers */
    size_t n;    /* samples of a window; half of it is the usual step */
    double gain; /* of power: a sine of full scale gives 1 */
};

void spectra_make(struct spectra *t, int rate_hz);
void spectra_free(struct spectra *t);

/* Into bins: the window around the sample `at`. What is no number, or beyond any scale, and what
 * lies outside of x is silence. */
void spectra_run(struct spectra *t, const float *x, size_t n_samples, ptrdiff_t at);
#endif
