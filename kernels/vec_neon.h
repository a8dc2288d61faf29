/* SPDX-License-Identifier: MIT */
/* v16: sixteen floats in four NEON registers, of which 64-bit ARM has 32 and 32-bit ARM 16. */
#include <arm_neon.h>
#include <stdint.h>
#include "kernels/unroll.h"
#ifndef __aarch64__
#include "kernels/vec_neon32.h"
#endif

#define V16_UNROLLED static inline __attribute__((always_inline))

typedef struct { float32x4_t q[4]; } v16;
typedef struct { int32x4_t q[4]; } i16;
typedef struct { uint32x4_t q[4]; } m16;        /* all ones or all zeros per lane */

/* i counts the quarters of what is named r. */
#define EACH_QUAD(type, expr)                   \
    {                                           \
        type r;                                 \
        V16_UNROLL for (int i = 0; i < 4; i++)  \
            r.q[i] = (expr);                    \
        return r;                               \
    }

static inline v16 v16_set1(float a) EACH_QUAD(v16, vdupq_n_f32(a))
static inline v16 v16_load(const float *p) EACH_QUAD(v16, vld1q_f32(p + 4 * i))
static inline void v16_store(float *p, v16 a)
{
    V16_UNROLL for (int i = 0; i < 4; i++)
        vst1q_f32(p + 4 * i, a.q[i]);
}
/* The first lanes of a quarter; n >= 4 is all of them. */
static inline float32x4_t quad_load_n(const float *p, size_t n)
{
    const float32x2_t zero = vdup_n_f32(0);
    if (n >= 4)
        return vld1q_f32(p);
    if (n & 2)
        return vcombine_f32(vld1_f32(p), n & 1 ? vld1_lane_f32(p + 2, zero, 0) : zero);
    return vcombine_f32(n & 1 ? vld1_lane_f32(p, zero, 0) : zero, zero);
}
static inline void quad_store_n(float *p, float32x4_t a, size_t n)
{
    if (n >= 4) {
        vst1q_f32(p, a);
        return;
    }
    float32x2_t x = vget_low_f32(a);
    if (n & 2) {
        vst1_f32(p, x);
        x = vget_high_f32(a);
    }
    if (n & 1)
        vst1_lane_f32(p + (n & 2), x, 0);
}
static inline size_t quad_left(size_t n, int i)
{
    return n > 4 * (size_t) i ? n - 4 * (size_t) i : 0;
}
static inline v16 v16_load_n(const float *p, size_t n)
    EACH_QUAD(v16, quad_load_n(p + 4 * i, quad_left(n, i))) static inline void v16_store_n(float *p,
                                                                                           v16 a,
                                                                                           size_t n)
{
    V16_UNROLL for (int i = 0; i < 4; i++)
        quad_store_n(p + 4 * i, a.q[i], quad_left(n, i));
}
static inline v16 v16_add(v16 a, v16 b) EACH_QUAD(v16, vaddq_f32(a.q[i], b.q[i])) static inline v16
    v16_sub(v16 a, v16 b) EACH_QUAD(v16, vsubq_f32(a.q[i], b.q[i])) static inline v16
    v16_mul(v16 a, v16 b) EACH_QUAD(v16, vmulq_f32(a.q[i], b.q[i])) static inline v16
    v16_div(v16 a, v16 b) EACH_QUAD(v16, vdivq_f32(a.q[i], b.q[i])) static inline v16
    v16_fma(v16 a, v16 b, v16 c) EACH_QUAD(v16, vfmaq_f32(c.q[i], a.q[i], b.q[i])) static inline v16
    v16_sqrt(v16 a) EACH_QUAD(v16, vsqrtq_f32(a.q[i]))
    /* By comparison: FMIN and FMAX give NaN where either is, not the second operand, and order the
       zeros. */
    static inline v16 v16_min(v16 a, v16 b)
        EACH_QUAD(v16, vbslq_f32(vcltq_f32(a.q[i], b.q[i]), a.q[i], b.q[i])) static inline v16
    v16_max(v16 a, v16 b)
        EACH_QUAD(v16, vbslq_f32(vcgtq_f32(a.q[i], b.q[i]), a.q[i], b.q[i])) static inline m16
    v16_lt(v16 a, v16 b) EACH_QUAD(m16, vcltq_f32(a.q[i], b.q[i])) static inline m16 v16_nan(v16 a)
        EACH_QUAD(m16, vmvnq_u32(vceqq_f32(a.q[i], a.q[i]))) static inline v16
    v16_pick(m16 m, v16 yes, v16 no)
        EACH_QUAD(v16, vbslq_f32(m.q[i], yes.q[i], no.q[i])) static inline i16 v16_bits(v16 a)
            EACH_QUAD(i16, vreinterpretq_s32_f32(a.q[i])) static inline v16 v16_of_bits(i16 a)
                EACH_QUAD(v16, vreinterpretq_f32_s32(a.q[i])) static inline i16 v16_round(v16 a)
                    EACH_QUAD(i16, vcvtnq_s32_f32(a.q[i])) static inline v16
    v16_of_int(i16 a) EACH_QUAD(v16, vcvtq_f32_s32(a.q[i])) static inline i16 i16_set1(int32_t a)
        EACH_QUAD(i16, vdupq_n_s32(a)) static inline i16 i16_add(i16 a, i16 b)
            EACH_QUAD(i16, vaddq_s32(a.q[i], b.q[i])) static inline i16 i16_sub(i16 a, i16 b)
                EACH_QUAD(i16, vsubq_s32(a.q[i], b.q[i])) static inline i16 i16_and(i16 a, i16 b)
                    EACH_QUAD(i16, vandq_s32(a.q[i], b.q[i])) static inline i16 i16_or(i16 a, i16 b)
                        EACH_QUAD(i16, vorrq_s32(a.q[i], b.q[i])) static inline i16
    i16_shl23(i16 a) EACH_QUAD(i16, vshlq_n_s32(a.q[i], 23)) static inline i16 i16_shr23(i16 a)
        EACH_QUAD(i16, vshrq_n_s32(a.q[i], 23))
static inline i16 v16_round_away(v16 a) EACH_QUAD(i16, vcvtaq_s32_f32(a.q[i]))
/* The nearest number of f16, as a float. */
#define V16_ROUNDS_F16
static inline v16 v16_round_f16(v16 a) EACH_QUAD(v16, vcvt_f32_f16(vcvt_f16_f32(a.q[i])))
static inline v16 v16_load_f16(const uint16_t *p)
    EACH_QUAD(v16, vcvt_f32_f16(vreinterpret_f16_u16(vld1_u16(p + 4 * i))))
static inline i16 i16_shr4(i16 a) EACH_QUAD(i16, vshrq_n_s32(a.q[i], 4))
static inline i16 i16_mul(i16 a, i16 b) EACH_QUAD(i16, vmulq_s32(a.q[i], b.q[i]))
static inline i16 i16_shl16(i16 a) EACH_QUAD(i16, vshlq_n_s32(a.q[i], 16))
/* Low bytes of the lanes, and bytes as lanes. */
static inline void i16_store_bytes(uint8_t *p, i16 a)
{
    uint16x4_t h[4];
    V16_UNROLL for (int i = 0; i < 4; i++)
        h[i] = vmovn_u32(vreinterpretq_u32_s32(a.q[i]));
    vst1q_u8(p, vcombine_u8(vmovn_u16(vcombine_u16(h[0], h[1])), vmovn_u16(vcombine_u16(h[2], h[3]))));
}
static inline i16 i16_load_u8(const uint8_t *p)
{
    uint8x16_t a = vld1q_u8(p);
    int16x8_t low = vreinterpretq_s16_u16(vmovl_u8(vget_low_u8(a))),
              high = vreinterpretq_s16_u16(vmovl_high_u8(a));
    return (i16) { { vmovl_s16(vget_low_s16(low)), vmovl_high_s16(low), vmovl_s16(vget_low_s16(high)),
                     vmovl_high_s16(high) } };
}
static inline i16 i16_load_s8(const uint8_t *p)
{
    int8x16_t a = vreinterpretq_s8_u8(vld1q_u8(p));
    int16x8_t low = vmovl_s8(vget_low_s8(a)), high = vmovl_high_s8(a);
    return (i16) { { vmovl_s16(vget_low_s16(low)), vmovl_high_s16(low), vmovl_s16(vget_low_s16(high)),
                     vmovl_high_s16(high) } };
}
static inline i16 i16_load(const int32_t *p)
{
    return (i16) { { vld1q_s32(p), vld1q_s32(p + 4), vld1q_s32(p + 8), vld1q_s32(p + 12) } };
}
static inline i16 i16_load_s16(const int16_t *p)
{
    int16x8_t low = vld1q_s16(p), high = vld1q_s16(p + 8);
    return (i16) { { vmovl_s16(vget_low_s16(low)), vmovl_high_s16(low), vmovl_s16(vget_low_s16(high)),
                     vmovl_high_s16(high) } };
}
static inline void i16_store_s16(int16_t *p, i16 a)
{
    vst1q_s16(p, vcombine_s16(vmovn_s32(a.q[0]), vmovn_s32(a.q[1])));
    vst1q_s16(p + 8, vcombine_s16(vmovn_s32(a.q[2]), vmovn_s32(a.q[3])));
}
/* Two weights for each lane, and what their products with two numbers add. */
typedef struct { int16x8_t low[2], high[2]; } w2;
static inline w2 w2_load_s16(const int16_t *p)
{
    const int16x8x2_t a = vld2q_s16(p), b = vld2q_s16(p + 16);
    return (w2) { { a.val[0], a.val[1] }, { b.val[0], b.val[1] } };
}
static inline i16 i16_add_pairs(i16 a, w2 w, const int16_t *x)
{
    V16_UNROLL for (int t = 0; t < 2; t++) {
        a.q[0] = vmlal_n_s16(a.q[0], vget_low_s16(w.low[t]), x[t]);
        a.q[1] = vmlal_high_n_s16(a.q[1], w.low[t], x[t]);
        a.q[2] = vmlal_n_s16(a.q[2], vget_low_s16(w.high[t]), x[t]);
        a.q[3] = vmlal_high_n_s16(a.q[3], w.high[t], x[t]);
    }
    return a;
}
static inline void i16_store(int32_t *p, i16 a)
{
    V16_UNROLL for (int i = 0; i < 4; i++)
        vst1q_s32(p + 4 * i, a.q[i]);
}
/* The same of bytes (struct kern_cell_sums). */
#define BYTES_PANELS 1
typedef w2 w8;
typedef i16 b16;
static inline b16 b16_zero(void) { return i16_set1(0); }
static inline w8 w8_load(const int8_t *p, const int whole)
{
    const int8x8x4_t a = vld4_s8(p);
    const uint16x8_t first = vmovl_u8(vreinterpret_u8_s8(a.val[0])), second = vmovl_u8(vreinterpret_u8_s8(a.val[2]));
    (void) whole;
    return (w8) { { vreinterpretq_s16_u16(first), vreinterpretq_s16_u16(second) },
                  { vmovl_s8(a.val[1]), vmovl_s8(a.val[3]) } };
}
static inline b16 b16_add_pairs(b16 a, w8 w, const int16_t *x, const int whole)
{
    (void) whole;
    return i16_add_pairs(a, w, x);
}
static inline void b16_store(int32_t *p, int apart, b16 a, const int whole)
{
    (void) apart, (void) whole;
    i16_store(p, a);
}
/* Of 16 channels: sums of two places' bytes, after `flip`, by weights in pairs. */
static inline i16 pair_add(i16 sum, const uint8_t *a, const uint8_t *b, const int16_t *w, uint8_t flip)
{
    const uint8x16_t by = vdupq_n_u8(flip), x[2] = { veorq_u8(vld1q_u8(a), by), veorq_u8(vld1q_u8(b), by) };
    const int16x8x2_t low = vld2q_s16(w), high = vld2q_s16(w + 16);
    V16_UNROLL for (int i = 0; i < 2; i++) {
        const int16x8_t l = vreinterpretq_s16_u16(vmovl_u8(vget_low_u8(x[i]))),
                        h = vreinterpretq_s16_u16(vmovl_high_u8(x[i]));
        sum.q[0] = vmlal_s16(sum.q[0], vget_low_s16(l), vget_low_s16(low.val[i]));
        sum.q[1] = vmlal_high_s16(sum.q[1], l, low.val[i]);
        sum.q[2] = vmlal_s16(sum.q[2], vget_low_s16(h), vget_low_s16(high.val[i]));
        sum.q[3] = vmlal_high_s16(sum.q[3], h, high.val[i]);
    }
    return sum;
}

/* Four taps of 16 places (struct kern_taps). */
#define TAPS_VECS 1
typedef struct { size_t step; uint8x16_t flip; } t4;
static inline t4 taps_pattern(size_t step, uint8_t flip) { return (t4) { step, vdupq_n_u8(flip) }; }
static inline i16 taps_add(i16 a, const uint8_t *x, const int16_t *w, t4 p)
{
    V16_UNROLL for (int t = 0; t < 4; t++) {
        const uint8x16_t v = veorq_u8(vld1q_u8(x + (size_t) t * p.step), p.flip);
        const int16x8_t low = vreinterpretq_s16_u16(vmovl_u8(vget_low_u8(v))),
                        high = vreinterpretq_s16_u16(vmovl_high_u8(v));
        a.q[0] = vmlal_n_s16(a.q[0], vget_low_s16(low), w[t]);
        a.q[1] = vmlal_high_n_s16(a.q[1], low, w[t]);
        a.q[2] = vmlal_n_s16(a.q[2], vget_low_s16(high), w[t]);
        a.q[3] = vmlal_high_n_s16(a.q[3], high, w[t]);
    }
    return a;
}
#ifdef __aarch64__
/* Of 64 bytes what a table of 256 has for them: an index outside its quarter leaves what is there. */
#define MAP_64
typedef struct { uint8x16x4_t part[4]; } map_table;
static inline map_table map_table_load(const uint8_t *table)
{
    map_table m;
    V16_UNROLL for (int p = 0; p < 4; p++)
        V16_UNROLL for (int i = 0; i < 4; i++)
            m.part[p].val[i] = vld1q_u8(table + 64 * p + 16 * i);
    return m;
}
static inline void map_64(uint8_t *y, const uint8_t *x, const map_table *m)
{
    V16_UNROLL for (int v = 0; v < 64; v += 16) {
        const uint8x16_t at = vld1q_u8(x + v);
        uint8x16_t to = vqtbl4q_u8(m->part[0], at);
        V16_UNROLL for (int p = 1; p < 4; p++)
            to = vqtbx4q_u8(to, m->part[p], veorq_u8(at, vdupq_n_u8((uint8_t) (64 * p))));
        vst1q_u8(y + v, to);
    }
}
#endif
/* Bytes of four lines, place by place, as s8 after `flip`; sums grow by those of each place. */
static inline i16 lines_weave(int8_t *to, const uint8_t *const *line, uint8_t flip, i16 sums)
{
    int8x16x4_t a;
    V16_UNROLL for (int i = 0; i < 4; i++)
        a.val[i] = vreinterpretq_s8_u8(veorq_u8(vld1q_u8(line[i]), vdupq_n_u8(flip)));
    vst4q_s8(to, a);
    V16_UNROLL for (int i = 0; i < 4; i++)
        sums.q[i] = vpadalq_s16(sums.q[i], vpaddlq_s8(vld1q_s8(to + 16 * i)));
    return sums;
}

/* A tile of a product: panels of 16 outputs that fit in registers beside so many rows (0: none),
 * their product at most GEMM_ACC; rows of a tile when there are many, and when there are few
 * panels. */
#ifdef __aarch64__
#define GEMM_FIT(rows) ((rows) == 1 ? 6 : (rows) == 2 ? 3 : (rows) == 3 ? 2 : (rows) <= 6 ? 1 : 0)
#define GEMM_ACC 6
#define GEMM_ROWS 6
#define GEMM_ROWS_FEW 6
/* Eight lanes, for a last panel of up to 8 outputs; worth a tile of its own with so many rows. */
#define GEMM_HALF(m, n) ((m) >= 8 && (n) % 16 - 1 < 8)
#else
#define GEMM_FIT(rows) ((rows) == 1 ? 3 : (rows) <= 3 ? 1 : 0)
#define GEMM_ACC 3
#define GEMM_ROWS 3
#define GEMM_ROWS_FEW 3
#define CELL_ACC 4
#endif

                typedef struct { float32x4_t lo, hi; } v8;
static inline v8 v8_set1(float a) { return (v8) { vdupq_n_f32(a), vdupq_n_f32(a) }; }
static inline v8 v8_load(const float *p) { return (v8) { vld1q_f32(p), vld1q_f32(p + 4) }; }
static inline v8 v8_fma(v8 a, v8 b, v8 c)
{
    return (v8) { vfmaq_f32(c.lo, a.lo, b.lo), vfmaq_f32(c.hi, a.hi, b.hi) };
}
static inline v8 v8_load_n(const float *p, size_t n)
{
    return (v8) { quad_load_n(p, n), quad_load_n(p + 4, quad_left(n, 1)) };
}
static inline void v8_store_n(float *p, v8 a, size_t n)
{
    quad_store_n(p, a.lo, n);
    quad_store_n(p + 4, a.hi, quad_left(n, 1));
}

/* A tile of a convolution: outputs, and vectors of places. */
#define CONV_OUTS 4
#define CONV_VECS 1

/* Four places `step` apart; those whose bit is not set are zero, and not read. */
static inline float32x4_t quad_load_some(const float *p, uint32_t mask, const int step)
{
    float32x4_t r = vdupq_n_f32(0);
    if (mask & 1)
        r = vld1q_lane_f32(p, r, 0);
    if (mask & 1u << step)
        r = vld1q_lane_f32(p + step, r, 1);
    if (mask & 1u << 2 * step)
        r = vld1q_lane_f32(p + 2 * step, r, 2);
    if (mask & 1u << 3 * step)
        r = vld1q_lane_f32(p + 3 * step, r, 3);
    return r;
}
static inline float32x4_t quad_load_mask(const float *p, uint32_t mask)
{
    return (mask & 15) == 15 ? vld1q_f32(p) : quad_load_some(p, mask, 1);
}
/* Lanes whose bit is not set are zero, and not read. */
static inline v16 v16_load_mask(const float *p, uint32_t mask)
    EACH_QUAD(v16, quad_load_mask(p + 4 * i, mask >> 4 * i))
#define V8_MASKS
static inline v8 v8_load_mask(const float *p, uint32_t mask)
{
    return (v8) { quad_load_mask(p, mask), quad_load_mask(p + 4, mask >> 4) };
}
/* p[0], p[2], p[4], p[6]; p[7] is not read. */
static inline float32x4_t quad_load_even(const float *p, uint32_t mask)
{
    if ((mask & 0x55) != 0x55)
        return quad_load_some(p, mask, 2);
    float32x4_t a = vld1q_f32(p), b = vld1q_f32(p + 3);
    return vcombine_f32(vget_low_f32(vuzp1q_f32(a, a)), vget_low_f32(vuzp2q_f32(b, b)));
}
/* p[0], p[2], .. p[30]; bits count places of p */
static inline v16 v16_load_even(const float *p, uint32_t mask)
    EACH_QUAD(v16, quad_load_even(p + 8 * i, mask >> 8 * i))
/* Lanes 0, 2, .. 14 of a, then of b; lanes 1, 3, .. 15. */
static inline void v16_unzip(v16 a, v16 b, v16 *ret_even, v16 *ret_odd)
{
    for (int i = 0; i < 2; i++) {
        ret_even->q[i] = vuzp1q_f32(a.q[2 * i], a.q[2 * i + 1]);
        ret_even->q[2 + i] = vuzp1q_f32(b.q[2 * i], b.q[2 * i + 1]);
        ret_odd->q[i] = vuzp2q_f32(a.q[2 * i], a.q[2 * i + 1]);
        ret_odd->q[2 + i] = vuzp2q_f32(b.q[2 * i], b.q[2 * i + 1]);
    }
}
static inline uint32x4_t quad_bits(uint32_t mask)
{
    static const uint32_t bit[4] = { 1, 2, 4, 8 };
    return vtstq_u32(vdupq_n_u32(mask), vld1q_u32(bit));
}
/* a * b + c where the bit of a lane is set, else c. */
static inline v16 v16_fma_some(v16 a, v16 b, v16 c, uint32_t mask)
    EACH_QUAD(v16, vbslq_f32(quad_bits(mask >> 4 * i), vfmaq_f32(c.q[i], a.q[i], b.q[i]), c.q[i]))
#ifndef __aarch64__
#define V16_PARTS
/* Lanes from .. from+n-1 of a come from p. */
static inline v16 v16_load_part(v16 a, const float *p, size_t from, size_t n)
{
    float t[16];
    v16_store(t, a);
    for (size_t i = 0; i < n; i++)
        t[from + i] = p[i];
    return v16_load(t);
}
/* From a multiple of 4 on. */
static inline void v16_store_part(float *p, v16 a, size_t from, size_t n)
{
    V16_UNROLL for (size_t i = 0; i < 4; i++)
        if (4 * i >= from && 4 * i < from + n)
            quad_store_n(p + 4 * i - from, a.q[i], from + n - 4 * i);
}
/* Each width lanes hold p[0][at], p[1][at], .. */
static inline v16 v16_join(const float *const *p, size_t at, int width)
    EACH_QUAD(v16, vld1q_dup_f32(p[4 * i / width] + at))
/* Every lane of a group of `width` holds the group's k-th. */
static inline v16 v16_spread(v16 a, size_t k, int width)
{
    float t[16];
    v16_store(t, a);
    EACH_QUAD(v16, vld1q_dup_f32(t + (size_t) (4 * i / width * width) + k))
}
#endif
/* a where b is not more, b where it is or is NaN. */
static inline v16 v16_most(v16 a, v16 b) { return v16_pick(v16_nan(b), b, v16_max(b, a)); }
#undef EACH_QUAD
