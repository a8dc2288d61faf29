/* SPDX-License-Identifier: MIT */
/* limits.h - quotas of memory and streams, and timeouts of idle ones. */
#ifndef RILL_DAEMON_SERVE_LIMITS_H
#define RILL_DAEMON_SERVE_LIMITS_H

#include "daemon/base/memory.h"

#include <stdbool.h>

struct conn;
struct daemon;
struct session;

struct memory_watch {
    uint64_t next_us; /* when the process's memory is looked at again */
    bool is_full;     /* memory_max is too small even without clients; the log said so */
};

size_t session_bytes(const struct session *s);
/* Charges reserved memory, for which models without streams are unloaded if need be. */
enum memory_answer memory_claim(struct daemon *d, struct owner *o, enum memory_kind k,
                                size_t bytes);
void memory_conf(struct daemon *d); /* sets the limits from the settings */
void memory_tick(struct daemon *d, uint64_t now_us);
/* NULL: the connection may open one more stream; else why not */
const char *quota_open(const struct conn *c, const struct daemon *d);
/* NULL: it may run at that cost, in processors; else why not */
const char *quota_run(const struct session *s, double cost);
void socket_fit(struct conn *c); /* sets the size of its socket's buffer, when its streams change */
bool idle_check(struct conn *c, uint64_t now_us); /* true: it was idle for too long and is closed */
bool idle_stream(const struct session *s, uint64_t now_us);

#endif
