/* SPDX-License-Identifier: MIT */
/* A crew where there is one thread: who has the work does all of it. */
#include "engine/base/crew.h"

#include <stdlib.h>

struct crew {
    bool busy;
};

rill_status crew_new(struct crew **ret, unsigned threads, unsigned spin_us, rill_error *reterr)
{
    (void) spin_us;
    if (threads > 1)
        return err_set(reterr, RILL_UNSUPPORTED, "%u threads: this machine has one", threads);
    *ret = calloc(1, sizeof **ret);
    return *ret ? RILL_OK : err_set(reterr, RILL_NOMEM, "out of memory");
}

struct crew *crew_free(struct crew *c)
{
    free(c);
    return NULL;
}

unsigned crew_threads(const struct crew *c)
{
    (void) c;
    return 1;
}

bool crew_run(struct crew *c, void (*share)(void *arg, unsigned i), void *arg, unsigned n)
{
    if (c->busy)
        return false;
    c->busy = true;
    for (unsigned i = 0; i < n; i++)
        share(arg, i);
    c->busy = false;
    return true;
}
