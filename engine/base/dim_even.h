/* SPDX-License-Identifier: MIT */
/* dim_even.h - what expressions of one symbol do in the long run.
 *
 * From some value of the symbol on each of them grows by a fixed number every period: sums,
 * quotients rounded down, least, largest, comparisons, and products of one that grows and others
 * that are the same. What holds for all values below the end of the first period behind all that
 * happens once, then holds for every value: it is no trial. */
#ifndef RILL_ENGINE_BASE_DIM_EVEN_H
#define RILL_ENGINE_BASE_DIM_EVEN_H
#include "engine/base/dim.h"

/* d(v + period) = d(v) + rise for every v >= from; or d has no value at both. */
struct dim_even {
    int64_t from, period, rise;
};

/* Values 0 and up. False: it has another symbol, is of another form, or happens too far on (past
 * 2^18, or after too long a period). */
bool dim_even(const struct dim *d, const struct dim *symbol, struct dim_even *ret);

/* For all of d[0..n) at once: one period (rises in ret[]) and one start, from which on also what
 * dims_allow says repeats, and no difference of two of them that changes from period to period is
 * within -margin..margin. ds NULL: every value is allowed. */
bool dims_even(const struct dims *ds, const struct dim *symbol, const struct dim *const *d,
               unsigned n, int64_t margin, struct dim_even *ret);
#endif
