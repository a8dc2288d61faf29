/* SPDX-License-Identifier: MIT */
/* From frames of a model's outputs, through sinks, to events in the rings of a lane. */
#include "daemon/compute/lane_internal.h"

/* The position of an event in the input. Once the input is over, no later than its end: a sample at
 * the model's rate may lie behind that by rounding. */
static uint64_t event_pos(const struct lane *l, uint64_t at)
{
    uint64_t pos = lane_pos_in(l, at), end = l->seg_in_pos + l->seg_in;
    return l->phase == FEED || pos < end ? pos : end;
}

/* Writes the next part of the present event. The caller has checked the room. */
static void part_emit(struct lane *l)
{
    rill_word words[EVENT_WORDS_MAX];
    struct event_part part;
    lane_sinks_next_part(&l->sinks, &part);
    rill_event x = l->sinks.event;
    for (uint32_t i = 0; i < part.n_words; i++) {
        words[i] = part.words[i];
        words[i].pos = event_pos(l, part.words[i].pos);
        words[i].end_pos = event_pos(l, part.words[i].end_pos);
    }
    x.pos = event_pos(l, part.pos);
    x.end_pos = event_pos(l, part.end_pos);
    part.words = words;
    size_t n = event_write(l->sinks.buf, &x, &part);
    struct lane_rec r = {
        .kind = LANE_EVENT, .n = (uint32_t) n, .pos = x.pos, .end_pos = x.end_pos
    };
    ring_write(&l->sinks.bytes, l->sinks.buf, n);
    ring_write(&l->recs, &r, 1);
}

/* Writes the first part of an event, which is mostly all of it. The rest follows before the sink
 * that made the event is used again, since the event refers to the sink's memory. */
static void event_emit(struct lane *l, const rill_event *e)
{
    l->sinks.event = *e;
    l->sinks.cursor = (struct event_cursor) { .started = false };
    part_emit(l);
}

static bool event_wanted(const struct lane *l, const struct lane_sink *from, rill_event_kind kind)
{
    const struct lane_sinks_opts *w = &l->opts.sinks;
    switch (kind) {
    case RILL_EVENT_KEYWORD: return w->keyword;
    case RILL_EVENT_PARTIAL:
    case RILL_EVENT_FINAL: return w->text;
    case RILL_EVENT_ENDPOINT: return w->endpoint && from->reports_endpoints;
    default: return false;
    }
}

/* Where a frame of the detector begins, at the model's rate. */
static uint64_t vad_pos(const struct lane *l, uint64_t frame)
{
    int64_t pos = (int64_t) (frame * l->model->vad_hop_samples) + l->model->vad_offset_samples;
    return pos > 0 ? (uint64_t) pos : 0;
}

/* One frame of the detector: a record of its probability and edge, and its endpoints where no other
 * sink reports any. A frame that begins behind the end of the input gives no record. */
static void vad_emit(struct lane *l, float prob)
{
    static const struct lane_sink detector = { .reports_endpoints = true };
    rill_event e = { .struct_bytes = sizeof e };
    size_t took;
    bool is_alone = true;
    uint64_t at = vad_pos(l, l->seg_vad), end = vad_pos(l, ++l->seg_vad);
    struct lane_rec r = {
        .kind = LANE_VAD, .prob = prob, .pos = lane_pos_in(l, at), .end_pos = event_pos(l, end)
    };
    bool inside = end > 0 && (l->phase == FEED || r.pos < l->seg_in_pos + l->seg_in);
    for (unsigned i = 0; i < l->sinks.n; i++)
        is_alone &= !l->sinks.list[i].reports_endpoints;
    rill_sink_push(l->sinks.vad_edges, &prob, 1, &took);
    while (rill_sink_next(l->sinks.vad_edges, &e) == RILL_OK) {
        r.edge = e.kind == RILL_EVENT_SPEECH_START ? LANE_EDGE_START
            : e.kind == RILL_EVENT_SPEECH_END      ? LANE_EDGE_END
                                                   : r.edge;
        if (e.kind == RILL_EVENT_ENDPOINT && is_alone && event_wanted(l, &detector, e.kind))
            event_emit(l, &e);
    }
    if (l->opts.want_vad && inside)
        ring_write(&l->recs, &r, 1);
}

/* Room for the events of one frame, or for a part of one. */
static bool events_have_room(const struct lane *l)
{
    return ring_room(&l->recs) >= RECS_SPARE + 4 &&
        (!l->sinks.buf || ring_room(&l->sinks.bytes) >= EVENT_BYTES_MAX);
}

/* One event of a sink, or its next frame if it has no event; false: there is no room, or no frame.
 */
static bool sink_step(struct lane *l, struct lane_sink *k, bool *ret_stalled)
{
    rill_event e = { .struct_bytes = sizeof e };
    size_t n = 0, took;
    if (!events_have_room(l)) {
        *ret_stalled = true;
        return false;
    }
    if (l->sinks.part_pending) {
        part_emit(l);
        return true;
    }
    const rill_status next = k->sink ? rill_sink_next(k->sink, &e) : RILL_AGAIN;
    if (next == RILL_OK && event_wanted(l, k, e.kind))
        event_emit(l, &e);
    if (next == RILL_OK)
        return true;
    if (next == RILL_INVALID) {
        l->sinks.failed = k->sink;
        *ret_stalled = true;
        return false;
    }
    if (rill_stream_pull(l->stream, k->port.port, l->pulled, 1, &n) != RILL_OK || !n)
        return false;
    if (k->port.kind == RILL_PORT_VAD)
        vad_emit(l, *l->pulled);
    if (k->sink)
        rill_sink_push(k->sink, l->pulled, 1, &took);
    return true;
}

bool lane_sinks_read(struct lane *l)
{
    bool stalled = false;
    for (unsigned i = 0; i < l->sinks.n && !stalled; i++)
        while (sink_step(l, &l->sinks.list[i], &stalled))
            ;
    return !stalled;
}

bool lane_sinks_finish(struct lane *l)
{
    if (l->sinks.finished)
        return false;
    l->sinks.finished = true;
    for (unsigned i = 0; i < l->sinks.n; i++)
        if (l->sinks.list[i].sink)
            rill_sink_finish(l->sinks.list[i].sink);
    return true;
}
