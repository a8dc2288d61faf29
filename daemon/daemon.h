/* SPDX-License-Identifier: MIT */
/* daemon.h - what the files of this folder do with the daemon. */
#ifndef RILL_DAEMON_DAEMON_H
#define RILL_DAEMON_DAEMON_H

#include "daemon/serve/daemon.h"

#include <stddef.h>
#include <stdint.h>

struct conn;
struct conn_calls;
struct reload;

struct reloads {
    struct reload *running, *next; /* NULL: none; next: asked for */
    uint64_t not_before_us;        /* when the next one may run */
};

/* --- client.c --- */
extern const struct conn_calls client_calls;

/* --- dispatch.c: what a message does --- */
void dispatch_message(struct conn *c, const uint8_t *bytes, size_t n);

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
