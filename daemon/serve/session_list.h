/* SPDX-License-Identifier: MIT */
/* session_list.h - the sessions of the daemon and of a connection. */
#ifndef RILL_DAEMON_SERVE_SESSION_LIST_H
#define RILL_DAEMON_SERVE_SESSION_LIST_H

#include <stdint.h>

struct conn;
struct daemon;
struct session;

/* What a stream_link is the first member of: struct session or a subscription. */
enum stream_kind { STREAM_SESSION, STREAM_SUB };

/* All sessions of the daemon. */
struct session_list {
    struct session *first;
    uint32_t n, last_serial;
    uint32_t last_served; /* serial of the file stream that had the last slice */
    uint64_t n_opened, n_refused;
};

uint32_t sessions_running(const struct daemon *d); /* that have not ended */

struct session *session_find(const struct conn *c, uint32_t id); /* NULL: there is none */
/* unordered; after NULL the first */
struct session *session_next(const struct conn *c, const struct session *after);

#endif
