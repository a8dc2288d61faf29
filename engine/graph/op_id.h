/* SPDX-License-Identifier: MIT */
/* op_id.h - the number and the name of every op, those that only passes make included. Code tells
 * ops by number; names are for files and for people. Numbers are not stored anywhere.
 *
 * OP_IDS_UNARY are functions of one operand, element by element, that the standard has by that name
 * in every version with the meaning of the newest: the reader takes them from here. */
#ifndef RILL_ENGINE_GRAPH_OP_ID_H
#define RILL_ENGINE_GRAPH_OP_ID_H

/* clang-format off */
#define OP_IDS_UNARY(X)                                                                          \
    X(ABS, "Abs") X(ACOS, "Acos") X(ACOSH, "Acosh") X(ASIN, "Asin") X(ASINH, "Asinh")            \
    X(ATAN, "Atan") X(ATANH, "Atanh") X(BITWISE_NOT, "BitwiseNot") X(CEIL, "Ceil")               \
    X(COS, "Cos") X(COSH, "Cosh") X(ELU, "Elu") X(ERF, "Erf") X(EXP, "Exp")                      \
    X(FLOOR, "Floor") X(GELU, "Gelu") X(HARD_SIGMOID, "HardSigmoid") X(IDENTITY, "Identity")     \
    X(ISINF, "IsInf") X(ISNAN, "IsNaN") X(LEAKY_RELU, "LeakyRelu") X(LOG, "Log")                 \
    X(MISH, "Mish") X(NEG, "Neg") X(NOT, "Not") X(RECIPROCAL, "Reciprocal") X(RELU, "Relu")      \
    X(ROUND, "Round") X(SHRINK, "Shrink") X(SIGMOID, "Sigmoid") X(SIGN, "Sign")                  \
    X(SIN, "Sin") X(SINH, "Sinh") X(SOFTPLUS, "Softplus") X(SOFTSIGN, "Softsign")                \
    X(SQRT, "Sqrt") X(TAN, "Tan") X(TANH, "Tanh") X(THRESHOLDED_RELU, "ThresholdedRelu")

#define OP_IDS_OTHER(X)                                                                          \
    X(ADD, "Add") X(AND, "And") X(ARG_MAX, "ArgMax") X(ARG_MIN, "ArgMin")                        \
    X(AVERAGE_POOL, "AveragePool") X(BATCH_NORMALIZATION, "BatchNormalization")                  \
    X(BIT_CAST, "BitCast") X(BIT_SHIFT, "BitShift") X(BITWISE_AND, "BitwiseAnd") X(BITWISE_OR, "BitwiseOr")             \
    X(BITWISE_XOR, "BitwiseXor") X(BLACKMAN_WINDOW, "BlackmanWindow") X(BYTE_ADD, "ByteAdd")     \
    X(BYTE_CONV, "ByteConv") X(BYTE_HALF, "ByteHalf") X(BYTE_JOIN, "ByteJoin") X(BYTE_MUL, "ByteMul") X(BYTE_NORM, "ByteNorm") X(BYTE_OF, "ByteOf")                         \
    X(BYTE_POOL, "BytePool") X(BYTE_ROWS, "ByteRows") X(BYTE_SOFTMAX, "ByteSoftmax")             \
    X(BYTE_TABLE, "ByteTable") X(BYTE_TABLES, "ByteTables") X(CAST, "Cast") X(CAST_LIKE, "CastLike") X(CELU, "Celu")          \
    X(CLIP, "Clip") X(COMPLEX_MUL, "ComplexMul") X(COMPRESS, "Compress") X(CONCAT, "Concat")     \
    X(CONSTANT_OF_SHAPE, "ConstantOfShape") X(CONV, "Conv") X(CONV_INTEGER, "ConvInteger")       \
    X(CONV_TRANSPOSE, "ConvTranspose") X(CUMPROD, "CumProd") X(CUMSUM, "CumSum") X(DFT, "DFT")                         \
    X(DEPTH_TO_SPACE, "DepthToSpace") X(DEQUANTIZE_LINEAR, "DequantizeLinear") X(DIV, "Div")     \
    X(DYNAMIC_QUANTIZE_LINEAR, "DynamicQuantizeLinear")                                          \
    X(DYNAMIC_QUANTIZE_LSTM, "DynamicQuantizeLSTM") X(EINSUM, "Einsum")                          \
    X(EQUAL, "Equal") X(EXPAND, "Expand") X(EYE_LIKE, "EyeLike") X(FLATTEN, "Flatten")           \
    X(FRAME, "Frame") X(FUSED, "Fused") X(GRU, "GRU") X(GATHER, "Gather")                        \
    X(GATHER_ELEMENTS, "GatherElements") X(GATHER_ND, "GatherND") X(GEMM, "Gemm")                \
    X(GLOBAL_AVERAGE_POOL, "GlobalAveragePool") X(GLOBAL_LP_POOL, "GlobalLpPool")                \
    X(GLOBAL_MAX_POOL, "GlobalMaxPool") X(GREATER, "Greater")                                    \
    X(GREATER_OR_EQUAL, "GreaterOrEqual") X(GROUP_NORMALIZATION, "GroupNormalization")           \
    X(HAMMING_WINDOW, "HammingWindow") X(HANN_WINDOW, "HannWindow")                              \
    X(HARD_SWISH, "HardSwish") X(HARDMAX, "Hardmax") X(IRFFT, "IRFFT") X(IF, "If")               \
    X(INSTANCE_NORMALIZATION, "InstanceNormalization") X(LRN, "LRN") X(LSTM, "LSTM")             \
    X(LAYER_NORMALIZATION, "LayerNormalization") X(LESS, "Less")                                 \
    X(LESS_OR_EQUAL, "LessOrEqual") X(LOG_SOFTMAX, "LogSoftmax") X(LOOP, "Loop")                 \
    X(LP_NORMALIZATION, "LpNormalization") X(LP_POOL, "LpPool") X(MAGNITUDE, "Magnitude")        \
    X(MATMUL, "MatMul") X(MATMUL_INTEGER, "MatMulInteger")                                        \
    X(MATMUL_NARROW, "MatMulNarrow") X(CONV_LAST, "ConvLast") X(CONV_NARROW, "ConvNarrow") X(MAX, "Max") \
    X(MAX_POOL, "MaxPool") X(MEAN, "Mean") X(MEL_WEIGHT_MATRIX, "MelWeightMatrix")               \
    X(MIN, "Min") X(MOD, "Mod") X(MUL, "Mul") X(NONZERO, "NonZero") X(ONE_HOT, "OneHot")         \
    X(OR, "Or") X(OVERLAP_ADD, "OverlapAdd") X(PRELU, "PRelu") X(PAD, "Pad") X(POW, "Pow")       \
    X(PULSE_FIRST, "PulseFirst") X(PULSE_HISTORY, "PulseHistory") X(PULSE_PAD, "PulsePad") X(PULSE_RANGE, "PulseRange")       \
    X(PULSE_SKIP, "PulseSkip") X(PULSE_VALID, "PulseValid") X(PULSE_WINDOW, "PulseWindow")       \
    X(QUANTIZE_LINEAR, "QuantizeLinear") X(RFFT, "RFFT") X(RNN, "RNN") X(RANGE, "Range")         \
    X(REDUCE_L1, "ReduceL1") X(REDUCE_L2, "ReduceL2") X(REDUCE_LOG_SUM, "ReduceLogSum")          \
    X(REDUCE_LOG_SUM_EXP, "ReduceLogSumExp") X(REDUCE_MAX, "ReduceMax")                          \
    X(REDUCE_MEAN, "ReduceMean") X(REDUCE_MIN, "ReduceMin") X(REDUCE_PROD, "ReduceProd")         \
    X(REDUCE_SUM, "ReduceSum") X(REDUCE_SUM_SQUARE, "ReduceSumSquare")                           \
    X(RMS_NORMALIZATION, "RMSNormalization") X(REQUANTIZE, "Requantize") X(RESHAPE, "Reshape") X(RESIZE, "Resize")                        \
    X(REVERSE_SEQUENCE, "ReverseSequence") X(ROUND_BF16, "RoundBF16")                            \
    X(ROUND_F16, "RoundF16") X(ROUND_S8, "RoundS8") X(ROUND_S16, "RoundS16") X(STFT, "STFT") X(SCAN, "Scan") \
    X(SCATTER_ELEMENTS, "ScatterElements") X(SCATTER_ND, "ScatterND") X(SELU, "Selu")            \
    X(SHAPE, "Shape") X(SHORT_SOFTMAX, "ShortSoftmax") X(SHORT_TABLE, "ShortTable") X(SIZE, "Size") X(SLICE, "Slice") X(SOFTMAX, "Softmax")                    \
    X(SPACE_TO_DEPTH, "SpaceToDepth") X(SPLIT, "Split") X(SQUEEZE, "Squeeze")                    \
    X(STRIDED_COPY, "StridedCopy") X(SUB, "Sub") X(SUM, "Sum") X(SWISH, "Swish")                 \
    X(TILE, "Tile") X(TOPK, "TopK") X(TRANSPOSE, "Transpose") X(TRILU, "Trilu")                  \
    X(UNIQUE, "Unique") X(UNSQUEEZE, "Unsqueeze") X(WHERE, "Where") X(XOR, "Xor")
/* clang-format on */
#define OP_IDS(X) OP_IDS_UNARY(X) OP_IDS_OTHER(X)

enum op_id {
    OP_NONE, /* a row that is not of the list has no number */
#define X(number, name) OP_##number,
    OP_IDS(X)
#undef X
        OP_COUNT
};
#endif
