/* SPDX-License-Identifier: MIT */
/* message.h - an ONNX file as the messages it is made of, for who writes it again. */
#ifndef RILL_MODELS_ONNX_MESSAGE_H
#define RILL_MODELS_ONNX_MESSAGE_H
#include "engine/base/bytes.h"
#include "engine/graph/tensor.h"
#include "models/onnx/onnx.pb-c.h"

/* Element types, data locations and attribute types of the format, by their number. */
enum onnx_number {
    ONNX_FLOAT = 1,
    ONNX_UINT8 = 2,
    ONNX_INT8 = 3,
    ONNX_INT64 = 7,
    ONNX_INT4 = 22,
    ONNX_EXTERNAL = 1,
    ONNX_ATTR_FLOAT = 1,
    ONNX_ATTR_INT = 2,
    ONNX_ATTR_STRING = 3,
    ONNX_ATTR_TENSOR = 4
};

/* Checks and unpacks a file in a, with the limits of the reader. What the messages of onnx.proto do
 * not name stays in them and is packed again. A file without a graph or an opset is refused. */
rill_status onnx_message_read(Onnxpb__Model **ret, struct arena *a, const struct bytes *b,
                              rill_error *reterr);

/* The numbers of a tensor of that file, from wherever they lie; what: for messages, e.g. "constant
 * 'w'". */
rill_status onnx_message_tensor(const struct tensor **ret, struct arena *a, const struct bytes *b,
                                const Onnxpb__Tensor *t, const char *what, rill_error *reterr);

/* The opset of the standard domain. */
Onnxpb__OpsetId *onnx_message_opset(const Onnxpb__Model *m);

/* Printable text for any bytes: everything but plain ASCII, and the backslash itself, becomes \xNN,
 * so different bytes give different texts. NULL when the arena is full. "" for absent fields. */
const char *onnx_text(struct arena *a, ProtobufCBinaryData b);
const char **onnx_texts(struct arena *a, const ProtobufCBinaryData *b, size_t n);
bool onnx_is_default_domain(ProtobufCBinaryData domain);
#endif
