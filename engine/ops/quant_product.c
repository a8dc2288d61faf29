/* SPDX-License-Identifier: MIT */
/* Products of 8-bit numbers, in whole numbers: MatMulInteger, and what it shares with ConvInteger.
 */
#include "engine/ops/quant_product.h"
#include "engine/ops/attrs.h"
#include "engine/ops/elem.h"
#include "engine/ops/epilogue.h"
#include "engine/ops/matmul.h"
#include "engine/ops/ops.h"
#include "kernels/bytes.h"

#include <string.h>

#define IN_X PRODUCT_X
#define IN_W PRODUCT_W
#define IN_X_ZERO PRODUCT_X_ZERO
#define IN_W_ZERO PRODUCT_W_ZERO
#define SOME_ROWS 16 /* whose sums are scaled while they are hot */

/* ---- types and zeros ---- */

rill_status product_types_check(struct infer *c)
{
    TRY(elem_check_type(c, IN_X, TYPE_U8 | TYPE_I8));
    return elem_check_type(c, IN_W, TYPE_U8 | TYPE_I8);
}

rill_status product_zero_check(struct infer *c, unsigned i, unsigned of, const struct dim *each)
{
    if (!infer_has(c, i))
        return RILL_OK;
    const struct fact *z = c->in[i];
    if (z->type != c->in[of]->type)
        return infer_invalid(c, "input %u, the zero of input %u, is %s; input %u is %s", i, of,
                             dtype_name(z->type), of, dtype_name(c->in[of]->type));
    if (fact_is_single(z) || (z->rank == 1 && each && z->shape[0] == each))
        return RILL_OK;
    return infer_invalid(
        c, "input %u, the zero of input %u, is neither one number nor a list that fits", i, of);
}

int64_t product_zeros(const struct tensor *t, const void *data, int32_t *ret)
{
    int64_t n = data ? tensor_count(t) : 0;
    *ret = 0;
    for (int64_t i = 0; i < n; i++)
        ret[i] = (int32_t) tensor_get_i64(t, data, i);
    return n;
}

/* ---- what follows the sums ---- */

enum dtype product_type(const struct product_results *y)
{
    return y->to ? (enum dtype) y->to : y->floats ? DTYPE_F32 : DTYPE_I32;
}

static rill_status scale_input_check(struct infer *c, unsigned i, enum dtype type, int64_t n)
{
    const struct tensor *t = infer_has(c, i) ? c->in[i]->value : NULL;
    if (!infer_has(c, i) && i != PRODUCT_BY)
        return RILL_OK;
    if (!t || t->type != type || (tensor_count(t) != 1 && tensor_count(t) != n))
        return infer_fail(c, "input %u is no constant %s of one number or %lld", i,
                          dtype_name(type), (long long) n);
    return RILL_OK;
}

rill_status product_results_check(struct infer *c, const struct product_results *y, int64_t n,
                                  struct attr_ints epilogue)
{
    if (!y->to)
        return epilogue_infer(c, epilogue);
    const int64_t least = y->to == DTYPE_I8 ? -128 : 0;
    if (y->to != DTYPE_I8 && y->to != DTYPE_U8)
        return infer_fail(c, "its output would be no i8 or u8");
    if (y->floats || epilogue.n || c->n_in > PRODUCT_BYTES_INS)
        return infer_fail(c, "what it scales to bytes has no epilogue");
    if (y->low < least || y->high > least + 255 || y->low > y->high || y->zero < least ||
        y->zero > least + 255)
        return infer_fail(c, "a range of %lld to %lld about %lld does not fit %s",
                          (long long) y->low, (long long) y->high, (long long) y->zero,
                          dtype_name((enum dtype) y->to));
    if (!(y->leaky >= 0 && y->leaky <= 1))
        return infer_fail(c, "leaky=%g; wants 0 to 1", (double) y->leaky);
    TRY(scale_input_check(c, PRODUCT_BY, DTYPE_F32, n));
    TRY(scale_input_check(c, PRODUCT_ADD, DTYPE_F32, n));
    return scale_input_check(c, PRODUCT_BIAS, DTYPE_I32, n);
}

/* Four bytes for each of n outputs; NULL where there is no input. */
static rill_status each_output(struct prep *c, unsigned i, int64_t n, const void **ret)
{
    const struct tensor *t = c->n_in > i ? c->in[i] : NULL;
    if (!t)
        return RILL_OK;
    int32_t *v = arena_array(c->arena, int32_t, (size_t) n + 1);
    if (!v)
        return op_fail(c->err, RILL_NOMEM, c->node, "out of memory");
    for (int64_t k = 0; k < n; k++)
        memcpy(&v[k], (const int32_t *) t->data + (tensor_count(t) > 1 ? k : 0), sizeof *v);
    *ret = v;
    return RILL_OK;
}

rill_status product_scale_prepare(struct prep *c, const struct product_results *y, int64_t n,
                                  struct kern_scale *ret)
{
    const void *by = NULL, *add = NULL, *bias = NULL;
    *ret = (struct kern_scale) { .step = 1,
                                 .zero = (int32_t) y->zero,
                                 .low = (int32_t) y->low,
                                 .high = (int32_t) y->high,
                                 .leaky = y->leaky };
    if (!y->to)
        return RILL_OK;
    TRY(each_output(c, PRODUCT_BY, n, &by));
    TRY(each_output(c, PRODUCT_ADD, n, &add));
    TRY(each_output(c, PRODUCT_BIAS, n, &bias));
    ret->by = by;
    ret->add = add;
    ret->bias = bias;
    return RILL_OK;
}

/* ---- places of channels ---- */

void product_sums_float(int32_t *sums, int64_t n)
{
    float some[16];
    for (int64_t i = 0; i < n; i += 16) {
        for (int k = 0; k < 16; k++)
            some[k] = (float) sums[i + k];
        memcpy(sums + i, some, sizeof some);
    }
}

/* Moved as floats are, bit by bit. */
void product_sums_put(const struct kern *kern, void *y, const int32_t *sums, int64_t n,
                      int64_t channels, int64_t places)
{
    const struct kern_strided_copy m = { .n = { 1, 1, (size_t) channels, (size_t) n },
                                         .from = { 0, 0, 1, (ptrdiff_t) channels },
                                         .to = { 0, 0, (ptrdiff_t) places, 1 } };
    kern->strided_copy_f32(y, (const float *) (const void *) sums, &m);
}

void product_bytes_put(const struct kern *kern, const struct kern_scale *to, uint8_t *y,
                       int32_t *sums, int64_t n, int64_t channels, int64_t places)
{
    uint8_t *bytes = (uint8_t *) sums; /* never further than the sums that are read */
    for (int64_t p = 0; p < n; p++)
        kern->scale_bytes(places == 1 ? y : bytes + p * channels, sums + p * channels,
                          (size_t) channels, to);
    if (places > 1)
        kern_bytes_turn(y, (size_t) places, bytes, (size_t) channels, (size_t) n,
                        (size_t) channels);
}

/* ---- weights ---- */

/* Room for the zeros of all matrices, in whole lines. */
static size_t zeros_bytes(const struct product_weights *w)
{
    size_t n = w->zero_each ? (size_t) w->matrices * w->form.n : w->form.n;
    return (n * sizeof(int32_t) + 63) / 64 * 64 + 64;
}

static void weights_pack(const struct product_weights *w, const struct tensor *zero,
                         const void *zero_data, const void *data, int32_t *zeros, char *to)
{
    struct kern_q8_w one = w->form;
    int64_t n = product_zeros(zero, zero_data, zeros);
    one.zero = n ? zeros : NULL;
    one.zero_step = n > 1;
    for (int64_t i = 0; i < w->matrices; i++, to += w->packed_bytes) {
        one.w = (const uint8_t *) data + (size_t) i * w->step;
        kern_q8_pack(to, &one);
        one.zero += n > 1 && w->zero_each ? one.n : 0;
    }
}

rill_status product_weights_prepare(struct prep *c, struct product_weights *w)
{
    const struct tensor *data = c->in[IN_W], *zero = c->n_in > IN_W_ZERO ? c->in[IN_W_ZERO] : NULL;
    size_t all;
    bool there;
    w->form.is_signed = product_is_signed(data);
    const bool constant = data->data && (!zero || zero->data);
    w->form.rows = constant && c->kern->q8_outliers ? w->form.rows : 0;
    prep_pack_outliers(c, w->form.rows > 0);
    w->packed_bytes = kern_q8_bytes(w->form.n, w->form.k, w->form.rows > 0);
    if (!w->packed_bytes || __builtin_mul_overflow(w->packed_bytes, (size_t) w->matrices, &all) ||
        all > PTRDIFF_MAX / 2)
        return prep_fail(c, "a product of %zu columns and %zu terms is too large", w->form.n,
                         w->form.k);
    if (!constant)
        return RILL_OK;
    int32_t *zeros = arena_alloc(c->arena, zeros_bytes(w));
    char *to = prep_pack(c, all / 64, 64, &there);
    if (!zeros || !to)
        return op_fail(c->err, RILL_NOMEM, c->node, "out of memory");
    const struct arena_mark m = arena_mark(c->arena);
    if (w->form.rows &&
        !(w->form.work = arena_alloc(c->arena, kern_q8_work_bytes(w->form.n, w->form.k))))
        return op_fail(c->err, RILL_NOMEM, c->node, "out of memory");
    if (!there)
        weights_pack(w, zero, zero ? zero->data : NULL, data->data, zeros, to);
    arena_rewind_to(c->arena, &m);
    w->form.work = NULL;
    for (int64_t i = 0; there && i < w->matrices; i++)
        if (!kern_q8_check(to + w->packed_bytes * (size_t) i, w->form.n, w->form.k,
                           w->form.rows > 0))
            return op_fail(c->err, RILL_MALFORMED, c->node, KERN_Q8_DAMAGED);
    w->packed = to;
    c->packed |= 1u << IN_W;
    c->packed |= zero ? 1u << IN_W_ZERO : 0;
    return RILL_OK;
}

size_t product_weights_scratch(const struct product_weights *w)
{
    return w->packed ? 0 : zeros_bytes(w) + w->packed_bytes * (size_t) w->matrices;
}

const char *product_weights_ready(const struct eval *e, const struct product_weights *w,
                                  void *scratch)
{
    if (w->packed)
        return w->packed;
    const struct tensor *zero = e->n_in > IN_W_ZERO ? e->in[IN_W_ZERO] : NULL;
    char *to = (char *) scratch + zeros_bytes(w);
    weights_pack(w, zero, zero ? e->x[IN_W_ZERO] : NULL, e->x[IN_W], scratch, to);
    return to;
}

/* ---- rows of many evaluations ---- */

void product_rows_run(struct product_rows *r)
{
    const struct kern_q8_x how = { .is_signed = r->is_signed, .zero_step = 1, .zero = r->zero };
    if (r->count)
        r->kern->gemm_rows_q8(r->y, r->x, &r->w, &how, r->count);
    r->count = 0;
}

void product_rows_add(struct product_rows *r, int32_t *y, const void *x, int32_t zero)
{
    if (r->count == MANY_ROWS_MAX)
        product_rows_run(r);
    r->y[r->count] = y;
    r->x[r->count] = x;
    r->zero[r->count++] = zero;
}

/* ---- MatMulInteger ---- */

static const struct attr_spec matmul_integer_attrs[] = {
    PRODUCT_RESULT_ROWS(struct matmul_integer_attr),
    EPILOGUE_ROW(struct matmul_integer_attr),
    { 0 },
};

static rill_status matmul_integer_infer(struct infer *c)
{
    const struct matmul_integer_attr *a = c->attr;
    const struct fact *x = c->in[IN_X], *w = c->in[IN_W];
    TRY(product_types_check(c));
    TRY(matmul_shape_infer(c, product_type(&a->y)));
    TRY(product_zero_check(c, IN_X_ZERO, IN_X, x->rank > 1 ? x->shape[x->rank - 2] : NULL));
    TRY(product_zero_check(c, IN_W_ZERO, IN_W, w->rank > 1 ? w->shape[w->rank - 1] : NULL));
    return product_results_check(c, &a->y,
                                 w->rank > 1 && dim_is_const(w->shape[w->rank - 1])
                                     ? dim_value(w->shape[w->rank - 1])
                                     : 1,
                                 a->epilogue);
}

struct matmul_integer_args {
    struct matmul_shape s;
    struct product_weights w;
    int64_t rows;       /* of a matrix, which zeros of rows go by */
    size_t zeros_bytes; /* of the rows of a product, in front of the weights in scratch */
    size_t sums_bytes;  /* of some rows, where bytes come out; in front of the zeros */
    struct epilogue epilogue, behind; /* behind: of a product that scales its sums itself, */
    unsigned scale_in;                /* by that input; 0: none */
    struct kern_scale to;
};

static rill_status matmul_integer_prepare(struct prep *c)
{
    const struct matmul_integer_attr *a = c->attr;
    const struct tensor *x = c->in[IN_X], *w = c->in[IN_W], *y = c->out[0];
    struct matmul_integer_args *g = arena_new(c->arena, struct matmul_integer_args);
    if (!g)
        return op_fail(c->err, RILL_NOMEM, c->node, "out of memory");
    c->args = g;
    c->kernel = "gemm_q8";
    c->kern_uses |= KERN_USES_BYTES;
    matmul_shape_set(&g->s, x, w, y);
    g->rows = g->s.m;
    if (!tensor_count(y))
        return RILL_OK;
    if (w->rank <= 2 && x->rank > 1)
        matmul_rows_join(&g->s);
    g->w.form = (struct kern_q8_w) {
        .n = (size_t) g->s.n,
        .k = (size_t) g->s.k,
        .stride_o = 1,
        .stride_k = (size_t) g->s.n,
        .rows = (size_t) g->s.m,
    };
    g->w.step = g->w.form.n * g->w.form.k;
    g->w.matrices = 1;
    for (int i = 0; i < w->rank - 2; i++)
        g->w.matrices *= w->dim[i];
    TRY(product_weights_prepare(c, &g->w));
    TRY(product_scale_prepare(c, &a->y, g->s.n, &g->to));
    TRY(epilogue_prepare(c, a->epilogue, &g->epilogue));
    g->behind = g->epilogue;
    g->scale_in = epilogue_take_scale(&g->behind);
    g->zeros_bytes = ((size_t) g->s.m * sizeof(int32_t) + 63) / 64 * 64;
    g->sums_bytes = g->to.by ? ((size_t) g->s.n * SOME_ROWS * sizeof(int32_t) + 63) / 64 * 64 : 0;
    c->scratch_bytes = g->sums_bytes + g->zeros_bytes + product_weights_scratch(&g->w);
    c->many = !g->to.by && g->w.packed && g->s.batches == 1 && many_pays(g->s.m, g->s.n, g->s.k);
    return RILL_OK;
}

/* The zeros of the rows of a product: one, or as many as there are rows. */
static struct kern_q8_x rows_read(const struct eval *e, const struct matmul_integer_args *g)
{
    int32_t *zeros = (int32_t *) (void *) ((char *) e->scratch + g->sums_bytes);
    const bool has = e->n_in > IN_X_ZERO && e->x[IN_X_ZERO];
    struct kern_q8_x how = { .is_signed = product_is_signed(e->in[IN_X]) };
    int64_t n = has ? tensor_count(e->in[IN_X_ZERO]) : 0;
    if (!n)
        return how;
    for (int64_t i = 0; i < (n > 1 ? g->s.m : 1); i++)
        zeros[i] = (int32_t) tensor_get_i64(e->in[IN_X_ZERO], e->x[IN_X_ZERO], i % n);
    how.zero = zeros;
    how.zero_step = n > 1;
    return how;
}

static struct kern_q8 weights_open(const struct eval *e, const struct matmul_integer_args *g,
                                   const char *packed)
{
    struct kern_q8 w = kern_q8_open(packed, (size_t) g->s.n, (size_t) g->s.k);
    w.floats = ((const struct matmul_integer_attr *) e->attr)->y.floats;
    return w;
}

/* Rows of bytes, some at a time. */
static void bytes_put(const struct eval *e, const struct matmul_integer_args *g, uint8_t *y,
                      const uint8_t *x, const struct kern_q8 *w, struct kern_q8_x how)
{
    int32_t *sums = e->scratch;
    for (size_t i = 0, some, m = (size_t) g->s.m; i < m; i += some) {
        some = m - i < SOME_ROWS ? m - i : SOME_ROWS;
        e->kern->gemm_q8(sums, w->n, x + i * w->k, w->k, w, &how, some);
        how.zero += how.zero ? some * how.zero_step : 0;
        for (size_t r = 0; r < some; r++)
            e->kern->scale_bytes(y + (i + r) * w->n, sums + r * w->n, w->n, &g->to);
    }
}

static void matmul_integer_eval(const struct eval *e)
{
    const struct matmul_integer_args *g = e->args;
    const size_t m = (size_t) g->s.m, n = (size_t) g->s.n, k = (size_t) g->s.k;
    if (!tensor_count(e->out[0]))
        return;
    const struct kern_q8_x how = rows_read(e, g);
    const char *packed =
        product_weights_ready(e, &g->w, (char *) e->scratch + g->sums_bytes + g->zeros_bytes);
    for (int64_t i = 0; i < g->s.batches; i++) {
        int64_t a, b;
        matmul_batch(&g->s, i, &a, &b);
        struct kern_q8 w = weights_open(e, g, packed + (size_t) b * g->w.packed_bytes);
        if (g->scale_in)
            w.by = *(const float *) e->x[g->scale_in];
        const uint8_t *x = (const uint8_t *) e->x[IN_X] + (size_t) a * m * k;
        if (g->to.by)
            bytes_put(e, g, (uint8_t *) e->y[0] + (size_t) i * m * n, x, &w, how);
        else
            e->kern->gemm_q8((int32_t *) e->y[0] + (size_t) i * m * n, n, x, k, &w, &how, m);
    }
    epilogue_rows(&g->behind, e, e->y[0]);
}

static void evaluation_add(struct product_rows *r, const struct eval *e,
                           const struct matmul_integer_args *g)
{
    const struct kern_q8_x how = rows_read(e, g);
    for (size_t i = 0; i < (size_t) g->s.m; i++)
        product_rows_add(r, (int32_t *) e->y[0] + i * r->w.n,
                         (const uint8_t *) e->x[IN_X] + i * r->w.k,
                         how.zero ? how.zero[i * how.zero_step] : 0);
}

static void matmul_integer_eval_many(const struct eval *e, unsigned n)
{
    const struct matmul_integer_args *g = e->args;
    struct product_rows r = { .kern = e->kern, .is_signed = product_is_signed(e->in[IN_X]) };
    r.w = weights_open(e, g, g->w.packed);
    for (unsigned i = 0; i < n; i++)
        evaluation_add(&r, &e[i], g);
    product_rows_run(&r);
    for (unsigned i = 0; i < n; i++)
        epilogue_rows(&g->epilogue, &e[i], e[i].y[0]);
}

static const struct op op_matmul_integer = {
    .id = OP_MATMUL_INTEGER,
    .name = "MatMulInteger",
    .attrs = matmul_integer_attrs,
    .attr_bytes = sizeof(struct matmul_integer_attr),
    .min_in = 2,
    .max_in = 4,
    .own_in = EPILOGUE_IN_MAX,
    .epilogue_in = PRODUCT_EPILOGUE,
    .epilogue_at = offsetof(struct matmul_integer_attr, epilogue),
    .epilogue_axis = -1,
    .min_out = 1,
    .max_out = 1,
    .infer = matmul_integer_infer,
    .prepare = matmul_integer_prepare,
    .eval = matmul_integer_eval,
    .eval_many = matmul_integer_eval_many,
    .help = "matrix product of 8-bit numbers less their zeros, in i32",
};

const struct op *const ops_quant_product[] = { &op_matmul_integer, NULL };
