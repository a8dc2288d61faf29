/* SPDX-License-Identifier: MIT */
/* lengths.h - what holds for every length of the stream.
 *
 * Sizes are expressions of the length which grow evenly in the long run (engine/base/dim_even.h).
 * What is asked of them holds for all lengths if it holds for those below some end. */
#ifndef RILL_PULSE_LENGTHS_H
#define RILL_PULSE_LENGTHS_H
#include "pulse/pulser.h"

#define SIZES_MAX 3

struct lengths {
    int64_t end, period, rise[SIZES_MAX]; /* what each size grows by every period */
};

/* Lengths that are `rest` more than a multiple of `of`. */
struct remainder {
    int64_t of, rest;
};

/* Of sizes d[0..n), compared with each other and with numbers up to `margin`: whatever holds for
 * the lengths 0..end - 1 that dims_allow allows, or for all of them where `any`, holds for every
 * such length. False: not known. */
bool lengths_decide(const struct pulser *p, const struct dim *const *d, unsigned n, int64_t margin,
                    bool any, struct lengths *ret);

/* The least and the largest value over all lengths that are allowed; false where it has none, or no
 * bound. */
bool lengths_range(const struct pulser *p, const struct dim *d, int64_t *ret_least,
                   int64_t *ret_most);

/* The least length above 0 from which on a and b are the same; with b NULL, from which on a grows
 * evenly. 0: none is known. */
int64_t lengths_even_from(const struct pulser *p, const struct dim *a, const struct dim *b);

/* Whether sequences of that length are allowed, are refused by nobody, and anything comes of them.
 */
bool lengths_matter(const struct pulser *p, int64_t at);

/* Whether it is less than 0 for a length that is allowed, or that is not known. */
bool lengths_negative(const struct pulser *p, const struct dim *d);
/* The same of d less so many, but where d is 0. */
bool lengths_short(const struct pulser *p, const struct dim *d, int64_t less);
#endif
