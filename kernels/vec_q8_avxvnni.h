/* SPDX-License-Identifier: MIT */
/* Sums of 8-bit products with vpdpbusd on registers of 256 bits: rows are u8. The instruction has two
 * encodings, of AVX-VNNI and of AVX-512 VL; which one is taken is a matter of the flags. */
#include <immintrin.h>
#include <stdint.h>
#include <string.h>

#define Q8_INLINE static inline __attribute__((always_inline))
#define Q8_TILE   Q8_INLINE
#define Q8_ROWS_ARE_SIGNED 0
#define Q8_FIT(rows) ((rows) == 1 ? 6 : (rows) == 2 ? 3 : (rows) == 3 ? 2 : 1)
#define Q8_ACC 6
#define Q8_ROWS 6

#ifdef __AVXVNNI__
#define DOT4(sums, x, w) _mm256_dpbusd_avx_epi32(sums, x, w)
#else
#define DOT4(sums, x, w) _mm256_dpbusd_epi32(sums, x, w)
#endif

typedef struct { __m256i a, b; } n16;
typedef n16 d16;
typedef n16 w64;
typedef __m256i x4;

Q8_INLINE x4 x4_of(uint32_t bytes, uint32_t flip)
{
    return _mm256_xor_si256(_mm256_set1_epi32((int32_t) bytes), _mm256_set1_epi32((int32_t) flip));
}
Q8_INLINE w64 w64_load(const int8_t *w)
{
    return (w64) { _mm256_load_si256((const __m256i *) (const void *) w),
                   _mm256_load_si256((const __m256i *) (const void *) (w + 32)) };
}
Q8_INLINE d16 d16_zero(void) { return (d16) { _mm256_setzero_si256(), _mm256_setzero_si256() }; }
Q8_INLINE d16 d16_dot(d16 s, w64 w, x4 x)
{
    return (d16) { DOT4(s.a, x, w.a), DOT4(s.b, x, w.b) };
}
#include "kernels/vec_n16_avx2.h"
