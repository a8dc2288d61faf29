/* SPDX-License-Identifier: MIT */
/* position_rows.h - up to which length of the sequence a table has a row for each pair of frames.
 */
#ifndef RILL_PULSE_POSITION_ROWS_H
#define RILL_PULSE_POSITION_ROWS_H
#include "engine/base/dim_claims.h"
#include "pulse/pulser.h"

/* Claims of lengths that all elements of src wire w, numbers of rows made of positions, lie in
 * -rows .. rows - 1. ret_told false: they are no sum of coordinates, and nothing is claimed. */
rill_status position_rows_claim(struct pulser *p, uint32_t w, int64_t rows,
                                enum dim_claim_kind kind, bool *ret_told);

/* Those of tables of which each row is the same number, so that nobody looks into them. */
rill_status position_rows_folded(struct pulser *p);
#endif
