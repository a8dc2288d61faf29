/* SPDX-License-Identifier: MIT */
/* Sums of 8-bit products with vpdpbusd on registers of 256 bits: rows are u8. The instruction has two
 * encodings, of AVX-VNNI and of AVX-512 VL; which one is taken is a matter of the flags. */
#include "kernels/vec_n16_avx2.h"

#define Q8_ROWS_ARE_SIGNED 0
#define Q8_FIT(rows) ((rows) == 1 ? 6 : (rows) == 2 ? 3 : (rows) == 3 ? 2 : 1)
#define Q8_ACC 6
#define Q8_ROWS 6
#define Q8_PLAIN
#define Q8_PARTS 2
/* A sum waits five cycles for itself, in which ten go ahead: of 4, 7, 8 and 13 rows there are more of
 * them beside each other in tiles of two rows by three panels than in what a panel's rows give. */
#define Q8_TOGETHER(m) ((m) == 4 || (m) == 7 || (m) == 8 || (m) == 13 ? 2 : (m) < 6 ? (m) : 6)

#ifdef __AVXVNNI__
#define DOT4(sums, x, w) _mm256_dpbusd_avx_epi32(sums, x, w)
#define DOT2(sums, x, w) _mm256_dpwssd_avx_epi32(sums, x, w)
#else
#define DOT4(sums, x, w) _mm256_dpbusd_epi32(sums, x, w)
#define DOT2(sums, x, w) _mm256_dpwssd_epi32(sums, x, w)
#endif

/* Without it gcc 12 stores each sum in each round of a loop, though it is in a register, too. */
#define STAY(a, b) __asm__ volatile("" : "+x"(a), "+x"(b))

typedef __m256i x4;

Q8_INLINE x4 x4_load(const uint8_t *taken) { return four_load(taken); }
Q8_INLINE d16 d16_dot(d16 s, w64 w, x4 x)
{
    s.a = DOT4(s.a, x, w.a);
    s.b = DOT4(s.b, x, w.b);
    STAY(s.a, s.b);
    return s;
}

/* Two weights for each lane, and what their products with two numbers add. */
#define SUMS_DOT
#define V16_UNROLLED Q8_INLINE
#define V16_INLINE   Q8_INLINE
typedef struct { __m256i lo, hi; } i16, w2;
Q8_INLINE i16 i16_set1(int32_t a) { __m256i r = _mm256_set1_epi32(a); return (i16) { r, r }; }
Q8_INLINE void i16_store(int32_t *p, i16 a)
{
    _mm256_storeu_si256((__m256i *) (void *) p, a.lo);
    _mm256_storeu_si256((__m256i *) (void *) (p + 8), a.hi);
}
Q8_INLINE w2 w2_load_s16(const int16_t *p)
{
    const __m256i *at = (const __m256i *) (const void *) p;
    return (w2) { _mm256_loadu_si256(at), _mm256_loadu_si256(at + 1) };
}
Q8_INLINE i16 i16_add_pairs(i16 a, w2 w, const int16_t *x)
{
    int32_t both;
    memcpy(&both, x, sizeof both);
    const __m256i by = _mm256_set1_epi32(both);
    a.lo = DOT2(a.lo, w.lo, by);
    a.hi = DOT2(a.hi, w.hi, by);
    STAY(a.lo, a.hi);
    return a;
}
#include "kernels/vec_bytes_avx2.h"
