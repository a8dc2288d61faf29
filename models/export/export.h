/* SPDX-License-Identifier: MIT */
/* export.h - a typed graph -> files of a model that readers take. */
#ifndef RILL_MODELS_EXPORT_EXPORT_H
#define RILL_MODELS_EXPORT_EXPORT_H
#include "engine/graph/graph.h"

/* Makes `folder` (an archive, where it ends in .tar, .tar.gz or .tgz) with graph.nnef and a .dat
 * file for each constant that is no short list. Read
 * back, every node is the same op with the same attributes and operands. UNSUPPORTED by node, op
 * and reason, and nothing made, where one has no such form; IO where the folder is there. */
rill_status graph_write_nnef(const struct graph *g, const char *folder, rill_error *reterr);

/* Makes an ONNX file of the newest standard form of every op. UNSUPPORTED by node, op and reason,
 * and nothing made, where one has none; IO where the file is there. */
rill_status graph_write_onnx(const struct graph *g, const char *path, rill_error *reterr);
#endif
