/* SPDX-License-Identifier: MIT */
/* Which models are unloaded where memory is short. */
#include "daemon/models/registry.h"

static bool model_is_evictable(const struct registry *r, const struct model *m)
{
    return m->state == MODEL_READY && m->refs == 1 && m->owner && m->owner != &r->memory->own &&
        !model_is_listed(r->conf->models_preload, m->name);
}

size_t registry_evictable_bytes(const struct registry *r, const struct owner *o,
                                size_t *ret_own_bytes)
{
    size_t bytes = *ret_own_bytes = 0;
    for (const struct model *m = r->models; m; m = m->next) {
        if (!model_is_evictable(r, m))
            continue;
        bytes += m->counted_bytes;
        *ret_own_bytes += m->owner == o ? m->counted_bytes : 0;
    }
    return bytes;
}

bool registry_evict(struct registry *r, const struct owner *o)
{
    struct model *best = NULL;
    for (struct model *m = r->models; m; m = m->next) {
        if (!model_is_evictable(r, m))
            continue;
        bool own = m->owner == o, best_own = best && best->owner == o;
        if (!best || (own && !best_own) || (own == best_own && m->used_us < best->used_us))
            best = m;
    }
    return best && registry_unload(r, best);
}
