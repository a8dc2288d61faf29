/* SPDX-License-Identifier: MIT */
/* quantised.h - wires that are dequantised integers, with one scale and zero for all that are
 * known. */
#ifndef RILL_ENGINE_REWRITE_QUANTISED_H
#define RILL_ENGINE_REWRITE_QUANTISED_H
#include "engine/graph/edit.h"

struct quantised_wire {
    uint32_t node;  /* the DequantizeLinear */
    uint32_t whole; /* the wire of its integers */
    float scale;
    const struct tensor *zero; /* NULL: 0 */
};

/* Scale and zero of a QuantizeLinear or DequantizeLinear; false: they are not known, or several. */
bool quantised_params(const struct graph *g, const struct node *n, struct quantised_wire *ret);

/* False where a node that was put in writes the wire. */
bool quantised_wire(const struct edit *e, uint32_t wire, struct quantised_wire *ret);

int64_t quantised_zero(const struct quantised_wire *q);
#endif
