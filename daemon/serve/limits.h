/* SPDX-License-Identifier: MIT */
/* limits.h - who may have how much, and for how long without using it. */
#ifndef RILL_DAEMON_SERVE_LIMITS_H
#define RILL_DAEMON_SERVE_LIMITS_H

#include "daemon/base/memory.h"

#include <stdbool.h>

struct conn;
struct daemon;
struct session;

size_t session_bytes(const struct session *s);
/* Asks for firm memory; models that nobody streams with give way to it. */
enum memory_answer memory_claim(struct daemon *d, struct owner *o, enum memory_kind k,
                                size_t bytes);
void memory_conf(struct daemon *d); /* the limits, as the settings say */
void memory_tick(struct daemon *d, uint64_t now_us);
/* NULL: one more stream may be opened */
const char *quota_open(const struct conn *c, const struct daemon *d);
/* NULL: it may run at that share of a thread */
const char *quota_run(const struct session *s, double cost);
void socket_fit(struct conn *c);                  /* when its streams change */
bool idle_check(struct conn *c, uint64_t now_us); /* true: it is closed */
bool idle_stream(const struct session *s, uint64_t now_us);

#endif
