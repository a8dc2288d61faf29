/* SPDX-License-Identifier: MIT */
#if !defined(__AVXVNNI__) && !(defined(__AVX512VNNI__) && defined(__AVX512VL__))
#error "build with -mavx2 -mavxvnni: see kernels/meson.build"
#endif
#include <stddef.h>
#ifndef ISA /* tests build it with the other encoding */
#define ISA avxvnni
#endif
#include "kernels/unroll.h"
#include "kernels/vec_q8_avxvnni.h"
#include "kernels/isa_q8_tmpl.h"
