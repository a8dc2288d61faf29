/* SPDX-License-Identifier: MIT */
/* What the makers of expressions stand on: nodes that are interned, their order, and sums while
 * they are worked on. Nothing here simplifies. */
#include "engine/base/dim_internal.h"

#include <stdlib.h>
#include <string.h>

const struct dim *dims_fail(struct dims *ds, rill_status s, const char *what)
{
    if (ds->err.status == RILL_OK)
        err_set(&ds->err, s, "dimension expression: %s", what);
    if (s == RILL_NOMEM && !ds->arena.at_limit)
        arena_run_out(&ds->arena);
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
        d->rest = arena_new(&ds->arena, struct dim_rest);
        if (!d->name || !d->bound || !d->rest)
            return NULL;
        *d->rest = (struct dim_rest) { 1, 0 };
        *d->bound = (struct dim_bound) { INT64_MIN, INT64_MAX };
        d->older = ds->newest;
        ds->newest = d;
    }
    if (proto->kind == DIM_SYM || proto->kind == DIM_BROADCAST) {
        d->by = arena_array(&ds->arena, const char *, 2);
        if (!d->by)
            return NULL;
        d->by[0] = ds->broadcast_by; /* NULL of a symbol */
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
        return dims_fail(ds, RILL_LIMIT,
                         "it is too large to work with (2000 terms or 40 levels); a least length "
                         "that is asserted makes it smaller");
    struct dim *d = node_copy(ds, &key);
    if (!d && ds->arena.at_limit)
        return dims_fail(ds, RILL_LIMIT, "no memory left for more of them");
    if (!d)
        return dims_fail(ds, RILL_NOMEM, "out of memory");
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

bool dim_is_const(const struct dim *d)
{
    return d && d->kind == DIM_INT;
}

bool dim_is(const struct dim *d, int64_t value)
{
    return dim_is_const(d) && d->value == value;
}

/* ---- numbers ---- */

bool floor_div_checked(int64_t a, int64_t q, int64_t *ret)
{
    if (q <= 0)
        return false;
    *ret = a / q - (a % q < 0);
    return true;
}

int64_t gcd_i64(int64_t a, int64_t b)
{
    if (a == INT64_MIN || b == INT64_MIN)
        return 1;
    a = a < 0 ? -a : a;
    b = b < 0 ? -b : b;
    while (b) {
        int64_t r = a % b;
        a = b;
        b = r;
    }
    return a ? a : 1;
}

/* ---- sums ---- */

static void lin_insert(struct lin *l, unsigned at, int64_t k, const struct dim *t)
{
    if (l->n == DIM_TERMS_MAX) {
        l->bad = true;
        return;
    }
    for (unsigned i = l->n++; i > at; i--) {
        l->k[i] = l->k[i - 1];
        l->t[i] = l->t[i - 1];
    }
    l->k[at] = k;
    l->t[at] = t;
}

void lin_remove(struct lin *l, unsigned at)
{
    l->n--;
    for (unsigned i = at; i < l->n; i++) {
        l->k[i] = l->k[i + 1];
        l->t[i] = l->t[i + 1];
    }
}

/* l += k * t, where t is a term. */
static void lin_add_term(struct lin *l, int64_t k, const struct dim *t)
{
    unsigned at = 0;
    int order = 1;
    while (at < l->n && (order = dim_order(l->t[at], t)) < 0)
        at++;
    if (at == l->n || order)
        lin_insert(l, at, k, t);
    else if (__builtin_add_overflow(l->k[at], k, &l->k[at]))
        l->bad = true;
    else if (l->k[at] == 0)
        lin_remove(l, at);
}

void lin_add(struct lin *l, int64_t k, const struct dim *d)
{
    if (k == 0)
        return;
    if (d->kind != DIM_INT && d->kind != DIM_ADD) {
        lin_add_term(l, k, d);
        return;
    }
    int64_t c;
    l->bad |= __builtin_mul_overflow(k, d->value, &c) || __builtin_add_overflow(l->c, c, &l->c);
    for (unsigned i = 0; i < d->n && !l->bad; i++) {
        l->bad |= __builtin_mul_overflow(k, d->coef[i], &c);
        if (!l->bad)
            lin_add_term(l, c, d->arg[i]);
    }
}

void lin_init(struct lin *l, const struct dim *d)
{
    l->c = 0;
    l->n = 0;
    l->bad = false;
    lin_add(l, 1, d);
}

int64_t lin_rest(const struct lin *l, int64_t *q)
{
    int64_t sum = 0;
    for (unsigned i = 0; i < l->n; i++) {
        const struct dim_rest r = dim_rest_of(l->t[i]);
        int64_t all, over;
        const bool fits = !__builtin_mul_overflow(l->k[i], r.of, &all) &&
            !__builtin_mul_overflow(l->k[i], r.rest, &over) &&
            !__builtin_add_overflow(sum, over, &over);
        *q = gcd_i64(*q, fits ? all : l->k[i]);
        sum = fits ? over : sum;
    }
    sum %= *q;
    return sum < 0 ? sum + *q : sum;
}

void lin_scale(struct lin *l, int64_t k)
{
    l->bad |= __builtin_mul_overflow(l->c, k, &l->c);
    for (unsigned i = 0; i < l->n; i++)
        l->bad |= __builtin_mul_overflow(l->k[i], k, &l->k[i]);
}
