/* SPDX-License-Identifier: MIT */
/* What the daemon counts. */
#include "clients/c/client.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- names ---- */

const char *rill_client_code_name(int code)
{
    return client_code_name(code);
}

const char *rill_client_reason_name(int reason)
{
    static const char *const names[] = { "none", "client", "late", "overload", "reset", "slow" };
    return reason >= 0 && reason < (int) (sizeof names / sizeof *names) ? names[reason] : "?";
}

/* ---- Stats ---- */

static void times_copy(struct rill_client_model_stats *v, const Rill__ModelStats *x)
{
    const Rill__TimeHistogram *c = x->compute, *q = x->queue;
    if (!c || !q || c->n_count != q->n_count || c->n_count != c->n_le_us + 1 ||
        c->n_count > RILL_CLIENT_TIMES)
        return;
    v->n_times = (uint32_t) c->n_count;
    memcpy(v->le_us, c->le_us, c->n_le_us * sizeof *v->le_us);
    memcpy(v->compute_count, c->count, c->n_count * sizeof *c->count);
    memcpy(v->queue_count, q->count, q->n_count * sizeof *q->count);
}

static void codes_copy(uint64_t to[RILL_CLIENT_CODES], Rill__CodeCount *const *list, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if ((unsigned) list[i]->code < RILL_CLIENT_CODES)
            to[list[i]->code] = list[i]->n;
}

void client_stats(struct rill_client_stats *ret, const Rill__StatsReply *m,
                  void (*each)(void *arg, const struct rill_client_model_stats *m), void *arg)
{
    if (ret) {
        *ret = (struct rill_client_stats) {
            .uptime_us = m->uptime_us,
            .connections_accepted = m->connections_accepted,
            .streams_opened = m->streams_opened,
            .streams_refused = m->streams_refused,
            .protocol_errors = m->protocol_errors,
            .memory_connections_bytes = m->memory_connections_bytes,
            .memory_streams_bytes = m->memory_streams_bytes,
            .memory_topics_bytes = m->memory_topics_bytes,
            .connections = m->connections,
            .streams = m->streams,
            .resident_bytes = m->resident_bytes,
            .weights_bytes = m->weights_bytes,
            .stream_bytes = m->stream_bytes,
            .cpu_us = m->cpu_us,
            .open_fds = m->open_fds,
            .log_lines_lost = m->log_lines_lost,
        };
        codes_copy(ret->errors, m->errors, m->n_errors);
        codes_copy(ret->refused, m->refused, m->n_refused);
        for (size_t i = 0; i < m->n_gaps; i++)
            if ((unsigned) m->gaps[i]->reason < RILL_CLIENT_REASONS) {
                ret->gap_samples[m->gaps[i]->reason] = m->gaps[i]->samples;
                ret->gap_us[m->gaps[i]->reason] = m->gaps[i]->us;
            }
    }
    for (size_t i = 0; each && i < m->n_models; i++) {
        const Rill__ModelStats *x = m->models[i];
        struct rill_client_model_stats v = {
            .name = x->name,
            .streams = x->streams,
            .streams_opened = x->streams_opened,
            .audio_us = x->audio_us,
            .compute_us = x->compute_us,
            .pulses = x->pulses,
            .deadline_misses = x->deadline_misses,
            .rtf = x->rtf,
            .rtf_p99 = x->rtf_p99,
            .rtf_max = x->rtf_max,
            .compute_p99_us = x->compute_p99_us,
            .queue_p99_us = x->queue_p99_us,
            .gap_us = x->gap_us,
            .gap_samples = x->gap_samples,
            .batch_mean = x->batch_mean,
        };
        times_copy(&v, x);
        each(arg, &v);
    }
}

void client_status(struct rill_client_status *ret, const Rill__StatusReply *x,
                   void (*each)(void *arg, const struct rill_client_model_stats *m), void *arg)
{
    *ret = (struct rill_client_status) {
        .server = x->server,
        .state = x->state,
        .config = x->config,
        .pid = x->pid,
        .threads = x->threads,
        .connections = x->connections,
        .streams = x->streams,
        .uptime_us = x->uptime_us,
        .rtf_load = x->rtf_load,
        .rtf_budget = x->rtf_budget,
        .loop_load = x->loop_load,
        .loop_budget = x->loop_budget,
        .machine_load = x->machine_load,
        .machine_budget = x->machine_budget,
        .had = x->had,
    };
    if (x->stats)
        client_stats(&ret->stats, x->stats, each, arg);
}

static Rill__ServerFrame *stats_page(struct rill_client *c, const char *after_model)
{
    Rill__Stats m = RILL__STATS__INIT;
    m.after_model = (char *) (uintptr_t) after_model;
    MESSAGE(STATS, stats, m);
    return client_request(c, &f, RILL__SERVER_FRAME__M_STATS, "Stats");
}

int client_stats_rest(struct rill_client *c, const Rill__StatsReply *page,
                      void (*each)(void *arg, const struct rill_client_model_stats *m), void *arg)
{
    Rill__ServerFrame *last = NULL;
    while (page && page->more && page->n_models && each) {
        Rill__ServerFrame *r = stats_page(c, page->models[page->n_models - 1]->name);
        client_message_free(last);
        if (!r)
            return -1;
        client_stats(NULL, r->stats, each, arg);
        page = r->stats;
        last = r;
    }
    client_message_free(last);
    return 0;
}

int rill_client_stats(struct rill_client *c, struct rill_client_stats *ret,
                      void (*each)(void *arg, const struct rill_client_model_stats *m), void *arg)
{
    Rill__ServerFrame *r = stats_page(c, "");
    if (!r)
        return -1;
    client_stats(ret, r->stats, each, arg);
    int code = client_stats_rest(c, r->stats, each, arg);
    client_message_free(r);
    return code;
}

/* ---- streams ---- */

void client_session(const Rill__Session *x,
                    void (*each)(void *arg, const struct rill_client_session *s), void *arg)
{
    struct rill_client_session v = {
        .conn = x->conn,
        .stream = x->stream,
        .uid = x->uid,
        .pid = x->pid,
        .client = x->client,
        .model = x->model,
        .state = x->state,
        .in = client_pcm(x->in),
        .out = client_pcm(x->out),
        .pace = (enum rill_client_pace) x->pace,
        .in_samples = x->in_samples,
        .out_samples = x->out_samples,
        .age_us = x->age_us,
        .queued_bytes = x->queued_bytes,
        .memory_bytes = x->memory_bytes,
        .rtf = x->rtf,
        .compute_us = x->compute_us,
        .audio_us = x->audio_us,
        .deadline_misses = x->deadline_misses,
        .gap_samples = x->gap_samples,
        .compute_p99_us = x->compute_p99_us,
        .queue_p99_us = x->queue_p99_us,
        .max_chunk_us = x->max_chunk_us,
        .serial = x->serial,
        .topic = x->topic,
        .is_subscription = x->subscription,
        .lag_ms = x->lag_ms,
    };
    each(arg, &v);
}

int rill_client_ctl_top(struct rill_client *c, struct rill_client_status *ret,
                        void (*each_model)(void *arg, const struct rill_client_model_stats *m),
                        void (*each_session)(void *arg, const struct rill_client_session *s),
                        void *arg)
{
    Rill__CtlTop m = RILL__CTL_TOP__INIT;
    MESSAGE(CTL_TOP, ctl_top, m);
    Rill__ServerFrame *r = client_request(c, &f, RILL__SERVER_FRAME__M_CTL_TOP, "top");
    if (!r)
        return -1;
    client_message_free(c->held);
    c->held = r;
    if (!r->ctl_top->status)
        return client_fail(c, 0, "the daemon's answer has no status");
    client_status(ret, r->ctl_top->status, each_model, arg);
    for (size_t i = 0; each_session && i < r->ctl_top->n_sessions; i++)
        client_session(r->ctl_top->sessions[i], each_session, arg);
    return client_stats_rest(c, r->ctl_top->status->stats, each_model, arg);
}

/* ---- the rest ---- */

int rill_client_health(struct rill_client *c, struct rill_client_health *ret)
{
    Rill__Health m = RILL__HEALTH__INIT;
    MESSAGE(HEALTH, health, m);
    Rill__ServerFrame *r = client_request(c, &f, RILL__SERVER_FRAME__M_HEALTH, "Health");
    if (!r)
        return -1;
    *ret = (struct rill_client_health) { .state = (enum rill_client_health_state) r->health->state,
                                         .threads = (uint32_t) r->health->n_beats };
    snprintf(ret->reason, sizeof ret->reason, "%s", r->health->reason);
    for (size_t i = 0; i < r->health->n_silent_us; i++)
        ret->silent_us =
            r->health->silent_us[i] > ret->silent_us ? r->health->silent_us[i] : ret->silent_us;
    client_message_free(r);
    return 0;
}

const char *rill_client_ctl_metrics(struct rill_client *c)
{
    Rill__CtlMetrics m = RILL__CTL_METRICS__INIT;
    MESSAGE(CTL_METRICS, ctl_metrics, m);
    free(c->metrics);
    c->metrics = NULL;
    c->metrics_bytes = 0;
    Rill__ServerFrame *r = client_request(c, &f, RILL__SERVER_FRAME__M_CTL_METRICS, "metrics");
    if (!r)
        return NULL;
    client_message_free(r);
    if (!c->metrics)
        client_fail(c, 0, "out of memory");
    return c->metrics;
}

int rill_client_ctl_worst(struct rill_client *c, const char *model, bool profile,
                          void (*each_pulse)(void *arg, const struct rill_client_worst *w),
                          void (*each_step)(void *arg, const struct rill_client_step *t), void *arg)
{
    Rill__CtlWorst m = RILL__CTL_WORST__INIT;
    m.model = (char *) (uintptr_t) (model ? model : "");
    m.profile = profile;
    MESSAGE(CTL_WORST, ctl_worst, m);
    Rill__ServerFrame *r = client_request(c, &f, RILL__SERVER_FRAME__M_CTL_WORST, "worst");
    if (!r)
        return -1;
    const Rill__WorstReply *w = r->ctl_worst;
    for (size_t i = 0; each_pulse && i < w->n_pulses; i++) {
        const Rill__WorstPulse *x = w->pulses[i];
        each_pulse(arg,
                   &(struct rill_client_worst) { x->when_us, x->model, x->serial, x->uid,
                                                 x->queue_us, x->compute_us, x->batch, x->pulse_us,
                                                 x->live });
    }
    for (size_t i = 0; each_step && i < w->n_steps; i++) {
        const Rill__StepTime *x = w->steps[i];
        each_step(arg,
                  &(struct rill_client_step) { x->step, x->kernel, x->runs, x->total_ns,
                                               x->worst_ns });
    }
    client_message_free(r);
    return 0;
}

static void sums_tell(const char *who, Rill__MemorySum *const *list, size_t n,
                      void (*each)(void *arg, const struct rill_client_memory_sum *s), void *arg)
{
    for (size_t i = 0; each && i < n; i++)
        each(arg, &(struct rill_client_memory_sum) { who, list[i]->of, list[i]->bytes });
}

int rill_client_ctl_memory(struct rill_client *c, struct rill_client_memory *ret,
                           void (*each)(void *arg, const struct rill_client_memory_sum *s),
                           void *arg)
{
    Rill__CtlMemory m = RILL__CTL_MEMORY__INIT;
    MESSAGE(CTL_MEMORY, ctl_memory, m);
    Rill__ServerFrame *r = client_request(c, &f, RILL__SERVER_FRAME__M_CTL_MEMORY, "memory");
    if (!r)
        return -1;
    const Rill__MemoryReply *x = r->ctl_memory;
    *ret = (struct rill_client_memory) { x->max_bytes, x->used_bytes, x->rest_bytes, x->refused,
                                         x->shortened_bytes };
    sums_tell(NULL, x->sums, x->n_sums, each, arg);
    for (size_t i = 0; i < x->n_owners; i++)
        sums_tell(x->owners[i]->who, x->owners[i]->sums, x->owners[i]->n_sums, each, arg);
    client_message_free(r);
    return 0;
}
