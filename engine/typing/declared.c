/* SPDX-License-Identifier: MIT */
#include "engine/typing/declared.h"
#include "engine/typing/half.h"

#include <inttypes.h>
#include <stdio.h>

static bool fits(const struct declared *d, const struct fact *is)
{
    if (d->type && d->type != is->type)
        return false;
    for (int i = 0; d->rank == is->rank && i < d->rank; i++)
        if (d->dim[i] >= 0 && dim_is_const(is->shape[i]) && !dim_is(is->shape[i], d->dim[i]))
            return false;
    return d->rank < 0 || d->rank == is->rank;
}

/* As fact_print() has it; "?": a size that is not said. */
static void declared_print(const struct declared *d, char *buf, size_t cap)
{
    size_t at = (size_t) snprintf(buf, cap, "%s%s", dtype_name(d->type), d->rank < 0 ? "" : "[");
    for (int i = 0; i < d->rank && at < cap; i++) {
        char size[24] = "?";
        if (d->dim[i] >= 0)
            snprintf(size, sizeof size, "%" PRId64, d->dim[i]);
        at += (size_t) snprintf(buf + at, cap - at, "%s%s", i ? "," : "", size);
    }
    if (d->rank >= 0 && at < cap)
        snprintf(buf + at, cap - at, "]");
}

static bool sizes_agree(const struct fact *a, const struct fact *b)
{
    for (int i = 0; a->rank == b->rank && i < a->rank; i++)
        if (dim_is_const(a->shape[i]) && dim_is_const(b->shape[i]) && a->shape[i] != b->shape[i])
            return false;
    return a->rank == b->rank;
}

rill_status declared_check(const struct node *n, const struct declared *d, const struct fact *is,
                           const struct fact *like, rill_error *reterr)
{
    char said[200], made[200];
    if (!d || !is)
        return RILL_OK;
    struct fact f = half_in_file(is);
    f.type = fact_number(&f);
    fact_print(&f, made, sizeof made);
    if (like && !sizes_agree(&f, like)) {
        fact_print(like, said, sizeof said);
        return op_fail(reterr, RILL_MALFORMED, n,
                       "'%.80s' makes %s of %s, to which it is added; it may not be larger",
                       d->tensor, made, said);
    }
    if (fits(d, &f))
        return RILL_OK;
    declared_print(d, said, sizeof said);
    return op_fail(reterr, RILL_MALFORMED, n, "the file says that tensor '%.80s' is %s; %s is made",
                   d->tensor, said, made);
}
