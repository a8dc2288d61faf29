/* SPDX-License-Identifier: MIT */
#include "check/law.h"
#include "engine/typing/interp.h"
#include "engine/graph/subst.h"
#include "check/law_internal.h"
#include "lib/elements.h"
#include "lib/plan_internal.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- the whole run ---- */

static uint32_t law_random(uint32_t *seed)
{
    *seed = *seed * 1664525u + 1013904223u;
    return *seed >> 8;
}

static rill_status no_memory(const struct law *l)
{
    return err_set(l->err, RILL_NOMEM, "out of memory");
}

/* The shape of a fact at the checked length; false where a size is not known or below 0. */
static bool shape_at(const struct law *l, const struct fact *f, struct tensor *ret)
{
    *ret = (struct tensor) { .type = f->type, .rank = f->rank };
    for (int i = 0; i < f->rank; i++)
        if (!dim_eval(f->shape[i], l->pg.symbol, l->o->length, &ret->dim[i]) || ret->dim[i] < 0)
            return false;
    return f->rank >= 0;
}

/* Floats from -1 to 1; bytes and numbers of 16 bits are any, wider ones 0 or 1, as indices and
 * lengths are in any table, and 1 beside the stream. */
static double number_make(struct law *l, enum dtype t, bool streams)
{
    uint32_t r = law_random(&l->seed);
    if (dtype_is_float(t))
        return (double) r / (1 << 23) - 1;
    if (!streams)
        return 1;
    bool any = dtype_is_int(t) && dtype_bytes(t) < 4;
    return any ? (double) (r & 0xffff) + dtype_least(t) : (double) (r >> 10 & 1);
}

static const struct tensor *input_make(struct law *l, uint32_t i, const struct tensor *shape)
{
    struct tensor *t = tensor_new(l->arena, shape->type, shape->rank, shape->dim);
    int64_t n = t ? tensor_count(t) : 0;
    bool given = t && i == 0 && l->o->samples && t->type == DTYPE_F32 && n == l->o->length;
    for (int64_t k = 0; k < n; k++)
        tensor_set_f64(t, t->data, k,
                       given ? l->o->samples[k]
                             : number_make(l, t->type, l->pg.inputs[i].axis >= 0));
    return t;
}

static rill_status inputs_make(struct law *l)
{
    l->in = arena_array(l->arena, const struct tensor *, l->t->n_inputs + 1);
    if (!l->in)
        return no_memory(l);
    for (uint32_t i = 0; i < l->t->n_inputs; i++) {
        struct tensor shape;
        const struct wire *w = &l->t->wires[l->t->inputs[i]];
        if (!shape_at(l, &w->fact, &shape))
            return err_set(l->err, RILL_UNSUPPORTED, "input '%s' has no size for a length of %lld",
                           w->name, (long long) l->o->length);
        if (!(l->in[i] = input_make(l, i, &shape)))
            return no_memory(l);
    }
    return RILL_OK;
}

/* Wires of the decluttered graph that have a counterpart worth comparing. */
static bool wire_compared(const struct law *l, uint32_t w)
{
    const struct pulsed_wire *t = &l->pg.trace[w];
    enum dtype type = l->t->wires[w].fact.type;
    return t->wire != WIRE_NONE && t->fact.axis >= 0 && t->fact.keys == 0 && element_of(type) &&
        l->t->wires[w].node != WIRE_NONE;
}

static rill_status wires_choose(struct law *l)
{
    l->wire = arena_array(l->arena, uint32_t, l->t->n_wires + 1);
    if (!l->wire)
        return no_memory(l);
    for (uint32_t w = 0; w < l->t->n_wires; w++)
        if (wire_compared(l, w))
            l->wire[l->n_wires++] = w;
    return RILL_OK;
}

/* Sizes that do not fit each other at this length are found here: putting it in the place of the
 * symbol would spoil the model's scope of dimensions. */
static rill_status sizes_check(const struct law *l, const struct graph *g)
{
    int64_t n;
    for (uint32_t w = 0; w < g->n_wires; w++)
        for (int i = 0; i < g->wires[w].fact.rank; i++)
            if (dim_mentions(g->wires[w].fact.shape[i], l->pg.symbol) &&
                !dim_eval(g->wires[w].fact.shape[i], l->pg.symbol, l->o->length, &n))
                return err_set(l->err, RILL_UNSUPPORTED, "'%s' has no size for a length of %lld",
                               g->wires[w].name, (long long) l->o->length);
    for (uint32_t i = 0; i < g->n_nodes; i++)
        for (unsigned b = 0; b < g->nodes[i].n_body; b++)
            TRY(sizes_check(l, g->nodes[i].body[b]));
    return RILL_OK;
}

static rill_status whole_run(struct law *l)
{
    struct graph g;
    TRY(sizes_check(l, l->t));
    TRY(graph_substituted(&g, l->t, l->pg.symbol, dim_int(l->t->dims, l->o->length), l->arena,
                          l->err));
    uint32_t n_out = l->t->n_outputs,
             *outputs = arena_array(l->arena, uint32_t, l->n_wires + n_out + 1);
    l->whole = arena_array(l->arena, const struct tensor *, l->n_wires + n_out + 1);
    if (!outputs || !l->whole)
        return no_memory(l);
    memcpy(outputs, l->wire, l->n_wires * sizeof *outputs);
    memcpy(outputs + l->n_wires, l->t->outputs, n_out * sizeof *outputs);
    g.outputs = outputs;
    g.n_outputs = l->n_wires + n_out;
    return interp_run(&g, l->in, l->arena, l->whole, l->err);
}

/* ---- pulse by pulse ---- */

struct axis_view {
    size_t outer, inner_bytes;
    int64_t frames;
};

static struct axis_view view_of(const struct tensor *t, int axis)
{
    struct axis_view v = { 1, dtype_bytes(t->type), t->dim[axis] };
    for (int i = 0; i < t->rank; i++) {
        v.outer *= i < axis ? (size_t) t->dim[i] : 1;
        v.inner_bytes *= i > axis ? (size_t) t->dim[i] : 1;
    }
    return v;
}

/* The frames of run r of input i; what nothing may depend on where the sequence has ended. */
static const struct tensor *input_pulse(struct law *l, uint32_t i, int64_t r, struct arena *a)
{
    const struct stream_fact *s = &l->pg.inputs[i];
    struct tensor shape;
    if (s->axis < 0)
        return l->in[i];
    if (!fact_to_tensor(&l->pg.g.wires[l->pg.g.inputs[i]].fact, &shape))
        return NULL;
    struct tensor *t = tensor_new(a, shape.type, shape.rank, shape.dim);
    if (!t)
        return NULL;
    struct axis_view to = view_of(t, s->axis), from = view_of(l->in[i], s->axis);
    const struct element *e = element_of(t->type);
    if (e)
        elements_spoil(t->data, e->type, (size_t) tensor_count(t));
    for (size_t o = 0; o < to.outer; o++)
        for (int64_t q = 0, k = r * s->pulse - s->delay; q < s->pulse && k < from.frames; q++, k++)
            if (k >= 0)
                memcpy((char *) t->data + (o * (size_t) s->pulse + (size_t) q) * to.inner_bytes,
                       (const char *) l->in[i]->data +
                           (o * (size_t) from.frames + (size_t) k) * from.inner_bytes,
                       to.inner_bytes);
    return t;
}

static struct tensor *clock_make(struct law *l, int64_t r, struct arena *a)
{
    struct tensor *t = tensor_new(a, DTYPE_I64, 1, &(int64_t) { CLOCK_SIZE });
    int64_t *clock = t ? t->data : NULL;
    bool ended = (r + 1) * l->pg.pulse - l->pg.lead_in > l->o->length;
    for (uint32_t i = 0; clock && i < l->pg.n_lengths; i++) {
        clock[1 + i] = CLOCK_OPEN;
        if (ended && !dim_eval(l->pg.lengths[i], l->pg.symbol, l->o->length, &clock[1 + i]))
            clock[1 + i] = 0;
    }
    if (clock)
        clock[0] = r;
    return t;
}

/* The pulsed graph with its states as inputs and outputs, and the compared wires as further
 * outputs. */
static rill_status pulsed_open(struct law *l, struct graph *g)
{
    const struct graph *p = &l->pg.g;
    *g = *p;
    g->n_inputs = p->n_inputs + p->n_states;
    g->n_outputs = l->n_wires + p->n_states;
    g->n_states = 0;
    g->inputs = arena_array(l->arena, uint32_t, g->n_inputs + 1);
    g->outputs = arena_array(l->arena, uint32_t, g->n_outputs + 1);
    if (!g->inputs || !g->outputs)
        return no_memory(l);
    memcpy(g->inputs, p->inputs, p->n_inputs * sizeof *g->inputs);
    for (uint32_t i = 0; i < l->n_wires; i++)
        g->outputs[i] = l->pg.trace[l->wire[i]].wire;
    for (uint32_t i = 0; i < p->n_states; i++) {
        g->inputs[p->n_inputs + i] = p->states[i].in;
        g->outputs[l->n_wires + i] = p->states[i].out;
    }
    return RILL_OK;
}

static rill_status states_begin(struct law *l, const struct tensor **state)
{
    const struct graph *p = &l->pg.g;
    for (uint32_t i = 0; i < p->n_states; i++) {
        struct tensor shape;
        state[i] = p->states[i].init;
        if (!state[i] && fact_to_tensor(&p->wires[p->states[i].in].fact, &shape))
            state[i] = tensor_new(l->arena, shape.type, shape.rank, shape.dim);
        if (!state[i])
            return no_memory(l);
    }
    return RILL_OK;
}

static bool close_enough(double a, double b, double allowed)
{
    return (isnan(a) && isnan(b)) || a == b || fabs(a - b) <= allowed;
}

static double wire_most(const struct tensor *t)
{
    double most = 0;
    for (int64_t i = 0; i < tensor_count(t); i++) {
        double v = fabs(tensor_get_f64(t, t->data, i));
        most = isfinite(v) && v > most ? v : most;
    }
    return most;
}

static void broken_at(struct law *l, uint32_t k, int64_t frame, double got, double want)
{
    uint32_t w = l->wire[k];
    const struct node *n = &l->t->nodes[l->t->wires[w].node];
    l->first = k;
    l->ret->holds = false;
    snprintf(l->ret->where, sizeof l->ret->where,
             "node '%s' (%s), wire '%s': frame %lld is %.9g, the whole run gives %.9g", n->name,
             n->op->name, l->t->wires[w].name, (long long) frame, got, want);
}

/* Compares run r of wire k; remembers the first wire in graph order that differs. */
static void wire_compare(struct law *l, uint32_t k, int64_t r, const struct tensor *got)
{
    const struct stream_fact *s = &l->pg.trace[l->wire[k]].fact;
    const struct tensor *want = l->whole[k];
    int axis = l->axis[k];
    struct axis_view a = view_of(got, s->axis), b = view_of(want, axis);
    size_t each = a.inner_bytes / dtype_bytes(got->type);
    for (int64_t q = 0; q < s->pulse && k < l->first; q++) {
        int64_t frame = r * s->pulse + q - s->delay;
        if (frame < 0 || frame >= b.frames)
            continue;
        for (size_t i = 0; i < a.outer * each; i++) {
            size_t o = i / each, e = i % each;
            double x = tensor_get_f64(got, got->data,
                                      (int64_t) ((o * (size_t) s->pulse + (size_t) q) * each + e));
            double y =
                tensor_get_f64(want, want->data,
                               (int64_t) ((o * (size_t) b.frames + (size_t) frame) * each + e));
            if (!close_enough(x, y, l->allowed[k])) {
                broken_at(l, k, frame, x, y);
                return;
            }
        }
    }
}

/* Runs until every compared wire has given all its frames. */
static int64_t runs_needed(const struct law *l)
{
    int64_t most = 0;
    for (uint32_t k = 0; k < l->n_wires; k++) {
        const struct stream_fact *s = &l->pg.trace[l->wire[k]].fact;
        int64_t n = (l->whole[k]->dim[l->axis[k]] + s->delay + s->pulse - 1) / s->pulse;
        most = n > most ? n : most;
    }
    return most;
}

static rill_status nodes_begin(struct law *l)
{
    l->axis = arena_array(l->arena, int, l->n_wires + 1);
    l->allowed = arena_array(l->arena, double, l->n_wires + 1);
    if (!l->axis || !l->allowed)
        return no_memory(l);
    for (uint32_t k = 0; k < l->n_wires; k++) {
        l->axis[k] = l->pg.trace[l->wire[k]].fact.axis;
        l->allowed[k] = l->o->tolerance > 0 ? l->o->tolerance * wire_most(l->whole[k]) : 0;
    }
    l->first = l->n_wires;
    return RILL_OK;
}

static rill_status nodes_run(struct law *l)
{
    struct graph g;
    const struct graph *p = &l->pg.g;
    TRY(nodes_begin(l));
    TRY(pulsed_open(l, &g));
    const struct tensor **in = arena_array(l->arena, const struct tensor *, g.n_inputs + 1);
    const struct tensor **out = arena_array(l->arena, const struct tensor *, g.n_outputs + 1);
    if (!in || !out)
        return no_memory(l);
    TRY(states_begin(l, in + p->n_inputs));
    struct arena old = { 0 };
    rill_status s = RILL_OK;
    for (int64_t r = 0, n = runs_needed(l); r < n && s == RILL_OK; r++) {
        struct arena now = { 0 };
        for (uint32_t i = 0; i < p->n_inputs; i++)
            if (!(in[i] = l->pg.has_clock && i + 1 == p->n_inputs ? clock_make(l, r, &now)
                                                                  : input_pulse(l, i, r, &now)))
                s = no_memory(l);
        s = s == RILL_OK ? interp_run(&g, in, &now, out, l->err) : s;
        for (uint32_t k = 0; s == RILL_OK && k < l->n_wires; k++)
            wire_compare(l, k, r, out[k]);
        for (uint32_t i = 0; s == RILL_OK && i < p->n_states; i++)
            in[p->n_inputs + i] = out[l->n_wires + i];
        arena_drop(&old);
        old = now;
    }
    arena_drop(&old);
    return s;
}

/* Where no output has a frame, a length without a whole run is one of which the stream gives
 * nothing, and no node owes one. */
static bool gives_nothing(const struct law *l)
{
    int64_t frames;
    for (uint32_t i = 0; i < l->t->n_outputs; i++) {
        const struct stream_fact *s = &l->pg.outputs[i];
        if (s->axis < 0 || (dim_eval(s->length, l->pg.symbol, l->o->length, &frames) && frames > 0))
            return false;
    }
    return true;
}

static rill_status law_run(struct law *l)
{
    TRY(wires_choose(l));
    TRY(inputs_make(l));
    rill_status s = whole_run(l);
    const bool nothing = gives_nothing(l);
    l->ret->faults = s == RILL_INVALID;
    l->ret->no_whole = l->ret->faults || (s != RILL_OK && s != RILL_NOMEM && nothing);
    if (s != RILL_OK && !l->ret->no_whole)
        return s;
    l->ret->n_wires = l->ret->no_whole || nothing ? 0 : l->n_wires;
    if (l->ret->n_wires)
        TRY(nodes_run(l));
    return l->ret->holds ? law_stream(l) : RILL_OK;
}

/* A pulse that no stream can have is not interpreted either. */
static rill_status pulse_fits(const struct law *l, int64_t *ret_lead_in)
{
    rill_plan *p = NULL;
    rill_status s = law_plan(l, &p);
    if (s == RILL_OK && p->pgraph.pulse == l->pg.pulse)
        *ret_lead_in = p->pgraph.lead_in;
    rill_plan_unref(p);
    return s;
}

/* Node by node as the plan is cut: its first pulse may be shorter. */
static rill_status law_cut(struct law *l)
{
    const struct dgraph *t = &l->m->decluttered;
    struct pulse_opts opts = { 0 };
    TRY(pgraph_from_dgraph(&l->pg, t, l->m->stream, l->o->pulse, NULL, l->arena, l->err));
    l->ret->pulse = l->pg.pulse;
    TRY(pulse_fits(l, &opts.lead_in));
    if (opts.lead_in)
        TRY(pgraph_from_dgraph(&l->pg, t, l->m->stream, l->pg.pulse, &opts, l->arena, l->err));
    if (l->o->spoil)
        l->o->spoil(&l->pg, l->o->spoil_arg);
    return RILL_OK;
}

rill_status law_check(const rill_model *m, const struct law_opts *o, struct law_result *ret,
                      rill_error *reterr)
{
    struct arena a = { 0 };
    struct law l = { .o = o,
                     .m = m,
                     .t = &m->decluttered.g,
                     .arena = &a,
                     .ret = ret,
                     .seed = o->seed,
                     .err = reterr };
    *ret = (struct law_result) { .holds = true, .same_bits = true };
    if (!m->stream)
        return pgraph_no_time(&m->decluttered, reterr);
    rill_status s = law_cut(&l);
    if (s == RILL_OK)
        s = law_run(&l);
    arena_drop(&a);
    return s;
}
