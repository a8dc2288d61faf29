/* SPDX-License-Identifier: MIT */
/* Element-wise kernels. Each function is written once over v16; the last partial vector goes
 * through v16_load_n and v16_store_n, so an element's bits do not depend on where it stands.
 * Polynomials are minimax fits of the relative error of the whole function, rounded to float. */

/* Added to a number below 2^22, leaves it rounded to the nearest whole n, and n + 126 in the low bits. */
#define EXP_WHOLES (0x1.8p23f + 126)

/* 2^(n - 1) of EXP_WHOLES + n, for n in -126..128; 0 for n = -126. */
static inline v16 FN(exp_factor)(v16 t) { return v16_of_bits(i16_shl23(v16_bits(t))); }

/* 2 e^r for |r| <= ln2/2, where sign * c = n ln2 + r; ret_whole is EXP_WHOLES + n. */
static inline v16 FN(exp_twice)(v16 c, const float sign, v16 *ret_whole)
{
    const v16 wholes = v16_set1(EXP_WHOLES);
    const v16 t = v16_fma(c, v16_set1(sign * 1.44269504088896341f), wholes), n = v16_sub(t, wholes);
    v16 r = v16_fma(n, v16_set1(sign * -0.693359375f), c);
    r = v16_fma(n, v16_set1(sign * 2.12194440e-4f), r);
    v16 p = v16_set1(0.00276418915f);
    p = v16_fma(p, r, v16_set1(sign * 0.016737368f));
    p = v16_fma(p, r, v16_set1(0.0833365321f));
    p = v16_fma(p, r, v16_set1(sign * 0.333330423f));
    p = v16_fma(p, r, v16_set1(0.999999881f));
    p = v16_fma(p, r, v16_set1(sign * 2.0f));
    *ret_whole = t;
    return v16_fma(p, r, v16_set1(2.0f));
}

/* The bounds take NaN for x. Below 2^-125 a second factor is needed; rounded once where subnormal. */
static inline v16 FN(v_exp)(v16 x)
{
    v16 t, p = FN(exp_twice)(v16_min(v16_set1(89.0f), v16_max(v16_set1(-104.0f), x)), 1, &t);
    const v16 near = v16_max(v16_set1(EXP_WHOLES - 125), t), far = v16_sub(t, near);
    p = v16_mul(p, FN(exp_factor)(near));
    return v16_mul(p, FN(exp_factor)(v16_add(far, v16_set1(EXP_WHOLES + 1))));
}

/* v_exp of numbers up to 88 and NaN, but 0 below 2^-125.5. */
static inline v16 FN(exp_flushed)(v16 x)
{
    v16 t, p = FN(exp_twice)(v16_max(v16_set1(-87.5f), x), 1, &t);
    return v16_mul(p, FN(exp_factor)(t));
}

/* e^(sign * c) + 1, product and sum rounded at once; sign * c in -87.5..89, or NaN. */
static inline v16 FN(exp_and_one)(v16 c, const float sign)
{
    v16 t, p = FN(exp_twice)(c, sign, &t);
    return v16_fma(p, FN(exp_factor)(t), v16_set1(1.0f));
}

/* (log(1 + m) - m + m^2/2) / m^3 for sqrt(1/2) <= 1 + m <= sqrt(2). Subnormal arguments are scaled
 * up first. */
static inline v16 FN(v_log)(v16 x)
{
    m16 tiny = v16_lt(x, v16_set1(0x1p-126f));
    v16 s = v16_pick(tiny, v16_mul(x, v16_set1(0x1p24f)), x);
    i16 bits = v16_bits(s);
    i16 e = i16_sub(i16_shr23(bits), i16_set1(126));
    v16 m = v16_of_bits(
        i16_or(i16_and(bits, i16_set1(0x007fffff)), i16_set1(0x3f000000))); /* 0.5 .. 1 */
    v16 fe = v16_sub(v16_of_int(e), v16_pick(tiny, v16_set1(24.0f), v16_set1(0.0f)));
    m16 low = v16_lt(m, v16_set1(0.707106781186547524f));
    fe = v16_sub(fe, v16_pick(low, v16_set1(1.0f), v16_set1(0.0f)));
    m = v16_sub(v16_add(m, v16_pick(low, m, v16_set1(0.0f))), v16_set1(1.0f));
    v16 z = v16_mul(m, m), p = v16_set1(0.067467086f);
    static const float c[] = { -0.116757624f, 0.118881874f, -0.124055721f, 0.142195478f,
                               -0.166679963f, 0.200021192f, -0.250000089f, 0.333333135f };
    for (int i = 0; i < 8; i++)
        p = v16_fma(p, m, v16_set1(c[i]));
    p = v16_mul(v16_mul(p, m), z);
    p = v16_fma(fe, v16_set1(-2.12194440e-4f), p);
    p = v16_fma(z, v16_set1(-0.5f), p);
    v16 r = v16_fma(fe, v16_set1(0.693359375f), v16_add(m, p));
    v16 zero = v16_set1(0.0f), inf = v16_set1(INFINITY), none = v16_set1(NAN);
    r = v16_pick(v16_lt(x, inf), r, x); /* inf and NaN stay */
    r = v16_pick(v16_lt(zero, x), r, v16_pick(v16_lt(x, zero), none, v16_set1(-INFINITY)));
    return v16_pick(v16_nan(x), x, r);
}

static inline v16 FN(v_sigmoid)(v16 x)
{
    const v16 c = v16_min(v16_set1(87.5f), v16_max(v16_set1(-89.0f), x));
    return v16_div(v16_set1(1.0f), FN(exp_and_one)(c, -1));
}

/* Below 0.625 an odd polynomial, above it 1 - 2 / (e^2x + 1). */
static inline v16 FN(v_tanh)(v16 x)
{
    i16 sign = i16_and(v16_bits(x), i16_set1(INT32_MIN));
    v16 a = v16_of_bits(i16_and(v16_bits(x), i16_set1(INT32_MAX))), z = v16_mul(x, x);
    v16 p = v16_set1(-0.00570271164f);
    p = v16_fma(p, z, v16_set1(0.0206371341f));
    p = v16_fma(p, z, v16_set1(-0.0537391454f));
    p = v16_fma(p, z, v16_set1(0.133314356f));
    p = v16_fma(p, z, v16_set1(-0.333332807f));
    p = v16_fma(v16_mul(p, z), x, x);
    v16 e1 = FN(exp_and_one)(v16_min(v16_set1(89.0f), v16_add(a, a)), 1);
    v16 q = v16_sub(v16_set1(1.0f), v16_div(v16_set1(2.0f), e1));
    q = v16_pick(v16_lt(a, v16_set1(0.625f)), p, q);
    return v16_of_bits(i16_or(v16_bits(q), sign));
}

/* Odd minimax polynomial below 0.921875, 1 - e^(polynomial) above it. */
static inline v16 FN(v_erf)(v16 x)
{
    static const float lo[] = { 0.00499310717f, -0.0267665666f, 0.112818152f, -0.376124948f,
                                0.128379151f };
    i16 sign = i16_and(v16_bits(x), i16_set1(INT32_MIN));
    v16 t = v16_of_bits(i16_and(v16_bits(x), i16_set1(INT32_MAX))), s = v16_mul(x, x);
    v16 p = v16_set1(-0.000599047693f);
    for (int i = 0; i < 5; i++)
        p = v16_fma(p, s, v16_set1(lo[i]));
    p = v16_fma(p, x, x);
    v16 r = v16_fma(v16_set1(-1.12319622e-05f), t, v16_set1(0.000322809996f));
    v16 u = v16_fma(v16_set1(-0.00364248222f), t, v16_set1(0.0237621088f));
    r = v16_fma(r, s, u);
    r = v16_fma(r, t, v16_set1(-0.106236927f));
    r = v16_fma(r, t, v16_set1(-0.635151267f));
    r = v16_fma(r, t, v16_set1(-0.12864849f));
    r = v16_fma(r, t, v16_sub(v16_set1(0.0f), t));
    r = v16_sub(v16_set1(1.0f), FN(exp_flushed)(r));
    r = v16_pick(v16_lt(t, v16_set1(4.0f)), r, v16_set1(1.0f));
    r = v16_of_bits(i16_or(v16_bits(r), sign));
    return v16_pick(v16_nan(x), x, v16_pick(v16_lt(t, v16_set1(0.921875f)), p, r));
}

static inline v16 FN(v_sqrt)(v16 x) { return v16_sqrt(x); }
/* NaN stays NaN: it is the second operand. */
static inline v16 FN(v_relu)(v16 x) { return v16_max(v16_set1(0.0f), x); }

/* Adding 2^k rounds to a multiple of 2^(k-23), halves to even, and taking it off again is exact: k is
 * chosen so that as many bits of a are left as the narrow type has. `least` is that of its subnormal
 * numbers. Takes |a| from 0 to 2^(127 - digits), and NaN. */
static inline v16 FN(v_round_bits)(v16 a, int32_t digits, float least)
{
    i16 power = i16_and(v16_bits(a), i16_set1(0x7f800000));
    v16 k = v16_of_bits(i16_add(power, i16_set1(digits << 23)));
    k = v16_max(k, v16_set1(least));
    return v16_sub(v16_add(a, k), k);
}

#ifdef V16_ROUNDS_F16
static inline v16 FN(v_round_f16)(v16 x) { return v16_round_f16(x); }
#else
static inline v16 FN(v_round_f16)(v16 x)
{
    i16 sign = i16_and(v16_bits(x), i16_set1(INT32_MIN));
    v16 a = v16_of_bits(i16_and(v16_bits(x), i16_set1(INT32_MAX)));
    v16 r = FN(v_round_bits)(v16_min(v16_set1(0x1p17f), a), 13, 0.5f);
    r = v16_pick(v16_lt(v16_set1(65504.0f), r), v16_set1(INFINITY), r);
    return v16_of_bits(i16_or(v16_bits(r), sign));
}
#endif

/* Large numbers are made smaller, so that 2^k is one. */
static inline v16 FN(v_round_bf16)(v16 x)
{
    i16 sign = i16_and(v16_bits(x), i16_set1(INT32_MIN));
    v16 a = v16_of_bits(i16_and(v16_bits(x), i16_set1(INT32_MAX)));
    m16 large = v16_lt(v16_set1(0x1p64f), a);
    v16 r = v16_pick(large, v16_mul(a, v16_set1(0x1p-64f)), a);
    r = FN(v_round_bits)(r, 16, 0x1p-110f);
    r = v16_pick(large, v16_mul(r, v16_set1(0x1p64f)), r);
    return v16_of_bits(i16_or(v16_bits(r), sign));
}

/* As quantize_f32 rounds, and a whole number of -half .. half - 1 less its zero. */
static inline v16 FN(round_whole)(v16 a, v16 zero, float half)
{
    zero = v16_min(v16_max(zero, v16_set1(-2 * half)), v16_set1(2 * half));
    a = v16_max(a, v16_sub(v16_set1(-half), zero));
    a = v16_min(a, v16_sub(v16_set1(half - 1), zero));
    return v16_of_int(v16_round(a));
}

static inline v16 FN(v_round_s8)(v16 a, v16 zero) { return FN(round_whole)(a, zero, 0x1p7f); }
static inline v16 FN(v_round_s16)(v16 a, v16 zero) { return FN(round_whole)(a, zero, 0x1p15f); }

static inline v16 FN(v_add)(v16 a, v16 b) { return v16_add(a, b); }
static inline v16 FN(v_sub)(v16 a, v16 b) { return v16_sub(a, b); }
static inline v16 FN(v_mul)(v16 a, v16 b) { return v16_mul(a, b); }
static inline v16 FN(v_div)(v16 a, v16 b) { return v16_div(a, b); }
static inline v16 FN(v_prelu)(v16 a, v16 slope)
{
    return v16_pick(v16_lt(a, v16_set1(0)), v16_mul(a, slope), a);
}
static inline v16 FN(v_gate)(v16 a, v16 b) { return v16_mul(FN(v_tanh)(a), FN(v_sigmoid)(b)); }

#define MAP_1(name)                                                           \
    static void FN(name##_f32)(float *y, const float *x, size_t n)            \
    {                                                                         \
        size_t i = 0;                                                         \
        for (; i + MAP_LANES <= n; i += MAP_LANES)                            \
            v16_store(y + i, FN(v_##name)(v16_load(x + i)));                  \
        if (i < n)                                                            \
            v16_store_n(y + i, FN(v_##name)(v16_load_n(x + i, n - i)), n - i); \
    }
/* name_any: one of a and b may be a single element. */
#define MAP_2(name)                                                                                           \
    static void FN(name##_f32)(float *y, const float *a, const float *b, size_t n)                            \
    {                                                                                                         \
        size_t i = 0;                                                                                         \
        for (; i + MAP_LANES <= n; i += MAP_LANES)                                                            \
            v16_store(y + i, FN(v_##name)(v16_load(a + i), v16_load(b + i)));                                 \
        if (i < n)                                                                                            \
            v16_store_n(y + i, FN(v_##name)(v16_load_n(a + i, n - i), v16_load_n(b + i, n - i)), n - i);      \
    }                                                                                                         \
    static void FN(name##_any)(float *y, const float *a, const float *b, bool a_one, bool b_one, size_t n)    \
    {                                                                                                         \
        if (!a_one && !b_one) {                                                                               \
            FN(name##_f32)(y, a, b, n);                                                                       \
            return;                                                                                           \
        }                                                                                                     \
        size_t i = 0;                                                                                         \
        if (b_one && !a_one) {                                                                                \
            const v16 vb = v16_set1(*b);                                                                      \
            for (; i + MAP_LANES <= n; i += MAP_LANES)                                                        \
                v16_store(y + i, FN(v_##name)(v16_load(a + i), vb));                                          \
            if (i < n)                                                                                        \
                v16_store_n(y + i, FN(v_##name)(v16_load_n(a + i, n - i), vb), n - i);                        \
            return;                                                                                           \
        }                                                                                                     \
        const v16 va = v16_set1(*a), vb = v16_set1(*b);                                                       \
        for (; i + MAP_LANES <= n; i += MAP_LANES)                                                            \
            v16_store(y + i, FN(v_##name)(va, b_one ? vb : v16_load(b + i)));                                 \
        if (i < n)                                                                                            \
            v16_store_n(y + i, FN(v_##name)(va, b_one ? vb : v16_load_n(b + i, n - i)), n - i);               \
    }
#define X(number, name, operands) MAP_##operands(name)
KERN_POINTWISE(X)
#undef X
#undef MAP_1
#undef MAP_2

#define MAPS(name, op)                                                                   \
    static void FN(name##_f32)(float *y, const float *a, float s, size_t n)              \
    {                                                                                    \
        v16 b = v16_set1(s);                                                             \
        size_t i = 0;                                                                    \
        for (; i + MAP_LANES <= n; i += MAP_LANES)                                       \
            v16_store(y + i, op(v16_load(a + i), b));                                    \
        if (i < n)                                                                       \
            v16_store_n(y + i, op(v16_load_n(a + i, n - i), b), n - i);                  \
    }
MAPS(adds, v16_add)
MAPS(muls, v16_mul)
MAPS(divs, v16_div)

static inline v16 FN(exp_plus)(v16 a, v16 s) { return FN(exp_flushed)(v16_add(a, s)); }
MAPS(exp_adds, FN(exp_plus))

/* The divider works beside the multiply-adds. */
static void FN(exp_adds_divs_f32)(float *y, const float *a, float s, float *z, float d, size_t n)
{
    const v16 vs = v16_set1(s), vd = v16_set1(d);
    size_t i = 0;
    for (; i + MAP_LANES <= n; i += MAP_LANES) {
        const v16 q = v16_div(v16_load(z + i), vd), e = FN(exp_plus)(v16_load(a + i), vs);
        v16_store(z + i, q);
        v16_store(y + i, e);
    }
    if (i < n) {
        v16_store_n(z + i, v16_div(v16_load_n(z + i, n - i), vd), n - i);
        v16_store_n(y + i, FN(exp_plus)(v16_load_n(a + i, n - i), vs), n - i);
    }
}

/* e^x - 1 for x < 0: a series near 0, where the difference would cancel. */
static inline v16 FN(elu)(v16 x, v16 alpha)
{
    v16 zero = v16_set1(0), v = v16_pick(v16_lt(x, zero), x, zero), s = v16_set1(1.0f / 5040);
    static const float c[] = { 1.0f / 720, 1.0f / 120, 1.0f / 24, 1.0f / 6, 0.5f };
    for (int i = 0; i < 5; i++)
        s = v16_add(v16_mul(s, v), v16_set1(c[i]));
    s = v16_add(v16_mul(v16_mul(s, v), v), v);
    v16 far = v16_sub(FN(exp_flushed)(v), v16_set1(1));
    s = v16_mul(alpha, v16_pick(v16_lt(v16_set1(-0.3f), v), s, far));
    return v16_pick(v16_lt(x, zero), s, x);
}
MAPS(elu, FN(elu))
#undef MAPS
