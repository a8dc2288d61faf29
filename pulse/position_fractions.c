/* SPDX-License-Identifier: MIT */
#include "pulse/position_fractions.h"
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
    if (!x->e || (!x->pair && (own & (own - 1))))
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

struct position position_bound(const struct positions *ps, enum op_id op,
                               const struct position *constant, bool right)
{
    return nearest(ps, op, constant, right, 1);
}

struct position position_fractions(const struct positions *ps, enum op_id op,
                                   const struct position *a, const struct position *b)
{
    struct dims *ds = ps->dims;
    struct position x = fraction(ps, a), y = fraction(ps, b);
    if (!x.e && y.e)
        x = nearest(ps, op, a, false, y.parts);
    else if (x.e && !y.e)
        y = nearest(ps, op, b, true, x.parts);
    if (!x.e || !y.e || (x.parts == 1 && y.parts == 1 && !a->pair && !b->pair))
        return (struct position) { 0 };
    const int64_t parts = x.parts > y.parts ? x.parts : y.parts;
    const struct dim *left = dim_mul_int(ds, x.e, parts / x.parts),
                     *right = dim_mul_int(ds, y.e, parts / y.parts);
    if (orders[op].is)
        return (struct position) { .e = positions_ordered(ps, op, left, right) };
    switch (op) {
    case OP_EQUAL: return (struct position) { .e = within_eq(ds, left, right) };
    case OP_ADD: return (struct position) { .e = dim_add(ds, left, right), .parts = parts };
    case OP_SUB: return (struct position) { .e = dim_sub(ds, left, right), .parts = parts };
    default: return (struct position) { 0 };
    }
}
