/* SPDX-License-Identifier: MIT */
#include "lib/model.h"
#include "engine/base/sized.h"
#include "engine/plan/file/planfile.h"

#include <stdlib.h>
#include <string.h>

rill_model *model_new(void)
{
    rill_model *m = calloc(1, sizeof *m);
    if (!m)
        return NULL;
    m->refs = 1;
    m->dims = dims_new();
    m->planning = lock_new();
    if (!m->dims || !m->planning) {
        lock_free(m->planning);
        dims_free(m->dims);
        free(m);
        return NULL;
    }
    dims_set_owner(m->dims, &m->arena);
    return m;
}

rill_model *model_ref(const rill_model *m)
{
    rill_model *mine = (rill_model *) (uintptr_t) m; /* only the count changes */
    atomic_fetch_add(&mine->refs, 1);
    return mine;
}

rill_model *rill_model_free(rill_model *m)
{
    if (!m || atomic_fetch_sub(&m->refs, 1) != 1)
        return NULL;
    while (m->part) {
        rill_model *part = m->part;
        m->part = part->next_part;
        rill_model_free(part);
    }
    while (m->open_nets) {
        struct open_net *net = m->open_nets;
        m->open_nets = net->next;
        net->free(net);
    }
    if (m->late)
        m->stages->late_free(m->late);
    lock_free(m->planning);
    dims_free(m->dims);
    planfile_free(m->compiled);
    arena_drop(&m->arena);
    free(m);
    return NULL;
}

rill_status rill_model_get_info(const rill_model *m, rill_model_info *ret)
{
    return sized_give(&sized_model_info, ret, &m->info, NULL);
}

const char *rill_model_metadata(const rill_model *m, const char *key)
{
    const struct graph *g = &m->mgraph.g;
    for (uint32_t i = 0; i < g->n_meta; i++)
        if (!strcmp(g->meta[i].key, key))
            return g->meta[i].value;
    return NULL;
}
