/* SPDX-License-Identifier: MIT */
/* Pools of bytes, channels last: the largest, or the mean rounded half away from zero, of what lies
 * within the image. */
#include "engine/ops/byte.h"
#include "engine/ops/ops.h"

#define AT(member) offsetof(struct byte_pool_attr, member)
static const struct attr_spec pool_attrs[] = {
    { .name = "kernel", .kind = ATTR_INTS, .offset = AT(w.kernel), .required = true },
    { .name = "strides", .kind = ATTR_INTS, .offset = AT(w.strides), .required = true },
    { .name = "pads", .kind = ATTR_INTS, .offset = AT(w.pads), .required = true },
    { .name = "mean", .kind = ATTR_INT, .offset = AT(mean) },
    BYTE_RANGE_SPECS(struct byte_pool_attr, y),
    { 0 },
};
#undef AT

#define SIDE_MAX ((int64_t) 1 << 20)

static rill_status lists_check(struct infer *c)
{
    const struct byte_pool_attr *a = c->attr;
    if (a->w.kernel.n != 2 || a->w.strides.n != 2 || a->w.pads.n != 4)
        return infer_fail(c, "wants 2 sizes, 2 strides and 4 pads");
    for (unsigned i = 0; i < 4; i++)
        if (a->w.kernel.v[i % 2] < 1 || a->w.kernel.v[i % 2] > SIDE_MAX ||
            a->w.strides.v[i % 2] < 1 || a->w.strides.v[i % 2] > SIDE_MAX || a->w.pads.v[i] < 0 ||
            a->w.pads.v[i] >= a->w.kernel.v[i % 2])
            return infer_fail(c, "a window, stride or pad that does not fit");
    return RILL_OK;
}

static rill_status pool_infer(struct infer *c)
{
    const struct byte_pool_attr *a = c->attr;
    const struct fact *x = c->in[0];
    const struct dim *shape[4];
    enum dtype to;
    TRY(elem_check_type(c, 0, TYPES_BYTE));
    TRY(byte_range_check(c, &a->y, &to));
    TRY(lists_check(c));
    if (x->rank != 4 || to != x->type)
        return infer_fail(c, "wants rank 4, and gives the type it gets");
    shape[0] = x->shape[0];
    shape[3] = x->shape[3];
    for (int i = 1; i < 3; i++) {
        const struct dim *n = x->shape[i];
        if (dim_is_const(n) && (dim_value(n) < 1 || dim_value(n) > SIDE_MAX))
            return infer_fail(c, "axis %d: a size that is not above 0", i);
        TRY(byte_window_count(c, n, a->w.pads.v[i - 1] + a->w.pads.v[i + 1], a->w.kernel.v[i - 1],
                              a->w.strides.v[i - 1], &shape[i]));
    }
    infer_shape(c, 0, to, 4, shape);
    return RILL_OK;
}

/* The part of a window that lies within an axis of n: from, to. */
static void window_cut(const struct byte_pool_attr *a, unsigned axis, int64_t at, int64_t n,
                       int64_t ret[2])
{
    int64_t from = at * a->w.strides.v[axis] - a->w.pads.v[axis], to = from + a->w.kernel.v[axis];
    ret[0] = from > 0 ? from : 0;
    ret[1] = to < n ? to : n;
}

static int32_t window_pool(const struct eval *e, const int64_t rows[2], const int64_t columns[2],
                           int64_t batch, int64_t channel)
{
    const struct byte_pool_attr *a = e->attr;
    const struct tensor *x = e->in[0];
    int32_t sum = 0, most = (int32_t) a->y.low,
            n = (int32_t) ((rows[1] - rows[0]) * (columns[1] - columns[0]));
    for (int64_t i = rows[0]; i < rows[1]; i++)
        for (int64_t j = columns[0]; j < columns[1]; j++) {
            int64_t at = ((batch * x->dim[1] + i) * x->dim[2] + j) * x->dim[3] + channel;
            int32_t v = byte_at(x->type, e->x[0], at);
            sum += v;
            most = v > most ? v : most;
        }
    if (!a->mean || n < 1)
        return most;
    return sum > 0 ? (sum + n / 2) / n : (sum - n / 2) / n;
}

static void pool_eval(const struct eval *e)
{
    const struct byte_pool_attr *a = e->attr;
    const struct tensor *x = e->in[0], *y = e->out[0];
    int64_t at = 0, rows[2], columns[2];
    for (int64_t b = 0; b < y->dim[0]; b++)
        for (int64_t i = 0; i < y->dim[1]; i++)
            for (int64_t j = 0; j < y->dim[2]; j++) {
                window_cut(a, 0, i, x->dim[1], rows);
                window_cut(a, 1, j, x->dim[2], columns);
                for (int64_t c = 0; c < y->dim[3]; c++)
                    byte_put(y->type, e->y[0], at++,
                             fixed_clip(window_pool(e, rows, columns, b, c), (int32_t) a->y.low,
                                        (int32_t) a->y.high));
            }
}

static const struct op op_byte_pool = {
    .id = OP_BYTE_POOL,
    .name = "BytePool",
    .attrs = pool_attrs,
    .attr_bytes = sizeof(struct byte_pool_attr),
    .min_in = 1,
    .max_in = 1,
    .min_out = 1,
    .max_out = 1,
    .infer = pool_infer,
    .eval = pool_eval,
    .help = "the largest byte, or the mean, of windows over rows and columns, channels last",
};

const struct op *const ops_byte_pool[] = { &op_byte_pool, NULL };
