/* SPDX-License-Identifier: MIT */
#include "engine/graph/bind.h"
#include "engine/base/dim_claims.h"

#include <inttypes.h>
#include <stdio.h>

const struct dim *binding_dim(const struct binding *b, const struct dim *d)
{
    for (unsigned i = 0; i < b->n && dim_has_symbol(d); i++)
        d = dim_subst(b->dims, d, b->list[i].symbol, dim_int(b->dims, b->list[i].value));
    return d;
}

void binding_fact(const struct binding *b, struct fact *f)
{
    for (int k = 0; k < f->rank; k++)
        f->shape[k] = binding_dim(b, f->shape[k]);
}

const struct tensor *binding_tensor(const struct binding *b, struct arena *a,
                                    const struct tensor *t)
{
    if (!t || t->type != DTYPE_DIM || !b->n)
        return t;
    struct tensor *bound = tensor_clone(a, t);
    for (int64_t i = 0; bound && i < tensor_count(t); i++)
        ((const struct dim **) bound->data)[i] =
            binding_dim(b, ((const struct dim *const *) t->data)[i]);
    return bound ? tensor_resolved(a, bound) : NULL;
}

/* ---- what the inputs say ---- */

static void bound_add(struct binding *b, const struct dim *symbol, int64_t value, const char *input,
                      int axis)
{
    if (b->n < BOUND_MAX)
        b->list[b->n++] = (struct bound) { symbol, value, input, axis };
}

static rill_status axis_solve(struct binding *b, const struct wire *w, int axis, int64_t size,
                              bool *ret_found, rill_error *err)
{
    const struct dim *d = binding_dim(b, w->fact.shape[axis]), *symbol[2];
    int64_t value;
    if (dim_symbols(d, symbol, 0, 2) != 1)
        return RILL_OK;
    rill_error why = { RILL_OK, "" };
    rill_status s = dim_solve(d, symbol[0], size, &value, &why);
    if (s == RILL_UNSUPPORTED)
        return RILL_OK; /* of another form: checked later, if it can be */
    if (s != RILL_OK)
        return err_set(err, RILL_INVALID, "input '%.80s', axis %d: %.300s", w->name, axis,
                       why.text);
    if (value < 0)
        return err_set(err, RILL_INVALID,
                       "input '%.80s' has %" PRId64 " on axis %d, which makes %.40s %" PRId64,
                       w->name, size, axis, dim_name(symbol[0]), value);
    bound_add(b, symbol[0], value, w->name, axis);
    *ret_found = true;
    return RILL_OK;
}

/* Who gave the symbols of d their values: " (S = 4 by input 'x', axis 1)". */
static void sources_print(const struct binding *b, const struct dim *d, char *buf, size_t cap)
{
    size_t at = 0;
    *buf = 0;
    for (unsigned i = 0; i < b->n && at < cap; i++)
        if (dim_mentions(d, b->list[i].symbol))
            at += (size_t) snprintf(buf + at, cap - at,
                                    "%s%.40s = %" PRId64 " by input '%.60s', axis %d",
                                    at ? ", " : "", dim_name(b->list[i].symbol), b->list[i].value,
                                    b->list[i].input, b->list[i].axis);
}

static rill_status axis_check(const struct binding *b, const struct wire *w, int axis, int64_t size,
                              rill_error *err)
{
    const struct dim *d = binding_dim(b, w->fact.shape[axis]);
    if (!dim_is_const(d) || dim_is(d, size))
        return RILL_OK;
    char text[100], from[300];
    dim_print(w->fact.shape[axis], text, sizeof text);
    sources_print(b, w->fact.shape[axis], from, sizeof from);
    return err_set(err, RILL_INVALID,
                   "input '%.80s' has %" PRId64 " on axis %d, where %s is %" PRId64 "%s%s", w->name,
                   size, axis, text, dim_value(d), *from ? ": " : "", from);
}

/* What is asserted of symbols must hold of their values. */
static rill_status claims_check(const struct binding *b, rill_error *err)
{
    const struct dim *ge0;
    const char *text;
    char from[300];
    for (unsigned i = 0; (text = dims_claim_at(b->dims, i, &ge0)); i++) {
        const struct dim *d = binding_dim(b, ge0);
        if (dims_claim_kind(b->dims, i) != DIM_CLAIM_ASSERTED || !dim_is_const(d) ||
            dim_value(d) >= 0)
            continue;
        sources_print(b, ge0, from, sizeof from);
        return err_set(err, RILL_INVALID, "'%.120s' is asserted, but does not hold: %s", text,
                       from);
    }
    return RILL_OK;
}

#define EACH_AXIS(g, inputs, i, axis)                                                              \
    for (uint32_t i = 0; i < (g)->n_inputs; i++)                                                   \
        for (int axis = 0; (inputs)[i] && axis < (g)->wires[(g)->inputs[i]].fact.rank; axis++)

rill_status binding_from_inputs(struct binding *ret, const struct graph *g,
                                const struct tensor *const *inputs, rill_error *reterr)
{
    *ret = (struct binding) { .dims = g->dims };
    for (uint32_t i = 0; i < g->n_inputs; i++) {
        const struct wire *w = &g->wires[g->inputs[i]];
        if (inputs[i] && w->fact.rank >= 0 && inputs[i]->rank != w->fact.rank)
            return err_set(reterr, RILL_INVALID, "input '%.80s' has %d axes, the model wants %d",
                           w->name, inputs[i]->rank, w->fact.rank);
    }
    for (bool found = true; found && ret->n < BOUND_MAX;) { /* one axis may need another's symbol */
        found = false;
        EACH_AXIS(g, inputs, i, k)
        TRY(axis_solve(ret, &g->wires[g->inputs[i]], k, inputs[i]->dim[k], &found, reterr));
    }
    EACH_AXIS(g, inputs, i, k)
    TRY(axis_check(ret, &g->wires[g->inputs[i]], k, inputs[i]->dim[k], reterr));
    TRY(claims_check(ret, reterr));
    return dims_status(g->dims, reterr);
}
