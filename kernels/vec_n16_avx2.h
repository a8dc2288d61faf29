/* SPDX-License-Identifier: MIT */
/* n16: 16 whole numbers of 32 bits in two AVX2 registers; sums of products are of the same type. */
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
Q8_INLINE n16 n16_add(n16 a, n16 b)
{
    return (n16) { _mm256_add_epi32(a.a, b.a), _mm256_add_epi32(a.b, b.b) };
}
/* Of the same value, rounded to nearest even, and its bits. */
Q8_INLINE n16 n16_floats(n16 a)
{
    return (n16) { _mm256_castps_si256(_mm256_cvtepi32_ps(a.a)),
                   _mm256_castps_si256(_mm256_cvtepi32_ps(a.b)) };
}
/* a - b * s */
Q8_INLINE n16 n16_less(n16 a, n16 b, int32_t s)
{
    __m256i by = _mm256_set1_epi32(s);
    return (n16) { _mm256_sub_epi32(a.a, _mm256_mullo_epi32(b.a, by)),
                   _mm256_sub_epi32(a.b, _mm256_mullo_epi32(b.b, by)) };
}
