/* SPDX-License-Identifier: MIT */
/* padded.h - a step whose states grow, for any number of frames up to a room.
 *
 * Frames that are not there yet stand in front, as zeros: what a Softmax weighs of them is hidden,
 * and 0 times 0 is added to a product. Positions are counted less by how many those are. So the
 * same plan gives the bits of one that was made for the frames that are there. */
#ifndef RILL_ENGINE_LATE_PADDED_H
#define RILL_ENGINE_LATE_PADDED_H
#include "engine/graph/graph.h"

struct padded {
    struct graph g; /* its last inputs: bool [past + more], which frames are there, and i64 [1], how
                     * many are not */
    const struct dim *past; /* the symbol that states have of frames; a room takes its place */
    int64_t more;           /* frames that a step adds */
};

/* g: a typed graph whose inputs from `first` on are states. UNSUPPORTED, without words: something
 * in it may depend on the frames that are not there. Lives in g's arena. */
rill_status padded_from_typed(struct padded *ret, const struct graph *g, uint32_t first);
#endif
