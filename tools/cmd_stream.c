/* SPDX-License-Identifier: MIT */
/* rill stream: a file through the daemon. */
#include "clients/c/rill_client.h"
#include "engine/base/err.h"
#include "tools/audio.h"
#include "tools/json.h"
#include "tools/quality.h"
#include "tools/tool.h"

#include <jansson.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define STREAM_ID 1
#define CHUNK_FRAMES 1024

struct stream {
    const struct command *cmd;
    SNDFILE *in, *out;
    FILE *table; /* of probabilities, and of what is said where the model gives both */
    bool table_has_text;
    FILE *words;      /* lines of what is said; NULL: not wanted */
    json_t *segments; /* of --json */
    SF_INFO info;
    struct rill_client_opened opened;
    struct rill_client_finished fin;
    const char *clean; /* NULL: not known */
    struct quality quality;
    float *said; /* the first channel that came; NULL: nobody asks */
    size_t n_said, cap;
    uint64_t gaps, lost;
    bool json, failed;
    char failure[400];
};

/* ---- what the daemon sends ---- */

static void on_audio(void *arg, const struct rill_client_audio *a)
{
    struct stream *s = arg;
    size_t channels = (size_t) s->info.channels, frames = a->bytes / sizeof(float) / channels;
    const float *x = a->pcm;
    if (s->out && !audio_write(s->out, x, frames, s->info.channels))
        s->failed = true;
    for (size_t i = 0; s->said && i < frames && s->n_said < s->cap; i++)
        s->said[s->n_said++] = x[i * channels];
}

/* A row of what was said, among those of probabilities. */
static void row_said(const struct stream *s, uint64_t pos, const char *event, const char *text)
{
    if (!s->table_has_text)
        return;
    fprintf(s->table, "%.3f,,%s,", (double) pos / s->info.samplerate, event);
    tool_cell_write(s->table, text);
    fputc('\n', s->table);
}

static void on_vad(void *arg, const struct rill_client_vad *v)
{
    static const char *const edges[] = { "", "start", "end" };
    struct stream *s = arg;
    if (s->table)
        fprintf(s->table, "%.3f,%.6f,%s%s\n", (double) v->pos / s->info.samplerate,
                (double) v->prob, edges[v->edge <= RILL_CLIENT_EDGE_END ? v->edge : 0],
                s->table_has_text ? "," : "");
}

static void on_text(void *arg, const struct rill_client_text *t)
{
    struct stream *s = arg;
    if (!t->final)
        return;
    if (s->words)
        fprintf(s->words, "%s\n", t->text);
    row_said(s, t->pos, "final", t->text);
    json_array_append_new(s->segments,
                          json_pack("{s:s, s:f, s:f}", "text", t->text, "start_s",
                                    (double) t->pos / s->info.samplerate, "end_s",
                                    (double) (t->n_words ? t->words[t->n_words - 1].end_pos
                                                         : t->pos) /
                                        s->info.samplerate));
}

static void on_keyword(void *arg, const struct rill_client_keyword *k)
{
    struct stream *s = arg;
    if (s->words)
        fprintf(s->words, "[%s]\n", k->word);
    row_said(s, k->pos, "keyword", k->word);
    json_array_append_new(s->segments,
                          json_pack("{s:s, s:f, s:f, s:f}", "keyword", k->word, "start_s",
                                    (double) k->pos / s->info.samplerate, "end_s",
                                    (double) k->end_pos / s->info.samplerate, "score",
                                    (double) k->score));
}

static void on_gap(void *arg, const struct rill_client_gap *g)
{
    struct stream *s = arg;
    s->gaps++;
    s->lost += g->samples;
}

static void on_error(void *arg, const struct rill_client_failure *e)
{
    struct stream *s = arg;
    snprintf(s->failure, sizeof s->failure, "%s: %s", e->code_name, e->text);
}

/* ---- files ---- */

static rill_status input_open(struct stream *s, const char *path, rill_error *err)
{
    TRY(audio_open(&s->in, &s->info, path, err));
    if (!s->clean)
        return RILL_OK;
    TRY(quality_open(&s->quality, path, s->clean, err));
    s->cap = s->quality.n;
    s->said = tool_alloc(s->cap * sizeof(float));
    return RILL_OK;
}

static rill_status output_open(struct stream *s, const char *path, rill_error *err)
{
    s->words = s->json ? NULL : stdout;
    if (s->clean && !(s->opened.outputs & RILL_CLIENT_AUDIO))
        return err_set(err, RILL_INVALID,
                       "--clean goes with a model that gives audio, '%s' does not",
                       s->opened.model);
    if (s->opened.outputs & RILL_CLIENT_AUDIO)
        return audio_create(&s->out, path, s->info.samplerate, s->info.channels, err);
    if (s->json && !strcmp(path, "-")) /* standard output is the report's */
        return RILL_OK;
    FILE *f = strcmp(path, "-") ? fopen(path, "w") : stdout;
    if (!f)
        return err_set(err, RILL_IO, "'%.300s' cannot be written", path);
    bool says = s->opened.outputs & (RILL_CLIENT_TEXT | RILL_CLIENT_KEYWORD),
         gives = s->opened.outputs & RILL_CLIENT_VAD;
    if (says && !gives) {
        s->words = f;
        return RILL_OK;
    }
    s->table = f;
    s->table_has_text = says;
    s->words = f == stdout ? NULL : s->words;
    fprintf(s->table, "time_s,probability,event%s\n", says ? ",text" : "");
    return RILL_OK;
}

static void files_close(struct stream *s)
{
    if (s->in)
        sf_close(s->in);
    if (s->out && sf_close(s->out))
        s->failed = true;
    FILE *lines = s->table ? s->table : s->words;
    if (s->words && s->words != lines && fflush(s->words))
        s->failed = true;
    if (lines && (lines == stdout ? fflush(lines) : fclose(lines)))
        s->failed = true;
    s->in = s->out = NULL;
    s->table = s->words = NULL;
}

/* ---- the stream ---- */

static void progress(const struct stream *s, sf_count_t at, sf_count_t *shown)
{
    if (s->json || !isatty(STDERR_FILENO) || s->info.frames < 10 * (sf_count_t) s->info.samplerate)
        return;
    if (at - *shown < s->info.samplerate && at < s->info.frames)
        return;
    *shown = at;
    fprintf(stderr, "\r%3.0f%%%s", 100.0 * (double) at / (double) s->info.frames,
            at >= s->info.frames ? "\r    \r" : "");
}

static int file_send(struct stream *s, struct rill_client *c, const char *path, bool live)
{
    size_t channels = (size_t) s->info.channels;
    float *x = tool_alloc(CHUNK_FRAMES * channels * sizeof *x);
    sf_count_t n, at = 0, shown = 0;
    double start = tool_now_s();
    int code = 0;
    while (!code && (n = sf_readf_float(s->in, x, CHUNK_FRAMES)) > 0) {
        code = rill_client_send(c, STREAM_ID, x, (size_t) n * channels * sizeof *x);
        at += n;
        progress(s, at, &shown);
        double ahead = (double) at / s->info.samplerate - (tool_now_s() - start);
        if (live && ahead > 0)
            usleep((useconds_t) (ahead * 1e6));
    }
    if (!code)
        audio_end_tell(s->in, &s->info, path, at);
    free(x);
    return code;
}

/* ---- report ---- */

/* Of the audio; without any, of the latest output. */
static double latency_ms(const struct stream *s)
{
    if (s->opened.outputs & RILL_CLIENT_AUDIO || !s->opened.model_pcm.rate)
        return 1e3 * s->opened.latency_samples / s->info.samplerate;
    return 1e3 * s->opened.lookahead_samples / s->opened.model_pcm.rate;
}

static void report(const struct stream *s, const char *in, const char *out)
{
    double delay_ms = latency_ms(s), audio_s = (double) s->fin.audio_us * 1e-6;
    double pulse_us =
        1e6 * s->opened.hop_samples / (s->opened.model_pcm.rate ? s->opened.model_pcm.rate : 1);
    double p99 = pulse_us > 0 ? (double) s->fin.p99_chunk_us / pulse_us : 0;
    if (s->json) {
        json_t *o = json_pack("{s:o, s:o, s:o, s:I, s:I, s:I, s:f, s:f, s:f, s:f, s:f, s:f, s:I}",
                              "in", json_text(in), "out", json_text(out), "model",
                              json_text(s->opened.model), "in_samples", (json_int_t) s->fin.in,
                              "out_samples", (json_int_t) s->fin.out, "dropped_samples",
                              (json_int_t) s->fin.dropped, "audio_s", audio_s, "latency_ms",
                              delay_ms, "pulse_ms", pulse_us / 1000, "rtf", (double) s->fin.rtf,
                              "rtf_p99", p99, "rtf_worst", (double) s->fin.max_chunk_rtf,
                              "deadline_misses", (json_int_t) s->fin.deadline_misses);
        if (json_array_size(s->segments))
            json_object_set(o, "heard", s->segments);
        if (s->clean)
            quality_add_json(&s->quality, o);
        json_dumpf(o, stdout, JSON_INDENT(1));
        putchar('\n');
        json_decref(o);
        return;
    }
    if (!strcmp(out, "-"))
        return;
    printf("%s: %.2f s of audio through %s to %s\n", in, audio_s, s->opened.model, out);
    printf(
        "  latency %.1f ms beside a pulse of %.1f ms, real-time factor %.5f mean, %.5f p99, %.5f "
        "worst pulse\n",
        delay_ms, pulse_us / 1000, (double) s->fin.rtf, p99, (double) s->fin.max_chunk_rtf);
    printf("  %llu samples in, %llu out, %llu dropped\n", (unsigned long long) s->fin.in,
           (unsigned long long) s->fin.out, (unsigned long long) s->fin.dropped);
    if (s->clean)
        quality_print(&s->quality);
}

#define OPTS_MAX 32
#define OPT_BYTES_MAX ((uint64_t) 16 << 20) /* of a file of an option; a message holds less */

struct stream_opts {
    const char *socket, *model;
    bool live, keep_delay;
    int64_t timeout_s;
    struct opt_list opts; /* NAME=VALUE */
    const char *pairs[2 * OPTS_MAX + 1];
    char *texts[OPTS_MAX]; /* of files */
};

/* Of "@FILE" what the file holds. */
static rill_status opt_value(char **ret_text, const char **ret, const char *value, rill_error *err)
{
    *ret = value;
    if (*value != '@')
        return RILL_OK;
    TRY(tool_text(ret_text, value + 1, OPT_BYTES_MAX, err));
    *ret = *ret_text;
    return RILL_OK;
}

static rill_status values_fill(struct stream_opts *o, rill_error *err)
{
    for (unsigned i = 0; i < o->opts.n; i++)
        TRY(opt_value(&o->texts[i], &o->pairs[2 * i + 1], o->pairs[2 * i + 1], err));
    return RILL_OK;
}

/* "beam=4" becomes "beam", "4". */
static bool pairs_fill(struct stream_opts *o)
{
    static char names[OPTS_MAX][64];
    for (unsigned i = 0; i < o->opts.n; i++) {
        const char *item = o->opts.item[i], *equals = strchr(item, '=');
        if (i == OPTS_MAX || !equals || equals - item >= (ptrdiff_t) sizeof names[0])
            return false;
        memcpy(names[i], item, (size_t) (equals - item));
        o->pairs[2 * i] = names[i];
        o->pairs[2 * i + 1] = equals + 1;
    }
    return true;
}

static int client_fail(const struct stream *s, const struct rill_client *c)
{
    if (*s->failure)
        return tool_fail(s->cmd, TOOL_REFUSED, "%s", s->failure);
    return tool_fail(s->cmd, rill_client_error_code(c) ? TOOL_REFUSED : TOOL_IO, "%s",
                     c ? rill_client_error(c) : "out of memory");
}

static int file_stream(struct stream *s, const struct stream_opts *o, const char *in,
                       const char *out)
{
    rill_error err;
    if (input_open(s, in, &err) != RILL_OK)
        return tool_fail_status(s->cmd, &err);
    struct rill_client *c = NULL;
    const struct rill_client_events events = { .arg = s,
                                               .audio = on_audio,
                                               .vad = on_vad,
                                               .gap = on_gap,
                                               .error = on_error,
                                               .text = on_text,
                                               .keyword = on_keyword };
    struct rill_client_pcm pcm = { (uint32_t) s->info.samplerate, (uint32_t) s->info.channels,
                                   RILL_CLIENT_F32 };
    struct rill_client_open open = { .model = o->model,
                                     .in = pcm,
                                     .out = pcm,
                                     .align = !o->keep_delay,
                                     .options = o->pairs,
                                     .pace = o->live ? RILL_CLIENT_LIVE : RILL_CLIENT_FILE };
    int code = TOOL_OK;
    if (rill_client_connect(&c, o->socket, "rill stream", (unsigned) o->timeout_s * 1000)) {
        code = client_fail(s, c);
    } else {
        rill_client_set_events(c, &events);
        if (rill_client_open(c, STREAM_ID, &open, &s->opened))
            code = client_fail(s, c);
        else if (output_open(s, out, &err) != RILL_OK)
            code = tool_fail_status(s->cmd, &err);
        else if (file_send(s, c, in, o->live) || rill_client_finish(c, STREAM_ID, &s->fin))
            code = client_fail(s, c);
    }
    rill_client_free(c);
    files_close(s);
    if (code == TOOL_OK && s->failed)
        code = tool_fail(s->cmd, TOOL_IO, "'%s' could not be written", out);
    if (code == TOOL_OK && s->clean)
        quality_measure(&s->quality, s->said, s->n_said);
    if (code == TOOL_OK)
        report(s, in, out);
    return code;
}

static int run(const struct command *cmd, int argc, char **argv)
{
    struct stream s = { .cmd = cmd };
    const char *env = getenv("RILL_SOCKET"), *pace = "file";
    struct stream_opts o = { .socket = env && *env ? env : "/run/rilld/rilld.sock",
                             .timeout_s = 10 };
    const struct opt table[] = {
        { "clean", 0, OPT_TEXT, &s.clean, "FILE", QUALITY_HELP },
        { "json", 0, OPT_FLAG, &s.json, NULL, "print {model, latency_ms, pulse_ms, rtf, ...}" },
        { "keep-delay", 0, OPT_FLAG, &o.keep_delay, NULL,
          "leave the output as late as the model is, so many samples longer" },
        { "model", 'm', OPT_TEXT, &o.model, "NAME",
          "a model the daemon knows (default: the daemon's)" },
        { "opt", 0, OPT_LIST, &o.opts, "NAME=VALUE",
          "how outputs are read: beam, stability, hotwords, ... (the protocol lists them); @FILE: "
          "what the file holds" },
        { "pace", 0, OPT_TEXT, &pace, "file|live",
          "as fast as credit allows, or as a microphone would" },
        { "socket", 's', OPT_TEXT, &o.socket, "PATH",
          "the daemon's socket (default: $RILL_SOCKET or the system's)" },
        { "timeout", 0, OPT_INT, INT_FROM_TO(&o.timeout_s, 1, 3600), "S",
          "give up when the daemon has said nothing for S seconds, asked whether it lives (default "
          "10)" },
        { 0 },
    };
    int n = opts_parse(cmd, table, argc, argv, 2, 2);
    if (n < 0)
        return -n;
    s.segments = json_array();
    o.live = !strcmp(pace, "live");
    if (!o.live && strcmp(pace, "file"))
        return tool_fail(cmd, TOOL_USAGE, "--pace is file or live");
    if (!pairs_fill(&o))
        return tool_fail(cmd, TOOL_USAGE, "--opt is NAME=VALUE, at most %d of them", OPTS_MAX);
    if (s.clean && o.keep_delay)
        return tool_fail(cmd, TOOL_USAGE,
                         "--clean goes without --keep-delay, which shifts the output");
    rill_error err;
    int code = values_fill(&o, &err) == RILL_OK ? file_stream(&s, &o, argv[0], argv[1])
                                                : tool_fail_status(cmd, &err);
    for (unsigned i = 0; i < OPTS_MAX; i++)
        free(o.texts[i]);
    files_close(&s);
    json_decref(s.segments);
    quality_close(&s.quality);
    free(s.said);
    return code;
}

const struct command cmd_stream = {
    .name = "stream",
    .usage = "[OPTIONS] IN OUT",
    .summary = "send a recording through the daemon",
    .details = "IN and OUT are WAV or FLAC of any rate from 8 to 192 kHz; OUT has exactly as many "
               "samples as IN. For a\n"
               "model that gives speech probabilities OUT is a table of time_s, probability and "
               "events, for one that gives words a\n"
               "line for each utterance ('-': standard output), for one that gives both the table "
               "has rows of words as well. Where\n"
               "it gives audio too, OUT is audio and the lines are printed.",
    .run = run,
};
