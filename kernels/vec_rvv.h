/* SPDX-License-Identifier: MIT */
/* v16 of RISC-V's V extension: as many floats as four registers have, 16 or more, so loops over it
 * take MAP_LANES at a time. For what element-wise functions need; tiles of registers are arrays,
 * which vectors without a size cannot be in. */
#include <riscv_vector.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __riscv_v_intrinsic /* from clang 16 on */
#define RVV(name) __riscv_##name
#define RVV_MERGE(type, mask, no, yes, n) RVV(vmerge_vvm_##type)(no, yes, mask, n)
#else
#define RVV(name) name
#define RVV_MERGE(type, mask, no, yes, n) RVV(vmerge_vvm_##type)(mask, no, yes, n)
#endif

typedef vfloat32m4_t v16;
typedef vint32m4_t i16;
typedef vbool8_t m16;
#define MAP_LANES RVV(vsetvlmax_e32m4)()
#define ALL MAP_LANES

static inline v16 v16_set1(float a) { return RVV(vfmv_v_f_f32m4)(a, ALL); }
static inline v16 v16_load(const float *p) { return RVV(vle32_v_f32m4)(p, ALL); }
static inline void v16_store(float *p, v16 a) { RVV(vse32_v_f32m4)(p, a, ALL); }
/* What follows the first n is any number. */
static inline v16 v16_load_n(const float *p, size_t n) { return RVV(vle32_v_f32m4)(p, n); }
static inline void v16_store_n(float *p, v16 a, size_t n) { RVV(vse32_v_f32m4)(p, a, n); }
static inline v16 v16_add(v16 a, v16 b) { return RVV(vfadd_vv_f32m4)(a, b, ALL); }
static inline v16 v16_sub(v16 a, v16 b) { return RVV(vfsub_vv_f32m4)(a, b, ALL); }
static inline v16 v16_mul(v16 a, v16 b) { return RVV(vfmul_vv_f32m4)(a, b, ALL); }
static inline v16 v16_div(v16 a, v16 b) { return RVV(vfdiv_vv_f32m4)(a, b, ALL); }
static inline v16 v16_fma(v16 a, v16 b, v16 c) { return RVV(vfmacc_vv_f32m4)(c, a, b, ALL); }
static inline v16 v16_sqrt(v16 a) { return RVV(vfsqrt_v_f32m4)(a, ALL); }
static inline m16 v16_lt(v16 a, v16 b) { return RVV(vmflt_vv_f32m4_b8)(a, b, ALL); }
static inline m16 v16_nan(v16 a) { return RVV(vmfne_vv_f32m4_b8)(a, a, ALL); }
static inline v16 v16_pick(m16 m, v16 yes, v16 no) { return RVV_MERGE(f32m4, m, no, yes, ALL); }
/* The second operand where either is NaN. */
static inline v16 v16_min(v16 a, v16 b) { return v16_pick(v16_lt(a, b), a, b); }
static inline v16 v16_max(v16 a, v16 b) { return v16_pick(v16_lt(b, a), a, b); }
static inline i16 v16_bits(v16 a) { return RVV(vreinterpret_v_f32m4_i32m4)(a); }
static inline v16 v16_of_bits(i16 a) { return RVV(vreinterpret_v_i32m4_f32m4)(a); }
/* nearest even, as threads are set */
static inline i16 v16_round(v16 a) { return RVV(vfcvt_x_f_v_i32m4)(a, ALL); }
static inline v16 v16_of_int(i16 a) { return RVV(vfcvt_f_x_v_f32m4)(a, ALL); }
static inline i16 i16_set1(int32_t a) { return RVV(vmv_v_x_i32m4)(a, ALL); }
static inline i16 i16_add(i16 a, i16 b) { return RVV(vadd_vv_i32m4)(a, b, ALL); }
static inline i16 i16_sub(i16 a, i16 b) { return RVV(vsub_vv_i32m4)(a, b, ALL); }
static inline i16 i16_and(i16 a, i16 b) { return RVV(vand_vv_i32m4)(a, b, ALL); }
static inline i16 i16_or(i16 a, i16 b) { return RVV(vor_vv_i32m4)(a, b, ALL); }
static inline i16 i16_shl23(i16 a) { return RVV(vsll_vx_i32m4)(a, 23, ALL); }
static inline i16 i16_shr23(i16 a) { return RVV(vsra_vx_i32m4)(a, 23, ALL); }
#undef ALL
