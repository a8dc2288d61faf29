/* SPDX-License-Identifier: MIT */
#include "daemon/compute/lane_sinks.h"
#include "daemon/compute/lane.h"

#include <stdlib.h>
#include <string.h>

bool port_is_recogniser(rill_port_kind kind)
{
    return kind == RILL_PORT_CTC || kind == RILL_PORT_TRANSDUCER || kind == RILL_PORT_ATTENTION;
}

bool lane_sinks_have(const struct lane_model *m, rill_port_kind kind)
{
    rill_sink_opts o = { .struct_bytes = sizeof o };
    for (unsigned i = 0; i < m->n_sink_ports; i++)
        if (m->sink_ports[i].kind == kind)
            return true;
    return m->words_plan && rill_sink_defaults(&o, m->words_plan, m->words_port, NULL) == RILL_OK &&
        o.kind == kind;
}

static bool sink_add(struct lane_sinks *h, const struct sink_port *p, bool wanted,
                     const rill_plan *plan, const rill_sink_opts *o)
{
    struct lane_sink *x = &h->list[h->n++];
    *x = (struct lane_sink) { .port = *p };
    return !wanted || rill_sink_new(&x->sink, plan, p->port, o, NULL) == RILL_OK;
}

/* The model's own options with the changes that the client asked for. */
static bool sink_opts(rill_sink_opts *ret, const struct lane_sinks_opts *w, const rill_plan *plan,
                      unsigned port)
{
    if (rill_sink_defaults(ret, plan, port, NULL) != RILL_OK)
        return false;
    options_apply(&w->options, ret);
    return true;
}

/* Two sinks read the detector: vad_edges gives an edge for each frame at once; the other one holds
 * its events back until the recogniser that it gates has caught up. */
static bool detector_make(struct lane_sinks *h, const struct lane_model *m,
                          const struct lane_sinks_opts *w)
{
    const struct sink_port p = { .port = (unsigned) m->vad_out, .kind = RILL_PORT_VAD, .width = 1 };
    bool gates = m->words_plan && (w->text || w->endpoint);
    if (rill_sink_new(&h->vad_edges, m->plan, p.port, &w->vad, NULL) != RILL_OK ||
        !sink_add(h, &p, gates, m->plan, &w->vad))
        return false;
    if (!gates)
        return true;
    h->gated = h->list[h->n - 1].sink;
    h->list[h->n - 1].reports_endpoints = true;
    rill_sink_opts o = { .struct_bytes = sizeof o };
    return sink_opts(&o, w, m->words_plan, m->words_port) &&
        rill_sink_listen(h->gated, m->words_plan, m->words_port, &o, NULL) == RILL_OK;
}

bool lane_sinks_make(struct lane_sinks *h, const struct lane_model *m,
                     const struct lane_sinks_opts *w)
{
    if (m->vad_out >= 0 && !detector_make(h, m, w))
        return false;
    for (unsigned i = 0; i < m->n_sink_ports; i++) {
        rill_sink_opts o = { .struct_bytes = sizeof o };
        bool words = port_is_recogniser(m->sink_ports[i].kind),
             wanted = words ? w->text || w->endpoint : w->keyword;
        if ((wanted && !sink_opts(&o, w, m->plan, m->sink_ports[i].port)) ||
            !sink_add(h, &m->sink_ports[i], wanted, m->plan, &o))
            return false;
        h->list[h->n - 1].reports_endpoints = words && !h->gated;
    }
    bool any = w->text || w->keyword || w->endpoint;
    h->buf = any ? malloc(EVENT_BYTES_MAX) : NULL;
    return !any || (h->buf && ring_init(&h->bytes, 1, EVENT_RING_BYTES));
}

static rill_status sink_try(const struct lane_sinks_opts *w, const rill_plan *plan, unsigned port,
                            rill_error *reterr)
{
    rill_sink *s = NULL;
    rill_sink_opts o = { .struct_bytes = sizeof o };
    rill_status status = rill_sink_defaults(&o, plan, port, reterr);
    if (status != RILL_OK)
        return status;
    options_apply(&w->options, &o);
    status = rill_sink_new(&s, plan, port, &o, reterr);
    if (status == RILL_OK)
        rill_sink_free(s);
    return status;
}

rill_status lane_sinks_try(const struct lane_model *m, const struct lane_sinks_opts *w,
                           rill_error *reterr)
{
    rill_status status = RILL_OK;
    for (unsigned i = 0; i < m->n_sink_ports && status == RILL_OK; i++)
        status = sink_try(w, m->plan, m->sink_ports[i].port, reterr);
    if (status == RILL_OK && m->words_plan)
        status = sink_try(w, m->words_plan, m->words_port, reterr);
    return status == RILL_NOMEM ? RILL_OK : status;
}

void lane_sinks_drop(struct lane_sinks *h)
{
    for (unsigned i = 0; i < h->n; i++)
        rill_sink_free(h->list[i].sink);
    rill_sink_free(h->vad_edges);
    if (h->bytes.mem)
        ring_free(&h->bytes);
    free(h->buf);
}

size_t lane_sinks_bytes(const struct lane_sinks *h)
{
    size_t n = ring_bytes(&h->bytes) + (h->buf ? EVENT_BYTES_MAX : 0) +
        (h->vad_edges ? rill_sink_bytes(h->vad_edges) : 0);
    for (unsigned i = 0; i < h->n; i++)
        n += h->list[i].sink ? rill_sink_bytes(h->list[i].sink) : 0;
    return n;
}

void lane_sinks_reset(struct lane_sinks *h, uint64_t pos)
{
    for (unsigned i = 0; i < h->n; i++)
        if (h->list[i].sink)
            rill_sink_reset(h->list[i].sink, pos);
    if (h->vad_edges)
        rill_sink_reset(h->vad_edges, pos);
    h->finished = h->part_pending = false;
}

void lane_sinks_alone(struct lane_sinks *h, bool alone)
{
    for (unsigned i = 0; i < h->n; i++)
        if (h->list[i].sink)
            rill_sink_alone(h->list[i].sink, alone);
}

void lane_sinks_end(struct lane_sinks *h, uint64_t pos)
{
    for (unsigned i = 0; i < h->n; i++)
        if (h->list[i].sink)
            rill_sink_end(h->list[i].sink, pos);
    if (h->vad_edges)
        rill_sink_end(h->vad_edges, pos);
}

rill_status lane_sinks_check(const struct lane_model *m, rill_error *reterr)
{
    rill_sink *s = NULL, *words = NULL;
    rill_status status = RILL_OK;
    for (unsigned i = 0; i < m->n_sink_ports && status == RILL_OK; i++) {
        status = rill_sink_new(&s, m->plan, m->sink_ports[i].port, NULL, reterr);
        s = status == RILL_OK ? rill_sink_free(s) : NULL;
    }
    if (status == RILL_OK && m->vad_out >= 0)
        status = rill_sink_new(&words, m->plan, (unsigned) m->vad_out, NULL, reterr);
    if (status == RILL_OK && m->words_plan)
        status = rill_sink_listen(words, m->words_plan, m->words_port, NULL, reterr);
    rill_sink_free(words);
    return status;
}

void lane_sinks_next_part(struct lane_sinks *h, struct event_part *ret)
{
    static const struct event_space room = { .bytes = EVENT_BYTES_MAX - EVENT_TEXT_OVERHEAD,
                                             .words = EVENT_WORDS_MAX };
    if (h->event.kind == RILL_EVENT_PARTIAL)
        event_last_part(&h->event, &room, ret);
    else
        event_next_part(&h->event, &room, &h->cursor, ret);
    h->part_pending = h->event.kind == RILL_EVENT_FINAL && h->event.text[h->cursor.bytes];
}
