/* SPDX-License-Identifier: MIT */
/* part.h - a network beside the pipeline that runs one step at a time: the decoder and the joiner
 * of a transducer. */
#ifndef RILL_LIB_PART_H
#define RILL_LIB_PART_H
#include "lib/model.h"

/* Opens the file of a network (ONNX or .tflite) of n bytes as a model without time: open sizes of
 * inputs, which count the batch and its steps, are 1; inputs of integers take f32, which
 * become integers within. name is for messages. */
rill_status part_open(rill_model **ret, const char *name, const uint8_t *data, size_t n,
                      rill_error *reterr);
#endif
