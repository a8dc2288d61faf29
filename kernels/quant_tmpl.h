/* SPDX-License-Identifier: MIT */
/* Floats to numbers of 8 bits and sums to floats: the contracts are in kern.h. What remains of less
 * than 16 goes through copies. */

static void FN(range_f32)(const float *x, size_t n, float ret[2])
{
    v16 low = v16_set1(0), high = low;
    float lows[16], highs[16];
    for (; n >= 16; n -= 16, x += 16) {
        v16 v = v16_load(x);
        low = v16_min(v, low);
        high = v16_max(v, high);
    }
    v16 rest = v16_load_n(x, n);
    v16_store(lows, v16_min(rest, low));
    v16_store(highs, v16_max(rest, high));
    for (int i = 0; i < 8; i++) {
        lows[i] = lows[i] < lows[i + 8] ? lows[i] : lows[i + 8];
        highs[i] = highs[i] > highs[i + 8] ? highs[i] : highs[i + 8];
    }
    ret[0] = ret[1] = 0;
    for (int i = 0; i < 8; i++) {
        ret[0] = lows[i] < ret[0] ? lows[i] : ret[0];
        ret[1] = highs[i] > ret[1] ? highs[i] : ret[1];
    }
}

#ifdef V16_FMA_CALLS
#define QUANT_DIVIDES(scale) true
#else /* no part of a quotient is subnormal or infinite */
#define QUANT_DIVIDES(scale) !((scale) >= 0x1p-60f && (scale) <= 0x1p60f)
#endif

/* The bounds are of quotients where it divides, else of x. */
struct FN(quant) {
    v16 scale, less, inverse, least, most;
    i16 zero;
};

static inline struct FN(quant) FN(quant_of)(const struct kern_quant *q, const bool divides)
{
    const float bounds = divides ? 1 : q->scale, least = (float) (q->least - q->zero),
                most = (float) (q->most - q->zero);
    return (struct FN(quant)) { v16_set1(q->scale),      v16_set1(-q->scale),
                                v16_set1(1 / q->scale),  v16_set1(least * bounds),
                                v16_set1(most * bounds), i16_set1(q->zero) };
}

/* A quotient is a product by the inverse, and what that lacks by the inverse: rounded to a whole
 * number up to 256 it is what division gives for every scale (tried with all that lie from a power
 * of two to the next, and floats beside all halves), without its many cycles. */
static inline i16 FN(quantize_16)(v16 x, const struct FN(quant) *q, const bool divides)
{
    v16 v = divides ? v16_div(x, q->scale) : x;
    v = v16_min(v16_max(v, q->least), q->most);
    if (!divides) {
        const v16 n = v16_mul(v, q->inverse);
        v = v16_fma(v16_fma(n, q->less, v), q->inverse, n);
    }
    return i16_add(v16_round(v), q->zero);
}

V16_UNROLLED void FN(quantize_by)(uint8_t *to, const float *x, size_t n,
                                  const struct kern_quant *quant, const bool divides)
{
    const struct FN(quant) q = FN(quant_of)(quant, divides);
    uint8_t last[16];
    for (; n >= 16; n -= 16, x += 16, to += 16)
        i16_store_bytes(to, FN(quantize_16)(v16_load(x), &q, divides));
    if (!n)
        return;
    i16_store_bytes(last, FN(quantize_16)(v16_load_n(x, n), &q, divides));
    memcpy(to, last, n);
}

static void FN(quantize_f32)(void *y, const float *x, size_t n, const struct kern_quant *q)
{
    if (QUANT_DIVIDES(q->scale))
        FN(quantize_by)(y, x, n, q, true);
    else
        FN(quantize_by)(y, x, n, q, false);
}

struct FN(away) {
    v16 by, zero, low, high;
};

static inline i16 FN(away_16)(v16 x, const struct FN(away) *q)
{
    v16 v = v16_max(v16_add(v16_mul(x, q->by), q->zero), q->low);
    return v16_round_away(v16_min(v, q->high));
}

static void FN(quantize_away_f32)(int8_t *y, const float *x, size_t n, const struct kern_away *q)
{
    const struct FN(away)
        all = { v16_set1(q->by), v16_set1(q->zero), v16_set1(q->low), v16_set1(127) };
    uint8_t *to = (uint8_t *) y, last[16];
    for (; n >= 16; n -= 16, x += 16, to += 16)
        i16_store_bytes(to, FN(away_16)(v16_load(x), &all));
    if (!n)
        return;
    i16_store_bytes(last, FN(away_16)(v16_load_n(x, n), &all));
    memcpy(to, last, n);
}
