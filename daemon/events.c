/* SPDX-License-Identifier: MIT */
/* What sinks say, as messages. A partial waits for a client that reads slowly, and the next takes its place;
 * everything else is sent in order. */
#include "daemon/daemon.h"

#include <stdlib.h>
#include <string.h>

#define PARTIAL_QUEUE_BYTES 4096        /* more waits to be read: a partial waits, too */
#define TEXT_OVERHEAD_BYTES 64          /* of a Transcript without words around its text */

bool events_make(struct session *s)
{
    if (!s->want_text && !s->want_keyword && !s->want_endpoint)
        return true;
    s->partial = malloc(HEARD_EVENT_BYTES);
    s->event = malloc(HEARD_EVENT_BYTES);
    return s->partial && s->event;
}

size_t outputs_list(const struct lane_model *m, Rill__Output list[5])
{
    bool words = m->words_plan, keywords = false;
    size_t n = 0;
    for (unsigned i = 0; i < m->n_heard; i++) {
        keywords |= m->heard[i].kind == RILL_PORT_KEYWORD;
        words |= m->heard[i].kind != RILL_PORT_KEYWORD;
    }
    if (m->audio_out >= 0)
        list[n++] = RILL__OUTPUT__OUTPUT_AUDIO;
    if (m->vad_out >= 0)
        list[n++] = RILL__OUTPUT__OUTPUT_VAD;
    if (words)
        list[n++] = RILL__OUTPUT__OUTPUT_TRANSCRIPT;
    if (keywords)
        list[n++] = RILL__OUTPUT__OUTPUT_KEYWORD;
    if (words || m->vad_out >= 0)
        list[n++] = RILL__OUTPUT__OUTPUT_ENDPOINT;
    return n;
}

/* Protobuf-c writes strings that it only reads as char *. */
static char *text_of(const char *s)
{
    return (char *) (uintptr_t) s;
}

/* A final that no frame holds, in several messages that are alike but for the text; cut between words where it can be. */
static void pieces_send(struct session *s, Rill__ServerFrame *f, const char *text)
{
    size_t most = s->conn->max_frame_bytes - TEXT_OVERHEAD_BYTES;
    char *piece = (char *) s->partial;          /* as large as any text, and free: what it held is told or out of date */
    s->partial_bytes = 0;
    for (size_t left = strlen(text), n; left; left -= n, text += n) {
        n = left < most ? left : most;
        while (n < left && n && text[n - 1] != ' ')
            n--;
        for (n = n ? n : most; n < left && (text[n] & 0xc0) == 0x80;)
            n--;
        memcpy(piece, text, n);
        piece[n - (n < left && text[n - 1] == ' ')] = '\0';
        f->text->text = piece;
        conn_send(s->conn, 0, f);
    }
}

/* The last `most` bytes, from a whole character on: what is new in a partial. */
static char *text_end(const char *text, size_t most)
{
    size_t n = strlen(text);
    text += n > most ? n - most : 0;
    while ((*text & 0xc0) == 0x80)
        text++;
    return text_of(text);
}

/* Words go where the message has no room for them. */
static void transcript_send(struct session *s, const rill_event *e)
{
    Rill__Word words[HEARD_WORDS_MAX], *list[HEARD_WORDS_MAX];
    Rill__Transcript a = RILL__TRANSCRIPT__INIT;
    Rill__ServerFrame f = RILL__SERVER_FRAME__INIT;
    a.stream = s->id;
    a.seg = e->segment;
    a.final = e->kind == RILL_EVENT_FINAL;
    a.stability = e->stability;
    a.text = text_of(e->text);
    a.pos = e->pos;
    a.words = list;
    a.n_words = e->n_words;
    for (uint32_t i = 0; i < e->n_words; i++) {
        list[i] = &words[i];
        rill__word__init(&words[i]);
        words[i].text = text_of(e->words[i].text);
        words[i].pos = e->words[i].pos;
        words[i].end_pos = e->words[i].end_pos;
        words[i].confidence = e->words[i].confidence;
    }
    f.m_case = RILL__SERVER_FRAME__M_TEXT;
    f.text = &a;
    if (rill__server_frame__get_packed_size(&f) > s->conn->max_frame_bytes)
        a.n_words = 0;
    if (rill__server_frame__get_packed_size(&f) > s->conn->max_frame_bytes && a.final) {
        pieces_send(s, &f, e->text);
        return;
    }
    if (rill__server_frame__get_packed_size(&f) > s->conn->max_frame_bytes)
        a.text = text_end(e->text, s->conn->max_frame_bytes - TEXT_OVERHEAD_BYTES);
    conn_send(s->conn, 0, &f);
}

static void keyword_send(struct session *s, const rill_event *e)
{
    Rill__Keyword a = RILL__KEYWORD__INIT;
    Rill__ServerFrame f = RILL__SERVER_FRAME__INIT;
    a.stream = s->id;
    a.word = text_of(e->text);
    a.score = e->score;
    a.pos = e->pos;
    a.end_pos = e->end_pos;
    f.m_case = RILL__SERVER_FRAME__M_KEYWORD;
    f.keyword = &a;
    conn_send(s->conn, 0, &f);
}

static void endpoint_send(struct session *s, const rill_event *e)
{
    Rill__Endpoint a = RILL__ENDPOINT__INIT;
    Rill__ServerFrame f = RILL__SERVER_FRAME__INIT;
    a.stream = s->id;
    a.pos = e->pos;
    a.rule = (Rill__Endpoint__Rule) e->rule;
    a.final = true;
    f.m_case = RILL__SERVER_FRAME__M_ENDPOINT;
    f.endpoint = &a;
    conn_send(s->conn, 0, &f);
}

void events_take(struct session *s, const struct lane_rec *r)
{
    rill_word words[HEARD_WORDS_MAX];
    rill_event e;
    ring_read(&s->lane->heard.bytes, s->event, r->n);
    heard_read(s->event, r->n, &e, words);
    switch (e.kind) {
    case RILL_EVENT_PARTIAL:
        memcpy(s->partial, s->event, r->n);
        s->partial_bytes = r->n;
        break;
    case RILL_EVENT_FINAL:
        s->partial_bytes = 0;       /* it says all that the partial did */
        transcript_send(s, &e);
        break;
    case RILL_EVENT_KEYWORD: keyword_send(s, &e); break;
    case RILL_EVENT_ENDPOINT: endpoint_send(s, &e); break;
    default: break;
    }
}

void events_flush(struct session *s)
{
    rill_word words[HEARD_WORDS_MAX];
    rill_event e;
    if (!s->partial_bytes)
        return;
    if (conn_queue_bytes(s->conn) > PARTIAL_QUEUE_BYTES) {
        s->conn->paused = true;     /* so that this is tried again once the client has read */
        return;
    }
    heard_read(s->partial, s->partial_bytes, &e, words);
    s->partial_bytes = 0;
    transcript_send(s, &e);
}
