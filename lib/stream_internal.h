/* SPDX-License-Identifier: MIT */
/* stream_internal.h - the head of a stream's block. It holds no pointer but the plan's, so that a
 * copy of the block is a snapshot. */
#ifndef RILL_LIB_STREAM_INTERNAL_H
#define RILL_LIB_STREAM_INTERNAL_H
#include "engine/ops/clock.h"
#include "lib/plan_internal.h"

struct step_time {
    uint64_t total_ns, worst_ns, runs;
};

struct port_count {
    int64_t fill;  /* inputs: frames waiting for the next run; outputs: frames of the last run */
    int64_t ahead; /* inputs: frames that wait behind those */
    int64_t taken; /* outputs: frames of the last run that were pulled or dropped */
    int64_t total; /* inputs: frames pushed; outputs: frames made before the last run, warm-up
                      included */
    bool wanted;   /* outputs: somebody pulls it */
};

struct rill_stream {
    const rill_plan *plan;
    int64_t n_runs;
    int64_t length; /* input frames in all, once finished; -1 before */
    uint32_t is_finished;
    uint32_t is_alone; /* the plan's pool does not help it */
    uint32_t is_short; /* finished at a length that an op refuses, or no stream has */
    uint32_t spoils; /* tests: what no output may depend on stands in inputs after the end, not 0 */
    int64_t clock[CLOCK_SIZE];
    struct port_count counts[]; /* as many as the plan has ports */
};

unsigned char *stream_mem(const rill_stream *s); /* the plan's memory in its block */

/* A run is begin, the plan's steps, end. What stands in the way of one now: */
rill_status stream_run_check(rill_stream *s);
void stream_run_begin(rill_stream *s);
/* A run with a fault gives nothing. */
rill_status stream_run_end(rill_stream *s);
#endif
