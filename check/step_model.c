/* SPDX-License-Identifier: MIT */
#include "check/step_model.h"
#include "models/network/network.h"
#include "lib/pipeline.h"
#include "lib/transform.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- declarations ---- */

/* Splits "name<mark>rest"; false without the mark. The last mark counts: names may hold any
 * byte. */
static bool text_split(struct step_decl *d, const char *text, char mark, const char **ret_name,
                       const char **ret_rest)
{
    const char *at = strrchr(text, mark);
    if (!at || at == text || d->n_owned == sizeof d->owned / sizeof *d->owned)
        return false;
    char *name = strndup(text, (size_t) (at - text));
    if (!name)
        return false;
    *ret_name = d->owned[d->n_owned++] = name;
    *ret_rest = at + 1;
    return true;
}

void step_decl_drop(struct step_decl *d)
{
    while (d->n_owned)
        free(d->owned[--d->n_owned]);
}

/* The bytes up to the comma that ends an axis; those within brackets belong to it. */
static size_t axis_length(const char *text)
{
    size_t n = 0;
    for (int depth = 0; text[n] && (depth > 0 || text[n] != ','); n++)
        depth += text[n] == '(' ? 1 : text[n] == ')' ? -1 : 0;
    return n;
}

/* One axis of n bytes: a number from 0 on, or an expression that is read with the file. */
static bool axis_add(struct step_decl *d, struct step_shape *s, const char *text, size_t n)
{
    char *end;
    if (!n || s->rank == RANK_MAX || d->n_owned == sizeof d->owned / sizeof *d->owned)
        return false;
    errno = 0;
    s->dim[s->rank] = strtoll(text, &end, 10);
    bool number = end == text + n && !errno;
    if (number && s->dim[s->rank] < 0)
        return false;
    char *kept = number ? NULL : strndup(text, n);
    if (kept)
        s->text[s->rank] = d->owned[d->n_owned++] = kept;
    s->rank++;
    return number || kept;
}

bool step_decl_shape(struct step_decl *d, const char *text)
{
    struct step_shape s = { 0 };
    const char *name, *rest;
    if (d->n_shapes == STEP_LIST_MAX || !text_split(d, text, '=', &name, &rest))
        return false;
    s.name = name;
    for (size_t n; *rest; rest += n + (rest[n] == ','))
        if (!axis_add(d, &s, rest, n = axis_length(rest)))
            return false;
    d->shapes[d->n_shapes++] = s;
    return true;
}

bool step_decl_const(struct step_decl *d, const char *text)
{
    char *end;
    const char *name, *rest;
    if (d->n_consts == STEP_LIST_MAX || !text_split(d, text, '=', &name, &rest))
        return false;
    double v = strtod(rest, &end);
    if (end == rest || *end)
        return false;
    d->consts[d->n_consts++] = (struct step_const) { name, v };
    return true;
}

bool step_decl_state(struct step_decl *d, const char *text)
{
    const char *name, *rest;
    if (d->n_states == STEP_LIST_MAX || !text_split(d, text, ':', &name, &rest) || !*rest)
        return false;
    d->states[d->n_states++] = (struct step_state) { name, rest };
    return true;
}

/* ---- applying them ---- */

static uint32_t port_find(const struct graph *g, const uint32_t *list, uint32_t n, const char *name)
{
    for (uint32_t i = 0; i < n; i++)
        if (!strcmp(g->wires[list[i]].name, name))
            return i;
    return WIRE_NONE;
}

static rill_status port_missing(const struct graph *g, const uint32_t *list, uint32_t n,
                                const char *what, const char *name, rill_error *err)
{
    char known[240] = "";
    for (uint32_t i = 0; i < n; i++) {
        size_t at = strlen(known);
        snprintf(known + at, sizeof known - at, "%s%s", i ? ", " : "", g->wires[list[i]].name);
    }
    return err_set(err, RILL_INVALID, "there is no %s '%.80s'; the file has: %s", what, name,
                   known);
}

static rill_status input_find(const struct graph *g, const char *name, uint32_t *ret,
                              rill_error *err)
{
    *ret = port_find(g, g->inputs, g->n_inputs, name);
    return *ret != WIRE_NONE ? RILL_OK
                             : port_missing(g, g->inputs, g->n_inputs, "input", name, err);
}

static rill_status axis_size(const struct graph *g, const struct step_shape *s, int a,
                             const struct dim **ret, rill_error *err)
{
    if (!s->text[a]) {
        *ret = dim_int(g->dims, s->dim[a]);
        return RILL_OK;
    }
    rill_status status = dim_parse(g->dims, s->text[a], ret, err);
    if (status == RILL_OK && dim_is_const(*ret) && dim_value(*ret) < 0)
        status = err_set(err, RILL_INVALID, "a size below 0");
    if (status == RILL_OK)
        return status;
    return err_prefix(err, status, "shape of '%.80s', axis %d, '%.80s'", s->name, a, s->text[a]);
}

static bool axis_is_time(const struct graph *g, const struct step_decl *d, const struct dim *axis)
{
    return d->time && dim_mentions(axis, dim_symbol(g->dims, d->time));
}

static rill_status shapes_apply(struct graph *g, const struct step_decl *d, rill_error *err)
{
    for (unsigned i = 0; i < d->n_shapes; i++) {
        const struct step_shape *s = &d->shapes[i];
        uint32_t k;
        if (s->stored && port_find(g, g->inputs, g->n_inputs, s->name) == WIRE_NONE)
            continue;
        TRY(input_find(g, s->name, &k, err));
        struct fact *f = &g->wires[g->inputs[k]].fact;
        if (f->rank >= 0 && f->rank != s->rank)
            return err_set(err, RILL_INVALID, "input '%.80s' has %d axes, %d were given", s->name,
                           f->rank, s->rank);
        for (int a = 0; a < s->rank; a++)
            if (!s->stored || f->rank < 0 || !axis_is_time(g, d, f->shape[a]))
                TRY(axis_size(g, s, a, &f->shape[a], err));
        f->rank = s->rank;
    }
    return RILL_OK;
}

static void input_remove(struct graph *g, uint32_t k)
{
    memmove(&g->inputs[k], &g->inputs[k + 1], (g->n_inputs - k - 1) * sizeof *g->inputs);
    g->n_inputs--;
}

static rill_status consts_apply(struct graph *g, const struct step_decl *d, rill_error *err)
{
    for (unsigned i = 0; i < d->n_consts; i++) {
        uint32_t k;
        TRY(input_find(g, d->consts[i].name, &k, err));
        struct wire *w = &g->wires[g->inputs[k]];
        struct tensor shape = { .type = w->fact.type };
        if (w->fact.rank > 0 && !fact_to_tensor(&w->fact, &shape)) {
            shape.rank = w->fact.rank;
            for (int a = 0; a < shape.rank; a++)
                shape.dim[a] = 1;
        }
        struct tensor *t = tensor_new(g->arena, shape.type, shape.rank, shape.dim);
        if (!t)
            return err_set(err, RILL_NOMEM, "out of memory");
        for (int64_t e = 0; e < tensor_count(t); e++)
            tensor_set_f64(t, t->data, e, d->consts[i].value);
        fact_of_tensor(&w->fact, g->dims, t);
        input_remove(g, k);
    }
    return RILL_OK;
}

static rill_status states_apply(struct graph *g, const struct step_decl *d, rill_error *err)
{
    for (unsigned i = 0; i < d->n_states; i++) {
        uint32_t k, out = port_find(g, g->outputs, g->n_outputs, d->states[i].out);
        TRY(input_find(g, d->states[i].in, &k, err));
        if (out == WIRE_NONE)
            return port_missing(g, g->outputs, g->n_outputs, "output", d->states[i].out, err);
        if (!graph_add_state(g, d->states[i].in, g->inputs[k], g->outputs[out], NULL))
            return err_set(err, RILL_NOMEM, "out of memory");
        input_remove(g, k);
    }
    return RILL_OK;
}

static bool shapes_have_symbols(const struct step_decl *d)
{
    for (unsigned i = 0; i < d->n_shapes; i++)
        for (int a = 0; a < d->shapes[i].rank; a++)
            if (d->shapes[i].text[a])
                return true;
    return false;
}

static rill_status step_model_read(rill_model *m, const char *path, struct mgraph *ret,
                                   rill_error *err)
{
    struct bytes b = { 0 };
    TRY(bytes_from_file(&b, path, 0, err));
    rill_status s = mgraph_from_network(ret, &m->arena, m->dims, &b, err);
    bytes_drop(&b);
    return s;
}

static rill_status step_model_build(rill_model *m, const char *path, const struct step_decl *d,
                                    const rill_model_opts *opts, rill_error *err)
{
    struct mgraph mg;
    TRY(model_assert(m, opts, err));
    TRY(step_model_read(m, path, &mg, err));
    TRY(shapes_apply(&mg.g, d, err));
    TRY(consts_apply(&mg.g, d, err));
    TRY(states_apply(&mg.g, d, err));
    m->mgraph = mg;
    TRY(model_transform_and_type(m, opts, shapes_have_symbols(d), NULL, err));
    return pipeline_run(&(struct pipeline) { .model = m, .err = err }, STAGE_TYPED,
                        STAGE_DECLUTTERED);
}

rill_status step_model_open(rill_model **ret, const char *path, const struct step_decl *d,
                            const rill_model_opts *opts, rill_error *reterr)
{
    rill_model *m = model_new();
    rill_status s = m ? step_model_build(m, path, d, opts, reterr)
                      : err_set(reterr, RILL_NOMEM, "out of memory");
    if (s != RILL_OK) {
        rill_model_free(m);
        return err_prefix(reterr, s, "%.200s", path);
    }
    const char *slash = strrchr(path, '/');
    m->info.name = arena_string(&m->arena, slash ? slash + 1 : path);
    m->info.task = m->info.licence = m->info.summary = "";
    *ret = m;
    return RILL_OK;
}
