/* SPDX-License-Identifier: MIT */
#include "engine/base/dim_even.h"
#include "engine/base/dim_internal.h"

#define VALUES_MAX ((int64_t) 1 << 18) /* that are looked at one by one */
#define LOOKS_MAX ((int64_t) 1 << 25)  /* of those, times the nodes that are evaluated */

/* Expressions that have a period together. */
struct group {
    const struct dim *symbol;
    int64_t from, period;
    int64_t *left; /* of LOOKS_MAX */
};

static bool even_find(const struct dim *d, const struct group *of, struct dim_even *ret);

static bool may_look(const struct group *g, const struct dim *d)
{
    return (*g->left -= (int64_t) d->nodes * g->period) >= 0;
}

static bool group_limit(const struct group *g)
{
    return g->period >= 1 && g->period <= VALUES_MAX && g->from <= VALUES_MAX;
}

/* The period becomes a multiple of that, too. */
static bool group_period(struct group *g, int64_t period)
{
    return !__builtin_mul_overflow(g->period / gcd_i64(g->period, period), period, &g->period) &&
        group_limit(g);
}

static bool group_take(struct group *g, const struct dim_even *e)
{
    g->from = e->from > g->from ? e->from : g->from;
    return group_period(g, e->period);
}

static bool rise_within(const struct group *g, const struct dim_even *e, int64_t *ret)
{
    return !__builtin_mul_overflow(e->rise, g->period / e->period, ret);
}

/* Moves the start to where a - b, which grows by `rise` every period, is past the margin. */
static bool group_settle(struct group *g, const struct dim *a, const struct dim *b, int64_t rise,
                         int64_t margin)
{
    int64_t most = 0, x, y;
    if (rise != 0 && (!may_look(g, a) || !may_look(g, b)))
        return false;
    for (int64_t i = 0; rise != 0 && i < g->period; i++) {
        int64_t apart, missing;
        if (!dim_eval(a, g->symbol, g->from + i, &x) || !dim_eval(b, g->symbol, g->from + i, &y))
            continue;
        if (__builtin_sub_overflow(rise > 0 ? x : y, rise > 0 ? y : x, &apart) ||
            __builtin_sub_overflow(margin, apart, &missing))
            return false;
        int64_t by = rise > 0 ? rise : -rise, periods = missing < 0 ? 0 : missing / by + 1;
        most = periods > most ? periods : most;
    }
    int64_t on;
    return !__builtin_mul_overflow(most, g->period, &on) && on <= VALUES_MAX &&
        (g->from += on, group_limit(g));
}

/* Of two operands as they are, with rises in the group's period. */
static bool group_part(struct group *g, const struct dim *a, const struct dim_even *ea,
                       const struct dim *b, const struct dim_even *eb, int64_t margin)
{
    int64_t ra, rb, rise;
    return rise_within(g, ea, &ra) && rise_within(g, eb, &rb) &&
        !__builtin_sub_overflow(ra, rb, &rise) && group_settle(g, a, b, rise, margin);
}

/* ---- by the kind of expression ---- */

static bool even_args(const struct dim *d, struct group *g, struct dim_even *arg)
{
    for (unsigned i = 0; i < d->n; i++)
        if (!even_find(d->arg[i], g, &arg[i]) || !group_take(g, &arg[i]))
            return false;
    return true;
}

static bool even_sum(const struct dim *d, const struct group *g, const struct dim_even *arg,
                     int64_t *ret)
{
    *ret = 0;
    for (unsigned i = 0; i < d->n; i++) {
        int64_t rise;
        if (!rise_within(g, &arg[i], &rise) || __builtin_mul_overflow(rise, d->coef[i], &rise) ||
            __builtin_add_overflow(*ret, rise, ret))
            return false;
    }
    return true;
}

/* The product of all operands but one, if it is one number from the start on. */
static bool factor_of(const struct dim *d, const struct group *g, unsigned but, int64_t *ret)
{
    bool any = false;
    if (!may_look(g, d))
        return false;
    for (int64_t v = g->from; v < g->from + g->period; v++) {
        int64_t all = 1, x;
        bool known = true;
        for (unsigned i = 0; i < d->n && known; i++)
            known = i == but ||
                (dim_eval(d->arg[i], g->symbol, v, &x) && !__builtin_mul_overflow(all, x, &all));
        if (!known || (any && all != *ret))
            return false;
        *ret = all;
        any = true;
    }
    return any;
}

static bool even_product(const struct dim *d, const struct group *g, const struct dim_even *arg,
                         int64_t *ret)
{
    unsigned grows = d->n;
    int64_t factor = 0, rise;
    for (unsigned i = 0; i < d->n; i++) {
        if (arg[i].rise != 0 && grows < d->n)
            return false;
        grows = arg[i].rise != 0 ? i : grows;
    }
    *ret = 0;
    return grows == d->n ||
        (factor_of(d, g, grows, &factor) && rise_within(g, &arg[grows], &rise) &&
         !__builtin_mul_overflow(rise, factor, ret));
}

static bool even_quotient(const struct dim *d, struct group *g, const struct dim_even *arg,
                          int64_t *ret)
{
    int64_t rise, q = d->value;
    if (!rise_within(g, arg, &rise))
        return false;
    int64_t times = rise == 0 ? 1 : q / gcd_i64(rise, q);
    if (times > VALUES_MAX || !group_period(g, g->period * times) ||
        __builtin_mul_overflow(rise, times, &rise))
        return false;
    *ret = rise / q;
    return true;
}

/* Whose rise is the least, or the largest. */
static unsigned extreme_of(const struct dim *d, const struct group *g, const struct dim_even *arg,
                           bool least)
{
    unsigned at = 0;
    int64_t best = 0, rise;
    for (unsigned i = 0; i < d->n; i++)
        if (rise_within(g, &arg[i], &rise) && (i == 0 || (least ? rise < best : rise > best))) {
            at = i;
            best = rise;
        }
    return at;
}

static bool even_lattice(const struct dim *d, struct group *g, const struct dim_even *arg,
                         int64_t *ret)
{
    static const struct dim one = { .kind = DIM_INT, .nodes = 1, .value = 1 };
    static const struct dim_even same = { 0, 1, 0 };
    unsigned at = extreme_of(d, g, arg, d->kind == DIM_MIN);
    for (unsigned i = 0; i < d->n; i++) {
        if (!group_part(g, d->arg[i], &arg[i], d->arg[at], &arg[at], 0))
            return false;
        if (d->kind == DIM_BROADCAST && !group_part(g, d->arg[i], &arg[i], &one, &same, 0))
            return false;
    }
    return rise_within(g, &arg[at], ret);
}

static bool even_compared(const struct dim *d, struct group *g, const struct dim_even *arg,
                          int64_t *ret)
{
    *ret = 0;
    return group_part(g, d->arg[0], &arg[0], d->arg[1], &arg[1], 0);
}

static bool even_rise(const struct dim *d, struct group *g, const struct dim_even *arg,
                      int64_t *ret)
{
    switch (d->kind) {
    case DIM_ADD: return even_sum(d, g, arg, ret);
    case DIM_MUL: return even_product(d, g, arg, ret);
    case DIM_DIV: return even_quotient(d, g, arg, ret);
    case DIM_MIN:
    case DIM_MAX:
    case DIM_BROADCAST: return even_lattice(d, g, arg, ret);
    case DIM_GE:
    case DIM_EQ: return even_compared(d, g, arg, ret);
    default: return false;
    }
}

static bool even_find(const struct dim *d, const struct group *of, struct dim_even *ret)
{
    struct group g = { of->symbol, 0, 1, of->left };
    struct dim_even arg[DIM_TERMS_MAX], y;
    if (dim_is_bad(d))
        return false;
    if (d == g.symbol || d->kind == DIM_INT) {
        *ret = (struct dim_even) { 0, 1, d == g.symbol };
        return true;
    }
    if (d->kind == DIM_SYM || !even_args(d, &g, arg) || !even_rise(d, &g, arg, &y.rise))
        return false;
    y.from = g.from;
    y.period = g.period;
    *ret = y;
    return true;
}

bool dim_even(const struct dim *d, const struct dim *symbol, struct dim_even *ret)
{
    int64_t left = LOOKS_MAX;
    return even_find(d, &(struct group) { symbol, 0, 1, &left }, ret);
}

/* ---- several at once ---- */

/* What dims_allow looks at. */
static bool facts_take(const struct dims *ds, struct group *g)
{
    static const struct dim zero = { .kind = DIM_INT, .nodes = 1 };
    static const struct dim_even same = { 0, 1, 0 };
    const struct dim_bound *b = g->symbol->bound;
    if (b && b->hi < VALUES_MAX && b->hi >= g->from)
        g->from = b->hi + 1;
    if (b && b->lo > g->from)
        g->from = b->lo;
    for (unsigned i = 0; i < ds->n_facts; i++) {
        struct dim_even e;
        const struct dim *own[2];
        unsigned symbols = dim_symbols(ds->fact[i], own, 0, 2);
        if (symbols > 1 || (symbols == 1 && own[0] != g->symbol))
            continue;
        if (!even_find(ds->fact[i], g, &e) || !group_take(g, &e) ||
            !group_part(g, ds->fact[i], &e, &zero, &same, 0))
            return false;
    }
    return group_limit(g);
}

bool dims_even(const struct dims *ds, const struct dim *symbol, const struct dim *const *d,
               unsigned n, int64_t margin, struct dim_even *ret)
{
    int64_t left = LOOKS_MAX;
    struct group g = { symbol, 0, 1, &left };
    for (unsigned i = 0; i < n; i++)
        if (!even_find(d[i], &g, &ret[i]) || !group_take(&g, &ret[i]))
            return false;
    if (ds && !facts_take(ds, &g))
        return false;
    for (unsigned i = 0; i < n; i++)
        for (unsigned k = 0; k < i; k++)
            if (!group_part(&g, d[i], &ret[i], d[k], &ret[k], margin))
                return false;
    for (unsigned i = 0; i < n; i++) {
        if (!rise_within(&g, &ret[i], &ret[i].rise))
            return false;
        ret[i].from = g.from;
        ret[i].period = g.period;
    }
    return true;
}
