/* SPDX-License-Identifier: MIT */
/* Whose memory models are. */
#include "daemon/models/registry.h"

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

void registry_pass_on(struct model *m, struct owner *to)
{
    registry_uncount(m);
    m->owner = memory_ref(to);
}
