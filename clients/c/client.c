/* SPDX-License-Identifier: MIT */
/* What a client keeps, and values of messages as callers see them. */
#include "clients/c/client.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int client_fail(struct rill_client *c, int code, const char *format, ...)
{
    va_list ap;
    va_start(ap, format);
    vsnprintf(c->error, sizeof c->error, format, ap);
    va_end(ap);
    c->error_code = code;
    return -1;
}

int client_fail_dead(struct rill_client *c, const char *what)
{
    c->dead = true;
    return c->error[0] ? -1 : client_fail(c, 0, "%s", what);
}

const char *client_code_name(int code)
{
    const ProtobufCEnumValue *v =
        protobuf_c_enum_descriptor_get_value(&rill__code__descriptor, code);
    return v ? v->name : "UNKNOWN";
}

struct peer_stream *client_stream(struct rill_client *c, uint32_t id)
{
    for (size_t i = 0; i < MAX_STREAMS; i++)
        if (c->streams[i].id == id)
            return &c->streams[i];
    return NULL;
}

void client_message_free(Rill__ServerFrame *f)
{
    if (f)
        rill__server_frame__free_unpacked(f, NULL);
}

void client_stream_drop(struct peer_stream *s)
{
    client_message_free(s->opened);
    free(s->ports);
    free(s->sent);
    *s = (struct peer_stream) { .id = 0 };
}

/* ---- values ---- */

unsigned client_outputs(size_t n, const Rill__Output *outputs)
{
    unsigned mask = 0;
    for (size_t i = 0; i < n; i++)
        if (outputs[i] < 32)
            mask |= 1u << outputs[i];
    return mask;
}

struct rill_client_pcm client_pcm(const Rill__Pcm *m)
{
    if (!m)
        return (struct rill_client_pcm) { 0, 0, RILL_CLIENT_S16 };
    return (struct rill_client_pcm) { m->rate, m->channels, (enum rill_client_enc) m->enc };
}
