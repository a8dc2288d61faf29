/* SPDX-License-Identifier: MIT */
/* Sums of 8-bit products with AVX2. vpmaddubsw multiplies u8 by s8 and adds pairs of products in 16
 * bits, saturating. Rows are s8 here, and what is multiplied is |x| by v, or by ~v = -v - 1 where x is
 * negative: a pair is at least 2 * 128 * -128 = -32768 and at most 2 * 128 * 127 = 32512, so nothing
 * saturates, whatever the numbers. Each negative x then adds |x| too little, to all
 * outputs of a row alike: q8_extra. (vpsignb would do without, but goes where vpmaddubsw does,
 * and has no -(-128).) */
#include <immintrin.h>
#include <stdint.h>
#include <string.h>

#define Q8_INLINE static inline __attribute__((always_inline))
#define Q8_TILE   Q8_INLINE
#define Q8_ROWS_ARE_SIGNED 1
#define Q8_FIT(rows) ((rows) == 1 ? 4 : (rows) == 2 ? 2 : 1)
#define Q8_ACC 4
#define Q8_ROWS 3

typedef struct { __m256i a, b; } n16;
typedef n16 d16;
typedef n16 w64;
typedef struct { __m256i size, negative; } x4;

Q8_INLINE x4 x4_of(uint32_t bytes, uint32_t flip)
{
    __m256i x = _mm256_xor_si256(_mm256_set1_epi32((int32_t) bytes), _mm256_set1_epi32((int32_t) flip));
    return (x4) { _mm256_abs_epi8(x), _mm256_cmpgt_epi8(_mm256_setzero_si256(), x) };
}
Q8_INLINE w64 w64_load(const int8_t *w)
{
    return (w64) { _mm256_load_si256((const __m256i *) (const void *) w),
                   _mm256_load_si256((const __m256i *) (const void *) (w + 32)) };
}
Q8_INLINE d16 d16_zero(void) { return (d16) { _mm256_setzero_si256(), _mm256_setzero_si256() }; }
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
/* What a row's negative terms added too little to each of its sums: |x|. */
#define Q8_EXTRA
Q8_INLINE int32_t q8_extra(const uint8_t *x, size_t k, uint8_t flip)
{
    uint32_t s = (uint32_t) (flip & 0x80) * (uint32_t) ((4 - k % 4) % 4);
    for (size_t i = 0; i < k; i++) {
        int32_t v = (int8_t) (x[i] ^ flip);
        s += v < 0 ? (uint32_t) -v : 0;
    }
    return (int32_t) s;
}
#include "kernels/vec_n16_avx2.h"
