/* SPDX-License-Identifier: MIT */
/* events.h - what streams say, for the client that has them open. */
#ifndef RILL_DAEMON_SERVE_EVENTS_H
#define RILL_DAEMON_SERVE_EVENTS_H

#include <stdbool.h>

struct lane_rec;
struct session;

bool events_make(struct session *s); /* false without memory */
void events_take(struct session *s, const struct lane_rec *r);
void events_vad(struct session *s, const struct lane_rec *r);
/* the newest partial and probability, if the client reads or it is the end */
void events_flush(struct session *s, bool last);

#endif
