/* SPDX-License-Identifier: MIT */
/* reader.h - a .tflite file becomes a model graph in the engine's canonical ops.
 *
 * Variables become declared states of the graph. Whole numbers are computed as the format's
 * reference kernels do, with fixed-point factors that round twice. */
#ifndef RILL_MODELS_TFLITE_READER_H
#define RILL_MODELS_TFLITE_READER_H
#include "engine/base/bytes.h"
#include "engine/graph/graph.h"

/* What a file may cost before it is refused; 0 in a field takes the default. */
struct tflite_limits {
    uint32_t tables;       /* flatbuffer tables that are read; 400000 */
    uint64_t tensor_bytes; /* all constants together; 4 GiB */
};

/* The version of the schema that is read. */
#define TFLITE_SCHEMA 3

/* Whether the bytes name this format (bytes 4 to 7 are "TFL3"). */
bool tflite_is(const struct bytes *b);

/* Makes the graph of the file's first subgraph in arena a (facts on inputs, states and constants
 * only); b may be dropped afterwards. limits may be NULL. Inputs and outputs have the names of the
 * signature, where there is one, else those of their tensors. */
rill_status mgraph_from_tflite(struct mgraph *ret, struct arena *a, struct dims *ds,
                               const struct bytes *b, const struct tflite_limits *limits,
                               rill_error *reterr);
#endif
