/* SPDX-License-Identifier: MIT */
/* fuzz.h - a target is LLVMFuzzerTestOneInput: for libFuzzer, and for regress.c, which plays the
 * files of a folder and mutations of them in a fixed order. Reading past the end of the bytes gives
 * zeros, so that any bytes are a plan. */
#ifndef TESTS_FUZZ_FUZZ_H
#define TESTS_FUZZ_FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

/* 24 bits; for mutations in a fixed order. */
static inline uint32_t next_random(uint32_t *s)
{
    *s = *s * 1664525u + 1013904223u;
    return *s >> 8;
}

/* From memory of exact size, so that a sanitizer sees one byte too far. */
static inline void fuzz_exact(const void *bytes, size_t n)
{
    uint8_t *exact = malloc(n ? n : 1);
    if (!exact)
        abort();
    memcpy(exact, bytes, n);
    LLVMFuzzerTestOneInput(exact, n);
    free(exact);
}

struct bytes_in {
    const uint8_t *at, *end;
};

static inline uint8_t take_u8(struct bytes_in *b)
{
    return b->at < b->end ? *b->at++ : 0;
}

static inline uint32_t take_u16(struct bytes_in *b)
{
    uint32_t low = take_u8(b);
    return low | (uint32_t) take_u8(b) << 8;
}

/* least..most, where most - least is under 65536. */
static inline int take_int(struct bytes_in *b, int least, int most)
{
    unsigned n = (unsigned) (most - least) + 1;
    return least + (int) ((n > 256 ? take_u16(b) : take_u8(b)) % n);
}

#endif
