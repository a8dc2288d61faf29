/* SPDX-License-Identifier: MIT */
/* rebase.h - counts of frames that stay small, because only what repeats is made of them.
 *
 * Frame numbers in f32 skip from 2^24 on, in i32 they wrap at 2^31. A Range, and what is made of it
 * frame by frame, is a component; where every wire of it that anything else reads is the same
 * `period` frames further on (a phase within chunks, whether the first frames are over), frame
 * `from` + k may count as from + k modulo the period: no number that is read changes in the frames
 * in which the whole run is exact, 2^23 at least, and none skips behind them. */
#ifndef RILL_PULSE_REBASE_H
#define RILL_PULSE_REBASE_H
#include "pulse/pulser.h"

struct rebase {
    int64_t from, period; /* from is a multiple of the period */
};

/* How the Range that makes the wire may count, period 0: as it is, because no type of its component
 * ends, or not all that is read of it repeats. Else sets p->untraced of the wires whose numbers are
 * others than those of the whole run. */
rill_status rebase_find(struct pulser *p, uint32_t src_range, struct rebase *ret);

/* The numbers of frames [pulse] in i64 as they count. */
rill_status rebase_emit(struct pulser *p, const char *name, const struct rebase *r, uint32_t frames,
                        uint32_t *ret);
#endif
