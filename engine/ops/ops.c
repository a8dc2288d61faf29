/* SPDX-License-Identifier: MIT */
#include "engine/ops/ops.h"
#include "engine/ops/clock.h"
#include "engine/ops/matmul_narrow.h"
#include "engine/ops/strided_copy.h"
#include "engine/ops/fused.h"

#include <string.h>

static const struct op *const *const families[] = {
#define X(family) ops_##family,
    OPS_EACH(X)
#undef X
};

const struct op *op_at(unsigned i)
{
    for (size_t f = 0; f < sizeof families / sizeof *families; f++)
        for (const struct op *const *o = families[f]; *o; o++)
            if (i-- == 0)
                return *o;
    return NULL;
}

const struct op *op_find(const char *name)
{
    for (size_t f = 0; f < sizeof families / sizeof *families; f++)
        for (const struct op *const *o = families[f]; *o; o++)
            if (!strcmp((*o)->name, name))
                return *o;
    return NULL;
}

/* All that passes and the pulser make, and no model file names. */
static const struct op *const made[] = {
    &op_fused,       &op_matmul_narrow, &op_conv_narrow,  &op_strided_copy,
    &op_pulse_first, &op_pulse_history, &op_pulse_pad,    &op_pulse_range,
    &op_pulse_skip,  &op_pulse_valid,   &op_pulse_window,
};

const struct op *op_find_made(const char *name)
{
    for (size_t i = 0; i < sizeof made / sizeof *made; i++)
        if (!strcmp(made[i]->name, name))
            return made[i];
    return op_find(name);
}

const struct op *op_by_id(enum op_id id)
{
    for (size_t i = 0; i < sizeof made / sizeof *made; i++)
        if (made[i]->id == id)
            return made[i];
    for (size_t f = 0; f < sizeof families / sizeof *families; f++)
        for (const struct op *const *o = families[f]; *o; o++)
            if ((*o)->id == id)
                return *o;
    return NULL;
}
