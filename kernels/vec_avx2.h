/* SPDX-License-Identifier: MIT */
/* v16: sixteen floats in two AVX2 registers. */
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

typedef struct { __m256 lo, hi; } v16;
typedef struct { __m256i lo, hi; } i16;
typedef v16 m16;


V16_INLINE v16 v16_set1(float a) { __m256 r = _mm256_set1_ps(a); return (v16) { r, r }; }
V16_INLINE v16 v16_load(const float *p)
{
    return (v16) { _mm256_loadu_ps(p), _mm256_loadu_ps(p + 8) };
}
V16_INLINE void v16_store(float *p, v16 a)
{
    _mm256_storeu_ps(p, a.lo);
    _mm256_storeu_ps(p + 8, a.hi);
}
/* n <= 8 */
V16_INLINE __m256 v8_load_n(const float *p, size_t n)
{
    static const int32_t lanes[16] = { -1, -1, -1, -1, -1, -1, -1, -1, 0, 0, 0, 0, 0, 0, 0, 0 };
    return _mm256_maskload_ps(p,
                              _mm256_loadu_si256((const __m256i *) (const void *) (lanes + 8 - n)));
}
V16_INLINE void v8_store_n(float *p, __m256 a, size_t n)
{
    __m128 x = _mm256_castps256_ps128(a);
    if (n == 8)
        _mm256_storeu_ps(p, a);
    if (n & 4) {
        _mm_storeu_ps(p, x);
        x = _mm256_extractf128_ps(a, 1);
    }
    if (n & 2) {
        _mm_storel_epi64((__m128i *) (void *) (p + (n & 4)), _mm_castps_si128(x));
        x = _mm_movehl_ps(x, x);
    }
    if (n & 1)
        _mm_store_ss(p + (n & 6), x);
}
V16_INLINE v16 v16_load_n(const float *p, size_t n)
{
    return n > 8 ? (v16) { _mm256_loadu_ps(p), v8_load_n(p + 8, n - 8) }
                 : (v16) { v8_load_n(p, n), _mm256_setzero_ps() };
}
V16_INLINE void v16_store_n(float *p, v16 a, size_t n)
{
    if (n > 8) {
        _mm256_storeu_ps(p, a.lo);
        v8_store_n(p + 8, a.hi, n - 8);
    } else {
        v8_store_n(p, a.lo, n);
    }
}
#define BINARY(name, op) \
    V16_INLINE v16 name(v16 a, v16 b) { return (v16) { op(a.lo, b.lo), op(a.hi, b.hi) }; }
BINARY(v16_add, _mm256_add_ps)
BINARY(v16_sub, _mm256_sub_ps)
BINARY(v16_mul, _mm256_mul_ps)
BINARY(v16_div, _mm256_div_ps)
BINARY(v16_min, _mm256_min_ps)
BINARY(v16_max, _mm256_max_ps)
#undef BINARY
V16_INLINE v16 v16_fma(v16 a, v16 b, v16 c)
{
    return (v16) { _mm256_fmadd_ps(a.lo, b.lo, c.lo), _mm256_fmadd_ps(a.hi, b.hi, c.hi) };
}
V16_INLINE v16 v16_sqrt(v16 a) { return (v16) { _mm256_sqrt_ps(a.lo), _mm256_sqrt_ps(a.hi) }; }
V16_INLINE m16 v16_lt(v16 a, v16 b)
{
    return (v16) { _mm256_cmp_ps(a.lo, b.lo, _CMP_LT_OQ), _mm256_cmp_ps(a.hi, b.hi, _CMP_LT_OQ) };
}
V16_INLINE m16 v16_nan(v16 a)
{
    return (v16) { _mm256_cmp_ps(a.lo, a.lo, _CMP_UNORD_Q),
                   _mm256_cmp_ps(a.hi, a.hi, _CMP_UNORD_Q) };
}
V16_INLINE v16 v16_pick(m16 m, v16 yes, v16 no)
{
    return (v16) { _mm256_blendv_ps(no.lo, yes.lo, m.lo), _mm256_blendv_ps(no.hi, yes.hi, m.hi) };
}
/* a where b is not more, b where it is or is NaN. */
/* Eight lanes here and eight there. */
#define V16_EIGHTS
V16_INLINE v16 v16_load_eights(const float *p, const float *q)
{
    return (v16) { _mm256_loadu_ps(p), _mm256_loadu_ps(q) };
}
V16_INLINE void v16_store_eights(float *p, float *q, v16 a)
{
    _mm256_storeu_ps(p, a.lo);
    _mm256_storeu_ps(q, a.hi);
}
/* The first n lanes. */
#define V16_FIRST
V16_INLINE m16 v16_first(size_t n)
{
    static const int32_t lanes[32] = { -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1,
                                       -1, -1, -1, -1, -1, 0 };
    const float *p = (const float *) (const void *) (lanes + 16 - n);
    return (m16) { _mm256_loadu_ps(p), _mm256_loadu_ps(p + 8) };
}
V16_INLINE v16 v16_most(v16 a, v16 b) { return v16_pick(v16_nan(b), b, v16_max(b, a)); }
V16_INLINE i16 v16_bits(v16 a)
{
    return (i16) { _mm256_castps_si256(a.lo), _mm256_castps_si256(a.hi) };
}
V16_INLINE v16 v16_of_bits(i16 a)
{
    return (v16) { _mm256_castsi256_ps(a.lo), _mm256_castsi256_ps(a.hi) };
}
V16_INLINE i16 v16_round(v16 a)
{
    return (i16) { _mm256_cvtps_epi32(a.lo), _mm256_cvtps_epi32(a.hi) };
}
/* The nearest whole number, halves to even; -0 where a is a little less. */
#define V16_WHOLE
V16_INLINE v16 v16_whole(v16 a)
{
    return (v16) { _mm256_round_ps(a.lo, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC),
                   _mm256_round_ps(a.hi, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC) };
}
V16_INLINE __m256i eight_round_away(__m256 a)
{
    const __m256 sign = _mm256_and_ps(a, _mm256_set1_ps(-0.0f));
    return _mm256_cvttps_epi32(_mm256_add_ps(a, _mm256_or_ps(sign, _mm256_set1_ps(0x1.fffffep-2f))));
}
V16_INLINE i16 v16_round_away(v16 a) { return (i16) { eight_round_away(a.lo), eight_round_away(a.hi) }; }
V16_INLINE v16 v16_of_int(i16 a)
{
    return (v16) { _mm256_cvtepi32_ps(a.lo), _mm256_cvtepi32_ps(a.hi) };
}
V16_INLINE i16 i16_set1(int32_t a) { __m256i r = _mm256_set1_epi32(a); return (i16) { r, r }; }
#define BINARY(name, op) \
    V16_INLINE i16 name(i16 a, i16 b) { return (i16) { op(a.lo, b.lo), op(a.hi, b.hi) }; }
BINARY(i16_add, _mm256_add_epi32)
BINARY(i16_sub, _mm256_sub_epi32)
BINARY(i16_mul, _mm256_mullo_epi32)
BINARY(i16_and, _mm256_and_si256)
BINARY(i16_or, _mm256_or_si256)
#undef BINARY
V16_INLINE i16 i16_shl23(i16 a)
{
    return (i16) { _mm256_slli_epi32(a.lo, 23), _mm256_slli_epi32(a.hi, 23) };
}
V16_INLINE i16 i16_shl16(i16 a)
{
    return (i16) { _mm256_slli_epi32(a.lo, 16), _mm256_slli_epi32(a.hi, 16) };
}
V16_INLINE i16 i16_shr23(i16 a)
{
    return (i16) { _mm256_srai_epi32(a.lo, 23), _mm256_srai_epi32(a.hi, 23) };
}
#ifdef __F16C__
/* The nearest number of f16, as a float. */
#define V16_ROUNDS_F16
V16_INLINE v16 v16_round_f16(v16 a)
{
    return (v16) { _mm256_cvtph_ps(_mm256_cvtps_ph(a.lo, _MM_FROUND_TO_NEAREST_INT)),
                   _mm256_cvtph_ps(_mm256_cvtps_ph(a.hi, _MM_FROUND_TO_NEAREST_INT)) };
}
V16_INLINE v16 v16_load_f16(const uint16_t *p)
{
    const __m128i *at = (const __m128i *) (const void *) p;
    return (v16) { _mm256_cvtph_ps(_mm_loadu_si128(at)), _mm256_cvtph_ps(_mm_loadu_si128(at + 1)) };
}
#endif
V16_INLINE i16 i16_shr4(i16 a)
{
    return (i16) { _mm256_srli_epi32(a.lo, 4), _mm256_srli_epi32(a.hi, 4) };
}

/* A tile of a product: panels of 16 outputs that fit in registers beside so many rows (0: none),
 * their product at most GEMM_ACC; rows of a tile when there are many, and when there are few
 * panels. */
#define GEMM_FIT(rows) ((rows) == 1 ? 6 : (rows) == 2 ? 3 : (rows) <= 6 ? 1 : 0)
#define GEMM_ACC 6
#define GEMM_ROWS 6
#define GEMM_ROWS_FEW 6
#define GEMM_AHEAD 12 /* rows from which on the next panel is fetched, into the first cache */
#define GEMM_AHEAD_MOST SIZE_MAX
#define GEMM_FETCH(p) __builtin_prefetch(p, 0, 3)

/* Low bytes of the lanes, and bytes as lanes. */
V16_INLINE void i16_store_bytes(uint8_t *p, i16 a)
{
    const __m256i low = _mm256_set1_epi32(0xff);
    __m256i words = _mm256_packus_epi32(_mm256_and_si256(a.lo, low), _mm256_and_si256(a.hi, low));
    words = _mm256_permute4x64_epi64(words, 0xd8);
    _mm_storeu_si128((__m128i *) (void *) p,
                     _mm_packus_epi16(_mm256_castsi256_si128(words), _mm256_extracti128_si256(words, 1)));
}
V16_INLINE i16 i16_load_u8(const uint8_t *p)
{
    const __m128i *at = (const __m128i *) (const void *) p, *next = (const __m128i *) (const void *) (p + 8);
    return (i16) { _mm256_cvtepu8_epi32(_mm_loadl_epi64(at)), _mm256_cvtepu8_epi32(_mm_loadl_epi64(next)) };
}
V16_INLINE i16 i16_load_s8(const uint8_t *p)
{
    const __m128i *at = (const __m128i *) (const void *) p, *next = (const __m128i *) (const void *) (p + 8);
    return (i16) { _mm256_cvtepi8_epi32(_mm_loadl_epi64(at)), _mm256_cvtepi8_epi32(_mm_loadl_epi64(next)) };
}
V16_INLINE i16 i16_load(const int32_t *p)
{
    return (i16) { _mm256_loadu_si256((const __m256i *) (const void *) p),
                   _mm256_loadu_si256((const __m256i *) (const void *) (p + 8)) };
}
V16_INLINE i16 i16_load_s16(const int16_t *p)
{
    __m256i a = _mm256_loadu_si256((const __m256i *) (const void *) p);
    return (i16) { _mm256_cvtepi16_epi32(_mm256_castsi256_si128(a)),
                   _mm256_cvtepi16_epi32(_mm256_extracti128_si256(a, 1)) };
}
V16_INLINE void i16_store_s16(int16_t *p, i16 a)
{
    const __m256i words = _mm256_packs_epi32(a.lo, a.hi);
    _mm256_storeu_si256((__m256i *) (void *) p, _mm256_permute4x64_epi64(words, 0xd8));
}
/* Two weights for each lane, and what their products with two numbers add. */
typedef struct { __m256i lo, hi; } w2;
V16_INLINE w2 w2_load_s16(const int16_t *p)
{
    const __m256i *at = (const __m256i *) (const void *) p;
    return (w2) { _mm256_loadu_si256(at), _mm256_loadu_si256(at + 1) };
}
V16_INLINE i16 i16_add_pairs(i16 a, w2 w, const int16_t *x)
{
    int32_t both;
    memcpy(&both, x, sizeof both);
    const __m256i by = _mm256_set1_epi32(both), lo = _mm256_madd_epi16(w.lo, by),
                  hi = _mm256_madd_epi16(w.hi, by);
    /* Additions where the sums are, one after the other: there are few registers, and compilers that choose
     * keep half the sums on the stack. */
    __asm__ volatile("vpaddd %1, %0, %0" : "+x"(a.lo) : "x"(lo));
    __asm__ volatile("vpaddd %1, %0, %0" : "+x"(a.hi) : "x"(hi));
    return a;
}
V16_INLINE void i16_store(int32_t *p, i16 a)
{
    _mm256_storeu_si256((__m256i *) (void *) p, a.lo);
    _mm256_storeu_si256((__m256i *) (void *) (p + 8), a.hi);
}
#include "kernels/vec_bytes_avx2.h"
/* Of 16 channels: sums of two places' bytes, after `flip`, by weights in pairs. */
V16_INLINE i16 pair_add(i16 sum, const uint8_t *a, const uint8_t *b, const int16_t *w, uint8_t flip)
{
    const __m128i by = _mm_set1_epi8((char) flip),
                  x = _mm_xor_si128(_mm_loadu_si128((const __m128i *) (const void *) a), by),
                  y = _mm_xor_si128(_mm_loadu_si128((const __m128i *) (const void *) b), by);
    const __m256i lo = _mm256_cvtepu8_epi16(_mm_unpacklo_epi8(x, y)),
                  hi = _mm256_cvtepu8_epi16(_mm_unpackhi_epi8(x, y)),
                  *by_w = (const __m256i *) (const void *) w;
    return (i16) { _mm256_add_epi32(sum.lo, _mm256_madd_epi16(lo, _mm256_loadu_si256(by_w))),
                   _mm256_add_epi32(sum.hi, _mm256_madd_epi16(hi, _mm256_loadu_si256(by_w + 1))) };
}

/* Four taps of 16 places (struct kern_taps): a register holds 8 places, a lane the bytes that taps of
 * 4 of them read, and each pair of taps is two numbers of 16 bits. */
#define TAPS_VECS 2
typedef struct { __m256i low, high, flip; } t4;
V16_INLINE __m256i taps_pair(size_t step, size_t first)
{
    int8_t at[16];
    for (size_t i = 0; i < 16; i++)
        at[i] = i % 2 ? (int8_t) -128 : (int8_t) (i / 4 + (first + i / 2 % 2) * step);
    return _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *) (const void *) at));
}
V16_INLINE t4 taps_pattern(size_t step, uint8_t flip)
{
    return (t4) { taps_pair(step, 0), taps_pair(step, 2), _mm256_set1_epi8((char) flip) };
}
V16_INLINE __m256i taps_8(__m256i a, const uint8_t *x, __m256i w01, __m256i w23, t4 p)
{
    const __m128i *from = (const __m128i *) (const void *) x, *next = (const __m128i *) (const void *) (x + 4);
    __m256i v = _mm256_inserti128_si256(_mm256_castsi128_si256(_mm_loadu_si128(from)), _mm_loadu_si128(next), 1);
    v = _mm256_xor_si256(v, p.flip);
    a = _mm256_add_epi32(a, _mm256_madd_epi16(_mm256_shuffle_epi8(v, p.low), w01));
    return _mm256_add_epi32(a, _mm256_madd_epi16(_mm256_shuffle_epi8(v, p.high), w23));
}
V16_INLINE i16 taps_add(i16 a, const uint8_t *x, const int16_t *w, t4 p)
{
    int32_t pair[2];
    memcpy(pair, w, sizeof pair);
    const __m256i w01 = _mm256_set1_epi32(pair[0]), w23 = _mm256_set1_epi32(pair[1]);
    return (i16) { taps_8(a.lo, x, w01, w23, p), taps_8(a.hi, x + 8, w01, w23, p) };
}

/* Of 64 bytes what a table of 256 has for them. A row of 16 stands as what it differs from the row before in its half:
 * a byte's row and all those before it in its half add up to it, the others see a negative index, which gives 0. */
#define MAP_64
typedef struct { __m128i row[16]; } map_table;
V16_INLINE map_table map_table_load(const uint8_t *table)
{
    const __m128i *from = (const __m128i *) (const void *) table;
    map_table m;
    for (int i = 0; i < 16; i++) {
        m.row[i] = _mm_loadu_si128(from + i);
        if (i % 8)
            m.row[i] = _mm_xor_si128(m.row[i], _mm_loadu_si128(from + i - 1));
    }
    return m;
}
V16_INLINE void map_64(uint8_t *y, const uint8_t *x, const map_table *m)
{
    const __m256i high = _mm256_set1_epi8(-128), row = _mm256_set1_epi8(16);
    __m256i at[4], sum[2] = { _mm256_setzero_si256(), _mm256_setzero_si256() };
    V16_UNROLL for (int v = 0; v < 2; v++) {
        at[v] = _mm256_loadu_si256((const __m256i *) (const void *) (x + 32 * v));
        at[2 + v] = _mm256_xor_si256(at[v], high);
    }
    V16_UNROLL for (int i = 0; i < 16; i++) {
        const __m256i t = _mm256_broadcastsi128_si256(m->row[i]);
        V16_UNROLL for (int v = 0; v < 2; v++) {
            __m256i *a = &at[i / 8 * 2 + v];
            sum[v] = _mm256_xor_si256(sum[v], _mm256_shuffle_epi8(t, *a));
            *a = _mm256_subs_epi8(*a, row);
        }
    }
    V16_UNROLL for (int v = 0; v < 2; v++)
        _mm256_storeu_si256((__m256i *) (void *) (y + 32 * v), sum[v]);
}

/* The same of two lines, 16 numbers of 16 bits at a time. */
#define MAP_LINE 32 /* bytes at a time */
typedef struct { __m256i flip_x, flip_y, at, to, low, high; __m128i shift; } line_16;
V16_INLINE line_16 line_16_load(const struct kern_map_line *l)
{
    return (line_16) { _mm256_set1_epi8((char) l->flip_x), _mm256_set1_epi8((char) l->flip_y),
                       _mm256_set1_epi16(l->at), _mm256_set1_epi16(l->to), _mm256_set1_epi16(l->slope[0]),
                       _mm256_set1_epi16(l->slope[1]), _mm_cvtsi32_si128((int) l->shift) };
}
V16_INLINE __m256i line_16_at(const line_16 *l, __m256i x)
{
    const __m256i t = _mm256_sll_epi16(_mm256_sub_epi16(x, l->at), l->shift);
    return _mm256_add_epi16(_mm256_max_epi16(_mm256_mulhrs_epi16(t, l->low), _mm256_mulhrs_epi16(t, l->high)), l->to);
}
V16_INLINE void map_line(uint8_t *y, const uint8_t *x, const line_16 *l)
{
    const __m256i zero = _mm256_setzero_si256(),
                  v = _mm256_xor_si256(_mm256_loadu_si256((const __m256i *) (const void *) x), l->flip_x),
                  low = line_16_at(l, _mm256_unpacklo_epi8(v, zero)), high = line_16_at(l, _mm256_unpackhi_epi8(v, zero));
    _mm256_storeu_si256((__m256i *) (void *) y, _mm256_xor_si256(_mm256_packus_epi16(low, high), l->flip_y));
}

/* Bytes of four lines, place by place, as s8 after `flip`; sums grow by those of each place. */
V16_INLINE i16 lines_weave(int8_t *to, const uint8_t *const *line, uint8_t flip, i16 sums)
{
    const struct woven w = lines_woven(line, flip);
    const __m256i ones = _mm256_set1_epi8(1), one = _mm256_set1_epi16(1);
    _mm256_storeu_si256((__m256i *) (void *) to, w.low);
    _mm256_storeu_si256((__m256i *) (void *) (to + 32), w.high);
    return (i16) { _mm256_add_epi32(sums.lo, _mm256_madd_epi16(_mm256_maddubs_epi16(ones, w.low), one)),
                   _mm256_add_epi32(sums.hi, _mm256_madd_epi16(_mm256_maddubs_epi16(ones, w.high), one)) };
}

/* Eight lanes, for a last panel of up to 8 outputs; worth a tile of its own with so many rows. */
#define GEMM_HALF(m, n) ((m) >= 8 && (n) % 16 - 1 < 8)
typedef __m256 v8;
V16_INLINE v8 v8_set1(float a) { return _mm256_set1_ps(a); }
V16_INLINE v8 v8_load(const float *p) { return _mm256_loadu_ps(p); }
V16_INLINE v8 v8_fma(v8 a, v8 b, v8 c) { return _mm256_fmadd_ps(a, b, c); }


/* Lane l of four vectors to y[l * ldy]. */
#define V16_TURNS_4
V16_INLINE void v8_store_turned(float *y, size_t ldy, __m256 a, __m256 b, __m256 c, __m256 d)
{
    const __m256 ab = _mm256_unpacklo_ps(a, b), AB = _mm256_unpackhi_ps(a, b),
                 cd = _mm256_unpacklo_ps(c, d), CD = _mm256_unpackhi_ps(c, d);
    const __m256 r[4] = { _mm256_shuffle_ps(ab, cd, 0x44), _mm256_shuffle_ps(ab, cd, 0xee),
                          _mm256_shuffle_ps(AB, CD, 0x44), _mm256_shuffle_ps(AB, CD, 0xee) };
    V16_UNROLL for (size_t l = 0; l < 4; l++) {
        _mm_storeu_ps(y + l * ldy, _mm256_castps256_ps128(r[l]));
        _mm_storeu_ps(y + (l + 4) * ldy, _mm256_extractf128_ps(r[l], 1));
    }
}
V16_INLINE void v16_store_turned(float *y, size_t ldy, const v16 *a)
{
    v8_store_turned(y, ldy, a[0].lo, a[1].lo, a[2].lo, a[3].lo);
    v8_store_turned(y + 8 * ldy, ldy, a[0].hi, a[1].hi, a[2].hi, a[3].hi);
}

/* y[r * ldy + c] = x[c * ldx + r] for eight rows and columns. */
#define V16_TURNS_8
V16_INLINE __m256 quads_load(const float *p, ptrdiff_t apart)
{
    return _mm256_insertf128_ps(_mm256_castps128_ps256(_mm_loadu_ps(p)), _mm_loadu_ps(p + apart), 1);
}
V16_INLINE void v8_square_turn(float *y, ptrdiff_t ldy, const float *x, ptrdiff_t ldx)
{
    V16_UNROLL for (int half = 0; half < 2; half++, x += 4, y += 4 * ldy) {
        const __m256 a = quads_load(x, 4 * ldx), b = quads_load(x + ldx, 4 * ldx),
                     c = quads_load(x + 2 * ldx, 4 * ldx), d = quads_load(x + 3 * ldx, 4 * ldx);
        const __m256 ab = _mm256_unpacklo_ps(a, b), AB = _mm256_unpackhi_ps(a, b),
                     cd = _mm256_unpacklo_ps(c, d), CD = _mm256_unpackhi_ps(c, d);
        _mm256_storeu_ps(y, _mm256_shuffle_ps(ab, cd, 0x44));
        _mm256_storeu_ps(y + ldy, _mm256_shuffle_ps(ab, cd, 0xee));
        _mm256_storeu_ps(y + 2 * ldy, _mm256_shuffle_ps(AB, CD, 0x44));
        _mm256_storeu_ps(y + 3 * ldy, _mm256_shuffle_ps(AB, CD, 0xee));
    }
}

/* Sums of recurrent cells that are under way in registers. */
#define CELL_ACC 6
#define SIGNED8_MOST(a, b) (__typeof__(a)) _mm256_max_epi32((__m256i) (a), (__m256i) (b))

/* A tile of a convolution: outputs, and vectors of places. */
#define CONV_OUTS 4
#define CONV_VECS 1
#define CONV_FIVE

V16_INLINE __m256 load_mask8(const float *p, uint32_t mask)
{
    const __m256i bit = _mm256_setr_epi32(1, 2, 4, 8, 16, 32, 64, 128);
    return _mm256_maskload_ps(p,
                              _mm256_cmpeq_epi32(_mm256_and_si256(_mm256_set1_epi32((int) mask),
                                                                  bit),
                                                 bit));
}
/* Lanes whose bit is not set are zero, and not read. */
V16_INLINE v16 v16_load_mask(const float *p, uint32_t mask)
{
    return (v16) { load_mask8(p, mask), load_mask8(p + 8, mask >> 8) };
}
V16_INLINE __m256 even8(__m256 a, __m256 b)
{
    return _mm256_castpd_ps(
        _mm256_permute4x64_pd(_mm256_castps_pd(_mm256_shuffle_ps(a, b, 0x88)), 0xd8));
}
/* p[0], p[2], .. p[30]; bits count places of p */
V16_INLINE v16 v16_load_even(const float *p, uint32_t mask)
{
    v16 a = v16_load_mask(p, mask), b = v16_load_mask(p + 16, mask >> 16);
    return (v16) { even8(a.lo, a.hi), even8(b.lo, b.hi) };
}

V16_INLINE __m256 odd8(__m256 a, __m256 b)
{
    return _mm256_castpd_ps(
        _mm256_permute4x64_pd(_mm256_castps_pd(_mm256_shuffle_ps(a, b, 0xdd)), 0xd8));
}
/* Lanes 0, 2, .. 14 of a, then of b; lanes 1, 3, .. 15. */
V16_INLINE void v16_unzip(v16 a, v16 b, v16 *ret_even, v16 *ret_odd)
{
    *ret_even = (v16) { even8(a.lo, a.hi), even8(b.lo, b.hi) };
    *ret_odd = (v16) { odd8(a.lo, a.hi), odd8(b.lo, b.hi) };
}

/* Lane l of vector r to lane r of vector l, of eight. */
V16_INLINE void v8_turn(v8 *r)
{
    v8 ab[8], quads[8];
    V16_UNROLL for (int i = 0; i < 8; i += 2) {
        ab[i] = _mm256_unpacklo_ps(r[i], r[i + 1]);
        ab[i + 1] = _mm256_unpackhi_ps(r[i], r[i + 1]);
    }
    V16_UNROLL for (int i = 0; i < 8; i += 4)
        V16_UNROLL for (int j = 0; j < 2; j++) {
            quads[i + 2 * j] = _mm256_shuffle_ps(ab[i + j], ab[i + 2 + j], 0x44);
            quads[i + 2 * j + 1] = _mm256_shuffle_ps(ab[i + j], ab[i + 2 + j], 0xee);
        }
    V16_UNROLL for (int i = 0; i < 4; i++) {
        r[i] = _mm256_permute2f128_ps(quads[i], quads[i + 4], 0x20);
        r[i + 4] = _mm256_permute2f128_ps(quads[i], quads[i + 4], 0x31);
    }
}

#define V8_MASKS
#define V8_WINDOWS /* a load under a mask costs what another does */
V16_INLINE v8 v8_load_mask(const float *p, uint32_t mask) { return load_mask8(p, mask); }

#define V16_PARTS
V16_INLINE __m256i mask8(uint32_t mask)
{
    const __m256i bit = _mm256_setr_epi32(1, 2, 4, 8, 16, 32, 64, 128);
    return _mm256_cmpeq_epi32(_mm256_and_si256(_mm256_set1_epi32((int) mask), bit), bit);
}
/* a * b + c where the bit of a lane is set, else c. */
V16_INLINE v16 v16_fma_some(v16 a, v16 b, v16 c, uint32_t mask)
{
    return (v16) { _mm256_blendv_ps(c.lo, _mm256_fmadd_ps(a.lo, b.lo, c.lo), _mm256_castsi256_ps(mask8(mask))),
                   _mm256_blendv_ps(c.hi, _mm256_fmadd_ps(a.hi, b.hi, c.hi),
                                    _mm256_castsi256_ps(mask8(mask >> 8))) };
}
/* Lanes from .. from+n-1 of a come from p. */
V16_INLINE v16 v16_load_part(v16 a, const float *p, size_t from, size_t n)
{
    uint32_t mask = ((1u << n) - 1) << from;
    const float *base = (const float *) ((uintptr_t) p - from * 4);
    __m256i lo = mask8(mask), hi = mask8(mask >> 8);
    return (
        v16) { _mm256_blendv_ps(a.lo, _mm256_maskload_ps(base, lo), _mm256_castsi256_ps(lo)),
               _mm256_blendv_ps(a.hi, _mm256_maskload_ps(base + 8, hi), _mm256_castsi256_ps(hi)) };
}
V16_INLINE void v16_store_part(float *p, v16 a, size_t from, size_t n)
{
    uint32_t mask = ((1u << n) - 1) << from;
    float *base = (float *) ((uintptr_t) p - from * 4);
    if (mask & 0xff)
        _mm256_maskstore_ps(base, mask8(mask), a.lo);
    if (mask >> 8)
        _mm256_maskstore_ps(base + 8, mask8(mask >> 8), a.hi);
}
/* Each width lanes hold p[0][at], p[1][at], .. */
V16_INLINE v16 v16_join(const float *const *p, size_t at, int width)
{
    __m256 a = _mm256_broadcast_ss(p[0] + at);
    if (width == 16)
        return (v16) { a, a };
    if (width == 8)
        return (v16) { a, _mm256_broadcast_ss(p[1] + at) };
    return (v16) { _mm256_blend_ps(a, _mm256_broadcast_ss(p[1] + at), 0xf0),
                   _mm256_blend_ps(_mm256_broadcast_ss(p[2] + at), _mm256_broadcast_ss(p[3] + at),
                                   0xf0) };
}
/* Every lane of a group of `width` holds the group's k-th. */
V16_INLINE v16 v16_spread(v16 a, size_t k, int width)
{
    __m256i at = _mm256_set1_epi32((int) (k & 7));
    if (width == 16) {
        __m256 r = _mm256_permutevar8x32_ps(k < 8 ? a.lo : a.hi, at);
        return (v16) { r, r };
    }
    if (width == 4)
        at = _mm256_add_epi32(at, _mm256_setr_epi32(0, 0, 0, 0, 4, 4, 4, 4));
    return (v16) { _mm256_permutevar8x32_ps(a.lo, at), _mm256_permutevar8x32_ps(a.hi, at) };
}
