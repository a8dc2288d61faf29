/* SPDX-License-Identifier: MIT */
#include "pulse/position_scaled.h"
#include "pulse/exact.h"
#include "pulse/position_fractions.h"
#include "pulse/within.h"

#include <math.h>

#define ROUNDING 0x1p-23 /* of each result, with as much to spare */
#define SCALE_MOST 0x1p60

static const struct position unknown;

/* The walk over what wires nearly are. */
static struct walk scaled_walk(const struct walk *w, struct positions *view)
{
    struct walk v = *w;
    *view = *w->ps;
    view->of = view->scaled;
    v.ps = view;
    return v;
}

/* How far a number as large as e may be from what it is rounded to, in e. */
static double rounding(const struct walk *w, const struct dim *e)
{
    return position_most(w->ps, e, (double) PLACES_SCALED) * ROUNDING;
}

/* e times `scale`, off by `slack` of e. */
static struct position nearly(const struct dim *e, double scale, double slack)
{
    return fabs(scale) > 1 / SCALE_MOST && fabs(scale) < SCALE_MOST && slack < 0.5
        ? (struct position) { .e = e, .one = scale, .zero = slack, .parts = 1 }
        : unknown;
}

/* Of an expression, too. */
static struct position operand(const struct walk *w, uint32_t wire, int rank)
{
    struct positions view;
    const struct walk v = scaled_walk(w, &view);
    const struct position *x = &w->ps->of[wire];
    if (!x->e)
        return view.of[wire].e ? broadcast(&v, wire, rank) : unknown;
    if (x->pair)
        return unknown;
    const struct position y = broadcast(w, wire, rank);
    const int64_t parts = y.parts > 1 ? y.parts : 1;
    return nearly(y.e, 1 / (double) parts, parts & (parts - 1) ? rounding(w, y.e) : 0);
}

static bool constant_of(const struct walk *w, uint32_t wire, double *ret)
{
    const struct position *x = &w->ps->of[wire];
    *ret = x->one;
    return x->e && x->pair && x->one == x->zero && isfinite(x->one);
}

static struct position multiplied(const struct walk *w, const struct node *n, int rank)
{
    double c;
    for (unsigned i = 0; i < 2; i++) {
        if (!constant_of(w, n->in[1 - i], &c) || c == 0 || (i && node_is(n, OP_DIV)))
            continue;
        const struct position x = operand(w, n->in[i], rank);
        return x.e
            ? nearly(x.e, node_is(n, OP_DIV) ? x.one / c : x.one * c, x.zero + rounding(w, x.e))
            : x;
    }
    return unknown;
}

static struct position added(const struct walk *w, const struct node *n, int rank)
{
    const struct position x = operand(w, n->in[0], rank), y = operand(w, n->in[1], rank);
    if (!x.e || !y.e || fabs(x.one) != fabs(y.one))
        return unknown;
    const bool subtracts = node_is(n, OP_SUB) != (x.one != y.one);
    const struct dim *e = (subtracts ? dim_sub : dim_add)(w->ps->dims, x.e, y.e);
    return nearly(e, x.one, x.zero + y.zero + rounding(w, e));
}

static struct position turned(const struct walk *w, const struct node *n, int rank)
{
    struct position x = operand(w, n->in[0], rank);
    if (x.e && node_is(n, OP_ABS)) {
        x.e = dim_max(w->ps->dims, x.e, dim_mul_int(w->ps->dims, x.e, -1));
        x.one = fabs(x.one);
    } else if (x.e && node_is(n, OP_NEG)) {
        x.one = -x.one;
    } else if (x.e) { /* another type of floats */
        x.zero += rounding(w, x.e);
    }
    return x;
}

static struct position elsewhere(const struct walk *w, const struct node *n, int rank)
{
    struct positions view;
    const struct walk v = scaled_walk(w, &view);
    const struct position x = view.of[n->in[0]];
    if (!x.e)
        return unknown;
    const struct position y = node_is(n, OP_TRANSPOSE)     ? transposed(&v, n)
        : node_is(n, OP_EXPAND) || node_is(n, OP_IDENTITY) ? broadcast(&v, n->in[0], rank)
        : node_is(n, OP_SLICE)                             ? sliced(&v, n, rank)
                                                           : reshaped(&v, n);
    return y.e && y.one == x.one && y.zero == x.zero ? y : unknown;
}

static bool is_wide(const struct walk *w, uint32_t wire)
{
    const enum dtype type = w->g->wires[wire].fact.type;
    return type == DTYPE_F32 || type == DTYPE_F64;
}

struct position position_scaled(const struct walk *w, const struct node *n, int rank)
{
    for (unsigned i = 0; i < n->n_in; i++)
        if (n->in[i] == WIRE_NONE)
            return unknown;
    if (n->n_in == 0 || !is_wide(w, n->in[0]) || !is_wide(w, n->out[0]))
        return unknown;
    switch (n->op->id) {
    case OP_MUL:
    case OP_DIV: return multiplied(w, n, rank);
    case OP_ADD:
    case OP_SUB: return added(w, n, rank);
    case OP_ABS:
    case OP_CAST:
    case OP_NEG: return turned(w, n, rank);
    case OP_EXPAND:
    case OP_FLATTEN:
    case OP_IDENTITY:
    case OP_RESHAPE:
    case OP_SLICE:
    case OP_SQUEEZE:
    case OP_TRANSPOSE:
    case OP_UNSQUEEZE: return elsewhere(w, n, rank);
    default: return unknown;
    }
}

/* Whether x is at least, or more than, the constant: nothing lies as near to it as it may be off.
 */
static const struct dim *at_least(const struct walk *w, const struct position *x, double constant)
{
    const double at = constant / x->one, off = fabs(at - nearbyint(at));
    if (!(fabs(at) <= 1 << 24) || off <= x->zero + fabs(at) * ROUNDING)
        return NULL;
    struct dims *ds = w->ps->dims;
    const struct dim *ge = within_ge(w->ps, x->e, dim_int(ds, (int64_t) ceil(at)));
    return x->one > 0 ? ge : dim_sub(ds, dim_int(ds, 1), ge);
}

struct position scaled_compared(const struct walk *w, const struct node *n, int rank)
{
    double c;
    for (unsigned i = 0; position_orders(n->op->id) && n->n_in == 2 && i < 2; i++) {
        if (!is_wide(w, n->in[i]) || !constant_of(w, n->in[1 - i], &c) || w->ps->of[n->in[i]].e ||
            !w->ps->scaled[n->in[i]].e)
            continue;
        const struct position x = operand(w, n->in[i], rank);
        const struct dim *e = x.e ? at_least(w, &x, c) : NULL;
        const bool more = node_is(n, OP_GREATER) || node_is(n, OP_GREATER_OR_EQUAL);
        return e ? (struct position) { .e = more == (i == 0)
                                           ? e
                                           : dim_sub(w->ps->dims, dim_int(w->ps->dims, 1), e) }
                 : unknown;
    }
    return unknown;
}
