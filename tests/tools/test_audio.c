/* SPDX-License-Identifier: MIT */
/* Floats become the same whole numbers in every kind of file, those that rill.h promises. */
#include "tests/check.h"
#include "tools/audio.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LSB 0x1p-15f

/* clang-format off */
static const struct { float x; int want; } cases[] = {
    { 0.0f, 0 },           { 0.5f * LSB, 0 },      { 1.5f * LSB, 2 },     { 2.5f * LSB, 2 },
    { -0.5f * LSB, 0 },    { -1.5f * LSB, -2 },    { -2.5f * LSB, -2 },   { 0.51f * LSB, 1 },
    { -0.51f * LSB, -1 },  { -0.49f * LSB, 0 },    { 0.99f * LSB, 1 },    { -0.01f * LSB, 0 },
    { 32766.5f * LSB, 32766 }, { 32766.6f * LSB, 32767 }, { 32767.5f * LSB, 32767 },
    { 1.0f, 32767 },
    { -1.0f, -32768 },     { -32767.5f * LSB, -32768 }, { 7.0f, 32767 },  { -7.0f, -32768 },
    { INFINITY, 32767 },   { -INFINITY, -32768 },  { NAN, 0 },            { 1e-40f, 0 },
};
/* clang-format on */
#define N_CASES (sizeof cases / sizeof *cases)

static void test_round(void)
{
    float x[N_CASES];
    int32_t v[N_CASES];
    for (size_t i = 0; i < N_CASES; i++)
        x[i] = cases[i].x;
    rill_samples_round(x, N_CASES, 16, v);
    for (size_t i = 0; i < N_CASES; i++)
        CHECK(v[i] == cases[i].want, "%a became %d, not %d", (double) x[i], v[i], cases[i].want);
    /* clang-format off */
    static const struct { unsigned bits; float x; int32_t want; } wide[] = {
        { 24, 0.5f * 0x1p-23f, 0 }, { 24, 1.5f * 0x1p-23f, 2 },    { 24, 1, 8388607 },
        { 24, -1, -8388608 },       { 24, -2.5f * 0x1p-23f, -2 },  { 32, 1, INT32_MAX },
        { 32, -1, INT32_MIN },      { 32, 1.5f * 0x1p-31f, 2 },    { 32, -3, INT32_MIN },
        { 32, 0.5f, 1 << 30 },      { 8, 0.5f * 0x1p-7f, 0 },      { 8, 1, 127 },
        { 2, 1, 1 },                { 2, -1, -2 },
    };
    /* clang-format on */
    for (size_t i = 0; i < sizeof wide / sizeof *wide; i++) {
        rill_samples_round(&wide[i].x, 1, wide[i].bits, v);
        CHECK(v[0] == wide[i].want, "%u bits: %a became %d, not %d", wide[i].bits,
              (double) wide[i].x, v[0], wide[i].want);
    }
}

/* Of so many channels, more samples than are written at a time. */
static void test_file(const char *suffix, int channels)
{
    enum { FRAMES = 3001 };
    size_t n = (size_t) FRAMES * (size_t) channels;
    char path[64] = "/tmp/rill-audio-XXXXXX";
    float *x = malloc(n * sizeof *x);
    short *y = malloc(n * sizeof *y);
    rill_error err = { RILL_OK, "" };
    SNDFILE *f;
    SF_INFO info;
    int fd = mkstemp(path);
    close(fd);
    unlink(path);
    strcat(path, suffix);
    for (size_t i = 0; i < n; i++)
        x[i] = cases[i % N_CASES].x;
    CHECK(audio_create(&f, path, 16000, channels, &err) == RILL_OK, "%s", err.text);
    CHECK(audio_write(f, x, FRAMES, channels) && sf_close(f) == 0, "%s", path);
    CHECK(audio_open(&f, &info, path, &err) == RILL_OK && info.channels == channels, "%s",
          err.text);
    CHECK(sf_readf_short(f, y, FRAMES) == FRAMES, "%s", path);
    unsigned wrong = 0;
    for (size_t i = 0; i < n; i++)
        wrong += y[i] != cases[i % N_CASES].want;
    CHECK(!wrong, "%s, %d channels: %u samples are others", suffix, channels, wrong);
    sf_close(f);
    unlink(path);
    free(x);
    free(y);
}

/* Channels become one as the daemon does it: the mean of numbers, and 0 for what is none. */
static void test_mix(void)
{
    static const float x[][3] = {
        { 0.1f, 0.2f, 0.30000001f },    { 1e-9f, 1, -1 },
        { NAN, 0.5f, 0.25f },           { 3e38f, 3e38f, 3e38f },
        { INFINITY, -INFINITY, 0.75f }, { 0x1.000002p0f, 0x1p-24f, 0x1p-24f }
    };
    enum { FRAMES = sizeof x / sizeof *x };
    char path[] = "/tmp/rill-audio-mix-XXXXXX";
    SF_INFO info = { .samplerate = 16000,
                     .channels = 3,
                     .format = SF_FORMAT_WAV | SF_FORMAT_FLOAT };
    rill_error err = { RILL_OK, "" };
    float *y = NULL;
    size_t n = 0;
    int rate, fd = mkstemp(path);
    SNDFILE *f = sf_open_fd(fd, SFM_WRITE, &info, 1);
    CHECK(f && sf_writef_float(f, x[0], FRAMES) == FRAMES && sf_close(f) == 0, "%s", path);
    CHECK(audio_read(path, 0, &y, &n, &rate, &err) == RILL_OK && n == FRAMES, "%s", err.text);
    for (size_t i = 0; i < n; i++) {
        double sum = 0;
        for (int c = 0; c < 3; c++)
            sum += isfinite(x[i][c]) ? (double) x[i][c] : 0;
        CHECK(y[i] == (float) (sum / 3), "frame %zu: %a, not %a", i, (double) y[i],
              (double) (float) (sum / 3));
    }
    unlink(path);
    free(y);
}

int main(void)
{
    test_mix();
    test_round();
    for (int channels = 1; channels <= 8; channels++) {
        test_file(".wav", channels);
        test_file(".flac", channels);
    }
    return check_done();
}
