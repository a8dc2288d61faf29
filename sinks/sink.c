/* SPDX-License-Identifier: MIT */
#include "sinks/gate.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SINK_BYTES_MAX ((size_t) 256 << 20)

static const struct sink_kind *const kinds[] = { &sink_ctc, &sink_keyword, &sink_transducer,
                                                 &sink_vad };

static const struct sink_kind *kind_of(rill_port_kind port)
{
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (kinds[i]->port == port)
            return kinds[i];
    return NULL;
}

rill_status sink_no_memory(rill_error *err)
{
    return err_set(err, RILL_NOMEM, "out of memory for a sink");
}

/* ---- options ---- */

static rill_status opts_fill(rill_sink *s, rill_error *err)
{
    rill_sink_opts *o = &s->opts;
    if (!(o->threshold >= 0 && o->threshold <= 1) || !(o->release >= 0 && o->release <= 1) ||
        !(o->stability >= 0 && o->stability <= 1) || !(o->confidence >= 0 && o->confidence <= 1))
        return err_set(err, RILL_INVALID,
                       "threshold, release, stability and confidence are from 0 to 1");
    o->beam = o->beam ? o->beam : o->kind == RILL_PORT_TRANSDUCER ? 4 : 8;
    o->max_tokens = o->max_tokens ? o->max_tokens : 192;
    o->threshold = o->threshold > 0 ? o->threshold : 0.5f;
    o->release = o->release > 0 && o->release < o->threshold ? o->release : o->threshold;
    o->smooth_frames = o->smooth_frames ? o->smooth_frames : 1;
    o->patience_frames = o->patience_frames ? o->patience_frames : 1;
    if (o->beam > RILL_BEAM_MAX || o->max_tokens < SINK_TOKENS_MIN ||
        o->max_tokens > SINK_TOKENS_MAX)
        return err_set(err, RILL_INVALID,
                       "beam is at most %d and max_tokens %d to %d; they are %u and %u",
                       RILL_BEAM_MAX, SINK_TOKENS_MIN, SINK_TOKENS_MAX, o->beam, o->max_tokens);
    if (o->smooth_frames > SINK_FRAMES_MAX || o->patience_frames > SINK_FRAMES_MAX)
        return err_set(err, RILL_INVALID, "smooth_frames and patience_frames are at most %d",
                       SINK_FRAMES_MAX);
    const uint32_t ms[] = { o->rule1_ms,    o->rule2_ms,    o->rule3_ms,
                            o->debounce_ms, o->hangover_ms, o->preroll_ms };
    for (size_t i = 0; i < sizeof ms / sizeof *ms; i++)
        if (ms[i] > SINK_MS_MAX || (ms[i] && !s->sample_rate))
            return err_set(
                err, RILL_INVALID,
                ms[i] > SINK_MS_MAX
                    ? "a time is at most a day, 86400000 ms"
                    : "times in milliseconds need the sample_rate that model.conf does not state");
    return RILL_OK;
}

/* ---- making ---- */

static uint32_t sample_rate_of(const rill_port *p)
{
    uint64_t hops = (uint64_t) p->rate_den * p->hop_den;
    return hops ? (uint32_t) ((uint64_t) p->rate_num * p->hop_num / hops) : 0;
}

static rill_status sink_make(rill_sink *s, rill_error *err)
{
    if (!s->port.width || !s->port.hop_num)
        return err_set(err, RILL_INVALID, "output '%s' does not run along time",
                       s->port.name ? s->port.name : "");
    TRY(opts_fill(s, err));
    TRY(s->kind->make(s, err));
    s->opts.tokens = s->opts.words = s->opts.ignore = NULL;
    rill_sink_reset(s, 0);
    s->segment = 0;
    return RILL_OK;
}

rill_status sink_new(rill_sink **ret, const rill_port *port, rill_plan *plan,
                     const rill_sink_opts *opts, rill_error *err)
{
    const struct sink_kind *kind = kind_of(opts->kind);
    if (!kind)
        return err_set(err, RILL_INVALID, "no sink reads outputs of kind %d", (int) opts->kind);
    rill_sink *s = calloc(1, sizeof *s);
    if (!s)
        return sink_no_memory(err);
    *s = (rill_sink) { .kind = kind,
                       .opts = *opts,
                       .port = *port,
                       .sample_rate = sample_rate_of(port),
                       .plan = plan,
                       .arena = { .limit_bytes = SINK_BYTES_MAX } };
    if (plan)
        rill_plan_ref(plan);
    rill_status status = sink_make(s, err);
    if (status != RILL_OK) {
        rill_sink_free(s);
        return status;
    }
    *ret = s;
    return RILL_OK;
}

rill_status rill_sink_new(rill_sink **ret, const rill_plan *p, unsigned port,
                          const rill_sink_opts *opts, rill_error *reterr)
{
    rill_sink_opts own;
    rill_port ports[64];
    if (port >= rill_plan_ports(p, ports, 64) || port >= 64 || ports[port].is_input)
        return err_set(reterr, RILL_INVALID, "port %u is not an output", port);
    if (!opts) {
        TRY(rill_sink_defaults(&own, p, port, reterr));
        opts = &own;
    }
    rill_plan *plan = (rill_plan *) (uintptr_t) p; /* only the count changes */
    return sink_new(ret, &ports[port], plan, opts, reterr);
}

rill_sink *rill_sink_free(rill_sink *s)
{
    if (!s)
        return NULL;
    if (s->kind->drop)
        s->kind->drop(s);
    rill_plan_unref(s->plan);
    arena_drop(&s->arena);
    free(s);
    return NULL;
}

size_t rill_sink_bytes(const rill_sink *s)
{
    const struct gate *g = sink_gate(s);
    return sizeof *s + arena_bytes(&s->arena) + (g ? rill_sink_bytes(g->sink) : 0);
}

/* ---- frames in, events out ---- */

uint64_t sink_pos(const rill_sink *s, uint64_t frame)
{
    int64_t hop = (int64_t) (frame * s->port.hop_num / s->port.hop_den),
            pos = hop + s->port.offset_num / (int64_t) s->port.offset_den;
    return s->base_pos + (pos > 0 ? (uint64_t) pos : 0);
}

uint64_t sink_samples(const rill_sink *s, uint32_t ms)
{
    return (uint64_t) ms * s->sample_rate / 1000;
}

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* Where the last frame begins that begins before `end`, which lies behind the first. */
static uint64_t last_frame_pos(const rill_sink *s, uint64_t end)
{
    int64_t into =
        (int64_t) (end - 1 - s->base_pos) - s->port.offset_num / (int64_t) s->port.offset_den;
    uint64_t frame = into > 0 ? (uint64_t) into * s->port.hop_den / s->port.hop_num : 0;
    while (sink_pos(s, frame + 1) < end)
        frame++;
    return least(sink_pos(s, frame), end);
}

void sink_bound(const rill_sink *s, uint64_t from, uint64_t *pos, uint64_t *end_pos)
{
    uint64_t end = s->end_pos;
    if (*pos >= end) {
        uint64_t last = end > s->base_pos ? last_frame_pos(s, end) : end;
        *pos = least(from > last ? from : last, end);
    }
    *end_pos = least(*end_pos, end);
}

/* Texts and what a recogniser behind this sink says are within the input already. */
static void event_bound(rill_sink *s, rill_event *e)
{
    bool is_text = e->kind == RILL_EVENT_PARTIAL || e->kind == RILL_EVENT_FINAL;
    if (e->kind == RILL_EVENT_SPEECH_START || e->kind == RILL_EVENT_KEYWORD)
        sink_bound(s, s->told_pos, &e->pos, &e->end_pos);
    e->pos = least(e->pos, s->end_pos);
    e->end_pos = least(e->end_pos, s->end_pos);
    uint64_t told = is_text ? e->end_pos : e->pos;
    if (e->kind != RILL_EVENT_PARTIAL && told > s->told_pos)
        s->told_pos = told;
}

rill_event *sink_event(rill_sink *s, rill_event_kind kind)
{
    rill_event *v =
        &s->events[s->n_events < SINK_EVENTS_MAX - 1 ? s->n_events++ : SINK_EVENTS_MAX - 1];
    *v = (rill_event) { .kind = kind, .text = "" };
    return v;
}

static bool events_wait(const rill_sink *s)
{
    return s->next_event < s->n_events;
}

static void events_clear(rill_sink *s)
{
    s->n_events = s->next_event = 0;
}

/* Ends what the last frame began; whether there are events to tell before the next. */
static bool sink_settle(rill_sink *s)
{
    if (events_wait(s))
        return true;
    events_clear(s);
    if (s->kind->more)
        s->kind->more(s);
    return events_wait(s);
}

rill_status rill_sink_push(rill_sink *s, const float *x, size_t n_frames, size_t *ret_taken)
{
    size_t n = 0;
    if (s->finished)
        return RILL_INVALID;
    while (n < n_frames && !sink_settle(s)) {
        s->kind->frame(s, x + n * s->port.width);
        s->n_frames++;
        n++;
    }
    *ret_taken = n;
    return RILL_OK;
}

rill_status rill_sink_next(rill_sink *s, rill_event *ret)
{
    if (!sink_settle(s))
        return s->finished ? RILL_END : RILL_AGAIN;
    *ret = s->events[s->next_event++];
    event_bound(s, ret);
    return RILL_OK;
}

void rill_sink_cut(rill_sink *s)
{
    if (s->finished || sink_settle(s))
        return;
    if (s->kind->cut)
        s->kind->cut(s);
}

void rill_sink_end(rill_sink *s, uint64_t pos)
{
    struct gate *g = sink_gate(s);
    s->end_pos = pos;
    if (g)
        rill_sink_end(g->sink, pos);
}

void rill_sink_finish(rill_sink *s)
{
    if (s->finished || sink_settle(s))
        return;
    s->finished = true;
    s->kind->finish(s);
}

void rill_sink_reset(rill_sink *s, uint64_t pos)
{
    events_clear(s);
    s->finished = false;
    s->base_pos = s->told_pos = pos;
    s->end_pos = UINT64_MAX;
    s->n_frames = 0;
    s->kind->reset(s);
}
