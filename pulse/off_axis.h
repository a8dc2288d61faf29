/* SPDX-License-Identifier: MIT */
/* off_axis.h - rules of ops that work on other axes than time. */
#ifndef RILL_PULSE_OFF_AXIS_H
#define RILL_PULSE_OFF_AXIS_H
#include "pulse/axes.h"

/* The rule of an op that works on other axes than time, from its row's map; refuses where it has
 * none. */
rill_status pulser_off_axis(struct pulser *p, const struct node *n);

/* The rule of elementwise ops, with broadcasting. */
pulse_rule rule_pointwise;

/* Emits n, which does the same to each frame, on dst wires in[], aligned inputs that stream as sf
 * says, its axis that of the output. What of them is padded is known of the outputs. */
rill_status pulser_framewise(struct pulser *p, const struct node *n, uint32_t *in,
                             const struct stream_fact *sf);

/* Refuses n, which does along that axis what cannot be done to time. merged: the node that put time
 * there among other sizes, NULL where the axis is time itself. */
rill_status pulser_refuse_axis(const struct pulser *p, const struct node *n, unsigned input,
                               int axis, const struct node *merged);
#endif
