/* SPDX-License-Identifier: MIT */
/* lane_in.h - what the files of a lane share. */
#ifndef RILL_DAEMON_COMPUTE_LANE_IN_H
#define RILL_DAEMON_COMPUTE_LANE_IN_H

#include "daemon/compute/lane.h"

#include <time.h>

#define VAD_PER_STEP_MAX 128
#define RECS_SPARE 8 /* that no frame of a sink takes */

enum phase { FEED, TAIL_RATE, TAIL_MODEL, DRAIN, TAIL_OUT };

static inline uint64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t) t.tv_sec * 1000000000u + (uint64_t) t.tv_nsec;
}

/* lane_out.c */
/* samples at the output rate; no more than the segment owes */
void lane_out_write(struct lane *l, const float *x, size_t n, struct lane_rec *rec);
/* samples that answer, at the model's rate */
void lane_audio_emit(struct lane *l, const float *x, size_t n, struct lane_rec *rec);
/* of a sample of this segment at the model's rate */
uint64_t lane_pos_in(const struct lane *l, uint64_t at);

/* lane_heard.c */
/* all frames that there are into the sinks; false: there was no room for what they say, go on
 * later */
bool lane_heard_read(struct lane *l);
/* what was heard becomes final; false: it was so already */
bool lane_heard_finish(struct lane *l);

#endif
