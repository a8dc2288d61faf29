/* SPDX-License-Identifier: MIT */
/* rill transcribe, rill keyword: what is said in a file, in this process. */
#include "engine/base/err.h"
#include "tools/align.h"
#include "tools/audio.h"
#include "tools/hear.h"
#include "tools/json.h"
#include "tools/recognisers.h"
#include "tools/tool.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TEXT_BYTES_MAX ((uint64_t) 256 << 20) /* of phrases, n-grams */

struct said {
    const struct command *cmd;
    struct hear hear;
    FILE *out;
    unsigned n_finals, n_keywords, n_words; /* n_words: told in partials of the present text */
    double late_s, late_most_s;             /* sum and most of how late words were told */
    unsigned n_late;
    void (*tell)(struct said *s, const rill_event *e);
    json_t *segments, *keywords, *speech; /* of --json */
    json_t *afresh;                       /* seconds where the network began afresh */
    SNDFILE *audio;                       /* --audio */
    struct align align;
    bool audio_failed, is_broken_off;
    rill_error err;
};

static double seconds(const struct said *s, uint64_t pos)
{
    return (double) pos / s->hear.rate;
}

/* ---- forms ---- */

static void text_tell(struct said *s, const rill_event *e)
{
    if (e->kind == RILL_EVENT_FINAL)
        fprintf(s->out, "%s\n", e->text);
    else if (e->kind == RILL_EVENT_KEYWORD)
        fprintf(s->out, "[%s]\n", e->text);
    fflush(s->out);
}

static void srt_time(const struct said *s, uint64_t pos)
{
    uint64_t ms = pos / s->hear.rate * 1000 + pos % s->hear.rate * 1000 / s->hear.rate;
    fprintf(s->out, "%02" PRIu64 ":%02" PRIu64 ":%02" PRIu64 ",%03" PRIu64, ms / 3600000,
            ms / 60000 % 60, ms / 1000 % 60, ms % 1000);
}

static void srt_tell(struct said *s, const rill_event *e)
{
    bool word = e->kind == RILL_EVENT_KEYWORD;
    if (e->kind != RILL_EVENT_FINAL && !word)
        return;
    fprintf(s->out, "%u\n", s->n_finals + s->n_keywords);
    srt_time(s, e->pos);
    fputs(" --> ", s->out);
    srt_time(s, e->end_pos);
    fprintf(s->out, word ? "\n[%s]\n\n" : "\n%s\n\n", e->text);
}

static void table_tell(struct said *s, const rill_event *e)
{
    if (e->kind != RILL_EVENT_KEYWORD)
        return;
    fprintf(s->out, "%.3f,%.3f,", seconds(s, e->pos), seconds(s, e->end_pos));
    tool_cell_write(s->out, e->text);
    fprintf(s->out, ",%.6f\n", (double) e->score);
}

static json_t *span_json(const struct said *s, const char *text, uint64_t pos, uint64_t end_pos,
                         float score)
{
    return json_pack("{s:s, s:f, s:f, s:f}", "text", text, "start_s", seconds(s, pos), "end_s",
                     seconds(s, end_pos), "confidence", (double) score);
}

static void json_tell(struct said *s, const rill_event *e)
{
    json_t *o = span_json(s, e->text, e->pos, e->end_pos, e->score);
    if (e->kind == RILL_EVENT_FINAL) {
        json_t *words = json_array();
        for (uint32_t i = 0; i < e->n_words; i++)
            json_array_append_new(words,
                                  span_json(s, e->words[i].text, e->words[i].pos,
                                            e->words[i].end_pos, e->words[i].confidence));
        json_object_set_new(o, "words", words);
        json_array_append(s->segments, o);
    } else if (e->kind == RILL_EVENT_KEYWORD) {
        json_array_append(s->keywords, o);
    } else if (e->kind == RILL_EVENT_SPEECH_START) {
        json_array_append_new(s->speech, json_pack("{s:f}", "start_s", seconds(s, e->pos)));
    } else if (e->kind == RILL_EVENT_SPEECH_END && json_array_size(s->speech)) {
        json_object_set_new(json_array_get(s->speech, json_array_size(s->speech) - 1), "end_s",
                            json_real(seconds(s, e->pos)));
    }
    json_decref(o);
}

static void json_end(struct said *s, const char *in, size_t n)
{
    double audio_s = (double) n / s->hear.rate;
    char *text = tool_alloc(1);
    size_t i, at = 0;
    json_t *k;
    json_array_foreach(s->segments, i, k)
    {
        const char *t = json_string_value(json_object_get(k, "text"));
        char *more = realloc(text, at + strlen(t) + 2);
        if (!more)
            break;
        text = more;
        at += (size_t) sprintf(text + at, "%s%s", i ? " " : "", t);
    }
    json_t *late = json_pack("{s:f, s:f}", "mean", s->n_late ? s->late_s / s->n_late : 0, "most",
                             s->late_most_s);
    json_t *o = json_pack("{s:o, s:o, s:f, s:f, s:o, s:s, s:o, s:o, s:o}", "in", json_text(in),
                          "model", json_text(s->hear.info.name), "audio_s", audio_s, "rtf",
                          audio_s > 0 ? s->hear.busy_s / audio_s : 0, "late_s", late, "text", text,
                          "segments", s->segments, "keywords", s->keywords, "speech", s->speech);
    s->segments = s->keywords = s->speech = NULL;
    if (json_array_size(s->afresh))
        json_object_set(o, "afresh_s", s->afresh);
    if (s->is_broken_off) {
        json_object_set_new(o, "stopped_s", json_real(seconds(s, s->hear.n_samples)));
        json_object_set_new(o, "error", json_text(s->err.text));
    }
    json_dumpf(o, s->out, JSON_INDENT(1) | JSON_REAL_PRECISION(7));
    fputc('\n', s->out);
    json_decref(o);
    free(text);
}

/* ---- what comes ---- */

/* How much was heard, when a word was first told, beyond its beginning. */
static void lateness_note(struct said *s, const rill_event *e)
{
    if (e->kind != RILL_EVENT_PARTIAL && e->kind != RILL_EVENT_FINAL)
        return;
    for (; s->n_words < e->n_words; s->n_words++) {
        uint64_t begin = e->words[s->n_words].pos;
        double late = s->hear.n_samples > begin ? seconds(s, s->hear.n_samples - begin) : 0;
        s->late_s += late;
        s->late_most_s = late > s->late_most_s ? late : s->late_most_s;
        s->n_late++;
    }
    s->n_words = e->kind == RILL_EVENT_FINAL ? 0 : s->n_words;
}

static void on_event(void *arg, const rill_event *e)
{
    struct said *s = arg;
    lateness_note(s, e);
    s->n_finals += e->kind == RILL_EVENT_FINAL;
    s->n_keywords += e->kind == RILL_EVENT_KEYWORD;
    s->tell(s, e);
}

static bool audio_put(void *arg, const float *y, size_t n)
{
    return audio_write(arg, y, n, 1);
}

static void on_audio(void *arg, const float *y, size_t n)
{
    struct said *s = arg;
    s->audio_failed |= s->audio && !align_push(&s->align, y, n);
}

/* ---- the command ---- */

struct transcribe_opts {
    struct hear_opts hear;
    const char *model, *out, *audio, *hotwords, *lm;
    bool json, srt, text, is_named;
};

static rill_status audio_out_open(struct said *s, const char *path, size_t n)
{
    if (s->hear.audio_port < 0)
        return err_set(&s->err, RILL_INVALID, "model '%s' gives no audio that --audio could write",
                       s->hear.info.name);
    const rill_port *p = &s->hear.parts[0].ports[s->hear.audio_port];
    TRY(open_audio_check(p, s->hear.info.name, &s->err));
    align_begin(&s->align, p, n, false);
    TRY(audio_create(&s->audio, path, (int) (p->rate_num / p->rate_den), 1, &s->err));
    s->align.write = audio_put;
    s->align.arg = s->audio;
    return RILL_OK;
}

/* At the rate that the model hears; the caller frees it. */
static rill_status file_read(struct said *s, const char *in, float **ret, size_t *ret_n)
{
    float *raw;
    size_t n_raw;
    int file_rate;
    TRY(audio_read(in, 0, &raw, &n_raw, &file_rate, &s->err));
    *ret = audio_resampled(raw, n_raw, (unsigned) file_rate, s->hear.rate, ret_n);
    free(raw);
    rill_status status = hear_check(&s->hear, *ret_n, &s->err);
    if (status != RILL_OK)
        free(*ret);
    return status;
}

/* The stream was stopped: what was heard before is told, and where it was. */
static rill_status broken_off(struct said *s, rill_status status, const char *in, size_t n)
{
    bool at_fault = false;
    for (unsigned k = 0; k < s->hear.n_parts; k++)
        at_fault |= rill_stream_fault(s->hear.parts[k].stream, NULL) != RILL_OK;
    s->is_broken_off = true;
    hear_break_off(&s->hear);
    const char *why = at_fault ? ". A network hears no longer recordings than its table of "
                                 "positions is: cut this one into shorter ones"
                               : "";
    rill_error was = s->err;
    return err_set(&s->err, status,
                   "%.120s, at %.2f s of %.2f s (what was heard before is told): %.240s%s", in,
                   seconds(s, s->hear.n_samples), seconds(s, n), was.text, why);
}

/* Wenet's networks hear as long as their tables of positions are; the publisher's runtime begins
 * afresh at an endpoint, too. */
static rill_status all_hear(struct said *s, const char *in, const float *x, size_t n)
{
    for (uint64_t at = 0;;) {
        rill_status status = hear_push(&s->hear, x + at, n - at, &s->err);
        if (status == RILL_OK)
            status = hear_finish(&s->hear, &s->err);
        const double stopped_s = seconds(s, s->hear.n_samples);
        if (status == RILL_OK || !hear_begin_afresh(&s->hear, &at))
            return status;
        s->n_words = 0;
        json_array_append_new(s->afresh, json_real(seconds(s, at)));
        fprintf(stderr,
                "rill transcribe: %s: the network's table of positions ends at %.2f s; it begins "
                "afresh at %.2f s\n",
                in, stopped_s, seconds(s, at));
    }
}

static rill_status samples_hear(struct said *s, const struct transcribe_opts *o, const char *in,
                                const float *x, size_t n)
{
    rill_status status = o->audio ? audio_out_open(s, o->audio, n) : RILL_OK;
    if (status == RILL_OK) {
        rill_thread_prepare();
        status = all_hear(s, in, x, n);
        if (status != RILL_OK)
            broken_off(s, status, in, n);
    }
    s->audio_failed |= s->audio && !align_finish(&s->align);
    if (s->audio && (sf_close(s->audio) || s->audio_failed) && status == RILL_OK)
        return err_set(&s->err, RILL_IO, "'%.300s' could not be written", o->audio);
    return status;
}

/* A file as a string, which the caller frees; NULL: no file. */
static rill_status text_read(char **ret, const char *path, rill_error *err)
{
    *ret = NULL;
    return path ? tool_text(ret, path, TEXT_BYTES_MAX, err) : RILL_OK;
}

static rill_status transcribe(struct said *s, const struct transcribe_opts *o, const char *in)
{
    const struct hear_calls calls = { .arg = s,
                                      .event = on_event,
                                      .audio = o->audio ? on_audio : NULL };
    bool keywords = s->tell == table_tell;
    float *x;
    size_t n = 0;
    TRY(hear_open(&s->hear, o->model, &o->hear, &calls, &s->err));
    const rill_port *words = hear_port(&s->hear, RILL_PORT_CTC),
                    *keys = hear_port(&s->hear, RILL_PORT_KEYWORD);
    if (keywords ? !keys : !words && !keys)
        return err_set(&s->err, RILL_INVALID, "model '%s' gives no %s", o->model,
                       keywords ? "keywords" : "words");
    TRY(file_read(s, in, &x, &n)); /* what cannot be heard leaves nothing in the output */
    s->out = o->out && strcmp(o->out, "-") ? fopen(o->out, "w") : stdout;
    if (!s->out) {
        free(x);
        return err_set(&s->err, RILL_IO, "'%.300s' cannot be written", o->out);
    }
    if (!o->is_named)
        recognisers_name(stderr, &s->hear);
    if (keywords)
        fprintf(s->out, "start_s,end_s,word,score\n");
    rill_status status = samples_hear(s, o, in, x, n);
    free(x);
    if (o->json && (status == RILL_OK || s->is_broken_off))
        json_end(s, in, n);
    bool bad = ferror(s->out) || (s->out == stdout ? fflush(s->out) : fclose(s->out));
    return status == RILL_OK && bad
        ? err_set(&s->err, RILL_IO, "'%.300s' could not be written", o->out ? o->out : "-")
        : status;
}

static bool is_given(const double *x)
{
    return *x > -1e9;
}

static int recording_hear(struct said *s, struct transcribe_opts *o, const char *in)
{
    bool is_table = !strcmp(s->cmd->name, "keyword");
    s->tell = o->json ? json_tell : o->srt ? srt_tell : is_table ? table_tell : text_tell;
    s->segments = json_array();
    s->keywords = json_array();
    s->speech = json_array();
    s->afresh = json_array();
    char *hotwords = NULL, *lm = NULL;
    rill_status status = text_read(&hotwords, o->hotwords, &s->err);
    if (status == RILL_OK)
        status = text_read(&lm, o->lm, &s->err);
    o->hear.hotwords = hotwords;
    o->hear.lm = lm;
    if (status == RILL_OK)
        status = transcribe(s, o, in);
    free(hotwords);
    free(lm);
    int code = status == RILL_OK ? TOOL_OK : tool_fail_status(s->cmd, &s->err);
    hear_close(&s->hear);
    json_decref(s->segments);
    json_decref(s->keywords);
    json_decref(s->speech);
    json_decref(s->afresh);
    return code;
}

static int run(const struct command *cmd, int argc, char **argv)
{
    struct said s = { .cmd = cmd, .tell = text_tell };
    bool keywords = !strcmp(cmd->name, "keyword");
    struct transcribe_opts o = { 0 };
    double confidence = -1, hotwords_score = -1e9, blank_penalty = -1e9, lm_scale = -1e9;
    const struct opt all[] = {
        { "audio", 'a', OPT_TEXT, &o.audio, "FILE",
          "write the audio that the model gives too, from the same pass" },
        { "beam", 0, OPT_INT, INT_FROM_TO(&o.hear.beam, 1, RILL_BEAM_MAX), "N",
          "hypotheses kept, 1 to 64; 1: greedy (default: as the model says)" },
        { "blank-penalty", 0, OPT_REAL, REAL_FROM_TO(&blank_penalty, -100, 100), "X",
          "taken off the score of the blank: with more of it less is left out (transducers)" },
        { "confidence", 0, OPT_REAL, REAL_FROM_TO(&confidence, 0, 1), "X",
          "texts less probable than that, a word, are left out; 0: none is (default: as the model "
          "says)" },
        { "hotwords", 0, OPT_TEXT, &o.hotwords, "FILE",
          "phrases that are preferred, one a line, at the end ' :2.5', their worth (transducers; "
          "takes a beam of 4 where the model has 1)" },
        { "hotwords-score", 0, OPT_REAL, REAL_FROM_TO(&hotwords_score, -100, 100), "X",
          "worth of each token of phrases that do not say it (default 1.5)" },
        { "json", 0, OPT_FLAG, &o.json, NULL,
          "print {text, segments: [{text, start_s, end_s, words}], ...}" },
        { "lm", 0, OPT_TEXT, &o.lm, "FILE",
          "ARPA file of n-grams of tokens that texts are weighed by, too (transducers; takes a "
          "beam)" },
        { "lm-scale", 0, OPT_REAL, REAL_FROM_TO(&lm_scale, -100, 100), "X",
          "weight of its logarithms (default 0.3)" },
        { "model", 'm', OPT_TEXT, &o.model, "MODEL", "name of the library, model folder or file" },
        THREADS_OPT(o.hear.open.threads),
        MODEL_OPTS(o.hear.open),
        { "no-vad", 0, OPT_FLAG, &o.hear.whole, NULL,
          "the recogniser hears everything, silence too" },
        { "out", 'o', OPT_TEXT, &o.out, "FILE", "write there instead of to standard output" },
        { "srt", 0, OPT_FLAG, &o.srt, NULL, "print subtitles" },
        { "text", 0, OPT_FLAG, &o.text, NULL, "print a line an utterance (default)" },
        { "vad", 0, OPT_TEXT, &o.hear.detector, "MODEL",
          "a model that says where speech is: the recogniser runs there only" },
        { 0 },
    };
    const struct opt few[] = {
        { "json", 0, OPT_FLAG, &o.json, NULL,
          "print {keywords: [{text, start_s, end_s, confidence}], ...}" },
        { "model", 'm', OPT_TEXT, &o.model, "MODEL", "name of the library, model folder or file" },
        MODEL_OPTS(o.hear.open),
        { "out", 'o', OPT_TEXT, &o.out, "FILE", "write there instead of to standard output" },
        { 0 },
    };
    int n = opts_parse(cmd, keywords ? few : all, argc, argv, 1, 1);
    if (n < 0)
        return -n;
    o.is_named = o.model;
    o.hear.confidence = confidence < 0 ? NULL : &confidence;
    o.hear.hotwords_score = is_given(&hotwords_score) ? &hotwords_score : NULL;
    o.hear.lm_scale = is_given(&lm_scale) ? &lm_scale : NULL;
    o.hear.blank_penalty = is_given(&blank_penalty) ? &blank_penalty : NULL;
    o.model = o.model || keywords ? o.model : "rill-digits";
    if (o.json + o.srt + o.text > 1 || !o.model)
        return tool_fail(cmd, TOOL_USAGE,
                         o.model ? "one of --text, --json and --srt" : "--model is missing");
    if (o.hear.detector && o.hear.whole)
        return tool_fail(cmd, TOOL_USAGE, "one of --vad and --no-vad");
    return recording_hear(&s, &o, argv[0]);
}

const struct command cmd_transcribe = {
    .name = "transcribe",
    .usage = "[OPTIONS] IN",
    .summary = "what is said in a recording, as text, JSON or subtitles",
    .details =
        "IN is WAV or FLAC of any rate from 8 to 192 kHz; several channels are mixed to one. Where "
        "the model also says\n"
        "where speech is, or --vad names one that does, the recogniser runs in utterances only. "
        "What else the model\n"
        "gives, keywords or audio, comes all the same. Without --model it is rill-digits, and what "
        "that knows is said on\n"
        "standard error, with the other recognisers at hand.",
    .run = run,
};

const struct command cmd_keyword = {
    .name = "keyword",
    .usage = "[OPTIONS] --model MODEL IN",
    .summary = "the keywords in a recording, with their places",
    .details = "Prints a table of start_s, end_s, word and score.",
    .run = run,
};
