/* SPDX-License-Identifier: MIT */
/* fft.h - plans of discrete Fourier transforms of any length.
 *
 * Lengths 2^a 3^b 5^c go by Stockham passes of radix 4, 2, 3 and 5; others as a convolution with a
 * chirp, by two transforms of a power of two. No fused operations and one fixed order: the same
 * bits for every instruction set. Factors are computed in double by our own series and rounded
 * once. */
#ifndef KERN_FFT_H
#define KERN_FFT_H
#include <stddef.h>
#include <stdint.h>

#define KERN_FFT_PASSES_MAX 40
#define KERN_FFT_MAX ((size_t) 1 << 24) /* longest transform */

struct kern_fft {
    size_t n; /* points */
    size_t m; /* points of the passes: n, or at least 2n - 1 */
    unsigned n_pass;
    uint8_t radix[KERN_FFT_PASSES_MAX];
    /* pass after pass: for j = 1..radix-1 the real, then the imaginary parts */
    const float *twiddle;
    const float *chirp;     /* NULL unless m > n: n real parts, n imaginary ones */
    const float *chirp_fft; /* m real parts, m imaginary ones */
};

/* n real points: a complex transform of n/2 points and one turn, or of n points where n is odd. */
struct kern_rfft {
    size_t n;
    struct kern_fft half;
    const float *turn; /* cos and sin of 2 pi k / n, k <= n/2 */
};

/* Set-up, not for the run path. table holds kern_fft_floats(n) floats and lives as long as the
 * plan. 1 <= n <= KERN_FFT_MAX. */
size_t kern_fft_floats(size_t n);
void kern_fft_init(struct kern_fft *ret, size_t n, float *table);
size_t kern_fft_work_floats(const struct kern_fft *f);

size_t kern_rfft_floats(size_t n);
void kern_rfft_init(struct kern_rfft *ret, size_t n, float *table);
size_t kern_rfft_work_floats(const struct kern_rfft *f);

/* cos and sin of 2 pi k / n; k < n */
void kern_turn(uint64_t k, uint64_t n, double *ret_cos, double *ret_sin);
#endif
