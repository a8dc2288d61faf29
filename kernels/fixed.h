/* SPDX-License-Identifier: MIT */
/* fixed.h - fixed-point scaling of whole numbers: by multiplier * 2^(shift - 31), rounded twice, as
 * gemmlowp defined it, or once, as ruy does. */
#ifndef KERN_FIXED_H
#define KERN_FIXED_H
#include <stdint.h>

/* The upper half of 2ab, b not the least of all, rounded to nearest, halves up. */
static inline int32_t fixed_high_mul(int32_t a, int32_t b)
{
    return (int32_t) (((int64_t) a * b + (1 << 30)) >> 31);
}

/* x / 2^by, halves away from zero, by in 0..31. */
static inline int32_t fixed_shift_down(int32_t x, int by)
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
    return fixed_shift_down(fixed_high_mul(up, multiplier), shift > 0 ? 0 : -shift);
}

/* The same, rounded once, halves up. */
static inline int32_t fixed_scale_once(int32_t x, int32_t multiplier, int shift)
{
    const uint64_t half = (uint64_t) 1 << (30 - shift);
    return (int32_t) ((int64_t) ((uint64_t) x * (uint64_t) multiplier + half) >> (31 - shift));
}

/* The same of 64 bits, whose product has up to 94; saturated. */
static inline int32_t fixed_scale_once_wide(int64_t x, int32_t multiplier, int shift)
{
    const int by = 31 - shift;
    const int64_t upper = (x >> 32) * multiplier;
    const uint64_t lower =
                       (uint64_t) (uint32_t) x * (uint64_t) multiplier + ((uint64_t) 1 << (by - 1)),
                   high = (uint64_t) upper + (lower >> 32), low = lower & UINT32_MAX;
    const int64_t all = (int64_t) high; /* of 2^32 */
    if (by < 32 && (all >> by > 0 || all >> by < -1))
        return all < 0 ? INT32_MIN : INT32_MAX;
    const int64_t v = by < 32 ? (int64_t) (high << (32 - by) | low >> by) : all >> (by - 32);
    return v < INT32_MIN ? INT32_MIN : v > INT32_MAX ? INT32_MAX : (int32_t) v;
}

/* Twice rounded of 64 bits, by the upper 16 of the multiplier; shift in -31..14. */
static inline int32_t fixed_scale_wide(int64_t x, int32_t multiplier, int shift)
{
    const int32_t most = 0x7fff,
                  upper = multiplier < most * 0x10000 ? (multiplier + (1 << 15)) >> 16 : most;
    const uint64_t half = (uint64_t) 1 << (14 - shift);
    return (int32_t) ((int64_t) ((uint64_t) x * (uint64_t) upper + half) >> (15 - shift));
}

static inline int32_t fixed_clip(int32_t x, int32_t low, int32_t high)
{
    return x < low ? low : x > high ? high : x;
}
#endif
