/* SPDX-License-Identifier: MIT */
/* dat.h - tensor files of NNEF: a header of 128 bytes, then the elements. */
#ifndef RILL_MODELS_NNEF_DAT_H
#define RILL_MODELS_NNEF_DAT_H
#include "engine/base/err.h"
#include "engine/graph/tensor.h"

/* Floats of 16, 32 and 64 bits become f32, truth values bool; integers keep their type, or become
 * i64 where it widens. file is for messages. */
rill_status tensor_from_dat(struct tensor **ret, struct arena *a, const uint8_t *bytes, size_t n,
                            const char *file, bool widens, rill_error *reterr);

/* The type that elements of a file are kept as, as above. */
enum dtype weight_type(enum dtype stored, bool widens);
/* from's elements as those of to, of that type and of the same number. */
void elements_widen(struct tensor *to, const struct tensor *from);
#endif
