/* SPDX-License-Identifier: MIT */
/* Numbers of 16 bits around 0. Products are made of their halves, each by ByteConv, and joined;
 * functions of one of them are looked up. */
#include "engine/ops/byte.h"
#include "engine/ops/ops.h"

/* ---- ByteHalf: x is 256 * upper (i8) + lower (u8) ---- */

struct byte_half_attr {
    int64_t upper;
};

static const struct attr_spec byte_half_attrs[] = {
    { .name = "upper", .kind = ATTR_INT, .offset = offsetof(struct byte_half_attr, upper) },
    { 0 },
};

static rill_status byte_half_infer(struct infer *c)
{
    const struct byte_half_attr *a = c->attr;
    TRY(elem_check_type(c, 0, TYPE_I16));
    infer_shape(c, 0, a->upper ? DTYPE_I8 : DTYPE_U8, c->in[0]->rank, c->in[0]->shape);
    return RILL_OK;
}

static void byte_half_eval(const struct eval *e)
{
    const int by = ((const struct byte_half_attr *) e->attr)->upper ? 8 : 0;
    const uint16_t *restrict x = e->x[0];
    uint8_t *restrict y = e->y[0];
    for (int64_t i = 0, n = tensor_count(e->in[0]); i < n; i++)
        y[i] = (uint8_t) (x[i] >> by);
}

/* ---- ByteJoin: (256 * upper + lower + bias) by a factor for each index of the last axis ---- */

enum { IN_UPPER, IN_LOWER, IN_MULTIPLIER, IN_SHIFT, IN_BIAS };

struct byte_join_attr {
    int64_t wide; /* sums have 64 bits instead of 32, and multipliers 16 instead of 31 */
    int64_t once; /* rounded once, by 31 bits */
    struct byte_range y;
};

static const struct attr_spec byte_join_attrs[] = {
    { .name = "wide", .kind = ATTR_INT, .offset = offsetof(struct byte_join_attr, wide) },
    { .name = "once", .kind = ATTR_INT, .offset = offsetof(struct byte_join_attr, once) },
    BYTE_RANGE_SPECS(struct byte_join_attr, y),
    { 0 },
};

#define WIDE_SHIFT_MAX 14

static rill_status join_list_check(struct infer *c, unsigned i, unsigned types)
{
    const struct fact *x = c->in[IN_UPPER], *f = c->in[i];
    TRY(elem_check_type(c, i, types));
    if (!f->value || f->rank != 1 ||
        !(f->shape[0] == x->shape[x->rank - 1] || (i < IN_BIAS && dim_is(f->shape[0], 1))))
        return infer_fail(c, "input %u is no constant list with a number for each output", i);
    return RILL_OK;
}

static rill_status byte_join_infer(struct infer *c)
{
    const struct byte_join_attr *a = c->attr;
    const struct fact *x = c->in[IN_UPPER], *w = c->in[IN_LOWER];
    enum dtype to;
    TRY(elem_check_type(c, IN_UPPER, TYPE_I32));
    TRY(elem_check_type(c, IN_LOWER, TYPE_I32));
    if (x->rank < 1 || x->rank != w->rank)
        return infer_fail(c, "sums of rank %d and %d", x->rank, w->rank);
    for (int i = 0; i < x->rank; i++)
        if (x->shape[i] != w->shape[i])
            return infer_fail(c, "sums that differ along axis %d", i);
    for (unsigned i = IN_MULTIPLIER; i <= IN_SHIFT; i++)
        TRY(join_list_check(c, i, TYPE_I32));
    const struct tensor *t = c->in[IN_SHIFT]->value;
    for (int64_t k = 0; k < tensor_count(t); k++) {
        const int32_t s = ((const int32_t *) t->data)[k],
                      most = a->wide && !a->once ? WIDE_SHIFT_MAX : 30;
        if (s < -31 || s > most)
            return infer_fail(c, "a shift of %d, wants -31 to %d", s, most);
    }
    if (infer_has(c, IN_BIAS))
        TRY(join_list_check(c, IN_BIAS, a->wide ? TYPE_I64 : TYPE_I32));
    TRY(whole_range_check(c, &a->y, TYPE_I16, &to));
    infer_shape(c, 0, to, x->rank, x->shape);
    return RILL_OK;
}

/* Of each output. */
struct join_args {
    const int64_t *bias;
    const int32_t *multiplier, *shift;
};

static int64_t join_at(const struct tensor *t, int64_t i)
{
    return t ? tensor_get_i64(t, t->data, tensor_count(t) > 1 ? i : 0) : 0;
}

static rill_status byte_join_prepare(struct prep *c)
{
    const struct tensor *x = c->in[IN_UPPER];
    const int64_t n = x->dim[x->rank - 1];
    struct join_args *s = arena_new(c->arena, struct join_args);
    int64_t *bias = arena_array(c->arena, int64_t, (size_t) n);
    int32_t *multiplier = arena_array(c->arena, int32_t, (size_t) n),
            *shift = arena_array(c->arena, int32_t, (size_t) n);
    if (!s || !bias || !multiplier || !shift)
        return op_fail(c->err, RILL_NOMEM, c->node, "out of memory");
    for (int64_t i = 0; i < n; i++) {
        bias[i] = join_at(c->n_in > IN_BIAS ? c->in[IN_BIAS] : NULL, i);
        multiplier[i] = (int32_t) join_at(c->in[IN_MULTIPLIER], i);
        shift[i] = (int32_t) join_at(c->in[IN_SHIFT], i);
    }
    *s = (struct join_args) { bias, multiplier, shift };
    c->args = s;
    return RILL_OK;
}

static int32_t joined(const struct eval *e, int32_t upper, int32_t lower, int64_t i)
{
    const struct byte_join_attr *a = e->attr;
    const struct join_args *s = e->args;
    const uint64_t sum = (uint64_t) upper * 256 + (uint64_t) lower + (uint64_t) s->bias[i];
    const int64_t v = a->wide ? (int64_t) sum : (int32_t) (uint32_t) sum;
    if (a->once)
        return fixed_scale_once_wide(v, s->multiplier[i], s->shift[i]);
    return a->wide ? fixed_scale_wide(v, s->multiplier[i], s->shift[i])
                   : fixed_scale((int32_t) v, s->multiplier[i], s->shift[i]);
}

static void byte_join_eval(const struct eval *e)
{
    const struct byte_join_attr *a = e->attr;
    const struct tensor *x = e->in[IN_UPPER];
    const int32_t *upper = e->x[IN_UPPER], *lower = e->x[IN_LOWER];
    const int64_t n = x->dim[x->rank - 1], all = tensor_count(x);
    int16_t *y = e->y[0];
    for (int64_t at = 0; at < all; at += n)
        for (int64_t i = 0; i < n; i++)
            y[at + i] = (int16_t) fixed_clip(joined(e, upper[at + i], lower[at + i], i),
                                             (int32_t) a->y.low, (int32_t) a->y.high);
}

/* ---- ShortTable: what becomes of each of 65536 numbers, from the least up ---- */

#define SHORTS ((int64_t) 1 << 16)

static rill_status short_table_infer(struct infer *c)
{
    TRY(elem_check_type(c, 0, TYPE_I16));
    TRY(elem_check_type(c, 1, TYPE_I16));
    if (c->in[1]->rank != 1 || !dim_is(c->in[1]->shape[0], SHORTS))
        return infer_fail(c, "input 1 is no table of %lld", (long long) SHORTS);
    infer_shape(c, 0, DTYPE_I16, c->in[0]->rank, c->in[0]->shape);
    return RILL_OK;
}

static void short_table_eval(const struct eval *e)
{
    const int16_t *x = e->x[0], *middle = (const int16_t *) e->x[1] + SHORTS / 2;
    int16_t *y = e->y[0];
    for (int64_t i = 0, n = tensor_count(e->in[0]); i < n; i++)
        y[i] = middle[x[i]];
}

/* ---- ShortSoftmax: along the last axis, in steps of 1/32768 ---- */

enum { IN_EXP = 1, IN_INVERSE };

/* Tables over -32768..32767, of which number i of 513 is the one at (i - 256) * 128. */
#define CURVE_POINTS 513

struct short_softmax_attr {
    struct fixed_factor by; /* from differences to steps of the table of exponentials */
};

static const struct attr_spec short_softmax_attrs[] = {
    { .name = "multiplier",
      .kind = ATTR_INT,
      .offset = offsetof(struct short_softmax_attr, by.multiplier) },
    { .name = "shift", .kind = ATTR_INT, .offset = offsetof(struct short_softmax_attr, by.shift) },
    { 0 },
};

static rill_status short_softmax_infer(struct infer *c)
{
    const struct short_softmax_attr *a = c->attr;
    for (unsigned i = 0; i <= IN_INVERSE; i++)
        TRY(elem_check_type(c, i, TYPE_I16));
    for (unsigned i = IN_EXP; i <= IN_INVERSE; i++)
        if (c->in[i]->rank != 1 || !dim_is(c->in[i]->shape[0], CURVE_POINTS))
            return infer_fail(c, "input %u is no table of %d", i, CURVE_POINTS);
    if (c->in[0]->rank < 1)
        return infer_fail(c, "wants rank 1 or more");
    TRY(fixed_factor_check(c, &a->by));
    infer_shape(c, 0, DTYPE_I16, c->in[0]->rank, c->in[0]->shape);
    return RILL_OK;
}

static int32_t curve_at(const int16_t *curve, int32_t x)
{
    const int32_t v = fixed_clip(x, INT16_MIN, INT16_MAX), i = 256 + (v >> 7);
    return curve[i] + (((curve[i + 1] - curve[i]) * (v & 127) + 64) >> 7);
}

static int32_t exp_at(const struct eval *e, int32_t difference)
{
    const struct short_softmax_attr *a = e->attr;
    const int32_t v = fixed_scale(difference, (int32_t) a->by.multiplier, (int) a->by.shift);
    return curve_at(e->x[IN_EXP], fixed_clip(v, -UINT16_MAX, 0) + INT16_MAX);
}

static void short_row_eval(const struct eval *e, const int16_t *x, int16_t *y, int64_t n)
{
    int32_t most = INT16_MIN;
    uint32_t sum = 0;
    for (int64_t i = 0; i < n; i++)
        most = x[i] > most ? x[i] : most;
    for (int64_t i = 0; i < n; i++)
        sum += (uint32_t) exp_at(e, x[i] - most);
    const int free = sum ? __builtin_clz(sum) : 31, by = 31 - free;
    const int32_t part = (int32_t) ((((int64_t) sum << (free ? free - 1 : 0)) + (1 << 13)) >> 14),
                  inverse = curve_at(e->x[IN_INVERSE], part - (1 << 15) - (1 << 16));
    const int64_t half = ((int64_t) 1 << by) >> 1;
    for (int64_t i = 0; i < n; i++) {
        const int64_t v = ((int64_t) exp_at(e, x[i] - most) * inverse + half) >> by;
        y[i] = (int16_t) (v < 0 ? 0 : v < INT16_MAX ? v : INT16_MAX);
    }
}

static void short_softmax_eval(const struct eval *e)
{
    const struct tensor *x = e->in[0];
    const int64_t n = x->dim[x->rank - 1], all = tensor_count(x);
    for (int64_t at = 0; at < all; at += n)
        short_row_eval(e, (const int16_t *) e->x[0] + at, (int16_t *) e->y[0] + at, n);
}

/* ---- rows ---- */

static const struct op op_byte_half = {
    .id = OP_BYTE_HALF,
    .name = "ByteHalf",
    .attrs = byte_half_attrs,
    .attr_bytes = sizeof(struct byte_half_attr),
    .min_in = 1,
    .max_in = 1,
    .min_out = 1,
    .max_out = 1,
    .flags = OP_POINTWISE,
    .infer = byte_half_infer,
    .eval = byte_half_eval,
    .help = "the upper byte of 16-bit numbers, as i8, or the lower one, as u8",
};

static const struct op op_byte_join = {
    .id = OP_BYTE_JOIN,
    .name = "ByteJoin",
    .attrs = byte_join_attrs,
    .attr_bytes = sizeof(struct byte_join_attr),
    .min_in = 4,
    .max_in = 5,
    .min_out = 1,
    .max_out = 1,
    .infer = byte_join_infer,
    .prepare = byte_join_prepare,
    .eval = byte_join_eval,
    .help = "256 * upper + lower + bias, by a fixed-point factor for each output, as i16",
};

static const struct op op_short_table = {
    .id = OP_SHORT_TABLE,
    .name = "ShortTable",
    .min_in = 2,
    .max_in = 2,
    .min_out = 1,
    .max_out = 1,
    .infer = short_table_infer,
    .eval = short_table_eval,
    .help = "for each i16 the one that a table of 65536 has for it",
};

static const struct op op_short_softmax = {
    .id = OP_SHORT_SOFTMAX,
    .name = "ShortSoftmax",
    .attrs = short_softmax_attrs,
    .attr_bytes = sizeof(struct short_softmax_attr),
    .min_in = 3,
    .max_in = 3,
    .min_out = 1,
    .max_out = 1,
    .infer = short_softmax_infer,
    .eval = short_softmax_eval,
    .help = "softmax of i16 along the last axis in fixed point, in steps of 1/32768",
};

const struct op *const ops_shorts[] = { &op_byte_half, &op_byte_join, &op_short_table,
                                        &op_short_softmax, NULL };
