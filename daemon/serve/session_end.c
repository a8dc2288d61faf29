/* SPDX-License-Identifier: MIT */
/* The end of a session. */
#include "daemon/base/clock.h"
#include "daemon/base/memory.h"
#include "daemon/compute/lane.h"
#include "daemon/compute/pcm.h"
#include "daemon/compute/worker.h"
#include "daemon/models/registry.h"
#include "daemon/net/conn.h"
#include "daemon/serve/accounting.h"
#include "daemon/serve/daemon.h"
#include "daemon/serve/limits.h"
#include "daemon/serve/meter.h"
#include "daemon/serve/session_internal.h"
#include "daemon/serve/session_list.h"
#include "daemon/serve/session_ports.h"
#include "daemon/serve/topic.h"

struct session *session_other_of(const struct session *s, const struct owner *o)
{
    for (struct session *x = s->daemon->sessions->first; x; x = x->next)
        if (x != s && x->model == s->model && (!o || x->owner == o))
            return x;
    return NULL;
}

/* A model stays charged to the user that had it loaded until that user's last stream of it ends;
 * then it is charged to the user of another stream. */
static void model_owner_leave(struct session *s)
{
    struct memory *memory = s->daemon->memory;
    struct model *m = s->model;
    struct session *x =
        m->owner == s->owner && !session_other_of(s, s->owner) ? session_other_of(s, NULL) : NULL;
    if (!x)
        return;
    memory_charge(memory, x->owner, MEMORY_MODELS, m->counted_bytes);
    registry_transfer(m, x->owner);
}

static void session_free(struct session *s)
{
    struct daemon *d = s->daemon;
    model_owner_leave(s);
    for (struct session **at = &d->sessions->first; *at; at = &(*at)->next)
        if (*at == s) {
            *at = s->next;
            break;
        }
    d->sessions->n--;
    memory_uncharge(d->memory, s->owner, MEMORY_STREAMS, s->counted_bytes);
    memory_unref(d->memory, s->owner);
    lane_free(s->lane);
    registry_unref(s->model);
    session_ports_free(s);
    options_drop(&s->options);
    free(s->partial);
    free(s->event);
    free(s);
}

void session_end(struct session *s)
{
    if (s->gone)
        return;
    s->gone = true;
    topic_end(s->topic, !s->complete);
    s->topic = NULL;
    if (s->conn) {
        conn_id_retire(s->conn, s->id);
        conn_output_end(s->conn, session_output_bytes_per_s(s));
        streams_remove(&s->conn->streams, &s->link);
        s->conn->active_us = clock_now_us();
        s->conn = NULL;
    }
    if (!s->lane) {
        registry_forget(s->model, s);
        return;
    }
    s->model->stats->streams--;
    meter_session(s);
    atomic_store_explicit(&s->lane->cancel, true, memory_order_release);
    worker_wake(s->worker);
}

void session_fail(struct session *s, Rill__Code code, const char *text)
{
    conn_error(s->conn, s->req, s->id, code, true, "%s", text);
    topic_fail(s->topic, code, text);
    if (s->lane)
        account_finished(s, true);
    session_end(s);
}

void sessions_drop(struct conn *c)
{
    for (struct session *s = session_next(c, NULL), *next; s; s = next) {
        next = session_next(c, s);
        if (s->lane)
            account_finished(s, true);
        session_end(s);
    }
}

void sessions_idle(struct daemon *d, uint64_t now_us)
{
    for (struct session *s = d->sessions->first, *next; s; s = next) {
        next = s->next;
        if (!s->gone && s->conn && idle_stream(s, now_us))
            session_fail(s, RILL__CODE__DEADLINE,
                         "no audio came for so long that the stream is ended (idle_stream_ms)");
    }
}

void session_finished_send(struct session *s, bool cancelled)
{
    Rill__Finished a = RILL__FINISHED__INIT;
    Rill__ServerFrame f = RILL__SERVER_FRAME__INIT;
    uint64_t processed = s->lane
        ? atomic_load_explicit(&s->lane->consumed, memory_order_acquire) - s->late - s->bypassed
        : 0;
    a.stream = s->id;
    a.in = s->received;
    a.out = s->sent;
    a.processed = processed;
    a.dropped = s->received - processed - s->bypassed + s->skipped;
    a.bypassed = s->bypassed;
    a.audio_us = session_us(s, processed);
    a.compute_us = s->compute_us;
    a.max_chunk_us = s->max_chunk_us;
    a.deadline_misses = (uint32_t) s->misses;
    a.rtf = a.audio_us ? (float) ((double) s->compute_us / (double) a.audio_us) : 0;
    double pulse_us = s->lane && (!s->ports || s->model->lane.is_timed || s->model->lane.rate)
        ? (double) lane_pulse_us(&s->model->lane)
        : 0;
    a.max_chunk_rtf = pulse_us > 0 ? (float) (s->max_chunk_us / pulse_us) : 0;
    a.not_finite = s->not_finite;
    a.vad_frames = s->vad_frames;
    a.cancelled = cancelled;
    a.p99_chunk_us = (float) hist_quantile(&s->compute, 0.99);
    f.m_case = RILL__SERVER_FRAME__M_FINISHED;
    f.finished = &a;
    if (s->ports && s->lane) {
        session_ports_finished(s, &f);
        return;
    }
    conn_send(s->conn, s->end_req, &f);
}

void session_cancel(struct session *s, uint32_t req, bool tell)
{
    s->end_req = req;
    if (s->lane)
        account_finished(s, true);
    if (tell)
        session_finished_send(s, true);
    session_end(s);
}

void sessions_reap(struct daemon *d)
{
    for (struct session *s = d->sessions->first, *next; s; s = next) {
        next = s->next;
        if (s->gone && (!s->lane || atomic_load_explicit(&s->lane->detached, memory_order_acquire)))
            session_free(s);
    }
}
