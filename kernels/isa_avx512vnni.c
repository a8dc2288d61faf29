/* SPDX-License-Identifier: MIT */
#if !defined(__AVX512VNNI__) || !defined(__AVX512BW__)
#error "build with -mavx512{f,bw,dq,vl,vnni}: see kernels/meson.build"
#endif
#include <stddef.h>
#define ISA avx512vnni
#include "kernels/unroll.h"
#include "kernels/vec_q8_avx512vnni.h"
#include "kernels/isa_q8_tmpl.h"
