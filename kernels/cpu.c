/* SPDX-License-Identifier: MIT */
/* Built with no instruction-set flags: it runs before anyone knows what the machine can do. */
#include "kernels/kern.h"

unsigned kern_cpu_detect(void)
{
    unsigned cpu = 0;
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        cpu |= KERN_AVX2;
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))
        cpu |= KERN_AVX512;
#endif
    return cpu;
}
