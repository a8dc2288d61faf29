/* SPDX-License-Identifier: MIT */
/* cumsum.c - running sums and products along an axis, in index order (or backwards). */
#include "engine/ops/attrs.h"
#include "engine/ops/ops.h"
#include "engine/ops/elem.h"

struct cumsum_args {
    size_t outer, n, inner;
};

#define TYPES_CUMSUM (TYPES_FLOAT | TYPE_I32 | TYPE_I64 | TYPE_U32 | TYPE_U64)

/* One slice [n][inner]: y[r] = y[r-1] OP x[r], or of what stands before r where exclusive. */
#define DEF_RUNNING(NAME, C, FIRST, OP, LOAD, STORE)                                               \
    static void NAME(void *y, const void *x, const struct cumsum_args *g,                          \
                     const struct cumsum_attr *a, void *scratch)                                   \
    {                                                                                              \
        C *sum = scratch;                                                                          \
        for (size_t o = 0; o < g->outer; o++) {                                                    \
            for (size_t j = 0; j < g->inner; j++)                                                  \
                sum[j] = FIRST;                                                                    \
            for (size_t r = 0; r < g->n; r++) {                                                    \
                size_t at = (o * g->n + (a->reverse ? g->n - 1 - r : r)) * g->inner;               \
                for (size_t j = 0; j < g->inner; j++, at++) {                                      \
                    C before = sum[j], after = (C) (before OP LOAD(x, at)),                        \
                      v = a->exclusive ? before : after;                                           \
                    sum[j] = after;                                                                \
                    STORE(y, at, v);                                                               \
                }                                                                                  \
            }                                                                                      \
        }                                                                                          \
    }
#define LOAD_F32(x, i) ((const float *) x)[i]
#define LOAD_F64(x, i) ((const double *) x)[i]
#define LOAD_32(x, i) ((const uint32_t *) x)[i]
#define LOAD_64(x, i) ((const uint64_t *) x)[i]
#define LOAD_F16(x, i) f16_to_f32(((const uint16_t *) x)[i])
#define LOAD_BF16(x, i) bf16_to_f32(((const uint16_t *) x)[i])
#define STORE_F32(y, i, v) ((float *) y)[i] = v
#define STORE_F64(y, i, v) ((double *) y)[i] = v
#define STORE_32(y, i, v) ((uint32_t *) y)[i] = v
#define STORE_64(y, i, v) ((uint64_t *) y)[i] = v
#define STORE_F16(y, i, v) ((uint16_t *) y)[i] = f32_to_f16(v)
#define STORE_BF16(y, i, v) ((uint16_t *) y)[i] = f32_to_bf16(v)
/* clang-format off */
#define RUNNING(stem, FIRST, OP)                                                                   \
    DEF_RUNNING(stem##_f32, float, FIRST, OP, LOAD_F32, STORE_F32)                                 \
    DEF_RUNNING(stem##_f64, double, FIRST, OP, LOAD_F64, STORE_F64)                                \
    DEF_RUNNING(stem##_32, uint32_t, FIRST, OP, LOAD_32, STORE_32)                                 \
    DEF_RUNNING(stem##_64, uint64_t, FIRST, OP, LOAD_64, STORE_64)                                 \
    DEF_RUNNING(stem##_f16, float, FIRST, OP, LOAD_F16, STORE_F16)                                 \
    DEF_RUNNING(stem##_bf16, float, FIRST, OP, LOAD_BF16, STORE_BF16)
/* clang-format on */
RUNNING(cumsum, 0, +)
RUNNING(cumprod, 1, *)

typedef void cumsum_fn(void *y, const void *x, const struct cumsum_args *g,
                       const struct cumsum_attr *a, void *scratch);
/* clang-format off */
#define FNS(stem)                                                                                  \
    [DTYPE_F32] = stem##_f32, [DTYPE_F64] = stem##_f64, [DTYPE_F16] = stem##_f16,                  \
    [DTYPE_BF16] = stem##_bf16, [DTYPE_I32] = stem##_32, [DTYPE_U32] = stem##_32,                  \
    [DTYPE_I64] = stem##_64, [DTYPE_U64] = stem##_64
static cumsum_fn *const cumsum_fns[DTYPE_COUNT] = { FNS(cumsum) };
static cumsum_fn *const cumprod_fns[DTYPE_COUNT] = { FNS(cumprod) };
/* clang-format on */

static rill_status cumsum_infer(struct infer *c)
{
    TRY(elem_check_type(c, 0, TYPES_CUMSUM));
    const struct fact *axis = c->in[1];
    if (axis->type != DTYPE_I32 && axis->type != DTYPE_I64)
        return infer_fail(c, "the axis is %s, must be i32 or i64", dtype_name(axis->type));
    int64_t v;
    unsigned n;
    if (!axis->value)
        return infer_fail(c, "the axis must be one constant");
    TRY(infer_ints(c, 1, &v, 1, &n));
    if (n != 1 || axis_normalise(v, c->in[0]->rank) < 0)
        return infer_fail(c, "axis %lld does not exist in a tensor of rank %d",
                          n ? (long long) v : 0, c->in[0]->rank);
    infer_same(c, 0, 0);
    return RILL_OK;
}

static rill_status cumsum_prepare(struct prep *c)
{
    const struct tensor *t = c->in[0], *at = c->in[1];
    struct cumsum_args *g = arena_new(c->arena, struct cumsum_args);
    if (!g)
        return op_fail(c->err, RILL_NOMEM, c->node, "out of memory");
    if (!at->data || tensor_count(at) != 1)
        return prep_fail(c, "the axis must be one constant");
    int axis = axis_normalise(tensor_get_i64(at, at->data, 0), t->rank);
    if (axis < 0)
        return prep_fail(c, "the axis does not exist in a tensor of rank %d", t->rank);
    *g = (struct cumsum_args) { 1, (size_t) t->dim[axis], 1 };
    for (int i = 0; i < t->rank; i++) {
        g->outer *= i < axis ? (size_t) t->dim[i] : 1;
        g->inner *= i > axis ? (size_t) t->dim[i] : 1;
    }
    c->scratch_bytes = g->inner * sizeof(double);
    c->args = g;
    return RILL_OK;
}

static void running_eval(const struct eval *e, cumsum_fn *f)
{
    const struct cumsum_args *g = e->args;
    if (g->outer && g->n && g->inner)
        f(e->y[0], e->x[0], g, e->attr, e->scratch);
}
static void cumsum_eval(const struct eval *e)
{
    running_eval(e, cumsum_fns[e->in[0]->type]);
}
static void cumprod_eval(const struct eval *e)
{
    running_eval(e, cumprod_fns[e->in[0]->type]);
}

static const struct attr_spec cumsum_attrs[] = {
    { .name = "exclusive", .kind = ATTR_INT, .offset = offsetof(struct cumsum_attr, exclusive) },
    { .name = "reverse", .kind = ATTR_INT, .offset = offsetof(struct cumsum_attr, reverse) },
    { 0 }
};

OP_ROW(cumsum, CUMSUM, "CumSum", cumsum_attrs, sizeof(struct cumsum_attr), 2, 2, 1, cumsum_infer,
       cumsum_prepare, cumsum_eval, "running sum along an axis");
OP_ROW(cumprod, CUMPROD, "CumProd", cumsum_attrs, sizeof(struct cumsum_attr), 2, 2, 1, cumsum_infer,
       cumsum_prepare, cumprod_eval, "running product along an axis");

const struct op *const ops_cumsum[] = { &op_cumsum, &op_cumprod, NULL };
