/* SPDX-License-Identifier: MIT */
#include "pulse/pieces.h"
#include "pulse/ints.h"

#include <math.h>
#include <stdlib.h>

#define PARTS_MAX ((int64_t) 1 << 31)

/* In each class of places that its quotients tell apart an expression is, from `reach` on to both
 * sides, one polynomial with whole coefficients over `parts`, whose magnitudes are `sum` together.
 * A remainder is one of the coefficients. */
struct pieces {
    double reach, sum;
    int64_t parts;
};

static struct pieces pieces_of(const struct dim *d);

static const struct pieces unknown = { INFINITY, INFINITY, 1 };

static int64_t parts_common(int64_t a, int64_t b)
{
    return a / gcd(a, b) * b;
}

/* The arguments in lowest terms over one number of parts; their magnitudes are added up, times coef
 * (NULL: 1). */
static struct pieces all_of(const struct dim_parts *d, const int64_t *coef)
{
    struct pieces y = { 0, 0, 1 };
    for (unsigned i = 0; i < d->n; i++) {
        struct pieces x = pieces_of(d->arg[i]);
        const int64_t over = gcd(x.parts, coef ? llabs(coef[i] % x.parts) : 1);
        const double times = (coef ? fabs((double) coef[i]) : 1) / (double) over;
        x.parts /= over;
        const int64_t parts = parts_common(y.parts, x.parts);
        if (parts > PARTS_MAX)
            return unknown;
        y.sum = y.sum * (double) (parts / y.parts) + times * x.sum * (double) (parts / x.parts);
        y.reach = fmax(y.reach, x.reach);
        y.parts = parts;
    }
    return y;
}

static struct pieces product_of(const struct dim_parts *d)
{
    struct pieces y = { 0, 1, 1 };
    for (unsigned i = 0; i < d->n; i++) {
        const struct pieces x = pieces_of(d->arg[i]);
        if (y.parts > PARTS_MAX / x.parts)
            return unknown;
        y.parts *= x.parts;
        y.sum *= x.sum;
        y.reach = fmax(y.reach, x.reach);
    }
    return y;
}

/* (x - remainder) / by, where the remainder is below by. */
static struct pieces quotient_of(const struct dim_parts *d)
{
    struct pieces x = pieces_of(d->arg[0]);
    if (x.parts > PARTS_MAX / d->value)
        return unknown;
    x.sum += (double) d->value * (double) x.parts;
    x.parts *= d->value;
    return x;
}

/* Two arguments cross where their difference has a root. Roots of a polynomial with whole
 * coefficients, the leading one not 0, lie within 1 + the greatest magnitude (Cauchy 1829). */
static struct pieces crossing_of(const struct dim_parts *d)
{
    struct pieces y = all_of(d, NULL);
    y.reach = fmax(y.reach, 1 + y.sum);
    return y;
}

static struct pieces pieces_of(const struct dim *d)
{
    const struct dim_parts x = dim_parts(d);
    struct pieces y;
    switch (x.form) {
    case DIM_FORM_INT: return (struct pieces) { 0, fabs((double) x.value), 1 };
    case DIM_FORM_SYMBOL: return (struct pieces) { 0, 1, 1 };
    case DIM_FORM_SUM:
        y = all_of(&x, x.coef);
        y.sum += fabs((double) x.value) * (double) y.parts;
        return y;
    case DIM_FORM_PRODUCT: return product_of(&x);
    case DIM_FORM_QUOTIENT: return quotient_of(&x);
    case DIM_FORM_LEAST:
    case DIM_FORM_MOST: return crossing_of(&x);
    case DIM_FORM_AT_LEAST:
    case DIM_FORM_EQUAL: y = crossing_of(&x); return (struct pieces) { y.reach, 1, 1 };
    default: return unknown;
    }
}

int64_t pieces_reach(const struct dim *d, int64_t most)
{
    const struct pieces y = pieces_of(d);
    return y.reach < (double) most ? (int64_t) y.reach : most;
}
