/* SPDX-License-Identifier: MIT */
#include "tests/pulse/masks_floats.h"

#include <math.h>

static uint32_t times(struct gb *b, uint32_t x, float by)
{
    return GB(b, "Mul", "", x, gb_scalar(b, by));
}

/* As torch.outer is exported. */
static uint32_t outer(struct gb *b, const struct at *a)
{
    const uint32_t flat = gb_ints(b, -1), i = GB(b, "Reshape", "", as_f32(b, a->i), flat),
                   one = GB(b, "Add", "", times(b, i, 0), gb_scalar(b, 1));
    const uint32_t rows = GB(b, "Einsum", "equation='i,j->ij", i, one),
                   columns = GB(b, "Einsum", "equation='i,j->ij", one, i);
    return band(b, rows, columns, gb_scalar(b, 0), gb_scalar(b, 3));
}

static uint32_t ones_summed(struct gb *b, const struct at *a, int64_t axis)
{
    const uint32_t one =
        GB(b, "Expand", "", gb_scalar(b, 1), GB(b, "Unsqueeze", "", a->length, gb_ints(b, 0)));
    return GB(b, "Unsqueeze", "", GB(b, "CumSum", "", one, gb_int(b, 0)), gb_ints(b, axis));
}

static uint32_t bits_shifted(struct gb *b, uint32_t i)
{
    const uint32_t x = GB(b, "Cast", "to=12", i),
                   y = GB(b, "BitShift", "direction='RIGHT", x,
                          GB(b, "Cast", "to=12", gb_int(b, 2)));
    return GB(b, "Where", "", GB(b, "Less", "", i, gb_int(b, 0)), GB(b, "BitwiseNot", "", y), y);
}

/* -inf above and below two diagonals. */
static uint32_t infinite(struct gb *b, const struct at *a)
{
    const uint32_t length = GB(b, "Unsqueeze", "", a->length, gb_ints(b, 0)),
                   all = GB(b, "Expand", "", gb_scalar(b, -INFINITY),
                            GB(b, "Concat", "axis=0", length, length));
    const uint32_t hides = GB(b, "Add", "", GB(b, "Trilu", "upper=1", all, gb_int(b, 1)),
                              GB(b, "Trilu", "upper=0", all, gb_int(b, -4)));
    return GB(b, "Not", "", GB(b, "IsInf", "", hides));
}

/* Of floats that no type holds, and of ops on positions that few masks have. */
static uint32_t rounded_or_few(struct gb *b, const struct written *t, const struct at *a)
{
    const uint32_t i = as_f32(b, a->i), j = as_f32(b, a->j), d = GB(b, "Sub", "", i, j),
                   three = gb_scalar(b, 3), four = gb_scalar(b, 4), zero = gb_scalar(b, 0);
    switch (t->mask) {
    case SECONDS:
        return band(b, times(b, i, .01f), times(b, j, .01f), gb_scalar(b, -.015f),
                    gb_scalar(b, .045f));
    case THIRDS:
        return band(b, GB(b, "Div", "", i, three), GB(b, "Div", "", j, three), gb_scalar(b, -.5f),
                    gb_scalar(b, 1.2f));
    case ROUNDS:
        return band(b, GB(b, "Round", "", GB(b, "Div", "", i, four)),
                    GB(b, "Round", "", GB(b, "Div", "", j, four)), zero, gb_scalar(b, 1));
    case ROOTS: return GB(b, "LessOrEqual", "", GB(b, "Sqrt", "", GB(b, "Mul", "", d, d)), three);
    case RECTIFIED: {
        const uint32_t back = GB(b, "Relu", "", GB(b, "Sub", "", d, three)),
                       ahead = GB(b, "Relu", "", GB(b, "Sub", "", GB(b, "Neg", "", d), three));
        return GB(b, "Equal", "", GB(b, "Add", "", back, ahead), zero);
    }
    case INFINITE: return infinite(b, a);
    case SHIFTED: return GB(b, "Equal", "", bits_shifted(b, a->i), bits_shifted(b, a->j));
    default: return band(b, ones_summed(b, a, 1), ones_summed(b, a, 0), zero, three);
    }
}

/* Compared with what lies between two positions. */
uint32_t mask_between(struct gb *b, const struct written *t, const struct at *a)
{
    const uint32_t i = as_f32(b, a->i), j = as_f32(b, a->j), two = gb_scalar(b, 2);
    if (t->mask >= SECONDS && t->mask <= ONES_SUMMED)
        return rounded_or_few(b, t, a);
    if (t->mask == HALF_BOUND)
        return band(b, i, j, gb_scalar(b, -0.5f), gb_scalar(b, 3.3f));
    if (t->mask == HALVES)
        return band(b, GB(b, "Div", "", i, two), GB(b, "Div", "", j, two), gb_scalar(b, 0),
                    gb_scalar(b, 1.6f));
    if (t->mask == PRODUCTS)
        return band(b, GB(b, "Div", "", times(b, i, 1.5f), gb_scalar(b, -.75f)), times(b, j, -2),
                    gb_scalar(b, -6), gb_scalar(b, 0));
    if (t->mask == TENTHS)
        return GB(b, "And", "", int_band(b, a->i, a->j, 5),
                  band(b, times(b, i, .1f), times(b, j, .1f), gb_scalar(b, 0), gb_scalar(b, .3f)));
    if (t->mask == QUOTIENTS) {
        const uint32_t by = gb_scalar(b, 1.5f);
        return GB(b, "And", "", int_band(b, a->i, a->j, 5),
                  GB(b, "GreaterOrEqual", "", GB(b, "Div", "", i, by), GB(b, "Div", "", j, by)));
    }
    if (t->mask == OUTER)
        return outer(b, a);
    const uint32_t both = GB(b, "Add", "", as_f32(b, int_band(b, a->i, a->j, 6)),
                             as_f32(b, int_band(b, a->i, a->j, 3)));
    return GB(b, "Greater", "", both, gb_scalar(b, 1.5f));
}
