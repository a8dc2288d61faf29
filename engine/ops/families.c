/* SPDX-License-Identifier: MIT */
#include "engine/ops/families.h"
#include "engine/ops/clock.h"
#include "engine/ops/conv_last.h"
#include "engine/ops/fused.h"
#include "engine/ops/matmul_narrow.h"
#include "engine/ops/ops.h"
#include "engine/ops/strided_copy.h"

const struct op *const *const ops_families[] = {
#define X(family) ops_##family,
    OPS_EACH(X)
#undef X
        NULL
};

const struct op *const ops_made[] = {
#define X(name) &op_##name,
    OPS_MADE_EACH(X)
#undef X
        NULL
};
