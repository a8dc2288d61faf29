/* SPDX-License-Identifier: MIT */
/* admit.h - admission control: which streams are accepted, and on which thread they run. */
#ifndef RILL_DAEMON_SERVE_ADMIT_H
#define RILL_DAEMON_SERVE_ADMIT_H

#include "rilld.pb-c.h"

#include <stdbool.h>

struct daemon;
struct lane_opts;
struct model;
struct session;
struct worker;

/* Claims of streams on the compute threads, on the loop thread, and on the machine, in processors.
 */
struct load {
    double compute, loop, all;
};

struct admission {
    struct load load; /* of the live streams that were accepted */
};

bool admit_full(struct daemon *d); /* no live stream would be accepted, whatever its model */
/* NULL: refused */
struct worker *admit_worker(struct daemon *d, bool live, const struct model *m);
/* The limits for live streams, at the present contention. */
struct load admit_budget(const struct daemon *d);
double admit_contention(
    const struct daemon *d); /* the share of processor time asked for that was had */
/* Accepted live streams claim more than the processors have, at the present contention. */
bool admit_is_overcommitted(const struct daemon *d);
const char *admit_refusal(struct daemon *d); /* why admit_worker refused a live stream */
uint32_t admit_retry_ms(struct daemon *d);
const char *admit_policy_name(const struct daemon *d, const struct model *m);
void admit_bypass(const struct session *s, struct lane_opts *o);
void admit_conf(struct daemon *d); /* gives the workers the settings of overload */
void admit_tick(struct daemon *d);
void admit_stats(const struct daemon *d, Rill__StatsReply *a);

#endif
