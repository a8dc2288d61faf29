/* SPDX-License-Identifier: MIT */
/* Bytes, and i16 around 0, by their elements: scaled by fixed-point factors (fixed.h), looked up in
 * a table, or made of floats with a scale for each row. A byte stands for (byte - zero) * scale;
 * the scales are in the factors. */
#include "engine/ops/byte.h"
#include "engine/ops/ops.h"
#include "kernels/bytes.h"

#include <math.h>
#include <string.h>

/* ---- what ops on bytes check ---- */

struct whole_limits {
    int64_t low, high;
};

static struct whole_limits limits_of(enum dtype t)
{
    switch (t) {
    case DTYPE_I8: return (struct whole_limits) { INT8_MIN, INT8_MAX };
    case DTYPE_U8: return (struct whole_limits) { 0, UINT8_MAX };
    case DTYPE_I16: return (struct whole_limits) { INT16_MIN, INT16_MAX };
    default: return (struct whole_limits) { INT32_MIN, INT32_MAX };
    }
}

rill_status byte_zero_check(struct infer *c, enum dtype t, int64_t zero)
{
    const struct whole_limits all = limits_of(t);
    if (zero < all.low || zero > all.high || (t == DTYPE_I16 && zero))
        return infer_fail(c, "a zero of %lld, which %s does not hold", (long long) zero,
                          dtype_name(t));
    return RILL_OK;
}

rill_status whole_range_check(struct infer *c, const struct byte_range *r, unsigned types,
                              enum dtype *ret)
{
    *ret = r->to ? (enum dtype) r->to : c->in[0]->type;
    if (!types_hold(types, r->to ? r->to : (int64_t) c->in[0]->type))
        return infer_fail(c, "its output would be no i8 or u8");
    const struct whole_limits all = limits_of(*ret);
    if (r->low < all.low || r->high > all.high || r->low > r->high)
        return infer_fail(c, "a range of %lld to %lld, wants one within %lld to %lld",
                          (long long) r->low, (long long) r->high, (long long) all.low,
                          (long long) all.high);
    return byte_zero_check(c, *ret, r->zero);
}

rill_status byte_range_check(struct infer *c, const struct byte_range *r, enum dtype *ret)
{
    return whole_range_check(c, r, TYPES_BYTE, ret);
}

rill_status fixed_factor_check(struct infer *c, const struct fixed_factor *f)
{
    if (f->multiplier < INT32_MIN || f->multiplier > INT32_MAX || f->shift < -31 || f->shift > 30)
        return infer_fail(c, "a factor of %lld * 2^%lld; wants 32 bits and a shift of -31 to 30",
                          (long long) f->multiplier, (long long) f->shift);
    return RILL_OK;
}

rill_status byte_window_count(struct infer *c, const struct dim *n, int64_t pads, int64_t reach,
                              int64_t stride, const struct dim **ret)
{
    const struct dim *room = dim_add_int(c->dims, n, pads - reach);
    if (dim_is_const(room) && dim_value(room) < 0)
        return infer_fail(c, "a window of %lld does not fit %lld", (long long) reach,
                          (long long) (dim_value(room) + reach));
    if (!dim_is_const(room))
        TRY(dims_assume(c->dims, room, c->err));
    *ret = dim_add_int(c->dims, dim_div_int(c->dims, room, stride), 1);
    return RILL_OK;
}

static int32_t factor_apply(int32_t x, struct fixed_factor f)
{
    return fixed_scale(x, (int32_t) f.multiplier, (int) f.shift);
}

static int32_t range_cut(int32_t v, const struct byte_range *r)
{
    int32_t moved = (int32_t) ((uint32_t) v + (uint32_t) r->zero);
    return fixed_clip(moved, (int32_t) r->low, (int32_t) r->high);
}

#define FACTOR_SPECS(type, member, prefix)                                                         \
    { .name = prefix "multiplier",                                                                 \
      .kind = ATTR_INT,                                                                            \
      .offset = offsetof(type, member.multiplier) },                                               \
    {                                                                                              \
        .name = prefix "shift", .kind = ATTR_INT, .offset = offsetof(type, member.shift)           \
    }

/* ---- Requantize: (x - x_zero) * factor + zero ---- */

struct requantize_attr {
    int64_t x_zero;
    struct fixed_factor by;
    struct byte_range y;
};

static const struct attr_spec requantize_attrs[] = {
    { .name = "x_zero", .kind = ATTR_INT, .offset = offsetof(struct requantize_attr, x_zero) },
    FACTOR_SPECS(struct requantize_attr, by, ""),
    BYTE_RANGE_SPECS(struct requantize_attr, y),
    { 0 },
};

static rill_status requantize_infer(struct infer *c)
{
    const struct requantize_attr *a = c->attr;
    enum dtype to;
    TRY(elem_check_type(c, 0, TYPES_BYTE | TYPE_I16 | TYPE_I32));
    TRY(byte_zero_check(c, c->in[0]->type, a->x_zero));
    TRY(fixed_factor_check(c, &a->by));
    TRY(whole_range_check(c, &a->y, TYPES_BYTE | TYPE_I16 | TYPE_I32, &to));
    infer_shape(c, 0, to, c->in[0]->rank, c->in[0]->shape);
    return RILL_OK;
}

static void requantize_eval(const struct eval *e)
{
    const struct requantize_attr *a = e->attr;
    for (int64_t i = 0, n = tensor_count(e->in[0]); i < n; i++) {
        uint32_t x = (uint32_t) tensor_get_i64(e->in[0], e->x[0], i) - (uint32_t) a->x_zero;
        int32_t v = range_cut(factor_apply((int32_t) x, a->by), &a->y);
        if (e->out[0]->type == DTYPE_I32)
            ((int32_t *) e->y[0])[i] = v;
        else
            whole_put(e->out[0]->type, e->y[0], i, v);
    }
}

/* ---- ByteAdd, ByteMul: two operands that broadcast ---- */

struct byte_add_attr {
    int64_t a_zero, b_zero;
    struct fixed_factor by; /* of the sum, or the product */
    struct byte_range y;
    struct fixed_factor a, b;
    int64_t up;    /* both are shifted left so far first */
    int64_t minus; /* the second is taken off */
};

#define MUL_SPECS(type)                                                                            \
    { .name = "a_zero", .kind = ATTR_INT, .offset = offsetof(type, a_zero) },                      \
        { .name = "b_zero", .kind = ATTR_INT, .offset = offsetof(type, b_zero) },                  \
        FACTOR_SPECS(type, by, ""), BYTE_RANGE_SPECS(type, y)

static const struct attr_spec byte_mul_attrs[] = { MUL_SPECS(struct byte_add_attr), { 0 } };

static const struct attr_spec byte_add_attrs[] = {
    MUL_SPECS(struct byte_add_attr),
    FACTOR_SPECS(struct byte_add_attr, a, "a_"),
    FACTOR_SPECS(struct byte_add_attr, b, "b_"),
    { .name = "up", .kind = ATTR_INT, .offset = offsetof(struct byte_add_attr, up) },
    { .name = "minus", .kind = ATTR_INT, .offset = offsetof(struct byte_add_attr, minus) },
    { 0 },
};

static rill_status byte_binary_infer(struct infer *c)
{
    const struct byte_add_attr *a = c->attr;
    enum dtype to;
    for (unsigned i = 0; i < 2; i++) {
        TRY(elem_check_type(c, i, TYPES_BYTE | TYPE_I16));
        TRY(byte_zero_check(c, c->in[i]->type, i ? a->b_zero : a->a_zero));
    }
    TRY(fixed_factor_check(c, &a->by));
    TRY(whole_range_check(c, &a->y, TYPES_BYTE | TYPE_I16, &to));
    return infer_broadcast(c, 0, to, 0, 1);
}

static rill_status byte_add_infer(struct infer *c)
{
    const struct byte_add_attr *a = c->attr;
    TRY(fixed_factor_check(c, &a->a));
    TRY(fixed_factor_check(c, &a->b));
    if (a->up < 0 || a->up > 22)
        return infer_fail(c, "up=%lld; wants 0 to 22", (long long) a->up);
    return byte_binary_infer(c);
}

static rill_status byte_binary_prepare(struct prep *c)
{
    struct elem_loop *l = arena_new(c->arena, struct elem_loop);
    if (!l)
        return op_fail(c->err, RILL_NOMEM, c->node, "out of memory");
    elem_loop_make(l, c->out[0], c->in, 2);
    c->args = l;
    return RILL_OK;
}

static int32_t byte_sum(const struct byte_add_attr *a, int32_t x, int32_t y)
{
    uint32_t p = (uint32_t) factor_apply(fixed_shift_up(x, (int) a->up), a->a),
             q = (uint32_t) factor_apply(fixed_shift_up(y, (int) a->up), a->b);
    return (int32_t) (a->minus ? p - q : p + q);
}

static void byte_binary(const struct eval *e, bool adds)
{
    const struct byte_add_attr *a = e->attr;
    const struct elem_loop *l = e->args;
    enum dtype ta = e->in[0]->type, tb = e->in[1]->type, ty = e->out[0]->type;
    size_t row = l->n[l->rank - 1], n = (size_t) tensor_count(e->out[0]);
    for (size_t at = 0; at < n; at += row) {
        int64_t p = (int64_t) elem_offset(l, 0, at), q = (int64_t) elem_offset(l, 1, at);
        for (size_t i = 0; i < row; i++) {
            int32_t x = whole_at(ta, e->x[0], p + (int64_t) (i * l->step[0][l->rank - 1])) -
                (int32_t) a->a_zero;
            int32_t y = whole_at(tb, e->x[1], q + (int64_t) (i * l->step[1][l->rank - 1])) -
                (int32_t) a->b_zero;
            int32_t v = factor_apply(adds ? byte_sum(a, x, y) : x * y, a->by);
            whole_put(ty, e->y[0], (int64_t) (at + i), range_cut(v, &a->y));
        }
    }
}

static void byte_add_eval(const struct eval *e)
{
    byte_binary(e, true);
}

static void byte_mul_eval(const struct eval *e)
{
    byte_binary(e, false);
}

/* ---- ByteTable: for each byte what it becomes ---- */

static const struct attr_spec byte_table_attrs[] = {
    { .name = "table",
      .kind = ATTR_INTS,
      .offset = offsetof(struct byte_table_attr, table),
      .required = true },
    { .name = "to", .kind = ATTR_INT, .offset = offsetof(struct byte_table_attr, to) },
    { 0 },
};

static rill_status byte_table_infer(struct infer *c)
{
    const struct byte_table_attr *a = c->attr;
    const struct byte_range all = { .to = a->to };
    enum dtype to;
    TRY(elem_check_type(c, 0, TYPES_BYTE));
    TRY(byte_range_check(c, &all, &to));
    if (a->table.n != 256)
        return infer_fail(c, "a table of %u, wants 256", a->table.n);
    for (unsigned i = 0; i < 256; i++)
        TRY(byte_zero_check(c, to, a->table.v[i]));
    infer_shape(c, 0, to, c->in[0]->rank, c->in[0]->shape);
    return RILL_OK;
}

struct byte_table_args {
    uint8_t table[256];
    struct kern_map_line line;
    bool is_line;
};

static rill_status byte_table_prepare(struct prep *c)
{
    const struct byte_table_attr *a = c->attr;
    struct byte_table_args *t = arena_new(c->arena, struct byte_table_args);
    if (!t)
        return op_fail(c->err, RILL_NOMEM, c->node, "out of memory");
    for (unsigned i = 0; i < 256; i++)
        t->table[i] = (uint8_t) a->table.v[i];
    t->is_line = kern_map_line_of(&t->line, t->table);
    c->kernel = "map_bytes";
    c->kern_uses |= KERN_USES_BYTES;
    c->args = t;
    return RILL_OK;
}

static void byte_table_eval(const struct eval *e)
{
    const struct byte_table_args *t = e->args;
    e->kern->map_bytes(e->y[0], e->x[0], (size_t) tensor_count(e->in[0]), t->table,
                       t->is_line ? &t->line : NULL);
}

/* ---- ByteTables: the same, each channel by a table of its own, [channels, 256] ---- */

static const struct attr_spec byte_tables_attrs[] = {
    { .name = "axis",
      .kind = ATTR_INT,
      .offset = offsetof(struct byte_tables_attr, axis),
      .required = true },
    { 0 },
};

static rill_status byte_tables_infer(struct infer *c)
{
    const struct byte_tables_attr *a = c->attr;
    const struct fact *x = c->in[0], *t = c->in[1];
    TRY(elem_check_type(c, 0, TYPES_BYTE));
    TRY(elem_check_type(c, 1, TYPES_BYTE));
    if (a->axis < 0 || a->axis >= x->rank)
        return infer_fail(c, "axis=%lld of rank %d", (long long) a->axis, x->rank);
    if (t->rank != 2 || t->shape[0] != x->shape[a->axis] || t->shape[1] != dim_int(c->dims, 256))
        return infer_fail(c, "wants tables of 256, one for each place of axis %lld",
                          (long long) a->axis);
    infer_shape(c, 0, t->type, x->rank, x->shape);
    return RILL_OK;
}

static rill_status byte_tables_prepare(struct prep *c)
{
    c->kernel = "map_bytes";
    c->kern_uses |= KERN_USES_BYTES;
    return RILL_OK;
}

/* One byte of each channel, some rows. */
static void rows_map(uint8_t *restrict y, const uint8_t *restrict x, const uint8_t *restrict tables,
                     int64_t rows, int64_t channels)
{
    for (int64_t r = 0; r < rows; r++, x += channels, y += channels) {
        const uint8_t *t = tables;
        int64_t k = 0;
        for (; k + 4 <= channels; k += 4, t += 4 * 256) {
            const uint8_t a = t[x[k]], b = t[256 + x[k + 1]], c = t[512 + x[k + 2]],
                          d = t[768 + x[k + 3]];
            y[k] = a;
            y[k + 1] = b;
            y[k + 2] = c;
            y[k + 3] = d;
        }
        for (; k < channels; k++, t += 256)
            y[k] = t[x[k]];
    }
}

/* One channel; a little less than what the kernel maps together goes there through a copy. */
static void plane_map(const struct kern *kern, uint8_t *y, const uint8_t *x, size_t n,
                      const uint8_t *table)
{
    uint8_t all[64] = { 0 };
    if (n >= sizeof all || n < 40) {
        kern->map_bytes(y, x, n, table, NULL);
        return;
    }
    memcpy(all, x, n);
    kern->map_bytes(all, all, sizeof all, table, NULL);
    memcpy(y, all, n);
}

static void byte_tables_eval(const struct eval *e)
{
    const struct byte_tables_attr *a = e->attr;
    const int64_t channels = e->in[1]->dim[0];
    const uint8_t *x = e->x[0], *tables = e->x[1];
    uint8_t *y = e->y[0];
    int64_t places = 1;
    for (int i = (int) a->axis + 1; i < e->in[0]->rank; i++)
        places *= e->in[0]->dim[i];
    const int64_t rows = places && channels ? tensor_count(e->in[0]) / (places * channels) : 0;
    if (places == 1)
        rows_map(y, x, tables, rows, channels);
    for (int64_t i = 0; places > 1 && i < rows * channels; i++)
        plane_map(e->kern, y + i * places, x + i * places, (size_t) places,
                  tables + i % channels * 256);
}

/* ---- ByteOf: floats as bytes of one scale ---- */

struct byte_of_attr {
    float scale;
    struct byte_range y;
};

static const struct attr_spec byte_of_attrs[] = {
    { .name = "scale",
      .kind = ATTR_FLOAT,
      .offset = offsetof(struct byte_of_attr, scale),
      .required = true },
    BYTE_RANGE_SPECS(struct byte_of_attr, y),
    { 0 },
};

static rill_status byte_of_infer(struct infer *c)
{
    const struct byte_of_attr *a = c->attr;
    enum dtype to;
    TRY(elem_check_type(c, 0, TYPE_F32));
    TRY(whole_range_check(c, &a->y, TYPES_BYTE | TYPE_I16, &to));
    if (!(a->scale > 0) || !isfinite(a->scale))
        return infer_fail(c, "scale=%g; wants a number above 0", (double) a->scale);
    infer_shape(c, 0, to, c->in[0]->rank, c->in[0]->shape);
    return RILL_OK;
}

static void byte_of_eval(const struct eval *e)
{
    const struct byte_of_attr *a = e->attr;
    const float *restrict x = e->x[0];
    uint8_t *restrict y = e->y[0];
    const int32_t zero = (int32_t) a->y.zero;
    const float scale = a->scale, low = (float) (a->y.low - zero),
                high = (float) (a->y.high - zero);
    const int64_t n = tensor_count(e->in[0]);
    if (e->out[0]->type == DTYPE_I16)
        for (int64_t i = 0; i < n; i++)
            ((int16_t *) e->y[0])[i] = (int16_t) byte_round(x[i] / scale, low, high);
    else
        for (int64_t i = 0; i < n; i++)
            y[i] = (uint8_t) (byte_round(x[i] / scale, low, high) + zero);
}

/* ---- ByteRows: floats as i8, each row with a scale of its own ---- */

struct byte_rows_attr {
    int64_t shifted; /* the range of a row fills all bytes, around a zero of its own */
};

static const struct attr_spec byte_rows_attrs[] = {
    { .name = "shifted", .kind = ATTR_INT, .offset = offsetof(struct byte_rows_attr, shifted) },
    { 0 },
};

static rill_status byte_rows_infer(struct infer *c)
{
    const struct byte_rows_attr *a = c->attr;
    TRY(elem_check_type(c, 0, TYPE_F32));
    if (c->in[0]->rank < 1)
        return infer_fail(c, "wants rows: an input of rank 1 or more");
    if (c->n_out != (a->shifted ? 3 : 2))
        return infer_fail(c, "has %u outputs; wants bytes and scales, and zeros where shifted",
                          c->n_out);
    infer_shape(c, 0, DTYPE_I8, c->in[0]->rank, c->in[0]->shape);
    infer_shape(c, 1, DTYPE_F32, 1, c->in[0]->shape);
    if (a->shifted)
        infer_shape(c, 2, DTYPE_I32, 1, c->in[0]->shape);
    return RILL_OK;
}

struct row_form {
    float scale; /* a step of the bytes */
    int32_t zero;
    struct kern_away to; /* by: its inverse; 0: all of the row is 0 */
};

/* Around 0: the largest is 127. */
static struct row_form form_centred(const float range[2])
{
    float most = -range[0] > range[1] ? -range[0] : range[1];
    return most > 0 ? (struct row_form) { most / 127, 0, { 127 / most, 0, -127 } }
                    : (struct row_form) { 1, 0, { 0, 0, -127 } };
}

/* Of both ends the one that is nearer to 0 says where the zero is; endless ones have it at the end.
 */
static struct row_form form_shifted(const float range[2])
{
    const double low = range[0] < 0 ? (double) range[0] : 0,
                 high = range[1] > 0 ? (double) range[1] : 0, scale = (high - low) / 255;
    if (!(high > low))
        return (struct row_form) { 1, 0, { 0, 0, -128 } };
    const double from_low = -128 - low / scale, from_high = 127 - high / scale;
    const double zero = 128 - low / scale < 127 + high / scale ? from_low : from_high;
    const float step = (float) scale, at = (float) fmin(fmax(round(zero), -128), 127);
    return (struct row_form) { step, (int32_t) at, { 1 / step, at, -128 } };
}

static rill_status byte_rows_prepare(struct prep *c)
{
    c->kernel = "quantize_away_f32";
    c->kern_uses |= KERN_USES_BYTES;
    return RILL_OK;
}

static void byte_rows_eval(const struct eval *e)
{
    const struct byte_rows_attr *a = e->attr;
    int64_t rows = e->in[0]->dim[0], n = rows ? tensor_count(e->in[0]) / rows : 0;
    const float *x = e->x[0];
    for (int64_t r = 0; r < rows; r++, x += n) {
        float range[2];
        e->kern->range_f32(x, (size_t) n, range);
        struct row_form f = a->shifted ? form_shifted(range) : form_centred(range);
        if (e->y[1])
            ((float *) e->y[1])[r] = f.scale;
        if (a->shifted && e->y[2])
            ((int32_t *) e->y[2])[r] = f.zero;
        if (e->y[0])
            e->kern->quantize_away_f32((int8_t *) e->y[0] + r * n, x, (size_t) n, &f.to);
    }
}

#define BYTE_OP(NAME, ID, TEXT, ATTRS, ATTR, INS, FLAGS, INFER, PREPARE, EVAL, HELP)               \
    static const struct op NAME = {                                                                \
        .id = ID,                                                                                  \
        .name = TEXT,                                                                              \
        .attrs = ATTRS,                                                                            \
        .attr_bytes = ATTR,                                                                        \
        .min_in = INS,                                                                             \
        .max_in = INS,                                                                             \
        .min_out = 1,                                                                              \
        .max_out = 1,                                                                              \
        .flags = FLAGS,                                                                            \
        .infer = INFER,                                                                            \
        .prepare = PREPARE,                                                                        \
        .eval = EVAL,                                                                              \
        .help = HELP,                                                                              \
    }

BYTE_OP(op_requantize, OP_REQUANTIZE, "Requantize", requantize_attrs,
        sizeof(struct requantize_attr), 1, OP_POINTWISE, requantize_infer, NULL, requantize_eval,
        "whole numbers less their zero, by a fixed-point factor, as bytes, i16 or i32");
BYTE_OP(op_byte_add, OP_BYTE_ADD, "ByteAdd", byte_add_attrs, sizeof(struct byte_add_attr), 2,
        OP_POINTWISE, byte_add_infer, byte_binary_prepare, byte_add_eval,
        "sum of bytes or i16, each by a fixed-point factor");
BYTE_OP(op_byte_mul, OP_BYTE_MUL, "ByteMul", byte_mul_attrs, sizeof(struct byte_add_attr), 2,
        OP_POINTWISE, byte_binary_infer, byte_binary_prepare, byte_mul_eval,
        "product of bytes or i16 by a fixed-point factor");
BYTE_OP(op_byte_table, OP_BYTE_TABLE, "ByteTable", byte_table_attrs, sizeof(struct byte_table_attr),
        1, OP_POINTWISE, byte_table_infer, byte_table_prepare, byte_table_eval,
        "for each byte the one that a table has for it");
BYTE_OP(op_byte_tables, OP_BYTE_TABLES, "ByteTables", byte_tables_attrs,
        sizeof(struct byte_tables_attr), 2, 0, byte_tables_infer, byte_tables_prepare,
        byte_tables_eval, "for each byte the one that its channel's table has for it");
BYTE_OP(op_byte_of, OP_BYTE_OF, "ByteOf", byte_of_attrs, sizeof(struct byte_of_attr), 1,
        OP_POINTWISE, byte_of_infer, NULL, byte_of_eval,
        "x / scale, rounded half away from zero, + zero, as bytes or i16");

static const struct op op_byte_rows = {
    .id = OP_BYTE_ROWS,
    .name = "ByteRows",
    .attrs = byte_rows_attrs,
    .attr_bytes = sizeof(struct byte_rows_attr),
    .min_in = 1,
    .max_in = 1,
    .min_out = 2,
    .max_out = 3,
    .infer = byte_rows_infer,
    .prepare = byte_rows_prepare,
    .eval = byte_rows_eval,
    .help = "floats as bytes, with a scale and perhaps a zero for each row of the first axis",
};

const struct op *const ops_byte_elem[] = { &op_requantize,  &op_byte_add,
                                           &op_byte_mul,    &op_byte_table,
                                           &op_byte_tables, &op_byte_of,
                                           &op_byte_rows,   NULL };
