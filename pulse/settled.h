/* SPDX-License-Identifier: MIT */
/* settled.h - whether what a mask hides in scores, and keys outside the sequence with it, is hidden
 * behind a node already. */
#ifndef RILL_PULSE_SETTLED_H
#define RILL_PULSE_SETTLED_H
#include "pulse/operands.h"

/* Whether what was hidden may show in the wire, which of bytes is their zero then. */
bool wire_hides(const struct pulser *p, uint32_t w, double *ret_zero);

/* Whether all of the operands of n that may show what was hidden have hidden it, of which s, the
 * fact of its output, says how. */
bool operands_settled(const struct pulser *p, const struct node *n, const struct operand *o,
                      const struct stream_fact *s);
#endif
