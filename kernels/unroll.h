/* SPDX-License-Identifier: MIT */
/* unroll.h - loops over a tile of registers. clang obeys a number only after it has decided which
 * arrays are registers: its tiles would pass through memory, and take it minutes to compile. */
#ifndef KERN_UNROLL_H
#define KERN_UNROLL_H

#ifdef __clang__
#define V16_UNROLL _Pragma("clang loop unroll(full)")
#else
#define V16_UNROLL _Pragma("GCC unroll 16")
#endif
#endif
