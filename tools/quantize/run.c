/* SPDX-License-Identifier: MIT */
/* A model with given nets, run from beginning to end. */
#include "tools/quantize/watch.h"
#include "engine/base/err.h"
#include "engine/typing/typed.h"
#include "models/nnef/nnef.h"
#include "models/onnx/reader.h"
#include "tools/quantize/arrays.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define TEXT_BYTES_MAX ((uint64_t) 1 << 24)

/* ---- opening ---- */

/* The folder with nets in the place of those it has. */
static rill_status folder_with(struct arena *a, const struct folder *from,
                               const struct net_file *nets, unsigned n_nets, struct folder *ret,
                               rill_error *err)
{
    unsigned n = 0;
    while (from->built_in && from->built_in[n].name)
        n++;
    struct folder_file *list = arena_array(a, struct folder_file, n + n_nets + 1);
    if (!list)
        return err_set(err, RILL_NOMEM, "out of memory");
    for (unsigned i = 0; i < n_nets; i++)
        list[i] = (struct folder_file) { nets[i].name, nets[i].data, nets[i].n };
    for (unsigned i = 0; i < n; i++)
        list[n_nets + i] = from->built_in[i];
    *ret = *from;
    ret->built_in = list;
    return RILL_OK;
}

static rill_status pipeline_open(struct run *r, const struct source *s, const struct net_file *nets,
                                 unsigned n_nets, rill_error *err)
{
    struct folder folder;
    struct mgraph m;
    const uint8_t *text;
    struct nnef_source source = { .file = "graph.nnef", .folder = &folder };
    TRY(folder_with(&r->arena, s->folder, nets, n_nets, &folder, err));
    TRY(folder_read(&folder, source.file, &r->arena, TEXT_BYTES_MAX, &text, &source.n, err));
    source.text = (const char *) text;
    TRY(mgraph_from_nnef(&m, &r->arena, r->dims, &source, NULL, err));
    return tgraph_from_mgraph(&r->model, &m, NULL, err);
}

static const struct step_shape *shape_given(const struct step_decl *d, const char *name)
{
    for (unsigned i = 0; i < d->n_shapes; i++)
        if (!strcmp(d->shapes[i].name, name))
            return &d->shapes[i];
    return NULL;
}

static const struct step_const *const_given(const struct step_decl *d, const char *name)
{
    for (unsigned i = 0; i < d->n_consts; i++)
        if (!strcmp(d->consts[i].name, name))
            return &d->consts[i];
    return NULL;
}

/* Sizes that are left open are those of the input's array, or 1. */
static rill_status input_shape(struct run *r, const struct source *from, struct typed_input *in,
                               rill_error *err)
{
    const struct step_shape *s = shape_given(from->bare, in->name);
    struct fact *f = &in->fact;
    if (!s)
        arrays_shape(from->given, in->name, r->dims, f);
    if (f->rank < 0 && !s)
        return err_set(err, RILL_UNSUPPORTED,
                       "the shape of input '%.80s' is not declared; --shape gives it", in->name);
    if (s && f->rank >= 0 && f->rank != s->rank)
        return err_set(err, RILL_INVALID, "input '%.80s' has %d axes, %d were given", in->name,
                       f->rank, s->rank);
    for (int i = 0; s && i < s->rank; i++) {
        f->rank = s->rank;
        if (s->text[i])
            return err_set(err, RILL_INVALID,
                           "input '%.80s': size '%.40s' must be a number to be run", in->name,
                           s->text[i]);
        f->shape[i] = dim_int(r->dims, s->dim[i]);
    }
    for (int i = 0; i < f->rank; i++)
        if (!dim_is_const(f->shape[i]))
            f->shape[i] = dim_int(r->dims, 1);
    return RILL_OK;
}

static rill_status input_value(struct run *r, const struct step_decl *d, struct typed_input *in,
                               rill_error *err)
{
    const struct step_const *c = const_given(d, in->name);
    struct tensor shape;
    if (!c)
        return RILL_OK;
    struct tensor *t = fact_to_tensor(&in->fact, &shape)
        ? tensor_new(&r->arena, shape.type, shape.rank, shape.dim)
        : NULL;
    if (!t)
        return err_set(err, RILL_NOMEM, "no memory for the constant '%.80s'", in->name);
    for (int64_t i = 0; i < tensor_count(t); i++)
        tensor_set_f64(t, t->data, i, c->value);
    in->fact.value = t;
    return RILL_OK;
}

static rill_status input_named(const struct graph *g, const char *name, rill_error *err)
{
    for (uint32_t i = 0; i < g->n_inputs; i++)
        if (!strcmp(g->wires[g->inputs[i]].name, name))
            return RILL_OK;
    return err_set(err, RILL_INVALID, "the net has no input '%.80s'", name);
}

static rill_status declared_check(const struct graph *g, const struct step_decl *d, rill_error *err)
{
    for (unsigned i = 0; i < d->n_shapes; i++)
        TRY(input_named(g, d->shapes[i].name, err));
    for (unsigned i = 0; i < d->n_consts; i++)
        TRY(input_named(g, d->consts[i].name, err));
    for (unsigned i = 0; i < d->n_states; i++) {
        uint32_t k = 0;
        TRY(input_named(g, d->states[i].in, err));
        while (k < g->n_outputs && strcmp(g->wires[g->outputs[k]].name, d->states[i].out) != 0)
            k++;
        if (k == g->n_outputs)
            return err_set(err, RILL_INVALID, "the net has no output '%.80s'", d->states[i].out);
    }
    return RILL_OK;
}

static rill_status bare_open(struct run *r, const struct source *s, const struct net_file *net,
                             rill_error *err)
{
    struct bytes b = { .data = net->data, .n = net->n, .path = (char *) (uintptr_t) net->name };
    struct mgraph m;
    TRY(mgraph_from_onnx(&m, &r->arena, r->dims, &b, NULL, err));
    struct typed_opts opts = { .n_inputs = m.g.n_inputs };
    TRY(declared_check(&m.g, s->bare, err));
    TRY(arrays_check(s->given, &m.g, err));
    struct typed_input *list = arena_array(&r->arena, struct typed_input, m.g.n_inputs + 1u);
    if (!list)
        return err_set(err, RILL_NOMEM, "out of memory");
    for (uint32_t i = 0; i < m.g.n_inputs; i++) {
        const struct wire *w = &m.g.wires[m.g.inputs[i]];
        list[i] = (struct typed_input) { .name = w->name, .fact = w->fact };
        TRY(input_shape(r, s, &list[i], err));
        TRY(input_value(r, s->bare, &list[i], err));
    }
    opts.inputs = list;
    TRY(tgraph_from_mgraph(&r->model, &m, &opts, err));
    return arrays_steps(s->given, &r->model.g, &r->n_given, err);
}

rill_status run_open(struct run *r, const struct source *s, const struct net_file *nets,
                     unsigned n_nets, rill_error *reterr)
{
    *r = (struct run) { .dims = dims_new() };
    if (!r->dims)
        return err_set(reterr, RILL_NOMEM, "out of memory");
    TRY(s->folder ? pipeline_open(r, s, nets, n_nets, reterr) : bare_open(r, s, nets, reterr));
    const struct graph *g = &r->model.g;
    if (g->n_outputs > RUN_OUTPUTS_MAX)
        return err_set(reterr, RILL_LIMIT, "the model has %u outputs, at most %d are measured",
                       g->n_outputs, RUN_OUTPUTS_MAX);
    r->n_outputs = g->n_outputs;
    for (unsigned i = 0; i < r->n_outputs; i++)
        r->output[i].name = g->wires[g->outputs[i]].name;
    return RILL_OK;
}

void run_drop(struct run *r)
{
    for (unsigned i = 0; i < r->n_outputs; i++)
        free(r->output[i].v);
    arena_drop(&r->arena);
    dims_free(r->dims);
    *r = (struct run) { 0 };
}

/* ---- running ---- */

static rill_status output_keep(struct run_output *o, const struct tensor *t, rill_error *err)
{
    size_t n = (size_t) tensor_count(t);
    if (o->n + n > o->cap) {
        size_t cap = 2 * o->cap + n + 1024;
        float *more = realloc(o->v, cap * sizeof *more);
        if (!more)
            return err_set(err, RILL_NOMEM, "out of memory");
        o->v = more;
        o->cap = cap;
    }
    for (size_t i = 0; i < n; i++)
        o->v[o->n++] = (float) tensor_get_f64(t, t->data, (int64_t) i);
    return RILL_OK;
}

static rill_status pass_run(struct run *r, const struct tensor *const *in, struct arena *a,
                            const struct interp_watch *watch, const struct tensor **out,
                            rill_error *err)
{
    TRY(interp_run_watched(&r->model.g, in, a, watch, out, err));
    for (unsigned i = 0; i < r->n_outputs; i++)
        TRY(output_keep(&r->output[i], out[i], err));
    return RILL_OK;
}

static rill_status recording_run(struct run *r, const struct recording *rec,
                                 const struct interp_watch *watch, rill_error *err)
{
    struct arena a = { 0 };
    const struct tensor *out[RUN_OUTPUTS_MAX];
    struct tensor x = { .type = DTYPE_F32,
                        .rank = 1,
                        .dim = { (int64_t) rec->n },
                        .data = (void *) (uintptr_t) rec->x };
    rill_status s = pass_run(r, (const struct tensor *[]) { &x }, &a, watch, out, err);
    arena_drop(&a);
    return s;
}

float noise_next(uint64_t *seed)
{
    double sum = -6;
    for (int i = 0; i < 12; i++) {
        *seed = *seed * 6364136223846793005u + 1442695040888963407u;
        sum += (double) (*seed >> 40) / (double) (1 << 24);
    }
    return (float) sum;
}

/* The output that a state comes from; n: the input is none. */
static uint32_t state_of(const struct run *r, const struct source *s, const char *input)
{
    const struct graph *g = &r->model.g;
    for (unsigned i = 0; i < s->bare->n_states; i++)
        for (uint32_t k = 0; k < g->n_outputs; k++)
            if (!strcmp(s->bare->states[i].in, input) &&
                !strcmp(s->bare->states[i].out, g->wires[g->outputs[k]].name))
                return k;
    return g->n_outputs;
}

static rill_status step_input(struct run *r, const struct source *s, uint32_t i, unsigned step,
                              struct arena *a, const struct tensor *const *last, uint64_t *seed,
                              const struct tensor **ret, rill_error *err)
{
    const struct graph *g = &r->model.g;
    const struct wire *w = &g->wires[g->inputs[i]];
    uint32_t from = state_of(r, s, w->name);
    struct tensor shape, given = arrays_at(s->given, w, step);
    if (!fact_to_tensor(&w->fact, &shape))
        return err_set(err, RILL_UNSUPPORTED, "the size of input '%.80s' is not known", w->name);
    bool state = from < g->n_outputs;
    if (given.data && !(state && last[from])) {
        *ret = tensor_clone(a, &given);
        return *ret ? RILL_OK : err_set(err, RILL_NOMEM, "out of memory");
    }
    if (shape.type != DTYPE_F32)
        return err_set(err, RILL_UNSUPPORTED, "input '%.80s' is %s; --const gives it a value",
                       w->name, dtype_name(shape.type));
    struct tensor *t = state && last[from] ? tensor_clone(a, last[from])
                                           : tensor_new(a, shape.type, shape.rank, shape.dim);
    if (!t)
        return err_set(err, RILL_NOMEM, "out of memory");
    for (int64_t k = 0, n = state ? 0 : tensor_count(t); k < n; k++)
        ((float *) t->data)[k] = s->noise * noise_next(seed);
    *ret = t;
    return RILL_OK;
}

static rill_status steps_run(struct run *r, const struct source *s,
                             const struct interp_watch *watch, rill_error *err)
{
    struct arena a[2] = { { 0 }, { 0 } };
    const struct tensor *in[RUN_OUTPUTS_MAX], *out[RUN_OUTPUTS_MAX] = { NULL };
    uint64_t seed = 1;
    rill_status status = r->model.g.n_inputs > RUN_OUTPUTS_MAX
        ? err_set(err, RILL_LIMIT, "more than %d inputs", RUN_OUTPUTS_MAX)
        : RILL_OK;
    const unsigned steps = r->n_given ? r->n_given : s->n_steps;
    for (unsigned step = 0; step < steps && status == RILL_OK; step++) {
        struct arena *now = &a[step & 1]; /* the other one has the states */
        arena_drop(now);
        for (uint32_t i = 0; i < r->model.g.n_inputs && status == RILL_OK; i++)
            status = step_input(r, s, i, step, now, out, &seed, &in[i], err);
        if (status == RILL_OK)
            status = pass_run(r, in, now, watch, out, err);
    }
    arena_drop(&a[0]);
    arena_drop(&a[1]);
    return status;
}

rill_status run_all(struct run *r, const struct source *s, const struct interp_watch *watch,
                    rill_error *reterr)
{
    for (unsigned i = 0; i < r->n_outputs; i++)
        r->output[i].n = 0;
    if (!s->folder)
        return steps_run(r, s, watch, reterr);
    if (r->model.g.n_inputs != 1)
        return err_set(reterr, RILL_UNSUPPORTED,
                       "the pipeline has %u inputs; one of audio can be run", r->model.g.n_inputs);
    for (size_t i = 0; i < s->n_list; i++)
        TRY(recording_run(r, &s->list[i], watch, reterr));
    return RILL_OK;
}

struct loss run_loss(const struct run *a, const struct run *b, unsigned i)
{
    struct loss l = { 0, 0 };
    const struct run_output *x = &a->output[i], *y = &b->output[i];
    for (size_t k = 0; k < x->n && k < y->n; k++) {
        if (!isfinite(x->v[k]))
            continue; /* the f32 net itself gives no number */
        double d = (double) x->v[k] - (double) y->v[k];
        l.signal += (double) x->v[k] * (double) x->v[k];
        l.noise += d * d;
    }
    if (x->n != y->n)
        l.noise = (double) INFINITY;
    return l;
}
