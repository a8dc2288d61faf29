/* SPDX-License-Identifier: MIT */
/* Every metric as text: OpenMetrics 1.0, or the older format 0.0.4. Labels are names of models,
 * reasons and codes, never text of clients. */
#include "daemon/watch/metrics.h"
#include "daemon/base/clock.h"
#include "daemon/base/counters.h"
#include "daemon/base/lifecycle.h"
#include "daemon/base/log.h"
#include "daemon/base/memory.h"
#include "daemon/base/process.h"
#include "daemon/compute/lane.h"
#include "daemon/compute/pool.h"
#include "daemon/compute/realtime.h"
#include "daemon/compute/worker.h"
#include "daemon/models/registry.h"
#include "daemon/net/conn.h"
#include "daemon/net/net.h"
#include "daemon/serve/admit.h"
#include "daemon/serve/daemon.h"
#include "daemon/serve/session_list.h"
#include "daemon/watch/health.h"

#include <ctype.h>
#include <stdarg.h>
#include <unistd.h>

struct text {
    char *s;
    size_t n, cap;
    bool failed, open; /* open: OpenMetrics */
};

static void put(struct text *t, const char *format, ...) __attribute__((format(printf, 2, 3)));

static bool text_fit(struct text *t, size_t more)
{
    size_t cap = t->cap ? t->cap : 16384;
    while (cap < t->n + more + 1)
        cap *= 2;
    char *s = t->failed ? NULL : cap > t->cap ? realloc(t->s, cap) : t->s;
    if (!s) {
        t->failed = true;
        return false;
    }
    t->s = s;
    t->cap = cap;
    return true;
}

static void put(struct text *t, const char *format, ...)
{
    char line[512];
    va_list ap;
    va_start(ap, format);
    int n = vsnprintf(line, sizeof line, format, ap);
    va_end(ap);
    size_t bytes = n < 0 ? 0 : (size_t) n < sizeof line ? (size_t) n : sizeof line - 1;
    if (!text_fit(t, bytes))
        return;
    memcpy(t->s + t->n, line, bytes + 1);
    t->n += bytes;
}

/* ---- parts of a line ---- */

enum kind { GAUGE, COUNTER, HISTOGRAM, INFO };

struct family {
    const char *name, *unit, *help;
    enum kind kind;
    void (*samples)(struct text *t, struct daemon *d, const struct family *f);
};

static void head_put(struct text *t, const struct family *f)
{
    static const char *const open[] = { "gauge", "counter", "histogram", "info" };
    static const char *const old[] = { "gauge", "counter", "histogram", "gauge" };
    static const char *const suffix[] = { "", "_total", "", "_info" };
    const char *s = t->open ? "" : suffix[f->kind];
    put(t, "# TYPE %s%s %s\n", f->name, s, t->open ? open[f->kind] : old[f->kind]);
    if (t->open && f->unit)
        put(t, "# UNIT %s %s\n", f->name, f->unit);
    put(t, "# HELP %s%s %s\n", f->name, s, f->help);
}

/* name_suffix{key="value"} without the sample's value; key NULL: no label. */
static void name_put(struct text *t, const struct family *f, const char *suffix, const char *key,
                     const char *value)
{
    put(t, "%s%s", f->name, suffix);
    if (key)
        put(t, "{%s=\"%s\"}", key, value);
}

static void count_put(struct text *t, const struct family *f, const char *key, const char *value,
                      uint64_t n)
{
    name_put(t, f, f->kind == COUNTER ? "_total" : "", key, value);
    put(t, " %llu\n", (unsigned long long) n);
}

static void us_put(struct text *t, const struct family *f, const char *key, const char *value,
                   uint64_t us)
{
    name_put(t, f, f->kind == COUNTER ? "_total" : "", key, value);
    put(t, " %llu.%06llu\n", (unsigned long long) (us / 1000000),
        (unsigned long long) (us % 1000000));
}

static void real_put(struct text *t, const struct family *f, const char *key, const char *value,
                     double x)
{
    name_put(t, f, "", key, value);
    put(t, " %.9g\n", x);
}

/* ---- the daemon ---- */

static void put_sessions(struct text *t, struct daemon *d, const struct family *f)
{
    count_put(t, f, NULL, NULL, sessions_running(d));
}

static void put_connections(struct text *t, struct daemon *d, const struct family *f)
{
    count_put(t, f, NULL, NULL, d->net->n_conns);
}

static void put_accepted(struct text *t, struct daemon *d, const struct family *f)
{
    count_put(t, f, NULL, NULL, d->net->conns_accepted);
}

static void put_opened(struct text *t, struct daemon *d, const struct family *f)
{
    count_put(t, f, NULL, NULL, d->sessions->n_opened);
}

static void put_http_evicted(struct text *t, struct daemon *d, const struct family *f)
{
    count_put(t, f, NULL, NULL, d->net->http_evicted);
}

/* A value of an enumeration as a label: its name in lower case, less `prefix` bytes. */
static void enum_put(struct text *t, const struct family *f, const ProtobufCEnumDescriptor *e,
                     const char *key, size_t prefix, const uint64_t *counts, bool is_us)
{
    for (unsigned i = 0; i < e->n_values; i++) {
        char name[48];
        size_t n = 0;
        int v = e->values[i].value;
        if (v <= 0 || v >= (is_us ? COUNTERS_REASONS : COUNTERS_CODES) ||
            strlen(e->values[i].name) <= prefix)
            continue;
        for (const char *p = e->values[i].name + prefix; *p && n < sizeof name - 1; p++)
            name[n++] = (char) tolower((unsigned char) *p);
        name[n] = '\0';
        (is_us ? us_put : count_put)(t, f, key, name, counts[v]);
    }
}

static void put_refused(struct text *t, struct daemon *d, const struct family *f)
{
    enum_put(t, f, &rill__code__descriptor, "reason", 0, d->counters->refused, false);
}

static void put_errors(struct text *t, struct daemon *d, const struct family *f)
{
    enum_put(t, f, &rill__code__descriptor, "code", 0, d->counters->errors, false);
}

static void put_gaps(struct text *t, struct daemon *d, const struct family *f)
{
    enum_put(t, f, &rill__gap__reason__descriptor, "reason", strlen("REASON_"), d->counters->gap_us,
             true);
}

static void put_memory(struct text *t, struct daemon *d, const struct family *f)
{
    for (enum memory_kind k = 0; k < MEMORY_KINDS; k++)
        count_put(t, f, "of", memory_kind_name(k), d->memory->bytes[k]);
    count_put(t, f, "of", "rest", d->memory->uncounted_bytes);
}

static void put_memory_max(struct text *t, struct daemon *d, const struct family *f)
{
    count_put(t, f, NULL, NULL, d->memory->max_bytes);
}

static void put_memory_users(struct text *t, struct daemon *d, const struct family *f)
{
    const struct owner *list[MEMORY_OWNERS_LISTED];
    char who[PRINCIPAL_NAME_BYTES];
    for (size_t i = 0, n = memory_largest(d->memory, list); i < n; i++) {
        principal_name(list[i]->who, who, sizeof who);
        count_put(t, f, "who", who, owner_used(list[i]));
    }
}

static void put_memory_refused(struct text *t, struct daemon *d, const struct family *f)
{
    count_put(t, f, NULL, NULL, d->memory->refused);
}

static void put_reclaimed(struct text *t, struct daemon *d, const struct family *f)
{
    count_put(t, f, NULL, NULL, d->memory->reclaimed_bytes);
}

static void put_load(struct text *t, struct daemon *d, const struct family *f)
{
    real_put(t, f, NULL, NULL, d->admission->load.compute > 0 ? d->admission->load.compute : 0);
}

static void put_budget(struct text *t, struct daemon *d, const struct family *f)
{
    real_put(t, f, NULL, NULL, admit_budget(d).compute);
}

static void put_threads(struct text *t, struct daemon *d, const struct family *f)
{
    count_put(t, f, NULL, NULL, d->pool->n_live);
}

static void put_demotions(struct text *t, struct daemon *d, const struct family *f)
{
    (void) d;
    count_put(t, f, NULL, NULL, realtime_demotions());
}

static void put_overload(struct text *t, struct daemon *d, const struct family *f)
{
    Rill__StatsReply a = RILL__STATS_REPLY__INIT;
    admit_stats(d, &a);
    count_put(t, f, NULL, NULL, a.overload_level);
}

static void put_bypassed(struct text *t, struct daemon *d, const struct family *f)
{
    Rill__StatsReply a = RILL__STATS_REPLY__INIT;
    admit_stats(d, &a);
    count_put(t, f, NULL, NULL, a.streams_relieved);
}

/* The priority that the threads have, not the one that is set. */
static void put_rt_threads(struct text *t, struct daemon *d, const struct family *f)
{
    unsigned n = 0;
    for (unsigned i = 0; i < d->pool->n; i++) {
        struct sched_param p;
        int policy;
        if (d->pool->workers[i].started &&
            pthread_getschedparam(d->pool->workers[i].thread, &policy, &p) == 0)
            n += policy == SCHED_FIFO || policy == SCHED_RR;
    }
    count_put(t, f, NULL, NULL, n);
}

static void put_healthy(struct text *t, struct daemon *d, const struct family *f)
{
    count_put(t, f, NULL, NULL, health_is_live(d));
}

static void put_draining(struct text *t, struct daemon *d, const struct family *f)
{
    count_put(t, f, NULL, NULL, d->life->draining);
}

static void put_uptime(struct text *t, struct daemon *d, const struct family *f)
{
    us_put(t, f, NULL, NULL, clock_now_us() - d->life->started_us);
}

static void put_log_lost(struct text *t, struct daemon *d, const struct family *f)
{
    count_put(t, f, NULL, NULL, log_lost(d->log));
}

static void put_build(struct text *t, struct daemon *d, const struct family *f)
{
    (void) d;
    name_put(t, f, "_info", "version", RILL_VERSION);
    put(t, " 1\n");
}

/* ---- models ---- */

static void put_model_info(struct text *t, struct daemon *d, const struct family *f)
{
    for (const struct model *m = d->registry->models; m; m = m->next)
        if (m->state == MODEL_READY)
            put(t, "%s_info{model=\"%s\",sha256=\"%s\",latency=\"%u\",rate=\"%u\"} 1\n", f->name,
                m->name, m->sha256, m->lane.latency_samples, m->lane.rate);
}

static void put_model_load(struct text *t, struct daemon *d, const struct family *f)
{
    for (const struct model *m = d->registry->models; m; m = m->next)
        if (m->state == MODEL_READY)
            us_put(t, f, "model", m->name, m->load_us);
}

static void put_model_threads(struct text *t, struct daemon *d, const struct family *f)
{
    for (const struct model *m = d->registry->models; m; m = m->next)
        if (m->state == MODEL_READY)
            count_put(t, f, "model", m->name, m->lane.threads > 1 ? m->lane.threads : 1);
}

static void put_model_bytes(struct text *t, struct daemon *d, const struct family *f)
{
    for (const struct model *m = d->registry->models; m; m = m->next)
        if (m->state == MODEL_READY)
            count_put(t, f, "model", m->name, m->plan_info.weights_bytes);
}

/* The next model's counters; those of models beyond COUNTERS_MODELS_MAX come last. */
static struct model_counters *counters_next(struct daemon *d, struct model_counters *f)
{
    struct model_counters *n = f ? f->next : d->counters->models;
    return n || f == &d->counters->other || !d->counters->other.streams_opened
        ? n
        : &d->counters->other;
}

#define EACH_MODEL_COUNTERS(x)                                                                     \
    for (struct model_counters *x = counters_next(d, NULL); x; x = counters_next(d, x))

static void put_model_opened(struct text *t, struct daemon *d, const struct family *f)
{
    EACH_MODEL_COUNTERS(x)
    count_put(t, f, "model", x->model, x->streams_opened);
}

static void put_audio(struct text *t, struct daemon *d, const struct family *f)
{
    EACH_MODEL_COUNTERS(x)
    us_put(t, f, "model", x->model, x->audio_us);
}

static void put_compute(struct text *t, struct daemon *d, const struct family *f)
{
    EACH_MODEL_COUNTERS(x)
    us_put(t, f, "model", x->model, x->compute.sum_us);
}

static void put_misses(struct text *t, struct daemon *d, const struct family *f)
{
    EACH_MODEL_COUNTERS(x)
    count_put(t, f, "model", x->model, x->misses);
}

static void times_put(struct text *t, const struct family *f, const char *model,
                      const struct time_hist *h)
{
    static const char *const le[TIME_BUCKETS + 1] = {
        "0.0001", "0.00025", "0.0005", "0.001", "0.0025", "0.005", "0.01",
        "0.025",  "0.05",    "0.1",    "0.25",  "0.5",    "1.0",   "+Inf",
    };
    uint64_t n = 0;
    for (unsigned i = 0; i <= TIME_BUCKETS; i++) {
        n += h->count[i];
        put(t, "%s_bucket{model=\"%s\",le=\"%s\"} %llu\n", f->name, model, le[i],
            (unsigned long long) n);
    }
    put(t, "%s_count{model=\"%s\"} %llu\n", f->name, model, (unsigned long long) n);
    put(t, "%s_sum{model=\"%s\"} %llu.%06llu\n", f->name, model,
        (unsigned long long) (h->sum_us / 1000000), (unsigned long long) (h->sum_us % 1000000));
}

static void put_compute_times(struct text *t, struct daemon *d, const struct family *f)
{
    EACH_MODEL_COUNTERS(x)
    times_put(t, f, x->model, &x->compute);
}

static void put_queue_times(struct text *t, struct daemon *d, const struct family *f)
{
    EACH_MODEL_COUNTERS(x)
    times_put(t, f, x->model, &x->queue);
}

static void batches_put(struct text *t, const struct family *f, const struct model_counters *x)
{
    uint64_t n = 0, sum = 0;
    for (unsigned i = 1; i < COUNTERS_BATCHES; i++) {
        n += counters_batches(x, i);
        sum += i * counters_batches(x, i);
        if ((i & (i - 1)) == 0)
            put(t, "%s_bucket{model=\"%s\",le=\"%u.0\"} %llu\n", f->name, x->model, i,
                (unsigned long long) n);
    }
    put(t, "%s_bucket{model=\"%s\",le=\"+Inf\"} %llu\n", f->name, x->model, (unsigned long long) n);
    put(t, "%s_count{model=\"%s\"} %llu\n", f->name, x->model, (unsigned long long) n);
    put(t, "%s_sum{model=\"%s\"} %llu\n", f->name, x->model, (unsigned long long) sum);
}

static void put_batches(struct text *t, struct daemon *d, const struct family *f)
{
    EACH_MODEL_COUNTERS(x)
    batches_put(t, f, x);
}

/* ---- the process ---- */

static void put_cpu(struct text *t, struct daemon *d, const struct family *f)
{
    (void) d;
    us_put(t, f, NULL, NULL, process_cpu_us());
}

static void put_rss(struct text *t, struct daemon *d, const struct family *f)
{
    uint64_t virtual_bytes, resident_bytes;
    (void) d;
    process_memory(&virtual_bytes, &resident_bytes);
    count_put(t, f, NULL, NULL, resident_bytes);
}

static void put_virtual(struct text *t, struct daemon *d, const struct family *f)
{
    uint64_t virtual_bytes, resident_bytes;
    (void) d;
    process_memory(&virtual_bytes, &resident_bytes);
    count_put(t, f, NULL, NULL, virtual_bytes);
}

static void put_fds(struct text *t, struct daemon *d, const struct family *f)
{
    (void) d;
    count_put(t, f, NULL, NULL, process_fds());
}

static void put_max_fds(struct text *t, struct daemon *d, const struct family *f)
{
    (void) d;
    count_put(t, f, NULL, NULL, process_max_fds());
}

static void put_start(struct text *t, struct daemon *d, const struct family *f)
{
    us_put(t, f, NULL, NULL, d->life->started_wall_us);
}

/* ---- all of it ---- */

static const struct family families[] = {
    { "rill_build", NULL, "Version of the daemon.", INFO, put_build },
    { "rill_uptime_seconds", "seconds", "Time since the daemon started.", GAUGE, put_uptime },
    { "rill_healthy", NULL, "1 while every compute thread advances, 0 while one is stuck.", GAUGE,
      put_healthy },
    { "rill_draining", NULL, "1 while the daemon finishes its streams to stop.", GAUGE,
      put_draining },
    { "rill_connections", NULL, "Open connections.", GAUGE, put_connections },
    { "rill_connections_accepted", NULL, "Connections so far.", COUNTER, put_accepted },
    { "rill_sessions", NULL, "Open streams.", GAUGE, put_sessions },
    { "rill_sessions_opened", NULL, "Streams that were opened.", COUNTER, put_opened },
    { "rill_sessions_refused", NULL, "Streams that were refused, by the error's code.", COUNTER,
      put_refused },
    { "rill_model_sessions_opened", NULL, "Streams of the model that were opened.", COUNTER,
      put_model_opened },
    { "rill_audio_seconds", "seconds", "Audio that went into the model.", COUNTER, put_audio },
    { "rill_compute_seconds", "seconds", "Time the model took for it.", COUNTER, put_compute },
    { "rill_chunk_compute_seconds", "seconds", "Compute of a pulse, a stream's share of its batch.",
      HISTOGRAM, put_compute_times },
    { "rill_chunk_queue_seconds", "seconds",
      "From the arrival of a pulse's last sample to its result, less its compute.", HISTOGRAM,
      put_queue_times },
    { "rill_batch_size", NULL, "Streams that ran together.", HISTOGRAM, put_batches },
    { "rill_deadline_misses", NULL, "Pulses of live streams that came later than their own length.",
      COUNTER, put_misses },
    { "rill_gap_seconds", "seconds", "Audio that was told in gaps, by reason.", COUNTER, put_gaps },
    { "rill_protocol_errors", NULL, "Errors that were sent, by code.", COUNTER, put_errors },
    { "rill_http_evicted", NULL, "HTTP connections that gave way to newer ones.", COUNTER,
      put_http_evicted },
    { "rill_log_lines_lost", NULL, "Lines that a flood or a full pipe kept out of the log.",
      COUNTER, put_log_lost },
    { "rill_memory_bytes", "bytes",
      "Memory by what it is for; rest: what the process has beside what is counted.", GAUGE,
      put_memory },
    { "rill_memory_max_bytes", "bytes", "The most that all of it may be.", GAUGE, put_memory_max },
    { "rill_memory_user_bytes", "bytes", "Memory counted for those who have the most of it.", GAUGE,
      put_memory_users },
    { "rill_memory_refused", NULL, "Asks that were refused for want of memory.", COUNTER,
      put_memory_refused },
    { "rill_memory_shortened_bytes", "bytes",
      "By which histories became shorter than they were, for want of memory.", COUNTER,
      put_reclaimed },
    { "rill_load", NULL, "Real-time factors of the admitted live streams, summed.", GAUGE,
      put_load },
    { "rill_load_budget", NULL, "Up to which sum live streams are admitted.", GAUGE, put_budget },
    { "rill_model", NULL, "Models that are loaded; delay in samples at rate.", INFO,
      put_model_info },
    { "rill_model_load_seconds", "seconds", "How long the model took to load.", GAUGE,
      put_model_load },
    { "rill_model_weights_bytes", "bytes", "Memory of the model's weights.", GAUGE,
      put_model_bytes },
    { "rill_model_threads", NULL, "Threads that share a pulse of the model's live streams.", GAUGE,
      put_model_threads },
    { "rill_compute_threads", NULL, "Compute threads.", GAUGE, put_threads },
    { "rill_rt_threads", NULL, "Compute threads that have a real-time policy.", GAUGE,
      put_rt_threads },
    { "rill_rt_demotions", NULL,
      "Compute threads that lost real-time priority for running too long.", COUNTER,
      put_demotions },
    { "rill_overload_level", NULL, "Steps that the most loaded compute thread has taken.", GAUGE,
      put_overload },
    { "rill_streams_relieved", NULL, "Live streams that go without their model, under overload.",
      GAUGE, put_bypassed },
    { "process_cpu_seconds", "seconds", "User and system time.", COUNTER, put_cpu },
    { "process_resident_memory_bytes", "bytes", "Resident memory.", GAUGE, put_rss },
    { "process_virtual_memory_bytes", "bytes", "Virtual memory.", GAUGE, put_virtual },
    { "process_open_fds", NULL, "Open file descriptors.", GAUGE, put_fds },
    { "process_max_fds", NULL, "Limit of open file descriptors.", GAUGE, put_max_fds },
    { "process_start_time_seconds", "seconds", "When the process started, since the epoch.", GAUGE,
      put_start },
};

char *metrics_text(struct daemon *d, bool open, size_t *ret_bytes)
{
    struct text t = { .open = open };
    for (size_t i = 0; i < sizeof families / sizeof *families; i++) {
        head_put(&t, &families[i]);
        families[i].samples(&t, d, &families[i]);
    }
    if (open)
        put(&t, "# EOF\n");
    if (t.failed) {
        free(t.s);
        return NULL;
    }
    *ret_bytes = t.n;
    return t.s;
}

/* Messages of whole lines, each within max_message_bytes. */
void metrics_reply(struct conn *c, uint32_t req)
{
    size_t left, room = c->max_message_bytes - 64;
    char *all = metrics_text(c->daemon, true, &left);
    if (!all) {
        conn_error(c, req, 0, RILL__CODE__INTERNAL, false, "out of memory");
        return;
    }
    for (char *p = all; left && !c->closing;) {
        Rill__MetricsReply a = RILL__METRICS_REPLY__INIT;
        Rill__ServerFrame f = RILL__SERVER_FRAME__INIT;
        size_t n = left;
        for (n = n < room ? n : room; n < left && p[n - 1] != '\n';)
            n--;
        char kept = p[n];
        p[n] = '\0';
        a.text = p;
        a.more = n < left;
        f.m_case = RILL__SERVER_FRAME__M_CTL_METRICS;
        f.ctl_metrics = &a;
        conn_send(c, req, &f);
        p[n] = kept;
        p += n;
        left -= n;
    }
    free(all);
}
