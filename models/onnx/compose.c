/* SPDX-License-Identifier: MIT */
/* Ops that become several, or none. */
#include "models/onnx/internal.h"

#include <string.h>

/* ---- constants ---- */

static rill_status constant_list(struct conversion *l, enum dtype type, int rank, size_t n,
                                 const void *data, const struct tensor **ret)
{
    int64_t dim = (int64_t) n;
    *ret = tensor_from_data(l->r->arena, type, rank, &dim, data);
    return *ret ? RILL_OK : no_memory(l->r);
}

static rill_status constant_value(struct conversion *l, const struct attr *a,
                                  const struct tensor **ret)
{
    switch (a->kind) {
    case ATTR_TENSOR: *ret = a->tensor; return RILL_OK;
    case ATTR_INT: return constant_list(l, DTYPE_I64, 0, 1, &a->i, ret);
    case ATTR_FLOAT: return constant_list(l, DTYPE_F32, 0, 1, &a->f, ret);
    case ATTR_INTS: return constant_list(l, DTYPE_I64, 1, a->ints.n, a->ints.v, ret);
    case ATTR_FLOATS: return constant_list(l, DTYPE_F32, 1, a->floats.n, a->floats.v, ret);
    default: return convert_fail(l, RILL_UNSUPPORTED, "constants of strings are not supported");
    }
}

rill_status up_constant(struct conversion *l)
{
    const struct tensor *t = NULL;
    if (l->n_attr != 1 || l->n_out != 1 || l->n_in != 0)
        return convert_fail(l, RILL_MALFORMED,
                            "takes no inputs and one attribute: value, sparse_value, value_int(s) "
                            "or value_float(s)");
    TRY(constant_value(l, &l->attr[0], &t));
    fact_of_tensor(&l->scope->g->wires[l->out[0]].fact, l->r->dims, t);
    l->engine = NULL;
    return RILL_OK;
}

/* ---- dropout ---- */

rill_status up_dropout(struct conversion *l)
{
    uint32_t shape, mask = l->n_out > 1 ? l->out[1] : WIRE_NONE;
    if (!convert_has(l, 0))
        return convert_fail(l, RILL_MALFORMED, "input 0 is required");
    if (convert_has(l, 2)) {
        const struct tensor *training = l->scope->g->wires[l->in[2]].fact.value;
        if (!training || tensor_count(training) != 1 || tensor_get_i64(training, training->data, 0))
            return convert_fail(l, RILL_UNSUPPORTED,
                                "drops values at random (training_mode is not a constant "
                                "false); export the model for inference");
    }
    if (l->r->version.opset < 7 && convert_int(l, "is_test", 0) == 0 && mask != WIRE_NONE)
        return convert_fail(l, RILL_UNSUPPORTED,
                            "drops values at random (is_test is 0); export the model for "
                            "inference");
    if (mask != WIRE_NONE) {
        int64_t one = 1;
        enum dtype type = l->r->version.opset >= 10 ? DTYPE_BOOL : DTYPE_F32;
        struct tensor *t = tensor_new(l->r->arena, type, 1, &one);
        if (!t)
            return no_memory(l->r);
        tensor_set_f64(t, t->data, 0, 1);
        struct attr value = { .name = "value", .kind = ATTR_TENSOR, .tensor = t };
        TRY(convert_unary(l, "Shape", l->in[0], &shape));
        TRY(convert_emit(l, "ConstantOfShape", &value, 1, &shape, 1, &mask, 1));
    }
    uint32_t x = l->in[0];
    l->n_out = 1;
    return convert_finish(l, x);
}

/* ---- softmax and its like before opset 13: over all axes from `axis` on, as one ---- */

static rill_status softmax_flat(struct conversion *l, const char *engine, uint32_t x, int64_t axis,
                                uint32_t *out)
{
    uint32_t shape, flat = WIRE_NONE, y = WIRE_NONE;
    struct attr at = { .name = "axis", .kind = ATTR_INT, .i = axis },
                last = { .name = "axis", .kind = ATTR_INT, .i = -1 };
    TRY(convert_unary(l, "Shape", x, &shape));
    TRY(convert_emit(l, "Flatten", &at, 1, &x, 1, &flat, 1));
    TRY(convert_emit(l, engine, &last, 1, &flat, 1, &y, 1));
    return convert_emit(l, "Reshape", NULL, 0, (uint32_t[]) { y, shape }, 2, out, 1);
}

rill_status convert_softmax_rows(struct conversion *l, const char *engine, uint32_t x, int64_t axis,
                                 uint32_t *ret)
{
    struct attr last = { .name = "axis", .kind = ATTR_INT, .i = -1 };
    *ret = WIRE_NONE;
    return axis == -1 ? convert_emit(l, engine, &last, 1, &x, 1, ret, 1)
                      : softmax_flat(l, engine, x, axis, ret);
}

rill_status up_softmax_1(struct conversion *l)
{
    int64_t axis = convert_int(l, "axis", 1);
    const char *engine = l->engine;
    if (axis == -1)
        return RILL_OK;
    if (!convert_has(l, 0))
        return convert_fail(l, RILL_MALFORMED, "input 0 is required");
    const struct fact *f = &l->scope->g->wires[l->in[0]].fact;
    if (f->rank > 0 && axis == f->rank - 1)
        return RILL_OK;
    l->engine = NULL;
    return softmax_flat(l, engine, l->in[0], axis, l->out);
}

/* ---- gates ---- */

/* As far as the file says them. */
static rill_status swiglu_shapes_check(const struct conversion *l)
{
    const int a = convert_rank(l, 0), b = convert_rank(l, 1);
    if (a < 0 || b < 0)
        return RILL_OK;
    bool same = a == b;
    for (int i = 0; same && i < a; i++) {
        const int64_t x = convert_size(l, 0, i), y = convert_size(l, 1, i);
        same = x < 0 || y < 0 || x == y;
    }
    return same ? RILL_OK
                : convert_fail(l, RILL_MALFORMED,
                               "A and B are of different shapes; it takes two of the same, and an "
                               "Expand in front makes them so");
}

rill_status up_swiglu(struct conversion *l)
{
    const struct attr *alpha = convert_attr(l, "alpha");
    uint32_t gate = WIRE_NONE, y;
    TRY(convert_inputs_check(l, 2, 2, 0x3));
    TRY(swiglu_shapes_check(l));
    TRY(convert_emit(l, "Swish", alpha, alpha != NULL, l->in, 1, &gate, 1));
    TRY(convert_binary(l, "Mul", gate, l->in[1], &y));
    return convert_finish(l, y);
}

/* ---- products of turned matrices ---- */

rill_status convert_einsum(struct conversion *l, const char *text, const uint32_t *in, unsigned n,
                           uint32_t *ret)
{
    const char **list = arena_array(l->r->arena, const char *, 1);
    uint32_t y = WIRE_NONE;
    if (!text || !list)
        return no_memory(l->r);
    *list = text;
    struct attr equation = { .name = "equation", .kind = ATTR_STRINGS, .strings = { 1, list } };
    TRY(convert_emit(l, "Einsum", &equation, 1, in, n, &y, 1));
    *ret = y;
    return RILL_OK;
}

/* An operand as it lies in the file: the axes of its batch come first, or second; a
 * vector is never turned. */
struct side {
    const char *turned, *batch_second, *row, *column;
};

static bool side_is_vector(const struct conversion *l, unsigned i)
{
    return l->scope->g->wires[l->in[i]].fact.rank == 1;
}

static bool side_turns(struct conversion *l, const struct side *s, unsigned i)
{
    return !side_is_vector(l, i) &&
        (convert_int(l, s->turned, 0) || convert_int(l, s->batch_second, 0));
}

static const char *side_axes(struct conversion *l, const struct side *s)
{
    const bool turn = convert_int(l, s->turned, 0) != 0;
    const char *first = turn ? s->column : s->row, *last = turn ? s->row : s->column;
    return convert_int(l, s->batch_second, 0) ? arena_printf(l->r->arena, "%s...%s", first, last)
                                              : arena_printf(l->r->arena, "...%s%s", first, last);
}

/* Letters instead of transpositions: but for vectors, ranks need not be known. */
rill_status up_fused_matmul(struct conversion *l)
{
    static const struct side left = { "transA", "transBatchA", "i", "j" },
                             right = { "transB", "transBatchB", "j", "k" };
    const struct attr *alpha = convert_attr(l, "alpha");
    const float by = alpha && alpha->kind == ATTR_FLOAT ? alpha->f : 1;
    uint32_t y = WIRE_NONE, scale;
    TRY(convert_inputs_check(l, 2, 2, 0x3));
    if (side_turns(l, &left, 0) || side_turns(l, &right, 1)) {
        const bool vector = side_is_vector(l, 0);
        const char *a = vector ? "j" : side_axes(l, &left), *b = side_axes(l, &right);
        const char *text = a && b
            ? arena_printf(l->r->arena, vector ? "%s,%s->...k" : "%s,%s->...ik", a, b)
            : NULL;
        TRY(convert_einsum(l, text, l->in, 2, &y));
    } else {
        TRY(convert_binary(l, "MatMul", l->in[0], l->in[1], &y));
    }
    if (by < 1 || by > 1) {
        TRY(convert_float(l, by, y, &scale));
        TRY(convert_binary(l, "Mul", y, scale, &y));
    }
    return convert_finish(l, y);
}

/* ---- normalisation ---- */

rill_status up_mvn(struct conversion *l)
{
    static const int64_t usual[] = { 0, 2, 3 };
    const struct attr *a = convert_attr(l, "axes");
    struct attr keep = { .name = "keepdims", .kind = ATTR_INT, .i = 1 };
    uint32_t axes, mean = WIRE_NONE, d, square, var = WIRE_NONE, eps, sum, dev, y;
    if (!convert_has(l, 0))
        return convert_fail(l, RILL_MALFORMED, "input 0 is required");
    TRY(convert_ints(l, a ? a->ints.v : usual, a ? a->ints.n : 3, &axes));
    TRY(convert_emit(l, "ReduceMean", &keep, 1, (uint32_t[]) { l->in[0], axes }, 2, &mean, 1));
    TRY(convert_binary(l, "Sub", l->in[0], mean, &d));
    TRY(convert_binary(l, "Mul", d, d, &square));
    TRY(convert_emit(l, "ReduceMean", &keep, 1, (uint32_t[]) { square, axes }, 2, &var, 1));
    TRY(convert_unary(l, "Sqrt", var, &dev));
    TRY(convert_float(l, 1e-9f, dev, &eps));
    TRY(convert_binary(l, "Add", dev, eps, &sum));
    TRY(convert_binary(l, "Div", d, sum, &y));
    return convert_finish(l, y);
}

/* One scale a group becomes one a channel: [G] -> [G,1] -> [G,C/G] -> [C]. */
static rill_status per_channel(struct conversion *l, uint32_t v, int64_t groups, uint32_t *ret)
{
    struct attr from = { .name = "start", .kind = ATTR_INT, .i = 1 },
                to = { .name = "end", .kind = ATTR_INT, .i = 2 };
    struct attr axis = { .name = "axis", .kind = ATTR_INT, .i = 0 }, range[] = { from, to };
    uint32_t c = WIRE_NONE, g, each, one, shape = WIRE_NONE, column, wide, flat;
    TRY(convert_emit(l, "Shape", range, 2, l->in, 1, &c, 1));
    TRY(convert_ints(l, &groups, 1, &g));
    TRY(convert_binary(l, "Div", c, g, &each));
    TRY(convert_emit(l, "Concat", &axis, 1, (uint32_t[]) { g, each }, 2, &shape, 1));
    TRY(convert_ints(l, (const int64_t[]) { 1 }, 1, &one));
    TRY(convert_binary(l, "Unsqueeze", v, one, &column));
    TRY(convert_binary(l, "Expand", column, shape, &wide));
    TRY(convert_ints(l, (const int64_t[]) { -1 }, 1, &flat));
    return convert_binary(l, "Reshape", wide, flat, ret);
}

rill_status up_groupnorm_18(struct conversion *l)
{
    int64_t groups = convert_int(l, "num_groups", 0);
    if (groups < 1 || !convert_has(l, 0) || !convert_has(l, 1) || !convert_has(l, 2))
        return convert_fail(l, RILL_MALFORMED, "wants three inputs and num_groups of at least 1");
    TRY(per_channel(l, l->in[1], groups, &l->in[1]));
    return per_channel(l, l->in[2], groups, &l->in[2]);
}
