/* SPDX-License-Identifier: MIT */
/* work.h - work beside the loop, a thread for each piece, which takes the time that streams leave.
 * Like uv_queue_work, but a thread that cannot be had is an error and not the end of the process.
 */
#ifndef RILL_DAEMON_COMPUTE_WORK_H
#define RILL_DAEMON_COMPUTE_WORK_H

#include <stdbool.h>
#include <uv.h>

/* run on a thread of its own, then done (with status 0) on the loop's. Nothing is called where it
 * fails: then the return is an error of libuv's. Loop thread. */
int work_start(uv_loop_t *loop, uv_work_t *req, uv_work_cb run, uv_after_work_cb done);

/* Whether the handle belongs to work that has not ended: it closes itself. */
bool work_owns(const uv_handle_t *h);

#endif
