/* SPDX-License-Identifier: MIT */
/* pow.c - Pow, whose base and exponent may have different types; the result has the base's. */
#include "engine/ops/ops.h"
#include "engine/ops/elem.h"
#include "engine/ops/fmath.h"

#define TYPES_BASE (TYPES_FLOAT | TYPE_I32 | TYPE_I64)

/* ---- f32 to f32: the usual exponents are a product or a root, with the same bits as the rest
 * ---- */

static void pow_row_half(float *y, const float *x, size_t n)
{
    for (size_t i = 0; i < n; i++)
        y[i] = x[i] == -HUGE_VALF ? HUGE_VALF : sqrtf(x[i]) + 0.0f;
}

static void pow_row_cube(float *y, const float *x, size_t n)
{
    for (size_t i = 0; i < n; i++)
        y[i] = (float) ((double) x[i] * x[i] * x[i]);
}

static void pow_row_scalar(const struct kern *k, float *y, const float *x, float v, size_t n)
{
    if (v == 2)
        k->mul_f32(y, x, x, n);
    else if (v == 0.5f)
        pow_row_half(y, x, n);
    else if (v == 3)
        pow_row_cube(y, x, n);
    else if (v == 1)
        memmove(y, x, n * sizeof *y);
    else
        for (size_t i = 0; i < n; i++)
            y[i] = (float) fm_pow(x[i], v);
}

static void pow_f32(const struct elem_plan *pl, const struct elem_block *b, const struct kern *k,
                    void *y, const void *const *x)
{
    (void) pl;
    float *o = y;
    const float *p = x[0], *q = x[1];
    for (size_t i = 0; i < b->m; i++, o += b->n, p += b->row[0], q += b->row[1]) {
        if (b->col[0] && !b->col[1])
            pow_row_scalar(k, o, p, *q, b->n);
        else
            for (size_t j = 0; j < b->n; j++)
                o[j] = (float) fm_pow(p[j * b->col[0]], q[j * b->col[1]]);
    }
}

ELEM_ROWS2(pow_f64, double, double, pow(u, v))

/* ---- any other pair ---- */

/* a^n modulo 2^64; a negative exponent truncates towards 0. */
static int64_t pow_int(int64_t a, int64_t n)
{
    if (n < 0)
        return a == 1 ? 1 : a == -1 ? (n & 1 ? -1 : 1) : 0;
    uint64_t r = 1, base = (uint64_t) a;
    for (uint64_t left = (uint64_t) n; left; left >>= 1, base *= base)
        if (left & 1)
            r *= base;
    return (int64_t) r;
}

static void pow_any(const struct eval *e)
{
    const struct elem_plan *p = e->args;
    const struct tensor *a = e->in[0], *b = e->in[1], *o = e->out[0];
    for (size_t i = 0; i < p->count; i++) {
        int64_t ia = (int64_t) elem_offset(&p->loop, 0, i),
                ib = (int64_t) elem_offset(&p->loop, 1, i);
        if (dtype_is_int(a->type) && dtype_is_int(b->type)) {
            int64_t v = pow_int(tensor_get_i64(a, e->x[0], ia), tensor_get_i64(b, e->x[1], ib));
            if (o->type == DTYPE_I32)
                ((int32_t *) e->y[0])[i] = (int32_t) v;
            else
                ((int64_t *) e->y[0])[i] = v;
        } else {
            double v = pow(tensor_get_f64(a, e->x[0], ia), tensor_get_f64(b, e->x[1], ib));
            if (o->type == DTYPE_I32)
                v = v > INT32_MAX ? INT32_MAX : v < INT32_MIN ? INT32_MIN : v;
            tensor_set_f64(o, e->y[0], (int64_t) i, v);
        }
    }
}

#define SIZE_POWER_MAX 8

static const struct dim *dim_pow(struct dims *ds, const struct dim *a, const struct dim *b)
{
    const struct dim *y = dim_int(ds, 1);
    if (dim_is_const(a) && dim_is_const(b))
        return dim_int(ds, pow_int(dim_value(a), dim_value(b)));
    if (!dim_is_const(b) || dim_value(b) < 0 || dim_value(b) > SIZE_POWER_MAX)
        return dim_fresh(ds);
    for (int64_t i = 0; i < dim_value(b); i++)
        y = dim_mul(ds, y, a);
    return y;
}

ELEM_DIM2(pow)

static rill_status pow_infer(struct infer *c)
{
    const bool sizes = c->n_in == 2 && infer_has(c, 0) && infer_has(c, 1) &&
        (c->in[0]->type == DTYPE_DIM || c->in[1]->type == DTYPE_DIM);
    enum dtype t;
    if (sizes && dtype_is_int(fact_number(c->in[0])) && dtype_is_int(fact_number(c->in[1]))) {
        TRY(elem_common_type(c, 0, 1, TYPE_I32 | TYPE_I64, &t));
        return infer_broadcast(c, 0, t, 0, 1);
    }
    TRY(elem_check_type(c, 0, TYPES_BASE));
    TRY(elem_check_type(c, 1, TYPES_NUM));
    return infer_broadcast(c, 0, c->in[0]->type, 0, 1);
}

static rill_status pow_prepare(struct prep *c)
{
    static elem_fn *const fns[DTYPE_COUNT] = { [DTYPE_F32] = pow_f32, [DTYPE_F64] = pow_f64 };
    struct elem_plan *p = arena_new(c->arena, struct elem_plan);
    if (!p)
        return op_fail(c->err, RILL_NOMEM, c->node, "out of memory");
    if (!elem_plan_make(p, c->out[0], c->in, 2, fns) || c->in[0]->type != c->in[1]->type)
        p->fn = NULL;
    c->args = p;
    c->kernel = "elementwise";
    return RILL_OK;
}

static void pow_eval(const struct eval *e)
{
    const struct elem_plan *p = e->args;
    if (p->fn)
        elem_run(p, e->kern, e->y[0], e->x);
    else
        pow_any(e);
}

static const struct op pow_op = { .id = OP_POW,
                                  .name = "Pow",
                                  .min_in = 2,
                                  .max_in = 2,
                                  .min_out = 1,
                                  .max_out = 1,
                                  .flags = OP_POINTWISE,
                                  .infer = pow_infer,
                                  .prepare = pow_prepare,
                                  .eval = pow_eval,
                                  .eval_dim = pow_dim,
                                  .help = "a to the power of b, in the type of a" };

const struct op *const ops_pow[] = { &pow_op, NULL };
