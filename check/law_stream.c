/* SPDX-License-Identifier: MIT */
#include "check/law_internal.h"
#include "check/slow.h"
#include "lib/stream_internal.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct port_feed {
    int64_t pushed, got, room; /* frames */
    unsigned char *frames; /* frame after frame; where nothing runs along time the first, then that
                              of the newest run */
    bool changed;          /* an output whose runs do not agree */
};

struct feed {
    struct law *l;
    rill_plan *plan;
    rill_stream *s;
    struct port_feed *ports;
    bool streams; /* an input runs along time */
};

static uint32_t below(struct feed *f, uint32_t n)
{
    f->l->seed = f->l->seed * 1664525u + 1013904223u;
    return (f->l->seed >> 8) % n;
}

static size_t port_width(const struct port *q)
{
    return q->outer * q->inner;
}

static unsigned char *frames_at(const struct feed *f, uint32_t port, int64_t frame)
{
    const struct port *q = &f->plan->ports[port];
    return f->ports[port].frames + (size_t) frame * q->outer * q->inner_bytes;
}

/* Between a tensor [outer, frames, inner] and frames of outer x inner. */
static void tensor_to_frames(const struct port *q, int64_t frames, const void *from, void *to)
{
    for (size_t o = 0; o < q->outer; o++)
        for (size_t k = 0; k < (size_t) frames; k++)
            memcpy((char *) to + (k * q->outer + o) * q->inner_bytes,
                   (const char *) from + (o * (size_t) frames + k) * q->inner_bytes,
                   q->inner_bytes);
}

/* Of the whole run; NULL where there is none. */
static const struct tensor *output_whole(const struct feed *f, uint32_t port)
{
    return f->l->ret->no_whole ? NULL : f->l->whole[f->l->n_wires + port - f->plan->n_inputs];
}

/* Along the axis that streams; 0 of a tensor that is not there. */
static int64_t frames_of(const struct feed *f, uint32_t port, const struct tensor *t)
{
    const struct port *q = &f->plan->ports[port];
    const struct pgraph *g = &f->plan->pgraph;
    int axis =
        port < f->plan->n_inputs ? g->inputs[port].axis : g->outputs[port - f->plan->n_inputs].axis;
    if (t && port_width(q))
        return tensor_count(t) / (int64_t) port_width(q);
    return t && axis >= 0 ? t->dim[axis] : 0;
}

static rill_status ports_prepare(struct feed *f)
{
    const struct law *l = f->l;
    f->ports = calloc(f->plan->n_ports + 1, sizeof *f->ports);
    if (!f->ports)
        return err_set(l->err, RILL_NOMEM, "out of memory");
    for (uint32_t i = 0; i < f->plan->n_ports; i++) {
        const struct port *q = &f->plan->ports[i];
        bool input = i < f->plan->n_inputs;
        const struct tensor *t = input ? l->in[i] : output_whole(f, i);
        int64_t frames = frames_of(f, i, t);
        if (!input && l->ret->faults && q->length &&
            !dim_eval(q->length, l->pg.symbol, l->o->length, &frames))
            frames = 0;
        f->streams |= input && q->length;
        f->ports[i].room = q->length ? frames + (input ? 0 : q->pulse) : 2;
        f->ports[i].frames =
            calloc((size_t) f->ports[i].room * port_width(q) + 1, q->info.element_bytes);
        if (!f->ports[i].frames)
            return err_set(l->err, RILL_NOMEM, "out of memory");
        if (input)
            tensor_to_frames(q, frames, t->data, f->ports[i].frames);
    }
    return RILL_OK;
}

static rill_stream *block_new(const rill_plan *p)
{
    size_t bytes = (rill_plan_stream_size(p) + 63) & ~(size_t) 63;
    rill_stream *s = aligned_alloc(64, bytes);
    if (s)
        memset((void *) s, 0xff, bytes);
    return s;
}

/* The stream goes on in another block. */
static rill_status block_move(struct feed *f)
{
    rill_stream *to = block_new(f->plan);
    if (!to)
        return err_set(f->l->err, RILL_NOMEM, "out of memory");
    memcpy((void *) to, (const void *) f->s, rill_plan_stream_size(f->plan));
    free(f->s);
    f->s = to;
    return RILL_OK;
}

static void frames_pull(struct feed *f, uint32_t i)
{
    for (size_t given = 1; given && f->ports[i].got < f->ports[i].room;
         f->ports[i].got += (int64_t) given) {
        size_t cap = (size_t) (f->ports[i].room - f->ports[i].got);
        cap = below(f, 2) && cap > 3 ? 3 : cap;
        if (rill_stream_pull(f->s, i, frames_at(f, i, f->ports[i].got), cap, &given))
            return;
    }
}

/* What does not run along time comes with every run, always the same. */
static void static_pull(struct feed *f, uint32_t i)
{
    const struct port *q = &f->plan->ports[i];
    size_t given;
    unsigned char *newest = frames_at(f, i, f->ports[i].got ? 1 : 0);
    if (rill_stream_pull(f->s, i, newest, 1, &given) || !given)
        return;
    f->ports[i].changed |= memcmp(f->ports[i].frames, newest, q->outer * q->inner_bytes) != 0;
    f->ports[i].got = 1;
}

static void outputs_pull(struct feed *f)
{
    for (uint32_t i = f->plan->n_inputs; i < f->plan->n_ports; i++)
        (f->plan->ports[i].length ? frames_pull : static_pull)(f, i);
}

/* Inputs that do not run along time are set once, and now and then again; where there are no
 * others, one run is all. */
static void statics_push(struct feed *f)
{
    size_t taken;
    bool again = f->streams && below(f, 3) == 0;
    for (uint32_t i = 0; i < f->plan->n_inputs; i++)
        if (!f->plan->ports[i].length && (again || !f->s->n_runs))
            rill_stream_push(f->s, i, f->ports[i].frames, 1, &taken);
}

static void runs_all(struct feed *f)
{
    statics_push(f);
    while (rill_stream_run(f->s) == RILL_OK) {
        outputs_pull(f);
        statics_push(f);
    }
    outputs_pull(f);
}

static bool outputs_full(const struct feed *f)
{
    for (uint32_t i = f->plan->n_inputs; i < f->plan->n_ports; i++)
        if (f->plan->ports[i].length && f->ports[i].got == f->ports[i].room)
            return true;
    return false;
}

static bool inputs_push(struct feed *f)
{
    bool left = false;
    for (uint32_t i = 0; i < f->plan->n_inputs; i++) {
        const struct port *q = &f->plan->ports[i];
        if (!q->length)
            continue;
        size_t rest = (size_t) (f->ports[i].room - f->ports[i].pushed),
               n = 1 + below(f, 2 * (uint32_t) q->pulse + 1), taken = 0;
        rill_stream_push(f->s, i, frames_at(f, i, f->ports[i].pushed), n < rest ? n : rest, &taken);
        f->ports[i].pushed += (int64_t) taken;
        left |= f->ports[i].pushed < f->ports[i].room;
    }
    return left;
}

static rill_status stream_run(struct feed *f)
{
    f->s = block_new(f->plan);
    if (!f->s)
        return err_set(f->l->err, RILL_NOMEM, "out of memory");
    f->s = rill_stream_init(f->s, f->plan);
    f->s->spoils = 1;
    inputs_push(f); /* something of another sequence first */
    runs_all(f);
    rill_stream_reset(f->s);
    for (uint32_t i = 0; i < f->plan->n_ports; i++)
        f->ports[i].pushed = f->ports[i].got = 0;
    for (bool left = true; left && rill_stream_fault(f->s, NULL) == RILL_OK;) {
        left =
            inputs_push(f) && !outputs_full(f); /* a stream that gives too much is not waited for */
        runs_all(f);
        if (below(f, 5) == 0)
            TRY(block_move(f));
    }
    rill_stream_finish(f->s);
    runs_all(f);
    return RILL_OK;
}

/* A stream stops where there is no whole run, or the plan tells that there is none of such a
 * length; and nowhere else. */
static void fault_compare(struct feed *f)
{
    struct law_result *ret = f->l->ret;
    rill_error why = { RILL_OK, "" };
    const bool stops = rill_stream_fault(f->s, &why) != RILL_OK,
               told = dims_claim_broken(f->plan->model->dims, f->plan->symbol, f->l->o->length);
    if (stops == ret->faults || (ret->faults && told))
        return;
    ret->holds = ret->same_bits = false;
    if (stops)
        snprintf(ret->where, sizeof ret->where, "the stream stops %.400s", why.text);
    else
        snprintf(ret->where, sizeof ret->where, "the stream does not stop, the whole run does");
}

static void reference_compare(struct feed *f, uint32_t i, int64_t frames, float *turned)
{
    const struct port *q = &f->plan->ports[i];
    const float *got = (const float *) (const void *) f->ports[i].frames;
    double most = f->l->ret->from_reference;
    tensor_to_frames(q, frames, f->l->o->reference[i - f->plan->n_inputs], turned);
    for (size_t k = 0; k < (size_t) frames * port_width(q); k++) {
        double apart = fabs((double) got[k] - (double) turned[k]);
        most = apart > most || isnan(apart) ? (isnan(apart) ? INFINITY : apart) : most;
    }
    f->l->ret->from_reference = most;
}

/* Compares n numbers of a type; ret_largest: the largest magnitude of the whole run. */
static void numbers_compare(const struct tensor *type, const void *got, const void *want, size_t n,
                            struct law_output *ret, double *ret_largest)
{
    const size_t each = dtype_bytes(type->type);
    *ret_largest = 0;
    for (size_t k = 0; k < n; k++) {
        double a = tensor_get_f64(type, got, (int64_t) k),
               b = tensor_get_f64(type, want, (int64_t) k);
        if (isfinite(b) && fabs(b) > *ret_largest)
            *ret_largest = fabs(b);
        bool same = dtype_is_float(type->type)
            ? a == b || (isnan(a) && isnan(b))
            : !memcmp((const char *) got + k * each, (const char *) want + k * each, each);
        if (same)
            continue;
        double apart = isnan(a) || isnan(b) ? (double) INFINITY : fabs(a - b);
        ret->same_bits = false;
        ret->most = apart > ret->most ? apart : ret->most;
    }
}

static rill_status output_compare(struct feed *f, uint32_t i)
{
    struct law_result *ret = f->l->ret;
    const struct port *q = &f->plan->ports[i];
    const struct tensor *want = output_whole(f, i);
    int64_t frames = frames_of(f, i, want);
    struct law_output own, *out = f->l->o->outputs ? &f->l->o->outputs[ret->n_outputs] : &own;
    ret->n_outputs++;
    *out =
        (struct law_output) { .name = f->l->t->wires[f->l->t->outputs[i - f->plan->n_inputs]].name,
                              .same_bits = true };
    double largest;
    if (!q->length && !f->s->n_runs)
        return RILL_OK; /* nor does the stream give what comes with each run */
    if (f->ports[i].changed) {
        ret->holds = out->same_bits = ret->same_bits = false;
        snprintf(ret->where, sizeof ret->where,
                 "output '%s' does not run along time, and differs from run to run", out->name);
        return RILL_OK;
    }
    if (f->ports[i].got != frames) {
        ret->holds = out->same_bits = ret->same_bits = false;
        snprintf(ret->where, sizeof ret->where, "output '%s' gives %lld frames, the whole run %lld",
                 out->name, (long long) f->ports[i].got, (long long) frames);
        return RILL_OK;
    }
    void *turned = calloc((size_t) frames * port_width(q) + 1, q->info.element_bytes);
    if (!turned)
        return err_set(f->l->err, RILL_NOMEM, "out of memory");
    if (frames)
        tensor_to_frames(q, frames, want->data, turned);
    const struct tensor type = {
        .type = f->l->t->wires[f->l->t->outputs[i - f->plan->n_inputs]].fact.type
    };
    numbers_compare(&type, f->ports[i].frames, turned, (size_t) frames * port_width(q), out,
                    &largest);
    if (f->l->o->reference && q->info.type == RILL_TYPE_F32)
        reference_compare(f, i, frames, turned);
    free(turned);
    ret->same_bits &= out->same_bits;
    ret->most = out->most > ret->most ? out->most : ret->most;
    if (out->most > f->l->o->tolerance * largest && ret->holds) {
        ret->holds = false;
        snprintf(ret->where, sizeof ret->where, "output '%s' of the stream differs by %g",
                 out->name, out->most);
    }
    return RILL_OK;
}

rill_status law_plan(const struct law *l, rill_plan **ret)
{
    const rill_plan_opts opts = { .struct_bytes = sizeof opts,
                                  .pulse_frames = (uint32_t) l->o->pulse };
    return (l->o->slow_loops ? slow_plan_new : rill_plan_new)(ret, l->m, &opts, l->err);
}

rill_status law_stream(struct law *l)
{
    struct feed f = { .l = l };
    rill_status s = law_plan(l, &f.plan);
    if (s == RILL_OK)
        s = ports_prepare(&f);
    if (s == RILL_OK)
        s = stream_run(&f);
    if (s == RILL_OK)
        fault_compare(&f);
    bool ends = s != RILL_OK || !l->ret->holds || l->ret->faults;
    for (uint32_t i = f.plan ? f.plan->n_inputs : 0; !ends && s == RILL_OK && i < f.plan->n_ports;
         i++)
        s = output_compare(&f, i);
    for (uint32_t i = 0; f.ports && i < f.plan->n_ports; i++)
        free(f.ports[i].frames);
    free(f.ports);
    free(f.s);
    rill_plan_unref(f.plan);
    return s;
}
