/* SPDX-License-Identifier: MIT */
/* What a message does: it is decoded, and goes to the session, the topic or the reply that it is
 * for. */
#include "daemon/base/clock.h"
#include "daemon/base/conf.h"
#include "daemon/base/lifecycle.h"
#include "daemon/base/log.h"
#include "daemon/base/text.h"
#include "daemon/compute/pool.h"
#include "daemon/compute/worker.h"
#include "daemon/daemon.h"
#include "daemon/models/registry.h"
#include "daemon/net/conn.h"
#include "daemon/net/net.h"
#include "daemon/net/wire.h"
#include "daemon/serve/codes.h"
#include "daemon/serve/session.h"
#include "daemon/serve/session_list.h"
#include "daemon/serve/topic.h"
#include "daemon/watch/health.h"
#include "daemon/watch/memory_reply.h"
#include "daemon/watch/metrics.h"
#include "daemon/watch/profile.h"
#include "daemon/watch/stats.h"

#include <errno.h>
#include <inttypes.h>

/* What each minor version added. */
enum proto_minor {
    MINOR_FIRST,
    MINOR_WORDS, /* texts, keywords, endpoints */
    MINOR_METRICS,
    MINOR_SWAP, /* swapping and reloading a model */
    MINOR_OVERLOAD,
    MINOR_HEALTH,     /* reasons of Health */
    MINOR_TOPICS,     /* publish and subscribe */
    MINOR_HISTOGRAMS, /* gaps, errors by code and memory in Stats, the slowest pulses, top */
    MINOR_MEMORY,     /* memory of connections, streams and histories */
    MINOR_PAGES,      /* Info, Stats and CtlStatus in pages, subscriptions among the sessions */
    MINOR_ACCOUNTS,   /* memory by user and by what it is for */
    MINOR_PRICES,     /* of models; loads of the loop and the machine */
    MINOR_PORTS,      /* streams of ports of any type */
    MINOR_END
};
#define PROTO_MINOR (MINOR_END - 1)

struct verb {
    bool control, before_hello; /* control: only on that socket */
    void (*run)(struct conn *c, const Rill__ClientFrame *f);
};

/* ---- set-up ---- */

static void on_hello(struct conn *c, const Rill__ClientFrame *f)
{
    struct daemon *d = c->daemon;
    const Rill__Hello *m = f->hello;
    if (c->hello_done) {
        conn_error(c, f->req, 0, RILL__CODE__BAD_ARG, false, "Hello was said already");
        return;
    }
    if (!text_valid(m->client) || m->n_features > 64) {
        conn_error(c, f->req, 0, RILL__CODE__BAD_ARG, true,
                   "Hello.client is not UTF-8 of less than 256 bytes, or over 64 features");
        return;
    }
    snprintf(c->client, sizeof c->client, "%s", m->client);
    for (char *p = c->client; *p; p++)
        if ((unsigned char) *p <= ' ' || (unsigned char) *p >= 0x7f || *p == '"')
            *p = '_';
    uint32_t most = d->conf->limits_max_message_bytes, asked = m->max_frame ? m->max_frame : most;
    c->max_message_bytes = asked < 4096 ? 4096 : asked < most ? asked : most;
    c->hello_done = true;
    Rill__HelloAck a = RILL__HELLO_ACK__INIT;
    Rill__ServerFrame r = RILL__SERVER_FRAME__INIT;
    a.minor = PROTO_MINOR;
    a.server = (char *) (uintptr_t) "rilld " RILL_VERSION;
    a.instance_id = d->life->instance_id;
    a.max_frame = c->max_message_bytes;
    a.max_streams = d->conf->limits_max_streams_per_connection;
    a.mono_us = clock_now_us();
    r.m_case = RILL__SERVER_FRAME__M_HELLO;
    r.hello = &a;
    conn_send(c, f->req, &r);
}

/* ---- streams ---- */

static struct session *session_of(struct conn *c, uint32_t req, uint32_t id)
{
    struct session *s = id ? session_find(c, id) : NULL;
    if (!s && conn_id_is_taken(c, id))
        conn_error(c, req, id, RILL__CODE__BAD_ARG, false,
                   "stream %u is a subscription; it takes Unsubscribe only", id);
    else if (!s && !conn_id_is_retired(c, id))
        conn_error(c, req, id, RILL__CODE__NO_STREAM, false, "stream %u is not open", id);
    return s;
}

static void on_open(struct conn *c, const Rill__ClientFrame *f)
{
    session_open(c, f->req, f->open);
}

static void on_audio(struct conn *c, const Rill__ClientFrame *f)
{
    struct session *s = session_of(c, f->req, f->audio->stream);
    if (s)
        session_audio(s, f->audio);
}

static void on_open_ports(struct conn *c, const Rill__ClientFrame *f)
{
    session_open_ports(c, f->req, f->open_ports);
}

static void on_frames(struct conn *c, const Rill__ClientFrame *f)
{
    struct session *s = session_of(c, f->req, f->frames->stream);
    if (s)
        session_frames(s, f->frames);
}

static void on_finish(struct conn *c, const Rill__ClientFrame *f)
{
    struct session *s = session_of(c, f->req, f->finish->stream);
    if (s)
        session_finish(s, f->req);
}

static void on_reset(struct conn *c, const Rill__ClientFrame *f)
{
    struct session *s = session_of(c, f->req, f->reset->stream);
    if (s)
        session_reset(s, f->req);
}

static void stream_cancel(struct conn *c, uint32_t req, uint32_t id)
{
    struct session *s;
    if (id && sub_cancel(c, req, id))
        return;
    if ((s = session_of(c, req, id)))
        session_cancel(s, req, true);
}

static void on_close(struct conn *c, const Rill__ClientFrame *f)
{
    stream_cancel(c, f->req, f->close->stream);
}

static void on_cancel(struct conn *c, const Rill__ClientFrame *f)
{
    stream_cancel(c, f->req, f->cancel->stream);
}

static void on_publish(struct conn *c, const Rill__ClientFrame *f)
{
    topic_publish(c, f->req, f->publish);
}

static void on_subscribe(struct conn *c, const Rill__ClientFrame *f)
{
    topic_subscribe(c, f->req, f->subscribe);
}

static void on_unsubscribe(struct conn *c, const Rill__ClientFrame *f)
{
    uint32_t id = f->unsubscribe->stream;
    if (!sub_cancel(c, f->req, id) && !conn_id_is_retired(c, id))
        conn_error(c, f->req, id, RILL__CODE__NO_STREAM, false, "stream %u is no subscription", id);
}

/* ---- questions ---- */

static void on_ping(struct conn *c, const Rill__ClientFrame *f)
{
    Rill__Pong a = RILL__PONG__INIT;
    Rill__ServerFrame r = RILL__SERVER_FRAME__INIT;
    if (f->ping->payload.len > 1024) {
        conn_error(c, f->req, 0, RILL__CODE__TOO_LARGE, false,
                   "a ping's payload is at most 1024 bytes");
        return;
    }
    a.payload = f->ping->payload;
    a.mono_us = clock_now_us();
    r.m_case = RILL__SERVER_FRAME__M_PONG;
    r.pong = &a;
    conn_send(c, f->req, &r);
}

static void on_info(struct conn *c, const Rill__ClientFrame *f)
{
    info_reply(c, f->req, f->info);
}

static void on_stats(struct conn *c, const Rill__ClientFrame *f)
{
    stats_reply(c, f->req, f->stats->after_model);
}

static void on_health(struct conn *c, const Rill__ClientFrame *f)
{
    struct daemon *d = c->daemon;
    uint64_t beats[POOL_WORKERS_MAX], silent_us[POOL_WORKERS_MAX];
    Rill__HealthReply a = RILL__HEALTH_REPLY__INIT;
    Rill__ServerFrame r = RILL__SERVER_FRAME__INIT;
    for (unsigned i = 0; i < d->pool->n; i++) {
        beats[i] = atomic_load(&d->pool->workers[i].heartbeat);
        silent_us[i] = health_silent_us(d, i);
    }
    a.state = (Rill__HealthReply__State) health_state(d);
    a.reason = (char *) (uintptr_t) health_reason(d);
    a.beats = beats;
    a.silent_us = silent_us;
    a.n_beats = a.n_silent_us = d->pool->n;
    r.m_case = RILL__SERVER_FRAME__M_HEALTH;
    r.health = &a;
    conn_send(c, f->req, &r);
}

/* ---- control ---- */

static void done_send(struct conn *c, uint32_t req, const char *text)
{
    Rill__CtlDone a = RILL__CTL_DONE__INIT;
    Rill__ServerFrame r = RILL__SERVER_FRAME__INIT;
    a.text = (char *) (uintptr_t) text;
    r.m_case = RILL__SERVER_FRAME__M_CTL_DONE;
    r.ctl_done = &a;
    conn_send(c, req, &r);
}

static void on_ctl_status(struct conn *c, const Rill__ClientFrame *f)
{
    status_reply(c, f->req, f->ctl_status->after_model);
}

static void on_ctl_sessions(struct conn *c, const Rill__ClientFrame *f)
{
    sessions_reply(c, f->req, f->ctl_sessions->after_conn, f->ctl_sessions->after_stream);
}

static void on_ctl_top(struct conn *c, const Rill__ClientFrame *f)
{
    top_reply(c, f->req);
}

static void on_ctl_worst(struct conn *c, const Rill__ClientFrame *f)
{
    worst_reply(c, f->req, f->ctl_worst->model, f->ctl_worst->profile);
}

static void on_ctl_memory(struct conn *c, const Rill__ClientFrame *f)
{
    memory_reply(c, f->req);
}

static void on_ctl_metrics(struct conn *c, const Rill__ClientFrame *f)
{
    metrics_reply(c, f->req);
}

static void on_ctl_drain(struct conn *c, const Rill__ClientFrame *f)
{
    done_send(c, f->req, "draining");
    daemon_drain(c->daemon,
                 f->ctl_drain->grace_ms ? f->ctl_drain->grace_ms
                                        : c->daemon->conf->limits_drain_grace_ms);
}

/* The connection may close while a model loads, so it is found again by number for the reply. */
struct load_wait {
    struct daemon *daemon;
    uint32_t conn, req;
};

static void load_note(const struct load_wait *w, const struct model *m)
{
    if (m->state == MODEL_READY)
        log_line(w->daemon->log, LOG_INFO, "model=%s loaded sha256=%.12s", m->name, m->sha256);
    else
        log_line(w->daemon->log, LOG_WARN, "model=%s cannot be loaded: %s", m->name, m->error.text);
}

static void on_loaded(void *arg, struct model *m)
{
    struct load_wait *w = arg;
    struct conn *c = conn_find(w->daemon->net, w->conn);
    load_note(w, m);
    if (c && m->state == MODEL_READY)
        done_send(c, w->req, m->name);
    else if (c)
        conn_error(c, w->req, 0, model_failed_code(m), false, "%s: %s", m->name, m->error.text);
    registry_unref(m);
    free(w);
}

static void on_unloaded(void *arg, struct model *m)
{
    struct load_wait *w = arg;
    struct conn *c = conn_find(w->daemon->net, w->conn);
    (void) m;
    if (c)
        done_send(c, w->req, "unloaded");
    free(w);
}

static struct model *model_named(struct conn *c, uint32_t req, const char *name)
{
    char why[FOLDERS_WHY_BYTES];
    struct model *m = registry_get(c->daemon->registry, name, why);
    if (!m)
        conn_error(c, req, 0, model_error_code(errno), false, "%s", why);
    return m;
}

static struct load_wait *load_wait_new(struct conn *c, uint32_t req)
{
    struct load_wait *w = malloc(sizeof *w);
    if (w)
        *w = (struct load_wait) { c->daemon, c->id, req };
    else
        conn_error(c, req, 0, RILL__CODE__INTERNAL, false, "out of memory");
    return w;
}

static void on_ctl_load(struct conn *c, const Rill__ClientFrame *f)
{
    struct model *m = model_named(c, f->req, f->ctl_load->model);
    struct load_wait *w = m ? load_wait_new(c, f->req) : NULL;
    if (w && registry_load(c->daemon->registry, m, NULL, true, on_loaded, w))
        return;
    if (w)
        conn_error(c, f->req, 0, RILL__CODE__INTERNAL, false, "out of memory");
    registry_unref(m);
    free(w);
}

/* Loads a new version beside the old one; a failure changes nothing. */
static void model_renew(struct conn *c, uint32_t req, const char *name, bool must_be_loaded)
{
    struct model *m = model_named(c, req, name);
    struct load_wait *w = NULL;
    if (m && must_be_loaded && m->state != MODEL_READY)
        conn_error(c, req, 0, RILL__CODE__NO_MODEL, false,
                   "%s is not loaded, so there is nothing to swap; load it", name);
    else if (m && (w = load_wait_new(c, req)) &&
             !registry_reload_model(c->daemon->registry, m, on_loaded, w)) {
        conn_error(c, req, 0, RILL__CODE__INTERNAL, false, "out of memory");
        free(w);
    }
    registry_unref(m);
}

static void on_ctl_swap(struct conn *c, const Rill__ClientFrame *f)
{
    model_renew(c, f->req, f->ctl_swap->model, true);
}

static void on_ctl_reload(struct conn *c, const Rill__ClientFrame *f)
{
    if (*f->ctl_reload->model)
        model_renew(c, f->req, f->ctl_reload->model, false);
    else
        reload_start(c->daemon, c, f->req);
}

static void on_ctl_unload(struct conn *c, const Rill__ClientFrame *f)
{
    struct model *m = model_named(c, f->req, f->ctl_unload->model);
    struct load_wait *w = m && f->ctl_unload->wait ? load_wait_new(c, f->req) : NULL;
    if (!m)
        return;
    uint32_t streams = m->stats->streams;
    bool waits = w && registry_on_freed(m, on_unloaded, w);
    registry_unload(c->daemon->registry, m);
    if (!waits && streams)
        done_send(c, f->req, "gone from memory when the streams that are open on it have ended");
    else if (!waits)
        done_send(c, f->req, "unloaded");
    if (!waits)
        free(w);
    log_line(c->daemon->log, LOG_INFO, "model=%s unloaded, %u streams go on with it", m->name,
             streams);
    registry_unref(m);
}

static void on_ctl_kick(struct conn *c, const Rill__ClientFrame *f)
{
    struct conn *x = conn_find(c->daemon->net, f->ctl_kick->conn);
    if (!x || x->closing) {
        conn_error(c, f->req, 0, RILL__CODE__BAD_ARG, false, "no connection %u", f->ctl_kick->conn);
        return;
    }
    done_send(c, f->req, "kicked");
    conn_error(x, 0, 0, RILL__CODE__DENIED, true, "disconnected by the operator");
}

static void on_ctl_log_level(struct conn *c, const Rill__ClientFrame *f)
{
    if (log_set_level(c->daemon->log, f->ctl_log_level->level))
        done_send(c, f->req, f->ctl_log_level->level);
    else
        conn_error(c, f->req, 0, RILL__CODE__BAD_ARG, false,
                   "levels are error, warning, info and debug");
}

#define M(name) RILL__CLIENT_FRAME__M_##name
static const struct verb verbs[] = {
    [M(HELLO)] = { .before_hello = true, .run = on_hello },
    [M(OPEN)] = { .run = on_open },
    [M(AUDIO)] = { .run = on_audio },
    [M(FINISH)] = { .run = on_finish },
    [M(RESET)] = { .run = on_reset },
    [M(CLOSE)] = { .run = on_close },
    [M(PING)] = { .run = on_ping },
    [M(INFO)] = { .run = on_info },
    [M(STATS)] = { .run = on_stats },
    [M(CANCEL)] = { .run = on_cancel },
    [M(HEALTH)] = { .run = on_health },
    [M(PUBLISH)] = { .run = on_publish },
    [M(SUBSCRIBE)] = { .run = on_subscribe },
    [M(UNSUBSCRIBE)] = { .run = on_unsubscribe },
    [M(OPEN_PORTS)] = { .run = on_open_ports },
    [M(FRAMES)] = { .run = on_frames },
    [M(CTL_STATUS)] = { .control = true, .run = on_ctl_status },
    [M(CTL_SESSIONS)] = { .control = true, .run = on_ctl_sessions },
    [M(CTL_RELOAD)] = { .control = true, .run = on_ctl_reload },
    [M(CTL_DRAIN)] = { .control = true, .run = on_ctl_drain },
    [M(CTL_LOAD)] = { .control = true, .run = on_ctl_load },
    [M(CTL_UNLOAD)] = { .control = true, .run = on_ctl_unload },
    [M(CTL_LOG_LEVEL)] = { .control = true, .run = on_ctl_log_level },
    [M(CTL_DUMP)] = { .control = true }, /* reserved */
    [M(CTL_METRICS)] = { .control = true, .run = on_ctl_metrics },
    [M(CTL_KICK)] = { .control = true, .run = on_ctl_kick },
    [M(CTL_SWAP)] = { .control = true, .run = on_ctl_swap },
    [M(CTL_WORST)] = { .control = true, .run = on_ctl_worst },
    [M(CTL_MEMORY)] = { .control = true, .run = on_ctl_memory },
    [M(CTL_TOP)] = { .control = true, .run = on_ctl_top },
};
#undef M

static void message_handle(struct conn *c, const Rill__ClientFrame *f)
{
    size_t i = (size_t) f->m_case;
    const struct verb *v = i < sizeof verbs / sizeof *verbs ? &verbs[i] : NULL;
    bool control = v && v->control;
    if (!c->hello_done && !(v && v->before_hello))
        conn_error(c, f->req, 0, RILL__CODE__BAD_FRAME, true, "the first message must be Hello");
    else if (control && !c->is_control)
        conn_error(c, f->req, 0, RILL__CODE__DENIED, false, "this is for the control socket");
    else if (!v || !v->run)
        conn_error(c, f->req, 0, RILL__CODE__UNSUPPORTED, false,
                   i ? "this daemon does not do that yet"
                     : "the message is empty or of a kind that this daemon does not know");
    else
        v->run(c, f);
}

void dispatch_message(struct conn *c, const uint8_t *bytes, size_t n)
{
    char where[WIRE_WHERE_BYTES] = "a text";
    ProtobufCAllocator a = conn_allocator(c);
    Rill__ClientFrame *f = rill__client_frame__unpack(&a, n, bytes);
    if (!f && c->arena_ran_out)
        conn_error(c, 0, 0, RILL__CODE__TOO_LARGE, true,
                   "a message of %zu bytes in so many parts that they take more than %zu", n,
                   c->arena_bytes);
    else if (!f)
        conn_error(c, 0, 0, RILL__CODE__BAD_FRAME, true, "%zu bytes are no ClientFrame", n);
    else if (!wire_strings_whole(f->base.descriptor, bytes, n, where))
        conn_error(c, f->req, 0, RILL__CODE__BAD_ARG, false,
                   "%s: a zero byte in a text; the message was not taken", where);
    else
        message_handle(c, f);
}
