/* SPDX-License-Identifier: MIT */
#include "tests/kern/check.h"

#include "kernels/fft.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct rfft {
    const struct kern *k;
    const struct kern_rfft *f;
    float *y, *x, *work;
};

static void call(void *arg)
{
    const struct rfft *g = arg;
    g->k->rfft_f32(g->f, g->y, g->x, g->work);
}

static void complex_check(struct check *t, size_t n)
{
    struct kern_fft f;
    float *table = check_buf(t, kern_fft_floats(n), false);
    kern_fft_init(&f, n, table);
    float *work = check_buf(t, kern_fft_work_floats(&f), false);
    float *want = check_buf(t, 2 * n, false), *re = check_buf(t, n, false),
          *im = check_buf(t, n, true);
    check_fill(t, re, n);
    check_fill(t, im, n);
    memcpy(want, re, n * sizeof *re);
    memcpy(want + n, im, n * sizeof *im);
    t->ref.fft_f32(&f, want, want + n, work);
    t->new.fft_f32(&f, re, im, work);
    check_same(t, "fft_f32", want, re, n, "real part, n %zu", n);
    check_same(t, "fft_f32", want + n, im, n, "imaginary part, n %zu", n);
    check_drop(t);
}

static void real_check(struct check *t, size_t n, bool timed)
{
    struct kern_rfft f;
    size_t bins = 2 * (n / 2 + 1);
    char text[40];
    float *table = check_buf(t, kern_rfft_floats(n), false);
    kern_rfft_init(&f, n, table);
    float *work = check_buf(t, kern_rfft_work_floats(&f), false);
    float *x = check_buf(t, n, false), *back = check_buf(t, n, false),
          *want_back = check_buf(t, n, false);
    float *want = check_buf(t, bins, false), *got = check_buf(t, bins, false);
    check_fill(t, x, n);
    t->ref.rfft_f32(&f, want, x, work);
    t->new.rfft_f32(&f, got, x, work);
    check_same(t, "rfft_f32", want, got, bins, "n %zu", n);
    t->ref.irfft_f32(&f, want_back, want, work);
    t->new.irfft_f32(&f, back, want, work);
    check_same(t, "irfft_f32", want_back, back, n, "n %zu", n);
    float worst = 0;
    for (size_t i = 0; i < n; i++)
        worst = back[i] - x[i] > worst ? back[i] - x[i]
            : x[i] - back[i] > worst   ? x[i] - back[i]
                                       : worst;
    check_true(t, worst < 4e-6f, "irfft_f32(rfft_f32) of %zu points is %g off", n, (double) worst);
    snprintf(text, sizeof text, "rfft %zu", n);
    if (timed)
        check_time(t, text, (double) n, call, &(struct rfft) { &t->new, &f, got, x, work });
    check_drop(t);
}

void check_fft(struct check *t)
{
    static const size_t sizes[] = { 1,   2,   3,   4,   5,   6,   7,    8,    9,
                                    12,  15,  16,  17,  20,  32,  60,   97,   128,
                                    240, 257, 400, 480, 512, 960, 1000, 1024, 1021 };
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        complex_check(t, sizes[i]);
        real_check(t, sizes[i], sizes[i] == 512 || sizes[i] == 400 || sizes[i] == 960);
    }
}
