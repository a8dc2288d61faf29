/* SPDX-License-Identifier: MIT */
#include "daemon/compute/work.h"
#include "daemon/compute/realtime.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>

struct work {
    uv_async_t ended; /* first: the handle is the work */
    pthread_t thread;
    uv_work_t *req;
    uv_work_cb run;
    uv_after_work_cb done;
};

static void work_free(uv_handle_t *h)
{
    free(h);
}

static void on_ended(uv_async_t *a)
{
    struct work *w = (struct work *) (void *) a;
    uv_after_work_cb done = w->done;
    uv_work_t *req = w->req;
    pthread_join(w->thread, NULL);
    uv_close((uv_handle_t *) a, work_free);
    done(req, 0);
}

bool work_owns(const uv_handle_t *h)
{
    return h->type == UV_ASYNC && ((const uv_async_t *) (const void *) h)->async_cb == on_ended;
}

static void *work_main(void *arg)
{
    struct work *w = arg;
    thread_background();
    w->run(w->req);
    uv_async_send(&w->ended);
    return NULL;
}

int work_start(uv_loop_t *loop, uv_work_t *req, uv_work_cb run, uv_after_work_cb done)
{
    struct work *w = malloc(sizeof *w);
    int r = w ? uv_async_init(loop, &w->ended, on_ended) : UV_ENOMEM;
    if (r < 0) {
        free(w);
        return r;
    }
    w->req = req;
    w->run = run;
    w->done = done;
    sigset_t all, old;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    int err = pthread_create(&w->thread, NULL, work_main, w);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    if (err)
        uv_close((uv_handle_t *) &w->ended, work_free);
    return uv_translate_sys_error(err);
}
