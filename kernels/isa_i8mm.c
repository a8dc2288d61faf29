/* SPDX-License-Identifier: MIT */
#if !defined(__aarch64__) || !defined(__ARM_FEATURE_DOTPROD) || !defined(__ARM_FEATURE_MATMUL_INT8)
#error "build with -march=armv8.2-a+dotprod+i8mm: see kernels/meson.build"
#endif
#include <stddef.h>
#define ISA i8mm
#include "kernels/unroll.h"
#include "kernels/vec_q8_neon.h"
#include "kernels/isa_q8_tmpl.h"
