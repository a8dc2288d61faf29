/* SPDX-License-Identifier: MIT */
/* work.h - jobs beside the loop, each on a low-priority thread of its own. Like uv_queue_work, but
 * where a thread cannot be started that is an error and not the end of the process. */
#ifndef RILL_DAEMON_COMPUTE_WORK_H
#define RILL_DAEMON_COMPUTE_WORK_H

#include <stdbool.h>
#include <uv.h>

/* Calls run on a thread of its own, then done (with status 0) on the loop's. On failure neither is
 * called, and it returns an error of libuv's. Loop thread. */
int work_start(uv_loop_t *loop, uv_work_t *req, uv_work_cb run, uv_after_work_cb done);

/* Whether the handle belongs to a job that has not ended: it closes itself. */
bool work_owns(const uv_handle_t *h);

#endif
