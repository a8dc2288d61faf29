/* SPDX-License-Identifier: MIT */
/* checked.h - whole numbers of 64 bits by operation: false where the value has more bits, or none.
 */
#ifndef RILL_ENGINE_BASE_CHECKED_H
#define RILL_ENGINE_BASE_CHECKED_H
#include <stdbool.h>
#include <stdint.h>

static inline bool int_add(int64_t x, int64_t y, int64_t *ret)
{
    return !__builtin_add_overflow(x, y, ret);
}

static inline bool int_sub(int64_t x, int64_t y, int64_t *ret)
{
    return !__builtin_sub_overflow(x, y, ret);
}

static inline bool int_mul(int64_t x, int64_t y, int64_t *ret)
{
    return !__builtin_mul_overflow(x, y, ret);
}

/* Rounded down. */
static inline bool int_div_floor(int64_t x, int64_t y, int64_t *ret)
{
    if (y == 0 || (y == -1 && x == INT64_MIN))
        return false;
    *ret = x / y - (x % y != 0 && (x < 0) != (y < 0));
    return true;
}

/* Rounded up. */
static inline bool int_div_ceil(int64_t x, int64_t y, int64_t *ret)
{
    if (y == 0 || (y == -1 && x == INT64_MIN))
        return false;
    *ret = x / y + (x % y != 0 && (x < 0) == (y < 0));
    return true;
}

static inline bool int_min(int64_t x, int64_t y, int64_t *ret)
{
    *ret = x < y ? x : y;
    return true;
}

static inline bool int_max(int64_t x, int64_t y, int64_t *ret)
{
    *ret = x > y ? x : y;
    return true;
}
#endif
