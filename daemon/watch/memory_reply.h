/* SPDX-License-Identifier: MIT */
/* memory_reply.h - who has how much memory, as an answer. */
#ifndef RILL_DAEMON_WATCH_MEMORY_REPLY_H
#define RILL_DAEMON_WATCH_MEMORY_REPLY_H

#include "daemon/net/conn.h"

void memory_reply(struct conn *c, uint32_t req);

#endif
