/* SPDX-License-Identifier: MIT */
#include "daemon/net/sockets.h"
#include "daemon/base/text.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

/* Where a socket is to be made. */
struct place {
    const char *text; /* as the settings have it */
    union address address;
    socklen_t len;
    const struct socket_rights *rights; /* of paths */
};

/* ---- paths ---- */

static bool fail(char *err, size_t n, const char *where, const char *what)
{
    snprintf(err, n, "%s: %s", where, what);
    return false;
}

/* Removes a stale socket that nobody listens on. The lock keeps two daemons from doing so at once.
 */
static bool path_clear(struct own_socket *own, const union address *a, char *err, size_t n)
{
    const char *path = a->un.sun_path;
    char lock[128];
    snprintf(lock, sizeof lock, "%s.lock", path);
    own->lock_fd = open(lock, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (own->lock_fd < 0)
        return fail(err, n, lock, strerror(errno));
    if (flock(own->lock_fd, LOCK_EX | LOCK_NB) < 0)
        return fail(err, n, path, "another rilld listens here (the lock is held)");
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int r = connect(fd, &a->any, sizeof a->un), why = errno;
    close(fd);
    if (r == 0)
        return fail(err, n, path, "another program listens here");
    struct stat st;
    if (why == ECONNREFUSED && lstat(path, &st) == 0) {
        if (!S_ISSOCK(st.st_mode))
            return fail(err, n, path, "exists and is no socket; it is left alone");
        unlink(path);
    }
    return true;
}

static bool group_set(const char *path, const char *group, char *err, size_t n)
{
    if (!*group)
        return true;
    struct group *g = getgrnam(group);
    if (!g) {
        snprintf(err, n, "%s: there is no group '%s' (socket_group)", path, group);
        return false;
    }
    if (lchown(path, (uid_t) -1, g->gr_gid) < 0)
        return fail(err, n, path, strerror(errno));
    return true;
}

static int path_bind(struct own_socket *own, const struct place *where, char *err, size_t n)
{
    union address a = where->address;
    const char *path = where->text;
    if (!path_clear(own, &a, err, n))
        return -1;
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    /* The group is set while only the owner may connect; then the mode widens. */
    mode_t old = umask(0177);
    int r = bind(fd, &a.any, sizeof a.un);
    umask(old);
    if (r < 0) {
        fail(err, n, path, strerror(errno));
    } else {
        memcpy(own->path, a.un.sun_path, sizeof own->path);
        if (group_set(path, where->rights->group, err, n)) {
            if (where->rights->mode == 0600 || chmod(path, (mode_t) where->rights->mode) == 0)
                return fd;
            fail(err, n, path, strerror(errno));
        }
    }
    close(fd);
    return -1;
}

/* ---- TCP ---- */

static int port_bind(struct own_socket *own, const struct place *where, char *err, size_t n)
{
    (void) own;
    int one = 1,
        fd = socket(where->address.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0 && errno == EAFNOSUPPORT) {
        fail(err, n, where->text,
             "addresses of this kind are not to be had here (RestrictAddressFamilies of the unit, "
             "or the kernel): name a path, or have a socket passed (rilld-metrics.socket)");
        return -1;
    }
    if (fd >= 0 && setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one) == 0 &&
        bind(fd, &where->address.any, where->len) == 0)
        return fd;
    fail(err, n, where->text, strerror(errno));
    if (fd >= 0)
        close(fd);
    return -1;
}

/* ADDRESS:PORT, or [ADDRESS]:PORT of IPv6. */
static void port_name(const union address *a, socklen_t len, char ret[SOCKET_NAME_BYTES])
{
    char text[INET6_ADDRSTRLEN];
    bool is_6 = a->any.sa_family == AF_INET6;
    (void) len;
    const void *of = is_6 ? (const void *) &a->in6.sin6_addr : &a->in.sin_addr;
    if (inet_ntop(a->any.sa_family, of, text, sizeof text))
        snprintf(ret, SOCKET_NAME_BYTES, is_6 ? "[%s]:%u" : "%s:%u", text,
                 ntohs(is_6 ? a->in6.sin6_port : a->in.sin_port));
}

/* The path, or @ and the abstract name. */
static void path_name(const union address *a, socklen_t len, char ret[SOCKET_NAME_BYTES])
{
    size_t head = offsetof(struct sockaddr_un, sun_path);
    if (len <= head || len > sizeof a->un)
        return;
    bool is_abstract = !a->un.sun_path[0];
    snprintf(ret, SOCKET_NAME_BYTES, "%s%.*s", is_abstract ? "@" : "",
             (int) (len - head) - is_abstract, a->un.sun_path + is_abstract);
    text_clean(ret);
}

/* ---- all families ---- */

/* What the settings may name is in daemon/base/address.c. */
static const struct transport {
    int family;
    /* a bound socket, or -1 and a message */
    int (*bind)(struct own_socket *own, const struct place *where, char *err, size_t n);
    void (*name)(const union address *a, socklen_t len, char ret[SOCKET_NAME_BYTES]);
} transports[] = {
    { AF_UNIX, path_bind, path_name },
    { AF_INET, port_bind, port_name },
    { AF_INET6, port_bind, port_name },
};

static const struct transport *transport_of(const union address *a)
{
    for (size_t i = 0; i < sizeof transports / sizeof *transports; i++)
        if (transports[i].family == a->any.sa_family)
            return &transports[i];
    return NULL;
}

int socket_at_path(struct own_socket *own, const char *path, const struct socket_rights *rights,
                   char *err, size_t n)
{
    struct place where = { .text = path, .rights = rights, .len = sizeof where.address.un };
    *own = OWN_SOCKET_NONE;
    where.address.un.sun_family = AF_UNIX;
    if (strlen(path) >= sizeof where.address.un.sun_path) {
        fail(err, n, path, "the path is longer than 107 bytes");
        return -1;
    }
    memcpy(where.address.un.sun_path, path, strlen(path) + 1);
    return path_bind(own, &where, err, n);
}

int socket_at(struct own_socket *own, const char *text, const struct socket_rights *rights,
              char *err, size_t n)
{
    struct place where = { .text = text, .rights = rights };
    where.len = address_parse(text, &where.address);
    const struct transport *t = where.len ? transport_of(&where.address) : NULL;
    *own = OWN_SOCKET_NONE;
    if (t)
        return t->bind(own, &where, err, n);
    char rule[ADDRESS_RULE_BYTES], is_not[ADDRESS_RULE_BYTES + 8];
    address_rule(rule);
    snprintf(is_not, sizeof is_not, "is not %s", rule);
    fail(err, n, text, is_not);
    return -1;
}

void socket_name(int fd, char ret[SOCKET_NAME_BYTES])
{
    union address a = { .any.sa_family = AF_UNSPEC };
    socklen_t len = sizeof a;
    snprintf(ret, SOCKET_NAME_BYTES, "a passed socket");
    const struct transport *t = getsockname(fd, &a.any, &len) == 0 ? transport_of(&a) : NULL;
    if (t)
        t->name(&a, len, ret);
}

void own_socket_end(struct own_socket *own)
{
    if (own->path[0])
        unlink(own->path);
    if (own->lock_fd >= 0)
        close(own->lock_fd);
    *own = OWN_SOCKET_NONE;
}
