/* SPDX-License-Identifier: MIT */
#if !defined(__aarch64__) || !defined(__ARM_FEATURE_DOTPROD)
#error "build with -march=armv8.2-a+dotprod: see kernels/meson.build"
#endif
#include <stddef.h>
#define ISA dotprod
#include "kernels/unroll.h"
#include "kernels/vec_q8_neon.h"
#include "kernels/isa_q8_tmpl.h"
