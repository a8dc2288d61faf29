/* SPDX-License-Identifier: MIT */
/* conn_calls of clients: what the rooms above do for a connection. */
#include "daemon/daemon.h"
#include "daemon/net/conn.h"
#include "daemon/serve/admit.h"
#include "daemon/serve/limits.h"
#include "daemon/serve/meter.h"
#include "daemon/serve/session.h"
#include "daemon/serve/session_list.h"
#include "daemon/serve/topic.h"

static void client_writable(struct conn *c)
{
    for (struct session *s = NULL; (s = session_next(c, s));)
        session_deliver(s);
    subs_deliver(c);
}

static void client_drop(struct conn *c)
{
    sessions_drop(c);
    subs_drop(c);
}

static void client_gone(struct conn *c)
{
    reload_forget(c->daemon, c);
}

static void client_outputs(const struct conn *c, uint64_t now_us, struct conn_outputs *ret)
{
    *ret = (struct conn_outputs) { .lag_ms = subs_lag_ms(c),
                                   .overdue = subs_overdue(c, now_us) ? "the topic ended long ago"
                                                                      : NULL };
    for (const struct session *s = NULL; (s = session_next(c, s));) {
        ret->bytes_per_s += session_output_bytes_per_s(s);
        ret->any_live |= s->live;
    }
}

static struct session *session_of(struct stream_link *l)
{
    return l && l->kind == STREAM_SESSION ? (struct session *) (void *) l : NULL;
}

static bool client_has_priority(const struct stream_link *l)
{
    return l->kind == STREAM_SESSION &&
        session_has_priority((const struct session *) (const void *) l);
}

static uint64_t client_worked(struct conn *c, struct stream_link *l, uint64_t since_us)
{
    return meter_charge_loop(c->daemon, session_of(l), since_us);
}

static enum memory_answer client_claim(struct conn *c, enum memory_kind k, size_t bytes)
{
    return memory_claim(c->daemon, c->owner, k, bytes);
}

static uint32_t client_retry_ms(struct conn *c)
{
    return admit_retry_ms(c->daemon);
}

const struct conn_calls client_calls = {
    .message = dispatch_message,
    .writable = client_writable,
    .drop = client_drop,
    .gone = client_gone,
    .outputs = client_outputs,
    .has_priority = client_has_priority,
    .worked = client_worked,
    .claim = client_claim,
    .retry_ms = client_retry_ms,
    .idle = idle_check,
    .fit = socket_fit,
};
