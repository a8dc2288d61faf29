/* SPDX-License-Identifier: MIT */
/* A session's output: records of the lane become messages to the client, and entries of its topic.
 */
#include "daemon/base/clock.h"
#include "daemon/base/conf.h"
#include "daemon/base/slices.h"
#include "daemon/compute/lane.h"
#include "daemon/compute/pcm.h"
#include "daemon/compute/ports.h"
#include "daemon/compute/worker.h"
#include "daemon/models/registry.h"
#include "daemon/net/conn.h"
#include "daemon/serve/accounting.h"
#include "daemon/serve/daemon.h"
#include "daemon/serve/events.h"
#include "daemon/serve/messages.h"
#include "daemon/serve/meter.h"
#include "daemon/serve/session_internal.h"
#include "daemon/serve/session_list.h"
#include "daemon/serve/session_ports.h"
#include "daemon/serve/topic.h"

#define CHUNK_FRAMES AUDIO_CHUNK_FRAMES
#define PRIORITY_MESSAGES 10 /* of a live stream in a tick; more if its pulses are shorter */

static void pulse_take(struct session *s, const struct lane_rec *r)
{
    float x[CHUNK_FRAMES];
    if (r->is_run)
        account_pulse(s, r);
    for (uint32_t at = 0; at < r->n;) {
        size_t n = r->n - at < CHUNK_FRAMES ? r->n - at : CHUNK_FRAMES;
        ring_read(&s->lane->out, x, n);
        if (s->topic)
            topic_audio(s->topic, r, r->pos + at, x, n);
        if (!s->mute)
            audio_send(s->conn, s->id, &s->seq_out, &s->out, r->pos + at, x, n, r);
        s->sent += n;
        at += (uint32_t) n;
    }
    if (r->n)
        s->out_progress = rate_rescale(r->pos + r->n, s->in.rate, s->out.rate);
}

static void vad_take(struct session *s, const struct lane_rec *r)
{
    s->vad_frames++;
    if (!s->want_audio)
        s->out_progress = r->end_pos;
    if (s->topic)
        topic_rec(s->topic, r, NULL);
    if (!s->mute)
        events_vad(s, r);
}

static void gap_take(struct session *s, const struct lane_rec *r)
{
    uint64_t samples = r->end_pos - r->pos;
    s->skipped += r->reason == LANE_GAP_CLIENT ? samples : 0;
    s->late += r->reason == LANE_GAP_LATE ||
            (r->reason == LANE_GAP_OVERLOAD && r->fill != LANE_FILL_BYPASS)
        ? samples
        : 0;
    s->bypassed += r->fill == LANE_FILL_BYPASS ? samples : 0;
    account_gap(s, gap_reason(r), samples);
    if (r->fill == LANE_FILL_SKIPPED)
        s->out_progress = r->end_pos;
    if (s->topic)
        topic_rec(s->topic, r, NULL);
    gap_send(s->conn, s->id, r->pos, samples, gap_reason(r), (Rill__Gap__Fill) r->fill);
}

static void credit_send(struct session *s)
{
    if (s->ports) {
        session_ports_credit(s);
        return;
    }
    uint64_t granted = atomic_load_explicit(&s->lane->consumed, memory_order_acquire) + s->window;
    if (s->finishing || granted - s->granted < s->window / 8 + 1)
        return;
    Rill__Credit a = RILL__CREDIT__INIT;
    Rill__ServerFrame f = RILL__SERVER_FRAME__INIT;
    s->granted = granted;
    a.stream = s->id;
    a.limit_pos = s->pos_in + (granted - s->received);
    f.m_case = RILL__SERVER_FRAME__M_CREDIT;
    f.credit = &a;
    conn_send(s->conn, 0, &f);
}

/* Whether the client has so much to read that this stream's output is held back. */
static bool output_is_full(const struct session *s)
{
    const struct conf *conf = s->daemon->conf;
    uint64_t ms = s->live ? conf->limits_output_hard_ms : conf->limits_output_soft_ms;
    uint64_t bytes = session_output_bytes_per_s(s) * ms / 1000, floor = s->live ? 262144 : 65536;
    return conn_queue_bytes(s->conn) > (bytes > floor ? bytes : floor) || !conn_has_room(s->conn);
}

/* Whether the model takes sequences of the length that came. Only a file is a whole sequence; a
 * live stream may end anywhere. */
static bool length_fits(const struct session *s, rill_error *reterr)
{
    const struct lane *l = s->lane;
    return s->live || !l->seg_fed ||
        rill_plan_check_length(l->model->plan, (unsigned) l->model->audio_in, l->seg_fed, reterr) ==
        RILL_OK;
}

static void done_take(struct session *s)
{
    rill_error err;
    if (s->ports && !lane_ports_sequence(s->lane, &err)) {
        session_fail(s, RILL__CODE__BAD_ARG, err.text);
        return;
    }
    events_flush(s, true);
    if (s->topic)
        topic_deliver(s->topic); /* before Finished, for a connection that gets both */
    if (!s->ports && !length_fits(s, &err)) {
        session_fail(s, RILL__CODE__BAD_ARG, err.text);
        return;
    }
    s->complete = true;
    session_finished_send(s, false);
    account_finished(s, false);
    session_end(s);
}

static void fault_take(struct session *s)
{
    rill_error err = { .text = "" };
    if (s->lane->sinks.failed)
        rill_sink_fault(s->lane->sinks.failed, &err);
    else
        rill_stream_fault(s->lane->stream, &err);
    events_flush(s, true);
    session_fail(s, RILL__CODE__MODEL_FAILED, err.text);
}

void session_deliver(struct session *s)
{
    struct lane_rec r;
    bool took = false;
    while (!s->gone && s->lane && s->conn && !s->conn->closing && ring_used(&s->lane->recs)) {
        ring_peek(&s->lane->recs, &r, 1);
        if (output_is_full(s) || (s->ports && !session_ports_send(s, &r, output_is_full))) {
            if (s->conn)
                s->conn->paused = true;
            break;
        }
        ring_drop(&s->lane->recs, 1);
        took = true;
        switch (r.kind) {
        case LANE_PULSE: pulse_take(s, &r); break;
        case LANE_RESET: s->ports->resets++; break;
        case LANE_VAD: vad_take(s, &r); break;
        case LANE_EVENT: events_take(s, &r); break;
        case LANE_GAP: gap_take(s, &r); break;
        case LANE_DONE: done_take(s); return;
        case LANE_FAULT: fault_take(s); return;
        }
    }
    if (s->gone || !s->lane || !s->conn)
        return;
    events_flush(s, false);
    credit_send(s);
    if (took)
        worker_wake(s->worker);
    if (s->topic)
        topic_deliver(s->topic);
}

bool session_has_priority(const struct session *s)
{
    uint64_t most = TICK_MS * UINT64_C(1000) / (s->lane ? s->lane->pulse_us + 1 : TICK_MS * 1000);
    most = most > PRIORITY_MESSAGES ? most : PRIORITY_MESSAGES;
    return s->live &&
        s->n_messages < 2 * most; /* twice as many, since late ones may come in the same tick */
}

/* Sends what its lane has put out, and charges the time to the stream or to its user's slice. */
static void session_serve(struct session *s)
{
    struct daemon *d = s->daemon;
    bool has_output = s->lane && ring_used(&s->lane->recs);
    enum slice when = has_output && !s->live ? slices_when(d->slices, s->uid) : SLICE_NOW;
    if (when != SLICE_NOW) {
        slices_resume(d->slices, when);
        return;
    }
    uint64_t since_us = has_output ? clock_now_us() : 0;
    session_deliver(s);
    uint64_t now_us = has_output ? meter_charge_loop(d, s, since_us) : 0;
    if (has_output && !s->live)
        slices_charge(d->slices, s->uid, now_us - since_us);
    if (has_output && !s->live)
        d->sessions->last_served = s->serial;
}

/* Live streams first, then files round robin from the one that was served last: the list is sorted
 * by serial, descending. */
void sessions_deliver(struct daemon *d)
{
    uint32_t last = d->sessions->last_served;
    bool files = false;
    for (struct session *s = d->sessions->first, *next; s; s = next) {
        next = s->next;
        files |= !s->live;
        if (s->live && !s->gone)
            session_serve(s);
    }
    for (unsigned round = 0; round < 2 && files; round++)
        for (struct session *s = d->sessions->first, *next; s; s = next) {
            next = s->next;
            if (!s->live && !s->gone && (s->serial < last) == !round)
                session_serve(s);
        }
    sessions_reap(d);
}
