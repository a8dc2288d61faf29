/* SPDX-License-Identifier: MIT */
/* fixed.h - fixed-point scaling of whole numbers: by multiplier * 2^(shift - 31), rounded twice, as
 * gemmlowp defined it, or once, as ruy does. */
#ifndef RILL_ENGINE_OPS_FIXED_H
#define RILL_ENGINE_OPS_FIXED_H
#include "engine/ops/elem.h"

#include <stdint.h>

/* The upper half of 2ab, b not the least of all, rounded to nearest, halves up; x / 2^by, halves
 * away from zero, by in 0..31. */
static inline int32_t fixed_high_mul(int32_t a, int32_t b)
{
    return (int32_t) (((int64_t) a * b + (1 << 30)) >> 31);
}

static inline int32_t fixed_halve(int32_t x, int by)
{
    int64_t half = ((int64_t) 1 << by) >> 1;
    return (int32_t) ((x + half - (x < 0 && by)) >> by);
}

static inline int32_t fixed_shift_up(int32_t x, int by)
{
    return (int32_t) ((uint32_t) x << by);
}

/* x * multiplier * 2^(shift - 31); shift in -31..30. */
static inline int32_t fixed_scale(int32_t x, int32_t multiplier, int shift)
{
    int32_t up = fixed_shift_up(x, shift > 0 ? shift : 0);
    return fixed_halve(fixed_high_mul(up, multiplier), shift > 0 ? 0 : -shift);
}

/* The same, rounded once, halves up. */
static inline int32_t fixed_scale_once(int32_t x, int32_t multiplier, int shift)
{
    int64_t half = (int64_t) 1 << (30 - shift);
    return (int32_t) (((int64_t) x * multiplier + half) >> (31 - shift));
}

static inline int32_t fixed_clip(int32_t x, int32_t low, int32_t high)
{
    return x < low ? low : x > high ? high : x;
}

/* v within low..high, whole numbers, rounded to nearest, half away from zero; low for NaN. */
static inline int32_t byte_round(float v, float low, float high)
{
    v = v > low ? v : low;
    v = v < high ? v : high;
    int32_t whole = (int32_t) v;
    float rest = v - (float) whole;
    return whole + (rest >= 0.5f) - (rest <= -0.5f);
}

/* One operand of an op on bytes, i8 or u8, as a number. */
static inline int32_t byte_at(enum dtype t, const void *x, int64_t i)
{
    return t == DTYPE_I8 ? ((const int8_t *) x)[i] : ((const uint8_t *) x)[i];
}

static inline void byte_put(enum dtype t, void *y, int64_t i, int32_t v)
{
    if (t == DTYPE_I8)
        ((int8_t *) y)[i] = (int8_t) v;
    else
        ((uint8_t *) y)[i] = (uint8_t) v;
}

#define TYPES_BYTE (TYPE_I8 | TYPE_U8)

/* What comes out: its type (0: that of input 0), its zero and the range it is cut to. */
struct byte_range {
    int64_t to, zero, low, high;
};

#define BYTE_RANGE_SPECS(type, member)                                                             \
    { .name = "to", .kind = ATTR_INT, .offset = offsetof(type, member.to) },                       \
        { .name = "zero", .kind = ATTR_INT, .offset = offsetof(type, member.zero) },               \
        { .name = "low", .kind = ATTR_INT, .offset = offsetof(type, member.low), .def_i = -128 },  \
    {                                                                                              \
        .name = "high", .kind = ATTR_INT, .offset = offsetof(type, member.high), .def_i = 127      \
    }

/* A factor of the ops on bytes. */
struct fixed_factor {
    int64_t multiplier, shift;
};

/* Refuses a range that its type does not hold; *ret is the type of the output. */
rill_status byte_range_check(struct infer *c, const struct byte_range *r, enum dtype *ret);
/* Refuses a zero that type t does not hold, and a factor out of bounds. */
rill_status byte_zero_check(struct infer *c, enum dtype t, int64_t zero);
rill_status fixed_factor_check(struct infer *c, const struct fixed_factor *f);
#endif
