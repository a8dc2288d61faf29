/* SPDX-License-Identifier: MIT */
#include "sinks/gate.h"
#include "engine/base/sized.h"

#include <stdlib.h>

rill_status sink_no_memory(rill_error *err)
{
    return err_set(err, RILL_NOMEM, "out of memory for a sink");
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

struct gate *sink_gate(const rill_sink *s)
{
    return s->kind->gate ? s->kind->gate(s) : NULL;
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

/* Where the last frame before `end` begins; `end` lies behind the first frame. */
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

/* Moves an event into the input. Texts, and events of a gated recogniser, are within it already. */
static void event_bound(rill_sink *s, rill_event *e)
{
    bool is_text = e->kind == RILL_EVENT_PARTIAL || e->kind == RILL_EVENT_FINAL;
    if (e->kind == RILL_EVENT_SPEECH_START || e->kind == RILL_EVENT_KEYWORD)
        sink_bound(s, s->reported_pos, &e->pos, &e->end_pos);
    e->pos = least(e->pos, s->end_pos);
    e->end_pos = least(e->end_pos, s->end_pos);
    uint64_t told = is_text ? e->end_pos : e->pos;
    if (e->kind != RILL_EVENT_PARTIAL && told > s->reported_pos)
        s->reported_pos = told;
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

/* Runs the work that the last frame left; whether there are events to take before the next frame.
 */
static bool sink_work(rill_sink *s)
{
    if (events_wait(s))
        return true;
    events_clear(s);
    if (s->kind->more && s->fault.status == RILL_OK)
        s->kind->more(s);
    return events_wait(s);
}

/* A network failed in the frame: the text ends with what was heard before. */
static void text_end(rill_sink *s)
{
    if (s->n_events && s->events[s->n_events - 1].kind == RILL_EVENT_PARTIAL)
        s->n_events--;
    if (!s->n_events)
        s->kind->finish(s);
}

static void frame_read(rill_sink *s, const float *x)
{
    s->kind->frame(s, x);
    s->n_frames++;
    if (s->fault.status != RILL_OK)
        text_end(s);
}

rill_status rill_sink_push(rill_sink *s, const float *x, size_t n_frames, size_t *ret_taken)
{
    size_t n = 0;
    if (s->finished || s->fault.status != RILL_OK)
        return RILL_INVALID;
    while (n < n_frames && !sink_work(s) && s->fault.status == RILL_OK)
        frame_read(s, x + n++ * s->port.width);
    *ret_taken = n;
    return RILL_OK;
}

rill_status rill_sink_next(rill_sink *s, rill_event *ret)
{
    if (!sink_work(s))
        return s->fault.status != RILL_OK ? RILL_INVALID : s->finished ? RILL_END : RILL_AGAIN;
    TRY(sized_check(&sized_event, ret, NULL));
    rill_event *e = &s->events[s->next_event++];
    event_bound(s, e);
    return sized_give(&sized_event, ret, e, NULL);
}

rill_status rill_sink_fault(const rill_sink *s, rill_error *reterr)
{
    if (s->fault.status != RILL_OK && reterr)
        *reterr = s->fault;
    return s->fault.status != RILL_OK ? RILL_INVALID : RILL_OK;
}

void rill_sink_alone(rill_sink *s, int alone)
{
    if (s->kind->alone)
        s->kind->alone(s, alone != 0);
}

void rill_sink_cut(rill_sink *s)
{
    if (s->finished || sink_work(s) || s->fault.status != RILL_OK)
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
    if (s->finished || sink_work(s))
        return;
    s->finished = true;
    if (s->fault.status == RILL_OK)
        s->kind->finish(s);
}

void rill_sink_reset(rill_sink *s, uint64_t pos)
{
    events_clear(s);
    s->finished = false;
    s->fault.status = RILL_OK;
    s->base_pos = s->reported_pos = pos;
    s->end_pos = UINT64_MAX;
    s->n_frames = 0;
    s->kind->reset(s);
}
