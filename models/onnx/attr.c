/* SPDX-License-Identifier: MIT */
#include "models/onnx/internal.h"

/* Attribute types by their number. */
enum {
    AT_FLOAT = 1,
    AT_INT,
    AT_STRING,
    AT_TENSOR,
    AT_GRAPH,
    AT_FLOATS,
    AT_INTS,
    AT_STRINGS,
    AT_TENSORS,
    AT_GRAPHS,
    AT_SPARSE,
    AT_SPARSES,
    AT_TYPE,
    AT_TYPES
};

/* Old files do not state the type: it is that of the part that is there. */
static int attr_type(const Onnxpb__Attribute *pb)
{
    if (pb->has_type && pb->type)
        return pb->type;
    return pb->has_f        ? AT_FLOAT
        : pb->has_i         ? AT_INT
        : pb->has_s         ? AT_STRING
        : pb->t             ? AT_TENSOR
        : pb->sparse_tensor ? AT_SPARSE
        : pb->g             ? AT_GRAPH
        : pb->n_floats      ? AT_FLOATS
        : pb->n_strings     ? AT_STRINGS
                            : AT_INTS;
}

static rill_status attr_strings(const struct reader *r, const ProtobufCBinaryData *s, size_t n,
                                struct attr *ret)
{
    const char **v = onnx_texts(r->arena, s, n);
    if (!v)
        return no_memory(r);
    ret->kind = ATTR_STRINGS;
    ret->strings = (struct attr_strings) { (uint32_t) n, v };
    return RILL_OK;
}

static rill_status attr_lists(const struct reader *r, const Onnxpb__Attribute *pb, struct attr *ret)
{
    void *v = ret->kind == ATTR_INTS
        ? arena_copy(r->arena, pb->ints, pb->n_ints * sizeof *pb->ints)
        : arena_copy(r->arena, pb->floats, pb->n_floats * sizeof *pb->floats);
    if (!v)
        return no_memory(r);
    if (ret->kind == ATTR_INTS)
        ret->ints = (struct attr_ints) { (uint32_t) pb->n_ints, v };
    else
        ret->floats = (struct attr_floats) { (uint32_t) pb->n_floats, v };
    return RILL_OK;
}

static rill_status attr_tensor(struct reader *r, const char *node, const Onnxpb__Attribute *pb,
                               struct attr *ret)
{
    const char *what = arena_printf(r->arena, "node '%.80s', attribute '%.60s'", node, ret->name);
    if (!what)
        return no_memory(r);
    ret->kind = ATTR_TENSOR;
    if (attr_type(pb) == AT_SPARSE && pb->sparse_tensor)
        return onnx_sparse(r, pb->sparse_tensor, what, &ret->tensor);
    if (!pb->t)
        return err_set(r->err, RILL_MALFORMED, "%s: holds no tensor", what);
    return onnx_tensor(r, pb->t, what, &ret->tensor);
}

bool onnx_attr_is_type(const Onnxpb__Attribute *pb)
{
    return attr_type(pb) == AT_TYPE;
}

rill_status onnx_attr(struct reader *r, const char *node, const Onnxpb__Attribute *pb,
                      struct attr *ret)
{
    *ret = (struct attr) { .name = onnx_text(r->arena, pb->name), .i = pb->i, .f = pb->f };
    if (!ret->name)
        return no_memory(r);
    if (pb->ref_attr_name.len)
        return err_set(r->err, RILL_UNSUPPORTED,
                       "node '%.80s': attribute '%.60s' refers to one of a function, and the node "
                       "is in none",
                       node, ret->name);
    switch (attr_type(pb)) {
    case AT_FLOAT: ret->kind = ATTR_FLOAT; return RILL_OK;
    case AT_INT: ret->kind = ATTR_INT; return RILL_OK;
    case AT_STRING: return attr_strings(r, &pb->s, 1, ret);
    case AT_STRINGS: return attr_strings(r, pb->strings, pb->n_strings, ret);
    case AT_FLOATS: ret->kind = ATTR_FLOATS; return attr_lists(r, pb, ret);
    case AT_INTS: ret->kind = ATTR_INTS; return attr_lists(r, pb, ret);
    case AT_SPARSE:
    case AT_TENSOR: return attr_tensor(r, node, pb, ret);
    default:
        return err_set(
            r->err, RILL_UNSUPPORTED,
            "node '%.80s': attribute '%.60s' is of a kind (number %d) "
            "that is not supported; numbers, strings, lists of them, tensors and graphs are",
            node, ret->name, attr_type(pb));
    }
}
