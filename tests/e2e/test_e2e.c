/* SPDX-License-Identifier: MIT */
/* Real models through the daemon's socket against stored references of ONNX Runtime, and of
 * TensorFlow Lite's reference kernels.
 * RILL_SHARED holds models/ and audio/, RILL_LIBRARY the model folders without weights. */
#include "tests/daemon/harness.h"

#include <math.h>
#include <pthread.h>
#include <speex/speex_resampler.h>
#include <sys/stat.h>
#include <unistd.h>

#define COMPARED 155904 /* the stored file was cut after these */

static struct rig rig;

/* ---- files ---- */

/* Of RILL_SHARED; of the source where the name begins with "tests/". */
static void *file_read(const char *name, size_t *ret_bytes)
{
    char path[512];
    bool ours = !strncmp(name, "tests/", 6);
    snprintf(path, sizeof path, "%s/%s%s", getenv(ours ? "RILL_LIBRARY" : "RILL_SHARED"),
             ours ? "../../" : "", name);
    FILE *f = fopen(path, "rb");
    if (!f) {
        printf("cannot read %s\n", path);
        exit(1);
    }
    fseek(f, 0, SEEK_END);
    *ret_bytes = (size_t) ftell(f);
    rewind(f);
    void *b = malloc(*ret_bytes + 1);
    if (!b || fread(b, 1, *ret_bytes, f) != *ret_bytes)
        exit(1);
    fclose(f);
    return b;
}

static float *floats_read(const char *name, size_t *ret_n)
{
    float *x = file_read(name, ret_n);
    *ret_n /= 4;
    return x;
}

/* Samples of a WAV file of 16 bits and one channel. */
static float *wav_read(const char *name, size_t *ret_n)
{
    size_t bytes, at = 12;
    uint8_t *b = file_read(name, &bytes);
    while (at + 8 < bytes && memcmp(b + at, "data", 4) != 0)
        at += 8 + (b[at + 4] | (size_t) b[at + 5] << 8 | (size_t) b[at + 6] << 16);
    at += 8;
    *ret_n = (bytes - at) / 2;
    float *x = malloc(*ret_n * sizeof *x);
    for (size_t i = 0; i < *ret_n; i++)
        x[i] = (float) (int16_t) (b[at + 2 * i] | b[at + 2 * i + 1] << 8) / 32768;
    free(b);
    return x;
}

static int16_t to_s16(float x)
{
    float v = x * 32768;
    return (int16_t) (v > 32767 ? 32767 : v < -32768 ? -32768 : lrintf(v));
}

/* ---- streams ---- */

struct job {
    pthread_t thread;
    const char *model;
    uint32_t rate;
    enum rill_client_enc enc;
    bool align;
    const float *x;
    size_t n;
    struct result r;
    bool good;
    char err[512];
};

static void *job_run(void *arg)
{
    struct job *j = arg;
    struct rill_client_open o = {
        .model = j->model, .in = { j->rate, 1, j->enc }, .pace = RILL_CLIENT_FILE, .align = j->align
    };
    size_t bytes = j->enc == RILL_CLIENT_S16 ? 2 : 4;
    uint8_t *pcm = malloc(j->n * bytes + 1);
    for (size_t i = 0; i < j->n; i++) {
        int16_t v = to_s16(j->x[i]);
        memcpy(pcm + i * bytes, bytes == 2 ? (const void *) &v : (const void *) &j->x[i], bytes);
    }
    j->good = stream_whole(rig.sock, &o, pcm, j->n, bytes, 1009, &j->r, j->err);
    if (!j->good)
        printf("%s: %s\n", j->model, j->err);
    free(pcm);
    return NULL;
}

static struct job job(const char *model, uint32_t rate, enum rill_client_enc enc, bool align,
                      const float *x, size_t n)
{
    struct job j = { .model = model, .rate = rate, .enc = enc, .align = align, .x = x, .n = n };
    job_run(&j);
    return j;
}

/* ---- the resampler, offline ---- */

static float *resample_whole(const float *x, size_t n, uint32_t from, uint32_t to, size_t *ret_n)
{
    int err;
    SpeexResamplerState *s = speex_resampler_init(1, from, to, 7, &err);
    *ret_n = (size_t) (((uint64_t) n * to + from - 1) / from);
    float *y = calloc(*ret_n + 4096, sizeof *y), zeros[512] = { 0 };
    size_t at = 0, have = 0;
    speex_resampler_skip_zeros(s);
    while (have < *ret_n) {
        spx_uint32_t took = (spx_uint32_t) (at < n ? n - at : 512),
                     gave = (spx_uint32_t) (*ret_n - have);
        speex_resampler_process_float(s, 0, at < n ? x + at : zeros, &took, y + have, &gave);
        at += took;
        have += gave;
    }
    speex_resampler_destroy(s);
    return y;
}

/* ---- checks ---- */

/* Largest distance in steps of int16 between what came back and the stored floats. */
static int steps_apart(const uint8_t *pcm, const float *want, size_t n)
{
    int worst = 0;
    for (size_t i = 0; i < n; i++) {
        int16_t got;
        memcpy(&got, pcm + 2 * i, 2);
        int d = abs(got - to_s16(want[i]));
        worst = d > worst ? d : worst;
    }
    return worst;
}

static double floats_apart(const void *a, const float *b, size_t n)
{
    double worst = 0;
    for (size_t i = 0; i < n; i++) {
        float x;
        memcpy(&x, (const uint8_t *) a + 4 * i, 4);
        double d = fabs((double) x - (double) b[i]);
        worst = isnan(d) || d > worst ? d : worst;
    }
    return worst;
}

static void test_denoiser(const char *model, const char *in, const char *out, uint32_t delay)
{
    size_t n, n_want;
    float *x = floats_read(in, &n), *want = floats_read(out, &n_want);
    struct job late = job(model, 16000, RILL_CLIENT_S16, false, x, n);
    if (CHECK(late.good && late.r.bytes == 2 * (n + delay) &&
                  late.r.opened.latency_samples == delay,
              "%s: %zu bytes, delay %u", model, late.r.bytes, late.r.opened.latency_samples)) {
        int worst = steps_apart(late.r.pcm, want, COMPARED);
        printf("%s at 16 kHz: %d int16 steps from the reference, rtf %.3f\n", model, worst,
               (double) late.r.fin.rtf);
        CHECK(worst <= 1);
    }
    /* The same stream aligned is the same samples without the delay. */
    struct job aligned = job(model, 16000, RILL_CLIENT_S16, true, x, 40001);
    CHECK(aligned.good && aligned.r.bytes == 2 * 40001);
    if (late.good && aligned.r.bytes == 80002)
        CHECK(memcmp(aligned.r.pcm, late.r.pcm + 2 * delay, 2 * 39000) == 0);
    result_free(&late.r);
    result_free(&aligned.r);
    free(x);
    free(want);
}

/* 48 kHz in and out: the resampler offline, the 16 kHz path, the resampler offline. */
static void test_denoiser_48k(const char *model, const char *in, uint32_t delay, bool align)
{
    size_t n, n_up, n_down, n_want;
    float *x = floats_read(in, &n);
    n = 48000;
    float *up = resample_whole(x, n, 16000, 48000, &n_up);
    n_up -= 1; /* no whole number of samples at 16 kHz */
    float *down = resample_whole(up, n_up, 48000, 16000, &n_down);
    struct job low = job(model, 16000, RILL_CLIENT_F32, align, down, n_down);
    struct job high = job(model, 48000, RILL_CLIENT_F32, align, up, n_up);
    size_t total = n_up + (align ? 0 : 3 * delay);
    CHECK(low.good && high.good && high.r.fin.in == n_up);
    if (CHECK(high.r.bytes == 4 * total && high.r.fin.out == total, "%s: %zu samples, %zu wanted",
              model, high.r.bytes / 4, total)) {
        float *want = resample_whole((const float *) (const void *) low.r.pcm, low.r.bytes / 4,
                                     16000, 48000, &n_want);
        double worst = floats_apart(high.r.pcm, want, total < n_want ? total : n_want);
        printf("%s at 48 kHz, align %d: %.2g from the 16 kHz path between offline resamplers\n",
               model, align, worst);
        CHECK(n_want >= total && worst <= 1.0 / 32768);
        free(want);
    }
    result_free(&low.r);
    result_free(&high.r);
    free(x);
    free(up);
    free(down);
}

static void test_vad(void)
{
    size_t n, n_want;
    float *x = wav_read("audio/silero_test.wav", &n);
    float *want = floats_read("models/silero_v6/ref/v6_16k.out_all.output.f32", &n_want);
    struct job j = job("silero_v6", 16000, RILL_CLIENT_S16, true, x, n);
    CHECK(n_want == 1875 && j.good && j.r.n_vad == n_want, "%u frames of %zu", j.r.n_vad, n_want);
    if (j.r.n_vad == n_want) {
        double worst = floats_apart(j.r.probs, want, n_want);
        printf("silero_v6 at 16 kHz: %.2g from the reference over %zu frames, %u starts, %u ends\n",
               worst, n_want, j.r.n_start, j.r.n_end);
        CHECK(worst <= 1e-4);
        CHECK(j.r.n_start >= 1 && j.r.n_start - j.r.n_end <= 1 && j.r.vad_pos == 512 * 1874);
    }
    size_t n_up, n_down;
    float *up = resample_whole(x, n, 16000, 48000, &n_up),
          *down = resample_whole(up, n_up, 48000, 16000, &n_down);
    struct job low = job("silero_v6", 16000, RILL_CLIENT_F32, true, down, n_down);
    struct job high = job("silero_v6", 48000, RILL_CLIENT_F32, true, up, n_up);
    CHECK(low.good && high.good && low.r.n_vad == n_want && high.r.n_vad == n_want, "%u",
          high.r.n_vad);
    if (low.r.n_vad == n_want && high.r.n_vad == n_want) {
        double worst = floats_apart(high.r.probs, low.r.probs, n_want);
        printf("silero_v6 at 48 kHz: %.2g from the resampled 16 kHz path\n", worst);
        CHECK(worst <= 1e-4 && high.r.vad_pos == 3 * 512 * 1874);
    }
    result_free(&j.r);
    result_free(&low.r);
    result_free(&high.r);
    free(x);
    free(up);
    free(down);
    free(want);
}

/* A network in bytes whose caches are variables of its file, loaded with no word from any client
 * but its name. */
static void test_tflite(void)
{
    size_t n, n_want;
    float *x = wav_read("models/micro_wake_word/alexa_1.wav", &n);
    float *want = floats_read("tests/models/keywords/micro_vad.f32", &n_want);
    struct job j = job("micro_vad", 16000, RILL_CLIENT_S16, false, x, n);
    CHECK(j.good && j.r.n_vad == n_want && n_want > 60, "%u frames of %zu", j.r.n_vad, n_want);
    if (j.r.n_vad == n_want)
        CHECK(floats_apart(j.r.probs, want, n_want) <= 1e-5 && j.r.n_start == 1,
              "%g from the reference, %u starts", floats_apart(j.r.probs, want, n_want),
              j.r.n_start);
    result_free(&j.r);
    free(x);
    free(want);
}

static void test_together(void)
{
    static const char *const models[] = { "gtcrn", "dtln", "gtcrn", "wiener" };
    size_t n;
    float *x = floats_read("models/gtcrn/ref/e2e_causal.in.wav.f32", &n);
    struct job alone[4], together[4];
    for (int k = 0; k < 4; k++)
        alone[k] = job(models[k], 16000, RILL_CLIENT_F32, k % 2, x + 1000 * k, 30000);
    for (int k = 0; k < 4; k++) {
        together[k] = alone[k];
        pthread_create(&together[k].thread, NULL, job_run, &together[k]);
    }
    for (int k = 0; k < 4; k++) {
        struct result *a = &alone[k].r, *b = &together[k].r;
        pthread_join(together[k].thread, NULL);
        CHECK(alone[k].good && together[k].good && a->bytes && a->bytes == b->bytes &&
                  memcmp(a->pcm, b->pcm, a->bytes) == 0,
              "%s is not what it is alone", models[k]);
        result_free(a);
        result_free(b);
    }
    free(x);
}

/* Of one model and nearly one start on one thread: they run in batches, and nobody gets another
 * byte or probability. */
#define MANY 32

static double largest_batch(void)
{
    double most = 0;
    for (const char *at = rig_log(&rig); (at = strstr(at, " batch=")) != NULL; at++) {
        double n = atof(at + 7);
        most = n > most ? n : most;
    }
    return most;
}

static void test_many(const char *model)
{
    static struct job alone[MANY], together[MANY];
    size_t n;
    float *x = floats_read("models/gtcrn/ref/e2e_causal.in.wav.f32", &n);
    for (int k = 0; k < MANY; k++)
        alone[k] = job(model, k % 8 == 7 ? 48000 : 16000, RILL_CLIENT_F32, k % 2, x + 1000 * k,
                       16000 + 77 * (size_t) k);
    for (int k = 0; k < MANY; k++) {
        together[k] = alone[k];
        memset(&together[k].r, 0, sizeof together[k].r);
        pthread_create(&together[k].thread, NULL, job_run, &together[k]);
    }
    for (int k = 0; k < MANY; k++) {
        struct result *a = &alone[k].r, *b = &together[k].r;
        pthread_join(together[k].thread, NULL);
        CHECK(alone[k].good && together[k].good && a->bytes + a->n_vad && a->bytes == b->bytes &&
                  a->n_vad == b->n_vad,
              "%s: stream %d has another length", model, k);
        CHECK((!a->bytes || memcmp(a->pcm, b->pcm, a->bytes) == 0) &&
                  (!a->n_vad || memcmp(a->probs, b->probs, a->n_vad * sizeof *a->probs) == 0),
              "%s: stream %d is not what it is alone", model, k);
        result_free(a);
        result_free(b);
    }
    free(x);
}

static bool library_make(const char *dir)
{
    static const struct {
        const char *model, *weights;
    } models[] = {
        { "gtcrn", "gtcrn/gtcrn_simple.onnx" },
        { "dtln", "dtln/*.onnx" },
        { "silero_v6", "silero_v6/*.onnx" },
        { "micro_vad", "tflite/micro_vad.tflite" },
    };
    char cmd[2048];
    bool made = true;
    for (size_t i = 0; made && i < sizeof models / sizeof *models; i++) {
        snprintf(cmd, sizeof cmd,
                 "mkdir -p '%s/models' && cp -r '%s/%s' '%s/models' && "
                 "cp '%s'/models/%s '%s/models/%s'",
                 dir, getenv("RILL_LIBRARY"), models[i].model, dir, getenv("RILL_SHARED"),
                 models[i].weights, dir, models[i].model);
        made = system(cmd) == 0;
    }
    return made;
}

int main(void)
{
    const char *shared = getenv("RILL_SHARED");
    char path[512];
    struct stat st;
    snprintf(path, sizeof path, "%s/models/gtcrn/ref", shared ? shared : "");
    if (!shared || !*shared || stat(path, &st) < 0) {
        check_skip("RILL_SHARED is not set or holds no references");
        return check_end();
    }
    rig_start(&rig, "");
    if (!CHECK(library_make(rig.dir)))
        return check_end();
    test_denoiser("gtcrn", "models/gtcrn/ref/e2e_causal.in.wav.f32",
                  "models/gtcrn/ref/e2e_causal.out.wav.f32", 256);
    test_denoiser("dtln", "models/dtln/ref/e2e.in.wav.f32", "models/dtln/ref/e2e.out.wav.f32", 384);
    test_vad();
    test_tflite();
    for (int align = 0; align < 2; align++) {
        test_denoiser_48k("gtcrn", "models/gtcrn/ref/e2e_causal.in.wav.f32", 256, align);
        test_denoiser_48k("dtln", "models/dtln/ref/e2e.in.wav.f32", 384, align);
    }
    test_together();
    CHECK(rig_stop(&rig) == 0);
    rig_start(&rig, "[daemon]\nworkers = 1\n[log]\ninterval_s = 1\n");
    if (CHECK(library_make(rig.dir))) {
        test_many("silero_v6");
        test_many("micro_vad");
        test_many("gtcrn");
        test_many("dtln");
        test_many("wiener");
        usleep(1100000);
        printf("largest mean batch of a second: %.1f streams\n", largest_batch());
        CHECK(largest_batch() > 1);
    }
    CHECK(rig_stop(&rig) == 0);
    return check_end();
}
