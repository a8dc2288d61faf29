/* SPDX-License-Identifier: MIT */
#include "engine/base/dim_lengths.h"

#include <stdio.h>

#define LEAST_MAX 65536
#define RESTS_OF_MAX 1024 /* the largest multiple over which rests are looked at */

struct sought {
    struct dims *ds;
    const struct dim *symbol, *more; /* more: 0 or more, of which nothing else is claimed */
    dim_holds *holds;
    void *ctx;
};

/* Multiples of k from the `least`-th on and so much more, whatever is claimed of the symbol itself.
 */
struct lengths_sought {
    int64_t k, least, rest;
};

static bool holds_from(const struct sought *s, struct lengths_sought l)
{
    const struct dim *multiple = dim_mul_int(s->ds, dim_add_int(s->ds, s->more, l.least), l.k);
    return s->holds(s->ctx, dim_add_int(s->ds, multiple, l.rest));
}

/* The least such number; 0: none up to LEAST_MAX, or it is not needed. */
static int64_t least_of(const struct sought *s, int64_t k)
{
    int64_t low = 0, high = 1;
    while (high <= LEAST_MAX && !holds_from(s, (struct lengths_sought) { k, high, 0 })) {
        low = high;
        high *= 2;
    }
    while (high <= LEAST_MAX && high - low > 1) {
        const int64_t middle = low + (high - low) / 2;
        *(holds_from(s, (struct lengths_sought) { k, middle, 0 }) ? &high : &low) = middle;
    }
    return high <= LEAST_MAX ? high : 0;
}

/* The least remainder of k under which it holds; 0: there is none, or k is too large. */
static int64_t rest_of(const struct sought *s, int64_t k)
{
    for (int64_t rest = 1; rest < k && k <= RESTS_OF_MAX; rest++)
        if (holds_from(s, (struct lengths_sought) { k, 0, rest }))
            return rest;
    return 0;
}

static void assertions_print(const struct sought *s, struct lengths_sought l, char *ret, size_t cap)
{
    const char *name = dim_name(s->symbol);
    const long long k = l.k, rest = l.rest;
    int n = 0;
    if (k > 1 && rest)
        n = snprintf(ret, cap, " --assert \"%.40s == %lld*(%.40s/%lld) + %lld\"", name, k, name, k,
                     rest);
    else if (k > 1)
        n = snprintf(ret, cap, " --assert \"%.40s == %lld*(%.40s/%lld)\"", name, k, name, k);
    if (l.least > 0 && n >= 0 && (size_t) n < cap)
        snprintf(ret + n, cap - (size_t) n, " --assert \"%.40s >= %lld\"", name,
                 (long long) (l.k * l.least));
}

/* Of the divisors of `all`: multiples, or else what is left over them. */
static bool lengths_find(const struct sought *s, int64_t all, bool rests,
                         struct lengths_sought *ret)
{
    for (int64_t k = 1; k <= all && k <= DIM_MULTIPLE_MAX; k++) {
        struct lengths_sought l = { .k = k };
        if (all % k)
            continue;
        const bool plain = !rests && k > 1 && holds_from(s, l);
        l.least = plain || rests ? 0 : least_of(s, k);
        l.rest = rests ? rest_of(s, k) : 0;
        *ret = l;
        if (plain || l.least || l.rest)
            return true;
    }
    return false;
}

bool dim_lengths_assert(struct dims *ds, const struct dim *symbol, int64_t all, dim_holds *holds,
                        void *ctx, char *ret, size_t cap)
{
    const struct sought s = { ds, symbol, dim_symbol(ds, "_more/than/least"), holds, ctx };
    struct lengths_sought l;
    rill_error unused;
    ret[0] = 0;
    if (dims_assume(ds, s.more, &unused) != RILL_OK)
        return false;
    const bool found = lengths_find(&s, all, false, &l) || lengths_find(&s, all, true, &l);
    if (found)
        assertions_print(&s, l, ret, cap);
    return found;
}
