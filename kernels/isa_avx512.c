/* SPDX-License-Identifier: MIT */
#if !defined(__AVX512DQ__) || !defined(__AVX512VL__)
#error "build with -mavx512{f,bw,dq,vl}: see kernels/meson.build"
#endif
#include <stddef.h>
#define ISA avx512
#include "kernels/vec_avx512.h"
#include "kernels/isa_tmpl.h"
