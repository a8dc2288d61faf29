/* SPDX-License-Identifier: MIT */
/* byte.h - what the ops on bytes share: operands, ranges and factors. */
#ifndef RILL_ENGINE_OPS_BYTE_H
#define RILL_ENGINE_OPS_BYTE_H
#include "engine/ops/attrs.h"
#include "engine/ops/elem.h"
#include "kernels/fixed.h"

#include <stdint.h>

/* To the nearest whole number of 32 bits, half away from zero. */
static inline int32_t byte_nearest(float v)
{
    return (int32_t) (v + __builtin_copysignf(0x1.fffffep-2f, v)); /* the float below a half */
}

/* v within low..high, whole numbers, rounded so; low for NaN. */
static inline int32_t byte_round(float v, float low, float high)
{
    v = v > low ? v : low;
    v = v < high ? v : high;
    return byte_nearest(v);
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

/* The same, also of i16. */
static inline int32_t whole_at(enum dtype t, const void *x, int64_t i)
{
    return t == DTYPE_I16 ? ((const int16_t *) x)[i] : byte_at(t, x, i);
}

static inline void whole_put(enum dtype t, void *y, int64_t i, int32_t v)
{
    if (t == DTYPE_I16)
        ((int16_t *) y)[i] = (int16_t) v;
    else
        byte_put(t, y, i, v);
}

#define TYPES_BYTE (TYPE_I8 | TYPE_U8)

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

/* Positions of a window of `reach` along an axis of n and `pads`. */
rill_status byte_window_count(struct infer *c, const struct dim *n, int64_t pads, int64_t reach,
                              int64_t stride, const struct dim **ret);

/* Refuses a range that its type does not hold; *ret is the type of the output, which is one of
 * types: of those of bytes, i16 and i32. i16 are around 0. */
rill_status whole_range_check(struct infer *c, const struct byte_range *r, unsigned types,
                              enum dtype *ret);
rill_status byte_range_check(struct infer *c, const struct byte_range *r, enum dtype *ret);
/* Refuses a zero that type t does not hold, and a factor out of bounds. */
rill_status byte_zero_check(struct infer *c, enum dtype t, int64_t zero);
rill_status fixed_factor_check(struct infer *c, const struct fixed_factor *f);
#endif
