/* SPDX-License-Identifier: MIT */
/* Sessions of ports: what goes out. */
#include "daemon/compute/ports.h"
#include "daemon/models/registry.h"
#include "daemon/net/conn.h"
#include "daemon/serve/session_internal.h"
#include "daemon/serve/session_ports.h"

/* Bytes of the next message of a port: whole frames, or a part of one. */
static size_t message_bytes(const struct session *s, const struct lane_port *q,
                            const struct session_port *p)
{
    size_t most = s->conn->max_message_bytes - PORT_MESSAGE_EXTRA, used = ring_used(&q->ring);
    most = most < PORT_PART_BYTES ? most : PORT_PART_BYTES;
    if (q->frame_bytes > most) {
        size_t rest = q->frame_bytes - p->part_bytes, whole = most - most % q->info.element_bytes;
        used = used < rest ? used : rest;
        return used < whole ? used : whole;
    }
    used -= used % q->frame_bytes;
    most -= most % q->frame_bytes;
    return used < most ? used : most;
}

static void message_send(struct session *s, const struct lane_port *q, struct session_port *p,
                         size_t n, const struct lane_rec *r)
{
    Rill__FramesOut a = RILL__FRAMES_OUT__INIT;
    Rill__ServerFrame f = RILL__SERVER_FRAME__INIT;
    a.stream = s->id;
    a.port = (char *) (uintptr_t) q->info.name;
    a.pos = p->frames;
    a.at_bytes = p->part_bytes;
    a.data.data = s->ports->part;
    a.data.len = n;
    a.queue_us = r->queue_us;
    a.compute_us = r->compute_us;
    a.resets = s->ports->resets;
    f.m_case = RILL__SERVER_FRAME__M_FRAMES;
    f.frames = &a;
    p->frames += (p->part_bytes + n) / q->frame_bytes;
    p->part_bytes = (p->part_bytes + n) % q->frame_bytes;
    conn_send(s->conn, 0, &f);
}

bool session_ports_send(struct session *s, const struct lane_rec *r,
                        bool (*is_full)(const struct session *s))
{
    struct lane_ports *l = s->lane->ports;
    bool is_first = true;
    for (unsigned i = l->n_in; i < l->n; i++) {
        struct lane_port *q = &l->list[i];
        struct session_port *p = &s->ports->list[i];
        size_t n;
        while (q->is_wanted && (n = message_bytes(s, q, p)) > 0) {
            if (is_full(s))
                return false;
            ring_read(&q->ring, s->ports->part, n);
            message_send(s, q, p, n, r);
            if (!s->conn || s->conn->closing)
                return false;
        }
        if (q->is_wanted && is_first) {
            s->sent = p->frames;
            is_first = false;
        }
    }
    return true;
}

void session_ports_credit(struct session *s)
{
    const struct lane_ports *l = s->lane->ports;
    for (unsigned i = 0; i < l->n_in && !s->finishing && s->conn && !s->conn->closing; i++) {
        const struct lane_port *q = &l->list[i];
        struct session_port *p = &s->ports->list[i];
        Rill__FrameCredit a = RILL__FRAME_CREDIT__INIT;
        Rill__ServerFrame f = RILL__SERVER_FRAME__INIT;
        uint64_t limit = atomic_load_explicit(&q->taken, memory_order_acquire) + q->window_frames;
        if (limit - p->granted < q->window_frames / 8 + 1)
            continue;
        p->granted = limit;
        a.stream = s->id;
        a.port = (char *) (uintptr_t) q->info.name;
        a.limit_frames = limit;
        f.m_case = RILL__SERVER_FRAME__M_FRAME_CREDIT;
        f.frame_credit = &a;
        conn_send(s->conn, 0, &f);
    }
}

void session_ports_finished(struct session *s, Rill__ServerFrame *f)
{
    const struct lane_ports *l = s->lane->ports;
    Rill__PortFrames *list = calloc(l->n, sizeof *list), **ret = calloc(l->n, sizeof *ret);
    f->finished->ports = ret;
    for (unsigned i = 0; list && ret && i < l->n; i++) {
        ret[i] = &list[i];
        rill__port_frames__init(&list[i]);
        list[i].port = (char *) (uintptr_t) l->list[i].info.name;
        list[i].frames = s->ports->list[i].frames;
        f->finished->n_ports++;
    }
    if (!conn_takes(s->conn, f))
        f->finished->n_ports = 0;
    conn_send(s->conn, s->end_req, f);
    free(list);
    free(ret);
}

/* So much that what the rings hold is no sign of a slow reader. */
uint64_t session_ports_bytes_per_s(const struct session *s)
{
    const struct lane_ports *l = s->lane ? s->lane->ports : NULL;
    uint64_t held = 65536, flow = 0;
    for (unsigned i = 0; l && i < l->n; i++) {
        const struct lane_port *q = &l->list[i];
        if (!q->is_wanted)
            continue;
        held += ring_bytes(&q->ring);
        if (q->info.rate_num && q->info.rate_den)
            flow += (uint64_t) ((double) q->frame_bytes * q->info.rate_num / q->info.rate_den);
    }
    return held > flow ? held : flow;
}

uint64_t session_ports_pulse_bytes(const struct session *s, uint64_t message_bytes)
{
    const struct lane_ports *l = s->lane ? s->lane->ports : NULL;
    uint64_t bytes = 0;
    for (unsigned i = 0; l && i < l->n; i++) {
        uint64_t n = (uint64_t) l->list[i].info.pulse_frames * l->list[i].frame_bytes;
        if (l->list[i].is_wanted)
            bytes += n + (n / PORT_PART_BYTES + 1) * message_bytes;
    }
    return bytes;
}
