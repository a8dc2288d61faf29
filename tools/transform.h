/* SPDX-License-Identifier: MIT */
/* transform.h - spectra of windows of 32 ms. */
#ifndef TOOLS_TRANSFORM_H
#define TOOLS_TRANSFORM_H
#include "kernels/fft.h"
#include "kernels/kern.h"

struct transform {
    struct kern kern;
    struct kern_rfft fft;
    float *table, *work, *frame, *window;
    float *bins; /* n / 2 + 1 complex numbers */
    size_t n;    /* samples of a window; half of it is the usual step */
    double gain; /* of power: a sine of full scale gives 1 */
};

void transform_make(struct transform *t, int rate_hz);
void transform_free(struct transform *t);

/* Into bins: the window around the sample `at`. What is no number, or beyond any scale, and what
 * lies outside of x is silence. */
void transform_run(struct transform *t, const float *x, size_t n_samples, ptrdiff_t at);
#endif
