/* SPDX-License-Identifier: MIT */
/* What conversions work with: operands, constants, nodes put into the graph. */
#include "models/tflite/internal.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

rill_status tfl_fail_(const struct conversion *c, rill_status s, const char *fmt, ...)
{
    char text[400];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    if (!c->origin)
        return err_set(c->r->err, s, "port '%.80s': %s", c->name, text);
    return err_set(c->r->err, s, "%s: %s", c->origin, text);
}

/* ---- operands ---- */

static struct tfl_tensor *operand(const struct conversion *c, struct flat_list l, unsigned i)
{
    int32_t t = i < l.n ? flat_list_i32(&c->r->flat, l, i) : -1;
    return t < 0 ? NULL : &c->s->tensors[t];
}

const struct tfl_tensor *tfl_in(const struct conversion *c, unsigned i)
{
    return operand(c, c->in, i);
}

const struct tfl_tensor *tfl_out(const struct conversion *c, unsigned i)
{
    return operand(c, c->out, i);
}

enum dtype tfl_type(const struct conversion *c, unsigned i)
{
    const struct tfl_tensor *t = tfl_in(c, i);
    return t ? t->shape.type : DTYPE_NONE;
}

rill_status tfl_step_check(const struct conversion *c, const char *what, int64_t v)
{
    if (v >= 1 && v <= INT16_MAX)
        return RILL_OK;
    return tfl_fail(c, RILL_MALFORMED, "a %s of %lld; wants 1 to %d", what, (long long) v,
                    INT16_MAX);
}

rill_status tfl_known(const struct conversion *c, const struct tfl_tensor *t, int axis,
                      const char *why)
{
    if (axis < 0 || !(t->open >> axis & 1))
        return RILL_OK;
    return tfl_fail(c, RILL_UNSUPPORTED,
                    "axis %d of tensor '%.80s' is left open by the file, and %s wants its size",
                    axis, t->name, why);
}

bool tfl_type_is_byte(enum dtype t)
{
    return t == DTYPE_I8 || t == DTYPE_U8;
}

bool tfl_type_is_whole(enum dtype t)
{
    return tfl_type_is_byte(t) || t == DTYPE_I16;
}

rill_status tfl_wire_of(struct conversion *c, const struct tensor *t, uint32_t *ret)
{
    *ret = graph_add_const(c->s->g, graph_name_next(c->s->g, c->name), t);
    return *ret == WIRE_NONE ? tfl_no_memory(c->r) : RILL_OK;
}

rill_status tfl_wire(struct conversion *c, unsigned i, uint32_t *ret)
{
    struct tfl_tensor *t = operand(c, c->in, i);
    const struct tensor *value;
    *ret = t ? t->wire : WIRE_NONE;
    if (!t || *ret != WIRE_NONE)
        return RILL_OK;
    if (t->element == ELEMENT_RESOURCE)
        return tfl_fail(c, RILL_UNSUPPORTED, "input %u, '%.80s', is a resource", i, t->name);
    TRY(tfl_tensor_value(c->r, t, &value));
    if (!value)
        return tfl_fail(c, RILL_MALFORMED,
                        "input %u, tensor '%.80s', is read before anything makes it", i, t->name);
    *ret = t->wire = graph_add_const(c->s->g, t->name, value);
    return *ret == WIRE_NONE ? tfl_no_memory(c->r) : RILL_OK;
}

rill_status tfl_const(struct conversion *c, unsigned i, const struct tensor **ret)
{
    uint32_t w;
    TRY(tfl_wire(c, i, &w));
    *ret = w == WIRE_NONE ? NULL : c->s->g->wires[w].fact.value;
    if (!*ret)
        return tfl_fail(c, RILL_UNSUPPORTED, "input %u, tensor '%.80s', must be a constant", i,
                        tfl_in(c, i) ? tfl_in(c, i)->name : "");
    return RILL_OK;
}

rill_status tfl_ints(struct conversion *c, unsigned i, int64_t *ret, unsigned cap, unsigned *ret_n)
{
    const struct tensor *t;
    TRY(tfl_const(c, i, &t));
    int64_t n = tensor_count(t);
    if ((t->type != DTYPE_I32 && t->type != DTYPE_I64) || n > cap)
        return tfl_fail(c, RILL_MALFORMED,
                        "input %u, tensor '%.80s', is %lld elements of %s; wants at most %u "
                        "integers of 32 or 64 bits",
                        i, tfl_in(c, i)->name, (long long) n, dtype_name(t->type), cap);
    for (int64_t k = 0; k < n; k++)
        ret[k] = tensor_get_i64(t, t->data, k);
    *ret_n = (unsigned) n;
    return RILL_OK;
}

/* ---- constants ---- */

rill_status tfl_wire_i64s(struct conversion *c, const int64_t *v, unsigned n, uint32_t *ret)
{
    int64_t dim = n;
    return tfl_wire_of(c, tensor_from_data(c->r->arena, DTYPE_I64, 1, &dim, v), ret);
}

rill_status tfl_wire_i64(struct conversion *c, int64_t v, uint32_t *ret)
{
    return tfl_wire_of(c, tensor_from_data(c->r->arena, DTYPE_I64, 0, NULL, &v), ret);
}

rill_status tfl_wire_f32(struct conversion *c, float v, uint32_t *ret)
{
    return tfl_wire_of(c, tensor_from_data(c->r->arena, DTYPE_F32, 0, NULL, &v), ret);
}

/* ---- nodes ---- */

rill_status tfl_emit(struct conversion *c, enum op_id id, const struct attr *attrs,
                     unsigned n_attrs, const uint32_t *in, unsigned n_in, uint32_t *ret,
                     unsigned n_out)
{
    const struct op *op = op_by_id(id);
    void *parsed = arena_alloc(c->r->arena, op->attr_bytes + 1);
    uint32_t *from = arena_array(c->r->arena, uint32_t, n_in + (size_t) 1);
    if (!parsed || !from)
        return tfl_no_memory(c->r);
    memcpy(from, in, n_in * sizeof *in); /* ret may be where in is */
    TRY(attrs_parse(op, c->name, attrs, n_attrs, parsed, c->r->err));
    for (unsigned i = 0; i < n_out; i++) {
        const char *name = graph_name_next(c->s->g, c->name);
        ret[i] = name ? graph_add_wire(c->s->g, name, NULL) : WIRE_NONE;
        if (ret[i] == WIRE_NONE)
            return tfl_no_memory(c->r);
    }
    while ((int) n_in > op->min_in && from[n_in - 1] == WIRE_NONE)
        n_in--;
    struct node *n = graph_add_node(c->s->g, op, c->name, parsed, from, n_in, ret, n_out);
    if (!n)
        return tfl_no_memory(c->r);
    n->origin = c->origin;
    return op_check_arity(n, c->r->err);
}

rill_status tfl_emit1(struct conversion *c, enum op_id id, uint32_t x, uint32_t *ret)
{
    return tfl_emit(c, id, NULL, 0, &x, 1, ret, 1);
}

rill_status tfl_emit2(struct conversion *c, enum op_id id, uint32_t x, uint32_t y, uint32_t *ret)
{
    return tfl_emit(c, id, NULL, 0, (uint32_t[]) { x, y }, 2, ret, 1);
}

rill_status tfl_emit_transpose(struct conversion *c, const int64_t *perm, unsigned n, uint32_t x,
                               uint32_t *ret)
{
    int64_t *kept = arena_copy(c->r->arena, perm, n * sizeof *perm);
    if (!kept)
        return tfl_no_memory(c->r);
    struct attr a = attr_ints("perm", kept, n);
    return tfl_emit(c, OP_TRANSPOSE, &a, 1, &x, 1, ret, 1);
}

rill_status tfl_emit_reshape(struct conversion *c, uint32_t x, const struct tfl_tensor *t,
                             uint32_t *ret)
{
    int64_t dim[RANK_MAX];
    uint32_t shape;
    for (int i = 0; i < t->shape.rank; i++)
        dim[i] = t->open >> i & 1 ? -1 : t->shape.dim[i];
    if (t->open & (t->open - 1))
        return tfl_fail(c, RILL_UNSUPPORTED,
                        "tensor '%.80s' has several axes that the file leaves open; a reshape to "
                        "one is read",
                        t->name);
    TRY(tfl_wire_i64s(c, dim, (unsigned) t->shape.rank, &shape));
    return tfl_emit2(c, OP_RESHAPE, x, shape, ret);
}

static rill_status emit_clip(struct conversion *c, uint32_t x, float low, float high, uint32_t *ret)
{
    uint32_t in[3] = { x };
    TRY(tfl_wire_f32(c, low, &in[1]));
    TRY(tfl_wire_f32(c, high, &in[2]));
    TRY(tfl_emit2(c, OP_MAX, x, in[1], ret));
    return tfl_emit2(c, OP_MIN, *ret, in[2], ret);
}

rill_status tfl_emit_activation(struct conversion *c, int activation, uint32_t x, uint32_t *ret)
{
    *ret = x;
    switch (activation) {
    case ACTIVATION_NONE: return RILL_OK;
    case ACTIVATION_RELU: return tfl_emit1(c, OP_RELU, x, ret);
    case ACTIVATION_RELU_N1_TO_1: return emit_clip(c, x, -1, 1, ret);
    case ACTIVATION_RELU6: return emit_clip(c, x, 0, 6, ret);
    case ACTIVATION_TANH: return tfl_emit1(c, OP_TANH, x, ret);
    default:
        return tfl_fail(c, RILL_UNSUPPORTED, "its activation is number %d; 0 to 4 are read",
                        activation);
    }
}

/* The sizes of what only leaves the net are those that it is made with; operators go by what the
 * file says. Where axes are open a size of 1 may stand for one that is. */
static const struct declared *declared_of(const struct reader *r, const struct tfl_tensor *t)
{
    struct declared *d = arena_new(r->arena, struct declared);
    if (!d)
        return NULL;
    *d = (struct declared) { .tensor = t->name,
                             .like = WIRE_NONE,
                             .type = t->shape.type,
                             .rank = t->ranked && t->read ? t->shape.rank : -1 };
    for (int i = 0; i < t->shape.rank; i++) {
        bool open = t->open >> i & 1 || (r->n_open && t->shape.dim[i] == 1);
        d->dim[i] = open ? -1 : t->shape.dim[i];
    }
    return d;
}

/* The wire takes the output's name where it has none of the file's. */
rill_status tfl_result(struct conversion *c, unsigned i, uint32_t w)
{
    struct tfl_tensor *t = operand(c, c->out, i);
    if (!t)
        return RILL_OK;
    t->wire = w;
    struct wire *made = &c->s->g->wires[w];
    if (made->node == WIRE_NONE || made->declared)
        return RILL_OK;
    made->declared = declared_of(c->r, t);
    if (strchr(made->name, '/'))
        made->name = t->name;
    return made->declared ? RILL_OK : tfl_no_memory(c->r);
}

/* ---- quantised numbers ---- */

struct factor tfl_factor_of(double v)
{
    struct factor f = { 0, 0 };
    int exponent;
    if (!(v > 0))
        return f;
    if (!isfinite(v))
        return (struct factor) { INT32_MAX, 30 };
    int64_t q = (int64_t) round(frexp(v, &exponent) * (double) ((int64_t) 1 << 31));
    if (q == (int64_t) 1 << 31) {
        q /= 2;
        exponent++;
    }
    if (exponent < -31)
        return f;
    return (struct factor) { exponent > 30 ? INT32_MAX : (int32_t) q,
                             exponent > 30 ? 30 : exponent };
}

int32_t tfl_halved(int32_t v, int by)
{
    int64_t half = ((int64_t) 1 << by) >> 1;
    return (int32_t) ((v + half - (v < 0 && by)) >> by);
}

int32_t tfl_factor_apply(struct factor f, int32_t v)
{
    int64_t up = (int64_t) v * ((int64_t) 1 << (f.shift > 0 ? f.shift : 0));
    up = up > INT32_MAX ? INT32_MAX : up < INT32_MIN ? INT32_MIN : up;
    return tfl_halved((int32_t) ((up * f.multiplier + (1 << 30)) >> 31),
                      f.shift > 0 ? 0 : -f.shift);
}

rill_status tfl_single(struct conversion *c, const struct tfl_tensor *t)
{
    if (t && tfl_type_is_byte(t->shape.type) && t->q.n == 1)
        return RILL_OK;
    return tfl_fail(c, RILL_UNSUPPORTED,
                    "tensor '%.80s' is %s with %u scales; wants 8 bits with one scale and zero "
                    "point",
                    t ? t->name : "", t ? dtype_name(t->shape.type) : "absent", t ? t->q.n : 0);
}

rill_status tfl_single_whole(struct conversion *c, const struct tfl_tensor *t)
{
    if (!t || t->shape.type != DTYPE_I16)
        return tfl_single(c, t);
    if (t->q.n == 1 && tfl_quant_centred(c->r, t))
        return RILL_OK;
    return tfl_fail(c, RILL_UNSUPPORTED,
                    "tensor '%.80s' is i16 with %u scales and a zero point of %d; wants one scale "
                    "around 0",
                    t->name, t->q.n, tfl_quant_zero(c->r, t));
}

bool tfl_power_of_two(float x, int *ret)
{
    const float v = (float) (log((double) x) * (1.0 / log(2.0)));
    *ret = (int) roundf(v);
    return fabsf(v - (float) *ret) < 1e-3f;
}

static int64_t quantised(float v, float scale, int32_t zero)
{
    float q = roundf(v / scale);
    return zero + (int64_t) (q > 1e6f ? 1e6f : q < -1e6f ? -1e6f : q);
}

rill_status tfl_range_attrs(struct conversion *c, const struct tfl_tensor *y, int activation,
                            struct attr ret[RANGE_ATTRS])
{
    TRY(tfl_single_whole(c, y));
    float scale = tfl_quant_scale(c->r, y, 0);
    int32_t zero = tfl_quant_zero(c->r, y);
    int64_t low = y->shape.type == DTYPE_I16 ? INT16_MIN : y->shape.type == DTYPE_I8 ? INT8_MIN : 0;
    int64_t high = y->shape.type == DTYPE_I16 ? INT16_MAX : low + UINT8_MAX, least = low,
            most = high;
    if (activation == ACTIVATION_RELU || activation == ACTIVATION_RELU6)
        least = quantised(0, scale, zero);
    if (activation == ACTIVATION_RELU6)
        most = quantised(6, scale, zero);
    if (activation == ACTIVATION_RELU_N1_TO_1) {
        least = quantised(-1, scale, zero);
        most = quantised(1, scale, zero);
    }
    if (activation > ACTIVATION_RELU6 || activation < 0)
        return tfl_fail(c, RILL_UNSUPPORTED,
                        "its activation is number %d; on whole numbers 0 to 3 are read",
                        activation);
    least = least > low ? least : low;
    most = most < high ? most : high;
    ret[0] = attr_int("to", y->shape.type);
    ret[1] = attr_int("zero", zero);
    ret[2] = attr_int("low", least < high ? least : high);
    ret[3] = attr_int("high", most > low ? most : low);
    return RILL_OK;
}

/* The reference multiplies the scales of a convolution of u8 as floats, others as doubles. */
rill_status tfl_factors_make(struct conversion *c, const struct product_of *of, uint32_t ret[2])
{
    const bool single = tfl_type(c, of->x) == DTYPE_U8 && !of->full;
    const struct tfl_tensor *x = tfl_in(c, of->x), *w = tfl_in(c, of->w), *y = tfl_out(c, 0);
    int64_t n = w->q.n;
    struct tensor *multiplier = tensor_new(c->r->arena, DTYPE_I32, 1, &n),
                  *shift = tensor_new(c->r->arena, DTYPE_I32, 1, &n);
    if (!multiplier || !shift)
        return tfl_no_memory(c->r);
    float of_x = tfl_quant_scale(c->r, x, 0), of_y = tfl_quant_scale(c->r, y, 0);
    for (uint32_t i = 0; i < w->q.n; i++) {
        float of_w = tfl_quant_scale(c->r, w, i);
        double product = single ? (double) (of_x * of_w) : (double) of_x * (double) of_w;
        struct factor f = tfl_factor_of(product / (double) of_y);
        ((int32_t *) multiplier->data)[i] = f.multiplier;
        ((int32_t *) shift->data)[i] = f.shift;
    }
    TRY(tfl_wire_of(c, multiplier, &ret[0]));
    return tfl_wire_of(c, shift, &ret[1]);
}

rill_status tfl_bias_check(struct conversion *c, unsigned i, unsigned of_weights, int axis)
{
    const struct tfl_tensor *bias = tfl_in(c, i), *w = tfl_in(c, of_weights);
    if (!bias || axis >= w->shape.rank || tensor_count(&bias->shape) == w->shape.dim[axis])
        return RILL_OK;
    return tfl_fail(c, RILL_MALFORMED, "bias '%.80s' has %lld numbers for %lld outputs", bias->name,
                    (long long) tensor_count(&bias->shape), (long long) w->shape.dim[axis]);
}
