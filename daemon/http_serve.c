/* SPDX-License-Identifier: MIT */
/* Listening sockets that the service manager passed under the name "metrics", of any family. Few
 * connections at a time, each with one request and one answer, and a deadline. */
#include "daemon/daemon.h"
#include "daemon/http.h"

#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

#define HTTP_CONNS 16
#define REQUEST_US 2000000              /* for the whole request */
#define ANSWER_US 5000000               /* for the client to read the answer */
#define LINGER_US 1000000               /* until it closes, then we do */

struct http_conn {
    uv_poll_t poll;                 /* first: the handle is the connection */
    struct daemon *daemon;
    struct http_conn *next;
    int fd;
    char in[HTTP_REQUEST_BYTES + 1];
    size_t n_in;
    char *out;                      /* NULL until the request is whole */
    size_t n_out, sent;
    uint64_t deadline_us;
    bool closing;
};

/* ---- the end ---- */

static void on_closed(uv_handle_t *h)
{
    struct http_conn *c = (struct http_conn *) (void *) h;
    close(c->fd);
    free(c->out);
    free(c);
}

static void conn_drop(struct http_conn *c)
{
    struct http_conn **at = &c->daemon->http_conns;
    if (c->closing)
        return;
    c->closing = true;
    while (*at != c)
        at = &(*at)->next;
    *at = c->next;
    c->daemon->n_http_conns--;
    uv_close((uv_handle_t *) &c->poll, on_closed);
}

/* ---- answers ---- */

/* Body and type of a page; the body is to be freed. */
static char *page_make(struct daemon *d, const struct http_decision *x, int *status,
                       const char **type, size_t *n)
{
    static const char plain[] = "text/plain; charset=utf-8";
    char text[300];
    *type = plain;
    if (*status == 200 && x->page == HTTP_METRICS) {
        *type = x->open ? "application/openmetrics-text; version=1.0.0; charset=utf-8"
                        : "text/plain; version=0.0.4; charset=utf-8";
        return metrics_text(d, x->open, n);
    }
    if (*status == 200 && health_state(d) == HEALTH_OK) {
        snprintf(text, sizeof text, "ok\n");
    } else if (*status == 200) {
        *status = 503;
        snprintf(text, sizeof text, "%s: %s\n", health_state_name(health_state(d)),
                 health_reason(d));
    } else {
        snprintf(text, sizeof text, "%d %s\n", *status, http_reason(*status));
    }
    *n = strlen(text);
    return strdup(text);
}

static void on_ready(uv_poll_t *p, int status, int events);

static void answer_make(struct http_conn *c, const struct http_decision *x)
{
    int status = x->status;
    const char *type;
    size_t n_body = 0, n;
    char head[512], *body = page_make(c->daemon, x, &status, &type, &n_body);
    n = body ? http_head(head, sizeof head, status, type, n_body) : 0;
    c->out = body ? malloc(n + n_body) : NULL;
    if (!c->out) {
        free(body);
        conn_drop(c);
        return;
    }
    memcpy(c->out, head, n);
    memcpy(c->out + n, body, n_body);
    c->n_out = n + n_body;
    free(body);
    c->deadline_us = lane_now_us() + ANSWER_US;
    uv_poll_start(&c->poll, UV_WRITABLE | UV_DISCONNECT, on_ready);
}

static void answer_send(struct http_conn *c)
{
    ssize_t w = send(c->fd, c->out + c->sent, c->n_out - c->sent, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (w < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (w < 0) {
        conn_drop(c);
        return;
    }
    c->sent += (size_t) w;
    if (c->sent < c->n_out)
        return;
    shutdown(c->fd, SHUT_WR);
    c->deadline_us = lane_now_us() + LINGER_US;
    uv_poll_start(&c->poll, UV_READABLE | UV_DISCONNECT, on_ready);
}

/* ---- requests ---- */

static void request_read(struct http_conn *c)
{
    char rest[512];
    bool answered = c->out;
    ssize_t n = answered ? recv(c->fd, rest, sizeof rest, MSG_DONTWAIT)
        : recv(c->fd, c->in + c->n_in, sizeof c->in - c->n_in, MSG_DONTWAIT);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n <= 0) {
        conn_drop(c);
        return;
    }
    if (answered)
        return;                     /* behind the request; nobody wants it */
    c->n_in += (size_t) n;
    struct http_decision x = http_decide(c->in, c->n_in);
    if (x.status)
        answer_make(c, &x);
}

static void on_ready(uv_poll_t *p, int status, int events)
{
    struct http_conn *c = (struct http_conn *) (void *) p;
    if (status < 0 || (events & UV_DISCONNECT && !(events & UV_READABLE) && c->sent == c->n_out))
        conn_drop(c);
    else if (events & UV_READABLE)
        request_read(c);
    else if (events & UV_WRITABLE)
        answer_send(c);
    else
        conn_drop(c);
}

static void conn_make(struct daemon *d, int fd)
{
    struct http_conn *c = d->n_http_conns < HTTP_CONNS ? calloc(1, sizeof *c) : NULL;
    if (!c || uv_poll_init(&d->loop, &c->poll, fd) < 0) {
        free(c);
        close(fd);
        return;
    }
    c->daemon = d;
    c->fd = fd;
    c->deadline_us = lane_now_us() + REQUEST_US;
    c->next = d->http_conns;
    d->http_conns = c;
    d->n_http_conns++;
    uv_poll_start(&c->poll, UV_READABLE | UV_DISCONNECT, on_ready);
}

/* ---- listening ---- */

static void on_connection(uv_poll_t *p, int status, int events)
{
    struct http_listener *l = p->data;
    (void) status, (void) events;
    for (int i = 0; i < HTTP_CONNS; i++) {
        int fd = accept4(l->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
        if (fd >= 0) {
            conn_make(l->daemon, fd);
            continue;
        }
        if (errno != EAGAIN && errno != EINTR && errno != ECONNABORTED) {
            uv_poll_stop(p);        /* no descriptor: the tick tries again */
            l->paused = true;
        }
        return;
    }
}

bool http_listen(struct daemon *d, int fd)
{
    if (d->n_http == HTTP_LISTENERS)
        return false;
    struct http_listener *l = &d->http[d->n_http];
    *l = (struct http_listener) { .daemon = d, .fd = fd };
    if (uv_poll_init(&d->loop, &l->poll, fd) < 0)
        return false;
    l->poll.data = l;
    d->n_http++;
    return listen(fd, HTTP_CONNS) == 0 && uv_poll_start(&l->poll, UV_READABLE, on_connection) == 0;
}

void http_tick(struct daemon *d, uint64_t now_us)
{
    for (struct http_conn *c = d->http_conns, *next; c; c = next) {
        next = c->next;
        if (now_us <= c->deadline_us)
            continue;
        if (c->out)
            conn_drop(c);
        else
            answer_make(c, &(struct http_decision) { .status = 408 });
    }
    for (unsigned i = 0; i < d->n_http; i++)
        if (d->http[i].paused) {
            d->http[i].paused = false;
            uv_poll_start(&d->http[i].poll, UV_READABLE, on_connection);
        }
}

void http_close(struct daemon *d)
{
    while (d->http_conns)
        conn_drop(d->http_conns);
    for (unsigned i = 0; i < d->n_http; i++) {
        uv_close((uv_handle_t *) &d->http[i].poll, NULL);
        close(d->http[i].fd);
    }
    d->n_http = 0;
}
