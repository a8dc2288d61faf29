/* SPDX-License-Identifier: MIT */
#include "tools/top.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/* ---- asking ---- */

static void figures_clear(struct top_row *r, bool known)
{
    if (!known)
        r->rtf = r->wait_us = r->took_us = r->batch = -1;
}

static void on_model(void *arg, const struct rill_client_model_stats *m)
{
    struct top_look *x = arg;
    if (x->n_models == TOP_ROWS)
        return;
    struct top_row *r = &x->models[x->n_models++];
    *r = (struct top_row) { .streams = m->streams,
                            .audio_us = m->audio_us,
                            .compute_us = m->compute_us,
                            .misses = m->deadline_misses,
                            .gap_us = m->gap_us,
                            .n_times = m->n_times,
                            .batch = (double) m->batch_mean,
                            .rtf = (double) m->rtf,
                            .wait_us = m->queue_p99_us,
                            .took_us = m->compute_p99_us,
                            .new_misses = m->deadline_misses };
    figures_clear(r, m->pulses);
    snprintf(r->name, sizeof r->name, "%s", m->name);
    memcpy(r->le_us, m->le_us, sizeof r->le_us);
    memcpy(r->compute_count, m->compute_count, sizeof r->compute_count);
    memcpy(r->queue_count, m->queue_count, sizeof r->queue_count);
}

static void on_session(void *arg, const struct rill_client_session *s)
{
    struct top_look *x = arg;
    if (x->n_streams == TOP_ROWS)
        return;
    struct top_row *r = &x->streams[x->n_streams++];
    *r = (struct top_row) { .serial = s->serial,
                            .live = s->pace == RILL_CLIENT_LIVE,
                            .audio_us = s->audio_us,
                            .compute_us = s->compute_us,
                            .misses = s->deadline_misses,
                            .rtf = (double) s->rtf,
                            .wait_us = s->queue_p99_us,
                            .took_us = s->compute_p99_us,
                            .new_misses = s->deadline_misses };
    figures_clear(r, s->audio_us);
    r->gap_us = s->in.rate ? s->gap_samples * 1000000 / s->in.rate : 0;
    snprintf(r->name, sizeof r->name, "%s", s->model);
    snprintf(r->client, sizeof r->client, "%s", s->client);
    snprintf(r->where, sizeof r->where, "%u/%u", s->conn, s->stream);
}

/* The 0.99-quantile of what came between two cumulative histograms, within its bucket in
 * proportion. */
static double quantile_between(const struct top_row *now, const uint64_t *count,
                               const uint64_t *before, double otherwise)
{
    uint32_t n = now->n_times;
    uint64_t total = n ? count[n - 1] - before[n - 1] : 0;
    double want = 0.99 * (double) total;
    for (uint32_t i = 0; total && i + 1 < n; i++) {
        double low = i ? (double) (count[i - 1] - before[i - 1]) : 0,
               high = (double) (count[i] - before[i]);
        double from = i ? now->le_us[i - 1] : 0;
        if (high >= want)
            return from + (now->le_us[i] - from) * (high > low ? (want - low) / (high - low) : 1);
    }
    return total ? (double) now->le_us[n > 1 ? n - 2 : 0] : otherwise;
}

static const struct top_row *row_find(const struct top_row *list, unsigned n,
                                      const struct top_row *like)
{
    for (unsigned i = 0; i < n; i++)
        if (list[i].serial == like->serial && !strcmp(list[i].name, like->name))
            return &list[i];
    return NULL;
}

static void row_since(struct top_row *now, const struct top_row *before)
{
    if (!before || before->audio_us > now->audio_us || before->misses > now->misses)
        return;
    uint64_t audio_us = now->audio_us - before->audio_us;
    now->rtf = audio_us ? (double) (now->compute_us - before->compute_us) / (double) audio_us : -1;
    now->new_misses = now->misses - before->misses;
    if (now->n_times && now->n_times == before->n_times) {
        now->took_us = quantile_between(now, now->compute_count, before->compute_count, -1);
        now->wait_us = quantile_between(now, now->queue_count, before->queue_count, -1);
    }
}

int top_take(struct rill_client *c, struct top_look *ret, const struct top_look *before)
{
    ret->n_models = ret->n_streams = 0;
    if (rill_client_ctl_top(c, &ret->status, on_model, on_session, ret))
        return -1;
    snprintf(ret->server, sizeof ret->server, "%s", ret->status.server);
    snprintf(ret->state, sizeof ret->state, "%s", ret->status.state);
    ret->cpu_us = ret->status.stats.cpu_us;
    ret->uptime_us = ret->status.uptime_us;
    uint64_t us = ret->uptime_us - (before ? before->uptime_us : 0),
             cpu_us = ret->cpu_us - (before ? before->cpu_us : 0);
    ret->cpu = us ? (double) cpu_us / (double) us : 0;
    for (unsigned i = 0; before && i < ret->n_models; i++)
        row_since(&ret->models[i], row_find(before->models, before->n_models, &ret->models[i]));
    for (unsigned i = 0; before && i < ret->n_streams; i++)
        row_since(&ret->streams[i], row_find(before->streams, before->n_streams, &ret->streams[i]));
    return 0;
}

/* ---- order ---- */

static int descending(double a, double b)
{
    return a > b ? -1 : a < b;
}

static int by_name(const void *a, const void *b)
{
    const struct top_row *x = a, *y = b;
    int c = strcmp(x->name, y->name);
    return c ? c : (x->serial > y->serial) - (x->serial < y->serial);
}

#define BY(key, value)                                                                             \
    static int by_##key(const void *a, const void *b)                                              \
    {                                                                                              \
        const struct top_row *x = a, *y = b;                                                       \
        int c = descending((double) x->value, (double) y->value);                                  \
        return c ? c : by_name(a, b);                                                              \
    }
BY(rtf, rtf)
BY(wait, wait_us)
BY(compute, took_us)
BY(misses, misses)
BY(gaps, gap_us)

static const struct {
    const char *name;
    char key;
    int (*compare)(const void *a, const void *b);
} keys[] = {
    { "rtf", 'r', by_rtf },       { "wait", 'w', by_wait }, { "compute", 'c', by_compute },
    { "misses", 'm', by_misses }, { "gaps", 'g', by_gaps }, { "name", 'n', by_name },
};

bool top_sort(struct top_look *x, const char *key)
{
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (!strcmp(keys[i].name, key)) {
            qsort(x->models, x->n_models, sizeof *x->models, keys[i].compare);
            qsort(x->streams, x->n_streams, sizeof *x->streams, keys[i].compare);
            return true;
        }
    return false;
}

const char *top_key_name(char key)
{
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (keys[i].key == key)
            return keys[i].name;
    return NULL;
}

/* ---- lines ---- */

struct page {
    FILE *to;
    unsigned columns, lines, n; /* lines 0: no end */
    const char *end;
};

__attribute__((format(printf, 2, 3))) static void line_put(struct page *p, const char *format, ...)
{
    char b[TOP_COLUMNS_MAX + 1];
    va_list ap;
    if (p->lines && p->n == p->lines)
        return;
    va_start(ap, format);
    vsnprintf(b, p->columns < TOP_COLUMNS_MAX ? p->columns + 1 : sizeof b, format, ap);
    va_end(ap);
    for (char *c = b; *c; c++)
        if ((unsigned char) *c < ' ' || (unsigned char) *c == 0x7f)
            *c = '?';
    fprintf(p->to, "%s%s", b, p->end);
    p->n++;
}

/* n places, filled by x out of 1. */
static const char *bar(char *to, unsigned n, double x)
{
    unsigned full = x > 0 ? x < 1 ? (unsigned) (x * n + 0.5) : n : 0;
    memset(to, '|', full);
    memset(to + full, '.', n - full);
    to[n] = '\0';
    return to;
}

/* A figure, or - where it is below 0: not known. */
static const char *text_of(char to[16], const char *format, double x)
{
    snprintf(to, 16, "-");
    if (x >= 0)
        snprintf(to, 16, format, x);
    return to;
}

/* A time in at most seven places. */
static const char *ms_text(char to[16], double us)
{
    snprintf(to, 16, us < 0 ? "-" : us < 10000 ? "%.3f" : us < 1e6 ? "%.1f" : "%.0f", us * 1e-3);
    return to;
}

void top_print(const struct top_look *x, FILE *to, unsigned columns, unsigned lines,
               const char *sort, const char *end)
{
    struct page p = { .to = to, .columns = columns, .lines = lines, .end = end };
    const struct rill_client_status *s = &x->status;
    char b[64], wait[16], took[16], rtf[16], batch[16];
    line_put(&p, "%s  %s  up %.0f s  %u threads  %u connections  %u streams", x->server, x->state,
             (double) x->uptime_us * 1e-6, s->threads, s->connections, s->streams);
    line_put(&p, "load [%s] %.3f of %.3f  cpu %.2f  memory %.1f MB",
             bar(b, 20, s->rtf_budget > 0 ? (double) (s->rtf_load / s->rtf_budget) : 0),
             (double) s->rtf_load, (double) s->rtf_budget, x->cpu,
             (double) s->stats.resident_bytes * 1e-6);
    line_put(&p, "%s", "");
    line_put(&p, "%-16s %4s %7s %-10s %8s %8s %5s %6s %8s", "MODEL", "STR", "RTF", "", "WAIT99ms",
             "COMP99ms", "BATCH", "MISSES", "GAPS s");
    for (unsigned i = 0; i < x->n_models; i++) {
        const struct top_row *r = &x->models[i];
        line_put(&p, "%-16.16s %4u %7s %s %8s %8s %5s %6llu %8.2f", r->name, r->streams,
                 text_of(rtf, "%.4f", r->rtf),
                 bar(b, 10, r->rtf * r->streams / (s->threads ? s->threads : 1)),
                 ms_text(wait, r->wait_us), ms_text(took, r->took_us),
                 text_of(batch, "%.1f", r->batch), (unsigned long long) r->misses,
                 (double) r->gap_us * 1e-6);
    }
    line_put(&p, "%s", "");
    line_put(&p, "%-7s %-11s %-12s %4s %6s %-5s %8s %8s %5s %5s", "STREAM", "CLIENT", "MODEL",
             "PACE", "RTF", "", "WAIT99ms", "COMP99ms", "MISS", "GAP s");
    for (unsigned i = 0; i < x->n_streams; i++) {
        const struct top_row *r = &x->streams[i];
        line_put(&p, "%-7.7s %-11.11s %-12.12s %4s %6s %s %8s %8s %5llu %5.1f", r->where, r->client,
                 r->name, r->live ? "live" : "file", text_of(rtf, "%.4f", r->rtf),
                 bar(b, 5, r->rtf), ms_text(wait, r->wait_us), ms_text(took, r->took_us),
                 (unsigned long long) r->misses, (double) r->gap_us * 1e-6);
    }
    if (s->streams > x->n_streams)
        line_put(&p, "and %u more streams", s->streams - x->n_streams);
    if (lines)
        line_put(&p, "sorted by %s;  r w c m g n: rtf, wait, compute, misses, gaps, name;  q: quit",
                 sort);
}
