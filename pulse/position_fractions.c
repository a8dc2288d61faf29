/* SPDX-License-Identifier: MIT */
#include "pulse/position_fractions.h"
#include "pulse/ints.h"
#include "pulse/within.h"

#include <math.h>

/* Both operands of a comparison, turned so that it asks whether one is at least the other and so
 * much more. */
struct order {
    bool is, swaps;
    int64_t more;
};

static const struct order orders[OP_COUNT] = {
    [OP_GREATER] = { true, false, 1 },
    [OP_GREATER_OR_EQUAL] = { true, false, 0 },
    [OP_LESS] = { true, true, 1 },
    [OP_LESS_OR_EQUAL] = { true, true, 0 },
};

bool position_orders(enum op_id op)
{
    return orders[op].is;
}

const struct dim *positions_ordered(const struct positions *ps, enum op_id op, const struct dim *a,
                                    const struct dim *b)
{
    const struct order *o = &orders[op];
    return within_ge(ps, o->swaps ? b : a, dim_add_int(ps->dims, o->swaps ? a : b, o->more));
}

/* ---- whole numbers over a power of two ---- */

static int64_t parts_of(const struct position *x)
{
    return x->parts > 1 ? x->parts : 1;
}

static bool is_power_of_two(int64_t v)
{
    return v > 0 && (v & (v - 1)) == 0;
}

/* What f32 holds exactly, and sums of a few of it. */
static bool is_whole(double v)
{
    return fabs(v) <= 1 << 24 && v == floor(v);
}

/* .e is NULL: it is none. */
static struct position fraction(const struct positions *ps, const struct position *x)
{
    struct dims *ds = ps->dims;
    const int64_t own = parts_of(x);
    if (!x->e || (!x->pair && !is_power_of_two(own)))
        return (struct position) { 0 };
    if (!x->pair)
        return (struct position) { .e = x->e, .parts = own };
    for (int64_t parts = 1; parts <= PARTS_MAX; parts *= 2) {
        const double one = x->one * (double) parts, zero = x->zero * (double) parts;
        if (!is_whole(one) || !is_whole(zero))
            continue;
        const struct dim *above = dim_mul_int(ds, x->e, (int64_t) one - (int64_t) zero);
        return (struct position) {
            .e = one == zero ? dim_int(ds, (int64_t) one) : dim_add_int(ds, above, (int64_t) zero),
            .parts = parts,
        };
    }
    return (struct position) { 0 };
}

/* A constant as the whole number over `parts` that stands for it beside others of those, on that
 * side of the comparison. */
static struct position nearest(const struct positions *ps, enum op_id op,
                               const struct position *constant, bool right, int64_t parts)
{
    const double scaled = constant->one * (double) parts;
    const bool down = right == (orders[op].swaps != (orders[op].more == 1));
    if (!orders[op].is || !constant->pair || constant->one != constant->zero ||
        !(fabs(scaled) <= 1 << 24))
        return (struct position) { 0 };
    const int64_t whole = (int64_t) (down ? floor(scaled) : ceil(scaled));
    return (struct position) { .e = dim_int(ps->dims, whole), .parts = parts };
}

/* Whether the constant lies between the numbers that x may be. */
static bool never_met(const struct position *constant, const struct position *x)
{
    const double scaled = constant->one * (double) (x->e ? x->parts : 1);
    return x->e && constant->pair && constant->one == constant->zero &&
        (isnan(scaled) || isinf(scaled) || (fabs(scaled) <= 1 << 24 && scaled != floor(scaled)));
}

struct position position_bound(const struct positions *ps, enum op_id op,
                               const struct position *constant, bool right)
{
    return nearest(ps, op, constant, right, 1);
}

/* 1 for the least number of all, which has none. */
static int64_t whole_size(int64_t v)
{
    return v == INT64_MIN ? 1 : v < 0 ? -v : v;
}

/* A number that all terms are multiples of. */
static int64_t common(const struct dim *e)
{
    const struct dim_parts x = dim_parts(e);
    int64_t y = x.form == DIM_FORM_SUM || x.form == DIM_FORM_INT ? whole_size(x.value) : 1;
    for (unsigned i = 0; x.form == DIM_FORM_SUM && i < x.n; i++)
        y = gcd(y, whole_size(x.coef[i]));
    return y;
}

/* The same number with as few parts as it has. */
static struct position lowest(const struct positions *ps, struct position x)
{
    if (!x.e)
        return x;
    const int64_t by = gcd(common(x.e), x.parts);
    x.e = dim_div_int(ps->dims, x.e, by);
    x.parts /= by;
    return x.parts <= PARTS_MAX ? x : (struct position) { 0 };
}

/* x times up / down: of thirds and the like by a power of two only, whose products are as rounded
 * as they are themselves. */
static struct position scaled(const struct positions *ps, const struct position *x, int64_t up,
                              int64_t down)
{
    const int64_t parts = parts_of(x), sign = down < 0 ? -1 : 1;
    if (!x->e || !down || down == INT64_MIN || down * sign > INT64_MAX / parts ||
        (!is_power_of_two(parts) &&
         (!is_power_of_two(whole_size(up)) || !is_power_of_two(down * sign))))
        return (struct position) { 0 };
    return lowest(ps,
                  (struct position) { .e = dim_mul_int(ps->dims, x->e, up * sign),
                                      .parts = parts * down * sign });
}

/* What is a fraction, or thirds and the like, which fractions are not. */
static const struct position *either(const struct position *own, const struct position *fraction)
{
    return fraction->e || own->pair ? fraction : own;
}

static struct position multiplied(const struct positions *ps, enum op_id op,
                                  const struct position *a, const struct position *b)
{
    const struct position x = fraction(ps, a), y = fraction(ps, b);
    const bool by_a = op == OP_MUL && x.e && dim_is_const(x.e), by_b = y.e && dim_is_const(y.e);
    if (by_b && op == OP_DIV)
        return scaled(ps, either(a, &x), y.parts, dim_value(y.e));
    if (by_b)
        return scaled(ps, either(a, &x), dim_value(y.e), y.parts);
    if (by_a)
        return scaled(ps, either(b, &y), dim_value(x.e), x.parts);
    if (op != OP_MUL || !x.e || !y.e)
        return (struct position) { 0 };
    return lowest(ps,
                  (struct position) { .e = dim_mul(ps->dims, x.e, y.e),
                                      .parts = x.parts * y.parts });
}

static struct position compared(const struct positions *ps, enum op_id op, const struct dim *a,
                                const struct dim *b)
{
    return (struct position) { .e = op == OP_EQUAL ? within_eq(ps->dims, a, b)
                                                   : positions_ordered(ps, op, a, b) };
}

static bool has_thirds(const struct position *x)
{
    return x->e && !x->pair && !is_power_of_two(parts_of(x));
}

#define ROUNDED_MOST 0x1p-7 /* of a number in any type */

/* Thirds and the like beside whole numbers, which none that is rounded reaches, or a constant that
 * is not as near as that to one of them. right: they are the right operand. */
static struct position thirds_compared(const struct positions *ps, enum op_id op,
                                       const struct position *x, const struct position *other,
                                       bool right)
{
    struct dims *ds = ps->dims;
    const int64_t parts = parts_of(x);
    const double scaled = other->one * (double) parts;
    const struct dim *e = NULL;
    if (!other->pair && parts_of(other) == 1)
        e = dim_mul_int(ds, other->e, parts);
    else if (!other->pair || other->one != other->zero || !(fabs(scaled) <= 1 << 24))
        return (struct position) { 0 };
    else if (is_whole(other->one))
        e = dim_int(ds, (int64_t) scaled);
    else if (fabs(scaled - nearbyint(scaled)) <= fmax(fabs(scaled), 1) * ROUNDED_MOST)
        return (struct position) { 0 };
    else if (op == OP_EQUAL)
        return (struct position) { .e = dim_int(ds, 0) };
    else
        e = nearest(ps, op, other, !right, parts).e;
    return right ? compared(ps, op, e, x->e) : compared(ps, op, x->e, e);
}

struct position position_fractions(const struct positions *ps, enum op_id op,
                                   const struct position *a, const struct position *b)
{
    struct dims *ds = ps->dims;
    const bool compares = op == OP_EQUAL || orders[op].is;
    if (op == OP_MUL || op == OP_DIV)
        return multiplied(ps, op, a, b);
    if (compares && has_thirds(a) != has_thirds(b))
        return has_thirds(a) ? thirds_compared(ps, op, a, b, false)
                             : thirds_compared(ps, op, b, a, true);
    struct position x = fraction(ps, a), y = fraction(ps, b);
    if (op == OP_EQUAL && (never_met(a, &y) || never_met(b, &x)))
        return (struct position) { .e = dim_int(ds, 0) };
    if (!x.e && y.e)
        x = nearest(ps, op, a, false, y.parts);
    else if (x.e && !y.e)
        y = nearest(ps, op, b, true, x.parts);
    if (!x.e || !y.e || (x.parts == 1 && y.parts == 1 && !a->pair && !b->pair))
        return (struct position) { 0 };
    const int64_t parts = x.parts > y.parts ? x.parts : y.parts;
    const struct dim *left = dim_mul_int(ds, x.e, parts / x.parts),
                     *right = dim_mul_int(ds, y.e, parts / y.parts);
    if (compares)
        return compared(ps, op, left, right);
    switch (op) {
    case OP_ADD:
        return lowest(ps, (struct position) { .e = dim_add(ds, left, right), .parts = parts });
    case OP_SUB:
        return lowest(ps, (struct position) { .e = dim_sub(ds, left, right), .parts = parts });
    default: return (struct position) { 0 };
    }
}

const struct dim *position_nearest(const struct positions *ps, const struct position *x)
{
    struct dims *ds = ps->dims;
    const int64_t parts = parts_of(x);
    if (parts == 1 || !is_power_of_two(parts))
        return parts == 1 ? x->e : NULL;
    const struct dim *twice = dim_div_int(ds, x->e, 2 * parts),
                     *up = dim_div_int(ds, dim_add_int(ds, x->e, parts / 2), parts);
    const struct dim *rest = dim_sub(ds, x->e, dim_mul_int(ds, twice, 2 * parts));
    return dim_sub(ds, up, dim_eq(ds, rest, dim_int(ds, parts / 2)));
}
