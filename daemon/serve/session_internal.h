/* SPDX-License-Identifier: MIT */
/* session_internal.h - what the files of a session share: session_end.c ends it, session_open.c
 * opens it, session_audio.c takes its input and session_deliver.c sends its output. */
#ifndef RILL_DAEMON_SERVE_SESSION_INTERNAL_H
#define RILL_DAEMON_SERVE_SESSION_INTERNAL_H

#include "daemon/serve/session.h"

/* Another stream of the same model: of that owner, or of any (NULL). */
struct session *session_other_of(const struct session *s, const struct owner *o);

/* Takes it off its connection. It is freed by sessions_reap once the worker has detached its lane.
 */
void session_end(struct session *s);
void session_fail(struct session *s, Rill__Code code, const char *text); /* with a fatal error */
void session_finished_send(struct session *s, bool cancelled);
void sessions_reap(struct daemon *d);

#endif
