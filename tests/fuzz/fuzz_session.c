/* SPDX-License-Identifier: MIT */
/* Any sequence of messages that parse, over several streams of one connection: after each sequence
 * the connection still answers, or was closed. The messages are those of the protocol's own tables,
 * so that new ones are tried as well. */
#include "rilld.pb-c.h"
#include "tests/fuzz/daemon_inside.h"
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>

#define MESSAGES_MAX 64
#define LAST_REQ 0x7fffffff
#define POOL_BYTES 65536
#define STREAMS 4

/* Submessages and lists of one message. */
static _Alignas(16) uint8_t pool[POOL_BYTES];
static size_t pool_used;
static uint32_t seq[STREAMS];
static uint64_t pos[STREAMS];

static void *pool_take(size_t n)
{
    n = (n + 15) & ~(size_t) 15;
    if (n > sizeof pool - pool_used)
        return NULL;
    void *p = pool + pool_used;
    pool_used += n;
    memset(p, 0, n);
    return p;
}

static uint64_t number_take(struct bytes_in *b)
{
    static const uint64_t wild[] = { 8000, 16000, 44100, 48000,      192000,     0,
                                     1,    255,   65535, UINT32_MAX, UINT64_MAX, 1u << 31 };
    uint8_t k = take_u8(b);
    return k < 160 ? k % STREAMS : wild[k % 12];
}

static const char *text_take(struct bytes_in *b)
{
    static const char *const texts[] = { "",     "",           "wiener", "vad",
                                         "both", "trimmed",    "broken", "slow",
                                         "../x", "a\xff",      "mic",    "vad_threshold",
                                         "0.5",  "max_streams" };
    return texts[take_u8(b) % (sizeof texts / sizeof *texts)];
}

static void message_fill(ProtobufCMessage *m, struct bytes_in *b, int depth);

static ProtobufCMessage *message_new(const ProtobufCMessageDescriptor *d, struct bytes_in *b,
                                     int depth)
{
    ProtobufCMessage *m = pool_take(d->sizeof_message);
    if (!m)
        return NULL;
    d->message_init(m);
    message_fill(m, b, depth);
    return m;
}

static bool value_put(void *at, const ProtobufCFieldDescriptor *f, struct bytes_in *b, int depth)
{
    static uint8_t noise[8192];
    ProtobufCBinaryData data = { .len = (size_t) take_u8(b) * 24, .data = noise };
    float x = (float) take_u8(b) / 64;
    uint64_t v = number_take(b);
    switch (f->type) {
    case PROTOBUF_C_TYPE_STRING: *(const char **) at = text_take(b); return true;
    case PROTOBUF_C_TYPE_BYTES: *(ProtobufCBinaryData *) at = data; return true;
    case PROTOBUF_C_TYPE_MESSAGE:
        return depth < 3 &&
            (*(ProtobufCMessage **) at = message_new(f->descriptor, b, depth + 1)) != NULL;
    case PROTOBUF_C_TYPE_FLOAT: *(float *) at = x; return true;
    case PROTOBUF_C_TYPE_DOUBLE: *(double *) at = (double) x; return true;
    case PROTOBUF_C_TYPE_BOOL: *(protobuf_c_boolean *) at = v & 1; return true;
    case PROTOBUF_C_TYPE_ENUM: *(int *) at = (int) (v % 7); return true;
    case PROTOBUF_C_TYPE_INT64:
    case PROTOBUF_C_TYPE_UINT64:
    case PROTOBUF_C_TYPE_SINT64:
    case PROTOBUF_C_TYPE_FIXED64:
    case PROTOBUF_C_TYPE_SFIXED64: *(uint64_t *) at = v; return true;
    default: *(uint32_t *) at = (uint32_t) v; return true;
    }
}

static size_t value_bytes(const ProtobufCFieldDescriptor *f)
{
    switch (f->type) {
    case PROTOBUF_C_TYPE_BYTES: return sizeof(ProtobufCBinaryData);
    case PROTOBUF_C_TYPE_BOOL: return sizeof(protobuf_c_boolean);
    case PROTOBUF_C_TYPE_FLOAT:
    case PROTOBUF_C_TYPE_ENUM:
    case PROTOBUF_C_TYPE_INT32:
    case PROTOBUF_C_TYPE_UINT32:
    case PROTOBUF_C_TYPE_SINT32:
    case PROTOBUF_C_TYPE_FIXED32:
    case PROTOBUF_C_TYPE_SFIXED32: return 4;
    default: return 8;
    }
}

static void list_put(uint8_t *m, const ProtobufCFieldDescriptor *f, struct bytes_in *b, int depth)
{
    size_t want = take_u8(b) % 4, n = 0, bytes = value_bytes(f);
    uint8_t *list = pool_take(want * 8 + 8);
    while (list && n < want && value_put(list + n * bytes, f, b, depth))
        n++;
    *(void **) (void *) (m + f->offset) = list;
    *(size_t *) (void *) (m + f->quantifier_offset) = n;
}

static void message_fill(ProtobufCMessage *msg, struct bytes_in *b, int depth)
{
    uint8_t *m = (uint8_t *) msg;
    for (unsigned i = 0; i < msg->descriptor->n_fields; i++) {
        const ProtobufCFieldDescriptor *f = &msg->descriptor->fields[i];
        if (f->label == PROTOBUF_C_LABEL_REPEATED)
            list_put(m, f, b, depth);
        else if (take_u8(b) % 8)
            value_put(m + f->offset, f, b, depth);
    }
}

/* Mostly what a client would say next. */
static void audio_follow(Rill__Audio *a, struct bytes_in *b)
{
    a->stream %= STREAMS;
    if (take_u8(b) % 16 == 0)
        return;
    a->discont = false;
    a->seq = seq[a->stream]++;
    a->pos = pos[a->stream];
    pos[a->stream] += a->pcm.len / 4;
}

static void frames_follow(Rill__Frames *a, struct bytes_in *b)
{
    a->stream %= STREAMS;
    if (take_u8(b) % 16 == 0)
        return;
    a->port = (char *) (uintptr_t) (take_u8(b) % 4 ? "pcm" : "");
    a->type = (Rill__ElementType) (take_u8(b) % 8 ? take_u8(b) % 2 : a->type);
    a->data.len -= take_u8(b) % 8 ? a->data.len % 4 : 0;
    a->pos = pos[a->stream];
    a->at_bytes = take_u8(b) % 32 ? 0 : a->at_bytes;
    pos[a->stream] += a->data.len / 4;
}

static void open_ports_follow(Rill__OpenPorts *o, struct bytes_in *b)
{
    o->stream %= STREAMS;
    pos[o->stream] = 0;
    o->n_want = take_u8(b) % 8 ? 0 : o->n_want;
    o->pace = (Rill__Pace) (take_u8(b) % 2);
}

static void open_follow(Rill__OpenStream *o, struct bytes_in *b)
{
    static const uint32_t rates[] = { 16000, 48000, 8000, 44100 };
    Rill__Pcm *in = take_u8(b) % 8 ? pool_take(sizeof *in) : NULL;
    o->stream %= STREAMS;
    seq[o->stream] = 0;
    pos[o->stream] = 0;
    if (!in)
        return;
    rill__pcm__init(in);
    in->rate = rates[take_u8(b) % 4];
    in->channels = 1;
    in->enc = RILL__ENC__ENC_F32LE;
    o->in = in;
    o->out = NULL;
    o->n_opt = o->n_want = 0;
    o->pace = (Rill__Pace) (take_u8(b) % 2);
}

/* The member that the next byte picks; audio, frames and opening more often than the rest. */
static const ProtobufCFieldDescriptor *member_take(struct bytes_in *b)
{
    const ProtobufCMessageDescriptor *d = &rill__client_frame__descriptor;
    uint8_t k = take_u8(b);
    if (k < 80)
        return protobuf_c_message_descriptor_get_field_by_name(d, "audio");
    if (k < 120)
        return protobuf_c_message_descriptor_get_field_by_name(d, "open");
    if (k < 144)
        return protobuf_c_message_descriptor_get_field_by_name(d, "frames");
    if (k < 160)
        return protobuf_c_message_descriptor_get_field_by_name(d, "open_ports");
    return &d->fields[k % d->n_fields];
}

static size_t message_make(uint8_t *to, size_t cap, struct bytes_in *b)
{
    Rill__ClientFrame f = RILL__CLIENT_FRAME__INIT;
    const ProtobufCFieldDescriptor *field = member_take(b);
    pool_used = 0;
    f.req = take_u8(b);
    if (field->type == PROTOBUF_C_TYPE_MESSAGE) {
        f.m_case = (Rill__ClientFrame__MCase) field->id;
        f.audio = (Rill__Audio *) message_new(field->descriptor, b, 0);
        if (!f.audio)
            return 0;
    }
    if (f.m_case == RILL__CLIENT_FRAME__M_AUDIO)
        audio_follow(f.audio, b);
    if (f.m_case == RILL__CLIENT_FRAME__M_OPEN)
        open_follow(f.open, b);
    if (f.m_case == RILL__CLIENT_FRAME__M_FRAMES)
        frames_follow(f.frames, b);
    if (f.m_case == RILL__CLIENT_FRAME__M_OPEN_PORTS)
        open_ports_follow(f.open_ports, b);
    size_t n = rill__client_frame__get_packed_size(&f);
    if (n > cap - 4 || !n)
        return 0;
    for (int i = 0; i < 4; i++)
        to[i] = (uint8_t) (n >> (8 * i));
    rill__client_frame__pack(&f, to + 4);
    return n + 4;
}

static bool ping_send(int fd)
{
    uint8_t b[64];
    Rill__ClientFrame f = RILL__CLIENT_FRAME__INIT;
    Rill__Ping ping = RILL__PING__INIT;
    f.req = LAST_REQ;
    f.m_case = RILL__CLIENT_FRAME__M_PING;
    f.ping = &ping;
    size_t n = rill__client_frame__get_packed_size(&f);
    for (int i = 0; i < 4; i++)
        b[i] = (uint8_t) (n >> (8 * i));
    rill__client_frame__pack(&f, b + 4);
    return inside_send(fd, b, n + 4);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    static const uint8_t hello[] = { 'R', 'I', 'L', 'L', 1, 0, 0, 0, 4, 0, 0, 0, 8, 1, 0x12, 0 };
    static uint8_t message[60000];
    struct bytes_in b = { data, data + n };
    int fd = inside_connect();
    bool open = inside_send(fd, hello, sizeof hello);
    memset(seq, 0, sizeof seq);
    memset(pos, 0, sizeof pos);
    for (int i = 0; i < MESSAGES_MAX && open && b.at < b.end; i++) {
        size_t m = message_make(message, sizeof message, &b);
        open = !m || inside_send(fd, message, m);
    }
    if (open && ping_send(fd))
        inside_drain(fd, LAST_REQ);
    inside_close(fd);
    return 0;
}
