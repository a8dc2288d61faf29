/* SPDX-License-Identifier: MIT */
/* parts.h - some indices of an axis beside time, no later than what they are made of.
 *
 * A wire comes when all of it is there. Where some of its indices are made of frames that come
 * earlier (streams joined along that axis of which one looks further ahead, windows whose first
 * frames are there before the last), they may be had apart: each node between them and what
 * differs is emitted once more, by its own rule, on parts of what it reads. */
#ifndef RILL_PULSE_PARTS_H
#define RILL_PULSE_PARTS_H
#include "pulse/pulser.h"

/* Some indices of an axis of a src wire, none of time. */
struct wire_part {
    uint32_t wire;
    int axis;
    int64_t from, to;
};

/* Of a wire that streams; rules reach it by pulser.part_of. */
rill_status part_flow(struct pulser *p, const struct wire_part *x, struct flow *ret);

/* The same of what a node makes that cuts time into blocks: windows that a Gather takes
 * (rules_index.c), a Reshape (rules_reshape.c). ret_is: it is such a node, and x lies in its
 * blocks. */
rill_status gather_part(struct pulser *p, const struct node *n, const struct wire_part *x,
                        struct flow *ret, bool *ret_is);
rill_status reshape_part(struct pulser *p, const struct node *n, const struct wire_part *x,
                         struct flow *ret, bool *ret_is);
#endif
