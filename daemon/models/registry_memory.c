/* SPDX-License-Identifier: MIT */
/* To whose account models are charged. */
#include "daemon/models/registry.h"

#define PLAN_BYTES 65536 /* of a plan besides its weights, at least */

void registry_charge(struct model *m, struct owner *o, size_t kept_bytes)
{
    size_t plan_bytes = (size_t) m->plan_info.weights_bytes + PLAN_BYTES;
    m->owner = memory_ref(o);
    m->counted_bytes = sizeof *m + (kept_bytes > plan_bytes ? kept_bytes : plan_bytes);
    memory_charge(m->root->memory, o, MEMORY_MODELS, m->counted_bytes);
}

void registry_uncharge(struct model *m)
{
    if (m->owner)
        memory_uncharge(m->root->memory, m->owner, MEMORY_MODELS, m->counted_bytes);
    m->owner = memory_unref(m->root->memory, m->owner);
}

void registry_transfer(struct model *m, struct owner *to)
{
    registry_uncharge(m);
    m->owner = memory_ref(to);
}
