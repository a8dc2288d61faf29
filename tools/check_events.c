/* SPDX-License-Identifier: MIT */
#include "tools/check_events.h"
#include "engine/base/err.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PORTS_MAX 64
#define NOISE_SAMPLES 60000

struct run {
    rill_plan *plan;
    rill_stream *stream;
    rill_port ports[PORTS_MAX];
    unsigned n_ports;
    rill_sink *sinks[PORTS_MAX];
    float *frames;
    unsigned n_events;
    char *lines[PORTS_MAX]; /* of each output: a line an event */
    size_t line_used[PORTS_MAX];
};

static bool has_sink(const rill_port *p)
{
    return !p->is_input && p->kind >= RILL_PORT_VAD;
}

bool events_there(const rill_model *m)
{
    rill_port ports[PORTS_MAX];
    rill_plan *p;
    bool any = false;
    if (rill_plan_new(&p, m, NULL, NULL) != RILL_OK)
        return false;
    unsigned n = rill_plan_ports(p, ports, PORTS_MAX);
    for (unsigned i = 0; i < n && i < PORTS_MAX; i++)
        any |= has_sink(&ports[i]);
    bool one =
        n > 1 && n <= PORTS_MAX && ports[0].is_input && ports[0].width == 1 && !ports[1].is_input;
    rill_plan_unref(p);
    return any && one;
}

/* ---- one run ---- */

static void run_close(struct run *r)
{
    for (unsigned i = 0; i < PORTS_MAX; i++) {
        rill_sink_free(r->sinks[i]);
        free(r->lines[i]);
    }
    free(r->frames);
    free(r->stream);
    rill_plan_unref(r->plan);
}

static rill_status run_open(struct run *r, const rill_model *m, int64_t pulse, rill_error *err)
{
    const rill_plan_opts opts = { .pulse_frames = (uint32_t) pulse };
    size_t most = 1;
    *r = (struct run) { .plan = NULL };
    TRY(rill_plan_new(&r->plan, m, &opts, err));
    r->n_ports = rill_plan_ports(r->plan, r->ports, PORTS_MAX);
    for (unsigned i = 0; i < r->n_ports; i++) {
        most = r->ports[i].width > most ? r->ports[i].width : most;
        if (has_sink(&r->ports[i]))
            TRY(rill_sink_new(&r->sinks[i], r->plan, i, NULL, err));
    }
    r->frames = tool_alloc(most * sizeof *r->frames);
    r->stream = rill_stream_init(tool_alloc(rill_plan_stream_size(r->plan)), r->plan);
    return RILL_OK;
}

static void event_write(struct run *r, unsigned port, const rill_event *e)
{
    size_t need = 200 + strlen(e->text) + 64u * e->n_words, at = r->line_used[port];
    char *more = realloc(r->lines[port], at + need);
    if (!more)
        exit(TOOL_IO);
    r->lines[port] = more;
    at += (size_t) snprintf(more + at, need, "%d %d %llu-%llu %a %a %u '%s'", (int) e->kind,
                            (int) e->rule, (unsigned long long) e->pos,
                            (unsigned long long) e->end_pos, (double) e->score,
                            (double) e->stability, e->segment, e->text);
    for (uint32_t i = 0; i < e->n_words; i++)
        at += (size_t) sprintf(more + at, " %llu-%llu", (unsigned long long) e->words[i].pos,
                               (unsigned long long) e->words[i].end_pos);
    more[at++] = '\n';
    more[at] = '\0';
    r->line_used[port] = at;
    r->n_events++;
}

static void outputs_read(struct run *r)
{
    rill_event e;
    for (unsigned i = 0; i < r->n_ports; i++) {
        size_t n = !r->ports[i].is_input, took;
        while (n && rill_stream_pull(r->stream, i, r->frames, 1, &n) == RILL_OK && n) {
            if (r->sinks[i])
                rill_sink_push(r->sinks[i], r->frames, 1, &took);
            while (r->sinks[i] && rill_sink_next(r->sinks[i], &e) == RILL_OK)
                event_write(r, i, &e);
        }
    }
}

static void run_whole(struct run *r, const float *x, size_t n, uint32_t *seed, size_t most)
{
    rill_event e;
    for (size_t at = 0, took = 0; at < n; at += took) {
        *seed = *seed * 1664525u + 1013904223u;
        size_t k = 1 + (*seed >> 8) % most;
        if (rill_stream_push(r->stream, 0, x + at, k < n - at ? k : n - at, &took) != RILL_OK)
            break;
        while (rill_stream_run(r->stream) == RILL_OK)
            outputs_read(r);
    }
    rill_stream_finish(r->stream);
    for (unsigned i = 0; i < r->n_ports; i++)
        if (r->sinks[i])
            rill_sink_end(r->sinks[i], n);
    while (rill_stream_run(r->stream) == RILL_OK)
        outputs_read(r);
    outputs_read(r);
    for (unsigned i = 0; i < r->n_ports; i++) {
        if (!r->sinks[i])
            continue;
        rill_sink_finish(r->sinks[i]);
        while (rill_sink_next(r->sinks[i], &e) == RILL_OK)
            event_write(r, i, &e);
    }
}

/* ---- all of them ---- */

static float *noise_make(size_t n, uint32_t *seed)
{
    float *x = tool_alloc(n * sizeof *x);
    for (size_t i = 0; i < n; i++) {
        *seed = *seed * 1664525u + 1013904223u;
        x[i] = (float) (int32_t) *seed * (i / 9000 % 2 ? 0x1p-33f : 0x1p-44f);
    }
    return x;
}

static bool runs_agree(struct events_check *c, const struct run *first, const struct run *r)
{
    for (unsigned i = 0; i < r->n_ports; i++) {
        const char *a = first->lines[i] ? first->lines[i] : "", *b = r->lines[i] ? r->lines[i] : "";
        if (!strcmp(a, b))
            continue;
        size_t at = 0, line = 0;
        for (; a[at] == b[at]; at++)
            line = a[at] == '\n' ? at + 1 : line;
        snprintf(c->where, sizeof c->where, "output '%.60s': %.*s, not %.*s", r->ports[i].name,
                 (int) strcspn(b + line, "\n"), b + line, (int) strcspn(a + line, "\n"), a + line);
        return false;
    }
    return true;
}

rill_status events_check(struct events_check *c, bool *ret_same, rill_error *reterr)
{
    uint32_t seed = c->seed;
    size_t n = c->samples ? c->n_samples : NOISE_SAMPLES;
    float *noise = c->samples ? NULL : noise_make(n, &seed);
    const float *x = c->samples ? c->samples : noise;
    struct run first = { .plan = NULL }, r = { .plan = NULL };
    rill_status s = run_open(&first, c->model, 0, reterr);
    *ret_same = true;
    if (s == RILL_OK)
        run_whole(&first, x, n, &seed, n + 1);
    c->n_events = first.n_events;
    for (unsigned i = 0; s == RILL_OK && *ret_same && i < c->n_pulses; i++) {
        for (size_t most = 7; s == RILL_OK && *ret_same && most <= 70000; most *= 100) {
            if (run_open(&r, c->model, c->pulse[i], NULL) ==
                RILL_OK) { /* a pulse that it cannot take was told before */
                run_whole(&r, x, n, &seed, most);
                *ret_same = runs_agree(c, &first, &r);
            }
            run_close(&r);
        }
    }
    run_close(&first);
    free(noise);
    return s;
}
