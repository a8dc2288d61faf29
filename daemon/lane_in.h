/* SPDX-License-Identifier: MIT */
/* lane_in.h - what the files of a lane share. */
#ifndef RILLD_LANE_IN_H
#define RILLD_LANE_IN_H

#include "daemon/lane.h"

#include <time.h>

#define VAD_PER_STEP_MAX 128

static inline uint64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t) t.tv_sec * 1000000000u + (uint64_t) t.tv_nsec;
}

#endif
