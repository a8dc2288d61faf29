/* SPDX-License-Identifier: MIT */
#include "pulse/within.h"

#define SPLITS_MAX 4 /* least and largest within one comparison */
#define DECIDED_MAX 64

const struct dim *truth_or(struct dims *ds, const struct dim *a, const struct dim *b)
{
    return dim_sub(ds, dim_add(ds, a, b), dim_mul(ds, a, b));
}

bool truth_is(const struct dim *e)
{
    const struct dim_parts x = dim_parts(e);
    bool all = x.form == DIM_FORM_PRODUCT;
    for (unsigned i = 0; all && i < x.n; i++)
        all = truth_is(x.arg[i]);
    return all || x.form == DIM_FORM_AT_LEAST || x.form == DIM_FORM_EQUAL ||
        (x.form == DIM_FORM_SUM && x.n == 1 && x.value == 1 && x.coef[0] == -1 &&
         truth_is(x.arg[0]));
}

static bool is_end(enum dim_form form)
{
    return form == DIM_FORM_LEAST || form == DIM_FORM_MOST;
}

/* The least or largest of several, of which one must mention `of`, unless that is NULL. */
static bool is_end_of(const struct dim *d, const struct dim *of)
{
    return is_end(dim_parts(d).form) && (!of || dim_mentions(d, of));
}

/* The term of a sum that is one; x.n: none. */
static unsigned end_among(const struct dim_parts *x, const struct dim *of)
{
    unsigned i = 0;
    while (i < x->n && !is_end_of(x->arg[i], of))
        i++;
    return i;
}

/* Whether d, a sum, is 0 or more: of each that such an end is among. */
static const struct dim *not_negative(struct dims *ds, const struct dim *d, const struct dim *of,
                                      int splits)
{
    const struct dim_parts x = dim_parts(d);
    const bool sum = x.form == DIM_FORM_SUM, alone = is_end_of(d, of);
    const unsigned i = sum ? end_among(&x, of) : 0;
    if (splits == SPLITS_MAX || !(alone || (sum && i < x.n)))
        return dim_ge(ds, d, dim_int(ds, 0));
    const struct dim *end = alone ? d : x.arg[i], *y = NULL;
    const int64_t k = alone ? 1 : x.coef[i];
    const struct dim_parts among = dim_parts(end);
    const struct dim *rest = dim_sub(ds, d, dim_mul_int(ds, end, k));
    const bool all = (among.form == DIM_FORM_LEAST) == (k > 0);
    for (unsigned m = 0; m < among.n; m++) {
        const struct dim *one =
            not_negative(ds, dim_add(ds, rest, dim_mul_int(ds, among.arg[m], k)), of, splits + 1);
        y = !y ? one : (all ? dim_mul : truth_or)(ds, y, one);
    }
    return y;
}

const struct dim *within_ge(const struct positions *ps, const struct dim *a, const struct dim *b)
{
    return dim_mentions(a, ps->time) || dim_mentions(b, ps->time)
        ? not_negative(ps->dims, dim_sub(ps->dims, a, b), ps->time, 0)
        : dim_ge(ps->dims, a, b);
}

const struct dim *within_eq(struct dims *ds, const struct dim *a, const struct dim *b)
{
    const struct dim *d = dim_sub(ds, a, b);
    const struct dim_parts x = dim_parts(d);
    const bool ends = is_end_of(d, NULL) || (x.form == DIM_FORM_SUM && end_among(&x, NULL) < x.n);
    return ends ? dim_mul(ds, not_negative(ds, d, NULL, 0),
                          not_negative(ds, dim_mul_int(ds, d, -1), NULL, 0))
                : dim_eq(ds, a, b);
}

/* ---- what axes decide ---- */

/* A comparison, or a least or largest, in e that has the length in it and is none of those in
 * `seen`; NULL: there is none. */
static const struct dim *undecided_in(const struct positions *ps, const struct dim *e,
                                      const struct dim *const *seen, unsigned n)
{
    const struct dim_parts x = dim_parts(e);
    const struct dim *y = NULL;
    if (!dim_mentions(e, ps->time))
        return NULL;
    for (unsigned i = 0; !y && i < x.n; i++)
        y = undecided_in(ps, x.arg[i], seen, n);
    if (y || (x.form != DIM_FORM_AT_LEAST && !is_end(x.form)))
        return y;
    for (unsigned i = 0; i < n; i++)
        if (seen[i] == e)
            return NULL;
    return e;
}

/* Of the larger of a number up to 0 and something else that: where there are coordinates at all
 * they are less than it. */
static const struct dim *size_of_some(const struct dim *size)
{
    const struct dim_parts x = dim_parts(size);
    for (unsigned i = 0; x.form == DIM_FORM_MOST && x.n == 2 && i < 2; i++)
        if (dim_is_const(x.arg[i]) && dim_value(x.arg[i]) <= 0)
            return x.arg[1 - i];
    return size;
}

/* What comparison c is, where coordinate `at` is less than `size`, which is one term and a number;
 * NULL: that does not say. */
static const struct dim *decided_by_term(const struct positions *ps, const struct dim *c,
                                         const struct dim *at, const struct dim *size)
{
    struct dims *ds = ps->dims;
    const struct dim_parts x = dim_parts(size);
    const struct dim *term = x.form == DIM_FORM_SUM ? x.arg[0] : size,
                     *rest = dim_sub(ds, size, term),
                     *longer = dim_add_int(ds, dim_add(ds, at, ps->more), 1);
    if (dim_is_const(term) || !dim_is_const(rest))
        return NULL;
    const struct dim *y = dim_subst(ds, c, term, dim_sub(ds, longer, rest));
    return dim_is_const(y) ? y : NULL;
}

/* How often the sum has that term. */
static int64_t times_in(const struct dim *sum, const struct dim *term)
{
    const struct dim_parts x = dim_parts(sum);
    for (unsigned i = 0; x.form == DIM_FORM_SUM && i < x.n; i++)
        if (x.arg[i] == term)
            return x.coef[i];
    return 0;
}

/* The same where both sides differ by the size, or by less, and something else. */
static const struct dim *decided(const struct positions *ps, const struct dim *c,
                                 const struct dim *at, const struct dim *size)
{
    struct dims *ds = ps->dims;
    const struct dim_parts x = dim_parts(c);
    const struct dim *y = decided_by_term(ps, c, at, size), *zero = dim_int(ds, 0);
    const struct dim *none = dim_sub(ds, dim_add_int(ds, dim_add(ds, at, ps->more), 1), size),
                     *apart = dim_sub(ds, x.arg[0], x.arg[1]);
    const int64_t times[] = { -1, 1, times_in(apart, at) };
    for (unsigned i = 0; !y && i < 3; i++) {
        const struct dim *is =
            dim_ge(ds, dim_sub(ds, apart, dim_mul_int(ds, none, times[i])), zero);
        y = dim_is_const(is) ? is : NULL;
    }
    return y;
}

/* What comparison c is, within all axes. */
static const struct dim *decided_within(const struct positions *ps, const struct dim *c,
                                        const struct dim *const *size, int rank)
{
    const struct dim *y = NULL;
    for (int k = 0; !y && dim_parts(c).form == DIM_FORM_AT_LEAST && k < rank; k++)
        if (size[k] && c == dim_ge(ps->dims, ps->axis[k], size[k]))
            y = dim_int(ps->dims, 0);
        else if (size[k])
            y = decided(ps, c, ps->axis[k], size_of_some(size[k]));
    return y;
}

/* The one of two that an end always is; NULL: there are more, or neither is. */
static const struct dim *end_within(const struct positions *ps, const struct dim *end,
                                    const struct dim *const *size, int rank)
{
    const struct dim_parts x = dim_parts(end);
    const struct dim *y = NULL;
    if (x.n != 2)
        return NULL;
    for (unsigned i = 0; !y && i < 2; i++) {
        const struct dim *c = dim_ge(ps->dims, x.arg[i], x.arg[1 - i]),
                         *is = decided_within(ps, c, size, rank);
        if (is && dim_is(is, 1))
            y = x.form == DIM_FORM_MOST ? x.arg[i] : x.arg[1 - i];
    }
    return y;
}

const struct dim *within_axes(const struct positions *ps, const struct dim *e,
                              const struct dim *const *size, int rank)
{
    const struct dim *seen[DECIDED_MAX], *c;
    unsigned n = 0;
    while (n < DECIDED_MAX && (c = undecided_in(ps, e, seen, n))) {
        const struct dim *y = is_end(dim_parts(c).form) ? end_within(ps, c, size, rank)
                                                        : decided_within(ps, c, size, rank);
        seen[n++] = c;
        e = y ? dim_subst(ps->dims, e, c, y) : e;
    }
    return e;
}
