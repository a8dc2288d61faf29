/* SPDX-License-Identifier: MIT */
/* What is said of an output whose speech and noise are known: the share of the speech that it was
 * made of. */
#include "tests/check.h"
#include "tools/quality.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define RATE 16000
#define N (4 * RATE)
#define LATE (RATE / 200)

static float speech[N], noise[N], noisy[N], y[N];

static float written(double x)
{
    return (float) (lrint(x * 32768) / 32768.0);
}

/* Words of a few tones, 0.3 s each, and noise at `level` beside them. */
static void make(double level)
{
    uint32_t seed = 9;
    for (int i = 0; i < N; i++) {
        int word = i / (RATE * 3 / 10);
        double t = (double) i / RATE, f = 200 + 137 * (word % 5);
        speech[i] = word % 2
            ? 0
            : written(0.1 * sin(2 * M_PI * f * t) + 0.05 * sin(2 * M_PI * 5.3 * f * t + word) +
                      0.02 * sin(2 * M_PI * 3.7 * f * t * (1 + t / 40)));
        seed = seed * 1664525 + 1013904223;
        noise[i] = written(level * ((double) (seed >> 8) / (1 << 23) - 1));
        noisy[i] = speech[i] + noise[i];
    }
}

static struct quality measured(size_t n)
{
    struct quality q = {
        .clean_path = "x", .noisy = noisy, .clean = speech, .n = N, .rate_hz = RATE
    };
    quality_measure(&q, y, n);
    return q;
}

static void made_of(double a, double b)
{
    for (int i = 0; i < N; i++)
        y[i] = (float) (a * (double) speech[i] + b * (double) noise[i]);
}

/* Whatever of the noise is left, and however loud it was. */
static void test_shares(void)
{
    static const double levels[] = { 0.003, 0.05, 0.5 },
                        shares[][2] = { { 1, 1 },   { 1, 0 },     { 0.5, 0.5 },
                                        { 0.5, 1 }, { 0.9, 0.1 }, { 0.25, 0 },
                                        { 0, 1 },   { -1, 0.1 },  { 1.5, 0 } };
    for (size_t l = 0; l < 3; l++) {
        make(levels[l]);
        for (size_t i = 0; i < sizeof shares / sizeof *shares; i++) {
            made_of(shares[i][0], shares[i][1]);
            double want = fmin(fmax(shares[i][0], 0), 1), kept = measured(N).kept;
            CHECK(fabs(kept - want) < 0.01, "noise %g, %g of it and %g of the speech: %g kept",
                  levels[l], shares[i][1], shares[i][0], kept);
        }
    }
}

static void test_sdr(void)
{
    make(0.05);
    made_of(1, 1);
    struct quality q = measured(N);
    CHECK(fabs(q.after_db - q.before_db) < 1e-6 && isfinite(q.before_db), "%g, %g", q.before_db,
          q.after_db);
    made_of(1, 0.1);
    q = measured(N);
    CHECK(fabs(q.after_db - q.before_db - 20) < 0.05, "a tenth of the noise: %g dB more",
          q.after_db - q.before_db);
    made_of(1, 0);
    q = measured(N);
    CHECK(isinf(q.after_db) && q.after_db > 0, "the clean recording itself: %g", q.after_db);
    json_t *j = json_object();
    quality_add_json(&q, j);
    CHECK(json_is_null(json_object_get(j, "si_sdr_after_db")) &&
              json_is_real(json_object_get(j, "si_sdr_before_db")) &&
              json_number_value(json_object_get(j, "speech_kept")) > 0.999,
          "as JSON");
    json_decref(j);
}

/* Suppression that takes the speech along is told as that. */
static void test_destroyed(void)
{
    make(0.05);
    memset(y, 0, sizeof y);
    struct quality q = measured(N);
    CHECK(q.kept <= 0 && isinf(q.after_db) && q.after_db < 0, "silence: %g, %g dB", q.kept,
          q.after_db);
    q = measured(0);
    CHECK(q.kept <= 0, "no output at all: %g", q.kept);
    made_of(0.002, 0.002);
    CHECK(measured(N).kept < 0.01, "54 dB less of everything: %g", measured(N).kept);
    made_of(1, 0.1);
    memmove(y + LATE, y, (N - LATE) * sizeof *y);
    CHECK(measured(N).kept < 0.5, "5 ms late: %g", measured(N).kept);
    made_of(1, 0.1);
    for (int i = 0; i < N; i++)
        y[i] = i / (RATE * 3 / 10) % 4 == 0 ? 0 : y[i];
    CHECK(fabs(measured(N).kept - 0.5) < 0.15, "every other word is missing: %g", measured(N).kept);
    made_of(1, 0.1);
    CHECK(fabs(measured(N / 2).kept - 0.5) < 0.15, "half of it is missing: %g",
          measured(N / 2).kept);
    for (int i = 0; i < N; i += 7)
        y[i] = i % 2 ? NAN : INFINITY;
    q = measured(N);
    CHECK(isfinite(q.after_db) && q.kept >= 0 && q.kept <= 1, "no numbers: %g dB, %g", q.after_db,
          q.kept);
}

int main(void)
{
    test_shares();
    test_sdr();
    test_destroyed();
    return check_done();
}
