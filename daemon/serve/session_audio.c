/* SPDX-License-Identifier: MIT */
/* A session's input: audio, its end, and resets, from messages into the rings of the lane. */
#include "daemon/base/clock.h"
#include "daemon/compute/lane.h"
#include "daemon/compute/pcm.h"
#include "daemon/compute/worker.h"
#include "daemon/net/conn.h"
#include "daemon/serve/daemon.h"
#include "daemon/serve/messages.h"
#include "daemon/serve/session_internal.h"
#include "daemon/serve/session_ports.h"

#define CHUNK_FRAMES AUDIO_CHUNK_FRAMES
#define REFUSAL_BYTES 160

static bool mark_put(struct session *s, uint64_t next_pos)
{
    struct lane_mark mark = { .count = s->received, .next_pos = next_pos };
    if (!ring_room(&s->lane->marks))
        return false;
    ring_write(&s->lane->marks, &mark, 1);
    s->marked = s->received;
    s->marked_pos = next_pos;
    return true;
}

/* Why the audio is refused; NULL: it is accepted. text: room for a message that is not constant. */
static const char *audio_check(struct session *s, const Rill__Audio *m, Rill__Code *code,
                               char text[REFUSAL_BYTES])
{
    size_t frame = pcm_frame_bytes(&s->in);
    const char *container;
    *code = RILL__CODE__BAD_FORMAT;
    if (m->pcm.len % frame)
        return "the bytes are no whole number of frames (channels x bytes a sample)";
    if (!s->any_audio && (container = pcm_container_name(m->pcm.data, m->pcm.len))) {
        snprintf(text, REFUSAL_BYTES, "this is %s; send its samples without the header", container);
        return text;
    }
    *code = RILL__CODE__SEQ;
    if (m->discont ? m->pos < s->pos_in : m->pos != s->pos_in || m->seq != s->seq_in)
        return m->discont ? "pos went back; it may only jump forward"
                          : "seq or pos is not the next one; set discont where samples are missing";
    *code = RILL__CODE__BAD_ARG;
    if (m->pos > UINT64_MAX / 4 - m->pcm.len)
        return "pos is out of range";
    *code = RILL__CODE__FLOW_CONTROL;
    if (m->pcm.len / frame > s->granted - s->received)
        return "more samples than the credit allows; wait for Credit";
    return NULL;
}

static void audio_put(struct session *s, const uint8_t *pcm, size_t n_frames)
{
    float x[CHUNK_FRAMES];
    size_t bytes = pcm_frame_bytes(&s->in);
    while (n_frames) {
        size_t n = n_frames < CHUNK_FRAMES ? n_frames : CHUNK_FRAMES;
        s->not_finite += pcm_decode(&s->in, pcm, n, x);
        ring_write(&s->lane->in, x, n);
        s->received += n;
        pcm += n * bytes;
        n_frames -= n;
    }
}

void session_audio(struct session *s, const Rill__Audio *m)
{
    Rill__Code code;
    if (s->ports) {
        conn_error(s->conn, 0, s->id, RILL__CODE__BAD_ARG, false,
                   "stream %u was opened by OpenPorts and takes Frames", s->id);
        return;
    }
    if (!s->lane) {
        session_fail(s, RILL__CODE__FLOW_CONTROL, "audio before Opened; there is no credit yet");
        return;
    }
    if (s->finishing) {
        conn_error(s->conn, 0, s->id, RILL__CODE__BAD_ARG, false,
                   "audio after Finish is not taken");
        return;
    }
    char text[REFUSAL_BYTES];
    const char *why = audio_check(s, m, &code, text);
    if (why) {
        session_fail(s, code, why);
        return;
    }
    if (m->discont && m->pos > s->pos_in) {
        if (!mark_put(s, m->pos)) {
            session_fail(s, RILL__CODE__FLOW_CONTROL, "too many jumps ahead of the work");
            return;
        }
        s->pos_in = m->pos;
    }
    size_t n = m->pcm.len / pcm_frame_bytes(&s->in);
    /* Written before the samples, so that the worker never sees samples without their arrival. */
    struct lane_arrival a = { .count = s->received + n,
                              .us = clock_now_us(),
                              .since_us = s->conn->waited_since_us };
    if (n && ring_room(&s->lane->arrivals))
        ring_write(&s->lane->arrivals, &a, 1);
    audio_put(s, m->pcm.data, n);
    s->any_audio |= n > 0;
    s->conn->last_audio = &s->link;
    s->n_messages++;
    s->audio_us = a.us;
    s->pos_in += n;
    s->seq_in = m->seq + 1;
    worker_wake(s->worker);
}

void session_finish(struct session *s, uint32_t req)
{
    if (s->finishing) {
        conn_error(s->conn, req, s->id, RILL__CODE__BAD_ARG, false, "Finish was said already");
        return;
    }
    char text[512];
    const char *why = s->ports ? session_ports_end_check(s, text) : NULL;
    if (why) {
        session_fail(s, RILL__CODE__BAD_FORMAT, why);
        return;
    }
    s->finishing = true;
    s->end_req = req;
    if (s->lane) {
        atomic_store_explicit(&s->lane->finish, true, memory_order_release);
        worker_wake(s->worker);
    }
}

void session_reset(struct session *s, uint32_t req)
{
    if (!s->lane || s->finishing) {
        conn_error(s->conn, req, s->id, RILL__CODE__BAD_ARG, false,
                   "Reset is for a stream that is open and not finishing");
        return;
    }
    if (s->ports) {
        session_ports_reset(s, req);
        return;
    }
    if (s->received == s->marked && s->pos_in == s->marked_pos)
        return; /* nothing came since the last reset */
    if (!mark_put(s, s->pos_in)) {
        conn_error(s->conn, req, s->id, RILL__CODE__OVERLOADED, false,
                   "too many resets ahead of the work");
        return;
    }
    worker_wake(s->worker);
}
