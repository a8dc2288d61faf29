/* SPDX-License-Identifier: MIT */
#include "models/conf.h"
#include "engine/base/crew.h"
#include "models/port_kinds.h"
#include "models/sink_limits.h"

#include <errno.h>
#include <ini.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum value_kind {
    VALUE_TEXT,
    VALUE_U32,
    VALUE_U64,
    VALUE_UNIT,
    VALUE_REAL,
    VALUE_SHARE,
    VALUE_SHA256,
    VALUE_PORT,
    VALUE_BLANK,
    VALUE_SCORES,
    VALUE_UNITS,
    VALUE_OVERLOAD,
    VALUE_RECURRENT,
    VALUE_PULSE,
    VALUE_FIRST
};

struct key {
    const char *section, *name;
    enum value_kind kind;
    size_t offset; /* in model_conf, conf_port or conf_weights */
};

#define INFO(field) offsetof(struct model_conf, info.field)
#define RECOGNISER(field) offsetof(struct model_conf, recogniser.field)
#define SINK(field) offsetof(struct conf_port, sink.field)

static const struct key keys[] = {
    { "model", "task", VALUE_TEXT, INFO(task) },
    { "model", "sample_rate", VALUE_U32, INFO(sample_rate) },
    { "model", "licence", VALUE_TEXT, INFO(licence) },
    { "model", "summary", VALUE_TEXT, INFO(summary) },
    { "model", "overload", VALUE_OVERLOAD, INFO(overload) },
    { "model", "budget_ms", VALUE_U32, offsetof(struct model_conf, budget_ms) },
    { "model", "threads", VALUE_U32, offsetof(struct model_conf, threads) },
    { "model", "latency_ms", VALUE_U32, offsetof(struct model_conf, latency_ms) },
    { "model", "pulse", VALUE_PULSE, offsetof(struct model_conf, pulse) },
    { "model", "recurrent_weights", VALUE_RECURRENT,
      offsetof(struct model_conf, recurrent_weights) },
    { "model", "first_pulse", VALUE_FIRST, offsetof(struct model_conf, first_pulse) },
    { "vad", "threshold", VALUE_SHARE, INFO(vad_threshold) },
    { "vad", "release", VALUE_SHARE, INFO(vad_release) },
    { "vad", "hangover_ms", VALUE_U32, INFO(vad_hangover_ms) },
    { "recogniser", "encoder", VALUE_TEXT, RECOGNISER(encoder) },
    { "recogniser", "decoder", VALUE_TEXT, RECOGNISER(decoder) },
    { "recogniser", "joiner", VALUE_TEXT, RECOGNISER(joiner) },
    { "recogniser", "network", VALUE_TEXT, RECOGNISER(network) },
    { "recogniser", "tokens", VALUE_TEXT, RECOGNISER(tokens) },
    { "recogniser", "precision", VALUE_TEXT, RECOGNISER(precision) },
    { "input.", "kind", VALUE_PORT, offsetof(struct conf_port, kind) },
    { "output.", "kind", VALUE_PORT, offsetof(struct conf_port, kind) },
    { "output.", "tokens", VALUE_TEXT, offsetof(struct conf_port, tokens_file) },
    { "output.", "labels", VALUE_TEXT, offsetof(struct conf_port, tokens_file) },
    { "output.", "decoder", VALUE_TEXT, offsetof(struct conf_port, decoder_file) },
    { "output.", "joiner", VALUE_TEXT, offsetof(struct conf_port, joiner_file) },
    { "output.", "adapter", VALUE_TEXT, offsetof(struct conf_port, adapter_file) },
    { "output.", "cross_kv", VALUE_TEXT, offsetof(struct conf_port, cross_kv_file) },
    { "output.", "late_frames", VALUE_U32, offsetof(struct conf_port, late_frames) },
    { "output.", "hotwords", VALUE_TEXT, offsetof(struct conf_port, hotwords_file) },
    { "output.", "pieces", VALUE_TEXT, offsetof(struct conf_port, pieces_file) },
    { "output.", "lm", VALUE_TEXT, offsetof(struct conf_port, lm_file) },
    { "output.", "hotwords_score", VALUE_REAL, SINK(hotwords_score) },
    { "output.", "lm_scale", VALUE_REAL, SINK(lm_scale) },
    { "output.", "endpoint_frames", VALUE_U32, SINK(endpoint_frames) },
    { "output.", "blank_penalty", VALUE_REAL, SINK(blank_penalty) },
    { "output.", "words", VALUE_TEXT, SINK(words) },
    { "output.", "ignore", VALUE_TEXT, SINK(ignore) },
    { "output.", "scores", VALUE_SCORES, SINK(scores) },
    { "output.", "units", VALUE_UNITS, SINK(units) },
    { "output.", "rule1_ms", VALUE_U32, SINK(rule1_ms) },
    { "output.", "rule2_ms", VALUE_U32, SINK(rule2_ms) },
    { "output.", "rule3_ms", VALUE_U32, SINK(rule3_ms) },
    { "output.", "blank", VALUE_BLANK, SINK(blank) },
    { "output.", "beam", VALUE_U32, SINK(beam) },
    { "output.", "stability", VALUE_UNIT, SINK(stability) },
    { "output.", "confidence", VALUE_UNIT, SINK(confidence) },
    { "output.", "max_tokens", VALUE_U32, SINK(max_tokens) },
    { "output.", "max_symbols", VALUE_U32, SINK(max_symbols) },
    { "output.", "bos", VALUE_U32, SINK(bos) },
    { "output.", "eos", VALUE_U32, SINK(eos) },
    { "output.", "update_frames", VALUE_U32, SINK(update_frames) },
    { "output.", "tokens_per_second", VALUE_REAL, SINK(tokens_per_second) },
    { "output.", "threshold", VALUE_SHARE, SINK(threshold) },
    { "output.", "smooth_frames", VALUE_U32, SINK(smooth_frames) },
    { "output.", "patience_frames", VALUE_U32, SINK(patience_frames) },
    { "output.", "debounce_ms", VALUE_U32, SINK(debounce_ms) },
    { "output.", "release", VALUE_SHARE, SINK(release) },
    { "output.", "hangover_ms", VALUE_U32, SINK(hangover_ms) },
    { "output.", "preroll_ms", VALUE_U32, SINK(preroll_ms) },
    { "weights.", "url", VALUE_TEXT, offsetof(struct conf_weights, url) },
    { "weights.", "sha256", VALUE_SHA256, offsetof(struct conf_weights, sha256) },
    { "weights.", "bytes", VALUE_U64, offsetof(struct conf_weights, bytes) },
    { "weights.", "about_bytes", VALUE_U64, offsetof(struct conf_weights, about_bytes) },
    { "weights.", "from", VALUE_TEXT, offsetof(struct conf_weights, from) },
    { "weights.", "archive", VALUE_TEXT, offsetof(struct conf_weights, archive) },
    { "weights.", "member", VALUE_TEXT, offsetof(struct conf_weights, member) },
    { "archive.", "url", VALUE_TEXT, offsetof(struct conf_weights, url) },
    { "archive.", "sha256", VALUE_SHA256, offsetof(struct conf_weights, sha256) },
    { "archive.", "bytes", VALUE_U64, offsetof(struct conf_weights, bytes) },
    { "archive.", "from", VALUE_TEXT, offsetof(struct conf_weights, from) },
};

_Static_assert(sizeof keys / sizeof *keys <= CONF_KEYS_MAX, "a bit of conf_said for each key");

/* Of whole numbers; a key that is not here takes any. */
static const struct range {
    const char *name;
    uint32_t least, most;
} ranges[] = {
    { "beam", 1, RILL_BEAM_MAX },
    { "bos", 0, SINK_TOKEN_NUMBER_MAX },
    { "debounce_ms", 0, SINK_MS_MAX },
    { "endpoint_frames", 1, SINK_FRAMES_MAX },
    { "eos", 0, SINK_TOKEN_NUMBER_MAX },
    { "hangover_ms", 0, SINK_MS_MAX },
    { "late_frames", 0, INT32_MAX },
    { "max_symbols", 1, SINK_SYMBOLS_MAX },
    { "max_tokens", SINK_TOKENS_MIN, SINK_TOKENS_MAX },
    { "patience_frames", 1, SINK_FRAMES_MAX },
    { "preroll_ms", 0, SINK_MS_MAX },
    { "rule1_ms", 0, SINK_MS_MAX },
    { "rule2_ms", 0, SINK_MS_MAX },
    { "rule3_ms", 0, SINK_MS_MAX },
    { "sample_rate", 1, UINT32_MAX },
    { "smooth_frames", 1, SINK_FRAMES_MAX },
    { "threads", 1, CREW_THREADS_MAX },
    { "update_frames", 1, SINK_FRAMES_MAX },
};

struct conf_reading {
    struct model_conf *conf;
    struct arena *arena;
    const char *text, *end; /* what is not read yet */
    int line;
    bool is_found; /* by a reader: what follows may say it again */
    char why[320];
};

void model_conf_default(struct model_conf *ret)
{
    *ret = (struct model_conf) {
        .info = { .name = "",
                  .task = "",
                  .licence = "",
                  .summary = "",
                  .vad_threshold = 0.5f,
                  .vad_release = 0.35f,
                  .vad_hangover_ms = 100 },
    };
}

static bool set_text(struct conf_reading *r, const char *value, void *at)
{
    char *s = arena_string(r->arena, value);
    *(const char **) at = s;
    return s != NULL;
}

static bool set_number(const char *value, uint64_t max, uint64_t *ret)
{
    char *end;
    errno = 0;
    *ret = strtoull(value, &end, 10);
    return *value >= '0' && *value <= '9' && !*end && !errno && *ret <= max;
}

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static bool set_sha256(const char *value, uint8_t *ret)
{
    if (strlen(value) != 64)
        return false;
    for (int i = 0; i < 32; i++) {
        int high = hex_digit(value[2 * i]), low = hex_digit(value[2 * i + 1]);
        if (high < 0 || low < 0)
            return false;
        ret[i] = (uint8_t) (high << 4 | low);
    }
    return strspn(value, "0") < 64; /* zeros stand for no sum */
}

/* Words that stand for the values of an enum, from 0. */
static const char *const port_names[] = {
#define X(kind, name) [RILL_PORT_##kind] = #name,
    PORT_KIND_EACH(X)
#undef X
        NULL
};
static const char *const scores_names[] = { [RILL_SCORES_AUTO] = "auto",
                                            [RILL_SCORES_LOG] = "log_probs",
                                            [RILL_SCORES_LOGITS] = "logits",
                                            [RILL_SCORES_PROBS] = "probs",
                                            NULL };
static const char *const units_names[] = { [RILL_UNITS_AUTO] = "auto",
                                           [RILL_UNITS_MARKS] = "marks",
                                           [RILL_UNITS_WORDS] = "words",
                                           [RILL_UNITS_CHARS] = "chars",
                                           NULL };
static const char *const overload_names[] = { [RILL_OVERLOAD_AUTO] = "auto",
                                              [RILL_OVERLOAD_BYPASS] = "bypass",
                                              [RILL_OVERLOAD_SKIP] = "skip",
                                              [RILL_OVERLOAD_SHED] = "shed",
                                              NULL };

static const char *const recurrent_names[] = {
    [RECURRENT_ASIS] = "auto", [RECURRENT_F32] = "f32", [RECURRENT_I16] = "i16", NULL
};

static bool set_choice(const char *value, const char *const *names, void *at)
{
    for (int i = 0; names[i]; i++)
        if (!strcmp(names[i], value)) {
            memcpy(at, &i, sizeof i); /* an enum is an int */
            return true;
        }
    return false;
}

/* A decimal one, as everywhere. */
static bool set_finite(const char *value, double *ret)
{
    char *end;
    *ret = strtod(value, &end);
    return end != value && !*end && isfinite(*ret) && !strpbrk(value, "xX");
}

static bool set_between(const char *value, double least, double most, float *ret)
{
    double v;
    bool ok = set_finite(value, &v) && v >= least && v <= most;
    *ret = ok ? (float) v : 0;
    return ok;
}

static struct range range_of(const struct key *k)
{
    for (size_t i = 0; i < sizeof ranges / sizeof *ranges && k->kind == VALUE_U32; i++)
        if (!strcmp(ranges[i].name, k->name))
            return ranges[i];
    return (struct range) { k->name, 0, k->kind == VALUE_BLANK ? INT32_MAX : UINT32_MAX };
}

/* "whole", "short", or frames. */
static bool set_first_pulse(const char *value, uint32_t *at)
{
    uint64_t n = 0;
    bool is_short = !strcmp(value, "short");
    if (!is_short && strcmp(value, "whole") && (!set_number(value, INT32_MAX, &n) || n == 0))
        return false;
    *at = is_short ? FIRST_PULSE_SHORT : (uint32_t) n;
    return true;
}

/* "auto", or frames. */
static bool set_pulse(const char *value, uint32_t *at)
{
    uint64_t n = 0;
    *at = 0;
    if (!strcmp(value, "auto"))
        return true;
    if (!set_number(value, INT32_MAX, &n) || n == 0)
        return false;
    *at = (uint32_t) n;
    return true;
}

static bool value_set(struct conf_reading *r, const struct key *k, const char *value, void *at)
{
    uint64_t n = 0;
    switch (k->kind) {
    case VALUE_TEXT: return set_text(r, value, at);
    case VALUE_U64: return set_number(value, UINT64_MAX, at);
    case VALUE_UNIT: return set_between(value, 0, 1, at);
    case VALUE_REAL: return set_between(value, -1e4, 1e4, at);
    case VALUE_SHARE: return set_between(value, 0, 1, at) && *(float *) at > 0;
    case VALUE_SHA256: return set_sha256(value, at);
    case VALUE_PORT: return set_choice(value, port_names, at);
    case VALUE_SCORES: return set_choice(value, scores_names, at);
    case VALUE_UNITS: return set_choice(value, units_names, at);
    case VALUE_OVERLOAD: return set_choice(value, overload_names, at);
    case VALUE_RECURRENT: return set_choice(value, recurrent_names, at);
    case VALUE_FIRST: return set_first_pulse(value, at);
    case VALUE_PULSE: return set_pulse(value, at);
    case VALUE_BLANK:
    case VALUE_U32: break;
    }
    struct range range = range_of(k);
    bool ok = set_number(value, range.most, &n);
    *(uint32_t *) at = (uint32_t) n;
    return ok && n >= range.least;
}

static const char *const *choices_of(enum value_kind kind)
{
    switch (kind) {
    case VALUE_PORT: return port_names;
    case VALUE_SCORES: return scores_names;
    case VALUE_UNITS: return units_names;
    case VALUE_OVERLOAD: return overload_names;
    case VALUE_RECURRENT: return recurrent_names;
    default: return NULL;
    }
}

#define WORDS_BYTES 120

/* What a value has to be, for messages; "": the key tells. */
static void value_words(const struct key *k, char ret[WORDS_BYTES])
{
    static const char *const words[] = {
        [VALUE_UNIT] = "0 to 1",
        [VALUE_SHARE] = "more than 0 and at most 1",
        [VALUE_REAL] = "-10000 to 10000",
        [VALUE_FIRST] = "whole, short or a number of frames, 1 or more",
        [VALUE_PULSE] = "auto or a number of frames, 1 or more",
        [VALUE_SHA256] = "64 hexadecimal digits, not all of them 0",
    };
    const char *const *names = choices_of(k->kind);
    struct range range = range_of(k);
    size_t n = 0;
    *ret = '\0';
    if (k->kind < sizeof words / sizeof *words && words[k->kind])
        snprintf(ret, WORDS_BYTES, ", which is %s", words[k->kind]);
    else if (k->kind == VALUE_U32 && range.most < UINT32_MAX)
        snprintf(ret, WORDS_BYTES, ", which is %u to %u", range.least, range.most);
    for (int i = 0; names && names[i] && n < WORDS_BYTES; i++)
        n += (size_t) snprintf(ret + n, WORDS_BYTES - n, "%s%s", i ? ", " : ", which is one of ",
                               names[i]);
}

static void *port_at(struct conf_reading *r, const char *name, bool is_input)
{
    struct model_conf *c = r->conf;
    for (unsigned i = 0; i < c->n_ports; i++)
        if (c->ports[i].is_input == is_input && !strcmp(c->ports[i].name, name))
            return &c->ports[i];
    struct conf_port *more =
        arena_grow(r->arena, c->ports, c->n_ports, &c->room_ports, sizeof *more);
    if (!more)
        return NULL;
    c->ports = more;
    c->ports[c->n_ports] = (struct conf_port) { .name = arena_string(r->arena, name),
                                                .is_input = is_input,
                                                .sink = { .blank = -1,
                                                          .rule1_ms = 2400,
                                                          .rule2_ms = 1200,
                                                          .rule3_ms = 20000,
                                                          .hangover_ms = CONF_UNSET,
                                                          .preroll_ms = 300 } };
    return c->ports[c->n_ports].name ? &c->ports[c->n_ports++] : NULL;
}

/* Of file in a list of at most cap; NULL: it is full. */
static void *file_at(struct conf_reading *r, struct conf_weights *list, uint32_t *n, uint32_t cap,
                     const char *file)
{
    for (unsigned i = 0; i < *n; i++)
        if (!strcmp(list[i].file, file))
            return &list[i];
    if (*n == cap)
        return NULL;
    list[*n] = (struct conf_weights) { .file = arena_string(r->arena, file), .url = "" };
    return list[*n].file ? &list[(*n)++] : NULL;
}

static bool section_is(const struct key *k, const char *section)
{
    size_t n = strlen(k->section);
    return k->section[n - 1] == '.' ? !strncmp(section, k->section, n) && section[n]
                                    : !strcmp(section, k->section);
}

/* The struct that a section fills; NULL when there are too many. */
static void *section_at(struct conf_reading *r, const struct key *k, const char *section)
{
    const char *name = section + strlen(k->section);
    struct model_conf *c = r->conf;
    switch (k->section[0]) {
    case 'i': return port_at(r, name, true);
    case 'o': return port_at(r, name, false);
    case 'w': return file_at(r, c->weights, &c->n_weights, CONF_WEIGHTS_MAX, name);
    case 'a': return file_at(r, c->archives, &c->n_archives, CONF_ARCHIVES_MAX, name);
    default: return r->conf;
    }
}

#define TWICE "given twice; a key is said once"

static bool option_value_set(struct conf_option *o, const char *value)
{
    o->is_truth = !strcmp(value, "true") || !strcmp(value, "false");
    o->value = value[0] == 't';
    return o->is_truth || set_finite(value, &o->value);
}

/* Whether the struct that begins at `at` has heard the key before; from now on it has. */
static bool said_before(void *at, size_t key)
{
    uint32_t *word = &((struct conf_said *) at)->keys[key / 32], bit = 1u << key % 32;
    bool before = *word & bit;
    *word |= bit;
    return before;
}

/* Any name goes here: the text knows which there are. */
static void option_set(struct conf_reading *r, const char *name, const char *value)
{
    struct model_conf *c = r->conf;
    unsigned i = 0;
    while (i < c->n_options && strcmp(c->options[i].name, name) != 0)
        i++;
    struct conf_option *o = &c->options[i];
    if (i < c->n_options)
        snprintf(r->why, sizeof r->why, "[options] %.40s: " TWICE, name);
    else if (i == CONF_OPTIONS_MAX)
        snprintf(r->why, sizeof r->why, "more than %d options", CONF_OPTIONS_MAX);
    else if (!(o->name = arena_string(r->arena, name)))
        snprintf(r->why, sizeof r->why, "out of memory");
    else if (!option_value_set(o, value))
        snprintf(r->why, sizeof r->why,
                 "[options] %.40s: '%.40s' is no number and not true or false", name, value);
    else
        c->n_options++;
}

static int entry(void *arg, const char *section, const char *name, const char *value)
{
    struct conf_reading *r = arg;
    char words[WORDS_BYTES];
    if (r->why[0])
        return 0;
    if (!strcmp(section, "options")) {
        option_set(r, name, value);
        return !r->why[0];
    }
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        if (!section_is(&keys[i], section) || strcmp(keys[i].name, name) != 0)
            continue;
        unsigned char *at = section_at(r, &keys[i], section);
        value_words(&keys[i], words);
        if (!at)
            snprintf(r->why, sizeof r->why, "too many sections like [%.60s]", section);
        else if (!r->is_found && said_before(at, i))
            snprintf(r->why, sizeof r->why, "[%.40s] %.20s: " TWICE, section, name);
        else if (!value_set(r, &keys[i], value, at + keys[i].offset))
            snprintf(r->why, sizeof r->why, "[%.40s] %.20s: '%.40s' is not a value for it%s",
                     section, name, value, words);
        return !r->why[0];
    }
    snprintf(r->why, sizeof r->why, "unknown key '%.40s' in section [%.60s]", name, section);
    return 0;
}

/* ---- lines ---- */

#define BLANKS " \t\v\f"
#define SECTION_MOST 49 /* bytes that the library keeps of a name */

/* Besides blanks and the ends of lines. */
static bool has_controls(const char *line, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (((unsigned char) line[i] < ' ' && !strchr(BLANKS "\r", line[i])) || line[i] == 0x7f)
            return true;
    return false;
}

/* Why the line is refused, or NULL: the INI library would accept it silently. */
static const char *line_fault(const char *line, size_t n)
{
    if (memchr(line, '\0', n))
        return "the line holds a byte of value 0";
    if (strchr(line, '\r'))
        return "a carriage return stands within the line; lines end with \\n or \\r\\n";
    if (has_controls(line, n))
        return "the line holds a control byte, which text has not";
    line += strncmp(line, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
    line += strspn(line, BLANKS);
    const char *end = *line == '[' ? strchr(line, ']') : NULL;
    if (end && end - line - 1 > SECTION_MOST)
        return "the name of a section is longer than 49 bytes";
    if (end && !strchr(";#", end[1 + strspn(end + 1, BLANKS)])) /* which finds the zero too */
        return "after ] only a comment may stand";
    return NULL;
}

/* Strips leading blanks: the INI library would take an indented line as part of the value before
 * it. */
static char *line_read(char *buf, int size, void *arg)
{
    struct conf_reading *r = arg;
    const char *line = r->text, *fault;
    if (line == r->end || r->why[0])
        return NULL;
    const char *stop = memchr(line, '\n', (size_t) (r->end - line));
    size_t n = (size_t) ((stop ? stop : r->end) - line);
    r->text = stop ? stop + 1 : r->end;
    r->line++;
    n -= n && line[n - 1] == '\r';
    if (n >= (size_t) size - 1) {
        snprintf(r->why, sizeof r->why, "the line is longer than %d bytes", size - 2);
        return NULL;
    }
    memcpy(buf, line, n);
    buf[n] = '\0';
    if ((fault = line_fault(buf, n))) {
        snprintf(r->why, sizeof r->why, "%s", fault);
        return NULL;
    }
    if (!strcmp(buf, r->is_found ? CONF_OWN : CONF_FOUND))
        r->is_found = !r->is_found && r->line == 1;
    size_t blanks = strspn(buf, BLANKS);
    memmove(buf, buf + blanks, n - blanks + 1);
    return buf;
}

const struct conf_weights *model_conf_archive(const struct model_conf *c,
                                              const struct conf_weights *w)
{
    for (unsigned i = 0; w->archive && i < c->n_archives; i++)
        if (!strcmp(c->archives[i].file, w->archive))
            return &c->archives[i];
    return NULL;
}

/* They are written beside graph.nnef, and nowhere else. */
static bool names_a_file_beside(const char *name)
{
    static const char *const not [] = { ".", "..", "graph.nnef", "model.conf" };
    for (size_t i = 0; i < sizeof not / sizeof *not ; i++)
        if (!strcmp(name, not [i]))
            return false;
    return !strchr(name, '/');
}

static rill_status names_check(const struct conf_weights *list, unsigned n, const char *section,
                               const char *file, rill_error *reterr)
{
    for (unsigned i = 0; i < n; i++)
        if (!names_a_file_beside(list[i].file))
            return err_set(reterr, RILL_MALFORMED,
                           "%s: [%s.%.60s]: the name of a file beside graph.nnef, without slashes, "
                           "is expected, neither that nor model.conf",
                           file, section, list[i].file);
    return RILL_OK;
}

static rill_status weights_check(const struct model_conf *c, const char *file, rill_error *reterr)
{
    TRY(names_check(c->archives, c->n_archives, "archive", file, reterr));
    TRY(names_check(c->weights, c->n_weights, "weights", file, reterr));
    for (unsigned i = 0; i < c->n_weights; i++) {
        const struct conf_weights *w = &c->weights[i];
        if (w->archive && !model_conf_archive(c, w))
            return err_set(reterr, RILL_MALFORMED,
                           "%s: [weights.%.60s] archive: there is no section [archive.%.60s]", file,
                           w->file, w->archive);
        if (w->archive && *w->url)
            return err_set(reterr, RILL_MALFORMED,
                           "%s: [weights.%.60s] has both a url and an archive", file, w->file);
    }
    return RILL_OK;
}

rill_status model_conf_parse(struct model_conf *ret, struct arena *a, const char *file,
                             const char *text, size_t n, rill_error *reterr)
{
    struct model_conf conf;
    struct conf_reading r = { .conf = &conf, .arena = a, .text = text, .end = text + n };
    model_conf_default(&conf);
    int line = ini_parse_stream(line_read, &r, entry, &r);
    if (line < 0)
        return err_set(reterr, RILL_NOMEM, "%s: out of memory", file);
    if (r.why[0])
        return err_set(reterr, RILL_MALFORMED, "%s:%d: %s", file, r.line, r.why);
    if (line > 0)
        return err_set(reterr, RILL_MALFORMED, "%s:%d: expected [section] or key = value", file,
                       line);
    TRY(weights_check(&conf, file, reterr));
    *ret = conf;
    return RILL_OK;
}
