/* SPDX-License-Identifier: MIT */
/* rill denoise, rill vad: a file through a model in this process. */
#include "engine/base/err.h"
#include "check/slow.h"
#include "tools/align.h"
#include "tools/audio.h"
#include "tools/json.h"
#include "tools/open.h"
#include "tools/quality.h"
#include "tools/tool.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct job {
    const struct command *cmd;
    rill_model_info info;
    rill_plan *plan;
    rill_stream *stream;
    rill_port in, out;
    unsigned out_port;
    float *x, *y; /* the recording, and what came back, at the model's rate */
    size_t n_x, n_y;
    int file_rate;
    size_t file_samples;        /* per channel, at the file's rate */
    size_t not_finite, clipped; /* samples of the file, and of what is written */
    double *pulse_us;
    size_t n_pulses;
    bool json, keep_delay, no_scan_reuse;
    int64_t budget_ms, threads;
    struct open_opts open;
    const char *clean; /* NULL: not known */
    struct quality quality;
    rill_error err;
};

static void job_drop(struct job *j)
{
    free(j->stream);
    rill_plan_unref(j->plan);
    free(j->x);
    free(j->y);
    free(j->pulse_us);
    quality_close(&j->quality);
}

static rill_status job_open(struct job *j, const char *model, rill_port_kind kind)
{
    rill_model *m;
    rill_plan_opts opts = { .struct_bytes = sizeof opts, .budget_ms = (uint32_t) j->budget_ms };
    TRY(open_any(&m, model ? model : rill_model_builtin_name(0), &j->open, &j->err));
    j->info.struct_bytes = sizeof j->info;
    rill_model_get_info(m, &j->info);
    opts.threads = (uint32_t) j->threads;
    rill_status s = open_pool(&opts.pool, j->threads, m, &j->err);
    if (s == RILL_OK)
        s = (j->no_scan_reuse ? slow_plan_new : rill_plan_new)(&j->plan, m, &opts, &j->err);
    rill_pool_free(opts.pool);
    rill_model_free(m); /* the plan keeps it: info's strings stay */
    TRY(s);
    unsigned n, ins = 0;
    rill_port *ports = tool_ports(j->plan, &n);
    j->out_port = n;
    for (unsigned i = 0; i < n; i++) {
        if (ports[i].is_input && ports[i].kind == RILL_PORT_AUDIO && ins++ == 0)
            j->in = ports[i];
        if (!ports[i].is_input && ports[i].kind == kind && j->out_port == n) {
            j->out = ports[i];
            j->out_port = i;
        }
    }
    bool turns = ins && ports[0].is_input && ports[0].kind == RILL_PORT_AUDIO && j->out_port != n;
    free(ports);
    if (!turns)
        return open_bare_tell(err_set(&j->err, RILL_INVALID,
                                      "model '%s' does not turn audio into %s",
                                      model ? model : "default",
                                      kind == RILL_PORT_AUDIO ? "audio" : "speech probabilities"),
                              &j->err, model ? model : "");
    TRY(open_rate_check(&j->in, j->info.name, &j->err));
    if (kind == RILL_PORT_AUDIO)
        TRY(open_audio_check(&j->out, j->info.name, &j->err));
    void *mem = tool_alloc(rill_plan_stream_size(j->plan));
    j->stream = rill_stream_init_for(mem, j->plan, &j->out_port, 1);
    return RILL_OK;
}

static void progress(const struct job *j, size_t at)
{
    if (!isatty(STDERR_FILENO) || j->json || j->n_x < 10 * j->in.rate_num)
        return;
    fprintf(stderr, "\r%3.0f%%", 100.0 * (double) at / (double) j->n_x);
    if (at == j->n_x)
        fprintf(stderr, "\r     \r");
}

/* Runs every pulse that is due; returns the last status. */
static rill_status drain(struct job *j, size_t cap)
{
    for (;;) {
        double before = tool_now_s();
        rill_status s = rill_stream_run(j->stream);
        if (s != RILL_OK)
            return s;
        j->pulse_us[j->n_pulses++] = (tool_now_s() - before) * 1e6;
        size_t given = 0;
        rill_stream_pull(j->stream, j->out_port, j->y + j->n_y, cap - j->n_y, &given);
        j->n_y += given;
    }
}

static rill_status stream_whole(struct job *j)
{
    rill_alignment lie = { .struct_bytes = sizeof lie };
    rill_port_align(&j->out, j->n_x + j->out.latency_samples, &lie);
    size_t cap = (size_t) (lie.frames + lie.cut_frames) + 16 * (size_t) j->out.pulse_frames;
    size_t pulses = cap / j->out.pulse_frames + j->n_x / j->in.pulse_frames + 16;
    j->y = tool_alloc(cap * sizeof *j->y);
    j->pulse_us = tool_alloc(pulses * sizeof *j->pulse_us);
    rill_thread_prepare();
    for (size_t at = 0, shown = 0; at < j->n_x;) {
        size_t taken;
        rill_stream_push(j->stream, 0, j->x + at, j->n_x - at, &taken);
        at += taken;
        if (drain(j, cap) == RILL_INVALID)
            return rill_stream_fault(j->stream, &j->err);
        if (at - shown > 160000 || at == j->n_x)
            progress(j, shown = at);
    }
    rill_stream_finish(j->stream);
    drain(j, cap);
    return rill_stream_fault(j->stream, &j->err);
}

static rill_status input_read(struct job *j, const char *path)
{
    float *raw;
    size_t n;
    TRY(audio_read_counted(path, 0, &raw, &n, &j->file_rate, &j->not_finite, &j->err));
    j->file_samples = n;
    j->x =
        audio_resampled(raw, n, (unsigned) j->file_rate, j->in.rate_num / j->in.rate_den, &j->n_x);
    free(raw);
    return rill_plan_check_length(j->plan, 0, j->n_x, &j->err);
}

/* ---- reports ---- */

struct figures {
    double mean_rtf, p99_rtf, worst_rtf, latency_ms, pulse_ms, audio_s;
};

static struct figures figures_of(struct job *j)
{
    double rate = (double) j->in.rate_num / j->in.rate_den,
           pulse_us = j->in.pulse_frames / rate * 1e6, sum = 0;
    for (size_t i = 0; i < j->n_pulses; i++)
        sum += j->pulse_us[i];
    qsort(j->pulse_us, j->n_pulses, sizeof *j->pulse_us, tool_compare_f64);
    return (struct figures) {
        .mean_rtf = j->n_pulses ? sum / (double) j->n_pulses / pulse_us : 0,
        .p99_rtf = tool_percentile(j->pulse_us, j->n_pulses, 0.99) / pulse_us,
        .worst_rtf = j->n_pulses ? j->pulse_us[j->n_pulses - 1] / pulse_us : 0,
        .latency_ms = 1e3 * j->out.latency_samples / rate,
        .pulse_ms = pulse_us / 1000,
        .audio_s = (double) j->n_x / rate,
    };
}

static void report(struct job *j, const char *in, const char *out)
{
    struct figures f = figures_of(j);
    if (j->json) {
        json_t *o =
            json_pack("{s:o, s:o, s:o, s:f, s:f, s:f, s:f, s:f, s:f, s:I, s:I}", "in",
                      json_text(in), "out", json_text(out), "model", json_text(j->info.name),
                      "audio_s", f.audio_s, "latency_ms", f.latency_ms, "pulse_ms", f.pulse_ms,
                      "rtf", f.mean_rtf, "rtf_p99", f.p99_rtf, "rtf_worst", f.worst_rtf,
                      "not_finite", (json_int_t) j->not_finite, "clipped", (json_int_t) j->clipped);
        if (j->clean)
            quality_add_json(&j->quality, o);
        json_dumpf(o, stdout, JSON_INDENT(1));
        putchar('\n');
        json_decref(o);
        return;
    }
    printf("%s: %.2f s of audio through %s to %s\n", in, f.audio_s, j->info.name, out);
    printf(
        "  latency %.1f ms beside a pulse of %.1f ms, real-time factor %.5f mean, %.5f p99, %.5f "
        "worst pulse\n",
        f.latency_ms, f.pulse_ms, f.mean_rtf, f.p99_rtf, f.worst_rtf);
    if (j->not_finite)
        printf("  %zu samples of %s are NaN or infinite; 0 stands for them\n", j->not_finite, in);
    if (j->clipped)
        printf("  %zu samples of %s are clipped: they are beyond full scale, or NaN\n", j->clipped,
               out);
    if (j->clean)
        quality_print(&j->quality);
}

/* ---- denoise ---- */

static rill_status file_write(struct job *j, const char *path, const float *x, size_t n)
{
    SNDFILE *f;
    TRY(audio_create(&f, path, j->file_rate, 1, &j->err));
    for (size_t i = 0; i < n; i++)
        j->clipped += !(fabsf(x[i]) <= 1);
    bool ok = audio_write(f, x, n, 1);
    return sf_close(f) || !ok ? err_set(&j->err, RILL_IO, "'%.300s' could not be written", path)
                              : RILL_OK;
}

struct samples {
    float *x;
    size_t n;
};

static bool samples_add(void *arg, const float *x, size_t n)
{
    struct samples *s = arg;
    memcpy(s->x + s->n, x, n * sizeof *x);
    s->n += n;
    return true;
}

/* What came, beside the input. */
static struct samples samples_aligned(const struct job *j)
{
    struct samples s = { 0 };
    struct align a = { .write = samples_add, .arg = &s };
    align_begin(&a, &j->out, j->n_x, j->keep_delay);
    s.x = tool_alloc((size_t) a.left_frames * sizeof *s.x + 1);
    align_push(&a, j->y, j->n_y);
    align_finish(&a);
    return s;
}

static rill_status denoise(struct job *j, const char *model, const char *in, const char *out)
{
    size_t n;
    TRY(job_open(j, model, RILL_PORT_AUDIO));
    TRY(input_read(j, in));
    if (j->clean)
        TRY(quality_open(&j->quality, in, j->clean, &j->err));
    TRY(stream_whole(j));
    struct samples s = samples_aligned(j);
    float *y =
        audio_resampled(s.x, s.n, j->out.rate_num / j->out.rate_den, (unsigned) j->file_rate, &n);
    if (!j->keep_delay && n > j->file_samples) /* both ways round up */
        n = j->file_samples;
    rill_status status = file_write(j, out, y, n);
    if (j->clean)
        quality_measure(&j->quality, y, n);
    if (status == RILL_OK)
        report(j, in, out);
    free(y);
    free(s.x);
    return status;
}

/* ---- vad ---- */

/* Every frame with the edges that the sink finds in it. */
static rill_status vad_table(struct job *j, FILE *f)
{
    rill_sink *sink;
    rill_event e = { .struct_bytes = sizeof e };
    size_t took;
    double step = (double) j->out.rate_den / j->out.rate_num,
           first = (double) j->out.offset_num / j->out.offset_den * j->in.rate_den / j->in.rate_num;
    TRY(rill_sink_new(&sink, j->plan, j->out_port, NULL, &j->err));
    for (size_t i = 0; i < j->n_y; i++) {
        const char *event = "";
        rill_sink_push(sink, j->y + i, 1, &took);
        while (rill_sink_next(sink, &e) == RILL_OK)
            event = e.kind == RILL_EVENT_SPEECH_START ? "start"
                : e.kind == RILL_EVENT_SPEECH_END     ? "end"
                                                      : event;
        fprintf(f, "%.3f,%.6f,%s\n", fmax(0, first + (double) i * step), (double) j->y[i], event);
    }
    rill_sink_free(sink);
    return RILL_OK;
}

static rill_status vad(struct job *j, const char *model, const char *in, const char *out)
{
    TRY(job_open(j, model, RILL_PORT_VAD));
    TRY(input_read(j, in));
    TRY(stream_whole(j));
    if (j->json && !strcmp(out, "-")) { /* standard output is the report's */
        report(j, in, out);
        return RILL_OK;
    }
    FILE *f = strcmp(out, "-") ? fopen(out, "w") : stdout;
    if (!f)
        return err_set(&j->err, RILL_IO, "'%.300s' cannot be written", out);
    fprintf(f, "time_s,probability,event\n");
    rill_status status = vad_table(j, f);
    if ((f != stdout && fclose(f)) || (f == stdout && fflush(f)))
        return err_set(&j->err, RILL_IO, "'%.300s' could not be written", out);
    if (f != stdout && status == RILL_OK)
        report(j, in, out);
    return status;
}

static int run(const struct command *cmd, int argc, char **argv)
{
    struct job j = { .cmd = cmd };
    const char *model = NULL;
    bool is_vad = !strcmp(cmd->name, "vad");
    const struct opt table[] = {
        { "clean", 0, OPT_TEXT, &j.clean, "FILE", QUALITY_HELP },
        { "json", 0, OPT_FLAG, &j.json, NULL, "print {in, out, latency_ms, pulse_ms, rtf, ...}" },
        { "keep-delay", 0, OPT_FLAG, &j.keep_delay, NULL,
          "leave the output as late as the model is, so many samples longer" },
        { "model", 'm', OPT_TEXT, &model, "MODEL", "name of the library, model folder or file" },
        MODEL_OPTS(j.open),
        BUDGET_OPTS(j.budget_ms, j.open),
        { "no-scan-reuse", 0, OPT_FLAG, &j.no_scan_reuse, NULL,
          "look up sizes and places in every iteration of a loop" },
        THREADS_OPT(j.threads),
        { 0 },
    };
    int n = opts_parse(cmd, table, argc, argv, 2, 2);
    if (n < 0)
        return -n;
    if (j.clean && (is_vad || j.keep_delay))
        return tool_fail(cmd, TOOL_USAGE,
                         is_vad ? "--clean goes with denoise"
                                : "--clean goes without --keep-delay, which shifts the output");
    rill_status s =
        (is_vad ? vad : denoise)(&j, is_vad && !model ? "silero_v6" : model, argv[0], argv[1]);
    int code = s == RILL_OK ? TOOL_OK : tool_fail_status(cmd, &j.err);
    job_drop(&j);
    return code;
}

const struct command cmd_denoise = {
    .name = "denoise",
    .usage = "[OPTIONS] IN OUT",
    .summary = "clean a recording, in this process",
    .details = "IN and OUT are WAV or FLAC; several channels are mixed to one, and any rate from 8 "
               "to 192 kHz is\n"
               "brought to the model's and back. OUT has exactly as many samples as IN.",
    .run = run,
};

const struct command cmd_vad = {
    .name = "vad",
    .usage = "[OPTIONS] IN OUT.csv",
    .summary = "speech probability of a recording, frame by frame",
    .details =
        "OUT is a table of time_s, probability and start or end events ('-': standard output).",
    .run = run,
};
