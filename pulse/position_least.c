/* SPDX-License-Identifier: MIT */
#include "pulse/position_least.h"
#include "engine/ops/attrs.h"

enum way { STAYS, RISES, FALLS, UNKNOWN };

static enum way scaled(enum way w, int64_t by)
{
    return by >= 0 || w == STAYS || w == UNKNOWN ? w : w == RISES ? FALLS : RISES;
}

static enum way joined(enum way a, enum way b)
{
    return a == STAYS || a == b ? b : b == STAYS ? a : UNKNOWN;
}

/* Where d goes as k does. */
static enum way way_of(const struct dim *d, const struct dim *k)
{
    const struct dim_parts x = dim_parts(d);
    enum way y = d == k ? RISES : STAYS;
    if (!dim_mentions(d, k))
        return STAYS;
    if (x.form != DIM_FORM_SYMBOL && x.form != DIM_FORM_SUM && x.form != DIM_FORM_QUOTIENT &&
        x.form != DIM_FORM_LEAST && x.form != DIM_FORM_MOST)
        return UNKNOWN;
    for (unsigned i = 0; i < x.n; i++)
        y = joined(y, scaled(way_of(x.arg[i], k), x.form == DIM_FORM_SUM ? x.coef[i] : 1));
    return y;
}

/* One comparison where it is true at all k from 0 to last; NULL: it is none, or not known. */
static const struct dim *all_true(struct dims *ds, const struct dim *e, const struct dim *k,
                                  const struct dim *last)
{
    const struct dim_parts x = dim_parts(e);
    if (!dim_mentions(e, k))
        return x.form == DIM_FORM_AT_LEAST || x.form == DIM_FORM_EQUAL ? e : NULL;
    const enum way way =
        x.form == DIM_FORM_AT_LEAST ? way_of(dim_sub(ds, x.arg[0], x.arg[1]), k) : UNKNOWN;
    return way == UNKNOWN ? NULL : dim_subst(ds, e, k, way == FALLS ? last : dim_int(ds, 0));
}

/* The one axis that n reduces; -1: it reduces several. */
static int axis_reduced(const struct graph *g, const struct node *n)
{
    const struct tensor *axes = n->n_in == 2 && n->in[1] != WIRE_NONE ? node_value(g, n, 1) : NULL;
    return axes && tensor_count(axes) == 1
        ? axis_normalise(tensor_get_i64(axes, axes->data, 0), g->wires[n->in[0]].fact.rank)
        : -1;
}

struct position position_least(const struct positions *ps, const struct graph *g,
                               const struct dim *symbol, const struct node *n)
{
    struct dims *ds = ps->dims;
    const struct position none = { 0 }, *at = &ps->of[n->in[0]];
    const struct fact *f = &g->wires[n->in[0]].fact;
    const int axis = axis_reduced(g, n);
    const struct dim *size = axis < 0 ? NULL : positions_dim(ps, f->shape[axis], symbol);
    if (!at->e || at->pair || !size || !dim_mentions(size, ps->time))
        return none;
    const struct dim *some = dim_subst(ds, size, ps->time, dim_add_int(ds, ps->more, 1)),
                     *last = dim_add_int(ds, size, -1), *y = dim_int(ds, 1);
    const struct dim_parts x = dim_parts(at->e);
    const bool product = x.form == DIM_FORM_PRODUCT;
    if (!dim_is(dim_ge(ds, some, dim_int(ds, 1)), 1)) /* of no frames it is not known */
        return none;
    for (unsigned i = 0; i < (product ? x.n : 1); i++) {
        const struct dim *one = all_true(ds, product ? x.arg[i] : at->e, ps->axis[axis], last);
        if (!one)
            return none;
        y = dim_mul(ds, y, one);
    }
    for (int i = axis + 1; i < f->rank && !reduce_attr_of(n)->keepdims; i++)
        y = dim_subst(ds, y, ps->axis[i], ps->axis[i - 1]);
    return (struct position) { .e = y };
}
