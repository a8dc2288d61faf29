/* SPDX-License-Identifier: MIT */
/* The table of ops: every op that is read, of the standard domain and of vendors, by opset,
 * and what it becomes. An engine op
 * that is not built in makes its rows unsupported, so a row here costs nothing. */
#include "models/onnx/internal.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define NEWEST ONNX_OPSET_MAX
/* clang-format off */
/* An op of the engine by the same name, from one opset to another. */
#define ROW(name, first, last, upgrade, note) { name, first, last, name, upgrade, note }
/* Its form is the newest one since `first`, or ever. */
#define SINCE(name, first) ROW(name, first, NEWEST, NULL, NULL)
#define SAME(name) SINCE(name, 1)
/* Its form is an old one until `last`. */
#define UNTIL(name, first, last, upgrade, note) \
    ROW(name, first, last, upgrade, note), SINCE(name, last + 1)
/* Before opset 7 broadcasting was asked for by attributes. */
#define BROADCAST(name) UNTIL(name, 1, 6, up_legacy_broadcast, "broadcast along trailing axes")
#define AXES(name, last) UNTIL(name, 1, last, up_axes_input, "axes become an input")
#define SOFTMAX(name) UNTIL(name, 1, 12, up_softmax_1, "over all axes from `axis` on")
/* Its element type is an attribute. */
#define TYPED(name, first, last) ROW(name, first, last, up_dtype_attr, NULL)
/* No op of the engine, or several. */
#define MADE(name, first, upgrade, note) { name, first, NEWEST, NULL, upgrade, note }
/* Of com.microsoft, whose only version is 1. */
#define VENDOR(name, upgrade, note) { name, 1, 1, NULL, upgrade, note }
#define QLINEAR(name, upgrade, middle) \
    VENDOR(name, upgrade, "DequantizeLinear, " middle ", QuantizeLinear")
/* clang-format on */

static const struct op_row rows[] = {
#define X(number, name) SAME(name),
    OP_IDS_UNARY(X)
#undef X
        BROADCAST("Add"),
    BROADCAST("And"),
    SAME("ArgMax"),
    SAME("ArgMin"),
    MADE("Attention", 23, up_attention, "MatMul, Where, Softmax, MatMul"),
    SAME("AveragePool"),
    ROW("BatchNormalization", 1, 6, up_batchnorm_1, "is_test=1"),
    ROW("BatchNormalization", 7, 8, up_batchnorm_7, "spatial only"),
    ROW("BatchNormalization", 9, 13, up_batchnorm_9, "inference"),
    ROW("BatchNormalization", 14, NEWEST, up_batchnorm_14, "training_mode=0"),
    TYPED("BitCast", 26, NEWEST),
    SAME("BitShift"),
    SAME("BitwiseAnd"),
    SAME("BitwiseOr"),
    SAME("BitwiseXor"),
    TYPED("BlackmanWindow", 17, NEWEST),
    ROW("Cast", 6, NEWEST, up_cast, NULL),
    ROW("CastLike", 1, NEWEST, up_cast_like, NULL),
    MADE("CausalConvWithState", 27, up_causal_conv, "Concat, Conv, Swish, Slice"),
    SINCE("Celu", 12),
    MADE("CenterCropPad", 18, up_center_crop_pad, "Slice, Pad"),
    UNTIL("Clip", 1, 10, up_clip_6, "min and max become inputs"),
    MADE("Col2Im", 18, up_col2im, "ConvTranspose"),
    SAME("Compress"),
    SINCE("Concat", 4),
    MADE("Constant", 1, up_constant, "becomes a constant"),
    MADE("ConcatFromSequence", 11, up_concat_from_sequence, "Concat, or moved axes"),
    SAME("ConstantOfShape"),
    SAME("Conv"),
    SINCE("ConvInteger", 10),
    SAME("ConvTranspose"),
    SINCE("CumProd", 26),
    SAME("CumSum"),
    UNTIL("DFT", 17, 19, up_dft_17, "axis becomes an input"),
    SAME("DepthToSpace"),
    ROW("DequantizeLinear", 10, NEWEST, up_dequantize, NULL),
    SAME("Det"),
    BROADCAST("Div"),
    MADE("Dropout", 1, up_dropout, "inference: identity"),
    ROW("DynamicQuantizeLinear", 11, NEWEST, NULL, NULL),
    SAME("Einsum"),
    BROADCAST("Equal"),
    SAME("Expand"),
    TYPED("EyeLike", 9, NEWEST),
    SAME("Flatten"),
    SAME("GRU"),
    SAME("Gather"),
    SAME("GatherElements"),
    SAME("GatherND"),
    UNTIL("Gemm", 1, 6, up_gemm_6, "broadcast is implied"),
    SAME("GlobalAveragePool"),
    SAME("GlobalLpPool"),
    SAME("GlobalMaxPool"),
    BROADCAST("Greater"),
    SAME("GreaterOrEqual"),
    MADE("GridSample", 16, up_grid_sample, "GatherElements, Mul, Add"),
    ROW("GroupNormalization", 18, 20, up_groupnorm_18, "scale and bias a group"),
    ROW("GroupNormalization", 21, NEWEST, up_drop_training, NULL),
    TYPED("HammingWindow", 17, NEWEST),
    TYPED("HannWindow", 17, NEWEST),
    SINCE("HardSwish", 14),
    SOFTMAX("Hardmax"),
    MADE("If", 1, up_if_, "bodies closed over what they take"),
    SAME("InstanceNormalization"),
    SAME("LRN"),
    SAME("LSTM"),
    SAME("LayerNormalization"),
    BROADCAST("Less"),
    SAME("LessOrEqual"),
    MADE("LinearAttention", 27, up_linear_attention, "Scan"),
    SOFTMAX("LogSoftmax"),
    MADE("Loop", 1, up_loop, "body closed over what it takes"),
    SAME("LpNormalization"),
    SAME("LpPool"),
    SAME("MatMul"),
    MADE("MatMulInteger", 10, up_matmul_integer, "MatMul of i32 where zeros have axes"),
    SAME("Max"),
    SAME("MaxPool"),
    SAME("MaxUnpool"),
    SAME("Mean"),
    MADE("MeanVarianceNormalization", 9, up_mvn, "ReduceMean, Sub, Mul, Sqrt, Div"),
    TYPED("MelWeightMatrix", 17, NEWEST),
    SAME("Min"),
    SAME("Mod"),
    BROADCAST("Mul"),
    MADE("NegativeLogLikelihoodLoss", 12, up_nll_loss, "GatherElements, Mul, ReduceSum"),
    SAME("NonZero"),
    SAME("OneHot"),
    MADE("Optional", 15, up_optional, "what it holds"),
    MADE("OptionalGetElement", 15, up_optional, "what it holds"),
    MADE("OptionalHasElement", 15, up_optional_has, "becomes a constant"),
    BROADCAST("Or"),
    UNTIL("PRelu", 1, 6, up_prelu_1, "one slope a channel"),
    UNTIL("Pad", 2, 10, up_pad_2, "pads and value become inputs"),
    BROADCAST("Pow"),
    MADE("QLinearConv", 10, up_qlinear_conv, "ConvInteger"),
    MADE("QLinearMatMul", 10, up_qlinear_matmul, "MatMulInteger"),
    ROW("QuantizeLinear", 10, NEWEST, up_quantize, NULL),
    SINCE("RMSNormalization", 23),
    SAME("RNN"),
    SAME("Range"),
    AXES("ReduceL1", 17),
    AXES("ReduceL2", 17),
    AXES("ReduceLogSum", 17),
    AXES("ReduceLogSumExp", 17),
    AXES("ReduceMax", 17),
    AXES("ReduceMean", 17),
    AXES("ReduceMin", 17),
    AXES("ReduceProd", 17),
    AXES("ReduceSum", 12),
    AXES("ReduceSumSquare", 17),
    SINCE("Reshape", 5),
    ROW("Resize", 10, 10, up_resize_10, "asymmetric; the nearest is above where it shrinks"),
    ROW("Resize", 11, NEWEST, up_resize, "align_corners of PyTorch: by sizes"),
    SAME("ReverseSequence"),
    SAME("RoiAlign"),
    MADE("RotaryEmbedding", 23, up_rotary, "Mul, Add, Sub, Concat"),
    SAME("STFT"),
    { "Scan", 8, 8, NULL, up_scan_8, "refused" },
    MADE("Scan", 9, up_scan_9, "body closed over what it takes"),
    { "Scatter", 9, 10, "ScatterElements", NULL, "its old name" },
    { "Scatter", 11, NEWEST, "ScatterElements", NULL, "its old name" },
    SAME("ScatterElements"),
    SAME("ScatterND"),
    SINCE("Selu", 6),
    MADE("SequenceAt", 11, up_sequence_at, "one of its wires, or Gather"),
    MADE("SequenceConstruct", 11, up_sequence_construct, "no node"),
    MADE("SequenceEmpty", 11, up_sequence_empty, "no node"),
    MADE("SequenceErase", 11, up_sequence_erase, "no node"),
    MADE("SequenceInsert", 11, up_sequence_insert, "no node; in a Loop what it scans"),
    MADE("SequenceLength", 11, up_sequence_length, "Shape"),
    SAME("Shape"),
    SAME("Size"),
    UNTIL("Slice", 1, 9, up_slice_1, "starts, ends and axes become inputs"),
    SOFTMAX("Softmax"),
    MADE("SoftmaxCrossEntropyLoss", 12, up_cross_entropy, "LogSoftmax and the above"),
    SAME("SpaceToDepth"),
    ROW("Split", 2, 12, up_split_2, "split becomes an input"),
    UNTIL("Split", 13, 17, up_split_13, "without sizes: as many parts as outputs"),
    MADE("SplitToSequence", 11, up_split_to_sequence, "Split, or no node"),
    { "SimplifiedLayerNormalization", 1, NEWEST, "RMSNormalization", up_simplified_norm,
      "an optimiser's name" },
    AXES("Squeeze", 12),
    BROADCAST("Sub"),
    SAME("Sum"),
    MADE("SwiGLU", 28, up_swiglu, "Swish, Mul"),
    SINCE("Swish", 24),
    SINCE("Tile", 6),
    UNTIL("TopK", 1, 9, up_topk_1, "k becomes an input"),
    MADE("TensorScatter", 24, up_tensor_scatter, "ScatterElements"),
    SAME("Transpose"),
    SAME("Trilu"),
    SAME("Unique"),
    AXES("Unsqueeze", 12),
    { "Upsample", 7, 8, "Resize", up_upsample_7, "asymmetric, floor" },
    { "Upsample", 9, NEWEST, "Resize", up_upsample_9, "asymmetric, floor" },
    SAME("Where"),
    BROADCAST("Xor"),
};

/* What com.microsoft and ai.onnx.contrib call alike. */
/* clang-format off */
#define SHARED_ROWS \
    VENDOR("Attention", up_packed_attention, "MatMul, Split, as Attention"), \
    VENDOR("BiasGelu", up_bias_gelu, "Add, Gelu"), \
    VENDOR("FastGelu", up_fast_gelu, "Add, Gelu"), \
    VENDOR("FusedConv", up_fused_conv, "Conv, Add and an activation"), \
    VENDOR("FusedMatMul", up_fused_matmul, "MatMul, or Einsum, and Mul"), \
    ROW("Gelu", 1, 1, NULL, NULL), \
    ROW("LayerNormalization", 1, 1, NULL, NULL), \
    VENDOR("MultiHeadAttention", up_multi_head_attention, "as Attention"), \
    VENDOR("QuickGelu", up_quick_gelu, "Swish"), \
    VENDOR("RotaryEmbedding", up_vendor_rotary, "as RotaryEmbedding"), \
    { "SimplifiedLayerNormalization", 1, 1, "RMSNormalization", up_simplified_norm, NULL }, \
    VENDOR("SkipLayerNormalization", up_skip_layer_norm, "Add, LayerNormalization")
/* clang-format on */

/* Of com.microsoft: quantised and fused ops, as the standard ones they are. */
static const struct op_row microsoft_rows[] = {
    SHARED_ROWS,
    VENDOR("CausalConvWithState", up_vendor_causal_conv, "Concat, Conv, Swish, Slice"),
    ROW("DequantizeLinear", 1, 1, up_dequantize, "16 and 4 bits"),
    VENDOR("DynamicQuantizeLSTM", up_dynamic_lstm, "scales checked"),
    VENDOR("DynamicQuantizeMatMul", up_dynamic_matmul,
           "DynamicQuantizeLinear, MatMulInteger, Cast, Mul, Add"),
    VENDOR("EmbedLayerNormalization", up_embed_layer_norm, "Gather, Add, LayerNormalization"),
    VENDOR("FusedGemm", up_fused_gemm, "Gemm and an activation"),
    VENDOR("GatherBlockQuantized", up_gather_blocks, "DequantizeLinear, Gather"),
    VENDOR("GroupQueryAttention", up_group_query_attention, "as Attention"),
    VENDOR("LinearAttention", up_vendor_linear_attention, "Scan"),
    VENDOR("MatMulIntegerToFloat", up_matmul_to_float, "MatMulInteger, Cast, Mul, Add"),
    VENDOR("MatMulNBits", up_matmul_nbits, "DequantizeLinear, MatMul"),
    VENDOR("NhwcConv", up_nhwc_conv, "Transpose, Conv, Transpose"),
    VENDOR("NhwcMaxPool", up_nhwc_max_pool, "MaxPool"),
    VENDOR("QAttention", up_qattention, "refused"),
    VENDOR("QGemm", up_qgemm, "MatMulInteger, Add, Cast, Mul, QuantizeLinear"),
    QLINEAR("QLinearAdd", up_qlinear_add, "Add"),
    QLINEAR("QLinearAveragePool", up_qlinear_pool, "AveragePool"),
    QLINEAR("QLinearConcat", up_qlinear_concat, "Concat"),
    VENDOR("QLinearConv", up_vendor_qlinear_conv, "as QLinearConv"),
    QLINEAR("QLinearGlobalAveragePool", up_qlinear_global_pool, "GlobalAveragePool"),
    QLINEAR("QLinearLeakyRelu", up_qlinear_leaky_relu, "LeakyRelu"),
    QLINEAR("QLinearMul", up_qlinear_mul, "Mul"),
    QLINEAR("QLinearReduceMean", up_qlinear_mean, "ReduceMean"),
    QLINEAR("QLinearSigmoid", up_qlinear_sigmoid, "Sigmoid"),
    QLINEAR("QLinearSoftmax", up_qlinear_softmax, "Softmax"),
    QLINEAR("QLinearWhere", up_qlinear_where, "Where"),
    ROW("QuantizeLinear", 1, 1, up_quantize, "16 and 4 bits"),
    VENDOR("Range", up_vendor_range, "Range"),
    VENDOR("ScaledSiLU", up_scaled_silu, "Mul, Swish"),
    VENDOR("SkipSimplifiedLayerNormalization", up_skip_rms_norm, "Add, RMSNormalization"),
    VENDOR("TransposeMatMul", up_fused_matmul, "MatMul, or Einsum, and Mul"),
    ROW("Trilu", 1, 1, NULL, NULL),
};

static const struct op_row contrib_rows[] = { SHARED_ROWS };

/* Of com.microsoft.nchwc: what is left of blocks of channels once they lie as everywhere. */
static const struct op_row nchwc_rows[] = {
    { "AveragePool", 1, 1, "AveragePool", NULL, NULL },
    VENDOR("Conv", up_nchwc_conv, "as FusedConv of com.microsoft"),
    { "GlobalAveragePool", 1, 1, "GlobalAveragePool", NULL, NULL },
    { "GlobalMaxPool", 1, 1, "GlobalMaxPool", NULL, NULL },
    { "MaxPool", 1, 1, "MaxPool", NULL, NULL },
    VENDOR("ReorderInput", up_reorder_input, "nothing, or Transpose"),
    VENDOR("ReorderOutput", up_reorder_output, "Slice, Transpose"),
    VENDOR("Upsample", up_nchwc_upsample, "Resize"),
};

#define TABLE(domain, rows)                                                                        \
    {                                                                                              \
        domain, rows, sizeof rows / sizeof *rows                                                   \
    }
static const struct op_table {
    const char *domain; /* "": the standard one */
    const struct op_row *rows;
    size_t n;
} tables[] = { TABLE("", rows), TABLE("com.microsoft", microsoft_rows),
               TABLE("ai.onnx.contrib", contrib_rows), TABLE("com.microsoft.nchwc", nchwc_rows) };

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
    r->unknown = r->version.opset > ONNX_OPSET_MAX ? ONNX_UNKNOWN_OPSET : r->unknown;
    return err_set(r->err, RILL_UNSUPPORTED,
                   "%.160s is of opset %" PRId64 "; opsets %d to %d are "
                   "read: export it again for one of those",
                   r->version.of, r->version.opset, ONNX_OPSET_MIN, ONNX_OPSET_MAX);
}

/* What is refused for a reason of its own, and what would do. op NULL: every op of the domain. */
static const struct refusal {
    const char *domain, *op, *why;
} refusals[] = {
    { "com.microsoft", "Inverse", "inverts matrices, which is not supported" },
    { "ai.onnx.contrib", "Inverse", "inverts matrices, which is not supported" },
    { "ai.onnx.preview", "FlexAttention",
      "takes functions of scores, of a preview that may change; export Attention" },
    { "ai.onnx.preview.training", NULL, "is of training; export the model for inference" },
    { "", "DeformConv", "samples at offsets from data, which is not supported; GridSample is" },
    { "", "Bernoulli", "is random; give its numbers as an input" },
    { "", "Multinomial", "is random; give its numbers as an input" },
    { "", "RandomNormal", "is random; give its numbers as an input" },
    { "", "RandomNormalLike", "is random; give its numbers as an input" },
    { "", "RandomUniform", "is random; give its numbers as an input" },
    { "", "RandomUniformLike", "is random; give its numbers as an input" },
    { "", "StringNormalizer", "works on strings, which are not supported" },
    { "", "TfIdfVectorizer", "counts words of text, which is not supported" },
    { "", "ImageDecoder", "decodes image files, which is not supported" },
};

static const char *reason_of(const char *domain, const char *op)
{
    for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++)
        if (!strcmp(refusals[i].domain, domain) && (!refusals[i].op || !strcmp(refusals[i].op, op)))
            return refusals[i].why;
    return NULL;
}

static rill_status refuse_of_domain(struct reader *r, const char *node, const char *domain,
                                    const char *op)
{
    const struct op_table *t = table_of(domain);
    const char *near = t ? nearest(t, op) : NULL;
    if (!t && r->model && r->model->n_functions)
        return err_set(r->err, RILL_UNSUPPORTED,
                       "node '%.80s': '%.60s' of domain '%.60s' is none of the functions that the "
                       "file defines",
                       node, op, domain);
    return err_set(r->err, RILL_UNSUPPORTED,
                   "node '%.80s': op '%.60s' is of domain '%.60s'; only %sops of the standard "
                   "domain%s are supported%s%s%s: export without vendor ops",
                   node, op, domain, t ? "some ops of it and " : "",
                   t ? "" : " and some of com.microsoft", near ? ", the nearest is '" : "",
                   near ? near : "", near ? "'" : "");
}

rill_status op_row_refuse(struct reader *r, const char *node, const char *domain, const char *op,
                          int64_t opset)
{
    int first = 0, last = 0;
    if (!*domain && opset > ONNX_OPSET_MAX)
        return onnx_opset_refuse(r);
    r->unknown = ONNX_UNKNOWN_OP;
    if (reason_of(domain, op))
        return err_set(r->err, RILL_UNSUPPORTED, "node '%.80s': op '%.60s'%s%s %s", node, op,
                       *domain ? " of domain " : "", domain, reason_of(domain, op));
    if (*domain)
        return refuse_of_domain(r, node, domain, op);
    for (size_t i = 0; i < tables[0].n; i++)
        if (!strcmp(rows[i].name, op) && row_works(&rows[i])) {
            first = first ? first : rows[i].first;
            last = rows[i].last;
        }
    if (first && (opset < first || opset > last))
        return err_set(r->err, RILL_UNSUPPORTED,
                       "node '%.80s': op '%.60s' exists in opsets %d to %d, %.160s is of "
                       "%" PRId64,
                       node, op, first, last, r->version.of, opset);
    const char *near = nearest(&tables[0], op);
    return err_set(r->err, RILL_UNSUPPORTED,
                   "node '%.80s': op '%.60s' (opset %" PRId64 ") is not "
                   "supported%s%s%s; `rill inspect --ops` lists what is",
                   node, op, opset, near && strcmp(near, op) ? ", the nearest is '" : "",
                   near && strcmp(near, op) ? near : "", near && strcmp(near, op) ? "'" : "");
}
