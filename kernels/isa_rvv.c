/* SPDX-License-Identifier: MIT */
/* Products and element-wise functions with RISC-V's vectors of any length; the rest is plain C. */
#ifndef __riscv_vector
#error "build with -march=rv64gcv: see kernels/meson.build"
#endif
#define ISA rvv
#include "kernels/isa_name.h"
#include "kernels/kern.h"
#include "kernels/vec_rvv.h"
#include <math.h>
#include <stdbool.h>

#pragma GCC diagnostic ignored "-Wunused-function" /* loops of programs, which it has not */
#include "kernels/map_tmpl.h"
#include "kernels/gemm_rvv.h"

void kern_fill_rvv(struct kern *k);
void kern_fill_rvv(struct kern *k)
{
    k->isa = "rvv";
#define K(name) k->name = FN(name);
#define X(number, name, operands) K(name##_f32)
    KERN_POINTWISE(X)
    K(adds_f32)
    K(muls_f32)
    K(divs_f32)
    K(exp_adds_f32)
    K(exp_adds_divs_f32)
    K(elu_f32)
    K(gemm_f32)
    K(gemm_rows_f32)
    K(gemm_at_f32)
    K(gemm_block_f32)
    K(gemm_each_f32)
#undef X
#undef K
}
