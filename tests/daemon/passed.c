/* SPDX-License-Identifier: MIT */
#include "tests/daemon/passed.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

int passed_listen(int *port)
{
    struct sockaddr_in a = { .sin_family = AF_INET,
                             .sin_port = htons((uint16_t) *port),
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    socklen_t len = sizeof a;
    int one = 1, fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    if (fd < 0 || bind(fd, (struct sockaddr *) &a, sizeof a) < 0 ||
        getsockname(fd, (struct sockaddr *) &a, &len) < 0 || listen(fd, 16) < 0)
        give_up("port %d on the loopback: %s", *port, strerror(errno));
    *port = ntohs(a.sin_port);
    return fd;
}

/* The socket is descriptor 3 and the variables say so. */
static void child_run(struct rig *r, int fd, const char *name)
{
    char pid[16];
    if (fd == 3)
        fcntl(fd, F_SETFD, 0);
    else
        dup2(fd, 3);
    snprintf(pid, sizeof pid, "%d", (int) getpid());
    setenv("LISTEN_PID", pid, 1);
    setenv("LISTEN_FDS", "1", 1);
    setenv("LISTEN_FDNAMES", name, 1);
    execl(getenv("RILLD"), "rilld", "-c", r->conf, (char *) NULL);
    _exit(127);
}

bool passed_start_as(struct rig *r, int fd, const char *name)
{
    if (rig_fork(r) == 0)
        child_run(r, fd, name);
    close(fd);
    return rig_log_has(r, " ready: ", 30000);
}

bool passed_start(struct rig *r, int fd)
{
    return passed_start_as(r, fd, "metrics") && rig_wait_ready(r);
}
