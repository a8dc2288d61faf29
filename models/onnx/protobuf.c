/* SPDX-License-Identifier: MIT */
#include "models/onnx/protobuf.h"
#include "models/onnx/onnx.pb-c.h"

#include <inttypes.h>

/* A graph in a graph takes three messages: graph, node, attribute. The innermost one holds a few
 * more. */
#define DEPTH_MAX (3 * 64 + 16)

enum pb_type { PB_VARINT, PB_I64, PB_LEN, PB_GROUP, PB_GROUP_END, PB_I32, N_PB_TYPES };

struct frame {
    const ProtobufCMessageDescriptor *desc;
    size_t end;
    uint32_t seen; /* bit per field number */
};

struct walk {
    const uint8_t *data;
    size_t at;
    const struct onnx_limits *limits;
    struct frame stack[DEPTH_MAX];
    unsigned depth, graphs;
    uint64_t messages, bytes;
    rill_error *err;
};

#define ROUND(n) (((uint64_t) (n) + 63) & ~(uint64_t) 63)
#define FIELD_BYTES 80 /* what the unpacker notes per field while it reads a message, at most */
#define UNKNOWN_BYTES (sizeof(ProtobufCMessageUnknownField))

static rill_status malformed(struct walk *s, const char *what)
{
    const struct frame *f = &s->stack[s->depth - 1];
    return err_set(s->err, RILL_MALFORMED,
                   "byte %zu: %s in a %s message; the file is damaged or no ONNX "
                   "file",
                   s->at, what, f->desc->short_name);
}

static rill_status read_varint(struct walk *s, uint64_t *ret)
{
    const struct frame *f = &s->stack[s->depth - 1];
    uint64_t v = 0;
    for (unsigned shift = 0; shift < 70; shift += 7) {
        if (s->at >= f->end)
            return malformed(s, "a number is cut off");
        uint8_t b = s->data[s->at++];
        v |= (uint64_t) (b & 127) << (shift < 64 ? shift : 63);
        if (!(b & 128)) {
            *ret = v;
            return RILL_OK;
        }
    }
    return malformed(s, "a number is longer than ten bytes");
}

static rill_status charge(struct walk *s, uint64_t bytes)
{
    s->bytes += bytes; /* no overflow: below 2^9 for each of at most 2^32 bytes of file */
    if (s->bytes > s->limits->unpack_bytes)
        return err_set(s->err, RILL_LIMIT,
                       "byte %zu: unpacking the file would take more than "
                       "%" PRIu64 " bytes of memory",
                       s->at, s->limits->unpack_bytes);
    return RILL_OK;
}

static size_t element_bytes(ProtobufCType t)
{
    switch (t) {
    case PROTOBUF_C_TYPE_BYTES: return sizeof(ProtobufCBinaryData);
    case PROTOBUF_C_TYPE_INT32:
    case PROTOBUF_C_TYPE_FLOAT: return 4;
    default: return 8;
    }
}

static enum pb_type field_wire(const ProtobufCFieldDescriptor *f)
{
    switch (f->type) {
    case PROTOBUF_C_TYPE_FLOAT: return PB_I32;
    case PROTOBUF_C_TYPE_DOUBLE: return PB_I64;
    case PROTOBUF_C_TYPE_BYTES:
    case PROTOBUF_C_TYPE_MESSAGE: return PB_LEN;
    default: return PB_VARINT;
    }
}

static rill_status push(struct walk *s, const ProtobufCMessageDescriptor *desc, size_t end)
{
    if (desc == &onnxpb__graph__descriptor && ++s->graphs > s->limits->graphs_deep)
        return err_set(s->err, RILL_LIMIT, "byte %zu: graphs are nested more than %u deep", s->at,
                       s->limits->graphs_deep);
    if (s->depth == DEPTH_MAX)
        return err_set(s->err, RILL_LIMIT, "byte %zu: messages are nested more than %d deep", s->at,
                       DEPTH_MAX);
    if (++s->messages > s->limits->messages)
        return err_set(s->err, RILL_LIMIT, "byte %zu: the file holds more than %u messages", s->at,
                       s->limits->messages);
    s->stack[s->depth++] = (struct frame) { .desc = desc, .end = end };
    return charge(s, ROUND(desc->sizeof_message));
}

/* A run of packed numbers: elements are counted by the bytes that end a varint. */
static rill_status packed(struct walk *s, const ProtobufCFieldDescriptor *f, uint64_t n)
{
    enum pb_type w = field_wire(f);
    uint64_t width = w == PB_I32 ? 4 : 8, count = n / width;
    if (w != PB_VARINT && n % width)
        return malformed(s, "a list of numbers has a broken length");
    if (w == PB_VARINT) {
        count = 0;
        for (uint64_t i = 0; i < n; i++)
            count += !(s->data[s->at + i] & 128);
        if (n && (s->data[s->at + n - 1] & 128))
            return malformed(s, "a list of numbers is cut off");
    }
    return charge(s, count * element_bytes(f->type));
}

static rill_status length_field(struct walk *s, const ProtobufCFieldDescriptor *f)
{
    const struct frame *top = &s->stack[s->depth - 1];
    uint64_t n;
    TRY(read_varint(s, &n));
    if (n > top->end - s->at)
        return malformed(s, "a length reaches past the end");
    if (f && f->type == PROTOBUF_C_TYPE_MESSAGE)
        return push(s, f->descriptor, s->at + (size_t) n);
    if (f && f->type != PROTOBUF_C_TYPE_BYTES)
        TRY(packed(s, f, n));
    else
        TRY(charge(s, ROUND(n + 1)));
    s->at += (size_t) n;
    return RILL_OK;
}

static rill_status skip_fixed(struct walk *s, size_t n)
{
    if (n > s->stack[s->depth - 1].end - s->at)
        return malformed(s, "a number is cut off");
    s->at += n;
    return RILL_OK;
}

static rill_status value(struct walk *s, const ProtobufCFieldDescriptor *f, enum pb_type w)
{
    uint64_t v;
    switch (w) {
    case PB_VARINT: return read_varint(s, &v);
    case PB_I64: return skip_fixed(s, 8);
    case PB_I32: return skip_fixed(s, 4);
    case PB_LEN: return length_field(s, f);
    default: return malformed(s, "a group (an encoding that no ONNX file uses)");
    }
}

static rill_status field(struct walk *s)
{
    struct frame *top = &s->stack[s->depth - 1];
    uint64_t key;
    TRY(read_varint(s, &key));
    enum pb_type w = (enum pb_type)(key & 7);
    uint64_t id = key >> 3;
    if (id == 0 || id > UINT32_MAX >> 3 || w >= N_PB_TYPES)
        return malformed(s, "no field has that number");
    const ProtobufCFieldDescriptor *f =
        protobuf_c_message_descriptor_get_field(top->desc, (unsigned) id);
    bool repeated = f && f->label == PROTOBUF_C_LABEL_REPEATED, first = f && !(top->seen >> id & 1);
    if (f)
        top->seen |= (uint32_t) 1 << id; /* all field numbers of the schema are below 32 */
    if (f && !first && f->type == PROTOBUF_C_TYPE_MESSAGE && !repeated)
        return malformed(s, "a part that may stand once comes twice");
    bool list = repeated && w == PB_LEN && f->type != PROTOBUF_C_TYPE_MESSAGE;
    if (f && w != field_wire(f) && !list)
        return malformed(s, "a field has the wrong wire type");
    TRY(charge(s,
               FIELD_BYTES + (f ? 0 : UNKNOWN_BYTES + 64) +
                   (repeated ? element_bytes(f->type) : 0) + (repeated && first ? 64 : 0)));
    return value(s, f, w);
}

rill_status onnx_wire_check(const uint8_t *data, size_t n, const ProtobufCMessageDescriptor *desc,
                            const struct onnx_limits *limits, uint64_t *ret_unpack_bytes,
                            rill_error *reterr)
{
    struct walk s = { .data = data, .limits = limits, .err = reterr };
    TRY(push(&s, desc, n));
    while (s.depth > 0) {
        struct frame *top = &s.stack[s.depth - 1];
        if (s.at < top->end) {
            TRY(field(&s));
            continue;
        }
        s.graphs -= top->desc == &onnxpb__graph__descriptor;
        s.depth--;
    }
    *ret_unpack_bytes = s.bytes;
    return RILL_OK;
}

static void *unpack_alloc(void *arena, size_t n)
{
    return arena_alloc(arena, n);
}

static void unpack_free(void *arena, void *p)
{
    (void) arena;
    (void) p;
}

rill_status onnx_unpack(const uint8_t *data, size_t n, const ProtobufCMessageDescriptor *desc,
                        const struct onnx_limits *limits, struct arena *a, ProtobufCMessage **ret,
                        rill_error *reterr)
{
    uint64_t bytes;
    TRY(onnx_wire_check(data, n, desc, limits, &bytes, reterr));
    a->limit_bytes = a->used_bytes + (size_t) bytes + 4096;
    ProtobufCAllocator alloc = { .alloc = unpack_alloc, .free = unpack_free, .allocator_data = a };
    *ret = protobuf_c_message_unpack(desc, &alloc, n, data);
    if (a->ran_out)
        return err_set(reterr, RILL_NOMEM, "no memory to unpack the file (%" PRIu64 " bytes)",
                       bytes);
    return *ret ? RILL_OK : err_set(reterr, RILL_MALFORMED, "the file is no ONNX file");
}
