/* SPDX-License-Identifier: MIT */
#include "daemon/base/notify.h"
#include "daemon/net/net.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#define BACKLOG 1024       /* for bursts of connections */
#define ACCEPTS_AT_ONCE 16 /* the loop serves audio in between */

/* ---- accepting ---- */

static int fd_accept(const struct listener *l)
{
    int fd;
    do
        fd = accept4(l->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
    while (fd < 0 && (errno == EINTR || errno == ECONNABORTED));
    return fd;
}

/* Where descriptors have run out, frees the spare one to accept a client, tell it why, and close
 * it. */
static bool accept_and_refuse(struct net *net, const struct listener *l)
{
    if (net->spare_fd < 0)
        return false;
    close(net->spare_fd);
    int fd = fd_accept(l), why = errno;
    if (fd >= 0)
        conn_refuse(net, fd, RILL__CODE__QUOTA,
                    "the daemon has no file descriptor left; try again later");
    net->spare_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    errno = why;
    return fd >= 0;
}

/* Leaves connections in the kernel's queue until the next tick. */
static void accept_pause(struct listener *l, int error)
{
    struct net *net = l->net;
    if (!l->failing)
        log_line(net->log, LOG_WARN, "accept: %s; trying again every %d ms", strerror(error),
                 TICK_MS);
    l->failing = l->paused = true;
    uv_poll_stop(&l->poll);
}

static void on_connection(uv_poll_t *p, int status, int events)
{
    struct listener *l = p->data;
    (void) status, (void) events;
    for (int i = 0; i < ACCEPTS_AT_ONCE; i++) {
        int fd = fd_accept(l), why = errno;
        if (fd >= 0) {
            if (l->failing)
                log_line(l->net->log, LOG_INFO, "accept: works again");
            l->failing = false;
            conn_accept(l->net, l, fd);
        } else if (why == EAGAIN || why == EWOULDBLOCK) {
            return;
        } else if ((why == EMFILE || why == ENFILE) && http_evict_one(l->net)) {
            continue;
        } else if ((why != EMFILE && why != ENFILE) || !accept_and_refuse(l->net, l)) {
            accept_pause(l, why);
            return;
        }
    }
}

void listen_tick(struct net *net)
{
    if (net->n_listeners && net->spare_fd < 0)
        net->spare_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    for (unsigned i = 0; i < net->n_listeners; i++)
        if (net->listeners[i].paused) {
            net->listeners[i].paused = false;
            uv_poll_start(&net->listeners[i].poll, UV_READABLE, on_connection);
        }
}

/* ---- starting ---- */

void listen_names(const struct net *net, char *ret, size_t n)
{
    ret[0] = '\0';
    for (unsigned i = 0; i < net->n_listeners; i++) {
        size_t at = strlen(ret);
        if (!net->listeners[i].is_control)
            snprintf(ret + at, n - at, "%s%s", at ? ", " : "", net->listeners[i].name);
    }
}

static bool fail(char *err, size_t n, const char *name, const char *what)
{
    snprintf(err, n, "%s: %s", name, what);
    return false;
}

static bool listener_start(struct net *net, struct listener *l, int fd, char *err, size_t n)
{
    l->net = net;
    l->fd = fd;
    l->poll.data = l;
    socket_name(fd, l->name);
    if (listen(fd, BACKLOG) < 0) {
        int why = errno;
        close(fd);
        return fail(err, n, l->name, strerror(why));
    }
    int r = uv_poll_init(net->loop, &l->poll, fd);
    if (r < 0) {
        close(fd);
        return fail(err, n, l->name, uv_strerror(r));
    }
    l->open = true;
    r = uv_poll_start(&l->poll, UV_READABLE, on_connection);
    return r == 0 || fail(err, n, l->name, uv_strerror(r));
}

/* What a passed socket is for, by its name; one without a name is for clients. */
enum passed_kind { PASSED_DATA, PASSED_CONTROL, PASSED_METRICS, PASSED_HEALTH };

static enum passed_kind passed_kind(const char *name)
{
    static const char *const names[] = {
        [PASSED_CONTROL] = "control",
        [PASSED_METRICS] = "metrics",
        [PASSED_HEALTH] = "health",
    };
    for (size_t i = PASSED_CONTROL; i < sizeof names / sizeof *names; i++)
        if (strcmp(name, names[i]) == 0)
            return (enum passed_kind) i;
    return PASSED_DATA;
}

static bool passed_start(struct net *net, const struct notify_fds *fds, char *err, size_t n)
{
    for (int i = 0; i < fds->n; i++) {
        enum passed_kind kind = passed_kind(fds->name[i]);
        if (kind == PASSED_METRICS || kind == PASSED_HEALTH) {
            if (!http_passed(net, fds->fd[i], kind == PASSED_HEALTH, err, n))
                return false;
            continue;
        }
        struct listener *l = &net->listeners[net->n_listeners++];
        *l = (struct listener) { .own = OWN_SOCKET_NONE, .is_control = kind == PASSED_CONTROL };
        if (!listener_start(net, l, fds->fd[i], err, n))
            return false;
    }
    return true;
}

static bool own_start(struct net *net, const char *path, bool is_control, char *err, size_t n)
{
    struct listener *l = &net->listeners[net->n_listeners++];
    struct socket_rights rights = { 0600, "" };
    if (!is_control)
        rights = (struct socket_rights) { net->conf->daemon_socket_mode,
                                          net->conf->daemon_socket_group };
    *l = (struct listener) { .is_control = is_control };
    int fd = socket_at_path(&l->own, path, &rights, err, n);
    return fd >= 0 && listener_start(net, l, fd, err, n);
}

bool listen_all(struct net *net, char *err, size_t n)
{
    struct notify_fds fds;
    bool has[PASSED_HEALTH + 1] = { false };
    notify_listen_fds(&fds);
    net->spare_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (fds.n > MAX_LISTENERS - 2)
        fds.n = MAX_LISTENERS - 2;
    for (int i = 0; i < fds.n; i++)
        has[passed_kind(fds.name[i])] = true;
    if (!passed_start(net, &fds, err, n) || !http_start(net, err, n))
        return false;
    /* A service manager that passes sockets for clients passes all that are wanted. The clients'
     * socket comes last: once it is there, the others are. */
    if (!has[PASSED_CONTROL] && !has[PASSED_DATA] && net->conf->daemon_control_socket[0] &&
        !own_start(net, net->conf->daemon_control_socket, true, err, n))
        return false;
    return has[PASSED_DATA] || own_start(net, net->conf->daemon_socket, false, err, n);
}

void listen_close(struct net *net)
{
    for (unsigned i = 0; i < net->n_listeners; i++) {
        struct listener *l = &net->listeners[i];
        if (l->open) {
            uv_close((uv_handle_t *) &l->poll, NULL);
            close(l->fd);
        }
        own_socket_end(&l->own);
    }
    net->n_listeners = 0;
    if (net->spare_fd >= 0)
        close(net->spare_fd);
    net->spare_fd = -1;
}
