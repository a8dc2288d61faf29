/* SPDX-License-Identifier: MIT */
/* pool.h - a pool counts the plans that use it: the last owner ends its threads. */
#ifndef RILL_LIB_POOL_H
#define RILL_LIB_POOL_H
#include "engine/base/crew.h"
#include "rill.h"

#include <stdatomic.h>

struct rill_pool {
    atomic_uint refs;
    struct crew *crew;
};

/* One more owner, who calls rill_pool_free. */
rill_pool *pool_ref(rill_pool *p);
#endif
