/* SPDX-License-Identifier: MIT */
/* Quotas of memory and streams, and timeouts of idle ones. */
#include "daemon/serve/limits.h"
#include "daemon/base/conf.h"
#include "daemon/base/log.h"
#include "daemon/base/memory.h"
#include "daemon/base/process.h"
#include "daemon/compute/pcm.h"
#include "daemon/compute/pool.h"
#include "daemon/models/registry.h"
#include "daemon/net/conn.h"
#include "daemon/net/quota.h"
#include "daemon/serve/daemon.h"
#include "daemon/serve/session.h"
#include "daemon/serve/session_list.h"
#include "daemon/serve/session_ports.h"

#include <sys/socket.h>

#define HOPS_IN_SOCKET 4
#define FILE_SOCKET_BYTES 32768
/* half of the kernel's minimum of 4608, since it doubles what is set */
#define SOCKET_BYTES_MIN 2304
#define SOCKET_BYTES_MAX 262144
#define ENDED_PART 8 /* of a user's streams: so many more may have ended and not be freed */
#define MEMORY_CHECK_US UINT64_C(500000)
/* freed since the last time: free memory is returned to the system */
#define RETURN_BYTES ((size_t) 1 << 20)
#define MESSAGE_BYTES 64 /* overhead of a message with samples; the size of an event */

/* ---- memory ---- */

size_t session_bytes(const struct session *s)
{
    return sizeof *s + lane_bytes(s->lane) + (s->ports ? s->ports->bytes : 0) +
        (s->event ? 2 * EVENT_BYTES_MAX : 0) + options_text_bytes(&s->options);
}

/* Whether it would be granted if all models without streams were unloaded. */
static bool eviction_helps(const struct daemon *d, const struct owner *o, size_t bytes)
{
    size_t own_bytes, all_bytes = registry_evictable_bytes(d->registry, o, &own_bytes);
    return bytes <= memory_room(d->memory, o) + (all_bytes + own_bytes) / 2;
}

enum memory_answer memory_claim(struct daemon *d, struct owner *o, enum memory_kind k, size_t bytes)
{
    while (memory_would_grant(d->memory, o, k, bytes) == MEMORY_SHORT &&
           eviction_helps(d, o, bytes) && registry_evict(d->registry, o))
        ;
    return memory_try_charge(d->memory, o, k, bytes);
}

void memory_conf(struct daemon *d)
{
    d->memory->max_bytes = memory_total(d->conf->limits_memory_max);
    d->memory->owner_max_bytes = d->conf->limits_max_bytes_per_uid;
    d->memory_watch->next_us = 0;
    log_line(d->log, LOG_INFO, "memory_max=%zu bytes for connections, streams, histories, models",
             d->memory->max_bytes);
}

/* Warns the operator before a client is refused. */
static void memory_full_log(struct daemon *d)
{
    const struct memory *m = d->memory;
    bool full = m->max_bytes <= m->uncounted_bytes + m->own.reserved_bytes;
    if (full && !d->memory_watch->is_full)
        log_line(d->log, LOG_WARN,
                 "memory_max=%zu bytes is less than the %zu that the daemon holds without clients: "
                 "everybody is refused",
                 m->max_bytes, m->uncounted_bytes + m->own.reserved_bytes);
    d->memory_watch->is_full = full;
}

void memory_tick(struct daemon *d, uint64_t now_us)
{
    if (now_us < d->memory_watch->next_us)
        return;
    d->memory_watch->next_us = now_us + MEMORY_CHECK_US;
    memory_update(d->memory, (size_t) process_private_bytes());
    memory_full_log(d);
    if (d->memory->freed_bytes < RETURN_BYTES)
        return;
    d->memory->freed_bytes = 0;
    d->registry->freed = true;
}

/* ---- quotas ---- */

const char *quota_open(const struct conn *c, const struct daemon *d)
{
    uint32_t n = 0, ended = 0, most = d->conf->limits_max_streams_per_uid;
    for (const struct session *s = d->sessions->first; s; s = s->next)
        if (s->uid == c->uid)
            ++*(s->gone ? &ended : &n);
    if (c->streams.n >= d->conf->limits_max_streams_per_connection)
        return "max_streams_per_connection is reached";
    if (n >= most)
        return "max_streams_per_uid is reached";
    if (n + ended >= most + most / ENDED_PART + 1)
        return "max_streams_per_uid is reached; some have ended and take their places for a moment "
               "more";
    if (d->sessions->n >= d->conf->limits_max_streams)
        return "max_streams is reached";
    if (!place_free(d->conf->limits_max_streams, d->sessions->n, n + ended))
        return "the last eighth of max_streams is for users who have fewer streams";
    return NULL;
}

const char *quota_run(const struct session *s, double cost)
{
    const struct daemon *d = s->daemon;
    double share = d->conf->limits_rtf_share_per_uid * d->conf->limits_rtf_budget * d->pool->n_live,
           load = cost;
    for (const struct session *x = d->sessions->first; x; x = x->next)
        load += x->uid == s->uid && x->live && x->lane && !x->gone ? (double) x->model->rtf : 0;
    if (s->live && d->conf->limits_rtf_share_per_uid < 1 && load > share)
        return "live streams of this user have claimed the compute that one user may "
               "(rtf_share_per_uid)";
    return NULL;
}

/* ---- sockets ---- */

static uint64_t hop_bytes(const struct session *s)
{
    const struct lane_model *m = &s->model->lane;
    if (s->ports)
        return session_ports_pulse_bytes(s, MESSAGE_BYTES);
    uint64_t frames =
        s->want_audio && !s->mute ? rate_rescale(m->pulse_samples, s->out.rate, m->rate) : 0;
    return frames * pcm_frame_bytes(&s->out) + MESSAGE_BYTES;
}

/* Four hops of live streams, so that unread output is noticed at once; sockets of files may hold
 * more. */
void socket_fit(struct conn *c)
{
    uint64_t bytes = 0;
    uv_os_fd_t fd;
    for (const struct session *s = NULL; (s = session_next(c, s));)
        if (s->lane)
            bytes += s->live ? HOPS_IN_SOCKET * hop_bytes(s) : FILE_SOCKET_BYTES;
    bytes = !bytes || bytes > SOCKET_BYTES_MAX ? bytes ? SOCKET_BYTES_MAX : FILE_SOCKET_BYTES
        : bytes < SOCKET_BYTES_MIN             ? SOCKET_BYTES_MIN
                                               : bytes;
    int n = (int) bytes;
    if (uv_fileno((uv_handle_t *) &c->pipe, &fd) == 0)
        setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &n, sizeof n);
}

/* ---- idling ---- */

static void idle_send(struct conn *c)
{
    Rill__GoAway a = RILL__GO_AWAY__INIT;
    Rill__ServerFrame f = RILL__SERVER_FRAME__INIT;
    a.reason = RILL__GO_AWAY__REASON__REASON_IDLE;
    f.m_case = RILL__SERVER_FRAME__M_GOAWAY;
    f.goaway = &a;
    conn_send(c, 0, &f);
}

bool idle_check(struct conn *c, uint64_t now_us)
{
    uint64_t most_us = c->daemon->conf->limits_idle_timeout_ms * UINT64_C(1000);
    if (!most_us || c->streams.n || !c->hello_done || now_us < c->active_us + most_us)
        return false;
    log_line(c->daemon->log, LOG_INFO, "conn=%u uid=%u idle for %u ms, closed", c->id, c->uid,
             c->daemon->conf->limits_idle_timeout_ms);
    idle_send(c);
    conn_close(c);
    return true;
}

bool idle_stream(const struct session *s, uint64_t now_us)
{
    uint64_t most_us = s->daemon->conf->limits_idle_stream_ms * UINT64_C(1000);
    return most_us && s->live && s->lane && !s->finishing && now_us >= s->audio_us + most_us;
}
