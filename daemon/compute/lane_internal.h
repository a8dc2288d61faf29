/* SPDX-License-Identifier: MIT */
/* lane_internal.h - private to the files of a lane. */
#ifndef RILL_DAEMON_COMPUTE_LANE_INTERNAL_H
#define RILL_DAEMON_COMPUTE_LANE_INTERNAL_H

#include "daemon/compute/lane.h"
#include "daemon/compute/ports.h"

#define VAD_PER_STEP_MAX 128
#define RECS_SPARE 8 /* records that are kept free beside those of one frame of a sink */

/* Notes when the last of so many samples came. */
static inline void lane_arrivals_pass(struct lane *l, uint64_t consumed)
{
    struct lane_arrival a = { 0 };
    while (a.count < consumed && ring_used(&l->arrivals)) {
        ring_peek(&l->arrivals, &a, 1);
        l->arrival_us = a.us;
        if (a.count <= consumed)
            ring_drop(&l->arrivals, 1);
    }
}

enum phase { FEED, TAIL_RATE, TAIL_MODEL, DRAIN, TAIL_OUT };

/* lane_out.c */
/* samples at the output rate; of them, as many as the segment may still give */
void lane_out_write(struct lane *l, const float *x, size_t n, struct lane_rec *rec);
/* samples of the output at the model's rate; x NULL: silence */
void lane_audio_emit(struct lane *l, const float *x, size_t n, struct lane_rec *rec);
/* position in the input of a sample of this segment, which is counted at the model's rate */
uint64_t lane_pos_in(const struct lane *l, uint64_t at);

/* ports.c: a lane of ports */
bool ports_stream_make(struct lane *l); /* false: no memory */
/* What is done before the model runs; false: it does not run. ret: whether anything was done. */
bool ports_begin(struct lane *l, enum lane_result *ret);
void ports_end(struct lane *l, struct lane_rec *rec);               /* it ran */
enum lane_result ports_starved(struct lane *l, rill_status status); /* AGAIN or END */
bool ports_are_due(const struct lane *l,
                   bool *ret_part); /* part: frames wait, but no whole pulse */

/* lane_events.c */
/* Pushes all frames that there are into the sinks; false: it stopped because a ring has no room for
 * their events. */
bool lane_sinks_read(struct lane *l);
/* Ends the sinks, which makes their last events; false: they had been ended. */
bool lane_sinks_finish(struct lane *l);

#endif
