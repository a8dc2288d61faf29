/* SPDX-License-Identifier: MIT */
/* Shutdown, with a grace period for open streams. */
#include "daemon/base/clock.h"
#include "daemon/base/lifecycle.h"
#include "daemon/base/log.h"
#include "daemon/base/notify.h"
#include "daemon/daemon.h"
#include "daemon/models/registry.h"
#include "daemon/net/conn.h"
#include "daemon/net/net.h"
#include "daemon/serve/session_list.h"

static void goaway_send(struct conn *c, uint32_t grace_ms)
{
    Rill__GoAway a = RILL__GO_AWAY__INIT;
    Rill__ServerFrame f = RILL__SERVER_FRAME__INIT;
    if (!c->hello_done)
        return;
    a.reason = RILL__GO_AWAY__REASON__REASON_DRAINING;
    a.grace_ms = grace_ms;
    f.m_case = RILL__SERVER_FRAME__M_GOAWAY;
    f.goaway = &a;
    conn_send(c, 0, &f);
}

void daemon_drain(struct daemon *d, uint32_t grace_ms)
{
    uint64_t until_us = clock_now_us() + grace_ms * UINT64_C(1000);
    if (d->life->draining) {
        d->life->drain_until_us =
            until_us < d->life->drain_until_us ? until_us : d->life->drain_until_us;
        return;
    }
    d->life->draining = true;
    d->life->drain_until_us = until_us;
    log_event(d->log, LOG_INFO, EVENT_DRAINING, "draining: %u streams, at most %u ms",
              sessions_running(d), grace_ms);
    notify_send("STOPPING=1\nSTATUS=Draining %u streams", sessions_running(d));
    listen_close(d->net);
    for (struct conn *c = d->net->conns, *next; c; c = next) {
        next = c->next;
        goaway_send(c, grace_ms);
    }
}

void drain_tick(struct daemon *d, uint64_t now_us)
{
    bool over = now_us >= d->life->drain_until_us;
    if (!d->life->draining || d->life->stopping || (sessions_running(d) && !over))
        return;
    d->life->stopping = true;
    atomic_store(&d->registry->stop, true);
    for (struct conn *c = d->net->conns, *next; c; c = next) {
        next = c->next;
        if (c->streams.n)
            conn_error(c, 0, 0, RILL__CODE__DRAINING, true, "the time to finish is over");
        else
            conn_close(c);
    }
}
