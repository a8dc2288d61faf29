/* SPDX-License-Identifier: MIT */
/* masks_floats.h - masks of positions as floats, and of ops that few masks have. */
#ifndef TESTS_PULSE_MASKS_FLOATS_H
#define TESTS_PULSE_MASKS_FLOATS_H
#include "tests/pulse/masks.h"

struct at {
    uint32_t x, length, i, j; /* [T, 1] and [1, T] */
    int width;
};

/* 0 <= i - j <= left. */
static inline uint32_t band(struct gb *b, uint32_t i, uint32_t j, uint32_t zero, uint32_t left)
{
    uint32_t d = GB(b, "Sub", "", i, j);
    return GB(b, "And", "", GB(b, "GreaterOrEqual", "", d, zero),
              GB(b, "LessOrEqual", "", d, left));
}

static inline uint32_t int_band(struct gb *b, uint32_t i, uint32_t j, int64_t left)
{
    return band(b, i, j, gb_int(b, 0), gb_int(b, left));
}

static inline uint32_t as_f32(struct gb *b, uint32_t x)
{
    return GB(b, "Cast", "to=1", x);
}

/* Those from HALF_BOUND to TWICE. */
uint32_t mask_between(struct gb *b, const struct written *t, const struct at *a);
#endif
