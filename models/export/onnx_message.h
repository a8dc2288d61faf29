/* SPDX-License-Identifier: MIT */
/* onnx_message.h - the messages of an ONNX file as they are written, in the document's arena. */
#ifndef RILL_MODELS_EXPORT_ONNX_MESSAGE_H
#define RILL_MODELS_EXPORT_ONNX_MESSAGE_H
#include "models/export/writer.h"
#include "models/onnx/message.h"

#include <string.h>

#define OPSET_2BIT 25 /* the first with elements of 2 bits */
#define TRY_MEMORY(w, p)                                                                           \
    do {                                                                                           \
        if (!(p))                                                                                  \
            return err_set((w)->doc->err, RILL_NOMEM, "out of memory");                            \
    } while (0)

/* One graph, the outermost or a body, as messages. */
struct onnx_writer {
    struct document *doc;
    const struct graph *g;
    const struct onnx_writer *outer; /* NULL: the outermost */
    const struct onnx_writer *first; /* the outermost */
    const struct node *of;           /* whose body it is; NULL: nobody's */
    Onnxpb__Graph *to;
    const char **name; /* of wires */
    bool *stated;      /* constants that are written */
    const char *prefix;
    uint32_t cap_nodes, cap_initializers, n_made;
    int64_t *opset;
};

static inline ProtobufCBinaryData text_of(const char *s)
{
    return (ProtobufCBinaryData) { strlen(s), (uint8_t *) (uintptr_t) s };
}

/* The number of a type in files of the opset, which grows with what it asks. */
int32_t onnx_type(const struct onnx_writer *w, enum dtype t);

rill_status onnx_put_node(struct onnx_writer *w, const char *op, const char *name, size_t n_in,
                          size_t n_out, Onnxpb__Node **ret);
rill_status onnx_put_attribute(const struct onnx_writer *w, Onnxpb__Node *n, const char *name,
                               int32_t type, Onnxpb__Attribute **ret);
rill_status onnx_put_int(const struct onnx_writer *w, Onnxpb__Node *n, const char *name, int64_t v);
rill_status onnx_put_tensor(const struct onnx_writer *w, const struct tensor *t, const char *name,
                            Onnxpb__Tensor **ret);
rill_status onnx_put_initializer(struct onnx_writer *w, const struct tensor *t, const char *name);
const char *onnx_name_new(struct onnx_writer *w); /* NULL: no memory */
/* A node of two operands at most, and its result's name. */
rill_status onnx_put_step(struct onnx_writer *w, const char *op, const char *x, const char *y,
                          const char *result);

/* onnx_sizes.c: sizes of any shape; those of another type than i64 are cast to it. */
rill_status onnx_put_sizes(struct onnx_writer *w, const struct tensor *t, const char *name);
#endif
