/* SPDX-License-Identifier: MIT */
#include "pulse/positions.h"

#define LENGTHS_TRIED 64 /* one by one */

/* ---- expressions of the graph ---- */

/* d in the scope ds, where symbol `from` is `to`; NULL: it has others. */
static const struct dim *translated(struct dims *ds, const struct dim *d, const struct dim *from,
                                    const struct dim *to)
{
    const struct dim_parts x = dim_parts(d);
    const struct dim *y = NULL;
    if (x.form == DIM_FORM_INT)
        return dim_int(ds, x.value);
    if (x.form == DIM_FORM_SYMBOL)
        return d == from ? to : NULL;
    for (unsigned i = 0; i < x.n; i++) {
        const struct dim *arg = translated(ds, x.arg[i], from, to);
        if (!arg)
            return NULL;
        switch (x.form) {
        case DIM_FORM_SUM:
            arg = dim_mul_int(ds, arg, x.coef[i]);
            y = y ? dim_add(ds, y, arg) : dim_add_int(ds, arg, x.value);
            break;
        case DIM_FORM_PRODUCT: y = y ? dim_mul(ds, y, arg) : arg; break;
        case DIM_FORM_QUOTIENT: y = dim_div_int(ds, arg, x.value); break;
        case DIM_FORM_LEAST: y = y ? dim_min(ds, y, arg) : arg; break;
        case DIM_FORM_MOST: y = y ? dim_max(ds, y, arg) : arg; break;
        case DIM_FORM_BROADCAST: y = y ? dim_broadcast(ds, y, arg) : arg; break;
        case DIM_FORM_AT_LEAST: y = y ? dim_ge(ds, y, arg) : arg; break;
        case DIM_FORM_EQUAL: y = y ? dim_eq(ds, y, arg) : arg; break;
        default: return NULL;
        }
    }
    return y;
}

/* Sizes that were written down when less was known get the form that they have now. */
const struct dim *positions_dim(const struct positions *ps, const struct dim *d,
                                const struct dim *symbol)
{
    return translated(ps->dims, dim_refresh(ps->graph, d), symbol, ps->time);
}

const struct dim *positions_length(const struct positions *ps, const struct dim *d,
                                   const struct dim *symbol)
{
    return translated(ps->graph, d, ps->time, symbol);
}

/* The longer ones are LENGTHS_TRIED and any number more, of which nothing may be left. */
const struct dim *positions_without_length(const struct positions *ps, const struct dim *e)
{
    struct dims *ds = ps->dims;
    if (!dim_mentions(e, ps->time))
        return e;
    const struct dim *far = dim_subst(ds, e, ps->time, dim_add_int(ds, ps->more, LENGTHS_TRIED));
    if (dim_mentions(far, ps->more))
        return NULL;
    for (int64_t n = 1; n < LENGTHS_TRIED; n++)
        if (dim_subst(ds, e, ps->time, dim_int(ds, n)) != far)
            return NULL;
    return far;
}
