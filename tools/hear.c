/* SPDX-License-Identifier: MIT */
#include "tools/hear.h"
#include "engine/base/err.h"
#include "lib/model.h"
#include "models/port_kinds.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define TABLE_LEAST_S 5 /* what stops a stream earlier is no table of positions */

/* ---- outputs ---- */

static bool is_words(rill_port_kind kind)
{
    return kind == RILL_PORT_CTC || kind == RILL_PORT_TRANSDUCER || kind == RILL_PORT_ATTENTION;
}

static bool is_kind(const rill_port *p, rill_port_kind kind)
{
    return !p->is_input && (p->kind == kind || (kind == RILL_PORT_CTC && is_words(p->kind)));
}

static int port_find(const struct hear_part *p, rill_port_kind kind)
{
    for (unsigned i = 0; i < p->n_ports; i++)
        if (is_kind(&p->ports[i], kind))
            return (int) i;
    return -1;
}

/* A bit a port. */
static uint64_t outputs_of(const struct hear_part *p, rill_port_kind kind)
{
    uint64_t set = 0;
    for (unsigned i = 0; i < p->n_ports; i++)
        set |= (uint64_t) is_kind(&p->ports[i], kind) << i;
    return set;
}

static uint64_t outputs_all(const struct hear_part *p)
{
    uint64_t set = 0;
    for (unsigned i = 0; i < p->n_ports && i < HEAR_PORTS_MAX; i++)
        set |= (uint64_t) !p->ports[i].is_input << i;
    return set;
}

/* ---- opening ---- */

static struct hear_part part_of(rill_plan *plan)
{
    struct hear_part p = { .plan = plan };
    p.ports[0].struct_bytes = sizeof *p.ports;
    p.n_ports = rill_plan_ports(plan, p.ports, HEAR_PORTS_MAX);
    p.n_ports = p.n_ports < HEAR_PORTS_MAX ? p.n_ports : HEAR_PORTS_MAX;
    return p;
}

/* One of several files of a recogniser does not hear alone. */
static void folder_advise(const char *model, rill_error *err)
{
    char tokens[4096];
    const char *name = strrchr(model, '/') ? strrchr(model, '/') + 1 : model;
    const int folder = (int) (name - model);
    struct stat st;
    snprintf(tokens, sizeof tokens, "%.*stokens.txt", folder, model);
    if (stat(model, &st) != 0 || !S_ISREG(st.st_mode) || stat(tokens, &st) != 0)
        return;
    const size_t at = strlen(err->text);
    snprintf(err->text + at, sizeof err->text - at,
             "; a recogniser is opened by its folder: --model %.*s", folder ? folder : 2,
             folder ? model : "./");
}

static rill_status plan_open(rill_plan **ret, const char *model, const struct open_opts *o,
                             rill_model_info *ret_info, rill_error *err)
{
    rill_model *m;
    TRY(open_any(&m, model, o, err));
    ret_info->struct_bytes = sizeof *ret_info;
    rill_model_get_info(m, ret_info);
    rill_plan_opts opts = { .struct_bytes = sizeof opts, .threads = (uint32_t) o->threads };
    rill_status s = open_pool(&opts.pool, o->threads, m, err);
    if (s == RILL_OK)
        s = rill_plan_new(ret, m, &opts, err);
    if (s != RILL_OK)
        folder_advise(model, err);
    rill_pool_free(opts.pool); /* the plan keeps it */
    rill_model_free(m);        /* the plan keeps it: info's strings stay */
    const unsigned n = s == RILL_OK ? rill_plan_ports(*ret, NULL, 0) : 0;
    if (n <= HEAR_PORTS_MAX)
        return s;
    *ret = rill_plan_unref(*ret);
    return err_set(err, RILL_LIMIT,
                   "model '%s' has %u inputs and outputs, at most %d are heard: --transform "
                   "'select_outputs(NAME)' keeps those that are wanted",
                   model, n, HEAR_PORTS_MAX);
}

/* "select_outputs(a, b)", before a pulse, which comes last; in a list of o's own. */
static void outputs_select(struct open_opts *o, char *text, size_t bytes,
                           const struct hear_part *whole, uint64_t keep)
{
    size_t at = (size_t) snprintf(text, bytes, "select_outputs(");
    const char *comma = "";
    for (unsigned i = 0; i < whole->n_ports && at < bytes; i++)
        if (keep >> i & 1) {
            at += (size_t) snprintf(text + at, bytes - at, "%s\"%s\"", comma, whole->ports[i].name);
            comma = ", ";
        }
    if (at < bytes)
        snprintf(text + at, bytes - at, ")");
    const struct opt_list l = o->transforms;
    const char **item = tool_alloc((l.n + 2u) * sizeof *item);
    unsigned k = l.n;
    for (; k && !strncmp(l.item[k - 1], "pulse(", 6); k--)
        item[k] = l.item[k - 1];
    for (unsigned i = 0; i < k; i++)
        item[i] = l.item[i];
    item[k] = text;
    o->transforms = (struct opt_list) { item, l.n + 1 };
}

/* The model with some of its outputs. */
static rill_status plan_select(rill_plan **ret, const char *model, const struct open_opts *o,
                               const struct hear_part *whole, uint64_t keep,
                               rill_model_info *ret_info, rill_error *err)
{
    char text[4096];
    struct open_opts some = *o;
    if (keep == outputs_all(whole)) {
        *ret = rill_plan_ref(whole->plan);
        return RILL_OK;
    }
    outputs_select(&some, text, sizeof text, whole, keep);
    rill_status s = plan_open(ret, model, &some, ret_info, err);
    free(some.transforms.item);
    return s;
}

/* Of a model with more outputs only the detector's counts. */
static rill_status detector_open(rill_plan **ret, const char *model, rill_error *err)
{
    struct open_opts none = { 0 };
    rill_model_info info = { .struct_bytes = sizeof info };
    rill_plan *p;
    TRY(plan_open(&p, model, &none, &info, err));
    struct hear_part whole = part_of(p);
    int vad = port_find(&whole, RILL_PORT_VAD);
    rill_status s = vad < 0
        ? err_set(err, RILL_INVALID, "'%s' gives no probability of speech", model)
        : plan_select(ret, model, &none, &whole, (uint64_t) 1 << vad, &info, err);
    rill_plan_unref(p);
    return s;
}

/* The recognisers apart; then what else the model gives, but for its detector where another one is
 * named; then that one. */
static rill_status parts_part(struct hear *h, const char *model, const struct hear_opts *o,
                              const struct hear_part *whole, rill_error *err)
{
    uint64_t words = outputs_of(whole, RILL_PORT_CTC);
    uint64_t rest = outputs_all(whole) & ~words;
    rest &= ~(o->detector ? outputs_of(whole, RILL_PORT_VAD) : 0);
    rill_plan *p;
    for (unsigned i = 0; i < whole->n_ports; i++) {
        if (!(words >> i & 1))
            continue;
        if (h->n_words == HEAR_WORDS_MAX)
            return err_set(err, RILL_UNSUPPORTED, "'%s' has more than %d recognisers", model,
                           HEAR_WORDS_MAX);
        TRY(plan_select(&p, model, &o->open, whole, (uint64_t) 1 << i, &h->info, err));
        h->words[h->n_words++] = p;
    }
    if (rest) {
        TRY(plan_select(&p, model, &o->open, whole, rest, &h->info, err));
        h->parts[h->n_parts++] = part_of(p);
    }
    if (o->detector) {
        TRY(detector_open(&p, o->detector, err));
        h->parts[h->n_parts++] = part_of(p);
    }
    return RILL_OK;
}

static rill_status parts_open(struct hear *h, const char *model, const struct hear_opts *o,
                              rill_error *err)
{
    rill_plan *p;
    TRY(plan_open(&p, model, &o->open, &h->info, err));
    struct hear_part whole = part_of(p);
    uint64_t words = outputs_of(&whole, RILL_PORT_CTC), all = outputs_all(&whole);
    rill_status s = RILL_OK;
    if (!words && o->detector) {
        s = err_set(err, RILL_INVALID,
                    "'%s' has no recogniser that a detector could go in front of", model);
    } else if (o->whole || !words || (!o->detector && !outputs_of(&whole, RILL_PORT_VAD))) {
        h->parts[h->n_parts++] = whole;
        return RILL_OK;
    } else if (all & (all - 1) && rill_plan_model(p)->compiled) {
        s = err_set(
            err, RILL_UNSUPPORTED,
            "'%s' is compiled with a recogniser and other outputs in one plan, which is not parted "
            "any more: name the model that it was compiled of, or let it hear everything with "
            "--no-vad",
            model);
    } else {
        s = parts_part(h, model, o, &whole, err);
    }
    rill_plan_unref(p);
    return s;
}

/* ---- sinks ---- */

static rill_status sink_opts_of(rill_sink_opts *ret, struct hear *h, const rill_plan *p,
                                unsigned port, const struct hear_opts *o, rill_error *err)
{
    TRY(rill_sink_defaults(ret, p, port, err));
    ret->beam = o->beam ? (uint32_t) o->beam : ret->beam;
    if (ret->kind == RILL_PORT_TRANSDUCER) {
        h->has_transducer = true;
        ret->hotwords = o->hotwords ? o->hotwords : ret->hotwords;
        ret->lm = o->lm ? o->lm : ret->lm;
        ret->lm_scale = o->lm_scale ? (float) *o->lm_scale : ret->lm_scale;
        ret->beam = (o->hotwords || o->lm) && ret->beam == 1 && !o->beam ? 0 : ret->beam;
        ret->hotwords_score = o->hotwords_score ? (float) *o->hotwords_score : ret->hotwords_score;
        ret->blank_penalty = o->blank_penalty ? (float) *o->blank_penalty : ret->blank_penalty;
    }
    ret->confidence = o->confidence ? (float) *o->confidence : ret->confidence;
    return RILL_OK;
}

static rill_status ear_open(struct hear *h, unsigned part, unsigned port, const struct hear_opts *o,
                            rill_error *err)
{
    struct hear_ear *e = &h->ears[h->n_ears];
    rill_sink_opts so = { .struct_bytes = sizeof so };
    TRY(sink_opts_of(&so, h, h->parts[part].plan, port, o, err));
    *e = (struct hear_ear) { .part = part, .port = port };
    TRY(rill_sink_new(&e->sink, h->parts[part].plan, port, &so, err));
    h->n_ears++;
    return RILL_OK;
}

static rill_status ear_listen(struct hear *h, struct hear_ear *e, unsigned k,
                              const struct hear_opts *o, rill_error *err)
{
    struct hear_part words = part_of(h->words[k]);
    unsigned port = (unsigned) port_find(&words, RILL_PORT_CTC);
    rill_sink_opts so = { .struct_bytes = sizeof so };
    TRY(sink_opts_of(&so, h, words.plan, port, o, err));
    TRY(rill_sink_listen(e->sink, words.plan, port, &so, err));
    h->words_ports[k] = words.ports[port];
    e->listens = true;
    e->texts_only = k > 0;
    return RILL_OK;
}

/* The first recogniser goes behind the detector's ear, each further one behind one of its own. */
static rill_status words_open(struct hear *h, const struct hear_opts *o, rill_error *err)
{
    unsigned part = h->n_parts - 1, vad = (unsigned) port_find(&h->parts[part], RILL_PORT_VAD);
    for (unsigned k = 0; k < h->n_words; k++) {
        struct hear_ear *e = &h->ears[h->n_ears];
        for (unsigned i = 0; k == 0 && i < h->n_ears; i++)
            if (h->ears[i].part == part && h->ears[i].port == vad)
                e = &h->ears[i];
        if (k > 0)
            TRY(ear_open(h, part, vad, o, err));
        TRY(ear_listen(h, e, k, o, err));
    }
    return RILL_OK;
}

static rill_status part_check(const struct hear *h, const struct hear_part *p, const char *name,
                              rill_error *err)
{
    const rill_port *in = &p->ports[0];
    if (!p->n_ports || !in->is_input || in->kind != RILL_PORT_AUDIO || in->width != 1 ||
        (p->n_ports > 1 && p->ports[1].is_input))
        return open_bare_tell(err_set(err, RILL_INVALID, "model '%s' does not take audio alone",
                                      name),
                              err, name);
    TRY(open_rate_check(in, name, err));
    unsigned rate = in->rate_num / in->rate_den;
    if (h->rate && rate != h->rate)
        return err_set(err, RILL_INVALID, "model '%s' hears %u Hz, '%s' %u Hz: they must be one",
                       h->info.name, h->rate, name, rate);
    return RILL_OK;
}

static rill_status sinks_open(struct hear *h, const struct hear_opts *o, rill_error *err)
{
    size_t most = 1;
    for (unsigned k = 0; k < h->n_parts; k++) {
        struct hear_part *p = &h->parts[k];
        bool other = o->detector && k == h->n_parts - 1;
        TRY(part_check(h, p, other ? o->detector : h->info.name, err));
        h->rate = p->ports[0].rate_num / p->ports[0].rate_den;
        for (unsigned i = 0; i < p->n_ports; i++) {
            size_t bytes = tool_pulse_bytes(&p->ports[i]);
            most = bytes > most ? bytes : most;
            if (!p->ports[i].is_input && port_has_sink(p->ports[i].kind))
                TRY(ear_open(h, k, i, o, err));
        }
        p->stream = rill_stream_init(tool_alloc(rill_plan_stream_size(p->plan)), p->plan);
    }
    h->audio_port = port_find(&h->parts[0], RILL_PORT_AUDIO);
    h->frames = tool_alloc(most);
    TRY(words_open(h, o, err));
    return h->has_transducer || !(o->hotwords || o->lm || o->blank_penalty)
        ? RILL_OK
        : err_set(err, RILL_INVALID,
                  "'%s' has no transducer, which hotwords, an lm and a blank penalty are for",
                  h->info.name);
}

rill_status hear_open(struct hear *h, const char *model, const struct hear_opts *o,
                      const struct hear_calls *calls, rill_error *reterr)
{
    *h = (struct hear) { .calls = *calls, .audio_port = -1 };
    rill_status s = parts_open(h, model, o, reterr);
    return s == RILL_OK ? sinks_open(h, o, reterr) : s;
}

void hear_close(struct hear *h)
{
    for (unsigned i = 0; i < h->n_ears; i++)
        rill_sink_free(h->ears[i].sink);
    for (unsigned i = 0; i < h->n_words; i++)
        rill_plan_unref(h->words[i]);
    for (unsigned i = 0; i < h->n_parts; i++) {
        free(h->parts[i].stream);
        rill_plan_unref(h->parts[i].plan);
    }
    free(h->frames);
}

const rill_port *hear_port(const struct hear *h, rill_port_kind kind)
{
    if (h->n_words && is_words(kind))
        return &h->words_ports[0];
    for (unsigned k = 0; k < h->n_parts; k++) {
        int i = port_find(&h->parts[k], kind);
        if (i >= 0)
            return &h->parts[k].ports[i];
    }
    return NULL;
}

/* ---- running ---- */

static rill_status events_tell(struct hear *h, const struct hear_ear *ear, rill_error *err)
{
    rill_event e = { .struct_bytes = sizeof e };
    while (rill_sink_next(ear->sink, &e) == RILL_OK) {
        h->endpoint_at = e.kind == RILL_EVENT_ENDPOINT ? e.pos : h->endpoint_at;
        if (!ear->texts_only || e.kind == RILL_EVENT_PARTIAL || e.kind == RILL_EVENT_FINAL)
            h->calls.event(h->calls.arg, &e);
    }
    return rill_sink_fault(ear->sink, err);
}

static rill_status ear_push(struct hear *h, const struct hear_ear *e, size_t n, rill_error *err)
{
    const unsigned width = h->parts[e->part].ports[e->port].width;
    for (size_t at = 0, took; at < n; at += took) {
        rill_status s = rill_sink_push(e->sink, h->frames + at * width, n - at, &took);
        if (s != RILL_OK)
            return err_set(err, s, "an output is not read on");
        TRY(events_tell(h, e, err));
    }
    return RILL_OK;
}

static rill_status frames_take(struct hear *h, unsigned part, unsigned port, size_t n,
                               rill_error *err)
{
    for (unsigned i = 0; i < h->n_ears; i++)
        if (h->ears[i].part == part && h->ears[i].port == port)
            TRY(ear_push(h, &h->ears[i], n, err));
    if (h->parts[part].ports[port].kind == RILL_PORT_VAD)
        h->speech = h->frames[n - 1];
    if (part == 0 && (int) port == h->audio_port && h->calls.audio)
        h->calls.audio(h->calls.arg, h->frames, n);
    return RILL_OK;
}

static rill_status outputs_pull(struct hear *h, unsigned part, rill_error *err)
{
    const struct hear_part *p = &h->parts[part];
    for (unsigned i = 0; i < p->n_ports; i++)
        for (size_t n = p->ports[i].is_input ? 0 : 1; n;) {
            if (rill_stream_pull(p->stream, i, h->frames, p->ports[i].pulse_frames, &n) !=
                    RILL_OK ||
                !n)
                break;
            TRY(frames_take(h, part, i, n, err));
        }
    return RILL_OK;
}

/* All pulses that are due. */
static rill_status part_run(struct hear *h, unsigned part, rill_error *err)
{
    for (;;) {
        double before = tool_now_s();
        rill_status s = rill_stream_run(h->parts[part].stream), read = RILL_OK;
        if (s == RILL_OK)
            read = outputs_pull(h, part, err);
        double took = tool_now_s() - before;
        h->busy_s += took;
        h->worst_s = took > h->worst_s ? took : h->worst_s;
        if (s == RILL_AGAIN || s == RILL_END || read != RILL_OK)
            return read;
        if (s != RILL_OK)
            return rill_stream_fault(h->parts[part].stream, err);
    }
}

static rill_status part_push(struct hear *h, unsigned part, const float *x, size_t n,
                             rill_error *err)
{
    for (size_t at = 0, took; at < n; at += took) {
        rill_status s = rill_stream_push(h->parts[part].stream, 0, x + at, n - at, &took);
        if (s != RILL_OK)
            return err_set(err, s, "the model takes no more audio");
        for (unsigned i = 0; i < h->n_ears; i++)
            if (h->ears[i].listens && h->ears[i].part == part &&
                (s = rill_sink_audio(h->ears[i].sink, x + at, took)) != RILL_OK)
                return err_set(err, s, "the recogniser takes no more audio");
        TRY(part_run(h, part, err));
    }
    return RILL_OK;
}

/* As far as no part has more than one pulse to run: in the order of time. */
static size_t samples_next(const struct hear *h, size_t n)
{
    for (unsigned k = 0; k < h->n_parts; k++) {
        const rill_port *in = h->parts[k].ports;
        uint64_t pulse = in->pulse_frames,
                 begun = h->n_samples - h->begun_at + pulse - in->first_frames;
        size_t left = pulse ? (size_t) (pulse - begun % pulse) : n;
        n = left < n ? left : n;
    }
    return n;
}

rill_status hear_check(const struct hear *h, size_t n, rill_error *reterr)
{
    for (unsigned k = 0; k < h->n_parts; k++)
        TRY(rill_plan_check_length(h->parts[k].plan, 0, n, reterr));
    return RILL_OK;
}

rill_status hear_push(struct hear *h, const float *x, size_t n, rill_error *reterr)
{
    for (size_t at = 0, some; at < n; at += some) {
        some = samples_next(h, n - at);
        h->n_samples += some;
        for (unsigned k = 0; k < h->n_parts; k++)
            TRY(part_push(h, k, x + at, some, reterr));
    }
    return RILL_OK;
}

static rill_status ears_finish(struct hear *h, rill_error *err)
{
    rill_status s = RILL_OK;
    for (unsigned i = 0; i < h->n_ears; i++) {
        rill_sink_finish(h->ears[i].sink);
        const rill_status told = events_tell(h, &h->ears[i], s == RILL_OK ? err : NULL);
        s = s == RILL_OK ? told : s;
    }
    return s;
}

rill_status hear_finish(struct hear *h, rill_error *reterr)
{
    for (unsigned i = 0; i < h->n_ears; i++)
        rill_sink_end(h->ears[i].sink, h->n_samples);
    for (unsigned k = 0; k < h->n_parts; k++) {
        rill_stream_finish(h->parts[k].stream);
        TRY(part_run(h, k, reterr));
        TRY(outputs_pull(h, k, reterr));
    }
    TRY(ears_finish(h, reterr));
    return hear_check(h, h->n_samples - h->begun_at, reterr);
}

void hear_break_off(struct hear *h)
{
    for (unsigned i = 0; i < h->n_ears; i++)
        rill_sink_end(h->ears[i].sink, h->n_samples);
    ears_finish(h, NULL);
}

/* Behind the last frame that came: the pulse that failed gave none. */
static uint64_t heard_until(const struct hear *h)
{
    const struct hear_part *p = &h->parts[0];
    const uint64_t lost =
        p->ports[0].pulse_frames + (uint64_t) p->ports[h->ears[0].port].latency_samples;
    return h->n_samples > h->begun_at + lost ? h->n_samples - lost : h->begun_at;
}

bool hear_begin_afresh(struct hear *h, uint64_t *ret_pos)
{
    const bool is_alone = h->n_parts == 1 && !h->n_words && h->n_ears == 1 && h->audio_port < 0 &&
        is_words(h->parts[0].ports[h->ears[0].port].kind);
    if (!is_alone || rill_stream_fault(h->parts[0].stream, NULL) == RILL_OK ||
        heard_until(h) - h->begun_at < (uint64_t) TABLE_LEAST_S * h->rate)
        return false;
    if (h->endpoint_at > h->begun_at) {
        h->begun_at = h->endpoint_at;
    } else {
        h->begun_at = heard_until(h);
        hear_break_off(h);
    }
    h->n_samples = h->begun_at;
    rill_stream_reset(h->parts[0].stream);
    rill_sink_reset(h->ears[0].sink, h->begun_at);
    *ret_pos = h->begun_at;
    return true;
}
