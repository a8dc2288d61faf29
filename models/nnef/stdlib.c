/* SPDX-License-Identifier: MIT */
/* Every operator that NNEF text may call: one row each, or one fragment of the library text
 * (fragments.c). */
#include "models/nnef/build.h"

#include <stdio.h>
#include <string.h>

/* ---- rows that a table describes fully ---- */

/* Takes the next word off a list such as "x, y" or "size:i hop:i"; false at its end. */
static bool next_word(const char **list, char *word, size_t cap)
{
    const char *at = *list ? *list + strspn(*list, ", ") : "";
    size_t n = strcspn(at, ", ");
    snprintf(word, cap, "%.*s", (int) n, at);
    *list = at + n;
    return n > 0;
}

static rill_status row_inputs(const struct call *c, uint32_t *in, unsigned *ret_n)
{
    char word[40];
    const char *list = c->row->inputs;
    enum dtype type = DTYPE_F32;
    for (*ret_n = 0; next_word(&list, word, sizeof word); (*ret_n)++) {
        struct val v;
        TRY(arg_val(c, word, &v));
        TRY(val_to_wire(c->b, c->s, c->e->pos, v, type, &in[*ret_n]));
        type = wire_fact(c->s, in[*ret_n])->type;
    }
    return RILL_OK;
}

/* "name:k": parameter and attribute of one name; k is i, f, s or l. */
static rill_status row_attr(const struct call *c, char *word, struct attr *ret)
{
    struct builder *b = c->b;
    char kind = word[strlen(word) - 1];
    word[strlen(word) - 2] = 0;
    int64_t *list = arena_array(b->arena, int64_t, RANK_MAX);
    const char **text = arena_new(b->arena, const char *), *name = arena_string(b->arena, word);
    double real = 0;
    unsigned n = 0;
    if (!list || !text || !name)
        return nnef_no_memory(b);
    *ret = (struct attr) { .name = name, .kind = ATTR_INT };
    switch (kind) {
    case 'i': return arg_int(c, word, &ret->i);
    case 'f':
        TRY(arg_real(c, word, &real));
        ret->kind = ATTR_FLOAT;
        ret->f = (float) real;
        return RILL_OK;
    case 's':
        TRY(arg_text(c, word, text));
        ret->kind = ATTR_STRINGS;
        ret->strings = (struct attr_strings) { 1, text };
        return RILL_OK;
    default:
        TRY(arg_ints(c, word, list, RANK_MAX, &n));
        ret->kind = ATTR_INTS;
        ret->ints = (struct attr_ints) { n, list };
        return RILL_OK;
    }
}

static rill_status build_row(const struct call *c, struct val *ret)
{
    uint32_t in[8], out;
    unsigned n_in, n_attrs;
    struct attr attrs[8];
    char word[40];
    const char *list = c->row->attrs;
    TRY(row_inputs(c, in, &n_in));
    for (n_attrs = 0; next_word(&list, word, sizeof word); n_attrs++)
        TRY(row_attr(c, word, &attrs[n_attrs]));
    TRY(call_node(c, c->row->op, attrs, n_attrs, in, n_in, &out));
    *ret = val_of_wire(out);
    return RILL_OK;
}

/* Element-wise with several inputs: their axes are matched from the first. */
static rill_status build_aligned(const struct call *c, struct val *ret)
{
    uint32_t in[8], out;
    unsigned n_in;
    TRY(row_inputs(c, in, &n_in));
    TRY(build_align(c->b, c->s, c->e->pos, in, n_in));
    TRY(call_node(c, c->row->op, NULL, 0, in, n_in, &out));
    *ret = val_of_wire(out);
    return RILL_OK;
}

/* add(x, y) is x + y, numbers included; row->op is the sign. */
static rill_status build_infix(const struct call *c, struct val *ret)
{
    struct val x, y;
    TRY(arg_val(c, "x", &x));
    TRY(arg_val(c, "y", &y));
    return eval_infix(c->b, c->s, c->e->pos, c->row->op, x, y, ret);
}

/* clang-format off */
#define UNARY(nnef, op, help)  { nnef, "x", build_row, op, "x", NULL, help }
#define INFIX(nnef, sign)      { nnef, "x, y", build_infix, sign, NULL, NULL, "x " sign " y" }
/* clang-format on */
#define PADDED "border = 'constant', padding = [], stride = [], dilation = []"
/* clang-format off */
#define POOL(nnef, op, help)   { nnef, "input, size, " PADDED, build_pool, op, NULL, NULL, help }
#define REDUCE(nnef, op, help) { nnef, "input, axes", build_reduce, op, NULL, NULL, help }
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
    { "min", "x, y", build_aligned, "Min", "x, y", NULL, "the smaller of two" },
    { "max", "x, y", build_aligned, "Max", "x, y", NULL, "the larger of two" },
    { "select", "condition, true_value, false_value", build_aligned, "Where",
      "condition, true_value, false_value", NULL, "true_value where condition, else false_value" },
    { "prelu", "x, alpha", build_aligned, "PRelu", "x, alpha", NULL,
      "x where positive, else alpha * x" },

    UNARY("copy", "Identity", "x"),
    UNARY("neg", "Neg", "-x"),
    UNARY("abs", "Abs", "|x|"),
    UNARY("sign", "Sign", "-1, 0 or 1"),
    UNARY("exp", "Exp", "e^x"),
    UNARY("log", "Log", "natural logarithm"),
    UNARY("sqrt", "Sqrt", "square root"),
    UNARY("rcp", "Reciprocal", "1 / x"),
    UNARY("floor", "Floor", "round down"),
    UNARY("ceil", "Ceil", "round up"),
    UNARY("round", "Round", "to the nearest integer, halves to even"),
    UNARY("sin", "Sin", "sine"),
    UNARY("cos", "Cos", "cosine"),
    UNARY("tan", "Tan", "tangent"),
    UNARY("asin", "Asin", "arc sine"),
    UNARY("acos", "Acos", "arc cosine"),
    UNARY("atan", "Atan", "arc tangent"),
    UNARY("sinh", "Sinh", "hyperbolic sine"),
    UNARY("cosh", "Cosh", "hyperbolic cosine"),
    UNARY("tanh", "Tanh", "hyperbolic tangent"),
    UNARY("asinh", "Asinh", "inverse of sinh"),
    UNARY("acosh", "Acosh", "inverse of cosh"),
    UNARY("atanh", "Atanh", "inverse of tanh"),
    UNARY("not", "Not", "logical not"),
    UNARY("sigmoid", "Sigmoid", "1 / (1 + e^-x)"),
    UNARY("relu", "Relu", "max(x, 0)"),
    UNARY("softplus", "Softplus", "log(1 + e^x)"),
    UNARY("erf", "Erf", "error function"),
    { "leaky_relu", "x, alpha", build_row, "LeakyRelu", "x", "alpha:f",
      "x where positive, else alpha * x" },
    { "elu", "x, alpha = 1.0", build_row, "Elu", "x", "alpha:f",
      "x where positive, else alpha * (e^x - 1)" },
    { "softmax", "x, axes = [1]", build_softmax, "Softmax", NULL, NULL,
      "e^x over its sum along one axis" },
    { "log_softmax", "x, axes = [1]", build_softmax, "LogSoftmax", NULL, NULL, "log(softmax)" },

    REDUCE("max_reduce", "ReduceMax", "largest along axes, which stay with length 1"),
    REDUCE("min_reduce", "ReduceMin", "smallest along axes, which stay with length 1"),
    REDUCE("mean_reduce", "ReduceMean", "mean along axes, which stay with length 1"),
    { "sum_reduce", "input, axes, normalize = false", build_reduce, "ReduceSum", NULL, NULL,
      "sum (or mean) along axes, which stay with length 1" },
    { "argmax_reduce", "input, axes", build_argmax, "ArgMax", NULL, NULL,
      "index of the largest along one axis" },
    { "argmin_reduce", "input, axes", build_argmax, "ArgMin", NULL, NULL,
      "index of the smallest along one axis" },

    { "reshape", "input, shape, axis_start = 0, axis_count = -1", build_reshape, NULL, NULL, NULL,
      "the same elements under another shape; 0 keeps a size, -1 takes what is left" },
    { "transpose", "input, axes", build_transpose, NULL, NULL, NULL, "axes in another order" },
    { "squeeze", "input, axes", build_squeeze, NULL, NULL, NULL, "without these axes of length 1" },
    { "unsqueeze", "input, axes", build_unsqueeze, NULL, NULL, NULL,
      "with axes of length 1 put in" },
    { "concat", "values, axis", build_concat, NULL, NULL, NULL,
      "one after the other along an axis" },
    { "split", "value, axis, ratios", build_split, NULL, NULL, NULL, "parts in these proportions" },
    { "slice", "input, axes, begin, end, stride = []", build_slice, NULL, NULL, NULL,
      "a part of each axis; an end of 0 is the end" },
    { "pad", "input, padding, border = 'constant', value = 0.0", build_pad, NULL, NULL, NULL,
      "more in front and behind; padding has one (before, after) for each axis" },
    { "tile", "input, repeats", build_tile, NULL, NULL, NULL, "repeated along each axis" },
    { "stack", "values, axis", build_stack, NULL, NULL, NULL, "side by side on a new axis" },
    { "unstack", "value, axis", build_unstack, NULL, NULL, NULL, "the slices of an axis" },
    { "gather", "input, indices, axis = 0", build_row, "Gather", "input, indices", "axis:i",
      "elements by index" },
    { "shape_of", "x", build_shape_of, NULL, NULL, NULL, "the sizes, as a list" },
    { "length_of", "value", build_length_of, NULL, NULL, NULL, "elements of a list" },

    { "matmul", "A, B, transposeA = false, transposeB = false", build_matmul, NULL, NULL, NULL,
      "matrix product over the last two axes" },
    { "conv", "input, filter, bias = 0.0, " PADDED ", groups = 1", build_conv, NULL, NULL, NULL,
      "convolution; empty padding keeps the size (over the stride)" },
    { "deconv", "input, filter, bias = 0.0, " PADDED ", output_shape = [], groups = 1",
      build_deconv, NULL, NULL, NULL, "transposed convolution" },
    POOL("max_pool", "MaxPool", "largest in a window"),
    POOL("avg_pool", "AveragePool", "mean in a window"),
    { "box", "input, size, " PADDED ", normalize = false", build_pool, "Box", NULL, NULL,
      "sum (or mean) in a window" },
    { "batch_normalization", "input, mean, variance, offset, scale, epsilon = 0.00001",
      build_batch_norm, NULL, NULL, NULL, "by stored statistics, one for each channel (axis 1)" },

    { "external", "shape", build_external, NULL, NULL, NULL,
      "an input of the graph; a size may be a symbol, such as S, or an expression of symbols" },
    { "variable", "shape, label", build_variable, NULL, NULL, NULL,
      "a constant from the file label.dat" },
    { "constant", "shape, value", build_constant, NULL, NULL, NULL,
      "a constant written out; one value fills it" },

    { "rill_fill", "shape, value = 0.0", build_fill, NULL, NULL, NULL, "a constant of one value" },
    { "rill_frame", "x, size, hop, before = 0, end = 'flush'", build_row, "Frame", "x",
      "size:i hop:i before:i end:s",
      "[..., S] -> [..., T, size]: windows of samples, `before` zeros in front; end is drop, cover "
      "or flush" },
    { "rill_rfft", "x", build_row, "RFFT", "x", NULL,
      "[..., N] -> [..., N/2+1, 2]: real and imaginary parts" },
    { "rill_irfft", "x, n", build_row, "IRFFT", "x", "n:i",
      "[..., n/2+1, 2] -> [..., n]; divides by n" },
    { "rill_overlap_add", "x, hop, tail = 'complete', window = []", build_overlap_add, NULL, NULL,
      NULL,
      "[..., T, size] -> [..., S]: frames added up; tail is complete or full; divided by the sum "
      "of window "
      "squares if one is given" },
    { "rill_magnitude", "x", build_row, "Magnitude", "x", NULL,
      "[..., 2] -> [...]: length of complex numbers" },
    { "rill_complex_mul", "x, y", build_row, "ComplexMul", "x, y", NULL,
      "[..., 2]: product of complex numbers" },
    { "rill_window", "kind, size, periodic = true", build_window, NULL, NULL, NULL,
      "a constant [1, size]: hann, sqrt_hann, hamming, blackman, vorbis, sine or rectangular" },
    { "rill_mel",
      "x, bands, rate, low = 0.0, high = 0.0, slaney = false, norm = false, even = false",
      build_mel, NULL, NULL, NULL,
      "[..., bins] -> [..., bands]: triangles on the mel scale; high 0 is half the rate" },
    { "rill_dct", "x, n, ortho = false", build_dct, NULL, NULL, NULL,
      "[..., N] -> [..., n]: the first n coefficients of the DCT-II, times sqrt(2 / N)" },
    { "rill_scan", "x, body, state = [], full = []", build_scan, NULL, NULL, NULL,
      "a fragment run over the frames (axis 0) of x, with state from frame to frame" },
    { "rill_onnx", "x, file, input = [], output = [], const = [], shape = []", build_onnx, NULL,
      NULL, NULL, "an ONNX network for whole sequences, with time as one of its axes" },
    { "rill_onnx_scan", "x, file, input = [], output = [], state = [], const = [], shape = []",
      build_onnx_scan, NULL, NULL, NULL,
      "an ONNX network run over the frames (axis 0) of x, with state from frame to frame" },
};

const struct nnef_row *row_find(const char *name)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (!strcmp(rows[i].name, name))
            return &rows[i];
    return NULL;
}

bool nnef_operator(unsigned i, struct nnef_help *ret)
{
    if (i >= sizeof rows / sizeof *rows)
        return false;
    *ret = (struct nnef_help) { rows[i].name, rows[i].signature, rows[i].help };
    return true;
}
