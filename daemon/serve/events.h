/* SPDX-License-Identifier: MIT */
/* events.h - events of a session, on their way to its client. */
#ifndef RILL_DAEMON_SERVE_EVENTS_H
#define RILL_DAEMON_SERVE_EVENTS_H

#include <stdbool.h>

struct lane_rec;
struct session;

bool events_make(struct session *s); /* false without memory */
void events_take(struct session *s, const struct lane_rec *r);
void events_vad(struct session *s, const struct lane_rec *r);
/* sends the partial and the probability that were held back, if the client reads or it is the end
 */
void events_flush(struct session *s, bool last);

#endif
