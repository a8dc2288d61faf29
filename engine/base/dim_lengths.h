/* SPDX-License-Identifier: MIT */
/* dim_lengths.h - lengths under which something of sizes would hold, to be proposed as assertions.
 */
#ifndef RILL_ENGINE_DIM_LENGTHS_H
#define RILL_ENGINE_DIM_LENGTHS_H
#include "engine/base/dim.h"

/* Whether it holds where the symbol is `length`, an expression of another symbol. */
typedef bool dim_holds(void *ctx, const struct dim *length);

#define DIM_MULTIPLE_MAX (1 << 20) /* of those that are looked at */

/* Looks for lengths under which it holds: a multiple of one of the divisors of `all`, from a least
 * length on if need be, or as much more than one as it leaves; writes them as `--assert ".."`, each
 * with a space in front. False: none are seen, and ret is "". */
bool dim_lengths_assert(struct dims *ds, const struct dim *symbol, int64_t all, dim_holds *holds,
                        void *ctx, char *ret, size_t cap);
#endif
