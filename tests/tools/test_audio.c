/* SPDX-License-Identifier: MIT */
/* Floats become the same whole numbers in every kind of file, those that rill.h promises; files
 * that are cut off, or were written to a pipe, are read as far as they go. */
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

/* ---- headers that do not say what is there ---- */

struct header {
    const char *name;
    uint32_t data_bytes; /* as it says */
    unsigned there;      /* bytes that are */
    int rate_hz;
    size_t frames;     /* that are read; 0: it is refused */
    const char *words; /* on standard error, or why; NULL: none */
};

static const struct header headers[] = {
    { "right", 400, 400, 16000, 200, NULL },
    { "ffmpeg's to a pipe", UINT32_MAX, 400, 16000, 200, NULL },
    { "sox's to a pipe", 0x7ffff000, 400, 16000, 200, NULL },
    { "arecord's to a pipe", 0x80000000, 400, 16000, 200, NULL },
    { "cut", 20000, 401, 16000, 200, "is cut off: its header promises more than the 200 frames" },
    { "cut in a sample", 400, 399, 16000, 199, "is cut off" },
    { "none, and more follows", 0, 400, 16000, 0, "sox --ignore-length IN OUT.wav" },
    { "none", 0, 0, 16000, 0, "holds no samples" },
    { "no rate", 400, 400, 0, 0, "is at 0 Hz, says its header; 8000 to 192000 work" },
    { "a low rate", 400, 400, 7999, 0, "is at 7999 Hz; 8000 to 192000 work" },
};

static void number_put(uint8_t *to, unsigned bytes, uint32_t v)
{
    for (unsigned i = 0; i < bytes; i++)
        to[i] = (uint8_t) (v >> (8 * i));
}

static void header_write(int fd, const struct header *h)
{
    uint8_t b[44] = "RIFF....WAVEfmt ", noise[512];
    for (size_t i = 0; i < sizeof noise; i++)
        noise[i] = (uint8_t) (i * 37 + 11);
    number_put(b + 4, 4, h->data_bytes > UINT32_MAX - 36 ? UINT32_MAX : h->data_bytes + 36);
    number_put(b + 16, 4, 16);
    number_put(b + 20, 2, 1);
    number_put(b + 22, 2, 1);
    number_put(b + 24, 4, (uint32_t) h->rate_hz);
    number_put(b + 28, 4, 2 * (uint32_t) h->rate_hz);
    number_put(b + 32, 2, 2);
    number_put(b + 34, 2, 16);
    memcpy(b + 36, "data", 4);
    number_put(b + 40, 4, h->data_bytes);
    CHECK(write(fd, b, sizeof b) == sizeof b && write(fd, noise, h->there) == (ssize_t) h->there,
          "%s", h->name);
}

/* Standard error of what follows goes into a file, until `said_end` reads and closes it. */
static int said_begin(int *ret_before)
{
    char path[] = "/tmp/rill-audio-said-XXXXXX";
    int fd = mkstemp(path);
    unlink(path);
    fflush(stderr);
    *ret_before = dup(STDERR_FILENO);
    dup2(fd, STDERR_FILENO);
    return fd;
}

static void said_end(int fd, int before, char *ret, size_t cap)
{
    fflush(stderr);
    dup2(before, STDERR_FILENO);
    close(before);
    ssize_t n = pread(fd, ret, cap - 1, 0);
    ret[n > 0 ? n : 0] = 0;
    close(fd);
}

static void header_check(const struct header *h, const char *path, const char *way)
{
    char said[1024] = "";
    float *y = NULL;
    size_t n = 0;
    int rate, before, fd = said_begin(&before);
    rill_error err = { RILL_OK, "" };
    rill_status s = audio_read(path, 0, &y, &n, &rate, &err);
    said_end(fd, before, said, sizeof said);
    CHECK((s == RILL_OK) == (h->frames > 0) && n == h->frames, "%s, %s: %zu frames, %s", h->name,
          way, n, err.text);
    const char *words = s == RILL_OK ? said : err.text;
    CHECK(h->words ? strstr(words, h->words) != NULL : !*said, "%s, %s: '%s'", h->name, way, words);
    free(y);
}

static void test_headers(void)
{
    for (size_t i = 0; i < sizeof headers / sizeof *headers; i++) {
        char path[] = "/tmp/rill-audio-head-XXXXXX";
        int ends[2], fd = mkstemp(path), before = dup(STDIN_FILENO);
        header_write(fd, &headers[i]);
        header_check(&headers[i], path, "a file");
        close(fd);
        unlink(path);
        CHECK(pipe(ends) == 0, "%s", headers[i].name);
        header_write(ends[1], &headers[i]);
        close(ends[1]);
        dup2(ends[0], STDIN_FILENO);
        header_check(&headers[i], "-", "a pipe");
        dup2(before, STDIN_FILENO);
        close(before);
        close(ends[0]);
    }
}

/* Files of more than 4 GiB, and a FLAC file that ends early. */
static void test_kinds(void)
{
    static const struct {
        int format;
        off_t cut; /* of so many bytes; 0: whole */
        size_t least, most;
    } kinds[] = { { SF_FORMAT_RF64 | SF_FORMAT_PCM_16, 0, 20000, 20000 },
                  { SF_FORMAT_W64 | SF_FORMAT_PCM_16, 0, 20000, 20000 },
                  { SF_FORMAT_FLAC | SF_FORMAT_PCM_16, 20000, 4000, 19000 } };
    static short x[20000];
    for (size_t i = 0; i < sizeof x / sizeof *x; i++)
        x[i] = (short) (i * 7919);
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        char path[] = "/tmp/rill-audio-kind-XXXXXX", said[1024];
        SF_INFO info = { .samplerate = 16000, .channels = 1, .format = kinds[i].format };
        float *y = NULL;
        size_t n = 0;
        int rate, before, fd = mkstemp(path);
        SNDFILE *f = sf_open(path, SFM_WRITE, &info);
        CHECK(f && sf_write_short(f, x, 20000) == 20000 && sf_close(f) == 0, "%s", path);
        CHECK(kinds[i].cut == 0 || ftruncate(fd, kinds[i].cut) == 0, "%s", path);
        close(fd);
        rill_error err = { RILL_OK, "" };
        fd = said_begin(&before);
        rill_status s = audio_read(path, 0, &y, &n, &rate, &err);
        said_end(fd, before, said, sizeof said);
        bool good = s == RILL_OK && n >= kinds[i].least && n <= kinds[i].most;
        for (size_t k = 0; good && k < n; k++)
            good = y[k] == (float) x[k] / 32768;
        CHECK(good && !strstr(said, "cut off") == !kinds[i].cut, "%zu: %zu frames, '%s', %s", i, n,
              said, err.text);
        free(y);
        unlink(path);
    }
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
    char path[] = "/tmp/rill-audio-mix-XXXXXX", said[1024];
    SF_INFO info = { .samplerate = 16000,
                     .channels = 3,
                     .format = SF_FORMAT_WAV | SF_FORMAT_FLOAT };
    rill_error err = { RILL_OK, "" };
    float *y = NULL;
    size_t n = 0;
    int rate, fd = mkstemp(path);
    SNDFILE *f = sf_open_fd(fd, SFM_WRITE, &info, 1);
    CHECK(f && sf_writef_float(f, x[0], FRAMES) == FRAMES && sf_close(f) == 0, "%s", path);
    int before, told = said_begin(&before);
    rill_status s = audio_read(path, 0, &y, &n, &rate, &err);
    said_end(told, before, said, sizeof said);
    CHECK(s == RILL_OK && n == FRAMES, "%s", err.text);
    CHECK(strstr(said, "3 samples of '/tmp/rill-audio-mix-") && strstr(said, "are NaN or infinite"),
          "'%s'", said);
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
    test_headers();
    test_kinds();
    test_mix();
    test_round();
    for (int channels = 1; channels <= 8; channels++) {
        test_file(".wav", channels);
        test_file(".flac", channels);
    }
    return check_done();
}
