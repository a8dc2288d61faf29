/* SPDX-License-Identifier: MIT */
/* The shipped pipelines with their networks, against stored references. */
#include "tests/models/models_test.h"

#define WHOLE_SAMPLES 20001 /* the run without a plan is slow; no multiple of any frame */

#define DFN3 "dfn3/DeepFilterNet3_onnx.tar.gz"
#define DFN3_MEMBERS                                                                               \
    DFN3 ":tmp/export/enc.onnx " DFN3 ":tmp/export/erb_dec.onnx " DFN3 ":tmp/export/df_dec.onnx"

static const struct entry {
    const char *name, *weights, *task;
    unsigned rate;
    const char *input, *output; /* references below shared/models; a .wav below shared */
    size_t n;                   /* frames of the reference to compare; 0: all */
    float tolerance;
    size_t chunk,
        context; /* the input is stored in chunks that repeat the last `context` samples */
} entries[] = {
    { "gtcrn", "gtcrn/gtcrn_simple.onnx", "denoise", 16000, "gtcrn/ref/e2e_causal.in.wav.f32",
      "gtcrn/ref/e2e_causal.out.wav.f32", 0, 1e-5f, 0, 0 },
    { "dtln", "dtln/model_1.onnx dtln/model_2.onnx", "denoise", 16000, "dtln/ref/e2e.in.wav.f32",
      "dtln/ref/e2e.out.wav.f32", 155904, 1e-5f, 0, 0 },
    { "silero_v6", "silero_v6/silero_vad.onnx", "vad", 16000, "audio/silero_test.wav",
      "silero_v6/ref/v6_16k.out_all.output.f32", 0, 2e-5f, 0, 0 },
    { "silero_v6_8k", "silero_v6/silero_vad.onnx", "vad", 8000, "silero_v6/ref/v6_8k.in.input.f32",
      "silero_v6/ref/v6_8k.out.output.f32", 0, 2e-5f, 288, 32 },
    { "silero_v4", "silero_v4/silero_vad_legacy.onnx", "vad", 16000, "audio/silero_test.wav",
      "silero_v4/ref/v4_16k.out_all.output.f32", 0, 2e-5f, 0, 0 },
    { "silero_v4_8k", "silero_v4/silero_vad_legacy.onnx", "vad", 8000, NULL, NULL, 0, 0, 0, 0 },
    { "ulunas", "ulunas/ulunas_stream_simple.onnx", "denoise", 16000,
      "audio/synth_speech_pink_snr5_16k.wav", NULL, 0, 0, 0, 0 },
    /* what its own runtime gives; full scale is 1 */
    { "dfn3", DFN3_MEMBERS, "denoise", 48000, "audio/synth_speech_pink_snr5_48k.wav",
      "dfn3/ref/e2e_48k.out.wav.f32", 0, 1e-5f, 0, 0 },
    { "dfn3", DFN3_MEMBERS, "denoise", 48000, "dfn3/ref/e2e_switch.in.wav.f32",
      "dfn3/ref/e2e_switch.out.wav.f32", 0, 1e-5f, 0, 0 },
};

static struct floats input_read(const struct entry *e)
{
    char path[256];
    if (strstr(e->input, ".wav") && !strstr(e->input, ".f32"))
        return wav_read(shared_path(e->input));
    snprintf(path, sizeof path, "models/%s", e->input);
    struct floats f = floats_read(shared_path(path));
    size_t n = e->chunk ? f.n / e->chunk : 0, hop = e->chunk - e->context;
    for (size_t i = 0; i < n; i++)
        memmove(f.v + i * hop, f.v + i * e->chunk + e->context, hop * sizeof *f.v);
    f.n = e->chunk ? n * hop : f.n;
    return f;
}

static void compare(const struct entry *e, const char *how, struct floats y, const rill_error *err)
{
    char path[256];
    snprintf(path, sizeof path, "models/%s", e->output);
    struct floats ref = floats_read(shared_path(path));
    size_t n = e->n ? e->n : ref.n;
    CHECK(y.n >= n, "%s %s: %zu values for %zu: %s", e->name, how, y.n, n, err->text);
    if (ref.v && y.n >= n) {
        float d = max_difference(y.v, ref.v, n);
        printf("%s %s: largest difference %g over %zu\n", e->name, how, (double) d, n);
        CHECK(d <= e->tolerance, "%s %s: differs by %g", e->name, how, (double) d);
    }
    free(ref.v);
}

static void test_run(const struct entry *e, const rill_model *m)
{
    rill_error err = { .text = "" };
    struct floats x = input_read(e), y, whole;
    CHECK(x.v, "%s: no input", e->name);
    y = model_run_stream(m, x, 997, &err);
    if (e->output)
        compare(e, "streamed", y, &err);
    x.n = x.n < WHOLE_SAMPLES ? x.n : WHOLE_SAMPLES;
    whole = model_run_whole(m, x, &err);
    CHECK(whole.v, "%s: %s", e->name, err.text);
    free(y.v);
    for (uint32_t pulse = 0; pulse <= 3000; pulse += 1500) {
        y = model_run_pulse(m, x, 331, pulse, &err);
        CHECK(y.n == whole.n, "%s, pulse %u: %zu values streamed, %zu at once", e->name, pulse, y.n,
              whole.n);
        if (y.n == whole.n)
            CHECK(!memcmp(y.v, whole.v, y.n * sizeof *y.v),
                  "%s, pulse %u: streamed differs from whole by %g", e->name, pulse,
                  (double) max_difference(y.v, whole.v, y.n));
        free(y.v);
    }
    free(whole.v);
    free(x.v);
}

static void test_entry(const struct entry *e)
{
    rill_error err = { .text = "" };
    rill_model *m = NULL;
    rill_model_info info = { .struct_bytes = sizeof info };
    if (!library_copy(e->name, e->weights)) {
        check_skipped++;
        return;
    }
    rill_status s = rill_model_open(&m, test_path(e->name, ""), &err);
    CHECK(s == RILL_OK, "%s: %s", e->name, err.text);
    if (s != RILL_OK)
        return;
    rill_model_get_info(m, &info);
    CHECK(!strcmp(info.name, e->name) && !strcmp(info.task, e->task) && info.sample_rate == e->rate,
          "%s: %s, %s, %u Hz", e->name, info.name, info.task, info.sample_rate);
    CHECK(m->stream && m->decluttered.g.n_inputs == 1 && m->decluttered.g.n_outputs == 1,
          "%s: ports", e->name);
    CHECK(m->inputs[0].kind == RILL_PORT_AUDIO && m->inputs[0].rate == e->rate, "%s: input",
          e->name);
    if (e->input)
        test_run(e, m);
    rill_model_free(m);
}

/* The variant that mirrors the ends of a recording and divides by the window sums, whole and
 * streamed. */
static void test_center(void)
{
    static const struct entry e = { .name = "gtcrn",
                                    .output = "gtcrn/ref/e2e_center.out.wav.f32",
                                    .tolerance = 1e-5f };
    rill_error err = { .text = "" };
    rill_model *m = NULL;
    if (!library_copy("gtcrn", "gtcrn/gtcrn_simple.onnx")) {
        check_skipped++;
        return;
    }
    copy_into("gtcrn", "e2e_center.nnef", source_path("models/library/gtcrn/e2e_center.nnef"));
    rill_status s = rill_model_open(&m, test_path("gtcrn", "e2e_center.nnef"), &err);
    CHECK(s == RILL_OK, "%s", err.text);
    if (s != RILL_OK)
        return;
    struct floats x = floats_read(shared_path("models/gtcrn/ref/e2e_center.in.wav.f32"));
    struct floats y = model_run_whole(m, x, &err);
    compare(&e, "centred", y, &err);
    for (uint32_t pulse = 0; pulse <= 2000; pulse += 1000) {
        struct floats z = model_run_pulse(m, x, 331, pulse, &err);
        CHECK(z.n == y.n, "centred, pulse %u: %zu values streamed, %zu at once: %s", pulse, z.n,
              y.n, err.text);
        if (z.n == y.n)
            CHECK(!memcmp(z.v, y.v, y.n * sizeof *y.v),
                  "centred, pulse %u: streamed differs from whole by %g", pulse,
                  (double) max_difference(z.v, y.v, y.n));
        free(z.v);
    }
    free(x.v);
    free(y.v);
    rill_model_free(m);
}

/* ---- options of dfn3 ---- */

#define HOP 480
#define LATE (3 * HOP)

/* Late by a frame of overlapping and the two that the nets look ahead, whatever is a part. */
static void dfn3_lateness(const rill_model *m, const char *options)
{
    rill_plan *p = NULL;
    rill_error err = { .text = "" };
    rill_port port[2] = { { .struct_bytes = sizeof *port } };
    if (rill_plan_new(&p, m, NULL, &err) == RILL_OK)
        rill_plan_ports(p, port, 2);
    CHECK(port[1].latency_samples == LATE && port[1].offset_num == -LATE,
          "dfn3 with %s: latency %u, offset %d: %s", options, port[1].latency_samples,
          port[1].offset_num, err.text);
    rill_plan_unref(p);
}

static rill_model *dfn3_open(const char *options, rill_error *err)
{
    size_t n = 0;
    rill_model *m = NULL;
    char *conf = file_read(source_path("models/library/dfn3/model.conf"), &n), text[8192];
    conf[n] = 0;
    char *old = strstr(conf, "[options]"), *rest = old ? strstr(old, "\n\n") : NULL;
    CHECK(rest, "dfn3: model.conf has no [options]");
    snprintf(text, sizeof text, "%.*s[options]\n%s%s", (int) (old - conf), conf, options,
             rest ? rest : "");
    free(conf);
    file_write(test_path("dfn3", "model.conf"), text, strlen(text));
    rill_status s = rill_model_open(&m, test_path("dfn3", ""), err);
    CHECK(s == RILL_OK, "dfn3 with %s: %s", options, err->text);
    if (s == RILL_OK)
        dfn3_lateness(m, options);
    return s == RILL_OK ? m : NULL;
}

/* Whole and streamed on the start of x. */
static void dfn3_law(const rill_model *m, struct floats x, const char *what)
{
    rill_error err = { .text = "" };
    x.n = x.n < WHOLE_SAMPLES ? x.n : WHOLE_SAMPLES;
    struct floats whole = model_run_whole(m, x, &err);
    for (uint32_t pulse = HOP; pulse <= 3 * HOP; pulse += 2 * HOP) {
        struct floats y = model_run_pulse(m, x, 331, pulse, &err);
        CHECK(y.n == whole.n && !memcmp(y.v, whole.v, y.n * sizeof *y.v),
              "dfn3, %s, pulse %u: %zu values streamed, %zu at once, or others: %s", what, pulse,
              y.n, whole.n, err.text);
        free(y.v);
    }
    free(whole.v);
}

/* Below the least local SNR nothing passes, above the most what came in passes as it was: two
 * frames of a kind make a frame of samples. */
static void dfn3_switches(struct floats x, const float *snr)
{
    rill_error err = { .text = "" };
    rill_model *m =
        dfn3_open("min_db_thresh = -10\nmax_db_erb_thresh = 30\nmax_db_df_thresh = 20\n", &err);
    if (!m)
        return;
    struct floats y = model_run_stream(m, x, 997, &err);
    unsigned none = 0, as_is = 0;
    for (size_t t = 4; t < x.n / HOP && y.n >= x.n; t++) {
        static const float zeros[HOP];
        const float *out = y.v + t * HOP;
        if (snr[t] < -10 && snr[t - 1] < -10) {
            CHECK(!memcmp(out, zeros, sizeof zeros), "dfn3: frame %zu at %g dB is no zeros", t,
                  (double) snr[t]);
            none++;
        }
        if (snr[t] > 30 && snr[t - 1] > 30) {
            float d = max_difference(out, x.v + t * HOP - LATE, HOP);
            CHECK(d < 1e-6f, "dfn3: frame %zu at %g dB differs from the input by %g", t,
                  (double) snr[t], (double) d);
            as_is++;
        }
    }
    CHECK(none > 300 && as_is > 80, "dfn3: %u frames without output, %u as they were: %s", none,
          as_is, err.text);
    dfn3_law(m, x, "switched");
    free(y.v);
    rill_model_free(m);
}

/* A least above the most: nothing passes below the least all the same. */
static void dfn3_least_wins(struct floats x, const float *snr)
{
    rill_error err = { .text = "" };
    rill_model *m =
        dfn3_open("min_db_thresh = 20\nmax_db_erb_thresh = -10\nmax_db_df_thresh = 35\n", &err);
    if (!m)
        return;
    struct floats y = model_run_stream(m, x, 997, &err);
    unsigned none = 0, as_is = 0, wrong = 0;
    for (size_t t = 4; t < x.n / HOP && y.n >= x.n; t++) {
        static const float zeros[HOP];
        const float *out = y.v + t * HOP;
        bool low = fmaxf(snr[t], snr[t - 1]) < 20;
        bool high = fminf(snr[t], snr[t - 1]) > 20;
        wrong += (low && memcmp(out, zeros, sizeof zeros)) ||
            (high && max_difference(out, x.v + t * HOP - LATE, HOP) >= 1e-6f);
        none += low;
        as_is += high;
    }
    CHECK(!wrong && none > 300 && as_is > 80,
          "dfn3, least above the most: of %u frames below it and %u above %u are wrong: %s", none,
          as_is, wrong, err.text);
    free(y.v);
    rill_model_free(m);
}

/* Frames in which it stands still are as if they had never come. */
static void dfn3_silence(struct floats x)
{
    rill_error err = { .text = "" };
    rill_model *m = dfn3_open("skip_silence = true\n", &err), *always = dfn3_open("", &err);
    struct floats sound = { malloc(x.n * sizeof *x.v), 0 }, y = { 0 }, want = { 0 };
    bool *runs = calloc(x.n / HOP + 1, sizeof *runs);
    unsigned quiet = 0, still = 0, wrong = 0;
    for (size_t t = 0; t < x.n / HOP; t++) {
        float sum = 0;
        for (size_t i = 0; i < HOP; i++)
            sum += x.v[t * HOP + i] * x.v[t * HOP + i];
        quiet = sum / HOP < 1e-7f ? quiet + 1 : 0;
        if ((runs[t] = quiet <= 5)) {
            memcpy(sound.v + sound.n, x.v + t * HOP, HOP * sizeof *x.v);
            sound.n += HOP;
        }
    }
    if (m && always) {
        y = model_run_stream(m, x, 997, &err);
        want = model_run_stream(always, sound, 997, &err);
    }
    for (size_t t = 0, k = 0; t < x.n / HOP && y.n >= x.n && want.n >= sound.n; t++) {
        static const float zeros[HOP];
        const float *frame = runs[t] ? want.v + HOP * k++ : zeros;
        wrong += memcmp(frame, y.v + t * HOP, sizeof zeros) != 0;
        still += !runs[t];
    }
    CHECK(!wrong && still > 300, "dfn3: %u of %u frames of silence, or others, are wrong: %s",
          wrong, still, err.text);
    if (m)
        dfn3_law(m, x, "with silence skipped");
    free(runs);
    free(sound.v);
    free(y.v);
    free(want.v);
    rill_model_free(m);
    rill_model_free(always);
}

static void test_dfn3_options(void)
{
    if (!library_copy("dfn3", DFN3_MEMBERS)) {
        check_skipped++;
        return;
    }
    struct floats x = floats_read(shared_path("models/dfn3/ref/e2e_switch.in.wav.f32"));
    struct floats snr = floats_read(shared_path("models/dfn3/ref/e2e_switch.out.lsnr.f32"));
    dfn3_switches(x, snr.v);
    dfn3_least_wins(x, snr.v);
    dfn3_silence(x);
    free(x.v);
    free(snr.v);
}

int main(void)
{
    test_root_make();
    for (size_t i = 0; i < sizeof entries / sizeof *entries; i++)
        test_entry(&entries[i]);
    test_center();
    test_dfn3_options();
    test_root_drop();
    return check_done();
}
