/* SPDX-License-Identifier: MIT */
#include "engine/typing/branch_shapes.h"
#include "engine/base/dim_lengths.h"
#include "engine/ops/ops.h"

#define MULTIPLES 5040 /* of which the small numbers are divisors */

struct branch_shapes {
    struct dims *ds;
    const struct dim *symbol;
    const struct fact *of[2];
};

/* Whether a condition is the same for all such lengths. */
struct decided {
    struct dims *ds;
    const struct dim *symbol, *cond;
};

static bool is_decided(void *ctx, const struct dim *length)
{
    const struct decided *x = ctx;
    return dim_is_const(dim_subst(x->ds, x->cond, x->symbol, length));
}

/* The lengths for which the condition is, as assertions; "": none are seen. */
static void decided_print(struct dims *ds, const struct tensor *cond, char *ret, size_t cap)
{
    struct decided x = { ds, NULL, NULL };
    const struct dim *symbols[2];
    ret[0] = 0;
    if (!cond || cond->type != DTYPE_DIM || tensor_count(cond) != 1)
        return;
    x.cond = *(const struct dim *const *) cond->data;
    if (dim_symbols(x.cond, symbols, 0, 2) != 1)
        return;
    x.symbol = symbols[0];
    dim_lengths_assert(ds, x.symbol, MULTIPLES, is_decided, &x, ret, cap);
}

static bool are_same(void *ctx, const struct dim *length)
{
    const struct branch_shapes *x = ctx;
    bool same = x->of[0]->rank == x->of[1]->rank;
    for (int k = 0; same && k < x->of[0]->rank; k++)
        same = dim_subst(x->ds, x->of[0]->shape[k], x->symbol, length) ==
            dim_subst(x->ds, x->of[1]->shape[k], x->symbol, length);
    return same;
}

static const struct dim *only_symbol(const struct fact *a, const struct fact *b)
{
    const struct dim *symbols[2];
    unsigned n = 0;
    for (int k = 0; k < a->rank; k++)
        n = dim_symbols(a->shape[k], symbols, n, 2);
    for (int k = 0; k < b->rank; k++)
        n = dim_symbols(b->shape[k], symbols, n, 2);
    return n == 1 ? symbols[0] : NULL;
}

rill_status branch_shapes_refuse(struct dims *ds, const struct node *n, unsigned output,
                                 const struct fact *then_gives, const struct fact *else_gives,
                                 const struct tensor *cond, rill_error *err)
{
    struct branch_shapes x = { ds,
                               only_symbol(then_gives, else_gives),
                               { then_gives, else_gives } };
    char a[120], b[120], at[200] = "";
    const bool meet =
        x.symbol && dim_lengths_assert(ds, x.symbol, MULTIPLES, are_same, &x, at, sizeof at);
    if (!meet)
        decided_print(ds, cond, at, sizeof at);
    fact_print(then_gives, a, sizeof a);
    fact_print(else_gives, b, sizeof b);
    return op_fail(err, RILL_UNSUPPORTED, n,
                   "its branches give output %u different shapes, %s and %s, and the condition is "
                   "not known%s%s",
                   output, a, b,
                   meet        ? "; they are the same with"
                       : at[0] ? "; it is with"
                               : "",
                   at);
}

rill_status branch_untyped(struct dims *ds, const struct node *n, const struct tensor *cond,
                           rill_status s, rill_error *err)
{
    char at[200];
    if (s == RILL_NOMEM || dims_status(ds, NULL) != RILL_OK)
        return s;
    decided_print(ds, cond, at, sizeof at);
    return at[0] ? op_fail(err, RILL_UNSUPPORTED, n,
                           "its condition depends on the length, of which a branch makes sizes; it "
                           "is known with%s",
                           at)
                 : s;
}
