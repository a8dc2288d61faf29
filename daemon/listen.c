/* SPDX-License-Identifier: MIT */
#include "daemon/daemon.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <netinet/in.h>
#include <stddef.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define BACKLOG 128
#define ACCEPTS_A_TURN 16          /* the streams that run are looked at between */

/* ---- accepting ---- */

static int fd_accept(const struct listener *l)
{
    int fd;
    do
        fd = accept4(l->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
    while (fd < 0 && (errno == EINTR || errno == ECONNABORTED));
    return fd;
}

/* Without a descriptor to spare the one that is kept for this takes the client, who is told and
 * sent away. */
static bool turned_away(struct daemon *d, const struct listener *l)
{
    if (d->spare_fd < 0)
        return false;
    close(d->spare_fd);
    int fd = fd_accept(l), why = errno;
    if (fd >= 0)
        conn_refuse(d, fd, RILL__CODE__QUOTA,
                    "the daemon has no file descriptor left; try again later");
    d->spare_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    errno = why;
    return fd >= 0;
}

/* What cannot be accepted now is left to the kernel's queue until the next tick. */
static void accept_pause(struct listener *l, int error)
{
    struct daemon *d = l->daemon;
    if (!l->failing)
        log_line(&d->log, LOG_WARN, "accept: %s; trying again every %d ms", strerror(error),
                 TICK_MS);
    l->failing = l->paused = true;
    uv_poll_stop(&l->poll);
}

static void on_connection(uv_poll_t *p, int status, int events)
{
    struct listener *l = p->data;
    (void) status, (void) events;
    for (int i = 0; i < ACCEPTS_A_TURN; i++) {
        int fd = fd_accept(l), why = errno;
        if (fd >= 0) {
            if (l->failing)
                log_line(&l->daemon->log, LOG_INFO, "accept: works again");
            l->failing = false;
            conn_accept(l->daemon, l, fd);
        } else if (why == EAGAIN || why == EWOULDBLOCK) {
            return;
        } else if ((why != EMFILE && why != ENFILE) || !turned_away(l->daemon, l)) {
            accept_pause(l, why);
            return;
        }
    }
}

void listen_tick(struct daemon *d)
{
    if (d->n_listeners && d->spare_fd < 0)
        d->spare_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    for (unsigned i = 0; i < d->n_listeners; i++)
        if (d->listeners[i].paused) {
            d->listeners[i].paused = false;
            uv_poll_start(&d->listeners[i].poll, UV_READABLE, on_connection);
        }
}

/* ---- making sockets ---- */

static bool fail(char *err, size_t n, const char *path, const char *what)
{
    snprintf(err, n, "%s: %s", path, what);
    return false;
}

static bool address_make(struct sockaddr_un *a, const char *path)
{
    *a = (struct sockaddr_un) { .sun_family = AF_UNIX };
    if (strlen(path) >= sizeof a->sun_path)
        return false;
    memcpy(a->sun_path, path, strlen(path) + 1);
    return true;
}

/* Removes a socket that nobody listens on. The lock keeps two daemons from doing so at once. */
static bool path_clear(struct listener *l, const struct sockaddr_un *a, char *err, size_t n)
{
    char lock[128];
    snprintf(lock, sizeof lock, "%s.lock", l->path);
    l->lock_fd = open(lock, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (l->lock_fd < 0)
        return fail(err, n, lock, strerror(errno));
    if (flock(l->lock_fd, LOCK_EX | LOCK_NB) < 0)
        return fail(err, n, l->path, "another rilld listens here (the lock is held)");
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int r = connect(fd, (const struct sockaddr *) a, sizeof *a), why = errno;
    close(fd);
    if (r == 0)
        return fail(err, n, l->path, "another program listens here");
    struct stat st;
    if (why == ECONNREFUSED && lstat(l->path, &st) == 0) {
        if (!S_ISSOCK(st.st_mode))
            return fail(err, n, l->path, "exists and is no socket; it is left alone");
        unlink(l->path);
    }
    return true;
}

static bool group_set(const char *path, const char *group, char *err, size_t n)
{
    if (!*group)
        return true;
    struct group *g = getgrnam(group);
    if (!g)
        return fail(err, n, group, "there is no such group (daemon.socket_group)");
    if (lchown(path, (uid_t) -1, g->gr_gid) < 0)
        return fail(err, n, path, strerror(errno));
    return true;
}

static int own_socket(struct listener *l, uint32_t mode, const char *group, char *err, size_t n)
{
    struct sockaddr_un a;
    if (!address_make(&a, l->path)) {
        fail(err, n, l->path, "the path is longer than 107 bytes");
        return -1;
    }
    if (!path_clear(l, &a, err, n))
        return -1;
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    /* The group is set while only the owner may connect; then the mode widens. */
    mode_t old = umask(0177);
    int r = bind(fd, (struct sockaddr *) &a, sizeof a);
    umask(old);
    if (r < 0) {
        fail(err, n, l->path, strerror(errno));
    } else if (group_set(l->path, group, err, n)) {
        if (mode == 0600 || chmod(l->path, (mode_t) mode) == 0)
            return fd;
        fail(err, n, l->path, strerror(errno));
    }
    close(fd);
    return -1;
}

union address {
    struct sockaddr any;
    struct sockaddr_un un;
    struct sockaddr_in in;
    struct sockaddr_in6 in6;
    struct sockaddr_storage room;
};

/* ADDRESS:PORT, and [ADDRESS]:PORT of the sixth version; false: the socket is of another kind. */
static bool port_name(struct listener *l, const union address *a)
{
    char text[INET6_ADDRSTRLEN];
    bool is_6 = a->any.sa_family == AF_INET6;
    if (!is_6 && a->any.sa_family != AF_INET)
        return false;
    const void *of = is_6 ? (const void *) &a->in6.sin6_addr : &a->in.sin_addr;
    if (inet_ntop(a->any.sa_family, of, text, sizeof text))
        snprintf(l->name, sizeof l->name, is_6 ? "[%s]:%u" : "%s:%u", text,
                 ntohs(is_6 ? a->in6.sin6_port : a->in.sin_port));
    return true;
}

/* A name in the abstract space begins with @. */
static void listener_name(struct listener *l)
{
    union address a = { .any.sa_family = AF_UNSPEC };
    socklen_t len = sizeof a;
    size_t head = offsetof(struct sockaddr_un, sun_path);
    snprintf(l->name, sizeof l->name, "%s", l->path[0] ? l->path : "a passed socket");
    if (l->path[0] || getsockname(l->fd, &a.any, &len) < 0 || port_name(l, &a) ||
        a.any.sa_family != AF_UNIX || len <= head || len > sizeof a.un)
        return;
    bool is_abstract = !a.un.sun_path[0];
    snprintf(l->name, sizeof l->name, "%s%.*s", is_abstract ? "@" : "",
             (int) (len - head) - is_abstract, a.un.sun_path + is_abstract);
    text_clean(l->name);
}

void listen_names(const struct daemon *d, char *ret, size_t n)
{
    ret[0] = '\0';
    for (unsigned i = 0; i < d->n_listeners; i++) {
        size_t at = strlen(ret);
        if (!d->listeners[i].is_control)
            snprintf(ret + at, n - at, "%s%s", at ? ", " : "", d->listeners[i].name);
    }
}

static bool listener_start(struct daemon *d, struct listener *l, int fd, char *err, size_t n)
{
    l->daemon = d;
    l->fd = fd;
    l->poll.data = l;
    listener_name(l);
    if (listen(fd, BACKLOG) < 0) {
        int why = errno;
        close(fd);
        return fail(err, n, l->name, strerror(why));
    }
    int r = uv_poll_init(&d->loop, &l->poll, fd);
    if (r < 0) {
        close(fd);
        return fail(err, n, l->name, uv_strerror(r));
    }
    l->open = true;
    r = uv_poll_start(&l->poll, UV_READABLE, on_connection);
    return r == 0 || fail(err, n, l->name, uv_strerror(r));
}

static bool passed_start(struct daemon *d, const struct notify_fds *fds, char *err, size_t n)
{
    for (int i = 0; i < fds->n; i++) {
        if (strcmp(fds->name[i], "metrics") == 0) {
            if (!http_listen(d, fds->fd[i]))
                return fail(err, n, "metrics", "the passed socket cannot be listened on");
            continue;
        }
        struct listener *l = &d->listeners[d->n_listeners++];
        *l =
            (struct listener) { .lock_fd = -1, .is_control = strcmp(fds->name[i], "control") == 0 };
        if (!listener_start(d, l, fds->fd[i], err, n))
            return false;
    }
    return true;
}

static bool own_start(struct daemon *d, const char *path, bool is_control, char *err, size_t n)
{
    struct listener *l = &d->listeners[d->n_listeners++];
    *l = (struct listener) { .lock_fd = -1, .is_control = is_control };
    snprintf(l->path, sizeof l->path, "%s", path);
    int fd = own_socket(l, is_control ? 0600 : d->conf.daemon_socket_mode,
                        is_control ? "" : d->conf.daemon_socket_group, err, n);
    if (fd < 0) {
        l->path[0] = '\0';
        return false;
    }
    return listener_start(d, l, fd, err, n);
}

bool listen_all(struct daemon *d, char *err, size_t n)
{
    struct notify_fds fds;
    notify_listen_fds(&fds);
    d->spare_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (fds.n > MAX_LISTENERS - 2)
        fds.n = MAX_LISTENERS - 2;
    bool data = false, control = false;
    for (int i = 0; i < fds.n; i++)
        if (strcmp(fds.name[i], "metrics") != 0)
            *(strcmp(fds.name[i], "control") == 0 ? &control : &data) = true;
    if (!passed_start(d, &fds, err, n))
        return false;
    /* Under a service manager that passes sockets for clients, what it does not pass is not
     * wanted. The clients' socket comes last: who reaches it finds the others. */
    if (!control && !data && d->conf.daemon_control_socket[0] &&
        !own_start(d, d->conf.daemon_control_socket, true, err, n))
        return false;
    return data || own_start(d, d->conf.daemon_socket, false, err, n);
}

void listen_close(struct daemon *d)
{
    for (unsigned i = 0; i < d->n_listeners; i++) {
        struct listener *l = &d->listeners[i];
        if (l->open) {
            uv_close((uv_handle_t *) &l->poll, NULL);
            close(l->fd);
        }
        if (l->path[0])
            unlink(l->path);
        if (l->lock_fd >= 0)
            close(l->lock_fd);
    }
    d->n_listeners = 0;
    if (d->spare_fd >= 0)
        close(d->spare_fd);
    d->spare_fd = -1;
}
