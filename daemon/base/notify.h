/* SPDX-License-Identifier: MIT */
/* notify.h - the service manager: state messages, the watchdog, sockets that it passes. */
#ifndef RILL_DAEMON_BASE_NOTIFY_H
#define RILL_DAEMON_BASE_NOTIFY_H

#include <stdint.h>

/* Sends one datagram to NOTIFY_SOCKET; nothing where there is none. */
void notify_send(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Interval in which the manager wants to hear WATCHDOG=1, 0 if it does not. */
uint64_t notify_watchdog_us(void);

#define NOTIFY_MAX_FDS 8
struct notify_fds {
    int n;
    int fd[NOTIFY_MAX_FDS];
    char name[NOTIFY_MAX_FDS][32]; /* "" where none was given */
};

/* Listening sockets passed to this process; close-on-exec is set and the variables are unset. */
void notify_listen_fds(struct notify_fds *ret);

#endif
