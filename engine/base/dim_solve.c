/* SPDX-License-Identifier: MIT */
/* Equations with one unknown, and symbols that get a value. */
#include "engine/base/dim_internal.h"

#include <inttypes.h>
#include <stdio.h>

static rill_status solve_refuse(const struct dim *expr, const struct dim *symbol, int64_t value,
                                rill_status status, const char *why, rill_error *err)
{
    char e[160], s[100];
    dim_print(expr, e, sizeof e);
    dim_print(symbol, s, sizeof s);
    return err_set(err, status, "%s == %" PRId64 " gives no value of %s: %s", e, value, s, why);
}

static rill_status bound_refuse(const struct dim *expr, const struct dim *symbol, int64_t value,
                                const char *bound, int64_t of, const char *by, rill_error *err)
{
    char why[240];
    snprintf(why, sizeof why, "it has to be at %s %" PRId64 "%s%s", bound, of, by ? " for " : "",
             by ? by : "");
    return solve_refuse(expr, symbol, value, RILL_INVALID, why, err);
}

rill_status dim_solve(const struct dim *expr, const struct dim *symbol, int64_t value, int64_t *ret,
                      rill_error *reterr)
{
    if (dim_is_bad(expr) || dim_is_bad(symbol) || symbol->kind != DIM_SYM)
        return solve_refuse(expr, symbol, value, RILL_INVALID, "not an expression and a symbol",
                            reterr);
    if (!dim_mentions(expr, symbol))
        return solve_refuse(expr, symbol, value, RILL_UNSUPPORTED, "it is not mentioned", reterr);
    struct lin l;
    lin_init(&l, expr);
    if (l.n != 1 || l.t[0] != symbol)
        return solve_refuse(expr, symbol, value, RILL_UNSUPPORTED,
                            "only a number times it plus a number can be solved", reterr);
    int64_t rest, k = l.k[0];
    if (__builtin_sub_overflow(value, l.c, &rest) || (k == -1 && rest == INT64_MIN))
        return solve_refuse(expr, symbol, value, RILL_INVALID, "the numbers are over 2^63", reterr);
    if (rest % k)
        return solve_refuse(expr, symbol, value, RILL_INVALID, "it would be a fraction", reterr);
    if (rest / k < symbol->bound->lo)
        return bound_refuse(expr, symbol, value, "least", symbol->bound->lo, symbol->by[0], reterr);
    if (rest / k > symbol->bound->hi)
        return bound_refuse(expr, symbol, value, "most", symbol->bound->hi, symbol->by[1], reterr);
    *ret = rest / k;
    return RILL_OK;
}

/* ---- symbols that become something else ---- */

/* ge0, which is `known` with the symbol replaced, is >= 0 from now on. by: who needed it, or NULL
 */
static rill_status fact_inherit(struct dims *ds, const struct dim *known, const struct dim *ge0,
                                const char *by, rill_error *err)
{
    char e[160], text[200];
    TRY(dims_status(ds, err));
    if (dim_print(ge0, e, sizeof e) >= (int) sizeof e)
        return RILL_OK; /* a fact that is not carried over proves less, never something wrong */
    snprintf(text, sizeof text, "%s >= 0", e);
    const struct dim_asker before = dims_ask_for(ds, (struct dim_asker) { by, NULL });
    rill_status s = dims_assert(ds, text, err);
    dims_ask_for(ds, before);
    if (s != RILL_INVALID)
        return s;
    dim_print(known, e, sizeof e);
    return err_set(err, s, "it contradicts what is known: %s >= 0", e);
}

rill_status dims_inherit(struct dims *ds, const struct dim *symbol, const struct dim *to,
                         rill_error *reterr)
{
    if (dim_is_bad(to) || dim_is_bad(symbol) || symbol->kind != DIM_SYM)
        return err_set(reterr, RILL_INVALID, "only a symbol can be replaced, and by an expression");
    struct dim_bound b = *symbol->bound;
    if (dim_mentions(to, symbol))
        return err_set(reterr, RILL_INVALID,
                       "symbol '%.100s' cannot be replaced by something that mentions it: name the "
                       "new one differently",
                       symbol->name);
    for (struct dim_claim *c = ds->claims; c; c = c->next) /* before facts of `to` are known */
        c->ge0 = dim_subst(ds, c->ge0, symbol, to);
    if (b.lo != INT64_MIN)
        TRY(fact_inherit(ds, dim_sub(ds, symbol, dim_int(ds, b.lo)),
                         dim_sub(ds, to, dim_int(ds, b.lo)), symbol->by[0], reterr));
    if (b.hi != INT64_MAX)
        TRY(fact_inherit(ds, dim_sub(ds, dim_int(ds, b.hi), symbol),
                         dim_sub(ds, dim_int(ds, b.hi), to), symbol->by[1], reterr));
    for (unsigned i = 0, n = ds->n_facts; i < n; i++)
        if (dim_mentions(ds->fact[i], symbol))
            TRY(fact_inherit(ds, ds->fact[i], dim_subst(ds, ds->fact[i], symbol, to), NULL,
                             reterr));
    return RILL_OK;
}
