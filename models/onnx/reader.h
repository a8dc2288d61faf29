/* SPDX-License-Identifier: MIT */
/* reader.h - an ONNX file becomes a model graph in the engine's canonical ops. */
#ifndef RILL_MODELS_ONNX_READER_H
#define RILL_MODELS_ONNX_READER_H
#include "engine/base/bytes.h"
#include "engine/graph/graph.h"

/* What a file may cost before it is refused; 0 in a field takes the default. */
struct onnx_limits {
    uint32_t graphs_deep;  /* graphs within graphs; 16, at most 64 */
    uint32_t messages;     /* protobuf messages in the file; 400000 */
    uint64_t unpack_bytes; /* memory of the unpacked messages; 64 MiB + 16 times the file */
    uint64_t tensor_bytes; /* all constants together, also external ones; 4 GiB */
};

/* Opsets of the default domain that are read: 7 and newer whole, older ones as far as the table of
 * ops goes; of still newer ones, models of the few ops whose rows go further. */
#define ONNX_OPSET_MIN 1
#define ONNX_OPSET_MAX 28

/* Makes the graph in arena a (facts on inputs and constants only); b may be dropped afterwards.
 * External data is looked for beneath the folder of b->path. The caller names the file in front of
 * an error. limits may be NULL. */
rill_status mgraph_from_onnx(struct mgraph *ret, struct arena *a, struct dims *ds,
                             const struct bytes *b, const struct onnx_limits *limits,
                             rill_error *reterr);

/* What the reader has no row for, where that is why it refused a file: an opset that is newer than
 * those above, or an op, in its opset or at all. */
enum onnx_unknown { ONNX_UNKNOWN_NOTHING, ONNX_UNKNOWN_OPSET, ONNX_UNKNOWN_OP };

/* mgraph_from_onnx() with the default limits, that also says so. */
rill_status mgraph_from_onnx_or_unknown(struct mgraph *ret, struct arena *a, struct dims *ds,
                                        const struct bytes *b, enum onnx_unknown *ret_unknown,
                                        rill_error *reterr);

/* Reads a file that holds a single tensor message (test data); the caller names it, too. */
rill_status tensor_from_onnx(const struct tensor **ret, struct arena *a, const struct bytes *b,
                             rill_error *reterr);

/* One row of the table of ops: which file op of which opsets becomes which engine op. */
struct onnx_op_row {
    const char *name;
    int first, last;    /* opsets */
    const char *engine; /* NULL: becomes several */
    const char *note;
    const char *domain; /* "": the standard one */
};

/* The i-th row; false past the end. */
bool onnx_op_at(unsigned i, struct onnx_op_row *ret);

/* What a file has to say so that a name is read as this text; the text itself, where no bytes are.
 */
char *onnx_name_bytes(struct arena *a, const char *text);
#endif
