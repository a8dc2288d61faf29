/* SPDX-License-Identifier: MIT */
/* Threads that the runs of plans share their large steps with. */
#include "lib/pool.h"
#include "engine/base/sized.h"

#include <stdlib.h>
#include <unistd.h>

#define SPIN_US 50
#define SPIN_US_MAX 100000

static unsigned threads_choose(uint32_t asked)
{
    long n = asked ? (long) asked : sysconf(_SC_NPROCESSORS_ONLN);
    return n < 1 ? 1 : n > CREW_THREADS_MAX ? CREW_THREADS_MAX : (unsigned) n;
}

rill_status rill_pool_new(rill_pool **ret, const rill_pool_opts *opts, rill_error *reterr)
{
    rill_pool_opts own = { .struct_bytes = sizeof own };
    if (opts)
        TRY(sized_take(&sized_pool_opts, &own, opts, reterr));
    if (own.threads > CREW_THREADS_MAX)
        return err_set(reterr, RILL_INVALID, "a pool of %u threads: 1 to %d are possible",
                       own.threads, CREW_THREADS_MAX);
    if (own.spin_us > SPIN_US_MAX)
        return err_set(reterr, RILL_INVALID, "spin_us is %u: at most %d is possible", own.spin_us,
                       SPIN_US_MAX);
    rill_pool *p = calloc(1, sizeof *p);
    if (!p)
        return err_set(reterr, RILL_NOMEM, "out of memory");
    atomic_init(&p->refs, 1);
    rill_status s = crew_new(&p->crew, threads_choose(own.threads),
                             own.spin_us ? own.spin_us : SPIN_US, reterr);
    if (s != RILL_OK) {
        free(p);
        return s;
    }
    *ret = p;
    return RILL_OK;
}

rill_pool *pool_ref(rill_pool *p)
{
    atomic_fetch_add(&p->refs, 1);
    return p;
}

rill_pool *rill_pool_free(rill_pool *p)
{
    if (!p || atomic_fetch_sub(&p->refs, 1) != 1)
        return NULL;
    crew_free(p->crew);
    free(p);
    return NULL;
}

unsigned rill_pool_threads(const rill_pool *p)
{
    return crew_threads(p->crew);
}
