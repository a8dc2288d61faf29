/* SPDX-License-Identifier: MIT */
#include "engine/base/sized.h"

#include <stddef.h>
#include <string.h>

#define END(type, field) (offsetof(type, field) + sizeof(((type *) 0)->field))

/* first: the last field of the first version of this soname, which stays; last: the last field of
 * this version. No padding may follow it: callers leave that unset, and the next field would be
 * read there. */
#define SIZED(name, type, first, last)                                                             \
    _Static_assert(offsetof(type, struct_bytes) == 0, "the size comes first");                     \
    _Static_assert(END(type, last) == sizeof(type), "padding at the end");                         \
    _Static_assert(sizeof(type) <= SIZED_BYTES_MAX, "too long");                                   \
    const struct sized name = { #type, END(type, first), sizeof(type) }

SIZED(sized_model_opts, rill_model_opts, copy, shown_as);
SIZED(sized_plan_opts, rill_plan_opts, profile, pool);
SIZED(sized_pool_opts, rill_pool_opts, spin_us, spin_us);
SIZED(sized_sink_opts, rill_sink_opts, preroll_ms, tokens_per_second);
SIZED(sized_model_info, rill_model_info, sha256, sha256);
SIZED(sized_plan_info, rill_plan_info, cpu, shared_steps);
SIZED(sized_port, rill_port, offset_den, first_frames);
SIZED(sized_shape, rill_shape, dims, dims);
SIZED(sized_alignment, rill_alignment, late_frames, late_frames);
SIZED(sized_step_time, rill_step_time, runs, runs);
SIZED(sized_event, rill_event, words, words);

static uint32_t size_of(const void *callers)
{
    uint32_t n;
    memcpy(&n, callers, sizeof n);
    return n;
}

rill_status sized_check(const struct sized *t, const void *callers, rill_error *err)
{
    uint32_t n = size_of(callers);
    if (n >= t->first_bytes && n <= SIZED_BYTES_MAX)
        return RILL_OK;
    return err_set(err, RILL_INVALID,
                   "%s.struct_bytes is %u, where %u to %d are possible: set it to sizeof(%s)",
                   t->name, n, t->first_bytes, SIZED_BYTES_MAX, t->name);
}

static uint32_t shorter(const struct sized *t, uint32_t bytes)
{
    return bytes < t->bytes ? bytes : t->bytes;
}

rill_status sized_take(const struct sized *t, void *ret, const void *callers, rill_error *err)
{
    TRY(sized_check(t, callers, err));
    const unsigned char *c = callers;
    uint32_t n = size_of(callers);
    for (uint32_t i = t->bytes; i < n; i++)
        if (c[i])
            return err_set(err, RILL_INVALID,
                           "%s has %u bytes, of which this library knows %u, and byte %u is not 0: "
                           "something is asked for that only a later rill has",
                           t->name, n, t->bytes, i);
    memset(ret, 0, t->bytes);
    memcpy(ret, c, shorter(t, n));
    memcpy(ret, &t->bytes, sizeof t->bytes);
    return RILL_OK;
}

rill_status sized_give(const struct sized *t, void *callers, const void *from, rill_error *err)
{
    TRY(sized_check(t, callers, err));
    uint32_t n = size_of(callers);
    memset(callers, 0, n);
    memcpy(callers, from, shorter(t, n));
    memcpy(callers, &n, sizeof n);
    return RILL_OK;
}

rill_status sized_list(struct sized_list *ret, const struct sized *t, void *callers)
{
    TRY(sized_check(t, callers, NULL));
    *ret = (struct sized_list) { t, callers, size_of(callers) };
    return RILL_OK;
}

void sized_list_give(const struct sized_list *l, uint32_t i, const void *from)
{
    unsigned char *to = l->first + (size_t) i * l->bytes;
    memcpy(to, &l->bytes, sizeof l->bytes);
    sized_give(l->type, to, from, NULL);
}
