/* SPDX-License-Identifier: MIT */
#include "clients/c/client.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static int preface_exchange(struct rill_client *c)
{
    static const uint8_t preface[8] = { 'R', 'I', 'L', 'L', 1, 0, 0, 0 };
    if (client_bytes_send(c, preface, sizeof preface) < 0)
        return -1;
    size_t have = 0;
    uint8_t got[8];
    while (have < sizeof got) {
        struct pollfd p = { .fd = c->fd, .events = POLLIN };
        int r = poll(&p, 1, (int) c->timeout_ms);
        if (r < 0 && errno == EINTR)
            continue;
        if (r <= 0)
            return client_fail_dead(c, "no answer to the preface: is this rilld's socket?");
        ssize_t n = recv(c->fd, got + have, sizeof got - have, 0);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return client_fail_dead(c, "the daemon closed the connection at the preface");
        have += (size_t) n;
    }
    if (memcmp(got, preface, 6) == 0)
        return 0;
    /* In place of the preface an Error may come, such as QUOTA. */
    memcpy(c->in, got, sizeof got);
    c->in_fill = sizeof got;
    int r = client_messages(c);
    for (int tries = 0; r >= 0 && !c->dead && tries < 4; tries++)
        r = rill_client_poll(c, (int) c->timeout_ms);
    return client_fail_dead(c, "the answer is not rilld's preface, or of another major version");
}

static int hello(struct rill_client *c, const char *name)
{
    Rill__Hello m = RILL__HELLO__INIT;
    m.client = (char *) (uintptr_t) name;
    m.max_frame = MAX_MESSAGE_BYTES;
    MESSAGE(HELLO, hello, m);
    Rill__ServerFrame *a = client_request(c, &f, RILL__SERVER_FRAME__M_HELLO, "Hello");
    if (!a) {
        c->dead = true;
        return -1;
    }
    if (a->hello->max_frame >= 1024 && a->hello->max_frame <= MAX_MESSAGE_BYTES)
        c->max_message_bytes = a->hello->max_frame;
    snprintf(c->server, sizeof c->server, "%s", a->hello->server);
    client_message_free(a);
    return 0;
}

static int socket_open(struct rill_client *c, const char *path)
{
    struct sockaddr_un a = { .sun_family = AF_UNIX };
    if (strlen(path) >= sizeof a.sun_path)
        return client_fail_dead(c, "the socket's path is longer than 107 bytes");
    memcpy(a.sun_path, path, strlen(path) + 1);
    c->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (c->fd < 0)
        return client_fail_dead(c, strerror(errno));
    if (connect(c->fd, (struct sockaddr *) &a, sizeof a) < 0) {
        client_fail(c, 0, "%s: %s", path, strerror(errno));
        c->dead = true;
        return -1;
    }
    return 0;
}

int rill_client_connect(struct rill_client **ret, const char *path, const char *name,
                        unsigned timeout_ms)
{
    struct rill_client *c = *ret = calloc(1, sizeof *c);
    if (!c)
        return -1;
    c->fd = -1;
    c->timeout_ms = timeout_ms ? timeout_ms : 10000;
    c->max_message_bytes = MAX_MESSAGE_BYTES;
    c->in = malloc(4 + (size_t) MAX_MESSAGE_BYTES);
    if (!c->in)
        return client_fail_dead(c, "out of memory");
    return socket_open(c, path) < 0 || preface_exchange(c) < 0 || hello(c, name ? name : "") < 0
        ? -1
        : 0;
}

struct rill_client *rill_client_free(struct rill_client *c)
{
    if (!c)
        return NULL;
    if (c->fd >= 0)
        close(c->fd);
    for (size_t i = 0; i < MAX_STREAMS; i++)
        client_stream_drop(&c->streams[i]);
    client_message_free(c->answer);
    client_message_free(c->held);
    free(c->in);
    free(c->metrics);
    free(c);
    return NULL;
}

void rill_client_set_events(struct rill_client *c, const struct rill_client_events *ev)
{
    c->ev = *ev;
}

const char *rill_client_error(const struct rill_client *c)
{
    return c ? c->error : "out of memory";
}

int rill_client_error_code(const struct rill_client *c)
{
    return c ? c->error_code : 0;
}

int rill_client_fd(const struct rill_client *c)
{
    return c->fd;
}

const char *rill_client_server(const struct rill_client *c)
{
    return c->server;
}
