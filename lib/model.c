/* SPDX-License-Identifier: MIT */
#include "lib/model.h"
#include "engine/plan/file/planfile.h"

#include <stdlib.h>

rill_model *model_new(void)
{
    rill_model *m = calloc(1, sizeof *m);
    if (!m)
        return NULL;
    m->refs = 1;
    m->dims = dims_new();
    if (!m->dims || pthread_mutex_init(&m->planning, NULL)) {
        dims_free(m->dims);
        free(m);
        return NULL;
    }
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
    pthread_mutex_destroy(&m->planning);
    dims_free(m->dims);
    planfile_free(m->compiled);
    arena_drop(&m->arena);
    free(m);
    return NULL;
}

void rill_model_get_info(const rill_model *m, rill_model_info *ret)
{
    *ret = m->info;
}
