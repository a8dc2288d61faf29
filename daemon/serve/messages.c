/* SPDX-License-Identifier: MIT */
#include "daemon/serve/messages.h"
#include "daemon/compute/lane.h"
#include "daemon/net/conn.h"
#include "daemon/net/wire.h"

#include <string.h>

#define PARTIAL_QUEUE_BYTES 4096 /* with more than that unread, partials are held back */
#define AUDIO_OVERHEAD_BYTES 96

bool conn_reads_slowly(const struct conn *c)
{
    return conn_queue_bytes(c) > PARTIAL_QUEUE_BYTES;
}

bool output_known(Rill__Output o)
{
    return o != RILL__OUTPUT__OUTPUT_NONE && wire_enum_has(&rill__output__descriptor, (int) o);
}

size_t outputs_list(const struct lane_model *m, Rill__Output list[OUTPUTS])
{
    bool words = m->words_plan, keywords = false;
    size_t n = 0;
    for (unsigned i = 0; i < m->n_sink_ports; i++) {
        bool is_words = port_is_recogniser(m->sink_ports[i].kind);
        keywords |= !is_words;
        words |= is_words;
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

size_t outputs_fill(uint32_t mask, Rill__Output list[OUTPUTS])
{
    size_t n = 0;
    for (int k = RILL__OUTPUT__OUTPUT_AUDIO; k <= RILL__OUTPUT__OUTPUT_ENDPOINT; k++)
        if (mask & 1u << k)
            list[n++] = (Rill__Output) k;
    return n;
}

void pcm_fill(Rill__Pcm *m, const struct pcm *p)
{
    rill__pcm__init(m);
    m->rate = p->rate;
    m->channels = p->channels;
    m->enc = (Rill__Enc) p->enc;
}

/* protobuf-c declares strings that it only reads as char *. */
static char *text_of(const char *s)
{
    return (char *) (uintptr_t) s;
}

/* One Transcript: a part of the event, with its text as a string of its own. */
static void part_send(struct conn *c, uint32_t id, const rill_event *e,
                      const struct event_part *part, const char *text)
{
    Rill__Word words[EVENT_WORDS_MAX], *list[EVENT_WORDS_MAX];
    Rill__Transcript a = RILL__TRANSCRIPT__INIT;
    Rill__ServerFrame f = RILL__SERVER_FRAME__INIT;
    a.stream = id;
    a.seg = e->segment;
    a.final = e->kind == RILL_EVENT_FINAL;
    a.stability = e->stability;
    a.text = text_of(text);
    a.pos = part->pos;
    a.words = list;
    a.n_words = part->n_words;
    for (uint32_t i = 0; i < part->n_words; i++) {
        list[i] = &words[i];
        rill__word__init(&words[i]);
        words[i].text = text_of(part->words[i].text);
        words[i].pos = part->words[i].pos;
        words[i].end_pos = part->words[i].end_pos;
        words[i].confidence = part->words[i].confidence;
    }
    f.m_case = RILL__SERVER_FRAME__M_TEXT;
    f.text = &a;
    conn_send(c, 0, &f);
}

/* A partial in one message, a final in as many as it needs; piece: room for a part's text. */
static void transcript_send(struct conn *c, uint32_t id, const rill_event *e, char *piece)
{
    const struct event_space space = { .bytes = c->max_message_bytes - EVENT_TEXT_OVERHEAD,
                                       .words = EVENT_WORDS_MAX };
    struct event_cursor cursor = { .started = false };
    struct event_part part;
    if (e->kind == RILL_EVENT_PARTIAL) {
        event_last_part(e, &space,
                        &part); /* which reaches to the end of the text, so it needs no copy */
        part_send(c, id, e, &part, part.text);
        return;
    }
    while (event_next_part(e, &space, &cursor, &part)) {
        memcpy(piece, part.text, part.n_bytes);
        piece[part.n_bytes] = '\0';
        part_send(c, id, e, &part, piece);
    }
}

static void keyword_send(struct conn *c, uint32_t id, const rill_event *e)
{
    Rill__Keyword a = RILL__KEYWORD__INIT;
    Rill__ServerFrame f = RILL__SERVER_FRAME__INIT;
    a.stream = id;
    a.word = text_of(e->text);
    a.score = e->score;
    a.pos = e->pos;
    a.end_pos = e->end_pos;
    f.m_case = RILL__SERVER_FRAME__M_KEYWORD;
    f.keyword = &a;
    conn_send(c, 0, &f);
}

static void endpoint_send(struct conn *c, uint32_t id, const rill_event *e)
{
    Rill__Endpoint a = RILL__ENDPOINT__INIT;
    Rill__ServerFrame f = RILL__SERVER_FRAME__INIT;
    a.stream = id;
    a.pos = e->pos;
    a.rule = (Rill__Endpoint__Rule) e->rule;
    a.final = true;
    f.m_case = RILL__SERVER_FRAME__M_ENDPOINT;
    f.endpoint = &a;
    conn_send(c, 0, &f);
}

void event_send(struct conn *c, uint32_t id, const rill_event *e, char *piece)
{
    switch (e->kind) {
    case RILL_EVENT_PARTIAL:
    case RILL_EVENT_FINAL: transcript_send(c, id, e, piece); break;
    case RILL_EVENT_KEYWORD: keyword_send(c, id, e); break;
    case RILL_EVENT_ENDPOINT: endpoint_send(c, id, e); break;
    default: break;
    }
}

/* ---- audio, speech, gaps ---- */

void audio_send(struct conn *c, uint32_t id, uint32_t *seq, const struct pcm *out, uint64_t pos,
                const float *x, size_t n, const struct lane_rec *r)
{
    uint8_t bytes[AUDIO_CHUNK_FRAMES * 4 * PCM_MAX_CHANNELS];
    size_t frame = pcm_frame_bytes(out),
           most = (c->max_message_bytes - AUDIO_OVERHEAD_BYTES) / frame;
    Rill__AudioOut a = RILL__AUDIO_OUT__INIT;
    Rill__ServerFrame f = RILL__SERVER_FRAME__INIT;
    most = most < AUDIO_CHUNK_FRAMES ? most : AUDIO_CHUNK_FRAMES;
    f.m_case = RILL__SERVER_FRAME__M_AUDIO;
    f.audio = &a;
    a.stream = id;
    a.queue_us = r->queue_us;
    a.compute_us = r->compute_us;
    a.pcm.data = bytes;
    for (size_t at = 0, k; at < n; at += k) {
        k = n - at < most ? n - at : most;
        pcm_encode(out, x + at, k, bytes);
        a.seq = (*seq)++;
        a.pos = pos + at;
        a.pcm.len = k * frame;
        conn_send(c, 0, &f);
    }
}

void vad_send(struct conn *c, uint32_t id, const struct lane_rec *r)
{
    Rill__Vad a = RILL__VAD__INIT;
    Rill__ServerFrame f = RILL__SERVER_FRAME__INIT;
    a.stream = id;
    a.pos = r->pos;
    a.prob = r->prob;
    a.edge = (Rill__Edge) r->edge;
    f.m_case = RILL__SERVER_FRAME__M_VAD;
    f.vad = &a;
    conn_send(c, 0, &f);
}

Rill__Gap__Reason gap_reason(const struct lane_rec *r)
{
    static const Rill__Gap__Reason reasons[] = {
        [LANE_GAP_CLIENT] = RILL__GAP__REASON__REASON_CLIENT,
        [LANE_GAP_RESET] = RILL__GAP__REASON__REASON_RESET,
        [LANE_GAP_LATE] = RILL__GAP__REASON__REASON_LATE,
        [LANE_GAP_OVERLOAD] = RILL__GAP__REASON__REASON_OVERLOAD,
    };
    return reasons[r->reason];
}

void gap_send(struct conn *c, uint32_t id, uint64_t pos, uint64_t samples, Rill__Gap__Reason reason,
              Rill__Gap__Fill fill)
{
    Rill__Gap a = RILL__GAP__INIT;
    Rill__ServerFrame f = RILL__SERVER_FRAME__INIT;
    a.stream = id;
    a.pos = pos;
    a.samples = samples;
    a.reason = reason;
    a.fill = fill;
    f.m_case = RILL__SERVER_FRAME__M_GAP;
    f.gap = &a;
    conn_send(c, 0, &f);
}
