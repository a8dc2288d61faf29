/* SPDX-License-Identifier: MIT */
#include "daemon/compute/heard.h"
#include "daemon/compute/lane.h"

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
    h->finished = h->tells = false;
}

void heard_end(struct heard *h, uint64_t pos)
{
    for (unsigned i = 0; i < h->n; i++)
        if (h->list[i].sink)
            rill_sink_end(h->list[i].sink, pos);
    if (h->edges)
        rill_sink_end(h->edges, pos);
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

/* ---- parts ---- */

/* Where word k of a text ends, if it begins at that byte or behind a space there; else 0. */
static size_t word_end(const rill_event *e, uint32_t k, size_t at)
{
    size_t n = k < e->n_words ? strlen(e->words[k].text) : 0;
    for (; n; at++) {
        if (!strncmp(e->text + at, e->words[k].text, n))
            return at + n;
        if (e->text[at] != ' ')
            break;
    }
    return 0;
}

/* Where a part of at most so many bytes ends: at a space where it can, else between characters. */
static size_t text_cut(const char *text, size_t from, size_t until, size_t most)
{
    size_t n = from + most;
    if (until - from <= most)
        return until;
    while (n > from && text[n] != ' ')
        n--;
    if (n > from)
        return n;
    for (n = from + most; n > from && (text[n] & 0xc0) == 0x80;)
        n--;
    return n > from ? n : from + most;
}

/* The end of as many words as there is room for; their number is added to *words. */
static size_t words_fit(const rill_event *e, const struct heard_room *room, size_t from,
                        uint32_t *words)
{
    size_t end = from, besides = 0, next;
    for (uint32_t n = 0; n < room->words && (next = word_end(e, *words, end)); n++, ++*words) {
        besides += HEARD_WORD_BYTES + strlen(e->words[*words].text);
        if (next - from + besides > room->bytes)
            break;
        end = next;
    }
    return end;
}

bool heard_part(const rill_event *e, const struct heard_room *room, struct heard_told *told,
                struct heard_part *ret)
{
    size_t from = told->bytes, end = from;
    uint32_t words = told->words;
    if (told->begun && !e->text[from])
        return false;
    told->begun = true;
    if (from >= told->bare_end)
        end = words_fit(e, room, from, &words);
    *ret = (struct heard_part) { .text = e->text + from,
                                 .pos = e->pos,
                                 .end_pos = e->end_pos,
                                 .words = e->words + told->words,
                                 .n_words = words - told->words };
    if (end == from) {
        if (from >= told->bare_end && (told->bare_end = word_end(e, words, from)))
            words++;
        if (from >= told->bare_end)
            told->bare_end = from + strlen(e->text + from);
        end = text_cut(e->text, from, told->bare_end, room->bytes);
    }
    if (words) {
        ret->pos = e->words[ret->n_words ? told->words : words - 1].pos;
        ret->end_pos = e->words[words - 1].end_pos;
    }
    told->words = words;
    told->bytes = end + (e->text[end] == ' ');
    ret->n_bytes = end - from;
    return true;
}

void heard_newest(const rill_event *e, const struct heard_room *room, struct heard_part *ret)
{
    struct heard_told told = { .begun = false };
    size_t n = strlen(e->text);
    heard_part(e, room, &told, ret);
    if (ret->n_bytes == n)
        return;
    const char *text = e->text + (n > room->bytes ? n - room->bytes : 0);
    while ((*text & 0xc0) == 0x80)
        text++;
    *ret = (struct heard_part) {
        .text = text, .n_bytes = strlen(text), .pos = e->pos, .end_pos = e->end_pos
    };
}

void heard_next(struct heard *h, struct heard_part *ret)
{
    static const struct heard_room room = { .bytes = HEARD_EVENT_BYTES - HEARD_TEXT_BYTES,
                                            .words = HEARD_WORDS_MAX };
    if (h->event.kind == RILL_EVENT_PARTIAL)
        heard_newest(&h->event, &room, ret);
    else
        heard_part(&h->event, &room, &h->told, ret);
    h->tells = h->event.kind == RILL_EVENT_FINAL && h->event.text[h->told.bytes];
}

/* ---- bytes ---- */

static size_t put(struct heard *h, size_t at, const void *from, size_t n)
{
    memcpy(h->buf + at, from, n);
    return at + n;
}

size_t heard_write(struct heard *h, const rill_event *e, const struct heard_part *part)
{
    struct heard_head head = { .kind = e->kind,
                               .rule = e->rule,
                               .pos = e->pos,
                               .end_pos = e->end_pos,
                               .score = e->score,
                               .stability = e->stability,
                               .segment = e->segment,
                               .n_words = part->n_words,
                               .text_bytes = (uint32_t) part->n_bytes + 1 };
    size_t at = put(h, put(h, 0, &head, sizeof head), part->text, part->n_bytes);
    h->buf[at++] = 0;
    for (uint32_t i = 0; i < part->n_words; i++) {
        const rill_word *w = &part->words[i];
        struct heard_word x = { w->pos, w->end_pos, w->confidence, (uint32_t) strlen(w->text) + 1 };
        at = put(h, put(h, at, &x, sizeof x), w->text, x.text_bytes);
    }
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
