/* SPDX-License-Identifier: MIT */
#include "tests/kern/check.h"

#include <math.h>
#include <stdio.h>

struct norm {
    const struct kern *k;
    float *y;
    const float *x, *gain, *shift;
    size_t n;
};

static void call(void *arg)
{
    const struct norm *c = arg;
    float moments[2];
    c->k->norm_f32(c->y, c->x, c->gain, c->shift, 1e-5f, c->n, moments);
}

/* The largest difference from the formula in f64, over what the rounding of the mean allows where
 * elements hardly differ from it. */
static double off(const float *y, const float *x, const float *gain, const float *shift, size_t n)
{
    double mean = 0, var = 0, worst = 0;
    for (size_t i = 0; i < n; i++)
        mean += (double) x[i] / (double) n;
    for (size_t i = 0; i < n; i++)
        var += ((double) x[i] - mean) * ((double) x[i] - mean) / (double) n;
    for (size_t i = 0; i < n; i++) {
        double want = ((double) x[i] - mean) / sqrt(var + (double) 1e-5f);
        want = (gain ? want * (double) gain[i] : want) + (shift ? (double) shift[i] : 0);
        worst = fmax(worst, fabs(want - (double) y[i]));
    }
    return worst - fabs(mean) * 0x1p-22 / sqrt(var + (double) 1e-5f);
}

static void norm_check(struct check *t, size_t n, int with, bool timed)
{
    float *x = check_buf(t, n, false), *g = check_buf(t, n, false), *b = check_buf(t, n, true),
          *want = check_buf(t, n, false), *got = check_buf(t, n, false), ref_moments[2], moments[2];
    const float *gain = with & 1 ? g : NULL, *shift = with & 2 ? b : NULL;
    check_fill(t, x, n);
    check_fill(t, g, n);
    check_fill(t, b, n);
    for (size_t i = 0; i < n; i++)
        x[i] = 3 * x[i] + 0.75f;
    t->ref.norm_f32(want, x, gain, shift, 1e-5f, n, ref_moments);
    t->new.norm_f32(got, x, gain, shift, 1e-5f, n, moments);
    check_same(t, "norm_f32", want, got, n, "n %zu, gain %d, shift %d", n, with & 1, with >> 1);
    check_same(t, "norm_f32 moments", ref_moments, moments, 2, "n %zu", n);
    double worst = off(got, x, gain, shift, n);
    check_true(t, worst < 4e-6, "norm_f32 of %zu is %g off", n, worst);
    if (timed) {
        char text[40];
        snprintf(text, sizeof text, "norm %zu", n);
        check_time(t, text, (double) n, call, &(struct norm) { &t->new, got, x, gain, shift, n });
    }
    t->new.norm_f32(x, x, gain, shift, 1e-5f, n, moments);
    check_same(t, "norm_f32 in place", want, x, n, "n %zu", n);
    t->ref.rms_f32(want, got, g, 1e-5f, n);
    t->new.rms_f32(x, got, g, 1e-5f, n);
    check_same(t, "rms_f32", want, x, n, "n %zu", n);
    check_drop(t);
}

/* Rows together are as they are one by one, in place and where moments alone are wanted. */
static void rows_check(struct check *t, size_t n)
{
    enum { ROWS = KERN_NORM_ROWS };
    float *x = check_buf(t, ROWS * n, false), *g = check_buf(t, n, false),
          *want = check_buf(t, ROWS * n, false), one[ROWS][2], all[ROWS][2];
    check_fill(t, x, ROWS * n);
    check_fill(t, g, n);
    for (size_t r = 0; r < ROWS; r++)
        t->ref.norm_f32(want + r * n, x + r * n, g, g, 1e-5f, n, one[r]);
    t->new.norm_rows_f32(NULL, x, g, g, 1e-5f, n, all);
    check_same(t, "norm_rows_f32 moments", one[0], all[0], 2 * (size_t) ROWS, "n %zu", n);
    t->new.norm_rows_f32(x, x, g, g, 1e-5f, n, all);
    check_same(t, "norm_rows_f32", want, x, ROWS * n, "n %zu", n);
    check_drop(t);
}

void check_norm(struct check *t)
{
    static const size_t sizes[] = { 1,   2,   15,   16,   17,   31,   48,  100,
                                    256, 528, 1000, 1024, 1025, 2063, 5000 };
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (int with = 0; with < 4; with++)
            norm_check(t, sizes[i], with, with == 3 && (sizes[i] == 256 || sizes[i] == 528));
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        rows_check(t, sizes[i]);
}
