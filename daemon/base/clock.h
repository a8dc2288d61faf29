/* SPDX-License-Identifier: MIT */
/* clock.h - the daemon's clocks. The monotonic one is that of all times in _us and _ns but
 * thread_cpu_ns; it begins at no date. */
#ifndef RILL_DAEMON_BASE_CLOCK_H
#define RILL_DAEMON_BASE_CLOCK_H

#include <pthread.h>
#include <stdint.h>

uint64_t clock_now_us(void);
uint64_t clock_now_ns(void);

/* --- cpu_clock.c --- */

/* Processor time that a thread has used. A system call: not for the compute path. */
uint64_t thread_cpu_ns(pthread_t thread);

#endif
