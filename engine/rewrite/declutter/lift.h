/* SPDX-License-Identifier: MIT */
/* lift.h - an op of a Scan's body applied to all iterations at once: its operands are stacked on a
 * new axis 0. */
#ifndef RILL_ENGINE_REWRITE_DECLUTTER_LIFT_H
#define RILL_ENGINE_REWRITE_DECLUTTER_LIFT_H
#include "engine/graph/op.h"

/* An operand outside the body. */
struct lifted {
    uint32_t wire; /* of the outer graph; WIRE_NONE: absent */
    bool stacked;  /* iterations on axis 0; else the same in all */
};

/* Whether node n of body g gives the same bits when the operands that `stacked` marks (one flag per
 * input) hold all iterations. At least one of them does. */
bool node_lifts(const struct graph *g, const struct node *n, const bool *stacked);

/* A sum over many terms: what is worth lifting. */
bool node_is_product(const struct node *n);

/* Adds n to `to`, operands as given, for `length` iterations; `out` (WIRE_NONE: a new wire) is what
 * it writes. */
rill_status node_lift(struct graph *to, const struct graph *g, const struct node *n,
                      const struct lifted *in, const struct dim *length, uint32_t *out,
                      rill_error *reterr);

/* Fact of all iterations of a body wire: length on axis 0. */
struct fact fact_stacked(const struct fact *f, const struct dim *length);

/* The wire with `axis` moved to the front, or from the front back to `axis`. */
rill_status axis_to_front(struct graph *to, uint32_t wire, int axis, bool back, uint32_t *out,
                          rill_error *reterr);

/* Takes the nodes that are marked, one flag each, out of a body; the others keep their order. */
void body_drop(struct graph *body, const bool *gone);
#endif
