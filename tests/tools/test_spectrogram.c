/* SPDX-License-Identifier: MIT */
/* A tone stands in its row at its level, a rise in its column, and what is past the end is
 * marked. */
#include "tests/check.h"
#include "tools/spectrogram.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static float cell(const struct spectrogram *s, size_t column, size_t row)
{
    return s->db[column * SPECTROGRAM_ROWS + row];
}

/* A sine of `hz` and -20 dB in the second half of a second. */
static void test_tone(int rate_hz, double hz)
{
    size_t n = (size_t) rate_hz;
    float *x = malloc(n * sizeof *x);
    struct spectrogram s;
    for (size_t i = 0; i < n; i++)
        x[i] = i < n / 2 ? 0 : (float) (0.1 * sin(2 * M_PI * hz * (double) i / rate_hz));
    spectrogram_make(&s, x, n, rate_hz, 60, 0.02);
    size_t row = (size_t) (hz / rate_hz * 2 * SPECTROGRAM_ROWS), best = 0;
    for (size_t k = 0; k < SPECTROGRAM_ROWS; k++)
        best = cell(&s, 40, k) > cell(&s, 40, best) ? k : best;
    CHECK(best + 1 >= row && best <= row + 1, "%d Hz: the tone of %g Hz is in row %zu, not %zu",
          rate_hz, hz, best, row);
    CHECK(fabsf(cell(&s, 40, best) + 20) < 1.5f, "%d Hz: a tone of -20 dB shows as %g dB", rate_hz,
          (double) cell(&s, 40, best));
    CHECK(cell(&s, 40, (best + 100) % SPECTROGRAM_ROWS) < -80, "%d Hz: %g dB far from the tone",
          rate_hz, (double) cell(&s, 40, (best + 100) % SPECTROGRAM_ROWS));
    CHECK(cell(&s, 10, best) < -100 && cell(&s, 30, best) > -30,
          "%d Hz: the tone starts in the wrong column", rate_hz);
    CHECK(cell(&s, 49, best) > SPECTROGRAM_NONE && cell(&s, 51, best) <= SPECTROGRAM_NONE,
          "%d Hz: the end", rate_hz);
    free(s.db);
    free(x);
}

/* A sample that is no number leaves the others as they are. */
static void test_odd(float odd)
{
    float x[16000];
    struct spectrogram s;
    for (size_t i = 0; i < 16000; i++)
        x[i] = i % 4000 == 100 ? odd : (float) sin(0.3 * (double) i);
    spectrogram_make(&s, x, 16000, 16000, 50, 0.02);
    unsigned wrong = 0;
    for (size_t i = 0; i < 50 * SPECTROGRAM_ROWS; i++)
        wrong += !(s.db[i] >= -140.5f && s.db[i] < 10);
    CHECK(!wrong, "%g among the samples: %u points have no level", (double) odd, wrong);
    free(s.db);
}

static void test_loudest(float level, float want)
{
    float x[8000];
    struct spectrogram s;
    for (size_t i = 0; i < 8000; i++)
        x[i] = level * (float) sin(0.25 * M_PI * (double) i);
    spectrogram_make(&s, x, 8000, 16000, 50, 0.01);
    CHECK(fabsf(spectrogram_loudest(&s, 1) - want) < 1.5f, "a sine of %g: %g dB, not %g",
          (double) level, (double) spectrogram_loudest(&s, 1), (double) want);
    free(s.db);
}

/* Marks of an axis: each reads as its value, has letters that the pictures have, and is unlike the
 * others. */
static void test_ticks(double step, double from, const char *first, const char *second)
{
    const char *const want[2] = { first, second };
    for (int i = 0; i < 2; i++) {
        char text[32];
        spectrogram_tick(text, sizeof text, from + i * step, step, "s");
        CHECK(!strcmp(text, want[i]), "a mark every %g: '%s', not '%s'", step, text, want[i]);
        CHECK(strspn(text, "0123456789.s") == strlen(text), "'%s' cannot be drawn", text);
    }
}

int main(void)
{
    test_ticks(10000, 0, "0s", "10000s");
    test_ticks(10000, 90000, "90000s", "100000s");
    test_ticks(500, 9500, "9500s", "10000s");
    test_ticks(1, 12345, "12345s", "12346s");
    test_ticks(0.5, 0.5, "0.5s", "1s");
    test_ticks(0.2, 0.8, "0.8s", "1s");
    test_ticks(0.01, 1999.99, "1999.99s", "2000s");
    test_ticks(1e-4, 0, "0s", "0.0001s");
    test_ticks(5e-5, 5e-5, "0.00005s", "0.0001s");
    test_ticks(2e-6, 1.8e-5, "0.000018s", "0.00002s");
    test_odd(NAN);
    test_odd(INFINITY);
    test_odd(-3e38f);
    test_loudest(1, 0);
    test_loudest(0.1f, -20);
    test_loudest(1e-5f, -100);
    test_loudest(0, 0);
    test_tone(16000, 1000);
    test_tone(48000, 15000);
    test_tone(8000, 440);
    test_tone(44100, 5000);
    return check_done();
}
