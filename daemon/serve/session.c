/* SPDX-License-Identifier: MIT */
#include "daemon/serve/session.h"
#include "daemon/base/text.h"
#include "daemon/compute/lane.h"
#include "daemon/compute/pcm.h"
#include "daemon/compute/worker.h"
#include "daemon/net/quota.h"
#include "daemon/serve/admit.h"
#include "daemon/serve/codes.h"
#include "daemon/serve/daemon.h"
#include "daemon/serve/events.h"
#include "daemon/serve/limits.h"
#include "daemon/serve/messages.h"
#include "daemon/serve/meter.h"
#include "daemon/serve/session_list.h"
#include "daemon/serve/accounting.h"
#include "daemon/serve/topic.h"

#include <inttypes.h>

#define WINDOW_HOPS 4
#define CHUNK_FRAMES AUDIO_CHUNK_FRAMES
#define MAX_REPEATED 64
#define REFUSAL_BYTES 160
#define PRIORITY_MESSAGES 10 /* of a live stream in a tick, or as many as pulses */

uint64_t session_output_bytes_per_s(const struct session *s)
{
    return s->want_audio ? (uint64_t) s->out.rate * pcm_frame_bytes(&s->out) : 4096;
}

/* ---- the end of a session ---- */

/* Another stream of the model: of that owner, or of anybody. */
static struct session *other_of(const struct session *s, const struct owner *o)
{
    for (struct session *x = s->daemon->sessions; x; x = x->next)
        if (x != s && x->model == s->model && (!o || x->owner == o))
            return x;
    return NULL;
}

/* Who has a model loaded answers for it as long as he streams with it, then one of the others. */
static void model_owner_leave(struct session *s)
{
    struct memory *memory = &s->daemon->memory;
    struct model *m = s->model;
    struct session *x = m->owner == s->owner && !other_of(s, s->owner) ? other_of(s, NULL) : NULL;
    if (!x)
        return;
    memory_charge(memory, x->owner, MEMORY_MODELS, m->counted_bytes);
    registry_transfer(m, x->owner);
}

/* Where he does not, who comes takes it over. */
static enum memory_answer model_owner_enter(struct session *s)
{
    struct model *m = s->model;
    if (!m->owner || m->owner == s->owner || m->owner->who.kind == PRINCIPAL_DAEMON ||
        other_of(s, m->owner))
        return MEMORY_OK;
    enum memory_answer a = memory_claim(s->daemon, s->owner, MEMORY_MODELS, m->counted_bytes);
    if (a == MEMORY_OK)
        registry_transfer(m, s->owner);
    return a;
}

static void session_free(struct session *s)
{
    struct daemon *d = s->daemon;
    model_owner_leave(s);
    for (struct session **at = &d->sessions; *at; at = &(*at)->next)
        if (*at == s) {
            *at = s->next;
            break;
        }
    d->n_sessions--;
    memory_uncharge(&d->memory, s->owner, MEMORY_STREAMS, s->counted_bytes);
    memory_unref(&d->memory, s->owner);
    lane_free(s->lane);
    registry_unref(s->model);
    free(s->partial);
    free(s->event);
    free(s);
}

static void on_loaded(void *arg, struct model *m);

/* The client has nothing to do with it from here; the worker may for a moment, so it is freed
 * later. */
static void session_end(struct session *s)
{
    if (s->gone)
        return;
    s->gone = true;
    topic_end(s->topic, !s->complete);
    s->topic = NULL;
    if (s->conn) {
        conn_id_retire(s->conn, s->id);
        streams_remove(&s->conn->streams, &s->link);
        s->conn->active_us = lane_now_us();
        s->conn = NULL;
    }
    if (!s->lane) {
        registry_forget(s->model, on_loaded, s);
        return;
    }
    s->model->stats->streams--;
    meter_session(s);
    atomic_store_explicit(&s->lane->cancel, true, memory_order_release);
    worker_wake(s->worker);
}

static void session_fail(struct session *s, Rill__Code code, const char *text)
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
    for (struct session *s = d->sessions, *next; s; s = next) {
        next = s->next;
        if (!s->gone && s->conn && idle_stream(s, now_us))
            session_fail(s, RILL__CODE__DEADLINE,
                         "no audio came for so long that the stream is ended (idle_stream_ms)");
    }
}

static void finished_send(struct session *s, bool cancelled)
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
    a.audio_us = samples_us(processed, s->in.rate);
    a.compute_us = s->compute_us;
    a.max_chunk_us = s->max_chunk_us;
    a.deadline_misses = (uint32_t) s->misses;
    a.rtf = a.audio_us ? (float) ((double) s->compute_us / (double) a.audio_us) : 0;
    double pulse_us =
        s->lane ? (double) samples_us(s->model->lane.pulse_samples, s->model->lane.rate) : 0;
    a.max_chunk_rtf = pulse_us > 0 ? (float) (s->max_chunk_us / pulse_us) : 0;
    a.not_finite = s->not_finite;
    a.vad_frames = s->vad_frames;
    a.cancelled = cancelled;
    a.p99_chunk_us = (float) hist_quantile(&s->compute, 0.99);
    f.m_case = RILL__SERVER_FRAME__M_FINISHED;
    f.finished = &a;
    conn_send(s->conn, s->end_req, &f);
}

void session_cancel(struct session *s, uint32_t req, bool tell)
{
    s->end_req = req;
    if (s->lane)
        account_finished(s, true);
    if (tell)
        finished_send(s, true);
    session_end(s);
}

/* ---- opening ---- */

static bool refuse(struct conn *c, uint32_t req, uint32_t id, Rill__Code code, const char *text)
{
    conn_error(c, req, id, code, true, "%s", text);
    account_refused(c->daemon, code);
    return false;
}

static bool pcm_take(struct pcm *to, const Rill__Pcm *m)
{
    *to = (struct pcm) { m->rate, m->channels, (int) m->enc };
    return pcm_valid(to);
}

static bool options_take(struct session *s, const Rill__OpenStream *m)
{
    if (m->n_opt > MAX_REPEATED)
        return false;
    for (size_t i = 0; i < m->n_opt; i++)
        if (!text_valid(m->opt[i]->key) || !text_valid(m->opt[i]->value) ||
            !option_take(&s->options, m->opt[i]->key, m->opt[i]->value))
            return false;
    return true;
}

static bool wants_take(struct session *s, const Rill__OpenStream *m)
{
    if (m->n_want > MAX_REPEATED)
        return false;
    for (size_t i = 0; i < m->n_want; i++) {
        if (m->want[i] < RILL__OUTPUT__OUTPUT_AUDIO || m->want[i] > RILL__OUTPUT__OUTPUT_ENDPOINT)
            return false;
        s->want_mask |= 1u << m->want[i];
    }
    return true;
}

static bool request_check(struct session *s, struct conn *c, uint32_t req,
                          const Rill__OpenStream *m)
{
    struct daemon *d = c->daemon;
    if (d->draining)
        return refuse(c, req, m->stream, RILL__CODE__DRAINING,
                      "the daemon is stopping and opens nothing new");
    const char *quota = quota_open(c, d);
    if (quota)
        return refuse(c, req, m->stream, RILL__CODE__QUOTA, quota);
    if (!m->in)
        return refuse(c, req, m->stream, RILL__CODE__BAD_FORMAT,
                      "OpenStream.in is missing: rate, channels and enc are needed");
    if (!pcm_take(&s->in, m->in) || !pcm_take(&s->out, m->out ? m->out : m->in))
        return refuse(c, req, m->stream, RILL__CODE__BAD_FORMAT,
                      "the format must have a rate of 8000 to 192000 Hz, "
                      "1 to 8 channels and an encoding of S16LE, S24LE3, S32LE or F32LE");
    if (m->pace != RILL__PACE__PACE_LIVE && m->pace != RILL__PACE__PACE_FILE)
        return refuse(c, req, m->stream, RILL__CODE__BAD_ARG, "pace must be LIVE or FILE");
    if (m->pace == RILL__PACE__PACE_LIVE && admit_full(d))
        return refuse(c, req, m->stream, RILL__CODE__OVERLOADED,
                      "live streams have claimed the compute there is (rtf_budget)");
    if (!wants_take(s, m))
        return refuse(c, req, m->stream, RILL__CODE__BAD_ARG,
                      "want holds an output that does not exist");
    if (!options_take(s, m)) {
        char text[512] = "an option is not known or out of range; there are ";
        size_t n = strlen(text);
        options_list(text + n, sizeof text - n);
        return refuse(c, req, m->stream, RILL__CODE__BAD_ARG, text);
    }
    return true;
}

static struct model *model_choose(struct conn *c, uint32_t req, const Rill__OpenStream *m)
{
    const char *name = *m->model ? m->model : c->daemon->conf.models_default_model;
    char why[FOLDERS_WHY_BYTES];
    struct model *found = registry_get(&c->daemon->registry, name, why);
    if (!found)
        refuse(c, req, m->stream, model_error_code(errno), why);
    return found;
}

/* Those that have ended and that no compute thread holds any more. */
static void sessions_reap(struct daemon *d)
{
    for (struct session *s = d->sessions, *next; s; s = next) {
        next = s->next;
        if (s->gone && (!s->lane || atomic_load_explicit(&s->lane->detached, memory_order_acquire)))
            session_free(s);
    }
}

void session_open(struct conn *c, uint32_t req, const Rill__OpenStream *m)
{
    struct daemon *d = c->daemon;
    sessions_reap(d);
    if (!m->stream || stream_taken(c, m->stream)) {
        /* Not fatal: the number may be that of a stream that runs. */
        conn_error(c, req, m->stream, RILL__CODE__BAD_ARG, false,
                   m->stream ? "stream %u is open already" : "a stream's number is not %u",
                   m->stream);
        return;
    }
    struct session *s = calloc(1, sizeof *s);
    if (!s)
        refuse(c, req, m->stream, RILL__CODE__INTERNAL, "out of memory");
    if (!s || !request_check(s, c, req, m)) {
        free(s);
        return;
    }
    s->model = model_choose(c, req, m);
    if (!s->model) {
        free(s);
        return;
    }
    enum memory_answer a = memory_claim(d, c->owner, MEMORY_STREAMS, sizeof *s);
    if (a != MEMORY_OK) {
        refuse(c, req, m->stream, memory_code(a), memory_words(a));
        registry_unref(s->model);
        free(s);
        return;
    }
    conn_id_reuse(c, m->stream);
    s->daemon = d;
    s->conn = c;
    s->uid = c->uid;
    s->owner = memory_ref(c->owner);
    s->counted_bytes = sizeof *s;
    s->id = m->stream;
    s->req = req;
    s->serial = ++d->next_serial;
    s->live = m->pace == RILL__PACE__PACE_LIVE;
    s->align = m->align;
    s->max_latency_ms = m->max_latency_ms;
    s->opened_us = s->audio_us = lane_now_us();
    s->next = d->sessions;
    d->sessions = s;
    d->n_sessions++;
    s->link = (struct stream_link) { .id = s->id, .kind = STREAM_SESSION };
    streams_add(&c->streams, &s->link);
    if (!registry_load(&d->registry, s->model, s->owner, false, on_loaded, s))
        session_fail(s, RILL__CODE__INTERNAL, "out of memory");
}

static bool outputs_choose(struct session *s)
{
    Rill__Output list[5];
    uint32_t has = 0;
    for (size_t i = 0, n = outputs_list(&s->model->lane, list); i < n; i++)
        has |= 1u << list[i];
    /* A detector's endpoints alone come only to who asks. */
    uint32_t quiet =
        has & 1u << RILL__OUTPUT__OUTPUT_TRANSCRIPT ? 0 : 1u << RILL__OUTPUT__OUTPUT_ENDPOINT;
    uint32_t want = s->want_mask ? s->want_mask : has & ~quiet;
    s->want_mask = want;
    s->want_audio = want & 1u << RILL__OUTPUT__OUTPUT_AUDIO;
    s->want_vad = want & 1u << RILL__OUTPUT__OUTPUT_VAD;
    s->want_text = want & 1u << RILL__OUTPUT__OUTPUT_TRANSCRIPT;
    s->want_keyword = want & 1u << RILL__OUTPUT__OUTPUT_KEYWORD;
    s->want_endpoint = want & 1u << RILL__OUTPUT__OUTPUT_ENDPOINT;
    return !(want & ~has);
}

/* What the model says of its detector, and what the daemon's settings and the client change of it.
 * A threshold of the client's without a release is the release, too. */
static bool vad_setup(const struct session *s, rill_sink_opts *o)
{
    const struct conf *conf = &s->daemon->conf;
    const struct lane_model *m = &s->model->lane;
    float own = (float) option_or(&s->options, "vad_threshold", 0),
          off = (float) option_or(&s->options, "vad_release", 0);
    o->struct_bytes = sizeof *o;
    if (rill_sink_defaults(o, m->plan, (unsigned) m->vad_out, NULL) != RILL_OK)
        return false;
    o->threshold = own > 0        ? own
        : conf->vad_threshold > 0 ? (float) conf->vad_threshold
                                  : o->threshold;
    o->release = off > 0        ? off
        : conf->vad_release > 0 ? (float) conf->vad_release
        : own > 0               ? own
                                : o->release;
    o->hangover_ms = (uint32_t) option_or(&s->options, "vad_hangover_ms", o->hangover_ms);
    if (o->hangover_ms < conf->vad_min_silence_ms)
        o->hangover_ms = conf->vad_min_silence_ms;
    options_apply(&s->options, o);
    return true;
}

static bool lane_make(struct session *s)
{
    const struct conf *conf = &s->daemon->conf;
    const struct lane_model *m = &s->model->lane;
    uint32_t ms = s->live ? conf->limits_live_window_ms : conf->limits_file_window_ms;
    uint64_t window = (uint64_t) ms * s->in.rate / 1000;
    uint64_t hops = pcm_rescale((uint64_t) m->pulse_samples * WINDOW_HOPS, s->in.rate, m->rate);
    s->window = window > hops ? window : hops;
    struct lane_opts o = {
        .in_rate = s->in.rate,
        .out_rate = s->out.rate,
        .window_samples = (uint32_t) s->window,
        .align = s->align,
        .want_audio = s->want_audio,
        .want_vad = s->want_vad,
        .max_wait_us = s->live ? s->max_latency_ms * UINT64_C(1000) : 0,
        .sinks = { s->want_text, s->want_keyword, s->want_endpoint, s->options, { 0 } }
    };
    if (m->vad_out >= 0 && !vad_setup(s, &o.sinks.vad))
        return false;
    admit_bypass(s, &o);
    s->lane = events_make(s) ? lane_new(m, &o) : NULL;
    if (!s->lane)
        return false;
    s->lane->live = s->live;
    s->granted = s->window;
    atomic_store(&s->lane->finish, s->finishing);
    return true;
}

/* What the model says that a stream takes is asked for before it is made; all of it is known after
 * that: rings and sinks are as large as the client asked for. OK without a lane: there is no
 * memory. */
static enum memory_answer lane_claim(struct session *s)
{
    struct daemon *d = s->daemon;
    size_t state_bytes = (size_t) s->model->plan_info.stream_bytes;
    enum memory_answer a = memory_claim(d, s->owner, MEMORY_STREAMS, state_bytes);
    if (a != MEMORY_OK)
        return a;
    memory_uncharge(&d->memory, s->owner, MEMORY_STREAMS, state_bytes);
    if (!lane_make(s))
        return MEMORY_OK;
    size_t more = session_bytes(s) - s->counted_bytes;
    a = memory_claim(d, s->owner, MEMORY_STREAMS, more);
    if (a == MEMORY_OK)
        s->counted_bytes += more;
    else
        s->lane = lane_free(s->lane);
    return a;
}

static void opened_send(struct session *s)
{
    const struct lane_model *m = &s->model->lane;
    Rill__Opened a = RILL__OPENED__INIT;
    Rill__Pcm pcm = RILL__PCM__INIT;
    Rill__Output outputs[5];
    Rill__ServerFrame f = RILL__SERVER_FRAME__INIT;
    pcm.rate = m->rate;
    pcm.channels = 1;
    pcm.enc = RILL__ENC__ENC_F32LE;
    a.stream = s->id;
    a.model = s->model->name;
    a.model_sha256 = s->model->sha256;
    a.model_pcm = &pcm;
    a.hop_samples = m->pulse_samples;
    a.latency_samples = (uint32_t) pcm_rescale(m->latency_samples, s->out.rate, m->rate);
    a.offset_samples = -(int32_t) s->lane->delay_out_samples;
    a.lookahead_samples = m->lookahead_samples;
    a.credit_samples = s->granted;
    a.outputs = outputs;
    for (int k = RILL__OUTPUT__OUTPUT_AUDIO; k <= RILL__OUTPUT__OUTPUT_ENDPOINT; k++)
        if (s->want_mask & 1u << k)
            outputs[a.n_outputs++] = (Rill__Output) k;
    f.m_case = RILL__SERVER_FRAME__M_OPENED;
    f.opened = &a;
    conn_send(s->conn, s->req, &f);
}

static void on_loaded(void *arg, struct model *m)
{
    struct session *s = arg;
    const char *quota;
    enum memory_answer a;
    struct daemon *d = s->daemon;
    if (m->state != MODEL_READY) {
        account_refused(d, model_failed_code(m));
        session_fail(s, model_failed_code(m), m->error.text);
    } else if (!outputs_choose(s)) {
        session_fail(s, RILL__CODE__BAD_ARG, "want holds an output that the model does not have");
    } else if ((quota = quota_run(s, s->live ? (double) m->rtf : 0))) {
        account_refused(d, RILL__CODE__QUOTA);
        session_fail(s, RILL__CODE__QUOTA, quota);
    } else if (!(s->worker = admit_worker(d, s->live, m))) {
        account_refused(d, RILL__CODE__OVERLOADED);
        session_fail(s, RILL__CODE__OVERLOADED, admit_refusal(d));
    } else if ((a = model_owner_enter(s)) != MEMORY_OK || (a = lane_claim(s)) != MEMORY_OK) {
        account_refused(d, memory_code(a));
        session_fail(s, memory_code(a), memory_words(a));
    } else if (!s->lane) {
        session_fail(s, RILL__CODE__INTERNAL, "out of memory");
    } else {
        d->streams_opened++;
        m->stats->streams++;
        m->stats->streams_opened++;
        account_opened(s);
        opened_send(s);
        s->req = 0;
        worker_add(s->worker, s->lane);
        if (s->conn) /* what was said may have failed */
            socket_fit(s->conn);
    }
}

/* ---- audio in ---- */

static bool mark_put(struct session *s, uint64_t next_pos)
{
    struct lane_mark mark = { .count = s->received, .next_pos = next_pos };
    if (!ring_room(&s->lane->marks))
        return false;
    ring_write(&s->lane->marks, &mark, 1);
    s->marked = s->received;
    s->marked_pos = next_pos;
    return true;
}

/* Why it is not taken; NULL: it is. text: room for words that are not constant. */
static const char *audio_check(struct session *s, const Rill__Audio *m, Rill__Code *code,
                               char text[REFUSAL_BYTES])
{
    size_t frame = pcm_frame_bytes(&s->in);
    const char *container;
    *code = RILL__CODE__BAD_FORMAT;
    if (m->pcm.len % frame)
        return "the bytes are no whole number of frames (channels x bytes a sample)";
    if (!s->any_audio && (container = pcm_container_name(m->pcm.data, m->pcm.len))) {
        snprintf(text, REFUSAL_BYTES, "this is %s; send its samples without the header", container);
        return text;
    }
    *code = RILL__CODE__SEQ;
    if (m->discont ? m->pos < s->pos_in : m->pos != s->pos_in || m->seq != s->seq_in)
        return m->discont ? "pos went back; it may only jump forward"
                          : "seq or pos is not the next one; set discont where samples are missing";
    *code = RILL__CODE__BAD_ARG;
    if (m->pos > UINT64_MAX / 4 - m->pcm.len)
        return "pos is out of range";
    *code = RILL__CODE__FLOW_CONTROL;
    if (m->pcm.len / frame > s->granted - s->received)
        return "more samples than the credit allows; wait for Credit";
    return NULL;
}

static void audio_put(struct session *s, const uint8_t *pcm, size_t n_frames)
{
    float x[CHUNK_FRAMES];
    size_t bytes = pcm_frame_bytes(&s->in);
    while (n_frames) {
        size_t n = n_frames < CHUNK_FRAMES ? n_frames : CHUNK_FRAMES;
        s->not_finite += pcm_decode(&s->in, pcm, n, x);
        ring_write(&s->lane->in, x, n);
        s->received += n;
        pcm += n * bytes;
        n_frames -= n;
    }
}

void session_audio(struct session *s, const Rill__Audio *m)
{
    Rill__Code code;
    if (!s->lane) {
        session_fail(s, RILL__CODE__FLOW_CONTROL, "audio before Opened; there is no credit yet");
        return;
    }
    if (s->finishing) {
        conn_error(s->conn, 0, s->id, RILL__CODE__BAD_ARG, false,
                   "audio after Finish is not taken");
        return;
    }
    char text[REFUSAL_BYTES];
    const char *why = audio_check(s, m, &code, text);
    if (why) {
        session_fail(s, code, why);
        return;
    }
    if (m->discont && m->pos > s->pos_in) {
        if (!mark_put(s, m->pos)) {
            session_fail(s, RILL__CODE__FLOW_CONTROL, "too many jumps ahead of the work");
            return;
        }
        s->pos_in = m->pos;
    }
    size_t n = m->pcm.len / pcm_frame_bytes(&s->in);
    /* Before the samples: they are never seen without it. */
    struct lane_arrival a = { .count = s->received + n,
                              .us = lane_now_us(),
                              .since_us = admit_stalled_us(s->daemon) };
    if (n && ring_room(&s->lane->arrivals))
        ring_write(&s->lane->arrivals, &a, 1);
    audio_put(s, m->pcm.data, n);
    s->any_audio |= n > 0;
    s->conn->last_audio = &s->link;
    s->n_messages++;
    s->audio_us = a.us;
    s->pos_in += n;
    s->seq_in = m->seq + 1;
    worker_wake(s->worker);
}

void session_finish(struct session *s, uint32_t req)
{
    if (s->finishing) {
        conn_error(s->conn, req, s->id, RILL__CODE__BAD_ARG, false, "Finish was said already");
        return;
    }
    s->finishing = true;
    s->end_req = req;
    if (s->lane) {
        atomic_store_explicit(&s->lane->finish, true, memory_order_release);
        worker_wake(s->worker);
    }
}

void session_reset(struct session *s, uint32_t req)
{
    if (!s->lane || s->finishing) {
        conn_error(s->conn, req, s->id, RILL__CODE__BAD_ARG, false,
                   "Reset is for a stream that is open and not finishing");
        return;
    }
    if (s->received == s->marked && s->pos_in == s->marked_pos)
        return; /* nothing came since it began afresh */
    if (!mark_put(s, s->pos_in)) {
        conn_error(s->conn, req, s->id, RILL__CODE__OVERLOADED, false,
                   "too many resets ahead of the work");
        return;
    }
    worker_wake(s->worker);
}

/* ---- what comes back ---- */

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
        s->out_progress = pcm_rescale(r->pos + r->n, s->in.rate, s->out.rate);
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
    static const Rill__Gap__Reason reasons[] = { RILL__GAP__REASON__REASON_CLIENT,
                                                 RILL__GAP__REASON__REASON_RESET,
                                                 RILL__GAP__REASON__REASON_LATE,
                                                 RILL__GAP__REASON__REASON_OVERLOAD };
    uint64_t samples = r->end_pos - r->pos;
    s->skipped += r->reason == LANE_GAP_CLIENT ? samples : 0;
    s->late += r->reason == LANE_GAP_LATE ||
            (r->reason == LANE_GAP_OVERLOAD && r->fill != LANE_FILL_BYPASS)
        ? samples
        : 0;
    s->bypassed += r->fill == LANE_FILL_BYPASS ? samples : 0;
    account_gap(s, reasons[r->reason], samples);
    if (r->fill == LANE_FILL_SKIPPED)
        s->out_progress = r->end_pos;
    if (s->topic)
        topic_rec(s->topic, r, NULL);
    gap_send(s->conn, s->id, r->pos, samples, reasons[r->reason], (Rill__Gap__Fill) r->fill);
}

static void credit_send(struct session *s)
{
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

/* Whether so much waits to be read that this stream holds back. */
static bool output_is_full(const struct session *s)
{
    const struct conf *conf = &s->daemon->conf;
    uint64_t ms = s->live ? conf->limits_output_hard_ms : conf->limits_output_soft_ms;
    uint64_t bytes = session_output_bytes_per_s(s) * ms / 1000, floor = s->live ? 262144 : 65536;
    return conn_queue_bytes(s->conn) > (bytes > floor ? bytes : floor) || !conn_has_room(s->conn);
}

/* A file is a whole sequence, and may be none of those that the model takes; a live stream ends
 * where it ends. */
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
    events_flush(s, true);
    if (s->topic)
        topic_deliver(
            s->topic); /* what it gave comes before its end, also where one connection gets both */
    if (!length_fits(s, &err)) {
        session_fail(s, RILL__CODE__BAD_ARG, err.text);
        return;
    }
    s->complete = true;
    finished_send(s, false);
    account_finished(s, false);
    session_end(s);
}

static void fault_take(struct session *s)
{
    rill_error err;
    rill_stream_fault(s->lane->stream, &err);
    events_flush(s, true);
    session_fail(s, RILL__CODE__MODEL_FAILED, err.text);
}

void session_deliver(struct session *s)
{
    struct lane_rec r;
    bool took = false;
    while (!s->gone && s->lane && s->conn && !s->conn->closing && ring_used(&s->lane->recs)) {
        if (output_is_full(s)) {
            s->conn->paused = true;
            break;
        }
        ring_read(&s->lane->recs, &r, 1);
        took = true;
        switch (r.kind) {
        case LANE_PULSE: pulse_take(s, &r); break;
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
    return s->live && s->n_messages < 2 * most; /* what came late may come in the same tick */
}

/* What its lane has to say, on the account of who pays for it. */
static void session_serve(struct session *s)
{
    struct daemon *d = s->daemon;
    bool has_output = s->lane && ring_used(&s->lane->recs);
    enum slice when = has_output && !s->live ? slices_when(&d->slices, s->uid) : SLICE_NOW;
    if (when != SLICE_NOW) {
        slices_resume(&d->slices, when);
        return;
    }
    uint64_t since_us = has_output ? lane_now_us() : 0;
    session_deliver(s);
    uint64_t now_us = has_output ? meter_charge_loop(d, s, since_us) : 0;
    if (has_output && !s->live)
        slices_charge(&d->slices, s->uid, now_us - since_us);
    if (has_output && !s->live)
        d->last_served = s->serial;
}

/* Live streams first; the others from where the last turn ended, round: the list is in order of
 * numbers, the newest first. */
void sessions_deliver(struct daemon *d)
{
    uint32_t last = d->last_served;
    bool files = false;
    for (struct session *s = d->sessions, *next; s; s = next) {
        next = s->next;
        files |= !s->live;
        if (s->live && !s->gone)
            session_serve(s);
    }
    for (unsigned round = 0; round < 2 && files; round++)
        for (struct session *s = d->sessions, *next; s; s = next) {
            next = s->next;
            if (!s->live && !s->gone && (s->serial < last) == !round)
                session_serve(s);
        }
    sessions_reap(d);
}
