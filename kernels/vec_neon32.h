/* SPDX-License-Identifier: MIT */
/* What NEON of 32-bit ARM lacks beside that of 64 bits, under the names of arm_neon.h. It takes
 * subnormal numbers as zeros and gives none, however the thread is set. Division and square root are
 * of VFP, lane by lane. */
#ifndef KERN_VEC_NEON32_H
#define KERN_VEC_NEON32_H
#include <arm_neon.h>
#include "kernels/unroll.h"

#define A32 static inline __attribute__((always_inline, unused))

A32 float32x4_t vdivq_f32(float32x4_t a, float32x4_t b) { return a / b; }
A32 float32x4_t vsqrtq_f32(float32x4_t a)
{
    V16_UNROLL for (int l = 0; l < 4; l++) a[l] = __builtin_sqrtf(a[l]);
    return a;
}
/* The size of `size`, the sign of a. */
A32 float32x4_t quad_signed(float size, float32x4_t a)
{
    return vbslq_f32(vdupq_n_u32(0x80000000), a, vdupq_n_f32(size));
}
/* Nearest, halves to even: by adding 2^23, from which on numbers are whole. */
A32 int32x4_t vcvtnq_s32_f32(float32x4_t a)
{
    const float32x4_t by = quad_signed(0x1p23f, a);
    return vcvtq_s32_f32(vbslq_f32(vcaltq_f32(a, by), vsubq_f32(vaddq_f32(a, by), by), a));
}
/* Halves away from zero, of less than 2^22. */
A32 int32x4_t vcvtaq_s32_f32(float32x4_t a)
{
    return vcvtq_s32_f32(vaddq_f32(a, quad_signed(0x1.fffffep-2f, a)));
}
A32 float32x4_t vuzp1q_f32(float32x4_t a, float32x4_t b) { return vuzpq_f32(a, b).val[0]; }
A32 float32x4_t vuzp2q_f32(float32x4_t a, float32x4_t b) { return vuzpq_f32(a, b).val[1]; }
A32 int32x4_t vpaddq_s32(int32x4_t a, int32x4_t b)
{
    return vcombine_s32(vpadd_s32(vget_low_s32(a), vget_high_s32(a)),
                        vpadd_s32(vget_low_s32(b), vget_high_s32(b)));
}
A32 int16x8_t vmovl_high_s8(int8x16_t a) { return vmovl_s8(vget_high_s8(a)); }
A32 uint16x8_t vmovl_high_u8(uint8x16_t a) { return vmovl_u8(vget_high_u8(a)); }
A32 int32x4_t vmovl_high_s16(int16x8_t a) { return vmovl_s16(vget_high_s16(a)); }
A32 int16x8_t vmull_high_s8(int8x16_t a, int8x16_t b)
{
    return vmull_s8(vget_high_s8(a), vget_high_s8(b));
}
A32 int32x4_t vmlal_high_s16(int32x4_t c, int16x8_t a, int16x8_t b)
{
    return vmlal_s16(c, vget_high_s16(a), vget_high_s16(b));
}
A32 int32x4_t vmlal_high_n_s16(int32x4_t c, int16x8_t a, int16_t b)
{
    return vmlal_n_s16(c, vget_high_s16(a), b);
}
A32 int8x16x4_t vld1q_s8_x4(const int8_t *p)
{
    return (int8x16x4_t) { { vld1q_s8(p), vld1q_s8(p + 16), vld1q_s8(p + 32), vld1q_s8(p + 48) } };
}
#undef A32
#endif
