/* SPDX-License-Identifier: MIT */
#if !defined(__AVX2__) || !defined(__FMA__)
#error "build with -mavx2 -mfma: see kernels/meson.build"
#endif
#include <stddef.h>
#define ISA avx2
#include "kernels/vec_avx2.h"
#include "kernels/vec_q8_avx2.h"
#include "kernels/isa_tmpl.h"
