/* SPDX-License-Identifier: MIT */
#include "daemon/serve/session_list.h"
#include "daemon/compute/pcm.h"
#include "daemon/net/conn.h"
#include "daemon/serve/daemon.h"
#include "daemon/serve/session_internal.h"
#include "daemon/serve/session_ports.h"

struct session *session_find(const struct conn *c, uint32_t id)
{
    struct stream_link *l = streams_find(&c->streams, id);
    return l && l->kind == STREAM_SESSION ? (struct session *) (void *) l : NULL;
}

struct session *session_next(const struct conn *c, const struct session *after)
{
    return (struct session *) (void *) streams_next(&c->streams, STREAM_SESSION,
                                                    after ? &after->link : NULL);
}

uint32_t sessions_running(const struct daemon *d)
{
    uint32_t n = 0;
    for (const struct session *s = d->sessions->first; s; s = s->next)
        n += !s->gone;
    return n;
}

uint64_t session_output_bytes_per_s(const struct session *s)
{
    if (s->ports)
        return session_ports_bytes_per_s(s);
    return s->want_audio ? (uint64_t) s->out.rate * pcm_frame_bytes(&s->out) : 4096;
}
