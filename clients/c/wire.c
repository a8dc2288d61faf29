/* SPDX-License-Identifier: MIT */
#include "clients/c/client.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

static uint32_t get_u32(const uint8_t *p)
{
    return (uint32_t) p[0] | (uint32_t) p[1] << 8 | (uint32_t) p[2] << 16 | (uint32_t) p[3] << 24;
}

int client_messages(struct rill_client *c)
{
    size_t at = 0;
    int n_messages = 0;
    while (c->in_fill - at >= 4) {
        uint32_t n = get_u32(c->in + at);
        if (n == 0 || n > c->max_message_bytes)
            return client_fail_dead(c, "the daemon sent a frame of a wrong length");
        if (c->in_fill - at - 4 < n)
            break;
        Rill__ServerFrame *f = rill__server_frame__unpack(NULL, n, c->in + at + 4);
        if (!f)
            return client_fail_dead(c, "the daemon sent a frame that cannot be read");
        client_on_message(c, f);
        at += 4 + (size_t) n;
        n_messages++;
    }
    memmove(c->in, c->in + at, c->in_fill - at);
    c->in_fill -= at;
    return n_messages;
}

/* Reads what is there without waiting; 0 if there is nothing. */
static int socket_read(struct rill_client *c)
{
    ssize_t n =
        recv(c->fd, c->in + c->in_fill, 4 + (size_t) MAX_MESSAGE_BYTES - c->in_fill, MSG_DONTWAIT);
    if (n < 0)
        return errno == EAGAIN || errno == EINTR ? 0 : client_fail_dead(c, strerror(errno));
    if (n == 0)
        return client_fail_dead(c, "the daemon closed the connection");
    c->in_fill += (size_t) n;
    return client_messages(c);
}

int rill_client_poll(struct rill_client *c, int timeout_ms)
{
    if (c->dead)
        return client_fail_dead(c, "the connection is closed");
    struct pollfd p = { .fd = c->fd, .events = POLLIN };
    int r = poll(&p, 1, timeout_ms);
    if (r < 0 && errno != EINTR)
        return client_fail_dead(c, strerror(errno));
    return r > 0 ? socket_read(c) : 0;
}

/* Nobody asked for its answer, a Pong without a number. */
static int life_ask(struct rill_client *c)
{
    Rill__Ping m = RILL__PING__INIT;
    MESSAGE(PING, ping, m);
    return client_send(c, &f);
}

/* As poll(2) says. */
static int readable_wait(const struct rill_client *c, unsigned timeout_ms)
{
    struct pollfd p = { .fd = c->fd, .events = POLLIN };
    int r;
    while ((r = poll(&p, 1, (int) timeout_ms)) < 0 && errno == EINTR)
        ;
    return r;
}

/* One round of waiting for the daemon. What it does may take long, such as checking and loading a
 * model: after half of timeout_ms it is asked whether it lives, and one that stays silent for the
 * whole is an error. */
int client_wait(struct rill_client *c, const char *for_what)
{
    unsigned half_ms = c->timeout_ms / 2;
    if (c->dead)
        return client_fail_dead(c, "the connection is closed");
    int r = readable_wait(c, half_ms);
    if (r == 0) {
        if (life_ask(c) < 0)
            return -1;
        r = readable_wait(c, c->timeout_ms - half_ms);
    }
    if (r < 0)
        return client_fail_dead(c, strerror(errno));
    if (r == 0)
        return client_fail(c, 0, "the daemon was silent for %u ms while waiting for %s",
                           c->timeout_ms, for_what);
    return socket_read(c) < 0 ? -1 : 0;
}

/* ---- what goes out ---- */

/* The daemon closed while something was sent: an Error that explains it may lie in the socket. */
static void rest_read(struct rill_client *c)
{
    size_t before;
    int n;
    do {
        before = c->in_fill;
        n = socket_read(c);
    } while (n > 0 || (n == 0 && c->in_fill != before));
}

int client_bytes_send(struct rill_client *c, const uint8_t *p, size_t n)
{
    while (n) {
        ssize_t w = send(c->fd, p, n, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (w > 0) {
            p += w;
            n -= (size_t) w;
            continue;
        }
        if (errno != EAGAIN && errno != EINTR) {
            int why = errno;
            rest_read(c);
            return client_fail_dead(c, strerror(why));
        }
        struct pollfd pf = { .fd = c->fd, .events = POLLIN | POLLOUT };
        int r = poll(&pf, 1, (int) c->timeout_ms);
        if (r == 0)
            return client_fail_dead(c, "the daemon takes no data");
        if (r > 0 && (pf.revents & POLLIN) && socket_read(c) < 0)
            return -1;
    }
    return 0;
}

int client_send(struct rill_client *c, const Rill__ClientFrame *f)
{
    size_t n = rill__client_frame__get_packed_size(f);
    if (c->dead)
        return client_fail_dead(c, "the connection is closed");
    if (n > c->max_message_bytes)
        return client_fail(c, 0, "a message of %zu bytes is over the limit of %u", n,
                           c->max_message_bytes);
    uint8_t *b = malloc(4 + n);
    if (!b)
        return client_fail(c, 0, "out of memory");
    for (int i = 0; i < 4; i++)
        b[i] = (uint8_t) (n >> (8 * i));
    rill__client_frame__pack(f, b + 4);
    int r = client_bytes_send(c, b, 4 + n);
    free(b);
    return r;
}

/* Sends a request and waits for its answer, which the caller frees; NULL on failure. */
Rill__ServerFrame *client_request(struct rill_client *c, Rill__ClientFrame *f,
                                  Rill__ServerFrame__MCase want, const char *what)
{
    if (!c->dead) { /* why it is dead is told again */
        c->error[0] = '\0';
        c->error_code = 0;
    }
    client_message_free(c->answer);
    c->answer = NULL;
    if (++c->req == 0)
        c->req = 1;
    f->req = c->req;
    if (client_send(c, f) < 0)
        return NULL;
    while (!c->answer)
        if (client_wait(c, what) < 0)
            break;
    Rill__ServerFrame *a = c->answer;
    c->answer = NULL;
    if (a && a->m_case == want)
        return a;
    if (a && a->m_case == RILL__SERVER_FRAME__M_ERROR)
        client_fail(c, (int) a->error->code, "%s: %s", client_code_name((int) a->error->code),
                    a->error->text);
    else if (!c->error[0])
        client_fail(c, 0, "the daemon answered %s with something else", what);
    client_message_free(a);
    return NULL;
}
