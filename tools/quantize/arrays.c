/* SPDX-License-Identifier: MIT */
#include "tools/quantize/arrays.h"
#include "engine/base/err.h"

#include <limits.h>
#include <string.h>

static const struct tensor *array_of(const struct npz *given, const char *input)
{
    for (uint32_t i = 0; given && i < given->n; i++)
        if (!strcmp(given->list[i].name, input))
            return given->list[i].t;
    return NULL;
}

static bool has_input(const struct graph *g, const char *name)
{
    bool has = false;
    for (uint32_t i = 0; i < g->n_inputs && !has; i++)
        has = !strcmp(g->wires[g->inputs[i]].name, name);
    return has;
}

rill_status arrays_check(const struct npz *given, const struct graph *g, rill_error *reterr)
{
    for (uint32_t i = 0; given && i < given->n; i++)
        if (!has_input(g, given->list[i].name))
            return err_set(reterr, RILL_INVALID,
                           "--calibrate has an array '%.80s', but the net no such input",
                           given->list[i].name);
    return RILL_OK;
}

/* Axes of steps in front of an input of that rank. */
static int steps_axes(const struct fact *f, const struct tensor *t)
{
    return f->rank < 0 ? t->rank > 0 : t->rank - f->rank;
}

void arrays_shape(const struct npz *given, const char *input, struct dims *ds, struct fact *f)
{
    const struct tensor *t = array_of(given, input);
    const int front = t ? steps_axes(f, t) : -1;
    if (front < 0 || front > 1)
        return;
    for (int i = 0; i + front < t->rank; i++)
        if (f->rank < 0 || !dim_is_const(f->shape[i]))
            f->shape[i] = dim_int(ds, t->dim[i + front]);
    f->rank = t->rank - front;
}

static rill_status array_check(const struct graph *g, const struct wire *w, const struct tensor *t,
                               rill_error *err)
{
    const int front = steps_axes(&w->fact, t);
    bool fits = t->type == w->fact.type && front >= 0 && front <= 1;
    char want[160], has[160];
    for (int i = 0; fits && i < w->fact.rank; i++)
        fits = dim_is(w->fact.shape[i], t->dim[i + front]);
    if (fits)
        return RILL_OK;
    struct fact f;
    fact_of_tensor(&f, g->dims, t);
    fact_print(&f, has, sizeof has);
    fact_print(&w->fact, want, sizeof want);
    return err_set(err, RILL_INVALID,
                   "input '%.80s' is %s, its array %s; one of each step lies behind the other on "
                   "an axis in front",
                   w->name, want, has);
}

rill_status arrays_steps(const struct npz *given, const struct graph *g, unsigned *ret,
                         rill_error *reterr)
{
    const char *first = NULL;
    *ret = 0;
    for (uint32_t i = 0; i < g->n_inputs; i++) {
        const struct wire *w = &g->wires[g->inputs[i]];
        const struct tensor *t = array_of(given, w->name);
        if (!t)
            continue;
        TRY(array_check(g, w, t, reterr));
        const int64_t steps = steps_axes(&w->fact, t) ? t->dim[0] : 1;
        const bool alone = !steps_axes(&w->fact, t);
        if (steps < 1 || steps > INT_MAX || (first && !alone && steps != *ret))
            return err_set(reterr, RILL_INVALID, "the array of input '%.80s' has %lld steps%s%.80s",
                           w->name, (long long) steps, first ? ", not as many as that of " : "",
                           first ? first : "");
        if (!alone)
            first = w->name;
        *ret = alone && *ret ? *ret : (unsigned) steps;
    }
    return RILL_OK;
}

struct tensor arrays_at(const struct npz *given, const struct wire *input, unsigned step)
{
    const struct tensor *t = array_of(given, input->name);
    struct tensor one = { .data = NULL };
    if (!t)
        return one;
    one = *t;
    if (!steps_axes(&input->fact, t))
        return one;
    one.rank = t->rank - 1;
    memmove(one.dim, t->dim + 1, (size_t) one.rank * sizeof *one.dim);
    one.data = (char *) t->data + step * tensor_bytes(&one);
    return one;
}
