/* SPDX-License-Identifier: MIT */
/* The built-in denoisers from samples to samples: how much they help, and that they do no harm. */
#include "tests/models/models_test.h"

static rill_model *model;

struct result {
    double before, after;
};

/* SI-SDR of the noisy file and of the output, which is late by the plan's delay. */
static bool measure(const char *noisy, const char *clean, struct result *ret)
{
    rill_error err = { .text = "" };
    const char *path = shared_path(noisy);
    struct floats x = wav_read(path), y = { 0 }, c = wav_read(shared_path(clean));
    if (x.v && c.v)
        y = model_run_stream(model, x, 1000, &err);
    bool ran = y.n >= x.n + 256 && y.n < x.n + 512;
    CHECK(ran || !x.v, "%s: %zu samples of %zu and the delay came back: %s", noisy, y.n, x.n,
          err.text);
    if (ran) {
        size_t n = c.n < x.n ? c.n : x.n;
        ret->before = si_sdr(x.v, c.v, n);
        ret->after = si_sdr(y.v + 256, c.v, n);
    }
    free(x.v);
    free(y.v);
    free(c.v);
    return ran;
}

static void test_gain(size_t column)
{
    static const struct {
        const char *noisy, *clean;
        double gain_db[2];
    } files[] = {
        { "audio/synth_speech_pink_snr5_16k.wav",
          "audio/synth_speech_clean_16k.wav",
          { 5.0, 7.0 } },
        { "audio/pairs/dutch_restaurant_mixture.wav",
          "audio/pairs/dutch_restaurant_clean.wav",
          { 1.0, 5.0 } },
        { "audio/pairs/french_pub_mixture.wav", "audio/pairs/french_pub_clean.wav", { 2.0, 8.0 } },
        { "audio/pairs/german_car_mixture.wav", "audio/pairs/german_car_clean.wav", { 6.0, 12.0 } },
        { "audio/pairs/korean_office_mixture.wav",
          "audio/pairs/korean_office_clean.wav",
          { 4.0, 6.0 } },
        { "audio/pairs/polish_street_mixture.wav",
          "audio/pairs/polish_street_clean.wav",
          { 6.0, 13.0 } },
    };
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        struct result r = { 0, 0 };
        if (!shared_path(files[i].noisy)) {
            check_skipped++;
            continue;
        }
        if (!measure(files[i].noisy, files[i].clean, &r))
            continue;
        printf("%-45s SI-SDR %6.2f -> %6.2f dB, %+.2f\n", strrchr(files[i].noisy, '/') + 1,
               r.before, r.after, r.after - r.before);
        CHECK(r.after - r.before >= files[i].gain_db[column], "gains %.2f dB, expected %.1f",
              r.after - r.before, files[i].gain_db[column]);
    }
}

static void test_clean(void)
{
    static const char clean[] = "audio/synth_speech_clean_16k.wav";
    struct result r = { 0, 0 };
    if (!shared_path(clean)) {
        check_skipped++;
        return;
    }
    if (!measure(clean, clean, &r))
        return;
    printf("%-45s SI-SDR %6.2f dB\n", strrchr(clean, '/') + 1, r.after);
    CHECK(r.after >= 20, "clean speech comes back at %.2f dB", r.after);
}

/* A stream may begin anywhere: speech that it begins with is not taken for noise, but where there
 * is no pause in it for long. */
static void test_begins_inside(void)
{
    static const struct {
        const char *clean;
        size_t from_samples;
        double least_db;
    } cuts[] = {
        { "audio/pairs/dutch_restaurant_clean.wav", 34006, 20 },
        { "audio/pairs/dutch_restaurant_clean.wav", 175456, 20 },
        { "audio/pairs/french_pub_clean.wav", 97231, 20 },
        { "audio/pairs/french_pub_clean.wav", 128836, 20 },
        { "audio/pairs/german_car_clean.wav", 69094, 20 },
        { "audio/pairs/german_car_clean.wav", 97201, 20 },
        { "audio/pairs/korean_office_clean.wav", 79437, 20 },
        { "audio/pairs/polish_street_clean.wav", 133879, 20 },
    };
    rill_error err = { .text = "" };
    for (size_t i = 0; i < sizeof cuts / sizeof *cuts; i++) {
        const char *path = shared_path(cuts[i].clean);
        if (!path) {
            check_skipped++;
            continue;
        }
        struct floats all = wav_read(path);
        struct floats x = { all.v + cuts[i].from_samples, all.n - cuts[i].from_samples };
        x.n = x.n < 64000 ? x.n : 64000;
        struct floats y = model_run_stream(model, x, 1000, &err);
        double sdr = y.n >= x.n + 256 ? si_sdr(y.v + 256, x.v, x.n) : -100;
        printf("%-30s from %6zu SI-SDR %6.2f dB\n", strrchr(path, '/') + 1, cuts[i].from_samples,
               sdr);
        CHECK(sdr >= cuts[i].least_db, "speech from inside a word comes back at %.2f dB: %s", sdr,
              err.text);
        free(y.v);
        free(all.v);
    }
}

/* Noise alone, from a fixed generator, after as much digital silence: it must come back at least
 * 12 dB lower after half a second. */
static void test_noise(size_t rate, size_t silent_s)
{
    const size_t from = silent_s * rate, late = rate / 1000 * 16;
    struct floats x = { calloc(from + 2 * rate, sizeof(float)), from + 2 * rate }, y;
    rill_error err = { .text = "" };
    uint32_t seed = 1;
    double in = 0, out = 0;
    for (size_t i = from; i < x.n; i++) {
        seed = seed * 1664525u + 1013904223u;
        x.v[i] = (float) ((double) seed / 4294967296.0 - 0.5) * 0.1f;
    }
    y = model_run_stream(model, x, 777, &err);
    CHECK(y.n == x.n + late, "%zu samples: %s", y.n, err.text);
    for (size_t i = from + rate / 2; y.n == x.n + late && i < x.n; i++) {
        in += x.v[i] * x.v[i];
        out += y.v[i + late] * y.v[i + late];
    }
    CHECK(out > 0 && 10 * log10(in / out) >= 12,
          "white noise after %zu s of silence comes back %.1f dB lower", silent_s,
          10 * log10(in / out));
    free(x.v);
    free(y.v);
}

/* Silence stays silence, and the stream equals the whole-sequence run, with more than a second of
 * silence in it. */
static void test_whole(void)
{
    struct floats x = { calloc(72001, sizeof(float)), 72001 }, whole, y;
    rill_error err = { .text = "" };
    y = model_run_stream(model, x, 160, &err);
    bool silent = y.n > 0;
    for (size_t i = 0; i < y.n; i++)
        silent &= y.v[i] == 0;
    CHECK(silent, "silence in, something out: %s", err.text);
    free(y.v);
    for (size_t i = 0; i < x.n; i++)
        x.v[i] = i / 1000 >= 8 && i / 1000 < 60
            ? 0
            : sinf((float) i * 0.05f) * (i / 3000 % 2 ? 0.3f : 0.01f);
    whole = model_run_whole(model, x, &err);
    CHECK(whole.v, "%s", err.text);
    static const uint32_t pulses[] = { 0, 1, 256, 300, 1024, 4096, 20000 };
    for (size_t i = 0; i < sizeof pulses / sizeof *pulses; i++) {
        y = model_run_pulse(model, x, 160, pulses[i], &err);
        CHECK(whole.n == y.n, "pulse %u: %zu samples streamed, %zu at once: %s", pulses[i], y.n,
              whole.n, err.text);
        if (whole.v && whole.n == y.n)
            CHECK(!memcmp(whole.v, y.v, y.n * sizeof *y.v), "pulse %u: streamed differs by %g",
                  pulses[i], (double) max_difference(whole.v, y.v, y.n));
        free(y.v);
    }
    free(x.v);
    free(whole.v);
}

/* What lies above 8 kHz of a recording at 48 kHz: 129 taps under a Hann window. */
static struct floats upper_band(const float *x, size_t n)
{
    enum { HALF = 64 };
    float taps[2 * HALF + 1];
    for (int i = -HALF; i <= HALF; i++) {
        double low = i ? sin(M_PI * i / 3) / (M_PI * i) : 1.0 / 3;
        double window = 0.5 + 0.5 * cos(M_PI * i / (HALF + 1));
        taps[i + HALF] = (float) ((i ? 0 : 1) - low * window);
    }
    struct floats ret = { calloc(n, sizeof *ret.v), n };
    for (size_t at = HALF; ret.v && at + HALF < n; at++)
        for (size_t i = 0; i <= 2 * HALF; i++)
            ret.v[at] += taps[i] * x[at + i - HALF];
    return ret;
}

/* Gain in SI-SDR at 48 kHz, of everything and of what lies above 8 kHz. */
static void measure_48k(const char *noisy, const char *clean, double least_db,
                        double least_upper_db)
{
    rill_error err = { .text = "" };
    struct floats x = wav_read(shared_path(noisy)), c = wav_read(shared_path(clean)), y;
    y = model_run_stream(model, x, 1000, &err);
    bool ran = x.v && c.v && y.n >= x.n + 768;
    CHECK(ran, "%s: %zu samples of %zu and the delay came back: %s", noisy, y.n, x.n, err.text);
    if (ran) {
        struct floats upper_y = upper_band(y.v + 768, c.n), upper_c = upper_band(c.v, c.n);
        double db = si_sdr(y.v + 768, c.v, c.n), upper_db = si_sdr(upper_y.v, upper_c.v, c.n);
        printf("%-45s SI-SDR %6.2f dB, above 8 kHz %6.2f dB\n", strrchr(noisy, '/') + 1, db,
               upper_db);
        CHECK(db >= least_db && upper_db >= least_upper_db,
              "comes back at %.2f dB, above 8 kHz at %.2f dB", db, upper_db);
        free(upper_y.v);
        free(upper_c.v);
    }
    free(x.v);
    free(y.v);
    free(c.v);
}

static void test_48k(void)
{
    static const char noisy[] = "audio/synth_speech_pink_snr5_48k.wav";
    static const char clean[] = "audio/synth_speech_clean_48k.wav";
    rill_error err = { .text = "" };
    rill_model_info info = { .struct_bytes = sizeof info };
    rill_status s = rill_model_builtin(&model, "rill-denoise-48k", &err);
    CHECK(s == RILL_OK, "%s", err.text);
    if (s != RILL_OK)
        return;
    rill_model_get_info(model, &info);
    CHECK(info.sample_rate == 48000 && !strcmp(info.task, "denoise"), "model.conf");
    if (shared_path(clean)) {
        measure_48k(clean, clean, 20, 20);
        measure_48k(noisy, clean, 6, -6); /* 1.0 and -13 before */
    } else {
        check_skipped += 2;
    }
    test_noise(48000, 8);
    test_whole();
    rill_model_free(model);
}

#define BINS 257
#define FALLS 0.45f /* 7 dB */

/* Noise in bursts of a fifth of a second, with pauses of almost nothing. */
static struct floats bursts(size_t n, size_t each)
{
    struct floats x = { malloc(n * sizeof *x.v), n };
    uint32_t seed = 7;
    for (size_t i = 0; i < n; i++) {
        seed = seed * 1664525u + 1013904223u;
        x.v[i] = (float) ((double) seed / 4294967296.0 - 0.5) * (i / each % 2 ? 0.4f : 1e-4f);
    }
    return x;
}

/* No gain is more than 7 dB below the one before, and some are as far as that: of 32382 gains 570
 * of rill-denoise and 44 of rill-denoise-48k were; half as many are wanted. */
static void test_hold(const char *name, const char *held_wire, size_t samples, size_t least_as_far)
{
    const char *const transforms[] = { held_wire, NULL };
    const rill_model_opts opts = { .struct_bytes = sizeof opts,
                                   .transforms = transforms,
                                   .builtin = 1 };
    rill_error err = { .text = "" };
    rill_model *m = NULL;
    CHECK(rill_model_open_with(&m, name, &opts, &err) == RILL_OK, "%s: %s", name, err.text);
    if (!m)
        return;
    struct floats x = bursts(samples, samples / 10), held = model_run_whole(m, x, &err);
    size_t too_far = 0, as_far = 0;
    for (size_t i = BINS; i < held.n; i++) {
        float least = FALLS * held.v[i - BINS];
        too_far += held.v[i] < least * 0.9999f;
        as_far += fabsf(held.v[i] - least) <= least * 1e-4f;
    }
    CHECK(held.n > 100 * BINS && !too_far && as_far >= least_as_far,
          "%s: of %zu gains %zu fall further, %zu as far as they may: %s", name, held.n, too_far,
          as_far, err.text);
    free(x.v);
    free(held.v);
    rill_model_free(m);
}

/* The two that share a network have the same weights. */
static void test_weights(void)
{
    size_t n = 0, m = 0;
    uint8_t *a = file_read(source_path("models/library/rill-denoise/denoise.onnx"), &n);
    uint8_t *b = file_read(source_path("models/library/rill-denoise-48k/denoise.onnx"), &m);
    CHECK(a && b && n == m && !memcmp(a, b, n), "rill-denoise-48k has weights of its own");
    free(a);
    free(b);
}

static void test_names(void)
{
    rill_error err = { .text = "" };
    CHECK(!strcmp(rill_model_builtin_name(0), "rill-denoise") &&
              !strcmp(rill_model_builtin_name(1), "wiener") &&
              !strcmp(rill_model_builtin_name(2), "rill-digits") &&
              !strcmp(rill_model_builtin_name(3), "rill-denoise-48k") &&
              !rill_model_builtin_name(4),
          "the default is the first of four");
    CHECK(rill_model_builtin(&model, "nothing", &err) == RILL_INVALID &&
              strstr(err.text,
                     "nothing: there is none of that name; there are rill-denoise, wiener"),
          "%s", err.text);
}

static void test_model(const char *name, size_t column)
{
    rill_error err = { .text = "" };
    rill_model_info info = { .struct_bytes = sizeof info };
    rill_status s = rill_model_builtin(&model, name, &err);
    CHECK(s == RILL_OK, "%s: %s", name, err.text);
    if (s != RILL_OK)
        return;
    printf("%s\n", name);
    rill_model_get_info(model, &info);
    CHECK(info.sample_rate == 16000 && !strcmp(info.task, "denoise") && !strcmp(info.name, name),
          "model.conf");
    test_gain(column);
    test_clean();
    if (column) /* wiener takes what it begins with for noise */
        test_begins_inside();
    test_noise(16000, 0);
    if (column) /* wiener follows noise slowly */
        test_noise(16000, 8);
    test_whole();
    rill_model_free(model);
}

int main(void)
{
    test_names();
    test_model("wiener", 0);
    test_model("rill-denoise", 1);
    test_48k();
    test_hold("rill-denoise", "select_outputs(held)", 32000, 570 / 2);
    test_hold("rill-denoise-48k", "select_outputs(\"gain/held\")", 96000, 44 / 2);
    test_weights();
    return check_done();
}
