/* SPDX-License-Identifier: MIT */
/* The signal path around DTLN's nets as a program around a runtime of nets has it: 512 samples,
 * real transform by a plain radix-2 FFT, magnitude, mask, inverse, overlap-add. sigpath dtln
 * [SECONDS]; prints one line of JSON. */
#include "timing.h"

#include <complex.h>
#include <math.h>

#define SIZE 512
#define HOP 128
#define BINS (SIZE / 2 + 1)
#define RUNS_MAX 100000

struct path {
    float block[SIZE], sum[SIZE], magnitude[BINS], mask[BINS], fine[SIZE], out[HOP];
    float complex spec[SIZE], turn[SIZE / 2];
    unsigned reversed[SIZE];
};

static void tables(struct path *p)
{
    for (unsigned i = 0; i < SIZE / 2; i++)
        p->turn[i] = cexpf(-2.0f * (float) M_PI * I * (float) i / SIZE);
    for (unsigned i = 0; i < SIZE; i++)
        for (unsigned bit = 1; bit < SIZE; bit <<= 1)
            p->reversed[i] = p->reversed[i] << 1 | !!(i & bit);
}

static void fft(const struct path *p, float complex *x, int inverse)
{
    for (unsigned i = 0; i < SIZE; i++)
        if (i < p->reversed[i]) {
            float complex t = x[i];
            x[i] = x[p->reversed[i]];
            x[p->reversed[i]] = t;
        }
    for (unsigned half = 1; half < SIZE; half *= 2)
        for (unsigned at = 0; at < SIZE; at += 2 * half)
            for (unsigned k = 0; k < half; k++) {
                float complex w = p->turn[k * (SIZE / 2 / half)];
                float complex t = (inverse ? conjf(w) : w) * x[at + k + half], u = x[at + k];
                x[at + k] = u + t;
                x[at + k + half] = u - t;
            }
}

static void before_first(struct path *p)
{
    for (unsigned i = 0; i < SIZE; i++)
        p->spec[i] = p->block[i];
    fft(p, p->spec, 0);
    for (unsigned i = 0; i < BINS; i++)
        p->magnitude[i] = sqrtf(crealf(p->spec[i]) * crealf(p->spec[i]) +
                                cimagf(p->spec[i]) * cimagf(p->spec[i]));
}

static void between(struct path *p)
{
    for (unsigned i = 0; i < BINS; i++)
        p->spec[i] *= p->mask[i];
    for (unsigned i = BINS; i < SIZE; i++)
        p->spec[i] = conjf(p->spec[SIZE - i]);
    fft(p, p->spec, 1);
    for (unsigned i = 0; i < SIZE; i++)
        p->fine[i] = crealf(p->spec[i]) / SIZE;
}

static void after_second(struct path *p)
{
    for (unsigned i = 0; i < SIZE; i++)
        p->sum[i] += p->fine[i];
    memcpy(p->out, p->sum, sizeof p->out);
    memmove(p->sum, p->sum + HOP, (SIZE - HOP) * sizeof *p->sum);
    memset(p->sum + SIZE - HOP, 0, HOP * sizeof *p->sum);
}

static void pulse(struct path *p, unsigned *seed)
{
    memmove(p->block, p->block + HOP, (SIZE - HOP) * sizeof *p->block);
    for (unsigned i = SIZE - HOP; i < SIZE; i++)
        p->block[i] = noise(seed);
    before_first(p);
    between(p);
    after_second(p);
}

int main(int argc, char **argv)
{
    if (argc < 2 || strcmp(argv[1], "dtln"))
        return 2;
    double seconds = argc > 2 ? atof(argv[2]) : 1, *us = must(malloc(RUNS_MAX * sizeof *us));
    struct path *p = aligned_zeros(sizeof *p);
    unsigned seed = 1;
    size_t n = 0;
    tables(p);
    for (unsigned i = 0; i < BINS; i++)
        p->mask[i] = 0.5f;
    for (double end = now_us() + seconds * 1e6; n < RUNS_MAX && now_us() < end; n++) {
        double before = now_us();
        pulse(p, &seed);
        us[n] = now_us() - before;
    }
    volatile float kept = p->out[0];
    (void) kept;
    printf("{\"median_us\": %.4f}\n", percentile(us, n, 0.5));
    free(us);
    free(p);
    return 0;
}
