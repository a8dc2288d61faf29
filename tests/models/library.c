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

int main(void)
{
    test_root_make();
    for (size_t i = 0; i < sizeof entries / sizeof *entries; i++)
        test_entry(&entries[i]);
    test_center();
    test_root_drop();
    return check_done();
}
