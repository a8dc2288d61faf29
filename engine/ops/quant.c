/* SPDX-License-Identifier: MIT */
/* Floats to small integers and back: x = (q - zero) * scale. Rounding is to nearest even, results
 * saturate, NaN is the least number. */
#include "engine/ops/attrs.h"
#include "engine/ops/elem.h"
#include "engine/ops/ops.h"
#include "kernels/bytes.h"

#include <float.h>
#include <math.h>
#include <string.h>

#define AT(member) offsetof(struct quant_attr, member)
static const struct attr_spec quantize_attrs[] = {
    { .name = "axis", .kind = ATTR_INT, .offset = AT(on.axis), .def_i = 1 },
    { .name = "block_size", .kind = ATTR_INT, .offset = AT(block_size) },
    { .name = "saturate", .kind = ATTR_INT, .offset = AT(saturate), .def_i = 1 },
    /* enum dtype; 0: that of the zero */
    { .name = "output_dtype", .kind = ATTR_INT, .offset = AT(output_dtype) },
    /* enum dtype, of the quotient; 0: that of the scale */
    { .name = "precision", .kind = ATTR_INT, .offset = AT(precision) },
    { 0 },
};

static const struct attr_spec dequantize_attrs[] = {
    { .name = "axis", .kind = ATTR_INT, .offset = AT(on.axis), .def_i = 1 },
    { .name = "block_size", .kind = ATTR_INT, .offset = AT(block_size) },
    /* enum dtype; 0: that of the scale */
    { .name = "output_dtype", .kind = ATTR_INT, .offset = AT(output_dtype) },
    { 0 },
};
#undef AT

enum { IN_X, IN_SCALE, IN_ZERO };

#define TYPES_4BIT (TYPE_U4 | TYPE_I4)
#define TYPES_2BIT (TYPE_U2 | TYPE_I2)
#define TYPES_SMALL (TYPE_U8 | TYPE_I8 | TYPE_U16 | TYPE_I16 | TYPES_4BIT | TYPES_2BIT)
#define TYPES_REAL (TYPE_F32 | TYPES_HALF)

/* ---- what is right ---- */

/* One for each block of an axis: the shape of x, but for that axis. */
static rill_status blocks_check(struct infer *c, unsigned i, int axis)
{
    const struct quant_attr *a = c->attr;
    const struct fact *x = c->in[IN_X], *f = c->in[i];
    if (f->rank != x->rank)
        return infer_invalid(c,
                             "%s has %d dimensions and what is quantised %d; with block_size both "
                             "have the same",
                             infer_name(c, i), f->rank, x->rank);
    for (int k = 0; k < x->rank; k++)
        if (k != axis && f->shape[k] != x->shape[k])
            return infer_invalid(c,
                                 "%s differs from what is quantised in axis %d, which is not that "
                                 "of the blocks (%d)",
                                 infer_name(c, i), k, axis);
    if (!dim_is_const(x->shape[axis]) || !dim_is_const(f->shape[axis]))
        return infer_fail(c, "axis %d has blocks and no size before running; give it a number",
                          axis);
    int64_t size = dim_value(x->shape[axis]), have = dim_value(f->shape[axis]),
            want = size / a->block_size + (size % a->block_size != 0);
    if (have != want)
        return infer_invalid(c,
                             "%s has %lld blocks on axis %d, where blocks of %lld over %lld places "
                             "make %lld",
                             infer_name(c, i), (long long) have, axis, (long long) a->block_size,
                             (long long) size, (long long) want);
    return RILL_OK;
}

/* One for all (a scalar or a list of one, scale and zero each as it likes), or one for each place
 * of the axis, or for each block of it. */
static rill_status shape_check(struct infer *c, unsigned i)
{
    const struct quant_attr *a = c->attr;
    const struct fact *x = c->in[IN_X], *f = c->in[i];
    int axis = axis_normalise(a->on.axis, x->rank);
    if (fact_is_single(f))
        return RILL_OK;
    if (axis < 0)
        return infer_invalid(c, "axis %lld is not one of an input of rank %d",
                             (long long) a->on.axis, x->rank);
    if (a->block_size)
        return blocks_check(c, i, axis);
    if (f->rank != 1)
        return infer_invalid(c,
                             "%s has %d dimensions; wants one number, or a list of one for each "
                             "place of an axis, or block_size",
                             infer_name(c, i), f->rank);
    if (f->shape[0] != x->shape[axis]) {
        char have[80], want[80];
        dim_print(f->shape[0], have, sizeof have);
        dim_print(x->shape[axis], want, sizeof want);
        return infer_invalid(c, "%s has %s numbers, axis %d of what is quantised %s places",
                             infer_name(c, i), have, axis, want);
    }
    return RILL_OK;
}

/* A scale that the model has must be one; that of a silent frame may be 0. Blocks of weights are
 * written with a sign, too, and with 0 where all weights are. */
static rill_status scale_check(struct infer *c)
{
    const struct quant_attr *a = c->attr;
    const struct tensor *t = c->running ? NULL : c->in[IN_SCALE]->value;
    bool any_sign = a->block_size && node_is(c->node, OP_DEQUANTIZE_LINEAR);
    for (int64_t i = 0, n = t ? tensor_count(t) : 0; i < n; i++) {
        double s = tensor_get_stored(t, i);
        if (isnan(s) || isinf(s) || (!any_sign && s < (double) FLT_MIN))
            return infer_invalid(c, "%s is %g at place %lld; a scale is finite%s",
                                 infer_name(c, IN_SCALE), s, (long long) i,
                                 any_sign ? "" : " and greater than 0, at least 1.17549e-38");
    }
    return RILL_OK;
}

static rill_status params_check(struct infer *c, unsigned scale_types)
{
    const struct quant_attr *a = c->attr;
    if (a->block_size < 0)
        return infer_invalid(c, "block_size=%lld; wants 0 (none) or more",
                             (long long) a->block_size);
    TRY(elem_check_type(c, IN_SCALE, scale_types));
    for (unsigned i = IN_SCALE; i <= IN_ZERO && infer_has(c, i); i++)
        TRY(shape_check(c, i));
    return scale_check(c);
}

static rill_status quantize_infer(struct infer *c)
{
    const struct quant_attr *a = c->attr;
    bool has_zero = infer_has(c, IN_ZERO);
    enum dtype to = has_zero ? c->in[IN_ZERO]->type
        : a->output_dtype    ? (enum dtype) a->output_dtype
                             : DTYPE_U8;
    TRY(elem_check_type(c, IN_X, TYPES_REAL | TYPE_I32));
    TRY(params_check(c, TYPES_REAL | TYPE_I32));
    if (a->output_dtype && !types_hold(TYPES_ANY | TYPES_SMALL | TYPE_DIM, a->output_dtype))
        return infer_fail(c, "output_dtype %lld is no type", (long long) a->output_dtype);
    if (has_zero && a->output_dtype && a->output_dtype != (int64_t) to)
        return infer_fail(c, "output_dtype is %s and its zero, %s, %s",
                          dtype_name((enum dtype) a->output_dtype), infer_name(c, IN_ZERO),
                          dtype_name(to));
    if (a->precision && !types_hold(TYPES_REAL, a->precision))
        return infer_fail(c, "precision %lld is none of f32, f16 and bf16",
                          (long long) a->precision);
    if (!types_hold(TYPES_SMALL, to))
        return infer_invalid(c, "its output would be %s; wants u or i of 8, 16, 4 or 2 bits",
                             dtype_name(to));
    infer_shape(c, 0, to, c->in[IN_X]->rank, c->in[IN_X]->shape);
    return RILL_OK;
}

static rill_status dequantize_infer(struct infer *c)
{
    const struct quant_attr *a = c->attr;
    TRY(elem_check_type(c, IN_X, TYPES_SMALL | TYPE_I32));
    TRY(params_check(c, TYPES_REAL));
    if (infer_has(c, IN_ZERO) && c->in[IN_ZERO]->type != c->in[IN_X]->type)
        return infer_invalid(c, "its zero, %s, is %s, its input %s", infer_name(c, IN_ZERO),
                             dtype_name(c->in[IN_ZERO]->type), dtype_name(c->in[IN_X]->type));
    if (a->output_dtype && !types_hold(TYPES_REAL, a->output_dtype))
        return infer_fail(c, "output_dtype %lld is none of f32, f16 and bf16",
                          (long long) a->output_dtype);
    enum dtype to = a->output_dtype ? (enum dtype) a->output_dtype : c->in[IN_SCALE]->type;
    infer_shape(c, 0, to, c->in[IN_X]->rank, c->in[IN_X]->shape);
    return RILL_OK;
}

/* ---- which scale and zero an element takes ---- */

/* x as [outer, size, inner] around the axis, walked in rows of `take` places of it. Element j of a
 * row that begins at place d takes number at + j * step of a list. */
struct layout {
    int64_t outer, size, inner, take;
    int64_t block;                /* places that share one number */
    int64_t per_outer, per_place; /* numbers of one of `outer`, of one block */
    int64_t step;
    bool many[IN_ZERO + 1]; /* false: one number for all */
};

static int64_t axes_product(const struct tensor *t, int first, int last)
{
    int64_t n = 1;
    for (int i = first; i < last; i++)
        n *= t->dim[i];
    return n;
}

static struct layout layout_of(const struct eval *e)
{
    const struct quant_attr *a = e->attr;
    const struct tensor *x = e->in[IN_X];
    struct layout l = { .outer = 1, .size = 1, .inner = tensor_count(x), .take = 1, .block = 1 };
    for (unsigned i = IN_SCALE; i < e->n_in && i <= IN_ZERO; i++)
        l.many[i] = e->in[i] && tensor_count(e->in[i]) > 1;
    if (!l.many[IN_SCALE] && !l.many[IN_ZERO])
        return l;
    int axis = axis_normalise(a->on.axis, x->rank);
    l.outer = axes_product(x, 0, axis);
    l.size = x->dim[axis];
    l.inner = axes_product(x, axis + 1, x->rank);
    l.block = a->block_size ? a->block_size : 1;
    if (l.block > l.size) /* one of them holds all */
        l.block = l.size ? l.size : 1;
    l.per_place = a->block_size ? l.inner : 1;
    l.per_outer = a->block_size ? (l.size + l.block - 1) / l.block * l.inner : 0;
    l.take = l.inner > 1 ? 1 : a->block_size ? l.block : l.size;
    l.step = l.inner > 1 ? a->block_size != 0 : a->block_size == 0;
    return l;
}

/* ---- numbers in pieces: from and to every type ---- */

#define PIECE 256

struct piece {
    size_t n;
    float real[PIECE], scale[PIECE];
    int32_t whole[PIECE], zero[PIECE];
};

#define WHOLE(X)                                                                                   \
    X(U8, uint8_t)                                                                                 \
    X(I8, int8_t)                                                                                  \
    X(U4, uint8_t)                                                                                 \
    X(I4, int8_t) X(U2, uint8_t) X(I2, int8_t) X(U16, uint16_t) X(I16, int16_t) X(I32, int32_t)

typedef void load_fn(int32_t *y, const void *x, int64_t at, size_t n);
typedef void store_fn(void *y, int64_t at, const int32_t *x, size_t n);

#define DEF_WHOLE(T, C)                                                                            \
    static void load_##T(int32_t *y, const void *x, int64_t at, size_t n)                          \
    {                                                                                              \
        const C *p = (const C *) x + at;                                                           \
        for (size_t i = 0; i < n; i++)                                                             \
            y[i] = p[i];                                                                           \
    }                                                                                              \
    static void store_##T(void *y, int64_t at, const int32_t *x, size_t n)                         \
    {                                                                                              \
        C *p = (C *) y + at;                                                                       \
        for (size_t i = 0; i < n; i++)                                                             \
            p[i] = (C) x[i];                                                                       \
    }
WHOLE(DEF_WHOLE)

#define LOAD_ENTRY(T, C) [DTYPE_##T] = load_##T,
#define STORE_ENTRY(T, C) [DTYPE_##T] = store_##T,
static load_fn *const load_whole[DTYPE_COUNT] = { WHOLE(LOAD_ENTRY) };
static store_fn *const store_whole[DTYPE_COUNT] = { WHOLE(STORE_ENTRY) };

static void load_real(float *y, const struct tensor *t, const void *x, int64_t at, size_t n)
{
    if (t->type == DTYPE_F32)
        memcpy(y, (const float *) x + at, n * sizeof *y);
    else
        for (size_t i = 0; i < n; i++)
            y[i] = (float) tensor_get_f64(t, x, at + (int64_t) i);
}

static void store_real(const struct tensor *t, void *y, int64_t at, const float *x, size_t n)
{
    for (size_t i = 0; i < n && t->type == DTYPE_F16; i++)
        ((uint16_t *) y)[at + (int64_t) i] = f32_to_f16(x[i]);
    for (size_t i = 0; i < n && t->type == DTYPE_BF16; i++)
        ((uint16_t *) y)[at + (int64_t) i] = f32_to_bf16(x[i]);
    if (t->type == DTYPE_F32)
        memcpy((float *) y + at, x, n * sizeof *x);
}

/* The scales and zeros of n elements whose numbers begin at `at`; one alone fills the piece. */
static void load_params(struct piece *p, const struct eval *e, const struct layout *l, int64_t at,
                        size_t n)
{
    size_t scales = l->many[IN_SCALE] && l->step ? n : 1,
           zeros = l->many[IN_ZERO] && l->step ? n : 1;
    bool has_zero = IN_ZERO < e->n_in && e->x[IN_ZERO];
    load_real(p->scale, e->in[IN_SCALE], e->x[IN_SCALE], l->many[IN_SCALE] ? at : 0, scales);
    p->zero[0] = 0;
    if (has_zero)
        load_whole[e->in[IN_ZERO]->type](p->zero, e->x[IN_ZERO], l->many[IN_ZERO] ? at : 0, zeros);
    for (size_t i = scales; i < n; i++)
        p->scale[i] = p->scale[0];
    for (size_t i = zeros; i < n; i++)
        p->zero[i] = p->zero[0];
}

typedef void piece_fn(const struct eval *e, struct piece *p, int64_t at);

/* Calls fn for pieces of a row of n elements from `at` on, whose numbers begin at `param`. */
static void pieces_run(const struct eval *e, const struct layout *l, int64_t at, int64_t n,
                       int64_t param, piece_fn *fn)
{
    struct piece p;
    for (int64_t i = 0; i < n; i += PIECE) {
        p.n = (size_t) (n - i < PIECE ? n - i : PIECE);
        if (i == 0 || l->step)
            load_params(&p, e, l, param + i * l->step, p.n);
        fn(e, &p, at + i);
    }
}

typedef void row_fn(const struct eval *e, const struct layout *l, int64_t at, int64_t n,
                    int64_t param);

static void rows_run(const struct eval *e, row_fn *fn)
{
    const struct layout l = layout_of(e);
    int64_t at = 0;
    for (int64_t o = 0; o < l.outer; o++)
        for (int64_t d = 0; d < l.size; d += l.take) {
            int64_t places = l.size - d < l.take ? l.size - d : l.take, n = places * l.inner;
            fn(e, &l, at, n, o * l.per_outer + d / l.block * l.per_place);
            at += n;
        }
}

/* ---- the two ops ---- */

struct limits {
    int32_t low, high;
};

static struct limits limits_of(enum dtype t)
{
    unsigned bits = types_hold(TYPES_4BIT, t) ? 4
        : types_hold(TYPES_2BIT, t)           ? 2
                                              : 8 * (unsigned) dtype_bytes(t);
    bool is_signed = types_hold(TYPE_I2 | TYPE_I4 | TYPE_I8 | TYPE_I16, t);
    int32_t low = is_signed ? -(1 << (bits - 1)) : 0;
    return (struct limits) { low, low + (1 << bits) - 1 };
}

/* Quotients in a narrower type are rounded to it first. */
static void quotients_narrow(const struct eval *e, float *v, size_t n)
{
    const struct quant_attr *a = e->attr;
    enum dtype as = a->precision ? (enum dtype) a->precision : e->in[IN_SCALE]->type;
    for (size_t i = 0; i < n && as == DTYPE_F16; i++)
        v[i] = f16_to_f32(f32_to_f16(v[i]));
    for (size_t i = 0; i < n && as == DTYPE_BF16; i++)
        v[i] = bf16_to_f32(f32_to_bf16(v[i]));
}

/* Added and taken off again, it leaves a number below 2^22 rounded to a whole one. */
#define ROUND_BIAS 0x1.8p23f

/* Limits come before rounding, which changes nothing: they are whole numbers. */
static void quantize_piece(const struct eval *e, struct piece *p, int64_t at)
{
    const struct limits l = limits_of(e->out[0]->type);
    load_real(p->real, e->in[IN_X], e->x[IN_X], at, p->n);
    for (size_t i = 0; i < p->n; i++)
        p->real[i] /= p->scale[i];
    quotients_narrow(e, p->real, p->n);
    for (size_t i = 0; i < p->n; i++) {
        float low = (float) (l.low - p->zero[i]), high = (float) (l.high - p->zero[i]);
        float v = p->real[i] > low ? p->real[i] : low;
        v = v < high ? v : high;
        p->whole[i] = (int32_t) ((v + ROUND_BIAS) - ROUND_BIAS) + p->zero[i];
    }
    store_whole[e->out[0]->type](e->y[0], at, p->whole, p->n);
}

static void quantize_row(const struct eval *e, const struct layout *l, int64_t at, int64_t n,
                         int64_t param)
{
    pieces_run(e, l, at, n, param, quantize_piece);
}

static bool is_one(const struct tensor *t)
{
    return tensor_count(t) == 1;
}

/* Floats to numbers of 8 bits by one scale and zero: as the kernel has them. */
static bool quantizes_to_bytes(const struct eval *e)
{
    const struct quant_attr *a = e->attr;
    bool has_zero = IN_ZERO < e->n_in && e->x[IN_ZERO];
    return e->in[IN_X]->type == DTYPE_F32 && e->in[IN_SCALE]->type == DTYPE_F32 && !a->precision &&
        types_hold(TYPE_U8 | TYPE_I8, e->out[0]->type) && is_one(e->in[IN_SCALE]) &&
        (!has_zero || is_one(e->in[IN_ZERO]));
}

static void quantize_eval(const struct eval *e)
{
    if (!quantizes_to_bytes(e)) {
        rows_run(e, quantize_row);
        return;
    }
    const struct limits l = limits_of(e->out[0]->type);
    struct kern_quant q = { *(const float *) e->x[IN_SCALE], 0, l.low, l.high };
    if (IN_ZERO < e->n_in && e->x[IN_ZERO])
        q.zero = (int32_t) tensor_get_i64(e->in[IN_ZERO], e->x[IN_ZERO], 0);
    e->kern->quantize_f32(e->y[0], e->x[IN_X], (size_t) tensor_count(e->in[IN_X]), &q);
}

static void dequantize_piece(const struct eval *e, struct piece *p, int64_t at)
{
    enum dtype type = e->in[IN_X]->type;
    load_whole[type](p->whole, e->x[IN_X], at, p->n);
    for (size_t i = 0; i < p->n && type == DTYPE_I32; i++)
        p->real[i] = (float) ((int64_t) p->whole[i] - p->zero[i]) * p->scale[i];
    for (size_t i = 0; i < p->n && type != DTYPE_I32; i++)
        p->real[i] = (float) (p->whole[i] - p->zero[i]) * p->scale[i];
    store_real(e->out[0], e->y[0], at, p->real, p->n);
}

/* Numbers of 8 bits in rows of one scale and zero: as the kernel has them. */
static bool dequantizes_bytes(const struct eval *e, const struct layout *l)
{
    return types_hold(TYPE_U8 | TYPE_I8, e->in[IN_X]->type) && !l->step &&
        e->in[IN_SCALE]->type == DTYPE_F32 && e->out[0]->type == DTYPE_F32;
}

static void dequantize_bytes_row(const struct eval *e, const struct layout *l, int64_t at,
                                 int64_t n, int64_t param)
{
    const struct limits range = limits_of(e->in[IN_X]->type);
    struct kern_quant q = { ((const float *) e->x[IN_SCALE])[l->many[IN_SCALE] ? param : 0], 0,
                            range.low, range.high };
    if (IN_ZERO < e->n_in && e->x[IN_ZERO])
        q.zero =
            (int32_t) tensor_get_i64(e->in[IN_ZERO], e->x[IN_ZERO], l->many[IN_ZERO] ? param : 0);
    kern_bytes_real((float *) e->y[0] + at, (const uint8_t *) e->x[IN_X] + at, (size_t) n, &q);
}

static void dequantize_row(const struct eval *e, const struct layout *l, int64_t at, int64_t n,
                           int64_t param)
{
    if (dequantizes_bytes(e, l))
        dequantize_bytes_row(e, l, at, n, param);
    else
        pieces_run(e, l, at, n, param, dequantize_piece);
}

static void dequantize_eval(const struct eval *e)
{
    rows_run(e, dequantize_row);
}

/* ---- the scale from the data's own range ---- */

static rill_status dynamic_infer(struct infer *c)
{
    TRY(elem_check_type(c, IN_X, TYPE_F32));
    infer_shape(c, 0, DTYPE_U8, c->in[IN_X]->rank, c->in[IN_X]->shape);
    if (c->n_out > 1)
        infer_shape(c, 1, DTYPE_F32, 0, NULL);
    if (c->n_out > 2)
        infer_shape(c, 2, DTYPE_U8, 0, NULL);
    return RILL_OK;
}

static rill_status dynamic_prepare(struct prep *c)
{
    c->kernel = "quantize_f32";
    return RILL_OK;
}

static void dynamic_eval(const struct eval *e)
{
    const size_t n = (size_t) tensor_count(e->in[0]);
    float range[2];
    e->kern->range_f32(e->x[0], n, range);
    const struct kern_quant q = kern_quant_of_range(range[0], range[1]);
    if (e->y[0])
        e->kern->quantize_f32(e->y[0], e->x[0], n, &q);
    if (e->n_out > 1 && e->y[1])
        *(float *) e->y[1] = q.scale != 0 ? q.scale : 1; /* of silence: any would do */
    if (e->n_out > 2 && e->y[2])
        *(uint8_t *) e->y[2] = (uint8_t) q.zero;
}

static const struct op op_quantize = {
    .id = OP_QUANTIZE_LINEAR,
    .name = "QuantizeLinear",
    .attrs = quantize_attrs,
    .attr_bytes = sizeof(struct quant_attr),
    .min_in = 2,
    .max_in = 3,
    .min_out = 1,
    .max_out = 1,
    .infer = quantize_infer,
    .eval = quantize_eval,
    .help = "x / scale + zero, rounded to nearest even and saturated",
};

static const struct op op_dequantize = {
    .id = OP_DEQUANTIZE_LINEAR,
    .name = "DequantizeLinear",
    .attrs = dequantize_attrs,
    .attr_bytes = sizeof(struct quant_attr),
    .min_in = 2,
    .max_in = 3,
    .min_out = 1,
    .max_out = 1,
    .infer = dequantize_infer,
    .eval = dequantize_eval,
    .help = "(q - zero) * scale",
};

static const struct op op_dynamic = {
    .id = OP_DYNAMIC_QUANTIZE_LINEAR,
    .name = "DynamicQuantizeLinear",
    .min_in = 1,
    .max_in = 1,
    .min_out = 1,
    .max_out = 3,
    .infer = dynamic_infer,
    .prepare = dynamic_prepare,
    .eval = dynamic_eval,
    .help = "x as u8 with the scale and zero of its own range",
};

const struct op *const ops_quant[] = { &op_quantize, &op_dequantize, &op_dynamic, NULL };
