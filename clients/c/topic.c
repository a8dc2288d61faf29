/* SPDX-License-Identifier: MIT */
#include "clients/c/client.h"

#include <stdio.h>

int rill_client_publish(struct rill_client *c, uint32_t id, const struct rill_client_publish *p,
                        uint32_t *ret_keep_ms)
{
    Rill__Publish m = RILL__PUBLISH__INIT;
    if (!client_running(c, id))
        return -1;
    m.stream = id;
    m.topic = (char *) (uintptr_t) p->topic;
    m.access = p->for_all ? RILL__ACCESS__ACCESS_ALL : RILL__ACCESS__ACCESS_SAME_UID;
    m.keep_ms = p->keep_ms;
    m.mute = p->mute;
    MESSAGE(PUBLISH, publish, m);
    Rill__ServerFrame *a = client_request(c, &f, RILL__SERVER_FRAME__M_PUBLISHED, "Publish");
    if (!a)
        return -1;
    if (ret_keep_ms)
        *ret_keep_ms = a->published->keep_ms;
    client_message_free(a);
    return 0;
}

static void subscribed_copy(struct rill_client_subscribed *ret, const Rill__Subscribed *m)
{
    *ret = (struct rill_client_subscribed) { .pos = m->pos,
                                             .in_rate = m->in_rate,
                                             .out = client_pcm(m->out),
                                             .outputs = client_outputs(m->n_outputs, m->outputs) };
    snprintf(ret->model, sizeof ret->model, "%s", m->model);
}

int rill_client_subscribe(struct rill_client *c, uint32_t id, const struct rill_client_subscribe *s,
                          struct rill_client_subscribed *ret)
{
    struct peer_stream *slot = id && !client_stream(c, id) ? client_stream(c, 0) : NULL;
    if (!slot)
        return client_fail(c, 0, "bad stream number, open already, or over %d streams",
                           MAX_STREAMS);
    Rill__Subscribe m = RILL__SUBSCRIBE__INIT;
    Rill__Pcm out;
    Rill__Output want[5];
    client_pcm_message(&out, &s->out);
    m.topic = (char *) (uintptr_t) s->topic;
    m.stream = id;
    m.from = (Rill__From) s->from;
    m.pos = s->pos;
    m.out = s->out.channels ? &out : NULL;
    m.want = want;
    m.n_want = client_wants(s->want, want);
    MESSAGE(SUBSCRIBE, subscribe, m);
    *slot = (struct peer_stream) { .id = id }; /* its end may come together with the answer */
    Rill__ServerFrame *a = client_request(c, &f, RILL__SERVER_FRAME__M_SUBSCRIBED, "Subscribe");
    if (!a) {
        slot->id = 0;
        return -1;
    }
    if (ret)
        subscribed_copy(ret, a->subscribed);
    client_message_free(a);
    return 0;
}

int rill_client_unsubscribe(struct rill_client *c, uint32_t id, struct rill_client_finished *ret)
{
    struct peer_stream *s = client_running(c, id);
    if (!s)
        return -1;
    Rill__Unsubscribe m = RILL__UNSUBSCRIBE__INIT;
    m.stream = id;
    MESSAGE(UNSUBSCRIBE, unsubscribe, m);
    return client_send(c, &f) < 0 ? -1 : client_finished(c, s, ret);
}

bool rill_client_ended(const struct rill_client *c, uint32_t id)
{
    for (size_t i = 0; id && i < MAX_STREAMS; i++)
        if (c->streams[i].id == id)
            return c->streams[i].ended || c->dead;
    return true;
}
