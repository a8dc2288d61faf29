/* SPDX-License-Identifier: MIT */
/* rill run: how much it may keep. */
#include "tools/run.h"

#include <sys/resource.h>
#include <unistd.h>

#define MB 1000000

size_t run_memory_max(int64_t mb)
{
    const long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    size_t all = pages > 0 && page > 0 ? (size_t) pages * (size_t) page : SIZE_MAX;
    struct rlimit r;
    if (mb)
        return (size_t) mb * MB;
    if (!getrlimit(RLIMIT_AS, &r) && r.rlim_cur < all)
        all = (size_t) r.rlim_cur;
    return all / 2;
}

size_t run_memory_left(const struct arena *all, const struct arena *more)
{
    const size_t taken = all->used_bytes + more->used_bytes;
    return taken < all->limit_bytes ? all->limit_bytes - taken : 1;
}

rill_status run_memory_out(const struct arena *a, rill_error *err)
{
    return a->at_limit
        ? run_memory_told(a,
                          err_set(err, RILL_LIMIT, "what is kept is over the limit of %zu bytes",
                                  a->limit_bytes),
                          err)
        : err_set(err, RILL_NOMEM, "out of memory");
}

rill_status run_memory_told(const struct arena *a, rill_status s, rill_error *err)
{
    const rill_error was = *err;
    return s == RILL_LIMIT && a->at_limit
        ? err_set(err, s, "%.400s; --max-memory MB raises it", was.text)
        : s;
}
