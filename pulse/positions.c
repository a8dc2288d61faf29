/* SPDX-License-Identifier: MIT */
#include "pulse/position_tables.h"
#include "engine/ops/attrs.h"
#include "pulse/exact.h"
#include "pulse/position_fractions.h"
#include "pulse/position_least.h"
#include "pulse/position_moves.h"
#include "pulse/position_scaled.h"
#include "pulse/position_sums.h"
#include "pulse/position_windows.h"
#include "pulse/within.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CASES_TRIED 64 /* of comparisons in one expression */

typedef const struct dim *combine(struct dims *ds, const struct dim *a, const struct dim *b);

/* ---- integers and truth values ---- */

static const struct dim *truth_not(struct dims *ds, const struct dim *a)
{
    return dim_sub(ds, dim_int(ds, 1), a);
}

static const struct dim *do_xor(struct dims *ds, const struct dim *a, const struct dim *b)
{
    return dim_sub(ds, truth_or(ds, a, b), dim_mul(ds, a, b));
}

/* Integer division truncates: the same as floor where nothing is negative. */
static const struct dim *do_div(struct dims *ds, const struct dim *a, const struct dim *b)
{
    if (!dim_is_const(b) || dim_value(b) <= 0)
        return NULL;
    const struct dim *up = dim_ge(ds, a, dim_int(ds, 0)), *down = dim_div_int(ds, a, dim_value(b)),
                     *back = dim_div_ceil_int(ds, a, dim_value(b));
    if (dim_is(up, 1))
        return down;
    return dim_add(ds, dim_mul(ds, up, down), dim_mul(ds, truth_not(ds, up), back));
}

static const struct dim *do_mod(struct dims *ds, const struct dim *a, const struct dim *b)
{
    return dim_is_const(b) && dim_value(b) > 0
        ? dim_sub(ds, a, dim_mul(ds, dim_div_int(ds, a, dim_value(b)), b))
        : NULL;
}

/* clang-format off */
static combine *const combines[OP_COUNT] = {
    [OP_ADD] = dim_add,        [OP_AND] = dim_mul,
    [OP_DIV] = do_div,         [OP_EQUAL] = within_eq,
    [OP_MAX] = dim_max,        [OP_MIN] = dim_min,
    [OP_MOD] = do_mod,         [OP_MUL] = dim_mul,
    [OP_OR] = truth_or,           [OP_SUB] = dim_sub,
    [OP_XOR] = do_xor,
};
/* clang-format on */

/* ---- floats that take two values ---- */

static bool pair_constant(const struct position *a)
{
    return a->pair && a->one == a->zero;
}

/* Whole numbers that f32 holds exactly, and sums of a few of them. */
static bool is_whole(double v)
{
    return fabs(v) <= 1 << 24 && v == floor(v);
}

/* A pair of whole numbers as one expression. */
static struct position as_whole(const struct walk *w, struct position x)
{
    struct dims *ds = w->ps->dims;
    if (!x.pair || !x.e)
        return x;
    if (!is_whole(x.one) || !is_whole(x.zero))
        return (struct position) { 0 };
    int64_t one = (int64_t) x.one, zero = (int64_t) x.zero;
    return (struct position) { .e = one == zero
                                   ? dim_int(ds, one)
                                   : dim_add_int(ds, dim_mul_int(ds, x.e, one - zero), zero) };
}

static double number_combine(enum op_id op, double a, double b, bool *ok)
{
    switch (op) {
    case OP_ADD: return a + b;
    case OP_SUB: return a - b;
    case OP_MUL: return a * b;
    case OP_DIV: return a / b;
    case OP_EQUAL: return a == b;
    case OP_GREATER: return a > b;
    case OP_GREATER_OR_EQUAL: return a >= b;
    case OP_LESS: return a < b;
    case OP_LESS_OR_EQUAL: return a <= b;
    case OP_MAX: return isnan(a) || isnan(b) ? NAN : fmax(a, b);
    case OP_MIN: return isnan(a) || isnan(b) ? NAN : fmin(a, b);
    default: *ok = false; return 0;
    }
}

/* As an element of that type holds it; a comparison has two numbers of its own. */
static double as_held(enum dtype type, double v)
{
    const struct tensor t = { .type = type };
    double element;
    if (!dtype_is_float(type))
        return v;
    tensor_set_f64(&t, &element, 0, v);
    return tensor_get_f64(&t, &element, 0);
}

/* Four cases of two truth values, of which the result may take two numbers. type: of the result. */
static struct position pair_combine(struct dims *ds, enum op_id op, enum dtype type,
                                    const struct position *a, const struct position *b)
{
    bool ok = a->pair && b->pair;
    const struct dim *both = dim_mul(ds, a->e, b->e), *e = dim_int(ds, 0);
    const struct dim *only_a = dim_sub(ds, a->e, both), *only_b = dim_sub(ds, b->e, both);
    const struct dim *none = dim_sub(ds, dim_sub(ds, dim_int(ds, 1), a->e), only_b),
                     *cases[] = { both, only_a, only_b, none };
    struct position y = { .pair = true };
    for (int k = 0; k < 4; k++) {
        double v = number_combine(op, k & 2 ? a->zero : a->one, k & 1 ? b->zero : b->one, &ok);
        v = as_held(type, v);
        if (k == 0)
            y.one = y.zero = v;
        if (v == y.one)
            e = dim_add(ds, e, cases[k]);
        else if (y.zero == y.one)
            y.zero = v;
        ok &= v == y.one || v == y.zero;
    }
    if (op == OP_EQUAL || position_orders(op)) {
        const struct dim *one = dim_int(ds, y.one != 0), *zero = dim_int(ds, y.zero != 0);
        return (struct position) { .e = ok
                                       ? dim_add(ds, zero, dim_mul(ds, e, dim_sub(ds, one, zero)))
                                       : NULL };
    }
    y.e = y.one == y.zero ? dim_int(ds, 1) : e;
    return ok ? y : (struct position) { 0 };
}

/* ---- nodes ---- */

static struct position constant(const struct walk *w, const struct tensor *v)
{
    struct position y = { 0 };
    if (tensor_count(v) != 1)
        return table_position(w->ps, v);
    if (dtype_is_float(v->type))
        return (struct position) { dim_int(w->ps->dims, 1), true, tensor_get_f64(v, v->data, 0),
                                   tensor_get_f64(v, v->data, 0), 1 };
    if (v->type == DTYPE_DIM) {
        y.e = positions_dim(w->ps, *(const struct dim *const *) v->data, w->symbol);
    } else {
        y.e = dim_int(w->ps->dims, tensor_get_i64(v, v->data, 0));
    }
    return y;
}

/* The scalar that ConstantOfShape fills with: a float 0 where the attribute is absent. */
static struct position filled(const struct walk *w, const struct node *n)
{
    const struct tensor *v = value_attr_of(n)->value;
    return v ? constant(w, v) : (struct position) { dim_int(w->ps->dims, 1), true, 0, 0, 1 };
}

/* Elements above or below a diagonal of the last two axes, 0 elsewhere. */
static struct position triangle(const struct walk *w, const struct node *n, int rank)
{
    struct dims *ds = w->ps->dims;
    struct position y = w->ps->of[n->in[0]];
    const struct position *k = node_has_input(n, 1) ? &w->ps->of[n->in[1]] : NULL;
    if ((k && (!k->e || k->pair)) || (y.pair && y.zero != 0 && !pair_constant(&y)))
        return (struct position) { 0 };
    const struct dim *j = w->ps->axis[rank - 1], *i = w->ps->axis[rank - 2];
    const struct dim *diagonal = k ? dim_add(ds, i, k->e) : i;
    const struct dim *kept =
        trilu_attr_of(n)->upper ? dim_ge(ds, j, diagonal) : dim_ge(ds, diagonal, j);
    y.e = y.pair && pair_constant(&y) ? kept : dim_mul(ds, y.e, kept);
    y.zero = 0;
    return y;
}

/* Ones on a diagonal of a matrix. */
static struct position diagonal(const struct walk *w, const struct node *n)
{
    struct dims *ds = w->ps->dims;
    const enum dtype type = w->g->wires[n->out[0]].fact.type;
    const struct dim *at = dim_add_int(ds, w->ps->axis[0], eye_attr_of(n)->k),
                     *e = dim_eq(ds, w->ps->axis[1], at);
    return dtype_is_float(type) ? (struct position) { e, true, 1, 0, 1 }
                                : (struct position) { .e = e };
}

static struct position range(const struct walk *w, const struct node *n)
{
    const struct position *start = &w->ps->of[n->in[0]], *step = &w->ps->of[n->in[2]];
    struct position y = { 0 };
    struct position from = as_whole(w, *start), by = as_whole(w, *step);
    if (from.e && by.e && dim_is_const(by.e))
        y.e = dim_add(w->ps->dims, from.e, dim_mul(w->ps->dims, by.e, w->ps->axis[0]));
    return y;
}

/* Of whole numbers of which one is chosen everywhere. */
static struct position chosen(const struct walk *w, const struct node *n, int rank)
{
    const struct position *c = node_is(n, OP_WHERE) ? &w->ps->of[n->in[0]] : NULL;
    if (!c || !c->e || c->pair || !dim_is_const(c->e) ||
        !dtype_is_int(w->g->wires[n->out[0]].fact.type))
        return (struct position) { 0 };
    const uint32_t wire = n->in[dim_value(c->e) ? 1 : 2];
    return w->ps->of[wire].e ? broadcast(w, wire, rank) : (struct position) { 0 };
}

static struct position where(const struct walk *w, const struct node *n, int rank)
{
    struct position c = broadcast(w, n->in[0], rank), a = broadcast(w, n->in[1], rank),
                    b = broadcast(w, n->in[2], rank);
    struct position y = { 0 };
    if (pair_constant(&a) && pair_constant(&b) && !c.pair)
        return (struct position) { c.e, true, a.one, b.one, 1 };
    a = as_whole(w, a);
    b = as_whole(w, b);
    if (a.e && b.e && !has_parts(&a) && !has_parts(&b) && !c.pair)
        y.e = dim_add(w->ps->dims, dim_mul(w->ps->dims, c.e, a.e),
                      dim_mul(w->ps->dims, truth_not(w->ps->dims, c.e), b.e));
    return y;
}

static struct position cast(const struct walk *w, const struct node *n)
{
    struct dims *ds = w->ps->dims;
    struct position y = w->ps->of[n->in[0]];
    enum dtype from = w->g->wires[n->in[0]].fact.type, to = w->g->wires[n->out[0]].fact.type;
    if (y.pair && dtype_is_float(to)) {
        y.one = as_held(to, y.one);
        y.zero = as_held(to, y.zero);
    }
    if (from == to || (y.pair && dtype_is_float(to)))
        return y;
    if (from == DTYPE_BOOL && dtype_is_float(to))
        return (struct position) { y.e, true, 1, 0, 1 };
    if (y.pair && to == DTYPE_BOOL) {
        const struct dim *zero = dim_int(ds, y.zero != 0), *one = dim_int(ds, y.one != 0);
        return (
            struct position) { .e = dim_add(ds, zero, dim_mul(ds, y.e, dim_sub(ds, one, zero))) };
    }
    if (to == DTYPE_BOOL)
        return (struct position) { .e = from == DTYPE_BOOL || truth_is(y.e)
                                       ? y.e
                                       : truth_not(ds, dim_eq(ds, y.e, dim_int(ds, 0))) };
    if (dtype_is_half(to))
        return (struct position) { 0 };
    y = as_whole(w, y);
    if (y.e && y.parts > 1 && !dtype_is_float(to))
        y = (struct position) { .e = do_div(ds, y.e, dim_int(ds, y.parts)) };
    return y;
}

/* Floats: a quotient stays one until it is rounded. */
static struct position quotient(const struct position *a, const struct position *b)
{
    struct position y = *a;
    bool fits = dim_is_const(b->e) && b->parts <= 1 && dim_value(b->e) >= 1 &&
        dim_value(b->e) <= PARTS_MAX && a->parts <= 1;
    y.parts = fits ? dim_value(b->e) : 1;
    y.e = fits ? y.e : NULL;
    return y;
}

/* What op `id`, that of node n or its product, makes of a and b. */
static struct position combined(const struct walk *w, const struct node *n, enum op_id id,
                                struct position a, struct position b)
{
    struct position y = { 0 };
    combine *run = combines[id];
    bool is_float = dtype_is_float(w->g->wires[n->in[0]].fact.type);
    if (a.pair && b.pair)
        y = pair_combine(w->ps->dims, id, w->g->wires[n->out[0]].fact.type, &a, &b);
    if (!y.e && is_float)
        y = position_fractions(w->ps, id, &a, &b);
    if (y.e)
        return y;
    a = as_whole(w, a); /* of more than two numbers, as the difference of two triangles */
    b = as_whole(w, b);
    if (!a.e || !b.e || (is_float && id == OP_DIV))
        return a.e && b.e ? quotient(&a, &b) : y;
    if (id == OP_MOD && binary_attr_of(n)->fmod &&
        !dim_is(dim_ge(w->ps->dims, a.e, dim_int(w->ps->dims, 0)), 1))
        return y;
    if (has_parts(&a) || has_parts(&b))
        return y;
    y.e = position_orders(id) ? positions_ordered(w->ps, id, a.e, b.e)
        : run                 ? run(w->ps->dims, a.e, b.e)
                              : NULL;
    return y;
}

static struct position binary(const struct walk *w, const struct node *n, int rank)
{
    return combined(w, n, n->op->id, broadcast(w, n->in[0], rank), broadcast(w, n->in[1], rank));
}

static struct position product(const struct walk *w, const struct node *n)
{
    const struct position a = factor(w, n, 0), b = a.e ? factor(w, n, 1) : a;
    return b.e ? combined(w, n, OP_MUL, a, b) : b;
}

static struct position negated(const struct walk *w, const struct node *n)
{
    struct position y = w->ps->of[n->in[0]];
    y.one = -y.one;
    y.zero = -y.zero;
    y.e = y.pair ? y.e : dim_mul_int(w->ps->dims, y.e, -1);
    return y;
}

/* Floor, Ceil and Round of what is whole but for a division. Quotients that are rounded to f32
 * never reach the next whole number. */
static struct position floored(const struct walk *w, const struct node *n)
{
    struct position y = as_whole(w, w->ps->of[n->in[0]]);
    if (y.e && has_parts(&y))
        y.e = node_is(n, OP_FLOOR) ? dim_div_int(w->ps->dims, y.e, y.parts)
            : node_is(n, OP_CEIL)  ? dim_div_ceil_int(w->ps->dims, y.e, y.parts)
                                   : position_nearest(w->ps, &y);
    y.parts = 1;
    return y;
}

/* Right, by a number of bits. */
static struct position shifted(const struct walk *w, const struct node *n)
{
    const struct position *x = &w->ps->of[n->in[0]], *by = &w->ps->of[n->in[1]];
    const int64_t bits = dim_is_const(by->e) ? dim_value(by->e) : -1;
    return binary_attr_of(n)->direction && bits >= 0 && bits < 32 &&
            w->g->wires[n->in[1]].fact.rank <= w->g->wires[n->in[0]].fact.rank
        ? (struct position) { .e = dim_div_int(w->ps->dims, x->e, (int64_t) 1 << bits) }
        : (struct position) { 0 };
}

static const struct node *producer(const struct walk *w, uint32_t wire, enum op_id op)
{
    const struct node *n = graph_producer(w->g, wire);
    return n && node_is(n, op) ? n : NULL;
}

/* Of what PyTorch writes for a quotient cut to a whole number, floor(|x|) * sign(x), that x;
 * WIRE_NONE: it is something else. */
static uint32_t cut_of(const struct walk *w, const struct node *n)
{
    for (unsigned i = 0; n->n_in == 2 && i < 2; i++) {
        const struct node *whole = producer(w, n->in[i], OP_FLOOR),
                          *sign = producer(w, n->in[1 - i], OP_SIGN),
                          *size = whole ? producer(w, whole->in[0], OP_ABS) : NULL;
        if (size && sign && size->in[0] == sign->in[0])
            return sign->in[0];
    }
    return WIRE_NONE;
}

static struct position multiplied(const struct walk *w, const struct node *n, int rank)
{
    const uint32_t wire = cut_of(w, n);
    struct position x = wire == WIRE_NONE ? (struct position) { 0 } : as_whole(w, w->ps->of[wire]);
    if (!x.e)
        return binary(w, n, rank);
    return (struct position) { .e = has_parts(&x)
                                   ? do_div(w->ps->dims, x.e, dim_int(w->ps->dims, x.parts))
                                   : x.e };
}

static struct position sign(const struct walk *w, const struct node *n)
{
    struct dims *ds = w->ps->dims;
    const struct position x = as_whole(w, w->ps->of[n->in[0]]);
    const struct dim *one = dim_int(ds, 1);
    if (!x.e)
        return x;
    return (struct position) { .e = dim_sub(ds, dim_ge(ds, x.e, one),
                                            dim_ge(ds, dim_mul_int(ds, x.e, -1), one)) };
}

static struct position clipped(const struct walk *w, const struct node *n)
{
    struct position y = as_whole(w, w->ps->of[n->in[0]]);
    for (unsigned i = 1; i < 3; i++) {
        const struct position *end = node_has_input(n, i) ? &w->ps->of[n->in[i]] : NULL;
        struct position at = end ? as_whole(w, *end) : (struct position) { 0 };
        if (!end)
            continue;
        if (!at.e || has_parts(&at) || !y.e || has_parts(&y))
            return (struct position) { 0 };
        y.e = (i == 1 ? dim_max : dim_min)(w->ps->dims, y.e, at.e);
    }
    return y;
}

static struct position absolute(const struct walk *w, const struct position *x)
{
    const struct dim *negative = dim_mul_int(w->ps->dims, x->e, -1);
    return x->pair
        ? (struct position) { x->e, true, fabs(x->one), fabs(x->zero), 1 }
        : (struct position) { .e = dim_max(w->ps->dims, x->e, negative), .parts = x->parts };
}

/* Of 1 and of 0, which no kernel rounds. */
static struct position logarithm(const struct position *x)
{
    const bool exact = x->pair && (x->one == 0 || x->one == 1) && (x->zero == 0 || x->zero == 1);
    return exact ? (struct position) { x->e, true, x->one == 1 ? 0 : -INFINITY,
                                       x->zero == 1 ? 0 : -INFINITY, 1 }
                 : (struct position) { 0 };
}

/* Whole numbers, squared. */
static struct position squared(const struct walk *w, const struct node *n)
{
    const struct position x = w->ps->of[n->in[0]], by = as_whole(w, w->ps->of[n->in[1]]);
    if (x.pair || has_parts(&x) || !by.e || has_parts(&by) || !dim_is(by.e, 2))
        return (struct position) { 0 };
    return (struct position) { .e = dim_mul(w->ps->dims, x.e, x.e) };
}

static struct position rounded(const struct walk *w, const struct node *n)
{
    struct position y = w->ps->of[n->in[0]];
    const struct tensor half = { .type = node_is(n, OP_ROUND_F16) ? DTYPE_F16 : DTYPE_BF16 };
    uint16_t one, zero;
    tensor_set_f64(&half, &one, 0, y.one);
    tensor_set_f64(&half, &zero, 0, y.zero);
    y.one = tensor_get_f64(&half, &one, 0);
    y.zero = tensor_get_f64(&half, &zero, 0);
    return y.pair ? y : (struct position) { 0 };
}

/* max(x, 0) */
static struct position rectified(const struct walk *w, const struct position *x)
{
    struct position y = *x;
    if (y.pair && (isnan(y.one) || isnan(y.zero)))
        return (struct position) { 0 };
    y.one = fmax(y.one, 0);
    y.zero = fmax(y.zero, 0);
    y.e = y.pair ? y.e : dim_max(w->ps->dims, y.e, dim_int(w->ps->dims, 0));
    return y;
}

/* Whether it is infinite, or no number. */
static struct position not_finite(const struct walk *w, const struct node *n)
{
    struct dims *ds = w->ps->dims;
    const struct position x = w->ps->of[n->in[0]];
    if (!x.pair)
        return (struct position) { .e = dim_int(ds, 0) };
    const struct unary_attr *a = n->attr; /* of IsInf */
    const bool infinite = node_is(n, OP_ISINF), one = infinite ? isinf(x.one) : isnan(x.one),
               zero = infinite ? isinf(x.zero) : isnan(x.zero);
    if (infinite && !(a->detect_negative && a->detect_positive))
        return (struct position) { 0 };
    return (struct position) { .e = one == zero ? dim_int(ds, one)
                                   : one        ? x.e
                                                : truth_not(ds, x.e) };
}

/* Sums of one number: places, counted. */
static struct position counted(const struct walk *w, const struct node *n, int rank)
{
    const struct position one = as_whole(w, w->ps->of[n->in[0]]), *x = &one,
                          *at = &w->ps->of[n->in[1]];
    struct position y = { 0 };
    if (!x->e || has_parts(x) || !dim_is_const(x->e) || !at->e || at->pair ||
        !dim_is_const(at->e) || cumsum_attr_of(n)->reverse)
        return y;
    int axis = axis_normalise(dim_value(at->e), rank);
    const struct dim *terms =
        dim_add_int(w->ps->dims, w->ps->axis[axis], cumsum_attr_of(n)->exclusive ? 0 : 1);
    y.e = dim_mul_int(w->ps->dims, terms, dim_value(x->e));
    return y;
}

/* Of one integer, as often as the axes are long: PyTorch's count of what a mask of ones shows. */
static struct position summed(const struct walk *w, const struct node *n)
{
    const struct fact *x = &w->g->wires[n->in[0]].fact;
    const struct tensor *axes = node_value(w->g, n, 1);
    struct position y = as_whole(w, w->ps->of[n->in[0]]);
    if (!y.e || has_parts(&y) || !dim_is_const(y.e) || !dtype_is_int(x->type) || !axes)
        return (struct position) { 0 };
    for (int64_t i = 0; y.e && i < tensor_count(axes); i++) {
        const int axis = axis_normalise(tensor_get_i64(axes, axes->data, i), x->rank);
        const struct dim *size = positions_dim(w->ps, x->shape[axis], w->symbol);
        y.e = size ? dim_mul(w->ps->dims, y.e, size) : NULL;
    }
    return y;
}

/* Of what is squared there, that; WIRE_NONE: nothing is. */
static uint32_t squared_at(const struct walk *w, uint32_t wire)
{
    const struct node *n = graph_producer(w->g, wire);
    if (!n || n->n_in != 2 || n->in[0] == WIRE_NONE || n->in[1] == WIRE_NONE)
        return WIRE_NONE;
    const struct position by = as_whole(w, w->ps->of[n->in[1]]);
    const bool twice = node_is(n, OP_MUL) && n->in[0] == n->in[1],
               power = node_is(n, OP_POW) && by.e && !has_parts(&by) && dim_is(by.e, 2);
    return twice || power ? n->in[0] : WIRE_NONE;
}

/* Squares of whole numbers that are compared with one below 2^24: f32 holds that and all below it,
 * and rounds what is larger to nothing lower, so the answer is that of the squares. */
static struct position square_compared(const struct walk *w, const struct node *n, int rank)
{
    for (unsigned i = 0; position_orders(n->op->id) && n->n_in == 2 && i < 2; i++) {
        const uint32_t wire = w->ps->of[n->in[i]].e ? WIRE_NONE : squared_at(w, n->in[i]);
        const struct position *constant = &w->ps->of[n->in[1 - i]];
        const struct position c =
            constant->pair ? position_bound(w->ps, n->op->id, constant, i == 0) : *constant;
        if (wire == WIRE_NONE || !c.e || has_parts(&c) || !dim_is_const(c.e) ||
            dim_value(c.e) >= 1 << 24 || dim_value(c.e) <= -(1 << 24))
            continue;
        const struct position x = as_whole(w, broadcast(w, wire, rank));
        if (!x.e || has_parts(&x) || dtype_is_half(w->g->wires[wire].fact.type) ||
            !dtype_is_float(w->g->wires[wire].fact.type))
            continue;
        const struct dim *square = dim_mul(w->ps->dims, x.e, x.e);
        return (struct position) { .e = positions_ordered(w->ps, n->op->id, i ? c.e : square,
                                                          i ? square : c.e) };
    }
    return (struct position) { 0 };
}

/* Of a square, which is the number itself but for its sign, however the square was rounded. */
static struct position root(const struct walk *w, const struct node *n, int rank)
{
    const uint32_t wire = node_is(n, OP_SQRT) ? squared_at(w, n->in[0]) : WIRE_NONE;
    if (wire == WIRE_NONE || !w->ps->of[wire].e || dtype_is_half(w->g->wires[wire].fact.type) ||
        !dtype_is_float(w->g->wires[wire].fact.type))
        return (struct position) { 0 };
    const struct position x = broadcast(w, wire, rank);
    return absolute(w, &x);
}

static struct position node_position(const struct walk *w, const struct node *n)
{
    int rank = w->g->wires[n->out[0]].fact.rank;
    if (node_is(n, OP_CONSTANT_OF_SHAPE))
        return filled(w, n);
    struct position y = square_compared(w, n, rank);
    y = y.e ? y : scaled_compared(w, n, rank);
    y = y.e ? y : root(w, n, rank);
    y = y.e ? y : chosen(w, n, rank);
    y = y.e ? y : position_sum_compared(w->ps, w->g, n);
    y = y.e ? y : table_picked(w->ps, w->g, n);
    if (y.e)
        return y;
    for (unsigned i = 0; i < n->n_in; i++)
        if (n->in[i] == WIRE_NONE
                ? i == 0
                : !w->ps->of[n->in[i]].e && i < (n->op->flags & OP_POINTWISE ? n->n_in : 1))
            return (struct position) { 0 };
    switch (n->op->id) {
    case OP_RANGE: return range(w, n);
    case OP_UNSQUEEZE:
    case OP_SQUEEZE:
    case OP_RESHAPE: return reshaped(w, n);
    case OP_TRANSPOSE: return transposed(w, n);
    case OP_EYE_LIKE: return diagonal(w, n);
    case OP_TRILU: return rank >= 2 ? triangle(w, n, rank) : (struct position) { 0 };
    case OP_IDENTITY:
    case OP_EXPAND: return broadcast(w, n->in[0], rank);
    case OP_TILE: return tiled(w, n, rank);
    case OP_CAST: return cast(w, n);
    case OP_ROUND_BF16:
    case OP_ROUND_F16: return rounded(w, n);
    case OP_WHERE: return where(w, n, rank);
    case OP_CUMSUM: return counted(w, n, rank);
    case OP_REDUCE_SUM: return summed(w, n);
    case OP_REDUCE_MIN:
    case OP_REDUCE_PROD: return position_least(w->ps, w->g, w->symbol, n);
    case OP_EINSUM:
    case OP_MATMUL: return product(w, n);
    case OP_MUL: return multiplied(w, n, rank);
    case OP_SIGN: return sign(w, n);
    case OP_ABS: return absolute(w, &w->ps->of[n->in[0]]);
    case OP_NEG: return negated(w, n);
    case OP_FLOOR:
    case OP_CEIL:
    case OP_ROUND: return floored(w, n);
    case OP_CLIP: return clipped(w, n);
    case OP_BIT_SHIFT: return shifted(w, n);
    case OP_RELU: return rectified(w, &w->ps->of[n->in[0]]);
    case OP_ISINF:
    case OP_ISNAN: return not_finite(w, n);
    case OP_LOG: return logarithm(&w->ps->of[n->in[0]]);
    case OP_POW: return squared(w, n);
    case OP_PAD: return position_padded(w->ps, w->g, n, as_whole(w, w->ps->of[n->in[0]]));
    case OP_CONV: return position_convolved(w->ps, w->g, n, as_whole(w, w->ps->of[n->in[0]]));
    case OP_SLICE: return sliced(w, n, rank);
    case OP_CONCAT: return position_joined(w->ps, w->g, w->symbol, n);
    case OP_GATHER_ELEMENTS:
    case OP_GATHER: return gathered(w, n);
    case OP_FLATTEN: return reshaped(w, n);
    case OP_NOT: return (struct position) { .e = truth_not(w->ps->dims, w->ps->of[n->in[0]].e) };
    default:
        return n->n_in == 2 && (combines[n->op->id] || position_orders(n->op->id))
            ? binary(w, n, rank)
            : (struct position) { 0 };
    }
}

/* Elements of the node's output hold such numbers: none is rounded or wraps. What was true or false
 * is 0 or 1. */
static struct position held(const struct walk *w, const struct node *n, struct position x)
{
    bool truth = node_is(n, OP_CAST) && w->g->wires[n->in[0]].fact.type == DTYPE_BOOL;
    unsigned cases = CASES_TRIED;
    bool exact = truth || position_exact(w->ps, w->g->wires[n->out[0]].fact.type, &x, &cases);
    w->ps->inexact = exact || w->ps->inexact ? w->ps->inexact : n;
    return exact ? x : (struct position) { 0 };
}

/* f: of the wire whose element x is. */
static struct position without_length(const struct walk *w, struct position x, const struct fact *f)
{
    if (!x.e || !dim_mentions(x.e, w->ps->time))
        return x;
    const struct dim *size[RANK_MAX];
    for (int k = 0; k < f->rank; k++)
        size[k] = positions_dim(w->ps, f->shape[k], w->symbol);
    x.e = within_axes(w->ps, x.e, size, f->rank);
    const struct dim *e = positions_without_length(w->ps, x.e);
    x.e = e ? e : x.e;
    return x;
}

static void node_find(const struct walk *w, const struct node *n)
{
    const uint32_t out = n->out[0];
    const struct fact *f = &w->g->wires[out].fact;
    w->ps->of[out] = held(w, n, without_length(w, node_position(w, n), f));
    if (!w->ps->of[out].e)
        w->ps->scaled[out] = position_scaled(w, n, f->rank);
}

rill_status positions_find(struct positions *ret, const struct graph *g, const struct dim *symbol,
                           struct arena *a, rill_error *reterr)
{
    struct walk w = { .ps = ret, .g = g, .symbol = symbol };
    *ret = (struct positions) { .dims = dims_new(),
                                .graph = g->dims,
                                .of = arena_array(a, struct position, g->n_wires + 1),
                                .scaled = arena_array(a, struct position, g->n_wires + 1) };
    if (!ret->dims || !ret->of || !ret->scaled)
        return err_set(reterr, RILL_NOMEM, "out of memory while pulsing");
    dims_set_owner(ret->dims, a);
    for (int i = 0; i < RANK_MAX; i++) {
        char name[32];
        snprintf(name, sizeof name, "x%d>=0", i);
        TRY(dims_assert(ret->dims, name, reterr));
        name[2] = 0;
        ret->axis[i] = dim_symbol(ret->dims, name);
        name[0] = 'y';
        w.spare[i] = dim_symbol(ret->dims, name);
    }
    TRY(dims_assert(ret->dims, "s>=0", reterr));
    ret->time = dim_symbol(ret->dims, "s");
    TRY(dims_assert(ret->dims, "m>=0", reterr));
    ret->more = dim_symbol(ret->dims, "m");
    ret->place[0] = dim_symbol(ret->dims, "p0");
    ret->place[1] = dim_symbol(ret->dims, "p1");
    for (uint32_t i = 0; i < g->n_wires; i++)
        if (g->wires[i].fact.value)
            ret->of[i] = constant(&w, g->wires[i].fact.value);
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        const struct node *n = &g->nodes[i];
        if (n->n_out == 1 && n->out[0] != WIRE_NONE && n->n_body == 0 &&
            dims_status(ret->dims, NULL) == RILL_OK)
            node_find(&w, n);
    }
    return RILL_OK;
}

void positions_drop(struct positions *ps)
{
    ps->dims = dims_free(ps->dims);
}

struct position position_row(const struct positions *ps, const struct position *at, int axis,
                             int64_t i)
{
    struct position row = *at;
    row.e = dim_subst(ps->dims, at->e, ps->axis[axis], dim_int(ps->dims, i));
    return row;
}

double position_number(const struct position *at, int64_t v)
{
    return at->pair     ? (v ? at->one : at->zero)
        : at->parts > 1 ? (double) v / (double) at->parts
                        : (double) v;
}

bool position_value(const struct positions *ps, const struct position *row, int axis, int64_t j,
                    double *ret)
{
    int64_t v;
    if (dims_status(ps->dims, NULL) != RILL_OK || !dim_eval(row->e, ps->axis[axis], j, &v))
        return false;
    *ret = row->pair     ? (v ? row->one : row->zero)
        : row->parts > 1 ? (double) v / (double) row->parts
                         : (double) v;
    return true;
}

bool position_repeats(const struct positions *ps, const struct position *at, int axis_i, int axis_j,
                      int64_t along_i, int64_t along_j)
{
    const struct dim *i = ps->axis[axis_i], *j = ps->axis[axis_j];
    const struct dim *e = dim_subst(ps->dims, at->e, i, dim_add_int(ps->dims, i, along_i));
    return !dim_mentions(at->e, ps->time) &&
        dim_subst(ps->dims, e, j, dim_add_int(ps->dims, j, along_j)) == at->e;
}
