/* SPDX-License-Identifier: MIT */
/* admit.h - which streams are let in, and which thread they run in. */
#ifndef RILL_DAEMON_SERVE_ADMIT_H
#define RILL_DAEMON_SERVE_ADMIT_H

#include "daemon/compute/lane.h"
#include "rilld.pb-c.h"

struct daemon;
struct model;
struct session;
struct worker;

/* Of streams: what is claimed of the compute threads, of the loop, and of the machine. */
struct load {
    double compute, loop, all;
};

bool admit_full(struct daemon *d); /* no live stream could be let in, whatever its model */
/* NULL: there is no room */
struct worker *admit_worker(struct daemon *d, bool live, const struct model *m);
/* Up to what live streams are let in, while as much of the machine is had as of late. */
struct load admit_budget(const struct daemon *d);
double admit_contention(const struct daemon *d); /* share of the time asked for that was had */
/* Live streams that were let in claim more than the processors have, as far as they were had of
 * late. */
bool admit_over(const struct daemon *d);
const char *admit_refusal(struct daemon *d); /* why admit_worker gave none for a live stream */
uint32_t admit_retry_ms(struct daemon *d);
const char *admit_policy_name(const struct daemon *d, const struct model *m);
void admit_bypass(const struct session *s, struct lane_opts *o);
void admit_conf(struct daemon *d); /* settings of overload, to the workers */
void admit_tick(struct daemon *d);
void admit_stats(const struct daemon *d, Rill__StatsReply *a);
void admit_before_poll(struct daemon *d); /* the loop goes to wait */
/* since when the loop stood still before this; 0: it did not */
uint64_t admit_stalled_us(const struct daemon *d);

#endif
