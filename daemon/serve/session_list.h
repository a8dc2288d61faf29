/* SPDX-License-Identifier: MIT */
/* session_list.h - the sessions of a connection. */
#ifndef RILL_DAEMON_SERVE_SESSION_LIST_H
#define RILL_DAEMON_SERVE_SESSION_LIST_H

#include "daemon/net/conn.h"

struct session;

struct session *session_find(const struct conn *c, uint32_t id); /* NULL: there is none */
/* unordered; after NULL the first */
struct session *session_next(const struct conn *c, const struct session *after);

#endif
