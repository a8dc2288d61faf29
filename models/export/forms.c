/* SPDX-License-Identifier: MIT */
/* Operators of the standard for nodes that they say fully: what the reader makes of them is the
 * node. NNEF matches axes from the first and ONNX from the last, so operands must agree in rank. */
#include "models/export/writer.h"

#include <string.h>

typedef bool form(const struct writer *w, const struct node *n, const char *name);

static const struct fact *fact_of(const struct writer *w, const struct node *n, unsigned i)
{
    return &w->g->wires[n->in[i]].fact;
}

static bool all_present(const struct node *n)
{
    for (unsigned i = 0; i < n->n_in; i++)
        if (n->in[i] == WIRE_NONE)
            return false;
    return n->out[0] != WIRE_NONE;
}

static bool is_f32(const struct writer *w, const struct node *n)
{
    for (unsigned i = 0; i < n->n_in; i++)
        if (fact_of(w, n, i)->type != DTYPE_F32)
            return false;
    return true;
}

/* Begins a statement: what it makes, the operator and the first operands. */
static void begin(const struct writer *w, const struct node *n, const char *name, unsigned n_in)
{
    fprintf(w->to, "    %s = %s(", w->name[n->out[0]], name);
    for (unsigned i = 0; i < n_in; i++)
        fprintf(w->to, "%s%s", i ? ", " : "", wire_text(w, n->in[i]));
}

static void end(const struct writer *w)
{
    fprintf(w->to, ");\n");
}

/* ", name = [1, 2]" */
static void list(const struct writer *w, const char *name, const int64_t *v, unsigned n)
{
    fprintf(w->to, ", %s = [", name);
    for (unsigned i = 0; i < n; i++)
        fprintf(w->to, "%s%lld", i ? ", " : "", (long long) v[i]);
    fprintf(w->to, "]");
}

static const int64_t *ints_known(const struct writer *w, const struct node *n, unsigned i,
                                 unsigned *ret_n)
{
    const struct tensor *t = node_value(w->g, n, i);
    if (!t || t->type != DTYPE_I64 || t->rank != 1)
        return NULL;
    *ret_n = (unsigned) t->dim[0];
    return t->data;
}

/* ---- element by element ---- */

static bool form_unary(const struct writer *w, const struct node *n, const char *name)
{
    begin(w, n, name, 1);
    end(w);
    return true;
}

static bool form_alpha(const struct writer *w, const struct node *n, const char *name)
{
    const char *alpha = float_text(w->doc->arena, attr_float(n, "alpha"));
    if (!alpha)
        return false;
    begin(w, n, name, 1);
    fprintf(w->to, ", alpha = %s", alpha);
    end(w);
    return true;
}

/* Of one rank, or with a number; one of both is no constant. */
static bool form_binary(const struct writer *w, const struct node *n, const char *name)
{
    bool known = true;
    int most = 0;
    for (unsigned i = 0; i < n->n_in; i++) {
        known &= fact_of(w, n, i)->value != NULL;
        most = fact_of(w, n, i)->rank > most ? fact_of(w, n, i)->rank : most;
    }
    for (unsigned i = 0; i < n->n_in; i++)
        if (fact_of(w, n, i)->rank && fact_of(w, n, i)->rank != most)
            return false;
    if (known || n->n_in != 2 || !is_f32(w, n))
        return false;
    begin(w, n, name, 2);
    end(w);
    return true;
}

/* ---- reductions and softmax ---- */

static bool form_reduce(const struct writer *w, const struct node *n, const char *name)
{
    unsigned n_axes = 0;
    const int64_t *axes = n->n_in == 2 ? ints_known(w, n, 1, &n_axes) : NULL;
    if (!axes || !n_axes || attr_int(n, "keepdims") != 1)
        return false;
    begin(w, n, name, 1);
    list(w, "axes", axes, n_axes);
    end(w);
    return true;
}

static bool form_softmax(const struct writer *w, const struct node *n, const char *name)
{
    int64_t axis = attr_int(n, "axis");
    begin(w, n, name, 1);
    list(w, "axes", &axis, 1);
    end(w);
    return true;
}

/* ---- moves ---- */

static bool form_transpose(const struct writer *w, const struct node *n, const char *name)
{
    struct attr_ints perm = attr_ints(n, "perm");
    if (!perm.n)
        return false;
    begin(w, n, name, 1);
    list(w, "axes", perm.v, perm.n);
    end(w);
    return true;
}

static bool form_axes(const struct writer *w, const struct node *n, const char *name)
{
    unsigned n_axes = 0;
    const int64_t *axes = n->n_in == 2 ? ints_known(w, n, 1, &n_axes) : NULL;
    if (!axes)
        return false;
    begin(w, n, name, 1);
    list(w, "axes", axes, n_axes);
    end(w);
    return true;
}

static bool form_concat(const struct writer *w, const struct node *n, const char *name)
{
    for (unsigned i = 0; i < n->n_in; i++)
        if (fact_of(w, n, i)->type != DTYPE_F32)
            return false;
    fprintf(w->to, "    %s = %s([", w->name[n->out[0]], name);
    for (unsigned i = 0; i < n->n_in; i++)
        fprintf(w->to, "%s%s", i ? ", " : "", wire_text(w, n->in[i]));
    fprintf(w->to, "], axis = %lld", (long long) attr_int(n, "axis"));
    end(w);
    return true;
}

/* Sizes of an operand, none of which is 0. */
static const char *sizes_of(const struct writer *w, const struct node *n, unsigned i)
{
    const struct tensor *t = node_value(w->g, n, i);
    if (!t || t->rank != 1)
        return NULL;
    for (int64_t k = 0; k < tensor_count(t); k++)
        if (t->type == DTYPE_I64
                ? ((const int64_t *) t->data)[k] == 0
                : t->type != DTYPE_DIM || dim_is(((const struct dim *const *) t->data)[k], 0))
            return NULL;
    return sizes_text(w, t);
}

static bool form_reshape(const struct writer *w, const struct node *n, const char *name)
{
    const char *shape = sizes_of(w, n, 1);
    if (!shape || attr_int(n, "allowzero"))
        return false;
    begin(w, n, name, 1);
    fprintf(w->to, ", shape = %s", shape);
    end(w);
    return true;
}

/* ---- products ---- */

static bool form_matmul(const struct writer *w, const struct node *n, const char *name)
{
    if (!is_f32(w, n))
        return false;
    begin(w, n, name, 2);
    end(w);
    return true;
}

/* Windows over the axes behind channels, with padding in numbers. */
static bool is_spatial(const struct writer *w, const struct node *n)
{
    const char *auto_pad = attr_choice(n, "auto_pad");
    return fact_of(w, n, 0)->rank >= 3 && (!auto_pad || !strcmp(auto_pad, "NOTSET"));
}

static void spatial(const struct writer *w, const struct node *n)
{
    static const char *const names[][2] = { { "stride", "strides" }, { "dilation", "dilations" } };
    unsigned axes = (unsigned) fact_of(w, n, 0)->rank - 2;
    struct attr_ints pads = attr_ints(n, "pads");
    fprintf(w->to, ", border = 'constant', padding = [");
    for (unsigned i = 0; i < axes; i++)
        fprintf(w->to, "%s(%lld, %lld)", i ? ", " : "", pads.n ? (long long) pads.v[i] : 0,
                pads.n ? (long long) pads.v[axes + i] : 0);
    fprintf(w->to, "]");
    for (int k = 0; k < 2; k++) {
        struct attr_ints v = attr_ints(n, names[k][1]);
        if (v.n)
            list(w, names[k][0], v.v, v.n);
    }
}

static bool is_plain_conv(const struct writer *w, const struct node *n)
{
    struct attr_ints padded = attr_ints(n, "output_padding"), shape = attr_ints(n, "output_shape");
    bool known = n->n_in == 3 && fact_of(w, n, 2)->rank == 1;
    for (uint32_t i = 0; i < padded.n; i++)
        if (padded.v[i])
            return false;
    return known && !shape.n && is_f32(w, n) && is_spatial(w, n);
}

static bool form_conv(const struct writer *w, const struct node *n, const char *name)
{
    if (!is_plain_conv(w, n))
        return false;
    begin(w, n, name, 3);
    spatial(w, n);
    fprintf(w->to, ", groups = %lld", (long long) attr_int(n, "group"));
    end(w);
    return true;
}

/* The text names tract, whose filters are [out, in, ..]. */
static bool form_deconv(const struct writer *w, const struct node *n, const char *name)
{
    const struct fact *filter = fact_of(w, n, 1);
    if (!is_plain_conv(w, n) || attr_int(n, "group") != 1 || (filter->value && filter->value->from))
        return false;
    begin(w, n, name, 1);
    fprintf(w->to, ", transpose(%s, axes = [1, 0", wire_text(w, n->in[1]));
    for (int i = 2; i < filter->rank; i++)
        fprintf(w->to, ", %d", i);
    fprintf(w->to, "]), %s", wire_text(w, n->in[2]));
    spatial(w, n);
    end(w);
    return true;
}

static const struct {
    enum op_id op;
    const char *name;
    form *write;
} forms[] = {
    { OP_ABS, "abs", form_unary },
    { OP_ACOS, "acos", form_unary },
    { OP_ACOSH, "acosh", form_unary },
    { OP_ASIN, "asin", form_unary },
    { OP_ASINH, "asinh", form_unary },
    { OP_ATAN, "atan", form_unary },
    { OP_ATANH, "atanh", form_unary },
    { OP_CEIL, "ceil", form_unary },
    { OP_COS, "cos", form_unary },
    { OP_COSH, "cosh", form_unary },
    { OP_EXP, "exp", form_unary },
    { OP_FLOOR, "floor", form_unary },
    { OP_LOG, "log", form_unary },
    { OP_NEG, "neg", form_unary },
    { OP_RECIPROCAL, "rcp", form_unary },
    { OP_RELU, "relu", form_unary },
    { OP_SIGMOID, "sigmoid", form_unary },
    { OP_SIGN, "sign", form_unary },
    { OP_SIN, "sin", form_unary },
    { OP_SINH, "sinh", form_unary },
    { OP_SOFTPLUS, "softplus", form_unary },
    { OP_SQRT, "sqrt", form_unary },
    { OP_TAN, "tan", form_unary },
    { OP_TANH, "tanh", form_unary },
    { OP_LEAKY_RELU, "leaky_relu", form_alpha },
    { OP_ELU, "elu", form_alpha },
    { OP_ADD, "add", form_binary },
    { OP_SUB, "sub", form_binary },
    { OP_MUL, "mul", form_binary },
    { OP_DIV, "div", form_binary },
    { OP_POW, "pow", form_binary },
    { OP_LESS, "lt", form_binary },
    { OP_GREATER, "gt", form_binary },
    { OP_LESS_OR_EQUAL, "le", form_binary },
    { OP_GREATER_OR_EQUAL, "ge", form_binary },
    { OP_MIN, "min", form_binary },
    { OP_MAX, "max", form_binary },
    { OP_REDUCE_MAX, "max_reduce", form_reduce },
    { OP_REDUCE_MIN, "min_reduce", form_reduce },
    { OP_REDUCE_MEAN, "mean_reduce", form_reduce },
    { OP_REDUCE_SUM, "sum_reduce", form_reduce },
    { OP_SOFTMAX, "softmax", form_softmax },
    { OP_LOG_SOFTMAX, "log_softmax", form_softmax },
    { OP_TRANSPOSE, "transpose", form_transpose },
    { OP_SQUEEZE, "squeeze", form_axes },
    { OP_UNSQUEEZE, "unsqueeze", form_axes },
    { OP_CONCAT, "concat", form_concat },
    { OP_RESHAPE, "reshape", form_reshape },
    { OP_MATMUL, "matmul", form_matmul },
    { OP_CONV, "conv", form_conv },
    { OP_CONV_TRANSPOSE, "deconv", form_deconv },
};

bool form_write(const struct writer *w, const struct node *n)
{
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
        if (node_is(n, forms[i].op))
            return all_present(n) && fact_of(w, n, 0)->type != DTYPE_DIM &&
                fact_of(w, n, 0)->value == NULL && forms[i].write(w, n, forms[i].name);
    return false;
}
