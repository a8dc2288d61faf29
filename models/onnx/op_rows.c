/* SPDX-License-Identifier: MIT */
/* The table of ops: every standard op that is read, by opset, and what it becomes. An engine op
 * that is not built in makes its rows unsupported, so a row here costs nothing. */
#include "models/onnx/internal.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* clang-format off */
#define SAME(name) { name, 1, 21, name, NULL, NULL }
/* clang-format on */
/* Before opset 7 broadcasting was asked for by attributes. */
#define BROADCAST(name)                                                                            \
    { name, 1, 6, name, up_legacy_broadcast, "broadcast along trailing axes" },                    \
    {                                                                                              \
        name, 7, 21, name, NULL, NULL                                                              \
    }

static const struct op_row rows[] = {
#define X(number, name) SAME(name),
    OP_IDS_UNARY(X)
#undef X
        BROADCAST("Add"),
    BROADCAST("And"),
    SAME("ArgMax"),
    SAME("ArgMin"),
    SAME("AveragePool"),
    { "BatchNormalization", 1, 6, "BatchNormalization", up_batchnorm_1, "is_test=1" },
    { "BatchNormalization", 7, 8, "BatchNormalization", up_batchnorm_7, "spatial only" },
    { "BatchNormalization", 9, 13, "BatchNormalization", up_batchnorm_9, "inference" },
    { "BatchNormalization", 14, 21, "BatchNormalization", up_batchnorm_14, "training_mode=0" },
    SAME("BitShift"),
    SAME("BitwiseAnd"),
    SAME("BitwiseOr"),
    SAME("BitwiseXor"),
    { "BlackmanWindow", 17, 21, "BlackmanWindow", up_dtype_attr, NULL },
    { "Cast", 6, 21, "Cast", up_dtype_attr, NULL },
    SAME("CastLike"),
    { "Celu", 12, 21, "Celu", NULL, NULL },
    SAME("CenterCropPad"),
    { "Clip", 1, 10, "Clip", up_clip_6, "min and max become inputs" },
    { "Clip", 11, 21, "Clip", NULL, NULL },
    SAME("Col2Im"),
    SAME("Compress"),
    { "Concat", 4, 21, "Concat", NULL, NULL },
    { "Constant", 1, 21, NULL, up_constant, "becomes a constant" },
    SAME("ConstantOfShape"),
    SAME("Conv"),
    { "ConvInteger", 10, 21, NULL, up_conv_integer, "Conv of exact floats" },
    SAME("ConvTranspose"),
    SAME("CumSum"),
    { "DFT", 17, 19, "DFT", up_dft_17, "axis becomes an input" },
    { "DFT", 20, 21, "DFT", NULL, NULL },
    SAME("DepthToSpace"),
    SAME("DequantizeLinear"),
    SAME("Det"),
    BROADCAST("Div"),
    { "Dropout", 1, 21, NULL, up_dropout, "inference: identity" },
    SAME("DynamicQuantizeLinear"),
    SAME("Einsum"),
    BROADCAST("Equal"),
    SAME("Expand"),
    { "EyeLike", 9, 21, "EyeLike", up_dtype_attr, NULL },
    SAME("Flatten"),
    SAME("GRU"),
    SAME("Gather"),
    SAME("GatherElements"),
    SAME("GatherND"),
    { "Gemm", 1, 6, "Gemm", up_gemm_6, "broadcast is implied" },
    { "Gemm", 7, 21, "Gemm", NULL, NULL },
    SAME("GlobalAveragePool"),
    SAME("GlobalLpPool"),
    SAME("GlobalMaxPool"),
    BROADCAST("Greater"),
    SAME("GreaterOrEqual"),
    SAME("GridSample"),
    { "GroupNormalization", 18, 20, "GroupNormalization", up_groupnorm_18,
      "scale and bias a group" },
    { "GroupNormalization", 21, 21, "GroupNormalization", up_drop_training, NULL },
    { "HammingWindow", 17, 21, "HammingWindow", up_dtype_attr, NULL },
    { "HannWindow", 17, 21, "HannWindow", up_dtype_attr, NULL },
    { "HardSwish", 14, 21, "HardSwish", NULL, NULL },
    { "Hardmax", 1, 12, "Hardmax", up_softmax_1, "over all axes from `axis` on" },
    { "Hardmax", 13, 21, "Hardmax", NULL, NULL },
    { "If", 1, 21, NULL, up_if_, "bodies closed over what they take" },
    SAME("InstanceNormalization"),
    SAME("LRN"),
    SAME("LSTM"),
    { "LayerNormalization", 17, 21, "LayerNormalization", NULL, NULL },
    BROADCAST("Less"),
    SAME("LessOrEqual"),
    { "LogSoftmax", 1, 12, "LogSoftmax", up_softmax_1, "over all axes from `axis` on" },
    { "LogSoftmax", 13, 21, "LogSoftmax", NULL, NULL },
    { "Loop", 1, 21, NULL, up_loop, "body closed over what it takes" },
    SAME("LpNormalization"),
    SAME("LpPool"),
    SAME("MatMul"),
    { "MatMulInteger", 10, 21, NULL, up_matmul_integer, "MatMul of i32" },
    SAME("Max"),
    SAME("MaxPool"),
    SAME("MaxUnpool"),
    SAME("Mean"),
    { "MeanVarianceNormalization", 9, 21, NULL, up_mvn, "ReduceMean, Sub, Mul, Sqrt, Div" },
    { "MelWeightMatrix", 17, 21, "MelWeightMatrix", up_dtype_attr, NULL },
    SAME("Min"),
    SAME("Mod"),
    BROADCAST("Mul"),
    { "NegativeLogLikelihoodLoss", 12, 21, NULL, up_nll_loss, "GatherElements, Mul, ReduceSum" },
    SAME("NonZero"),
    SAME("OneHot"),
    BROADCAST("Or"),
    { "PRelu", 1, 6, "PRelu", up_prelu_1, "one slope a channel" },
    { "PRelu", 7, 21, "PRelu", NULL, NULL },
    { "Pad", 2, 10, "Pad", up_pad_2, "pads and value become inputs" },
    { "Pad", 11, 21, "Pad", NULL, NULL },
    BROADCAST("Pow"),
    { "QLinearConv", 10, 21, NULL, up_qlinear_conv, "Conv of exact floats" },
    { "QLinearMatMul", 10, 21, NULL, up_qlinear_matmul, "MatMul of i32" },
    { "QuantizeLinear", 10, 21, "QuantizeLinear", up_dtype_attr, NULL },
    SAME("RNN"),
    SAME("Range"),
#define REDUCE(name)                                                                               \
    { name, 1, 17, name, up_axes_input, "axes become an input" },                                  \
    {                                                                                              \
        name, 18, 21, name, NULL, NULL                                                             \
    }
    REDUCE("ReduceL1"),
    REDUCE("ReduceL2"),
    REDUCE("ReduceLogSum"),
    REDUCE("ReduceLogSumExp"),
    REDUCE("ReduceMax"),
    REDUCE("ReduceMean"),
    REDUCE("ReduceMin"),
    REDUCE("ReduceProd"),
    { "ReduceSum", 1, 12, "ReduceSum", up_axes_input, "axes become an input" },
    { "ReduceSum", 13, 21, "ReduceSum", NULL, NULL },
    REDUCE("ReduceSumSquare"),
    { "Reshape", 5, 21, "Reshape", NULL, NULL },
    { "Resize", 10, 10, "Resize", up_resize_10, "asymmetric, floor" },
    { "Resize", 11, 21, "Resize", NULL, NULL },
    SAME("ReverseSequence"),
    SAME("RoiAlign"),
    SAME("STFT"),
    { "Scan", 8, 8, NULL, up_scan_8, "refused" },
    { "Scan", 9, 21, NULL, up_scan_9, "body closed over what it takes" },
    { "Scatter", 9, 10, "ScatterElements", NULL, "its old name" },
    { "Scatter", 11, 21, "ScatterElements", NULL, "its old name" },
    SAME("ScatterElements"),
    SAME("ScatterND"),
    { "Selu", 6, 21, "Selu", NULL, NULL },
    SAME("Shape"),
    SAME("Size"),
    { "Slice", 1, 9, "Slice", up_slice_1, "starts, ends and axes become inputs" },
    { "Slice", 10, 21, "Slice", NULL, NULL },
    { "Softmax", 1, 12, "Softmax", up_softmax_1, "over all axes from `axis` on" },
    { "Softmax", 13, 21, "Softmax", NULL, NULL },

    { "SoftmaxCrossEntropyLoss", 12, 21, NULL, up_cross_entropy, "LogSoftmax and the above" },
    SAME("SpaceToDepth"),
    { "Split", 2, 12, "Split", up_split_2, "split becomes an input" },
    { "Split", 13, 17, "Split", up_split_13, "without sizes: as many parts as outputs" },
    { "Split", 18, 21, "Split", NULL, NULL },
    { "Squeeze", 1, 12, "Squeeze", up_axes_input, "axes become an input" },
    { "Squeeze", 13, 21, "Squeeze", NULL, NULL },
    BROADCAST("Sub"),
    SAME("Sum"),
    { "Tile", 6, 21, "Tile", NULL, NULL },
    { "TopK", 1, 9, "TopK", up_topk_1, "k becomes an input" },
    { "TopK", 10, 21, "TopK", NULL, NULL },
    SAME("Transpose"),
    SAME("Trilu"),
    SAME("Unique"),
    { "Unsqueeze", 1, 12, "Unsqueeze", up_axes_input, "axes become an input" },
    { "Unsqueeze", 13, 21, "Unsqueeze", NULL, NULL },
    { "Upsample", 7, 8, "Resize", up_upsample_7, "asymmetric, floor" },
    { "Upsample", 9, 21, "Resize", up_upsample_9, "asymmetric, floor" },
    SAME("Where"),
    BROADCAST("Xor"),
};

#define ROWS (sizeof rows / sizeof *rows)

bool onnx_op_at(unsigned i, struct onnx_op_row *ret)
{
    if (i >= ROWS)
        return false;
    *ret = (struct onnx_op_row) { rows[i].name, rows[i].first, rows[i].last, rows[i].engine,
                                  rows[i].note };
    return true;
}

static bool row_works(const struct op_row *row)
{
    return row->engine ? op_find(row->engine) != NULL : row->upgrade != NULL;
}

const struct op_row *op_row_find(const char *name, int64_t opset)
{
    for (size_t i = 0; i < ROWS; i++)
        if (!strcmp(rows[i].name, name) && opset >= rows[i].first && opset <= rows[i].last)
            return &rows[i];
    return NULL;
}

static size_t common_prefix(const char *a, const char *b)
{
    size_t n = 0;
    while (a[n] && a[n] == b[n])
        n++;
    return n;
}

/* The supported op whose name starts most like this one; NULL if none does. */
static const char *nearest(const char *name)
{
    const char *best = NULL;
    size_t most = 2;
    for (size_t i = 0; i < ROWS; i++) {
        size_t n = common_prefix(rows[i].name, name);
        if (n > most && row_works(&rows[i])) {
            most = n;
            best = rows[i].name;
        }
    }
    return best;
}

rill_status op_row_refuse(struct reader *r, const char *node, const char *op, int64_t opset)
{
    int first = 0, last = 0;
    r->unknown = ONNX_UNKNOWN_OP;
    for (size_t i = 0; i < ROWS; i++)
        if (!strcmp(rows[i].name, op) && row_works(&rows[i])) {
            first = first ? first : rows[i].first;
            last = rows[i].last;
        }
    if (first && (opset < first || opset > last))
        return err_set(r->err, RILL_UNSUPPORTED,
                       "node '%.80s': op '%.60s' exists in opsets %d to %d, the "
                       "model is of %" PRId64,
                       node, op, first, last, opset);
    const char *near = nearest(op);
    return err_set(r->err, RILL_UNSUPPORTED,
                   "node '%.80s': op '%.60s' (opset %" PRId64 ") is not "
                   "supported%s%s%s; `rill inspect --ops` lists what is",
                   node, op, opset, near && strcmp(near, op) ? ", the nearest is '" : "",
                   near && strcmp(near, op) ? near : "", near && strcmp(near, op) ? "'" : "");
}
