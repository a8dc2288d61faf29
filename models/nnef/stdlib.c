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
#define UNARY(nnef, op)   { nnef, "x", build_row, op, "x", NULL }
#define INFIX(nnef, sign) { nnef, "x, y", build_infix, sign, NULL, NULL }
/* clang-format on */
#define PADDED "border = 'constant', padding = [], stride = [], dilation = []"
/* clang-format off */
#define POOL(nnef, op)    { nnef, "input, size, " PADDED, build_pool, op, NULL, NULL }
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
    { "min", "x, y", build_aligned, "Min", "x, y", NULL },
    { "max", "x, y", build_aligned, "Max", "x, y", NULL },
    { "select", "condition, true_value, false_value", build_aligned, "Where",
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
    UNARY("floor", "Floor"),
    UNARY("ceil", "Ceil"),
    UNARY("round", "Round"),
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
    UNARY("erf", "Erf"),
    { "leaky_relu", "x, alpha", build_row, "LeakyRelu", "x", "alpha:f" },
    { "elu", "x, alpha = 1.0", build_row, "Elu", "x", "alpha:f" },
    { "softmax", "x, axes = [1]", build_softmax, "Softmax", NULL, NULL },
    { "log_softmax", "x, axes = [1]", build_softmax, "LogSoftmax", NULL, NULL },

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
    { "gather", "input, indices, axis = 0", build_row, "Gather", "input, indices", "axis:i" },
    { "shape_of", "x", build_shape_of, NULL, NULL, NULL },
    { "length_of", "value", build_length_of, NULL, NULL, NULL },

    { "matmul", "A, B, transposeA = false, transposeB = false", build_matmul, NULL, NULL, NULL },
    { "conv", "input, filter, bias = 0.0, " PADDED ", groups = 1", build_conv, NULL, NULL, NULL },
    { "deconv", "input, filter, bias = 0.0, " PADDED ", output_shape = [], groups = 1",
      build_deconv, NULL, NULL, NULL },
    POOL("max_pool", "MaxPool"),
    POOL("avg_pool", "AveragePool"),
    { "box", "input, size, " PADDED ", normalize = false", build_pool, "Box", NULL, NULL },
    { "batch_normalization", "input, mean, variance, offset, scale, epsilon = 0.00001",
      build_batch_norm, NULL, NULL, NULL },

    { "external", "shape", build_external, NULL, NULL, NULL },
    { "variable", "shape, label", build_variable, NULL, NULL, NULL },
    { "constant", "shape, value", build_constant, NULL, NULL, NULL },

    { "rill_fill", "shape, value = 0.0", build_fill, NULL, NULL, NULL },
    { "rill_frame", "x, size, hop, before = 0, end = 'flush'", build_row, "Frame", "x",
      "size:i hop:i before:i end:s" },
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
    { "rill_scan", "x, body, state = [], full = []", build_scan, NULL, NULL, NULL },
    { "rill_onnx", "x, file, input = [], output = [], const = [], shape = []", build_onnx, NULL,
      NULL, NULL },
    { "rill_onnx_scan", "x, file, input = [], output = [], state = [], const = [], shape = []",
      build_onnx_scan, NULL, NULL, NULL },
};

static const struct nnef_row *row_find(const char *name)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (!strcmp(rows[i].name, name))
            return &rows[i];
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
                              .row_find = row_find,
                              .err = reterr };
}
