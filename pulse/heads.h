/* SPDX-License-Identifier: MIT */
/* heads.h - frames in front of a sequence that a recurrence runs over.
 *
 * They are run over apart: made of constants once, made of first frames of the sequence, or from a
 * state that is, in every run, which is done only where an output comes earlier by it (cut.c). The
 * runs begin with the sequence behind them, from the state that they leave, and what comes out is
 * padded by what they became. */
#ifndef RILL_PULSE_HEADS_H
#define RILL_PULSE_HEADS_H
#include "pulse/carry.h"

struct head {
    bool is;
    bool kept;         /* made of first frames of the sequence, or from such a state */
    struct padded all; /* by `before` given frames; what is behind them comes when they are there */
    uint32_t made;     /* what they became, a dst wire */
    const int64_t *come; /* of the first: when each of what they became has; NULL: all at once */
};

/* Those of src wire w, over which n runs; is: it comes earlier without. */
rill_status head_find(struct pulser *p, const struct node *n, uint32_t w, struct head *ret);

/* As many of each of the src wires w, over which n runs at once, those that stream; ret[0] says
 * whether there are any. What is behind them is equally late. */
rill_status heads_find(struct pulser *p, const struct node *n, const uint32_t *w, unsigned count,
                       struct head *ret);

/* So many dst wires, which are made of the frames and of constants, are known as they must be; else
 * there is no head. */
rill_status head_known(struct pulser *p, struct head *h, uint32_t *wires, unsigned n);

/* A state of fact f that begins as dst wire `left`, in which the frames leave it. */
rill_status head_carry(struct pulser *p, const struct node *n, const struct head *h,
                       const struct fact *f, uint32_t left, struct carried *ret);

/* *f, output k of n over what is behind the frames, with what they became in front. */
rill_status head_put(struct pulser *p, const struct node *n, unsigned k, struct head *h,
                     struct flow *f);
#endif
