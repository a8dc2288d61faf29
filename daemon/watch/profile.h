/* SPDX-License-Identifier: MIT */
/* profile.h - the reply to CtlWorst: the slowest pulses, and the steps of a model with their times.
 */
#ifndef RILL_DAEMON_WATCH_PROFILE_H
#define RILL_DAEMON_WATCH_PROFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct conn;

void worst_reply(struct conn *c, uint32_t req, const char *model, bool profile);

#endif
