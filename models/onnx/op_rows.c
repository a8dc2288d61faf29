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
    { "ConvInteger", 10, 21, "ConvInteger", NULL, NULL },
    SAME("ConvTranspose"),
    SAME("CumSum"),
    { "DFT", 17, 19, "DFT", up_dft_17, "axis becomes an input" },
    { "DFT", 20, 21, "DFT", NULL, NULL },
    SAME("DepthToSpace"),
    { "DequantizeLinear", 10, 28, "DequantizeLinear", up_dtype_attr, NULL },
    SAME("Det"),
    BROADCAST("Div"),
    { "Dropout", 1, 21, NULL, up_dropout, "inference: identity" },
    { "DynamicQuantizeLinear", 11, 28, "DynamicQuantizeLinear", NULL, NULL },
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
    { "MatMulInteger", 10, 21, NULL, up_matmul_integer, "MatMul of i32 where zeros have axes" },
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
    { "QLinearConv", 10, 21, NULL, up_qlinear_conv, "ConvInteger" },
    { "QLinearMatMul", 10, 21, NULL, up_qlinear_matmul, "MatMulInteger" },
    { "QuantizeLinear", 10, 28, "QuantizeLinear", up_dtype_attr, NULL },
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

/* Of com.microsoft, whose only version is 1: quantised ops, as the standard ones they are. */
static const struct op_row microsoft_rows[] = {
    { "DequantizeLinear", 1, 1, "DequantizeLinear", NULL, "16 and 4 bits" },
    { "DynamicQuantizeLSTM", 1, 1, NULL, up_dynamic_lstm, "LSTM of dequantised weights" },
    { "DynamicQuantizeMatMul", 1, 1, NULL, up_dynamic_matmul,
      "DynamicQuantizeLinear, MatMulInteger, Cast, Mul, Add" },
    { "MatMulIntegerToFloat", 1, 1, NULL, up_matmul_to_float, "MatMulInteger, Cast, Mul, Add" },
    { "MatMulNBits", 1, 1, NULL, up_matmul_nbits, "DequantizeLinear, MatMul" },
    { "QAttention", 1, 1, NULL, up_qattention, "refused" },
    { "QGemm", 1, 1, NULL, up_qgemm, "MatMulInteger, Add, Cast, Mul, QuantizeLinear" },
#define QLINEAR(name, upgrade, middle)                                                             \
    {                                                                                              \
        name, 1, 1, NULL, upgrade, "DequantizeLinear, " middle ", QuantizeLinear"                  \
    }
    QLINEAR("QLinearAdd", up_qlinear_add, "Add"),
    QLINEAR("QLinearAveragePool", up_qlinear_pool, "AveragePool"),
    QLINEAR("QLinearConcat", up_qlinear_concat, "Concat"),
    QLINEAR("QLinearGlobalAveragePool", up_qlinear_global_pool, "GlobalAveragePool"),
    QLINEAR("QLinearLeakyRelu", up_qlinear_leaky_relu, "LeakyRelu"),
    QLINEAR("QLinearMul", up_qlinear_mul, "Mul"),
    QLINEAR("QLinearSigmoid", up_qlinear_sigmoid, "Sigmoid"),
    QLINEAR("QLinearSoftmax", up_qlinear_softmax, "Softmax"),
    QLINEAR("QLinearWhere", up_qlinear_where, "Where"),
    { "QuantizeLinear", 1, 1, "QuantizeLinear", up_dtype_attr, "16 and 4 bits" },
};

#define TABLE(domain, rows)                                                                        \
    {                                                                                              \
        domain, rows, sizeof rows / sizeof *rows                                                   \
    }
static const struct op_table {
    const char *domain; /* "": the standard one */
    const struct op_row *rows;
    size_t n;
} tables[] = { TABLE("", rows), TABLE("com.microsoft", microsoft_rows) };

#define TABLES (sizeof tables / sizeof *tables)

bool onnx_op_at(unsigned i, struct onnx_op_row *ret)
{
    for (size_t t = 0; t < TABLES; i -= (unsigned) tables[t++].n)
        if (i < tables[t].n) {
            const struct op_row *row = &tables[t].rows[i];
            *ret = (struct onnx_op_row) { row->name,   row->first, row->last,
                                          row->engine, row->note,  tables[t].domain };
            return true;
        }
    return false;
}

static bool row_works(const struct op_row *row)
{
    return row->engine ? op_find(row->engine) != NULL : row->upgrade != NULL;
}

/* NULL: no op of the domain is known. */
static const struct op_table *table_of(const char *domain)
{
    for (size_t t = 0; t < TABLES; t++)
        if (!strcmp(tables[t].domain, domain))
            return &tables[t];
    return NULL;
}

const struct op_row *op_row_find(const char *domain, const char *name, int64_t opset)
{
    const struct op_table *t = table_of(domain);
    int64_t version = *domain ? 1 : opset;
    for (size_t i = 0; t && i < t->n; i++)
        if (!strcmp(t->rows[i].name, name) && version >= t->rows[i].first &&
            version <= t->rows[i].last)
            return &t->rows[i];
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
static const char *nearest(const struct op_table *t, const char *name)
{
    const char *best = NULL;
    size_t most = 2;
    for (size_t i = 0; i < t->n; i++) {
        size_t n = common_prefix(t->rows[i].name, name);
        if (n > most && row_works(&t->rows[i])) {
            most = n;
            best = t->rows[i].name;
        }
    }
    return best;
}

rill_status onnx_opset_refuse(struct reader *r)
{
    r->unknown = r->opset > ONNX_OPSET_MAX ? ONNX_UNKNOWN_OPSET : r->unknown;
    return err_set(r->err, RILL_UNSUPPORTED,
                   "the model is of opset %" PRId64 "; opsets %d to %d are "
                   "read: export it again for one of those",
                   r->opset, ONNX_OPSET_MIN, ONNX_OPSET_MAX);
}

static rill_status refuse_of_domain(struct reader *r, const char *node, const char *domain,
                                    const char *op)
{
    const struct op_table *t = table_of(domain);
    const char *near = t ? nearest(t, op) : NULL;
    return err_set(r->err, RILL_UNSUPPORTED,
                   "node '%.80s': op '%.60s' is of domain '%.60s'; only %sops of the standard "
                   "domain are supported%s%s%s: export without vendor ops",
                   node, op, domain, t ? "some quantised ops of it and " : "",
                   near ? ", the nearest is '" : "", near ? near : "", near ? "'" : "");
}

rill_status op_row_refuse(struct reader *r, const char *node, const char *domain, const char *op,
                          int64_t opset)
{
    int first = 0, last = 0;
    if (!*domain && opset > ONNX_OPSET_MAX)
        return onnx_opset_refuse(r);
    r->unknown = ONNX_UNKNOWN_OP;
    if (*domain)
        return refuse_of_domain(r, node, domain, op);
    for (size_t i = 0; i < tables[0].n; i++)
        if (!strcmp(rows[i].name, op) && row_works(&rows[i])) {
            first = first ? first : rows[i].first;
            last = rows[i].last;
        }
    if (first && (opset < first || opset > last))
        return err_set(r->err, RILL_UNSUPPORTED,
                       "node '%.80s': op '%.60s' exists in opsets %d to %d, the "
                       "model is of %" PRId64,
                       node, op, first, last, opset);
    const char *near = nearest(&tables[0], op);
    return err_set(r->err, RILL_UNSUPPORTED,
                   "node '%.80s': op '%.60s' (opset %" PRId64 ") is not "
                   "supported%s%s%s; `rill inspect --ops` lists what is",
                   node, op, opset, near && strcmp(near, op) ? ", the nearest is '" : "",
                   near && strcmp(near, op) ? near : "", near && strcmp(near, op) ? "'" : "");
}
