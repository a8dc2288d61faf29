/* SPDX-License-Identifier: MIT */
#include "rill.h"

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

void rill_thread_prepare(void)
{
#if defined(__x86_64__)
    _mm_setcsr(_mm_getcsr() | 0x8040);      /* FTZ, bit 15; DAZ, bit 6 */
#elif defined(__aarch64__)
    uint64_t fpcr;
    __asm__ volatile("mrs %0, fpcr" : "=r"(fpcr));
    __asm__ volatile("msr fpcr, %0" : : "r"(fpcr | (uint64_t) 1 << 24));
#endif
}
