/* SPDX-License-Identifier: MIT */
/* Streams of ports. */
#include "clients/c/client.h"

#include <stdlib.h>
#include <string.h>

#define PART_BYTES 65024 /* of frames in a message, at most; less where max_frame is less */
#define PART_EXTRA 512   /* for the rest of that message */

static void port_copy(struct rill_client_port *to, const Rill__Port *m)
{
    *to = (struct rill_client_port) {
        .name = m->name,
        .is_input = m->is_input,
        .is_set = m->is_set,
        .is_wanted = m->is_wanted,
        .kind = m->kind,
        .type = (enum rill_client_type) m->type,
        .element_bytes = m->element_bytes,
        .n_dims = (uint32_t) m->n_shape,
        .dims = m->shape,
        .time_axis = m->time_axis,
        .rate_num = m->rate_num,
        .rate_den = m->rate_den,
        .pulse_frames = m->pulse_frames,
        .hop_num = m->hop_num,
        .hop_den = m->hop_den,
        .latency_samples = m->latency_samples,
        .offset_num = m->offset_num,
        .offset_den = m->offset_den,
        .frame_bytes = m->element_bytes,
    };
    for (size_t i = 0; i < m->n_shape; i++)
        to->frame_bytes *= m->shape[i];
}

/* Keeps the answer, which the ports' names are in. */
static int stream_take(struct rill_client *c, struct peer_stream *s, uint32_t id,
                       Rill__ServerFrame *a)
{
    const Rill__Opened *m = a->opened;
    struct rill_client_port *ports = calloc(m->n_ports + 1, sizeof *ports);
    struct peer_port *sent = calloc(m->n_ports + 1, sizeof *sent);
    client_stream_drop(s);
    *s = (struct peer_stream) { .id = id, .opened = a, .ports = ports, .sent = sent };
    if (!ports || !sent) {
        client_stream_drop(s);
        return client_fail(c, 0, "out of memory");
    }
    for (; s->n_ports < m->n_ports; s->n_ports++) {
        port_copy(&ports[s->n_ports], m->ports[s->n_ports]);
        sent[s->n_ports].limit_frames = m->ports[s->n_ports]->credit_frames;
    }
    return 0;
}

int rill_client_open_ports(struct rill_client *c, uint32_t id,
                           const struct rill_client_open_ports *o)
{
    struct peer_stream *s = id ? client_stream(c, id) : NULL;
    Rill__OpenPorts m = RILL__OPEN_PORTS__INIT;
    if (!s)
        s = client_stream(c, 0);
    if (!s || !id)
        return client_fail(c, 0, "bad stream number, or over %d streams", MAX_STREAMS);
    m.stream = id;
    m.model = (char *) (uintptr_t) (o->model ? o->model : "");
    m.pace = (Rill__Pace) o->pace;
    m.want = (char **) (uintptr_t) o->want;
    while (o->want && o->want[m.n_want])
        m.n_want++;
    MESSAGE(OPEN_PORTS, open_ports, m);
    Rill__ServerFrame *a = client_request(c, &f, RILL__SERVER_FRAME__M_OPENED, "OpenPorts");
    return a ? stream_take(c, s, id, a) : -1;
}

size_t rill_client_ports(const struct rill_client *c, uint32_t id,
                         const struct rill_client_port **ret)
{
    for (size_t i = 0; id && i < MAX_STREAMS; i++)
        if (c->streams[i].id == id) {
            *ret = c->streams[i].ports;
            return c->streams[i].n_ports;
        }
    *ret = NULL;
    return 0;
}

int rill_client_model_ports(struct rill_client *c, const char *model,
                            void (*each)(void *arg, const struct rill_client_port *p), void *arg)
{
    Rill__Info m = RILL__INFO__INIT;
    struct rill_client_port port;
    int n = -1;
    m.model = (char *) (uintptr_t) model;
    MESSAGE(INFO, info, m);
    Rill__ServerFrame *r = client_request(c, &f, RILL__SERVER_FRAME__M_INFO, "Info");
    const Rill__ModelInfo *x = r && r->info->n_models == 1 ? r->info->models[0] : NULL;
    if (x && !strcmp(x->name, model))
        n = (int) x->n_ports;
    else if (r)
        client_fail(c, 0, "the daemon does not tell of the ports of a model");
    for (int i = 0; i < n && each; i++) {
        port_copy(&port, x->ports[i]);
        each(arg, &port);
    }
    client_message_free(r);
    return n;
}

/* The input of that name, NULL or "": the only one; -1 with words. */
static int input_find(struct rill_client *c, const struct peer_stream *s, const char *name)
{
    int found = -1, n = 0;
    for (size_t i = 0; i < s->n_ports; i++)
        if (s->ports[i].is_input && (!name || !*name || !strcmp(s->ports[i].name, name))) {
            found = (int) i;
            n++;
        }
    if (n == 1)
        return found;
    return client_fail(c, 0,
                       n ? "the model has several inputs; name one"
                         : "the model has no input '%.80s'",
                       name ? name : "");
}

static uint64_t port_credit(const struct peer_port *p)
{
    return p->limit_frames > p->frames ? p->limit_frames - p->frames : 0;
}

uint64_t rill_client_port_credit(const struct rill_client *c, uint32_t id, const char *port)
{
    for (size_t i = 0; id && i < MAX_STREAMS; i++)
        for (size_t k = 0; c->streams[i].id == id && k < c->streams[i].n_ports; k++) {
            const struct rill_client_port *p = &c->streams[i].ports[k];
            if (p->is_input && !c->streams[i].ended && (!port || !*port || !strcmp(p->name, port)))
                return port_credit(&c->streams[i].sent[k]);
        }
    return 0;
}

static int part_send(struct rill_client *c, struct peer_stream *s, size_t port, const uint8_t *data,
                     size_t bytes)
{
    const struct rill_client_port *p = &s->ports[port];
    struct peer_port *sent = &s->sent[port];
    Rill__Frames m = RILL__FRAMES__INIT;
    m.stream = s->id;
    m.port = (char *) (uintptr_t) p->name;
    m.pos = sent->frames;
    m.at_bytes = sent->part_bytes;
    m.type = (Rill__ElementType) p->type;
    m.data.data = (uint8_t *) (uintptr_t) data;
    m.data.len = bytes;
    MESSAGE(FRAMES, frames, m);
    sent->frames += (sent->part_bytes + bytes) / p->frame_bytes;
    sent->part_bytes = (sent->part_bytes + bytes) % p->frame_bytes;
    return client_send(c, &f);
}

/* Bytes of the next message: whole frames, or a part of one that is larger than a message; 0: there
 * is no credit. */
static size_t part_next(const struct rill_client *c, const struct rill_client_port *p,
                        const struct peer_port *sent, size_t left_bytes)
{
    size_t most = c->max_message_bytes - PART_EXTRA;
    uint64_t credit = port_credit(sent);
    most = most < PART_BYTES ? most : PART_BYTES;
    if (p->frame_bytes > most) {
        size_t rest = p->frame_bytes - sent->part_bytes, whole = most - most % p->element_bytes;
        rest = rest < left_bytes ? rest : left_bytes;
        return !credit ? 0 : rest < whole ? rest : whole;
    }
    size_t n = (left_bytes < most ? left_bytes : most) / p->frame_bytes;
    return (size_t) (n < credit ? n : credit) * p->frame_bytes;
}

/* Sends what credit allows; whole frames, as far as a caller can tell. */
static int frames_send(struct rill_client *c, struct peer_stream *s, size_t port,
                       const uint8_t *data, size_t bytes, size_t *ret_bytes)
{
    size_t n;
    int got;
    for (*ret_bytes = 0; *ret_bytes < bytes; *ret_bytes += n) {
        while ((got = rill_client_poll(c, 0)) > 0)
            ;
        if (got < 0 || s->ended)
            return c->error[0] ? -1 : client_fail(c, 0, "stream %u ended", s->id);
        n = part_next(c, &s->ports[port], &s->sent[port], bytes - *ret_bytes);
        if (!n)
            return 0;
        if (part_send(c, s, port, data + *ret_bytes, n) < 0)
            return -1;
    }
    return 0;
}

static struct peer_stream *push_begin(struct rill_client *c, uint32_t id, const char *port,
                                      enum rill_client_type type, int *ret_port)
{
    struct peer_stream *s = client_running(c, id);
    *ret_port = s ? input_find(c, s, port) : -1;
    if (*ret_port < 0)
        return NULL;
    const struct rill_client_port *p = &s->ports[*ret_port];
    if (type == p->type)
        return s;
    client_fail(c, 0, "input '%.80s' takes %s, not %s", p->name, rill_client_type_name(p->type),
                rill_client_type_name(type));
    return NULL;
}

int rill_client_push(struct rill_client *c, uint32_t id, const char *port,
                     enum rill_client_type type, const void *frames, size_t n_frames)
{
    int k;
    struct peer_stream *s = push_begin(c, id, port, type, &k);
    if (!s)
        return -1;
    size_t left = n_frames * s->ports[k].frame_bytes, n;
    for (const uint8_t *at = frames; left; at += n, left -= n) {
        if (frames_send(c, s, (size_t) k, at, left, &n) < 0 ||
            (n < left && client_wait(c, "FrameCredit") < 0))
            return -1;
    }
    return 0;
}

int rill_client_push_some(struct rill_client *c, uint32_t id, const char *port,
                          enum rill_client_type type, const void *frames, size_t n_frames,
                          size_t *ret_frames)
{
    int k;
    struct peer_stream *s = push_begin(c, id, port, type, &k);
    *ret_frames = 0;
    if (!s)
        return -1;
    const struct peer_port *sent = &s->sent[k];
    uint64_t credit = port_credit(sent), before = sent->frames;
    size_t most = (size_t) (credit < n_frames ? credit : n_frames), n;
    int r = frames_send(c, s, (size_t) k, frames, most * s->ports[k].frame_bytes, &n);
    *ret_frames = r < 0 ? 0 : (size_t) (sent->frames - before);
    return r;
}

const char *rill_client_type_name(enum rill_client_type type)
{
    static const char *const names[] = { "?",   "f32", "f64", "i8",   "i16", "i32", "i64", "u8",
                                         "u16", "u32", "u64", "bool", "i4",  "u4",  "i2",  "u2" };
    return (size_t) type < sizeof names / sizeof *names ? names[type] : "?";
}

void rill_client_set_frames(struct rill_client *c,
                            void (*frames)(void *arg, const struct rill_client_frames *f),
                            void *arg)
{
    c->on_frames = frames;
    c->on_frames_arg = arg;
}
