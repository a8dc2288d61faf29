/* SPDX-License-Identifier: MIT */
/* stats.h - replies and lines of the log about the daemon's state. */
#ifndef RILL_DAEMON_WATCH_STATS_H
#define RILL_DAEMON_WATCH_STATS_H

#include "rilld.pb-c.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct conn;

struct daemon;

void stats_summary(struct daemon *d);
void stats_reply(struct conn *c, uint32_t req, const char *after_model);
void status_reply(struct conn *c, uint32_t req, const char *after_model);
void top_reply(struct conn *c, uint32_t req);
void sessions_reply(struct conn *c, uint32_t req, uint32_t after_conn, uint32_t after_stream);
void info_reply(struct conn *c, uint32_t req, const Rill__Info *m);

#endif
