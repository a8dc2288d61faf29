/* SPDX-License-Identifier: MIT */
/* A loop in which libuv has no reason to abort later: its table of watchers has room for every
 * descriptor from the start, and the pipe that it opens for signals could be opened. */
#include "daemon/base/loop_init.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <unistd.h>

#define FDS_AT_START 24 /* for libuv, two compute threads and the sockets */
#define FDS_MOST 16384

/* libuv aborts where its table of watchers cannot grow. It only grows at start. */
static void *table_realloc(void *p, size_t n)
{
    static const char words[] = "rilld: out of memory for the loop's table of descriptors\n";
    void *to = realloc(p, n);
    if (!to && n) {
        ssize_t w = write(STDERR_FILENO, words, sizeof words - 1);
        (void) w;
        _exit(1);
    }
    return to;
}

static bool fds_enough(void)
{
    int fds[FDS_AT_START], n = 0;
    while (n < FDS_AT_START && (fds[n] = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3)) >= 0)
        n++;
    bool good = n == FDS_AT_START || errno != EMFILE;
    while (n)
        close(fds[--n]);
    return good;
}

static void on_nothing(uv_poll_t *p, int status, int events)
{
    (void) p, (void) status, (void) events;
}

static bool table_grow(uv_loop_t *loop)
{
    struct rlimit limit;
    int most = getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < FDS_MOST
        ? (int) limit.rlim_cur
        : FDS_MOST;
    int low = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK),
        high = low < 0 ? -1 : fcntl(low, F_DUPFD_CLOEXEC, most - 1);
    uv_poll_t p;
    bool good = high >= 0 && uv_poll_init(loop, &p, high) == 0;
    if (good) {
        good = uv_poll_start(&p, UV_READABLE, on_nothing) == 0;
        uv_close((uv_handle_t *) &p, NULL);
        uv_run(loop, UV_RUN_NOWAIT);
    }
    if (high >= 0)
        close(high);
    if (low >= 0)
        close(low);
    return good;
}

bool loop_init(uv_loop_t *loop, const char **ret_why)
{
    *ret_why = "fewer file descriptors than it takes to start (LimitNOFILE)";
    if (!fds_enough())
        return false;
    uv_replace_allocator(malloc, table_realloc, calloc, free);
    int r = uv_loop_init(loop);
    if (r < 0) {
        *ret_why = uv_strerror(r);
        return false;
    }
    uv_loop_configure(loop, UV_METRICS_IDLE_TIME);
    if (table_grow(loop))
        return true;
    *ret_why = "no descriptor for the loop's table";
    uv_loop_close(loop);
    return false;
}
