/* SPDX-License-Identifier: MIT */
/* graph_form.h - what writing and reading agree on. */
#ifndef RILL_ENGINE_PLAN_FILE_GRAPH_FORM_H
#define RILL_ENGINE_PLAN_FILE_GRAPH_FORM_H
#include "engine/graph/tensor.h"

#define CONST_INLINE_MAX_BYTES 1024
/* In the place of an offset: the bytes are kept in packed form only. */
#define CONST_PACKED_ONLY INT64_C(-1)

/* Large tensors of numbers that only arithmetic reads lie in the part that is mapped. What may be
 * an index, a size or a truth is copied out, so that it stays as it was checked whatever becomes of
 * the file. */
static inline bool const_is_mapped(enum dtype type, size_t bytes)
{
    return bytes > CONST_INLINE_MAX_BYTES &&
        (dtype_is_float(type) || type == DTYPE_I8 || type == DTYPE_U8 || type == DTYPE_U4);
}
#endif
