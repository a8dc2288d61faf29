/* SPDX-License-Identifier: MIT */
/* conv_columns.h - the terms of each output place put in a row (im2col), for a product. */
#ifndef RILL_ENGINE_OPS_CONV_COLUMNS_H
#define RILL_ENGINE_OPS_CONV_COLUMNS_H
#include "engine/ops/conv_rows.h"

/* Columns of n places of a phase from `first` on, p->n_weights floats each; x: of a group. */
void conv_columns_make(const struct conv_rows *v, const struct conv_phase *p, const struct kern *k,
                       float *col, const float *x, int64_t first, int64_t n);
#endif
