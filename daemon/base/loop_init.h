/* SPDX-License-Identifier: MIT */
#ifndef RILL_DAEMON_BASE_LOOP_INIT_H
#define RILL_DAEMON_BASE_LOOP_INIT_H

#include <stdbool.h>
#include <uv.h>

/* Makes a loop in which libuv will not abort for want of memory or descriptors. Must be the first
 * use of libuv in the process. False: *ret_why says what is missing, and there is no loop. */
bool loop_init(uv_loop_t *loop, const char **ret_why);

#endif
