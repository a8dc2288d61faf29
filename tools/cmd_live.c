/* SPDX-License-Identifier: MIT */
/* rill live, rill devices: a microphone through a model, to a speaker or a file.
 *
 * The audio callbacks touch two rings and nothing else; the main thread computes and draws. */
#include "engine/base/err.h"
#include "tools/audio.h"
#include "tools/hear.h"
#include "tools/mic.h"
#include "tools/ring.h"
#include "tools/terminal.h"
#include "tools/tool.h"

#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <speex/speex_resampler.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define RING_SAMPLES ((size_t) 1 << 17)
#define RESAMPLE_QUALITY 7
#define PIECE_SAMPLES 1024
#define CUT_MARK "..." /* before what is left of a text that is wider than the terminal */

struct live {
    const struct command *cmd;
    PaStream *mic, *speaker;
    struct ring from_mic, to_speaker;
    atomic_size_t overruns, underruns;
    unsigned device_rate, model_rate;
    SpeexResamplerState *down, *up; /* NULL: the device runs at the model's rate */
    struct hear hear;
    const rill_port *audio, *vad; /* outputs; NULL: there is none */
    bool json, has_words;         /* has_words: texts or keywords come */
    SNDFILE *file;
    double peak; /* since the last line */
    uint64_t n_samples, all_samples;
    rill_error err;
};

/* ---- callbacks: real time ---- */

static int on_mic(const void *in, void *out, unsigned long n, const PaStreamCallbackTimeInfo *t,
                  PaStreamCallbackFlags flags, void *arg)
{
    struct live *l = arg;
    (void) out;
    (void) t;
    (void) flags;
    if (in && ring_write(&l->from_mic, in, n) < n)
        atomic_fetch_add_explicit(&l->overruns, 1, memory_order_relaxed);
    return paContinue;
}

static int on_speaker(const void *in, void *out, unsigned long n, const PaStreamCallbackTimeInfo *t,
                      PaStreamCallbackFlags flags, void *arg)
{
    struct live *l = arg;
    float *y = out;
    (void) in;
    (void) t;
    (void) flags;
    size_t got = ring_read(&l->to_speaker, y, n);
    if (got < n) {
        memset(y + got, 0, (n - got) * sizeof *y);
        atomic_fetch_add_explicit(&l->underruns, 1, memory_order_relaxed);
    }
    return paContinue;
}

/* ---- devices ---- */

static int devices_print(const struct command *cmd, bool json)
{
    json_t *list = json_array();
    int n = Pa_GetDeviceCount(), in = Pa_GetDefaultInputDevice(), out = Pa_GetDefaultOutputDevice();
    for (int i = 0; i < n; i++) {
        const PaDeviceInfo *d = Pa_GetDeviceInfo(i);
        json_array_append_new(list,
                              json_pack("{s:i, s:s, s:i, s:i, s:f, s:b, s:b}", "index", i, "name",
                                        d->name, "inputs", d->maxInputChannels, "outputs",
                                        d->maxOutputChannels, "rate", d->defaultSampleRate,
                                        "default_input", i == in, "default_output", i == out));
        if (!json)
            printf("%3d%c%c %-40.40s %2d in %2d out %6.0f Hz\n", i, i == in ? '<' : ' ',
                   i == out ? '>' : ' ', d->name, d->maxInputChannels, d->maxOutputChannels,
                   d->defaultSampleRate);
    }
    if (json) {
        json_dumpf(list, stdout, JSON_INDENT(1));
        putchar('\n');
    }
    json_decref(list);
    return n > 0 ? TOOL_OK : tool_fail(cmd, TOOL_IO, "there is no audio device");
}

static int devices_run(const struct command *cmd, int argc, char **argv)
{
    bool json = false;
    const struct opt table[] = {
        { "json", 0, OPT_FLAG, &json, NULL, "print [{index, name, inputs, outputs, rate}]" }, { 0 }
    };
    int n = opts_parse(cmd, table, argc, argv, 0, 0);
    if (n < 0)
        return -n;
    int code = devices_init(cmd);
    if (code != TOOL_OK)
        return code;
    code = devices_print(cmd, json);
    Pa_Terminate();
    return code;
}

const struct command cmd_devices = {
    .name = "devices",
    .usage = "[--json]",
    .summary = "list microphones and speakers for rill live",
    .run = devices_run,
};

/* Opens one side at the model's rate, or the device's own where it does not do that. */
static rill_status side_open(struct live *l, const char *name, bool input, PaStream **ret)
{
    PaDeviceIndex dev = device_find(name, input);
    const PaDeviceInfo *d = dev == paNoDevice ? NULL : Pa_GetDeviceInfo(dev);
    if (!d)
        return err_set(&l->err, RILL_IO, "there is no %s%s%s; see rill devices",
                       input ? "microphone" : "speaker", name ? " like " : "", name ? name : "");
    PaStreamParameters p = { .device = dev,
                             .channelCount = 1,
                             .sampleFormat = paFloat32,
                             .suggestedLatency =
                                 input ? d->defaultLowInputLatency : d->defaultLowOutputLatency };
    unsigned rates[2] = { l->device_rate ? l->device_rate : l->model_rate,
                          (unsigned) d->defaultSampleRate };
    PaError e = paNoError;
    for (int i = 0; i < (l->device_rate ? 1 : 2); i++) {
        e = Pa_OpenStream(ret, input ? &p : NULL, input ? NULL : &p, rates[i],
                          paFramesPerBufferUnspecified, paNoFlag, input ? on_mic : on_speaker, l);
        if (e == paNoError) {
            l->device_rate = rates[i];
            return RILL_OK;
        }
    }
    return err_set(&l->err, RILL_IO, "'%.100s' does not open: %s", d->name, Pa_GetErrorText(e));
}

/* ---- model ---- */

static size_t resample(SpeexResamplerState *r, const float *x, size_t n, float *y, size_t cap)
{
    spx_uint32_t in = (spx_uint32_t) n, out = (spx_uint32_t) cap;
    if (!r) {
        memcpy(y, x, n * sizeof *y);
        return n;
    }
    speex_resampler_process_float(r, 0, x, &in, y, &out);
    return out;
}

static void on_audio(void *arg, const float *y, size_t n)
{
    struct live *l = arg;
    float at_device[PIECE_SAMPLES * 26];
    for (size_t at = 0; at < n; at += PIECE_SAMPLES) {
        size_t k = n - at < PIECE_SAMPLES ? n - at : PIECE_SAMPLES;
        size_t m = resample(l->up, y + at, k, at_device, sizeof at_device / sizeof *at_device);
        if (l->file)
            audio_write(l->file, at_device, m, 1);
        if (l->speaker)
            ring_write(&l->to_speaker, at_device, m);
    }
}

static void event_json(const struct live *l, const rill_event *e)
{
    static const char *const names[] = { "speech_start", "speech_end", "keyword",
                                         "partial",      "final",      "endpoint" };
    json_t *o =
        json_pack("{s:s, s:f, s:f}", "event", names[e->kind], "start_s",
                  (double) e->pos / l->hear.rate, "end_s", (double) e->end_pos / l->hear.rate);
    if (*e->text)
        json_object_set_new(o, "text", json_string(e->text));
    if (e->kind == RILL_EVENT_PARTIAL)
        json_object_set_new(o, "stability", json_real((double) e->stability));
    json_dumpf(o, stdout, JSON_COMPACT | JSON_REAL_PRECISION(7));
    putchar('\n');
    fflush(stdout);
    json_decref(o);
}

/* Stands on the line until the next takes its place: its end, one column short of a full line,
 * which a terminal would go on from. */
static void partial_show(const char *text)
{
    unsigned columns;
    terminal_size(&columns, NULL);
    const char *tail = terminal_tail(text, columns - 1);
    bool marked = tail > text && columns > 2 * (unsigned) strlen(CUT_MARK);
    if (marked)
        tail = terminal_tail(text, columns - 1 - (unsigned) strlen(CUT_MARK));
    printf("\r\033[K%s%s", marked ? CUT_MARK : "", tail);
}

static void on_event(void *arg, const rill_event *e)
{
    const struct live *l = arg;
    bool tty = isatty(STDOUT_FILENO);
    if (l->json)
        event_json(l, e);
    else if (e->kind == RILL_EVENT_PARTIAL && tty)
        partial_show(e->text);
    else if (e->kind == RILL_EVENT_FINAL)
        printf("%s%s\n", tty ? "\r\033[K" : "", e->text);
    else if (e->kind == RILL_EVENT_KEYWORD)
        printf("%s[%s] %.2f\n", tty ? "\r\033[K" : "", e->text, (double) e->score);
    fflush(stdout);
}

static rill_status model_open(struct live *l, const char *name, const struct open_opts *open)
{
    const struct hear_calls calls = { .arg = l, .event = on_event, .audio = on_audio };
    const struct hear_opts opts = { .open = *open };
    TRY(hear_open(&l->hear, name ? name : rill_model_builtin_name(0), &opts, &calls, &l->err));
    l->audio = hear_port(&l->hear, RILL_PORT_AUDIO);
    l->vad = hear_port(&l->hear, RILL_PORT_VAD);
    l->has_words = hear_port(&l->hear, RILL_PORT_CTC) || hear_port(&l->hear, RILL_PORT_KEYWORD);
    if (!l->audio && !l->vad && !l->has_words)
        return err_set(&l->err, RILL_INVALID,
                       "the model does not take audio in and give audio, speech or words out");
    l->model_rate = l->hear.rate;
    return l->audio ? open_audio_check(l->audio, l->hear.info.name, &l->err) : RILL_OK;
}

static rill_status piece_take(struct live *l)
{
    float x[PIECE_SAMPLES], at_model[PIECE_SAMPLES * 26];
    size_t n = ring_read(&l->from_mic, x, PIECE_SAMPLES);
    if (!n) {
        usleep(2000);
        return RILL_OK;
    }
    for (size_t i = 0; i < n; i++)
        l->peak =
            fmax(l->peak, fmin(fabs((double) x[i]), 1e3)); /* fmin: a driver may give anything */
    l->n_samples += n;
    l->all_samples += n;
    n = resample(l->down, x, n, at_model, sizeof at_model / sizeof *at_model);
    return hear_push(&l->hear, at_model, n, &l->err);
}

/* ---- the line on the terminal ---- */

static void line_json(const struct live *l, double db, double latency, double rtf, double worst)
{
    json_t *o =
        json_pack("{s:f, s:f, s:f, s:f, s:f}", "time_s", (double) l->all_samples / l->device_rate,
                  "level_dbfs", db, "latency_ms", latency, "rtf", rtf, "rtf_worst", worst);
    if (l->vad)
        json_object_set_new(o, "speech", json_real((double) l->hear.speech));
    json_dumpf(o, stdout, JSON_COMPACT);
    putchar('\n');
    fflush(stdout);
    json_decref(o);
}

static void line_text(const struct live *l, double db, double latency, double rtf, double worst)
{
    int bar = db < -60 ? 0 : (int) ((db + 60) / 2);
    fprintf(stderr, "%s%-30.*s %6.1f dBFS  latency %.1f ms  rtf %.5f (worst %.5f)",
            isatty(2) ? "\r" : "", bar > 30 ? 30 : bar, "##############################", db,
            latency, rtf, worst);
    if (l->vad)
        fprintf(stderr, "  speech %.2f", (double) l->hear.speech);
    fputs(isatty(2) ? "  " : "\n", stderr);
}

/* Where words come on a terminal, the line is theirs. */
static void line_draw(struct live *l)
{
    const rill_port *in = &l->hear.parts[0].ports[0], *out = l->audio ? l->audio : l->vad;
    double audio_s = (double) l->n_samples / l->device_rate, db = 20 * log10(l->peak + 1e-6);
    double pulse_s = (double) in->pulse_frames / l->model_rate;
    double latency = 1e3 * ((double) (out ? out->latency_samples : 0) / l->model_rate + pulse_s);
    double rtf = audio_s > 0 ? l->hear.busy_s / audio_s : 0, worst = l->hear.worst_s / pulse_s;
    if (l->json)
        line_json(l, db, latency, rtf, worst);
    else if (!l->has_words || !isatty(2))
        line_text(l, db, latency, rtf, worst);
    l->peak = l->hear.busy_s = l->hear.worst_s = 0;
    l->n_samples = 0;
}

static rill_status live_loop(struct live *l, double seconds)
{
    tool_stop_by_signals();
    rill_thread_prepare();
    double start = tool_now_s(), shown = start;
    while (!tool_stops() && (seconds <= 0 || tool_now_s() - start < seconds)) {
        TRY(piece_take(l));
        if (tool_now_s() - shown >= 1) {
            shown = tool_now_s();
            line_draw(l);
        }
    }
    TRY(hear_finish(&l->hear, &l->err));
    if (isatty(2) && !l->json && !l->has_words)
        fputc('\n', stderr);
    return RILL_OK;
}

struct live_opts {
    const char *model, *in, *out, *file;
    struct open_opts open;
    double seconds;
    bool json;
};

static rill_status ring_init(struct ring *r)
{
    r->data = tool_alloc(RING_SAMPLES * sizeof *r->data);
    r->cap = RING_SAMPLES;
    return RILL_OK;
}

static rill_status live_open(struct live *l, const struct live_opts *o)
{
    int err;
    TRY(model_open(l, o->model, &o->open));
    ring_init(&l->from_mic);
    ring_init(&l->to_speaker);
    TRY(side_open(l, o->in, true, &l->mic));
    if (!o->file && l->audio)
        TRY(side_open(l, o->out, false, &l->speaker));
    if (l->device_rate != l->model_rate) {
        l->down = speex_resampler_init(1, l->device_rate, l->model_rate, RESAMPLE_QUALITY, &err);
        l->up = speex_resampler_init(1, l->model_rate, l->device_rate, RESAMPLE_QUALITY, &err);
        if (!l->down || !l->up)
            return err_set(&l->err, RILL_NOMEM, "out of memory");
    }
    if (o->file && !l->audio)
        return err_set(&l->err, RILL_INVALID, "the model gives no audio that --out could write");
    if (o->file)
        TRY(audio_create(&l->file, o->file, (int) l->device_rate, 1, &l->err));
    return RILL_OK;
}

static rill_status live_start(struct live *l)
{
    PaError e = l->speaker ? Pa_StartStream(l->speaker) : paNoError;
    if (e == paNoError)
        e = Pa_StartStream(l->mic);
    return e == paNoError
        ? RILL_OK
        : err_set(&l->err, RILL_IO, "the audio device does not start: %s", Pa_GetErrorText(e));
}

static void live_close(struct live *l)
{
    if (l->mic)
        Pa_CloseStream(l->mic);
    if (l->speaker)
        Pa_CloseStream(l->speaker);
    if (l->file)
        sf_close(l->file);
    if (l->down)
        speex_resampler_destroy(l->down);
    if (l->up)
        speex_resampler_destroy(l->up);
    free(l->from_mic.data);
    free(l->to_speaker.data);
    hear_close(&l->hear);
}

static int live_run(const struct command *cmd, int argc, char **argv)
{
    struct live_opts o = { 0 };
    const struct opt table[] = {
        { "in-device", 0, OPT_TEXT, &o.in, "DEV",
          "microphone: number or part of its name (default: the system's)" },
        { "json", 0, OPT_FLAG, &o.json, NULL, "a line of JSON every second instead of the meter" },
        { "model", 'm', OPT_TEXT, &o.model, "MODEL", "name of the library, model folder or file" },
        MODEL_OPTS(o.open),
        { "out", 'o', OPT_TEXT, &o.file, "FILE", "write WAV or FLAC instead of playing" },
        { "out-device", 0, OPT_TEXT, &o.out, "DEV", "speaker: number or part of its name" },
        { "seconds", 's', OPT_REAL, REAL_FROM_TO(&o.seconds, 0.001, OPT_YEAR_S), "S",
          "stop after S seconds (default: at Ctrl-C)" },
        { 0 },
    };
    int n = opts_parse(cmd, table, argc, argv, 0, 0);
    if (n < 0)
        return -n;
    int code = devices_init(cmd);
    if (code != TOOL_OK)
        return code;
    struct live *l = tool_alloc(sizeof *l);
    l->cmd = cmd;
    l->json = o.json;
    rill_status s = live_open(l, &o);
    if (s == RILL_OK && (s = live_start(l)) == RILL_OK)
        s = live_loop(l, o.seconds);
    size_t over = atomic_load(&l->overruns), under = atomic_load(&l->underruns);
    if (s == RILL_OK && (over || under))
        fprintf(stderr,
                "rill live: the microphone ran over %zu times, the speaker ran dry %zu times\n",
                over, under);
    code = s == RILL_OK ? TOOL_OK : tool_fail_status(cmd, &l->err);
    live_close(l);
    free(l);
    Pa_Terminate();
    return code;
}

const struct command cmd_live = {
    .name = "live",
    .usage = "[OPTIONS]",
    .summary = "a microphone through a model, to a speaker or a file",
    .details = "Shows the level of the microphone, the latency (the model's and one pulse; "
               "the device adds its own)\n"
               "and the real-time factor once a second. A model that gives speech probabilities "
               "shows them; words that it\n"
               "hears appear as they are said, on a terminal the newest that fit in a line, and "
               "whole when they are certain.",
    .run = live_run,
};
