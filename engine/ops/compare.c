/* SPDX-License-Identifier: MIT */
/* compare.c - comparisons, selection and clipping. A comparison with NaN is false. */
#include "engine/ops/ops.h"
#include "engine/ops/elem.h"

#include <math.h>
#include <string.h>

struct compare_def {
    struct op op;
    unsigned types;
    elem_fn *const *fns;
};

#define DEF_EQ(T, C, op) ELEM_ROWS2(eq_##T, uint8_t, C, u == v)
#define DEF_GT(T, C, op) ELEM_ROWS2(gt_##T, uint8_t, C, u > v)
#define DEF_GE(T, C, op) ELEM_ROWS2(ge_##T, uint8_t, C, u >= v)
#define DEF_LT(T, C, op) ELEM_ROWS2(lt_##T, uint8_t, C, u < v)
#define DEF_LE(T, C, op) ELEM_ROWS2(le_##T, uint8_t, C, u <= v)
#define LIST_NUM(X, op) ELEM_FLOATS(X, op) ELEM_SIGNED(X, op) ELEM_UNSIGNED(X, op)
#define LIST_EQ(X, op) LIST_NUM(X, op) X(BOOL, uint8_t, op)
LIST_NUM(DEF_EQ, _)
LIST_NUM(DEF_GT, _)
LIST_NUM(DEF_GE, _)
LIST_NUM(DEF_LT, _)
LIST_NUM(DEF_LE, _)
ELEM_ROWS2(eq_BOOL, uint8_t, uint8_t, (u != 0) == (v != 0))

#define TABLE(NAME, LIST)                                                                          \
    static elem_fn *const NAME##_fns[DTYPE_COUNT] = { LIST(ELEM_TABLE_ENTRY, NAME) }
TABLE(eq, LIST_EQ);
TABLE(gt, LIST_NUM);
TABLE(ge, LIST_NUM);
TABLE(lt, LIST_NUM);
TABLE(le, LIST_NUM);

static const struct dim *dim_le(struct dims *ds, const struct dim *a, const struct dim *b)
{
    return dim_ge(ds, b, a);
}

static const struct dim *dim_gt(struct dims *ds, const struct dim *a, const struct dim *b)
{
    return dim_ge(ds, a, dim_add_int(ds, b, 1));
}

static const struct dim *dim_lt(struct dims *ds, const struct dim *a, const struct dim *b)
{
    return dim_gt(ds, b, a);
}

ELEM_DIM2(eq)
ELEM_DIM2(ge)
ELEM_DIM2(le)
ELEM_DIM2(gt)
ELEM_DIM2(lt)

static const struct compare_def *def_of(const struct node *n)
{
    return (const struct compare_def *) (const void *) n->op;
}

static rill_status compare_infer(struct infer *c)
{
    enum dtype t;
    TRY(elem_common_type(c, 0, 1, def_of(c->node)->types, &t));
    return infer_broadcast(c, 0, t == DTYPE_DIM ? DTYPE_DIM : DTYPE_BOOL, 0, 1);
}

static rill_status plan_prepare(struct prep *c, elem_fn *const *fns, const struct tensor *const *in,
                                unsigned n_in)
{
    struct elem_plan *p = arena_new(c->arena, struct elem_plan);
    if (!p)
        return op_fail(c->err, RILL_NOMEM, c->node, "out of memory");
    if (!elem_plan_make(p, c->out[0], in, n_in, fns))
        return prep_fail(c, "no loop for elements of type %s", dtype_name(in[0]->type));
    c->args = p;
    c->kernel = "elementwise";
    return RILL_OK;
}

static rill_status compare_prepare(struct prep *c)
{
    return plan_prepare(c, def_of(c->node)->fns, c->in, 2);
}

/* ---- Where: by element size ---- */

#define DEF_WHERE(NAME, C)                                                                         \
    static void NAME(const struct elem_plan *pl, const struct elem_block *b, const struct kern *k, \
                     void *y, const void *const *x)                                                \
    {                                                                                              \
        (void) pl;                                                                                 \
        (void) k;                                                                                  \
        C *o = y;                                                                                  \
        const uint8_t *c = x[0];                                                                   \
        const C *p = x[1], *q = x[2];                                                              \
        const struct elem_block s = *b;                                                            \
        const size_t cs = s.col[0], ps = s.col[1], qs = s.col[2];                                  \
        for (size_t i = 0; i < s.m; i++) {                                                         \
            for (size_t j = 0; cs && ps && qs && j < s.n; j++) {                                   \
                const C m = (C) (0 - (C) (c[j] != 0));                                             \
                o[j] = (C) ((p[j] & m) | (q[j] & (C) ~m));                                         \
            }                                                                                      \
            for (size_t j = 0; !(cs && ps && qs) && j < s.n; j++)                                  \
                o[j] = c[j * cs] ? p[j * ps] : q[j * qs];                                          \
            o += s.n;                                                                              \
            c += s.row[0];                                                                         \
            p += s.row[1];                                                                         \
            q += s.row[2];                                                                         \
        }                                                                                          \
    }
DEF_WHERE(where_1, uint8_t)
DEF_WHERE(where_2, uint16_t)
DEF_WHERE(where_4, uint32_t)
DEF_WHERE(where_8, uint64_t)

static rill_status where_infer(struct infer *c)
{
    enum dtype cond = c->in[0]->type, t;
    if (cond != DTYPE_BOOL && cond != DTYPE_DIM)
        return infer_fail(c, "the condition is %s, must be bool", dtype_name(cond));
    TRY(elem_common_type(c, 1, 2, TYPES_ANY, &t));
    if (cond == DTYPE_DIM && dtype_is_float(t))
        return infer_fail(c, "the condition depends on a symbolic size; give the size a number");
    return infer_broadcast(c, 0, cond == DTYPE_DIM ? DTYPE_DIM : t, 0, 2);
}

static rill_status where_prepare(struct prep *c)
{
    static elem_fn *const by_size[9] = {
        [1] = where_1, [2] = where_2, [4] = where_4, [8] = where_8
    };
    if (c->in[0]->type != DTYPE_BOOL || c->out[0]->type == DTYPE_DIM)
        return prep_fail(c, "a symbolic size is left");
    elem_fn *const fns[DTYPE_COUNT] = { [DTYPE_BOOL] = by_size[dtype_bytes(c->out[0]->type)] };
    return plan_prepare(c, fns, c->in, 3);
}

/* All of one side, which may lie there already: states of a network that did not run stay so. */
static bool where_is_one_side(const struct eval *e)
{
    if (tensor_count(e->in[0]) != 1)
        return false;
    const unsigned side = *(const uint8_t *) e->x[0] ? 1 : 2;
    if (tensor_count(e->in[side]) != tensor_count(e->out[0]))
        return false;
    if (e->y[0] != e->x[side] && tensor_count(e->out[0]))
        memcpy(e->y[0], e->x[side], tensor_bytes(e->out[0]));
    return true;
}

static void where_eval(const struct eval *e)
{
    if (!where_is_one_side(e))
        elem_eval(e);
}

/* Each element is read before it is written. */
static int where_base(const struct node *n, unsigned output)
{
    (void) n;
    return output ? -1 : 2;
}

/* What is missing to a whole multiple, as pads are computed: 0 where k divides x, else k - x % k,
 * is k * ceil(x / k) - x, which is 0 where k divides x. NULL: it is something else. */
static const struct dim *dim_missing(struct dims *ds, const struct dim *is, const struct dim *none,
                                     const struct dim *else_)
{
    const struct dim_parts x = dim_parts(is);
    if (x.form != DIM_FORM_EQUAL || !dim_is(none, 0))
        return NULL;
    for (unsigned i = 0; i < 2; i++) {
        const struct dim *left = dim_sub(ds, x.arg[i], x.arg[1 - i]), *k = dim_add(ds, else_, left);
        if (!dim_is_const(k) || dim_value(k) <= 0 || dim_value(k) > INT32_MAX)
            continue;
        const struct dim *down = dim_div_int(ds, x.arg[i], dim_value(k)),
                         *up = dim_div_ceil_int(ds, x.arg[i], dim_value(k));
        if (dim_mul_int(ds, down, dim_value(k)) == x.arg[1 - i])
            return dim_sub(ds, dim_mul_int(ds, up, dim_value(k)), x.arg[i]);
    }
    return NULL;
}

/* Of 0 == x, as a negation is, that x; NULL: it is something else. */
static const struct dim *dim_negated(const struct dim *is)
{
    const struct dim_parts x = dim_parts(is);
    if (x.form != DIM_FORM_EQUAL || (!dim_is(x.arg[0], 0) && !dim_is(x.arg[1], 0)))
        return NULL;
    return x.arg[dim_is(x.arg[0], 0)];
}

static const struct dim *dim_where(struct dims *ds, const struct dim *is, const struct dim *a,
                                   const struct dim *b)
{
    if (dim_is_const(is))
        return dim_value(is) ? a : b;
    const struct dim *other = dim_negated(is), *missing = dim_missing(ds, is, a, b);
    if (!missing && other)
        missing = dim_missing(ds, other, b, a);
    return missing ? missing : dim_add(ds, b, dim_mul(ds, is, dim_sub(ds, a, b)));
}

static void where_dim(const struct eval *e, struct dims *ds)
{
    struct elem_loop l;
    elem_loop_make(&l, e->out[0], e->in, 3);
    const struct dim **y = e->y[0];
    size_t n = (size_t) tensor_count(e->out[0]);
    for (size_t i = 0; i < n; i++) {
        const struct dim *v[3];
        for (unsigned k = 0; k < 3; k++)
            v[k] = elem_dim_at(ds, e->in[k], e->x[k], elem_offset(&l, k, i));
        y[i] = dim_where(ds, v[0], v[1], v[2]);
    }
}

/* ---- Clip: the bounds are scalars of the input's type ---- */

typedef void clip_fn(void *y, const void *x, const void *lo, const void *hi, size_t n);

#define DEF_CLIP(T, C, op)                                                                         \
    static void clip_##T(void *y, const void *x, const void *lo, const void *hi, size_t n)         \
    {                                                                                              \
        const C *p = x;                                                                            \
        C *o = y;                                                                                  \
        const C l = lo ? *(const C *) lo : LOWEST_##T, h = hi ? *(const C *) hi : HIGHEST_##T;     \
        for (size_t i = 0; i < n; i++) {                                                           \
            C v = p[i] < l ? l : p[i];                                                             \
            o[i] = v > h ? h : v;                                                                  \
        }                                                                                          \
    }
#define LOWEST_F32 -HUGE_VALF
#define HIGHEST_F32 HUGE_VALF
#define LOWEST_F64 -HUGE_VAL
#define HIGHEST_F64 HUGE_VAL
#define LOWEST_I8 INT8_MIN
#define HIGHEST_I8 INT8_MAX
#define LOWEST_I16 INT16_MIN
#define HIGHEST_I16 INT16_MAX
#define LOWEST_I32 INT32_MIN
#define HIGHEST_I32 INT32_MAX
#define LOWEST_I64 INT64_MIN
#define HIGHEST_I64 INT64_MAX
#define LOWEST_U8 0
#define HIGHEST_U8 UINT8_MAX
#define LOWEST_U16 0
#define HIGHEST_U16 UINT16_MAX
#define LOWEST_U32 0
#define HIGHEST_U32 UINT32_MAX
#define LOWEST_U64 0
#define HIGHEST_U64 UINT64_MAX
LIST_NUM(DEF_CLIP, _)
static clip_fn *const clip_fns[DTYPE_COUNT] = { LIST_NUM(ELEM_TABLE_ENTRY, clip) };

static rill_status bound_check(const struct infer *c, unsigned i)
{
    const struct fact *f = c->in[i];
    enum dtype t = fact_number(c->in[0]);
    if (fact_number(f) != t)
        return infer_fail(c, "bound %u is %s but the input is %s", i, dtype_name(fact_number(f)),
                          dtype_name(t));
    if (f->rank > 1 || (f->rank == 1 && !dim_is(f->shape[0], 1)))
        return infer_fail(c, "bound %u must be a scalar", i);
    return RILL_OK;
}

/* While it runs, sizes are numbers like the other operands. */
static rill_status clip_infer(struct infer *c)
{
    TRY(elem_check_type(c, 0, TYPES_NUM));
    bool known = c->in[0]->value != NULL, any = c->in[0]->type == DTYPE_DIM, all = any;
    for (unsigned i = 1; i <= 2; i++) {
        if (!infer_has(c, i))
            continue;
        TRY(bound_check(c, i));
        known &= c->in[i]->value != NULL;
        any |= c->in[i]->type == DTYPE_DIM;
        all &= c->in[i]->type == DTYPE_DIM;
    }
    infer_same(c, 0, 0);
    c->out[0].type = any && (known || all) ? DTYPE_DIM : fact_number(c->in[0]);
    return RILL_OK;
}

static const void *bound_at(const struct eval *e, unsigned i)
{
    return i < e->n_in ? e->x[i] : NULL;
}

static void clip_half(const struct eval *e, size_t n)
{
    enum dtype t = e->in[0]->type;
    float lo = -HUGE_VALF, hi = HUGE_VALF, buf[128];
    if (bound_at(e, 1))
        elem_widen(t, &lo, bound_at(e, 1), 1);
    if (bound_at(e, 2))
        elem_widen(t, &hi, bound_at(e, 2), 1);
    for (size_t at = 0; at < n; at += 128) {
        size_t m = n - at < 128 ? n - at : 128;
        elem_widen(t, buf, (const uint16_t *) e->x[0] + at, m);
        clip_F32(buf, buf, &lo, &hi, m);
        elem_narrow(t, (uint16_t *) e->y[0] + at, buf, m);
    }
}

static void clip_dim(const struct eval *e, struct dims *ds)
{
    const struct dim **y = e->y[0];
    for (int64_t i = 0; i < tensor_count(e->out[0]); i++) {
        y[i] = elem_dim_at(ds, e->in[0], e->x[0], (size_t) i);
        if (bound_at(e, 1))
            y[i] = dim_max(ds, y[i], elem_dim_at(ds, e->in[1], e->x[1], 0));
        if (bound_at(e, 2))
            y[i] = dim_min(ds, y[i], elem_dim_at(ds, e->in[2], e->x[2], 0));
    }
}

static void clip_eval(const struct eval *e)
{
    clip_fn *f = clip_fns[e->in[0]->type];
    size_t n = (size_t) tensor_count(e->out[0]);
    if (f)
        f(e->y[0], e->x[0], bound_at(e, 1), bound_at(e, 2), n);
    else
        clip_half(e, n);
}

/* ---- the table ---- */

/* clang-format off */
#define COMPARE_LIST(X)                                                                           \
    X(EQUAL, Equal, TYPES_ANY, eq_fns, eq_dim, "a == b")                                                 \
    X(GREATER, Greater, TYPES_NUM, gt_fns, gt_dim, "a > b")                                                \
    X(GREATER_OR_EQUAL, GreaterOrEqual, TYPES_NUM, ge_fns, ge_dim, "a >= b")                                        \
    X(LESS, Less, TYPES_NUM, lt_fns, lt_dim, "a < b")                                                   \
    X(LESS_OR_EQUAL, LessOrEqual, TYPES_NUM, le_fns, le_dim, "a <= b")
/* clang-format on */

#define X(number, stem, set, table, sizes, words)                                                  \
    static const struct compare_def def_##stem = { .op = { .id = OP_##number,                      \
                                                           .name = #stem,                          \
                                                           .min_in = 2,                            \
                                                           .max_in = 2,                            \
                                                           .min_out = 1,                           \
                                                           .max_out = 1,                           \
                                                           .flags = OP_POINTWISE,                  \
                                                           .infer = compare_infer,                 \
                                                           .prepare = compare_prepare,             \
                                                           .eval = elem_eval,                      \
                                                           .eval_dim = sizes,                      \
                                                           .help = words },                        \
                                                   .types = set,                                   \
                                                   .fns = table };
COMPARE_LIST(X)
#undef X

static const struct op where_op = { .id = OP_WHERE,
                                    .name = "Where",
                                    .min_in = 3,
                                    .max_in = 3,
                                    .min_out = 1,
                                    .max_out = 1,
                                    .flags = OP_POINTWISE,
                                    .infer = where_infer,
                                    .prepare = where_prepare,
                                    .eval = where_eval,
                                    .base = where_base,
                                    .eval_dim = where_dim,
                                    .help = "a where the condition holds, else b" };

static const struct op clip_op = { .id = OP_CLIP,
                                   .name = "Clip",
                                   .min_in = 1,
                                   .max_in = 3,
                                   .min_out = 1,
                                   .max_out = 1,
                                   .flags = OP_POINTWISE,
                                   .infer = clip_infer,
                                   .eval = clip_eval,
                                   .eval_dim = clip_dim,
                                   .help = "x kept within min and max; NaN stays" };

const struct op *const ops_compare[] = {
#define X(number, stem, ...) &def_##stem.op,
    COMPARE_LIST(X)
#undef X
        & where_op,
    &clip_op, NULL
};
