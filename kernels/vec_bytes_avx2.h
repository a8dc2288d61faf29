/* SPDX-License-Identifier: MIT */
/* Sums of bytes (struct kern_cell_sums) with AVX2, by i16_add_pairs. As they lie a pair of columns is, in 16
 * bits, the one of 0 .. 7 and 256 times the one of 8 .. 15, which is taken off the sums, modulo 2^32. */
#define BYTES_PANELS 1
typedef w2 w8;
typedef i16 b16;
V16_INLINE b16 b16_zero(void) { return (b16) { _mm256_setzero_si256(), _mm256_setzero_si256() }; }
V16_INLINE w8 w8_load(const int8_t *p, const int whole)
{
    const __m256i both = _mm256_loadu_si256((const __m256i *) (const void *) p);
    (void) whole;
    return (w8) { both, _mm256_srai_epi16(both, 8) };
}
V16_INLINE b16 b16_add_pairs(b16 a, w8 w, const int16_t *x, const int whole)
{
    (void) whole;
    return i16_add_pairs(a, w, x);
}
V16_INLINE void b16_store(int32_t *p, int apart, b16 a, const int whole)
{
    (void) apart, (void) whole;
    i16_store(p, (i16) { _mm256_sub_epi32(a.lo, _mm256_slli_epi32(a.hi, 8)), a.hi });
}
