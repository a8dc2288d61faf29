/* SPDX-License-Identifier: MIT */
#include "clients/c/client.h"

#include <stdlib.h>
#include <string.h>

static void on_credit(struct rill_client *c, const Rill__Credit *m)
{
    struct peer_stream *s = m->stream ? client_stream(c, m->stream) : NULL;
    if (s && m->limit_pos > s->limit_pos)
        s->limit_pos = m->limit_pos;
}

static void on_audio(struct rill_client *c, const Rill__AudioOut *m)
{
    struct rill_client_audio a = { .stream = m->stream,
                                   .seq = m->seq,
                                   .pos = m->pos,
                                   .pcm = m->pcm.data,
                                   .bytes = m->pcm.len,
                                   .queue_us = m->queue_us,
                                   .compute_us = m->compute_us };
    if (c->ev.audio)
        c->ev.audio(c->ev.arg, &a);
}

static void on_frames(struct rill_client *c, const Rill__FramesOut *m)
{
    struct rill_client_frames x = { .stream = m->stream,
                                    .port = m->port,
                                    .pos = m->pos,
                                    .at_bytes = m->at_bytes,
                                    .data = m->data.data,
                                    .bytes = m->data.len,
                                    .queue_us = m->queue_us,
                                    .compute_us = m->compute_us,
                                    .resets = m->resets };
    if (c->on_frames)
        c->on_frames(c->on_frames_arg, &x);
}

static void on_frame_credit(struct rill_client *c, const Rill__FrameCredit *m)
{
    struct peer_stream *s = m->stream ? client_stream(c, m->stream) : NULL;
    for (size_t i = 0; s && i < s->n_ports; i++)
        if (s->ports[i].is_input && !strcmp(s->ports[i].name, m->port) &&
            m->limit_frames > s->sent[i].limit_frames)
            s->sent[i].limit_frames = m->limit_frames;
}

static void on_vad(struct rill_client *c, const Rill__Vad *m)
{
    struct rill_client_vad v = {
        .stream = m->stream, .pos = m->pos, .prob = m->prob, .edge = (enum rill_client_edge) m->edge
    };
    if (c->ev.vad)
        c->ev.vad(c->ev.arg, &v);
}

static void on_text(struct rill_client *c, const Rill__Transcript *m)
{
    struct rill_client_text t = { .stream = m->stream,
                                  .segment = m->seg,
                                  .final = m->final,
                                  .stability = m->stability,
                                  .pos = m->pos,
                                  .text = m->text,
                                  .n_words = m->n_words };
    struct rill_client_word *words = c->ev.text ? calloc(m->n_words + 1, sizeof *words) : NULL;
    if (!words)
        return;
    for (size_t i = 0; i < m->n_words; i++)
        words[i] = (struct rill_client_word) { .text = m->words[i]->text,
                                               .pos = m->words[i]->pos,
                                               .end_pos = m->words[i]->end_pos,
                                               .confidence = m->words[i]->confidence };
    t.words = words;
    c->ev.text(c->ev.arg, &t);
    free(words);
}

static void on_keyword(struct rill_client *c, const Rill__Keyword *m)
{
    struct rill_client_keyword k = { .stream = m->stream,
                                     .word = m->word,
                                     .score = m->score,
                                     .pos = m->pos,
                                     .end_pos = m->end_pos };
    if (c->ev.keyword)
        c->ev.keyword(c->ev.arg, &k);
}

static void on_endpoint(struct rill_client *c, const Rill__Endpoint *m)
{
    struct rill_client_endpoint e = { .stream = m->stream, .pos = m->pos, .rule = (int) m->rule };
    if (c->ev.endpoint)
        c->ev.endpoint(c->ev.arg, &e);
}

static void on_gap(struct rill_client *c, const Rill__Gap *m)
{
    struct rill_client_gap g = { .stream = m->stream,
                                 .pos = m->pos,
                                 .samples = m->samples,
                                 .reason = (int) m->reason,
                                 .fill = (int) m->fill };
    if (c->ev.gap)
        c->ev.gap(c->ev.arg, &g);
}

static void on_finished(struct rill_client *c, const Rill__Finished *m)
{
    struct rill_client_finished f = {
        .stream = m->stream,
        .in = m->in,
        .out = m->out,
        .processed = m->processed,
        .dropped = m->dropped,
        .not_finite = m->not_finite,
        .vad_frames = m->vad_frames,
        .audio_us = m->audio_us,
        .compute_us = m->compute_us,
        .max_chunk_us = m->max_chunk_us,
        .deadline_misses = m->deadline_misses,
        .rtf = m->rtf,
        .max_chunk_rtf = m->max_chunk_rtf,
        .p99_chunk_us = m->p99_chunk_us,
        .cancelled = m->cancelled,
        .bypassed = m->bypassed,
    };
    struct peer_stream *s = m->stream ? client_stream(c, m->stream) : NULL;
    if (s) {
        s->ended = s->finished = true;
        s->fin = f;
    }
    if (c->ev.finished)
        c->ev.finished(c->ev.arg, &f);
}

static void on_error(struct rill_client *c, const Rill__Error *m)
{
    struct rill_client_failure e = { .stream = m->stream,
                                     .code = (int) m->code,
                                     .code_name = client_code_name((int) m->code),
                                     .text = m->text,
                                     .fatal = m->fatal,
                                     .retry_ms = m->retry_ms };
    struct peer_stream *s = m->stream ? client_stream(c, m->stream) : NULL;
    if (m->fatal) {
        client_fail(c, e.code, "%s: %s", e.code_name, m->text);
        if (s)
            s->ended = true;
        else if (!m->stream)
            c->dead = true;
    }
    if (c->ev.error)
        c->ev.error(c->ev.arg, &e);
}

/* Adds a part to the text; true if more parts follow and this one is no answer yet. */
static bool on_metrics(struct rill_client *c, const Rill__ServerFrame *f)
{
    const Rill__MetricsReply *m = f->ctl_metrics;
    size_t n = strlen(m->text);
    char *all = f->req == c->req ? realloc(c->metrics, c->metrics_bytes + n + 1) : NULL;
    if (!all)
        return false;
    memcpy(all + c->metrics_bytes, m->text, n + 1);
    c->metrics = all;
    c->metrics_bytes += n;
    return m->more;
}

void client_on_message(struct rill_client *c, Rill__ServerFrame *f)
{
    if (f->m_case == RILL__SERVER_FRAME__M_CTL_METRICS && on_metrics(c, f)) {
        client_message_free(f);
        return;
    }
    switch (f->m_case) {
    case RILL__SERVER_FRAME__M_CREDIT: on_credit(c, f->credit); break;
    case RILL__SERVER_FRAME__M_AUDIO: on_audio(c, f->audio); break;
    case RILL__SERVER_FRAME__M_FRAMES: on_frames(c, f->frames); break;
    case RILL__SERVER_FRAME__M_FRAME_CREDIT: on_frame_credit(c, f->frame_credit); break;
    case RILL__SERVER_FRAME__M_VAD: on_vad(c, f->vad); break;
    case RILL__SERVER_FRAME__M_TEXT: on_text(c, f->text); break;
    case RILL__SERVER_FRAME__M_KEYWORD: on_keyword(c, f->keyword); break;
    case RILL__SERVER_FRAME__M_ENDPOINT: on_endpoint(c, f->endpoint); break;
    case RILL__SERVER_FRAME__M_GAP: on_gap(c, f->gap); break;
    case RILL__SERVER_FRAME__M_FINISHED: on_finished(c, f->finished); break;
    case RILL__SERVER_FRAME__M_ERROR: on_error(c, f->error); break;
    case RILL__SERVER_FRAME__M_GOAWAY:
        if (c->ev.goaway)
            c->ev.goaway(c->ev.arg, f->goaway->grace_ms);
        break;
    default: break;
    }
    if (f->req && f->req == c->req && !c->answer)
        c->answer = f;
    else
        client_message_free(f);
}
