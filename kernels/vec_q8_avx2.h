/* SPDX-License-Identifier: MIT */
/* Sums of 8-bit products with AVX2. vpmaddubsw multiplies u8 by s8 and adds pairs of products in 16
 * bits, saturating. Rows are s8 here, and what is multiplied is |x| by v, or by ~v = -v - 1 where x is
 * negative: a pair is at least 2 * 128 * -128 = -32768 and at most 2 * 128 * 127 = 32512, so nothing
 * saturates, whatever the numbers. Each negative x then adds |x| too little, to all outputs of a row
 * alike. (vpsignb would do without, but goes where vpmaddubsw does, and has no -(-128).) A row is taken
 * as its |x|, and behind all of them a byte of ones for each negative x. */
#include "kernels/vec_n16_avx2.h"

#define Q8_ROWS_ARE_SIGNED 1
#define Q8_FIT(rows) ((rows) == 1 ? 4 : (rows) == 2 ? 2 : 1)
#define Q8_ACC 4
#define Q8_ROWS 4
#define Q8_TAKE 2
#define Q8_NEGATIVE 1024 /* where those bytes begin */

typedef struct { __m256i size, negative; } x4;

Q8_INLINE x4 x4_load(const uint8_t *taken)
{
    return (x4) { four_load(taken), four_load(taken + Q8_NEGATIVE) };
}
Q8_INLINE __m256i pairs_add(__m256i sums, __m256i w, x4 x)
{
    __m256i pairs = _mm256_maddubs_epi16(x.size, _mm256_xor_si256(w, x.negative));
    return _mm256_add_epi32(sums, _mm256_madd_epi16(pairs, _mm256_set1_epi16(1)));
}
Q8_INLINE d16 d16_dot(d16 s, w64 w, x4 x)
{
    s.a = pairs_add(s.a, w.a, x);
    s.b = pairs_add(s.b, w.b, x);
    __asm__ volatile("" : "+x"(s.a), "+x"(s.b)); /* one after the other: there are few registers */
    return s;
}
/* The same in two stages, for three rows and more: pairs of products, 32 of 16 bits, and their sums. */
#define Q8_STAGES 3
#define Q8_PLAIN
typedef struct { __m256i a, b; } p32;

Q8_INLINE p32 pairs_of(w64 w, x4 x)
{
    p32 p = { _mm256_maddubs_epi16(x.size, _mm256_xor_si256(w.a, x.negative)),
              _mm256_maddubs_epi16(x.size, _mm256_xor_si256(w.b, x.negative)) };
    __asm__ volatile("" : "+x"(p.a), "+x"(p.b)); /* in this order */
    return p;
}
Q8_INLINE d16 d16_add_pairs(d16 s, p32 p)
{
    const __m256i ones = _mm256_set1_epi16(1);
    s.a = _mm256_add_epi32(s.a, _mm256_madd_epi16(p.a, ones));
    s.b = _mm256_add_epi32(s.b, _mm256_madd_epi16(p.b, ones));
    __asm__ volatile("" : "+x"(s.a), "+x"(s.b));
    return s;
}
#define Q8_HALF
Q8_INLINE d16 d16_dot_half(d16 s, __m256i w, x4 x)
{
    s.a = pairs_add(s.a, w, x);
    return s;
}
/* 32 terms; returns |x| of the negative ones that are counted in four sums. */
Q8_INLINE __m256i x32_take(uint8_t *to, __m256i x, __m256i counted)
{
    const __m256i none = _mm256_setzero_si256(), negative = _mm256_cmpgt_epi8(none, x),
                  size = _mm256_abs_epi8(x);
    _mm256_storeu_si256((__m256i *) (void *) to, size);
    _mm256_storeu_si256((__m256i *) (void *) (to + Q8_NEGATIVE), negative);
    return _mm256_sad_epu8(_mm256_and_si256(size, _mm256_and_si256(negative, counted)), none);
}
/* The last `rest` of n terms, n at least 32: the last 32 are taken, some again. */
Q8_INLINE __m256i last_take(uint8_t *to, const uint8_t *x, size_t n, size_t rest, __m256i flip)
{
    static const uint8_t counted[64] = { [32] = 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255,
                                         255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255,
                                         255, 255, 255, 255, 255, 255, 255, 255, 255, 255 };
    const __m256i x32 = _mm256_loadu_si256((const __m256i *) (const void *) (x + n - 32)),
                  which = _mm256_loadu_si256((const __m256i *) (const void *) (counted + rest));
    return x32_take(to + n - 32, _mm256_xor_si256(x32, flip), which);
}
/* Returns what the negative terms add too little. */
static int32_t q8_take(uint8_t *restrict to, const uint8_t *restrict x, size_t n, uint8_t flip)
{
    const __m256i by = _mm256_set1_epi8((char) flip);
    const __m256i all = _mm256_set1_epi8(-1);
    __m256i last, less = _mm256_setzero_si256();
    size_t i = 0;
    memset(to + n, 0, 4); /* what makes the last group whole; written over where others lie there */
    memset(to + n + Q8_NEGATIVE, 0, 4);
    for (; n - i >= 32; i += 32) {
        __m256i x32 = _mm256_loadu_si256((const __m256i *) (const void *) (x + i));
        less = _mm256_add_epi64(less, x32_take(to + i, _mm256_xor_si256(x32, by), all));
    }
    if (i < n && i) {
        less = _mm256_add_epi64(less, last_take(to, x, n, n - i, by));
    } else if (i < n) {
        last = by; /* no terms become 0 */
        memcpy(&last, x, n);
        less = _mm256_add_epi64(less, x32_take(to, _mm256_xor_si256(last, by), all));
    }
    int64_t sums[4];
    memcpy(sums, &less, sizeof sums);
    return (int32_t) (sums[0] + sums[1] + sums[2] + sums[3]);
}

/* ---- sums of 16 bits: rows are u8, pairs of one group or of two meet there ---- */

#define Q8_OUTLIERS 1

Q8_INLINE __m256i sums_widen(__m256i sums, __m256i pairs)
{
    sums = _mm256_add_epi32(sums, _mm256_madd_epi16(pairs, _mm256_set1_epi16(1)));
    __asm__ volatile("" : "+x"(sums)); /* one after the other: there are few registers */
    return sums;
}
Q8_INLINE void d16_dot_single(d16 *s, const int8_t *w, const uint8_t *x, size_t apart, const int rows)
{
    const w64 whole = w64_load(w);
    for (int r = 0; r < rows; r++) {
        const __m256i x0 = four_load(x + r * apart);
        s[r].a = sums_widen(s[r].a, _mm256_maddubs_epi16(x0, whole.a));
        s[r].b = sums_widen(s[r].b, _mm256_maddubs_epi16(x0, whole.b));
    }
}
/* Two groups of `rows` rows; half a panel at a time. */
Q8_INLINE void d16_dot_fours(d16 *s, const int8_t *w, const uint8_t *x, const uint8_t *y, size_t apart, const int rows)
{
    const w64 first = w64_load(w), second = w64_load(w + 64);
    for (int r = 0; r < rows; r++) {
        const __m256i x0 = four_load(x + r * apart), x1 = four_load(y + r * apart);
        s[r].a = sums_widen(s[r].a, _mm256_add_epi16(_mm256_maddubs_epi16(x0, first.a), _mm256_maddubs_epi16(x1, second.a)));
        s[r].b = sums_widen(s[r].b, _mm256_add_epi16(_mm256_maddubs_epi16(x0, first.b), _mm256_maddubs_epi16(x1, second.b)));
    }
}
