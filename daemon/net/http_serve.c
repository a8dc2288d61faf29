/* SPDX-License-Identifier: MIT */
/* Metrics and health over HTTP, on sockets of the settings and on those that the service manager
 * passed, of any family. A connection has one request, one response and a deadline. A listener at
 * its limit evicts a connection: first those that have their response, then the one that was
 * accepted, or completed its request, the longest ago. Per tick it accepts at most half its limit,
 * so that every connection has a tick at least to send its request; a request that has come already
 * is answered at once. */
#include "daemon/base/clock.h"
#include "daemon/net/http.h"
#include "daemon/net/net.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define CONNS_MAX 512 /* the limit of each listener */
#define ACCEPTS_A_TICK (CONNS_MAX / 2)
#define ACCEPTS_AT_ONCE 16        /* the loop serves audio in between */
#define BACKLOG 1024              /* for bursts of connections */
#define RESPONSES_BYTES 4194304   /* of responses that are not sent, of all connections */
#define RESPONSES_BYTES_MIN 65536 /* the same where memory is short */
#define REQUEST_US 2000000        /* timeout of the whole request */
#define RESPONSE_US 5000000       /* timeout for the client to read the response */
#define LINGER_US 1000000         /* timeout for the client to close first */

enum http_state { HTTP_READS, HTTP_RESPONDS, HTTP_LINGERS };

struct http_conn {
    uv_poll_t poll; /* first member: libuv's handle is the connection */
    struct http_listener *listener;
    struct http_conn *next;
    enum http_state state;
    int fd; /* -1: it is closing */
    char in[HTTP_REQUEST_BYTES + 1];
    size_t n_in;
    char *out;
    size_t n_out, sent;
    uint64_t deadline_us;
};

/* ---- the order of eviction ---- */

static void conn_unlink(struct http_conn *c)
{
    struct http_conn **at = &c->listener->conns;
    while (*at != c)
        at = &(*at)->next;
    *at = c->next;
}

static void conn_append(struct http_conn *c)
{
    struct http_conn **at = &c->listener->conns;
    while (*at)
        at = &(*at)->next;
    *at = c;
    c->next = NULL;
}

static void conn_prepend(struct http_conn *c)
{
    c->next = c->listener->conns;
    c->listener->conns = c;
}

/* ---- closing ---- */

static void on_closed(uv_handle_t *h)
{
    struct http_conn *c = (struct http_conn *) (void *) h;
    struct net *net = c->listener->net;
    memory_uncharge(net->memory, net->http_owner, MEMORY_HTTP, sizeof *c);
    free(c);
}

static void response_free(struct http_conn *c)
{
    struct net *net = c->listener->net;
    memory_uncharge(net->memory, net->http_owner, MEMORY_HTTP, c->n_out);
    net->http_response_bytes -= c->n_out;
    free(c->out);
    c->out = NULL;
    c->n_out = c->sent = 0;
}

/* Closes its descriptor at once; the handle is freed by libuv's callback. */
static void conn_drop(struct http_conn *c)
{
    if (c->fd < 0)
        return;
    conn_unlink(c);
    c->listener->n_conns--;
    response_free(c);
    uv_close((uv_handle_t *) &c->poll, on_closed);
    close(c->fd);
    c->fd = -1;
}

static void conn_evict(struct http_conn *c)
{
    c->listener->net->http_evicted += c->state != HTTP_LINGERS;
    conn_drop(c);
}

/* ---- responses ---- */

/* The text is made at most once a tick, however many clients ask. */
static char *metrics_copy(struct net *net, bool open, size_t *n)
{
    size_t bytes = net->http_metrics[open].n;
    if (!net->http_metrics[open].s)
        net->http_metrics[open].s = net->pages->metrics(net->daemon, open, &bytes);
    char *ret = net->http_metrics[open].s ? malloc(bytes + 1) : NULL;
    if (ret)
        memcpy(ret, net->http_metrics[open].s, bytes);
    *n = net->http_metrics[open].n = bytes;
    return ret;
}

static void metrics_drop(struct net *net)
{
    for (int i = 0; i < 2; i++) {
        free(net->http_metrics[i].s);
        net->http_metrics[i].s = NULL;
    }
}

/* Body and content type of a page; the caller frees the body. */
static char *page_make(struct net *net, const struct http_decision *x, int *status,
                       const char **type, size_t *n)
{
    static const char plain[] = "text/plain; charset=utf-8";
    char text[300];
    *type = plain;
    if (*status == 200 && x->page == HTTP_METRICS) {
        *type = x->open ? "application/openmetrics-text; version=1.0.0; charset=utf-8"
                        : "text/plain; version=0.0.4; charset=utf-8";
        return metrics_copy(net, x->open, n);
    }
    if (*status != 200)
        snprintf(text, sizeof text, "%d %s\n", *status, http_reason(*status));
    else if (!net->pages->health(net->daemon, x->page == HTTP_LIVE, text, sizeof text))
        *status = 503;
    *n = strlen(text);
    return strdup(text);
}

static bool responses_are_many(const struct net *net)
{
    bool is_short = memory_room(net->memory, net->http_owner) == 0;
    return net->http_response_bytes > (is_short ? RESPONSES_BYTES_MIN : RESPONSES_BYTES);
}

/* Evicts the connections with the oldest responses, so that clients that do not read hold a bounded
 * amount. */
static void responses_bound(struct http_listener *l, const struct http_conn *keep)
{
    for (struct http_conn *c = l->conns, *next; c; c = next) {
        next = c->next;
        if (!responses_are_many(l->net))
            return;
        if (c != keep && c->out)
            conn_evict(c);
    }
}

static void on_ready(uv_poll_t *p, int status, int events);

static bool response_fill(struct http_conn *c, const struct http_decision *x)
{
    struct net *net = c->listener->net;
    int status = x->status;
    const char *type;
    size_t n_body = 0, n;
    char head[512], *body = page_make(net, x, &status, &type, &n_body);
    n = body ? http_head(head, sizeof head, status, type, n_body) : 0;
    c->out = body ? malloc(n + n_body) : NULL;
    if (c->out) {
        memcpy(c->out, head, n);
        memcpy(c->out + n, body, n_body);
        c->n_out = n + n_body;
        net->http_response_bytes += c->n_out;
        memory_charge(net->memory, net->http_owner, MEMORY_HTTP, c->n_out);
    }
    free(body);
    return c->out;
}

static void response_send(struct http_conn *c)
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
    response_free(c);
    c->state = HTTP_LINGERS;
    c->deadline_us = clock_now_us() + LINGER_US;
    conn_unlink(c);
    conn_prepend(c);
    uv_poll_start(&c->poll, UV_READABLE | UV_DISCONNECT, on_ready);
}

static void response_start(struct http_conn *c, struct http_decision x)
{
    if (x.page == HTTP_METRICS && c->listener->health_only)
        x = (struct http_decision) { .status = 404 };
    if (!response_fill(c, &x)) {
        conn_drop(c);
        return;
    }
    c->state = HTTP_RESPONDS;
    c->deadline_us = clock_now_us() + RESPONSE_US;
    conn_unlink(c);
    conn_append(c);
    responses_bound(c->listener, c);
    uv_poll_start(&c->poll, UV_WRITABLE | UV_DISCONNECT, on_ready);
    response_send(c);
}

/* ---- requests ---- */

static void request_read(struct http_conn *c)
{
    char rest[512];
    bool reads = c->state == HTTP_READS;
    ssize_t n = reads ? recv(c->fd, c->in + c->n_in, sizeof c->in - c->n_in, MSG_DONTWAIT)
                      : recv(c->fd, rest, sizeof rest, MSG_DONTWAIT);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n <= 0) {
        conn_drop(c);
        return;
    }
    if (!reads)
        return; /* bytes behind the request are ignored */
    c->n_in += (size_t) n;
    struct http_decision x = http_decide(c->in, c->n_in);
    if (x.status)
        response_start(c, x);
}

static void on_ready(uv_poll_t *p, int status, int events)
{
    struct http_conn *c = (struct http_conn *) (void *) p;
    bool gone = events & UV_DISCONNECT && !(events & UV_READABLE) && c->state != HTTP_RESPONDS;
    if (status < 0 || gone)
        conn_drop(c);
    else if (events & UV_READABLE)
        request_read(c);
    else if (events & UV_WRITABLE)
        response_send(c);
    else
        conn_drop(c);
}

static void conn_make(struct http_listener *l, int fd)
{
    struct http_conn *c = calloc(1, sizeof *c);
    if (!c || uv_poll_init(l->net->loop, &c->poll, fd) < 0) {
        free(c);
        close(fd);
        return;
    }
    memory_charge(l->net->memory, l->net->http_owner, MEMORY_HTTP, sizeof *c);
    if (l->n_conns == CONNS_MAX)
        conn_evict(l->conns);
    c->listener = l;
    c->fd = fd;
    c->deadline_us = clock_now_us() + REQUEST_US;
    l->n_conns++;
    conn_append(c);
    uv_poll_start(&c->poll, UV_READABLE | UV_DISCONNECT, on_ready);
    request_read(c);
}

/* ---- listening ---- */

static void listener_pause(struct http_listener *l)
{
    uv_poll_stop(&l->poll);
    l->paused = true;
}

static void on_connection(uv_poll_t *p, int status, int events)
{
    struct http_listener *l = p->data;
    (void) status, (void) events;
    for (int i = 0; i < ACCEPTS_AT_ONCE && l->n_accepted < ACCEPTS_A_TICK; i++) {
        int fd = accept4(l->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK), why = errno;
        if (fd >= 0) {
            l->n_accepted++;
            conn_make(l, fd);
        } else if ((why == EMFILE || why == ENFILE) && http_evict_one(l->net)) {
            continue;
        } else if (why == EAGAIN || why == EINTR || why == ECONNABORTED) {
            return;
        } else {
            listener_pause(l);
            return;
        }
    }
    if (l->n_accepted >= ACCEPTS_A_TICK)
        listener_pause(l);
}

static bool listener_add(struct net *net, int fd, bool health_only, struct own_socket own,
                         char *err, size_t n)
{
    struct http_listener *l = &net->http[net->n_http];
    char name[SOCKET_NAME_BYTES];
    int error = 0;
    socket_name(fd, name);
    if (net->n_http == HTTP_LISTENERS || (error = uv_poll_init(net->loop, &l->poll, fd)) < 0) {
        snprintf(err, n, "%s: %s", name, error ? uv_strerror(error) : "too many sockets for HTTP");
        own_socket_end(&own);
        close(fd);
        return false;
    }
    net->n_http++;
    l->net = net;
    l->fd = fd;
    l->own = own;
    l->health_only = health_only;
    l->poll.data = l;
    if (listen(fd, BACKLOG) < 0)
        error = uv_translate_sys_error(errno);
    else
        error = uv_poll_start(&l->poll, UV_READABLE, on_connection);
    if (error)
        snprintf(err, n, "%s: %s", name, uv_strerror(error));
    else
        log_line(net->log, LOG_INFO, "HTTP at %s: %shealth", name, health_only ? "" : "metrics, ");
    return !error;
}

bool http_passed(struct net *net, int fd, bool health_only, char *err, size_t n)
{
    return listener_add(net, fd, health_only, OWN_SOCKET_NONE, err, n);
}

static bool own_start(struct net *net, const char *where, bool health_only, char *err, size_t n)
{
    struct socket_rights rights = { net->conf->http_socket_mode, net->conf->http_socket_group };
    struct own_socket own;
    if (!*where)
        return true;
    int fd = socket_at(&own, where, &rights, err, n);
    if (fd < 0)
        own_socket_end(&own);
    return fd >= 0 && listener_add(net, fd, health_only, own, err, n);
}

bool http_start(struct net *net, char *err, size_t n)
{
    return own_start(net, net->conf->http_listen, false, err, n) &&
        own_start(net, net->conf->http_health_listen, true, err, n);
}

/* ---- the tick ---- */

static void listener_tick(struct http_listener *l, uint64_t now_us)
{
    for (struct http_conn *c = l->conns, *next; c; c = next) {
        next = c->next;
        if (now_us <= c->deadline_us)
            continue;
        if (c->state == HTTP_READS)
            response_start(c, (struct http_decision) { .status = 408 });
        else
            conn_drop(c);
    }
    l->n_accepted = 0;
    if (l->paused) {
        l->paused = false;
        uv_poll_start(&l->poll, UV_READABLE, on_connection);
    }
}

void http_tick(struct net *net, uint64_t now_us)
{
    metrics_drop(net);
    for (unsigned i = 0; i < net->n_http; i++)
        listener_tick(&net->http[i], now_us);
}

bool http_evict_one(struct net *net)
{
    for (unsigned i = 0; i < net->n_http; i++)
        if (net->http[i].conns) {
            conn_evict(net->http[i].conns);
            return true;
        }
    return false;
}

void http_shift_deadlines(struct net *net, uint64_t us)
{
    for (unsigned i = 0; i < net->n_http; i++)
        for (struct http_conn *c = net->http[i].conns; c; c = c->next)
            c->deadline_us += us;
}

void http_close(struct net *net)
{
    for (unsigned i = 0; i < net->n_http; i++) {
        struct http_listener *l = &net->http[i];
        while (l->conns)
            conn_drop(l->conns);
        uv_close((uv_handle_t *) &l->poll, NULL);
        close(l->fd);
        own_socket_end(&l->own);
    }
    net->n_http = 0;
    metrics_drop(net);
}
