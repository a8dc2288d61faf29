/* SPDX-License-Identifier: MIT */
/* memory_reply.h - the reply to CtlMemory: accounts of memory. */
#ifndef RILL_DAEMON_WATCH_MEMORY_REPLY_H
#define RILL_DAEMON_WATCH_MEMORY_REPLY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct conn;

void memory_reply(struct conn *c, uint32_t req);

#endif
