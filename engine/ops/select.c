/* SPDX-License-Identifier: MIT */
/* Ops that pick elements by where they lie or by what they are. The sizes of NonZero's and
 * Compress's outputs depend on data, so that only the growable interpreter runs them on inputs that
 * are not known. */
#include "engine/ops/attrs.h"
#include "engine/ops/ops.h"

#include <string.h>

#define NO_AXIS INT64_MIN /* an attribute that is absent */

/* ---- Trilu ---- */

static const struct attr_spec trilu_attrs[] = {
    { .name = "upper", .kind = ATTR_INT, .offset = offsetof(struct trilu_attr, upper), .def_i = 1 },
    { 0 },
};

static rill_status trilu_infer(struct infer *c)
{
    if (c->in[0]->rank < 2)
        return infer_fail(c, "wants matrices, input 0 has rank %d", c->in[0]->rank);
    if (infer_has(c, 1) &&
        (c->in[1]->type != DTYPE_I64 || c->in[1]->rank > 1 ||
         (c->in[1]->rank == 1 && !dim_is(c->in[1]->shape[0], 1))))
        return infer_fail(c, "input 1, the diagonal, must be one i64");
    if (c->in[0]->type == DTYPE_DIM)
        return infer_fail(c, "symbolic sizes are not supported");
    infer_same(c, 0, 0);
    return RILL_OK;
}

static void trilu_eval(const struct eval *e)
{
    const struct tensor *x = e->in[0];
    bool upper = ((const struct trilu_attr *) e->attr)->upper != 0;
    int64_t rows = x->dim[x->rank - 2], cols = x->dim[x->rank - 1],
            k = e->n_in > 1 && e->x[1] ? *(const int64_t *) e->x[1] : 0;
    int64_t n = cols ? tensor_count(x) / cols : 0;
    size_t bytes = dtype_bytes(x->type);
    k = k > cols ? cols : k < -rows ? -rows : k;
    for (int64_t i = 0; i < n; i++) {
        int64_t edge = i % rows + k + !upper; /* first column kept (upper), or dropped */
        edge = edge < 0 ? 0 : edge > cols ? cols : edge;
        int64_t from = upper ? edge : 0, to = upper ? cols : edge;
        char *y = (char *) e->y[0] + (size_t) (i * cols) * bytes;
        memset(y, 0, (size_t) cols * bytes);
        memcpy(y + (size_t) from * bytes,
               (const char *) e->x[0] + (size_t) (i * cols + from) * bytes,
               (size_t) (to - from) * bytes);
    }
}

static const struct op op_trilu = {
    .id = OP_TRILU,
    .name = "Trilu",
    .attrs = trilu_attrs,
    .attr_bytes = sizeof(struct trilu_attr),
    .min_in = 1,
    .max_in = 2,
    .min_out = 1,
    .max_out = 1,
    .infer = trilu_infer,
    .eval = trilu_eval,
    .help = "the upper or lower triangle of matrices, zero elsewhere",
};

/* ---- OneHot ---- */

static const struct attr_spec onehot_attrs[] = {
    { .name = "axis", .kind = ATTR_INT, .offset = offsetof(struct axis_attr, axis), .def_i = -1 },
    { 0 },
};

static rill_status onehot_infer(struct infer *c)
{
    const struct fact *ix = c->in[0], *values = c->in[2];
    int64_t wanted = ((const struct axis_attr *) c->attr)->axis;
    int axis = axis_normalise(wanted, ix->rank + 1);
    const struct tensor *depth = c->in[1]->value;
    const struct dim *shape[RANK_MAX + 1];
    if (!depth || depth->type == DTYPE_DIM || tensor_count(depth) != 1)
        return infer_fail(c, "the depth (input 1) must be one number that is known before running");
    if (axis < 0 || ix->rank + 1 > RANK_MAX)
        return infer_fail(c, "axis %lld is not one of rank %d", (long long) wanted, ix->rank + 1);
    if (values->rank != 1 || !dim_is(values->shape[0], 2) || ix->type == DTYPE_DIM)
        return infer_fail(c, "input 2 wants two values: off and on");
    int64_t n = tensor_get_i64(depth, depth->data, 0);
    if (n < 0 || n > INT32_MAX)
        return infer_fail(c, "the depth is %lld", (long long) n);
    for (int i = 0, k = 0; i <= ix->rank; i++)
        shape[i] = i == axis ? dim_int(c->dims, n) : ix->shape[k++];
    infer_shape(c, 0, values->type, ix->rank + 1, shape);
    return RILL_OK;
}

static void onehot_eval(const struct eval *e)
{
    const struct tensor *ix = e->in[0], *y = e->out[0];
    int axis = axis_normalise(((const struct axis_attr *) e->attr)->axis, y->rank);
    size_t bytes = dtype_bytes(y->type);
    int64_t depth = y->dim[axis], inner = 1, n = tensor_count(ix);
    for (int i = axis + 1; i < y->rank; i++)
        inner *= y->dim[i];
    for (int64_t i = 0; i < n; i++) {
        int64_t at = tensor_get_i64(ix, e->x[0], i), base = i / inner * inner * depth + i % inner;
        at = at < 0 ? at + depth : at;
        for (int64_t k = 0; k < depth; k++)
            memcpy((char *) e->y[0] + (size_t) (base + k * inner) * bytes,
                   (const char *) e->x[2] + (k == at ? bytes : 0), bytes);
    }
}

static const struct op op_onehot = {
    .id = OP_ONE_HOT,
    .name = "OneHot",
    .attrs = onehot_attrs,
    .attr_bytes = sizeof(struct axis_attr),
    .min_in = 3,
    .max_in = 3,
    .min_out = 1,
    .max_out = 1,
    .infer = onehot_infer,
    .eval = onehot_eval,
    .help = "a new axis that is `on` at each index and `off` elsewhere",
};

/* ---- ReverseSequence ---- */

static const struct attr_spec reverse_attrs[] = {
    { .name = "batch_axis",
      .kind = ATTR_INT,
      .offset = offsetof(struct reverse_attr, batch_axis),
      .def_i = 1 },
    { .name = "time_axis", .kind = ATTR_INT, .offset = offsetof(struct reverse_attr, time_axis) },
    { 0 },
};

static rill_status reverse_infer(struct infer *c)
{
    const struct reverse_attr *a = c->attr;
    const struct fact *x = c->in[0], *n = c->in[1];
    int b = axis_normalise(a->batch_axis, x->rank), t = axis_normalise(a->time_axis, x->rank);
    if (b < 0 || t < 0 || b == t)
        return infer_fail(c, "batch_axis %lld and time_axis %lld must be two axes of rank %d",
                          (long long) a->batch_axis, (long long) a->time_axis, x->rank);
    if (n->rank != 1 || n->type != DTYPE_I64 ||
        (dim_is_const(n->shape[0]) && n->shape[0] != x->shape[b]))
        return infer_fail(c, "input 1 wants one i64 length for each of the batch");
    infer_same(c, 0, 0);
    return RILL_OK;
}

static void reverse_eval(const struct eval *e)
{
    const struct reverse_attr *a = e->attr;
    const struct tensor *x = e->in[0];
    int b = axis_normalise(a->batch_axis, x->rank), t = axis_normalise(a->time_axis, x->rank);
    int64_t strides[RANK_MAX], n = tensor_count(x);
    size_t bytes = dtype_bytes(x->type);
    tensor_strides(x, strides);
    for (int64_t i = 0; i < n; i++) {
        int64_t at = i / strides[t] % x->dim[t],
                length = ((const int64_t *) e->x[1])[i / strides[b] % x->dim[b]];
        if (length < 0 || length > x->dim[t])
            eval_fault(e, FAULT_LENGTH, length, x->dim[t]);
        length = length > x->dim[t] ? x->dim[t] : length;
        int64_t from = at < length ? i + (length - 1 - 2 * at) * strides[t] : i;
        memcpy((char *) e->y[0] + (size_t) i * bytes,
               (const char *) e->x[0] + (size_t) from * bytes, bytes);
    }
}

static const struct op op_reverse = {
    .id = OP_REVERSE_SEQUENCE,
    .name = "ReverseSequence",
    .attrs = reverse_attrs,
    .attr_bytes = sizeof(struct reverse_attr),
    .min_in = 2,
    .max_in = 2,
    .min_out = 1,
    .max_out = 1,
    .infer = reverse_infer,
    .eval = reverse_eval,
    .checked = 1,
    .help = "the first elements of an axis in reverse, as many as each of the batch says",
};

/* ---- NonZero ---- */

static bool is_nonzero(const struct tensor *t, const void *data, int64_t i)
{
    return dtype_is_float(t->type) ? tensor_get_f64(t, data, i) != 0
                                   : tensor_get_i64(t, data, i) != 0;
}

static rill_status nonzero_infer(struct infer *c)
{
    const struct tensor *x = c->in[0]->value;
    int64_t found = 0;
    if (!x || x->type == DTYPE_DIM)
        return infer_fail(
            c, "the size of its output depends on data that is not known before running");
    for (int64_t i = 0, n = tensor_count(x); i < n; i++)
        found += is_nonzero(x, x->data, i);
    infer_shape(c, 0, DTYPE_I64, 2,
                (const struct dim *[]) { dim_int(c->dims, x->rank), dim_int(c->dims, found) });
    return RILL_OK;
}

static void nonzero_eval(const struct eval *e)
{
    const struct tensor *x = e->in[0];
    int64_t strides[RANK_MAX], n = tensor_count(x), found = e->out[0]->dim[1], *y = e->y[0];
    tensor_strides(x, strides);
    for (int64_t i = 0, k = 0; i < n && k < found; i++) {
        if (!is_nonzero(x, e->x[0], i))
            continue;
        for (int a = 0; a < x->rank; a++)
            y[a * found + k] = i / strides[a] % x->dim[a];
        k++;
    }
}

static const struct op op_nonzero = {
    .id = OP_NONZERO,
    .name = "NonZero",
    .min_in = 1,
    .max_in = 1,
    .min_out = 1,
    .max_out = 1,
    .infer = nonzero_infer,
    .eval = nonzero_eval,
    .help = "places of the elements that are not zero, one column each",
};

/* ---- Compress ---- */

static const struct attr_spec compress_attrs[] = {
    { .name = "axis",
      .kind = ATTR_INT,
      .offset = offsetof(struct axis_attr, axis),
      .def_i = NO_AXIS },
    { 0 },
};

static rill_status compress_infer(struct infer *c)
{
    const struct fact *x = c->in[0];
    int64_t axis = ((const struct axis_attr *) c->attr)->axis, kept = 0;
    const struct tensor *mask = c->in[1]->value;
    int a = axis == NO_AXIS ? 0 : axis_normalise(axis, x->rank);
    if (!mask || mask->type != DTYPE_BOOL || mask->rank != 1)
        return infer_fail(
            c,
            "the size of its output depends on input 1, a list of bools, which is not "
            "known before running");
    struct tensor shape;
    if (a < 0 || x->type == DTYPE_DIM)
        return infer_fail(c, "axis %lld of an input of rank %d", (long long) axis, x->rank);
    if (axis == NO_AXIS ? !fact_to_tensor(x, &shape) : !dim_is_const(x->shape[a]))
        return infer_fail(c,
                          "the size of axis %d of its input is not known before running; Slice and "
                          "Gather by a range need not "
                          "know it",
                          a);
    int64_t room = axis == NO_AXIS ? tensor_count(&shape) : dim_value(x->shape[a]);
    for (int64_t i = 0; i < tensor_count(mask) && i < room; i++)
        kept += ((const uint8_t *) mask->data)[i] != 0;
    infer_same(c, 0, 0);
    c->out[0].rank = axis == NO_AXIS ? 1 : x->rank;
    c->out[0].shape[a] = dim_int(c->dims, kept);
    return RILL_OK;
}

static void compress_eval(const struct eval *e)
{
    const struct tensor *x = e->in[0];
    int64_t axis = ((const struct axis_attr *) e->attr)->axis, outer = 1, n = tensor_count(x);
    size_t row = dtype_bytes(x->type);
    if (axis != NO_AXIS) {
        int a = axis_normalise(axis, x->rank);
        n = x->dim[a];
        for (int i = 0; i < x->rank; i++) {
            outer *= i < a ? x->dim[i] : 1;
            row *= i > a ? (size_t) x->dim[i] : 1;
        }
    }
    const uint8_t *mask = e->x[1];
    int64_t n_mask = tensor_count(e->in[1]);
    char *y = e->y[0];
    for (int64_t o = 0; o < outer && n && row; o++)
        for (int64_t i = 0; i < n && i < n_mask; i++) {
            if (mask[i])
                memcpy(y, (const char *) e->x[0] + (size_t) (o * n + i) * row, row);
            y += mask[i] ? row : 0;
        }
}

static const struct op op_compress = {
    .id = OP_COMPRESS,
    .name = "Compress",
    .attrs = compress_attrs,
    .attr_bytes = sizeof(struct axis_attr),
    .min_in = 2,
    .max_in = 2,
    .min_out = 1,
    .max_out = 1,
    .infer = compress_infer,
    .eval = compress_eval,
    .help = "slices of an axis (or elements) whose bool is set",
};

const struct op *const ops_select[] = { &op_trilu,   &op_onehot,   &op_reverse,
                                        &op_nonzero, &op_compress, NULL };
