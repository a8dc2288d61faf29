/* SPDX-License-Identifier: MIT */
/* Products. f32 goes through the packed kernel whether the second operand is a constant (packed
 * once) or not (packed into scratch; with few rows read as it lies): sums of one order, so the bits
 * do not depend on it. */
#include "engine/ops/ops.h"
#include "engine/graph/packs.h"
#include "engine/ops/attrs.h"
#include "engine/ops/many.h"
#include "engine/ops/matmul.h"
#include "engine/ops/epilogue.h"

#include <string.h>

/* ---- plain loops for the other types ---- */

#define PLAIN(type)                                                                                \
    static void plain_##type(void *y, const void *a, const void *b, int64_t m, int64_t n,          \
                             int64_t k)                                                            \
    {                                                                                              \
        for (int64_t i = 0; i < m; i++)                                                            \
            for (int64_t j = 0; j < n; j++) {                                                      \
                type s = 0;                                                                        \
                for (int64_t l = 0; l < k; l++)                                                    \
                    s = (type) (s +                                                                \
                                ((const type *) a)[i * k + l] * ((const type *) b)[l * n + j]);    \
                ((type *) y)[i * n + j] = s;                                                       \
            }                                                                                      \
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

struct matmul_attr {
    struct attr_ints epilogue;
};

static const struct attr_spec matmul_attrs[] = {
    EPILOGUE_ROW(struct matmul_attr),
    { 0 },
};

struct matmul_args;
typedef void matmul_fn(const struct eval *e, const struct matmul_args *g, int64_t y, int64_t a,
                       int64_t b);

struct matmul_args {
    struct matmul_shape s;
    int64_t first, ld;   /* of a share: its first batch; columns of all shares */
    matmul_fn *one;      /* multiplies matrices a and b into y */
    const float *packed; /* the constant operand */
    size_t packed_floats;
    bool each; /* rows times packed matrices of their own, one after the other */
    struct epilogue epilogue;
};

/* Up to so many rows a second operand is read as it lies: packing it would cost more. */
#define DIRECT_ROWS 16

rill_status matmul_shape_infer(struct infer *c, enum dtype type)
{
    const struct fact *a = c->in[0], *b = c->in[1];
    if (a->rank < 1 || b->rank < 1)
        return infer_fail(c, "wants tensors of rank 1 or more, has %d and %d", a->rank, b->rank);
    const struct dim *ka = a->shape[a->rank - 1], *kb = b->shape[b->rank > 1 ? b->rank - 2 : 0];
    if (ka != kb && dim_is_const(ka) && dim_is_const(kb))
        return infer_fail(c, "inner sizes are %lld and %lld", (long long) dim_value(ka),
                          (long long) dim_value(kb));
    struct fact fa = *a, fb = *b;
    fa.rank = a->rank > 2 ? a->rank - 2 : 0;
    fb.rank = b->rank > 2 ? b->rank - 2 : 0;
    const struct fact *batch[2] = { &fa, &fb }, *const *in = c->in;
    c->in = batch;
    rill_status s = infer_broadcast(c, 0, type, 0, 1);
    c->in = in;
    TRY(s);
    if (a->rank > 1)
        c->out[0].shape[c->out[0].rank++] = a->shape[a->rank - 2];
    if (b->rank > 1)
        c->out[0].shape[c->out[0].rank++] = b->shape[b->rank - 1];
    return RILL_OK;
}

static rill_status matmul_infer(struct infer *c)
{
    const struct fact *a = c->in[0], *b = c->in[1];
    if (a->type != b->type || (a->type != DTYPE_F32 && !plain_of(a->type)))
        return infer_fail(
            c, "cannot multiply %s with %s; f32, f64, i32, i64, u32, u64 of one kind work",
            dtype_name(a->type), dtype_name(b->type));
    TRY(matmul_shape_infer(c, a->type));
    return epilogue_infer(c, ((const struct matmul_attr *) c->attr)->epilogue);
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

void matmul_shape_set(struct matmul_shape *g, const struct tensor *a, const struct tensor *b,
                      const struct tensor *y)
{
    g->m = a->rank > 1 ? a->dim[a->rank - 2] : 1;
    g->k = a->dim[a->rank - 1];
    g->n = b->rank > 1 ? b->dim[b->rank - 1] : 1;
    g->rank = y->rank - (a->rank > 1) - (b->rank > 1);
    g->batches = 1;
    for (int i = 0; i < g->rank; i++)
        g->batches *= g->dim[i] = y->dim[i];
    batch_strides(a, g->rank, g->sa);
    batch_strides(b, g->rank, g->sb);
}

void matmul_rows_join(struct matmul_shape *g)
{
    g->m *= g->batches;
    g->batches = 1;
    g->rank = 0;
}

void matmul_batch(const struct matmul_shape *g, int64_t i, int64_t *ret_a, int64_t *ret_b)
{
    *ret_a = *ret_b = 0;
    for (int k = g->rank; k-- > 0; i /= g->dim[k]) {
        *ret_a += i % g->dim[k] * g->sa[k];
        *ret_b += i % g->dim[k] * g->sb[k];
    }
}

static const float *pack_all(struct prep *c, unsigned input, int64_t matrices, size_t n, size_t k,
                             size_t so, size_t sk)
{
    size_t each = kern_packed_floats(n, k);
    const float *w = c->in[input]->data;
    bool there;
    const size_t words[] = { PACK_MATRICES, (size_t) matrices, n, k, so, sk };
    const struct pack_key key = { { w }, words, sizeof words / sizeof *words };
    float *p = prep_pack_of(c, each * (size_t) matrices + KERN_LANES, sizeof *p, &key, &there);
    c->packed |= 1u << input;
    for (int64_t i = 0; p && !there && i < matrices; i++)
        kern_pack_f32(p + (size_t) i * each, w + (size_t) i * n * k, n, k, so, sk);
    return p;
}

/* Packed and turned operands must be countable. */
static rill_status sizes_check(struct prep *c, int64_t m, int64_t n, int64_t k)
{
    int64_t left, right;
    if (n > INT64_MAX - KERN_LANES || __builtin_mul_overflow(n + KERN_LANES, k, &right) ||
        __builtin_mul_overflow(m, k, &left) || left > INT64_MAX / 32 || right > INT64_MAX / 32)
        return prep_fail(c, "a product of %lld rows, %lld columns and %lld terms is too large",
                         (long long) m, (long long) n, (long long) k);
    return RILL_OK;
}

/* ---- one matrix times another ---- */

static void one_plain(const struct eval *e, const struct matmul_args *g, int64_t y, int64_t a,
                      int64_t b)
{
    size_t bytes = dtype_bytes(e->in[0]->type);
    plain_of(e->in[0]->type)((char *) e->y[0] + (size_t) (y * g->s.m * g->s.n) * bytes,
                             (const char *) e->x[0] + (size_t) (a * g->s.m * g->s.k) * bytes,
                             (const char *) e->x[1] + (size_t) (b * g->s.k * g->s.n) * bytes,
                             g->s.m, g->s.n, g->s.k);
}

static void product(const struct eval *e, const struct matmul_args *g, int64_t y, int64_t a,
                    const float *w)
{
    kern_gemm_f32(e->kern, (float *) e->y[0] + y * g->s.m * g->s.n, (size_t) g->ld,
                  (const float *) e->x[0] + a * g->s.m * g->s.k, (size_t) g->s.k, w, NULL,
                  (size_t) g->s.m, (size_t) g->s.n, (size_t) g->s.k);
}

static void one_packed(const struct eval *e, const struct matmul_args *g, int64_t y, int64_t a,
                       int64_t b)
{
    product(e, g, y, a, g->packed + (size_t) b * g->packed_floats);
}

static void one_packing(const struct eval *e, const struct matmul_args *g, int64_t y, int64_t a,
                        int64_t b)
{
    kern_pack_f32(e->scratch, (const float *) e->x[1] + b * g->s.k * g->s.n, (size_t) g->s.n,
                  (size_t) g->s.k, 1, (size_t) g->ld);
    product(e, g, y, a, e->scratch);
}

/* The first operand is constant, the second a column: its product with the first one's rows as
 * weights. */
static void one_column(const struct eval *e, const struct matmul_args *g, int64_t y, int64_t a,
                       int64_t b)
{
    e->kern->gemm_f32((float *) e->y[0] + y * g->s.m, (size_t) g->s.m,
                      (const float *) e->x[1] + b * g->s.k, (size_t) g->s.k,
                      g->packed + (size_t) a * g->packed_floats, NULL, 1, (size_t) g->s.m,
                      (size_t) g->s.k);
}

/* The second operand as it lies; only columns that do not fill a panel are packed. */
static void one_direct(const struct eval *e, const struct matmul_args *g, int64_t y, int64_t a,
                       int64_t b)
{
    size_t m = (size_t) g->s.m, n = (size_t) g->s.n, k = (size_t) g->s.k, ld = (size_t) g->ld,
           whole = n / KERN_LANES * KERN_LANES;
    const float *x = (const float *) e->x[0] + a * g->s.m * g->s.k,
                *w = (const float *) e->x[1] + b * g->s.k * g->s.n;
    float *to = (float *) e->y[0] + y * g->s.m * g->s.n;
    struct kern_block block = {
        .w = w, .step_panel = KERN_LANES, .step_k = ld, .n = whole, .k = k
    };
    e->kern->gemm_block_f32(to, ld, x, k, &block, m);
    if (whole == n)
        return;
    kern_pack_f32(e->scratch, w + whole, n - whole, k, 1, ld);
    e->kern->gemm_f32(to + whole, ld, x, k, e->scratch, NULL, m, n - whole, k);
}

/* ---- plan ---- */

static rill_status packed_set(struct prep *c, struct matmul_args *g, unsigned input, size_t n,
                              size_t so, size_t sk)
{
    const struct tensor *w = c->in[input];
    size_t k = (size_t) g->s.k;
    g->packed_floats = kern_packed_floats(n, k);
    g->packed = pack_all(c, input, n && k ? tensor_count(w) / (int64_t) (n * k) : 0, n, k, so, sk);
    return g->packed ? RILL_OK : op_fail(c->err, RILL_NOMEM, c->node, "out of memory");
}

static bool is_each(const struct matmul_args *g)
{
    int64_t n = 1;
    for (int i = g->s.rank; i-- > 0; n *= g->s.dim[i])
        if (g->s.dim[i] != 1 && (g->s.sa[i] != n || g->s.sb[i] != n))
            return false;
    return g->s.m == 1 && n > 1;
}

static rill_status way_choose(struct prep *c, struct matmul_args *g)
{
    const struct tensor *a = c->in[0], *b = c->in[1];
    size_t k = (size_t) g->s.k, n = (size_t) g->s.n;
    c->kernel = "gemm_f32";
    if (b->data) {
        g->one = one_packed;
        g->each = is_each(g);
        c->kernel = g->each ? "gemm_each_f32" : c->kernel;
        return packed_set(c, g, 1, n, 1, n);
    }
    if (a->data && n == 1) {
        g->one = one_column;
        return packed_set(c, g, 0, (size_t) g->s.m, k, 1);
    }
    bool direct = g->s.m <= DIRECT_ROWS;
    g->one = direct ? one_direct : one_packing;
    c->kernel = direct ? "gemm_f32 direct" : "gemm_f32 packing";
    c->scratch_bytes = kern_packed_floats(direct ? n % KERN_LANES : n, k) * sizeof(float);
    return RILL_OK;
}

static rill_status matmul_prepare(struct prep *c)
{
    const struct tensor *a = c->in[0], *b = c->in[1], *y = c->out[0];
    struct matmul_args *g = arena_new(c->arena, struct matmul_args);
    if (!g)
        return op_fail(c->err, RILL_NOMEM, c->node, "out of memory");
    matmul_shape_set(&g->s, a, b, y);
    g->one = one_plain;
    c->args = g;
    c->kernel = "matmul";
    if (a->type != DTYPE_F32 || !tensor_count(y))
        return RILL_OK;
    TRY(sizes_check(c, g->s.m, g->s.n, g->s.k));
    /* One matrix for all rows of the batch is one taller product. */
    if (b->rank <= 2 && a->rank > 1)
        matmul_rows_join(&g->s);
    g->ld = g->s.n;
    TRY(way_choose(c, g));
    TRY(epilogue_prepare(c, ((const struct matmul_attr *) c->attr)->epilogue, &g->epilogue));
    c->many = g->one == one_packed && g->s.batches == 1 && many_pays(g->s.m, g->s.n, g->s.k);
    return RILL_OK;
}

static void batches_eval(const struct eval *e, const struct matmul_args *g)
{
    for (int64_t i = 0; i < g->s.batches; i++) {
        int64_t a, b;
        matmul_batch(&g->s, g->first + i, &a, &b);
        g->one(e, g, i, a, b);
    }
}

static void matmul_eval(const struct eval *e)
{
    const struct matmul_args *g = e->args;
    if (!g->s.m || !g->s.n)
        return;
    if (g->s.batches == 1 && !g->first)
        g->one(e, g, 0, 0, 0);
    else if (g->each)
        e->kern->gemm_each_f32(e->y[0], (size_t) g->s.n, e->x[0], (size_t) g->s.k, g->packed,
                               (size_t) g->s.n, (size_t) g->s.k, (size_t) g->s.batches);
    else
        batches_eval(e, g);
    epilogue_rows(&g->epilogue, e, e->y[0]);
}

static void matmul_eval_many(const struct eval *e, unsigned many)
{
    const struct matmul_args *g = e->args;
    size_t n = (size_t) g->s.n, k = (size_t) g->s.k;
    struct many_rows rows = { .kern = e->kern, .block = many_block(g->packed, NULL, n, k) };
    for (unsigned i = 0; i < many; i++)
        many_rows_add(&rows, e[i].y[0], n, e[i].x[0], k, (size_t) g->s.m);
    many_rows_run(&rows);
    for (unsigned i = 0; i < many; i++)
        epilogue_rows(&g->epilogue, &e[i], e[i].y[0]);
}

/* ---- shares: matrices of a batch, columns, or rows where there are more of them ---- */

/* Rows and columns that a share of a product has. */
struct cut {
    int64_t row, rows, column, columns;
};

static bool cut_by_rows(int64_t m, int64_t n)
{
    return m > n || n < 2 * KERN_LANES;
}

/* Shares that a product of m rows and n columns makes, of whole panels. */
static unsigned cuts(int64_t m, int64_t n, unsigned most)
{
    const int64_t units = (cut_by_rows(m, n) ? m : n) / KERN_LANES;
    return units < most ? (unsigned) units : most;
}

static struct cut cut_of(int64_t m, int64_t n, unsigned i, unsigned shares)
{
    const int64_t all = cut_by_rows(m, n) ? m : n, units = all / KERN_LANES,
                  from = share_from(units, i, shares) * KERN_LANES,
                  to = i + 1 < shares ? share_from(units, i + 1, shares) * KERN_LANES : all;
    return cut_by_rows(m, n) ? (struct cut) { from, to - from, 0, n }
                             : (struct cut) { 0, m, from, to - from };
}

/* Where the output and the epilogue's inputs begin, of an output of ld columns. */
static void cut_shift(const struct prep *c, const struct cut *cut, int64_t ld,
                      struct epilogue *epilogue, size_t *shift)
{
    const int64_t element = cut->row * ld + cut->column;
    epilogue_shift(epilogue, cut->column, element, shift);
    shift[c->n_in] = (size_t) element * sizeof(float);
    epilogue->images = cut->rows;
    epilogue->channels = cut->columns;
}

static void batches_cut(const struct prep *c, struct matmul_args *g, unsigned i, unsigned n,
                        size_t *shift)
{
    const int64_t from = share_from(g->s.batches, i, n), to = share_from(g->s.batches, i + 1, n),
                  each = g->s.m * g->s.n, images = g->epilogue.images / g->s.batches;
    g->first = from;
    g->s.batches = to - from;
    epilogue_shift(&g->epilogue, 0, from * each, shift);
    shift[c->n_in] = (size_t) (from * each) * sizeof(float);
    g->epilogue.images = images * g->s.batches;
}

static void matrix_cut(const struct prep *c, struct matmul_args *g, unsigned i, unsigned n,
                       size_t *shift)
{
    const struct cut cut = cut_of(g->s.m, g->s.n, i, n);
    const int64_t packed = g->one == one_column ? cut.row : cut.column;
    shift[0] = g->one == one_column ? 0 : (size_t) (cut.row * g->s.k) * sizeof(float);
    shift[1] = (size_t) cut.column * sizeof(float);
    g->packed = g->packed ? g->packed + packed * g->s.k : NULL;
    cut_shift(c, &cut, g->ld, &g->epilogue, shift);
    g->s.m = cut.rows;
    g->s.n = cut.columns;
}

static rill_status matmul_divide(struct prep *c, unsigned most, struct shares *ret)
{
    const struct matmul_args *g = c->args;
    const bool batches = g->s.batches > 1;
    const unsigned n = !batches ? cuts(g->s.m, g->s.n, most)
        : g->s.batches < most   ? (unsigned) g->s.batches
                                : most;
    if (n < 2 || g->one == one_plain || g->each || c->in[1]->rank < 2)
        return RILL_OK;
    TRY(shares_new(c, n, ret));
    for (unsigned i = 0; i < n; i++) {
        struct matmul_args *s = arena_new(c->arena, struct matmul_args);
        if (!s)
            return op_fail(c->err, RILL_NOMEM, c->node, "out of memory");
        *s = *g;
        (batches ? batches_cut : matrix_cut)(c, s, i, n, ret->share[i].shift_bytes);
        ret->share[i].args = s;
    }
    return RILL_OK;
}

/* ---- Gemm: y = alpha * A' * B' + beta * C ---- */

static const struct attr_spec gemm_attrs[] = {
    { .name = "alpha",
      .kind = ATTR_FLOAT,
      .offset = offsetof(struct gemm_attr, alpha),
      .def_f = 1 },
    { .name = "beta", .kind = ATTR_FLOAT, .offset = offsetof(struct gemm_attr, beta), .def_f = 1 },
    { .name = "transA", .kind = ATTR_INT, .offset = offsetof(struct gemm_attr, ta) },
    { .name = "transB", .kind = ATTR_INT, .offset = offsetof(struct gemm_attr, tb) },
    EPILOGUE_ROW(struct gemm_attr),
    { 0 },
};

static rill_status gemm_infer(struct infer *c)
{
    const struct gemm_attr *t = c->attr;
    const struct fact *a = c->in[0], *b = c->in[1];
    if (a->rank != 2 || b->rank != 2 || a->type != b->type ||
        (a->type != DTYPE_F32 && a->type != DTYPE_F64))
        return infer_fail(c, "wants two f32 or two f64 matrices");
    const struct dim *ka = a->shape[t->ta ? 0 : 1], *kb = b->shape[t->tb ? 1 : 0];
    if (ka != kb && dim_is_const(ka) && dim_is_const(kb))
        return infer_fail(c, "inner sizes are %lld and %lld", (long long) dim_value(ka),
                          (long long) dim_value(kb));
    const struct dim *shape[2] = { a->shape[t->ta ? 1 : 0], b->shape[t->tb ? 0 : 1] };
    infer_shape(c, 0, a->type, 2, shape);
    if (!infer_has(c, 2))
        return epilogue_infer(c, t->epilogue);
    const struct fact *bias = c->in[2];
    if (bias->rank > 2 || bias->type != a->type)
        return infer_fail(c, "the bias must be a %s that broadcasts to the matrix",
                          dtype_name(a->type));
    for (int i = 0; i < bias->rank; i++) {
        const struct dim *d = bias->shape[i], *want = shape[2 - bias->rank + i];
        if (d != want && !dim_is(d, 1) && dim_is_const(want))
            return infer_fail(c, "the bias does not broadcast to the matrix");
    }
    return epilogue_infer(c, t->epilogue);
}

struct gemm_args {
    int64_t m, n, k, bias_row, bias_col; /* strides of the bias, 0 where broadcast */
    int64_t ld;                          /* columns of all shares */
    const float *packed;                 /* NULL: pack into scratch, behind the rows */
    size_t rows_floats;                  /* of A turned, in scratch */
    bool starts_at_bias;                 /* a vector over n, unscaled: the sums start from it */
    struct epilogue epilogue;
};

static rill_status gemm_prepare(struct prep *c)
{
    const struct gemm_attr *t = c->attr;
    const struct tensor *a = c->in[0], *b = c->in[1], *bias = c->n_in > 2 ? c->in[2] : NULL;
    struct gemm_args *g = arena_new(c->arena, struct gemm_args);
    if (!g)
        return op_fail(c->err, RILL_NOMEM, c->node, "out of memory");
    *g = (struct gemm_args) { .m = a->dim[t->ta ? 1 : 0],
                              .k = a->dim[t->ta ? 0 : 1],
                              .n = b->dim[t->tb ? 0 : 1] };
    g->ld = g->n;
    if (bias) {
        int64_t cols = bias->rank > 0 ? bias->dim[bias->rank - 1] : 1;
        g->bias_col = cols > 1;
        g->bias_row = bias->rank == 2 && bias->dim[0] > 1 ? cols : 0;
    }
    g->starts_at_bias = bias && g->bias_col && !g->bias_row && t->alpha == 1 && t->beta == 1;
    c->args = g;
    c->kernel = "gemm_f32";
    if (a->type != DTYPE_F32)
        return RILL_OK;
    TRY(sizes_check(c, g->m, g->n, g->k));
    TRY(epilogue_prepare(c, t->epilogue, &g->epilogue));
    size_t n = (size_t) g->n, k = (size_t) g->k;
    if (t->ta)
        g->rows_floats = ((size_t) g->m * k + KERN_LANES - 1) / KERN_LANES * KERN_LANES;
    c->scratch_bytes = g->rows_floats * sizeof(float);
    if (!b->data) {
        c->kernel = "gemm_f32 packing";
        c->scratch_bytes += kern_packed_floats(n, k) * sizeof(float);
    } else if (!(g->packed = pack_all(c, 1, 1, n, k, t->tb ? k : 1, t->tb ? 1 : n))) {
        return op_fail(c->err, RILL_NOMEM, c->node, "out of memory");
    }
    c->many = g->packed && !t->ta && many_pays(g->m, g->n, g->k);
    return RILL_OK;
}

static double gemm_bias(const struct eval *e, const struct gemm_args *g, int64_t i, int64_t j)
{
    return e->n_in > 2 && e->x[2]
        ? tensor_get_f64(e->in[2], e->x[2], i * g->bias_row + j * g->bias_col)
        : 0;
}

static void gemm_f64(const struct eval *e, const struct gemm_args *g)
{
    const struct gemm_attr *t = e->attr;
    const double *a = e->x[0], *b = e->x[1];
    for (int64_t i = 0; i < g->m; i++)
        for (int64_t j = 0; j < g->n; j++) {
            double s = 0;
            for (int64_t l = 0; l < g->k; l++)
                s +=
                    a[t->ta ? l * g->m + i : i * g->k + l] * b[t->tb ? j * g->k + l : l * g->n + j];
            ((double *) e->y[0])[i * g->n + j] =
                (double) t->alpha * s + (double) t->beta * gemm_bias(e, g, i, j);
        }
}

/* y = alpha * y + beta * bias, where the sums did not start from the bias */
static void gemm_scale(const struct eval *e, const struct gemm_args *g)
{
    const struct gemm_attr *t = e->attr;
    const float *bias = e->n_in > 2 ? e->x[2] : NULL;
    float *y = e->y[0];
    for (int64_t i = 0; i < g->m; i++, y += g->n) {
        if (bias && g->bias_col && t->alpha == 1 && t->beta == 1) {
            e->kern->add_f32(y, y, bias + i * g->bias_row, (size_t) g->n);
            continue;
        }
        for (int64_t j = 0; j < g->n; j++)
            y[j] = t->alpha * y[j] + t->beta * (bias ? bias[i * g->bias_row + j * g->bias_col] : 0);
    }
}

static bool gemm_scales(const struct eval *e, const struct gemm_args *g)
{
    const struct gemm_attr *t = e->attr;
    return !g->starts_at_bias && ((e->n_in > 2 && e->x[2]) || t->alpha != 1);
}

static void gemm_finish(const struct eval *e, const struct gemm_args *g)
{
    if (gemm_scales(e, g))
        gemm_scale(e, g);
    epilogue_rows(&g->epilogue, e, e->y[0]);
}

/* A bias that is no constant may differ: it is handed over only where it is one row for all. */
static void gemm_eval_many(const struct eval *e, unsigned many)
{
    const struct gemm_args *g = e->args;
    size_t n = (size_t) g->n, k = (size_t) g->k;
    struct many_rows rows = { .kern = e->kern, .block = many_block(g->packed, NULL, n, k) };
    for (unsigned i = 0; i < many; i++) {
        const float *bias = g->starts_at_bias ? e[i].x[2] : NULL;
        if (bias != rows.block.bias)
            many_rows_run(&rows);
        rows.block.bias = bias;
        many_rows_add(&rows, e[i].y[0], n, e[i].x[0], k, (size_t) g->m);
    }
    many_rows_run(&rows);
    for (unsigned i = 0; i < many; i++)
        gemm_finish(&e[i], g);
}

static void gemm_eval(const struct eval *e)
{
    const struct gemm_attr *t = e->attr;
    const struct gemm_args *g = e->args;
    const float *a = e->x[0], *w = g->packed, *bias = g->starts_at_bias ? e->x[2] : NULL;
    size_t m = (size_t) g->m, n = (size_t) g->n, k = (size_t) g->k;
    float *rows = e->scratch, *pack = rows + g->rows_floats;
    if (e->in[0]->type == DTYPE_F64) {
        gemm_f64(e, g);
        return;
    }
    if (t->ta) {
        for (size_t i = 0; i < m; i++)
            for (size_t l = 0; l < k; l++)
                rows[i * k + l] = a[l * m + i];
        a = rows;
    }
    if (!w) {
        kern_pack_f32(pack, e->x[1], n, k, t->tb ? k : 1, t->tb ? 1 : n);
        w = pack;
    }
    if (m == 1)
        e->kern->gemm_f32(e->y[0], n, a, k, w, bias, 1, n, k);
    else
        kern_gemm_f32(e->kern, e->y[0], (size_t) g->ld, a, k, w, bias, m, n, k);
    gemm_finish(e, g);
}

/* Where the sums start from the bias, or there is none. */
static rill_status gemm_divide(struct prep *c, unsigned most, struct shares *ret)
{
    const struct gemm_args *g = c->args;
    const struct gemm_attr *t = c->attr;
    const unsigned n = cuts(g->m, g->n, most);
    const bool bias = c->n_in > 2 && c->in[2];
    if (n < 2 || !g->packed || t->ta || t->alpha != 1 || (bias && !g->starts_at_bias))
        return RILL_OK;
    TRY(shares_new(c, n, ret));
    for (unsigned i = 0; i < n; i++) {
        struct gemm_args *s = arena_new(c->arena, struct gemm_args);
        const struct cut cut = cut_of(g->m, g->n, i, n);
        size_t *shift = ret->share[i].shift_bytes;
        if (!s)
            return op_fail(c->err, RILL_NOMEM, c->node, "out of memory");
        *s = *g;
        shift[0] = (size_t) (cut.row * g->k) * sizeof(float);
        if (bias)
            shift[2] = (size_t) cut.column * sizeof(float);
        s->packed += cut.column * g->k;
        cut_shift(c, &cut, g->ld, &s->epilogue, shift);
        s->m = cut.rows;
        s->n = cut.columns;
        ret->share[i].args = s;
    }
    return RILL_OK;
}

static const struct op op_matmul = {
    .id = OP_MATMUL,
    .name = "MatMul",
    .attrs = matmul_attrs,
    .attr_bytes = sizeof(struct matmul_attr),
    .min_in = 2,
    .max_in = 2,
    .own_in = 1 + EPILOGUE_IN_MAX,
    .epilogue_in = EPILOGUE_IN,
    .epilogue_at = offsetof(struct matmul_attr, epilogue),
    .epilogue_axis = -1,
    .min_out = 1,
    .max_out = 1,
    .infer = matmul_infer,
    .prepare = matmul_prepare,
    .eval = matmul_eval,
    .eval_many = matmul_eval_many,
    .divide = matmul_divide,
    .help = "matrix product with broadcast batches",
};

static const struct op op_gemm = {
    .id = OP_GEMM,
    .name = "Gemm",
    .attrs = gemm_attrs,
    .attr_bytes = sizeof(struct gemm_attr),
    .min_in = 2,
    .max_in = 3,
    .own_in = EPILOGUE_IN_MAX,
    .epilogue_in = EPILOGUE_IN,
    .epilogue_at = offsetof(struct gemm_attr, epilogue),
    .epilogue_axis = -1,
    .min_out = 1,
    .max_out = 1,
    .infer = gemm_infer,
    .prepare = gemm_prepare,
    .eval = gemm_eval,
    .eval_many = gemm_eval_many,
    .divide = gemm_divide,
    .help = "alpha * A * B + beta * C, with A and B transposed or not",
};

const struct op *const ops_matmul[] = { &op_matmul, &op_gemm, NULL };
