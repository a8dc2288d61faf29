/* SPDX-License-Identifier: MIT */
#include "check/step_shapes.h"

#include <stdio.h>
#include <string.h>

uint32_t step_port_find(const struct graph *g, const uint32_t *list, uint32_t n, const char *name)
{
    for (uint32_t i = 0; i < n; i++)
        if (!strcmp(g->wires[list[i]].name, name))
            return i;
    return WIRE_NONE;
}

rill_status step_port_missing(const struct graph *g, const uint32_t *list, uint32_t n,
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

rill_status step_input_find(const struct graph *g, const char *name, uint32_t *ret, rill_error *err)
{
    *ret = step_port_find(g, g->inputs, g->n_inputs, name);
    return *ret != WIRE_NONE ? RILL_OK
                             : step_port_missing(g, g->inputs, g->n_inputs, "input", name, err);
}

#define AXIS_SYMBOLS 8

/* Symbols that stand in the size of an input are sizes, as those that a file names. */
static rill_status symbols_are_sizes(const struct graph *g, const struct dim *size, rill_error *err)
{
    const struct dim *list[AXIS_SYMBOLS];
    const unsigned n = dim_symbols(size, list, 0, AXIS_SYMBOLS);
    for (unsigned i = 0; i < n && i < AXIS_SYMBOLS; i++)
        TRY(dims_assume(g->dims, list[i], err));
    return dims_status(g->dims, err);
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
        status = symbols_are_sizes(g, *ret, err);
    if (status == RILL_OK)
        return status;
    return err_prefix(err, status, "shape of '%.80s', axis %d, '%.80s'", s->name, a, s->text[a]);
}

static bool axis_is_time(const struct graph *g, const struct step_decl *d, const struct dim *axis)
{
    return d->time && dim_mentions(axis, dim_symbol(g->dims, d->time));
}

bool step_symbol_is_set(const rill_model_opts *opts, const char *name)
{
    size_t n = strlen(name);
    for (unsigned i = 0; opts && opts->set && opts->set[i]; i++)
        if (!strncmp(opts->set[i], name, n) && opts->set[i][n] == '=')
            return true;
    return false;
}

static bool shape_is_declared(const struct step_decl *d, const char *name)
{
    for (uint32_t i = 0; i < d->n_shapes; i++)
        if (!strcmp(d->shapes[i].name, name))
            return true;
    return false;
}

/* A symbol of the file that got a number has it in all inputs whose shapes nobody declares; one
 * that opts set gets it there. */
static void symbol_follow(struct graph *g, const struct step_decl *d, const rill_model_opts *opts,
                          const struct dim *was, const struct dim *is)
{
    const struct dim *symbol;
    if (!dim_is_const(is) || dim_symbols(was, &symbol, 0, 1) != 1 || symbol != was ||
        step_symbol_is_set(opts, dim_name(was)))
        return;
    for (uint32_t i = 0; i < g->n_inputs; i++) {
        struct wire *w = &g->wires[g->inputs[i]];
        for (int a = 0; !shape_is_declared(d, w->name) && a < w->fact.rank; a++)
            w->fact.shape[a] = dim_subst(g->dims, w->fact.shape[a], was, is);
    }
}

static rill_status shape_apply(struct graph *g, const struct step_decl *d,
                               const struct step_shape *s, const rill_model_opts *opts,
                               struct fact *f, rill_error *err)
{
    const bool in_file = f->rank >= 0;
    for (int a = 0; a < s->rank; a++) {
        const struct dim *was = in_file ? f->shape[a] : NULL;
        if (s->stored && was && axis_is_time(g, d, was))
            continue;
        TRY(axis_size(g, s, a, &f->shape[a], err));
        if (was)
            symbol_follow(g, d, opts, was, f->shape[a]);
    }
    f->rank = s->rank;
    return RILL_OK;
}

/* Open sizes that opts do not set are those of the data, in front of which an axis may count steps.
 */
static void data_apply(struct graph *g, const struct step_decl *d, const struct step_shape *s,
                       const rill_model_opts *opts, struct fact *f)
{
    const int before = s->rank - f->rank;
    for (int a = 0; f->rank >= 0 && (before == 0 || before == 1) && a < f->rank; a++) {
        const struct dim *was = f->shape[a];
        if (dim_is_const(was) || (dim_name(was) && step_symbol_is_set(opts, dim_name(was))))
            continue;
        f->shape[a] = dim_int(g->dims, s->dim[a + before]);
        symbol_follow(g, d, opts, was, f->shape[a]);
    }
}

rill_status step_shapes_apply(struct graph *g, const struct step_decl *d,
                              const rill_model_opts *opts, rill_error *err)
{
    for (uint32_t i = 0; i < d->n_shapes; i++) {
        const struct step_shape *s = &d->shapes[i];
        uint32_t k;
        if ((s->stored || s->of_steps) &&
            step_port_find(g, g->inputs, g->n_inputs, s->name) == WIRE_NONE)
            continue;
        TRY(step_input_find(g, s->name, &k, err));
        struct fact *f = &g->wires[g->inputs[k]].fact;
        if (s->of_steps) {
            data_apply(g, d, s, opts, f);
            continue;
        }
        if (f->rank >= 0 && f->rank != s->rank) {
            char fact[160];
            fact_print(f, fact, sizeof fact);
            return err_set(err, RILL_INVALID,
                           "input '%.80s' has %d axes, %d were given; it is %s in the file, and a "
                           "shape has a size for each axis, as in %.80s=1,S,..",
                           s->name, f->rank, s->rank, fact, s->name);
        }
        TRY(shape_apply(g, d, s, opts, f, err));
    }
    return RILL_OK;
}
