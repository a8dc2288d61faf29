/* SPDX-License-Identifier: MIT */
/* Bytes of four lines laid side by side, in registers that AVX2 and AVX-512 have. */
#include <immintrin.h>
#include <stdint.h>
#include "kernels/unroll.h"

/* Places 0 to 7 and 8 to 15, of each one byte a line. */
struct woven {
    __m256i low, high;
};

/* 16 bytes of each line; flip: 0, or 0x80 where u8 become s8. */
static inline __attribute__((always_inline)) struct woven lines_woven(const uint8_t *const *line,
                                                                      uint8_t flip)
{
    const __m128i by = _mm_set1_epi8((char) flip);
    __m128i a[4];
    V16_UNROLL for (int i = 0; i < 4; i++)
    {
        const void *from = line[i];
        a[i] = _mm_xor_si128(_mm_loadu_si128(from), by);
    }
    const __m128i ab = _mm_unpacklo_epi8(a[0], a[1]), AB = _mm_unpackhi_epi8(a[0], a[1]),
                  cd = _mm_unpacklo_epi8(a[2], a[3]), CD = _mm_unpackhi_epi8(a[2], a[3]);
    struct woven ret;
    ret.low = _mm256_set_m128i(_mm_unpackhi_epi16(ab, cd), _mm_unpacklo_epi16(ab, cd));
    ret.high = _mm256_set_m128i(_mm_unpackhi_epi16(AB, CD), _mm_unpacklo_epi16(AB, CD));
    return ret;
}
