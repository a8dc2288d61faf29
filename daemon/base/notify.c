/* SPDX-License-Identifier: MIT */
#include "daemon/base/notify.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define FIRST_FD 3

void notify_send(const char *format, ...)
{
    const char *path = getenv("NOTIFY_SOCKET");
    struct sockaddr_un a = { .sun_family = AF_UNIX };
    size_t len = path ? strlen(path) : 0;
    if (len < 2 || len >= sizeof a.sun_path || (path[0] != '/' && path[0] != '@'))
        return;
    memcpy(a.sun_path, path, len);
    if (path[0] == '@')
        a.sun_path[0] = '\0';
    char b[1024];
    va_list ap;
    va_start(ap, format);
    vsnprintf(b, sizeof b, format, ap);
    va_end(ap);
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return;
    ssize_t w =
        sendto(fd, b, strlen(b), MSG_NOSIGNAL, (struct sockaddr *) &a,
               (socklen_t) (offsetof(struct sockaddr_un, sun_path) + len + (path[0] == '/')));
    (void) w;
    close(fd);
}

static int64_t env_number(const char *name)
{
    const char *s = getenv(name);
    char *end;
    if (!s || !*s)
        return -1;
    long long v = strtoll(s, &end, 10);
    return *end || v < 0 ? -1 : v;
}

uint64_t notify_watchdog_us(void)
{
    int64_t us = env_number("WATCHDOG_USEC"), pid = env_number("WATCHDOG_PID");
    return us > 0 && (!getenv("WATCHDOG_PID") || pid == getpid()) ? (uint64_t) us : 0;
}

static void names_split(struct notify_fds *ret, const char *names)
{
    for (int i = 0; names && i < ret->n; i++) {
        size_t n = strcspn(names, ":");
        snprintf(ret->name[i], sizeof ret->name[i], "%.*s", (int) (n < 31 ? n : 31), names);
        names = names[n] ? names + n + 1 : NULL;
    }
}

void notify_listen_fds(struct notify_fds *ret)
{
    int64_t n = env_number("LISTEN_FDS");
    memset(ret, 0, sizeof *ret);
    if (env_number("LISTEN_PID") == getpid() && n > 0) {
        ret->n = n < NOTIFY_MAX_FDS ? (int) n : NOTIFY_MAX_FDS;
        for (int i = 0; i < ret->n; i++) {
            ret->fd[i] = FIRST_FD + i;
            fcntl(ret->fd[i], F_SETFD, FD_CLOEXEC);
        }
        names_split(ret, getenv("LISTEN_FDNAMES"));
    }
    unsetenv("LISTEN_PID");
    unsetenv("LISTEN_FDS");
    unsetenv("LISTEN_FDNAMES");
}
