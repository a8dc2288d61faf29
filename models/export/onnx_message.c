/* SPDX-License-Identifier: MIT */
#include "models/export/onnx_message.h"
#include "engine/base/err.h"

#include <string.h>

int32_t onnx_type(const struct onnx_writer *w, enum dtype t)
{
    static const uint8_t number[] = {
        [DTYPE_F32] = 1,  [DTYPE_U8] = 2,   [DTYPE_I8] = 3,    [DTYPE_U16] = 4,  [DTYPE_I16] = 5,
        [DTYPE_I32] = 6,  [DTYPE_I64] = 7,  [DTYPE_BOOL] = 9,  [DTYPE_F16] = 10, [DTYPE_F64] = 11,
        [DTYPE_U32] = 12, [DTYPE_U64] = 13, [DTYPE_BF16] = 16, [DTYPE_U4] = 21,  [DTYPE_I4] = 22,
        [DTYPE_U2] = 25,  [DTYPE_I2] = 26,  [DTYPE_DIM] = 7
    };
    if ((t == DTYPE_U2 || t == DTYPE_I2) && *w->opset < OPSET_2BIT)
        *w->opset = OPSET_2BIT;
    return (size_t) t < sizeof number ? number[t] : 0;
}

rill_status onnx_put_node(struct onnx_writer *w, const char *op, const char *name, size_t n_in,
                          size_t n_out, Onnxpb__Node **ret)
{
    struct arena *a = w->doc->arena;
    uint32_t n = (uint32_t) w->to->n_node;
    Onnxpb__Node **more = arena_grow(a, w->to->node, n, &w->cap_nodes, sizeof *more);
    Onnxpb__Node *node = arena_new(a, Onnxpb__Node);
    TRY_MEMORY(w, more && node);
    onnxpb__node__init(node);
    node->input = arena_array(a, ProtobufCBinaryData, n_in + 1);
    node->output = arena_array(a, ProtobufCBinaryData, n_out + 1);
    TRY_MEMORY(w, node->input && node->output && name);
    node->n_input = n_in;
    node->n_output = n_out;
    node->has_op_type = node->has_name = true;
    node->op_type = text_of(op);
    node->name = text_of(name);
    w->to->node = more;
    more[w->to->n_node++] = *ret = node;
    return RILL_OK;
}

rill_status onnx_put_attribute(const struct onnx_writer *w, Onnxpb__Node *n, const char *name,
                               int32_t type, Onnxpb__Attribute **ret)
{
    struct arena *a = w->doc->arena;
    Onnxpb__Attribute **more = arena_array(a, Onnxpb__Attribute *, n->n_attribute + 1);
    Onnxpb__Attribute *at = arena_new(a, Onnxpb__Attribute);
    TRY_MEMORY(w, more && at);
    if (n->n_attribute)
        memcpy(more, n->attribute, n->n_attribute * sizeof *more);
    onnxpb__attribute__init(at);
    at->has_name = at->has_type = true;
    at->name = text_of(name);
    at->type = type;
    n->attribute = more;
    more[n->n_attribute++] = *ret = at;
    return RILL_OK;
}

/* How many elements a byte of the file has. */
static size_t elements_in_byte(enum dtype t)
{
    if (t == DTYPE_U2 || t == DTYPE_I2)
        return 4;
    return t == DTYPE_U4 || t == DTYPE_I4 ? 2 : 1;
}

/* `in_byte` to a byte, the first in the low bits. */
static uint8_t *packed(struct arena *a, const struct tensor *t, size_t in_byte, size_t *ret_n)
{
    size_t n = (size_t) tensor_count(t), bits = 8 / in_byte;
    uint8_t *bytes = arena_alloc(a, n / in_byte + 1), mask = (uint8_t) ((1u << bits) - 1);
    for (size_t i = 0; bytes && i < n; i++)
        bytes[i / in_byte] |=
            (uint8_t) ((((const uint8_t *) t->data)[i] & mask) << (i % in_byte * bits));
    *ret_n = (n + in_byte - 1) / in_byte;
    return bytes;
}

rill_status onnx_put_tensor(const struct onnx_writer *w, const struct tensor *t, const char *name,
                            Onnxpb__Tensor **ret)
{
    struct arena *a = w->doc->arena;
    Onnxpb__Tensor *m = arena_new(a, Onnxpb__Tensor);
    TRY_MEMORY(w, m);
    onnxpb__tensor__init(m);
    m->dims = arena_array(a, int64_t, (size_t) t->rank + 1);
    TRY_MEMORY(w, m->dims);
    memcpy(m->dims, t->dim, (size_t) t->rank * sizeof *t->dim);
    m->n_dims = (size_t) t->rank;
    m->has_name = m->has_data_type = m->has_raw_data = true;
    m->name = text_of(name);
    if (!(m->data_type = onnx_type(w, t->type)) || t->type == DTYPE_DIM)
        return err_set(w->doc->err, RILL_UNSUPPORTED,
                       "constant '%.80s': elements of %s have no form in ONNX", name,
                       dtype_name(t->type));
    m->raw_data = (ProtobufCBinaryData) { tensor_bytes(t), t->data };
    const size_t in_byte = elements_in_byte(t->type);
    if (in_byte > 1)
        TRY_MEMORY(w, m->raw_data.data = packed(a, t, in_byte, &m->raw_data.len));
    *ret = m;
    return RILL_OK;
}

rill_status onnx_put_initializer(struct onnx_writer *w, const struct tensor *t, const char *name)
{
    uint32_t n = (uint32_t) w->to->n_initializer;
    Onnxpb__Tensor **more =
        arena_grow(w->doc->arena, w->to->initializer, n, &w->cap_initializers, sizeof *more);
    TRY_MEMORY(w, more && name);
    w->to->initializer = more;
    TRY(onnx_put_tensor(w, t, name, &more[n]));
    w->to->n_initializer++;
    return RILL_OK;
}

const char *onnx_name_new(struct onnx_writer *w)
{
    return arena_printf(w->doc->arena, "%srill-%u", w->prefix, w->n_made++);
}

rill_status onnx_put_step(struct onnx_writer *w, const char *op, const char *x, const char *y,
                          const char *result)
{
    Onnxpb__Node *n;
    TRY_MEMORY(w, x && result);
    TRY(onnx_put_node(w, op, result, y ? 2 : 1, 1, &n));
    n->input[0] = text_of(x);
    if (y)
        n->input[1] = text_of(y);
    n->output[0] = text_of(result);
    return RILL_OK;
}

rill_status onnx_put_int(const struct onnx_writer *w, Onnxpb__Node *n, const char *name, int64_t v)
{
    Onnxpb__Attribute *at;
    TRY(onnx_put_attribute(w, n, name, ONNX_ATTR_INT, &at));
    at->has_i = true;
    at->i = v;
    return RILL_OK;
}
