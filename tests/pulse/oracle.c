/* SPDX-License-Identifier: MIT */
#include "tests/pulse/oracle.h"
#include "check/lower_bound.h"
#include "engine/base/dim_claims.h"
#include "lib/pipeline.h"
#include "engine/rewrite/declutter/passes.h"
#include "engine/rewrite/pass.h"
#include "engine/typing/interp.h"
#include "engine/typing/outputs.h"
#include "engine/typing/typed.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PORTS_MAX 64 /* of what the recipes make */

unsigned oracle_passed, oracle_failed;
uint64_t oracle_digest;

void oracle_check(bool ok, const char *fmt, ...)
{
    va_list ap;
    ok ? oracle_passed++ : oracle_failed++;
    if (ok)
        return;
    va_start(ap, fmt);
    printf("FAILED ");
    vprintf(fmt, ap);
    printf("\n");
    va_end(ap);
}

int64_t oracle_needless(gb_recipe *recipe, const void *ctx, const char *assertion, int64_t pulse)
{
    struct oracle o = { .seed = 1 };
    int64_t least[64], y = -1;
    rill_error err = { .text = "" };
    if (oracle_open(&o, recipe, ctx, assertion) == LAW_HOLDS &&
        oracle_pulse(&o, pulse) == LAW_HOLDS &&
        delay_bounds(&o.plan->pgraph, &o.model->decluttered.g, least, &err) == RILL_OK &&
        least[0] >= 0)
        y = o.plan->pgraph.outputs[0].delay - least[0];
    oracle_close(&o);
    return y;
}

int oracle_end(void)
{
    printf("%u passed, %u failed\n", oracle_passed, oracle_failed);
    return oracle_failed != 0;
}

/* ---- making model and plan ---- */

enum verdict oracle_open(struct oracle *o, gb_recipe *recipe, const void *ctx,
                         const char *assertion)
{
    struct gb b;
    *o = (struct oracle) { .recipe = recipe, .ctx = ctx, .seed = 1, .model = model_new() };
    rill_model *m = o->model;
    m->stages = &model_unfinished;
    m->stream = dim_symbol(m->dims, "S");
    if (dims_assert(m->dims, assertion ? assertion : "S>=0", &o->err) != RILL_OK)
        return LAW_REFUSED;
    gb_init(&b, &m->mgraph.g, &m->arena, m->dims, m->stream, o->seed);
    recipe(&b, ctx);
    o->err = b.err;
    if (b.err.status != RILL_OK ||
        tgraph_from_mgraph(&m->typed, &m->mgraph, NULL, &o->err) != RILL_OK)
        return LAW_REFUSED;
    /* as it was written, but for nodes that do nothing, and layers over windows that slide */
    static const struct pass passes[] = { { "peepholes", true, graph_with_peepholes },
                                          { "slide", true, graph_with_windows_slid } };
    return passes_run(passes, 2, &m->decluttered.g, &m->typed.g, NULL, &o->err) == RILL_OK &&
            graph_outputs_own(&m->decluttered.g, &m->typed.g, &o->err) == RILL_OK
        ? LAW_HOLDS
        : LAW_REFUSED;
}

enum verdict oracle_pulse(struct oracle *o, int64_t pulse)
{
    const rill_plan_opts opts = { .struct_bytes = sizeof opts, .pulse_frames = (uint32_t) pulse };
    o->plan = rill_plan_unref(o->plan);
    return rill_plan_new(&o->plan, o->model, &opts, &o->err) == RILL_OK ? LAW_HOLDS : LAW_REFUSED;
}

void oracle_close(struct oracle *o)
{
    o->plan = rill_plan_unref(o->plan);
    o->model = rill_model_free(o->model);
}

/* ---- the whole sequence ---- */

struct whole {
    struct arena arena;
    struct dims *dims;
    struct mgraph m;
    struct tgraph t;
    const struct tensor *in[PORTS_MAX], *out[PORTS_MAX];
};

static void whole_inputs(const struct oracle *o, struct whole *w, uint32_t seed)
{
    for (uint32_t i = 0; i < w->t.g.n_inputs; i++) {
        struct tensor shape = { 0 };
        fact_to_tensor(&w->t.g.wires[w->t.g.inputs[i]].fact, &shape);
        struct tensor *t = tensor_new(&w->arena, DTYPE_F32, shape.rank, shape.dim);
        for (int64_t k = 0; k < tensor_count(t); k++)
            ((float *) t->data)[k] = 2 * gb_random_f32(&seed);
        if (o->nan_first && tensor_count(t))
            ((float *) t->data)[0] = NAN;
        w->in[i] = t;
    }
}

static rill_status whole_run(struct oracle *o, struct whole *w, int64_t length, uint32_t seed)
{
    struct gb b;
    gb_init(&b, &w->m.g, &w->arena, w->dims, dim_int(w->dims, length), o->seed);
    o->recipe(&b, o->ctx);
    if (b.err.status != RILL_OK) {
        o->err = b.err;
        return b.err.status;
    }
    TRY(tgraph_from_mgraph(&w->t, &w->m, NULL, &o->err));
    whole_inputs(o, w, seed);
    if (o->pass)
        TRY(passes_run(o->pass, 1, &w->t.g, &w->t.g, NULL, &o->err));
    return interp_run(&w->t.g, w->in, &w->arena, w->out, &o->err);
}

/* ---- the stream ---- */

struct run {
    const struct oracle *o;
    const struct whole *w;
    rill_stream *s;
    uint32_t seed;
    int64_t pushed[PORTS_MAX], got[PORTS_MAX], room[PORTS_MAX];
    int64_t early[PORTS_MAX];              /* of those got, before the length was told */
    float *in[PORTS_MAX], *out[PORTS_MAX]; /* frame after frame */
};

static uint32_t below(struct run *r, uint32_t n)
{
    return gb_random(&r->seed) % n;
}

static void *block_new(const struct oracle *o)
{
    size_t bytes = (rill_plan_stream_size(o->plan) + 63) & ~(size_t) 63;
    void *mem = aligned_alloc(64, bytes);
    if (!mem)
        abort();
    memset(mem, 0xff, bytes);
    return mem;
}

/* Tensor [outer, frames, inner] as frames of outer x inner, or back. */
static void frames_turn(const struct port *q, int64_t frames, const float *from, float *to,
                        bool back)
{
    for (size_t o = 0; o < q->outer; o++)
        for (int64_t f = 0; f < frames; f++) {
            size_t tensor_at = (o * (size_t) frames + (size_t) f) * q->inner;
            size_t frame_at = ((size_t) f * q->outer + o) * q->inner;
            memcpy(to + (back ? tensor_at : frame_at), from + (back ? frame_at : tensor_at),
                   q->inner * sizeof *to);
        }
}

static int64_t port_frames(const struct port *q, const struct tensor *t)
{
    size_t width = q->outer * q->inner;
    return width ? tensor_count(t) / (int64_t) width : 0;
}

/* Runs that the input is good for. */
static int64_t run_count(const struct run *r)
{
    const rill_plan *p = r->o->plan;
    int64_t most = 0;
    for (uint32_t i = 0; i < p->n_inputs; i++) {
        int64_t n = port_frames(&p->ports[i], r->w->in[i]) / p->ports[i].pulse;
        most = n > most ? n : most;
    }
    return most;
}

static void run_prepare(struct run *r)
{
    const rill_plan *p = r->o->plan;
    const int64_t runs = run_count(r);
    for (uint32_t i = 0; i < p->n_ports; i++) {
        const struct port *q = &p->ports[i];
        bool input = i < p->n_inputs;
        const struct tensor *t = input ? r->w->in[i] : r->w->out[i - p->n_inputs];
        r->room[i] = (t ? port_frames(q, t) : runs * q->pulse) + (input ? 0 : 4 * q->pulse + 64);
        float *mem = calloc((size_t) r->room[i] * q->outer * q->inner + 1, sizeof *mem);
        *(input ? &r->in[i] : &r->out[i]) = mem;
        if (input)
            frames_turn(q, r->room[i], t->data, mem, false);
    }
}

static void run_drop(struct run *r)
{
    for (uint32_t i = 0; i < PORTS_MAX; i++) {
        free(r->in[i]);
        free(r->out[i]);
    }
    free(r->s);
}

static void pull_all(struct run *r)
{
    const rill_plan *p = r->o->plan;
    for (uint32_t i = p->n_inputs; i < p->n_ports; i++)
        for (size_t given = 1; given && r->got[i] < r->room[i]; r->got[i] += (int64_t) given) {
            size_t cap = (size_t) (r->room[i] - r->got[i]), some = 1 + below(r, 7);
            float *to = r->out[i] + (size_t) r->got[i] * p->ports[i].outer * p->ports[i].inner;
            if (rill_stream_pull(r->s, i, to, below(r, 2) || some > cap ? cap : some, &given) !=
                RILL_OK)
                given = 0;
        }
}

/* Other data first, not finite now and then, and back to the start. */
static void spoil(struct run *r)
{
    const rill_plan *p = r->o->plan;
    for (unsigned k = 0; k < 3; k++) {
        for (uint32_t i = 0; i < p->n_inputs; i++) {
            size_t n = (size_t) p->ports[i].pulse * p->ports[i].outer * p->ports[i].inner, taken;
            float *x = calloc(n + 1, sizeof *x);
            for (size_t j = 0; j < n; j++)
                x[j] = below(r, 8) ? 3.0f : NAN;
            rill_stream_push(r->s, i, x, (size_t) p->ports[i].pulse, &taken);
            free(x);
        }
        rill_stream_run(r->s);
        pull_all(r);
    }
    memset(r->got, 0, sizeof r->got);
    rill_stream_reset(r->s);
}

static void snapshot(struct run *r)
{
    size_t bytes = rill_plan_stream_size(r->o->plan);
    rill_stream *copy = block_new(r->o);
    memcpy((void *) copy, (const void *) r->s, bytes);
    memset((void *) r->s, 0xff, bytes);
    free(r->s);
    r->s = copy;
}

static bool push_some(struct run *r)
{
    const rill_plan *p = r->o->plan;
    bool left = false;
    for (uint32_t i = 0; i < p->n_inputs; i++) {
        const struct port *q = &p->ports[i];
        size_t rest = (size_t) (r->room[i] - r->pushed[i]),
               n = 1 + below(r, 2 * (uint32_t) q->pulse + 1), taken = 0;
        n = n > rest ? rest : n;
        if (n &&
            rill_stream_push(r->s, i, r->in[i] + (size_t) r->pushed[i] * q->outer * q->inner, n,
                             &taken))
            return false;
        r->pushed[i] += (int64_t) taken;
        left |= r->pushed[i] < r->room[i];
    }
    return left;
}

static bool runs_out(struct run *r, int64_t budget)
{
    while (rill_stream_run(r->s) == RILL_OK && budget-- > 0)
        pull_all(r);
    pull_all(r);
    return budget > 0;
}

static rill_status run_stream(struct run *r, rill_error *err)
{
    const rill_plan *p = r->o->plan;
    int64_t most = 64;
    for (uint32_t i = 0; i < p->n_ports; i++)
        most += r->room[i] / (p->ports[i].pulse ? p->ports[i].pulse : 1) + p->ports[i].delay;
    r->s = rill_stream_init(block_new(r->o), p);
    r->s->spoils = 1;
    if (below(r, 4) == 0)
        spoil(r);
    uint32_t snap = below(r, 6);
    int64_t pushes = most;
    for (uint32_t i = 0; i < p->n_inputs; i++)
        pushes += 4 * r->room[i];
    for (bool left = true; left; snap--) {
        left = push_some(r);
        if (pushes-- < 0)
            return err_set(err, RILL_INTERNAL, "the stream takes no more input");
        if ((left || below(r, 4)) && !runs_out(r, most))
            return err_set(err, RILL_INTERNAL, "the stream runs without input");
        if (snap == 0)
            snapshot(r);
    }
    memcpy(r->early, r->got, sizeof r->early);
    rill_stream_finish(r->s);
    return runs_out(r, most) ? RILL_OK : err_set(err, RILL_INTERNAL, "the stream does not end");
}

/* ---- comparing ---- */

/* b is the whole run's. Hidden scores that data make infinite are NaN times a mask there, as
 * attention.md says. */
static bool same(const struct oracle *o, float a, float b)
{
    return (isnan(b) && (isnan(a) || o->zeros_agree)) || !memcmp(&a, &b, sizeof a) ||
        (o->zeros_agree && a == b) || (o->tolerance > 0 && fabsf(a - b) <= o->tolerance);
}

static void digest_add(const float *v, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        uint32_t bits;
        memcpy(&bits, &v[i], sizeof bits);
        bits = isnan(v[i]) ? 0x7fc00000 : bits & 0x7f800000 ? bits : bits & 0x80000000;
        oracle_digest = (oracle_digest ^ bits) * 0x100000001b3; /* FNV-1a, a word at a time */
    }
}

static enum verdict port_compare(struct run *r, uint32_t i, rill_error *err)
{
    const rill_plan *p = r->o->plan;
    const struct port *q = &p->ports[i];
    const struct tensor *want = r->w->out[i - p->n_inputs];
    int64_t frames = port_frames(q, want);
    size_t width = q->outer * q->inner;
    if (r->got[i] != frames)
        return err_set(err, RILL_INTERNAL, "output '%s' gives %lld frames, the whole run %lld",
                       q->info.name, (long long) r->got[i], (long long) frames),
               LAW_BROKEN;
    float *turned = calloc((size_t) frames * width + 1, sizeof *turned);
    frames_turn(q, frames, want->data, turned, false);
    size_t k = 0, n = (size_t) frames * width;
    while (k < n && same(r->o, r->out[i][k], turned[k]))
        k++;
    if (k < n)
        err_set(
            err, RILL_INTERNAL,
            "output '%s' of %lld frames differs in frame %zu, place %zu: %.9g, the whole run %.9g",
            q->info.name, (long long) frames, k / width, k % width, r->out[i][k], turned[k]);
    free(turned);
    digest_add(r->out[i], n);
    return k < n ? LAW_BROKEN : LAW_HOLDS;
}

static enum verdict law_run(struct oracle *o, const struct whole *w, uint32_t cuts)
{
    struct run r = { .o = o, .w = w, .seed = cuts };
    enum verdict v = LAW_HOLDS;
    run_prepare(&r);
    if (run_stream(&r, &o->err) != RILL_OK)
        v = LAW_BROKEN;
    for (uint32_t i = o->plan->n_inputs; v == LAW_HOLDS && i < o->plan->n_ports; i++)
        v = port_compare(&r, i, &o->err);
    run_drop(&r);
    return v;
}

/* Input for a sequence of which there is no whole run, or of whose length no stream is. */
static void lone_inputs(const struct oracle *o, struct whole *w, int64_t length, uint32_t seed)
{
    for (uint32_t i = 0; i < o->plan->n_inputs; i++) {
        const struct port *q = &o->plan->ports[i];
        int64_t frames = 1;
        if (q->length && !dim_eval(q->length, o->plan->symbol, length, &frames))
            frames = 0;
        int64_t floats = frames * (int64_t) (q->outer * q->inner);
        struct tensor *t = tensor_new(&w->arena, DTYPE_F32, 1, &floats);
        for (int64_t k = 0; k < floats; k++)
            ((float *) t->data)[k] = 2 * gb_random_f32(&seed);
        w->in[i] = t;
    }
}

/* By what an op needs, or a stream that is to give what the whole run gives. */
static bool gives_nothing_more(const struct oracle *o, int64_t length)
{
    return dims_need_broken(o->model->dims, o->plan->symbol, length);
}

/* A stream too short for the graph ends like any other; once it knows, it gives no frame where
 * there are none. */
static enum verdict lone_run(struct oracle *o, struct whole *w, int64_t length, uint32_t cuts)
{
    struct run r = { .o = o, .w = w, .seed = cuts };
    rill_error why = o->err;
    enum verdict v = LAW_NO_WHOLE;
    lone_inputs(o, w, length, cuts);
    memset(w->out, 0, sizeof w->out);
    run_prepare(&r);
    if (run_stream(&r, &why) != RILL_OK)
        v = LAW_BROKEN;
    for (uint32_t i = o->plan->n_inputs; v == LAW_NO_WHOLE && i < o->plan->n_ports; i++) {
        const struct port *q = &o->plan->ports[i];
        int64_t frames;
        bool some = q->length && !gives_nothing_more(o, length) &&
            dim_eval(q->length, o->plan->symbol, length, &frames) && frames > 0;
        if (q->length && !some && r.got[i] > r.early[i]) {
            err_set(&why, RILL_INTERNAL, "output '%s' gives %lld frames where there are none",
                    q->info.name, (long long) r.got[i]);
            v = LAW_BROKEN;
        }
    }
    run_drop(&r);
    o->err = why;
    return v;
}

enum verdict oracle_law(struct oracle *o, int64_t length, uint32_t cuts)
{
    struct whole w = { .dims = dims_new() };
    enum verdict v;
    const char *broken =
        o->model->stream ? dims_claim_broken(o->model->dims, o->model->stream, length) : NULL;
    if (whole_run(o, &w, length, cuts * 7919 + 17) == RILL_OK && !broken)
        v = law_run(o, &w, cuts);
    else {
        v = lone_run(o, &w, length, cuts);
        if (v == LAW_NO_WHOLE && broken)
            err_set(&o->err, RILL_UNSUPPORTED, "no stream is of length %lld: it breaks '%s'",
                    (long long) length, broken);
    }
    arena_drop(&w.arena);
    dims_free(w.dims);
    return v;
}

/* ---- cases ---- */

unsigned oracle_laws(struct oracle *o, const char *name, const int64_t *pulses,
                     const int64_t *lengths)
{
    const float tolerance = o->tolerance;
    unsigned whole = 0;
    for (uint32_t i = 0; pulses[i] >= 0; i++) {
        enum verdict v = oracle_pulse(o, pulses[i]);
        o->tolerance = tolerance;
        oracle_check(v == LAW_HOLDS, "%s, pulse %d: %s", name, (int) pulses[i], o->err.text);
        for (uint32_t k = 0; v == LAW_HOLDS && lengths[k] >= 0; k++) {
            enum verdict law = oracle_law(o, lengths[k], i * 31 + k);
            whole += law == LAW_HOLDS;
            oracle_check(law == LAW_HOLDS || law == LAW_NO_WHOLE, "%s, pulse %d, length %d: %s",
                         name, (int) pulses[i], (int) lengths[k], o->err.text);
        }
    }
    return whole;
}

static void case_refused(struct oracle *o, const struct oracle_case *c, enum verdict v)
{
    oracle_check(v == LAW_REFUSED && o->err.status == RILL_UNSUPPORTED, "%s: it is not refused",
                 c->name);
    for (size_t i = 0; v == LAW_REFUSED && i < sizeof c->refusal / sizeof *c->refusal; i++)
        if (c->refusal[i])
            oracle_check(strstr(o->err.text, c->refusal[i]) != NULL,
                         "%s: the message does not say '%s': %s", c->name, c->refusal[i],
                         o->err.text);
}

static void case_streams(struct oracle *o, const struct oracle_case *c,
                         const struct oracle_trial *t)
{
    unsigned whole = 0;
    for (const int *pulse = t->pulses; *pulse >= 0; pulse++) {
        enum verdict v = oracle_pulse(o, *pulse);
        oracle_check(v == LAW_HOLDS, "%s, pulse %d: %s", c->name, *pulse, o->err.text);
        for (uint32_t k = 0; v == LAW_HOLDS && t->lengths[k] >= 0; k++)
            for (uint32_t cuts = 1; cuts <= t->cuts; cuts++) {
                enum verdict law = oracle_law(o, t->lengths[k], cuts + 100 * k);
                whole += law == LAW_HOLDS;
                oracle_check(law != LAW_BROKEN, "%s, pulse %d, length %d: %s", c->name, *pulse,
                             t->lengths[k], o->err.text);
            }
    }
    oracle_check(whole >= t->whole_least, "%s: the whole run is refused, but for %u times: %s",
                 c->name, whole, o->err.text);
}

void oracle_try(const struct oracle_case *c, const struct oracle_trial *t)
{
    struct oracle o;
    enum verdict v = oracle_open(&o, c->recipe, c->ctx, NULL);
    bool early = v == LAW_REFUSED && t->refused_early && c->refusal[0];
    oracle_check(v == LAW_HOLDS || early, "%s: %s", c->name, o.err.text);
    if (early)
        case_refused(&o, c, v);
    else if (v == LAW_HOLDS && c->refusal[0])
        case_refused(&o, c, oracle_pulse(&o, 4));
    else if (v == LAW_HOLDS)
        case_streams(&o, c, t);
    oracle_close(&o);
}
