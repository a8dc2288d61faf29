/* SPDX-License-Identifier: MIT */
/* Quantised files that are wrong: what is refused names the tensor, the node and its op. */
#include "engine/typing/typed.h"
#include "models/onnx/reader.h"
#include "tests/check.h"
#include "tests/models/pb.h"

#define WORDS_MAX 4
#define LIST_MAX 64

/* consts: "NAME TYPE DIMS VALUES;" with TYPE f (f32), u, i (8 bits), w (i32), n (i4), N (u4), e
 * (f8), h (the bits of f16), DIMS "2x3" or "-" for a number, VALUES a list whose last number goes
 * on. attrs: "NAME=NUMBER;". x is f32[2,4,S], q u8[2,4,S]. */
/* What may not be is malformed; these words are of what is right and not supported. */
static const char *const not_supported[] = { "'basic'",
                                             "is of domain",
                                             "3 bits",
                                             "must be a constant",
                                             "has blocks and no size",
                                             "output_dtype ",
                                             "are not supported",
                                             "supported:",
                                             "are supported" };

/* clang-format off */
static const struct row {
    const char *name, *op, *in, *consts, *attrs;
    const char *words[WORDS_MAX]; /* none: it is fine */
} rows[] = {
    { "fine", "QuantizeLinear", "x s z", "s f - .1; z u - 3;", "", { 0 } },
    { "ranks differ", "QuantizeLinear", "x s z", "s f 1 .1; z u - 3;", "", { 0 } },
    { "of an axis", "DequantizeLinear", "q s z", "s f 4 .1; z u 4 3;", "", { 0 } },
    { "scale 0", "QuantizeLinear", "x s z", "s f - 0; z u - 3;", "",
      { "(QuantizeLinear)", "'s'", "is 0 at place 0" } },
    { "scale of a denormal", "QuantizeLinear", "x s z", "s f - 1e-40; z u - 3;", "",
      { "'s'", "is 9.99995e-41 at place 0", "at least 1.17549e-38" } },
    { "result's scale of a denormal", "QLinearMatMul", "q s z w s v t z",
      "s f - .1; z u - 3; w i 6x3 1; v i - 0; t f - 1e-40;", "", { "(QLinearMatMul", "scale 't' (input 6) is 9.99995e-41", "at least 1.17549e-38" } },
    { "scale NaN", "QuantizeLinear", "x s z", "s f - nan; z u - 3;", "", { "'s'", "is nan" } },
    { "scale infinite", "DequantizeLinear", "q s z", "s f - inf; z u - 3;", "",
      { "(DequantizeLinear)", "'s'", "is inf" } },
    { "scale negative", "DequantizeLinear", "q s z", "s f 4 .1,.1,-.1; z u 4 3;", "",
      { "(DequantizeLinear)", "'s'", "-0.1 at place 2", "greater than 0" } },
    { "too short", "QuantizeLinear", "x s z", "s f 3 .1; z u 3 3;", "",
      { "'s'", "has 3 numbers, axis 1 of what is quantised 4 places" } },
    { "of another axis", "QuantizeLinear", "x s z", "s f 4 .1; z u 4 3;", "axis=0;",
      { "'s'", "has 4 numbers, axis 0 of what is quantised 2" } },
    { "zeros too long", "QuantizeLinear", "x s z", "s f 4 .1; z u 5 3;", "", { "'z'", "has 5" } },
    { "too many dimensions", "QuantizeLinear", "x s z", "s f 4x1 .1; z u - 3;", "",
      { "'s'", "has 2 dimensions" } },
    { "axis past the last", "QuantizeLinear", "x s z", "s f 4 .1; z u 4 3;", "axis=3;",
      { "axis 3 is not one of an input of rank 3" } },
    { "axis far before the first", "DequantizeLinear", "q s z", "s f 4 .1; z u 4 3;", "axis=-9;",
      { "axis -9" } },
    { "zero of another type", "DequantizeLinear", "q s z", "s f - .1; z i - 3;", "",
      { "(DequantizeLinear)", "'z'", "is i8, its input u8" } },
    { "zero of a type that is none", "QuantizeLinear", "x s z", "s f - .1; z w - 3;", "",
      { "its output would be i32" } },
    { "zero against output_dtype", "QuantizeLinear", "x s z", "s f - .1; z u - 3;",
      "output_dtype=3;", { "output_dtype is i8", "'z'", "u8" } },
    { "output_dtype real", "QuantizeLinear", "x s", "s f - .1;", "output_dtype=1;",
      { "its output would be f32" } },
    { "output_dtype small", "DequantizeLinear", "q s", "s f - .1;", "output_dtype=2;",
      { "output_dtype" } },
    { "output_dtype unknown", "QuantizeLinear", "x s", "s f - .1;", "output_dtype=99;",
      { "no element type number 99" } },
    { "scale of integers", "DequantizeLinear", "q s", "s w - 1;", "", { "(DequantizeLinear)", "input 1" } },
    { "scale missing", "DequantizeLinear", "q", "", "", { "(DequantizeLinear)" } },
    { "i32", "DequantizeLinear", "w s z", "w w 4 7; s f - .1; z w - 0;", "", { 0 } },
    { "i32 with a zero", "DequantizeLinear", "w s z", "w w 4 7; s f - .1; z w 1 5;", "",
      { "(DequantizeLinear", "its zero point (input 2) is 5 at place 0; that of i32" } },
    { "float8", "DequantizeLinear", "w s", "w e 4 0; s f - 1;", "", { 0 } },
    { "float8 in blocks", "DequantizeLinear", "w s", "w e 4 0; s f - 1;", "block_size=2;",
      { "(DequantizeLinear", "floats of 8 bits in blocks" } },
    /* blocks */
    { "blocks", "DequantizeLinear", "w s z", "w n 3x5 1; s f 3x3 .1; z n 3x3 0;",
      "axis=1;block_size=2;", { 0 } },
    { "blocks longer than all", "DequantizeLinear", "w s", "w n 4x60x9 1; s f 4x1x9 .1;",
      "axis=1;block_size=9223372036854775807;", { 0 } },
    { "blocks with a sign", "DequantizeLinear", "w s", "w N 4x3 1; s f 2x3 -.1,0;",
      "axis=0;block_size=2;", { 0 } },
    { "blocks that do not cover", "DequantizeLinear", "w s", "w n 3x5 1; s f 3x2 .1;",
      "axis=1;block_size=2;", { "'s'", "has 2 blocks on axis 1", "over 5 places make 3" } },
    { "blocks that reach too far", "DequantizeLinear", "w s", "w n 3x4 1; s f 3x3 .1;",
      "axis=1;block_size=2;", { "'s'", "3 blocks", "make 2" } },
    { "block_size negative", "DequantizeLinear", "w s", "w n 3x4 1; s f 3x2 .1;",
      "axis=1;block_size=-2;", { "block_size=-2" } },
    { "blocks of other dimensions", "DequantizeLinear", "w s", "w n 3x4 1; s f 2 .1;",
      "axis=1;block_size=2;", { "'s'", "has 1 dimensions", "2" } },
    { "blocks that differ elsewhere", "DequantizeLinear", "w s", "w n 3x4 1; s f 2x2 .1;",
      "axis=1;block_size=2;", { "'s'", "axis 0" } },
    { "blocks along time", "QuantizeLinear", "x s", "s f 2x4x3 .1;", "axis=2;block_size=2;",
      { "axis 2 has blocks and no size" } },
    { "block scale NaN", "DequantizeLinear", "w s", "w n 3x4 1; s f 3x2 .1,.1,nan;",
      "axis=1;block_size=2;", { "'s'", "is nan at place 2" } },
    /* of the other domain */
    { "sum", ".QLinearAdd", "q s z q s z s z", "s f - .1; z u - 3;", "", { 0 } },
    { "sum by 0", ".QLinearAdd", "q s z q s z t z", "s f - .1; t f - 0; z u - 3;", "",
      { "'t'", "is 0" } },
    { "sum without a scale", ".QLinearAdd", "q s z q - z s z", "s f - .1; z u - 3;", "",
      { "(com.microsoft.QLinearAdd)", "input 4 is required" } },
    { "nothing together", ".QLinearConcat", "s z", "s f - .1; z u - 3;", "axis=0;",
      { "(com.microsoft.QLinearConcat)", "has 2 inputs" } },
    { "half of a triple", ".QLinearConcat", "s z q", "s f - .1; z u - 3;", "axis=0;",
      { "(com.microsoft.QLinearConcat)", "has 3 inputs; wants 2, and integers, scale and zero" } },
    { "a triple without a zero", ".QLinearConcat", "s z q s -", "s f - .1; z u - 3;", "axis=0;",
      { "input 4 is required" } },
    { "channels last", ".QLinearGlobalAveragePool", "q s z s z", "s f - .1; z u - 3;", "channels_last=1;", { 0 } },
    { "skip of x's rows", ".SkipLayerNormalization", "x b g", "b f 4x1 1; g f 1 1;", "", { NULL } },
    { "skip of another rank", ".SkipLayerNormalization", "x b g", "b f 3x2x4x1 1; g f 1 1;", "",
      { "(com.microsoft.SkipLayerNormalization)", "'b' makes f32[3,2,4,S] of f32[2,4,S]" } },
    { "skip of more rows", ".SkipSimplifiedLayerNormalization", "b x g", "b f 2x1x1 1; g f 1 1;", "",
      { "(com.microsoft.SkipSimplifiedLayerNormalization)", "'x' makes f32[2,4,S] of f32[2,1,1]" } },
    { "turned product of three", ".FusedMatMul", "x x x", "", "transB=1;", { "(com.microsoft.FusedMatMul)", "has 3 inputs, wants 2" } },
    { "no opset", ".QLinearSoftmax", "q s z s z", "s f - .1; z u - 3;", "", { "'opset'" } },
    { "mean", ".QLinearReduceMean", "q s z s z", "s f - .1; z u - 3;", "keepdims=0;", { 0 } },
    { "mean by nothing", ".QLinearReduceMean", "q s z - z", "s f - .1; z u - 3;", "",
      { "(com.microsoft.QLinearReduceMean)", "input 3 is required" } },
    { "pool without a kernel", ".NhwcMaxPool", "q", "", "",
      { "(com.microsoft.NhwcMaxPool)", "'kernel_shape'" } },
    { "rows of a table", ".GatherBlockQuantized", "w i s", "w u 3x16 1; i w 2 1; s f 3x2 .1;",
      "block_size=16;", { 0 } },
    { "a table of 3 bits", ".GatherBlockQuantized", "w i s", "w u 3x16 1; i w 2 1; s f 3x2 .1;",
      "block_size=16;bits=3;", { "table of 3 bits" } },
    { "a table that comes", ".GatherBlockQuantized", "q i s", "i w 2 1; s f 3x2 .1;",
      "block_size=16;", { "the table, must be a constant" } },
    { "a table across", ".GatherBlockQuantized", "w i s", "w u 3x16 1; i w 2 1; s f 3x2 .1;",
      "block_size=16;quantize_axis=0;", { "quantize_axis=0 is not the last" } },
    { "zeros of a table", ".GatherBlockQuantized", "w i s z",
      "w u 3x16 1; i w 2 1; s f 3x2 .1; z u 3x2 1;", "block_size=16;",
      { "the zero points", "1 bytes" } },
    { "fused attention", ".QAttention", "x s z", "s f - .1; z u - 3;", "num_heads=2;",
      { "(com.microsoft.QAttention)", "'basic'" } },
    { "an op that is not known", ".QLinearTanh", "q s z s z", "s f - .1; z u - 3;", "",
      { "'QLinearTanh' is of domain 'com.microsoft'", "nearest is 'QLinear" } },
    { "weights of 4 bits", ".MatMulNBits", "x b s", "b u 2x1x8 1; s f 2 .1;",
      "N=2;K=4;bits=4;block_size=16;", { 0 } },
    { "3 bits", ".MatMulNBits", "x b s", "b u 2x1x8 1; s f 2 .1;",
      "N=2;K=4;bits=3;block_size=16;", { "(com.microsoft.MatMulNBits)", "3 bits" } },
    { "blocks of 24", ".MatMulNBits", "x b s", "b u 2x1x8 1; s f 2 .1;",
      "N=2;K=4;bits=4;block_size=24;", { "block_size=24" } },
    { "too few weights", ".MatMulNBits", "x b s", "b u 2x1x7 1; s f 2 .1;",
      "N=2;K=4;bits=4;block_size=16;", { "input 1, the weights, has 14 elements", "make 16" } },
    { "too few scales", ".MatMulNBits", "x b s", "b u 2x1x8 1; s f 1 .1;",
      "N=2;K=4;bits=4;block_size=16;", { "input 2, the scales, has 1" } },
    { "a scale that is no number", ".MatMulNBits", "x b s", "b u 2x1x8 1; s f 2 .1,nan;",
      "N=2;K=4;bits=4;block_size=16;", { "(com.microsoft.MatMulNBits)", "scale 's' (input 2) is nan at place 1" } },
    { "and by zeros of floats", ".MatMulNBits", "x b s z", "b u 2x1x8 1; s f 2 inf; z f 2 3;",
      "N=2;K=4;bits=4;block_size=16;", { "scale 's' (input 2) is inf at place 0" } },
    { "huge sizes", ".MatMulNBits", "x b s", "b u 2x1x8 1; s f 2 .1;",
      "N=2147483647;K=2147483647;bits=8;block_size=1048576;", { "the weights" } },
    { "a group past the last", ".MatMulNBits", "x b s - g", "b u 2x1x8 1; s f 2 .1; g w 4 0,1,0;",
      "N=2;K=4;bits=4;block_size=16;", { "input 4, the groups (g_idx), is i32, of which number 1 is none of the 1 blocks" } },
    { "groups with packed zeros", ".MatMulNBits", "x b s z g", "b u 2x1x8 1; s f 2 .1; z u 2 1; g w 4 0;",
      "N=2;K=4;bits=4;block_size=16;", { "with groups only zero points of floats, or none, are supported" } },
    { "too few float zeros", ".MatMulNBits", "x b s z", "b u 2x1x8 1; s f 2 .1; z f 1 3;",
      "N=2;K=4;bits=4;block_size=16;", { "input 3, the zero points, has 1" } },
    { "too few zeros of halves", ".MatMulNBits", "x b s z", "b u 2x1x8 1; s f 2 .1; z h 1 16384;",
      "N=2;K=4;bits=4;block_size=16;", { "input 3, the zero points, has 1 elements and N, K, bits and block_size make 2" } },
    { "zeros of i32", ".MatMulNBits", "x b s z", "b u 2x1x8 1; s f 2 .1; z w 2 3;",
      "N=2;K=4;bits=4;block_size=16;", { "input 3, the zero points, is i32; packed ones (u8) and floats are supported" } },
    { "groups by scales of halves", ".MatMulNBits", "x b s - g", "b u 2x1x8 1; s h 2 11878; g w 4 0;",
      "N=2;K=4;bits=4;block_size=16;", { "input 0 is f32 and input 2, the scales, is f16; both are floats of one type" } },
    { "weights that are no constant", ".MatMulNBits", "x q s", "s f 2 .1;",
      "N=2;K=4;bits=4;block_size=16;", { "must be a constant" } },
    { "convolution by 0", "QLinearConv", "q s z w t v s z", "s f - .1; z u - 3; w i 5x4x2 1; t f - 0; v i - 0;", "",
      { "(QLinearConv", "scale 't' (input 4) is 0" } },
    { "product by NaN", "QLinearMatMul", "q t z w s v s z",
      "s f - .1; z u - 3; w i 2x4 1; t f - nan; v i - 0;", "", { "(QLinearMatMul", "'t' (input 1) is nan" } },
    { "to a negative scale", "QLinearConv", "q s z w s v t z",
      "s f - .1; z u - 3; w i 5x4x2 1; t f - -1; v i - 0;", "", { "(QLinearConv", "'t' (input 6) is -1" } },
    { "Gemm by infinity", ".QGemm", "w s v w t v", "s f - .1; w i 4x4 1; t f 4 .1,inf; v i - 0;", "",
      { "(com.microsoft.QGemm)", "'t' (input 4) is inf at place 1" } },
    { "dynamic product by 0", ".DynamicQuantizeMatMul", "x w t", "w i 4x4 1; t f - 0;", "",
      { "(com.microsoft.DynamicQuantizeMatMul)", "'t' (input 2) is 0" } },
    { "cell by 0", ".DynamicQuantizeLSTM", "x w w - - - - - t - s -",
      "w i 1x4x8 1; s f 1 .1; t f 1 0;", "hidden_size=2;",
      { "(com.microsoft.DynamicQuantizeLSTM)", "'t' (input 8) is 0" } },
    /* numbers, types and counts that the ops do not have */
    { "convolution as it should be", "QLinearConv", "q s z w t v s z b",
      "s f - .1; z u - 3; w i 5x4x2 1; t f 5 .1; v i 1 0; b w 5 1;", "", { 0 } },
    { "convolution to a list", "QLinearConv", "q s z w s v t z", "s f - .1; z u - 3; w i 5x4x2 1; t f 5 .1; v i - 0;", "",
      { "(QLinearConv", "'t' (input 6) is f32[5]; wants one number, f32" } },
    { "channels as a matrix", "QLinearConv", "q s z w t v s z", "s f - .1; z u - 3; w i 5x4x2 1; t f 5x1 .1; v i - 0;", "",
      { "'t' (input 4) is f32[5,1]; wants one number or a list of 5 (one for each output channel), f32" } },
    { "too few channels", "QLinearConv", "q s z w s v s z", "s f - .1; z u - 3; w i 5x4x2 1; v i 4 0;", "",
      { "zero 'v' (input 5) is i8[4]; wants one number or a list of 5" } },
    { "zeros as a list", "QLinearConv", "q s z w s v s y0", "s f - .1; z u - 3; w i 5x4x2 1; v i - 0; y0 u 5 0;", "",
      { "zero 'y0' (input 7) is u8[5]; wants one number, u8 or i8" } },
    { "a zero of another type", "QLinearConv", "q s v w s v s z", "s f - .1; z u - 3; w i 5x4x2 1; v i - 0;", "",
      { "zero 'v' (input 2) is i8[]; wants one number, u8" } },
    { "bias of one", "QLinearConv", "q s z w s v s z b", "s f - .1; z u - 3; w i 5x4x2 1; v i - 0; b w 1 1;", "",
      { "bias 'b' (input 8) is i32[1]; wants a list of 5 (one for each output channel), i32" } },
    { "seven inputs", "QLinearConv", "q s z w s v s", "s f - .1; z u - 3; w i 5x4x2 1; v i - 0;", "",
      { "(QLinearConv", "has 7 inputs, wants 8 to 9" } },
    { "no zero", "QLinearConv", "q s - w s v s z", "s f - .1; z u - 3; w i 5x4x2 1; v i - 0;", "",
      { "(QLinearConv", "input 2 is required" } },
    { "rows and columns", "QLinearMatMul", "w s v w t v r v", "s f 4 .1; t f 1x4 .1; r f 1 .1; w i 4x4 1; v i - 0;", "", { 0 } },
    { "columns for rows", "QLinearMatMul", "w s v u s v s v", "s f 5 .1; w i 4x4 1; u i 4x5 1; v i - 0;", "",
      { "'s' (input 1) is f32[5]; wants one number or a list of 4 (one for each row)" } },
    { "rows of the result", "QLinearMatMul", "w s v w s v t v", "s f - .1; t f 4 .1; w i 4x4 1; v i - 0;", "",
      { "'t' (input 6) is f32[4]; wants one number" } },
    { "zeros of more matrices than there are", "MatMulInteger", "w w v", "w i 4x4 1; v i 2x4x1 0;", "",
      { "(MatMulInteger", "zero 'v' (input 2) is i8[2,4,1]" } },
    { "sum by a list", ".QLinearAdd", "q s z q s z t z", "s f - .1; t f 4 .1; z u - 3;", "", { "'t' (input 6) is f32[4]" } },
    { "sum of nine", ".QLinearAdd", "q s z q s z s z z", "s f - .1; z u - 3;", "", { "has 9 inputs, wants 7 to 8" } },
    { "sum of other bytes", ".QLinearAdd", "q s z q s v s z", "s f - .1; z u - 3; v i - 0;", "",
      { "zero 'v' (input 5) is i8[]; wants one number, u8" } },
    { "half of a result", ".QGemm", "w s v w s v - s", "s f - .1; w i 4x4 1; v i - 0;", "",
      { "(com.microsoft.QGemm)", "has input 7 and not input 8" } },
    { "bias as a column", ".MatMulIntegerToFloat", "w w s s v v b", "w i 4x4 1; s f - .1; v i - 0; b f 4x1 1;", "",
      { "bias 'b' (input 6) is f32[4,1]" } },
    { "cell scale of another width", ".DynamicQuantizeLSTM", "x w w - - - - - s - s -", "w i 1x4x8 1; s f 1x4 .1;",
      "hidden_size=2;", { "input 8 ('s') is f32[1,4]" } },
    { "cell weights of three dimensions", ".DynamicQuantizeLSTM", "x q q - - - - - s - s -",
      "s f 1x1x1 .1;", "hidden_size=2;", { "(com.microsoft.DynamicQuantizeLSTM)", "input 8" } },
};
/* clang-format on */

static unsigned numbers(const char *text, double *ret)
{
    unsigned n = 0;
    for (char *end; n < LIST_MAX; text = end + 1) {
        ret[n++] = strtod(text, &end);
        if (*end != ',' && *end != 'x')
            break;
    }
    return n;
}

static int64_t type_code(char type)
{
    static const struct {
        char letter;
        int64_t code;
    } types[] = { { 'f', 1 },  { 'u', 2 },  { 'i', 3 },  { 'w', 6 },
                  { 'h', 10 }, { 'n', 22 }, { 'N', 21 }, { 'e', 17 } };
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (types[i].letter == type)
            return types[i].code;
    return 0;
}

/* Numbers of 4 bits are alike, so that they need no packing but one byte of both. */
static struct pb constant(const char *name, char type, const char *dims, const char *values)
{
    double d[LIST_MAX], v[LIST_MAX];
    int64_t dim[LIST_MAX + 1], count = 1;
    unsigned rank = *dims == '-' ? 0 : numbers(dims, d), n = numbers(values, v);
    for (unsigned i = 0; i < rank; i++)
        count *= dim[i] = (int64_t) d[i];
    dim[rank] = -1;
    struct pb t = make_tensor(name, type_code(type), dim);
    bool two = type == 'n' || type == 'N';
    for (int64_t i = 0; i < (two ? (count + 1) / 2 : count); i++) {
        double x = v[i < n ? i : n - 1];
        if (type == 'f')
            pb_float(&t, TENSOR_FLOATS, (float) x);
        else
            pb_int(&t, TENSOR_INT32S, two ? (int64_t) x * 17 : (int64_t) x);
    }
    return t;
}

static void put_consts(struct pb *g, const char *text)
{
    char name[8], type, dims[16], values[40];
    for (int n; sscanf(text, " %7s %c %15s %39[^;];%n", name, &type, dims, values, &n) == 4;
         text += n)
        pb_message(g, GRAPH_CONST, constant(name, type, dims, values));
}

static struct pb model(const struct row *r)
{
    struct pb g = { 0 }, node = make_node(r->op + (*r->op == '.'), r->in, "y");
    char name[20];
    long long v;
    const char *text = r->attrs;
    for (int n; sscanf(text, "%19[^=]=%lld;%n", name, &v, &n) == 2; text += n)
        pb_message(&node, NODE_ATTR, make_int_attr(name, v));
    if (*r->op == '.')
        pb_text(&node, NODE_DOMAIN, "com.microsoft");
    pb_message(&g, GRAPH_INPUT, make_value("x", 1, DIMS(2, 4, -2)));
    pb_message(&g, GRAPH_INPUT, make_value("q", 2, DIMS(2, 4, -2)));
    put_consts(&g, r->consts);
    pb_message(&g, GRAPH_NODE, node);
    pb_message(&g, GRAPH_OUTPUT, make_value("y", 0, DIMS(-3)));
    return make_model(g, 21);
}

static rill_status typed(struct pb file, rill_error *err)
{
    struct arena a = { 0 };
    struct dims *ds = dims_new();
    struct mgraph m;
    struct tgraph t;
    struct bytes b = { .data = file.data, .n = file.n };
    *err = (rill_error) { .status = RILL_OK };
    rill_status s = mgraph_from_onnx(&m, &a, ds, &b, NULL, err);
    if (s == RILL_OK)
        s = tgraph_from_mgraph(&t, &m, &(struct typed_opts) { 0 }, err);
    arena_drop(&a);
    dims_free(ds);
    free(file.data);
    return s;
}

int main(void)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct row *r = &rows[i];
        rill_error err;
        rill_status s = typed(model(r), &err);
        CHECK((s == RILL_OK) == !r->words[0], "%s: %s %s", r->name, rill_status_text(s), err.text);
        bool supported = true;
        for (size_t w = 0; w < sizeof not_supported / sizeof *not_supported; w++)
            supported = supported && !strstr(err.text, not_supported[w]);
        CHECK(s == RILL_OK || (s == RILL_MALFORMED) == supported, "%s: %s %s", r->name,
              rill_status_text(s), err.text);
        for (unsigned w = 0; w < WORDS_MAX && r->words[w]; w++)
            CHECK(strstr(err.text, r->words[w]), "%s: '%s' does not say '%s'", r->name, err.text,
                  r->words[w]);
    }
    return check_done();
}
