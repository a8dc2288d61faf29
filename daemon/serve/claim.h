/* SPDX-License-Identifier: MIT */
/* claim.h - what a stream claims of the machine: an estimate at first, then what it takes. */
#ifndef RILL_DAEMON_SERVE_CLAIM_H
#define RILL_DAEMON_SERVE_CLAIM_H

struct daemon;
struct model;
struct session;

/* In processors. Of a running stream, what it takes and at least its minimum; of a new one, the
 * estimate. */
struct claim {
    double compute, loop;
};
struct claim claim_of(const struct session *s);
struct claim claim_price(const struct daemon *d, const struct model *m);
double claim_all(struct claim c); /* with the client's own work on this machine */
/* Of the time of the thread that computes a pulse, what all take that share it; at least 1. */
double spread_of(const struct model *m);
double pulse_ns_of(const struct model *m); /* how long a pulse lasts */

#endif
