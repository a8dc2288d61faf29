/* SPDX-License-Identifier: MIT */
/* Whose memory models are, and which of them give way. */
#include "daemon/models/registry.h"

#include <string.h>

#define PLAN_BYTES 65536 /* of a plan besides its weights, at least */

void registry_count(struct model *m, struct owner *o, size_t kept_bytes)
{
    size_t plan_bytes = (size_t) m->plan_info.weights_bytes + PLAN_BYTES;
    m->owner = memory_ref(o);
    m->counted_bytes = sizeof *m + (kept_bytes > plan_bytes ? kept_bytes : plan_bytes);
    memory_take(m->root->memory, o, MEMORY_MODELS, m->counted_bytes);
}

void registry_uncount(struct model *m)
{
    if (m->owner)
        memory_give(m->root->memory, m->owner, MEMORY_MODELS, m->counted_bytes);
    m->owner = memory_unref(m->root->memory, m->owner);
}

static bool model_is_spare_memory(const struct registry *r, const struct model *m)
{
    return m->state == MODEL_READY && m->refs == 1 && m->owner && m->owner != &r->memory->own &&
        !model_is_listed(r->conf->models_preload, m->name);
}

void registry_pass_on(struct model *m, struct owner *to)
{
    registry_uncount(m);
    m->owner = memory_ref(to);
}

size_t registry_spare_bytes(const struct registry *r, const struct owner *o, size_t *ret_own_bytes)
{
    size_t bytes = *ret_own_bytes = 0;
    for (const struct model *m = r->models; m; m = m->next) {
        if (!model_is_spare_memory(r, m))
            continue;
        bytes += m->counted_bytes;
        *ret_own_bytes += m->owner == o ? m->counted_bytes : 0;
    }
    return bytes;
}

bool registry_spare_drop(struct registry *r, const struct owner *o)
{
    struct model *best = NULL;
    for (struct model *m = r->models; m; m = m->next) {
        if (!model_is_spare_memory(r, m))
            continue;
        bool own = m->owner == o, best_own = best && best->owner == o;
        if (!best || (own && !best_own) || (own == best_own && m->used_us < best->used_us))
            best = m;
    }
    return best && registry_unload(r, best);
}
