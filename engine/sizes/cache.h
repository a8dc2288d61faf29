/* SPDX-License-Identifier: MIT */
/* cache.h - the value of a size, kept while nothing that it read was written.
 *
 * What was read is noted once for each leaf of the expression, however often a range reads it and
 * whether it did at all: an element is fresh while the write counter of its buffer stands, a size
 * while it is equal. Elements are not read again to find out. */
#ifndef RILL_ENGINE_SIZES_CACHE_H
#define RILL_ENGINE_SIZES_CACHE_H
#include "engine/sizes/expr.h"

struct size_seen {
    struct size_leaf leaf;
    uint64_t was; /* the write counter, or the size */
};

struct size_cache {
    const struct sizes *sizes;
    uint32_t e;
    struct size_seen *seen; /* of the leaves that e reads */
    uint32_t n_seen;
    bool is_known;
    int64_t value;
    uint64_t hits, misses;
};

/* false: no memory. The cache lives in a; s may not grow as long as it is used. */
bool size_cache_init(struct size_cache *c, const struct sizes *s, uint32_t e, struct arena *a);

/* What size_value says; of a failure nothing is kept. No allocation. */
rill_status size_cached(struct size_cache *c, const struct size_source *sources, int64_t *ret,
                        rill_error *reterr);
#endif
