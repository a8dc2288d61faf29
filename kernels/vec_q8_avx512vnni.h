/* SPDX-License-Identifier: MIT */
/* Sums of 8-bit products with vpdpbusd on registers of 512 bits: rows are u8. */
#include <immintrin.h>
#include <stdint.h>
#include <string.h>

#define Q8_INLINE static inline __attribute__((always_inline))
#define Q8_TILE   Q8_INLINE
#define Q8_ROWS_ARE_SIGNED 0
#define Q8_FIT(rows) ((rows) == 1 ? 6 : (rows) <= 3 ? 6 : (rows) <= 6 ? 4 : 3)
#define Q8_ACC 24
#define Q8_ROWS 8
#define Q8_PLAIN

typedef __m512i n16, d16, w64, x4;

Q8_INLINE x4 x4_load(const uint8_t *taken)
{
    int32_t four;
    memcpy(&four, taken, sizeof four);
    return _mm512_set1_epi32(four);
}
Q8_INLINE w64 w64_load(const int8_t *w) { return _mm512_load_si512(w); }
Q8_INLINE d16 d16_zero(void) { return _mm512_setzero_si512(); }
Q8_INLINE d16 d16_dot(d16 s, w64 w, x4 x) { return _mm512_dpbusd_epi32(s, x, w); }
Q8_INLINE n16 d16_sums(d16 a, int32_t extra) { (void) extra; return a; }
#define N16_MASKED
Q8_INLINE __mmask16 n16_first(size_t n) { return (__mmask16) ((1u << n) - 1); }
Q8_INLINE n16 n16_load(const int32_t *p) { return _mm512_loadu_si512(p); }
Q8_INLINE n16 n16_load_n(const int32_t *p, size_t n) { return _mm512_maskz_loadu_epi32(n16_first(n), p); }
Q8_INLINE void n16_store(int32_t *p, n16 a) { _mm512_storeu_si512(p, a); }
Q8_INLINE void n16_store_n(int32_t *p, n16 a, size_t n) { _mm512_mask_storeu_epi32(p, n16_first(n), a); }
Q8_INLINE n16 n16_add(n16 a, n16 b) { return _mm512_add_epi32(a, b); }
/* Of the same value, rounded to nearest even, and its bits. */
Q8_INLINE n16 n16_floats(n16 a, float by)
{
    return _mm512_castps_si512(_mm512_mul_ps(_mm512_cvtepi32_ps(a), _mm512_set1_ps(by)));
}
/* a - b * s */
Q8_INLINE n16 n16_less(n16 a, n16 b, int32_t s)
{
    return _mm512_sub_epi32(a, _mm512_mullo_epi32(b, _mm512_set1_epi32(s)));
}

/* Two weights for each lane, and what their products with two numbers add. */
#define SUMS_DOT
#define V16_UNROLLED Q8_INLINE
#define V16_INLINE   Q8_INLINE
typedef __m512i i16, w2;
Q8_INLINE i16 i16_set1(int32_t a) { return _mm512_set1_epi32(a); }
Q8_INLINE void i16_store(int32_t *p, i16 a) { _mm512_storeu_si512(p, a); }
Q8_INLINE w2 w2_load_s16(const int16_t *p) { return _mm512_loadu_si512(p); }
Q8_INLINE i16 i16_add_pairs(i16 a, w2 w, const int16_t *x)
{
    int32_t both;
    memcpy(&both, x, sizeof both);
    return _mm512_dpwssd_epi32(a, w, _mm512_set1_epi32(both));
}
#include "kernels/vec_bytes_avx512.h"
