/* SPDX-License-Identifier: MIT */
/* compared_nodes.h - comparisons that were taken apart, as nodes. */
#ifndef RILL_PULSE_COMPARED_NODES_H
#define RILL_PULSE_COMPARED_NODES_H
#include "pulse/placed_edit.h"

#define COMPARED_MAX 4

/* Whether the sum, of coordinates alone, is 0 or more; or, where that is NULL, of frames along the
 * axis those before a length, or the rest. */
struct compared_term {
    const struct dim *sum;
    int axis;
    const struct dim *length;
    bool rest;
};

/* All of them. */
struct compared {
    struct compared_term of[COMPARED_MAX];
    unsigned n;
};

bool compared_can_be_put(const struct positions *ps, const struct dim *sum);

/* The node makes what they say, in the sizes that its output has. */
rill_status compared_put(struct placed_edit *c, uint32_t node, const struct compared *q);
#endif
