/* SPDX-License-Identifier: MIT */
/* q8_fours.h - which groups of four terms meet in 16 bits (kernels/q8.h, sums of 16 bits). */
#ifndef KERN_Q8_FOURS_H
#define KERN_Q8_FOURS_H
#include "kernels/q8.h"

#define FOURS_GROUPS (KERN_Q8_SPAN / KERN_Q8_TERMS) /* of a span, at most */

/* A group, or half of the weights of one. */
struct fours_part {
    uint8_t group, half; /* half: 0: the whole; 1, 2: what is rounded to zero, and the rest */
    bool is_taken;
    unsigned size;
    /* Of 16 outputs' two pairs of weights, positive and negative ones apart: halves of their sums,
     * rounded up */
    uint8_t sums[64];
};

/* The parts of one span of one panel: two parts after two meet, `fours` times, then single ones. */
struct fours {
    size_t groups, n, fours;
    struct fours_part parts[2 * FOURS_GROUPS];
    uint16_t order[2 * FOURS_GROUPS];
};

/* Of groups at w, 64 bytes each. */
void fours_find(struct fours *ret, const int8_t *w, size_t groups);
/* The weights of a part: to[64]. */
void fours_weights(int8_t *to, const int8_t *w, const struct fours_part *part);
#endif
