/* SPDX-License-Identifier: MIT */
/* element.h - nodes that are an element-wise function of fused programs (kernels/pointwise.h). */
#ifndef RILL_ENGINE_REWRITE_SETTLE_ELEMENT_H
#define RILL_ENGINE_REWRITE_SETTLE_ELEMENT_H
#include "engine/graph/graph.h"

struct element {
    uint32_t node;
    int function; /* KERN_ADD.. */
    unsigned n_in;
    uint32_t in[2]; /* the first one twice where there is one operand */
};

/* False: it is none, or not of f32. */
bool element_read(const struct graph *g, uint32_t node, struct element *ret);
#endif
