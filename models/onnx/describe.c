/* SPDX-License-Identifier: MIT */
#include "models/onnx/describe.h"
#include "models/onnx/message.h"
#include "models/onnx/protobuf.h"

#include <stdlib.h>
#include <string.h>

/* Numbers of fields in onnx.proto. */
enum { MODEL_GRAPH = 7, MODEL_META = 14 };
enum { GRAPH_INITIALIZER = 5, GRAPH_INPUT = 11, GRAPH_OUTPUT = 12, TENSOR_NAME = 8 };
enum { WIRE_VARINT = 0, WIRE_64 = 1, WIRE_LENGTH = 2, WIRE_32 = 5 };

#define FIELDS_MAX ((uint64_t) 1 << 17) /* of one message */
#define PORTS_MAX 4096

struct part {
    uint64_t field;
    const uint8_t *data; /* of a field with a length, else NULL */
    size_t n;
};

struct cursor {
    const uint8_t *at, *end;
    uint64_t n_fields;
};

struct describing {
    struct onnx_about *about;
    struct arena *arena;
    rill_error *err;
    uint32_t room_in, room_out, room_meta, n_known, room_known;
    const char **known; /* names of initial values */
};

static rill_status damaged(const struct describing *d)
{
    return err_set(d->err, RILL_MALFORMED, "it is damaged or no ONNX file");
}

static bool varint(struct cursor *c, uint64_t *ret)
{
    *ret = 0;
    for (unsigned shift = 0; shift < 64 && c->at < c->end; shift += 7) {
        uint8_t b = *c->at++;
        *ret |= (uint64_t) (b & 127) << shift;
        if (!(b & 128))
            return true;
    }
    return false;
}

/* The next field; false at the end, and where *bad is set. */
static bool part_next(struct cursor *c, struct part *ret, bool *bad)
{
    uint64_t key, n = 0;
    if (c->at == c->end)
        return false;
    *bad = !varint(c, &key) || ++c->n_fields > FIELDS_MAX;
    if (*bad)
        return false;
    unsigned wire = key & 7;
    *ret = (struct part) { .field = key >> 3 };
    if (wire == WIRE_VARINT)
        *bad = !varint(c, &n);
    else if (wire == WIRE_LENGTH)
        *bad = !varint(c, &n);
    else
        *bad = wire != WIRE_64 && wire != WIRE_32;
    size_t skip = wire == WIRE_VARINT ? 0
        : wire == WIRE_64             ? 8
        : wire == WIRE_32             ? 4
        : n > SIZE_MAX                ? SIZE_MAX
                                      : (size_t) n;
    *bad = *bad || skip > (size_t) (c->end - c->at);
    if (*bad)
        return false;
    ret->data = wire == WIRE_LENGTH ? c->at : NULL;
    ret->n = skip;
    c->at += skip;
    return true;
}

static rill_status message_read(const struct describing *d, const struct part *p,
                                const ProtobufCMessageDescriptor *desc, ProtobufCMessage **ret)
{
    const struct onnx_limits limits = { .graphs_deep = 16,
                                        .messages = 4096,
                                        .unpack_bytes = 1 << 20 };
    const size_t limit = d->arena->limit_bytes; /* which unpacking sets */
    rill_status s = onnx_unpack(p->data, p->n, desc, &limits, d->arena, ret, d->err);
    d->arena->limit_bytes = limit;
    return s;
}

static rill_status no_room(const struct describing *d)
{
    return err_set(d->err, RILL_NOMEM, "out of memory");
}

static void shape_read(struct onnx_port *ret, const Onnxpb__Shape *s)
{
    ret->rank = s && s->n_dim <= ONNX_PORT_RANK_MAX ? (int) s->n_dim : -1;
    for (int i = 0; i < ret->rank; i++)
        ret->dim[i] =
            s->dim[i]->has_dim_value && s->dim[i]->dim_value > 0 ? s->dim[i]->dim_value : -1;
}

static rill_status port_add(struct describing *d, const struct part *p, struct onnx_port **list,
                            uint32_t *n, uint32_t *room)
{
    ProtobufCMessage *m;
    if (*n == PORTS_MAX)
        return err_set(d->err, RILL_LIMIT, "more than %d inputs or outputs", PORTS_MAX);
    struct onnx_port *more = arena_grow(d->arena, *list, *n, room, sizeof **list);
    if (!more)
        return no_room(d);
    TRY(message_read(d, p, &onnxpb__value_info__descriptor, &m));
    const Onnxpb__ValueInfo *v = (const Onnxpb__ValueInfo *) m;
    const Onnxpb__TensorType *t = v->type ? v->type->tensor_type : NULL;
    *list = more;
    more[*n] =
        (struct onnx_port) { .name = onnx_text(d->arena, v->name), .type = t ? t->elem_type : 0 };
    shape_read(&more[*n], t ? t->shape : NULL);
    return more[(*n)++].name ? RILL_OK : no_room(d);
}

static rill_status meta_add(struct describing *d, const struct part *p)
{
    struct onnx_about *f = d->about;
    ProtobufCMessage *m;
    struct onnx_entry *more =
        arena_grow(d->arena, f->meta, f->n_meta, &d->room_meta, sizeof *f->meta);
    if (!more)
        return no_room(d);
    TRY(message_read(d, p, &onnxpb__entry__descriptor, &m));
    const Onnxpb__Entry *e = (const Onnxpb__Entry *) m;
    f->meta = more;
    more[f->n_meta] =
        (struct onnx_entry) { onnx_text(d->arena, e->key), onnx_text(d->arena, e->value) };
    return more[f->n_meta].key && more[f->n_meta++].value ? RILL_OK : no_room(d);
}

/* Files of old versions list initial values as inputs, too. */
static rill_status known_add(struct describing *d, const struct part *p)
{
    struct cursor c = { p->data, p->data + p->n, 0 };
    struct part field;
    bool bad = false;
    while (part_next(&c, &field, &bad))
        if (field.field == TENSOR_NAME && field.data) {
            const char **more =
                arena_grow(d->arena, d->known, d->n_known, &d->room_known, sizeof *d->known);
            if (!more || !(more[d->n_known] = arena_printable(d->arena, field.data, field.n)))
                return no_room(d);
            d->known = more;
            d->n_known++;
        }
    return bad ? damaged(d) : RILL_OK;
}

static rill_status graph_part(struct describing *d, const struct part *p)
{
    struct onnx_about *f = d->about;
    switch (p->field) {
    case GRAPH_INITIALIZER: return known_add(d, p);
    case GRAPH_INPUT: return port_add(d, p, &f->in, &f->n_in, &d->room_in);
    case GRAPH_OUTPUT: return port_add(d, p, &f->out, &f->n_out, &d->room_out);
    default: return RILL_OK;
    }
}

static rill_status graph_read(struct describing *d, const struct part *graph)
{
    struct cursor c = { graph->data, graph->data + graph->n, 0 };
    struct part p;
    bool bad = false;
    while (part_next(&c, &p, &bad))
        if (p.data)
            TRY(graph_part(d, &p));
    return bad ? damaged(d) : RILL_OK;
}

static int names_compare(const void *a, const void *b)
{
    return strcmp(*(const char *const *) a, *(const char *const *) b);
}

/* Both lists are as long as the file likes. */
static void known_remove(struct describing *d)
{
    struct onnx_about *f = d->about;
    uint32_t n = 0;
    if (!d->n_known)
        return;
    qsort(d->known, d->n_known, sizeof *d->known, names_compare);
    for (uint32_t i = 0; i < f->n_in; i++)
        if (!bsearch(&f->in[i].name, d->known, d->n_known, sizeof *d->known, names_compare))
            f->in[n++] = f->in[i];
    f->n_in = n;
}

rill_status onnx_describe(struct onnx_about *ret, struct arena *a, const uint8_t *data, size_t n,
                          rill_error *reterr)
{
    struct onnx_about about = { 0 };
    struct describing d = { .about = &about, .arena = a, .err = reterr };
    struct cursor c = { data, data + n, 0 };
    struct part p;
    bool bad = false, has_graph = false;
    while (part_next(&c, &p, &bad)) {
        if (p.field == MODEL_GRAPH && p.data)
            TRY(graph_read(&d, &p));
        if (p.field == MODEL_META && p.data)
            TRY(meta_add(&d, &p));
        has_graph |= p.field == MODEL_GRAPH;
    }
    if (bad || !has_graph)
        return damaged(&d);
    known_remove(&d);
    *ret = about;
    return RILL_OK;
}

const char *onnx_about_meta(const struct onnx_about *f, const char *key)
{
    for (uint32_t i = 0; i < f->n_meta; i++)
        if (!strcmp(f->meta[i].key, key))
            return f->meta[i].value;
    return NULL;
}
