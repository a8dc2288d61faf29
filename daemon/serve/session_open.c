/* SPDX-License-Identifier: MIT */
/* Opening a session: the request is checked, the model loaded, the lane made. */
#include "daemon/base/clock.h"
#include "daemon/base/conf.h"
#include "daemon/base/lifecycle.h"
#include "daemon/base/memory.h"
#include "daemon/base/text.h"
#include "daemon/compute/lane.h"
#include "daemon/compute/pcm.h"
#include "daemon/compute/worker.h"
#include "daemon/models/registry.h"
#include "daemon/net/conn.h"
#include "daemon/net/quota.h"
#include "daemon/serve/accounting.h"
#include "daemon/serve/admit.h"
#include "daemon/serve/codes.h"
#include "daemon/serve/daemon.h"
#include "daemon/serve/events.h"
#include "daemon/serve/limits.h"
#include "daemon/serve/messages.h"
#include "daemon/serve/session_internal.h"
#include "daemon/serve/session_list.h"
#include "daemon/serve/session_ports.h"
#include "daemon/serve/topic.h"

#include <errno.h>

#define WINDOW_HOPS 4
#define MAX_REPEATED 64

/* If the user that a model is charged to has no stream of it any more, it is charged to the user of
 * this one. */
static enum memory_answer model_owner_enter(struct session *s)
{
    struct model *m = s->model;
    if (!m->owner || m->owner == s->owner || m->owner->who.kind == PRINCIPAL_DAEMON ||
        session_other_of(s, m->owner))
        return MEMORY_OK;
    enum memory_answer a = memory_claim(s->daemon, s->owner, MEMORY_MODELS, m->counted_bytes);
    if (a == MEMORY_OK)
        registry_transfer(m, s->owner);
    return a;
}

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
        if (!text_valid(m->opt[i]->key) ||
            !option_take(&s->options, m->opt[i]->key, m->opt[i]->value))
            return false;
    return true;
}

static bool wants_take(struct session *s, const Rill__OpenStream *m)
{
    if (m->n_want > MAX_REPEATED)
        return false;
    for (size_t i = 0; i < m->n_want; i++) {
        if (!output_known(m->want[i]))
            return false;
        s->want_mask |= 1u << m->want[i];
    }
    return true;
}

/* What a client asks for: one of the two messages. */
struct open_request {
    uint32_t stream;
    const char *model;
    Rill__Pace pace;
    const Rill__OpenStream *audio;
    const Rill__OpenPorts *ports;
};

static bool audio_check(struct session *s, struct conn *c, uint32_t req, const Rill__OpenStream *m)
{
    if (!m->in)
        return refuse(c, req, m->stream, RILL__CODE__BAD_FORMAT,
                      "OpenStream.in is missing: rate, channels and enc are needed");
    if (!pcm_take(&s->in, m->in) || !pcm_take(&s->out, m->out ? m->out : m->in))
        return refuse(c, req, m->stream, RILL__CODE__BAD_FORMAT,
                      "the format must have a rate of 8000 to 192000 Hz, "
                      "1 to 8 channels and an encoding of S16LE, S24LE3, S32LE or F32LE");
    return true;
}

static bool ports_request_check(struct conn *c, uint32_t req, const Rill__OpenPorts *m)
{
    for (size_t i = 0; i < m->n_want; i++)
        if (!text_valid(m->want[i]))
            return refuse(c, req, m->stream, RILL__CODE__BAD_ARG,
                          "want holds a name that is not UTF-8 of less than 256 bytes");
    return m->n_want <= PORTS_WANT_MAX ||
        refuse(c, req, m->stream, RILL__CODE__BAD_ARG, "want holds over 4096 names");
}

static bool wants_check(struct session *s, struct conn *c, uint32_t req, const Rill__OpenStream *m)
{
    if (!wants_take(s, m))
        return refuse(c, req, m->stream, RILL__CODE__BAD_ARG,
                      "want holds an output that does not exist");
    if (options_take(s, m))
        return true;
    char text[640] = "an option is not known or out of range; there are ";
    size_t n = strlen(text);
    options_list(text + n, sizeof text - n);
    return refuse(c, req, m->stream, RILL__CODE__BAD_ARG, text);
}

static bool request_check(struct session *s, struct conn *c, uint32_t req,
                          const struct open_request *r)
{
    struct daemon *d = c->daemon;
    if (d->life->draining)
        return refuse(c, req, r->stream, RILL__CODE__DRAINING,
                      "the daemon is stopping and opens nothing new");
    const char *quota = quota_open(c, d);
    if (quota)
        return refuse(c, req, r->stream, RILL__CODE__QUOTA, quota);
    if (r->audio ? !audio_check(s, c, req, r->audio) : !ports_request_check(c, req, r->ports))
        return false;
    if (r->pace != RILL__PACE__PACE_LIVE && r->pace != RILL__PACE__PACE_FILE)
        return refuse(c, req, r->stream, RILL__CODE__BAD_ARG, "pace must be LIVE or FILE");
    if (r->pace == RILL__PACE__PACE_LIVE && admit_full(d))
        return refuse(c, req, r->stream, RILL__CODE__OVERLOADED,
                      "live streams have claimed the compute there is (rtf_budget)");
    return !r->audio || wants_check(s, c, req, r->audio);
}

static struct model *model_choose(struct conn *c, uint32_t req, const struct open_request *m)
{
    const char *name = *m->model ? m->model : c->daemon->conf->models_default_model;
    char why[FOLDERS_WHY_BYTES];
    struct model *found = registry_get(c->daemon->registry, name, why);
    if (!found)
        refuse(c, req, m->stream, model_error_code(errno), why);
    return found;
}

static bool outputs_choose(struct session *s)
{
    Rill__Output list[OUTPUTS];
    uint32_t has = 0;
    for (size_t i = 0, n = outputs_list(&s->model->lane, list); i < n; i++)
        has |= 1u << list[i];
    /* Endpoints of a model without texts are sent only if they are asked for. */
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

/* The detector's options: the model's, changed by the daemon's settings and then by the client. A
 * client's threshold without a release is also the release. */
static bool vad_setup(const struct session *s, rill_sink_opts *o)
{
    const struct conf *conf = s->daemon->conf;
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
    if (s->ports) {
        s->lane = session_ports_lane(s);
        if (s->lane)
            atomic_store(&s->lane->finish, s->finishing);
        return s->lane;
    }
    const struct conf *conf = s->daemon->conf;
    const struct lane_model *m = &s->model->lane;
    uint32_t ms = s->live ? conf->limits_live_window_ms : conf->limits_file_window_ms;
    uint64_t window = (uint64_t) ms * s->in.rate / 1000;
    uint64_t hops = rate_rescale((uint64_t) m->pulse_samples * WINDOW_HOPS, s->in.rate, m->rate);
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

/* Makes the lane and charges its memory. The size of the model's state, and of the rings of ports,
 * is known before and is claimed first, so that a large one is refused before it is allocated; that
 * of other rings and of sinks is known afterwards. OK without a lane: malloc failed. */
static enum memory_answer lane_claim(struct session *s)
{
    struct daemon *d = s->daemon;
    size_t state_bytes =
        (size_t) s->model->plan_info.stream_bytes + (s->ports ? session_ports_most(s) : 0);
    enum memory_answer a = memory_claim(d, s->owner, MEMORY_STREAMS, state_bytes);
    if (a != MEMORY_OK)
        return a;
    memory_uncharge(d->memory, s->owner, MEMORY_STREAMS, state_bytes);
    if (!lane_make(s))
        return MEMORY_OK;
    options_drop(&s->options);
    size_t bytes = session_bytes(s), had = s->counted_bytes;
    a = memory_claim(d, s->owner, MEMORY_STREAMS, bytes > had ? bytes - had : 0);
    if (a == MEMORY_OK) {
        memory_uncharge(d->memory, s->owner, MEMORY_STREAMS, bytes < had ? had - bytes : 0);
        s->counted_bytes = bytes;
    } else
        s->lane = lane_free(s->lane);
    return a;
}

static void opened_send(struct session *s)
{
    if (s->ports) {
        session_ports_opened(s);
        return;
    }
    const struct lane_model *m = &s->model->lane;
    Rill__Opened a = RILL__OPENED__INIT;
    Rill__Pcm pcm = RILL__PCM__INIT;
    Rill__Output outputs[OUTPUTS];
    Rill__ServerFrame f = RILL__SERVER_FRAME__INIT;
    pcm.rate = m->rate;
    pcm.channels = 1;
    pcm.enc = RILL__ENC__ENC_F32LE;
    a.stream = s->id;
    a.model = s->model->name;
    a.model_sha256 = s->model->sha256;
    a.model_pcm = &pcm;
    a.hop_samples = m->pulse_samples;
    a.latency_samples = (uint32_t) rate_rescale(m->latency_samples, s->out.rate, m->rate);
    a.offset_samples = -(int32_t) s->lane->delay_out_samples;
    a.lookahead_samples = m->lookahead_samples;
    a.credit_samples = s->granted;
    a.outputs = outputs;
    a.n_outputs = outputs_fill(s->want_mask, outputs);
    f.m_case = RILL__SERVER_FRAME__M_OPENED;
    f.opened = &a;
    conn_send(s->conn, s->req, &f);
}

/* Why the model does not serve this session; NULL: it does. */
static const char *model_refuse(struct session *s, Rill__Code *code, char text[512])
{
    if (s->ports)
        return session_ports_refuse(s, code, text);
    *code = RILL__CODE__MODEL_FAILED;
    if (s->model->lane.audio_in < 0)
        return s->model->lane.audio_error;
    *code = RILL__CODE__BAD_ARG;
    if (s->live && lane_sinks_have(&s->model->lane, RILL_PORT_ATTENTION)) {
        snprintf(text, 512,
                 "model '%.60s' has an attention decoder, which plans as its text grows and keeps "
                 "no time: it cannot be live; open it with pace FILE",
                 s->model->name);
        return text;
    }
    if (options_want_transducer(&s->options) &&
        !lane_sinks_have(&s->model->lane, RILL_PORT_TRANSDUCER)) {
        snprintf(text, 512,
                 "model '%.60s' has no transducer, which hotwords, an lm and a blank penalty are "
                 "for; leave these options out, or open a transducer",
                 s->model->name);
        return text;
    }
    return outputs_choose(s) ? NULL : "want holds an output that the model does not have";
}

/* A lane that was not made: its options may be wrong, which the model knows. */
static void options_fail(struct session *s)
{
    const struct lane_sinks_opts w = { .options = s->options };
    rill_error err;
    if (s->ports || lane_sinks_try(&s->model->lane, &w, &err) == RILL_OK) {
        session_fail(s, RILL__CODE__INTERNAL, "out of memory");
        return;
    }
    account_refused(s->daemon, RILL__CODE__BAD_ARG);
    session_fail(s, RILL__CODE__BAD_ARG, err.text);
}

static void on_loaded(void *arg, struct model *m)
{
    struct session *s = arg;
    Rill__Code code;
    char text[512];
    const char *why;
    const char *quota;
    enum memory_answer a;
    struct daemon *d = s->daemon;
    if (m->state != MODEL_READY) {
        account_refused(d, model_failed_code(m));
        session_fail(s, model_failed_code(m), m->error.text);
    } else if ((why = model_refuse(s, &code, text))) {
        account_refused(d, code);
        session_fail(s, code, why);
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
        options_fail(s);
    } else {
        d->sessions->n_opened++;
        m->stats->streams++;
        m->stats->streams_opened++;
        account_opened(s);
        worker_add(s->worker, s->lane);
        opened_send(s);
        s->req = 0;
        if (s->conn) /* sending Opened may have closed it */
            socket_fit(s->conn);
    }
}

/* Charges what it holds while the model loads, and makes it. */
static bool session_charge(struct session *s, struct conn *c, uint32_t req,
                           const struct open_request *r)
{
    struct daemon *d = c->daemon;
    size_t bytes = sizeof *s + options_text_bytes(&s->options) +
        (r->ports ? session_ports_new_bytes(r->ports) : 0);
    enum memory_answer a = memory_claim(d, c->owner, MEMORY_STREAMS, bytes);
    if (a != MEMORY_OK)
        return refuse(c, req, r->stream, memory_code(a), memory_words(a));
    if (!options_keep(&s->options) || (r->ports && !session_ports_new(s, r->ports))) {
        session_ports_free(s);
        options_drop(&s->options);
        memory_uncharge(d->memory, c->owner, MEMORY_STREAMS, bytes);
        return refuse(c, req, r->stream, RILL__CODE__INTERNAL, "out of memory");
    }
    s->counted_bytes = bytes;
    return true;
}

static void open_it(struct conn *c, uint32_t req, const struct open_request *m)
{
    struct daemon *d = c->daemon;
    sessions_reap(d);
    if (!m->stream || conn_id_is_taken(c, m->stream)) {
        /* Not fatal, since the number may be that of a running stream. */
        conn_error(c, req, m->stream, RILL__CODE__BAD_ARG, false,
                   m->stream ? "stream %u is open already" : "a stream's number is not %u",
                   m->stream);
        return;
    }
    struct session *s = calloc(1, sizeof *s);
    if (!s)
        refuse(c, req, m->stream, RILL__CODE__INTERNAL, "out of memory");
    if (!s || !request_check(s, c, req, m) || !(s->model = model_choose(c, req, m))) {
        free(s);
        return;
    }
    if (!session_charge(s, c, req, m)) {
        registry_unref(s->model);
        free(s);
        return;
    }
    conn_id_reuse(c, m->stream);
    s->daemon = d;
    s->conn = c;
    s->uid = c->uid;
    s->owner = memory_ref(c->owner);
    s->id = m->stream;
    s->req = req;
    s->serial = ++d->sessions->last_serial;
    s->live = m->pace == RILL__PACE__PACE_LIVE;
    s->align = m->audio && m->audio->align;
    s->max_latency_ms = m->audio ? m->audio->max_latency_ms : 0;
    s->opened_us = s->audio_us = clock_now_us();
    s->next = d->sessions->first;
    d->sessions->first = s;
    d->sessions->n++;
    s->link = (struct stream_link) { .id = s->id, .kind = STREAM_SESSION };
    streams_add(&c->streams, &s->link);
    if (!registry_load(d->registry, s->model, s->owner, false, on_loaded, s))
        session_fail(s, RILL__CODE__INTERNAL, "out of memory");
}

void session_open(struct conn *c, uint32_t req, const Rill__OpenStream *m)
{
    open_it(c, req, &(struct open_request) { m->stream, m->model, m->pace, m, NULL });
}

void session_open_ports(struct conn *c, uint32_t req, const Rill__OpenPorts *m)
{
    open_it(c, req, &(struct open_request) { m->stream, m->model, m->pace, NULL, m });
}
