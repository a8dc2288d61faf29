/* SPDX-License-Identifier: MIT */
/* carry.h - values that a node carries from run to run, with what they start from. */
#ifndef RILL_PULSE_CARRY_H
#define RILL_PULSE_CARRY_H
#include "pulse/pulser.h"

struct carried {
    uint32_t state; /* dst wire the state is read from; hand it to graph_add_state */
    uint32_t read;  /* dst wire to use: the state, or before it is one its computed initial value */
    const struct tensor *init; /* NULL: zeros */
};

/* A state of the static fact f that starts from src wire init: WIRE_NONE is zeros, a constant is
 * the state's initial value, a wire that is computed stands for the state in the first run, one
 * that is made of kept frames up to the run with the first frame of the stream s. */
rill_status pulser_carry(struct pulser *p, const struct node *n, const struct fact *f,
                         const struct stream_fact *s, uint32_t init, struct carried *ret);
/* The same where it is the dst wire init: a constant, or, last >= 0, what stands for the state up
 * to that run. */
rill_status pulser_carry_from(struct pulser *p, const struct node *n, const struct fact *f,
                              uint32_t init, int64_t last, struct carried *ret);
rill_status pulser_carry_end(struct pulser *p, const struct node *n, const struct carried *c,
                             uint32_t next);
#endif
