/* SPDX-License-Identifier: MIT */
/* meter.h - accounts for processor time. Compute threads note how long they were awake and what
 * they spent on each lane by the wall clock, which takes no system call. Every tick the loop reads
 * their processor clocks, and its own, from outside. The processor's part of what a thread spent is
 * cost, its own bookkeeping included; the rest is contention. Loop thread only. */
#ifndef RILL_DAEMON_SERVE_METER_H
#define RILL_DAEMON_SERVE_METER_H

#include "daemon/base/cost.h"

#include <stddef.h>

struct daemon;
struct session;

struct metering {
    struct meter loop;      /* of the loop thread */
    struct cost pulse_cost; /* of a pulse's messages, in nanoseconds of the loop */
    uint64_t at_us;         /* of the last tick */
    bool probing;           /* a model is being probed */
};

/* Measures the least cost of a message on this machine by sending some. */
void meter_start(struct daemon *d);
void meter_tick(struct daemon *d, uint64_t now_us);
/* While no live stream runs, probes models again whose estimate is stale, one at a time, on a
 * thread beside the loop. */
void meter_idle(struct daemon *d, uint64_t now_us);
void meter_session(struct session *s); /* reads what was spent on it, before it is freed */

/* Charges the loop's time since since_us to the stream, or to none (NULL). Returns now. */
uint64_t meter_charge_loop(struct daemon *d, struct session *s, uint64_t since_us);

#endif
