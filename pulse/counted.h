/* SPDX-License-Identifier: MIT */
/* counted.h - streams that are made of frame numbers alone, as the angles of rotary embeddings: any
 * of their frames can be made at any time, so they meet what is padded as if they were. */
#ifndef RILL_PULSE_COUNTED_H
#define RILL_PULSE_COUNTED_H
#include "pulse/pulser.h"

bool counted_is(const struct pulser *p, uint32_t src_wire);

/* Such a wire for node n as if its first `before` frames, 1 or more, were put in front of the
 * others, which are as late as `inner` and as many. ret->is is false where that cannot be. */
rill_status counted_padded(struct pulser *p, const struct node *n, uint32_t src_wire,
                           int64_t before, const struct stream_fact *inner, struct padded *ret);
#endif
