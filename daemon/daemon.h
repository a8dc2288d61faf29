/* SPDX-License-Identifier: MIT */
/* daemon.h - what the files of the daemon's top folder share, which know every room. */
#ifndef RILL_DAEMON_DAEMON_H
#define RILL_DAEMON_DAEMON_H

#include "daemon/base/notify.h"
#include "daemon/net/quota.h"
#include "daemon/serve/daemon.h"
#include "daemon/serve/events.h"
#include "daemon/serve/limits.h"
#include "daemon/serve/meter.h"
#include "daemon/serve/session.h"
#include "daemon/serve/session_list.h"
#include "daemon/serve/topic.h"
#include "daemon/watch/health.h"
#include "daemon/watch/memory_reply.h"
#include "daemon/watch/metrics.h"
#include "daemon/watch/profile.h"
#include "daemon/watch/stats.h"

/* --- client.c --- */
extern const struct conn_calls client_calls;

/* --- dispatch.c: what a message does --- */
void dispatch_message(struct conn *c, const uint8_t *bytes, size_t n);

/* --- loop.c --- */
int daemon_run(struct daemon *d); /* exit code */

/* --- drain.c --- */
void daemon_drain(struct daemon *d, uint32_t grace_ms);
void drain_tick(struct daemon *d, uint64_t now_us);

/* --- reload.c --- */
void reload_start(struct daemon *d, struct conn *c, uint32_t req); /* c may be NULL */
void reload_tick(struct daemon *d, uint64_t now_us); /* runs what is asked for, if it is time */
void reload_drop(struct daemon *d);                  /* what did not run */
void reload_forget(struct daemon *d, const struct conn *c);
bool daemon_preload(struct daemon *d);

#endif
