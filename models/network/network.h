/* SPDX-License-Identifier: MIT */
/* network.h - a file that holds one network, in whatever format it is. */
#ifndef RILL_MODELS_NETWORK_NETWORK_H
#define RILL_MODELS_NETWORK_NETWORK_H
#include "engine/base/bytes.h"
#include "engine/graph/graph.h"

/* Makes the graph in arena a by the reader that the bytes ask for: .tflite where they name that
 * format, else ONNX; UNSUPPORTED, by name, where they are of another format. b may be dropped
 * afterwards; what lies beside it is found from b->path. */
rill_status mgraph_from_network(struct mgraph *ret, struct arena *a, struct dims *ds,
                                const struct bytes *b, rill_error *reterr);
#endif
