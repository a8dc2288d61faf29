/* SPDX-License-Identifier: MIT */
/* Sums of bytes (struct kern_cell_sums) with AVX-512, by i16_add_pairs. As they lie a pair of columns is, in
 * 16 bits, the one of 0 .. 7 and 256 times the one of 8 .. 15, which is taken off the sums, modulo 2^32.
 * lo and hi are those of two panels; of one alone, lo has both halves. */
#define BYTES_PANELS 2
typedef struct { __m512i lo, hi; } w8;
typedef w8 b16;
V16_INLINE b16 b16_zero(void) { return (b16) { _mm512_setzero_si512(), _mm512_setzero_si512() }; }
V16_INLINE w8 w8_load(const int8_t *p, const int whole)
{
    if (whole) {
        const __m512i both = _mm512_loadu_si512(p);
        return (w8) { both, _mm512_srai_epi16(both, 8) };
    }
    const __m512i by = _mm512_inserti64x4(_mm512_setzero_si512(), _mm256_set1_epi16(8), 1),
                  both = _mm512_broadcast_i64x4(_mm256_loadu_si256((const __m256i *) (const void *) p));
    return (w8) { _mm512_srav_epi16(both, by), by };
}
V16_INLINE b16 b16_add_pairs(b16 a, w8 w, const int16_t *x, const int whole)
{
    a.lo = i16_add_pairs(a.lo, w.lo, x);
    if (whole)
        a.hi = i16_add_pairs(a.hi, w.hi, x);
    __asm__ volatile("" : "+v"(a.lo), "+v"(a.hi)); /* one after the other: else registers are too few */
    return a;
}
V16_INLINE void b16_store(int32_t *p, int apart, b16 a, const int whole)
{
    if (whole) {
        const __m512i lo = _mm512_sub_epi32(a.lo, _mm512_slli_epi32(a.hi, 8));
        i16_store(p, _mm512_shuffle_i64x2(lo, a.hi, 0x44));
        i16_store(p + apart, _mm512_shuffle_i64x2(lo, a.hi, 0xee));
    } else {
        const __m512i more = _mm512_slli_epi32(_mm512_shuffle_i64x2(a.lo, a.lo, 0x4e), 8);
        i16_store(p, _mm512_mask_sub_epi32(a.lo, 0xff, a.lo, more));
    }
}
