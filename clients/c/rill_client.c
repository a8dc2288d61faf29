/* SPDX-License-Identifier: MIT */
#include "clients/c/rill_client.h"
#include "rilld.pb-c.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#define MAX_FRAME_BYTES (1u << 20)
#define MAX_STREAMS 64

struct peer_stream {
    uint32_t id, seq;
    uint32_t frame_bytes;           /* of the input format */
    uint64_t pos, limit_pos;        /* input rate */
    bool discont, ended, finished;
};

struct rill_client {
    int fd;
    unsigned timeout_ms;
    uint32_t max_frame_bytes, req;
    bool dead;
    uint8_t *in;                    /* 4 + max_frame_bytes */
    size_t in_fill;
    struct peer_stream streams[MAX_STREAMS];
    struct rill_client_events ev;
    Rill__ServerFrame *answer;      /* to the last request */
    Rill__ServerFrame *held;        /* what rill_client_status points into */
    struct rill_client_finished last_finished;
    int error_code;
    char error[512], server[64], text[512];
};

static const uint32_t enc_bytes[] = { 0, 2, 3, 4, 4 };

static int fail(struct rill_client *c, int code, const char *format, ...)
{
    va_list ap;
    va_start(ap, format);
    vsnprintf(c->error, sizeof c->error, format, ap);
    va_end(ap);
    c->error_code = code;
    return -1;
}

static int fail_dead(struct rill_client *c, const char *what)
{
    c->dead = true;
    return c->error[0] ? -1 : fail(c, 0, "%s", what);
}

static const char *code_name(int code)
{
    const ProtobufCEnumValue *v = protobuf_c_enum_descriptor_get_value(&rill__code__descriptor, code);
    return v ? v->name : "UNKNOWN";
}

static struct peer_stream *stream_find(struct rill_client *c, uint32_t id)
{
    for (size_t i = 0; i < MAX_STREAMS; i++)
        if (c->streams[i].id == id)
            return &c->streams[i];
    return NULL;
}

static void frame_free(Rill__ServerFrame *f)
{
    if (f)
        rill__server_frame__free_unpacked(f, NULL);
}

/* ---- what arrives ---- */

static void on_credit(struct rill_client *c, const Rill__Credit *m)
{
    struct peer_stream *s = m->stream ? stream_find(c, m->stream) : NULL;
    if (s && m->limit_pos > s->limit_pos)
        s->limit_pos = m->limit_pos;
}

static void on_audio(struct rill_client *c, const Rill__AudioOut *m)
{
    struct rill_client_audio a = { .stream = m->stream, .seq = m->seq, .pos = m->pos, .pcm = m->pcm.data,
                                   .bytes = m->pcm.len, .queue_us = m->queue_us, .compute_us = m->compute_us };
    if (c->ev.audio)
        c->ev.audio(c->ev.arg, &a);
}

static void on_vad(struct rill_client *c, const Rill__Vad *m)
{
    struct rill_client_vad v = { .stream = m->stream, .pos = m->pos, .prob = m->prob,
                                 .edge = (enum rill_client_edge) m->edge };
    if (c->ev.vad)
        c->ev.vad(c->ev.arg, &v);
}

static void on_text(struct rill_client *c, const Rill__Transcript *m)
{
    struct rill_client_text t = { .stream = m->stream, .segment = m->seg, .final = m->final, .stability = m->stability, .pos = m->pos,
                                  .text = m->text, .n_words = m->n_words };
    struct rill_client_word *words = c->ev.text ? calloc(m->n_words + 1, sizeof *words) : NULL;
    if (!words)
        return;
    for (size_t i = 0; i < m->n_words; i++)
        words[i] = (struct rill_client_word) { .text = m->words[i]->text, .pos = m->words[i]->pos, .end_pos = m->words[i]->end_pos,
                                               .confidence = m->words[i]->confidence };
    t.words = words;
    c->ev.text(c->ev.arg, &t);
    free(words);
}

static void on_keyword(struct rill_client *c, const Rill__Keyword *m)
{
    struct rill_client_keyword k = { .stream = m->stream, .word = m->word, .score = m->score, .pos = m->pos, .end_pos = m->end_pos };
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
    struct rill_client_gap g = { .stream = m->stream, .pos = m->pos, .samples = m->samples,
                                 .reason = (int) m->reason, .fill = (int) m->fill };
    if (c->ev.gap)
        c->ev.gap(c->ev.arg, &g);
}

static void on_finished(struct rill_client *c, const Rill__Finished *m)
{
    struct rill_client_finished f = {
        .stream = m->stream, .in = m->in, .out = m->out, .processed = m->processed, .dropped = m->dropped,
        .not_finite = m->not_finite, .vad_frames = m->vad_frames, .audio_us = m->audio_us,
        .compute_us = m->compute_us, .max_chunk_us = m->max_chunk_us, .deadline_misses = m->deadline_misses,
        .rtf = m->rtf, .max_chunk_rtf = m->max_chunk_rtf, .p99_chunk_us = m->p99_chunk_us,
        .cancelled = m->cancelled,
    };
    struct peer_stream *s = m->stream ? stream_find(c, m->stream) : NULL;
    if (s) {
        s->ended = s->finished = true;
        c->last_finished = f;
    }
    if (c->ev.finished)
        c->ev.finished(c->ev.arg, &f);
}

static void on_error(struct rill_client *c, const Rill__Error *m)
{
    struct rill_client_failure e = { .stream = m->stream, .code = (int) m->code, .code_name = code_name((int) m->code),
                                     .text = m->text, .fatal = m->fatal, .retry_ms = m->retry_ms };
    struct peer_stream *s = m->stream ? stream_find(c, m->stream) : NULL;
    if (m->fatal) {
        fail(c, e.code, "%s: %s", e.code_name, m->text);
        if (s)
            s->ended = true;
        else if (!m->stream)
            c->dead = true;
    }
    if (c->ev.error)
        c->ev.error(c->ev.arg, &e);
}

static void on_frame(struct rill_client *c, Rill__ServerFrame *f)
{
    switch (f->m_case) {
    case RILL__SERVER_FRAME__M_CREDIT: on_credit(c, f->credit); break;
    case RILL__SERVER_FRAME__M_AUDIO: on_audio(c, f->audio); break;
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
        frame_free(f);
}

static uint32_t get_u32(const uint8_t *p)
{
    return (uint32_t) p[0] | (uint32_t) p[1] << 8 | (uint32_t) p[2] << 16 | (uint32_t) p[3] << 24;
}

static int frames_handle(struct rill_client *c)
{
    size_t at = 0;
    int n_frames = 0;
    while (c->in_fill - at >= 4) {
        uint32_t n = get_u32(c->in + at);
        if (n == 0 || n > c->max_frame_bytes)
            return fail_dead(c, "the daemon sent a frame of a wrong length");
        if (c->in_fill - at - 4 < n)
            break;
        Rill__ServerFrame *f = rill__server_frame__unpack(NULL, n, c->in + at + 4);
        if (!f)
            return fail_dead(c, "the daemon sent a frame that cannot be read");
        on_frame(c, f);
        at += 4 + (size_t) n;
        n_frames++;
    }
    memmove(c->in, c->in + at, c->in_fill - at);
    c->in_fill -= at;
    return n_frames;
}

/* Reads what is there without waiting; 0 if there is nothing. */
static int socket_read(struct rill_client *c)
{
    ssize_t n = recv(c->fd, c->in + c->in_fill, 4 + (size_t) MAX_FRAME_BYTES - c->in_fill, MSG_DONTWAIT);
    if (n < 0)
        return errno == EAGAIN || errno == EINTR ? 0 : fail_dead(c, strerror(errno));
    if (n == 0)
        return fail_dead(c, "the daemon closed the connection");
    c->in_fill += (size_t) n;
    return frames_handle(c);
}

int rill_client_poll(struct rill_client *c, int timeout_ms)
{
    if (c->dead)
        return fail_dead(c, "the connection is closed");
    struct pollfd p = { .fd = c->fd, .events = POLLIN };
    int r = poll(&p, 1, timeout_ms);
    if (r < 0 && errno != EINTR)
        return fail_dead(c, strerror(errno));
    return r > 0 ? socket_read(c) : 0;
}

/* One round of waiting for the daemon; a silent daemon is an error after timeout_ms. */
static int wait_some(struct rill_client *c, const char *for_what)
{
    struct pollfd p = { .fd = c->fd, .events = POLLIN };
    if (c->dead)
        return fail_dead(c, "the connection is closed");
    int r;
    while ((r = poll(&p, 1, (int) c->timeout_ms)) < 0 && errno == EINTR)
        ;
    if (r < 0)
        return fail_dead(c, strerror(errno));
    if (r == 0)
        return fail(c, 0, "the daemon was silent for %u ms while waiting for %s", c->timeout_ms, for_what);
    return socket_read(c) < 0 ? -1 : 0;
}

/* ---- what goes out ---- */

static int bytes_send(struct rill_client *c, const uint8_t *p, size_t n)
{
    while (n) {
        ssize_t w = send(c->fd, p, n, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (w > 0) {
            p += w;
            n -= (size_t) w;
            continue;
        }
        if (errno != EAGAIN && errno != EINTR) {
            int why = errno;
            while (!c->dead && socket_read(c) > 0)      /* an Error may explain it */
                ;
            return fail_dead(c, strerror(why));
        }
        struct pollfd pf = { .fd = c->fd, .events = POLLIN | POLLOUT };
        int r = poll(&pf, 1, (int) c->timeout_ms);
        if (r == 0)
            return fail_dead(c, "the daemon takes no data");
        if (r > 0 && (pf.revents & POLLIN) && socket_read(c) < 0)
            return -1;
    }
    return 0;
}

static int frame_send(struct rill_client *c, const Rill__ClientFrame *f)
{
    size_t n = rill__client_frame__get_packed_size(f);
    if (c->dead)
        return fail_dead(c, "the connection is closed");
    if (n > c->max_frame_bytes)
        return fail(c, 0, "a message of %zu bytes is over the limit of %u", n, c->max_frame_bytes);
    uint8_t *b = malloc(4 + n);
    if (!b)
        return fail(c, 0, "out of memory");
    for (int i = 0; i < 4; i++)
        b[i] = (uint8_t) (n >> (8 * i));
    rill__client_frame__pack(f, b + 4);
    int r = bytes_send(c, b, 4 + n);
    free(b);
    return r;
}

/* Sends a request and waits for its answer, which the caller frees; NULL on failure. */
static Rill__ServerFrame *request(struct rill_client *c, Rill__ClientFrame *f, Rill__ServerFrame__MCase want,
                                  const char *what)
{
    c->error[0] = '\0';
    c->error_code = 0;
    frame_free(c->answer);
    c->answer = NULL;
    if (++c->req == 0)
        c->req = 1;
    f->req = c->req;
    if (frame_send(c, f) < 0)
        return NULL;
    while (!c->answer)
        if (wait_some(c, what) < 0)
            break;
    Rill__ServerFrame *a = c->answer;
    c->answer = NULL;
    if (a && a->m_case == want)
        return a;
    if (a && a->m_case == RILL__SERVER_FRAME__M_ERROR)
        fail(c, (int) a->error->code, "%s: %s", code_name((int) a->error->code), a->error->text);
    else if (!c->error[0])
        fail(c, 0, "the daemon answered %s with something else", what);
    frame_free(a);
    return NULL;
}

#define FRAME(case_, member_, message_)                                                     \
    Rill__ClientFrame f = RILL__CLIENT_FRAME__INIT;                                        \
    f.m_case = RILL__CLIENT_FRAME__M_##case_;                                              \
    f.member_ = &(message_)

/* ---- connection ---- */

static int preface_exchange(struct rill_client *c)
{
    static const uint8_t preface[8] = { 'R', 'I', 'L', 'L', 1, 0, 0, 0 };
    if (bytes_send(c, preface, sizeof preface) < 0)
        return -1;
    size_t have = 0;
    uint8_t got[8];
    while (have < sizeof got) {
        struct pollfd p = { .fd = c->fd, .events = POLLIN };
        if (poll(&p, 1, (int) c->timeout_ms) <= 0)
            return fail_dead(c, "no answer to the preface: is this rilld's socket?");
        ssize_t n = recv(c->fd, got + have, sizeof got - have, 0);
        if (n <= 0)
            return fail_dead(c, "the daemon closed the connection at the preface");
        have += (size_t) n;
    }
    if (memcmp(got, preface, 6) == 0)
        return 0;
    /* In place of the preface an Error may come, such as QUOTA. */
    memcpy(c->in, got, sizeof got);
    c->in_fill = sizeof got;
    int r = frames_handle(c);
    for (int tries = 0; r >= 0 && !c->dead && tries < 4; tries++)
        r = rill_client_poll(c, (int) c->timeout_ms);
    return fail_dead(c, "the answer is not rilld's preface, or of another major version");
}

static int hello(struct rill_client *c, const char *name)
{
    Rill__Hello m = RILL__HELLO__INIT;
    m.client = (char *) (uintptr_t) name;
    m.max_frame = MAX_FRAME_BYTES;
    FRAME(HELLO, hello, m);
    Rill__ServerFrame *a = request(c, &f, RILL__SERVER_FRAME__M_HELLO, "Hello");
    if (!a) {
        c->dead = true;
        return -1;
    }
    if (a->hello->max_frame >= 1024 && a->hello->max_frame <= MAX_FRAME_BYTES)
        c->max_frame_bytes = a->hello->max_frame;
    snprintf(c->server, sizeof c->server, "%s", a->hello->server);
    frame_free(a);
    return 0;
}

static int socket_open(struct rill_client *c, const char *path)
{
    struct sockaddr_un a = { .sun_family = AF_UNIX };
    if (strlen(path) >= sizeof a.sun_path)
        return fail_dead(c, "the socket's path is longer than 107 bytes");
    memcpy(a.sun_path, path, strlen(path) + 1);
    c->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (c->fd < 0)
        return fail_dead(c, strerror(errno));
    if (connect(c->fd, (struct sockaddr *) &a, sizeof a) < 0) {
        fail(c, 0, "%s: %s", path, strerror(errno));
        c->dead = true;
        return -1;
    }
    return 0;
}

int rill_client_connect(struct rill_client **ret, const char *path, const char *name, unsigned timeout_ms)
{
    struct rill_client *c = *ret = calloc(1, sizeof *c);
    if (!c)
        return -1;
    c->fd = -1;
    c->timeout_ms = timeout_ms ? timeout_ms : 10000;
    c->max_frame_bytes = MAX_FRAME_BYTES;
    c->in = malloc(4 + (size_t) MAX_FRAME_BYTES);
    if (!c->in)
        return fail_dead(c, "out of memory");
    return socket_open(c, path) < 0 || preface_exchange(c) < 0 || hello(c, name ? name : "") < 0 ? -1 : 0;
}

struct rill_client *rill_client_free(struct rill_client *c)
{
    if (!c)
        return NULL;
    if (c->fd >= 0)
        close(c->fd);
    frame_free(c->answer);
    frame_free(c->held);
    free(c->in);
    free(c);
    return NULL;
}

void rill_client_set_events(struct rill_client *c, const struct rill_client_events *ev)
{
    c->ev = *ev;
}

const char *rill_client_error(const struct rill_client *c)
{
    return c ? c->error : "out of memory";
}

int rill_client_error_code(const struct rill_client *c)
{
    return c ? c->error_code : 0;
}

int rill_client_fd(const struct rill_client *c)
{
    return c->fd;
}

const char *rill_client_server(const struct rill_client *c)
{
    return c->server;
}

/* ---- streams ---- */

static unsigned outputs_mask(size_t n, const Rill__Output *outputs)
{
    unsigned mask = 0;
    for (size_t i = 0; i < n; i++)
        if (outputs[i] < 32)
            mask |= 1u << outputs[i];
    return mask;
}

static void opened_copy(struct rill_client_opened *ret, const Rill__Opened *m)
{
    memset(ret, 0, sizeof *ret);
    snprintf(ret->model, sizeof ret->model, "%s", m->model);
    snprintf(ret->sha256, sizeof ret->sha256, "%s", m->model_sha256);
    if (m->model_pcm)
        ret->model_pcm = (struct rill_client_pcm) { m->model_pcm->rate, m->model_pcm->channels,
                                                    (enum rill_client_enc) m->model_pcm->enc };
    ret->hop_samples = m->hop_samples;
    ret->delay_samples = m->delay_samples;
    ret->credit_samples = m->credit_samples;
    ret->outputs = outputs_mask(m->n_outputs, m->outputs);
}

static void pcm_message(Rill__Pcm *m, const struct rill_client_pcm *p)
{
    rill__pcm__init(m);
    m->rate = p->rate;
    m->channels = p->channels;
    m->enc = (Rill__Enc) p->enc;
}

struct open_options {
    Rill__OpenStream__OptEntry entries[3], *pointers[3];
    char values[3][32];
    size_t n;
};

static void option_add(struct open_options *o, const char *key, float value)
{
    if (value == 0)
        return;
    Rill__OpenStream__OptEntry *e = &o->entries[o->n];
    rill__open_stream__opt_entry__init(e);
    snprintf(o->values[o->n], sizeof o->values[0], "%.9g", (double) value);
    e->key = (char *) (uintptr_t) key;
    e->value = o->values[o->n];
    o->pointers[o->n++] = e;
}

int rill_client_open(struct rill_client *c, uint32_t id, const struct rill_client_open *o,
                     struct rill_client_opened *ret)
{
    struct peer_stream *s = id ? stream_find(c, id) : NULL;
    if (!s)
        s = stream_find(c, 0);
    if (!s || !id || (unsigned) o->in.enc > RILL_CLIENT_F32)
        return fail(c, 0, "bad stream number or encoding, or over %d streams", MAX_STREAMS);
    Rill__OpenStream m = RILL__OPEN_STREAM__INIT;
    Rill__Pcm in, out;
    Rill__Output want[5];
    struct open_options options = { .n = 0 };
    pcm_message(&in, &o->in);
    pcm_message(&out, o->out.rate ? &o->out : &o->in);
    option_add(&options, "vad_threshold", o->vad_threshold);
    option_add(&options, "vad_release", o->vad_release);
    option_add(&options, "vad_hangover_ms", (float) o->vad_hangover_ms);
    m.stream = id;
    m.model = (char *) (uintptr_t) (o->model ? o->model : "");
    m.in = &in;
    m.out = &out;
    m.pace = (Rill__Pace) o->pace;
    m.align = o->align;
    m.max_latency_ms = o->max_latency_ms;
    m.want = want;
    for (int k = RILL__OUTPUT__OUTPUT_AUDIO; k <= RILL__OUTPUT__OUTPUT_ENDPOINT; k++)
        if (o->want & 1u << k)
            want[m.n_want++] = (Rill__Output) k;
    m.opt = options.pointers;
    m.n_opt = options.n;
    FRAME(OPEN, open, m);
    Rill__ServerFrame *a = request(c, &f, RILL__SERVER_FRAME__M_OPENED, "OpenStream");
    if (!a)
        return -1;
    *s = (struct peer_stream) { .id = id, .frame_bytes = enc_bytes[o->in.enc] * o->in.channels,
                                .limit_pos = a->opened->credit_samples };
    if (ret)
        opened_copy(ret, a->opened);
    frame_free(a);
    return 0;
}

static struct peer_stream *stream_running(struct rill_client *c, uint32_t id)
{
    struct peer_stream *s = id ? stream_find(c, id) : NULL;
    if (!s || s->ended) {
        if (!c->error[0])
            fail(c, 0, "stream %u is not open", id);
        return NULL;
    }
    return s;
}

uint64_t rill_client_credit(const struct rill_client *c, uint32_t id)
{
    for (size_t i = 0; id && i < MAX_STREAMS; i++)
        if (c->streams[i].id == id && !c->streams[i].ended && c->streams[i].limit_pos > c->streams[i].pos)
            return c->streams[i].limit_pos - c->streams[i].pos;
    return 0;
}

static int audio_send(struct rill_client *c, struct peer_stream *s, const uint8_t *pcm, size_t n_samples)
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
    FRAME(AUDIO, audio, m);
    s->discont = false;
    s->pos += n_samples;
    return frame_send(c, &f);
}

int rill_client_send(struct rill_client *c, uint32_t id, const void *pcm, size_t bytes)
{
    struct peer_stream *s = stream_running(c, id);
    if (!s)
        return -1;
    if (!s->frame_bytes || bytes % s->frame_bytes)
        return fail(c, 0, "%zu bytes are no whole number of frames of %u bytes", bytes, s->frame_bytes);
    const uint8_t *p = pcm;
    size_t left = bytes / s->frame_bytes, most = (c->max_frame_bytes - 128) / s->frame_bytes;
    if (most > 4096)
        most = 4096;
    while (left) {
        int got;
        while ((got = rill_client_poll(c, 0)) > 0)
            ;
        if (got < 0 || s->ended)
            return c->error[0] ? -1 : fail(c, 0, "stream %u ended", id);
        uint64_t room = rill_client_credit(c, id);
        size_t n = left < most ? left : most;
        if (room < n)
            n = (size_t) room;
        if (n == 0) {
            if (wait_some(c, "credit") < 0)
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
    struct peer_stream *s = stream_running(c, id);
    if (!s)
        return -1;
    s->pos += samples;
    s->limit_pos += samples;
    s->discont = true;
    return 0;
}

int rill_client_finish(struct rill_client *c, uint32_t id, struct rill_client_finished *ret)
{
    struct peer_stream *s = stream_running(c, id);
    if (!s)
        return -1;
    Rill__Finish m = RILL__FINISH__INIT;
    m.stream = id;
    FRAME(FINISH, finish, m);
    if (frame_send(c, &f) < 0)
        return -1;
    while (!s->ended)
        if (wait_some(c, "Finished") < 0)
            return -1;
    bool good = s->finished;
    s->id = 0;
    if (!good)
        return -1;
    if (ret)
        *ret = c->last_finished;
    return 0;
}

int rill_client_reset(struct rill_client *c, uint32_t id)
{
    if (!stream_running(c, id))
        return -1;
    Rill__Reset m = RILL__RESET__INIT;
    m.stream = id;
    FRAME(RESET, reset, m);
    return frame_send(c, &f);
}

int rill_client_cancel(struct rill_client *c, uint32_t id)
{
    struct peer_stream *s = id ? stream_find(c, id) : NULL;
    if (!s)
        return fail(c, 0, "stream %u is not open", id);
    bool ended = s->ended;
    s->id = 0;
    if (ended)
        return 0;
    Rill__Cancel m = RILL__CANCEL__INIT;
    m.stream = id;
    FRAME(CANCEL, cancel, m);
    return frame_send(c, &f);
}

/* ---- questions ---- */

int rill_client_ping(struct rill_client *c, uint64_t *ret_us)
{
    struct timespec a, b;
    Rill__Ping m = RILL__PING__INIT;
    FRAME(PING, ping, m);
    clock_gettime(CLOCK_MONOTONIC, &a);
    Rill__ServerFrame *r = request(c, &f, RILL__SERVER_FRAME__M_PONG, "Ping");
    clock_gettime(CLOCK_MONOTONIC, &b);
    if (!r)
        return -1;
    frame_free(r);
    if (ret_us)
        *ret_us = (uint64_t) ((b.tv_sec - a.tv_sec) * 1000000 + (b.tv_nsec - a.tv_nsec) / 1000);
    return 0;
}

int rill_client_info(struct rill_client *c, void (*each)(void *arg, const struct rill_client_model *m), void *arg)
{
    Rill__Info m = RILL__INFO__INIT;
    FRAME(INFO, info, m);
    Rill__ServerFrame *r = request(c, &f, RILL__SERVER_FRAME__M_INFO, "Info");
    if (!r)
        return -1;
    for (size_t i = 0; each && i < r->info->n_models; i++) {
        const Rill__ModelInfo *x = r->info->models[i];
        struct rill_client_model v = {
            .name = x->name, .task = x->task, .licence = x->licence, .summary = x->summary, .state = x->state,
            .sha256 = x->sha256, .rate = x->rate, .hop_samples = x->hop_samples, .delay_samples = x->delay_samples,
            .outputs = outputs_mask(x->n_outputs, x->outputs), .weights_bytes = x->weights_bytes,
            .stream_bytes = x->stream_bytes, .rtf = x->rtf,
            .is_default = strcmp(x->name, r->info->default_model) == 0,
        };
        each(arg, &v);
    }
    frame_free(r);
    return 0;
}

static void stats_copy(struct rill_client_stats *ret, const Rill__StatsReply *m,
                       void (*each)(void *arg, const struct rill_client_model_stats *m), void *arg)
{
    if (ret)
        *ret = (struct rill_client_stats) {
            .uptime_us = m->uptime_us, .connections_accepted = m->connections_accepted,
            .streams_opened = m->streams_opened, .streams_refused = m->streams_refused,
            .protocol_errors = m->protocol_errors, .connections = m->connections, .streams = m->streams,
        };
    for (size_t i = 0; each && i < m->n_models; i++) {
        const Rill__ModelStats *x = m->models[i];
        struct rill_client_model_stats v = {
            .name = x->name, .streams = x->streams, .streams_opened = x->streams_opened, .audio_us = x->audio_us,
            .compute_us = x->compute_us, .pulses = x->pulses, .deadline_misses = x->deadline_misses, .rtf = x->rtf,
            .rtf_p99 = x->rtf_p99, .rtf_max = x->rtf_max, .compute_p99_us = x->compute_p99_us,
            .queue_p99_us = x->queue_p99_us,
        };
        each(arg, &v);
    }
}

int rill_client_stats(struct rill_client *c, struct rill_client_stats *ret,
                      void (*each)(void *arg, const struct rill_client_model_stats *m), void *arg)
{
    Rill__Stats m = RILL__STATS__INIT;
    FRAME(STATS, stats, m);
    Rill__ServerFrame *r = request(c, &f, RILL__SERVER_FRAME__M_STATS, "Stats");
    if (!r)
        return -1;
    stats_copy(ret, r->stats, each, arg);
    frame_free(r);
    return 0;
}

/* ---- control ---- */

int rill_client_ctl_status(struct rill_client *c, struct rill_client_status *ret,
                           void (*each)(void *arg, const struct rill_client_model_stats *m), void *arg)
{
    Rill__CtlStatus m = RILL__CTL_STATUS__INIT;
    FRAME(CTL_STATUS, ctl_status, m);
    Rill__ServerFrame *r = request(c, &f, RILL__SERVER_FRAME__M_CTL_STATUS, "status");
    if (!r)
        return -1;
    const Rill__StatusReply *x = r->ctl_status;
    frame_free(c->held);
    c->held = r;
    *ret = (struct rill_client_status) {
        .server = x->server, .state = x->state, .config = x->config, .pid = x->pid, .threads = x->threads,
        .connections = x->connections, .streams = x->streams, .uptime_us = x->uptime_us, .rtf_load = x->rtf_load,
        .rtf_budget = x->rtf_budget,
    };
    if (x->stats)
        stats_copy(&ret->stats, x->stats, each, arg);
    return 0;
}

static struct rill_client_pcm pcm_copy(const Rill__Pcm *m)
{
    if (!m)
        return (struct rill_client_pcm) { 0, 0, RILL_CLIENT_S16 };
    return (struct rill_client_pcm) { m->rate, m->channels, (enum rill_client_enc) m->enc };
}

static void session_give(const Rill__Session *x, void (*each)(void *arg, const struct rill_client_session *s),
                         void *arg)
{
    struct rill_client_session v = {
        .conn = x->conn, .stream = x->stream, .uid = x->uid, .pid = x->pid, .client = x->client, .model = x->model,
        .state = x->state, .in = pcm_copy(x->in), .out = pcm_copy(x->out), .pace = (enum rill_client_pace) x->pace,
        .in_samples = x->in_samples, .out_samples = x->out_samples, .age_us = x->age_us,
        .queued_bytes = x->queued_bytes, .rtf = x->rtf,
    };
    each(arg, &v);
}

int rill_client_ctl_sessions(struct rill_client *c, void (*each)(void *arg, const struct rill_client_session *s),
                             void *arg)
{
    Rill__CtlSessions m = RILL__CTL_SESSIONS__INIT;
    bool more = true;
    while (more) {
        FRAME(CTL_SESSIONS, ctl_sessions, m);
        Rill__ServerFrame *r = request(c, &f, RILL__SERVER_FRAME__M_CTL_SESSIONS, "sessions");
        if (!r)
            return -1;
        const Rill__SessionsReply *x = r->ctl_sessions;
        for (size_t i = 0; i < x->n_sessions; i++)
            session_give(x->sessions[i], each, arg);
        more = x->more && x->n_sessions;
        if (more) {
            m.after_conn = x->sessions[x->n_sessions - 1]->conn;
            m.after_stream = x->sessions[x->n_sessions - 1]->stream;
        }
        frame_free(r);
    }
    return 0;
}

static int ctl_done(struct rill_client *c, Rill__ClientFrame *f, const char *what)
{
    c->text[0] = '\0';
    Rill__ServerFrame *r = request(c, f, RILL__SERVER_FRAME__M_CTL_DONE, what);
    if (!r)
        return -1;
    snprintf(c->text, sizeof c->text, "%s", r->ctl_done->text);
    frame_free(r);
    return 0;
}

int rill_client_ctl_reload(struct rill_client *c)
{
    Rill__CtlReload m = RILL__CTL_RELOAD__INIT;
    FRAME(CTL_RELOAD, ctl_reload, m);
    return ctl_done(c, &f, "reload");
}

int rill_client_ctl_drain(struct rill_client *c, uint32_t grace_ms)
{
    Rill__CtlDrain m = RILL__CTL_DRAIN__INIT;
    m.grace_ms = grace_ms;
    FRAME(CTL_DRAIN, ctl_drain, m);
    return ctl_done(c, &f, "drain");
}

int rill_client_ctl_load(struct rill_client *c, const char *model)
{
    Rill__CtlLoad m = RILL__CTL_LOAD__INIT;
    m.model = (char *) (uintptr_t) model;
    FRAME(CTL_LOAD, ctl_load, m);
    return ctl_done(c, &f, "load");
}

int rill_client_ctl_unload(struct rill_client *c, const char *model)
{
    Rill__CtlUnload m = RILL__CTL_UNLOAD__INIT;
    m.model = (char *) (uintptr_t) model;
    FRAME(CTL_UNLOAD, ctl_unload, m);
    return ctl_done(c, &f, "unload");
}

int rill_client_ctl_kick(struct rill_client *c, uint32_t conn)
{
    Rill__CtlKick m = RILL__CTL_KICK__INIT;
    m.conn = conn;
    FRAME(CTL_KICK, ctl_kick, m);
    return ctl_done(c, &f, "kick");
}

int rill_client_ctl_log_level(struct rill_client *c, const char *level)
{
    Rill__CtlLogLevel m = RILL__CTL_LOG_LEVEL__INIT;
    m.level = (char *) (uintptr_t) level;
    FRAME(CTL_LOG_LEVEL, ctl_log_level, m);
    return ctl_done(c, &f, "log-level");
}

const char *rill_client_ctl_text(const struct rill_client *c)
{
    return c->text;
}
