/* SPDX-License-Identifier: MIT */
/* meter.h - where processor time goes. Compute threads note how long they were awake and what they
 * spent on each lane, by the wall clock, which takes no system call; every tick the loop reads
 * their processor clocks, and its own, from outside. So much of what a thread spent as a processor
 * worked on it is cost, the thread's own bookkeeping included; the rest is contention. The loop's.
 */
#ifndef RILL_DAEMON_SERVE_METER_H
#define RILL_DAEMON_SERVE_METER_H

#include "daemon/base/cost.h"

#include <stddef.h>

struct daemon;
struct session;

/* What a message costs on this machine at least: found by sending some. */
void meter_start(struct daemon *d);
void meter_tick(struct daemon *d, uint64_t now_us);
/* Where no live stream runs: tries models out again whose price is of no use any more, one at a
 * time, beside the loop. */
void meter_idle(struct daemon *d, uint64_t now_us);
void meter_session(struct session *s); /* what was spent on it, before it goes */

/* The loop worked for a client, from since_us until now; s: on a stream, or NULL. Returns now. */
uint64_t meter_charge_loop(struct daemon *d, struct session *s, uint64_t since_us);

#endif
