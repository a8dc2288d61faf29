/* SPDX-License-Identifier: MIT */
/* ops.h - the op families: one file each in engine/ops (control: engine/graph), one NULL-ended
 * table each. */
#ifndef RILL_ENGINE_OPS_OPS_H
#define RILL_ENGINE_OPS_OPS_H
#include "engine/graph/op.h"

/* clang-format off */
#define OPS_EACH(X)                                                                              \
    X(binary) X(byte_conv) X(byte_elem) X(byte_norm) X(byte_pool) X(byte_softmax) X(shorts) X(cast) X(compare)          \
    X(control) X(conv) X(conv_transpose) X(cumsum) X(einsum) X(frame) X(gather) X(matmul)        \
    X(move) X(norm) X(pad) X(pool) X(pow) X(quant) X(quant_conv) X(quant_product) X(reduce)      \
    X(resize) X(rnn) X(rnn_bytes) X(scatter) X(select) X(shape) X(signal) X(softmax) X(topk)     \
    X(unary) X(unique)
/* clang-format on */

/* op_stem. Behind its words of help may stand what few rows have, as .flags = OP_VIEW. */
#define OP_ROW(stem, number, text, spec, bytes, lo, hi, outs, inf, prep, run, ...)                 \
    static const struct op op_##stem = { .id = OP_##number,                                        \
                                         .name = text,                                             \
                                         .attrs = spec,                                            \
                                         .attr_bytes = bytes,                                      \
                                         .min_in = lo,                                             \
                                         .max_in = hi,                                             \
                                         .min_out = 1,                                             \
                                         .max_out = outs,                                          \
                                         .infer = inf,                                             \
                                         .prepare = prep,                                          \
                                         .eval = run,                                              \
                                         .help = __VA_ARGS__ }

#define X(family) extern const struct op *const ops_##family[];
OPS_EACH(X)
#undef X
#endif
