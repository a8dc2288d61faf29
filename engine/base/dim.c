/* SPDX-License-Identifier: MIT */
#include "engine/base/dim_impl.h"

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

const struct dim *dims_fail(struct dims *ds, rill_status s, const char *what)
{
    if (ds->err.status == RILL_OK)
        err_set(&ds->err, s, "dimension expression: %s", what);
    return ds->poison;
}

/* ---- interning ---- */

static uint32_t hash_mix(uint32_t h, uint64_t v)
{
    uint64_t x = (h ^ v) * UINT64_C(0x9e3779b97f4a7c15);
    return (uint32_t) (x ^ x >> 32);
}

static uint32_t hash_of(const struct dim *d)
{
    uint32_t h = hash_mix(hash_mix((uint32_t) d->kind, (uint64_t) d->value), d->n);
    for (unsigned i = 0; i < d->n; i++) {
        h = hash_mix(h, d->arg[i]->hash);
        if (d->coef)
            h = hash_mix(h, (uint64_t) d->coef[i]);
    }
    for (const char *s = d->name; s && *s; s++)
        h = hash_mix(h, (unsigned char) *s);
    return h;
}

static bool node_same(const struct dim *a, const struct dim *b)
{
    if (a->hash != b->hash || a->kind != b->kind || a->value != b->value || a->n != b->n)
        return false;
    if (a->kind == DIM_SYM)
        return !strcmp(a->name, b->name);
    for (unsigned i = 0; i < a->n; i++)
        if (a->arg[i] != b->arg[i] || (a->coef && a->coef[i] != b->coef[i]))
            return false;
    return true;
}

static bool slots_grow(struct dims *ds)
{
    size_t n = ds->n_slots * 2;
    struct dim **slot = calloc(n, sizeof *slot);
    if (!slot)
        return false;
    for (size_t i = 0; i < ds->n_slots; i++) {
        if (!ds->slot[i])
            continue;
        size_t at = ds->slot[i]->hash & (n - 1);
        while (slot[at])
            at = (at + 1) & (n - 1);
        slot[at] = ds->slot[i];
    }
    free(ds->slot);
    ds->slot = slot;
    ds->n_slots = n;
    return true;
}

static struct dim *node_copy(struct dims *ds, const struct dim *proto)
{
    struct dim *d = arena_copy(&ds->arena, proto, sizeof *proto);
    if (!d)
        return NULL;
    if (proto->n)
        d->arg = arena_copy(&ds->arena, proto->arg, proto->n * sizeof *proto->arg);
    if (proto->coef)
        d->coef = arena_copy(&ds->arena, proto->coef, proto->n * sizeof *proto->coef);
    if (proto->kind == DIM_SYM) {
        d->name = arena_string(&ds->arena, proto->name);
        d->bound = arena_new(&ds->arena, struct dim_bound);
        if (!d->name || !d->bound)
            return NULL;
        *d->bound = (struct dim_bound) { INT64_MIN, INT64_MAX };
        d->older = ds->newest;
        ds->newest = d;
    }
    return (proto->n && !d->arg) || (proto->coef && !d->coef) ? NULL : d;
}

/* Sets size and depth; false when the expression is over a limit. */
static bool node_measure(struct dim *d)
{
    d->nodes = 1;
    d->depth = 1;
    for (unsigned i = 0; i < d->n; i++) {
        d->nodes += d->arg[i]->nodes;
        if (d->depth <= d->arg[i]->depth)
            d->depth = d->arg[i]->depth + 1;
    }
    return d->nodes <= DIM_NODES_MAX && d->depth <= DIM_DEPTH_MAX;
}

const struct dim *dim_intern(struct dims *ds, const struct dim *proto)
{
    struct dim key = *proto;
    key.hash = hash_of(&key);
    size_t at = key.hash & (ds->n_slots - 1);
    for (; ds->slot[at]; at = (at + 1) & (ds->n_slots - 1))
        if (node_same(ds->slot[at], &key))
            return ds->slot[at];
    if (!node_measure(&key))
        return dims_fail(ds, RILL_LIMIT, "it is too large to work with (1000 terms or 40 levels)");
    struct dim *d = node_copy(ds, &key);
    if (!d)
        return dims_fail(ds, RILL_LIMIT, "no memory left for more of them");
    ds->slot[at] = d;
    if (++ds->n_used * 2 > ds->n_slots && !slots_grow(ds) && ds->n_used + 1 >= ds->n_slots)
        return dims_fail(ds, RILL_NOMEM, "out of memory");
    return d;
}

int dim_order(const struct dim *a, const struct dim *b)
{
    if (a == b)
        return 0;
    if (a->kind != b->kind)
        return a->kind < b->kind ? -1 : 1;
    if (a->kind == DIM_SYM)
        return strcmp(a->name, b->name);
    for (unsigned i = 0; i < a->n && i < b->n; i++) {
        int o = dim_order(a->arg[i], b->arg[i]);
        if (o)
            return o;
        if (a->coef && a->coef[i] != b->coef[i])
            return a->coef[i] < b->coef[i] ? -1 : 1;
    }
    if (a->n != b->n)
        return a->n < b->n ? -1 : 1;
    return a->value < b->value ? -1 : a->value > b->value;
}

/* ---- leaves ---- */

const struct dim *dim_int(struct dims *ds, int64_t value)
{
    return dim_intern(ds, &(struct dim) { .kind = DIM_INT, .value = value });
}

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

bool dim_is_const(const struct dim *d)
{
    return d && d->kind == DIM_INT;
}

int64_t dim_value(const struct dim *d)
{
    return dim_is_const(d) ? d->value : 0;
}

bool dim_is(const struct dim *d, int64_t value)
{
    return dim_is_const(d) && d->value == value;
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

/* ---- value ---- */

bool floor_div_checked(int64_t a, int64_t q, int64_t *ret)
{
    if (q <= 0)
        return false;
    *ret = a / q - (a % q < 0);
    return true;
}

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

static bool ratio_add(int64_t *num, int64_t *den, int64_t n, int64_t d)
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
            !ratio_add(num, den, n, q))
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
    return subst_join(ds, d, arg);
}
