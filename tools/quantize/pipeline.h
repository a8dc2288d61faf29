/* SPDX-License-Identifier: MIT */
/* pipeline.h - which nets the text of a pipeline names. */
#ifndef RILL_TOOLS_QUANTIZE_PIPELINE_H
#define RILL_TOOLS_QUANTIZE_PIPELINE_H
#include "engine/base/err.h"

#include <stddef.h>

/* Calls see for every text in quotes that ends in .onnx, in order; what is not RILL_OK ends it. */
rill_status pipeline_nets(const char *text, size_t n,
                          rill_status (*see)(void *arg, const char *name, size_t name_bytes),
                          void *arg);
#endif
