/* SPDX-License-Identifier: MIT */
#include "engine/sizes/cache.h"

static uint64_t leaf_now(struct size_leaf leaf, const struct size_source *sources)
{
    const struct size_source *s = &sources[leaf.tensor];
    return leaf.axis < 0         ? s->writes
        : leaf.axis < s->t->rank ? (uint64_t) s->t->dim[leaf.axis]
                                 : UINT64_MAX;
}

bool size_cache_init(struct size_cache *c, const struct sizes *s, uint32_t e, struct arena *a)
{
    *c = (struct size_cache) { .sizes = s, .e = e };
    bool *reads = arena_array(a, bool, s->n_leaves + 1u);
    c->seen = arena_array(a, struct size_seen, s->n_leaves + 1u);
    if (!reads || !c->seen)
        return false;
    size_leaves_mark(s, e, reads);
    for (uint32_t i = 0; i < s->n_leaves; i++)
        if (reads[i])
            c->seen[c->n_seen++].leaf = size_leaf_at(s, i);
    return true;
}

static bool is_fresh(const struct size_cache *c, const struct size_source *sources)
{
    for (uint32_t i = 0; i < c->n_seen; i++)
        if (c->seen[i].was != leaf_now(c->seen[i].leaf, sources))
            return false;
    return c->is_known;
}

rill_status size_cached(struct size_cache *c, const struct size_source *sources, int64_t *ret,
                        rill_error *reterr)
{
    int64_t v;
    if (is_fresh(c, sources)) {
        c->hits++;
        *ret = c->value;
        return RILL_OK;
    }
    c->misses++;
    c->is_known = false;
    for (uint32_t i = 0; i < c->n_seen; i++)
        c->seen[i].was = leaf_now(c->seen[i].leaf, sources);
    TRY(size_value(c->sizes, c->e, sources, &v, reterr));
    c->is_known = true;
    c->value = v;
    *ret = v;
    return RILL_OK;
}
