/* SPDX-License-Identifier: MIT */
#include "tests/kern/check.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define OFFSET(name) offsetof(struct kern, name)

typedef void map1(float *y, const float *x, size_t n);
typedef void map2(float *y, const float *a, const float *b, size_t n);
typedef void maps(float *y, const float *a, float s, size_t n);

static long double sigmoid_exact(long double x)
{
    return 1 / (1 + expl(-x));
}
static long double relu_exact(long double x)
{
    return x > 0 ? x : 0;
}

/* To `digits` bits, of numbers from 2^least on. */
static long double narrow_exact(long double x, int digits, int least, int above)
{
    if (x == 0 || isinf(x))
        return x;
    int e = ilogbl(x) < least ? least : ilogbl(x);
    long double unit = ldexpl(1, e - digits + 1), r = nearbyintl(x / unit) * unit;
    return fabsl(r) < ldexpl(1, above) ? r : copysignl(INFINITY, x);
}
static long double round_f16_exact(long double x)
{
    return narrow_exact(x, 11, -14, 16);
}
static long double round_bf16_exact(long double x)
{
    return narrow_exact(x, 8, -126, 128);
}

static const struct one {
    const char *name;
    size_t slot;
    long double (*exact)(long double);
    double ulps; /* allowed, in units of the last place of the exact result */
} ones[] = {
    { "exp_f32", OFFSET(exp_f32), expl, 2 },
    { "log_f32", OFFSET(log_f32), logl, 2 },
    { "sigmoid_f32", OFFSET(sigmoid_f32), sigmoid_exact, 3 },
    { "tanh_f32", OFFSET(tanh_f32), tanhl, 3 },
    { "sqrt_f32", OFFSET(sqrt_f32), sqrtl, 0.5 },
    { "relu_f32", OFFSET(relu_f32), relu_exact, 0 },
    { "erf_f32", OFFSET(erf_f32), erfl, 3 },
    { "round_f16_f32", OFFSET(round_f16_f32), round_f16_exact, 0 },
    { "round_bf16_f32", OFFSET(round_bf16_f32), round_bf16_exact, 0 },
};

static const struct {
    const char *name;
    size_t slot;
} twos[] = {
#define TWO_1(name)
#define TWO_2(name) { #name "_f32", OFFSET(name##_f32) },
#define X(number, name, operands) TWO_##operands(name)
    KERN_POINTWISE(X)
#undef X
}, scalars[] = {
    { "adds_f32", OFFSET(adds_f32) },
    { "muls_f32", OFFSET(muls_f32) },
    { "divs_f32", OFFSET(divs_f32) },
    { "exp_adds_f32", OFFSET(exp_adds_f32) },
    { "elu_f32", OFFSET(elu_f32) },
};

static map1 *slot1(const struct kern *k, size_t at)
{
    return *(map1 *const *) (const void *) ((const char *) k + at);
}
static map2 *slot2(const struct kern *k, size_t at)
{
    return *(map2 *const *) (const void *) ((const char *) k + at);
}
static maps *slots(const struct kern *k, size_t at)
{
    return *(maps *const *) (const void *) ((const char *) k + at);
}

struct timed {
    map1 *f;
    float *y, *x;
};

static void call(void *arg)
{
    const struct timed *g = arg;
    g->f(g->y, g->x, 512);
}

/* Both of what exp_adds_divs_f32 does are as the kernels of their own do it. */
static void divided_check(struct check *t, const float *a, const float *b, float *want, float *got,
                          size_t n)
{
    float *z = check_buf(t, n, false), s = check_rand(t), d = check_rand(t);
    memcpy(z, b, n * sizeof *z);
    memcpy(got, a, n * sizeof *got);
    t->new.exp_adds_divs_f32(got, got, s, z, d, n);
    t->ref.exp_adds_f32(want, a, s, n);
    check_same(t, "exp_adds_divs_f32", want, got, n, "n %zu e^", n);
    t->ref.divs_f32(want, b, d, n);
    check_same(t, "exp_adds_divs_f32", want, z, n, "n %zu quotients", n);
}

static void size_check(struct check *t, size_t n, bool low)
{
    float *a = check_buf(t, n, low), *b = check_buf(t, n, low), *want = check_buf(t, n, low),
          *got = check_buf(t, n, low);
    float s = check_rand(t);
    check_fill_bits(t, a, n);
    check_fill_bits(t, b, n);
    for (size_t i = 0; i < sizeof ones / sizeof *ones; i++) {
        slot1(&t->ref, ones[i].slot)(want, a, n);
        slot1(&t->new, ones[i].slot)(got, a, n);
        check_same(t, ones[i].name, want, got, n, "n %zu", n);
        memcpy(got, a, n * sizeof *got);
        slot1(&t->new, ones[i].slot)(got, got, n);
        check_same(t, ones[i].name, want, got, n, "n %zu in place", n);
    }
    for (size_t i = 0; i < sizeof twos / sizeof *twos; i++) {
        slot2(&t->ref, twos[i].slot)(want, a, b, n);
        slot2(&t->new, twos[i].slot)(got, a, b, n);
        check_same(t, twos[i].name, want, got, n, "n %zu", n);
    }
    divided_check(t, a, b, want, got, n);
    for (size_t i = 0; i < sizeof scalars / sizeof *scalars; i++) {
        memcpy(want, b, n * sizeof *got);
        memcpy(got, b, n * sizeof *got);
        slots(&t->ref, scalars[i].slot)(want, a, s, n);
        slots(&t->new, scalars[i].slot)(got, a, s, n);
        check_same(t, scalars[i].name, want, got, n, "n %zu", n);
    }
    check_drop(t);
}

void check_map(struct check *t)
{
    for (size_t n = 0; n < 70; n++)
        size_check(t, n, n & 1);
    size_check(t, 4099, false);
    float *x = check_buf(t, 512, true), *y = check_buf(t, 512, true);
    check_fill(t, x, 512);
    for (size_t i = 0; i < sizeof ones / sizeof *ones; i++)
        check_time(t, ones[i].name, 512, call,
                   &(struct timed) { slot1(&t->new, ones[i].slot), y, x });
    check_drop(t);
}

/* Error in units of the last place of want; subnormal ones count as the smallest normal's. */
static double ulps_of(float got, long double want)
{
    if (isnan(got) || isnan(want))
        return isnan(got) && isnan(want) ? 0 : INFINITY;
    if ((long double) got == want || got == (float) want)
        return fabs((double) ((long double) got - want)) > 0 && isfinite(got)
            ? (double) (fabsl((long double) got - want) /
                        fabsl((long double) nextafterf(fabsf(got), INFINITY) - fabsf(got)))
            : 0;
    if (isinf(got) || fabsl(want) > FLT_MAX)
        return INFINITY;
    int e;
    frexpl(want, &e);
    return (double) (fabsl((long double) got - want) / ldexpl(1, e < -125 ? -149 : e - 24));
}

#define CHUNK 4096

/* Where floats smaller than normal ones are 0, they come as that. */
static uint32_t pattern_of(const struct check *t, uint32_t bits)
{
    return t->flush && !(bits & 0x7f800000) ? bits & 0x80000000 : bits;
}

static void accuracy_of(struct check *t, const struct one *f)
{
    static float x[CHUNK], y[CHUNK];
    double worst = 0;
    float at = 0;
    /* Evenly spaced bit patterns of all, so zeros, subnormals, infinities and NaN too. */
    for (uint64_t bits = (unsigned) abs((int) t->seed) % t->accuracy_step;
         bits < (uint64_t) 1 << 32;) {
        size_t n = 0;
        for (; n < CHUNK && bits < (uint64_t) 1 << 32; n++, bits += t->accuracy_step)
            memcpy(x + n, &(uint32_t) { pattern_of(t, (uint32_t) bits) }, 4);
        slot1(&t->new, f->slot)(y, x, n);
        for (size_t i = 0; i < n; i++) {
            long double want = isnan(x[i]) ? (long double) x[i] : f->exact((long double) x[i]);
            double u = ulps_of(y[i], want);
            /* results that the function may flush or that subnormal arithmetic rounds twice */
            if (fabsl(want) < FLT_MIN && fabsl((long double) y[i] - want) < FLT_MIN)
                u = 0;
            if (u > worst) {
                worst = u;
                at = x[i];
            }
        }
    }
    if (t->bench)
        printf("%-28s %-7s worst %.3f units in the last place at %a\n", f->name, t->isa, worst,
               (double) at);
    check_true(t, worst <= f->ulps, "%s is %.3f units off at %a, %.1f are allowed", f->name, worst,
               (double) at, f->ulps);
}

/* As near as exp_f32 where that is not below 2^-125.5, and 0 there. */
static void exp_adds_check(struct check *t)
{
    const float least = -86.99f; /* -125.5 ln2 is -86.9871 */
    for (size_t i = 0; i <= 11000; i++) {
        const float x = 0 - (float) i / 100, sum = x + 0.75f;
        float y;
        t->new.exp_adds_f32(&y, &x, 0.75f, 1);
        const double u = ulps_of(y, expl((long double) sum));
        check_true(t,
                   sum > least               ? u <= 2
                       : sum < least - 0.01f ? y == 0
                                             : y == 0 || u <= 2,
                   "exp_adds_f32 of %a is %a", (double) sum, (double) y);
    }
}

static void edge(struct check *t, const char *name, map1 *f, float x, float want)
{
    float y;
    f(&y, &x, 1);
    check_same(t, name, &want, &y, 1, "of %a", (double) x);
}

void check_accuracy(struct check *t)
{
    const struct kern *k = &t->new;
    for (size_t i = 0; i < sizeof ones / sizeof *ones; i++)
        accuracy_of(t, &ones[i]);
    exp_adds_check(t);
    static const float odd[] = { 0.0f, -0.0f, 0x1p-149f, -0x1p-149f, 0x1p-126f, 1e-30f };
    for (size_t i = 0; i < sizeof odd / sizeof *odd; i++)
        if (!t->flush || i < 2 || i > 3)
            edge(t, "tanh_f32", k->tanh_f32, odd[i], odd[i]);
    edge(t, "erf_f32", k->erf_f32, 0.0f, 0.0f);
    edge(t, "erf_f32", k->erf_f32, -0.0f, -0.0f);
    edge(t, "erf_f32", k->erf_f32, INFINITY, 1.0f);
    edge(t, "erf_f32", k->erf_f32, -INFINITY, -1.0f);
    edge(t, "exp_f32", k->exp_f32, -INFINITY, 0.0f);
    edge(t, "exp_f32", k->exp_f32, INFINITY, INFINITY);
    edge(t, "exp_f32", k->exp_f32, 0.0f, 1.0f);
    edge(t, "log_f32", k->log_f32, 0.0f, -INFINITY);
    edge(t, "log_f32", k->log_f32, -0.0f, -INFINITY);
    edge(t, "log_f32", k->log_f32, -1.0f, NAN);
    edge(t, "log_f32", k->log_f32, 1.0f, 0.0f);
    edge(t, "sigmoid_f32", k->sigmoid_f32, -INFINITY, 0.0f);
    edge(t, "sigmoid_f32", k->sigmoid_f32, INFINITY, 1.0f);
    edge(t, "sigmoid_f32", k->sigmoid_f32, 0.0f, 0.5f);
    edge(t, "tanh_f32", k->tanh_f32, INFINITY, 1.0f);
    edge(t, "tanh_f32", k->tanh_f32, -INFINITY, -1.0f);
    edge(t, "round_f16_f32", k->round_f16_f32, 65519.0f, 65504.0f);
    edge(t, "round_f16_f32", k->round_f16_f32, -65520.0f, -INFINITY);
    edge(t, "round_f16_f32", k->round_f16_f32, -0.0f, -0.0f);
    edge(t, "round_f16_f32", k->round_f16_f32, 0x1p-25f, 0.0f);
    edge(t, "round_f16_f32", k->round_f16_f32, -0x1.8p-25f, -0x1p-24f);
    edge(t, "round_f16_f32", k->round_f16_f32, 0x1.006p0f, 0x1.008p0f);
    edge(t, "round_bf16_f32", k->round_bf16_f32, FLT_MAX, INFINITY);
    edge(t, "round_bf16_f32", k->round_bf16_f32, -0x1.fep127f, -0x1.fep127f);
    edge(t, "round_bf16_f32", k->round_bf16_f32, 0x1.01p0f, 0x1p0f);
    edge(t, "round_bf16_f32", k->round_bf16_f32, 0x1.03p0f, 0x1.04p0f);
    edge(t, "relu_f32", k->relu_f32, NAN, NAN);
    edge(t, "relu_f32", k->relu_f32, -3.0f, 0.0f);
}
