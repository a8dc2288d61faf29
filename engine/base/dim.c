/* SPDX-License-Identifier: MIT */
#include "engine/base/dim_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- scope ---- */

struct dims *dims_new(void)
{
    struct dims *ds = calloc(1, sizeof *ds);
    if (!ds)
        return NULL;
    ds->arena.limit_bytes = DIM_SCOPE_MAX_BYTES;
    ds->n_slots = 256;
    ds->slot = calloc(ds->n_slots, sizeof *ds->slot);
    struct dim *poison = arena_new(&ds->arena, struct dim);
    if (!ds->slot || !poison)
        return dims_free(ds);
    ds->poison = poison;
    return ds;
}

void dims_set_owner(struct dims *ds, struct arena *owner)
{
    ds->arena.owner = owner;
}

struct dims *dims_free(struct dims *ds)
{
    if (!ds)
        return NULL;
    arena_drop(&ds->arena);
    free(ds->slot);
    free(ds->fact);
    free(ds);
    return NULL;
}

rill_status dims_status(const struct dims *ds, rill_error *reterr)
{
    if (ds->err.status != RILL_OK && reterr)
        *reterr = ds->err;
    return ds->err.status;
}

rill_status dims_status_at(const struct dims *ds, const char *wire, rill_error *reterr)
{
    const rill_status s = dims_status(ds, reterr);
    return s == RILL_OK || ds->failed_of_node ? s : err_prefix(reterr, s, "'%.80s'", wire);
}

rill_status dims_status_of(const struct dims *ds, const char *node, const char *op,
                           rill_error *reterr)
{
    const rill_status s = dims_status(ds, reterr);
    return s == RILL_OK || ds->failed_of_node
        ? s
        : err_prefix(reterr, s, "node '%.80s' (%.40s)", node, op);
}

/* ---- leaves ---- */

const struct dim *dim_symbol(struct dims *ds, const char *name)
{
    if (!name[0])
        return dims_fail(ds, RILL_INVALID, "a symbol needs a name");
    return dim_intern(ds, &(struct dim) { .kind = DIM_SYM, .name = name });
}

const struct dim *dims_newest_symbol(const struct dims *ds)
{
    return ds->newest;
}

const struct dim *dim_older_symbol(const struct dim *symbol)
{
    return symbol->older;
}

const struct dim *dim_fresh(struct dims *ds)
{
    for (;;) {
        char name[16];
        snprintf(name, sizeof name, "?%u", ds->n_fresh++);
        size_t before = ds->n_used;
        const struct dim *d = dim_symbol(ds, name);
        if (dim_is_bad(d) || ds->n_used != before)
            return d;
    }
}

/* ---- questions ---- */

int64_t dim_value(const struct dim *d)
{
    return dim_is_const(d) ? d->value : 0;
}

bool dim_mentions(const struct dim *d, const struct dim *symbol)
{
    if (!d || d == symbol)
        return d != NULL;
    for (unsigned i = 0; i < d->n; i++)
        if (dim_mentions(d->arg[i], symbol))
            return true;
    return false;
}

bool dim_has_symbol(const struct dim *d)
{
    if (!d || d->kind == DIM_SYM)
        return d != NULL;
    for (unsigned i = 0; i < d->n; i++)
        if (dim_has_symbol(d->arg[i]))
            return true;
    return false;
}

unsigned dim_symbols(const struct dim *d, const struct dim **list, unsigned n, unsigned cap)
{
    if (!d)
        return n;
    for (unsigned i = 0; i < d->n; i++)
        n = dim_symbols(d->arg[i], list, n, cap);
    if (d->kind != DIM_SYM || n == cap)
        return n;
    for (unsigned i = 0; i < n; i++)
        if (list[i] == d)
            return n;
    list[n] = d;
    return n + 1;
}

const char *dim_name(const struct dim *d)
{
    return d && d->kind == DIM_SYM ? d->name : NULL;
}

struct dim_parts dim_parts(const struct dim *d)
{
    static const enum dim_form form[] = {
        [DIM_INT] = DIM_FORM_INT,     [DIM_SYM] = DIM_FORM_SYMBOL,
        [DIM_MUL] = DIM_FORM_PRODUCT, [DIM_DIV] = DIM_FORM_QUOTIENT,
        [DIM_ADD] = DIM_FORM_SUM,     [DIM_MIN] = DIM_FORM_LEAST,
        [DIM_MAX] = DIM_FORM_MOST,    [DIM_GE] = DIM_FORM_AT_LEAST,
        [DIM_EQ] = DIM_FORM_EQUAL,    [DIM_BROADCAST] = DIM_FORM_BROADCAST
    };
    if (dim_is_bad(d) || d->kind >= sizeof form / sizeof *form)
        return (struct dim_parts) { .form = DIM_FORM_OTHER };
    return (struct dim_parts) { form[d->kind], d->value, d->n, d->arg, d->coef };
}

/* ---- value ---- */

/* Takes x into the value *acc of the operands before it. */
static bool eval_join(const struct dim *d, unsigned i, int64_t x, int64_t *acc)
{
    int64_t kx;
    switch (d->kind) {
    case DIM_ADD:
        return !__builtin_mul_overflow(d->coef[i], x, &kx) &&
            !__builtin_add_overflow(*acc, kx, acc);
    case DIM_MUL: return !__builtin_mul_overflow(*acc, x, acc);
    case DIM_DIV: return floor_div_checked(x, d->value, acc);
    case DIM_MIN: *acc = i && *acc < x ? *acc : x; return true;
    case DIM_MAX: *acc = i && *acc > x ? *acc : x; return true;
    case DIM_BROADCAST:
        if (i && *acc != 1 && x != 1 && *acc != x)
            return false;
        *acc = i && x == 1 ? *acc : x;
        return true;
    case DIM_GE: *acc = i ? *acc >= x : x; return true;
    case DIM_EQ: *acc = i ? *acc == x : x; return true;
    default: return false;
    }
}

bool dim_eval(const struct dim *d, const struct dim *symbol, int64_t v, int64_t *ret)
{
    if (dim_is_bad(d))
        return false;
    if (d == symbol || d->kind == DIM_INT) {
        *ret = d == symbol ? v : d->value;
        return true;
    }
    if (d->kind == DIM_SYM)
        return false;
    int64_t acc = d->kind == DIM_ADD ? d->value : d->kind == DIM_MUL;
    for (unsigned i = 0; i < d->n; i++) {
        int64_t x;
        if (!dim_eval(d->arg[i], symbol, v, &x) || !eval_join(d, i, x, &acc))
            return false;
    }
    *ret = acc;
    return true;
}

bool dims_allow(const struct dims *ds, const struct dim *symbol, int64_t v)
{
    int64_t least;
    if (v < symbol->bound->lo || v > symbol->bound->hi)
        return false;
    for (unsigned i = 0; i < ds->n_facts; i++)
        if (dim_eval(ds->fact[i], symbol, v, &least) && least < 0)
            return false;
    return true;
}

/* ---- slope ---- */

static bool slope_add(int64_t *num, int64_t *den, int64_t n, int64_t d)
{
    int64_t g = gcd_i64(*den, d), a, b, m;
    if (__builtin_mul_overflow(*num, d / g, &a) || __builtin_mul_overflow(n, *den / g, &b) ||
        __builtin_add_overflow(a, b, &a) || __builtin_mul_overflow(*den, d / g, &m))
        return false;
    g = gcd_i64(a, m);
    *num = a / g;
    *den = m / g;
    return true;
}

static bool slope_of_sum(const struct dim *d, const struct dim *symbol, int64_t *num, int64_t *den)
{
    *num = 0;
    *den = 1;
    for (unsigned i = 0; i < d->n; i++) {
        int64_t n, q;
        if (!dim_slope(d->arg[i], symbol, &n, &q) || __builtin_mul_overflow(n, d->coef[i], &n) ||
            !slope_add(num, den, n, q))
            return false;
    }
    return true;
}

static bool slope_of_div(const struct dim *d, const struct dim *symbol, int64_t *num, int64_t *den)
{
    if (!dim_slope(d->arg[0], symbol, num, den))
        return false;
    int64_t g = gcd_i64(*num, d->value);
    *num /= g;
    return !__builtin_mul_overflow(*den, d->value / g, den);
}

/* All operands grow alike. */
static bool slope_of_alike(const struct dim *d, const struct dim *symbol, int64_t *num,
                           int64_t *den)
{
    for (unsigned i = 0; i < d->n; i++) {
        int64_t n, q;
        if (!dim_slope(d->arg[i], symbol, &n, &q) || (i && (n != *num || q != *den)))
            return false;
        *num = n;
        *den = q;
    }
    return true;
}

bool dim_slope(const struct dim *d, const struct dim *symbol, int64_t *ret_num, int64_t *ret_den)
{
    if (dim_is_bad(d))
        return false;
    *ret_num = d == symbol;
    *ret_den = 1;
    if (d == symbol || !dim_mentions(d, symbol))
        return true;
    switch (d->kind) {
    case DIM_ADD: return slope_of_sum(d, symbol, ret_num, ret_den);
    case DIM_DIV: return slope_of_div(d, symbol, ret_num, ret_den);
    case DIM_MIN:
    case DIM_MAX:
    case DIM_BROADCAST: return slope_of_alike(d, symbol, ret_num, ret_den);
    default: return false;
    }
}

/* ---- ratio ---- */

/* What a grows by, over what b grows by, per unit of a symbol. */
static bool ratio_guess(const struct dim *a, const struct dim *b, const struct dim *symbol,
                        int64_t *ret)
{
    int64_t an, ad, bn, bd, num, den;
    if (!dim_slope(a, symbol, &an, &ad) || !dim_slope(b, symbol, &bn, &bd) ||
        __builtin_mul_overflow(an, bd, &num) || __builtin_mul_overflow(ad, bn, &den) || den == 0 ||
        (den == -1 && num == INT64_MIN) || num % den)
        return false;
    *ret = num / den;
    return true;
}

bool dim_ratio(struct dims *ds, const struct dim *a, const struct dim *b, int64_t *ret)
{
    const struct dim *symbol;
    struct lin all = { 0 };
    if (dim_is_bad(a) || dim_is_bad(b) || !dim_symbols(b, &symbol, 0, 1))
        return false;
    a = dim_refresh(ds, a);
    b = dim_refresh(ds, b);
    if (dim_is_bad(a) || dim_is_bad(b) || !ratio_guess(a, b, symbol, ret))
        return false;
    lin_add(&all, *ret, b);
    return !all.bad && dim_from_lin(ds, &all) == a;
}

/* ---- substitution ---- */

static const struct dim *subst_sum(struct dims *ds, const struct dim *d, const struct dim *symbol,
                                   const struct dim *to)
{
    struct lin l = { .c = d->value };
    for (unsigned i = 0; i < d->n; i++) {
        const struct dim *t = dim_subst(ds, d->arg[i], symbol, to);
        if (dim_is_bad(t))
            return ds->poison;
        lin_add(&l, d->coef[i], t);
    }
    return dim_from_lin(ds, &l);
}

static const struct dim *subst_join(struct dims *ds, const struct dim *d,
                                    const struct dim *const *arg)
{
    const struct dim *p = arg[0];
    switch (d->kind) {
    case DIM_MUL:
        for (unsigned i = 1; i < d->n; i++)
            p = dim_mul(ds, p, arg[i]);
        return p;
    case DIM_DIV: return dim_div_int(ds, p, d->value);
    case DIM_GE: return dim_ge(ds, p, arg[1]);
    case DIM_EQ: return dim_eq(ds, p, arg[1]);
    default: return dim_lattice(ds, d->kind, arg, d->n);
    }
}

static const struct dim *symbol_in(const struct dim *d)
{
    const struct dim *s = d->kind == DIM_SYM ? d : NULL;
    for (unsigned i = 0; !s && i < d->n; i++)
        s = symbol_in(d->arg[i]);
    return s;
}

const struct dim *dim_refresh(struct dims *ds, const struct dim *d)
{
    const struct dim *s = dim_is_bad(d) ? NULL : symbol_in(d);
    return s ? dim_subst(ds, d, s, s) : d;
}

void dim_blame(struct dims *ds, const struct dim *d, const char *who)
{
    if (!dim_is_blamed(d))
        d->by[0] = arena_string(&ds->arena, who);
}

bool dim_is_blamed(const struct dim *d)
{
    return dim_is_bad(d) || d->kind != DIM_BROADCAST || d->by[0];
}

/* What replaces a broadcast is of the node that it was of. */
static const struct dim *subst_broadcast(struct dims *ds, const struct dim *d,
                                         const struct dim *const *arg)
{
    const char *before = ds->broadcast_by;
    ds->broadcast_by = d->by[0];
    const struct dim *ret = dim_lattice(ds, DIM_BROADCAST, arg, d->n);
    ds->broadcast_by = before;
    return ret;
}

const struct dim *dim_subst(struct dims *ds, const struct dim *d, const struct dim *symbol,
                            const struct dim *to)
{
    if (dim_is_bad(d) || dim_is_bad(to))
        return ds->poison;
    if (d == symbol || !dim_mentions(d, symbol))
        return d == symbol ? to : d;
    if (d->kind == DIM_ADD)
        return subst_sum(ds, d, symbol, to);
    const struct dim *arg[DIM_TERMS_MAX] = { NULL };
    for (unsigned i = 0; i < d->n; i++)
        arg[i] = dim_subst(ds, d->arg[i], symbol, to);
    return d->kind == DIM_BROADCAST ? subst_broadcast(ds, d, arg) : subst_join(ds, d, arg);
}

/* Whether `one` is 1, or 0 where n is 0, too: the last frame of a sequence, cut out of it, and
 * copies of it of which an empty one has none. */
static bool one_unless_none(struct dims *ds, const struct dim *one, const struct dim *n)
{
    const struct dim_parts x = dim_parts(one);
    for (unsigned i = 0; x.form == DIM_FORM_LEAST && x.n == 2 && i < 2; i++)
        if (dim_is(x.arg[i], 1) && dim_parts(x.arg[1 - i]).form == DIM_FORM_SYMBOL &&
            dim_mentions(n, x.arg[1 - i]))
            return dim_is(dim_subst(ds, n, x.arg[1 - i], dim_int(ds, 0)), 0);
    return false;
}

/* Whether `most` is n, or 1 where n is 0: the last frame was cut off, and one put in front. */
static bool one_at_least(const struct dim *most, const struct dim *n)
{
    const struct dim_parts x = dim_parts(most);
    return x.form == DIM_FORM_MOST && x.n == 2 &&
        ((dim_is(x.arg[0], 1) && x.arg[1] == n) || (dim_is(x.arg[1], 1) && x.arg[0] == n));
}

const struct dim *dim_broadcast(struct dims *ds, const struct dim *a, const struct dim *b)
{
    if (a != b && !dim_is_bad(a) && !dim_is_bad(b)) {
        a = dim_refresh(ds, a);
        b = dim_refresh(ds, b);
        if (one_unless_none(ds, a, b) || one_at_least(a, b))
            return b;
        if (one_unless_none(ds, b, a) || one_at_least(b, a))
            return a;
    }
    return dim_lattice(ds, DIM_BROADCAST, (const struct dim *const[]) { a, b }, 2);
}
