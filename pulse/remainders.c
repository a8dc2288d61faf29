/* SPDX-License-Identifier: MIT */
#include "pulse/remainders.h"
#include "engine/base/dim_even.h"
#include "pulse/ints.h"
#include "pulse/resized.h"

#include <stdio.h>

#define OF_MAX 4096      /* the longest period that is looked at */
#define LENGTHS_LOOKED 8 /* of a remainder, from as many times OF_MAX on */

/* ---- what the graph resizes, and its sizes ---- */

/* The axis of what the node resizes along time; -1: none. */
static int resized_axis(const struct pulser *p, const struct node *n)
{
    const struct fact *x = n->op->id == OP_RESIZE ? pulser_fact(p, n->in[0]) : NULL;
    const struct fact *y = x ? pulser_fact(p, n->out[0]) : NULL;
    for (int i = 0; x && i < x->rank && x->rank == y->rank; i++)
        if (x->shape[i] != y->shape[i] && dim_mentions(x->shape[i], p->symbol) &&
            dim_mentions(y->shape[i], p->symbol))
            return i;
    return -1;
}

static bool resizes(const struct pulser *p, struct remainder r)
{
    for (const struct node *n = p->src->nodes; n < p->src->nodes + p->src->n_nodes; n++) {
        const int axis = resized_axis(p, n);
        struct stretch s;
        if (axis < 0)
            continue;
        struct resized z = resized_of(p, n, axis, 1);
        if (!resized_ratio(p, &z, &s) || !resized_same(p, &z, r, &s))
            return false;
    }
    return true;
}

/* Sizes that do not fit each other have no value. */
static bool fits(const struct pulser *p, const struct fact *f, int64_t at)
{
    int64_t v;
    for (int i = 0; i < f->rank; i++)
        if (dim_mentions(f->shape[i], p->symbol) && !dim_eval(f->shape[i], p->symbol, at, &v))
            return false;
    return true;
}

/* Whether what it joins, on another axis, is as long. */
static bool joins(const struct pulser *p, const struct node *n, int64_t at)
{
    const struct fact *f = pulser_fact(p, n->in[0]);
    const int along = n->op->id == OP_CONCAT ? axis_normalise(axis_of(n), f->rank) : -1;
    int64_t v, w;
    for (int i = 0; along >= 0 && i < f->rank; i++)
        for (unsigned k = 1; i != along && k < n->n_in; k++) {
            const struct dim *d = pulser_fact(p, n->in[k])->shape[i];
            if (d != f->shape[i] && dim_eval(f->shape[i], p->symbol, at, &v) &&
                dim_eval(d, p->symbol, at, &w) && v != w)
                return false;
        }
    return true;
}

static bool all_fit_at(const struct pulser *p, int64_t at)
{
    for (uint32_t w = 0; w < p->src->n_wires; w++)
        if (!fits(p, pulser_fact(p, w), at))
            return false;
    for (const struct node *n = p->src->nodes; n < p->src->nodes + p->src->n_nodes; n++)
        if (!joins(p, n, at))
            return false;
    return true;
}

/* Lengths that are not short. */
static bool all_fit(const struct pulser *p, struct remainder r)
{
    for (int64_t k = 0; k < LENGTHS_LOOKED; k++)
        if (!all_fit_at(p, (LENGTHS_LOOKED + k) * (OF_MAX / r.of) * r.of + r.rest))
            return false;
    return true;
}

/* ---- candidates ---- */

static bool allowed(const struct pulser *p, struct remainder r)
{
    for (int64_t at = r.rest; at < LENGTHS_LOOKED * OF_MAX; at += r.of)
        if (dims_allow(p->src->dims, p->symbol, at))
            return true;
    return false;
}

static void period_take(const struct pulser *p, const struct dim *d, int64_t *period)
{
    struct dim_even e;
    if (!dim_even(d, p->symbol, &e))
        return;
    const int64_t all = *period / gcd(*period, e.period) * e.period;
    *period = all <= OF_MAX ? all : *period;
}

static int64_t period_of(const struct pulser *p, const struct dim *const *d, unsigned n)
{
    int64_t period = 1;
    for (unsigned i = 0; i < n; i++)
        period_take(p, d[i], &period);
    for (const struct node *m = p->src->nodes; m < p->src->nodes + p->src->n_nodes; m++) {
        const int axis = resized_axis(p, m);
        if (axis >= 0) {
            period_take(p, pulser_fact(p, m->in[0])->shape[axis], &period);
            period_take(p, pulser_fact(p, m->out[0])->shape[axis], &period);
        }
    }
    return period;
}

bool remainder_find(const struct pulser *p, const struct dim *const *d, unsigned n,
                    remainder_holds *holds, const void *ctx, struct remainder *ret, bool *ret_all)
{
    const int64_t period = period_of(p, d, n);
    bool any = false;
    *ret_all = false;
    for (int64_t of = 2; of <= period; of++)
        for (int64_t rest = 0; period % of == 0 && rest < of; rest++) {
            const struct remainder r = { of, rest };
            if (!allowed(p, r) || !holds(ctx, r))
                continue;
            if (!any)
                *ret = r;
            any = true;
            if (all_fit(p, r) && resizes(p, r)) {
                *ret = r;
                return *ret_all = true;
            }
        }
    return any;
}

struct same {
    const struct pulser *p;
    const struct dim *const *d;
    int64_t end;
};

static bool same_at(const void *ctx, struct remainder r)
{
    const struct same *s = ctx;
    int64_t x, y;
    for (int64_t at = r.rest; at < s->end + r.of; at += r.of)
        if (dims_allow(s->p->src->dims, s->p->symbol, at) &&
            (!dim_eval(s->d[0], s->p->symbol, at, &x) || !dim_eval(s->d[1], s->p->symbol, at, &y) ||
             x != y))
            return false;
    return true;
}

bool remainder_of_same(const struct pulser *p, const struct dim *a, const struct dim *b,
                       struct remainder *ret)
{
    const struct dim *both[2] = { a, b };
    struct lengths l;
    bool all;
    if (!lengths_decide(p, both, 2, 0, true, &l) || l.rise[0] != l.rise[1])
        return false;
    return remainder_find(p, both, 2, same_at, &(struct same) { p, both, l.end }, ret, &all);
}

void remainder_print(const struct pulser *p, struct remainder r, char *ret, size_t cap)
{
    const char *t = dim_name(p->symbol);
    if (r.rest)
        snprintf(ret, cap, "%.40s == %lld*(%.40s/%lld) + %lld", t, (long long) r.of, t,
                 (long long) r.of, (long long) r.rest);
    else
        snprintf(ret, cap, "%.40s == %lld*(%.40s/%lld)", t, (long long) r.of, t, (long long) r.of);
}
