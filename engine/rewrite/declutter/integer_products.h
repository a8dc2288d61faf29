/* SPDX-License-Identifier: MIT */
/* integer_products.h - which products of dequantised numbers sum integers. */
#ifndef RILL_ENGINE_REWRITE_DECLUTTER_INTEGER_PRODUCTS_H
#define RILL_ENGINE_REWRITE_DECLUTTER_INTEGER_PRODUCTS_H
#include "engine/graph/edit.h"

/* Bytes pay where weights are many: fewer than that are sooner multiplied as floats than what flows
 * is gathered. */
#define CONV_WEIGHTS_MIN 8192
#define MATRIX_WEIGHTS_MIN 4096

bool wire_is_dequantised_byte(const struct edit *e, uint32_t wire);

/* Known weights that were dequantised from bytes by one scale, or by one for each place of `axis`.
 * NULL: they were not. */
const struct quantised *weights_quantised(const struct graph *g, uint32_t wire, int axis);
#endif
