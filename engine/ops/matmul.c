/* SPDX-License-Identifier: MIT */
/* Products. f32 goes through the packed kernel whether the second operand is a constant (packed once) or not
 * (packed into scratch), so the bits do not depend on it. */
#include "engine/ops.h"

#include <string.h>

/* ---- plain loops for the other types ---- */

#define PLAIN(type)                                                                                           \
    static void plain_##type(void *y, const void *a, const void *b, int64_t m, int64_t n, int64_t k)          \
    {                                                                                                         \
        for (int64_t i = 0; i < m; i++)                                                                       \
            for (int64_t j = 0; j < n; j++) {                                                                 \
                type s = 0;                                                                                   \
                for (int64_t l = 0; l < k; l++)                                                               \
                    s = (type) (s + ((const type *) a)[i * k + l] * ((const type *) b)[l * n + j]);           \
                ((type *) y)[i * n + j] = s;                                                                  \
            }                                                                                                 \
    }
PLAIN(double)
PLAIN(uint32_t)
PLAIN(uint64_t)
#undef PLAIN

typedef void plain_fn(void *y, const void *a, const void *b, int64_t m, int64_t n, int64_t k);

/* Integers wrap, so signed ones are computed as unsigned. */
static plain_fn *plain_of(enum dtype t)
{
    switch (t) {
    case DTYPE_F64: return plain_double;
    case DTYPE_I32:
    case DTYPE_U32: return plain_uint32_t;
    case DTYPE_I64:
    case DTYPE_U64: return plain_uint64_t;
    default: return NULL;
    }
}

/* ---- MatMul ---- */

struct matmul_args {
    int64_t m, n, k, batches;
    int rank;                           /* of the batch */
    int64_t dim[RANK_MAX], sa[RANK_MAX], sb[RANK_MAX];  /* strides in matrices, 0 where broadcast */
    const float *packed;                /* NULL: pack into scratch */
    size_t packed_floats;
};

static rill_status matmul_infer(struct infer *c)
{
    const struct fact *a = c->in[0], *b = c->in[1];
    if (a->rank < 1 || b->rank < 1)
        return infer_fail(c, "wants tensors of rank 1 or more, has %d and %d", a->rank, b->rank);
    if (a->type != b->type || (a->type != DTYPE_F32 && !plain_of(a->type)))
        return infer_fail(c, "cannot multiply %s with %s; f32, f64, i32, i64, u32, u64 of one kind work",
                          dtype_name(a->type), dtype_name(b->type));
    const struct dim *ka = a->shape[a->rank - 1], *kb = b->shape[b->rank > 1 ? b->rank - 2 : 0];
    if (ka != kb && dim_is_const(ka) && dim_is_const(kb))
        return infer_fail(c, "inner sizes are %lld and %lld", (long long) dim_value(ka), (long long) dim_value(kb));
    struct fact fa = *a, fb = *b;
    fa.rank = a->rank > 2 ? a->rank - 2 : 0;
    fb.rank = b->rank > 2 ? b->rank - 2 : 0;
    const struct fact *batch[2] = { &fa, &fb }, *const *in = c->in;
    c->in = batch;
    rill_status s = infer_broadcast(c, 0, a->type, 0, 1);
    c->in = in;
    TRY(s);
    if (a->rank > 1)
        c->out[0].shape[c->out[0].rank++] = a->shape[a->rank - 2];
    if (b->rank > 1)
        c->out[0].shape[c->out[0].rank++] = b->shape[b->rank - 1];
    return RILL_OK;
}

/* Strides over batch matrices of an operand, aligned to the right of `rank` axes. */
static void batch_strides(const struct tensor *t, int rank, int64_t *ret)
{
    int own = t->rank > 2 ? t->rank - 2 : 0;
    int64_t s = 1;
    for (int i = 0; i < rank; i++)
        ret[i] = 0;
    for (int i = own; i-- > 0; s *= t->dim[i])
        ret[rank - own + i] = t->dim[i] == 1 ? 0 : s;
}

static const float *pack_all(struct prep *c, const float *w, int64_t matrices, size_t n, size_t k, size_t so, size_t sk)
{
    size_t each = kern_packed_floats(n, k);
    float *p = arena_alloc_array(c->arena, each * (size_t) matrices + KERN_LANES, sizeof *p);
    for (int64_t i = 0; p && i < matrices; i++)
        kern_pack_f32(p + (size_t) i * each, w + (size_t) i * n * k, n, k, so, sk);
    return p;
}

/* Packed and turned operands must be countable. */
static rill_status sizes_check(struct prep *c, int64_t m, int64_t n, int64_t k)
{
    int64_t left, right;
    if (n > INT64_MAX - KERN_LANES || __builtin_mul_overflow(n + KERN_LANES, k, &right) ||
        __builtin_mul_overflow(m, k, &left) || left > INT64_MAX / 32 || right > INT64_MAX / 32)
        return prep_fail(c, "a product of %lld rows, %lld columns and %lld terms is too large", (long long) m,
                         (long long) n, (long long) k);
    return RILL_OK;
}

static rill_status matmul_prepare(struct prep *c)
{
    const struct tensor *a = c->in[0], *b = c->in[1], *y = c->out[0];
    struct matmul_args *g = arena_new(c->arena, struct matmul_args);
    if (!g)
        return op_fail(c->err, RILL_NOMEM, c->node, "out of memory");
    g->m = a->rank > 1 ? a->dim[a->rank - 2] : 1;
    g->k = a->dim[a->rank - 1];
    g->n = b->rank > 1 ? b->dim[b->rank - 1] : 1;
    g->rank = y->rank - (a->rank > 1) - (b->rank > 1);
    g->batches = 1;
    for (int i = 0; i < g->rank; i++)
        g->batches *= g->dim[i] = y->dim[i];
    batch_strides(a, g->rank, g->sa);
    batch_strides(b, g->rank, g->sb);
    c->args = g;
    c->kernel = "matmul";
    if (a->type != DTYPE_F32 || !tensor_count(y))
        return RILL_OK;
    TRY(sizes_check(c, g->m, g->n, g->k));
    g->packed_floats = kern_packed_floats((size_t) g->n, (size_t) g->k);
    if (b->data) {
        int64_t matrices = g->k && g->n ? tensor_count(b) / (g->k * g->n) : 0;
        g->packed = pack_all(c, b->data, matrices, (size_t) g->n, (size_t) g->k, 1, (size_t) g->n);
        if (!g->packed)
            return op_fail(c->err, RILL_NOMEM, c->node, "out of memory");
        c->kernel = "gemm_f32";
    } else {
        c->scratch_bytes = (g->packed_floats + KERN_LANES) * sizeof(float);
        c->kernel = "gemm_f32 packing";
    }
    /* One matrix for all rows of the batch is one taller product. */
    bool shared = b->rank <= 2;
    if (shared && a->rank > 1) {
        g->m *= g->batches;
        g->batches = 1;
        g->rank = 0;
    }
    return RILL_OK;
}

static void matmul_one(const struct eval *e, const struct matmul_args *g, int64_t y, int64_t a, int64_t b)
{
    const struct tensor *t = e->in[0];
    if (t->type != DTYPE_F32) {
        size_t bytes = dtype_bytes(t->type);
        plain_of(t->type)((char *) e->y[0] + (size_t) (y * g->m * g->n) * bytes,
                          (const char *) e->x[0] + (size_t) (a * g->m * g->k) * bytes,
                          (const char *) e->x[1] + (size_t) (b * g->k * g->n) * bytes, g->m, g->n, g->k);
        return;
    }
    const float *w = g->packed ? g->packed + (size_t) b * g->packed_floats : e->scratch;
    if (!g->packed)
        kern_pack_f32(e->scratch, (const float *) e->x[1] + b * g->k * g->n, (size_t) g->n, (size_t) g->k, 1,
                      (size_t) g->n);
    e->kern->gemm_f32((float *) e->y[0] + y * g->m * g->n, (size_t) g->n, (const float *) e->x[0] + a * g->m * g->k,
                      (size_t) g->k, w, NULL, (size_t) g->m, (size_t) g->n, (size_t) g->k);
}

static void matmul_eval(const struct eval *e)
{
    const struct matmul_args *g = e->args;
    for (int64_t i = 0; i < g->batches && g->m && g->n; i++) {
        int64_t a = 0, b = 0, rest = i;
        for (int k = g->rank; k-- > 0; rest /= g->dim[k]) {
            a += rest % g->dim[k] * g->sa[k];
            b += rest % g->dim[k] * g->sb[k];
        }
        matmul_one(e, g, i, a, b);
    }
}

/* ---- Gemm: y = alpha * A' * B' + beta * C ---- */

struct gemm_attr { float alpha, beta; int64_t ta, tb; };

static const struct attr_spec gemm_attrs[] = {
    { .name = "alpha", .kind = ATTR_FLOAT, .offset = offsetof(struct gemm_attr, alpha), .def_f = 1 },
    { .name = "beta", .kind = ATTR_FLOAT, .offset = offsetof(struct gemm_attr, beta), .def_f = 1 },
    { .name = "transA", .kind = ATTR_INT, .offset = offsetof(struct gemm_attr, ta) },
    { .name = "transB", .kind = ATTR_INT, .offset = offsetof(struct gemm_attr, tb) },
    { 0 },
};

static rill_status gemm_infer(struct infer *c)
{
    const struct gemm_attr *t = c->attr;
    const struct fact *a = c->in[0], *b = c->in[1];
    if (a->rank != 2 || b->rank != 2 || a->type != b->type || (a->type != DTYPE_F32 && a->type != DTYPE_F64))
        return infer_fail(c, "wants two f32 or two f64 matrices");
    const struct dim *ka = a->shape[t->ta ? 0 : 1], *kb = b->shape[t->tb ? 1 : 0];
    if (ka != kb && dim_is_const(ka) && dim_is_const(kb))
        return infer_fail(c, "inner sizes are %lld and %lld", (long long) dim_value(ka), (long long) dim_value(kb));
    const struct dim *shape[2] = { a->shape[t->ta ? 1 : 0], b->shape[t->tb ? 0 : 1] };
    infer_shape(c, 0, a->type, 2, shape);
    if (!infer_has(c, 2))
        return RILL_OK;
    const struct fact *bias = c->in[2];
    if (bias->rank > 2 || bias->type != a->type)
        return infer_fail(c, "the bias must be a %s that broadcasts to the matrix", dtype_name(a->type));
    for (int i = 0; i < bias->rank; i++) {
        const struct dim *d = bias->shape[i], *want = shape[2 - bias->rank + i];
        if (d != want && !dim_is(d, 1) && dim_is_const(want))
            return infer_fail(c, "the bias does not broadcast to the matrix");
    }
    return RILL_OK;
}

struct gemm_args {
    int64_t m, n, k, bias_row, bias_col;    /* strides of the bias, 0 where broadcast */
    const float *packed;
    bool starts_at_bias;                    /* a vector over n, unscaled: the sums start from it */
};

static rill_status gemm_prepare(struct prep *c)
{
    const struct gemm_attr *t = c->attr;
    const struct tensor *a = c->in[0], *b = c->in[1], *bias = c->n_in > 2 ? c->in[2] : NULL;
    struct gemm_args *g = arena_new(c->arena, struct gemm_args);
    if (!g)
        return op_fail(c->err, RILL_NOMEM, c->node, "out of memory");
    *g = (struct gemm_args) { .m = a->dim[t->ta ? 1 : 0], .k = a->dim[t->ta ? 0 : 1], .n = b->dim[t->tb ? 0 : 1] };
    if (bias) {
        int64_t cols = bias->rank > 0 ? bias->dim[bias->rank - 1] : 1;
        g->bias_col = cols > 1;
        g->bias_row = bias->rank == 2 && bias->dim[0] > 1 ? cols : 0;
    }
    c->args = g;
    c->kernel = "gemm_f32";
    TRY(sizes_check(c, g->m, g->n, g->k));
    c->scratch_bytes = (kern_packed_floats((size_t) g->n, (size_t) g->k) + (size_t) (g->m * g->k) + 2 * KERN_LANES) *
                       sizeof(float);
    if (a->type == DTYPE_F32 && b->data && !(g->packed = pack_all(c, b->data, 1, (size_t) g->n, (size_t) g->k,
                                                                 (size_t) (t->tb ? g->k : 1), (size_t) (t->tb ? 1 : g->n))))
        return op_fail(c->err, RILL_NOMEM, c->node, "out of memory");
    g->starts_at_bias = bias && g->bias_col && !g->bias_row && t->alpha == 1 && t->beta == 1;
    return RILL_OK;
}

static double gemm_bias(const struct eval *e, const struct gemm_args *g, int64_t i, int64_t j)
{
    return e->n_in > 2 && e->x[2] ? tensor_get_f64(e->in[2], e->x[2], i * g->bias_row + j * g->bias_col) : 0;
}

static void gemm_f64(const struct eval *e, const struct gemm_args *g)
{
    const struct gemm_attr *t = e->attr;
    const double *a = e->x[0], *b = e->x[1];
    for (int64_t i = 0; i < g->m; i++)
        for (int64_t j = 0; j < g->n; j++) {
            double s = 0;
            for (int64_t l = 0; l < g->k; l++)
                s += a[t->ta ? l * g->m + i : i * g->k + l] * b[t->tb ? j * g->k + l : l * g->n + j];
            ((double *) e->y[0])[i * g->n + j] = (double) t->alpha * s + (double) t->beta * gemm_bias(e, g, i, j);
        }
}

static void gemm_eval(const struct eval *e)
{
    const struct gemm_attr *t = e->attr;
    const struct gemm_args *g = e->args;
    const float *a = e->x[0], *w = g->packed, *bias = g->starts_at_bias ? e->x[2] : NULL;
    float *y = e->y[0], *rows = e->scratch;
    if (e->in[0]->type == DTYPE_F64) {
        gemm_f64(e, g);
        return;
    }
    if (t->ta) {
        for (int64_t i = 0; i < g->m; i++)
            for (int64_t l = 0; l < g->k; l++)
                rows[i * g->k + l] = a[l * g->m + i];
        a = rows;
    }
    if (!w) {
        float *p = rows + ((g->m * g->k + KERN_LANES - 1) & ~(int64_t) (KERN_LANES - 1));
        kern_pack_f32(p, e->x[1], (size_t) g->n, (size_t) g->k, (size_t) (t->tb ? g->k : 1), (size_t) (t->tb ? 1 : g->n));
        w = p;
    }
    e->kern->gemm_f32(y, (size_t) g->n, a, (size_t) g->k, w, bias, (size_t) g->m, (size_t) g->n, (size_t) g->k);
    if (bias || ((e->n_in < 3 || !e->x[2]) && t->alpha == 1))
        return;
    for (int64_t i = 0; i < g->m; i++)
        for (int64_t j = 0; j < g->n; j++)
            y[i * g->n + j] = t->alpha * y[i * g->n + j] + t->beta * (float) gemm_bias(e, g, i, j);
}

static const struct op op_matmul = {
    .name = "MatMul", .min_in = 2, .max_in = 2, .min_out = 1, .max_out = 1, .infer = matmul_infer,
    .prepare = matmul_prepare, .eval = matmul_eval, .help = "matrix product with broadcast batches",
};

static const struct op op_gemm = {
    .name = "Gemm", .attrs = gemm_attrs, .attr_bytes = sizeof(struct gemm_attr), .min_in = 2, .max_in = 3, .min_out = 1,
    .max_out = 1, .infer = gemm_infer, .prepare = gemm_prepare, .eval = gemm_eval,
    .help = "alpha * A * B + beta * C, with A and B transposed or not",
};

const struct op *const ops_matmul[] = { &op_matmul, &op_gemm, NULL };
