/* SPDX-License-Identifier: MIT */
#include "check/events.h"
#include "engine/base/arena.h"
#include "engine/base/err.h"
#include "models/port_kinds.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NOISE_SAMPLES 60000

/* Of an output with a sink: a line an event, to its text. */
struct heard {
    rill_sink *sink;
    FILE *to;
    char *lines;
    size_t lines_bytes;
};

struct run {
    rill_plan *plan;
    rill_stream *stream;
    rill_port *ports;
    unsigned n_ports;
    struct heard *heard; /* of each port */
    struct arena arena;
    float *frames;
    unsigned n_events;
};

/* What every run hears, and where the next cut comes from. */
struct feed {
    const float *x;
    size_t n;
    uint32_t seed;
    rill_error *err;
};

static rill_status no_memory(rill_error *err)
{
    return err_set(err, RILL_NOMEM, "out of memory while events are compared");
}

static bool has_sink(const rill_port *p)
{
    return !p->is_input && port_has_sink(p->kind);
}

/* ---- one run ---- */

static void run_close(struct run *r)
{
    for (unsigned i = 0; r->heard && i < r->n_ports; i++) {
        rill_sink_free(r->heard[i].sink);
        if (r->heard[i].to)
            fclose(r->heard[i].to);
        free(r->heard[i].lines);
    }
    arena_drop(&r->arena);
    rill_plan_unref(r->plan);
}

static rill_status ports_tell(struct run *r, rill_error *err)
{
    unsigned n = rill_plan_ports(r->plan, NULL, 0);
    r->ports = arena_array(&r->arena, rill_port, n + 1);
    r->heard = arena_array(&r->arena, struct heard, n + 1);
    if (!r->ports || !r->heard)
        return no_memory(err);
    r->ports[0].struct_bytes = sizeof *r->ports;
    r->n_ports = rill_plan_ports(r->plan, r->ports, n);
    return RILL_OK;
}

bool events_there(const rill_model *m)
{
    struct run r = { .plan = NULL };
    bool any = false;
    if (rill_plan_new(&r.plan, m, NULL, NULL) != RILL_OK)
        return false;
    bool told = ports_tell(&r, NULL) == RILL_OK;
    for (unsigned i = 0; told && i < r.n_ports; i++)
        any |= has_sink(&r.ports[i]);
    any = any && r.n_ports > 1 && r.ports[0].is_input && r.ports[0].width == 1 &&
        !r.ports[1].is_input;
    run_close(&r);
    return any;
}

static rill_status run_open(struct run *r, const rill_model *m, int64_t pulse, rill_error *err)
{
    const rill_plan_opts opts = { .struct_bytes = sizeof opts, .pulse_frames = (uint32_t) pulse };
    size_t most = 1;
    *r = (struct run) { .plan = NULL };
    TRY(rill_plan_new(&r->plan, m, &opts, err));
    TRY(ports_tell(r, err));
    for (unsigned i = 0; i < r->n_ports; i++) {
        const size_t bytes = (size_t) r->ports[i].width * r->ports[i].element_bytes;
        most = bytes > most ? bytes : most;
        if (!has_sink(&r->ports[i]))
            continue;
        TRY(rill_sink_new(&r->heard[i].sink, r->plan, i, NULL, err));
        if (!(r->heard[i].to = open_memstream(&r->heard[i].lines, &r->heard[i].lines_bytes)))
            return no_memory(err);
    }
    void *block = arena_alloc(&r->arena, rill_plan_stream_size(r->plan));
    r->frames = arena_alloc(&r->arena, most);
    if (!block || !r->frames)
        return no_memory(err);
    r->stream = rill_stream_init(block, r->plan);
    return RILL_OK;
}

static void event_write(struct run *r, unsigned port, const rill_event *e)
{
    FILE *to = r->heard[port].to;
    fprintf(to, "%d %d %llu-%llu %a %a %u '%s'", (int) e->kind, (int) e->rule,
            (unsigned long long) e->pos, (unsigned long long) e->end_pos, (double) e->score,
            (double) e->stability, e->segment, e->text);
    for (uint32_t i = 0; i < e->n_words; i++)
        fprintf(to, " %llu-%llu", (unsigned long long) e->words[i].pos,
                (unsigned long long) e->words[i].end_pos);
    putc('\n', to);
    r->n_events++;
}

static void outputs_read(struct run *r)
{
    rill_event e = { .struct_bytes = sizeof e };
    for (unsigned i = 0; i < r->n_ports; i++) {
        size_t n = !r->ports[i].is_input, took;
        while (n && rill_stream_pull(r->stream, i, r->frames, 1, &n) == RILL_OK && n) {
            if (r->heard[i].sink)
                rill_sink_push(r->heard[i].sink, r->frames, 1, &took);
            while (r->heard[i].sink && rill_sink_next(r->heard[i].sink, &e) == RILL_OK)
                event_write(r, i, &e);
        }
    }
}

/* All lines are there. */
static rill_status lines_end(struct run *r, rill_error *err)
{
    for (unsigned i = 0; i < r->n_ports; i++)
        if (r->heard[i].to && (ferror(r->heard[i].to) || fflush(r->heard[i].to)))
            return no_memory(err);
    return RILL_OK;
}

/* In cuts of at most `most` frames. */
static rill_status run_whole(struct run *r, struct feed *f, size_t most)
{
    rill_event e = { .struct_bytes = sizeof e };
    for (size_t at = 0, took = 0; at < f->n; at += took) {
        f->seed = f->seed * 1664525u + 1013904223u;
        size_t k = 1 + (f->seed >> 8) % most;
        if (rill_stream_push(r->stream, 0, f->x + at, k < f->n - at ? k : f->n - at, &took) !=
            RILL_OK)
            break;
        while (rill_stream_run(r->stream) == RILL_OK)
            outputs_read(r);
    }
    rill_stream_finish(r->stream);
    for (unsigned i = 0; i < r->n_ports; i++)
        if (r->heard[i].sink)
            rill_sink_end(r->heard[i].sink, f->n);
    while (rill_stream_run(r->stream) == RILL_OK)
        outputs_read(r);
    outputs_read(r);
    for (unsigned i = 0; i < r->n_ports; i++) {
        if (!r->heard[i].sink)
            continue;
        rill_sink_finish(r->heard[i].sink);
        while (rill_sink_next(r->heard[i].sink, &e) == RILL_OK)
            event_write(r, i, &e);
    }
    return lines_end(r, f->err);
}

/* ---- all of them ---- */

static float *noise_make(struct arena *a, size_t n, uint32_t *seed)
{
    float *x = arena_array(a, float, n);
    for (size_t i = 0; x && i < n; i++) {
        *seed = *seed * 1664525u + 1013904223u;
        x[i] = (float) (int32_t) *seed * (i / 9000 % 2 ? 0x1p-33f : 0x1p-44f);
    }
    return x;
}

static bool runs_agree(struct events_check *c, const struct run *first, const struct run *r)
{
    for (unsigned i = 0; i < r->n_ports; i++) {
        const char *a = first->heard[i].lines ? first->heard[i].lines : "",
                   *b = r->heard[i].lines ? r->heard[i].lines : "";
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

/* One more run, for the pulse, beside the first one. A pulse that the model cannot take was told
 * before. */
static rill_status run_compare(struct events_check *c, const struct run *first, struct feed *f,
                               int64_t pulse, size_t most, bool *ret_same)
{
    struct run r = { .plan = NULL };
    rill_status s = RILL_OK;
    if (run_open(&r, c->model, pulse, NULL) == RILL_OK) {
        s = run_whole(&r, f, most);
        *ret_same = s != RILL_OK || runs_agree(c, first, &r);
    }
    run_close(&r);
    return s;
}

static rill_status runs_compare(struct events_check *c, struct run *first, struct feed *f,
                                bool *ret_same)
{
    TRY(run_open(first, c->model, 0, f->err));
    TRY(run_whole(first, f, f->n + 1));
    c->n_events = first->n_events;
    for (unsigned i = 0; *ret_same && i < c->n_pulses; i++)
        for (size_t most = 7; *ret_same && most <= 70000; most *= 100)
            TRY(run_compare(c, first, f, c->pulse[i], most, ret_same));
    return RILL_OK;
}

rill_status events_check(struct events_check *c, bool *ret_same, rill_error *reterr)
{
    struct arena a = { 0 };
    struct run first = { .plan = NULL };
    struct feed f = { .x = c->samples,
                      .n = c->samples ? c->n_samples : NOISE_SAMPLES,
                      .seed = c->seed,
                      .err = reterr };
    *ret_same = true;
    if (!f.x)
        f.x = noise_make(&a, f.n, &f.seed);
    rill_status s = f.x ? runs_compare(c, &first, &f, ret_same) : no_memory(reterr);
    run_close(&first);
    arena_drop(&a);
    return s;
}
