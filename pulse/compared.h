/* SPDX-License-Identifier: MIT */
/* compared.h - comparisons of frame numbers with lengths, as plain ones.
 *
 * Which frames lie before a length is written in many ways: in floats, descending, by differences,
 * by chunks. They become `frame < length`, `frame >= length` or both, of whole numbers, which
 * stream (length_mask.h); what was computed of the length for them is needed no more. */
#ifndef RILL_PULSE_COMPARED_H
#define RILL_PULSE_COMPARED_H
#include "pulse/placed_edit.h"

rill_status compared_look(struct placed_edit *c, uint32_t node);
#endif
