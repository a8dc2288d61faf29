/* SPDX-License-Identifier: MIT */
#include "daemon/watch/stats.h"
#include "daemon/base/clock.h"
#include "daemon/base/conf.h"
#include "daemon/base/cost.h"
#include "daemon/base/counters.h"
#include "daemon/base/lifecycle.h"
#include "daemon/base/log.h"
#include "daemon/base/memory.h"
#include "daemon/base/process.h"
#include "daemon/base/text.h"
#include "daemon/compute/lane.h"
#include "daemon/compute/plan_ports.h"
#include "daemon/compute/pool.h"
#include "daemon/models/registry.h"
#include "daemon/net/conn.h"
#include "daemon/net/net.h"
#include "daemon/serve/accounting.h"
#include "daemon/serve/admit.h"
#include "daemon/serve/claim.h"
#include "daemon/serve/daemon.h"
#include "daemon/serve/limits.h"
#include "daemon/serve/messages.h"
#include "daemon/serve/session.h"
#include "daemon/serve/session_list.h"
#include "daemon/serve/session_ports.h"
#include "daemon/serve/topic.h"
#include "daemon/watch/health.h"

#include <unistd.h>

#define SESSIONS_A_PAGE 32
#define MODELS_A_REPLY 64
#define TOPICS_A_REPLY 64

/* ---- log lines ---- */

static void memory_log(const struct daemon *d)
{
    char words[512];
    size_t n = 0;
    uint64_t virtual_bytes, resident_bytes;
    process_memory(&virtual_bytes, &resident_bytes);
    for (enum memory_kind k = 0; k < MEMORY_KINDS; k++)
        n += (size_t) snprintf(words + n, sizeof words - n, "%s_bytes=%zu ", memory_kind_name(k),
                               d->memory->bytes[k]);
    log_line(d->log, LOG_INFO, "%sof_bytes=%zu resident_bytes=%llu", words, d->memory->max_bytes,
             (unsigned long long) resident_bytes);
}

void stats_summary(struct daemon *d)
{
    bool any = false;
    for (struct model *m = d->registry->models; m; m = m->next) {
        struct model_stats *p = m->period;
        uint64_t pulse_us = m->state == MODEL_READY ? lane_pulse_us(&m->lane) : 0;
        if (!p->pulses || !pulse_us)
            continue;
        log_event(d->log, LOG_INFO, EVENT_MODEL,
                  "model=%s streams=%u pulses=%llu dur=%.2fs rtf=%.5f rtf_p99=%.5f rtf_max=%.5f "
                  "q_p99=%.2fms c_p99=%.3fms miss=%llu batch=%.1f",
                  m->name, m->stats->streams, (unsigned long long) p->pulses,
                  (double) p->audio_us / 1e6, rtf_of(p->compute_us, p->audio_us),
                  hist_quantile(&p->compute, 0.99) / (double) pulse_us, p->rtf_max,
                  hist_quantile(&p->queue, 0.99) / 1e3, hist_quantile(&p->compute, 0.99) / 1e3,
                  (unsigned long long) p->misses,
                  p->runs ? (double) p->runs_batch / (double) p->runs : 0.0);
        memset(p, 0, sizeof *p);
        any = true;
    }
    if (any)
        memory_log(d);
}

/* ---- replies ---- */

struct times_message {
    Rill__TimeHistogram m;
    uint64_t count[TIME_BUCKETS + 1];
};

struct model_stats_message {
    Rill__ModelStats m;
    struct times_message compute, queue;
    uint64_t batches[COUNTERS_BATCHES];
};

#define GAPS COUNTERS_REASONS
struct stats_message {
    Rill__StatsReply reply;
    struct model_stats_message models[MODELS_A_REPLY];
    Rill__ModelStats *pointers[MODELS_A_REPLY];
    Rill__CodeCount codes[2][COUNTERS_CODES], *code_pointers[2][COUNTERS_CODES];
    Rill__GapSum gaps[GAPS], *gap_pointers[GAPS];
};

static void times_fill(struct times_message *x, const struct time_hist *h)
{
    uint64_t n = 0;
    rill__time_histogram__init(&x->m);
    for (unsigned i = 0; i <= TIME_BUCKETS; i++)
        x->count[i] = n += h->count[i];
    x->m.le_us = (uint32_t *) (uintptr_t) time_bucket_us;
    x->m.n_le_us = TIME_BUCKETS;
    x->m.count = x->count;
    x->m.n_count = TIME_BUCKETS + 1;
    x->m.sum_us = h->sum_us;
}

static void batches_fill(struct model_stats_message *x, const struct model_counters *f)
{
    uint64_t n = 0, sum = 0;
    for (unsigned i = 1; i < COUNTERS_BATCHES; i++) {
        x->batches[i - 1] = counters_batches(f, i);
        n += x->batches[i - 1];
        sum += i * x->batches[i - 1];
        if (x->batches[i - 1])
            x->m.n_batches = i;
    }
    x->m.batches = x->batches;
    x->m.batch_mean = n ? (float) ((double) sum / (double) n) : 0;
}

static void model_stats_fill(struct model_stats_message *x, struct daemon *d, struct model *m)
{
    Rill__ModelStats *a = &x->m;
    const struct model_stats *p = m->stats;
    const struct model_counters *f = counters_of_model(d->counters, m->name);
    double pulse_us = m->lane.rate || m->lane.is_timed ? (double) lane_pulse_us(&m->lane) : 0;
    rill__model_stats__init(a);
    a->name = m->name;
    a->streams = p->streams;
    a->streams_opened = p->streams_opened;
    a->audio_us = p->audio_us;
    a->compute_us = p->compute_us;
    a->pulses = p->pulses;
    a->deadline_misses = p->misses;
    a->rtf = (float) rtf_of(p->compute_us, p->audio_us);
    a->compute_p99_us = hist_quantile(&p->compute, 0.99);
    a->queue_p99_us = hist_quantile(&p->queue, 0.99);
    a->rtf_p99 = pulse_us > 0 ? (float) (a->compute_p99_us / pulse_us) : 0;
    a->rtf_max = (float) p->rtf_max;
    a->gap_samples = f->gap_samples;
    a->gap_us = f->gap_us;
    times_fill(&x->compute, &f->compute);
    times_fill(&x->queue, &f->queue);
    a->compute = &x->compute.m;
    a->queue = &x->queue.m;
    batches_fill(x, f);
}

/* Fills in the codes that are not zero; returns their number. */
static size_t codes_fill(Rill__CodeCount *list, Rill__CodeCount **pointers, const uint64_t *counts)
{
    size_t n = 0;
    for (unsigned i = 0; i < COUNTERS_CODES; i++) {
        if (!counts[i])
            continue;
        rill__code_count__init(&list[n]);
        list[n].code = (Rill__Code) i;
        list[n].n = counts[i];
        pointers[n] = &list[n];
        n++;
    }
    return n;
}

static void gaps_fill(struct stats_message *x, const struct counters *f)
{
    size_t n = 0;
    for (unsigned i = 0; i < GAPS; i++) {
        if (!f->gap_samples[i])
            continue;
        rill__gap_sum__init(&x->gaps[n]);
        x->gaps[n].reason = (Rill__Gap__Reason) i;
        x->gaps[n].samples = f->gap_samples[i];
        x->gaps[n].us = f->gap_us[i];
        x->gap_pointers[n] = &x->gaps[n];
        n++;
    }
    x->reply.gaps = x->gap_pointers;
    x->reply.n_gaps = n;
}

static void memory_fill(Rill__StatsReply *a, const struct daemon *d)
{
    const size_t *bytes = d->memory->bytes;
    a->memory_connections_bytes = bytes[MEMORY_CONNECTIONS] + bytes[MEMORY_QUEUES];
    a->memory_streams_bytes = bytes[MEMORY_STREAMS];
    a->memory_topics_bytes = bytes[MEMORY_TOPICS] + bytes[MEMORY_HISTORIES];
    uint64_t virtual_bytes;
    process_memory(&virtual_bytes, &a->resident_bytes);
    for (const struct model *m = d->registry->models; m; m = m->next)
        a->weights_bytes += m->state == MODEL_READY ? m->plan_info.weights_bytes : 0;
    for (const struct session *s = d->sessions->first; s; s = s->next)
        a->stream_bytes += s->lane ? s->model->plan_info.stream_bytes : 0;
    a->cpu_us = process_cpu_us();
    a->open_fds = (uint32_t) process_fds();
    a->log_lines_lost = log_lost(d->log);
}

/* The models that had streams, in order of names, past `after`. */
static void models_fill(struct stats_message *x, struct daemon *d, const char *after)
{
    Rill__StatsReply *a = &x->reply;
    a->models = x->pointers;
    for (struct model *m = d->registry->models; m && !a->more; m = m->next) {
        if (!m->stats->streams_opened || strcmp(m->name, after) <= 0)
            continue;
        a->more = a->n_models == MODELS_A_REPLY;
        if (a->more)
            break;
        model_stats_fill(&x->models[a->n_models], d, m);
        x->pointers[a->n_models] = &x->models[a->n_models].m;
        a->n_models++;
    }
}

static void stats_fill(struct stats_message *x, struct daemon *d, const char *after)
{
    Rill__StatsReply *a = &x->reply;
    rill__stats_reply__init(a);
    a->uptime_us = clock_now_us() - d->life->started_us;
    a->connections = d->net->n_conns;
    a->connections_accepted = d->net->conns_accepted;
    a->streams = sessions_running(d);
    a->streams_opened = d->sessions->n_opened;
    a->streams_refused = d->sessions->n_refused;
    a->protocol_errors = d->net->protocol_errors;
    a->errors = x->code_pointers[0];
    a->n_errors = codes_fill(x->codes[0], a->errors, d->counters->errors);
    a->refused = x->code_pointers[1];
    a->n_refused = codes_fill(x->codes[1], a->refused, d->counters->refused);
    gaps_fill(x, d->counters);
    memory_fill(a, d);
    admit_stats(d, a);
    models_fill(x, d, after);
}

/* Sends f, which holds x; where it is too large, without histograms, then with fewer models. */
static void stats_send(struct conn *c, uint32_t req, Rill__ServerFrame *f, struct stats_message *x)
{
    for (size_t i = 0; !conn_takes(c, f) && i < x->reply.n_models; i++) {
        x->models[i].m.compute = x->models[i].m.queue = NULL;
        x->models[i].m.n_batches = 0;
    }
    for (; x->reply.n_models > 1 && !conn_takes(c, f); x->reply.n_models--)
        x->reply.more = true;
    conn_send(c, req, f);
}

void stats_reply(struct conn *c, uint32_t req, const char *after_model)
{
    struct stats_message x;
    Rill__ServerFrame f = RILL__SERVER_FRAME__INIT;
    stats_fill(&x, c->daemon, after_model);
    f.m_case = RILL__SERVER_FRAME__M_STATS;
    f.stats = &x.reply;
    stats_send(c, req, &f, &x);
}

static void status_fill(Rill__StatusReply *a, struct stats_message *x, struct daemon *d,
                        const char *after_model)
{
    rill__status_reply__init(a);
    stats_fill(x, d, after_model);
    a->server = (char *) (uintptr_t) "rilld " RILL_VERSION;
    a->pid = (uint32_t) getpid();
    a->uptime_us = x->reply.uptime_us;
    a->state =
        (char *) (uintptr_t) (health_state(d) == HEALTH_OK ? "running"
                                                           : health_state_name(health_state(d)));
    a->threads = d->pool->n_live;
    a->connections = d->net->n_conns;
    a->streams = x->reply.streams;
    a->config = d->life->conf_path;
    a->stats = &x->reply;
    a->rtf_load = (float) d->admission->load.compute;
    struct load budget = admit_budget(d);
    a->rtf_budget = (float) budget.compute;
    a->loop_load = (float) d->admission->load.loop;
    a->loop_budget = (float) budget.loop;
    a->machine_load = (float) d->admission->load.all;
    a->machine_budget = (float) budget.all;
    a->had = (float) admit_contention(d);
}

void status_reply(struct conn *c, uint32_t req, const char *after_model)
{
    struct stats_message x;
    Rill__StatusReply a;
    Rill__ServerFrame f = RILL__SERVER_FRAME__INIT;
    status_fill(&a, &x, c->daemon, after_model);
    f.m_case = RILL__SERVER_FRAME__M_CTL_STATUS;
    f.ctl_status = &a;
    stats_send(c, req, &f, &x);
}

struct session_message {
    Rill__Session session;
    Rill__Pcm in, out;
};

static void session_fill(struct session_message *x, struct session *s)
{
    Rill__Session *a = &x->session;
    rill__session__init(a);
    pcm_fill(&x->in, &s->in);
    pcm_fill(&x->out, &s->out);
    a->conn = s->conn->id;
    a->stream = s->id;
    a->uid = s->uid;
    a->pid = s->conn->pid;
    a->client = s->conn->client;
    a->model = s->model->name;
    a->in = &x->in;
    a->out = &x->out;
    a->pace = s->live ? RILL__PACE__PACE_LIVE : RILL__PACE__PACE_FILE;
    a->in_samples = s->received;
    a->out_samples = s->sent;
    a->age_us = clock_now_us() - s->opened_us;
    a->rtf = (float) rtf_of(s->compute_us, session_us(s, s->audio_noted));
    a->queued_bytes = conn_queue_bytes(s->conn);
    a->memory_bytes = session_bytes(s);
    a->state = (char *) (uintptr_t) (!s->lane ? "opening" : s->finishing ? "finishing" : "running");
    a->compute_us = s->compute_us;
    a->audio_us = session_us(s, s->audio_noted);
    a->deadline_misses = s->misses;
    a->gap_samples = s->gap_samples;
    a->compute_p99_us = hist_quantile(&s->compute, 0.99);
    a->queue_p99_us = hist_quantile(&s->queue, 0.99);
    a->max_chunk_us = s->max_chunk_us;
    a->serial = s->serial;
    a->topic = (char *) (uintptr_t) topic_name(s->topic);
}

static void sub_fill(struct session_message *x, const struct sub_info *s)
{
    Rill__Session *a = &x->session;
    rill__session__init(a);
    rill__pcm__init(&x->in);
    pcm_fill(&x->out, &s->out);
    x->in.rate = s->in_rate;
    a->subscription = true;
    a->conn = s->conn->id;
    a->stream = s->id;
    a->uid = s->conn->uid;
    a->pid = s->conn->pid;
    a->client = s->conn->client;
    a->model = (char *) (uintptr_t) s->model;
    a->topic = (char *) (uintptr_t) s->topic;
    a->in = &x->in;
    a->out = &x->out;
    a->pace = s->live ? RILL__PACE__PACE_LIVE : RILL__PACE__PACE_FILE;
    a->state = (char *) (uintptr_t) "subscribed";
    a->in_samples = s->given;
    a->out_samples = s->sent;
    a->gap_samples = s->lost;
    a->lag_ms = s->lag_ms;
    a->age_us = clock_now_us() - s->opened_us;
    a->queued_bytes = conn_queue_bytes(s->conn);
    a->memory_bytes = s->bytes;
}

/* The first session in (conn, stream) order after the given one. */
static struct session *session_after(struct daemon *d, uint32_t conn, uint32_t stream)
{
    struct session *best = NULL;
    for (struct session *s = d->sessions->first; s; s = s->next) {
        if (s->gone || !s->conn || s->conn->id < conn || (s->conn->id == conn && s->id <= stream))
            continue;
        if (!best || s->conn->id < best->conn->id ||
            (s->conn->id == best->conn->id && s->id < best->id))
            best = s;
    }
    return best;
}

/* The first stream or subscription in (conn, stream) order after the given one; false: there is
 * none. */
static bool entry_after(struct daemon *d, uint32_t conn, uint32_t stream, struct session_message *x)
{
    struct session *s = session_after(d, conn, stream);
    struct sub_info look;
    bool sub = sub_info_after(d, conn, stream, &look);
    if (s && sub)
        sub = look.conn->id < s->conn->id || (look.conn->id == s->conn->id && look.id < s->id);
    if (sub)
        sub_fill(x, &look);
    else if (s)
        session_fill(x, s);
    return sub || s;
}

void sessions_reply(struct conn *c, uint32_t req, uint32_t after_conn, uint32_t after_stream)
{
    struct session_message x[SESSIONS_A_PAGE + 1];
    Rill__Session *pointers[SESSIONS_A_PAGE];
    Rill__SessionsReply a = RILL__SESSIONS_REPLY__INIT;
    Rill__ServerFrame f = RILL__SERVER_FRAME__INIT;
    while ((a.more = entry_after(c->daemon, after_conn, after_stream, &x[a.n_sessions])) &&
           a.n_sessions < SESSIONS_A_PAGE) {
        after_conn = x[a.n_sessions].session.conn;
        after_stream = x[a.n_sessions].session.stream;
        pointers[a.n_sessions] = &x[a.n_sessions].session;
        a.n_sessions++;
    }
    a.sessions = pointers;
    f.m_case = RILL__SERVER_FRAME__M_CTL_SESSIONS;
    f.ctl_sessions = &a;
    for (; a.n_sessions > 1 && !conn_takes(c, &f); a.n_sessions--)
        a.more = true;
    conn_send(c, req, &f);
}

#define SESSIONS_IN_TOP 64

static bool computed_more(const struct session *a, const struct session *b)
{
    return a->compute_us > b->compute_us ||
        (a->compute_us == b->compute_us && a->serial < b->serial);
}

/* The next session in descending order of compute. */
static struct session *session_below(struct daemon *d, const struct session *above)
{
    struct session *best = NULL;
    for (struct session *s = d->sessions->first; s; s = s->next)
        if (!s->gone && s->conn && (!above || computed_more(above, s)) &&
            (!best || computed_more(s, best)))
            best = s;
    return best;
}

void top_reply(struct conn *c, uint32_t req)
{
    struct stats_message x;
    struct session_message list[SESSIONS_IN_TOP];
    Rill__Session *pointers[SESSIONS_IN_TOP];
    Rill__StatusReply status;
    Rill__TopReply a = RILL__TOP_REPLY__INIT;
    Rill__ServerFrame f = RILL__SERVER_FRAME__INIT;
    status_fill(&status, &x, c->daemon, "");
    a.status = &status;
    a.sessions = pointers;
    for (struct session *s = NULL;
         a.n_sessions < SESSIONS_IN_TOP && (s = session_below(c->daemon, s)); a.n_sessions++) {
        session_fill(&list[a.n_sessions], s);
        pointers[a.n_sessions] = &list[a.n_sessions].session;
    }
    f.m_case = RILL__SERVER_FRAME__M_CTL_TOP;
    f.ctl_top = &a;
    while (a.n_sessions && !conn_takes(c, &f))
        a.n_sessions--;
    stats_send(c, req, &f, &x);
}

struct model_message {
    Rill__ModelInfo info;
    Rill__Output outputs[OUTPUTS];
    char error[400]; /* less than FOLDERS_WHY_BYTES: lists are long */
    Rill__Price price;
};

/* Why it failed. */
static void model_error_fill(struct model_message *x, const struct daemon *d, const struct model *m)
{
    char why[FOLDERS_WHY_BYTES];
    enum model_state state = m->state;
    if (state == MODEL_KNOWN && !model_exists(d->conf->models_model_path, m->name, why))
        state = MODEL_FAILED;
    else
        memcpy(why, m->error.text, sizeof m->error.text);
    snprintf(x->error, sizeof x->error, "%.*s", (int) sizeof x->error - 1,
             state == MODEL_FAILED ? why : "");
    text_clean(x->error);
    x->info.state = (char *) (uintptr_t) model_state_name(state);
    x->info.error = x->error;
}

static uint32_t age_ms(uint64_t at_us, uint64_t now_us)
{
    uint64_t ms = now_us > at_us ? (now_us - at_us) / 1000 : 0;
    return ms < UINT32_MAX ? (uint32_t) ms : UINT32_MAX;
}

static void price_fill(Rill__Price *p, const struct daemon *d, const struct model *m)
{
    const struct cost_reading *f = cost_newest(&m->cost);
    uint64_t now_us = clock_now_us();
    struct claim c = claim_price(d, m);
    rill__price__init(p);
    p->compute = (float) c.compute;
    p->loop = (float) c.loop;
    p->figures = m->cost.n;
    p->tried = m->cost.probed;
    p->tried_wall = m->cost.probed_wall;
    p->tried_age_ms = age_ms(m->cost.probed_us, now_us);
    if (!f)
        return;
    p->age_ms = age_ms(f->at_us, now_us);
    p->cpu = f->cpu;
    p->wall = f->wall;
    p->weight = f->weight;
}

static void model_fill(struct model_message *x, const struct daemon *d, struct model *m)
{
    Rill__ModelInfo *a = &x->info;
    rill__model_info__init(a);
    a->name = m->name;
    model_error_fill(x, d, m);
    if (m->state != MODEL_READY)
        return;
    a->task = m->task;
    a->licence = m->licence;
    a->summary = m->summary;
    a->sha256 = m->sha256;
    a->rate = m->lane.rate;
    a->hop_samples = m->lane.pulse_samples;
    a->latency_samples = m->lane.latency_samples;
    a->outputs = x->outputs;
    a->n_outputs = outputs_list(&m->lane, x->outputs);
    a->weights_bytes = m->plan_info.weights_bytes;
    a->stream_bytes = m->plan_info.stream_bytes;
    a->rtf = m->rtf;
    a->threads = m->lane.threads > 1 ? m->lane.threads : 1;
    price_fill(&x->price, d, m);
    a->price = &x->price;
    a->overload = (char *) (uintptr_t) admit_policy_name(d, m);
    a->audio_error = m->lane.audio_error;
}

/* One model with its ports. */
static void info_one(struct conn *c, uint32_t req, struct model *m)
{
    struct model_message x;
    struct port_message {
        Rill__Port port;
        uint32_t dims[RILL_RANK_MAX];
    } *list = NULL;
    Rill__ModelInfo *pointer = &x.info;
    Rill__Port **ports = NULL;
    Rill__InfoReply a = RILL__INFO_REPLY__INIT;
    Rill__ServerFrame f = RILL__SERVER_FRAME__INIT;
    unsigned n = 0;
    model_fill(&x, c->daemon, m);
    rill_port *infos = m->state == MODEL_READY ? plan_ports(m->lane.plan, &n) : NULL;
    list = calloc(n + 1u, sizeof *list);
    ports = calloc(n + 1u, sizeof *ports);
    for (unsigned i = 0; infos && list && ports && i < n; i++) {
        ports[i] = &list[i].port;
        port_fill(ports[i], m->lane.plan, i, &infos[i], list[i].dims);
        x.info.n_ports++;
    }
    x.info.ports = ports;
    a.server = (char *) (uintptr_t) "rilld " RILL_VERSION;
    a.default_model = c->daemon->conf->models_default_model;
    a.models = &pointer;
    a.n_models = 1;
    f.m_case = RILL__SERVER_FRAME__M_INFO;
    f.info = &a;
    conn_send(c, req, &f);
    free(infos);
    free(list);
    free(ports);
}

struct topic_messages {
    Rill__TopicInfo infos[TOPICS_A_REPLY], *pointers[TOPICS_A_REPLY];
    Rill__Pcm pcms[TOPICS_A_REPLY];
    Rill__Output outputs[TOPICS_A_REPLY][OUTPUTS];
};

static void topics_fill(struct topic_messages *x, struct conn *c, const char *after,
                        Rill__InfoReply *a)
{
    bool more;
    a->n_topics = topics_list(c, after, x->infos, x->pcms, x->outputs, TOPICS_A_REPLY, &more);
    a->more |= more;
    a->topics = x->pointers;
    for (size_t i = 0; i < a->n_topics; i++)
        x->pointers[i] = &x->infos[i];
}

/* Leaves at least one of each, so that the next page goes on. */
static void info_fit(const struct conn *c, Rill__ServerFrame *f)
{
    Rill__InfoReply *a = f->info;
    while (!conn_takes(c, f) && (a->n_models > 1 || a->n_topics > 1)) {
        --*(a->n_models > a->n_topics ? &a->n_models : &a->n_topics);
        a->more = true;
    }
}

void info_reply(struct conn *c, uint32_t req, const Rill__Info *m)
{
    struct model_message x[MODELS_A_REPLY];
    struct topic_messages topics;
    Rill__ModelInfo *pointers[MODELS_A_REPLY];
    Rill__InfoReply a = RILL__INFO_REPLY__INIT;
    Rill__ServerFrame f = RILL__SERVER_FRAME__INIT;
    registry_refresh(c->daemon->registry);
    struct model *at = c->daemon->registry->models;
    while (at && strcmp(at->name, *m->model ? m->model : m->after_model) < !*m->model)
        at = at->next;
    if (*m->model && at && !strcmp(at->name, m->model)) {
        info_one(c, req, at);
        return;
    }
    if (*m->model) {
        conn_error(c, req, 0, RILL__CODE__NO_MODEL, false, "there is no model of that name");
        return;
    }
    for (; at && a.n_models < MODELS_A_REPLY; at = at->next) {
        model_fill(&x[a.n_models], c->daemon, at);
        pointers[a.n_models] = &x[a.n_models].info;
        a.n_models++;
    }
    a.more = at != NULL;
    a.server = (char *) (uintptr_t) "rilld " RILL_VERSION;
    a.default_model = c->daemon->conf->models_default_model;
    a.models = pointers;
    topics_fill(&topics, c, m->after_topic, &a);
    f.m_case = RILL__SERVER_FRAME__M_INFO;
    f.info = &a;
    info_fit(c, &f);
    conn_send(c, req, &f);
}
