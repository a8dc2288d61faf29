/* SPDX-License-Identifier: MIT */
#include "daemon/base/clock.h"

#include <time.h>

uint64_t thread_cpu_ns(pthread_t thread)
{
    clockid_t clock;
    struct timespec t;
    if (pthread_getcpuclockid(thread, &clock) != 0 || clock_gettime(clock, &t) != 0)
        return 0;
    return (uint64_t) t.tv_sec * 1000000000u + (uint64_t) t.tv_nsec;
}
