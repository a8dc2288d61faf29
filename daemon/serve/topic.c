/* SPDX-License-Identifier: MIT */
/* What a published stream gives is kept in a history, which each subscriber reads at its own pace.
 * The history never waits: its oldest entries make room for new ones, and a subscriber that had not
 * read them gets a Gap. Loop thread only. */
#include "daemon/serve/topic.h"
#include "daemon/base/clock.h"
#include "daemon/base/conf.h"
#include "daemon/base/counters.h"
#include "daemon/base/lifecycle.h"
#include "daemon/base/log.h"
#include "daemon/base/memory.h"
#include "daemon/compute/lane.h"
#include "daemon/compute/pcm.h"
#include "daemon/models/registry.h"
#include "daemon/net/conn.h"
#include "daemon/net/quota.h"
#include "daemon/net/wire.h"
#include "daemon/serve/daemon.h"
#include "daemon/serve/history.h"
#include "daemon/serve/limits.h"
#include "daemon/serve/messages.h"
#include "daemon/serve/session.h"
#include "daemon/serve/session_list.h"

#define SLACK_MS 1000         /* of history at least, for subscribers that lag a little */
#define SUB_QUEUE_BYTES 32768 /* with more unsent, entries wait in the history */

struct sub {
    struct stream_link link; /* of its connection; first member */
    struct sub *next;
    struct topic *topic;
    struct conn *conn; /* NULL: gone, to be freed */
    struct owner *owner;
    uint32_t id, seq, want;
    struct pcm out;
    uint64_t cursor;           /* offset in the history */
    uint64_t began, at, start; /* progress: where it began, of the newest entry delivered, and where
                                  its client asked to start */
    uint64_t sent, lost, vad_frames, opened_us;
};

struct topic {
    struct topic *next; /* of the daemon */
    struct daemon *daemon;
    bool ended, cancelled, live;
    Rill__Code failed; /* the source's error; CODE_NONE: none */
    char *failed_text;
    uint64_t ended_us;
    char name[65], model[65];
    uint32_t uid, keep_ms, want, in_rate;
    struct owner *owner;
    size_t reserved_bytes; /* charged for it, with the minimum of its history */
    Rill__Access access;
    struct pcm out;
    struct history history;
    uint64_t progress, last_text, last_vad; /* offsets of the newest text and probability */
    unsigned char
        *event; /* twice EVENT_BYTES_MAX: an event, and a part of it; NULL: it has no events */
    struct sub *subs;
};

/* ---- its history ---- */

/* Bytes of the entries of so much audio. */
static size_t entries_bytes(const struct session *s, uint32_t ms)
{
    const struct lane_model *m = &s->model->lane;
    uint64_t per_s = (uint64_t) m->rate / m->pulse_samples * sizeof(struct history_entry) * 2 +
        64 * sizeof(struct history_entry);
    if (s->want_audio)
        per_s += (uint64_t) s->out.rate * (sizeof(float) + sizeof(struct history_entry) / 64);
    if (s->want_vad)
        per_s += (uint64_t) m->rate / m->vad_hop_samples * sizeof(struct history_entry);
    return (size_t) (per_s * ms / 1000) + (s->event ? 4 * EVENT_BYTES_MAX : 0);
}

struct history_size {
    size_t least_bytes, most_bytes, entry_bytes;
};

static struct history_size history_size(const struct session *s, uint32_t keep_ms)
{
    return (struct history_size) {
        .least_bytes = entries_bytes(s, SLACK_MS),
        .most_bytes = entries_bytes(s, keep_ms > SLACK_MS ? keep_ms : SLACK_MS),
        .entry_bytes = s->event ? EVENT_BYTES_MAX : AUDIO_CHUNK_FRAMES * sizeof(float)
    };
}

/* ---- the source ---- */

static bool has(uint32_t mask, Rill__Output o)
{
    return mask & 1u << o;
}

void topic_audio(struct topic *t, const struct lane_rec *r, uint64_t pos, const float *x, size_t n)
{
    struct history_entry e = { .rec = *r,
                               .before = t->progress,
                               .bytes = (uint32_t) (n * sizeof *x) };
    e.rec.pos = pos;
    e.rec.n = (uint32_t) n;
    e.after = t->progress = rate_rescale(pos + n, t->in_rate, t->out.rate);
    history_append(&t->history, &e, x);
}

/* The progress of a stream is that of its audio, or of its detector if it has no audio, or else of
 * its events. */
static void progress_note(struct topic *t, const struct lane_rec *r)
{
    bool sound = has(t->want, RILL__OUTPUT__OUTPUT_AUDIO),
         detector = has(t->want, RILL__OUTPUT__OUTPUT_VAD);
    bool tells = r->kind == LANE_GAP ? r->fill == LANE_FILL_SKIPPED
                                     : !sound && (r->kind == LANE_VAD || !detector);
    if (tells && r->end_pos > t->progress)
        t->progress = r->end_pos;
}

void topic_rec(struct topic *t, const struct lane_rec *r, const unsigned char *event)
{
    struct history_entry e = { .rec = *r,
                               .before = t->progress,
                               .bytes = r->kind == LANE_EVENT ? r->n : 0 };
    rill_word words[EVENT_WORDS_MAX];
    rill_event v;
    progress_note(t, r);
    e.after = t->progress;
    if (r->kind == LANE_VAD)
        t->last_vad = t->history.head;
    if (r->kind == LANE_EVENT) {
        event_read(event, r->n, &v, words);
        if (v.kind == RILL_EVENT_PARTIAL || v.kind == RILL_EVENT_FINAL)
            t->last_text = t->history.head;
    }
    history_append(&t->history, &e, event);
}

static struct topic *topic_find(const struct daemon *d, const char *name)
{
    for (struct topic *t = d->topics; t; t = t->next)
        if (!t->ended && strcmp(t->name, name) == 0)
            return t;
    return NULL;
}

static struct topic *topic_free(struct topic *t)
{
    struct memory *m = t->daemon->memory;
    history_drop(&t->history);
    memory_uncharge(m, t->owner, MEMORY_TOPICS, t->reserved_bytes);
    memory_unref(m, t->owner);
    free(t->event);
    free(t->failed_text);
    free(t);
    return NULL;
}

static size_t topic_reserved_bytes(const struct session *s, const struct history_size *z)
{
    return sizeof(struct topic) + (s->event ? 2 * EVENT_BYTES_MAX : 0) +
        history_min_bytes(z->least_bytes, z->most_bytes, z->entry_bytes);
}

/* Its reserved memory has been charged. */
static struct topic *topic_new(struct session *s, const Rill__Publish *m, uint32_t keep_ms)
{
    struct topic *t = calloc(1, sizeof *t);
    struct history_size z = history_size(s, keep_ms);
    size_t reserved_bytes = topic_reserved_bytes(s, &z);
    if (!t) {
        memory_uncharge(s->daemon->memory, s->owner, MEMORY_TOPICS, reserved_bytes);
        return NULL;
    }
    *t = (struct topic) { .daemon = s->daemon,
                          .live = s->live,
                          .uid = s->uid,
                          .owner = memory_ref(s->owner),
                          .reserved_bytes = reserved_bytes,
                          .history = { .memory = s->daemon->memory, .owner = s->owner },
                          .keep_ms = keep_ms,
                          .want = s->want_mask,
                          .in_rate = s->in.rate,
                          .out = s->out,
                          .access = m->access,
                          .progress = s->out_progress };
    snprintf(t->name, sizeof t->name, "%s", m->topic);
    snprintf(t->model, sizeof t->model, "%s", s->model->name);
    if (t->access == RILL__ACCESS__ACCESS_NONE)
        t->access = RILL__ACCESS__ACCESS_SAME_UID;
    if (s->event)
        t->event = malloc(2 * EVENT_BYTES_MAX);
    bool good = (!s->event || t->event) &&
        history_make(&t->history, z.least_bytes, z.most_bytes, z.entry_bytes);
    return good ? t : topic_free(t);
}

static const char *publish_check(const struct conn *c, const struct session *s,
                                 const Rill__Publish *m)
{
    if (!s->lane || s->finishing)
        return "a stream is published between Opened and Finish";
    if (s->ports)
        return "a stream of ports is not published; one of audio is";
    if (s->topic)
        return "the stream is published already";
    if (!model_name_valid(m->topic))
        return "a topic's name is 1 to 64 of a-z 0-9 . _ - and begins with no dot";
    if (!wire_enum_has(&rill__access__descriptor, (int) m->access))
        return "access must be SAME_UID or ALL";
    return topic_find(c->daemon, m->topic) ? "a topic of that name is published already" : NULL;
}

static void published_send(struct conn *c, uint32_t req, const struct topic *t)
{
    Rill__Published a = RILL__PUBLISHED__INIT;
    Rill__ServerFrame f = RILL__SERVER_FRAME__INIT;
    a.topic = (char *) (uintptr_t) t->name;
    a.keep_ms = t->keep_ms;
    f.m_case = RILL__SERVER_FRAME__M_PUBLISHED;
    f.published = &a;
    conn_send(c, req, &f);
}

void topic_publish(struct conn *c, uint32_t req, const Rill__Publish *m)
{
    struct session *s = m->stream ? session_find(c, m->stream) : NULL;
    uint32_t most_ms = c->daemon->conf->limits_topic_keep_ms;
    if (!s) {
        conn_error(c, req, m->stream, RILL__CODE__NO_STREAM, false, "stream %u is not open",
                   m->stream);
        return;
    }
    const char *why = publish_check(c, s, m);
    if (why) {
        conn_error(c, req, s->id, RILL__CODE__BAD_ARG, false, "%s", why);
        return;
    }
    uint32_t keep_ms = m->keep_ms < most_ms ? m->keep_ms : most_ms;
    struct history_size z = history_size(s, keep_ms);
    enum memory_answer a =
        memory_claim(c->daemon, s->owner, MEMORY_TOPICS, topic_reserved_bytes(s, &z));
    if (a != MEMORY_OK) {
        conn_error(c, req, s->id, memory_code(a), false, "the history: %s", memory_words(a));
        return;
    }
    struct topic *t = topic_new(s, m, keep_ms);
    if (!t) {
        conn_error(c, req, s->id, RILL__CODE__INTERNAL, false, "out of memory");
        return;
    }
    t->next = c->daemon->topics;
    c->daemon->topics = t;
    s->topic = t;
    s->mute = m->mute;
    published_send(c, req, t);
    log_event(c->daemon->log, LOG_INFO, EVENT_PEER, "topic=%s stream=%u uid=%u model=%s published",
              t->name, s->serial, t->uid, t->model);
}

void topic_fail(struct topic *t, Rill__Code code, const char *text)
{
    if (!t)
        return;
    t->failed = code;
    t->failed_text = strdup(text);
}

void topic_end(struct topic *t, bool cancelled)
{
    if (!t)
        return;
    t->ended = true;
    t->ended_us = clock_now_us();
    t->cancelled = cancelled;
    topic_deliver(t);
}

/* ---- subscribers ---- */

static struct sub *sub_find(const struct conn *c, uint32_t id)
{
    struct stream_link *l = streams_find(&c->streams, id);
    return l && l->kind == STREAM_SUB ? (struct sub *) (void *) l : NULL;
}

static struct sub *sub_next(const struct conn *c, const struct sub *after)
{
    return (struct sub *) (void *) streams_next(&c->streams, STREAM_SUB,
                                                after ? &after->link : NULL);
}

/* Takes it off its connection; its topic frees it later. */
static void sub_leave(struct sub *s)
{
    struct conn *c = s->conn;
    s->conn = NULL;
    streams_remove(&c->streams, &s->link);
    c->active_us = clock_now_us();
    conn_id_retire(c, s->id);
}

static void sub_end(const struct topic *t, struct sub *s, uint32_t req, bool cancelled)
{
    Rill__Finished a = RILL__FINISHED__INIT;
    Rill__ServerFrame f = RILL__SERVER_FRAME__INIT;
    struct conn *c = s->conn;
    a.stream = s->id;
    a.in = s->at > s->began ? s->at - s->began : 0;
    a.out = s->sent;
    a.dropped = s->lost;
    a.processed = a.in - s->lost;
    a.audio_us = samples_us(a.processed, t->in_rate);
    a.vad_frames = s->vad_frames;
    a.cancelled = cancelled;
    f.m_case = RILL__SERVER_FRAME__M_FINISHED;
    f.finished = &a;
    sub_leave(s);
    conn_send(c, req, &f);
}

/* It has read everything, and the source has ended. */
static void sub_ended(const struct topic *t, struct sub *s)
{
    struct conn *c = s->conn;
    if (t->failed == RILL__CODE__CODE_NONE) {
        sub_end(t, s, 0, t->cancelled);
        return;
    }
    sub_leave(s);
    conn_error(c, 0, s->id, t->failed, true, "the source of the topic failed: %s",
               t->failed_text ? t->failed_text : "out of memory");
}

bool sub_cancel(struct conn *c, uint32_t req, uint32_t id)
{
    struct sub *s = id ? sub_find(c, id) : NULL;
    if (s)
        sub_end(s->topic, s, req, true);
    return s != NULL;
}

/* Entries that it had not read are gone. */
static void sub_skip(const struct topic *t, struct sub *s)
{
    struct history_entry e = { .before = t->progress };
    s->cursor = t->history.tail;
    if (s->cursor < t->history.head)
        history_read(&t->history, s->cursor, &e, sizeof e);
    uint64_t from = s->at > s->start ? s->at : s->start, n = e.before > from ? e.before - from : 0;
    s->lost += n;
    s->at = e.before;
    counters_add_gap(s->conn->daemon->counters, NULL, RILL__GAP__REASON__REASON_SLOW, n,
                     t->in_rate);
    if (e.before >= s->start)
        gap_send(s->conn, s->id, from, n, RILL__GAP__REASON__REASON_SLOW,
                 RILL__GAP__FILL__FILL_SKIPPED);
}

static void audio_deliver(const struct topic *t, struct sub *s, const struct history_entry *e,
                          uint64_t offset)
{
    float x[AUDIO_CHUNK_FRAMES];
    uint64_t start = rate_rescale(s->start, t->out.rate, t->in_rate);
    size_t skip = start > e->rec.pos ? (size_t) (start - e->rec.pos) : 0;
    if (skip >= e->rec.n)
        return;
    history_read(&t->history, offset + skip * sizeof *x, x, (e->rec.n - skip) * sizeof *x);
    s->sent += e->rec.n - skip;
    audio_send(s->conn, s->id, &s->seq, &s->out, e->rec.pos + skip, x, e->rec.n - skip, &e->rec);
}

/* Leaves out a partial if a newer text follows. */
static void event_deliver(const struct topic *t, struct sub *s, const struct history_entry *e,
                          uint64_t offset)
{
    static const Rill__Output outputs[] = { [RILL_EVENT_PARTIAL] = RILL__OUTPUT__OUTPUT_TRANSCRIPT,
                                            [RILL_EVENT_FINAL] = RILL__OUTPUT__OUTPUT_TRANSCRIPT,
                                            [RILL_EVENT_KEYWORD] = RILL__OUTPUT__OUTPUT_KEYWORD,
                                            [RILL_EVENT_ENDPOINT] = RILL__OUTPUT__OUTPUT_ENDPOINT };
    rill_word words[EVENT_WORDS_MAX];
    rill_event v;
    history_read(&t->history, offset, t->event, e->bytes);
    event_read(t->event, e->bytes, &v, words);
    bool old = v.kind == RILL_EVENT_PARTIAL && offset <= t->last_text;
    if ((size_t) v.kind < sizeof outputs / sizeof *outputs && outputs[v.kind] &&
        has(s->want, outputs[v.kind]) && !old)
        event_send(s->conn, s->id, &v, (char *) t->event + EVENT_BYTES_MAX);
}

static void vad_deliver(const struct topic *t, struct sub *s, const struct history_entry *e,
                        uint64_t offset)
{
    bool old = e->rec.edge == LANE_EDGE_NONE && offset <= t->last_vad && t->live &&
        conn_reads_slowly(s->conn);
    if (!has(s->want, RILL__OUTPUT__OUTPUT_VAD))
        return;
    s->vad_frames++;
    if (!old)
        vad_send(s->conn, s->id, &e->rec);
}

static void entry_deliver(const struct topic *t, struct sub *s, const struct history_entry *e,
                          uint64_t offset)
{
    if (s->start && s->start >= (e->rec.kind == LANE_PULSE ? e->after : e->rec.end_pos))
        return;
    switch (e->rec.kind) {
    case LANE_PULSE:
        if (has(s->want, RILL__OUTPUT__OUTPUT_AUDIO))
            audio_deliver(t, s, e, offset);
        break;
    case LANE_VAD: vad_deliver(t, s, e, offset); break;
    case LANE_EVENT: event_deliver(t, s, e, offset); break;
    case LANE_GAP:
        gap_send(s->conn, s->id, e->rec.pos, e->rec.end_pos - e->rec.pos, gap_reason(&e->rec),
                 (Rill__Gap__Fill) e->rec.fill);
        break;
    case LANE_RESET:
    case LANE_DONE:
    case LANE_FAULT: break;
    }
}

static void sub_deliver(const struct topic *t, struct sub *s)
{
    struct conn *c = s->conn;
    struct history_entry e;
    while (c && s->conn && !c->closing) {
        if (conn_queue_bytes(c) > SUB_QUEUE_BYTES || !conn_has_room(c)) {
            c->paused = true; /* conn_calls.writable goes on with this */
            return;
        }
        if (s->cursor < t->history.tail)
            sub_skip(t, s);
        if (s->cursor == t->history.head) {
            if (t->ended)
                sub_ended(t, s);
            return;
        }
        history_read(&t->history, s->cursor, &e, sizeof e);
        uint64_t offset = s->cursor + sizeof e;
        s->cursor = offset + e.bytes;
        entry_deliver(t, s, &e, offset);
        s->at = e.after;
    }
}

void topic_deliver(struct topic *t)
{
    for (struct sub *s = t->subs; s; s = s->next)
        sub_deliver(t, s);
}

void subs_deliver(struct conn *c)
{
    for (struct sub *s = NULL; (s = sub_next(c, s));)
        sub_deliver(s->topic, s);
}

void subs_drop(struct conn *c)
{
    for (struct sub *s = NULL; (s = sub_next(c, s));) {
        s->conn = NULL;
        streams_remove(&c->streams, &s->link);
    }
}

static void sub_free(struct memory *m, struct sub *s)
{
    memory_uncharge(m, s->owner, MEMORY_TOPICS, sizeof *s);
    memory_unref(m, s->owner);
    free(s);
}

void topics_sweep(struct daemon *d)
{
    for (struct topic **at = &d->topics; *at;) {
        struct topic *t = *at;
        for (struct sub **x = &t->subs; *x;) {
            struct sub *s = *x;
            if (s->conn) {
                x = &s->next;
                continue;
            }
            *x = s->next;
            sub_free(d->memory, s);
        }
        if (!t->ended || t->subs) {
            at = &t->next;
            continue;
        }
        *at = t->next;
        topic_free(t);
    }
}

static uint32_t sub_lag_ms(const struct topic *t, const struct sub *s)
{
    uint64_t ms = t->progress > s->at ? samples_us(t->progress - s->at, t->in_rate) / 1000 : 0;
    return ms < UINT32_MAX ? (uint32_t) ms : UINT32_MAX;
}

uint32_t subs_lag_ms(const struct conn *c)
{
    uint32_t most = 0;
    for (const struct sub *s = NULL; (s = sub_next(c, s));) {
        uint32_t lag = s->topic->live ? sub_lag_ms(s->topic, s) : 0;
        most = lag > most ? lag : most;
    }
    return most;
}

/* A client may read the rest at the pace of the audio, and may read nothing for output_stall_ms. */
bool subs_overdue(const struct conn *c, uint64_t now_us)
{
    uint64_t stall_ms = c->daemon->conf->limits_output_stall_ms;
    for (const struct sub *s = NULL; (s = sub_next(c, s));) {
        const struct topic *t = s->topic;
        if (t->ended && now_us > t->ended_us + (stall_ms + t->keep_ms + SLACK_MS) * UINT64_C(1000))
            return true;
    }
    return false;
}

void topics_shift_times(struct daemon *d, uint64_t us)
{
    for (struct topic *t = d->topics; t; t = t->next)
        t->ended_us += us;
}

/* ---- subscribing ---- */

/* Offset and progress of the oldest entry within keep_ms. */
static uint64_t oldest_find(const struct topic *t, uint64_t *ret_pos)
{
    uint64_t keep = (uint64_t) t->keep_ms * t->in_rate / 1000, offset = t->history.tail;
    uint64_t from = t->progress > keep ? t->progress - keep : 0;
    struct history_entry e;
    for (; offset < t->history.head; offset += sizeof e + e.bytes) {
        history_read(&t->history, offset, &e, sizeof e);
        if (e.before >= from && t->keep_ms) {
            *ret_pos = e.before;
            return offset;
        }
    }
    *ret_pos = t->progress;
    return offset;
}

static void sub_place(const struct topic *t, struct sub *s, const Rill__Subscribe *m)
{
    uint64_t oldest;
    s->cursor = oldest_find(t, &oldest);
    if (m->from == RILL__FROM__FROM_NOW) {
        s->cursor = t->history.head;
        oldest = t->progress;
    }
    s->began = s->at = oldest;
    if (m->from == RILL__FROM__FROM_POS && m->pos > oldest)
        s->start = s->began = m->pos;
}

static bool wants_choose(const struct topic *t, struct sub *s, const Rill__Subscribe *m)
{
    for (size_t i = 0; i < m->n_want; i++) {
        if (!output_known(m->want[i]) || !has(t->want, m->want[i]))
            return false;
        s->want |= 1u << m->want[i];
    }
    if (!s->want)
        s->want = t->want;
    return true;
}

static bool format_choose(const struct topic *t, struct sub *s, const Rill__Pcm *m)
{
    s->out = t->out;
    if (!m)
        return true;
    s->out = (struct pcm) { m->rate ? m->rate : t->out.rate, m->channels, (int) m->enc };
    return s->out.rate == t->out.rate && pcm_valid(&s->out);
}

static bool refuse(struct conn *c, uint32_t req, uint32_t id, Rill__Code code, const char *text)
{
    conn_error(c, req, id, code, true, "%s", text);
    return false;
}

static bool subscribe_check(struct conn *c, uint32_t req, const Rill__Subscribe *m,
                            struct topic **ret, struct sub *s)
{
    const struct daemon *d = c->daemon;
    struct topic *t = *ret = model_name_valid(m->topic) ? topic_find(d, m->topic) : NULL;
    char text[160];
    if (d->life->draining)
        return refuse(c, req, m->stream, RILL__CODE__DRAINING,
                      "the daemon is stopping and opens nothing new");
    if (c->streams.n >= d->conf->limits_max_streams_per_connection)
        return refuse(c, req, m->stream, RILL__CODE__QUOTA,
                      "max_streams_per_connection is reached");
    if (!t)
        return refuse(c, req, m->stream, RILL__CODE__NO_TOPIC,
                      "nobody publishes a topic of that name");
    if (t->access != RILL__ACCESS__ACCESS_ALL && t->uid != c->uid)
        return refuse(c, req, m->stream, RILL__CODE__DENIED,
                      "the topic is for its publisher's user only");
    if (!wire_enum_has(&rill__from__descriptor, (int) m->from) || m->pos > UINT64_MAX / 4)
        return refuse(c, req, m->stream, RILL__CODE__BAD_ARG,
                      "from must be NOW, OLDEST or POS, and pos in range");
    if (m->n_want > 64 || !wants_choose(t, s, m))
        return refuse(c, req, m->stream, RILL__CODE__BAD_ARG,
                      "want holds an output that the topic does not have");
    snprintf(text, sizeof text,
             "the topic has %u Hz; out takes that rate or 0, 1 to 8 channels and an encoding",
             t->out.rate);
    return format_choose(t, s, m->out) || refuse(c, req, m->stream, RILL__CODE__BAD_FORMAT, text);
}

static void subscribed_send(uint32_t req, struct topic *t, struct sub *s)
{
    Rill__Subscribed a = RILL__SUBSCRIBED__INIT;
    Rill__Pcm pcm;
    Rill__Output outputs[OUTPUTS];
    Rill__ServerFrame f = RILL__SERVER_FRAME__INIT;
    pcm_fill(&pcm, &s->out);
    a.topic = t->name;
    a.model = t->model;
    a.stream = s->id;
    a.pos = s->began;
    a.in_rate = t->in_rate;
    a.out = &pcm;
    a.outputs = outputs;
    a.n_outputs = outputs_fill(s->want, outputs);
    f.m_case = RILL__SERVER_FRAME__M_SUBSCRIBED;
    f.subscribed = &a;
    conn_send(s->conn, req, &f);
}

void topic_subscribe(struct conn *c, uint32_t req, const Rill__Subscribe *m)
{
    struct topic *t;
    if (!m->stream || conn_id_is_taken(c, m->stream)) {
        conn_error(c, req, m->stream, RILL__CODE__BAD_ARG, false,
                   m->stream ? "stream %u is open already" : "a stream's number is not %u",
                   m->stream);
        return;
    }
    struct sub *s = calloc(1, sizeof *s);
    if (!s) {
        refuse(c, req, m->stream, RILL__CODE__INTERNAL, "out of memory");
        return;
    }
    if (!subscribe_check(c, req, m, &t, s)) {
        free(s);
        return;
    }
    conn_id_reuse(c, m->stream);
    sub_place(t, s, m);
    s->id = m->stream;
    s->conn = c;
    s->owner = memory_ref(c->owner);
    memory_charge(c->daemon->memory, s->owner, MEMORY_TOPICS, sizeof *s);
    s->opened_us = clock_now_us();
    s->topic = t;
    s->next = t->subs;
    t->subs = s;
    s->link = (struct stream_link) { .id = s->id, .kind = STREAM_SUB };
    streams_add(&c->streams, &s->link);
    subscribed_send(req, t, s);
    sub_deliver(t, s);
}

/* ---- answers ---- */

static struct topic *topic_after(const struct conn *c, const char *name)
{
    struct topic *best = NULL;
    for (struct topic *t = c->daemon->topics; t; t = t->next)
        if (!t->ended && (t->access == RILL__ACCESS__ACCESS_ALL || t->uid == c->uid) &&
            strcmp(t->name, name) > 0 && (!best || strcmp(t->name, best->name) < 0))
            best = t;
    return best;
}

size_t topics_list(const struct conn *c, const char *after, Rill__TopicInfo *infos, Rill__Pcm *pcms,
                   Rill__Output (*outputs)[OUTPUTS], size_t cap, bool *ret_more)
{
    size_t n = 0;
    struct topic *t = topic_after(c, after);
    for (; t && n < cap; t = topic_after(c, t->name)) {
        Rill__TopicInfo *a = &infos[n];
        rill__topic_info__init(a);
        pcm_fill(&pcms[n], &t->out);
        a->name = t->name;
        a->model = t->model;
        a->uid = t->uid;
        a->access = t->access;
        a->in_rate = t->in_rate;
        a->out = &pcms[n];
        a->outputs = outputs[n];
        a->n_outputs = outputs_fill(t->want, outputs[n]);
        a->keep_ms = t->keep_ms;
        a->pos = t->progress;
        oldest_find(t, &a->oldest_pos);
        for (const struct sub *s = t->subs; s; s = s->next)
            a->subscribers += s->conn != NULL;
        n++;
    }
    *ret_more = t != NULL;
    return n;
}

const char *topic_name(const struct topic *t)
{
    return t ? t->name : "";
}

bool sub_info_after(const struct daemon *d, uint32_t conn, uint32_t stream, struct sub_info *ret)
{
    bool found = false;
    for (const struct topic *t = d->topics; t; t = t->next)
        for (const struct sub *s = t->subs; s; s = s->next) {
            const struct conn *c = s->conn;
            if (!c || c->id < conn || (c->id == conn && s->id <= stream) ||
                (found && (c->id > ret->conn->id || (c->id == ret->conn->id && s->id > ret->id))))
                continue;
            found = true;
            *ret = (struct sub_info) { .conn = s->conn,
                                       .id = s->id,
                                       .in_rate = t->in_rate,
                                       .lag_ms = sub_lag_ms(t, s),
                                       .topic = t->name,
                                       .model = t->model,
                                       .out = s->out,
                                       .live = t->live,
                                       .given = s->at > s->began ? s->at - s->began : 0,
                                       .sent = s->sent,
                                       .lost = s->lost,
                                       .opened_us = s->opened_us,
                                       .bytes = sizeof *s };
        }
    return found;
}

/* Reclaims from the topic with the longest history, in bytes. */
size_t topics_reclaim(void *arg, const struct owner *o, size_t longer_bytes)
{
    struct daemon *d = arg;
    struct topic *best = NULL;
    for (struct topic *t = d->topics; t; t = t->next)
        if (t->owner == o && history_reclaimable_bytes(&t->history) > longer_bytes &&
            (!best ||
             history_reclaimable_bytes(&t->history) > history_reclaimable_bytes(&best->history)))
            best = t;
    return best ? history_reclaim(&best->history) : 0;
}
