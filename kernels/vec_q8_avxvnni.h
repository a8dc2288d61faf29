/* SPDX-License-Identifier: MIT */
/* Sums of 8-bit products with vpdpbusd on registers of 256 bits: rows are u8. The instruction has two
 * encodings, of AVX-VNNI and of AVX-512 VL; which one is taken is a matter of the flags. */
#include "kernels/vec_n16_avx2.h"

#define Q8_ROWS_ARE_SIGNED 0
#define Q8_FIT(rows) ((rows) == 1 ? 6 : (rows) == 2 ? 3 : (rows) == 3 ? 2 : 1)
#define Q8_ACC 6
#define Q8_ROWS 6

#ifdef __AVXVNNI__
#define DOT4(sums, x, w) _mm256_dpbusd_avx_epi32(sums, x, w)
#else
#define DOT4(sums, x, w) _mm256_dpbusd_epi32(sums, x, w)
#endif

typedef __m256i x4;

Q8_INLINE x4 x4_load(const uint8_t *taken) { return four_load(taken); }
Q8_INLINE d16 d16_dot(d16 s, w64 w, x4 x)
{
    return (d16) { DOT4(s.a, x, w.a), DOT4(s.b, x, w.b) };
}
