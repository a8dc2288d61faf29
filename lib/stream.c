/* SPDX-License-Identifier: MIT */
#include "lib/stream_internal.h"
#include "engine/base/dim_claims.h"
#include "engine/base/sized.h"
#include "engine/base/float_mode.h"

#include <string.h>
#include <time.h>

static unsigned char *stream_profile(const rill_stream *s)
{
    return (unsigned char *) (uintptr_t) s + s->plan->header_bytes;
}

unsigned char *stream_mem(const rill_stream *s)
{
    return stream_profile(s) + s->plan->profile_bytes;
}

static rill_stream *stream_begin(void *mem, const rill_plan *p)
{
    rill_stream *s = mem;
    memset(mem, 0, p->header_bytes + p->profile_bytes);
    s->plan = p;
    return s;
}

rill_stream *rill_stream_init(void *mem, const rill_plan *p)
{
    rill_stream *s = stream_begin(mem, p);
    for (uint32_t i = p->n_inputs; i < p->n_ports; i++)
        s->counts[i].wanted = true;
    rill_stream_reset(s);
    return s;
}

rill_stream *rill_stream_init_for(void *mem, const rill_plan *p, const unsigned *outputs,
                                  unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        if (outputs[i] < p->n_inputs || outputs[i] >= p->n_ports)
            return NULL;
    rill_stream *s = stream_begin(mem, p);
    for (unsigned i = 0; i < n; i++)
        s->counts[outputs[i]].wanted = true;
    rill_stream_reset(s);
    return s;
}

void rill_stream_alone(rill_stream *s, int alone)
{
    s->is_alone = alone != 0;
}

static const struct fault *stream_fault(const rill_stream *s)
{
    return plan_fault(s->plan->plan, stream_mem(s));
}

/* ---- moving frames in and out of the plan's memory ---- */

static unsigned char *piece(const rill_stream *s, const struct port *q, size_t outer, int64_t frame)
{
    return stream_mem(s) + q->at.offset +
        (outer * (size_t) q->pulse + (size_t) frame) * q->inner_bytes;
}

static void frames_in(rill_stream *s, const struct port *q, int64_t at, const unsigned char *x,
                      size_t n)
{
    size_t frame_bytes = q->outer * q->inner_bytes;
    if (q->outer == 1) {
        q->take(piece(s, q, 0, at), x, n * q->inner);
        return;
    }
    for (size_t o = 0; o < q->outer; o++)
        for (size_t i = 0; i < n; i++)
            q->take(piece(s, q, o, at + (int64_t) i), x + i * frame_bytes + o * q->inner_bytes,
                    q->inner);
}

static void frames_fill(rill_stream *s, const struct port *q, int64_t at)
{
    for (size_t o = 0; o < q->outer; o++) {
        unsigned char *to = piece(s, q, o, at);
        size_t n = (size_t) (q->pulse - at) * q->inner;
        if (s->spoils)
            elements_spoil(to, q->info.type, n);
        else
            memset(to, 0, n * q->info.element_bytes);
    }
}

/* Frames of the first run that come before the stream. */
static void lead_in_fill(rill_stream *s, uint32_t port)
{
    const struct port *q = &s->plan->ports[port];
    frames_fill(s, q, 0);
    s->counts[port].fill = q->delay;
}

void rill_stream_reset(rill_stream *s)
{
    const rill_plan *p = s->plan;
    s->n_runs = 0;
    s->length = -1;
    s->is_finished = s->is_short = 0;
    for (uint32_t i = 0; i < p->n_ports; i++)
        s->counts[i] = (struct port_count) { .wanted = s->counts[i].wanted };
    for (uint32_t i = 0; i < p->pgraph.n_lengths; i++)
        s->clock[1 + i] = CLOCK_OPEN;
    plan_reset(p->plan, stream_mem(s));
    for (uint32_t i = 0; i < p->n_inputs && p->pgraph.lead_in; i++)
        lead_in_fill(s, i);
}

static void frames_out(const rill_stream *s, const struct port *q, int64_t at, unsigned char *y,
                       size_t n)
{
    size_t frame_bytes = q->outer * q->inner_bytes;
    if (q->outer == 1 && !q->at.constant) {
        memcpy(y, piece(s, q, 0, at), n * frame_bytes);
        return;
    }
    const unsigned char *base = place_read(q->at, stream_mem(s));
    for (size_t i = 0; i < n; i++)
        for (size_t o = 0; o < q->outer; o++)
            memcpy(y + i * frame_bytes + o * q->inner_bytes,
                   base + (o * (size_t) q->pulse + (size_t) at + i) * q->inner_bytes,
                   q->inner_bytes);
}

/* ---- pushing, running, pulling ---- */

static bool is_wanted(const rill_stream *s, uint32_t port)
{
    return s->counts[port].wanted;
}

/* Frames that an output of a finished stream has in all; none of a sequence that the graph has no
 * sizes for, or of which there is no whole run. */
static int64_t output_length(const rill_stream *s, const struct port *q)
{
    int64_t length;
    return !s->is_short && dim_eval(q->length, s->plan->symbol, s->length, &length) ? length : 0;
}

/* Frames that an output may still give of the last run; moves past warm-up and what lies after the
 * end. */
static int64_t output_left(rill_stream *s, uint32_t port)
{
    const struct port *q = &s->plan->ports[port];
    struct port_count *c = &s->counts[port];
    int64_t first = c->total, skip = q->delay - (first + c->taken);
    if (!is_wanted(s, port))
        return 0;
    if (skip > 0)
        c->taken += skip < c->fill - c->taken ? skip : c->fill - c->taken;
    int64_t left = c->fill - c->taken;
    if (s->is_finished && q->length) {
        int64_t end = output_length(s, q) + q->delay - (first + c->taken);
        left = end < left ? (end > 0 ? end : 0) : left;
    }
    return left;
}

/* An output that lies where this input's frames go has not been pulled yet. */
static bool input_is_held(rill_stream *s, uint32_t port)
{
    const struct port *q = &s->plan->ports[port];
    for (uint32_t i = 0; i < q->n_held_by; i++)
        if (output_left(s, q->held_by[i]) > 0)
            return true;
    return false;
}

static unsigned char *ahead_of(rill_stream *s, const struct port *q, int64_t frame)
{
    return (unsigned char *) (uintptr_t) s + s->plan->header_bytes - s->plan->ahead_bytes +
        q->ahead_offset + (size_t) frame * q->outer * q->inner_bytes;
}

/* Frames that came past a pulse are the first of the next one, once nothing lies in their place. */
static void ahead_settle(rill_stream *s, uint32_t port)
{
    const struct port *q = &s->plan->ports[port];
    struct port_count *c = &s->counts[port];
    int64_t room = q->pulse - c->fill, n = c->ahead < room ? c->ahead : room;
    if (n <= 0 || input_is_held(s, port))
        return;
    frames_in(s, q, c->fill, ahead_of(s, q, 0), (size_t) n);
    c->fill += n;
    c->ahead -= n;
    memmove(ahead_of(s, q, 0), ahead_of(s, q, n), (size_t) c->ahead * q->outer * q->inner_bytes);
}

/* Takes frames for which the pulse has no room; how many. */
static size_t ahead_push(rill_stream *s, uint32_t port, const unsigned char *x, size_t n_frames)
{
    const struct port *q = &s->plan->ports[port];
    struct port_count *c = &s->counts[port];
    size_t room = c->fill == q->pulse ? (size_t) (q->ahead - c->ahead) : 0,
           n = n_frames < room ? n_frames : room;
    if (n)
        memcpy(ahead_of(s, q, c->ahead), x, n * q->outer * q->inner_bytes);
    c->ahead += (int64_t) n;
    return n;
}

rill_status rill_stream_push(rill_stream *s, unsigned port, const void *x, size_t n_frames,
                             size_t *ret_taken)
{
    if (port >= s->plan->n_inputs || stream_fault(s))
        return RILL_INVALID;
    const struct port *q = &s->plan->ports[port];
    if (s->is_finished && (q->length || !s->plan->symbol))
        return RILL_INVALID;
    struct port_count *c = &s->counts[port];
    ahead_settle(s, port);
    size_t room = input_is_held(s, port) ? 0 : (size_t) (q->pulse - c->fill),
           n = n_frames < room ? n_frames : room;
    if (n)
        frames_in(s, q, c->fill, x, n);
    c->fill += (int64_t) n;
    if (n < n_frames && q->ahead)
        n += ahead_push(s, port, (const unsigned char *) x + n * q->outer * q->inner_bytes,
                        n_frames - n);
    c->total += (int64_t) n;
    *ret_taken = n;
    return RILL_OK;
}

/* Runs that a finished stream still owes. */
static bool output_owes(const rill_stream *s, uint32_t port)
{
    const struct port *q = &s->plan->ports[port];
    const struct port_count *c = &s->counts[port];
    int64_t length = q->length ? output_length(s, q) : 0;
    return length > 0 && c->total + c->fill < length + q->delay;
}

/* Whether an input is good for a run. One beside others that run along time is, once it was set. */
static bool input_is_full(const rill_stream *s, uint32_t port)
{
    const struct port *q = &s->plan->ports[port];
    const struct port_count *c = &s->counts[port];
    return c->fill == q->pulse || (!q->length && s->plan->takes_frames && c->total > 0);
}

static rill_status input_check(const rill_stream *s)
{
    bool waiting = false, full = true;
    for (uint32_t i = 0; i < s->plan->n_inputs; i++) {
        waiting |= s->counts[i].fill > 0;
        full &= input_is_full(s, i);
    }
    if (full && s->plan->n_inputs)
        return RILL_OK;
    if (!s->is_finished)
        return RILL_AGAIN;
    for (uint32_t i = s->plan->n_inputs; i < s->plan->n_ports; i++)
        if (is_wanted(s, i) && output_owes(s, i))
            return RILL_OK;
    return s->plan->symbol || !waiting ? RILL_END : RILL_OK;
}

static uint64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t) t.tv_sec * 1000000000u + (uint64_t) t.tv_nsec;
}

static void run_profiled(rill_stream *s)
{
    const struct plan *p = s->plan->plan;
    struct step_time *times = (struct step_time *) (void *) stream_profile(s);
    plan_bind(p, stream_mem(s));
    uint64_t before = now_ns();
    for (uint32_t i = 0; i < p->n_steps; i++) {
        p->steps[i].run(&p->steps[i], stream_mem(s));
        uint64_t after = now_ns(), took = after - before;
        times[i].total_ns += took;
        times[i].worst_ns = took > times[i].worst_ns ? took : times[i].worst_ns;
        times[i].runs++;
        before = after;
    }
}

rill_status stream_run_check(rill_stream *s)
{
    if (stream_fault(s))
        return RILL_INVALID;
    for (uint32_t i = s->plan->n_inputs; i < s->plan->n_ports; i++)
        if (output_left(s, i) > 0)
            return RILL_AGAIN;
    for (uint32_t i = 0; i < s->plan->n_inputs && s->plan->ahead_bytes; i++)
        ahead_settle(s, i);
    return input_check(s);
}

void stream_run_begin(rill_stream *s)
{
    const rill_plan *p = s->plan;
    for (uint32_t i = 0; i < p->n_inputs; i++) {
        if (!input_is_full(s, i))
            frames_fill(s, &p->ports[i], s->counts[i].fill);
        s->counts[i].fill = 0;
    }
    plan_alone(p->plan, stream_mem(s), s->is_alone);
    s->clock[0] = s->n_runs;
    if (p->pgraph.has_clock)
        memcpy(stream_mem(s) + p->clock_offset, s->clock,
               (1 + p->pgraph.n_lengths) * sizeof *s->clock);
}

rill_status stream_run_end(rill_stream *s)
{
    const rill_plan *p = s->plan;
    if (stream_fault(s))
        return RILL_INVALID;
    s->n_runs++;
    for (uint32_t i = p->n_inputs; i < p->n_ports; i++) {
        struct port_count *c = &s->counts[i];
        c->total += c->fill;
        c->fill = p->ports[i].pulse;
        c->taken = 0;
    }
    return RILL_OK;
}

rill_status rill_stream_run(rill_stream *s)
{
    rill_status status = stream_run_check(s);
    if (status != RILL_OK)
        return status;
    stream_run_begin(s);
    uint64_t mode = floats_flush();
    if (s->plan->profile)
        run_profiled(s);
    else
        plan_run(s->plan->plan, stream_mem(s));
    floats_restore(mode);
    return stream_run_end(s);
}

rill_status rill_stream_fault(const rill_stream *s, rill_error *reterr)
{
    const struct fault *f = stream_fault(s);
    long long pulse = s->plan->pgraph.pulse, first = s->n_runs * pulse - s->plan->pgraph.lead_in;
    if (!f)
        return RILL_OK;
    fault_error(f, reterr);
    if (!s->plan->symbol)
        return err_prefix(reterr, RILL_INVALID, "run %lld", (long long) s->n_runs);
    if (pulse == 1)
        return err_prefix(reterr, RILL_INVALID, "at input frame %lld", first);
    return err_prefix(reterr, RILL_INVALID, "at input frames %lld to %lld", first,
                      first + pulse - 1);
}

rill_status rill_stream_pull(rill_stream *s, unsigned port, void *y, size_t cap_frames,
                             size_t *ret_given)
{
    if (port < s->plan->n_inputs || port >= s->plan->n_ports)
        return RILL_INVALID;
    struct port_count *c = &s->counts[port];
    int64_t left = output_left(s, port);
    size_t n = (size_t) left < cap_frames ? (size_t) left : cap_frames;
    if (n)
        frames_out(s, &s->plan->ports[port], c->taken, y, n);
    c->taken += (int64_t) n;
    *ret_given = n;
    return RILL_OK;
}

/* The stream symbol's value, from what was pushed: the shortest input says. */
static int64_t stream_length(const rill_stream *s)
{
    int64_t length = INT64_MAX, at_zero;
    for (uint32_t i = 0; i < s->plan->n_inputs; i++) {
        const struct port *q = &s->plan->ports[i];
        if (!q->length || !dim_eval(q->length, s->plan->symbol, 0, &at_zero))
            continue;
        int64_t n = (s->counts[i].total - at_zero) / q->step;
        length = n < length ? n : length;
    }
    return length == INT64_MAX || length < 0 ? 0 : length;
}

void rill_stream_finish(rill_stream *s)
{
    if (s->is_finished)
        return;
    s->is_finished = 1;
    s->length = stream_length(s);
    s->is_short = s->plan->symbol &&
        dims_need_broken(s->plan->model->dims, s->plan->symbol, s->length) != NULL;
    for (uint32_t i = 0; i < s->plan->pgraph.n_lengths; i++)
        if (!dim_eval(s->plan->pgraph.lengths[i], s->plan->symbol, s->length, &s->clock[1 + i]))
            s->clock[1 + i] = 0;
}

unsigned rill_stream_profile(const rill_stream *s, rill_step_time *ret, unsigned cap)
{
    const struct plan *p = s->plan->plan;
    if (!s->plan->profile)
        return 0;
    const struct step_time *times = (const struct step_time *) (const void *) stream_profile(s);
    uint32_t n = cap < p->n_steps ? cap : p->n_steps;
    struct sized_list list;
    if (n && sized_list(&list, &sized_step_time, ret) != RILL_OK)
        return 0;
    for (uint32_t i = 0; i < n; i++) {
        const rill_step_time time = { .step = p->steps[i].name,
                                      .kernel = p->steps[i].kernel,
                                      .total_ns = times[i].total_ns,
                                      .worst_ns = times[i].worst_ns,
                                      .runs = times[i].runs };
        sized_list_give(&list, i, &time);
    }
    return p->n_steps;
}
