/* SPDX-License-Identifier: MIT */
/* trips.h - how often a Loop runs its body. */
#ifndef RILL_ENGINE_TYPING_TRIPS_H
#define RILL_ENGINE_TYPING_TRIPS_H
#include "engine/graph/op.h"

/* A Loop whose inputs are wires of g, and whose body knows its sizes. */
struct loop {
    const struct graph *g, *body;
    const uint32_t *in;
    unsigned n_in, n_states;
};

/* Its trip count, where its condition is always true; where the count has no end, the size that
 * the condition compares the number of trips with (`while i < T`); NULL: neither is known. At size
 * 0 a body that takes place by place of that many fails in the first of them. */
const struct dim *loop_trips(const struct loop *l);

/* Whether a wire of the body is the number of the iteration: the body's own, or a state that counts
 * from 0. */
bool loop_counts(const struct loop *l, uint32_t body_wire);
#endif
