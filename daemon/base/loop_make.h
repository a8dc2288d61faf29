/* SPDX-License-Identifier: MIT */
#ifndef RILL_DAEMON_BASE_LOOP_MAKE_H
#define RILL_DAEMON_BASE_LOOP_MAKE_H

#include <stdbool.h>
#include <uv.h>

/* To be the first use of libuv in the process. False: *ret_why says what is missing, and there is
 * no loop. */
bool loop_make(uv_loop_t *loop, const char **ret_why);

#endif
