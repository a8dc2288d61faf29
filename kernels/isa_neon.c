/* SPDX-License-Identifier: MIT */
#if !defined(__ARM_NEON) || !defined(__ARM_FEATURE_FMA)
#error "build with Advanced SIMD and fused multiply-add: see kernels/meson.build"
#endif
#include <stddef.h>
#define ISA neon
#include "kernels/vec_neon.h"
#include "kernels/vec_q8_neon.h"
#include "kernels/isa_tmpl.h"
