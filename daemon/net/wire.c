/* SPDX-License-Identifier: MIT */
#include "daemon/net/wire.h"

#include <stdio.h>
#include <string.h>

/* Part of a message's bytes; at NULL: malformed. */
struct span {
    const uint8_t *at, *end;
};

static uint64_t varint(struct span *s)
{
    uint64_t v = 0;
    for (unsigned shift = 0; s->at && shift < 64; shift += 7) {
        if (s->at == s->end)
            break;
        uint8_t b = *s->at++;
        v |= (uint64_t) (b & 0x7f) << shift;
        if (!(b & 0x80))
            return v;
    }
    s->at = NULL;
    return 0;
}

static struct span piece(struct span *s, uint64_t n)
{
    struct span p = { s->at, s->at };
    if (!s->at || n > (uint64_t) (s->end - s->at)) {
        s->at = NULL;
        return (struct span) { NULL, NULL };
    }
    s->at += n;
    p.end = s->at;
    return p;
}

/* Of an entry of a map, which has its key in front: the key without what is no plain character. */
static void key_name(const ProtobufCFieldDescriptor *map, struct span entry,
                     char ret_where[WIRE_WHERE_BYTES])
{
    char key[40] = "";
    if (varint(&entry) != (1 << 3 | 2))
        return;
    struct span text = piece(&entry, varint(&entry));
    for (size_t n = 0; text.at && text.at < text.end && n + 1 < sizeof key; text.at++)
        if (*text.at > ' ' && *text.at < 0x7f)
            key[n++] = (char) *text.at;
    snprintf(ret_where, WIRE_WHERE_BYTES, "%.40s '%s'", map->name, key);
}

static bool is_map(const ProtobufCFieldDescriptor *f)
{
    const ProtobufCMessageDescriptor *d = f->descriptor;
    return d->n_fields == 2 && !strcmp(d->fields[0].name, "key") &&
        d->fields[0].type == PROTOBUF_C_TYPE_STRING && !strcmp(d->fields[1].name, "value");
}

static bool field_whole(const ProtobufCFieldDescriptor *f, struct span p,
                        char ret_where[WIRE_WHERE_BYTES])
{
    if (!f || !p.at)
        return p.at != NULL;
    size_t n = (size_t) (p.end - p.at);
    if (f->type == PROTOBUF_C_TYPE_STRING && memchr(p.at, 0, n)) {
        snprintf(ret_where, WIRE_WHERE_BYTES, "%.40s", f->name);
        return false;
    }
    if (f->type != PROTOBUF_C_TYPE_MESSAGE || wire_strings_whole(f->descriptor, p.at, n, ret_where))
        return true;
    if (is_map(f))
        key_name(f, p, ret_where);
    return false;
}

bool wire_strings_whole(const ProtobufCMessageDescriptor *d, const uint8_t *bytes, size_t n,
                        char ret_where[WIRE_WHERE_BYTES])
{
    struct span s = { bytes, bytes + n };
    while (s.at && s.at < s.end) {
        uint64_t tag = varint(&s);
        const ProtobufCFieldDescriptor *f =
            protobuf_c_message_descriptor_get_field(d, (unsigned) (tag >> 3));
        switch (tag & 7) {
        case 0: varint(&s); break;
        case 1: piece(&s, 8); break;
        case 2:
            if (!field_whole(f, piece(&s, varint(&s)), ret_where))
                return false;
            break;
        case 5: piece(&s, 4); break;
        default: return false;
        }
    }
    return s.at != NULL;
}

uint32_t wire_audio_stream(const uint8_t *bytes, size_t n)
{
    enum { REQ = 1 << 3, AUDIO = 4 << 3 | 2, FRAMES = 17 << 3 | 2, STREAM = 1 << 3 };
    struct span s = { bytes, bytes + n };
    uint64_t tag = varint(&s);
    if (tag == REQ) {
        varint(&s);
        tag = varint(&s);
    }
    if (tag != AUDIO && tag != FRAMES)
        return 0;
    varint(&s);
    return varint(&s) == STREAM ? (uint32_t) varint(&s) : 0;
}

bool wire_enum_has(const ProtobufCEnumDescriptor *d, int value)
{
    return protobuf_c_enum_descriptor_get_value(d, value) != NULL;
}
