/* SPDX-License-Identifier: MIT */
/* What a lane's model hears: frames of its outputs into sinks, and what they say into records. */
#include "daemon/compute/lane_in.h"

/* Where an event stands in the input; once that is over, not behind its end, which a sample of the
 * model's rate may round up. */
static uint64_t event_pos(const struct lane *l, uint64_t at)
{
    uint64_t pos = lane_pos_in(l, at), end = l->seg_in_pos + l->seg_in;
    return l->phase == FEED || pos < end ? pos : end;
}

/* The next part of what is being told. The caller has checked the room. */
static void part_emit(struct lane *l)
{
    rill_word words[HEARD_WORDS_MAX];
    struct heard_part part;
    heard_next(&l->heard, &part);
    rill_event x = l->heard.event;
    for (uint32_t i = 0; i < part.n_words; i++) {
        words[i] = part.words[i];
        words[i].pos = event_pos(l, part.words[i].pos);
        words[i].end_pos = event_pos(l, part.words[i].end_pos);
    }
    x.pos = event_pos(l, part.pos);
    x.end_pos = event_pos(l, part.end_pos);
    part.words = words;
    size_t n = heard_write(&l->heard, &x, &part);
    struct lane_rec r = {
        .kind = LANE_HEARD, .n = (uint32_t) n, .pos = x.pos, .end_pos = x.end_pos
    };
    ring_write(&l->heard.bytes, l->heard.buf, n);
    ring_write(&l->recs, &r, 1);
}

/* Of an event of this segment the first part, mostly all of it. The rest follows before the sink
 * that made it is touched again. */
static void event_emit(struct lane *l, const rill_event *e)
{
    l->heard.event = *e;
    l->heard.told = (struct heard_told) { .begun = false };
    part_emit(l);
}

static bool event_wanted(const struct lane *l, const struct heard_source *from,
                         rill_event_kind kind)
{
    const struct heard_wants *w = &l->opts.heard;
    switch (kind) {
    case RILL_EVENT_KEYWORD: return w->keyword;
    case RILL_EVENT_PARTIAL:
    case RILL_EVENT_FINAL: return w->text;
    case RILL_EVENT_ENDPOINT: return w->endpoint && from->tells_endpoints;
    default: return false;
    }
}

/* Where a frame of the detector begins, at the model's rate. */
static uint64_t vad_pos(const struct lane *l, uint64_t frame)
{
    int64_t pos = (int64_t) (frame * l->model->vad_hop_samples) + l->model->vad_offset_samples;
    return pos > 0 ? (uint64_t) pos : 0;
}

/* One frame of the detector: its probability and edge; endpoints where nothing else tells them. A
 * frame that begins behind the end of what was sent is no frame of it. */
static void vad_emit(struct lane *l, float prob)
{
    static const struct heard_source alone = { .tells_endpoints = true };
    rill_event e;
    size_t took;
    bool tells = true;
    uint64_t at = vad_pos(l, l->seg_vad), end = vad_pos(l, ++l->seg_vad);
    struct lane_rec r = {
        .kind = LANE_VAD, .prob = prob, .pos = lane_pos_in(l, at), .end_pos = event_pos(l, end)
    };
    bool inside = end > 0 && (l->phase == FEED || r.pos < l->seg_in_pos + l->seg_in);
    for (unsigned i = 0; i < l->heard.n; i++)
        tells &= !l->heard.list[i].tells_endpoints;
    rill_sink_push(l->heard.edges, &prob, 1, &took);
    while (rill_sink_next(l->heard.edges, &e) == RILL_OK) {
        r.edge = e.kind == RILL_EVENT_SPEECH_START ? LANE_EDGE_START
            : e.kind == RILL_EVENT_SPEECH_END      ? LANE_EDGE_END
                                                   : r.edge;
        if (e.kind == RILL_EVENT_ENDPOINT && tells && event_wanted(l, &alone, e.kind))
            event_emit(l, &e);
    }
    if (l->opts.want_vad && inside)
        ring_write(&l->recs, &r, 1);
}

/* Whatever one frame of a source says, or a part of it, has room. */
static bool heard_has_room(const struct lane *l)
{
    return ring_room(&l->recs) >= RECS_SPARE + 4 &&
        (!l->heard.buf || ring_room(&l->heard.bytes) >= HEARD_EVENT_BYTES);
}

/* What a source has to say, then its next frame; false: there is no room, or no frame. */
static bool source_step(struct lane *l, struct heard_source *x, bool *ret_stalled)
{
    rill_event e;
    size_t n = 0, took;
    if (!heard_has_room(l)) {
        *ret_stalled = true;
        return false;
    }
    if (l->heard.tells) {
        part_emit(l);
        return true;
    }
    if (x->sink && rill_sink_next(x->sink, &e) == RILL_OK) {
        if (event_wanted(l, x, e.kind))
            event_emit(l, &e);
        return true;
    }
    if (rill_stream_pull(l->stream, x->port.port, l->pulled, 1, &n) != RILL_OK || !n)
        return false;
    if (x->port.kind == RILL_PORT_VAD)
        vad_emit(l, *l->pulled);
    if (x->sink)
        rill_sink_push(x->sink, l->pulled, 1, &took);
    return true;
}

/* All frames that there are into the sinks; false: there was no room for what they say, go on
 * later. */
bool lane_heard_read(struct lane *l)
{
    bool stalled = false;
    for (unsigned i = 0; i < l->heard.n && !stalled; i++)
        while (source_step(l, &l->heard.list[i], &stalled))
            ;
    return !stalled;
}

/* What was heard becomes final; false: it was so already. */
bool lane_heard_finish(struct lane *l)
{
    if (l->heard.finished)
        return false;
    l->heard.finished = true;
    for (unsigned i = 0; i < l->heard.n; i++)
        if (l->heard.list[i].sink)
            rill_sink_finish(l->heard.list[i].sink);
    return true;
}
