/* SPDX-License-Identifier: MIT */
/* decays.h - weights of keys that fall evenly with their distance behind the query: numbers to the
 * power of it (Sun et al., Retentive Network, 2023, section 2.1). */
#ifndef RILL_PULSE_DECAYS_H
#define RILL_PULSE_DECAYS_H
#include "pulse/positions.h"

/* Weights over queries and keys, axes of a tensor of that rank, to which wires are broadcast. */
struct falling {
    const struct graph *g;
    const struct positions *ps;
    int rank, query, key;
};

/* An axis of the weights as one of a wire of theirs; -1: it has no such axis, or one element. */
int falling_axis(const struct falling *f, uint32_t w, int axis);

/* Where wire w is, for each key that is not behind its query, a number from 0 to 1 to the power of
 * their distance: those numbers, a tensor of a and of one element along queries and keys. NULL: it
 * is not, or no memory. */
const struct tensor *decay_of(const struct falling *f, uint32_t w, struct arena *a);

/* The same where the mask shows a key, its opposite or itself, and 0 elsewhere: a power of a
 * distance that is infinite there (torchscale), or a Where of it and 0. */
const struct tensor *decay_hidden(const struct falling *f, uint32_t w, struct arena *a,
                                  uint32_t *ret_mask, bool *ret_opposite);
#endif
