/* SPDX-License-Identifier: MIT */
#include "models/onnx/internal.h"
#include "models/onnx/protobuf.h"
#include "models/onnx/unroll.h"

#include <inttypes.h>
#include <string.h>

static struct onnx_limits limits_complete(const struct onnx_limits *given, size_t file_bytes)
{
    struct onnx_limits l = given ? *given : (struct onnx_limits) { 0 };
    l.graphs_deep = l.graphs_deep == 0 ? 16 : l.graphs_deep > 64 ? 64 : l.graphs_deep;
    l.messages = l.messages ? l.messages : 400000;
    l.unpack_bytes =
        l.unpack_bytes ? l.unpack_bytes : ((uint64_t) 64 << 20) + 16 * (uint64_t) file_bytes;
    l.tensor_bytes = l.tensor_bytes ? l.tensor_bytes : (uint64_t) 4 << 30;
    return l;
}

static rill_status read_opset(struct reader *r, const Onnxpb__Model *m)
{
    const Onnxpb__OpsetId *set = onnx_message_opset(m);
    r->version.other_domains = !set && m->n_opset_import;
    r->version.opset = set ? set->version : r->version.other_domains ? ONNX_OPSET_MAX : 0;
    r->version.of = "the model";
    if (r->version.opset == 0)
        return err_set(r->err, RILL_MALFORMED,
                       "the model does not say which opset it uses; opsets %d to %d "
                       "are read",
                       ONNX_OPSET_MIN, ONNX_OPSET_MAX);
    return r->version.opset < ONNX_OPSET_MIN ? onnx_opset_refuse(r) : RILL_OK;
}

static rill_status read_meta(const struct reader *r, const Onnxpb__Model *m, struct graph *g)
{
    g->meta = arena_alloc_array(r->arena, m->n_metadata_props + 1, sizeof *g->meta);
    if (!g->meta)
        return no_memory(r);
    for (size_t i = 0; i < m->n_metadata_props; i++) {
        const char *key = onnx_text(r->arena, m->metadata_props[i]->key);
        const char *value = onnx_text(r->arena, m->metadata_props[i]->value);
        if (!key || !value)
            return no_memory(r);
        g->meta[g->n_meta].key = key;
        g->meta[g->n_meta++].value = value;
    }
    return RILL_OK;
}

static rill_status read_model(struct reader *r, struct arena *unpacked, Onnxpb__Model *m,
                              struct graph *ret)
{
    struct outline *o;
    if (!m->graph)
        return err_set(r->err, RILL_MALFORMED, "holds no graph; the file is no ONNX model");
    TRY(read_opset(r, m));
    TRY(functions_inline(r, unpacked, m));
    TRY(outline_from_pb(r, m->graph, &o));
    if (o->n_free)
        return err_set(r->err, RILL_MALFORMED, "node '%.80s' reads '%.80s', which nothing defines",
                       o->free_by[0], o->free_name[0]);
    if (m->graph->n_output == 0)
        return err_set(r->err, RILL_MALFORMED, "graph '%.80s' has no outputs", o->name);
    r->model = m;
    TRY(graph_from_outline(r, o, NULL, 0, NULL, ret));
    TRY(dims_status(r->dims, r->err));
    TRY(read_meta(r, m, ret));
    return graph_check(ret, r->err);
}

static rill_status read_bytes(struct reader *r, struct arena *unpacked, struct graph *ret)
{
    ProtobufCMessage *m;
    if (r->file->n == 0)
        return err_set(r->err, RILL_MALFORMED, "the file is empty");
    TRY(onnx_unpack(r->file->data, r->file->n, &onnxpb__model__descriptor, &r->limits, unpacked, &m,
                    r->err));
    return read_model(r, unpacked, (Onnxpb__Model *) m, ret);
}

static rill_status mgraph_read(struct reader *r, struct mgraph *ret)
{
    struct arena unpacked = { 0 };
    struct mgraph made;
    rill_status s = read_bytes(r, &unpacked, &made.g);
    arena_drop(&unpacked);
    return s == RILL_OK ? graph_unrolled(&ret->g, &made.g, r->err) : s;
}

static struct reader reader_of(struct arena *a, struct dims *ds, const struct bytes *b,
                               const struct onnx_limits *limits, rill_error *reterr)
{
    return (struct reader) { .arena = a,
                             .dims = ds,
                             .file = b,
                             .limits = limits_complete(limits, b->n),
                             .symbols.arena = a,
                             .err = reterr,
                             .op_refuse = op_row_refuse,
                             .graph_make = graph_from_outline };
}

rill_status mgraph_from_onnx(struct mgraph *ret, struct arena *a, struct dims *ds,
                             const struct bytes *b, const struct onnx_limits *limits,
                             rill_error *reterr)
{
    struct reader r = reader_of(a, ds, b, limits, reterr);
    return mgraph_read(&r, ret);
}

rill_status mgraph_from_onnx_or_unknown(struct mgraph *ret, struct arena *a, struct dims *ds,
                                        const struct bytes *b, enum onnx_unknown *ret_unknown,
                                        rill_error *reterr)
{
    struct reader r = reader_of(a, ds, b, NULL, reterr);
    rill_status s = mgraph_read(&r, ret);
    *ret_unknown = r.unknown;
    return s;
}

rill_status tensor_from_onnx(const struct tensor **ret, struct arena *a, const struct bytes *b,
                             rill_error *reterr)
{
    struct reader r = {
        .arena = a, .file = b, .limits = limits_complete(NULL, b->n), .err = reterr
    };
    struct arena unpacked = { 0 };
    ProtobufCMessage *m;
    rill_status s =
        onnx_unpack(b->data, b->n, &onnxpb__tensor__descriptor, &r.limits, &unpacked, &m, reterr);
    if (s == RILL_OK)
        s = onnx_tensor(&r, (const Onnxpb__Tensor *) m, "tensor", ret);
    arena_drop(&unpacked);
    return s;
}

rill_status onnx_message_read(Onnxpb__Model **ret, struct arena *a, const struct bytes *b,
                              rill_error *reterr)
{
    struct reader r = { .arena = a, .file = b, .limits = limits_complete(NULL, b->n) };
    ProtobufCMessage *message = NULL;
    r.err = reterr;
    rill_status s = b->n
        ? onnx_unpack(b->data, b->n, &onnxpb__model__descriptor, &r.limits, a, &message, reterr)
        : err_set(reterr, RILL_MALFORMED, "the file is empty");
    Onnxpb__Model *m = (Onnxpb__Model *) message;
    a->limit_bytes = 0;
    if (s == RILL_OK && !m->graph)
        s = err_set(reterr, RILL_MALFORMED, "holds no graph; the file is no ONNX model");
    if (s == RILL_OK)
        s = read_opset(&r, m);
    if (s == RILL_OK)
        s = functions_inline(&r, a, m);
    if (s == RILL_OK)
        s = functions_leave(&r, a, m);
    if (s == RILL_OK)
        *ret = m;
    return s;
}

rill_status onnx_message_tensor(const struct tensor **ret, struct arena *a, const struct bytes *b,
                                const Onnxpb__Tensor *t, const char *what, rill_error *reterr)
{
    struct reader r = {
        .arena = a, .file = b, .limits = limits_complete(NULL, b->n), .err = reterr
    };
    return onnx_tensor(&r, t, what, ret);
}
