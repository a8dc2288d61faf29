/* SPDX-License-Identifier: MIT */
/* check_q8.h - bytes that the checks of 8-bit kernels are made of. */
#ifndef RILL_TESTS_KERN_CHECK_Q8_H
#define RILL_TESTS_KERN_CHECK_Q8_H
#include "tests/kern/check.h"

enum variant {
    LOW = 1 << 0, /* buffers touch the earlier guard page */
    X_SIGNED = 1 << 1,
    W_SIGNED = 1 << 2,
    X_ZERO = 1 << 3,  /* rows have a zero */
    X_ZEROS = 1 << 4, /* each its own */
    W_ZERO = 1 << 5,
    W_ZEROS = 1 << 6,
    BIAS = 1 << 7,
    EXTREME = 1 << 8, /* nothing but the least and greatest values */
    TURNED = 1 << 9,  /* weights lie term by term */
    FLOATS = 1 << 10, /* sums come as f32 */
    BELL = 1 << 11,   /* weights as trained nets have them: few outliers */
    VARIANTS = 1 << 12,
};

uint8_t byte_rand(struct check *t, unsigned variant);
int32_t number(uint8_t b, bool is_signed);
#endif
