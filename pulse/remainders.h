/* SPDX-License-Identifier: MIT */
/* remainders.h - lengths of one remainder under which something would stream, to be proposed as an
 * assertion. */
#ifndef RILL_PULSE_REMAINDERS_H
#define RILL_PULSE_REMAINDERS_H
#include "pulse/lengths.h"

/* Whether something holds for all such lengths. */
typedef bool remainder_holds(const void *ctx, struct remainder r);

/* Looks for lengths that are allowed and under which it holds: by sizes d[0..n) of what it is
 * about. Those come first under which all sizes of the graph are some, and all that it resizes can
 * be: *ret_all. False: there are none. */
bool remainder_find(const struct pulser *p, const struct dim *const *d, unsigned n,
                    remainder_holds *holds, const void *ctx, struct remainder *ret, bool *ret_all);

/* Those at which a and b are the same. */
bool remainder_of_same(const struct pulser *p, const struct dim *a, const struct dim *b,
                       struct remainder *ret);

/* As an assertion, `T == 8*(T/8) + 3`. */
void remainder_print(const struct pulser *p, struct remainder r, char *ret, size_t cap);
#endif
