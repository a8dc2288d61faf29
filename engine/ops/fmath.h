/* SPDX-License-Identifier: MIT */
/* fmath.h - transcendental functions of f32 computed in double and rounded once: own polynomials,
 * so that every machine gives the same bits. Errors are below 1e-15 relative, far inside half a
 * float step. */
#ifndef RILL_ENGINE_OPS_FMATH_H
#define RILL_ENGINE_OPS_FMATH_H
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

static inline double fm_scale(double v, int k)
{
    uint64_t u = (uint64_t) (k + 1023) << 52;
    double p;
    memcpy(&p, &u, sizeof p);
    return v * p;
}

/* e^x. Results outside of the range of f32 by far become inf or 0. */
static inline double fm_exp(double x)
{
    if (!(x < 700.0))
        return x > 0 ? HUGE_VAL : x;
    if (x < -700.0)
        return 0;
    double k = (x * 1.4426950408889634 + 0x1.8p52) - 0x1.8p52;
    double r = (x - k * 6.93147180369123816490e-01) - k * 1.90821492927058770002e-10;
    double p = 1.0 / 6227020800;
    static const double c[] = { 1.0 / 479001600,
                                1.0 / 39916800,
                                1.0 / 3628800,
                                1.0 / 362880,
                                1.0 / 40320,
                                1.0 / 5040,
                                1.0 / 720,
                                1.0 / 120,
                                1.0 / 24,
                                1.0 / 6,
                                0.5,
                                1,
                                1 };
    for (int i = 0; i < 13; i++)
        p = p * r + c[i];
    return fm_scale(p, (int) k);
}

/* e^x - 1 without cancellation near 0. */
static inline double fm_expm1(double x)
{
    if (fabs(x) > 1e-3)
        return fm_exp(x) - 1;
    return x * (1 + x * (0.5 + x * (1.0 / 6 + x * (1.0 / 24))));
}

/* Natural logarithm; x is a float widened (no subnormal doubles). */
static inline double fm_log(double x)
{
    if (!(x > 0))
        return x == 0 ? -HUGE_VAL : NAN;
    if (x > 1e300)
        return x;
    uint64_t u;
    memcpy(&u, &x, sizeof u);
    int e = (int) (u >> 52) - 1023;
    u = (u & 0xfffffffffffffull) | 1023ull << 52;
    double m;
    memcpy(&m, &u, sizeof m);
    if (m > 1.4142135623730951) {
        m *= 0.5;
        e++;
    }
    double s = (m - 1) / (m + 1), z = s * s, p = 1.0 / 23;
    for (int k = 21; k >= 1; k -= 2)
        p = p * z + 1.0 / k;
    return e * 6.93147180369123816490e-01 + (e * 1.90821492927058770002e-10 + 2 * s * p);
}

/* sin of x + quadrant * pi/2, |x| <= pi/4, and the reduction to it. */
static inline double fm_sin_poly(double r)
{
    double z = r * r, p = -1.0 / 1307674368000;
    static const double c[] = {
        1.0 / 6227020800, -1.0 / 39916800, 1.0 / 362880, -1.0 / 5040, 1.0 / 120, -1.0 / 6, 1
    };
    for (int i = 0; i < 7; i++)
        p = p * z + c[i];
    return r * p;
}

static inline double fm_cos_poly(double r)
{
    double z = r * r, p = 1.0 / 20922789888000;
    static const double c[] = { -1.0 / 87178291200, 1.0 / 479001600, -1.0 / 3628800, 1.0 / 40320,
                                -1.0 / 720,         1.0 / 24,        -0.5,           1 };
    for (int i = 0; i < 8; i++)
        p = p * z + c[i];
    return p;
}

/* sin(x + shift * pi/2) for a float x. Beyond 1e5 the argument is reduced by the C library, in
 * double. */
static inline double fm_sin_shifted(double x, int shift)
{
    if (!(fabs(x) < 1e5))
        return shift ? cos(x) : sin(x);
    double k = (x * 0.63661977236758134 + 0x1.8p52) - 0x1.8p52;
    double r = ((x - k * 1.57079632673412561417) - k * 6.07710050630396597660e-11) -
        k * 2.02226624879595063154e-21;
    int q = ((int) k + shift) & 3;
    double v = q & 1 ? fm_cos_poly(r) : fm_sin_poly(r);
    return q & 2 ? -v : v;
}

static inline double fm_sin(double x)
{
    return fm_sin_shifted(x, 0);
}
static inline double fm_cos(double x)
{
    return fm_sin_shifted(x, 1);
}
static inline double fm_tan(double x)
{
    return fm_sin(x) / fm_cos(x);
}

static inline double fm_sinh(double x)
{
    if (fabs(x) < 1e-3)
        return x * (1 + x * x * (1.0 / 6));
    return (fm_exp(x) - fm_exp(-x)) * 0.5;
}

static inline double fm_cosh(double x)
{
    return (fm_exp(x) + fm_exp(-x)) * 0.5;
}

/* x^y for floats widened, with the special cases of C's pow. */
static inline double fm_pow(double x, double y)
{
    if (y == 0 || x == 1)
        return 1;
    double a = fabs(x);
    if (a == 1 && isinf(y))
        return 1;
    bool whole = y == floor(y), odd = whole && fabs(y) < 0x1p53 && fmod(y, 2) != 0;
    if (x < 0 && !whole && !isinf(x))
        return NAN;
    double r = fm_exp(y * fm_log(a));
    return signbit(x) && odd ? -r : r;
}
#endif
