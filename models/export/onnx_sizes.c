/* SPDX-License-Identifier: MIT */
/* Sizes that mention a symbol, computed from the shapes of the inputs. */
#include "engine/base/err.h"
#include "models/export/onnx_message.h"

#include <string.h>

static rill_status number(struct onnx_writer *w, int64_t v, const char **ret)
{
    int64_t one = 1;
    struct tensor *t = tensor_from_data(w->doc->arena, DTYPE_I64, 1, &one, &v);
    *ret = onnx_name_new(w);
    TRY_MEMORY(w, t);
    return onnx_put_initializer(w, t, *ret);
}

/* An axis of an input of the outermost graph that is d. */
static rill_status axis_find(struct onnx_writer *w, const struct dim *d, const char **ret)
{
    const struct graph *g = w->first->g;
    *ret = NULL;
    for (uint32_t i = 0; i < g->n_inputs; i++) {
        const struct fact *f = &g->wires[g->inputs[i]].fact;
        for (int k = 0; k < f->rank; k++) {
            Onnxpb__Node *n;
            if (f->shape[k] != d)
                continue;
            TRY_MEMORY(w, *ret = onnx_name_new(w));
            TRY(onnx_put_step(w, "Shape", w->first->name[g->inputs[i]], NULL, *ret));
            n = w->to->node[w->to->n_node - 1];
            TRY(onnx_put_int(w, n, "start", k));
            return onnx_put_int(w, n, "end", k + 1);
        }
    }
    return RILL_OK;
}

/* The b for which d is (num * symbol + b) / den rounded down. */
static bool offset_find(struct dims *ds, const struct dim *d, const struct dim *symbol, int64_t num,
                        int64_t den, int64_t *ret)
{
    enum { DEN_MAX = 4096 };
    int64_t at0;
    if (den < 1 || den > DEN_MAX || !dim_eval(d, symbol, 0, &at0) || at0 > INT32_MAX ||
        at0 < INT32_MIN)
        return false;
    for (*ret = at0 * den; *ret < (at0 + 1) * den; ++*ret) {
        const struct dim *sum = dim_add_int(ds, dim_mul_int(ds, symbol, num), *ret);
        if (dim_div_int(ds, sum, den) == d)
            return true;
    }
    return false;
}

static rill_status op_write(struct onnx_writer *w, const char *op, const char *x, const char *y,
                            const char **ret)
{
    TRY_MEMORY(w, *ret = onnx_name_new(w));
    return onnx_put_step(w, op, x, y, *ret);
}

/* Rounded down: Div rounds towards 0, so what is left over is taken off first, where x may be
 * negative. */
static rill_status quotient_write(struct onnx_writer *w, const char *x, int64_t by, bool is_signed,
                                  const char **ret)
{
    const char *divisor, *over;
    TRY(number(w, by, &divisor));
    if (is_signed) {
        TRY(op_write(w, "Mod", x, divisor, &over));
        TRY(op_write(w, "Sub", x, over, &x));
    }
    return op_write(w, "Div", x, divisor, ret);
}

/* d = (a * symbol + b) / c, by a symbol that is an axis. */
static rill_status linear(struct onnx_writer *w, const struct dim *d, const char **ret)
{
    const struct dim *symbol;
    struct dims *ds = w->g->dims;
    int64_t num, den, offset;
    const char *operand[2];
    *ret = NULL;
    if (dim_symbols(d, &symbol, 0, 1) != 1 || !dim_slope(d, symbol, &num, &den) ||
        !offset_find(ds, d, symbol, num, den, &offset))
        return RILL_OK;
    TRY(axis_find(w, symbol, ret));
    if (!*ret)
        return RILL_OK;
    TRY(number(w, num, &operand[0]));
    TRY(number(w, offset, &operand[1]));
    TRY(op_write(w, "Mul", *ret, operand[0], ret));
    TRY(op_write(w, "Add", *ret, operand[1], ret));
    return den > 1 ? quotient_write(w, *ret, den, num < 0 || offset < 0, ret) : RILL_OK;
}

static rill_status size_write(struct onnx_writer *w, const struct dim *d, const char **ret);

/* value + coef[0] * arg[0] + .. */
static rill_status sum_write(struct onnx_writer *w, const struct dim_parts *p, const char **ret)
{
    TRY(number(w, p->value, ret));
    for (unsigned i = 0; i < p->n; i++) {
        const char *x, *times, *product;
        TRY(size_write(w, p->arg[i], &x));
        TRY(number(w, p->coef[i], &times));
        TRY(op_write(w, "Mul", x, times, &product));
        TRY(op_write(w, "Add", *ret, product, ret));
    }
    return RILL_OK;
}

/* Of operands that are taken together one after the other; truths count 1. */
static rill_status folded_write(struct onnx_writer *w, const struct dim_parts *p, const char *op,
                                const char **ret)
{
    const bool truth = p->form == DIM_FORM_AT_LEAST || p->form == DIM_FORM_EQUAL;
    TRY(size_write(w, p->arg[0], ret));
    for (unsigned i = 1; i < p->n; i++) {
        const char *x;
        TRY(size_write(w, p->arg[i], &x));
        TRY(op_write(w, op, *ret, x, ret));
    }
    if (!truth)
        return RILL_OK;
    TRY(op_write(w, "Cast", *ret, NULL, ret));
    return onnx_put_int(w, w->to->node[w->to->n_node - 1], "to", onnx_type(w, DTYPE_I64));
}

/* By the arithmetic that a size is made of. */
static rill_status parts_write(struct onnx_writer *w, const struct dim *d, const char **ret)
{
    static const char *const fold[] = { [DIM_FORM_PRODUCT] = "Mul",
                                        [DIM_FORM_LEAST] = "Min",
                                        [DIM_FORM_MOST] = "Max",
                                        [DIM_FORM_AT_LEAST] = "GreaterOrEqual",
                                        [DIM_FORM_EQUAL] = "Equal" };
    const struct dim_parts parts = dim_parts(d);
    char text[200];
    if (parts.form == DIM_FORM_SUM)
        return sum_write(w, &parts, ret);
    if (parts.form == DIM_FORM_QUOTIENT) {
        TRY(size_write(w, parts.arg[0], ret));
        return quotient_write(w, *ret, parts.value, true, ret);
    }
    if (parts.form < sizeof fold / sizeof *fold && fold[parts.form])
        return folded_write(w, &parts, fold[parts.form], ret);
    dim_print(d, text, sizeof text);
    return err_set(w->doc->err, RILL_UNSUPPORTED,
                   "size %.100s is not computed from the axes of inputs alone", text);
}

static rill_status size_write(struct onnx_writer *w, const struct dim *d, const char **ret)
{
    if (dim_is_const(d))
        return number(w, dim_value(d), ret);
    TRY(axis_find(w, d, ret));
    if (!*ret)
        TRY(linear(w, d, ret));
    return *ret ? RILL_OK : parts_write(w, d, ret);
}

/* What stands in a row, put together. */
static rill_status row_write(struct onnx_writer *w, const struct dim *const *d, size_t count,
                             const char *name)
{
    Onnxpb__Node *n;
    const char **part = arena_array(w->doc->arena, const char *, count);
    TRY_MEMORY(w, part);
    for (size_t i = 0; i < count; i++)
        TRY(size_write(w, d[i], &part[i]));
    TRY(onnx_put_node(w, "Concat", name, count, 1, &n));
    for (size_t i = 0; i < count; i++)
        n->input[i] = text_of(part[i]);
    n->output[0] = text_of(name);
    return onnx_put_int(w, n, "axis", 0);
}

/* As a row that is given its axes; of no axis a number. */
static rill_status sizes_list(struct onnx_writer *w, const struct tensor *t, const char *name)
{
    const int64_t rank = t->rank;
    const char *row = rank == 1 ? name : onnx_name_new(w), *shape = onnx_name_new(w);
    const struct tensor *dim = tensor_from_data(w->doc->arena, DTYPE_I64, 1, &rank, t->dim);
    TRY_MEMORY(w, row && shape && dim);
    if (!tensor_count(t))
        return err_set(w->doc->err, RILL_UNSUPPORTED,
                       "constant '%.80s': no sizes have no form in ONNX", name);
    TRY(row_write(w, t->data, (size_t) tensor_count(t), row));
    if (rank == 1)
        return RILL_OK;
    TRY(onnx_put_initializer(w, dim, shape));
    return onnx_put_step(w, "Reshape", row, shape, name);
}

rill_status onnx_put_sizes(struct onnx_writer *w, const struct tensor *t, const char *name)
{
    if (!t->number || t->number == DTYPE_I64)
        return sizes_list(w, t, name);
    const char *whole = onnx_name_new(w);
    TRY_MEMORY(w, whole);
    TRY(sizes_list(w, t, whole));
    TRY(onnx_put_step(w, "Cast", whole, NULL, name));
    return onnx_put_int(w, w->to->node[w->to->n_node - 1], "to", onnx_type(w, t->number));
}
