/* SPDX-License-Identifier: MIT */
/* ratio.h - counts of frames at rates that are no whole multiples of each other. */
#ifndef RILL_ENGINE_BASE_RATIO_H
#define RILL_ENGINE_BASE_RATIO_H
#include <stdbool.h>
#include <stdint.h>

struct ratio {
    int64_t num, den;
}; /* in lowest terms, den > 0; all zeros is 0, too */

/* Greatest common divisor of two numbers that are not negative. */
static inline int64_t gcd(int64_t a, int64_t b)
{
    return b ? gcd(b, a % b) : a;
}

/* den is not 0. */
static inline struct ratio ratio_of(int64_t num, int64_t den)
{
    int64_t g = gcd(num < 0 ? -num : num, den < 0 ? -den : den);
    g = den < 0 ? -g : g;
    return (struct ratio) { num / g, den / g };
}

/* What does not fit is as far as can be. */
#define RATIO_FAR ((struct ratio) { INT64_MAX, 1 })

static inline struct ratio ratio_add(struct ratio a, struct ratio b)
{
    int64_t p = a.den ? a.den : 1, q = b.den ? b.den : 1, x, y, num, den;
    bool far = __builtin_mul_overflow(a.num, q, &x) || __builtin_mul_overflow(b.num, p, &y) ||
        __builtin_add_overflow(x, y, &num) || __builtin_mul_overflow(p, q, &den);
    return far ? RATIO_FAR : ratio_of(num, den);
}

static inline struct ratio ratio_minus(struct ratio a)
{
    return (struct ratio) { -a.num, a.den };
}

static inline struct ratio ratio_times(struct ratio a, int64_t num, int64_t den)
{
    int64_t x, y;
    bool far = __builtin_mul_overflow(a.num, num, &x) ||
        __builtin_mul_overflow(a.den ? a.den : 1, den, &y);
    return far ? RATIO_FAR : ratio_of(x, y);
}

static inline int64_t ratio_floor(struct ratio a)
{
    int64_t d = a.den ? a.den : 1, q = a.num / d;
    return q - (a.num % d < 0);
}

static inline int64_t ratio_ceil(struct ratio a)
{
    return -ratio_floor(ratio_minus(a));
}
#endif
