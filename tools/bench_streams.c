/* SPDX-License-Identifier: MIT */
#include "tools/bench_streams.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#define COUNTS_MAX 16
#define STREAMS_MAX 4096
#define ROUNDS_MAX 20000
#define ROUNDS_MIN 11

/* One number of streams: us of each round, for all of them. */
struct row {
    unsigned n;
    double *together_us, *apart_us;
};

struct streams {
    rill_plan *plan;
    rill_port *ports;
    unsigned n_ports, most;
    rill_stream **stream;
    char *mem;
    rill_status *status;
    void *x;
    uint32_t seed;
    struct row rows[COUNTS_MAX];
    unsigned n_rows;
    size_t n_rounds;
};

/* "1,8,32": ascending or not, each 1 to STREAMS_MAX. */
static bool counts_read(struct streams *b, const char *list)
{
    for (const char *at = list; b->n_rows < COUNTS_MAX; at++) {
        char *end;
        long n = strtol(at, &end, 10);
        if (end == at || n < 1 || n > STREAMS_MAX || (*end && *end != ','))
            return false;
        b->most = (unsigned) n > b->most ? (unsigned) n : b->most;
        b->rows[b->n_rows++].n = (unsigned) n;
        at = end;
        if (!*end)
            return true;
    }
    return false;
}

static void streams_make(struct streams *b)
{
    size_t most = 1, bytes = (rill_plan_stream_size(b->plan) + 63) & ~(size_t) 63;
    b->ports = tool_ports(b->plan, &b->n_ports);
    for (unsigned i = 0; i < b->n_ports; i++) {
        size_t n = tool_pulse_bytes(&b->ports[i]);
        most = n > most ? n : most;
    }
    b->x = tool_alloc(most);
    b->stream = tool_alloc(b->most * sizeof(rill_stream *));
    b->status = tool_alloc(b->most * sizeof *b->status);
    b->mem = tool_alloc(bytes * b->most);
    for (unsigned i = 0; i < b->most; i++)
        b->stream[i] = rill_stream_init(b->mem + i * bytes, b->plan);
    for (unsigned i = 0; i < b->n_rows; i++) {
        b->rows[i].together_us = tool_alloc(ROUNDS_MAX * sizeof(double));
        b->rows[i].apart_us = tool_alloc(ROUNDS_MAX * sizeof(double));
    }
}

static void streams_push(struct streams *b, unsigned n)
{
    size_t moved;
    for (unsigned s = 0; s < n; s++)
        for (unsigned i = 0; i < b->n_ports && b->ports[i].is_input; i++) {
            tool_pulse_noise(&b->ports[i], &b->seed, b->x);
            rill_stream_push(b->stream[s], i, b->x, b->ports[i].pulse_frames, &moved);
        }
}

static void streams_pull(struct streams *b, unsigned n)
{
    size_t moved;
    for (unsigned s = 0; s < n; s++)
        for (unsigned i = 0; i < b->n_ports; i++)
            if (!b->ports[i].is_input)
                rill_stream_pull(b->stream[s], i, b->x, b->ports[i].pulse_frames, &moved);
}

/* One pulse of each of n streams; us for all. */
static double round_time(struct streams *b, unsigned n, bool together)
{
    streams_push(b, n);
    double before = tool_now_s();
    if (together)
        rill_run_many(b->stream, n, b->status);
    else
        for (unsigned i = 0; i < n; i++)
            rill_stream_run(b->stream[i]);
    double us = (tool_now_s() - before) * 1e6;
    streams_pull(b, n);
    for (unsigned i = 0; i < n; i++)
        if (rill_stream_fault(b->stream[i], NULL) != RILL_OK)
            rill_stream_reset(b->stream[i]);
    return us;
}

/* Interleaved and in turn, so that what disturbs the machine disturbs all alike. */
static void streams_measure(struct streams *b, double seconds)
{
    double end = tool_now_s() + seconds;
    round_time(b, b->most, true);
    for (; b->n_rounds < ROUNDS_MAX && (b->n_rounds < ROUNDS_MIN || tool_now_s() < end);
         b->n_rounds++)
        for (unsigned i = 0; i < b->n_rows; i++) {
            struct row *r = &b->rows[i];
            bool first = b->n_rounds % 2;
            *(first ? &r->together_us[b->n_rounds] : &r->apart_us[b->n_rounds]) =
                round_time(b, r->n, first);
            *(first ? &r->apart_us[b->n_rounds] : &r->together_us[b->n_rounds]) =
                round_time(b, r->n, !first);
        }
    for (unsigned i = 0; i < b->n_rows; i++) {
        qsort(b->rows[i].together_us, b->n_rounds, sizeof(double), tool_compare_f64);
        qsort(b->rows[i].apart_us, b->n_rounds, sizeof(double), tool_compare_f64);
    }
}

static double pulse_us(const struct streams *b)
{
    for (unsigned i = 0; i < b->n_ports; i++)
        if (b->ports[i].is_input && b->ports[i].rate_num)
            return 1e6 * (double) b->ports[i].pulse_frames * b->ports[i].rate_den /
                b->ports[i].rate_num;
    return 0;
}

static void report_text(const struct streams *b, const char *name, const rill_plan_info *info)
{
    printf("%s: pulse of %u samples, %s, median of %zu rounds; us per stream and pulse\n", name,
           info->pulse_samples, info->cpu, b->n_rounds);
    printf("  %7s %12s %12s %6s %10s %10s\n", "streams", "together us", "one by one", "ratio",
           "RTF each", "RTF all");
    for (unsigned i = 0; i < b->n_rows; i++) {
        const struct row *r = &b->rows[i];
        double all = tool_percentile(r->together_us, b->n_rounds, 0.5),
               apart = tool_percentile(r->apart_us, b->n_rounds, 0.5);
        printf("  %7u %12.2f %12.2f %6.2f", r->n, all / r->n, apart / r->n,
               all > 0 ? apart / all : 0);
        if (pulse_us(b) > 0)
            printf(" %10.5f %10.5f\n", all / r->n / pulse_us(b), all / pulse_us(b));
        else
            printf(" %10s %10s\n", "-", "-");
    }
}

static void report_json(const struct streams *b, const char *name, const rill_plan_info *info)
{
    json_t *list = json_array();
    for (unsigned i = 0; i < b->n_rows; i++) {
        const struct row *r = &b->rows[i];
        double n = r->n, all = tool_percentile(r->together_us, b->n_rounds, 0.5);
        double apart = tool_percentile(r->apart_us, b->n_rounds, 0.5);
        json_array_append_new(list,
                              json_pack("{s:i, s:f, s:f, s:f, s:f, s:o}", "streams", (int) r->n,
                                        "us_per_stream", all / n, "p99_us_per_stream",
                                        tool_percentile(r->together_us, b->n_rounds, 0.99) / n,
                                        "one_by_one_us_per_stream", apart / n, "ratio",
                                        all > 0 ? apart / all : 0.0, "rtf",
                                        pulse_us(b) > 0 ? json_real(all / n / pulse_us(b))
                                                        : json_null()));
    }
    json_t *j = json_pack("{s:s, s:i, s:s, s:I, s:o}", "model", name, "pulse_samples",
                          (int) info->pulse_samples, "cpu", info->cpu, "rounds",
                          (json_int_t) b->n_rounds, "streams", list);
    json_dumpf(j, stdout, JSON_INDENT(1));
    putchar('\n');
    json_decref(j);
}

int bench_streams(const struct command *cmd, rill_plan *plan, const char *name, const char *list,
                  double seconds, bool json)
{
    struct streams b = { .plan = plan, .seed = 1 };
    rill_plan_info info = { .struct_bytes = sizeof info };
    if (!counts_read(&b, list))
        return tool_fail(
            cmd, TOOL_USAGE,
            "--streams wants numbers from 1 to %d, like 1,8,32,64, at most %d of them; not '%.60s'",
            STREAMS_MAX, COUNTS_MAX, list);
    rill_plan_get_info(plan, &info);
    rill_thread_prepare();
    streams_make(&b);
    streams_measure(&b, seconds);
    (json ? report_json : report_text)(&b, name, &info);
    for (unsigned i = 0; i < b.n_rows; i++) {
        free(b.rows[i].together_us);
        free(b.rows[i].apart_us);
    }
    free(b.x);
    free(b.ports);
    free(b.stream);
    free(b.status);
    free(b.mem);
    return TOOL_OK;
}
