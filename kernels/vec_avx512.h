/* SPDX-License-Identifier: MIT */
/* v16: sixteen floats in one AVX-512 register. */
#include <immintrin.h>
#include <stdint.h>
#include <string.h>
#include "kernels/bytes.h"
#include "kernels/unroll.h"
#include "kernels/vec_woven.h"

/* Not left to the compiler, which calls them when a file grows: their structs would pass through
 * memory. */
#define V16_INLINE   static inline __attribute__((always_inline))
#define V16_UNROLLED V16_INLINE

typedef __m512 v16;
typedef __m512i i16;
typedef __mmask16 m16;

V16_INLINE __mmask16 first_n(size_t n) { return (__mmask16) ((1u << n) - 1); }
V16_INLINE v16 v16_set1(float a) { return _mm512_set1_ps(a); }
V16_INLINE v16 v16_load(const float *p) { return _mm512_loadu_ps(p); }
V16_INLINE void v16_store(float *p, v16 a) { _mm512_storeu_ps(p, a); }
V16_INLINE v16 v16_load_n(const float *p, size_t n) { return _mm512_maskz_loadu_ps(first_n(n), p); }
V16_INLINE void v16_store_n(float *p, v16 a, size_t n) { _mm512_mask_storeu_ps(p, first_n(n), a); }
V16_INLINE v16 v16_add(v16 a, v16 b) { return _mm512_add_ps(a, b); }
V16_INLINE v16 v16_sub(v16 a, v16 b) { return _mm512_sub_ps(a, b); }
V16_INLINE v16 v16_mul(v16 a, v16 b) { return _mm512_mul_ps(a, b); }
V16_INLINE v16 v16_div(v16 a, v16 b) { return _mm512_div_ps(a, b); }
V16_INLINE v16 v16_fma(v16 a, v16 b, v16 c) { return _mm512_fmadd_ps(a, b, c); }
V16_INLINE v16 v16_sqrt(v16 a) { return _mm512_sqrt_ps(a); }
V16_INLINE v16 v16_min(v16 a, v16 b) { return _mm512_min_ps(a, b); }
V16_INLINE v16 v16_max(v16 a, v16 b) { return _mm512_max_ps(a, b); }
V16_INLINE m16 v16_lt(v16 a, v16 b) { return _mm512_cmp_ps_mask(a, b, _CMP_LT_OQ); }
V16_INLINE m16 v16_nan(v16 a) { return _mm512_cmp_ps_mask(a, a, _CMP_UNORD_Q); }
/* Eight lanes here and eight there. */
#define V16_EIGHTS
V16_INLINE v16 v16_load_eights(const float *p, const float *q)
{
    return _mm512_insertf32x8(_mm512_castps256_ps512(_mm256_loadu_ps(p)), _mm256_loadu_ps(q), 1);
}
V16_INLINE void v16_store_eights(float *p, float *q, v16 a)
{
    _mm256_storeu_ps(p, _mm512_castps512_ps256(a));
    _mm256_storeu_ps(q, _mm512_extractf32x8_ps(a, 1));
}
/* The first n lanes. */
#define V16_FIRST
V16_INLINE m16 v16_first(size_t n) { return (m16) ((1u << n) - 1); }
/* a where b is not more, b where it is or is NaN. */
V16_INLINE v16 v16_most(v16 a, v16 b)
{
    return _mm512_mask_max_ps(b, _mm512_cmp_ps_mask(b, b, _CMP_ORD_Q), b, a);
}
V16_INLINE v16 v16_pick(m16 m, v16 yes, v16 no) { return _mm512_mask_blend_ps(m, no, yes); }
V16_INLINE i16 v16_bits(v16 a) { return _mm512_castps_si512(a); }
V16_INLINE v16 v16_of_bits(i16 a) { return _mm512_castsi512_ps(a); }
V16_INLINE i16 v16_round(v16 a) { return _mm512_cvtps_epi32(a); }
/* The nearest whole number, halves to even; -0 where a is a little less. */
#define V16_WHOLE
V16_INLINE v16 v16_whole(v16 a)
{
    return _mm512_roundscale_ps(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}
V16_INLINE i16 v16_round_away(v16 a)
{
    const __m512 sign = _mm512_and_ps(a, _mm512_set1_ps(-0.0f));
    return _mm512_cvttps_epi32(_mm512_add_ps(a, _mm512_or_ps(sign, _mm512_set1_ps(0x1.fffffep-2f))));
}
V16_INLINE v16 v16_of_int(i16 a) { return _mm512_cvtepi32_ps(a); }
V16_INLINE i16 i16_set1(int32_t a) { return _mm512_set1_epi32(a); }
V16_INLINE i16 i16_add(i16 a, i16 b) { return _mm512_add_epi32(a, b); }
V16_INLINE i16 i16_sub(i16 a, i16 b) { return _mm512_sub_epi32(a, b); }
V16_INLINE i16 i16_mul(i16 a, i16 b) { return _mm512_mullo_epi32(a, b); }
V16_INLINE i16 i16_and(i16 a, i16 b) { return _mm512_and_si512(a, b); }
V16_INLINE i16 i16_or(i16 a, i16 b) { return _mm512_or_si512(a, b); }
V16_INLINE i16 i16_shl23(i16 a) { return _mm512_slli_epi32(a, 23); }
V16_INLINE i16 i16_shl16(i16 a) { return _mm512_slli_epi32(a, 16); }
V16_INLINE i16 i16_shr23(i16 a) { return _mm512_srai_epi32(a, 23); }
/* The nearest number of f16, as a float. */
#define V16_ROUNDS_F16
V16_INLINE v16 v16_round_f16(v16 a)
{
    return _mm512_cvtph_ps(_mm512_cvtps_ph(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
}
V16_INLINE v16 v16_load_f16(const uint16_t *p)
{
    return _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *) (const void *) p));
}
V16_INLINE i16 i16_shr4(i16 a) { return _mm512_srli_epi32(a, 4); }
/* Low bytes of the lanes, and bytes as lanes. */
V16_INLINE void i16_store_bytes(uint8_t *p, i16 a)
{
    _mm_storeu_si128((__m128i *) (void *) p, _mm512_cvtepi32_epi8(a));
}
V16_INLINE i16 i16_load_u8(const uint8_t *p)
{
    return _mm512_cvtepu8_epi32(_mm_loadu_si128((const __m128i *) (const void *) p));
}
V16_INLINE i16 i16_load_s8(const uint8_t *p)
{
    return _mm512_cvtepi8_epi32(_mm_loadu_si128((const __m128i *) (const void *) p));
}
V16_INLINE i16 i16_load(const int32_t *p) { return _mm512_loadu_si512(p); }
V16_INLINE i16 i16_load_s16(const int16_t *p)
{
    return _mm512_cvtepi16_epi32(_mm256_loadu_si256((const __m256i *) (const void *) p));
}
V16_INLINE void i16_store(int32_t *p, i16 a) { _mm512_storeu_si512(p, a); }
V16_INLINE void i16_store_s16(int16_t *p, i16 a)
{
    _mm256_storeu_si256((__m256i *) (void *) p, _mm512_cvtepi32_epi16(a));
}
/* Two weights for each lane, and what their products with two numbers add. */
typedef __m512i w2;
V16_INLINE w2 w2_load_s16(const int16_t *p) { return _mm512_loadu_si512(p); }
V16_INLINE i16 i16_add_pairs(i16 a, w2 w, const int16_t *x)
{
    int32_t both;
    memcpy(&both, x, sizeof both);
    return _mm512_add_epi32(a, _mm512_madd_epi16(w, _mm512_set1_epi32(both)));
}
#include "kernels/vec_bytes_avx512.h"
/* Of 16 channels: sums of two places' bytes, after `flip`, by weights in pairs. */
V16_INLINE i16 pair_add(i16 sum, const uint8_t *a, const uint8_t *b, const int16_t *w, uint8_t flip)
{
    const __m512i x = _mm512_cvtepu8_epi32(_mm_loadu_si128((const __m128i *) (const void *) a)),
                  y = _mm512_cvtepu8_epi32(_mm_loadu_si128((const __m128i *) (const void *) b)),
                  both = _mm512_or_si512(x, _mm512_slli_epi32(y, 16));
    return _mm512_add_epi32(sum, _mm512_madd_epi16(_mm512_xor_si512(both, _mm512_set1_epi16(flip)),
                                                   _mm512_loadu_si512(w)));
}

/* Four taps of 16 places (struct kern_taps): a lane holds the bytes that taps of 4 places read, and
 * each pair of taps is two numbers of 16 bits. */
#define TAPS_VECS 4
typedef struct { __m512i lanes, low, high, flip; } t4;
V16_INLINE __m512i taps_pair(size_t step, size_t first)
{
    int8_t at[16];
    for (size_t i = 0; i < 16; i++)
        at[i] = i % 2 ? (int8_t) -128 : (int8_t) (i / 4 + (first + i / 2 % 2) * step);
    return _mm512_broadcast_i32x4(_mm_loadu_si128((const __m128i *) (const void *) at));
}
V16_INLINE t4 taps_pattern(size_t step, uint8_t flip)
{
    return (t4) { _mm512_set_epi32(6, 5, 4, 3, 5, 4, 3, 2, 4, 3, 2, 1, 3, 2, 1, 0), taps_pair(step, 0),
                  taps_pair(step, 2), _mm512_set1_epi8((char) flip) };
}
V16_INLINE i16 taps_add(i16 a, const uint8_t *x, const int16_t *w, t4 p)
{
    int32_t pair[2];
    memcpy(pair, w, sizeof pair);
    __m512i v = _mm512_castsi256_si512(_mm256_loadu_si256((const __m256i *) (const void *) x));
    v = _mm512_xor_si512(_mm512_permutexvar_epi32(p.lanes, v), p.flip);
    a = _mm512_add_epi32(a, _mm512_madd_epi16(_mm512_shuffle_epi8(v, p.low), _mm512_set1_epi32(pair[0])));
    return _mm512_add_epi32(a, _mm512_madd_epi16(_mm512_shuffle_epi8(v, p.high), _mm512_set1_epi32(pair[1])));
}

/* Of 64 bytes what a table of 256 has for them: all 16 rows are looked up, four bits of the index choose. */
#define MAP_64
typedef struct { __m512i row[16]; } map_table;
V16_INLINE map_table map_table_load(const uint8_t *table)
{
    const __m128i *from = (const __m128i *) (const void *) table;
    map_table m;
    V16_UNROLL for (int i = 0; i < 16; i++)
        m.row[i] = _mm512_broadcast_i32x4(_mm_loadu_si128(from + i));
    return m;
}
V16_INLINE void map_64(uint8_t *y, const uint8_t *x, const map_table *m)
{
    const __m512i v = _mm512_loadu_si512(x), low = _mm512_and_si512(v, _mm512_set1_epi8(15));
    __m512i a[8];
    V16_UNROLL for (int i = 0; i < 8; i++)
        a[i] = _mm512_mask_shuffle_epi8(_mm512_shuffle_epi8(m->row[2 * i], low),
                                        _mm512_test_epi8_mask(v, _mm512_set1_epi8(16)), m->row[2 * i + 1], low);
    V16_UNROLL for (int i = 0; i < 4; i++)
        a[i] = _mm512_mask_mov_epi8(a[2 * i], _mm512_test_epi8_mask(v, _mm512_set1_epi8(32)), a[2 * i + 1]);
    V16_UNROLL for (int i = 0; i < 2; i++)
        a[i] = _mm512_mask_mov_epi8(a[2 * i], _mm512_test_epi8_mask(v, _mm512_set1_epi8(64)), a[2 * i + 1]);
    _mm512_storeu_si512(y, _mm512_mask_mov_epi8(a[0], _mm512_movepi8_mask(v), a[1]));
}

/* The same of two lines, 32 numbers of 16 bits at a time. */
#define MAP_LINE 64 /* bytes at a time */
typedef struct { __m512i flip_x, flip_y, at, to, low, high; __m128i shift; } line_16;
V16_INLINE line_16 line_16_load(const struct kern_map_line *l)
{
    return (line_16) { _mm512_set1_epi8((char) l->flip_x), _mm512_set1_epi8((char) l->flip_y),
                       _mm512_set1_epi16(l->at), _mm512_set1_epi16(l->to), _mm512_set1_epi16(l->slope[0]),
                       _mm512_set1_epi16(l->slope[1]), _mm_cvtsi32_si128((int) l->shift) };
}
V16_INLINE __m512i line_16_at(const line_16 *l, __m512i x)
{
    const __m512i t = _mm512_sll_epi16(_mm512_sub_epi16(x, l->at), l->shift);
    return _mm512_add_epi16(_mm512_max_epi16(_mm512_mulhrs_epi16(t, l->low), _mm512_mulhrs_epi16(t, l->high)), l->to);
}
V16_INLINE void map_line(uint8_t *y, const uint8_t *x, const line_16 *l)
{
    const __m512i zero = _mm512_setzero_si512(), v = _mm512_xor_si512(_mm512_loadu_si512(x), l->flip_x),
                  low = line_16_at(l, _mm512_unpacklo_epi8(v, zero)), high = line_16_at(l, _mm512_unpackhi_epi8(v, zero));
    _mm512_storeu_si512(y, _mm512_xor_si512(_mm512_packus_epi16(low, high), l->flip_y));
}

/* Bytes of four lines, place by place, as s8 after `flip`; sums grow by those of each place. */
V16_INLINE i16 lines_weave(int8_t *to, const uint8_t *const *line, uint8_t flip, i16 sums)
{
    const struct woven w = lines_woven(line, flip);
    const __m512i all = _mm512_inserti64x4(_mm512_castsi256_si512(w.low), w.high, 1),
                  pairs = _mm512_maddubs_epi16(_mm512_set1_epi8(1), all);
    _mm512_storeu_si512(to, all);
    return _mm512_add_epi32(sums, _mm512_madd_epi16(pairs, _mm512_set1_epi16(1)));
}

/* A tile of a product: panels of 16 outputs that fit in registers beside so many rows (0: none),
 * their product at most GEMM_ACC; rows of a tile when there are many, and when there are few
 * panels. */
#define GEMM_FIT(rows) ((rows) <= 4 ? 6 : (rows) <= 7 ? 4 : 3)
#define GEMM_ACC 28
#define GEMM_ROWS 6
#define GEMM_ROWS_FEW 8
#define GEMM_AHEAD 24 /* rows from which on the next panels are fetched, into the second cache, */
#define GEMM_AHEAD_MOST 128 /* and beyond which that is nothing beside their sums */
#define GEMM_FETCH(p) __builtin_prefetch(p, 0, 2)

/* Eight lanes, for a last panel of up to 8 outputs; worth a tile of its own with so many rows. */
#define GEMM_HALF(m, n) ((m) >= 8 && (n) % 16 - 1 < 8)
typedef __m256 v8;
V16_INLINE v8 v8_set1(float a) { return _mm256_set1_ps(a); }
V16_INLINE v8 v8_load(const float *p) { return _mm256_loadu_ps(p); }
V16_INLINE v8 v8_fma(v8 a, v8 b, v8 c) { return _mm256_fmadd_ps(a, b, c); }
V16_INLINE v8 v8_load_n(const float *p, size_t n)
{
    return _mm256_maskz_loadu_ps((__mmask8) first_n(n), p);
}
#define V8_MASKS
V16_INLINE v8 v8_load_mask(const float *p, uint32_t mask)
{
    return _mm256_maskz_loadu_ps((__mmask8) mask, p);
}
V16_INLINE void v8_store_n(float *p, v8 a, size_t n)
{
    _mm256_mask_storeu_ps(p, (__mmask8) first_n(n), a);
}

/* Sums of recurrent cells that are under way in registers. */
#define CELL_ACC 24
#define SIGNED8_MOST(a, b) (__typeof__(a)) _mm256_max_epi32((__m256i) (a), (__m256i) (b))
#define CELL_PIPELINED 1     /* gates of a tile are finished while the next one waits for weights */
#define V16_NOW(a) __asm__ volatile("" : "+v"(a)) /* a is computed where this stands, not later */

/* A tile of a convolution: outputs, and vectors of places. */
#define CONV_OUTS 8
#define CONV_VECS 3

/* Lanes whose bit is not set are zero, and not read. */
V16_INLINE v16 v16_load_mask(const float *p, uint32_t mask)
{
    return _mm512_maskz_loadu_ps((__mmask16) mask, p);
}
/* p[0], p[2], .. p[30]; bits count places of p */
V16_INLINE v16 v16_load_even(const float *p, uint32_t mask)
{
    const __m512i even =
        _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
    return _mm512_permutex2var_ps(_mm512_maskz_loadu_ps((__mmask16) mask, p), even,
                                  _mm512_maskz_loadu_ps((__mmask16) (mask >> 16), p + 16));
}

/* Lanes 0, 2, .. 14 of a, then of b; lanes 1, 3, .. 15. */
V16_INLINE void v16_unzip(v16 a, v16 b, v16 *ret_even, v16 *ret_odd)
{
    const __m512i even = _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
    const __m512i odd = _mm512_setr_epi32(1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31);
    *ret_even = _mm512_permutex2var_ps(a, even, b);
    *ret_odd = _mm512_permutex2var_ps(a, odd, b);
}
/* a * b + c where the bit of a lane is set, else c. */
V16_INLINE v16 v16_fma_some(v16 a, v16 b, v16 c, uint32_t mask)
{
    return _mm512_mask3_fmadd_ps(a, b, c, (__mmask16) mask);
}

#define V16_PARTS
/* Lanes from .. from+n-1 of a come from p. */
V16_INLINE v16 v16_load_part(v16 a, const float *p, size_t from, size_t n)
{
    return _mm512_mask_loadu_ps(a, (__mmask16) (first_n(n) << from),
                                (const float *) ((uintptr_t) p - from * 4));
}
V16_INLINE void v16_store_part(float *p, v16 a, size_t from, size_t n)
{
    _mm512_mask_storeu_ps((float *) ((uintptr_t) p - from * 4), (__mmask16) (first_n(n) << from),
                          a);
}
/* Each width lanes hold p[0][at], p[1][at], .. */
V16_INLINE v16 v16_join(const float *const *p, size_t at, int width)
{
    v16 a = _mm512_set1_ps(p[0][at]);
    if (width == 8)
        return _mm512_mask_broadcastss_ps(a, 0xff00, _mm_load_ss(p[1] + at));
    if (width == 4) {
        a = _mm512_mask_broadcastss_ps(a, 0x00f0, _mm_load_ss(p[1] + at));
        a = _mm512_mask_broadcastss_ps(a, 0x0f00, _mm_load_ss(p[2] + at));
        a = _mm512_mask_broadcastss_ps(a, 0xf000, _mm_load_ss(p[3] + at));
    }
    return a;
}
/* Every lane of a group of `width` holds the group's k-th. */
V16_INLINE v16 v16_spread(v16 a, size_t k, int width)
{
    const __m512i lane = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    __m512i group = _mm512_and_si512(lane, _mm512_set1_epi32(-width));
    return _mm512_permutexvar_ps(_mm512_add_epi32(group, _mm512_set1_epi32((int) k)), a);
}

/* n registers, four after four: in each quarter of a register r[i][k] becomes r[k][i]. */
V16_INLINE __attribute__((always_inline)) void quads_transpose(v16 *r, const int n)
{
    v16 t[16];
    V16_UNROLL for (int i = 0; i < n; i += 2) {
        t[i] = _mm512_unpacklo_ps(r[i], r[i + 1]);
        t[i + 1] = _mm512_unpackhi_ps(r[i], r[i + 1]);
    }
    V16_UNROLL for (int i = 0; i < n; i += 4)
        V16_UNROLL for (int k = 0; k < 2; k++) {
        r[i + 2 * k] = _mm512_castpd_ps(
            _mm512_unpacklo_pd(_mm512_castps_pd(t[i + k]), _mm512_castps_pd(t[i + k + 2])));
        r[i + 2 * k + 1] = _mm512_castpd_ps(
            _mm512_unpackhi_pd(_mm512_castps_pd(t[i + k]), _mm512_castps_pd(t[i + k + 2])));
        }
}

/* r[i][k] becomes r[k][i], 16 by 16. */
#define V16_TRANSPOSES
V16_INLINE __attribute__((always_inline)) void v16_transpose(v16 *r)
{
    v16 t[16];
    quads_transpose(r, 16);
    V16_UNROLL for (int k = 0; k < 4; k++) {
        v16 a = _mm512_shuffle_f32x4(r[k], r[4 + k], 0x44),
            b = _mm512_shuffle_f32x4(r[8 + k], r[12 + k], 0x44);
        v16 c = _mm512_shuffle_f32x4(r[k], r[4 + k], 0xee),
            d = _mm512_shuffle_f32x4(r[8 + k], r[12 + k], 0xee);
        t[k] = _mm512_shuffle_f32x4(a, b, 0x88);
        t[4 + k] = _mm512_shuffle_f32x4(a, b, 0xdd);
        t[8 + k] = _mm512_shuffle_f32x4(c, d, 0x88);
        t[12 + k] = _mm512_shuffle_f32x4(c, d, 0xdd);
    }
    V16_UNROLL for (int i = 0; i < 16; i++)
        r[i] = t[i];
}

/* ret[k][i] = r[i][k], 16 rows of 8. */
V16_INLINE __attribute__((always_inline)) void v8_transpose(v16 *ret, const v8 *r)
{
    const __m512i low = _mm512_setr_epi32(0, 1, 2, 3, 16, 17, 18, 19, 8, 9, 10, 11, 24, 25, 26, 27);
    const __m512i high =
        _mm512_setr_epi32(4, 5, 6, 7, 20, 21, 22, 23, 12, 13, 14, 15, 28, 29, 30, 31);
    v16 p[8];
    V16_UNROLL for (int i = 0; i < 8; i++)
        p[i] = _mm512_insertf32x8(_mm512_castps256_ps512(r[i]), r[i + 8], 1);
    quads_transpose(p, 8);
    V16_UNROLL for (int k = 0; k < 4; k++) {
        ret[k] = _mm512_permutex2var_ps(p[k], low, p[4 + k]);
        ret[4 + k] = _mm512_permutex2var_ps(p[k], high, p[4 + k]);
    }
}

/* p[2 * i] = a[i], p[2 * i + 1] = b[i] */
V16_INLINE void v16_weave(float *p, v16 a, v16 b)
{
    const __m512i low = _mm512_setr_epi32(0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
    const __m512i high =
        _mm512_setr_epi32(8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31);
    _mm512_storeu_ps(p, _mm512_permutex2var_ps(a, low, b));
    _mm512_storeu_ps(p + 16, _mm512_permutex2var_ps(a, high, b));
}

/* Lanes 1 .. of a, then lane 0 of next; lane 15 of last, then lanes 0 .. of a. */
#define V16_SHIFTS
V16_INLINE v16 v16_down(v16 a, v16 next)
{
    return _mm512_castsi512_ps(
        _mm512_alignr_epi32(_mm512_castps_si512(next), _mm512_castps_si512(a), 1));
}
V16_INLINE v16 v16_up(v16 a, v16 last)
{
    return _mm512_castsi512_ps(
        _mm512_alignr_epi32(_mm512_castps_si512(a), _mm512_castps_si512(last), 15));
}
