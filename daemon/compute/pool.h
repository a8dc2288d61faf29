/* SPDX-License-Identifier: MIT */
/* pool.h - the compute threads: first those of live streams, then as many for files, which run at
 * low priority. */
#ifndef RILL_DAEMON_COMPUTE_POOL_H
#define RILL_DAEMON_COMPUTE_POOL_H

#include "daemon/base/conf.h"
#include "daemon/compute/worker.h"

#define POOL_WORKERS_MAX 128 /* twice the most that the settings allow */

struct pool {
    struct worker *workers;
    unsigned n, n_live;    /* all, and the first of them, which live streams run on */
    unsigned n_processors; /* that this process may use */
    rill_pool *helpers;    /* share pulses of models that one thread would compute late; NULL: none
                              do, by the settings or for want of threads */
};

/* Starts the threads; progress is worker_start's. False: a thread or memory is missing, and what
 * was started is to be stopped. */
bool pool_start(struct pool *p, const struct conf *conf, void (*progress)(void *arg), void *arg);
void pool_stop(struct pool *p); /* joins them; their lanes are the caller's again */
void pool_free(struct pool *p); /* after pool_stop, once no session refers to a worker */

#endif
