/* SPDX-License-Identifier: MIT */
#include "pulse/exact.h"

#include <math.h>

/* ---- between which numbers an expression lies ---- */

struct range {
    double least, most;
};

static double times(double a, double b)
{
    return a == 0 || b == 0 ? 0 : a * b;
}

static struct range scaled(struct range x, double k)
{
    return k < 0 ? (struct range) { times(x.most, k), times(x.least, k) }
                 : (struct range) { times(x.least, k), times(x.most, k) };
}

static struct range multiplied(struct range a, struct range b)
{
    struct range x = scaled(a, b.least), y = scaled(a, b.most);
    return (struct range) { fmin(x.least, y.least), fmax(x.most, y.most) };
}

static struct range joined(enum dim_form form, struct range a, struct range b)
{
    return form == DIM_FORM_LEAST ? (struct range) { fmin(a.least, b.least), fmin(a.most, b.most) }
        : form == DIM_FORM_MOST   ? (struct range) { fmax(a.least, b.least), fmax(a.most, b.most) }
                                  : (struct range) { fmin(a.least, b.least), fmax(a.most, b.most) };
}

static struct range range_of(const struct positions *ps, const struct dim *e, double symbol);

/* Where terms of the sum are a number, less what is left of it by a division, times k: those are
 * between 0 and k * (divisor - 1). ret_rest: the other terms; NULL: there are none like that. */
static struct range remainder_of(const struct positions *ps, const struct dim *e,
                                 const struct dim **ret_rest)
{
    struct dims *ds = ps->dims;
    const struct dim_parts x = dim_parts(e);
    *ret_rest = NULL;
    for (unsigned i = 0; i < x.n; i++) {
        const struct dim_parts q = dim_parts(x.arg[i]);
        if (q.form != DIM_FORM_QUOTIENT || x.coef[i] % q.value)
            continue;
        int64_t k = -(x.coef[i] / q.value);
        const struct dim *whole =
            dim_add(ds, dim_mul_int(ds, q.arg[0], k), dim_mul_int(ds, x.arg[i], x.coef[i]));
        const struct dim *rest = dim_sub(ds, e, whole);
        if (dim_parts(rest).n >= x.n || dim_mentions(rest, x.arg[i]))
            continue;
        *ret_rest = rest;
        return scaled((struct range) { 0, (double) q.value - 1 }, (double) k);
    }
    return (struct range) { 0, 0 };
}

static struct range range_of_sum(const struct positions *ps, const struct dim *e, double symbol)
{
    const struct dim_parts x = dim_parts(e);
    const struct dim *rest;
    struct range y = remainder_of(ps, e, &rest);
    if (rest) {
        struct range other = range_of(ps, rest, symbol);
        return (struct range) { y.least + other.least, y.most + other.most };
    }
    y = (struct range) { (double) x.value, (double) x.value };
    for (unsigned i = 0; i < x.n; i++) {
        struct range arg = scaled(range_of(ps, x.arg[i], symbol), (double) x.coef[i]);
        y.least += arg.least;
        y.most += arg.most;
    }
    return y;
}

/* While every coordinate and the length is from 0 to `symbol`. */
static struct range range_of(const struct positions *ps, const struct dim *e, double symbol)
{
    const struct dim_parts x = dim_parts(e);
    struct range y = { -INFINITY, INFINITY };
    switch (x.form) {
    case DIM_FORM_INT: return (struct range) { (double) x.value, (double) x.value };
    case DIM_FORM_SYMBOL: return (struct range) { 0, symbol };
    case DIM_FORM_AT_LEAST:
    case DIM_FORM_EQUAL: return (struct range) { 0, 1 };
    case DIM_FORM_SUM: return range_of_sum(ps, e, symbol);
    case DIM_FORM_QUOTIENT:
        y = range_of(ps, x.arg[0], symbol);
        return (struct range) { floor(y.least / (double) x.value),
                                floor(y.most / (double) x.value) };
    default: break;
    }
    for (unsigned i = 0; i < x.n; i++) {
        struct range arg = range_of(ps, x.arg[i], symbol);
        y = i == 0 ? arg : x.form == DIM_FORM_PRODUCT ? multiplied(y, arg) : joined(x.form, y, arg);
    }
    return y;
}

double position_most(const struct positions *ps, const struct dim *e, double places)
{
    const struct range r = range_of(ps, e, places);
    return fmax(fabs(r.least), fabs(r.most));
}

/* ---- what a type holds ---- */

/* What all terms are multiples of, as far as a power of two goes. */
static double step_of(const struct dim *e)
{
    const struct dim_parts x = dim_parts(e);
    int64_t all = x.form == DIM_FORM_SUM || x.form == DIM_FORM_INT ? x.value : 1;
    for (unsigned i = 0; x.form == DIM_FORM_SUM && i < x.n; i++)
        all |= x.coef[i];
    return all ? (double) (all & -all) : 1;
}

/* Whole numbers that are exact in it; all of i64 are, and what is true or false. */
static bool numbers_of(enum dtype type, struct range *ret)
{
    switch (type) {
    case DTYPE_F32: *ret = (struct range) { -0x1p24, 0x1p24 }; return true;
    case DTYPE_F64: *ret = (struct range) { -0x1p53, 0x1p53 }; return true;
    case DTYPE_F16: *ret = (struct range) { -0x1p11, 0x1p11 }; return true;
    case DTYPE_BF16: *ret = (struct range) { -0x1p8, 0x1p8 }; return true;
    case DTYPE_I32: *ret = (struct range) { -0x1p31, 0x1p31 - 1 }; return true;
    case DTYPE_I16: *ret = (struct range) { -0x1p15, 0x1p15 - 1 }; return true;
    case DTYPE_I8: *ret = (struct range) { -0x1p7, 0x1p7 - 1 }; return true;
    case DTYPE_U32: *ret = (struct range) { 0, 0x1p32 - 1 }; return true;
    case DTYPE_U16: *ret = (struct range) { 0, 0x1p16 - 1 }; return true;
    case DTYPE_U8: *ret = (struct range) { 0, 0x1p8 - 1 }; return true;
    case DTYPE_U64: *ret = (struct range) { 0, INFINITY }; return true;
    default: return false;
    }
}

static bool inside(struct range x, struct range numbers, double step)
{
    return x.least / step >= numbers.least && x.most / step <= numbers.most;
}

/* A comparison within the expression; NULL: it has none. */
static const struct dim *comparison_in(const struct dim *e)
{
    const struct dim_parts x = dim_parts(e);
    const struct dim *y = NULL;
    if (x.form == DIM_FORM_AT_LEAST || x.form == DIM_FORM_EQUAL)
        return e;
    for (unsigned i = 0; !y && i < x.n; i++)
        y = comparison_in(x.arg[i]);
    return y;
}

/* The same where each comparison is 0 and where it is 1. */
static bool cases_inside(const struct positions *ps, const struct dim *e, struct range numbers,
                         double step, double symbol, unsigned *cases)
{
    if (inside(range_of(ps, e, symbol), numbers, step))
        return true;
    const struct dim *either = comparison_in(e);
    if (!either || *cases == 0)
        return false;
    --*cases;
    for (int64_t k = 0; k < 2; k++)
        if (!cases_inside(ps, dim_subst(ps->dims, e, either, dim_int(ps->dims, k)), numbers, step,
                          symbol, cases))
            return false;
    return true;
}

/* No product of two that grow with the frames. */
static bool grows_evenly(const struct positions *ps, const struct dim *e)
{
    const struct dim_parts x = dim_parts(e);
    unsigned growing = 0;
    for (unsigned i = 0; i < x.n; i++) {
        struct range r = range_of(ps, x.arg[i], INFINITY);
        growing += isinf(r.least) || isinf(r.most);
        if (!grows_evenly(ps, x.arg[i]))
            return false;
    }
    return x.form != DIM_FORM_PRODUCT || growing < 2;
}

bool position_lasts(const struct positions *ps, enum dtype type, const struct position *x,
                    double places, unsigned *cases)
{
    struct range numbers;
    if (!x->e || x->pair || !numbers_of(type, &numbers))
        return true;
    return cases_inside(ps, x->e, numbers, dtype_is_float(type) ? step_of(x->e) : 1, places, cases);
}

bool position_exact(const struct positions *ps, enum dtype type, const struct position *x,
                    unsigned *cases)
{
    const bool counts = type == DTYPE_F32 || type == DTYPE_F64 || type == DTYPE_I32 ||
        type == DTYPE_U32 || type == DTYPE_U64;
    if (position_lasts(ps, type, x, INFINITY, cases))
        return true;
    return counts && grows_evenly(ps, x->e) && position_lasts(ps, type, x, PLACES_EXACT, cases);
}
