/* SPDX-License-Identifier: MIT */
/* What the facts of a scope prove: intervals first, then a bounded search that replaces floors by
 * their linear bounds, splits min and max into cases, and adds multiples of facts. */
#include "engine/base/dim_internal.h"

#define LO INT64_MIN
#define HI INT64_MAX

/* ---- intervals; LO and HI are infinite and absorb ---- */

static int64_t bound_add(int64_t a, int64_t b, int64_t infinite)
{
    int64_t s;
    if (a == infinite || b == infinite || __builtin_add_overflow(a, b, &s))
        return infinite;
    return s;
}

static int64_t bound_mul(int64_t a, int64_t b)
{
    int64_t p;
    if (!a || !b)
        return 0;
    if (a == LO || a == HI || b == LO || b == HI || __builtin_mul_overflow(a, b, &p))
        return (a < 0) == (b < 0) ? HI : LO;
    return p;
}

static struct dim_bound bounds_mul(struct dim_bound a, struct dim_bound b)
{
    int64_t p[4] = { bound_mul(a.lo, b.lo), bound_mul(a.lo, b.hi), bound_mul(a.hi, b.lo),
                     bound_mul(a.hi, b.hi) };
    struct dim_bound r = { p[0], p[0] };
    for (int i = 1; i < 4; i++) {
        r.lo = p[i] < r.lo ? p[i] : r.lo;
        r.hi = p[i] > r.hi ? p[i] : r.hi;
    }
    return r;
}

static struct dim_bound bounds_add(struct dim_bound a, struct dim_bound b)
{
    return (struct dim_bound) { bound_add(a.lo, b.lo, LO), bound_add(a.hi, b.hi, HI) };
}

static struct dim_bound bounds_of_lin(const struct lin *l)
{
    struct dim_bound r = { l->c, l->c };
    for (unsigned i = 0; i < l->n; i++)
        r = bounds_add(r, bounds_mul((struct dim_bound) { l->k[i], l->k[i] }, dim_bounds(l->t[i])));
    return r;
}

static int64_t bound_div(int64_t a, int64_t q)
{
    int64_t r = a;
    if (a != LO && a != HI)
        floor_div_checked(a, q, &r);
    return r;
}

/* Takes operand i into the interval r of those before it. */
static struct dim_bound bounds_join(const struct dim *d, unsigned i, struct dim_bound r)
{
    struct dim_bound b = dim_bounds(d->arg[i]);
    if (d->kind == DIM_ADD)
        return bounds_add(r, bounds_mul((struct dim_bound) { d->coef[i], d->coef[i] }, b));
    if (d->kind == DIM_MUL)
        return bounds_mul(r, b);
    if (d->kind == DIM_DIV)
        return (struct dim_bound) { bound_div(b.lo, d->value), bound_div(b.hi, d->value) };
    if (i == 0)
        return b;
    if (d->kind == DIM_MAX ? b.lo > r.lo : b.lo < r.lo)
        r.lo = b.lo;
    if (d->kind == DIM_MIN ? b.hi < r.hi : b.hi > r.hi)
        r.hi = b.hi;
    return r;
}

struct dim_bound dim_bounds(const struct dim *d)
{
    switch (d->kind) {
    case DIM_INT: return (struct dim_bound) { d->value, d->value };
    case DIM_SYM: return *d->bound;
    case DIM_GE:
    case DIM_EQ: return (struct dim_bound) { 0, 1 };
    case DIM_POISON: return (struct dim_bound) { LO, HI };
    default: break;
    }
    int64_t start = d->kind == DIM_ADD ? d->value : d->kind == DIM_MUL;
    struct dim_bound r = { start, start };
    for (unsigned i = 0; i < d->n; i++)
        r = bounds_join(d, i, r);
    return r;
}

/* ---- search ---- */

struct search {
    const struct dims *ds;
    int budget;
};

static bool search_ge0(struct search *s, const struct lin *l, int depth);

/* The largest of a modulo q. */
static int64_t rest_most(const struct dim *a, int64_t q)
{
    struct lin l;
    int64_t g = q, c;
    lin_init(&l, a);
    const int64_t rest = lin_rest(&l, &g);
    if (l.bad || __builtin_add_overflow(l.c, rest, &c))
        return q - 1;
    c %= g;
    return q - g + (c < 0 ? c + g : c);
}

/* q * floor(a / q) lies in a - (a modulo q) .. a. As l is an integer, m * l > -m is enough. */
static bool search_floor(struct search *s, const struct lin *l, unsigned i, int depth)
{
    const struct dim *f = l->t[i];
    int64_t k = l->k[i], m = f->value / gcd_i64(k, f->value), slack;
    struct lin r = *l;
    lin_remove(&r, i);
    lin_scale(&r, m);
    if (__builtin_mul_overflow(k, m, &k))
        return false;
    k /= f->value;
    lin_add(&r, k, f->arg[0]);
    if (k > 0 && __builtin_mul_overflow(k, rest_most(f->arg[0], f->value), &slack))
        return false;
    if (k > 0 && __builtin_sub_overflow(r.c, slack, &r.c))
        return false;
    if (__builtin_add_overflow(r.c, m - 1, &r.c))
        return false;
    return !r.bad && search_ge0(s, &r, depth + 1);
}

/* +min and -max: every case must hold; -min and +max: one is enough. */
static bool search_cases(struct search *s, const struct lin *l, unsigned i, int depth)
{
    const struct dim *f = l->t[i];
    bool all = (f->kind == DIM_MIN) == (l->k[i] > 0);
    for (unsigned j = 0; j < f->n; j++) {
        struct lin r = *l;
        lin_remove(&r, i);
        lin_add(&r, l->k[i], f->arg[j]);
        if ((!r.bad && search_ge0(s, &r, depth + 1)) != all)
            return !all;
    }
    return all;
}

/* With f >= 0: a*l - b*f >= 0 proves l >= 0; a and b make their first common term vanish. */
static bool search_fact(struct search *s, const struct lin *l, const struct dim *fact, int depth)
{
    struct lin f;
    lin_init(&f, fact);
    for (unsigned i = 0; i < l->n; i++)
        for (unsigned j = 0; j < f.n; j++) {
            if (l->t[i] != f.t[j] || (l->k[i] > 0) != (f.k[j] > 0))
                continue;
            int64_t g = gcd_i64(l->k[i], f.k[j]), a = f.k[j] / g, b = l->k[i] / g;
            struct lin r = *l;
            lin_scale(&r, a < 0 ? -a : a);
            lin_add(&r, b < 0 ? b : -b, fact);
            if (!r.bad && search_ge0(s, &r, depth + 1))
                return true;
        }
    return false;
}

static bool search_ge0(struct search *s, const struct lin *l, int depth)
{
    if (bounds_of_lin(l).lo >= 0)
        return true;
    if (depth >= 8 || s->budget-- <= 0)
        return false;
    for (unsigned i = 0; i < l->n; i++)
        if (l->t[i]->kind == DIM_MIN || l->t[i]->kind == DIM_MAX)
            return search_cases(s, l, i, depth);
    for (unsigned i = 0; i < l->n; i++)
        if (l->t[i]->kind == DIM_DIV && search_floor(s, l, i, depth))
            return true;
    for (unsigned i = 0; i < s->ds->n_facts; i++)
        if (search_fact(s, l, s->ds->fact[i], depth))
            return true;
    return false;
}

/* As a fact says, and more: whatever the search would spend on others. */
static bool is_fact(const struct dims *ds, const struct lin *l)
{
    for (unsigned i = 0; i < ds->n_facts; i++) {
        struct lin more = *l;
        lin_add(&more, -1, ds->fact[i]);
        if (!more.bad && more.n == 0 && more.c >= 0)
            return true;
    }
    return false;
}

bool lin_proves_ge0(const struct dims *ds, const struct lin *l, int budget)
{
    struct search s = { ds, budget };
    return !l->bad && (search_ge0(&s, l, 0) || is_fact(ds, l));
}

bool dim_proves_ge(const struct dims *ds, const struct dim *a, const struct dim *b, int budget)
{
    struct lin l;
    lin_init(&l, a);
    lin_add(&l, -1, b);
    return lin_proves_ge0(ds, &l, budget);
}
