/* SPDX-License-Identifier: MIT */
/* What one pulse of a plan costs, and each step of it. */
#include "tools/measure.h"
#include "engine/late/op.h"
#include "tools/tool.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RUNS_MAX 200000
#define RUNS_MIN 50

struct bench {
    rill_plan *plan;
    rill_stream *stream;
    rill_plan_info info;
    rill_port *ports;
    unsigned n_ports;
    void **in, *out; /* in: of each input */
    double *us;
    size_t n_runs;
    uint32_t seed;
};

static void bench_ports(struct bench *b)
{
    size_t most = 0;
    b->ports = tool_ports(b->plan, &b->n_ports);
    b->in = tool_alloc((b->n_ports + 1) * sizeof *b->in);
    for (unsigned i = 0; i < b->n_ports; i++) {
        size_t bytes = tool_pulse_bytes(&b->ports[i]);
        most = bytes > most ? bytes : most;
        if (b->ports[i].is_input)
            b->in[i] = tool_alloc(bytes);
    }
    b->out = tool_alloc(most);
}

/* One pulse of noise; returns the microseconds of run() alone. */
static double pulse_time(struct bench *b)
{
    size_t moved;
    for (unsigned i = 0; i < b->n_ports && b->ports[i].is_input; i++) {
        tool_pulse_noise(&b->ports[i], &b->seed, b->in[i]);
        rill_stream_push(b->stream, i, b->in[i], b->ports[i].pulse_frames, &moved);
    }
    double before = tool_now_s();
    bool stopped = rill_stream_run(b->stream) == RILL_INVALID;
    double us = (tool_now_s() - before) * 1e6;
    for (unsigned i = 0; i < b->n_ports; i++)
        if (!b->ports[i].is_input)
            rill_stream_pull(b->stream, i, b->out, b->ports[i].pulse_frames, &moved);
    if (stopped)
        rill_stream_reset(b->stream);
    return us;
}

static void bench_measure(struct bench *b, double seconds)
{
    for (int i = 0; i < 20; i++)
        pulse_time(b);
    double end = tool_now_s() + seconds;
    while (b->n_runs < RUNS_MAX && (b->n_runs < RUNS_MIN || tool_now_s() < end))
        b->us[b->n_runs++] = pulse_time(b);
    qsort(b->us, b->n_runs, sizeof *b->us, tool_compare_f64);
}

static json_t *whole_inputs(const struct bench *b)
{
    json_t *ret = json_array();
    for (unsigned i = 0; i < b->n_ports; i++) {
        const rill_port *p = &b->ports[i];
        if (p->is_input && tool_noise_is_bits(p))
            json_array_append_new(ret, json_string(p->name));
    }
    return ret;
}

void whole_inputs_print(const json_t *names)
{
    const size_t n = json_array_size(names);
    for (size_t i = 0; i < n; i++)
        printf("%s%s",
               i ? ", " : "  0 or 1 by chance: ", json_string_value(json_array_get(names, i)));
    if (n)
        printf("; --const NAME=VALUE makes one a number\n");
}

void late_counts_print(const struct late_counts *n)
{
    printf("  sizes: %llu hits, %llu misses; %llu plans made, blocks of %zu bytes, grown %llu "
           "times\n",
           (unsigned long long) n->hits, (unsigned long long) n->misses,
           (unsigned long long) n->plans, n->block_bytes, (unsigned long long) n->grown);
}

void late_counts_put(const struct late_counts *n, json_t *to)
{
    json_t *more =
        json_pack("{s:I, s:I, s:I, s:I, s:I}", "size_hits", (json_int_t) n->hits, "size_misses",
                  (json_int_t) n->misses, "plans", (json_int_t) n->plans, "block_bytes",
                  (json_int_t) n->block_bytes, "block_grown", (json_int_t) n->grown);
    json_object_update(to, more);
    json_decref(more);
}

/* Seconds of audio in one pulse; 0 where the model has no rate. */
static double pulse_seconds(const struct bench *b)
{
    for (unsigned i = 0; i < b->n_ports; i++)
        if (b->ports[i].is_input && b->ports[i].rate_num)
            return (double) b->ports[i].pulse_frames * b->ports[i].rate_den / b->ports[i].rate_num;
    return 0;
}

static void report_json(const struct bench *b, const char *name, const struct late_counts *late)
{
    double median = tool_percentile(b->us, b->n_runs, 0.5), audio_s = pulse_seconds(b);
    json_t *j =
        json_pack("{s:s, s:i, s:i, s:f, s:f, s:f, s:o, s:I, s:I, s:I, s:i, s:s, s:I, s:o}", "model",
                  name, "pulse", b->info.pulse_samples, "pulse_samples", b->info.pulse_samples,
                  "median_us", median, "p99_us", tool_percentile(b->us, b->n_runs, 0.99),
                  "worst_us", b->us[b->n_runs - 1], "rtf",
                  audio_s > 0 ? json_real(median * 1e-6 / audio_s) : json_null(), "stream_bytes",
                  (json_int_t) b->info.stream_bytes, "state_bytes",
                  (json_int_t) b->info.state_bytes, "weights_bytes",
                  (json_int_t) b->info.weights_bytes, "steps", b->info.steps, "cpu", b->info.cpu,
                  "runs", (json_int_t) b->n_runs, "whole_inputs", whole_inputs(b));
    if (late)
        late_counts_put(late, j);
    json_dumpf(j, stdout, JSON_INDENT(1));
    putchar('\n');
    json_decref(j);
}

static void report_text(const struct bench *b, const char *name, const struct late_counts *late)
{
    double median = tool_percentile(b->us, b->n_runs, 0.5), audio_s = pulse_seconds(b);
    printf("%s: pulse of %u samples, %u steps, %s\n", name, b->info.pulse_samples, b->info.steps,
           b->info.cpu);
    printf("  median %.1f us  p99 %.1f us  worst %.1f us  over %zu pulses\n", median,
           tool_percentile(b->us, b->n_runs, 0.99), b->us[b->n_runs - 1], b->n_runs);
    if (audio_s > 0)
        printf("  real-time factor %.5f (%.1f us for %.1f ms of audio)\n", median * 1e-6 / audio_s,
               median, audio_s * 1e3);
    printf("  stream %llu bytes (state %llu), weights %llu bytes\n",
           (unsigned long long) b->info.stream_bytes, (unsigned long long) b->info.state_bytes,
           (unsigned long long) b->info.weights_bytes);
    if (late)
        late_counts_print(late);
    json_t *whole = whole_inputs(b);
    whole_inputs_print(whole);
    json_decref(whole);
}

static int step_compare(const void *a, const void *b)
{
    const rill_step_time *x = a, *y = b;
    return (x->total_ns < y->total_ns) - (x->total_ns > y->total_ns);
}

static void report_profile(const struct bench *b)
{
    unsigned n = rill_stream_profile(b->stream, NULL, 0);
    rill_step_time *t = tool_alloc((n + 1) * sizeof *t);
    t->struct_bytes = sizeof *t;
    rill_stream_profile(b->stream, t, n);
    double all = 0;
    for (unsigned i = 0; i < n; i++)
        all += (double) t[i].total_ns;
    qsort(t, n, sizeof *t, step_compare);
    printf("  %-44s %-22s %9s %6s %9s\n", "step", "kernel", "mean us", "share", "worst us");
    for (unsigned i = 0; i < n; i++)
        printf("  %-44.44s %-22.22s %9.2f %5.1f%% %9.2f\n", t[i].step, t[i].kernel,
               (double) t[i].total_ns / (double) t[i].runs * 1e-3,
               100 * (double) t[i].total_ns / all, (double) t[i].worst_ns * 1e-3);
    free(t);
}

void plan_measure(rill_plan *plan, const char *name, const struct measure_opts *o)
{
    struct bench b = { .seed = 1, .plan = plan };
    b.info.struct_bytes = sizeof b.info;
    rill_plan_get_info(plan, &b.info);
    bench_ports(&b);
    b.us = tool_alloc(RUNS_MAX * sizeof *b.us);
    b.stream = rill_stream_init(tool_alloc(rill_plan_stream_size(plan)), plan);
    rill_thread_prepare();
    bench_measure(&b, o->seconds);
    struct late_counts n;
    const struct late_counts *late = o->late && late_node_count(o->late, &n) ? &n : NULL;
    o->json ? report_json(&b, name, late) : report_text(&b, name, late);
    if (o->profile && !o->json)
        report_profile(&b);
    for (unsigned i = 0; i < b.n_ports; i++)
        free(b.in[i]);
    free(b.in);
    free(b.ports);
    free(b.us);
    free(b.out);
    free(b.stream);
}
