/* SPDX-License-Identifier: MIT */
#include "engine/ops/matmul_narrow.h"
#include "engine/graph/packs.h"
#include "engine/ops/elem.h"
#include "engine/ops/epilogue.h"
#include "engine/ops/many.h"

#include <string.h>

static const struct attr_spec narrow_attrs[] = {
    { .name = "block_size",
      .kind = ATTR_INT,
      .offset = offsetof(struct matmul_narrow_attr, block) },
    { .name = "matrices",
      .kind = ATTR_INT,
      .offset = offsetof(struct matmul_narrow_attr, matrices) },
    EPILOGUE_ROW(struct matmul_narrow_attr),
    { 0 },
};

/* ---- what is right ---- */

static bool is_matrix(const struct tensor *t, enum dtype type, int64_t rows, int64_t cols)
{
    return t && t->type == type && t->rank == 2 && t->dim[0] == rows && t->dim[1] == cols;
}

static const struct tensor *known(const struct infer *c, unsigned i)
{
    return infer_has(c, i) ? c->in[i]->value : NULL;
}

static int64_t block_of(const struct matmul_narrow_attr *a, int64_t k)
{
    return a->block ? a->block : k ? k : 1;
}

static rill_status scales_check(struct infer *c, const struct tensor *w)
{
    const struct matmul_narrow_attr *a = c->attr;
    bool half = dtype_is_half(w->type), four = w->type == DTYPE_U4,
         zeros = infer_has(c, NARROW_ZERO);
    int64_t k = w->dim[0], n = w->dim[1], block = block_of(a, k),
            blocks = k / block + (k % block != 0);
    if (a->block < 0 || (four && block % 2 && block < k))
        return infer_fail(c, "block_size is %lld", (long long) a->block);
    if (half)
        return infer_has(c, NARROW_SCALE) || zeros ? infer_fail(c, "halves have no scales")
                                                   : RILL_OK;
    if (!is_matrix(known(c, NARROW_SCALE), DTYPE_F32, blocks, n) || (four && !zeros) ||
        (zeros && !is_matrix(known(c, NARROW_ZERO), w->type, blocks, n)))
        return infer_fail(c, "scales and zeros are no constants of %lld blocks of %lld outputs",
                          (long long) blocks, (long long) n);
    return RILL_OK;
}

static bool is_conv(const struct node *n)
{
    return node_is(n, OP_CONV_NARROW);
}

/* Of a row: the last axis, or all axes of an image. */
static const struct dim *terms_of(struct infer *c, const struct fact *x)
{
    const struct dim *k = dim_int(c->dims, 1);
    for (int i = is_conv(c->node) ? 1 : x->rank - 1; i < x->rank; i++)
        k = dim_mul(c->dims, k, x->shape[i]);
    return k;
}

/* Of a row for each matrix. */
static rill_status matrices_check(struct infer *c, const struct tensor *w)
{
    const struct matmul_narrow_attr *a = c->attr;
    const struct fact *x = c->in[NARROW_X];
    const struct dim *rows = dim_int(c->dims, 1);
    for (int i = 0; i + 1 < x->rank; i++)
        rows = dim_mul(c->dims, rows, x->shape[i]);
    if (a->matrices < 1 || a->matrices > w->dim[1] || w->dim[1] % (a->matrices * KERN_LANES) ||
        !dim_is(rows, a->matrices) || is_conv(c->node) || a->block || w->type != DTYPE_I8 ||
        infer_has(c, NARROW_ZERO) || infer_has(c, NARROW_BIAS))
        return infer_fail(c,
                          "matrices=%lld; wants a row and a multiple of %d outputs for each, i8 "
                          "without zeros, blocks and bias",
                          (long long) a->matrices, KERN_LANES);
    return RILL_OK;
}

static rill_status narrow_infer(struct infer *c)
{
    const struct matmul_narrow_attr *a = c->attr;
    const struct fact *x = c->in[NARROW_X];
    const int least = is_conv(c->node) ? 3 : 1;
    const struct tensor *w = known(c, NARROW_W);
    TRY(elem_check_type(c, NARROW_X, TYPE_F32));
    TRY(elem_check_type(c, NARROW_W, TYPES_HALF | TYPE_I8 | TYPE_U4));
    if (!w || w->rank != 2 || x->rank < least || !dim_is(terms_of(c, x), w->dim[0]))
        return infer_fail(c, "wants rows and a known matrix with a weight for each of their terms");
    TRY(scales_check(c, w));
    if (a->matrices)
        TRY(matrices_check(c, w));
    const struct fact *bias = infer_has(c, NARROW_BIAS) ? c->in[NARROW_BIAS] : NULL;
    if (bias &&
        (bias->type != DTYPE_F32 || bias->rank < 1 || !fact_is_static(bias) ||
         !dim_is(bias->shape[bias->rank - 1], w->dim[1]) ||
         (bias->rank > 1 && (bias->rank > 2 || !dim_is(bias->shape[0], 1)))))
        return infer_fail(c, "its bias is no f32 for each output");
    c->out[0] = (struct fact) { .type = DTYPE_F32, .rank = x->rank };
    memcpy(c->out[0].shape, x->shape, sizeof x->shape);
    for (int i = 2; i < x->rank && is_conv(c->node); i++)
        c->out[0].shape[i] = dim_int(c->dims, 1);
    c->out[0].shape[is_conv(c->node) ? 1 : x->rank - 1] =
        dim_int(c->dims, w->dim[1] / (a->matrices ? a->matrices : 1));
    return epilogue_infer(c, a->epilogue);
}

/* ---- plan ---- */

struct narrow_args {
    struct kern_narrow w; /* without a bias */
    size_t m;
    bool each; /* row has a matrix of its own */
    struct epilogue epilogue;
};

static enum kern_narrow_kind kind_of(const struct prep *c)
{
    bool zeros = c->n_in > NARROW_ZERO && c->in[NARROW_ZERO];
    switch (c->in[NARROW_W]->type) {
    case DTYPE_F16: return KERN_NARROW_F16;
    case DTYPE_BF16: return KERN_NARROW_BF16;
    case DTYPE_U4: return KERN_NARROW_U4;
    default: return zeros ? KERN_NARROW_S8_ZERO : KERN_NARROW_S8;
    }
}

static const void *data_at(const struct prep *c, unsigned i)
{
    return c->n_in > i && c->in[i] ? c->in[i]->data : NULL;
}

static rill_status weights_pack(struct prep *c, struct narrow_args *g)
{
    const struct tensor *w = c->in[NARROW_W];
    const size_t n = (size_t) w->dim[1], k = (size_t) w->dim[0],
                 block = (size_t) block_of(c->attr, w->dim[0]);
    const enum kern_narrow_kind kind = kind_of(c);
    const size_t bytes = kern_narrow_bytes(kind, n, k, block);
    if (!bytes)
        return prep_fail(c, "a product of %zu columns and %zu terms is too large", n, k);
    bool there;
    const size_t words[] = { PACK_NARROW, kind, n, k, block };
    const struct pack_key key = { { w->data, data_at(c, NARROW_ZERO), data_at(c, NARROW_SCALE) },
                                  words,
                                  sizeof words / sizeof *words };
    void *to = prep_pack_of(c, bytes / 64, 64, &key, &there);
    if (!to)
        return op_fail(c->err, RILL_NOMEM, c->node, "out of memory");
    if (!there)
        kern_narrow_pack(to,
                         &(struct kern_narrow_w) { kind, n, k, block, w->data,
                                                   data_at(c, NARROW_ZERO),
                                                   data_at(c, NARROW_SCALE) });
    size_t constants = 0;
    for (unsigned i = NARROW_W; i <= NARROW_ZERO && i < c->n_in; i++) {
        c->packed |= c->in[i] ? 1u << i : 0;
        constants += c->in[i] ? tensor_bytes(c->in[i]) : 0;
    }
    c->spared_bytes = constants > bytes ? constants - bytes : 0;
    g->w = kern_narrow_open(to, kind, n, k, block);
    return RILL_OK;
}

static const char *const kernels[KERN_NARROW_KINDS] = {
    [KERN_NARROW_F16] = "gemm_rows_narrow f16",   [KERN_NARROW_BF16] = "gemm_narrow bf16",
    [KERN_NARROW_S8] = "gemm_rows_narrow i8",     [KERN_NARROW_S8_ZERO] = "gemm_narrow i8",
    [KERN_NARROW_U4] = "gemm_rows_narrow 4 bits",
};

static rill_status narrow_prepare(struct prep *c)
{
    struct narrow_args *g = arena_new(c->arena, struct narrow_args);
    if (!g)
        return op_fail(c->err, RILL_NOMEM, c->node, "out of memory");
    c->kern_uses |= KERN_USES_NARROW;
    TRY(weights_pack(c, g));
    TRY(epilogue_prepare(c, ((const struct matmul_narrow_attr *) c->attr)->epilogue, &g->epilogue));
    g->m = 1;
    for (int i = 0; i < (is_conv(c->node) ? 1 : c->in[NARROW_X]->rank - 1); i++)
        g->m *= (size_t) c->in[NARROW_X]->dim[i];
    g->each = ((const struct matmul_narrow_attr *) c->attr)->matrices;
    c->args = g;
    c->kernel = g->each ? "gemm_each_narrow i8" : kernels[g->w.kind];
    c->many = !g->each && many_pays((int64_t) g->m, (int64_t) g->w.n, (int64_t) g->w.k);
    return RILL_OK;
}

/* ---- rows ---- */

static void results_finish(const struct eval *e, const struct narrow_args *g)
{
    if (!is_conv(e->node)) {
        epilogue_rows(&g->epilogue, e, e->y[0]);
        return;
    }
    for (size_t i = 0; i < g->m; i++)
        epilogue_channels(&g->epilogue, e, (float *) e->y[0] + i * g->w.n, (int64_t) i, 0,
                          (int64_t) g->w.n);
}

/* A bias that is no constant may differ from one evaluation to the next. */
static void narrow_eval_many(const struct eval *e, unsigned n)
{
    const struct narrow_args *g = e->args;
    struct kern_narrow w = g->w;
    struct many_rows r = { .kern = e->kern, .narrow = &w };
    for (unsigned i = 0; i < n; i++) {
        const float *bias = e[i].n_in > NARROW_BIAS ? e[i].x[NARROW_BIAS] : NULL;
        if (bias != w.bias)
            many_rows_run(&r);
        w.bias = bias;
        many_rows_add(&r, e[i].y[0], w.n, e[i].x[NARROW_X], w.k, g->m);
    }
    many_rows_run(&r);
    for (unsigned i = 0; i < n; i++)
        results_finish(&e[i], g);
}

static void narrow_eval(const struct eval *e)
{
    const struct narrow_args *g = e->args;
    if (!tensor_count(e->out[0]))
        return;
    if (!g->each) {
        narrow_eval_many(e, 1);
        return;
    }
    e->kern->gemm_each_narrow(e->y[0], e->x[NARROW_X], g->w.k, &g->w, g->m);
    results_finish(e, g);
}

/* clang-format off */
#define NARROW_OP(symbol, number, text, axis, words)                                               \
    const struct op symbol = {                                                                     \
        .id = number,                                                                              \
        .name = text,                                                                              \
        .attrs = narrow_attrs,                                                                     \
        .attr_bytes = sizeof(struct matmul_narrow_attr),                                           \
        .min_in = 2,                                                                               \
        .max_in = 5,                                                                               \
        .own_in = EPILOGUE_IN_MAX,                                                                 \
        .epilogue_in = NARROW_EPILOGUE,                                                            \
        .epilogue_at = offsetof(struct matmul_narrow_attr, epilogue),                              \
        .epilogue_axis = axis,                                                                     \
        .min_out = 1,                                                                              \
        .max_out = 1,                                                                              \
        .infer = narrow_infer,                                                                     \
        .prepare = narrow_prepare,                                                                 \
        .eval = narrow_eval,                                                                       \
        .eval_many = narrow_eval_many,                                                             \
        .help = words,                                                                             \
    }
/* clang-format on */

NARROW_OP(op_matmul_narrow, OP_MATMUL_NARROW, "MatMulNarrow", -1,
          "matrix product with weights kept as halves or small whole numbers");
NARROW_OP(op_conv_narrow, OP_CONV_NARROW, "ConvNarrow", 1,
          "convolution of one place with weights kept as halves or small whole numbers");
