/* SPDX-License-Identifier: MIT */
#include "daemon/heard.h"
#include "daemon/lane.h"

#include <stdlib.h>
#include <string.h>

/* ---- making ---- */

static bool is_words(rill_port_kind kind)
{
    return kind == RILL_PORT_CTC || kind == RILL_PORT_TRANSDUCER;
}

static bool source_add(struct heard *h, const struct heard_port *p, bool wanted,
                       const rill_plan *plan, const rill_sink_opts *o)
{
    struct heard_source *x = &h->list[h->n++];
    *x = (struct heard_source) { .port = *p };
    return !wanted || rill_sink_new(&x->sink, plan, p->port, o, NULL) == RILL_OK;
}

/* What the model says, and what the client changes of it. */
static bool sink_opts(rill_sink_opts *ret, const struct heard_wants *w, const rill_plan *plan,
                      unsigned port)
{
    if (rill_sink_defaults(ret, plan, port, NULL) != RILL_OK)
        return false;
    options_apply(&w->options, ret);
    return true;
}

/* The detector is there twice: one tells an edge for each frame, behind the other is the
 * recogniser. */
static bool detector_make(struct heard *h, const struct lane_model *m, const struct heard_wants *w)
{
    const struct heard_port p = { .port = (unsigned) m->vad_out,
                                  .kind = RILL_PORT_VAD,
                                  .width = 1 };
    bool listens = m->words_plan && (w->text || w->endpoint);
    if (rill_sink_new(&h->edges, m->plan, p.port, &w->vad, NULL) != RILL_OK ||
        !source_add(h, &p, listens, m->plan, &w->vad))
        return false;
    if (!listens)
        return true;
    h->listener = h->list[h->n - 1].sink;
    h->list[h->n - 1].tells_endpoints = true;
    rill_sink_opts o;
    return sink_opts(&o, w, m->words_plan, m->words_port) &&
        rill_sink_listen(h->listener, m->words_plan, m->words_port, &o, NULL) == RILL_OK;
}

bool heard_make(struct heard *h, const struct lane_model *m, const struct heard_wants *w)
{
    if (m->vad_out >= 0 && !detector_make(h, m, w))
        return false;
    for (unsigned i = 0; i < m->n_heard; i++) {
        rill_sink_opts o = { 0 };
        bool words = is_words(m->heard[i].kind),
             wanted = words ? w->text || w->endpoint : w->keyword;
        if ((wanted && !sink_opts(&o, w, m->plan, m->heard[i].port)) ||
            !source_add(h, &m->heard[i], wanted, m->plan, &o))
            return false;
        h->list[h->n - 1].tells_endpoints = words && !h->listener;
    }
    bool any = w->text || w->keyword || w->endpoint;
    h->buf = any ? malloc(HEARD_EVENT_BYTES) : NULL;
    return !any || (h->buf && ring_init(&h->bytes, 1, HEARD_RING_BYTES));
}

void heard_drop(struct heard *h)
{
    for (unsigned i = 0; i < h->n; i++)
        rill_sink_free(h->list[i].sink);
    rill_sink_free(h->edges);
    if (h->bytes.mem)
        ring_free(&h->bytes);
    free(h->buf);
}

size_t heard_bytes(const struct heard *h)
{
    size_t n = ring_bytes(&h->bytes) + (h->buf ? HEARD_EVENT_BYTES : 0) +
        (h->edges ? rill_sink_bytes(h->edges) : 0);
    for (unsigned i = 0; i < h->n; i++)
        n += h->list[i].sink ? rill_sink_bytes(h->list[i].sink) : 0;
    return n;
}

void heard_reset(struct heard *h, uint64_t pos)
{
    for (unsigned i = 0; i < h->n; i++)
        if (h->list[i].sink)
            rill_sink_reset(h->list[i].sink, pos);
    if (h->edges)
        rill_sink_reset(h->edges, pos);
    h->finished = false;
}

rill_status heard_check(const struct lane_model *m, rill_error *reterr)
{
    rill_sink *s = NULL, *words = NULL;
    rill_status status = RILL_OK;
    for (unsigned i = 0; i < m->n_heard && status == RILL_OK; i++) {
        status = rill_sink_new(&s, m->plan, m->heard[i].port, NULL, reterr);
        s = status == RILL_OK ? rill_sink_free(s) : NULL;
    }
    if (status == RILL_OK && m->vad_out >= 0)
        status = rill_sink_new(&words, m->plan, (unsigned) m->vad_out, NULL, reterr);
    if (status == RILL_OK && m->words_plan)
        status = rill_sink_listen(words, m->words_plan, m->words_port, NULL, reterr);
    rill_sink_free(words);
    return status;
}

/* ---- bytes ---- */

static size_t put(struct heard *h, size_t at, const void *from, size_t n)
{
    memcpy(h->buf + at, from, n);
    return at + n;
}

size_t heard_write(struct heard *h, const rill_event *e)
{
    struct heard_head head = { .kind = e->kind,
                               .rule = e->rule,
                               .pos = e->pos,
                               .end_pos = e->end_pos,
                               .score = e->score,
                               .stability = e->stability,
                               .segment = e->segment };
    size_t most = HEARD_EVENT_BYTES - sizeof head - 1, n = strlen(e->text);
    n = n < most ? n : most;
    while (n && (e->text[n] & 0xc0) == 0x80)        /* between characters */
        n--;
    head.text_bytes = (uint32_t) n + 1;
    size_t at = put(h, sizeof head, e->text, n);
    h->buf[at++] = 0;
    for (uint32_t i = 0; i < e->n_words && i < HEARD_WORDS_MAX; i++) {
        const rill_word *w = &e->words[i];
        struct heard_word x = { w->pos, w->end_pos, w->confidence, (uint32_t) strlen(w->text) + 1 };
        if (HEARD_EVENT_BYTES - at < sizeof x + x.text_bytes)
            break;
        at = put(h, put(h, at, &x, sizeof x), w->text, x.text_bytes);
        head.n_words++;
    }
    memcpy(h->buf, &head, sizeof head);
    return at;
}

void heard_read(const unsigned char *bytes, size_t n, rill_event *ret, rill_word *words)
{
    struct heard_head head;
    memcpy(&head, bytes, sizeof head);
    *ret = (rill_event) { .kind = head.kind,
                          .rule = head.rule,
                          .pos = head.pos,
                          .end_pos = head.end_pos,
                          .score = head.score,
                          .stability = head.stability,
                          .segment = head.segment,
                          .n_words = head.n_words,
                          .words = words,
                          .text = (const char *) bytes + sizeof head };
    size_t at = sizeof head + head.text_bytes;
    for (uint32_t i = 0; i < head.n_words && at < n; i++) {
        struct heard_word w;
        memcpy(&w, bytes + at, sizeof w);
        at += sizeof w;
        words[i] = (rill_word) { .text = (const char *) bytes + at,
                                 .pos = w.pos,
                                 .end_pos = w.end_pos,
                                 .confidence = w.confidence };
        at += w.text_bytes;
    }
}
