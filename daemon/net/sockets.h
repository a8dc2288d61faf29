/* SPDX-License-Identifier: MIT */
/* sockets.h - listening sockets: made where the settings say, named for the log. */
#ifndef RILL_DAEMON_NET_SOCKETS_H
#define RILL_DAEMON_NET_SOCKETS_H

#include "daemon/base/address.h"

#include <stddef.h>
#include <stdint.h>

#define SOCKET_NAME_BYTES 112

/* What the end of a socket that we made undoes. */
struct own_socket {
    char path[108]; /* to unlink; "": it was passed to us, or is no file's */
    int lock_fd;    /* -1: none */
};
#define OWN_SOCKET_NONE ((struct own_socket) { .lock_fd = -1 })

/* Who may connect to a socket at a path. */
struct socket_rights {
    uint32_t mode;
    const char *group; /* "": the daemon's own */
};

/* A bound socket; -1 with words in err. What it leaves in *own is to be ended in both cases. */
int socket_at_path(struct own_socket *own, const char *path, const struct socket_rights *rights,
                   char *err, size_t n);
/* At a path or an address, as address.h has them. */
int socket_at(struct own_socket *own, const char *where, const struct socket_rights *rights,
              char *err, size_t n);
void own_socket_end(struct own_socket *own);

/* What it is called in the log: its path, @ and its abstract name, or its address and port. */
void socket_name(int fd, char ret[SOCKET_NAME_BYTES]);

#endif
