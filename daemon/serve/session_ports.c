/* SPDX-License-Identifier: MIT */
/* Sessions of ports: opening one, and what comes in. */
#include "daemon/serve/session_ports.h"
#include "daemon/base/clock.h"
#include "daemon/base/conf.h"
#include "daemon/base/text.h"
#include "daemon/compute/plan_ports.h"
#include "daemon/compute/ports.h"
#include "daemon/compute/worker.h"
#include "daemon/models/registry.h"
#include "daemon/net/conn.h"
#include "daemon/net/wire.h"
#include "daemon/serve/daemon.h"
#include "daemon/serve/session_internal.h"

#include <math.h>

#define REASON_BYTES 512

/* ---- opening ---- */

static bool wants(const struct session_ports *p, const rill_port *q)
{
    bool found = !p->n_want;
    for (size_t i = 0; i < p->n_want; i++)
        found |= !strcmp(p->want[i], q->name);
    return found && !q->is_input;
}

/* Names of the inputs or outputs, as far as there is room. */
static void names_list(const rill_port *ports, unsigned n, bool inputs, char *to, size_t cap)
{
    size_t at = 0;
    for (unsigned i = 0; i < n && at + 1 < cap; i++)
        if ((ports[i].is_input != 0) == inputs) {
            int more = snprintf(to + at, cap - at, "%s'%.60s'", at ? ", " : "", ports[i].name);
            at += more > 0 ? (size_t) more : 0;
        }
    if (!at)
        snprintf(to, cap, "none");
}

static const char *names_check(const rill_port *ports, unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        if (!text_valid(ports[i].name))
            return "the name of a port is not UTF-8 of less than 256 bytes, which no message holds";
    return NULL;
}

static const char *wants_check(const struct session_ports *p, const rill_port *ports, unsigned n,
                               char text[REASON_BYTES])
{
    char names[300];
    size_t n_out = 0;
    for (unsigned i = 0; i < n; i++)
        n_out += !ports[i].is_input;
    if (p->n_want > n_out) { /* each is looked for among all */
        snprintf(text, REASON_BYTES, "want holds %zu names, and the model has %zu outputs",
                 p->n_want, n_out);
        return text;
    }
    for (size_t k = 0; k < p->n_want; k++) {
        unsigned i = 0;
        while (i < n && (ports[i].is_input || strcmp(ports[i].name, p->want[k]) != 0))
            i++;
        if (i < n)
            continue;
        names_list(ports, n, false, names, sizeof names);
        snprintf(text, REASON_BYTES, "the model has no output '%.80s'; its outputs are %s",
                 p->want[k], names);
        return text;
    }
    return NULL;
}

const char *session_ports_refuse(struct session *s, Rill__Code *ret_code, char text[REASON_BYTES])
{
    const struct lane_model *m = &s->model->lane;
    unsigned n = 0;
    rill_port *ports = plan_ports(m->plan, &n);
    const char *why = NULL;
    *ret_code = RILL__CODE__UNSUPPORTED;
    if (!ports) {
        *ret_code = RILL__CODE__INTERNAL;
        why = "out of memory";
    } else if (m->words_plan) {
        why = "its detector and its recogniser run as two plans here, so it has no ports of one; "
              "OpenStream gives what they say, and a model of one of them has ports "
              "(select_outputs)";
    } else if (!ports_check(ports, n, text)) {
        why = text;
    } else if ((why = names_check(ports, n))) {
        *ret_code = RILL__CODE__UNSUPPORTED;
    } else if (s->live && !m->rate && !m->is_timed) {
        *ret_code = RILL__CODE__BAD_ARG;
        why = "the model states no rate, so it cannot be live; open it with pace FILE";
    } else if ((why = wants_check(s->ports, ports, n, text))) {
        *ret_code = RILL__CODE__BAD_ARG;
    }
    free(ports);
    return why;
}

static bool session_ports_make(struct session *s, const struct lane_ports *l)
{
    struct session_ports *p = s->ports;
    size_t command_bytes = sizeof *p->command + l->n_in * sizeof(uint64_t);
    session_ports_want_free(p);
    p->list = calloc(l->n + 1u, sizeof *p->list);
    p->command = malloc(command_bytes);
    p->part = malloc(PORT_PART_BYTES);
    p->bytes += (l->n + 1u) * sizeof *p->list + command_bytes + PORT_PART_BYTES;
    for (unsigned i = 0; p->list && i < l->n_in; i++)
        p->list[i].granted = l->list[i].window_frames;
    return p->list && p->command && p->part;
}

/* What a lane is made by; the caller frees both lists, which are NULL without memory. */
static struct lane_ports_opts lane_opts(const struct session *s, rill_port **ret_ports,
                                        unsigned *ret_n, bool **ret_wanted)
{
    rill_port *ports = plan_ports(s->model->lane.plan, ret_n);
    bool *wanted = calloc(*ret_n + 1u, sizeof *wanted);
    for (unsigned i = 0; ports && wanted && i < *ret_n; i++)
        wanted[i] = wants(s->ports, &ports[i]);
    *ret_ports = ports;
    *ret_wanted = wanted;
    return (struct lane_ports_opts) { .live = s->live,
                                      .window_ms = s->daemon->conf->limits_live_window_ms,
                                      .is_wanted = wanted };
}

size_t session_ports_most(const struct session *s)
{
    rill_port *ports;
    bool *wanted;
    unsigned n = 0;
    const struct lane_ports_opts o = lane_opts(s, &ports, &n, &wanted);
    size_t bytes = ports && wanted ? lane_ports_most(ports, n, &o) : 0;
    free(ports);
    free(wanted);
    return bytes;
}

struct lane *session_ports_lane(struct session *s)
{
    rill_port *ports;
    bool *wanted;
    unsigned n = 0;
    const struct lane_ports_opts o = lane_opts(s, &ports, &n, &wanted);
    struct lane *l = ports && wanted ? lane_new_ports(&s->model->lane, &o) : NULL;
    free(ports);
    free(wanted);
    return l && session_ports_make(s, l->ports) ? l : lane_free(l);
}

void session_ports_opened(struct session *s)
{
    const struct lane_ports *l = s->lane->ports;
    struct port_message {
        Rill__Port port;
        uint32_t dims[RILL_RANK_MAX];
    } *x = calloc(l->n + 1u, sizeof *x);
    Rill__Port **list = calloc(l->n + 1u, sizeof *list);
    Rill__Opened a = RILL__OPENED__INIT;
    Rill__ServerFrame f = RILL__SERVER_FRAME__INIT;
    a.stream = s->id;
    a.model = s->model->name;
    a.model_sha256 = s->model->sha256;
    a.ports = list;
    f.m_case = RILL__SERVER_FRAME__M_OPENED;
    f.opened = &a;
    for (; x && list && a.n_ports < l->n; a.n_ports++) {
        const struct lane_port *q = &l->list[a.n_ports];
        Rill__Port *to = list[a.n_ports] = &x[a.n_ports].port;
        port_fill(to, s->model->lane.plan, (unsigned) a.n_ports, &q->info, x[a.n_ports].dims);
        to->is_set = q->is_set;
        to->is_wanted = q->is_wanted;
        to->credit_frames = s->ports->list[a.n_ports].granted;
    }
    if (!x || !list)
        session_fail(s, RILL__CODE__INTERNAL, "out of memory");
    else if (!conn_takes(s->conn, &f))
        session_fail(
            s, RILL__CODE__TOO_LARGE,
            "the list of the model's ports is longer than max_frame; a Hello that asks for "
            "more takes it, as far as max_message_bytes allows");
    else
        conn_send(s->conn, s->req, &f);
    free(x);
    free(list);
}

/* ---- frames ---- */

static size_t part_most(const struct session *s)
{
    size_t most = s->conn->max_message_bytes - PORT_MESSAGE_EXTRA;
    return most < PORT_PART_BYTES ? most : PORT_PART_BYTES;
}

/* The input of that name, "": the only one; or -1. */
static int input_find(const struct lane_ports *l, const char *name)
{
    if (!*name && l->n_in == 1)
        return 0;
    for (unsigned i = 0; i < l->n_in; i++)
        if (!strcmp(l->list[i].info.name, name))
            return (int) i;
    return -1;
}

static const char *input_words(const struct lane_ports *l, const char *name,
                               char text[REASON_BYTES])
{
    char names[300] = "";
    size_t at = 0;
    for (unsigned i = 0; i < l->n_in && at + 80 < sizeof names; i++)
        at += (size_t) snprintf(names + at, sizeof names - at, "%s'%.60s'", at ? ", " : "",
                                l->list[i].info.name);
    for (unsigned i = l->n_in; i < l->n; i++)
        if (!strcmp(l->list[i].info.name, name)) {
            snprintf(text, REASON_BYTES, "'%.80s' is an output; the inputs are %s", name, names);
            return text;
        }
    snprintf(text, REASON_BYTES, "the model has no input '%.80s'; its inputs are %s",
             text_valid(name) ? name : "?", names);
    return text;
}

static const char *order_check(const struct session *s, unsigned i, const Rill__Frames *m,
                               char text[REASON_BYTES])
{
    const struct session_port *p = &s->ports->list[i];
    if (m->pos == p->frames && m->at_bytes == p->part_bytes)
        return NULL;
    snprintf(
        text, REASON_BYTES,
        "pos %llu and at_bytes %llu of input '%.80s' are not the next ones, which are %llu and "
        "%zu",
        (unsigned long long) m->pos, (unsigned long long) m->at_bytes,
        s->lane->ports->list[i].info.name, (unsigned long long) p->frames, p->part_bytes);
    return text;
}

/* Whole frames; where one is larger than a message, parts that do not cross its end. */
static const char *bytes_check(const struct session *s, unsigned i, size_t n,
                               char text[REASON_BYTES])
{
    const struct lane_port *q = &s->lane->ports->list[i];
    const char *type = rill_type_name(q->info.type);
    if (q->frame_bytes <= part_most(s) && n % q->frame_bytes) {
        snprintf(text, REASON_BYTES,
                 "%zu bytes are no whole number of frames of input '%.80s', which are %u %s each: "
                 "%zu bytes",
                 n, q->info.name, q->info.width, type, q->frame_bytes);
        return text;
    }
    if (q->frame_bytes > part_most(s) &&
        (n > q->frame_bytes - s->ports->list[i].part_bytes || n % q->info.element_bytes)) {
        snprintf(text, REASON_BYTES,
                 "%zu bytes reach past the end of a frame of input '%.80s', which are %u %s: %zu "
                 "bytes, or into an element",
                 n, q->info.name, q->info.width, type, q->frame_bytes);
        return text;
    }
    return NULL;
}

static const char *credit_check(const struct session *s, unsigned i, size_t n,
                                char text[REASON_BYTES])
{
    const struct session_port *p = &s->ports->list[i];
    const size_t frame_bytes = s->lane->ports->list[i].frame_bytes;
    if ((p->part_bytes + n + frame_bytes - 1) / frame_bytes <= p->granted - p->frames)
        return NULL;
    snprintf(text, REASON_BYTES,
             "more frames of input '%.80s' than the credit allows, which ends before frame %llu; "
             "wait for FrameCredit",
             s->lane->ports->list[i].info.name, (unsigned long long) p->granted);
    return text;
}

/* Frames along time wait for what lies beside it: without that the model would never run. */
static const char *beside_check(const struct session *s, unsigned i, size_t n,
                                char text[REASON_BYTES])
{
    const struct lane_ports *l = s->lane->ports;
    for (unsigned k = 0; k < l->n_in && n && !l->list[i].is_set; k++)
        if (l->list[k].is_set && !s->ports->list[k].is_set) {
            snprintf(text, REASON_BYTES,
                     "input '%.80s' does not run along time and was not set since the stream began "
                     "or was reset; send one frame of it (%u %s) before frames of '%.80s'",
                     l->list[k].info.name, l->list[k].info.width,
                     rill_type_name(l->list[k].info.type), l->list[i].info.name);
            return text;
        }
    return NULL;
}

static const char *type_check(const struct session *s, unsigned i, const Rill__Frames *m,
                              char text[REASON_BYTES])
{
    const rill_port *q = &s->lane->ports->list[i].info;
    if (m->type == RILL__ELEMENT_TYPE__TYPE_NONE || (int) m->type == (int) q->type + 1)
        return NULL;
    const ProtobufCEnumValue *v =
        protobuf_c_enum_descriptor_get_value(&rill__element_type__descriptor, (int) m->type);
    snprintf(text, REASON_BYTES, "input '%.80s' takes %s, not %s", q->name, rill_type_name(q->type),
             v ? v->name : "a type of that number");
    return text;
}

static const char *frames_check(struct session *s, unsigned i, const Rill__Frames *m,
                                Rill__Code *code, char text[REASON_BYTES])
{
    const char *why;
    *code = RILL__CODE__BAD_FORMAT;
    if ((why = type_check(s, i, m, text)) || (why = bytes_check(s, i, m->data.len, text)))
        return why;
    *code = RILL__CODE__SEQ;
    if ((why = order_check(s, i, m, text)))
        return why;
    *code = RILL__CODE__FLOW_CONTROL;
    if ((why = credit_check(s, i, m->data.len, text)))
        return why;
    *code = RILL__CODE__BAD_ARG;
    return beside_check(s, i, m->data.len, text);
}

static void not_finite_count(struct session *s, const struct lane_port *q, const Rill__Frames *m)
{
    float x;
    if (q->info.kind != RILL_PORT_AUDIO || m->at_bytes % sizeof x)
        return;
    for (size_t at = 0; at + sizeof x <= m->data.len; at += sizeof x) {
        memcpy(&x, m->data.data + at, sizeof x);
        s->not_finite += !isfinite(x);
    }
}

static bool command_put(struct session *s, uint64_t port)
{
    struct session_ports *p = s->ports;
    p->command->port = port;
    for (unsigned i = 0; i < s->lane->ports->n_in; i++)
        p->command->counts[i] = p->list[i].frames;
    return lane_ports_command(s->lane->ports, p->command);
}

/* A command for each frame that is set now; credit leaves room for it. */
static void frames_put(struct session *s, unsigned i, const Rill__Frames *m)
{
    struct lane_port *q = &s->lane->ports->list[i];
    struct session_port *p = &s->ports->list[i];
    uint64_t before = p->frames;
    size_t bytes = p->part_bytes + m->data.len;
    struct lane_arrival a = { .count = before + bytes / q->frame_bytes, .us = clock_now_us() };
    /* Written before the frames, so that the worker never sees frames without their arrival. */
    if (i == s->lane->ports->clock && a.count > before && ring_room(&s->lane->arrivals))
        ring_write(&s->lane->arrivals, &a, 1);
    if (m->data.len)
        ring_write(&q->ring, m->data.data, m->data.len);
    p->part_bytes = bytes % q->frame_bytes;
    for (p->frames = before; p->frames < a.count && q->is_set;) {
        p->frames++;
        p->is_set |= command_put(s, i);
    }
    p->frames = a.count;
    s->audio_us = a.us;
    if (i == s->lane->ports->clock)
        s->received = p->frames;
}

void session_frames(struct session *s, const Rill__Frames *m)
{
    Rill__Code code;
    char text[REASON_BYTES];
    if (!s->ports) {
        conn_error(s->conn, 0, s->id, RILL__CODE__BAD_ARG, false,
                   "stream %u was opened by OpenStream and takes Audio; OpenPorts opens one that "
                   "takes Frames",
                   s->id);
        return;
    }
    if (!s->lane) {
        session_fail(s, RILL__CODE__FLOW_CONTROL, "frames before Opened; there is no credit yet");
        return;
    }
    int i = input_find(s->lane->ports, m->port);
    if (i < 0) {
        session_fail(s, RILL__CODE__BAD_ARG, input_words(s->lane->ports, m->port, text));
        return;
    }
    if (s->finishing) {
        conn_error(s->conn, 0, s->id, RILL__CODE__BAD_ARG, false,
                   "frames after Finish are not taken");
        return;
    }
    const char *why = frames_check(s, (unsigned) i, m, &code, text);
    if (why) {
        session_fail(s, code, why);
        return;
    }
    not_finite_count(s, &s->lane->ports->list[i], m);
    frames_put(s, (unsigned) i, m);
    s->conn->last_audio = &s->link;
    s->n_messages++;
    worker_wake(s->worker);
}

const char *session_ports_end_check(const struct session *s, char text[REASON_BYTES])
{
    const struct lane_ports *l = s->lane ? s->lane->ports : NULL;
    for (unsigned i = 0; l && i < l->n_in; i++) {
        const struct session_port *p = &s->ports->list[i], *first = &s->ports->list[0];
        const char *name = l->list[i].info.name;
        if (p->part_bytes)
            snprintf(text, REASON_BYTES,
                     "input '%.80s' ends within frame %llu: %zu of its %zu bytes came", name,
                     (unsigned long long) p->frames, p->part_bytes, l->list[i].frame_bytes);
        else if (l->is_timeless && p->frames != first->frames)
            snprintf(
                text, REASON_BYTES,
                "the model wants a frame of each input for every run, but %llu of '%.80s' came "
                "and %llu of '%.80s'",
                (unsigned long long) first->frames, l->list[0].info.name,
                (unsigned long long) p->frames, name);
        else
            continue;
        return text;
    }
    return NULL;
}

void session_ports_reset(struct session *s, uint32_t req)
{
    char text[REASON_BYTES];
    const char *why = session_ports_end_check(s, text);
    const struct lane_ports *l = s->lane->ports;
    uint64_t sum = 0;
    for (unsigned i = 0; i < l->n_in; i++)
        sum += s->ports->list[i].frames;
    if (why) {
        session_fail(s, RILL__CODE__BAD_FORMAT, why);
        return;
    }
    if (sum == s->ports->reset_at)
        return; /* nothing came since the last reset */
    if (!command_put(s, COMMAND_RESET)) {
        s->req = req;
        session_fail(
            s, RILL__CODE__OVERLOADED,
            "too many resets ahead of the work: frames that follow would join those before");
        return;
    }
    s->ports->reset_at = sum;
    for (unsigned i = 0; i < l->n_in; i++)
        s->ports->list[i].is_set = false;
    worker_wake(s->worker);
}
