/* SPDX-License-Identifier: MIT */
#include "tools/hear.h"
#include "engine/base/err.h"
#include "engine/model.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- opening ---- */

static bool is_words(rill_port_kind kind)
{
    return kind == RILL_PORT_CTC || kind == RILL_PORT_TRANSDUCER;
}

static int port_find(const rill_port *ports, unsigned n, rill_port_kind kind)
{
    for (unsigned i = 0; i < n; i++)
        if (!ports[i].is_input &&
            (ports[i].kind == kind || (kind == RILL_PORT_CTC && is_words(ports[i].kind))))
            return (int) i;
    return -1;
}

static rill_status plan_open(rill_plan **ret, const char *model, const struct open_opts *o,
                             rill_model_info *ret_info, rill_error *err)
{
    rill_model *m;
    TRY(open_any(&m, model, o, err));
    rill_model_get_info(m, ret_info);
    rill_status s = rill_plan_new(ret, m, NULL, err);
    rill_model_free(m);         /* the plan keeps it: info's strings stay */
    return s;
}

/* "select_outputs(a, b)" of all outputs but `out`, or of it alone; before a pulse, which comes
 * last. */
static void outputs_select(struct open_opts *o, char *text, size_t bytes, const rill_port *ports,
                           unsigned n, int out, bool alone)
{
    size_t at = (size_t) snprintf(text, bytes, "select_outputs(");
    const char *comma = "";
    for (unsigned i = 0; i < n && at < bytes; i++)
        if (!ports[i].is_input && ((int) i == out) == alone) {
            at += (size_t) snprintf(text + at, bytes - at, "%s\"%s\"", comma, ports[i].name);
            comma = ", ";
        }
    if (at < bytes)
        snprintf(text + at, bytes - at, ")");
    struct opt_list *l = &o->transforms;
    unsigned k = l->n < OPT_LIST_MAX ? l->n++ : l->n - 1;
    for (; k && !strncmp(l->item[k - 1], "pulse(", 6); k--)
        l->item[k] = l->item[k - 1];
    l->item[k] = text;
}

static void plan_take(struct hear *h, rill_plan *p)
{
    rill_plan_unref(h->plan);
    h->plan = p;
    h->n_ports = rill_plan_ports(p, h->ports, HEAR_PORTS_MAX);
    if (h->n_ports > HEAR_PORTS_MAX)
        h->n_ports = HEAR_PORTS_MAX;
}

/* Of a model with more outputs only the detector's counts. */
static rill_status detector_open(rill_plan **ret, const char *model, rill_error *err)
{
    static char text[4096];
    struct open_opts none = { 0 };
    rill_port ports[HEAR_PORTS_MAX];
    rill_model_info info;
    rill_plan *p;
    TRY(plan_open(&p, model, &none, &info, err));
    unsigned n = rill_plan_ports(p, ports, HEAR_PORTS_MAX);
    n = n < HEAR_PORTS_MAX ? n : HEAR_PORTS_MAX;
    int out = port_find(ports, n, RILL_PORT_VAD);
    if (n == 2 || out < 0) {
        *ret = p;
        return RILL_OK;
    }
    outputs_select(&none, text, sizeof text, ports, n, out, true);
    rill_plan_unref(p);
    return plan_open(ret, model, &none, &info, err);
}

/* Two plans where a detector goes in front: h->plan with everything else, *ret_words with the
 * recogniser. */
static rill_status plans_open(struct hear *h, const char *model, const struct hear_opts *o,
                              rill_plan **ret_words, rill_error *err)
{
    static char texts[2][4096];
    rill_plan *p = NULL, *words = NULL;
    TRY(plan_open(&p, model, &o->open, &h->info, err));
    plan_take(h, p);
    int out = port_find(h->ports, h->n_ports, RILL_PORT_CTC),
        vad = port_find(h->ports, h->n_ports, RILL_PORT_VAD);
    unsigned n_outputs = 0;
    for (unsigned i = 0; i < h->n_ports; i++)
        n_outputs += !h->ports[i].is_input;
    if (out < 0 && o->detector)
        return err_set(err, RILL_INVALID,
                       "'%s' has no recogniser that a detector could go in front of", model);
    if (o->whole || out < 0 || (!o->detector && vad < 0))
        return RILL_OK;
    if (n_outputs > 1 && rill_plan_model(h->plan)->compiled)
        return err_set(
            err, RILL_UNSUPPORTED,
            "'%s' is compiled with a recogniser and other outputs in one plan, which is not parted "
            "any more: name the model that it was compiled of, or let it hear everything with "
            "--no-vad",
            model);
    struct open_opts one = o->open, rest = o->open;
    outputs_select(&one, texts[0], sizeof texts[0], h->ports, h->n_ports, out, true);
    outputs_select(&rest, texts[1], sizeof texts[1], h->ports, h->n_ports, out, false);
    if (n_outputs == 1)
        words = rill_plan_ref(h->plan);
    else
        TRY(plan_open(&words, model, &one, &h->info, err));
    rill_status s = o->detector ? detector_open(&p, o->detector, err)
        : plan_open(&p, model, &rest, &h->info, err);
    if (s == RILL_OK)
        plan_take(h, p);
    *ret_words = words;
    return s;
}

static rill_status sink_open(struct hear *h, unsigned port, const struct hear_opts *o,
                             rill_error *err)
{
    rill_sink_opts so;
    TRY(rill_sink_defaults(&so, h->plan, port, err));
    so.beam = o->beam ? (uint32_t) o->beam : so.beam;
    TRY(rill_sink_new(&h->sinks[port], h->plan, port, &so, err));
    h->n_sinks++;
    return RILL_OK;
}

static rill_status words_open(struct hear *h, rill_plan *words, const struct hear_opts *o,
                              rill_error *err)
{
    rill_sink_opts so;
    rill_port ports[HEAR_PORTS_MAX];
    int vad = port_find(h->ports, h->n_ports, RILL_PORT_VAD);
    unsigned n = rill_plan_ports(words, ports, HEAR_PORTS_MAX);
    int out = port_find(ports, n < HEAR_PORTS_MAX ? n : HEAR_PORTS_MAX, RILL_PORT_CTC);
    if (vad < 0)
        return err_set(err, RILL_INVALID, "'%s' gives no probability of speech",
                       o->detector ? o->detector : h->info.name);
    TRY(rill_sink_defaults(&so, words, (unsigned) out, err));
    so.beam = o->beam ? (uint32_t) o->beam : so.beam;
    TRY(rill_sink_listen(h->sinks[vad], words, (unsigned) out, &so, err));
    h->words = ports[out];
    h->gated = true;
    return RILL_OK;
}

static rill_status sinks_open(struct hear *h, rill_plan *words, const struct hear_opts *o,
                              rill_error *err)
{
    size_t most = 1;
    h->audio_port = port_find(h->ports, h->n_ports, RILL_PORT_AUDIO);
    if (!h->n_ports || !h->ports[0].is_input || h->ports[0].kind != RILL_PORT_AUDIO ||
        h->ports[0].width != 1 || (h->n_ports > 1 && h->ports[1].is_input))
        return err_set(err, RILL_INVALID, "model '%s' does not take audio alone", h->info.name);
    h->rate = h->ports[0].rate_den ? h->ports[0].rate_num / h->ports[0].rate_den : 0;
    if (!h->rate)
        return err_set(err, RILL_INVALID, "model '%s' states no sample rate", h->info.name);
    for (unsigned i = 0; i < h->n_ports; i++) {
        size_t floats = (size_t) h->ports[i].pulse_frames * h->ports[i].width;
        most = floats > most ? floats : most;
        if (!h->ports[i].is_input && h->ports[i].kind >= RILL_PORT_VAD)
            TRY(sink_open(h, i, o, err));
    }
    if (words)
        TRY(words_open(h, words, o, err));
    h->frames = tool_alloc(most * sizeof *h->frames);
    h->stream = rill_stream_init(tool_alloc(rill_plan_stream_size(h->plan)), h->plan);
    return RILL_OK;
}

rill_status hear_open(struct hear *h, const char *model, const struct hear_opts *o,
                      const struct hear_calls *calls, rill_error *reterr)
{
    rill_plan *words = NULL;
    *h = (struct hear) { .calls = *calls, .audio_port = -1 };
    rill_status s = plans_open(h, model, o, &words, reterr);
    if (s == RILL_OK)
        s = sinks_open(h, words, o, reterr);
    rill_plan_unref(words);     /* the sink keeps it */
    return s;
}

void hear_close(struct hear *h)
{
    for (unsigned i = 0; i < HEAR_PORTS_MAX; i++)
        rill_sink_free(h->sinks[i]);
    free(h->frames);
    free(h->stream);
    rill_plan_unref(h->plan);
}

const rill_port *hear_port(const struct hear *h, rill_port_kind kind)
{
    int i = port_find(h->ports, h->n_ports, kind);
    if (i < 0 && h->gated && is_words(kind))
        return &h->words;
    return i < 0 ? NULL : &h->ports[i];
}

/* ---- running ---- */

static void events_tell(struct hear *h, unsigned port)
{
    rill_event e;
    while (rill_sink_next(h->sinks[port], &e) == RILL_OK)
        h->calls.event(h->calls.arg, &e, &h->ports[port]);
}

static void frames_take(struct hear *h, unsigned port, size_t n)
{
    for (size_t at = 0, took; h->sinks[port] && at < n; at += took) {
        rill_sink_push(h->sinks[port], h->frames + at * h->ports[port].width, n - at, &took);
        events_tell(h, port);
    }
    if (h->ports[port].kind == RILL_PORT_VAD && n)
        h->speech = h->frames[n - 1];
    if ((int) port == h->audio_port && h->calls.audio)
        h->calls.audio(h->calls.arg, h->frames, n);
}

static void outputs_pull(struct hear *h)
{
    for (unsigned i = 0; i < h->n_ports; i++) {
        size_t n = h->ports[i].is_input ? 0 : 1;
        while (n &&
               rill_stream_pull(h->stream, i, h->frames, h->ports[i].pulse_frames, &n) == RILL_OK &&
               n)
            frames_take(h, i, n);
    }
}

static void due_run(struct hear *h)
{
    for (;;) {
        double before = tool_now_s();
        rill_status s = rill_stream_run(h->stream);
        if (s == RILL_OK)
            outputs_pull(h);
        double took = tool_now_s() - before;
        h->busy_s += took;
        h->worst_s = took > h->worst_s ? took : h->worst_s;
        h->n_pulses += s == RILL_OK;
        if (s != RILL_OK)
            return;
    }
}

void hear_push(struct hear *h, const float *x, size_t n)
{
    for (size_t at = 0, took; at < n; at += took) {
        rill_stream_push(h->stream, 0, x + at, n - at, &took);
        for (unsigned i = 0; h->gated && i < h->n_ports; i++)
            if (h->sinks[i] && h->ports[i].kind == RILL_PORT_VAD)
                rill_sink_audio(h->sinks[i], x + at,
                                took); /* INVALID of one that does not listen */
        due_run(h);
    }
}

void hear_finish(struct hear *h)
{
    rill_stream_finish(h->stream);
    due_run(h);
    outputs_pull(h);
    for (unsigned i = 0; i < h->n_ports; i++)
        if (h->sinks[i]) {
            rill_sink_finish(h->sinks[i]);
            events_tell(h, i);
        }
}
