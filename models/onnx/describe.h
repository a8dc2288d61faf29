/* SPDX-License-Identifier: MIT */
/* describe.h - what an ONNX file says about itself: inputs, outputs and metadata. Nodes and weights
 * are skipped. */
#ifndef RILL_MODELS_ONNX_DESCRIBE_H
#define RILL_MODELS_ONNX_DESCRIBE_H
#include "engine/base/arena.h"
#include "engine/base/bytes.h"

#define ONNX_PORT_RANK_MAX 8

struct onnx_port {
    const char *name;
    int32_t type;                    /* as in TensorProto: 1 f32, 7 i64, 9 bool */
    int rank;                        /* -1: not declared, or more than ONNX_PORT_RANK_MAX */
    int64_t dim[ONNX_PORT_RANK_MAX]; /* -1: open */
};

struct onnx_entry {
    const char *key, *value;
};

struct onnx_about {
    struct onnx_port *in, *out; /* inputs with an initial value are none of them */
    struct onnx_entry *meta;
    uint32_t n_in, n_out, n_meta;
};

/* Into a. The caller names the file in front of an error. */
rill_status onnx_describe(struct onnx_about *ret, struct arena *a, const uint8_t *data, size_t n,
                          rill_error *reterr);

/* Of the metadata; NULL: it is not there. */
const char *onnx_about_meta(const struct onnx_about *f, const char *key);
#endif
