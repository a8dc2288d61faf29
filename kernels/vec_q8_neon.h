/* SPDX-License-Identifier: MIT */
/* Sums of 8-bit products with NEON: rows are s8. With __ARM_FEATURE_DOTPROD SDOT sums four terms at
 * once, and of several rows, with __ARM_FEATURE_MATMUL_INT8, SMMLA eight of two rows and two outputs;
 * else products of 16 bits are added in pairs, and an output has two sums until the end. */
#include <arm_neon.h>
#include <stdint.h>
#include <string.h>

#define Q8_INLINE static inline __attribute__((always_inline))
#define Q8_TILE   Q8_INLINE
#define Q8_ROWS_ARE_SIGNED 1

typedef struct { int32x4_t i[4]; } n16;
typedef struct { int8x16_t b[4]; } w64;
typedef int8x16_t x4;

Q8_INLINE x4 x4_load(const uint8_t *taken)
{
    return vreinterpretq_s8_u32(vld1q_dup_u32((const uint32_t *) (const void *) taken));
}
Q8_INLINE w64 w64_load(const int8_t *w)
{
    const int8x16x4_t four = vld1q_s8_x4(w); /* one instruction */
    return (w64) { { four.val[0], four.val[1], four.val[2], four.val[3] } };
}

#define EACH_4 V16_UNROLL for (int j = 0; j < 4; j++)
#ifdef __ARM_FEATURE_DOTPROD
#define Q8_FIT(rows) ((rows) == 1 ? 4 : (rows) == 2 ? 2 : 1)
#define Q8_ACC 4
#define Q8_ROWS 4
typedef n16 d16;
Q8_INLINE d16 d16_zero(void)
{
    return (d16) { { vdupq_n_s32(0), vdupq_n_s32(0), vdupq_n_s32(0), vdupq_n_s32(0) } };
}
Q8_INLINE d16 d16_dot(d16 s, w64 w, x4 x)
{
    EACH_4 s.i[j] = vdotq_s32(s.i[j], w.b[j], x);
    return s;
}
Q8_INLINE n16 d16_sums(d16 a, int32_t extra) { (void) extra; return a; }
#define Q8_FOUR_GROUPS
Q8_INLINE x4 x16_load(const uint8_t *taken) { return vreinterpretq_s8_u8(vld1q_u8(taken)); }
/* Four groups of a panel, behind which *at is left. */
Q8_INLINE d16 d16_dot_4(d16 s, const int8_t **at, x4 x)
{
#define GROUP(q)                                                                                   \
    {                                                                                              \
        const w64 w = w64_load(*at);                                                               \
        *at += 64;                                                                                 \
        __asm__("" : "+r"(*at)); /* the load moves it, no addition for each */                     \
        EACH_4 s.i[j] = vdotq_laneq_s32(s.i[j], w.b[j], x, q);                                     \
    }
    GROUP(0) GROUP(1) GROUP(2) GROUP(3)
#undef GROUP
    return s;
}
#ifdef __ARM_FEATURE_MATMUL_INT8
/* Two rows by a panel: of outputs 2 * j and 2 * j + 1 those of the first row, then of the second. */
#define Q8_PAIRS
typedef struct { int32x4_t i[8]; } d16x2;
typedef int8x16_t x8x2; /* eight terms of the first row, then of the second */
Q8_INLINE d16x2 d16x2_zero(void)
{
    d16x2 s;
    V16_UNROLL for (int j = 0; j < 8; j++) s.i[j] = vdupq_n_s32(0);
    return s;
}
Q8_INLINE x8x2 x8x2_load(const uint8_t *first, const uint8_t *second)
{
    return vreinterpretq_s8_u8(vcombine_u8(vld1_u8(first), vld1_u8(second)));
}
/* Four terms of each, and zeros. */
Q8_INLINE x8x2 x8x2_load_half(const uint8_t *first, const uint8_t *second)
{
    uint32_t a, b;
    memcpy(&a, first, sizeof a);
    memcpy(&b, second, sizeof b);
    return vreinterpretq_s8_u64(vcombine_u64(vcreate_u64(a), vcreate_u64(b)));
}
/* Two groups of a panel, as eight terms of two outputs at a time, by so many pairs of rows. */
Q8_INLINE void d16x2_dot(d16x2 *s, w64 w, w64 next, const x8x2 *x, const int pairs)
{
    EACH_4 {
        if (j == 3) /* not before its turn: registers are full */
            __asm__("" : "+w"(w.b[j]) : "w"(s[0].i[2 * j - 1]));
        const int32x4_t a = vreinterpretq_s32_s8(w.b[j]), b = vreinterpretq_s32_s8(next.b[j]);
        const int8x16_t low = vreinterpretq_s8_s32(vzip1q_s32(a, b)), high = vreinterpretq_s8_s32(vzip2q_s32(a, b));
        V16_UNROLL for (int r = 0; r < pairs; r++) {
            s[r].i[2 * j] = vmmlaq_s32(s[r].i[2 * j], x[r], low);
            s[r].i[2 * j + 1] = vmmlaq_s32(s[r].i[2 * j + 1], x[r], high);
        }
    }
}
Q8_INLINE n16 d16x2_row(d16x2 s, const int second)
{
    n16 y;
    EACH_4 {
        const int64x2_t a = vreinterpretq_s64_s32(s.i[2 * j]), b = vreinterpretq_s64_s32(s.i[2 * j + 1]);
        y.i[j] = vreinterpretq_s32_s64(second ? vzip2q_s64(a, b) : vzip1q_s64(a, b));
    }
    return y;
}
#endif
#else
#ifdef __aarch64__
#define Q8_FIT(rows) ((rows) == 1 ? 2 : 1)
#define Q8_ACC 2
#define Q8_ROWS 2
#else
#define Q8_FIT(rows) 1
#define Q8_ACC 1
#define Q8_ROWS 1
#endif
typedef struct { int32x4_t low[4], high[4]; } d16;
Q8_INLINE d16 d16_zero(void)
{
    d16 s;
    EACH_4 s.low[j] = s.high[j] = vdupq_n_s32(0);
    return s;
}
Q8_INLINE d16 d16_dot(d16 s, w64 w, x4 x)
{
    EACH_4 {
        s.low[j] = vpadalq_s16(s.low[j], vmull_s8(vget_low_s8(w.b[j]), vget_low_s8(x)));
        s.high[j] = vpadalq_s16(s.high[j], vmull_high_s8(w.b[j], x));
    }
    return s;
}
Q8_INLINE n16 d16_sums(d16 a, int32_t extra)
{
    n16 r;
    (void) extra;
    EACH_4 r.i[j] = vpaddq_s32(a.low[j], a.high[j]);
    return r;
}
#endif

Q8_INLINE n16 n16_load(const int32_t *p)
{
    return (n16) { { vld1q_s32(p), vld1q_s32(p + 4), vld1q_s32(p + 8), vld1q_s32(p + 12) } };
}
Q8_INLINE void n16_store(int32_t *p, n16 a)
{
    EACH_4 vst1q_s32(p + 4 * j, a.i[j]);
}
Q8_INLINE n16 n16_add(n16 a, n16 b)
{
    EACH_4 a.i[j] = vaddq_s32(a.i[j], b.i[j]);
    return a;
}
/* Of the same value, rounded to nearest even, and its bits. */
Q8_INLINE n16 n16_floats(n16 a, float by)
{
    EACH_4 a.i[j] = vreinterpretq_s32_f32(vmulq_n_f32(vcvtq_f32_s32(a.i[j]), by));
    return a;
}
/* a - b * s */
Q8_INLINE n16 n16_less(n16 a, n16 b, int32_t s)
{
    EACH_4 a.i[j] = vmlsq_n_s32(a.i[j], b.i[j], s);
    return a;
}
#undef EACH_4
