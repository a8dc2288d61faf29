/* SPDX-License-Identifier: MIT */
/* float_mode.h - floats that are smaller than normal ones are 0 in all that is computed: bits do
 * not depend on how the calling thread was set. */
#ifndef RILL_ENGINE_BASE_FLOAT_MODE_H
#define RILL_ENGINE_BASE_FLOAT_MODE_H
#include <stdint.h>

#if defined(__x86_64__)
#include <xmmintrin.h>
#define FLOATS_FLUSH 0x8040u /* FTZ, bit 15; DAZ, bit 6 */
#elif defined(__aarch64__) || defined(__ARM_FP)
#define FLOATS_FLUSH ((uint64_t) 1 << 24)
#else
#define FLOATS_FLUSH 0u
#endif

static inline uint64_t floats_mode(void)
{
#if defined(__x86_64__)
    return _mm_getcsr();
#elif defined(__aarch64__)
    uint64_t fpcr;
    __asm__ volatile("mrs %0, fpcr" : "=r"(fpcr));
    return fpcr;
#elif defined(__ARM_FP)
    uint32_t fpscr;
    __asm__ volatile("vmrs %0, fpscr" : "=r"(fpscr));
    return fpscr;
#else
    return 0;
#endif
}

static inline void floats_set(uint64_t mode)
{
#if defined(__x86_64__)
    _mm_setcsr((unsigned) mode);
#elif defined(__aarch64__)
    __asm__ volatile("msr fpcr, %0" : : "r"(mode));
#elif defined(__ARM_FP)
    __asm__ volatile("vmsr fpscr, %0" : : "r"((uint32_t) mode));
#else
    (void) mode;
#endif
}

/* The thread flushes them from here on; returns the mode that it had. Real-time safe. */
static inline uint64_t floats_flush(void)
{
    uint64_t was = floats_mode();
    if ((was & FLOATS_FLUSH) != FLOATS_FLUSH)
        floats_set(was | FLOATS_FLUSH);
    return was;
}

/* Back to that mode. */
static inline void floats_restore(uint64_t was)
{
    if ((was & FLOATS_FLUSH) != FLOATS_FLUSH)
        floats_set(was);
}
#endif
