/* SPDX-License-Identifier: MIT */
/* The operators of the format that are read. */
#include "models/tflite/internal.h"

/* clang-format off */
/* number, inputs, outputs (at least, at most; -1: any number), which input's type the outputs have
 * (-1: none), conversion, what it makes, whether before the first run */
static const struct op_row rows[] = {
    { 0, 2, 2, 1, 1, 0, tfl_binary, OP_ADD, false }, /* ADD */
    { 1, 1, 1, 1, 1, 0, tfl_pool, OP_AVERAGE_POOL, false }, /* AVERAGE_POOL_2D */
    { 2, 1, -1, 1, 1, 0, tfl_concatenation, 0, false }, /* CONCATENATION */
    { 3, 2, 3, 1, 1, 0, tfl_conv_2d, 0, false }, /* CONV_2D */
    { 4, 2, 3, 1, 1, 0, tfl_depthwise_conv_2d, 0, false }, /* DEPTHWISE_CONV_2D */
    { 6, 1, 1, 1, 1, -1, tfl_dequantize, 0, false }, /* DEQUANTIZE */
    { 8, 1, 1, 1, 1, 0, tfl_unary, OP_FLOOR, false }, /* FLOOR */
    { 9, 2, 3, 1, 1, 0, tfl_fully_connected, 0, false }, /* FULLY_CONNECTED */
    { 11, 1, 1, 1, 1, 0, tfl_l2_normalization, 0, false }, /* L2_NORMALIZATION */
    { 14, 1, 1, 1, 1, 0, tfl_table, OP_SIGMOID, false }, /* LOGISTIC */
    { 17, 1, 1, 1, 1, 0, tfl_pool, OP_MAX_POOL, false }, /* MAX_POOL_2D */
    { 18, 2, 2, 1, 1, 0, tfl_binary, OP_MUL, false }, /* MUL */
    { 19, 1, 1, 1, 1, 0, tfl_relu_like, ACTIVATION_RELU, false }, /* RELU */
    { 20, 1, 1, 1, 1, 0, tfl_relu_like, ACTIVATION_RELU_N1_TO_1, false }, /* RELU_N1_TO_1 */
    { 21, 1, 1, 1, 1, 0, tfl_relu_like, ACTIVATION_RELU6, false }, /* RELU6 */
    { 22, 1, 2, 1, 1, 0, tfl_reshape, RESHAPE_BY_SIZES, false }, /* RESHAPE */
    { 23, 2, 2, 1, 1, 0, tfl_resize_bilinear, 0, false }, /* RESIZE_BILINEAR */
    { 25, 1, 1, 1, 1, 0, tfl_softmax, OP_SOFTMAX, false }, /* SOFTMAX */
    { 27, 3, 5, 1, 1, 0, tfl_svdf, 0, false }, /* SVDF */
    { 28, 1, 1, 1, 1, 0, tfl_table, OP_TANH, false }, /* TANH */
    { 34, 2, 2, 1, 1, 0, tfl_pad, 0, false }, /* PAD */
    { 36, 2, 2, 1, 1, 0, tfl_gather, 0, false }, /* GATHER */
    { 39, 2, 2, 1, 1, 0, tfl_transpose, 0, false }, /* TRANSPOSE */
    { 40, 2, 2, 1, 1, 0, tfl_reduce, OP_REDUCE_MEAN, false }, /* MEAN */
    { 41, 2, 2, 1, 1, 0, tfl_binary, OP_SUB, false }, /* SUB */
    { 42, 2, 2, 1, 1, 0, tfl_binary, OP_DIV, false }, /* DIV */
    { 43, 1, 1, 1, 1, 0, tfl_squeeze, 0, false }, /* SQUEEZE */
    { 44, 1, 24, 1, 1, 0, tfl_lstm, 0, false }, /* UNIDIRECTIONAL_SEQUENCE_LSTM */
    { 45, 4, 4, 1, 1, 0, tfl_strided_slice, 0, false }, /* STRIDED_SLICE */
    { 47, 1, 1, 1, 1, 0, tfl_table, OP_EXP, false }, /* EXP */
    { 49, 2, 2, 1, -1, 1, tfl_split, 0, false }, /* SPLIT */
    { 50, 1, 1, 1, 1, 0, tfl_softmax, OP_LOG_SOFTMAX, false }, /* LOG_SOFTMAX */
    { 53, 1, 1, 1, 1, -1, tfl_cast, 0, false }, /* CAST */
    { 54, 2, 2, 1, 1, 0, tfl_prelu, 0, false }, /* PRELU */
    { 55, 2, 2, 1, 1, 0, tfl_alike, OP_MAX, false }, /* MAXIMUM */
    { 56, 2, 2, 1, 1, -1, tfl_arg, OP_ARG_MAX, false }, /* ARG_MAX */
    { 57, 2, 2, 1, 1, 0, tfl_alike, OP_MIN, false }, /* MINIMUM */
    { 58, 2, 2, 1, 1, -1, tfl_compare, OP_LESS, false }, /* LESS */
    { 59, 1, 1, 1, 1, 0, tfl_unary, OP_NEG, false }, /* NEG */
    { 60, 3, 3, 1, 1, 0, tfl_pad, 0, false }, /* PADV2 */
    { 61, 2, 2, 1, 1, -1, tfl_compare, OP_GREATER, false }, /* GREATER */
    { 62, 2, 2, 1, 1, -1, tfl_compare, OP_GREATER_OR_EQUAL, false }, /* GREATER_EQUAL */
    { 63, 2, 2, 1, 1, -1, tfl_compare, OP_LESS_OR_EQUAL, false }, /* LESS_EQUAL */
    { 65, 3, 3, 1, 1, 0, tfl_slice, 0, false }, /* SLICE */
    { 66, 1, 1, 1, 1, 0, tfl_unary, OP_SIN, false }, /* SIN */
    { 67, 3, 4, 1, 1, 2, tfl_transpose_conv, 0, false }, /* TRANSPOSE_CONV */
    { 70, 2, 2, 1, 1, 0, tfl_expand_dims, 0, false }, /* EXPAND_DIMS */
    { 71, 2, 2, 1, 1, -1, tfl_compare, OP_EQUAL, false }, /* EQUAL */
    { 73, 1, 1, 1, 1, 0, tfl_unary, OP_LOG, false }, /* LOG */
    { 74, 2, 2, 1, 1, 0, tfl_reduce, OP_REDUCE_SUM, false }, /* SUM */
    { 75, 1, 1, 1, 1, 0, tfl_unary, OP_SQRT, false }, /* SQRT */
    { 76, 1, 1, 1, 1, 0, tfl_rsqrt, 0, false }, /* RSQRT */
    { 78, 2, 2, 1, 1, 0, tfl_alike, OP_POW, false }, /* POW */
    { 79, 2, 2, 1, 1, -1, tfl_arg, OP_ARG_MIN, false }, /* ARG_MIN */
    { 82, 2, 2, 1, 1, 0, tfl_reduce, OP_REDUCE_MAX, false }, /* REDUCE_MAX */
    { 83, 1, -1, 1, 1, 0, tfl_pack, 0, false }, /* PACK */
    { 88, 1, 1, 1, -1, 0, tfl_unpack, 0, false }, /* UNPACK */
    { 89, 2, 2, 1, 1, 0, tfl_reduce, OP_REDUCE_MIN, false }, /* REDUCE_MIN */
    { 92, 1, 1, 1, 1, 0, tfl_squared_difference, 0, false }, /* SQUARE */
    { 97, 2, 2, 1, 1, 0, tfl_resize_nearest, 0, false }, /* RESIZE_NEAREST_NEIGHBOR */
    { 98, 1, 1, 1, 1, 0, tfl_leaky_relu, OP_LEAKY_RELU, false }, /* LEAKY_RELU */
    { 99, 2, 2, 1, 1, 0, tfl_squared_difference, 0, false }, /* SQUARED_DIFFERENCE */
    { 100, 2, 2, 1, 1, 0, tfl_mirror_pad, 0, false }, /* MIRROR_PAD */
    { 101, 1, 1, 1, 1, 0, tfl_unary, OP_ABS, false }, /* ABS */
    { 102, 3, 3, 1, -1, 0, tfl_split_v, 0, false }, /* SPLIT_V */
    { 104, 1, 1, 1, 1, 0, tfl_unary, OP_CEIL, false }, /* CEIL */
    { 108, 1, 1, 1, 1, 0, tfl_unary, OP_COS, false }, /* COS */
    { 111, 1, 1, 1, 1, 0, tfl_unary, OP_ELU, false }, /* ELU */
    { 114, 1, 1, 1, 1, -1, tfl_quantize, 0, false }, /* QUANTIZE */
    { 116, 1, 1, 1, 1, 0, tfl_unary, OP_ROUND, false }, /* ROUND */
    { 117, 1, 1, 1, 1, 0, tfl_table, OP_HARD_SWISH, false }, /* HARD_SWISH */
    { 126, 2, 2, 1, 1, 0, tfl_batch_matmul, 0, false }, /* BATCH_MATMUL */
    { 128, 2, 2, 1, 1, 0, tfl_cumsum, 0, false }, /* CUMSUM */
    { 129, 0, 0, 0, 0, -1, tfl_call_once, 0, false }, /* CALL_ONCE */
    { 142, 0, 0, 1, 1, -1, tfl_var_handle, 0, true }, /* VAR_HANDLE */
    { 143, 1, 1, 1, 1, -1, tfl_read_variable, 0, false }, /* READ_VARIABLE */
    { 144, 2, 2, 0, 0, -1, tfl_assign_variable, 0, true }, /* ASSIGN_VARIABLE */
    { 150, 1, 1, 1, 1, 0, tfl_unary, OP_GELU, false }, /* GELU */
};
/* clang-format on */

const struct op_row *tfl_op_find(int number)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].number == number)
            return &rows[i];
    return NULL;
}
