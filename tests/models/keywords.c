/* SPDX-License-Identifier: MIT */
/* Keyword nets of the library: what comes out of samples is what independent front ends gave
 * with ONNX Runtime, or with the reference kernels of .tflite files
 * (tests/models/keywords/make.py), streamed in odd pieces and at once. */
#include "tests/models/models_test.h"

#define TOLERANCE 1e-5f
#define GO "audio/speech/ps_goforward.wav"
#define MICRO(name) "models/micro_wake_word/" name ".wav"

static const struct entry {
    const char *name, *weights, *wav;
    float spike;
} entries[] = {
    { "ml_kws_gru_s", "ml_kws/GRU_S.onnx", GO, 0.99f },
    { "ml_kws_lstm_s", "ml_kws/Basic_LSTM_S.onnx", GO, 0.99f },
    { "ml_kws_gru_s_whole", "ml_kws/GRU_S.onnx", GO, 0.99f },
    { "ml_kws_lstm_s_whole", "ml_kws/Basic_LSTM_S.onnx", GO, 0.99f },
    { "ml_kws_crnn_s", "ml_kws/CRNN_S.onnx", GO, 0.99f },
    { "ml_kws_ds_cnn_s", "ml_kws/DS_CNN_S.onnx", GO, 0.99f },
    { "micro_okay_nabu", "tflite/micro_okay_nabu.tflite", MICRO("okay_nabu_1"), 0.98f },
    { "micro_hey_jarvis", "tflite/micro_hey_jarvis.tflite", MICRO("hey_jarvis_1"), 0.99f },
    { "micro_vad", "tflite/micro_vad.tflite", MICRO("alexa_1"), 0.99f },
    { "micro_alexa", "tflite/micro_alexa.tflite", MICRO("alexa_1"), 0.99f },
    { "micro_hey_mycroft", "tflite/micro_hey_mycroft.tflite", "hey_mycroft.wav", 0.99f },
    { "micro_okay_nabu_2", "tflite/micro_okay_nabu_2.tflite", MICRO("okay_nabu_1"), 0.98f },
};

static struct floats reference_read(const struct entry *e)
{
    char path[128];
    snprintf(path, sizeof path, "tests/models/keywords/%s.f32", e->name);
    return floats_read(source_path(path));
}

/* Below shared, or beside the references. */
static struct floats recording_read(const struct entry *e)
{
    char path[128];
    snprintf(path, sizeof path, "tests/models/keywords/%s", e->wav);
    return wav_read(strchr(e->wav, '/') ? shared_path(e->wav) : source_path(path));
}

static void compare(const struct entry *e, uint32_t pulse, struct floats y, struct floats want,
                    const rill_error *err)
{
    char what[128];
    float top = 0;
    snprintf(what, sizeof what, "%s, pulse %u", e->name, pulse);
    if (!floats_near(what, y, want, 61, TOLERANCE, err))
        return;
    for (size_t i = 0; i < y.n; i++)
        top = fmaxf(top, y.v[i]);
    CHECK(top >= e->spike, "%s: largest probability %g", e->name, (double) top);
}

static void test_entry(const struct entry *e)
{
    rill_error err = { .text = "" };
    rill_model *m = NULL;
    struct floats x = recording_read(e), want = reference_read(e), whole;
    if (!x.v || !library_copy(e->name, e->weights)) {
        check_skipped++;
        free(want.v);
        free(x.v);
        return;
    }
    CHECK(rill_model_open(&m, test_path(e->name, ""), &err) == RILL_OK, "%s: %s", e->name,
          err.text);
    if (!m)
        return;
    whole = model_run_whole(m, x, &err);
    for (uint32_t pulse = 0; pulse <= 6400; pulse += 3200) {
        struct floats y = model_run_pulse(m, x, 331, pulse, &err);
        compare(e, pulse, y, want, &err);
        CHECK(y.n == whole.n && !memcmp(y.v, whole.v, y.n * sizeof *y.v),
              "%s, pulse %u: not what the whole gives", e->name, pulse);
        free(y.v);
    }
    free(whole.v);
    free(want.v);
    free(x.v);
    rill_model_free(m);
}

int main(void)
{
    test_root_make();
    for (size_t i = 0; i < sizeof entries / sizeof *entries; i++)
        test_entry(&entries[i]);
    test_root_drop();
    return check_done();
}
