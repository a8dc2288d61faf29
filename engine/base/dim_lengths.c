/* SPDX-License-Identifier: MIT */
#include "engine/base/dim_lengths.h"

#include <stdio.h>

#define LEAST_MAX 65536

struct sought {
    struct dims *ds;
    const struct dim *symbol, *more; /* more: 0 or more, of which nothing else is claimed */
    dim_holds *holds;
    void *ctx;
};

/* Of multiples of k from the `least`-th on, whatever is claimed of the symbol itself. */
static bool holds_from(const struct sought *s, int64_t k, int64_t least)
{
    return s->holds(s->ctx, dim_mul_int(s->ds, dim_add_int(s->ds, s->more, least), k));
}

/* The least such number; 0: none up to LEAST_MAX, or it is not needed. */
static int64_t least_of(const struct sought *s, int64_t k)
{
    int64_t low = 0, high = 1;
    while (high <= LEAST_MAX && !holds_from(s, k, high)) {
        low = high;
        high *= 2;
    }
    while (high <= LEAST_MAX && high - low > 1) {
        const int64_t middle = low + (high - low) / 2;
        *(holds_from(s, k, middle) ? &high : &low) = middle;
    }
    return high <= LEAST_MAX ? high : 0;
}

static void assertions_print(const struct sought *s, int64_t k, int64_t least, char *ret,
                             size_t cap)
{
    const char *name = dim_name(s->symbol);
    int n = 0;
    if (k > 1)
        n = snprintf(ret, cap, " --assert \"%.40s == %lld*(%.40s/%lld)\"", name, (long long) k,
                     name, (long long) k);
    if (least > 0 && n >= 0 && (size_t) n < cap)
        snprintf(ret + n, cap - (size_t) n, " --assert \"%.40s >= %lld\"", name,
                 (long long) (k * least));
}

bool dim_lengths_assert(struct dims *ds, const struct dim *symbol, int64_t all, dim_holds *holds,
                        void *ctx, char *ret, size_t cap)
{
    const struct sought s = { ds, symbol, dim_symbol(ds, "_more/than/least"), holds, ctx };
    rill_error unused;
    ret[0] = 0;
    if (dims_assume(ds, s.more, &unused) != RILL_OK)
        return false;
    for (int64_t k = 1; k <= all && k <= DIM_MULTIPLE_MAX; k++) {
        if (all % k)
            continue;
        const bool plain = k > 1 && holds_from(&s, k, 0);
        const int64_t least = plain ? 0 : least_of(&s, k);
        if (plain || least) {
            assertions_print(&s, k, least, ret, cap);
            return true;
        }
    }
    return false;
}
