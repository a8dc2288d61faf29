/* SPDX-License-Identifier: MIT */
#include "check/lower_bound.h"
#include "engine/graph/op.h"
#include "engine/graph/subst.h"
#include "engine/plan/cost.h"
#include "engine/typing/interp.h"

#include <math.h>
#include <string.h>

#define RUNS_NEAR 4 /* at whose starts it is looked, from the second on, and as many further on */
#define LENGTHS_MORE 4096
#define RUN_BYTES_MAX ((size_t) 128 << 20) /* of all wires of one whole run */

struct bound {
    const struct pgraph *g;
    const struct graph *t;
    int64_t run, length; /* in units of the symbol */
    struct arena *arena;
    double cost_left;
    int64_t none_from, none_to; /* units whose input is no numbers: what reads them is never lost to
                                   rounding */
    rill_error *err;
};

/* Units of the symbol in one run. */
static int64_t run_units(const struct pgraph *g, const struct graph *t)
{
    for (uint32_t i = 0; i < t->n_inputs; i++) {
        const struct stream_fact *s = &g->inputs[i];
        if (s->axis >= 0)
            return s->pulse * s->hop_num / s->hop_den;
    }
    return 0;
}

static bool sizes_run(const struct bound *b, const struct graph *g, int64_t length)
{
    int64_t n;
    for (uint32_t w = 0; w < g->n_wires; w++)
        for (int i = 0; i < g->wires[w].fact.rank; i++)
            if (dim_mentions(g->wires[w].fact.shape[i], b->g->symbol) &&
                (!dim_eval(g->wires[w].fact.shape[i], b->g->symbol, length, &n) || n < 0))
                return false;
    for (uint32_t i = 0; i < g->n_nodes; i++)
        for (unsigned k = 0; k < g->nodes[i].n_body; k++)
            if (!sizes_run(b, g->nodes[i].body[k], length))
                return false;
    return true;
}

static bool length_runs(const struct bound *b, int64_t length)
{
    return dims_allow(b->t->dims, b->g->symbol, length) &&
        !dims_claim_broken(b->t->dims, b->g->symbol, length) && sizes_run(b, b->t, length);
}

/* ---- whole runs ---- */

static double number_make(enum dtype type, uint32_t *seed)
{
    *seed = *seed * 1664525u + 1013904223u;
    return dtype_is_float(type) ? (double) (*seed >> 8) / (1 << 23) - 1
                                : (double) (*seed >> 18 & 1);
}

static bool is_none(const struct bound *b, const struct stream_fact *s, int64_t frame)
{
    return s->axis >= 0 && frame * s->hop_num >= b->none_from * s->hop_den &&
        frame * s->hop_num < b->none_to * s->hop_den;
}

/* The input's numbers up to unit `from`, and others behind it. */
static const struct tensor *input_make(const struct bound *b, uint32_t i, int64_t length,
                                       int64_t from)
{
    const struct fact *f = &b->t->wires[b->t->inputs[i]].fact;
    const struct stream_fact *s = &b->g->inputs[i];
    int64_t shape[RANK_MAX], inner = 1;
    for (int k = 0; k < f->rank; k++)
        if (!dim_eval(f->shape[k], b->g->symbol, length, &shape[k]))
            return NULL;
    struct tensor *x = tensor_new(b->arena, f->type, f->rank, shape);
    for (int k = s->axis + 1; s->axis >= 0 && k < f->rank; k++)
        inner *= shape[k];
    int64_t frames = s->axis < 0 ? 1 : shape[s->axis];
    for (int64_t k = 0; x && k < tensor_count(x); k++) {
        int64_t frame = k / inner % frames;
        bool other = s->axis >= 0 && frame * s->hop_num >= from * s->hop_den;
        uint32_t seed =
            (uint32_t) (frame * 7919 + k % inner * 104729 + k / inner / frames * 31 + i) *
                2654435761u +
            (other ? 77777u : 0);
        number_make(f->type, &seed);
        double v = number_make(f->type, &seed);
        if (is_none(b, s, frame) && dtype_is_float(f->type))
            v = NAN;
        tensor_set_f64(x, x->data, k, s->axis < 0 && !dtype_is_float(f->type) ? 1 : v);
    }
    return x;
}

static rill_status whole_run(struct bound *b, int64_t length, int64_t from,
                             const struct tensor ***ret)
{
    struct graph g;
    struct cost cost = { 0 };
    const struct tensor **in = arena_array(b->arena, const struct tensor *, b->t->n_inputs + 1);
    *ret = arena_array(b->arena, const struct tensor *, b->t->n_outputs + 1);
    if (!in || !*ret)
        return err_set(b->err, RILL_NOMEM, "out of memory");
    TRY(graph_substituted(&g, b->t, b->g->symbol, dim_int(b->t->dims, length), b->arena, b->err));
    cost_of_graph(&g, &cost);
    if ((b->cost_left -= (double) cost.multiply_adds) < 0 || cost.open)
        return err_set(b->err, RILL_LIMIT, "whole runs take too many multiply-adds");
    for (uint32_t i = 0; i < b->t->n_inputs; i++)
        if (!(in[i] = input_make(b, i, length, from)))
            return err_set(b->err, RILL_UNSUPPORTED, "an input has no size, or too large a one");
    return interp_run(&g, in, b->arena, *ret, b->err);
}

/* The first frame along the axis that is not the same in both, or not in both; -1: none. */
static int64_t first_other(const struct tensor *a, const struct tensor *b, int axis)
{
    int64_t outer = 1, frames = a->dim[axis] < b->dim[axis] ? a->dim[axis] : b->dim[axis];
    size_t inner = dtype_bytes(a->type);
    for (int i = 0; i < axis; i++)
        outer *= a->dim[i];
    for (int i = axis + 1; i < a->rank; i++)
        inner *= (size_t) a->dim[i];
    for (int64_t k = 0; k < frames; k++)
        for (int64_t o = 0; o < outer; o++)
            if (memcmp((const char *) a->data + (size_t) (o * a->dim[axis] + k) * inner,
                       (const char *) b->data + (size_t) (o * b->dim[axis] + k) * inner, inner))
                return k;
    return a->dim[axis] == b->dim[axis] ? -1 : frames;
}

/* What run number `runs` tells: frames that change with its input were not out before it. */
static void bound_raise(const struct bound *b, const struct tensor *const *all,
                        const struct tensor *const *other, int64_t runs, int64_t *ret)
{
    for (uint32_t i = 0; i < b->t->n_outputs; i++) {
        const struct stream_fact *s = &b->g->outputs[i];
        int64_t first = s->axis < 0 ? -1 : first_other(all[i], other[i], s->axis);
        int64_t delay = runs * s->pulse - first;
        if (first >= 0)
            ret[i] = delay > ret[i] ? delay : ret[i] < 0 ? 0 : ret[i];
    }
}

static rill_status run_look(struct bound *b, const struct tensor *const *all, int64_t length,
                            int64_t runs, int64_t *ret)
{
    struct arena work = { .limit_bytes = RUN_BYTES_MAX };
    const struct tensor **other;
    b->arena = &work;
    rill_status s = whole_run(b, length, runs * b->run, &other);
    if (s == RILL_OK)
        bound_raise(b, all, other, runs, ret);
    arena_drop(&work);
    return s;
}

static rill_status bound_look(struct bound *b, const struct tensor *const *all, int64_t runs,
                              int64_t *ret)
{
    int64_t from = runs * b->run;
    TRY(run_look(b, all, b->length, runs, ret));
    return length_runs(b, from) ? run_look(b, all, from, runs, ret) : RILL_OK;
}

/* bound_look with no numbers behind the runs, in the other input. */
static rill_status none_look(struct bound *b, const struct tensor *const *all, int64_t runs,
                             int64_t *ret)
{
    b->none_from = runs * b->run;
    b->none_to = INT32_MAX;
    const rill_status s = bound_look(b, all, runs, ret);
    b->none_to = 0;
    return s;
}

/* What is cut off behind the last whole window of a sequence is known to be when it has ended: of
 * the input at its end no numbers, so many units, in the one that ends there and in a longer one.
 */
static rill_status cut_look(struct bound *b, int64_t runs, int64_t units, int64_t *ret)
{
    struct arena long_run = { .limit_bytes = RUN_BYTES_MAX };
    const struct tensor **all;
    b->none_to = runs * b->run;
    b->none_from = b->none_to - units;
    b->arena = &long_run;
    rill_status s = whole_run(b, b->length, b->length, &all);
    if (s == RILL_OK)
        s = run_look(b, all, b->none_to, runs, ret);
    b->none_to = 0;
    arena_drop(&long_run);
    return s;
}

static rill_status cuts_look(struct bound *b, int64_t *ret)
{
    const int64_t runs = b->length / b->run / 2;
    for (int64_t units = 1; length_runs(b, runs * b->run) && units < runs * b->run; units *= 2)
        TRY(cut_look(b, runs, units, ret));
    return RILL_OK;
}

typedef rill_status look(struct bound *, const struct tensor *const *, int64_t runs, int64_t *ret);

/* At a few runs, near the start and far from it. */
static rill_status bounds_look(struct bound *b, look *one, const struct tensor *const *all,
                               int64_t *ret)
{
    int64_t runs = b->length / b->run;
    for (int64_t k = 0; k < 2 * RUNS_NEAR; k++)
        TRY(one(b, all, k < RUNS_NEAR ? k + 1 : runs / 2 + k - RUNS_NEAR, ret));
    return RILL_OK;
}

static bool bounds_reached(const struct bound *b, const int64_t *least)
{
    for (uint32_t i = 0; i < b->t->n_outputs; i++)
        if (b->g->outputs[i].axis >= 0 && least[i] >= 0 && least[i] < b->g->outputs[i].delay)
            return false;
    return true;
}

#define RUNS_FIRST_MAX 64

/* What a frame near the start waits for may be known in no run before the one it comes in. */
static rill_status first_runs_look(struct bound *b, const struct tensor *const *all, int64_t *ret)
{
    int64_t runs = 0;
    for (uint32_t i = 0; i < b->t->n_outputs; i++) {
        const struct stream_fact *s = &b->g->outputs[i];
        const int64_t late = s->axis < 0 ? 0 : s->delay / s->pulse + 1;
        runs = late > runs ? late : runs;
    }
    for (int64_t k = RUNS_NEAR + 1; k <= runs && k <= RUNS_FIRST_MAX && !bounds_reached(b, ret);
         k++)
        TRY(bound_look(b, all, k, ret));
    return RILL_OK;
}

#define ENDS_MAX 8

/* Where a sequence ends within a run it is known to in that run, and not before. */
static rill_status ends_look(struct bound *b, const struct tensor *const *all, int64_t runs,
                             int64_t *ret)
{
    const int64_t from = runs * b->run, step = (b->run + ENDS_MAX - 1) / ENDS_MAX;
    for (int64_t end = from + 1; end < from + b->run && !bounds_reached(b, ret); end += step)
        if (length_runs(b, end))
            TRY(run_look(b, all, end, runs, ret));
    return RILL_OK;
}

/* What is no number goes where rounding and choices (a codebook) lose what numbers change; through
 * masks too, which a stream need not wait for: such a bound is above what is reached, and none. */
static rill_status bounds_look_closer(struct bound *b, struct arena *a,
                                      const struct tensor *const *all, int64_t *ret)
{
    int64_t *closer = arena_array(a, int64_t, b->t->n_outputs + 1);
    if (!closer)
        return err_set(b->err, RILL_NOMEM, "out of memory");
    memcpy(closer, ret, b->t->n_outputs * sizeof *ret);
    rill_status s = bounds_look(b, none_look, all, closer);
    if (s == RILL_OK)
        s = cuts_look(b, closer);
    if (s != RILL_OK && s != RILL_LIMIT)
        return s;
    for (uint32_t i = 0; i < b->t->n_outputs; i++)
        if (closer[i] <= b->g->outputs[i].delay)
            ret[i] = closer[i];
    return RILL_OK;
}

/* A length behind the runs that are looked at and what outputs may wait for. */
static bool length_choose(struct bound *b)
{
    int64_t wait = 0;
    for (uint32_t i = 0; i < b->t->n_outputs; i++) {
        const struct stream_fact *s = &b->g->outputs[i];
        int64_t units = s->axis < 0 ? 0 : 2 * (s->delay + 1) * s->hop_num / s->hop_den;
        wait = units > wait ? units : wait;
    }
    b->length = (3 * RUNS_NEAR) * b->run + (wait / b->run + 1) * b->run;
    for (int64_t i = 0; i < LENGTHS_MORE; i++, b->length++)
        if (length_runs(b, b->length))
            return true;
    return false;
}

rill_status delay_bounds(const struct pgraph *g, const struct graph *t, int64_t *ret,
                         rill_error *reterr)
{
    struct arena a = { .limit_bytes = RUN_BYTES_MAX };
    struct bound b = { .g = g,
                       .t = t,
                       .run = run_units(g, t),
                       .arena = &a,
                       .cost_left = BOUND_COST_MAX,
                       .err = reterr };
    const struct tensor **all;
    for (uint32_t i = 0; i < t->n_outputs; i++)
        ret[i] = -1;
    if (b.run < 1 || !length_choose(&b))
        return err_set(reterr, RILL_UNSUPPORTED, "no length of the sequence that is long enough");
    rill_status s = whole_run(&b, b.length, b.length, &all);
    if (s == RILL_OK)
        s = bounds_look(&b, bound_look, all, ret);
    if (s == RILL_OK)
        s = first_runs_look(&b, all, ret);
    if (s == RILL_OK && !bounds_reached(&b, ret))
        s = bounds_look(&b, ends_look, all, ret);
    if (s == RILL_OK && !bounds_reached(&b, ret))
        s = bounds_look_closer(&b, &a, all, ret);
    arena_drop(&a);
    return s != RILL_NOMEM
        ? s
        : err_set(reterr, RILL_LIMIT, "a whole run takes more than %zu bytes, or out of memory",
                  RUN_BYTES_MAX);
}
