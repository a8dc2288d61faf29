/* SPDX-License-Identifier: MIT */
/* sockets.h - makes listening sockets and names them for the log. */
#ifndef RILL_DAEMON_NET_SOCKETS_H
#define RILL_DAEMON_NET_SOCKETS_H

#include "daemon/base/address.h"

#include <stddef.h>
#include <stdint.h>

#define SOCKET_NAME_BYTES 112

/* What must be undone for a socket that this process made. */
struct own_socket {
    char path[108]; /* to unlink; "": it was passed, or has no path */
    int lock_fd;    /* -1: none */
};
#define OWN_SOCKET_NONE ((struct own_socket) { .lock_fd = -1 })

/* Who may connect to a socket at a path. */
struct socket_rights {
    uint32_t mode;
    const char *group; /* "": the daemon's own */
};

/* A bound socket, or -1 and a message in err. own_socket_end undoes *own in both cases. */
int socket_at_path(struct own_socket *own, const char *path, const struct socket_rights *rights,
                   char *err, size_t n);
/* At a path or an address, as address.h has them. */
int socket_at(struct own_socket *own, const char *text, const struct socket_rights *rights,
              char *err, size_t n);
void own_socket_end(struct own_socket *own);

/* Its name in the log: its path, @ and its abstract name, or its address and port. */
void socket_name(int fd, char ret[SOCKET_NAME_BYTES]);

#endif
