/* SPDX-License-Identifier: MIT */
/* Operators that move elements or add them up: reductions, softmax, overlap-add. */
#include "models/nnef/build.h"

#include <string.h>

static rill_status done(rill_status s, const uint32_t *w, struct val *ret)
{
    if (s == RILL_OK)
        *ret = val_of_wire(*w);
    return s;
}

/* An op whose second input is a list of axes; without any nothing is done. */
static rill_status over_axes(const struct call *c, const char *op, uint32_t x, const int64_t *axes,
                             unsigned n, uint32_t *ret)
{
    uint32_t in[2] = { x, 0 };
    if (n == 0)
        return call_node(c, "Identity", NULL, 0, in, 1, ret);
    TRY(const_i64(c->b, c->s->g, axes, n, &in[1]));
    return call_node(c, op, NULL, 0, in, 2, ret);
}

/* The same of axes that an argument says. */
static rill_status with_axes(const struct call *c, const char *op, const char *arg, uint32_t x,
                             uint32_t *ret)
{
    int64_t axes[RANK_MAX];
    unsigned n;
    TRY(arg_ints(c, arg, axes, RANK_MAX, &n));
    return over_axes(c, op, x, axes, n, ret);
}

/* And of the operator's `input`. */
static rill_status axes_op(const struct call *c, const char *op, const char *arg, struct val *ret)
{
    uint32_t x, y;
    TRY(arg_wire(c, "input", &x));
    return done(with_axes(c, op, arg, x, &y), &y, ret);
}

/* A list of one size becomes that size. */
rill_status build_squeeze(const struct call *c, struct val *ret)
{
    struct val v;
    uint32_t x;
    TRY(arg_val(c, "input", &v));
    if (v.kind == VAL_LIST && v.n == 1 && v.list[0].kind != VAL_LIST) {
        *ret = v.list[0];
        return RILL_OK;
    }
    TRY(val_to_wire(c->b, c->s, c->e->pos, v, DTYPE_F32, &x));
    return done(with_axes(c, "Squeeze", "axes", x, &x), &x, ret);
}

rill_status build_unsqueeze(const struct call *c, struct val *ret)
{
    return axes_op(c, "Unsqueeze", "axes", ret);
}

rill_status build_tile(const struct call *c, struct val *ret)
{
    const struct dim *repeats[RANK_MAX];
    uint32_t in[2], y;
    unsigned n;
    TRY(arg_wire(c, "input", &in[0]));
    TRY(arg_dims(c, "repeats", repeats, RANK_MAX, &n));
    TRY(const_sizes(c->b, c->s->g, repeats, n, &in[1]));
    return done(call_node(c, "Tile", NULL, 0, in, 2, &y), &y, ret);
}

rill_status build_reduce(const struct call *c, struct val *ret)
{
    uint32_t x, y;
    bool mean = false;
    TRY(arg_wire(c, "input", &x));
    if (c->sig->n_params > 2)
        TRY(arg_bool(c, "normalize", &mean));
    return done(with_axes(c, mean ? "ReduceMean" : c->row->op, "axes", x, &y), &y, ret);
}

/* Truth values are counted as 0 and 1. */
rill_status build_logic_reduce(const struct call *c, struct val *ret)
{
    uint32_t x;
    TRY(arg_wire(c, "input", &x));
    TRY(build_cast(c->b, c->s, c->e->pos, DTYPE_I32, &x));
    TRY(with_axes(c, c->row->op, "axes", x, &x));
    TRY(build_cast(c->b, c->s, c->e->pos, DTYPE_BOOL, &x));
    *ret = val_of_wire(x);
    return RILL_OK;
}

/* Over several axes as the standard writes it: exp(x - largest), divided by its sum; or the
 * logarithm of that. */
static rill_status softmax_over(const struct call *c, uint32_t x, const int64_t *axes, unsigned n,
                                uint32_t *ret)
{
    const bool log = !strcmp(c->row->op, "LogSoftmax");
    uint32_t in[2] = { x, 0 }, power;
    TRY(over_axes(c, "ReduceMax", x, axes, n, &in[1]));
    TRY(call_node(c, "Sub", NULL, 0, in, 2, &in[0]));
    TRY(call_node(c, "Exp", NULL, 0, in, 1, &power));
    TRY(over_axes(c, "ReduceSum", power, axes, n, &in[1]));
    if (!log)
        in[0] = power;
    else
        TRY(call_node(c, "Log", NULL, 0, &in[1], 1, &in[1]));
    return call_node(c, log ? "Sub" : "Div", NULL, 0, in, 2, ret);
}

rill_status build_softmax(const struct call *c, struct val *ret)
{
    uint32_t x, y;
    int64_t axes[RANK_MAX];
    unsigned n;
    TRY(arg_wire(c, "x", &x));
    TRY(arg_ints(c, "axes", axes, RANK_MAX, &n));
    if (n != 1)
        return done(softmax_over(c, x, axes, n, &y), &y, ret);
    return done(call_node(c, c->row->op, &(struct attr) ATTR_I("axis", axes[0]), 1, &x, 1, &y), &y,
                ret);
}

/* Which axes a list names, each once, counted from the first. */
static rill_status axes_mark(const struct call *c, const int64_t *axes, unsigned n, int rank,
                             bool ret[RANK_MAX])
{
    memset(ret, 0, RANK_MAX * sizeof *ret);
    for (unsigned i = 0; i < n; i++) {
        const int at = axis_normalise(axes[i], rank);
        if (at < 0 || ret[at])
            return call_fail(c, RILL_MALFORMED, "'%s': axis %lld %s", c->e->text,
                             (long long) axes[i], at < 0 ? "does not exist" : "is named twice");
        ret[at] = true;
    }
    return RILL_OK;
}

/* The axes marked as one, last, row by row; *ret_shape: what is left has, with ones in their
 * place. */
static rill_status axes_join(const struct call *c, const bool *marked, uint32_t *x,
                             const struct dim **ret_shape)
{
    const struct fact f = *wire_fact(c->s, *x);
    const struct dim *kept[RANK_MAX], *all = dim_int(c->b->dims, 1);
    int64_t perm[RANK_MAX];
    uint32_t in[2];
    unsigned n = 0, m = 0;
    for (int pass = 0; pass < 2; pass++)
        for (int k = 0; k < f.rank; k++)
            if (marked[k] == pass)
                perm[n++] = k;
    for (int k = 0; k < f.rank; k++) {
        ret_shape[k] = marked[k] ? dim_int(c->b->dims, 1) : f.shape[k];
        if (marked[k])
            all = dim_mul(c->b->dims, all, f.shape[k]);
        else
            kept[m++] = f.shape[k];
    }
    kept[m++] = all;
    TRY(call_node(c, "Transpose", &(struct attr) ATTR_L("perm", perm, n), 1, x, 1, &in[0]));
    TRY(const_sizes(c->b, c->s->g, kept, m, &in[1]));
    return call_node(c, "Reshape", NULL, 0, in, 2, x);
}

/* Along several axes the place counts row by row. */
static rill_status argmax(const struct call *c, bool last, struct val *ret)
{
    uint32_t x, in[2];
    int64_t axes[RANK_MAX];
    const struct dim *shape[RANK_MAX];
    bool marked[RANK_MAX];
    unsigned n;
    TRY(arg_wire(c, "input", &x));
    TRY(arg_ints(c, "axes", axes, RANK_MAX, &n));
    const int rank = wire_fact(c->s, x)->rank;
    TRY(axes_mark(c, axes, n, rank, marked));
    if (n != 1)
        TRY(axes_join(c, marked, &x, shape));
    struct attr attrs[] = { ATTR_I("axis", n == 1 ? axes[0] : -1), ATTR_I("keepdims", n == 1),
                            ATTR_I("select_last_index", last) };
    TRY(call_node(c, c->row->op, attrs, 3, &x, 1, &in[0]));
    *ret = val_of_wire(in[0]);
    if (n == 1)
        return RILL_OK;
    TRY(const_sizes(c->b, c->s->g, shape, (unsigned) rank, &in[1]));
    return done(call_node(c, "Reshape", NULL, 0, in, 2, &x), &x, ret);
}

rill_status build_argmax(const struct call *c, struct val *ret)
{
    return argmax(c, false, ret);
}

rill_status build_argmax_last(const struct call *c, struct val *ret)
{
    return argmax(c, true, ret);
}

/* Sizes with 0 in the place of those that stay where they are, which survive a change of length. */
rill_status build_reshape(const struct call *c, struct val *ret)
{
    uint32_t in[2], y;
    const struct dim *shape[RANK_MAX], *full[2 * RANK_MAX];
    int64_t start, count;
    unsigned n, m = 0;
    TRY(arg_wire(c, "input", &in[0]));
    TRY(arg_dims(c, "shape", shape, RANK_MAX, &n));
    TRY(arg_int(c, "axis_start", &start));
    TRY(arg_int(c, "axis_count", &count));
    const struct fact *f = wire_fact(c->s, in[0]);
    if (start < 0 || start > f->rank || count < -1 || count > f->rank - start)
        return call_fail(c, RILL_MALFORMED,
                         "'reshape': axis_start %lld and axis_count %lld do not fit rank %d",
                         (long long) start, (long long) count, f->rank);
    int end = count < 0 ? f->rank : (int) (start + count);
    for (int k = 0; k < start; k++)
        full[m++] = dim_int(c->b->dims, 0);
    for (unsigned k = 0; k < n; k++) {
        bool keep = dim_is(shape[k], 0) || ((int) m < f->rank && shape[k] == f->shape[m]);
        full[m] = keep && start + k < (unsigned) f->rank && m == start + k ? dim_int(c->b->dims, 0)
                                                                           : shape[k];
        m++;
    }
    for (int k = end; k < f->rank; k++, m++)
        full[m] = (int) m == k ? dim_int(c->b->dims, 0) : f->shape[k];
    if (m > RANK_MAX)
        return call_fail(c, RILL_LIMIT, "'reshape': rank %u, at most %d", m, RANK_MAX);
    TRY(const_sizes(c->b, c->s->g, full, m, &in[1]));
    return done(call_node(c, "Reshape", NULL, 0, in, 2, &y), &y, ret);
}

rill_status build_transpose(const struct call *c, struct val *ret)
{
    uint32_t x, y;
    int64_t axes[RANK_MAX];
    unsigned n;
    TRY(arg_wire(c, "input", &x));
    TRY(arg_ints(c, "axes", axes, RANK_MAX, &n));
    int rank = wire_fact(c->s, x)->rank;
    if ((int) n > rank)
        return call_fail(c, RILL_MALFORMED, "'transpose': %u axes of a tensor of rank %d", n, rank);
    while ((int) n < rank) { /* axes behind those listed stay */
        axes[n] = n;
        n++;
    }
    return done(call_node(c, "Transpose", &(struct attr) ATTR_L("perm", axes, n), 1, &x, 1, &y), &y,
                ret);
}

/* [.., S, ..] -> [T, .., size, ..] */
rill_status build_windows(const struct call *c, struct val *ret)
{
    uint32_t x, y;
    int64_t axis, hop, size, perm[RANK_MAX + 1];
    TRY(arg_wire(c, "x", &x));
    TRY(arg_int(c, "size", &size));
    TRY(arg_int(c, "hop", &hop));
    TRY(arg_int(c, "axis", &axis));
    const int rank = wire_fact(c->s, x)->rank, at = axis_normalise(axis, rank);
    if (at < 0 || rank >= RANK_MAX)
        return call_fail(c, RILL_MALFORMED, "'rill_windows': axis %lld of a tensor of rank %d",
                         (long long) axis, rank);
    for (int i = 0; i < rank; i++)
        perm[i] = i == rank - 1 ? at : i + (i >= at);
    TRY(call_node(c, "Transpose", &(struct attr) ATTR_L("perm", perm, (uint32_t) rank), 1, &x, 1,
                  &y));
    const struct attr list[] = { { .name = "size", .kind = ATTR_INT, .i = size },
                                 { .name = "hop", .kind = ATTR_INT, .i = hop } };
    TRY(call_node(c, "Frame", list, 2, &y, 1, &x));
    perm[0] = rank - 1;
    for (int i = 0; i < rank; i++)
        perm[1 + i] = i == at ? rank : i - (i > at);
    return done(call_node(c, "Transpose", &(struct attr) ATTR_L("perm", perm, (uint32_t) rank + 1),
                          1, &x, 1, &y),
                &y, ret);
}

rill_status build_concat(const struct call *c, struct val *ret)
{
    uint32_t *in, y;
    unsigned n;
    int64_t axis;
    TRY(arg_wires(c, "values", &in, &n));
    TRY(arg_int(c, "axis", &axis));
    if (n == 0)
        return call_fail(c, RILL_MALFORMED, "'concat' of no tensors");
    return done(call_node(c, "Concat", &(struct attr) ATTR_I("axis", axis), 1, in, n, &y), &y, ret);
}

rill_status build_stack(const struct call *c, struct val *ret)
{
    uint32_t *in, y, pair[2];
    unsigned n;
    int64_t axis;
    TRY(arg_wires(c, "values", &in, &n));
    TRY(arg_int(c, "axis", &axis));
    if (n == 0)
        return call_fail(c, RILL_MALFORMED, "'stack' of no tensors");
    for (unsigned i = 0; i < n; i++) {
        pair[0] = in[i];
        TRY(const_i64(c->b, c->s->g, &axis, 1, &pair[1]));
        TRY(call_node(c, "Unsqueeze", NULL, 0, pair, 2, &in[i]));
    }
    return done(call_node(c, "Concat", &(struct attr) ATTR_I("axis", axis), 1, in, n, &y), &y, ret);
}

/* Splits x into n parts of these sizes. */
static rill_status split_into(const struct call *c, uint32_t x, int64_t axis, const int64_t *sizes,
                              unsigned n, uint32_t *out)
{
    uint32_t in[2] = { x, 0 };
    struct attr a = ATTR_I("axis", axis);
    TRY(const_i64(c->b, c->s->g, sizes, n, &in[1]));
    return build_node(c->b, c->s, c->e->pos, "Split", &a, 1, in, 2, out, n);
}

static rill_status list_of_wires(const struct call *c, const uint32_t *w, unsigned n,
                                 struct val *ret)
{
    struct val *list = arena_array(c->b->arena, struct val, n + 1u);
    if (!list)
        return nnef_no_memory(c->b);
    for (unsigned i = 0; i < n; i++)
        list[i] = val_of_wire(w[i]);
    *ret = (struct val) { .kind = VAL_LIST, .n = n, .list = list };
    return RILL_OK;
}

/* Length of an axis that must be known. */
static rill_status axis_length(const struct call *c, uint32_t x, int64_t axis, int64_t *ret)
{
    const struct fact *f = wire_fact(c->s, x);
    int k = axis_normalise(axis, f->rank);
    if (k < 0 || !dim_is_const(f->shape[k]))
        return call_fail(c, RILL_UNSUPPORTED, "'%s': axis %lld %s", c->e->text, (long long) axis,
                         k < 0 ? "does not exist" : "has no fixed length");
    *ret = dim_value(f->shape[k]);
    return RILL_OK;
}

#define PARTS_MAX 64

rill_status build_split(const struct call *c, struct val *ret)
{
    uint32_t x, out[PARTS_MAX];
    int64_t axis, length, ratio[PARTS_MAX], sum = 0;
    unsigned n;
    TRY(arg_wire(c, "value", &x));
    TRY(arg_int(c, "axis", &axis));
    TRY(arg_ints(c, "ratios", ratio, PARTS_MAX, &n));
    TRY(axis_length(c, x, axis, &length));
    for (unsigned i = 0; i < n; i++) {
        if (ratio[i] <= 0 || ratio[i] > length)
            return call_fail(c, RILL_MALFORMED, "'split': ratio %lld of an axis of %lld",
                             (long long) ratio[i], (long long) length);
        sum += ratio[i];
    }
    if (n == 0 || length % sum != 0)
        return call_fail(c, RILL_MALFORMED,
                         "'split': ratios that add up to %lld do not divide an axis of %lld",
                         (long long) sum, (long long) length);
    for (unsigned i = 0; i < n; i++)
        ratio[i] *= length / sum;
    TRY(split_into(c, x, axis, ratio, n, out));
    return list_of_wires(c, out, n, ret);
}

rill_status build_unstack(const struct call *c, struct val *ret)
{
    uint32_t x, out[PARTS_MAX], in[2];
    int64_t axis, length, ones[PARTS_MAX];
    TRY(arg_wire(c, "value", &x));
    TRY(arg_int(c, "axis", &axis));
    TRY(axis_length(c, x, axis, &length));
    if (length < 1 || length > PARTS_MAX)
        return call_fail(c, RILL_LIMIT, "'unstack' into %lld parts, at most %d", (long long) length,
                         PARTS_MAX);
    for (int64_t i = 0; i < length; i++)
        ones[i] = 1;
    TRY(split_into(c, x, axis, ones, (unsigned) length, out));
    for (int64_t i = 0; i < length; i++) {
        in[0] = out[i];
        TRY(const_i64(c->b, c->s->g, &axis, 1, &in[1]));
        TRY(call_node(c, "Squeeze", NULL, 0, in, 2, &out[i]));
    }
    return list_of_wires(c, out, (unsigned) length, ret);
}

/* A list of sizes is cut as it is. */
static bool list_sliced(struct val v, const int64_t *axes, const int64_t *stride,
                        const struct dim *const *begin, const struct dim *const *end, unsigned n,
                        struct val *ret)
{
    if (v.kind != VAL_LIST || !v.n || v.list[0].kind == VAL_LIST || n != 1 || axes[0] ||
        stride[0] != 1 || !dim_is_const(begin[0]) || !dim_is_const(end[0]))
        return false;
    int64_t length = v.n, from = dim_value(begin[0]), to = dim_value(end[0]);
    from += from < 0 ? length : 0;
    to += to <= 0 ? length : 0; /* 0: to the end */
    if (from < 0 || from >= to || to > length)
        return false;
    *ret = (struct val) { .kind = VAL_LIST, .n = (uint32_t) (to - from), .list = v.list + from };
    return true;
}

/* A size that is known of a wire without axes; NULL: it is none. */
static const struct dim *size_known(const struct call *c, uint32_t w)
{
    struct val v = val_known(c->b, c->s, val_of_wire(w));
    return dim_of_val(c->b, v);
}

/* The first places of a Range that is surely that long are sizes. */
static bool range_sliced(const struct call *c, struct val v, const int64_t *stride,
                         const struct dim *const *begin, const struct dim *const *end, unsigned n,
                         struct val *ret)
{
    const uint32_t made = v.kind == VAL_WIRE ? c->s->g->wires[v.wire].node : WIRE_NONE;
    const struct node *range = made == WIRE_NONE ? NULL : &c->s->g->nodes[made];
    if (!range || !node_is(range, OP_RANGE) || n != 1 || stride[0] != 1 ||
        !dim_is_const(begin[0]) || !dim_is_const(end[0]))
        return false;
    const int64_t from = dim_value(begin[0]), to = dim_value(end[0]);
    const struct dim *start = size_known(c, range->in[0]), *step = size_known(c, range->in[2]);
    if (!start || !step || from < 0 || to <= from || to - from > RANK_MAX)
        return false;
    const struct dim *long_enough =
        dim_ge(c->b->dims, wire_fact(c->s, v.wire)->shape[0], dim_int(c->b->dims, to));
    struct val *list = arena_array(c->b->arena, struct val, RANK_MAX);
    if (!list || !long_enough || !dim_is(long_enough, 1))
        return false;
    for (int64_t i = from; i < to; i++)
        list[i - from] = val_of_dim(
            dim_add(c->b->dims, start, dim_mul(c->b->dims, step, dim_int(c->b->dims, i))));
    *ret = (struct val) { .kind = VAL_LIST, .n = (uint32_t) (to - from), .list = list };
    return true;
}

rill_status build_slice(const struct call *c, struct val *ret)
{
    uint32_t in[5], y;
    int64_t axes[RANK_MAX], stride[RANK_MAX];
    const struct dim *begin[RANK_MAX], *end[RANK_MAX];
    unsigned n, n_begin, n_end, n_stride;
    struct val input;
    TRY(arg_val(c, "input", &input));
    TRY(arg_ints(c, "axes", axes, RANK_MAX, &n));
    TRY(arg_dims(c, "begin", begin, RANK_MAX, &n_begin));
    TRY(arg_dims(c, "end", end, RANK_MAX, &n_end));
    TRY(arg_ints(c, "stride", stride, RANK_MAX, &n_stride));
    if (n_begin != n || n_end != n || (n_stride && n_stride != n))
        return call_fail(c, RILL_MALFORMED, "'slice': %u axes, %u begins, %u ends, %u strides", n,
                         n_begin, n_end, n_stride);
    for (unsigned i = n_stride; i < n; i++)
        stride[i] = 1;
    if (list_sliced(input, axes, stride, begin, end, n, ret) ||
        range_sliced(c, input, stride, begin, end, n, ret))
        return RILL_OK;
    TRY(val_to_wire(c->b, c->s, c->e->pos, input, DTYPE_F32, &in[0]));
    for (unsigned i = 0; i < n; i++)
        if (dim_is(end[i], 0))
            end[i] = dim_int(c->b->dims, stride[i] < 0 ? INT64_MIN + 1 : INT64_MAX);
    TRY(const_sizes(c->b, c->s->g, begin, n, &in[1]));
    TRY(const_sizes(c->b, c->s->g, end, n, &in[2]));
    TRY(const_i64(c->b, c->s->g, axes, n, &in[3]));
    TRY(const_i64(c->b, c->s->g, stride, n, &in[4]));
    return done(call_node(c, "Slice", NULL, 0, in, 5, &y), &y, ret);
}

/* A window of any rank becomes the op's vector; without one the sum is not divided. */
rill_status build_overlap_add(const struct call *c, struct val *ret)
{
    uint32_t in[2], shape[2], y;
    struct val window;
    const char *tail;
    int64_t hop, minus = -1;
    TRY(arg_wire(c, "x", &in[0]));
    TRY(arg_int(c, "hop", &hop));
    TRY(arg_text(c, "tail", &tail));
    TRY(arg_val(c, "window", &window));
    bool divides = window.kind != VAL_LIST || window.n > 0;
    if (divides) {
        TRY(arg_wire(c, "window", &shape[0]));
        TRY(const_i64(c->b, c->s->g, &minus, 1, &shape[1]));
        TRY(call_node(c, "Reshape", NULL, 0, shape, 2, &in[1]));
    }
    struct attr attrs[] = { ATTR_I("hop", hop), ATTR_S("tail", &tail),
                            ATTR_I("normalise", divides) };
    return done(call_node(c, "OverlapAdd", attrs, 3, in, divides ? 2 : 1, &y), &y, ret);
}

static const char *border_mode(const char *border)
{
    static const char *const names[][2] = {
        { "constant", "constant" },
        { "reflect", "reflect" },
        { "replicate", "edge" },
        { "replicated", "edge" }, /* as tract writes it */
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!strcmp(border, names[i][0]))
            return names[i][1];
    return NULL;
}

/* Up to n places of an axis, `from` and those after it in steps of -1. */
static rill_status places_turned(const struct call *c, uint32_t x, int64_t axis, int64_t from,
                                 int64_t n, uint32_t *ret)
{
    int64_t *at = arena_array(c->b->arena, int64_t, (size_t) n);
    uint32_t in[2] = { x, 0 };
    for (int64_t i = 0; at && i < n; i++)
        at[i] = from - i;
    if (!at)
        return nnef_no_memory(c->b);
    TRY(const_i64(c->b, c->s->g, at, (unsigned) n, &in[1]));
    return call_node(c, "Gather", &(struct attr) ATTR_I("axis", axis), 1, in, 2, ret);
}

/* The places of an axis mirrored at its ends, those at the very ends among them. */
static rill_status axis_mirrored(const struct call *c, int64_t axis, int64_t before, int64_t after,
                                 uint32_t *x)
{
    enum { PLACES_MAX = 1 << 16 }; /* each is an index */
    const struct dim *n = wire_fact(c->s, *x)->shape[axis];
    const int64_t least = before > after ? before : after;
    uint32_t in[3], joined = 0;
    if (before < 0 || after < 0 || least > PLACES_MAX || (dim_is_const(n) && dim_value(n) < least))
        return call_fail(c, RILL_UNSUPPORTED,
                         "'%s': border 'reflect-even' puts 0 to %d places around an axis of at "
                         "least as many, not %lld and %lld around axis %lld",
                         c->e->text, PLACES_MAX, (long long) before, (long long) after,
                         (long long) axis);
    if (before)
        TRY(places_turned(c, *x, axis, before - 1, before, &in[joined++]));
    in[joined++] = *x;
    if (after)
        TRY(places_turned(c, *x, axis, -1, after, &in[joined++]));
    return joined == 1
        ? RILL_OK
        : call_node(c, "Concat", &(struct attr) ATTR_I("axis", axis), 1, in, joined, x);
}

rill_status build_border(const struct call *c, const char *border, const int64_t *pads,
                         uint32_t value, uint32_t *x)
{
    const int rank = wire_fact(c->s, *x)->rank;
    const char *mode = border_mode(border);
    uint32_t in[3] = { *x, 0, value };
    if (mode) {
        TRY(const_i64(c->b, c->s->g, pads, 2 * (unsigned) rank, &in[1]));
        return call_node(c, "Pad", &(struct attr) ATTR_S("mode", &mode), 1, in, 3, x);
    }
    for (int a = 0; a < rank; a++)
        TRY(axis_mirrored(c, a, pads[a], pads[rank + a], x));
    return RILL_OK;
}

bool border_known(const char *border)
{
    return border_mode(border) || !strcmp(border, "reflect-even");
}

rill_status build_pad(const struct call *c, struct val *ret)
{
    struct val list;
    const char *border;
    uint32_t x, value;
    int64_t pads[2 * RANK_MAX];
    TRY(arg_wire(c, "input", &x));
    TRY(arg_val(c, "padding", &list));
    TRY(arg_text(c, "border", &border));
    if (!border_known(border))
        return call_fail(
            c, RILL_UNSUPPORTED,
            "'%s': border '%.30s', supported: constant, reflect, reflect-even, replicate",
            c->e->text, border);
    unsigned n = list.kind == VAL_LIST && list.n <= RANK_MAX ? list.n : 0;
    for (unsigned i = 0; i < n; i++) {
        struct val p = list.list[i];
        if (p.kind != VAL_LIST || p.n != 2 || p.list[0].kind != VAL_INT ||
            p.list[1].kind != VAL_INT)
            return call_fail(c, RILL_MALFORMED,
                             "'pad': padding %u is not a pair (before, after) of integers", i);
        pads[i] = p.list[0].i;
        pads[n + i] = p.list[1].i;
    }
    if ((int) n != wire_fact(c->s, x)->rank)
        return call_fail(c, RILL_MALFORMED, "'pad': padding needs a pair for each of %d axes",
                         wire_fact(c->s, x)->rank);
    TRY(arg_wire(c, "value", &value));
    return done(build_border(c, border, pads, value, &x), &x, ret);
}

rill_status build_shape_of(const struct call *c, struct val *ret)
{
    uint32_t x;
    TRY(arg_wire(c, c->sig->params[0].name, &x));
    const struct fact *f = wire_fact(c->s, x);
    struct val *list = arena_array(c->b->arena, struct val, RANK_MAX);
    if (!list)
        return nnef_no_memory(c->b);
    for (int i = 0; i < f->rank; i++)
        list[i] = val_of_dim(f->shape[i]);
    *ret = (struct val) { .kind = VAL_LIST, .n = (uint32_t) f->rank, .list = list };
    return RILL_OK;
}

rill_status build_length_of(const struct call *c, struct val *ret)
{
    struct val v;
    TRY(arg_val(c, "value", &v));
    if (v.kind != VAL_LIST)
        return call_fail(c, RILL_MALFORMED, "'length_of' %s, expected a list", val_kind_name(v));
    *ret = (struct val) { .kind = VAL_INT, .i = v.n };
    return RILL_OK;
}
