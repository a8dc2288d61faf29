/* SPDX-License-Identifier: MIT */
/* The makers: each returns the canonical form of what it is asked for. */
#include "engine/base/dim_internal.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define PROOF_BUDGET 100

/* ---- sums ---- */

static int lin_find_one_choice(const struct lin *l)
{
    int found = -1;
    for (unsigned i = 0; i < l->n; i++) {
        if (l->t[i]->kind != DIM_MIN && l->t[i]->kind != DIM_MAX)
            continue;
        if (found >= 0)
            return -1;
        found = (int) i;
    }
    return found;
}

/* c + k*min(a, b) is min(c + k*a, c + k*b), so that 1 + min(S, 1) and min(1 + S, 2) are one; a
 * negative k turns min into max. Only small sums are distributed. NULL: it stays a sum. */
static const struct dim *sum_into_choice(struct dims *ds, const struct lin *l)
{
    int at = lin_find_one_choice(l);
    if (at < 0 || l->n > 5 || l->t[at]->n > 4 || l->t[at]->nodes > 100)
        return NULL;
    const struct dim *choice = l->t[at], *arg[4];
    int64_t k = l->k[at];
    struct lin rest = *l;
    lin_remove(&rest, (unsigned) at);
    for (unsigned i = 0; i < choice->n; i++) {
        struct lin r = rest;
        lin_add(&r, k, choice->arg[i]);
        if (r.bad)
            return NULL;
        arg[i] = dim_from_lin(ds, &r);
    }
    enum dim_kind kind = (choice->kind == DIM_MIN) == (k > 0) ? DIM_MIN : DIM_MAX;
    return dim_lattice(ds, kind, arg, choice->n);
}

/* Both operands of a are those of b and the same number more, in whatever order. */
static bool operands_apart(struct dims *ds, const struct dim *a, const struct dim *b,
                           int64_t *ret_more)
{
    for (unsigned turned = 0; turned < 2; turned++) {
        const struct dim *more = dim_sub(ds, a->arg[0], b->arg[turned]);
        if (dim_is_const(more) && more == dim_sub(ds, a->arg[1], b->arg[!turned])) {
            *ret_more = more->value;
            return true;
        }
    }
    return false;
}

/* k*min(a, b) + k*max(a - c, b - c) is k*(a + b - c): a sequence that was cut in two and joined is
 * as long as it was. */
static bool lin_join_choices(struct dims *ds, struct lin *l)
{
    for (unsigned i = 0; i < l->n; i++)
        for (unsigned j = 0; l->t[i]->kind == DIM_MIN && j < l->n; j++) {
            const struct dim *least = l->t[i], *most = l->t[j];
            const int64_t k = l->k[i];
            int64_t more;
            if (most->kind != DIM_MAX || l->k[j] != k || least->n != 2 || most->n != 2 ||
                !operands_apart(ds, least, most, &more))
                continue;
            lin_remove(l, i > j ? i : j);
            lin_remove(l, i > j ? j : i);
            lin_add(l, k, least->arg[0]);
            lin_add(l, k, least->arg[1]);
            lin_add(l, -k, dim_int(ds, more));
            return true;
        }
    return false;
}

/* What an operand of a and one of b are together, each of them in one pair; NULL: not alike. */
static const struct dim *operands_together(struct dims *ds, const struct dim *a,
                                           const struct dim *b)
{
    for (unsigned turned = 0; turned < 2; turned++) {
        const struct dim *sum = dim_add(ds, a->arg[0], b->arg[turned]);
        if (sum == dim_add(ds, a->arg[1], b->arg[!turned]))
            return sum;
    }
    return NULL;
}

/* k*min(a, b) + k*max(c - a, c - b) is k*c: a sequence that was cut is filled up to whole blocks.
 */
static bool lin_fill_choices(struct dims *ds, struct lin *l)
{
    for (unsigned i = 0; i < l->n; i++)
        for (unsigned j = 0; l->t[i]->kind == DIM_MIN && l->t[i]->n == 2 && j < l->n; j++) {
            const int64_t k = l->k[i];
            const bool alike = l->t[j]->kind == DIM_MAX && l->t[j]->n == 2 && l->k[j] == k;
            const struct dim *sum = alike ? operands_together(ds, l->t[i], l->t[j]) : NULL;
            if (!sum || dim_is_bad(sum))
                continue;
            lin_remove(l, i > j ? i : j);
            lin_remove(l, i > j ? j : i);
            lin_add(l, k, sum);
            return true;
        }
    return false;
}

#define CHOICES_MAX 4

/* Each operand of a is one of b and the same number more. */
static bool choices_apart(struct dims *ds, const struct dim *a, const struct dim *b,
                          int64_t *ret_more)
{
    const struct dim *more = NULL;
    unsigned found = a->kind == b->kind && a->n == b->n && a->n <= CHOICES_MAX;
    for (unsigned first = 0; found && first < b->n; first++) {
        more = dim_sub(ds, a->arg[0], b->arg[first]);
        found = 1;
        for (unsigned i = 1; dim_is_const(more) && i < a->n; i++)
            for (unsigned j = 0; j < b->n; j++)
                found += dim_sub(ds, a->arg[i], b->arg[j]) == more;
        if (dim_is_const(more) && found == a->n) {
            *ret_more = more->value;
            return true;
        }
    }
    return false;
}

/* min(a, b) - min(a - c, b - c) is c: what is left of the longest of two sequences is compared with
 * it. */
static bool lin_cancel_choices(struct dims *ds, struct lin *l)
{
    for (unsigned i = 0; i < l->n; i++)
        for (unsigned j = i + 1; j < l->n; j++) {
            const struct dim *first = l->t[i];
            const int64_t k = l->k[j];
            int64_t more;
            if ((first->kind != DIM_MIN && first->kind != DIM_MAX) || (l->k[i] > 0) == (k > 0) ||
                !choices_apart(ds, first, l->t[j], &more))
                continue;
            lin_remove(l, j);
            lin_add(l, k, first);
            lin_add(l, -k, dim_int(ds, more));
            return true;
        }
    return false;
}

/* Takes of term i, k * floor(x/q), what q divides of k*x, for k*(x - r)/q: x is a symbol times a
 * number, which leaves r over q as the symbol is asserted to be. */
static bool lin_take_whole(struct lin *l, unsigned i)
{
    const struct dim *d = l->t[i];
    struct lin x;
    int64_t all, part, over, q = d->value;
    if (d->kind != DIM_DIV || l->k[i] == INT64_MIN)
        return false;
    lin_init(&x, d->arg[0]);
    if (x.bad || x.n != 1 || x.c || x.t[0]->kind != DIM_SYM)
        return false;
    const int64_t unit = q / gcd_i64(x.k[0], q), k = l->k[i] - l->k[i] % unit;
    if (!k || __builtin_mul_overflow(x.k[0], dim_rest_of(x.t[0]).of, &all) || all % q ||
        __builtin_mul_overflow(x.k[0], k, &part) ||
        __builtin_mul_overflow(lin_rest(&x, &q), k, &over))
        return false;
    lin_add(l, -k, d);
    lin_add(l, part / q, x.t[0]);
    l->bad |= __builtin_sub_overflow(l->c, over / q, &l->c);
    return true;
}

static bool lin_take_wholes(struct lin *l)
{
    for (unsigned i = 0; i < l->n; i++)
        if (lin_take_whole(l, i))
            return true;
    return false;
}

const struct dim *dim_from_lin(struct dims *ds, struct lin *l)
{
    while (!l->bad && lin_take_wholes(l))
        ;
    while (!l->bad &&
           (lin_join_choices(ds, l) || lin_fill_choices(ds, l) || lin_cancel_choices(ds, l)))
        ;
    if (l->bad)
        return l->n == DIM_TERMS_MAX ? dims_fail(ds, RILL_LIMIT, "a sum of more than 64 terms")
                                     : dims_fail(ds, RILL_LIMIT, "a number is over 2^63");
    if (l->n == 0)
        return dim_int(ds, l->c);
    if (l->n == 1 && l->k[0] == 1 && l->c == 0)
        return l->t[0];
    const struct dim *d = sum_into_choice(ds, l);
    if (d)
        return d;
    return dim_intern(ds,
                      &(struct dim) {
                          .kind = DIM_ADD, .value = l->c, .n = l->n, .arg = l->t, .coef = l->k });
}

static const struct dim *sum_of(struct dims *ds, const struct dim *a, int64_t k,
                                const struct dim *b)
{
    if (dim_is_bad(a) || dim_is_bad(b))
        return ds->poison;
    struct lin l;
    lin_init(&l, a);
    lin_add(&l, k, b);
    return dim_from_lin(ds, &l);
}

const struct dim *dim_add(struct dims *ds, const struct dim *a, const struct dim *b)
{
    return sum_of(ds, a, 1, b);
}

const struct dim *dim_sub(struct dims *ds, const struct dim *a, const struct dim *b)
{
    return sum_of(ds, a, -1, b);
}

const struct dim *dim_add_int(struct dims *ds, const struct dim *a, int64_t k)
{
    return sum_of(ds, a, 1, dim_int(ds, k));
}

const struct dim *dim_mul_int(struct dims *ds, const struct dim *a, int64_t k)
{
    if (dim_is_bad(a))
        return ds->poison;
    struct lin l = { .c = 0 };
    lin_add(&l, k, a);
    return dim_from_lin(ds, &l);
}

/* ---- products ---- */

static bool is_boolean(const struct dim *d)
{
    return d->kind == DIM_GE || d->kind == DIM_EQ;
}

static unsigned factors_add(const struct dim **f, unsigned n, const struct dim *t)
{
    unsigned at = n;
    while (at > 0 && dim_order(f[at - 1], t) > 0)
        at--;
    if (at > 0 && f[at - 1] == t && is_boolean(t))
        return n;
    memmove(&f[at + 1], &f[at], (n - at) * sizeof *f);
    f[at] = t;
    return n + 1;
}

/* The product of two terms (or of factors that stay sums). */
static const struct dim *product_of_terms(struct dims *ds, const struct dim *a, const struct dim *b)
{
    const struct dim *f[2 * DIM_TERMS_MAX], *both[2] = { a, b };
    unsigned n = 0;
    for (int s = 0; s < 2; s++) {
        if (both[s]->kind != DIM_MUL)
            n = factors_add(f, n, both[s]);
        for (unsigned i = 0; both[s]->kind == DIM_MUL && i < both[s]->n; i++)
            n = factors_add(f, n, both[s]->arg[i]);
    }
    if (n > DIM_TERMS_MAX)
        return dims_fail(ds, RILL_LIMIT, "a product of more than 64 factors");
    return n == 1 ? f[0] : dim_intern(ds, &(struct dim) { .kind = DIM_MUL, .n = n, .arg = f });
}

static const struct dim *product_distributed(struct dims *ds, const struct lin *a,
                                             const struct lin *b)
{
    struct lin r = { .c = 0 };
    r.bad |= __builtin_mul_overflow(a->c, b->c, &r.c);
    for (unsigned i = 0; i < a->n + b->n; i++) {
        const struct lin *l = i < a->n ? a : b, *other = i < a->n ? b : a;
        unsigned at = i < a->n ? i : i - a->n;
        int64_t k;
        if (__builtin_mul_overflow(l->k[at], other->c, &k))
            r.bad = true;
        else
            lin_add(&r, k, l->t[at]);
    }
    for (unsigned i = 0; i < a->n * b->n && !r.bad; i++) {
        int64_t k;
        const struct dim *t = product_of_terms(ds, a->t[i / b->n], b->t[i % b->n]);
        if (dim_is_bad(t))
            return ds->poison;
        r.bad |= __builtin_mul_overflow(a->k[i / b->n], b->k[i % b->n], &k);
        if (!r.bad)
            lin_add(&r, k, t);
    }
    return dim_from_lin(ds, &r);
}

const struct dim *dim_mul(struct dims *ds, const struct dim *a, const struct dim *b)
{
    if (dim_is_bad(a) || dim_is_bad(b))
        return ds->poison;
    if (dim_is_const(a) || dim_is_const(b))
        return dim_is_const(a) ? dim_mul_int(ds, b, a->value) : dim_mul_int(ds, a, b->value);
    struct lin la, lb;
    lin_init(&la, a);
    lin_init(&lb, b);
    if ((la.n + 1) * (lb.n + 1) > DIM_TERMS_MAX)
        return product_of_terms(ds, a, b);
    return product_distributed(ds, &la, &lb);
}

/* ---- floor division ---- */

/* Moves the multiples of q out of l into ret_whole: (q*X + r)/q = X + r/q. Coefficients keep their
 * sign, the constant is left in 0..q-1. */
static void div_split(struct lin *l, int64_t q, struct lin *ret_whole)
{
    int64_t whole;
    floor_div_checked(l->c, q, &whole);
    *ret_whole = (struct lin) { .c = whole };
    l->c -= whole * q;
    for (unsigned i = 0; i < l->n;) {
        lin_add(ret_whole, l->k[i] / q, l->t[i]);
        l->k[i] %= q;
        if (l->k[i])
            i++;
        else
            lin_remove(l, i);
    }
}

/* (floor(b/p) + Y)/q = (b + p*Y)/(p*q). False when there is no such term or the numbers get too
 * large. */
static bool div_cascade(struct lin *l, int64_t *q)
{
    for (unsigned i = 0; i < l->n; i++) {
        const struct dim *t = l->t[i];
        int64_t pq;
        if (t->kind != DIM_DIV || l->k[i] != 1 || __builtin_mul_overflow(t->value, *q, &pq))
            continue;
        struct lin r = *l;
        lin_remove(&r, i);
        lin_scale(&r, t->value);
        lin_add(&r, 1, t->arg[0]);
        if (r.bad)
            continue;
        *l = r;
        *q = pq;
        return true;
    }
    return false;
}

/* (g*Y + c)/(g*q) = (Y + floor(c/g))/q. */
static void div_cancel(struct lin *l, int64_t *q)
{
    int64_t g = *q;
    for (unsigned i = 0; i < l->n; i++)
        g = gcd_i64(g, l->k[i]);
    *q /= g;
    floor_div_checked(l->c, g, &l->c);
    for (unsigned i = 0; i < l->n; i++)
        l->k[i] /= g;
}

/* Floor is monotone: it goes into min and max. */
static const struct dim *div_choice(struct dims *ds, const struct dim *a, int64_t q)
{
    const struct dim *arg[DIM_TERMS_MAX];
    for (unsigned i = 0; i < a->n; i++)
        arg[i] = dim_div_int(ds, a->arg[i], q);
    return dim_lattice(ds, a->kind, arg, a->n);
}

static bool lin_is_one_choice(const struct lin *l)
{
    return l->n == 1 && (l->t[0]->kind == DIM_MIN || l->t[0]->kind == DIM_MAX);
}

/* Floor drops of the constant, 0..q-1, what is left above a multiple of what all terms and q are
 * multiples of, but for their rests; 0 stands for all that are the same as 0, and as q, of which 1
 * is returned. */
static int64_t div_drop(struct lin *l, int64_t q)
{
    int64_t g = q, above, whole;
    const int64_t rest = lin_rest(l, &g);
    if (__builtin_add_overflow(l->c, rest, &above) || !floor_div_checked(above, g, &whole))
        return 0;
    const int64_t least = whole * g - rest;
    const bool more = least > q - g;
    l->c = least < 0 || more ? 0 : least;
    return more;
}

/* Moves k * symbol that q divides out of l: (k*m/q) * (symbol/m) of one that is a multiple of m;
 * what it is more stays. */
static void div_take(struct dims *ds, struct lin *l, int64_t q, struct lin *ret_whole)
{
    int64_t all, over;
    *ret_whole = (struct lin) { .c = 0 };
    for (unsigned i = 0; i < l->n;) {
        const struct dim *s = l->t[i];
        const struct dim_rest r = dim_rest_of(s);
        if (r.of == 1 || __builtin_mul_overflow(l->k[i], r.of, &all) || all % q ||
            __builtin_mul_overflow(l->k[i], r.rest, &over)) {
            i++;
            continue;
        }
        lin_add(ret_whole, all / q,
                dim_intern(ds,
                           &(struct dim) { .kind = DIM_DIV, .value = r.of, .n = 1, .arg = &s }));
        lin_remove(l, i);
        l->bad |= __builtin_add_overflow(l->c, over, &l->c);
    }
}

/* What is left after multiples of q are out. */
static const struct dim *div_rest(struct dims *ds, struct lin *l, int64_t q)
{
    struct lin whole;
    div_take(ds, l, q, &whole);
    if (whole.n) {
        lin_add(&whole, 1, dim_div_int(ds, dim_from_lin(ds, l), q));
        return dim_from_lin(ds, &whole);
    }
    if (div_drop(l, q))
        return dim_add_int(ds, div_rest(ds, l, q), 1);
    if (lin_proves_ge0(ds, l, PROOF_BUDGET)) {
        struct lin top = *l;
        lin_scale(&top, -1);
        top.bad |= __builtin_add_overflow(top.c, q - 1, &top.c);
        if (lin_proves_ge0(ds, &top, PROOF_BUDGET))
            return dim_int(ds, 0);
    }
    const struct dim *num = dim_from_lin(ds, l);
    if (dim_is_bad(num))
        return num;
    if (num->kind == DIM_MIN || num->kind == DIM_MAX)
        return div_choice(ds, num, q);
    return dim_intern(ds, &(struct dim) { .kind = DIM_DIV, .value = q, .n = 1, .arg = &num });
}

/* floor(-X/q) = -floor((X + q-1)/q): a numerator without a positive term is turned round, so that
 * both ways of writing it are one. */
static bool div_turn(struct lin *l, int64_t q)
{
    for (unsigned i = 0; i < l->n; i++)
        if (l->k[i] > 0)
            return false;
    lin_scale(l, -1);
    l->bad |= __builtin_add_overflow(l->c, q - 1, &l->c);
    return true;
}

/* Term i of l, a symbol s of m multiples, as m * floor(s/m) and its rest, where that is there too
 * and q divides both together. */
static bool div_join(struct lin *l, unsigned i, int64_t q)
{
    const struct dim *s = l->t[i], *whole = NULL;
    const struct dim_rest r = dim_rest_of(s);
    const int64_t k = l->k[i];
    int64_t all, over, both;
    unsigned at = 0;
    for (; r.of > 1 && at < l->n && !whole; at++)
        if (l->t[at]->kind == DIM_DIV && l->t[at]->value == r.of && l->t[at]->arg[0] == s)
            whole = l->t[at];
    if (!whole || __builtin_mul_overflow(k, r.of, &all) ||
        __builtin_mul_overflow(k, r.rest, &over) ||
        __builtin_add_overflow(all, l->k[at - 1], &both) || both % q)
        return false;
    lin_add(l, -k, s);
    lin_add(l, all, whole);
    l->bad |= __builtin_add_overflow(l->c, over, &l->c);
    return true;
}

static void div_join_all(struct lin *l, int64_t q)
{
    for (unsigned i = 0; i < l->n && !l->bad;)
        i = div_join(l, i, q) ? 0 : i + 1;
}

const struct dim *dim_div_int(struct dims *ds, const struct dim *a, int64_t q)
{
    if (q <= 0)
        return dims_fail(ds, RILL_INVALID, "division by a number that is not positive");
    if (dim_is_bad(a))
        return ds->poison;
    struct lin l, whole = { .c = 0 }, more;
    int64_t sign = 1; /* the result is sign * (whole + l/q) */
    lin_init(&l, a);
    if (q > 1 && lin_is_one_choice(&l) && l.k[0] == 1 && l.c == 0)
        return div_choice(ds, a, q);
    do {
        while (!l.bad && lin_take_wholes(&l))
            ;
        div_join_all(&l, q);
        div_split(&l, q, &more);
        for (unsigned i = 0; i < more.n; i++)
            lin_add(&whole, more.k[i], more.t[i]);
        whole.bad |= more.bad || __builtin_add_overflow(whole.c, more.c, &whole.c);
        div_cancel(&l, &q);
        if (l.n && q > 1 && div_turn(&l, q)) {
            lin_scale(&whole, -1);
            sign = -sign;
        }
    } while (l.n && q > 1 && div_cascade(&l, &q));
    if (l.n && q > 1) {
        const struct dim *rest = div_rest(ds, &l, q);
        if (dim_is_bad(rest))
            return rest;
        lin_add(&whole, 1, rest);
    } else {
        for (unsigned i = 0; i < l.n; i++)
            lin_add(&whole, l.k[i], l.t[i]);
        whole.bad |= q == 1 && __builtin_add_overflow(whole.c, l.c, &whole.c);
    }
    lin_scale(&whole, sign);
    return dim_from_lin(ds, &whole);
}

const struct dim *dim_div_ceil_int(struct dims *ds, const struct dim *a, int64_t k)
{
    if (k <= 0)
        return dim_div_int(ds, a, k);
    return dim_div_int(ds, dim_add_int(ds, a, k - 1), k);
}

const struct dim *dim_div_cut_int(struct dims *ds, const struct dim *a, int64_t k)
{
    return dim_max(ds, dim_div_int(ds, a, k),
                   dim_min(ds, dim_int(ds, 0), dim_div_ceil_int(ds, a, k)));
}

/* ---- min, max, broadcast ---- */

struct operands {
    unsigned n;
    bool over;
    const struct dim *v[DIM_TERMS_MAX];
};

static void operands_add(struct operands *o, enum dim_kind kind, const struct dim *d)
{
    if (d->kind == kind) {
        for (unsigned i = 0; i < d->n; i++)
            operands_add(o, kind, d->arg[i]);
        return;
    }
    unsigned at = 0;
    while (at < o->n && dim_order(o->v[at], d) < 0)
        at++;
    if (at < o->n && o->v[at] == d)
        return;
    if (o->n == DIM_TERMS_MAX) {
        o->over = true;
        return;
    }
    memmove(&o->v[at + 1], &o->v[at], (o->n - at) * sizeof *o->v);
    o->v[at] = d;
    o->n++;
}

static void operands_drop(struct operands *o, unsigned at)
{
    o->n--;
    memmove(&o->v[at], &o->v[at + 1], (o->n - at) * sizeof *o->v);
}

/* Drops what another operand provably makes idle. */
static void operands_prune(const struct dims *ds, struct operands *o, enum dim_kind kind)
{
    for (unsigned i = 0; i < o->n && o->n <= 12; i++)
        for (unsigned j = 0; j < o->n; j++) {
            const struct dim *idle = o->v[i], *keep = o->v[j];
            if (i == j ||
                !(kind == DIM_MIN ? dim_proves_ge(ds, idle, keep, PROOF_BUDGET)
                                  : dim_proves_ge(ds, keep, idle, PROOF_BUDGET)))
                continue;
            operands_drop(o, i--);
            break;
        }
}

static bool broadcast_fails(struct dims *ds, const struct dim *a, const struct dim *b)
{
    char what[100];
    snprintf(what, sizeof what, "sizes %" PRId64 " and %" PRId64 " do not broadcast", a->value,
             b->value);
    if (ds->broadcast_by && ds->err.status == RILL_OK) {
        err_set(&ds->err, RILL_INVALID, "%s: %s", ds->broadcast_by, what);
        ds->failed_of_node = true;
    }
    dims_fail(ds, RILL_INVALID, what);
    return false;
}

/* 1 gives way; two different constants cannot be reconciled. */
static bool operands_broadcast(struct dims *ds, struct operands *o)
{
    const struct dim *size = NULL;
    for (unsigned i = 0; i < o->n;) {
        if (dim_is_const(o->v[i]) && !dim_is(o->v[i], 1)) {
            if (size)
                return broadcast_fails(ds, size, o->v[i]);
            size = o->v[i];
        }
        if (dim_is(o->v[i], 1) && o->n > 1)
            operands_drop(o, i);
        else
            i++;
    }
    return true;
}

const struct dim *dim_lattice(struct dims *ds, enum dim_kind kind, const struct dim *const *arg,
                              unsigned n)
{
    struct operands o = { .n = 0 };
    for (unsigned i = 0; i < n; i++) {
        if (dim_is_bad(arg[i]))
            return ds->poison;
        operands_add(&o, kind, arg[i]);
    }
    if (o.over)
        return dims_fail(ds, RILL_LIMIT, "more than 64 operands");
    if (kind != DIM_BROADCAST)
        operands_prune(ds, &o, kind);
    else if (!operands_broadcast(ds, &o))
        return ds->poison;
    return o.n == 1 ? o.v[0] : dim_intern(ds, &(struct dim) { .kind = kind, .n = o.n, .arg = o.v });
}

const struct dim *dim_min(struct dims *ds, const struct dim *a, const struct dim *b)
{
    return dim_lattice(ds, DIM_MIN, (const struct dim *const[]) { a, b }, 2);
}

const struct dim *dim_max(struct dims *ds, const struct dim *a, const struct dim *b)
{
    return dim_lattice(ds, DIM_MAX, (const struct dim *const[]) { a, b }, 2);
}

/* ---- comparisons ---- */

/* a - b as a form whose coefficients have no common divisor; *ret_whole is false when the constant
 * was not divisible (it is floored). */
static bool compare_form(struct lin *l, const struct dim *a, const struct dim *b)
{
    lin_init(l, a);
    lin_add(l, -1, b);
    int64_t g = 0;
    for (unsigned i = 0; i < l->n && !l->bad; i++)
        g = gcd_i64(g, l->k[i]);
    if (g <= 1)
        return true;
    bool whole = l->c % g == 0;
    floor_div_checked(l->c, g, &l->c);
    for (unsigned i = 0; i < l->n; i++)
        l->k[i] /= g;
    return whole;
}

/* l >= 0 and l <= 0 are both open: positive terms to the left, the rest to the right. */
static const struct dim *compare_node(struct dims *ds, enum dim_kind kind, const struct lin *l)
{
    struct lin side[2] = { { .c = l->c > 0 ? l->c : 0 }, { .c = 0 } };
    side[1].bad = l->c < 0 && __builtin_sub_overflow(0, l->c, &side[1].c);
    for (unsigned i = 0; i < l->n; i++)
        lin_add(&side[l->k[i] < 0], l->k[i] < 0 ? -l->k[i] : l->k[i], l->t[i]);
    const struct dim *arg[2] = { dim_from_lin(ds, &side[0]), dim_from_lin(ds, &side[1]) };
    if (dim_is_bad(arg[0]) || dim_is_bad(arg[1]))
        return ds->poison;
    if (kind == DIM_EQ && dim_order(arg[0], arg[1]) > 0) {
        const struct dim *first = arg[1];
        arg[1] = arg[0];
        arg[0] = first;
    }
    return dim_intern(ds, &(struct dim) { .kind = kind, .n = 2, .arg = arg });
}

/* -l - less >= 0 */
static bool proves_le(const struct dims *ds, const struct lin *l, int64_t less)
{
    struct lin m = *l;
    lin_scale(&m, -1);
    m.bad |= __builtin_sub_overflow(m.c, less, &m.c);
    return lin_proves_ge0(ds, &m, 2 * PROOF_BUDGET);
}

/* l >= 0, of a min or max in l of which all operands but one say nothing new: that one. NULL: there
 * is none. */
static const struct dim *ge_without_choice(struct dims *ds, const struct lin *l)
{
    const int at = lin_find_one_choice(l);
    unsigned left = 0;
    struct lin one = { 0 };
    if (at < 0)
        return NULL;
    const struct dim *choice = l->t[at];
    const bool all = (choice->kind == DIM_MIN) == (l->k[at] > 0);
    for (unsigned i = 0; i < choice->n; i++) {
        struct lin r = *l;
        lin_remove(&r, (unsigned) at);
        lin_add(&r, l->k[at], choice->arg[i]);
        if (r.bad)
            return NULL;
        if (all ? lin_proves_ge0(ds, &r, PROOF_BUDGET) : proves_le(ds, &r, 1))
            continue;
        left++;
        one = r;
    }
    return left == 1 ? dim_ge(ds, dim_from_lin(ds, &one), dim_int(ds, 0)) : NULL;
}

const struct dim *dim_ge(struct dims *ds, const struct dim *a, const struct dim *b)
{
    if (dim_is_bad(a) || dim_is_bad(b))
        return ds->poison;
    struct lin l;
    compare_form(&l, a, b);
    if (l.bad)
        return dim_from_lin(ds, &l);
    if (lin_proves_ge0(ds, &l, 2 * PROOF_BUDGET))
        return dim_int(ds, 1);
    if (proves_le(ds, &l, 1))
        return dim_int(ds, 0);
    const struct dim *simpler = ge_without_choice(ds, &l);
    return simpler ? simpler : compare_node(ds, DIM_GE, &l);
}

const struct dim *dim_eq(struct dims *ds, const struct dim *a, const struct dim *b)
{
    if (dim_is_bad(a) || dim_is_bad(b))
        return ds->poison;
    struct lin l;
    if (!compare_form(&l, a, b))
        return dim_int(ds, 0);
    if (l.bad)
        return dim_from_lin(ds, &l);
    struct lin above = l;
    above.bad |= __builtin_sub_overflow(l.c, 1, &above.c);
    if (lin_proves_ge0(ds, &above, 2 * PROOF_BUDGET) || proves_le(ds, &l, 1))
        return dim_int(ds, 0);
    if (lin_proves_ge0(ds, &l, 2 * PROOF_BUDGET) && proves_le(ds, &l, 0))
        return dim_int(ds, 1);
    if (l.n && l.k[0] < 0)
        lin_scale(&l, -1);
    return l.bad ? dim_from_lin(ds, &l) : compare_node(ds, DIM_EQ, &l);
}
