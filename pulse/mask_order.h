/* SPDX-License-Identifier: MIT */
/* mask_order.h - a chain of And, or of Or, in which data stands between masks of positions.
 *
 * What first queries see is looked at of a mask as a whole: one that repeats only once another
 * hides what they see further on says nothing by itself. The order of such a chain is free, so
 * that masks of positions are joined first, and data with what they make. */
#ifndef RILL_PULSE_MASK_ORDER_H
#define RILL_PULSE_MASK_ORDER_H
#include "pulse/placed_edit.h"

/* Of node `at`, an And or an Or. */
rill_status mask_order_look(struct placed_edit *c, uint32_t at);
#endif
