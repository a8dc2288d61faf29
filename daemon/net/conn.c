/* SPDX-License-Identifier: MIT */
#include "daemon/base/clock.h"
#include "daemon/base/text.h"
#include "daemon/net/net.h"
#include "daemon/net/quota.h"
#include "daemon/net/wire.h"

#include <poll.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define PREFACE_BYTES 8
#define HELLO_MAX_BYTES 4096
#define REQ_BYTES 8 /* of a ServerFrame, at most */
#define ARENA_EXTRA_BYTES 65536
#define CLOSE_LINGER_US 1000000
#define QUEUE_FLOOR_BYTES 262144
/* limit of the queue's memory over that of its bytes: messages may be small */
#define UNSENT_FACTOR 4
static const uint8_t preface[PREFACE_BYTES] = { 'R', 'I', 'L', 'L', 1, 0, 0, 0 };

struct write_job {
    uv_write_t req;
    size_t n; /* of the whole job */
    uint8_t bytes[];
};

/* ---- memory of one message ---- */

static void *arena_alloc(void *arg, size_t n)
{
    struct conn *c = arg;
    n = (n + 15) & ~(size_t) 15;
    c->arena_ran_out |= n > c->arena_bytes - c->arena_used;
    if (c->arena_ran_out)
        return NULL;
    void *p = c->arena + c->arena_used;
    c->arena_used += n;
    return p;
}

static void arena_free(void *arg, void *p)
{
    (void) arg, (void) p;
}

ProtobufCAllocator conn_allocator(struct conn *c)
{
    c->arena_used = 0;
    c->arena_ran_out = false;
    return (ProtobufCAllocator) { .alloc = arena_alloc, .free = arena_free, .allocator_data = c };
}

/* ---- closing ---- */

size_t conn_queue_bytes(const struct conn *c)
{
    return uv_stream_get_write_queue_size((const uv_stream_t *) &c->pipe);
}

struct conn *conn_find(const struct net *net, uint32_t id)
{
    struct conn *c = net->conns;
    while (c && c->id != id)
        c = c->next;
    return c;
}

static void conn_unlink(struct conn *c)
{
    struct net *net = c->net;
    for (struct conn **at = &net->conns; *at; at = &(*at)->next)
        if (*at == c) {
            *at = c->next;
            net->n_conns--;
            return;
        }
}

static void on_closed(uv_handle_t *h)
{
    struct conn *c = (struct conn *) (void *) h;
    if (c->owner)
        memory_uncharge(c->net->memory, c->owner, MEMORY_CONNECTIONS, c->counted_bytes);
    memory_unref(c->net->memory, c->owner);
    free(c->in);
    free(c->arena);
    free(c);
}

static void conn_end(struct conn *c)
{
    if (uv_is_closing((uv_handle_t *) &c->pipe))
        return;
    c->closing = true;
    c->net->calls->drop(c);
    c->net->calls->gone(c);
    conn_unlink(c);
    log_event(c->net->log, LOG_DEBUG, EVENT_PEER, "conn=%u closed", c->id);
    uv_close((uv_handle_t *) &c->pipe, on_closed);
}

void conn_close(struct conn *c)
{
    if (c->closing)
        return;
    c->closing = true;
    c->net->calls->drop(c);
    uv_read_stop((uv_stream_t *) &c->pipe);
    c->deadline_us = clock_now_us() + CLOSE_LINGER_US;
    c->net->any_closing = true;
    uv_async_send(c->net->wake); /* freed in conns_reap, since the caller may still use it */
}

void conns_reap(struct net *net)
{
    if (!net->any_closing)
        return;
    net->any_closing = false;
    for (struct conn *c = net->conns, *next; c; c = next) {
        next = c->next;
        if (c->error_sent && !c->broken)
            conn_close(c);
        if (c->broken || (c->closing && !conn_queue_bytes(c)))
            conn_end(c);
    }
}

void conns_end(struct net *net)
{
    while (net->conns)
        conn_end(net->conns);
}

/* ---- writing ---- */

static void unsent_add(struct conn *c, size_t n)
{
    c->unsent_bytes += n;
    memory_charge(c->net->memory, c->owner, MEMORY_QUEUES, n);
}

static void unsent_sub(struct conn *c, size_t n)
{
    c->unsent_bytes -= n;
    memory_uncharge(c->net->memory, c->owner, MEMORY_QUEUES, n);
}

bool conn_has_room(const struct conn *c)
{
    return c->unsent_bytes < QUEUE_FLOOR_BYTES / 4 ||
        memory_would_grant(c->net->memory, c->owner, MEMORY_QUEUES, QUEUE_FLOOR_BYTES / 4) ==
        MEMORY_OK;
}

static void on_written(uv_write_t *w, int status)
{
    struct conn *c = w->data;
    unsent_sub(c, ((struct write_job *) (void *) w)->n);
    free(w);
    if (uv_is_closing((uv_handle_t *) &c->pipe))
        return;
    if (status < 0) {
        conn_end(c);
        return;
    }
    c->last_write_us = clock_now_us();
    if (c->closing && !conn_queue_bytes(c)) {
        conn_end(c);
        return;
    }
    if (c->paused && !c->closing) {
        c->paused = false;
        c->net->calls->writable(c);
    }
}

/* Nothing more is sent; it is freed in conns_reap, since the caller may still use it. */
static void conn_break(struct conn *c)
{
    c->broken = c->net->any_closing = true;
    uv_async_send(c->net->wake);
}

/* Tries to write at once, so that a failure is known before the next message: nothing may follow a
 * message that was lost. */
static void bytes_send(struct conn *c, struct write_job *j, size_t n)
{
    uv_buf_t b = uv_buf_init((char *) j->bytes, (unsigned) n);
    int r = uv_is_closing((uv_handle_t *) &c->pipe) ? UV_ECANCELED
                                                    : uv_try_write((uv_stream_t *) &c->pipe, &b, 1);
    if (r > 0)
        c->last_write_us = clock_now_us();
    if (r == (int) n || (r < 0 && r != UV_EAGAIN)) {
        free(j);
        if (r < 0)
            conn_break(c);
        return;
    }
    if (r > 0)
        b = uv_buf_init((char *) j->bytes + r, (unsigned) n - (unsigned) r);
    j->req.data = c;
    j->n = sizeof *j + n;
    unsent_add(c, j->n);
    if (uv_write(&j->req, (uv_stream_t *) &c->pipe, &b, 1, on_written) < 0) {
        unsent_sub(c, j->n);
        free(j);
        conn_close(c);
    }
}

static void message_send(struct conn *c, const Rill__ServerFrame *f, size_t n)
{
    struct write_job *j = malloc(sizeof *j + 4 + n);
    if (!j) {
        conn_break(c);
        return;
    }
    for (int i = 0; i < 4; i++)
        j->bytes[i] = (uint8_t) (n >> (8 * i));
    rill__server_frame__pack(f, j->bytes + 4);
    bytes_send(c, j, 4 + n);
}

static bool is_over(const struct conn *c)
{
    return c->closing || c->broken || c->error_sent;
}

static void error_put(struct conn *c, uint32_t req, uint32_t stream, Rill__Code code, bool fatal,
                      char *text)
{
    Rill__ServerFrame f = RILL__SERVER_FRAME__INIT;
    Rill__Error e = RILL__ERROR__INIT;
    text_clean(text);
    e.stream = stream;
    e.code = code;
    e.text = text;
    e.fatal = fatal;
    e.retry_ms = code == RILL__CODE__OVERLOADED ? c->net->calls->retry_ms(c)
        : code == RILL__CODE__QUOTA             ? 1000
                                                : 0;
    f.m_case = RILL__SERVER_FRAME__M_ERROR;
    f.error = &e;
    f.req = req;
    c->net->protocol_errors++;
    c->net->counters->errors[(unsigned) code < COUNTERS_CODES ? (unsigned) code : 0]++;
    const ProtobufCEnumValue *v =
        protobuf_c_enum_descriptor_get_value(&rill__code__descriptor, (int) code);
    log_event(c->net->log, fatal ? LOG_WARN : LOG_INFO, EVENT_ERROR,
              "conn=%u uid=%u id=%u error=%s fatal=%d text=\"%s\"", c->id, c->uid, stream,
              v ? v->name : "?", fatal, text);
    message_send(c, &f, rill__server_frame__get_packed_size(&f));
}

/* Where memory is short, a client that asks and does not read the replies gets an error and is
 * closed, in conns_reap. Outputs of streams are not checked here: streams hold them back before. */
static bool is_over_memory(struct conn *c)
{
    char text[160];
    if (conn_has_room(c))
        return false;
    snprintf(text, sizeof text,
             "%zu bytes wait to be read, and memory is short (memory_max, max_bytes_per_uid)",
             conn_queue_bytes(c));
    error_put(c, 0, 0, RILL__CODE__SLOW_CONSUMER, true, text);
    c->error_sent = c->net->any_closing = true;
    uv_async_send(c->net->wake);
    return true;
}

/* An output of a stream, not a reply. */
static bool is_output(const Rill__ServerFrame *f)
{
#define M(name) (UINT32_C(1) << RILL__SERVER_FRAME__M_##name)
    const uint32_t outputs = M(CREDIT) | M(AUDIO) | M(VAD) | M(TEXT) | M(GAP) | M(FINISHED) |
        M(KEYWORD) | M(ENDPOINT) | M(FRAMES) | M(FRAME_CREDIT);
#undef M
    return (unsigned) f->m_case < 32 && outputs & UINT32_C(1) << f->m_case;
}

bool conn_takes(const struct conn *c, const Rill__ServerFrame *f)
{
    return rill__server_frame__get_packed_size(f) + REQ_BYTES <= c->max_message_bytes;
}

void conn_send(struct conn *c, uint32_t req, Rill__ServerFrame *f)
{
    f->req = req;
    if (is_over(c) || (!is_output(f) && is_over_memory(c)))
        return;
    size_t n = rill__server_frame__get_packed_size(f);
    if (n > c->max_message_bytes)
        conn_error(c, req, 0, RILL__CODE__TOO_LARGE, false,
                   "the reply of %zu bytes is over max_frame %u", n, c->max_message_bytes);
    else
        message_send(c, f, n);
}

void conn_error(struct conn *c, uint32_t req, uint32_t stream, Rill__Code code, bool fatal,
                const char *format, ...)
{
    char text[640];
    va_list ap;
    va_start(ap, format);
    vsnprintf(text, sizeof text, format, ap);
    va_end(ap);
    if (is_over(c) || is_over_memory(c))
        return;
    error_put(c, req, stream, code, fatal, text);
    if (fatal && !stream)
        conn_close(c);
}

/* ---- reading ---- */

static void on_alloc(uv_handle_t *h, size_t hint, uv_buf_t *b)
{
    struct conn *c = (struct conn *) (void *) h;
    (void) hint;
    *b = uv_buf_init((char *) c->in + c->in_fill, (unsigned) (c->in_cap - c->in_fill));
}

static void preface_send(struct conn *c)
{
    struct write_job *j = malloc(sizeof *j + PREFACE_BYTES);
    if (!j) {
        conn_close(c);
        return;
    }
    memcpy(j->bytes, preface, PREFACE_BYTES);
    bytes_send(c, j, PREFACE_BYTES);
}

/* Bytes used, 0: more are needed. Refuses at the first byte that differs. */
static size_t preface_take(struct conn *c)
{
    size_t n = c->in_fill < PREFACE_BYTES ? c->in_fill : PREFACE_BYTES;
    if (memcmp(c->in, preface, n) != 0) {
        conn_error(c, 0, 0, RILL__CODE__BAD_PREFACE, true,
                   "the connection does not begin with RILL, version 1; this is rilld's socket");
        return 0;
    }
    if (c->in_fill < PREFACE_BYTES)
        return 0;
    c->preface_done = true;
    preface_send(c);
    return PREFACE_BYTES;
}

static uint32_t message_length(const uint8_t *p)
{
    return (uint32_t) p[0] | (uint32_t) p[1] << 8 | (uint32_t) p[2] << 16 | (uint32_t) p[3] << 24;
}

/* When the message at p is handled; one that is not complete needs no slice. */
static enum slice message_when(struct conn *c, const uint8_t *p, size_t have)
{
    uint32_t n = have < 4 ? 0 : message_length(p);
    if (!n || have - 4 < n)
        return SLICE_NOW;
    enum slice when = slices_when(c->net->slices, c->uid);
    uint32_t stream = when == SLICE_NOW ? 0 : wire_audio_stream(p + 4, n);
    const struct stream_link *l = stream ? streams_find(&c->streams, stream) : NULL;
    return l && c->net->calls->has_priority(l) ? SLICE_NOW : when;
}

static size_t message_take(struct conn *c, const uint8_t *p, size_t have)
{
    if (have < 4)
        return 0;
    uint32_t n = message_length(p);
    uint32_t most = c->hello_done ? c->max_message_bytes : HELLO_MAX_BYTES;
    if (n == 0) {
        conn_error(c, 0, 0, RILL__CODE__BAD_FRAME, true, "a message of length 0");
        return 0;
    }
    if (n > most) {
        conn_error(c, 0, 0, RILL__CODE__TOO_LARGE, true,
                   "a message of %u bytes; the limit %s is %u", n,
                   c->hello_done ? "of this connection" : "before Hello", most);
        return 0;
    }
    if (have - 4 < n)
        return 0;
    c->net->calls->message(c, p + 4, n);
    return 4 + (size_t) n;
}

static size_t buffers_bytes(size_t message_bytes)
{
    return sizeof(struct conn) + 2 * (4 + message_bytes) + ARENA_EXTRA_BYTES;
}

/* Once Hello has set max_message_bytes, uncharges the rest. */
static void buffers_count(struct conn *c)
{
    size_t bytes = buffers_bytes(c->max_message_bytes);
    if (c->owner && bytes < c->counted_bytes) {
        memory_uncharge(c->net->memory, c->owner, MEMORY_CONNECTIONS, c->counted_bytes - bytes);
        c->counted_bytes = bytes;
    }
}

static bool buffer_fit(struct conn *c)
{
    size_t want =
        c->hello_done ? 4 + (size_t) c->max_message_bytes : 4 + HELLO_MAX_BYTES + PREFACE_BYTES;
    if (want <= c->in_cap)
        return true;
    uint8_t *in = realloc(c->in, want),
            *arena = in ? realloc(c->arena, want + ARENA_EXTRA_BYTES) : NULL;
    if (in)
        c->in = in;
    if (!arena)
        return false;
    c->arena = arena;
    c->in_cap = want;
    c->arena_bytes = want + ARENA_EXTRA_BYTES;
    if (c->hello_done)
        buffers_count(c);
    return true;
}

static void slow_check(struct conn *c, uint64_t now_us);

/* Handles one message and charges its time to the stream or to the user's slice; bytes that were
 * used. */
static size_t message_run(struct conn *c, const uint8_t *p, size_t have)
{
    const struct conn_calls *calls = c->net->calls;
    uint64_t since_us = clock_now_us();
    c->last_audio = NULL;
    size_t used = message_take(c, p, have);
    if (!c->closing && conn_queue_bytes(c) > QUEUE_FLOOR_BYTES)
        slow_check(c, since_us);
    bool paid = c->last_audio && calls->has_priority(c->last_audio);
    uint64_t now_us = calls->worked(c, c->last_audio, since_us);
    if (!paid)
        slices_charge(c->net->slices, c->uid, now_us - since_us);
    return used;
}

/* Handles what was read until the slice is used up; the rest waits for the next iteration of the
 * loop, or for the next tick. */
static void messages_take(struct conn *c)
{
    uint64_t until_us = clock_now_us() + SLICE_US;
    size_t at = 0, used = 1;
    enum slice when = SLICE_NOW;
    if (!c->preface_done)
        at = used = preface_take(c);
    while (used && !c->closing && !c->broken && when == SLICE_NOW) {
        when = message_when(c, c->in + at, c->in_fill - at);
        if (when != SLICE_NOW)
            break;
        used = message_run(c, c->in + at, c->in_fill - at);
        at += used;
        when = used && clock_now_us() >= until_us ? SLICE_NEXT_ITERATION : SLICE_NOW;
    }
    c->input_pending = when != SLICE_NOW && !c->closing;
    memmove(c->in, c->in + at, c->in_fill - at);
    c->in_fill -= at;
    if (!c->closing && !buffer_fit(c))
        conn_close(c);
    if (!c->input_pending || c->closing)
        return;
    uv_read_stop((uv_stream_t *) &c->pipe);
    slices_resume(c->net->slices, when);
}

/* What a stall has kept waiting waits no less for a slice. is_rest: it may have been there when the
 * message before it was handled. */
static void waited_note(struct conn *c, bool is_rest)
{
    if (!is_rest || !c->waited_since_us)
        c->waited_since_us = stall_since_us(&c->net->stall, clock_now_us());
}

static void on_read(uv_stream_t *st, ssize_t n, const uv_buf_t *b)
{
    struct conn *c = (struct conn *) (void *) st;
    (void) b;
    if (n < 0) {
        conn_end(c);
        return;
    }
    c->in_fill += (size_t) n;
    c->active_us = clock_now_us();
    waited_note(c, c->net->stall.iteration - c->resumed_at <= 1); /* lay in the socket */
    messages_take(c);
}

static void conn_resume(struct conn *c)
{
    size_t before = c->in_fill;
    c->input_pending = false;
    waited_note(c, true);
    messages_take(c);
    if (c->in_fill < before)
        c->net->last_served_conn = c->id;
    if (c->input_pending || c->closing)
        return;
    c->resumed_at = c->net->stall.iteration;
    uv_read_start((uv_stream_t *) &c->pipe, on_alloc, on_read);
}

void conns_resume(struct net *net)
{
    if (!net->slices->iteration_pending)
        return;
    net->slices->iteration_pending = false;
    /* Round robin from the connection that was served last: the list is sorted by number,
     * descending. */
    uint32_t last = net->last_served_conn;
    for (unsigned round = 0; round < 2; round++)
        for (struct conn *c = net->conns; c; c = c->next)
            if (c->input_pending && !c->closing && (c->id < last) == !round)
                conn_resume(c);
}

/* ---- accepting ---- */

static void peer_credentials_read(struct conn *c)
{
    struct ucred u = { 0, (uid_t) -1, 0 };
    socklen_t len = sizeof u;
    uv_os_fd_t fd;
    if (uv_fileno((uv_handle_t *) &c->pipe, &fd) < 0)
        return;
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &u, &len) == 0) {
        c->uid = u.uid;
        c->pid = (uint32_t) u.pid;
    }
}

/* Charges buffers for the longest message that Hello may set. On the control socket they are never
 * refused. */
static enum memory_answer buffers_claim(struct conn *c)
{
    struct net *net = c->net;
    size_t bytes = buffers_bytes(net->conf->limits_max_message_bytes);
    enum memory_answer a = MEMORY_OK;
    if (c->is_control)
        memory_charge(net->memory, c->owner, MEMORY_CONNECTIONS, bytes);
    else
        a = net->calls->claim(c, MEMORY_CONNECTIONS, bytes);
    c->counted_bytes = a == MEMORY_OK ? bytes : 0;
    return a;
}

static bool quota_ok(struct conn *c)
{
    struct net *net = c->net;
    uint32_t n = 0, of_uid = 0, most = net->conf->limits_max_connections,
             most_of_uid = net->conf->limits_max_connections_per_uid;
    enum memory_answer a = buffers_claim(c);
    if (c->is_control)
        return true;
    for (const struct conn *x = net->conns; x; x = x->next) {
        n += x->is_counted;
        of_uid += x->is_counted && x->uid == c->uid;
    }
    if (n >= most)
        conn_error(c, 0, 0, RILL__CODE__QUOTA, true, "max_connections is %u", most);
    else if (of_uid >= most_of_uid)
        conn_error(c, 0, 0, RILL__CODE__QUOTA, true, "max_connections_per_uid is %u", most_of_uid);
    else if (!place_free(most, n, of_uid))
        conn_error(c, 0, 0, RILL__CODE__QUOTA, true,
                   "max_connections is %u, and the last eighth is for users who have fewer than "
                   "your %u",
                   most, of_uid);
    else if (a != MEMORY_OK)
        conn_error(c, 0, 0, memory_code(a), true, "the connection: %s", memory_words(a));
    c->is_counted = !c->closing;
    return c->is_counted;
}

void conn_refuse(struct net *net, int fd, Rill__Code code, const char *text)
{
    uint8_t b[512];
    Rill__ServerFrame f = RILL__SERVER_FRAME__INIT;
    Rill__Error e = RILL__ERROR__INIT;
    e.code = code;
    e.text = (char *) (uintptr_t) text;
    e.fatal = true;
    e.retry_ms = 1000;
    f.m_case = RILL__SERVER_FRAME__M_ERROR;
    f.error = &e;
    size_t n = rill__server_frame__get_packed_size(&f);
    if (n <= sizeof b - 4) {
        for (int i = 0; i < 4; i++)
            b[i] = (uint8_t) (n >> (8 * i));
        rill__server_frame__pack(&f, b + 4);
        ssize_t sent = send(fd, b, n + 4, MSG_DONTWAIT | MSG_NOSIGNAL);
        (void) sent;
    }
    close(fd);
    net->protocol_errors++;
    log_event(net->log, LOG_WARN, EVENT_PEER, "a connection is refused: %s", text);
}

void conn_accept(struct net *net, const struct listener *l, int fd)
{
    struct conn *c = calloc(1, sizeof *c);
    if (!c || uv_pipe_init(net->loop, &c->pipe, 0) < 0) {
        free(c);
        conn_refuse(net, fd, RILL__CODE__INTERNAL, "out of memory");
        return;
    }
    c->net = net;
    c->daemon = net->daemon;
    c->next = net->conns;
    net->conns = c;
    net->n_conns++;
    c->id = ++net->next_conn;
    c->streams.secret = net->streams_secret;
    c->is_control = l->is_control;
    c->max_message_bytes = HELLO_MAX_BYTES;
    c->accepted_us = c->last_write_us = c->active_us = clock_now_us();
    c->deadline_us = c->accepted_us + net->conf->limits_hello_timeout_ms * UINT64_C(1000);
    net->conns_accepted++;
    if (!buffer_fit(c) || uv_pipe_open(&c->pipe, fd) < 0) {
        conn_refuse(net, fd, RILL__CODE__INTERNAL, "out of memory");
        conn_end(c);
        return;
    }
    peer_credentials_read(c);
    c->owner = memory_owner(net->memory, (struct principal) { PRINCIPAL_UID, c->uid });
    if (!c->owner) {
        conn_end(c);
        return;
    }
    log_event(net->log, LOG_DEBUG, EVENT_PEER, "conn=%u uid=%u pid=%u accepted%s", c->id, c->uid,
              c->pid, c->is_control ? " control" : "");
    net->calls->fit(c);
    if (quota_ok(c))
        uv_read_start((uv_stream_t *) &c->pipe, on_alloc, on_read);
}

/* ---- the tick ---- */

void conn_output_end(struct conn *c, uint64_t bytes_per_s)
{
    if (bytes_per_s > c->ended_bytes_per_s)
        c->ended_bytes_per_s = bytes_per_s;
}

/* Bytes of `ms` of the connection's outputs; a minimum covers replies and events. */
static size_t output_bytes(const struct conn_outputs *o, uint32_t ms)
{
    uint64_t bytes = o->bytes_per_s * ms / 1000;
    return bytes > QUEUE_FLOOR_BYTES / 4 ? (size_t) bytes : QUEUE_FLOOR_BYTES / 4;
}

static void slow_check(struct conn *c, uint64_t now_us)
{
    const struct conf *conf = c->net->conf;
    struct conn_outputs o;
    c->net->calls->outputs(c, now_us, &o);
    size_t queue = conn_queue_bytes(c);
    if (!queue)
        c->ended_bytes_per_s = 0;
    o.bytes_per_s += c->ended_bytes_per_s;
    size_t hard = output_bytes(&o, conf->limits_output_hard_ms);
    if (queue < c->last_queue_bytes || !queue)
        c->last_write_us = now_us;
    c->last_queue_bytes = queue;
    bool behind = o.lag_ms >
        conf->limits_output_soft_ms; /* of a live source: what it lags by is not in the queue */
    if (queue <= output_bytes(&o, conf->limits_output_soft_ms) && !(behind && queue))
        c->over_soft_us = 0;
    else if (!c->over_soft_us)
        c->over_soft_us = now_us;
    bool soft = c->over_soft_us && (o.any_live || behind) &&
        now_us - c->over_soft_us > conf->limits_output_soft_grace_ms * UINT64_C(1000);
    bool stalled =
        queue && now_us > c->last_write_us + conf->limits_output_stall_ms * UINT64_C(1000);
    hard = hard > QUEUE_FLOOR_BYTES ? hard : QUEUE_FLOOR_BYTES;
    const char *overdue = queue ? o.overdue : NULL;
    if (stalled) /* reading a few bytes does not free room in the socket's buffer yet */
        conn_error(c, 0, 0, RILL__CODE__SLOW_CONSUMER, true,
                   "%zu bytes wait, and your socket had no room for any of them for %u ms; read "
                   "faster",
                   queue, conf->limits_output_stall_ms);
    else if (soft || overdue || queue > hard || c->unsent_bytes > UNSENT_FACTOR * hard)
        conn_error(c, 0, 0, RILL__CODE__SLOW_CONSUMER, true, "%zu bytes wait to be read; %s", queue,
                   overdue ? overdue : "read as fast as you send");
}

/* Messages that wait for a slice are not handled once the client has hung up. */
static bool peer_hung_up(const struct conn *c)
{
    struct pollfd p = { .events = 0 };
    return c->input_pending && uv_fileno((const uv_handle_t *) &c->pipe, &p.fd) == 0 &&
        poll(&p, 1, 0) > 0 && (p.revents & POLLHUP);
}

void conn_tick(struct conn *c, uint64_t now_us)
{
    if (peer_hung_up(c)) {
        conn_end(c);
        return;
    }
    if (c->closing) {
        if (!conn_queue_bytes(c) || now_us > c->deadline_us)
            conn_end(c);
        return;
    }
    if (!c->hello_done && now_us > c->deadline_us) {
        conn_error(c, 0, 0, RILL__CODE__DEADLINE, true, "no complete Hello within %u ms",
                   c->net->conf->limits_hello_timeout_ms);
        return;
    }
    if (!c->net->calls->idle(c, now_us))
        slow_check(c, now_us);
}

/* ---- numbers of streams that ended ---- */

void conn_id_retire(struct conn *c, uint32_t stream)
{
    c->retired_ids[c->retired_at++ % RETIRED_IDS] = stream;
}

void conn_id_reuse(struct conn *c, uint32_t stream)
{
    for (size_t i = 0; i < RETIRED_IDS; i++)
        if (c->retired_ids[i] == stream)
            c->retired_ids[i] = 0;
}

bool conn_id_is_retired(const struct conn *c, uint32_t stream)
{
    for (size_t i = 0; stream && i < RETIRED_IDS; i++)
        if (c->retired_ids[i] == stream)
            return true;
    return false;
}

bool conn_id_is_taken(const struct conn *c, uint32_t stream)
{
    return streams_find(&c->streams, stream);
}
