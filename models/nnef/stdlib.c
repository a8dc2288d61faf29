/* SPDX-License-Identifier: MIT */
/* Every operator that NNEF text may call: one row each, or one fragment of the library text
 * (fragments.c). */
#include "models/nnef/build.h"

#include <string.h>

/* clang-format off */
#define UNARY(nnef, op)   { nnef, "x", build_row, op, "x", NULL }
#define INFIX(nnef, sign) { nnef, "x, y", build_infix, sign, NULL, NULL }
/* clang-format on */
#define PADDED "border = 'constant', padding = [], stride = [], dilation = []"
/* clang-format off */
#define POOL(nnef, op, how) { nnef, "input, size, " PADDED, build_##how, op, NULL, NULL }
#define REDUCE(nnef, op)  { nnef, "input, axes", build_reduce, op, NULL, NULL }
/* clang-format on */

static const struct nnef_row rows[] = {
    INFIX("add", "+"),
    INFIX("sub", "-"),
    INFIX("mul", "*"),
    INFIX("div", "/"),
    INFIX("pow", "^"),
    INFIX("lt", "<"),
    INFIX("gt", ">"),
    INFIX("le", "<="),
    INFIX("ge", ">="),
    INFIX("eq", "=="),
    INFIX("ne", "!="),
    INFIX("and", "&&"),
    INFIX("or", "||"),
    INFIX("min", "min"),
    INFIX("max", "max"),
    { "select", "condition, true_value, false_value", build_select, "Where",
      "condition, true_value, false_value", NULL },
    { "prelu", "x, alpha", build_aligned, "PRelu", "x, alpha", NULL },

    UNARY("copy", "Identity"),
    UNARY("neg", "Neg"),
    UNARY("abs", "Abs"),
    UNARY("sign", "Sign"),
    UNARY("exp", "Exp"),
    UNARY("log", "Log"),
    UNARY("sqrt", "Sqrt"),
    UNARY("rcp", "Reciprocal"),
    { "floor", "x", build_rounding, "Floor", "x", NULL },
    { "ceil", "x", build_rounding, "Ceil", "x", NULL },
    { "round", "x", build_round, "rill_round_away", NULL, NULL },
    UNARY("sin", "Sin"),
    UNARY("cos", "Cos"),
    UNARY("tan", "Tan"),
    UNARY("asin", "Asin"),
    UNARY("acos", "Acos"),
    UNARY("atan", "Atan"),
    UNARY("sinh", "Sinh"),
    UNARY("cosh", "Cosh"),
    UNARY("tanh", "Tanh"),
    UNARY("asinh", "Asinh"),
    UNARY("acosh", "Acosh"),
    UNARY("atanh", "Atanh"),
    UNARY("not", "Not"),
    UNARY("sigmoid", "Sigmoid"),
    UNARY("relu", "Relu"),
    UNARY("softplus", "Softplus"),
    UNARY("gelu", "Gelu"),
    UNARY("erf", "Erf"),
    { "leaky_relu", "x, alpha", build_row, "LeakyRelu", "x", "alpha:f" },
    { "elu", "x, alpha = 1.0", build_row, "Elu", "x", "alpha:f" },
    { "softmax", "x, axes = [1]", build_softmax, "Softmax", NULL, NULL },
    { "log_softmax", "x, axes = [1]", build_softmax, "LogSoftmax", NULL, NULL },

    { "any_reduce", "input, axes", build_logic_reduce, "ReduceMax", NULL, NULL },
    { "all_reduce", "input, axes", build_logic_reduce, "ReduceMin", NULL, NULL },
    REDUCE("max_reduce", "ReduceMax"),
    REDUCE("min_reduce", "ReduceMin"),
    REDUCE("mean_reduce", "ReduceMean"),
    { "sum_reduce", "input, axes, normalize = false", build_reduce, "ReduceSum", NULL, NULL },
    { "argmax_reduce", "input, axes", build_argmax, "ArgMax", NULL, NULL },
    { "argmin_reduce", "input, axes", build_argmax, "ArgMin", NULL, NULL },

    { "reshape", "input, shape, axis_start = 0, axis_count = -1", build_reshape, NULL, NULL, NULL },
    { "transpose", "input, axes", build_transpose, NULL, NULL, NULL },
    { "squeeze", "input, axes", build_squeeze, NULL, NULL, NULL },
    { "unsqueeze", "input, axes", build_unsqueeze, NULL, NULL, NULL },
    { "concat", "values, axis", build_concat, NULL, NULL, NULL },
    { "split", "value, axis, ratios", build_split, NULL, NULL, NULL },
    { "slice", "input, axes, begin, end, stride = []", build_slice, NULL, NULL, NULL },
    { "pad", "input, padding, border = 'constant', value = 0.0", build_pad, NULL, NULL, NULL },
    { "tile", "input, repeats", build_tile, NULL, NULL, NULL },
    { "stack", "values, axis", build_stack, NULL, NULL, NULL },
    { "unstack", "value, axis", build_unstack, NULL, NULL, NULL },
    { "gather", "input, indices, axis = 0", build_row, "Gather", "input, indices:i", "axis:i" },
    { "shape_of", "x", build_shape_of, NULL, NULL, NULL },
    { "length_of", "value", build_length_of, NULL, NULL, NULL },

    { "matmul", "A, B, transposeA = false, transposeB = false", build_matmul, NULL, NULL, NULL },
    { "conv", "input, filter, bias = 0.0, " PADDED ", groups = 1", build_conv, NULL, NULL, NULL },
    { "deconv", "input, filter, bias = 0.0, " PADDED ", output_shape = [], groups = 1",
      build_deconv, NULL, NULL, NULL },
    POOL("max_pool", "MaxPool", pool),
    POOL("avg_pool", "AveragePool", pool),
    POOL("max_pool_with_index", NULL, max_pool_with_index),
    POOL("argmax_pool", NULL, argmax_pool),
    { "sample", "input, index, size, " PADDED, build_sample, NULL, NULL, NULL },
    { "desample", "input, index, size, " PADDED ", output_shape = []", build_desample, NULL, NULL,
      NULL },
    { "box", "input, size, " PADDED ", normalize = false", build_pool, "Box", NULL, NULL },
    { "debox", "input, size, " PADDED ", output_shape = [], normalize = false", build_debox, NULL,
      NULL, NULL },
    { "nearest_upsample", "input, factor", build_nearest_upsample, NULL, NULL, NULL },
    { "multilinear_upsample", "input, factor, method = 'symmetric', border = 'replicate'",
      build_multilinear_upsample, NULL, NULL, NULL },
    { "batch_normalization", "input, mean, variance, offset, scale, epsilon = 0.00001",
      build_batch_norm, NULL, NULL, NULL },

    { "add_n", "x", build_add_n, NULL, NULL, NULL },
    { "cast", "input", build_std_cast, NULL, NULL, NULL },
    { "integer", "x", build_number, "i64", NULL, NULL },
    { "scalar", "x", build_number, "f32", NULL, NULL },
    { "logical", "x", build_number, "bool", NULL, NULL },
    { "string", "x", build_text, NULL, NULL, NULL },
    { "range_of", "items", build_range_of, NULL, NULL, NULL },

    { "external", "shape", build_external, NULL, NULL, NULL },
    { "variable", "shape, label", build_variable, NULL, NULL, NULL },
    { "constant", "shape, value", build_constant, NULL, NULL, NULL },
    { "update", "variable, value", build_update, NULL, NULL, NULL },

    { "rill_given", "x", build_given, NULL, NULL, NULL },
    { "rill_known", "x", build_known, NULL, NULL, NULL },
    { "rill_state", "first, like = 0.0", build_state, NULL, NULL, NULL },
    { "rill_only", "x, known", build_only, NULL, NULL, NULL },
    { "rill_like", "x, y", build_row, "CastLike", "x, y", NULL },
    { "rill_fill", "shape, value = 0.0", build_fill, NULL, NULL, NULL },
    { "rill_frame", "x, size, hop, before = 0, end = 'flush'", build_row, "Frame", "x",
      "size:i hop:i before:i end:s" },
    { "rill_windows", "x, size, hop, axis = 0", build_windows, NULL, NULL, NULL },
    { "rill_rfft", "x", build_row, "RFFT", "x", NULL },
    { "rill_irfft", "x, n", build_row, "IRFFT", "x", "n:i" },
    { "rill_overlap_add", "x, hop, tail = 'complete', window = []", build_overlap_add, NULL, NULL,
      NULL },
    { "rill_magnitude", "x", build_row, "Magnitude", "x", NULL },
    { "rill_complex_mul", "x, y", build_row, "ComplexMul", "x, y", NULL },
    { "rill_window", "kind, size, periodic = true", build_window, NULL, NULL, NULL },
    { "rill_mel",
      "x, bands, rate, low = 0.0, high = 0.0, slaney = false, norm = false, even = false",
      build_mel, NULL, NULL, NULL },
    { "rill_dct", "x, n, ortho = false", build_dct, NULL, NULL, NULL },
    { "rill_bands", "x, widths", build_bands, NULL, NULL, NULL },
    { "rill_spread", "x, widths", build_spread, NULL, NULL, NULL },
    { "rill_scan", "x, body, state = [], full = []", build_scan, NULL, NULL, NULL },
    { "rill_part", "x, when, body, other = ''", build_part, NULL, NULL, NULL },
    { "rill_op", "op, inputs = [], attributes = [], outputs = 1, body = '', other = ''", build_op,
      NULL, NULL, NULL },
    { "rill_option", "name, value, least = -1e300", build_option, NULL, NULL, NULL },
    { "rill_size", "size, type = 'i64'", build_size, NULL, NULL, NULL },
    { "rill_onnx", "x, file, input = [], output = [], const = [], shape = []", build_onnx, NULL,
      NULL, NULL },
    { "rill_metadata", "file, key", build_metadata, NULL, NULL, NULL },
    { "rill_onnx_scan", "x, file, input = [], output = [], state = [], const = [], shape = []",
      build_onnx_scan, NULL, NULL, NULL },
};

static const struct nnef_row *row_find(const char *name)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (!strcmp(rows[i].name, name))
            return &rows[i];
    for (const struct nnef_row *r = nnef_tract_rows; r->name; r++)
        if (!strcmp(r->name, name))
            return r;
    return NULL;
}

struct builder builder_of(struct arena *a, struct dims *ds, const struct nnef_document *doc,
                          const struct nnef_source *source, const struct nnef_limits *limits,
                          rill_error *reterr)
{
    return (struct builder) { .arena = a,
                              .dims = ds,
                              .doc = doc,
                              .limits = limits ? limits : &nnef_limits_default,
                              .folder = source->folder,
                              .cut = source->cut,
                              .options = source->options,
                              .n_options = source->n_options,
                              .sizes = source->sizes,
                              .inside = "",
                              .row_find = row_find,
                              .err = reterr };
}
