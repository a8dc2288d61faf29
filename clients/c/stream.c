/* SPDX-License-Identifier: MIT */
#include "clients/c/client.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

static const uint32_t enc_bytes[] = { 0, 2, 3, 4, 4 };

static void opened_copy(struct rill_client_opened *ret, const Rill__Opened *m)
{
    memset(ret, 0, sizeof *ret);
    snprintf(ret->model, sizeof ret->model, "%s", m->model);
    snprintf(ret->sha256, sizeof ret->sha256, "%s", m->model_sha256);
    if (m->model_pcm)
        ret->model_pcm = (struct rill_client_pcm) { m->model_pcm->rate, m->model_pcm->channels,
                                                    (enum rill_client_enc) m->model_pcm->enc };
    ret->hop_samples = m->hop_samples;
    ret->latency_samples = m->latency_samples;
    ret->offset_samples = m->offset_samples;
    ret->lookahead_samples = m->lookahead_samples;
    ret->credit_samples = m->credit_samples;
    ret->outputs = client_outputs(m->n_outputs, m->outputs);
}

void client_pcm_message(Rill__Pcm *m, const struct rill_client_pcm *p)
{
    rill__pcm__init(m);
    m->rate = p->rate;
    m->channels = p->channels;
    m->enc = (Rill__Enc) p->enc;
}

#define OPTIONS_MAX 32

size_t client_wants(unsigned mask, Rill__Output want[5])
{
    size_t n = 0;
    for (int k = RILL__OUTPUT__OUTPUT_AUDIO; k <= RILL__OUTPUT__OUTPUT_ENDPOINT; k++)
        if (mask & 1u << k)
            want[n++] = (Rill__Output) k;
    return n;
}

struct open_options {
    Rill__OpenStream__OptEntry entries[OPTIONS_MAX], *pointers[OPTIONS_MAX];
    char values[3][32]; /* of those that have a field */
    size_t n;
};

static void option_text_add(struct open_options *o, const char *key, const char *value)
{
    Rill__OpenStream__OptEntry *e = &o->entries[o->n];
    rill__open_stream__opt_entry__init(e);
    e->key = (char *) (uintptr_t) key;
    e->value = (char *) (uintptr_t) value;
    o->pointers[o->n++] = e;
}

static void option_add(struct open_options *o, const char *key, float value)
{
    if (value == 0)
        return;
    snprintf(o->values[o->n], sizeof o->values[0], "%.9g", (double) value);
    option_text_add(o, key, o->values[o->n]);
}

int rill_client_open(struct rill_client *c, uint32_t id, const struct rill_client_open *o,
                     struct rill_client_opened *ret)
{
    struct peer_stream *s = id ? client_stream(c, id) : NULL;
    if (!s)
        s = client_stream(c, 0);
    if (!s || !id || (unsigned) o->in.enc > RILL_CLIENT_F32)
        return client_fail(c, 0, "bad stream number or encoding, or over %d streams", MAX_STREAMS);
    Rill__OpenStream m = RILL__OPEN_STREAM__INIT;
    Rill__Pcm in, out;
    Rill__Output want[5];
    struct open_options options = { .n = 0 };
    client_pcm_message(&in, &o->in);
    client_pcm_message(&out, o->out.rate ? &o->out : &o->in);
    option_add(&options, "vad_threshold", o->vad_threshold);
    option_add(&options, "vad_release", o->vad_release);
    option_add(&options, "vad_hangover_ms", (float) o->vad_hangover_ms);
    for (const char *const *p = o->options; p && p[0] && p[1]; p += 2) {
        if (options.n == OPTIONS_MAX)
            return client_fail(c, 0, "over %d options", OPTIONS_MAX);
        option_text_add(&options, p[0], p[1]);
    }
    m.stream = id;
    m.model = (char *) (uintptr_t) (o->model ? o->model : "");
    m.in = &in;
    m.out = &out;
    m.pace = (Rill__Pace) o->pace;
    m.align = o->align;
    m.max_latency_ms = o->max_latency_ms;
    m.want = want;
    m.n_want = client_wants(o->want, want);
    m.opt = options.pointers;
    m.n_opt = options.n;
    MESSAGE(OPEN, open, m);
    Rill__ServerFrame *a = client_request(c, &f, RILL__SERVER_FRAME__M_OPENED, "OpenStream");
    if (!a)
        return -1;
    client_stream_drop(s);
    *s = (struct peer_stream) { .id = id,
                                .frame_bytes = enc_bytes[o->in.enc] * o->in.channels,
                                .limit_pos = a->opened->credit_samples };
    if (ret)
        opened_copy(ret, a->opened);
    client_message_free(a);
    return 0;
}

struct peer_stream *client_running(struct rill_client *c, uint32_t id)
{
    struct peer_stream *s = id ? client_stream(c, id) : NULL;
    if (!s || s->ended) {
        if (!c->error[0])
            client_fail(c, 0, "stream %u is not open", id);
        return NULL;
    }
    return s;
}

uint64_t rill_client_credit(const struct rill_client *c, uint32_t id)
{
    for (size_t i = 0; id && i < MAX_STREAMS; i++)
        if (c->streams[i].id == id && !c->streams[i].ended &&
            c->streams[i].limit_pos > c->streams[i].pos)
            return c->streams[i].limit_pos - c->streams[i].pos;
    return 0;
}

static int audio_send(struct rill_client *c, struct peer_stream *s, const uint8_t *pcm,
                      size_t n_samples)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    Rill__Audio m = RILL__AUDIO__INIT;
    m.stream = s->id;
    m.seq = s->seq++;
    m.pos = s->pos;
    m.cap_us = (uint64_t) t.tv_sec * 1000000u + (uint64_t) t.tv_nsec / 1000;
    m.pcm.data = (uint8_t *) (uintptr_t) pcm;
    m.pcm.len = n_samples * s->frame_bytes;
    m.discont = s->discont;
    MESSAGE(AUDIO, audio, m);
    s->discont = false;
    s->pos += n_samples;
    return client_send(c, &f);
}

int rill_client_send(struct rill_client *c, uint32_t id, const void *pcm, size_t bytes)
{
    struct peer_stream *s = client_running(c, id);
    if (!s)
        return -1;
    if (!s->frame_bytes || bytes % s->frame_bytes)
        return client_fail(c, 0, "%zu bytes are no whole number of frames of %u bytes", bytes,
                           s->frame_bytes);
    const uint8_t *p = pcm;
    size_t left = bytes / s->frame_bytes, most = (c->max_message_bytes - 128) / s->frame_bytes;
    if (most > 4096)
        most = 4096;
    while (left) {
        int got;
        while ((got = rill_client_poll(c, 0)) > 0)
            ;
        if (got < 0 || s->ended)
            return c->error[0] ? -1 : client_fail(c, 0, "stream %u ended", id);
        uint64_t room = rill_client_credit(c, id);
        size_t n = left < most ? left : most;
        if (room < n)
            n = (size_t) room;
        if (n == 0) {
            if (client_wait(c, "credit") < 0)
                return -1;
            continue;
        }
        if (audio_send(c, s, p, n) < 0)
            return -1;
        p += n * s->frame_bytes;
        left -= n;
    }
    return 0;
}

int rill_client_skip(struct rill_client *c, uint32_t id, uint64_t samples)
{
    struct peer_stream *s = client_running(c, id);
    if (!s)
        return -1;
    s->pos += samples;
    s->limit_pos += samples;
    s->discont = true;
    return 0;
}

int client_finished(struct rill_client *c, struct peer_stream *s, struct rill_client_finished *ret)
{
    while (!s->ended)
        if (client_wait(c, "Finished") < 0)
            return -1;
    bool good = s->finished;
    if (good && ret)
        *ret = s->fin;
    client_stream_drop(s);
    return good ? 0 : -1;
}

int rill_client_finish(struct rill_client *c, uint32_t id, struct rill_client_finished *ret)
{
    struct peer_stream *s = client_running(c, id);
    if (!s)
        return -1;
    Rill__Finish m = RILL__FINISH__INIT;
    m.stream = id;
    MESSAGE(FINISH, finish, m);
    if (client_send(c, &f) < 0)
        return -1;
    return client_finished(c, s, ret);
}

int rill_client_reset(struct rill_client *c, uint32_t id)
{
    if (!client_running(c, id))
        return -1;
    Rill__Reset m = RILL__RESET__INIT;
    m.stream = id;
    MESSAGE(RESET, reset, m);
    return client_send(c, &f);
}

int rill_client_cancel(struct rill_client *c, uint32_t id)
{
    struct peer_stream *s = id ? client_stream(c, id) : NULL;
    if (!s)
        return client_fail(c, 0, "stream %u is not open", id);
    bool ended = s->ended;
    client_stream_drop(s);
    if (ended)
        return 0;
    Rill__Cancel m = RILL__CANCEL__INIT;
    m.stream = id;
    MESSAGE(CANCEL, cancel, m);
    return client_send(c, &f);
}
