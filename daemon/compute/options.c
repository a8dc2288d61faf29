/* SPDX-License-Identifier: MIT */
#include "daemon/compute/options.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define OF(kind) (1u << (kind))
#define OF_TEXT (OF(RILL_PORT_CTC) | OF(RILL_PORT_TRANSDUCER) | OF(RILL_PORT_ATTENTION))
#define OF_SPEECH (OF_TEXT | OF(RILL_PORT_VAD))
#define MS_MAX 3600000

static const struct option {
    const char *name;
    double min, max;
    bool is_real;   /* else a whole number */
    uint32_t kinds; /* bits of rill_port_kind; 0: applied by the caller */
    size_t offset;  /* in rill_sink_opts */
} table[] = {
    { "vad_threshold", 0, 1, true, 0, 0 },
    { "vad_release", 0, 1, true, 0, 0 },
    { "vad_hangover_ms", 0, 60000, false, 0, 0 },
    { "beam", 1, RILL_BEAM_MAX, false, OF_TEXT, offsetof(rill_sink_opts, beam) },
    { "stability", 0, 1, true, OF_TEXT, offsetof(rill_sink_opts, stability) },
    { "confidence", 0, 1, true, OF_TEXT, offsetof(rill_sink_opts, confidence) },
    { "blank_penalty", -100, 100, true, OF(RILL_PORT_TRANSDUCER),
      offsetof(rill_sink_opts, blank_penalty) },
    { "hotwords_score", -100, 100, true, OF(RILL_PORT_TRANSDUCER),
      offsetof(rill_sink_opts, hotwords_score) },
    { "lm_scale", -100, 100, true, OF(RILL_PORT_TRANSDUCER), offsetof(rill_sink_opts, lm_scale) },
    { "rule1_ms", 0, MS_MAX, false, OF_SPEECH, offsetof(rill_sink_opts, rule1_ms) },
    { "rule2_ms", 0, MS_MAX, false, OF_SPEECH, offsetof(rill_sink_opts, rule2_ms) },
    { "rule3_ms", 0, MS_MAX, false, OF_SPEECH, offsetof(rill_sink_opts, rule3_ms) },
    { "keyword_threshold", 0, 1, true, OF(RILL_PORT_KEYWORD), offsetof(rill_sink_opts, threshold) },
    { "smooth_frames", 1, 256, false, OF(RILL_PORT_KEYWORD),
      offsetof(rill_sink_opts, smooth_frames) },
    { "patience_frames", 1, 256, false, OF(RILL_PORT_KEYWORD),
      offsetof(rill_sink_opts, patience_frames) },
    { "debounce_ms", 0, MS_MAX, false, OF(RILL_PORT_KEYWORD),
      offsetof(rill_sink_opts, debounce_ms) },
};

#define N_OPTIONS (sizeof table / sizeof *table)
_Static_assert(N_OPTIONS <= OPTIONS_MAX, "a place for each option");

/* Texts, of transducers; the loop's thread makes tables of them when the stream opens. */
static const struct {
    const char *name;
    size_t bytes_max, offset; /* in rill_sink_opts */
} texts[OPTION_TEXTS] = {
    { "hotwords", 8192, offsetof(rill_sink_opts, hotwords) },
    { "lm", 262144, offsetof(rill_sink_opts, lm) },
};

static size_t text_find(const char *key)
{
    size_t i = 0;
    while (i < OPTION_TEXTS && strcmp(texts[i].name, key) != 0)
        i++;
    return i;
}

static bool text_take(struct stream_options *o, size_t i, const char *value)
{
    if (strlen(value) > texts[i].bytes_max)
        return false;
    o->text[i] = value;
    return true;
}

size_t options_text_bytes(const struct stream_options *o)
{
    size_t n = 0;
    for (size_t i = 0; i < OPTION_TEXTS; i++)
        n += o->text[i] ? strlen(o->text[i]) + 1 : 0;
    return n;
}

bool options_keep(struct stream_options *o)
{
    struct stream_options kept = *o;
    bool good = true;
    kept.is_kept = true;
    for (size_t i = 0; i < OPTION_TEXTS; i++) {
        kept.text[i] = o->text[i] ? strdup(o->text[i]) : NULL;
        good &= kept.text[i] || !o->text[i];
    }
    if (good)
        *o = kept;
    else
        options_drop(&kept);
    return good;
}

void options_drop(struct stream_options *o)
{
    for (size_t i = 0; i < OPTION_TEXTS; i++) {
        if (o->is_kept)
            free((char *) (uintptr_t) o->text[i]);
        o->text[i] = NULL;
    }
    o->is_kept = false;
}

static size_t option_find(const char *key)
{
    size_t i = 0;
    while (i < N_OPTIONS && strcmp(table[i].name, key) != 0)
        i++;
    return i;
}

bool option_take(struct stream_options *o, const char *key, const char *value)
{
    size_t i = option_find(key), t = text_find(key);
    char *end;
    double v = strtod(value, &end);
    if (t < OPTION_TEXTS)
        return text_take(o, t, value);
    if (i == N_OPTIONS || end == value || *end || strpbrk(value, "xX") ||
        !(v >= table[i].min && v <= table[i].max) || (!table[i].is_real && v != floor(v)))
        return false;
    o->given |= 1u << i;
    o->value[i] = v;
    return true;
}

double option_or(const struct stream_options *o, const char *key, double otherwise)
{
    size_t i = option_find(key);
    return i < N_OPTIONS && o->given & 1u << i ? o->value[i] : otherwise;
}

/* They want a beam: where neither the client nor the model says how wide, the kind's own. */
static void texts_apply(const struct stream_options *o, rill_sink_opts *sink)
{
    for (size_t i = 0; i < OPTION_TEXTS && sink->kind == RILL_PORT_TRANSDUCER; i++) {
        if (!o->text[i])
            continue;
        memcpy((char *) sink + texts[i].offset, &o->text[i], sizeof o->text[i]);
        if (sink->beam == 1 && option_or(o, "beam", 0) == 0 && *o->text[i])
            sink->beam = 0;
    }
}

void options_apply(const struct stream_options *o, rill_sink_opts *sink)
{
    for (size_t i = 0; i < N_OPTIONS; i++) {
        char *at = (char *) sink + table[i].offset;
        if (!(o->given & 1u << i) || !(table[i].kinds & OF(sink->kind)))
            continue;
        if (table[i].is_real)
            memcpy(at, &(float) { (float) o->value[i] }, sizeof(float));
        else
            memcpy(at, &(uint32_t) { (uint32_t) o->value[i] }, sizeof(uint32_t));
    }
    texts_apply(o, sink);
}

bool options_want_transducer(const struct stream_options *o)
{
    bool want = fabs(option_or(o, "blank_penalty", 0)) > 0;
    for (size_t i = 0; i < OPTION_TEXTS; i++)
        want |= o->text[i] && *o->text[i];
    return want;
}

void options_list(char *buf, size_t cap)
{
    size_t at = 0;
    buf[0] = 0;
    for (size_t i = 0; i < OPTION_TEXTS && at < cap; i++)
        at += (size_t) snprintf(buf + at, cap - at, "%s (up to %zu bytes), ", texts[i].name,
                                texts[i].bytes_max);
    for (size_t i = 0; i < N_OPTIONS && at < cap; i++)
        at += (size_t) snprintf(buf + at, cap - at, "%s%s (%.8g to %.8g)", i ? ", " : "",
                                table[i].name, table[i].min, table[i].max);
}
