/* SPDX-License-Identifier: MIT */
/* rill ctl: the verbs that tell figures. */
#include "tools/ctl.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

/* ---- models ---- */

static json_t *times_json(const struct rill_client_model_stats *m, const uint64_t *count)
{
    json_t *list = json_array();
    for (uint32_t i = 0; i < m->n_times; i++) {
        json_t *le = i + 1 < m->n_times ? json_integer((json_int_t) m->le_us[i]) : json_null();
        json_array_append_new(list,
                              json_pack("{s:o, s:I}", "le_us", le, "count", (json_int_t) count[i]));
    }
    return list;
}

/* What a pulse tells is null before there was one. */
static json_t *real_of(bool known, float x)
{
    return known ? json_real((double) x) : json_null();
}

static json_t *us_of(bool known, uint32_t us)
{
    return known ? json_integer((json_int_t) us) : json_null();
}

static json_t *model_json(const struct rill_client_model_stats *m)
{
    bool known = m->pulses;
    json_t *j =
        json_pack("{s:s, s:i, s:I, s:I, s:I, s:I, s:o, s:o, s:o, s:I, s:o, s:o, s:I, s:I, s:o}",
                  "name", m->name, "streams", (int) m->streams, "streams_opened",
                  (json_int_t) m->streams_opened, "pulses", (json_int_t) m->pulses, "audio_us",
                  (json_int_t) m->audio_us, "compute_us", (json_int_t) m->compute_us, "rtf",
                  real_of(known, m->rtf), "rtf_p99", real_of(known, m->rtf_p99), "rtf_max",
                  real_of(known, m->rtf_max), "deadline_misses", (json_int_t) m->deadline_misses,
                  "compute_p99_us", us_of(known, m->compute_p99_us), "queue_p99_us",
                  us_of(known, m->queue_p99_us), "gap_us", (json_int_t) m->gap_us, "gap_samples",
                  (json_int_t) m->gap_samples, "batch_mean", real_of(known, m->batch_mean));
    json_object_set_new(j, "compute", times_json(m, m->compute_count));
    json_object_set_new(j, "queue", times_json(m, m->queue_count));
    return j;
}

static void model_see(void *arg, const struct rill_client_model_stats *m)
{
    struct ctl *x = arg;
    if (x->json) {
        json_array_append_new(json_object_get(x->json, "models"), model_json(m));
        return;
    }
    if (!m->pulses) {
        printf("  %-16s %4u streams, %llu opened, no pulse yet\n", m->name, m->streams,
               (unsigned long long) m->streams_opened);
        return;
    }
    printf("  %-16s %4u streams, %llu opened, %.1f s of audio, rtf %.5f mean %.5f p99 %.5f worst, "
           "%llu misses\n",
           m->name, m->streams, (unsigned long long) m->streams_opened, (double) m->audio_us * 1e-6,
           (double) m->rtf, (double) m->rtf_p99, (double) m->rtf_max,
           (unsigned long long) m->deadline_misses);
    printf("  %-16s wait p99 %.2f ms, compute p99 %.3f ms, batch %.1f, gaps %.2f s\n", "",
           (double) m->queue_p99_us * 1e-3, (double) m->compute_p99_us * 1e-3,
           (double) m->batch_mean, (double) m->gap_us * 1e-6);
}

/* ---- stats and status ---- */

/* {name: count} of those that are not 0. */
static json_t *counts_json(const uint64_t *n, size_t most, const char *(*name)(int) )
{
    json_t *j = json_object();
    for (size_t i = 0; i < most; i++)
        if (n[i])
            json_object_set_new(j, name((int) i), json_integer((json_int_t) n[i]));
    return j;
}

static void counts_print(const char *what, const uint64_t *n, size_t most, const char *(*name)(int),
                         double unit, const char *unit_name)
{
    bool any = false;
    for (size_t i = 0; i < most; i++) {
        if (!n[i])
            continue;
        printf("%s%s %.6g%s", any ? ", " : what, name((int) i), (double) n[i] * unit, unit_name);
        any = true;
    }
    if (any)
        printf("\n");
}

static json_t *stats_json(const struct rill_client_stats *s)
{
    json_t *j =
        json_pack("{s:I, s:i, s:I, s:i, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:i, s:I}", "uptime_us",
                  (json_int_t) s->uptime_us, "connections", (int) s->connections,
                  "connections_accepted", (json_int_t) s->connections_accepted, "streams",
                  (int) s->streams, "streams_opened", (json_int_t) s->streams_opened,
                  "streams_refused", (json_int_t) s->streams_refused, "protocol_errors",
                  (json_int_t) s->protocol_errors, "resident_bytes", (json_int_t) s->resident_bytes,
                  "weights_bytes", (json_int_t) s->weights_bytes, "stream_bytes",
                  (json_int_t) s->stream_bytes, "cpu_us", (json_int_t) s->cpu_us, "open_fds",
                  (int) s->open_fds, "log_lines_lost", (json_int_t) s->log_lines_lost);
    json_object_set_new(j, "errors",
                        counts_json(s->errors, RILL_CLIENT_CODES, rill_client_code_name));
    json_object_set_new(j, "refused",
                        counts_json(s->refused, RILL_CLIENT_CODES, rill_client_code_name));
    json_object_set_new(j, "gap_samples",
                        counts_json(s->gap_samples, RILL_CLIENT_REASONS, rill_client_reason_name));
    json_object_set_new(j, "gap_us",
                        counts_json(s->gap_us, RILL_CLIENT_REASONS, rill_client_reason_name));
    return j;
}

static void stats_print(const struct rill_client_stats *s)
{
    printf("  %llu connections so far, %llu streams opened, %llu refused, %llu errors sent\n",
           (unsigned long long) s->connections_accepted, (unsigned long long) s->streams_opened,
           (unsigned long long) s->streams_refused, (unsigned long long) s->protocol_errors);
    counts_print("  errors: ", s->errors, RILL_CLIENT_CODES, rill_client_code_name, 1, "");
    counts_print("  refused: ", s->refused, RILL_CLIENT_CODES, rill_client_code_name, 1, "");
    counts_print("  gaps: ", s->gap_us, RILL_CLIENT_REASONS, rill_client_reason_name, 1e-6, " s");
    printf("  memory %.1f MB (weights %.1f, streams %.1f), %u descriptors, %.1f s of processor\n",
           (double) s->resident_bytes * 1e-6, (double) s->weights_bytes * 1e-6,
           (double) s->stream_bytes * 1e-6, s->open_fds, (double) s->cpu_us * 1e-6);
    if (s->log_lines_lost)
        printf("  %llu lines were kept out of the log\n", (unsigned long long) s->log_lines_lost);
}

int ctl_stats(struct ctl *x)
{
    struct rill_client_stats s;
    if (x->json)
        json_object_set_new(x->json, "models", json_array());
    if (rill_client_stats(x->c, &s, x->json ? model_see : NULL, x))
        return -1;
    if (x->json)
        return json_object_update_new(x->json, stats_json(&s));
    printf("up %.0f s, %u connections, %u streams\n", (double) s.uptime_us * 1e-6, s.connections,
           s.streams);
    stats_print(&s);
    return rill_client_stats(x->c, &s, model_see, x);
}

int ctl_status(struct ctl *x)
{
    struct rill_client_status s;
    if (x->json)
        json_object_set_new(x->json, "models", json_array());
    if (rill_client_ctl_status(x->c, &s, x->json ? model_see : NULL, x))
        return -1;
    if (x->json) {
        json_object_set_new(x->json, "stats", stats_json(&s.stats));
        return json_object_update_new(
            x->json,
            json_pack("{s:s, s:s, s:s, s:i, s:i, s:i, s:i, s:I, s:f, s:f, s:f, s:f, s:f, s:f, s:f}",
                      "server", s.server, "state", s.state, "config", s.config, "pid", (int) s.pid,
                      "threads", (int) s.threads, "connections", (int) s.connections, "streams",
                      (int) s.streams, "uptime_us", (json_int_t) s.uptime_us, "rtf_load",
                      (double) s.rtf_load, "rtf_budget", (double) s.rtf_budget, "loop_load",
                      (double) s.loop_load, "loop_budget", (double) s.loop_budget, "machine_load",
                      (double) s.machine_load, "machine_budget", (double) s.machine_budget, "had",
                      (double) s.had));
    }
    printf("%s, pid %u, %s, up %.0f s\n", s.server, s.pid, s.state, (double) s.uptime_us * 1e-6);
    printf("  %u threads, %u connections, %u streams, load %.3f of %.3f\n", s.threads,
           s.connections, s.streams, (double) s.rtf_load, (double) s.rtf_budget);
    printf("  messages %.3f of %.3f, machine %.3f of %.3f, %.0f %% of the time asked for was had\n",
           (double) s.loop_load, (double) s.loop_budget, (double) s.machine_load,
           (double) s.machine_budget, (double) s.had * 100);
    stats_print(&s.stats);
    return rill_client_ctl_status(x->c, &s, model_see, x);
}

/* ---- sessions ---- */

static json_t *session_json(const struct rill_client_session *s)
{
    bool known = s->audio_us;
    json_t *j = json_pack("{s:I, s:I, s:I, s:I, s:s, s:s, s:s, s:s, s:i, s:i, s:i, s:I, s:I, s:o}",
                          "conn", (json_int_t) s->conn, "stream", (json_int_t) s->stream, "uid",
                          (json_int_t) s->uid, "pid", (json_int_t) s->pid, "client", s->client,
                          "model", s->model, "state", s->state, "pace",
                          s->pace == RILL_CLIENT_LIVE ? "live" : "file", "rate", (int) s->in.rate,
                          "out_rate", (int) s->out.rate, "out_channels", (int) s->out.channels,
                          "in_samples", (json_int_t) s->in_samples, "out_samples",
                          (json_int_t) s->out_samples, "rtf", real_of(known, s->rtf));
    if (!s->is_subscription) /* which gets what its source gives */
        json_object_set_new(j, "channels", json_integer((json_int_t) s->in.channels));
    json_object_update_new(j,
                           json_pack("{s:i, s:I, s:I, s:I, s:I, s:o, s:o, s:o, s:I}", "serial",
                                     (int) s->serial, "compute_us", (json_int_t) s->compute_us,
                                     "audio_us", (json_int_t) s->audio_us, "deadline_misses",
                                     (json_int_t) s->deadline_misses, "gap_samples",
                                     (json_int_t) s->gap_samples, "compute_p99_us",
                                     us_of(known, s->compute_p99_us), "queue_p99_us",
                                     us_of(known, s->queue_p99_us), "max_chunk_us",
                                     us_of(known, s->max_chunk_us), "queued_bytes",
                                     (json_int_t) s->queued_bytes));
    json_object_update_new(j,
                           json_pack("{s:s, s:b, s:i}", "topic", s->topic, "subscription",
                                     (int) s->is_subscription, "lag_ms", (int) s->lag_ms));
    return j;
}

static void subscription_print(const struct rill_client_session *s)
{
    printf("%4u/%-3u uid %u pid %u %s: subscribed to %s (%s), %u Hz x %u, out %llu\n", s->conn,
           s->stream, s->uid, s->pid, s->client, s->topic, s->model, s->out.rate, s->out.channels,
           (unsigned long long) s->out_samples);
    printf("         %u ms behind, %llu bytes wait to be read, lost %llu samples\n", s->lag_ms,
           (unsigned long long) s->queued_bytes, (unsigned long long) s->gap_samples);
}

static void session_see(void *arg, const struct rill_client_session *s)
{
    struct ctl *x = arg;
    x->n_seen++;
    if (x->json) {
        json_array_append_new(json_object_get(x->json, "sessions"), session_json(s));
        return;
    }
    if (s->is_subscription) {
        subscription_print(s);
        return;
    }
    printf("%4u/%-3u uid %u pid %u %s: %s %s, %u Hz x %u, in %llu out %llu, %s%s%s\n", s->conn,
           s->stream, s->uid, s->pid, s->client, s->model,
           s->pace == RILL_CLIENT_LIVE ? "live" : "file", s->in.rate, s->in.channels,
           (unsigned long long) s->in_samples, (unsigned long long) s->out_samples, s->state,
           *s->topic ? ", published as " : "", s->topic);
    if (!s->audio_us) {
        printf("         no pulse yet, gaps %llu samples\n", (unsigned long long) s->gap_samples);
        return;
    }
    printf("         rtf %.5f, wait p99 %.2f ms, compute p99 %.3f ms worst %.3f ms, %llu misses, "
           "gaps %llu samples\n",
           (double) s->rtf, (double) s->queue_p99_us * 1e-3, (double) s->compute_p99_us * 1e-3,
           (double) s->max_chunk_us * 1e-3, (unsigned long long) s->deadline_misses,
           (unsigned long long) s->gap_samples);
}

int ctl_sessions(struct ctl *x)
{
    if (x->json)
        json_object_set_new(x->json, "sessions", json_array());
    int code = rill_client_ctl_sessions(x->c, session_see, x);
    if (!code && !x->json && !x->n_seen)
        printf("no sessions\n");
    return code;
}

/* ---- health and metrics ---- */

int ctl_health(struct ctl *x)
{
    static const char *const names[] = { "unknown", "ok", "draining", "stuck", "starting" };
    struct rill_client_health h;
    if (rill_client_health(x->c, &h))
        return -1;
    const char *name =
        (unsigned) h.state < sizeof names / sizeof *names ? names[h.state] : names[0];
    if (x->json)
        json_object_update_new(x->json,
                               json_pack("{s:s, s:s, s:i, s:I}", "state", name, "reason", h.reason,
                                         "threads", (int) h.threads, "silent_us",
                                         (json_int_t) h.silent_us));
    else
        printf("%s%s%s\n", name, *h.reason ? ": " : "", h.reason);
    return h.state == RILL_CLIENT_OK ? 0 : TOOL_FAILED;
}

int ctl_metrics(struct ctl *x)
{
    const char *text = rill_client_ctl_metrics(x->c);
    if (!text)
        return -1;
    if (x->json)
        json_object_set_new(x->json, "text", json_string(text));
    else
        fputs(text, stdout);
    return 0;
}

/* ---- memory ---- */

static void sum_see(void *arg, const struct rill_client_memory_sum *s)
{
    struct ctl *x = arg;
    const char *who = s->who ? s->who : "all";
    if (x->json) {
        json_t *of = json_object_get(json_object_get(x->json, "owners"), who);
        if (!of)
            json_object_set_new(json_object_get(x->json, "owners"), who, of = json_object());
        json_object_set_new(of, s->of, json_integer((json_int_t) s->bytes));
        return;
    }
    printf("  %-16s %-12s %10.1f MB\n", who, s->of, (double) s->bytes * 1e-6);
}

int ctl_memory(struct ctl *x)
{
    struct rill_client_memory m;
    if (x->json)
        json_object_set_new(x->json, "owners", json_object());
    if (rill_client_ctl_memory(x->c, &m, sum_see, x))
        return -1;
    if (x->json)
        return json_object_update_new(x->json,
                                      json_pack("{s:I, s:I, s:I, s:I, s:I}", "max_bytes",
                                                (json_int_t) m.max_bytes, "used_bytes",
                                                (json_int_t) m.used_bytes, "rest_bytes",
                                                (json_int_t) m.rest_bytes, "refused",
                                                (json_int_t) m.refused, "shortened_bytes",
                                                (json_int_t) m.shortened_bytes));
    printf("%.1f MB of %.1f, and %.1f that are not counted; %llu asks refused, histories %.1f MB "
           "shorter\n",
           (double) m.used_bytes * 1e-6, (double) m.max_bytes * 1e-6, (double) m.rest_bytes * 1e-6,
           (unsigned long long) m.refused, (double) m.shortened_bytes * 1e-6);
    return 0;
}

/* ---- the worst ---- */

static void pulse_see(void *arg, const struct rill_client_worst *w)
{
    struct ctl *x = arg;
    char when[32];
    time_t t = (time_t) (w->when_us / 1000000);
    struct tm tm;
    if (x->json) {
        json_array_append_new(json_object_get(x->json, "pulses"),
                              json_pack("{s:I, s:s, s:i, s:i, s:i, s:i, s:i, s:i, s:b}", "when_us",
                                        (json_int_t) w->when_us, "model", w->model, "serial",
                                        (int) w->serial, "uid", (int) w->uid, "queue_us",
                                        (int) w->queue_us, "compute_us", (int) w->compute_us,
                                        "batch", (int) w->batch, "pulse_us", (int) w->pulse_us,
                                        "live", w->live));
        return;
    }
    if (!x->n_seen++)
        printf("%-19s %-16s %6s %5s %10s %10s %5s %9s\n", "when", "model", "stream", "pace",
               "wait ms", "compute ms", "batch", "of pulse");
    localtime_r(&t, &tm);
    strftime(when, sizeof when, "%F %T", &tm);
    printf("%-19s %-16s %6u %5s %10.3f %10.3f %5u %8.1f%%\n", when, w->model, w->serial,
           w->live ? "live" : "file", (double) w->queue_us * 1e-3, (double) w->compute_us * 1e-3,
           w->batch,
           w->pulse_us
               ? 100.0 * ((double) w->queue_us + (double) w->compute_us) / (double) w->pulse_us
               : 0);
}

static void step_see(void *arg, const struct rill_client_step *t)
{
    struct ctl *x = arg;
    double mean_us = t->runs ? (double) t->total_ns * 1e-3 / (double) t->runs : 0;
    if (x->json) {
        json_array_append_new(json_object_get(x->json, "steps"),
                              json_pack("{s:s, s:s, s:I, s:f, s:f}", "step", t->step, "kernel",
                                        t->kernel, "runs", (json_int_t) t->runs, "mean_us", mean_us,
                                        "worst_us", (double) t->worst_ns * 1e-3));
        return;
    }
    printf("  step %-32s %-20s mean %9.2f us, worst %9.2f us\n", t->step, t->kernel, mean_us,
           (double) t->worst_ns * 1e-3);
}

int ctl_worst(struct ctl *x)
{
    if (x->profile && !x->arg)
        return tool_fail(x->cmd, TOOL_USAGE, "--profile wants a MODEL");
    if (x->json) {
        json_object_set_new(x->json, "pulses", json_array());
        json_object_set_new(x->json, "steps", json_array());
    }
    int code = rill_client_ctl_worst(x->c, x->arg, x->profile, pulse_see, step_see, x);
    if (!code && !x->json && !x->n_seen)
        printf("no pulses\n");
    return code;
}
