/* SPDX-License-Identifier: MIT */
/* cast.c - conversion of element types. Floats to integers truncate and saturate (NaN is 0);
 * integers to narrower integers keep the low bits, and so do floats to those of 4 and 2 bits;
 * anything to bool is "not zero"; floats round to nearest even. */
#include "engine/ops/attrs.h"
#include "engine/ops/ops.h"
#include "engine/ops/elem.h"

#include <math.h>
#include <string.h>

#define CHUNK 128
#define TYPES_CAST (TYPES_ANY | TYPES_SMALL_INT)

typedef void direct_fn(void *y, const void *x, size_t n);

/* ---- numbers to f32 and f64 in one step ---- */

#define DEF_DIRECT(T, C, D)                                                                        \
    static void to_##D##_##T(void *y, const void *x, size_t n)                                     \
    {                                                                                              \
        const C *p = x;                                                                            \
        D *o = y;                                                                                  \
        for (size_t i = 0; i < n; i++)                                                             \
            o[i] = (D) p[i];                                                                       \
    }
#define LIST_NUM(X, op) ELEM_FLOATS(X, op) ELEM_SIGNED(X, op) ELEM_UNSIGNED(X, op)
LIST_NUM(DEF_DIRECT, float)
LIST_NUM(DEF_DIRECT, double)

/* A mask: any byte that is not zero is 1. */
static void to_float_BOOL(void *y, const void *x, size_t n)
{
    for (size_t i = 0; i < n; i++)
        ((float *) y)[i] = ((const uint8_t *) x)[i] != 0;
}

static direct_fn *const to_f32[DTYPE_COUNT] = { LIST_NUM(ELEM_TABLE_ENTRY, to_float)[DTYPE_BOOL] =
                                                    to_float_BOOL };
static direct_fn *const to_f64[DTYPE_COUNT] = { LIST_NUM(ELEM_TABLE_ENTRY, to_double) };

/* ---- everything else by way of doubles or 64-bit integers ---- */

static int64_t i64_saturated(double v, double lo, double hi)
{
    if (!(v > lo))
        return isnan(v) ? 0 : (int64_t) lo;
    return v < hi ? (int64_t) v : (int64_t) hi;
}

static int64_t i64_from(double v)
{
    return v >= 0x1p63 ? INT64_MAX : i64_saturated(v, -0x1p63, 0x1p63);
}

static uint64_t u64_from(double v)
{
    if (!(v > 0))
        return 0;
    return v >= 0x1p64 ? UINT64_MAX : (uint64_t) v;
}

/* To float with the last bit set where inexact, so that rounding it again gives what one rounding
 * would. */
static float f32_odd(double v)
{
    float f = (float) v;
    if (f == (float) HUGE_VAL || f == (float) -HUGE_VAL || v != v || (double) f == v)
        return f;
    uint32_t u;
    memcpy(&u, &f, sizeof u);
    if (!(u & 1))
        u += fabs((double) f) < fabs(v) ? 1u : ~0u;
    memcpy(&f, &u, sizeof f);
    return f;
}

#define FROM_F64(T, C, EXPR)                                                                       \
    case DTYPE_##T:                                                                                \
        for (size_t i = 0; i < n; i++) {                                                           \
            const double v = x[i];                                                                 \
            ((C *) y)[i] = (C) (EXPR);                                                             \
        }                                                                                          \
        return

/* Of an integer type that has a byte an element: the low bits, as a number of that type. */
static uint8_t low_bits(enum dtype t, int64_t v)
{
    const unsigned bits = types_hold(TYPE_I4 | TYPE_U4, t) ? 4
        : types_hold(TYPE_I2 | TYPE_U2, t)                 ? 2
                                                           : 8,
                   sign = types_hold(TYPE_I4 | TYPE_I2, t) ? 1u << (bits - 1) : 0;
    return (uint8_t) ((((unsigned) v & ((1u << bits) - 1)) ^ sign) - sign);
}

static void store_f64(enum dtype t, void *y, const double *x, size_t n)
{
    switch (t) {
        FROM_F64(F32, float, v);
        FROM_F64(F64, double, v);
        FROM_F64(F16, uint16_t, f32_to_f16(f32_odd(v)));
        FROM_F64(BF16, uint16_t, f32_to_bf16(f32_odd(v)));
        FROM_F64(I8, int8_t, i64_saturated(v, INT8_MIN, INT8_MAX));
        FROM_F64(I16, int16_t, i64_saturated(v, INT16_MIN, INT16_MAX));
        FROM_F64(I32, int32_t, i64_saturated(v, INT32_MIN, INT32_MAX));
        FROM_F64(I64, int64_t, i64_from(v));
        FROM_F64(U8, uint8_t, i64_saturated(v, 0, UINT8_MAX));
        FROM_F64(U16, uint16_t, i64_saturated(v, 0, UINT16_MAX));
        FROM_F64(U32, uint32_t, i64_saturated(v, 0, UINT32_MAX));
        FROM_F64(U64, uint64_t, u64_from(v));
        FROM_F64(BOOL, uint8_t, v != 0);
    case DTYPE_I4:
    case DTYPE_U4:
    case DTYPE_I2:
    case DTYPE_U2:
        for (size_t i = 0; i < n; i++)
            ((uint8_t *) y)[i] = low_bits(t, i64_from(x[i]));
        return;
    case DTYPE_NONE:
    case DTYPE_DIM: return;
    }
}

static void store_bytes(enum dtype t, uint8_t *y, const int64_t *x, size_t n)
{
    for (size_t i = 0; i < n; i++)
        y[i] = t == DTYPE_BOOL ? x[i] != 0 : low_bits(t, x[i]);
}

static void store_i64(enum dtype t, void *y, const int64_t *x, size_t n)
{
    double wide[CHUNK];
    switch (dtype_is_float(t) ? 0 : (int) dtype_bytes(t)) {
    case 0:
        to_double_I64(wide, x, n);
        store_f64(t, y, wide, n);
        return;
    case 1: store_bytes(t, y, x, n); return;
    case 2:
        for (size_t i = 0; i < n; i++)
            ((uint16_t *) y)[i] = (uint16_t) x[i];
        return;
    case 4:
        for (size_t i = 0; i < n; i++)
            ((uint32_t *) y)[i] = (uint32_t) x[i];
        return;
    default: memcpy(y, x, n * sizeof *x);
    }
}

static void cast_chunk(enum dtype to, void *y, const struct tensor *from, const void *x, int64_t at,
                       size_t n)
{
    double d[CHUNK];
    int64_t v[CHUNK];
    if (dtype_is_float(from->type) || (from->type == DTYPE_U64 && dtype_is_float(to))) {
        for (size_t i = 0; i < n; i++)
            d[i] = tensor_get_f64(from, x, at + (int64_t) i);
        store_f64(to, y, d, n);
    } else {
        for (size_t i = 0; i < n; i++)
            v[i] = tensor_get_i64(from, x, at + (int64_t) i);
        store_i64(to, y, v, n);
    }
}

static void cast_eval(const struct eval *e)
{
    const struct tensor *from = e->in[0], *to = e->out[0];
    size_t n = (size_t) tensor_count(to), bytes = dtype_bytes(to->type);
    direct_fn *f = to->type == DTYPE_F32 ? to_f32[from->type]
        : to->type == DTYPE_F64          ? to_f64[from->type]
                                         : NULL;
    if (from->type == to->type && to->type != DTYPE_BOOL) {
        memmove(e->y[0], e->x[0], n * bytes);
        return;
    }
    if (f) {
        f(e->y[0], e->x[0], n);
        return;
    }
    for (size_t at = 0; at < n; at += CHUNK)
        cast_chunk(to->type, (char *) e->y[0] + at * bytes, from, e->x[0], (int64_t) at,
                   n - at < CHUNK ? n - at : CHUNK);
}

/* ---- symbolic sizes: exact in every integer type, and as a truth value ---- */

static void cast_sizes(const struct eval *e, struct dims *ds, bool truth)
{
    const struct dim **y = e->y[0], *zero = dim_int(ds, 0), *one = dim_int(ds, 1);
    size_t n = (size_t) tensor_count(e->out[0]);
    for (size_t i = 0; i < n; i++) {
        const struct dim *d = elem_dim_at(ds, e->in[0], e->x[0], i);
        y[i] = truth ? dim_sub(ds, one, dim_eq(ds, d, zero)) : d;
    }
}

static void cast_dim(const struct eval *e, struct dims *ds)
{
    const struct cast_attr *a = e->attr;
    cast_sizes(e, ds, a->to == DTYPE_BOOL);
}

static void cast_like_dim(const struct eval *e, struct dims *ds)
{
    cast_sizes(e, ds, dtype_number(e->in[1]->type, e->in[1]->number) == DTYPE_BOOL);
}

/* Whether the numbers of a symbolic input keep their values in another type. */
static bool sizes_fit(const struct infer *c, enum dtype to)
{
    const struct tensor *v = c->in[0]->value;
    if (to == DTYPE_I64 || to == DTYPE_I32 || to == DTYPE_BOOL || c->in[0]->number == DTYPE_BOOL)
        return true;
    bool fits = v && (to == DTYPE_U64 || to == DTYPE_U32);
    for (int64_t i = 0; fits && i < tensor_count(v); i++)
        fits =
            dim_is(dim_ge(c->dims, ((const struct dim *const *) v->data)[i], dim_int(c->dims, 0)),
                   1);
    return fits;
}

static rill_status cast_infer_to(struct infer *c, enum dtype to)
{
    enum dtype from = c->in[0]->type;
    TRY(elem_check_type(c, 0, TYPES_CAST));
    bool stays = from == DTYPE_DIM && !dtype_is_float(to); /* a float is known when the size is */
    if (stays && !sizes_fit(c, to))
        return infer_fail(c, "a symbolic size cannot become %s; give the size a number",
                          dtype_name(to));
    to = stays ? DTYPE_DIM : to;
    infer_shape(c, 0, to, c->in[0]->rank, c->in[0]->shape);
    return RILL_OK;
}

static rill_status cast_infer(struct infer *c)
{
    const struct cast_attr *a = c->attr;
    if (!types_hold(TYPES_CAST, a->to))
        return infer_fail(c, "target type %lld is not supported", (long long) a->to);
    return cast_infer_to(c, (enum dtype) a->to);
}

static rill_status cast_like_infer(struct infer *c)
{
    TRY(elem_check_type(c, 1, TYPES_CAST));
    return cast_infer_to(c, fact_number(c->in[1]));
}

static const struct attr_spec cast_attrs[] = {
    { .name = "to", .kind = ATTR_INT, .offset = offsetof(struct cast_attr, to), .required = true },
    { .name = "saturate",
      .kind = ATTR_INT,
      .offset = offsetof(struct cast_attr, saturate),
      .def_i = 1 },
    { 0 }
};
static const struct attr_spec cast_like_attrs[] = { { .name = "saturate",
                                                      .kind = ATTR_INT,
                                                      .offset =
                                                          offsetof(struct cast_attr, saturate),
                                                      .def_i = 1 },
                                                    { 0 } };

/* ---- BitCast ---- */

/* Numbers of 16 bits that are floats have no bits of their own: they are kept as f32. */
static rill_status bit_cast_infer(struct infer *c)
{
    const struct cast_attr *a = c->attr;
    const unsigned types = TYPES_NUM & ~(unsigned) TYPES_HALF;
    TRY(elem_check_type(c, 0, types | TYPE_BOOL));
    const struct fact *x = c->in[0];
    if (!types_hold(types | TYPE_BOOL, a->to))
        return infer_fail(c, "to=%lld is no type whose bits are kept", (long long) a->to);
    if (x->number || dtype_bytes((enum dtype) a->to) != dtype_bytes(x->type))
        return infer_fail(c,
                          "%s cannot be read as %s: as many bits are wanted, and of f16 and bf16 "
                          "none are kept",
                          dtype_name(fact_number(x)), dtype_name((enum dtype) a->to));
    infer_shape(c, 0, (enum dtype) a->to, x->rank, x->shape);
    return RILL_OK;
}

static void bit_cast_eval(const struct eval *e)
{
    memmove(e->y[0], e->x[0], (size_t) tensor_count(e->out[0]) * dtype_bytes(e->out[0]->type));
}

static const struct attr_spec bit_cast_attrs[] = {
    { .name = "to", .kind = ATTR_INT, .offset = offsetof(struct cast_attr, to), .required = true },
    { 0 }
};

OP_ROW(bit_cast, BIT_CAST, "BitCast", bit_cast_attrs, sizeof(struct cast_attr), 1, 1, 1,
       bit_cast_infer, NULL, bit_cast_eval, "the bits of x as another type", .flags = OP_POINTWISE);

static const struct op cast_op = { .id = OP_CAST,
                                   .name = "Cast",
                                   .attrs = cast_attrs,
                                   .attr_bytes = sizeof(struct cast_attr),
                                   .min_in = 1,
                                   .max_in = 1,
                                   .min_out = 1,
                                   .max_out = 1,
                                   .flags = OP_POINTWISE,
                                   .infer = cast_infer,
                                   .eval = cast_eval,
                                   .eval_dim = cast_dim,
                                   .help = "x in another element type" };

/* Not POINTWISE: the second input lends its type, not its elements. */
static const struct op cast_like_op = { .id = OP_CAST_LIKE,
                                        .name = "CastLike",
                                        .attrs = cast_like_attrs,
                                        .attr_bytes = sizeof(struct cast_attr),
                                        .min_in = 2,
                                        .max_in = 2,
                                        .min_out = 1,
                                        .max_out = 1,
                                        .infer = cast_like_infer,
                                        .eval = cast_eval,
                                        .eval_dim = cast_like_dim,
                                        .help = "x in the element type of the second input" };

const struct op *const ops_cast[] = { &cast_op, &cast_like_op, &op_bit_cast, NULL };
