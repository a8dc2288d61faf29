/* SPDX-License-Identifier: MIT */
/* daemon_inside.h - the whole daemon over fake models, on a thread of this process, and a client's
 * end of it. */
#ifndef TESTS_FUZZ_DAEMON_INSIDE_H
#define TESTS_FUZZ_DAEMON_INSIDE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Connected and past the preface; starts the daemon at the first call. */
int inside_connect(void);

/* False once the daemon closed; what it says meanwhile is read and checked. */
bool inside_send(int fd, const void *bytes, size_t n);

/* Reads and checks until the daemon closes, or until an answer to `req` comes (0: none is waited
 * for). Aborts where neither comes, and where what comes is no frame. */
void inside_drain(int fd, uint32_t req);
void inside_close(int fd);

#endif
