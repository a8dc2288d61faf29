/* SPDX-License-Identifier: MIT */
#include "sinks/gate.h"
#include "engine/base/sized.h"

#include <string.h>

#define GATE_PORTS_MAX 64
#define RING_SAMPLES_MAX (32 << 20) /* half of a sink's memory */

/* ---- making ---- */

/* A recogniser's ports: one input, of audio; `port` gives what the sink reads. */
static rill_status ports_check(struct gate *g, const rill_sink *detector, const rill_port *ports,
                               unsigned n, rill_error *err)
{
    unsigned n_inputs = 0;
    while (n_inputs < n && ports[n_inputs].is_input)
        n_inputs++;
    if (n_inputs != 1 || ports[0].kind != RILL_PORT_AUDIO || ports[0].width != 1 ||
        n > GATE_PORTS_MAX)
        return err_set(err, RILL_INVALID, "a recogniser behind a detector has one input, of audio");
    if (g->out_port >= n || ports[g->out_port].is_input)
        return err_set(err, RILL_INVALID, "port %u of the recogniser is not an output",
                       g->out_port);
    uint32_t rate = ports[0].rate_den ? ports[0].rate_num / ports[0].rate_den : 0;
    if (rate != detector->sample_rate)
        return err_set(
            err, RILL_INVALID,
            "the recogniser hears %u samples a second and the detector %u; both need the same",
            rate, detector->sample_rate);
    for (unsigned i = 1; i < n; i++)
        if (i != g->out_port)
            return err_set(err, RILL_INVALID,
                           "a recogniser behind a detector has one output; '%s' is one too many: "
                           "select_outputs leaves it out",
                           ports[i].name);
    return RILL_OK;
}

/* The ring holds the audio that the detector has not decided on yet, its last decision's, and the
 * preroll. */
static uint64_t ring_samples(const struct gate *g, const rill_sink *detector)
{
    const rill_port *p = &detector->port;
    uint64_t hop = p->hop_num / p->hop_den + 1, pulse = p->pulse_frames * hop;
    rill_plan_info info = { .struct_bytes = sizeof info };
    if (detector->plan)
        rill_plan_get_info(detector->plan, &info);
    pulse = info.pulse_samples > pulse ? info.pulse_samples : pulse;
    return g->preroll + p->latency_samples + 3 * pulse + 4 * hop;
}

rill_status gate_make(struct gate **ret, const rill_sink *detector, gate_recogniser make_recogniser,
                      const rill_plan *plan, unsigned port, const rill_sink_opts *opts,
                      rill_error *err)
{
    struct arena *a = (struct arena *) (uintptr_t) &detector->arena;
    struct gate *g = arena_new(a, struct gate);
    rill_port ports[GATE_PORTS_MAX] = { { .struct_bytes = sizeof *ports } };
    rill_sink_opts own = { .struct_bytes = sizeof own };
    if (!g)
        return sink_no_memory(err);
    unsigned n = rill_plan_ports(plan, ports, GATE_PORTS_MAX);
    g->out_port = port;
    TRY(ports_check(g, detector, ports, n, err));
    TRY(opts ? sized_take(&sized_sink_opts, &own, opts, err)
             : rill_sink_defaults(&own, plan, port, err));
    own.rule1_ms = own.rule2_ms = own.rule3_ms = 0; /* utterances end by the detector's rules */
    g->preroll = sink_samples(detector, detector->opts.preroll_ms);
    g->cap = ring_samples(g, detector);
    if (g->cap > RING_SAMPLES_MAX)
        return err_set(err, RILL_INVALID,
                       "preroll_ms = %u: a sink keeps at most %d samples of audio, and with that "
                       "it would be %llu",
                       detector->opts.preroll_ms, RING_SAMPLES_MAX, (unsigned long long) g->cap);
    g->width = ports[port].width;
    g->cap_frames = ports[port].pulse_frames ? ports[port].pulse_frames : 1;
    g->ring = arena_array(a, float, g->cap);
    g->frames = arena_alloc_array(a, g->cap_frames * sizeof(float), g->width);
    void *mem = arena_alloc(a, rill_plan_stream_size(plan));
    if (!g->ring || !g->frames || !mem)
        return sink_no_memory(err);
    TRY(make_recogniser(&g->sink, plan, port, &own, err));
    g->plan = rill_plan_ref((rill_plan *) (uintptr_t) plan);
    g->stream = rill_stream_init(mem, plan);
    gate_reset(g, detector->base_pos);
    *ret = g;
    return RILL_OK;
}

void gate_drop(struct gate *g)
{
    if (!g)
        return;
    rill_sink_free(g->sink);
    rill_plan_unref(g->plan);
}

void gate_reset(struct gate *g, uint64_t pos)
{
    g->n_in = g->decided = g->fed = g->last_end = pos;
    g->open = g->closing = g->was_cut = false;
    g->n_held = g->next_held = 0;
    g->n_frames = g->next_frame = 0;
    rill_sink_reset(g->sink, pos);
}

void gate_alone(struct gate *g, bool alone)
{
    rill_stream_alone(g->stream, alone);
    rill_sink_alone(g->sink, alone);
}

/* ---- audio ---- */

rill_status gate_audio(struct gate *g, const float *x, size_t n)
{
    uint64_t oldest = g->open ? g->fed : g->decided > g->preroll ? g->decided - g->preroll : 0;
    if (n > g->cap || (g->n_in + n > oldest && g->n_in + n - oldest > g->cap))
        return RILL_LIMIT;
    uint64_t at = g->n_in % g->cap, first = n < g->cap - at ? n : g->cap - at;
    memcpy(g->ring + at, x, (size_t) first * sizeof *x);
    memcpy(g->ring, x + first, (size_t) (n - first) * sizeof *x);
    g->n_in += n;
    return RILL_OK;
}

static void utterance_open(struct gate *g, const rill_sink *s, uint64_t pos)
{
    g->fed = pos > g->preroll + g->last_end ? pos - g->preroll : g->last_end;
    g->fed = g->fed < g->n_in ? g->fed : g->n_in;
    g->open = true;
    rill_stream_reset(g->stream);
    rill_sink_reset(g->sink, g->fed);
    rill_sink_end(g->sink, s->end_pos);
    g->n_frames = g->next_frame = 0;
}

static void utterance_close(struct gate *g)
{
    g->open = g->closing = false;
    g->last_end = g->decided;
}

/* One piece of audio from the ring. */
static void piece_feed(struct gate *g)
{
    uint64_t at = g->fed % g->cap, until = g->decided < g->n_in ? g->decided : g->n_in,
             n = until - g->fed;
    size_t took = 0;
    n = n < g->cap - at ? n : g->cap - at;
    if (rill_stream_push(g->stream, g->in_port, g->ring + at, (size_t) n, &took) != RILL_OK)
        took = (size_t) n; /* its stream stopped: there are no more words */
    g->fed += took;
}

/* ---- steps ---- */

/* One step of the recogniser; false: it needs more audio. */
static bool recogniser_step(struct gate *g)
{
    size_t took;
    if (g->next_frame < g->n_frames) {
        rill_sink_push(g->sink, g->frames + g->next_frame * g->width, g->n_frames - g->next_frame,
                       &took);
        g->next_frame += took;
        return true;
    }
    g->next_frame = 0;
    if (rill_stream_pull(g->stream, g->out_port, g->frames, g->cap_frames, &g->n_frames) != RILL_OK)
        g->n_frames = 0;
    if (g->n_frames || rill_stream_run(g->stream) == RILL_OK)
        return true;
    if (g->fed < g->decided && g->fed < g->n_in) {
        piece_feed(g);
        return true;
    }
    return false;
}

/* One step of an utterance that is over and all fed. False: its final has been reported. */
static bool closing_step(struct gate *g)
{
    rill_stream_finish(g->stream);
    if (g->fed < g->sink->end_pos)
        rill_sink_end(g->sink, g->fed);
    if (recogniser_step(g))
        return true;
    if (!g->sink->finished) {
        rill_sink_finish(g->sink);
        return true;
    }
    utterance_close(g);
    return false;
}

/* Reports the detector's next event; false: it must wait for the recogniser. */
static bool held_report(struct gate *g, rill_sink *s)
{
    rill_event *e = &g->held[g->next_held];
    if (e->kind == RILL_EVENT_SPEECH_START && !g->open)
        utterance_open(g, s, e->pos);
    if (e->kind == RILL_EVENT_ENDPOINT && g->open && e->rule != RILL_RULE_LENGTH) {
        g->closing = true;
        return false;
    }
    if (e->kind == RILL_EVENT_ENDPOINT && g->open && !g->was_cut) {
        g->was_cut = true;
        rill_sink_cut(g->sink);
        return false;
    }
    g->was_cut = false;
    g->next_held++;
    *sink_event(s, e->kind) = *e;
    return true;
}

void gate_more(struct gate *g, rill_sink *s)
{
    rill_event e = { .struct_bytes = sizeof e };
    for (;;) {
        if (rill_sink_next(g->sink, &e) == RILL_OK) {
            *sink_event(s, e.kind) = e;
            return;
        }
        if (rill_sink_fault(g->sink, &s->fault) != RILL_OK)
            return;
        if (g->open &&
            (g->closing && g->fed >= (g->decided < g->n_in ? g->decided : g->n_in)
                 ? closing_step(g)
                 : recogniser_step(g)))
            continue;
        if (g->next_held == g->n_held)
            return;
        if (held_report(g, s))
            return;
    }
}

void gate_decide(struct gate *g, rill_sink *s, uint64_t end_pos)
{
    memcpy(g->held, s->events, s->n_events * sizeof *g->held);
    g->n_held = s->n_events;
    g->next_held = 0;
    s->n_events = s->next_event = 0;
    g->decided = end_pos;
}

void gate_finish(struct gate *g, rill_sink *s)
{
    gate_decide(g, s, g->n_in > g->decided ? g->n_in : g->decided);
    g->closing = g->open;
}

void gate_cut(struct gate *g)
{
    if (g->open)
        rill_sink_cut(g->sink);
}
