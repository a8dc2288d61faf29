/* SPDX-License-Identifier: MIT */
#if !defined(__aarch64__) || !defined(__ARM_NEON)
#error "build for aarch64 with Advanced SIMD: see kernels/meson.build"
#endif
#include <stddef.h>
#define ISA neon
#include "kernels/vec_neon.h"
#include "kernels/vec_q8_neon.h"
#include "kernels/isa_tmpl.h"
