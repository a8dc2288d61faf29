/* SPDX-License-Identifier: MIT */
/* n16: 16 whole numbers of 32 bits in two AVX2 registers; sums under way and weights are of the same
 * type. */
#include <immintrin.h>
#include <stdint.h>
#include <string.h>

#define Q8_INLINE static inline __attribute__((always_inline))
#define Q8_TILE   Q8_INLINE

typedef struct { __m256i a, b; } n16;
typedef n16 d16;
typedef n16 w64;

Q8_INLINE w64 w64_load(const int8_t *w)
{
    return (w64) { _mm256_load_si256((const __m256i *) (const void *) w),
                   _mm256_load_si256((const __m256i *) (const void *) (w + 32)) };
}
Q8_INLINE __m256i four_load(const uint8_t *p)
{
    int32_t four;
    memcpy(&four, p, sizeof four);
    return _mm256_set1_epi32(four);
}
Q8_INLINE d16 d16_zero(void) { return (d16) { _mm256_setzero_si256(), _mm256_setzero_si256() }; }
Q8_INLINE n16 d16_sums(d16 a, int32_t extra)
{
    __m256i e = _mm256_set1_epi32(extra);
    return (n16) { _mm256_add_epi32(a.a, e), _mm256_add_epi32(a.b, e) };
}
Q8_INLINE n16 n16_load(const int32_t *p)
{
    return (n16) { _mm256_loadu_si256((const __m256i *) (const void *) p),
                   _mm256_loadu_si256((const __m256i *) (const void *) (p + 8)) };
}
Q8_INLINE void n16_store(int32_t *p, n16 a)
{
    _mm256_storeu_si256((__m256i *) (void *) p, a.a);
    _mm256_storeu_si256((__m256i *) (void *) (p + 8), a.b);
}
/* The first n of 8: all bits of those that there are. */
Q8_INLINE __m256i n8_which(size_t n)
{
    static const int32_t which[16] = { -1, -1, -1, -1, -1, -1, -1, -1 };
    return _mm256_loadu_si256((const __m256i *) (const void *) (which + 8 - n));
}
#define N16_MASKED
/* The first n of 16, n less than 16. */
Q8_INLINE n16 n16_load_n(const int32_t *p, size_t n)
{
    if (n < 8)
        return (n16) { _mm256_maskload_epi32((const int *) p, n8_which(n)), _mm256_setzero_si256() };
    return (n16) { _mm256_loadu_si256((const __m256i *) (const void *) p),
                   _mm256_maskload_epi32((const int *) (p + 8), n8_which(n - 8)) };
}
Q8_INLINE void n16_store_n(int32_t *p, n16 a, size_t n)
{
    if (n < 8) {
        _mm256_maskstore_epi32((int *) p, n8_which(n), a.a);
        return;
    }
    _mm256_storeu_si256((__m256i *) (void *) p, a.a);
    if (n > 8)
        _mm256_maskstore_epi32((int *) (p + 8), n8_which(n - 8), a.b);
}
Q8_INLINE n16 n16_add(n16 a, n16 b)
{
    return (n16) { _mm256_add_epi32(a.a, b.a), _mm256_add_epi32(a.b, b.b) };
}
/* Of the same value, rounded to nearest even, times `by`, and its bits. */
Q8_INLINE n16 n16_floats(n16 a, float by)
{
    const __m256 all = _mm256_set1_ps(by);
    return (n16) { _mm256_castps_si256(_mm256_mul_ps(_mm256_cvtepi32_ps(a.a), all)),
                   _mm256_castps_si256(_mm256_mul_ps(_mm256_cvtepi32_ps(a.b), all)) };
}
/* a - b * s */
Q8_INLINE n16 n16_less(n16 a, n16 b, int32_t s)
{
    __m256i by = _mm256_set1_epi32(s);
    return (n16) { _mm256_sub_epi32(a.a, _mm256_mullo_epi32(b.a, by)),
                   _mm256_sub_epi32(a.b, _mm256_mullo_epi32(b.b, by)) };
}
