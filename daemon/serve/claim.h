/* SPDX-License-Identifier: MIT */
/* claim.h - what is claimed of the machine for a stream: a price at first, then what it takes. */
#ifndef RILL_DAEMON_SERVE_CLAIM_H
#define RILL_DAEMON_SERVE_CLAIM_H

struct daemon;
struct model;
struct session;

/* Of streams that are there, the least that is claimed for them; of those to come, the price.
 * Shares of a processor. */
struct claim {
    double compute, loop;
};
struct claim claim_of(const struct session *s);
struct claim claim_price(const struct daemon *d, const struct model *m);
double claim_all(struct claim c);          /* with what its client computes on this machine */
double pulse_ns_of(const struct model *m); /* how long a pulse lasts */

#endif
