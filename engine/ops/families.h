/* SPDX-License-Identifier: MIT */
/* families.h - the tables that ops are looked up in, alone in families.c: a program that is linked
 * with one compiled model brings shorter ones, and the linker leaves out the ops that it lacks
 * (docs/compile.md, "In a program"). */
#ifndef RILL_ENGINE_OPS_FAMILIES_H
#define RILL_ENGINE_OPS_FAMILIES_H
#include "engine/graph/op.h"

/* All that passes and the pulser make, and no model file names. */
/* clang-format off */
#define OPS_MADE_EACH(X)                                                                           \
    X(fused) X(matmul_narrow) X(conv_last) X(conv_narrow) X(strided_copy) X(pulse_first)           \
    X(pulse_history)                                                                               \
    X(pulse_pad) X(pulse_range) X(pulse_skip) X(pulse_valid) X(pulse_window)
/* clang-format on */

extern const struct op *const *const ops_families[]; /* NULL-ended, as each of them */
extern const struct op *const ops_made[];            /* NULL-ended */
#endif
