/* SPDX-License-Identifier: MIT */
/* op_id.h - the number and the name of every op, those that only passes make included. Code tells
 * ops by number; names are for files and for people. Numbers are not stored anywhere. */
#ifndef RILL_ENGINE_GRAPH_OP_ID_H
#define RILL_ENGINE_GRAPH_OP_ID_H

/* clang-format off */
#define OP_IDS(X)                                                                                \
    X(ABS, "Abs") X(ACOS, "Acos") X(ACOSH, "Acosh") X(ADD, "Add") X(AND, "And")                  \
    X(ARG_MAX, "ArgMax") X(ARG_MIN, "ArgMin") X(ASIN, "Asin") X(ASINH, "Asinh") X(ATAN, "Atan")  \
    X(ATANH, "Atanh") X(AVERAGE_POOL, "AveragePool")                                             \
    X(BATCH_NORMALIZATION, "BatchNormalization") X(BIT_SHIFT, "BitShift")                        \
    X(BITWISE_AND, "BitwiseAnd") X(BITWISE_NOT, "BitwiseNot") X(BITWISE_OR, "BitwiseOr")         \
    X(BITWISE_XOR, "BitwiseXor") X(BLACKMAN_WINDOW, "BlackmanWindow") X(CAST, "Cast")            \
    X(CAST_LIKE, "CastLike") X(CEIL, "Ceil") X(CELU, "Celu") X(CLIP, "Clip")   \
    X(COMPLEX_MUL, "ComplexMul") X(COMPRESS, "Compress") X(CONCAT, "Concat")                     \
    X(CONSTANT_OF_SHAPE, "ConstantOfShape") X(CONV, "Conv") X(CONV_TRANSPOSE, "ConvTranspose")   \
    X(COS, "Cos") X(COSH, "Cosh") X(CUMSUM, "CumSum") X(DFT, "DFT")                              \
    X(DEPTH_TO_SPACE, "DepthToSpace") X(DEQUANTIZE_LINEAR, "DequantizeLinear") X(DIV, "Div")     \
    X(DYNAMIC_QUANTIZE_LINEAR, "DynamicQuantizeLinear") X(EINSUM, "Einsum") X(ELU, "Elu")        \
    X(EQUAL, "Equal") X(ERF, "Erf") X(EXP, "Exp") X(EXPAND, "Expand") X(EYE_LIKE, "EyeLike")     \
    X(FLATTEN, "Flatten") X(FLOOR, "Floor") X(FRAME, "Frame") X(FUSED, "Fused") X(GRU, "GRU") X(GATHER, "Gather")  \
    X(GATHER_ELEMENTS, "GatherElements") X(GATHER_ND, "GatherND") X(GELU, "Gelu")                \
    X(GEMM, "Gemm") X(GLOBAL_AVERAGE_POOL, "GlobalAveragePool")                                  \
    X(GLOBAL_LP_POOL, "GlobalLpPool") X(GLOBAL_MAX_POOL, "GlobalMaxPool") X(GREATER, "Greater")  \
    X(GREATER_OR_EQUAL, "GreaterOrEqual") X(GROUP_NORMALIZATION, "GroupNormalization")           \
    X(HAMMING_WINDOW, "HammingWindow") X(HANN_WINDOW, "HannWindow")                              \
    X(HARD_SIGMOID, "HardSigmoid") X(HARD_SWISH, "HardSwish") X(HARDMAX, "Hardmax")              \
    X(IRFFT, "IRFFT") X(IDENTITY, "Identity") X(IF, "If")                                        \
    X(INSTANCE_NORMALIZATION, "InstanceNormalization") X(ISINF, "IsInf") X(ISNAN, "IsNaN")       \
    X(LRN, "LRN") X(LSTM, "LSTM") X(LAYER_NORMALIZATION, "LayerNormalization")                   \
    X(LEAKY_RELU, "LeakyRelu") X(LESS, "Less") X(LESS_OR_EQUAL, "LessOrEqual") X(LOG, "Log")     \
    X(LOG_SOFTMAX, "LogSoftmax") X(LOOP, "Loop") X(LP_NORMALIZATION, "LpNormalization")          \
    X(LP_POOL, "LpPool") X(MAGNITUDE, "Magnitude") X(MATMUL, "MatMul") X(MAX, "Max")             \
    X(MAX_POOL, "MaxPool") X(MEAN, "Mean") X(MEL_WEIGHT_MATRIX, "MelWeightMatrix") X(MIN, "Min") \
    X(MISH, "Mish") X(MOD, "Mod") X(MUL, "Mul") X(NEG, "Neg")                    \
    X(NONZERO, "NonZero") X(NOT, "Not") X(ONE_HOT, "OneHot") X(OR, "Or")                         \
    X(OVERLAP_ADD, "OverlapAdd") X(PRELU, "PRelu") X(PAD, "Pad") X(POW, "Pow")                   \
    X(PULSE_HISTORY, "PulseHistory") X(PULSE_PAD, "PulsePad") X(PULSE_RANGE, "PulseRange")       \
    X(PULSE_SKIP, "PulseSkip") X(PULSE_VALID, "PulseValid")         \
    X(PULSE_WINDOW, "PulseWindow") X(QUANTIZE_LINEAR, "QuantizeLinear") X(RFFT, "RFFT")          \
    X(RNN, "RNN") X(RANGE, "Range") X(RECIPROCAL, "Reciprocal") X(REDUCE_L1, "ReduceL1")         \
    X(REDUCE_L2, "ReduceL2") X(REDUCE_LOG_SUM, "ReduceLogSum")                                   \
    X(REDUCE_LOG_SUM_EXP, "ReduceLogSumExp") X(REDUCE_MAX, "ReduceMax")                          \
    X(REDUCE_MEAN, "ReduceMean") X(REDUCE_MIN, "ReduceMin") X(REDUCE_PROD, "ReduceProd")         \
    X(REDUCE_SUM, "ReduceSum") X(REDUCE_SUM_SQUARE, "ReduceSumSquare") X(RELU, "Relu")           \
    X(RESHAPE, "Reshape") X(RESIZE, "Resize") X(REVERSE_SEQUENCE, "ReverseSequence")             \
    X(ROUND, "Round") X(STFT, "STFT") X(SCAN, "Scan") X(SCATTER_ELEMENTS, "ScatterElements")     \
    X(SCATTER_ND, "ScatterND") X(SELU, "Selu") X(SHAPE, "Shape") X(SHRINK, "Shrink")             \
    X(SIGMOID, "Sigmoid") X(SIGN, "Sign") X(SIN, "Sin") X(SINH, "Sinh") X(SIZE, "Size")          \
    X(SLICE, "Slice") X(SOFTMAX, "Softmax") X(SOFTPLUS, "Softplus") X(SOFTSIGN, "Softsign")      \
    X(SPACE_TO_DEPTH, "SpaceToDepth") X(SPLIT, "Split") X(SQRT, "Sqrt") X(SQUEEZE, "Squeeze")    \
    X(STRIDED_COPY, "StridedCopy") X(SUB, "Sub") X(SUM, "Sum") X(SWISH, "Swish") X(TAN, "Tan") X(TANH, "Tanh")                  \
    X(THRESHOLDED_RELU, "ThresholdedRelu") X(TILE, "Tile") X(TOPK, "TopK")                       \
    X(TRANSPOSE, "Transpose") X(TRILU, "Trilu") X(UNIQUE, "Unique") X(UNSQUEEZE, "Unsqueeze")    \
    X(WHERE, "Where") X(XOR, "Xor")
/* clang-format on */

enum op_id {
    OP_NONE, /* a row that is not of the list has no number */
#define X(number, name) OP_##number,
    OP_IDS(X)
#undef X
        OP_COUNT
};
#endif
