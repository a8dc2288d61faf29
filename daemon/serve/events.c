/* SPDX-License-Identifier: MIT */
/* For a client that reads slowly, a partial is held back and replaced by the next one; all other
 * events are sent in order. */
#include "daemon/serve/events.h"
#include "daemon/net/conn.h"
#include "daemon/serve/messages.h"
#include "daemon/serve/session.h"
#include "daemon/serve/topic.h"

#include <stdlib.h>
#include <string.h>

bool events_make(struct session *s)
{
    if (!s->want_text && !s->want_keyword && !s->want_endpoint)
        return true;
    s->partial = malloc(EVENT_BYTES_MAX);
    s->event = malloc(EVENT_BYTES_MAX);
    return s->partial && s->event;
}

void events_take(struct session *s, const struct lane_rec *r)
{
    rill_word words[EVENT_WORDS_MAX];
    rill_event e;
    ring_read(&s->lane->sinks.bytes, s->event, r->n);
    if (s->topic)
        topic_rec(s->topic, r, s->event);
    if (s->mute)
        return;
    event_read(s->event, r->n, &e, words);
    if (e.kind == RILL_EVENT_PARTIAL) {
        memcpy(s->partial, s->event, r->n);
        s->partial_bytes = r->n;
        return;
    }
    if (e.kind == RILL_EVENT_FINAL)
        s->partial_bytes = 0; /* the final replaces it */
    event_send(s->conn, s->id, &e, (char *) s->partial);
}

/* Of a live stream, the newest probability may be held back, edges never. */
void events_vad(struct session *s, const struct lane_rec *r)
{
    s->vad_waits = s->live && r->edge == LANE_EDGE_NONE && conn_reads_slowly(s->conn);
    if (s->vad_waits)
        s->vad = *r;
    else
        vad_send(s->conn, s->id, r);
}

void events_flush(struct session *s, bool last)
{
    rill_word words[EVENT_WORDS_MAX];
    rill_event e;
    if (!s->partial_bytes && !s->vad_waits)
        return;
    if (!last && conn_reads_slowly(s->conn)) {
        s->conn->paused = true; /* conn_calls.writable tries again */
        return;
    }
    if (s->vad_waits)
        vad_send(s->conn, s->id, &s->vad);
    s->vad_waits = false;
    if (!s->partial_bytes)
        return;
    event_read(s->partial, s->partial_bytes, &e, words);
    s->partial_bytes = 0;
    event_send(s->conn, s->id, &e, (char *) s->partial);
}
