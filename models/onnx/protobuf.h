/* SPDX-License-Identifier: MIT */
/* protobuf.h - checks protobuf's wire format before anything is unpacked. */
#ifndef RILL_MODELS_ONNX_PROTOBUF_H
#define RILL_MODELS_ONNX_PROTOBUF_H
#include "engine/base/arena.h"
#include "models/onnx/reader.h"

#include <protobuf-c/protobuf-c.h>

/* Walks data as a message of type desc with a stack of its own: every length and varint is inside
 * the data, wire types are those of the fields, nothing is nested too deep, no single message field
 * comes twice, and unpacking costs less than the limits allow. *ret_unpack_bytes is an upper bound
 * of that cost in an arena. limits: all fields set. */
rill_status onnx_wire_check(const uint8_t *data, size_t n, const ProtobufCMessageDescriptor *desc,
                            const struct onnx_limits *limits, uint64_t *ret_unpack_bytes,
                            rill_error *reterr);

/* Checks, then unpacks into a. The message is never freed alone. */
rill_status onnx_unpack(const uint8_t *data, size_t n, const ProtobufCMessageDescriptor *desc,
                        const struct onnx_limits *limits, struct arena *a, ProtobufCMessage **ret,
                        rill_error *reterr);
#endif
