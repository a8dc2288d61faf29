/* SPDX-License-Identifier: MIT */
#include "engine/ops/ops.h"
#include "engine/ops/families.h"

#include <string.h>

const struct op *op_at(unsigned i)
{
    for (size_t f = 0; ops_families[f]; f++)
        for (const struct op *const *o = ops_families[f]; *o; o++)
            if (i-- == 0)
                return *o;
    return NULL;
}

const struct op *op_find(const char *name)
{
    for (size_t f = 0; ops_families[f]; f++)
        for (const struct op *const *o = ops_families[f]; *o; o++)
            if (!strcmp((*o)->name, name))
                return *o;
    return NULL;
}

const struct op *op_find_made(const char *name)
{
    for (size_t i = 0; ops_made[i]; i++)
        if (!strcmp(ops_made[i]->name, name))
            return ops_made[i];
    return op_find(name);
}

const struct op *op_by_id(enum op_id id)
{
    for (size_t i = 0; ops_made[i]; i++)
        if (ops_made[i]->id == id)
            return ops_made[i];
    for (size_t f = 0; ops_families[f]; f++)
        for (const struct op *const *o = ops_families[f]; *o; o++)
            if ((*o)->id == id)
                return *o;
    return NULL;
}
