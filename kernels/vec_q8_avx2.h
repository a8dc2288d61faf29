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

/* ---- weights with outliers: rows are u8, pairs or fours of products meet in 16 bits ---- */

#define Q8_OUTLIERS 1

Q8_INLINE __m256i u4_load(const uint8_t *taken) { return four_load(taken); }
Q8_INLINE __m256i sums_widen(__m256i sums, __m256i pairs)
{
    sums = _mm256_add_epi32(sums, _mm256_madd_epi16(pairs, _mm256_set1_epi16(1)));
    __asm__ volatile("" : "+x"(sums)); /* one after the other: there are few registers */
    return sums;
}
Q8_INLINE d16 d16_dot_2(d16 s, w64 w, __m256i x)
{
    s.a = sums_widen(s.a, _mm256_maddubs_epi16(x, w.a));
    s.b = sums_widen(s.b, _mm256_maddubs_epi16(x, w.b));
    return s;
}
/* Two groups of `rows` rows; half a panel at a time. */
Q8_INLINE void d16_dot_fours(d16 *s, const int8_t *w, const uint8_t *x, size_t apart, const int rows)
{
    const w64 first = w64_load(w), second = w64_load(w + 64);
    for (int r = 0; r < rows; r++) {
        const __m256i x0 = four_load(x + r * apart), x1 = four_load(x + r * apart + 4);
        s[r].a = sums_widen(s[r].a, _mm256_add_epi16(_mm256_maddubs_epi16(x0, first.a), _mm256_maddubs_epi16(x1, second.a)));
        s[r].b = sums_widen(s[r].b, _mm256_add_epi16(_mm256_maddubs_epi16(x0, first.b), _mm256_maddubs_epi16(x1, second.b)));
    }
}

/* Eight numbers, of one term of eight rows. */
typedef __m256i n8;
Q8_INLINE n8 n8_zero(void) { return _mm256_setzero_si256(); }
/* s + x[0 .. 7] * what an outlier has more */
Q8_INLINE n8 n8_add_product(n8 s, const uint8_t *x, const void *o)
{
    int32_t both; /* where it is meets zeros */
    memcpy(&both, o, sizeof both);
    const __m256i numbers = _mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i *) (const void *) x));
    return _mm256_add_epi32(s, _mm256_madd_epi16(numbers, _mm256_set1_epi32(both)));
}
Q8_INLINE void n8_turn(n8 *to, const n8 *from)
{
    n8 two[8], four[8];
    for (int i = 0; i < 8; i += 2) {
        two[i] = _mm256_unpacklo_epi32(from[i], from[i + 1]);
        two[i + 1] = _mm256_unpackhi_epi32(from[i], from[i + 1]);
    }
    for (int i = 0; i < 8; i += 4)
        for (int h = 0; h < 2; h++) {
            four[i + 2 * h] = _mm256_unpacklo_epi64(two[i + h], two[i + 2 + h]);
            four[i + 2 * h + 1] = _mm256_unpackhi_epi64(two[i + h], two[i + 2 + h]);
        }
    for (int i = 0; i < 4; i++) {
        to[i] = _mm256_permute2x128_si256(four[i], four[i + 4], 0x20);
        to[i + 4] = _mm256_permute2x128_si256(four[i], four[i + 4], 0x31);
    }
}
/* y[row * step + lane] = x[lane] of row, of m rows and 16 lanes */
Q8_INLINE void n8_turn_store(int32_t *y, size_t step, const n8 *x, size_t m)
{
    for (int half = 0; half < 2; half++) {
        n8 rows[8];
        n8_turn(rows, x + half * 8);
        for (size_t r = 0; r < 8 && r < m; r++)
            _mm256_storeu_si256((__m256i *) (void *) (y + r * step + half * 8), rows[r]);
    }
}
/* to[term * 8 + row] = x[row][term]; terms up to the next multiple of 8, whatever they are */
static void x8_turn(uint8_t *restrict to, const uint8_t *const *x, size_t terms)
{
    for (size_t i = 0; i < terms; i += 8, to += 64) {
        __m128i row[8], two[4], four[4];
        for (int r = 0; r < 8; r++)
            row[r] = _mm_loadl_epi64((const __m128i *) (const void *) (x[r] + i));
        for (int r = 0; r < 4; r++)
            two[r] = _mm_unpacklo_epi8(row[2 * r], row[2 * r + 1]);
        for (int r = 0; r < 2; r++) {
            four[r] = _mm_unpacklo_epi16(two[2 * r], two[2 * r + 1]);
            four[r + 2] = _mm_unpackhi_epi16(two[2 * r], two[2 * r + 1]);
        }
        for (int r = 0; r < 2; r++) {
            _mm_storeu_si128((__m128i *) (void *) (to + r * 32), _mm_unpacklo_epi32(four[2 * r], four[2 * r + 1]));
            _mm_storeu_si128((__m128i *) (void *) (to + r * 32 + 16), _mm_unpackhi_epi32(four[2 * r], four[2 * r + 1]));
        }
    }
}
