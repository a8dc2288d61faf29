/* SPDX-License-Identifier: MIT */
/* reduce.c - reductions over axes. The elements of one output are taken strictly in index order,
 * whatever the shape; lanes run along outputs. Half floats are reduced in f32, narrow integers in
 * 64 bits. */
#include "engine/ops/attrs.h"
#include "engine/ops/ops.h"
#include "engine/ops/elem.h"

#include <math.h>
#include <string.h>

#define FOLD_COUNT (KERN_FOLD_MIN + 1)
enum post { POST_NONE, POST_MEAN, POST_SQRT, POST_LOG, POST_LOGSUMEXP };

struct reduce_def {
    struct op op;
    enum kern_fold fold;
    enum post post;
    unsigned types;
    const struct dim *(*dim)(struct dims *, const struct dim *, const struct dim *);
    int64_t dim_start;
};

/* What the loops compute in. */
enum wide { WIDE_F32, WIDE_F64, WIDE_I64, WIDE_U64 };
static const size_t wide_bytes[] = { 4, 8, 8, 8 };

/* The input's axes with those of length 1 dropped and neighbours of one kind merged. */
struct reduce_args {
    int rank;
    size_t n[RANK_MAX], step[RANK_MAX];  /* step: in the output, 0 along a reduced axis */
    size_t count_in, count_out, reduced; /* reduced: elements per output */
    size_t
        run; /* trailing elements of the input that are reduced together; 1: its last axis stays */
    enum dtype type;
    enum wide wide;
    bool widen; /* the input is not in the wide type: it goes through scratch */
};

/* ---- folding rows: n elements onto one, or n onto n ---- */

#define DEF_ONE(NAME, C, EXPR)                                                                     \
    static void NAME##_one(void *y, const void *x, size_t n)                                       \
    {                                                                                              \
        const C *p = x;                                                                            \
        C a = *(C *) y;                                                                            \
        for (size_t i = 0; i < n; i++) {                                                           \
            const C v = p[i];                                                                      \
            a = (EXPR);                                                                            \
        }                                                                                          \
        *(C *) y = a;                                                                              \
    }
#define DEF_EACH(NAME, C, EXPR)                                                                    \
    static void NAME##_each(void *y, const void *x, size_t n)                                      \
    {                                                                                              \
        const C *p = x;                                                                            \
        C *o = y;                                                                                  \
        for (size_t i = 0; i < n; i++) {                                                           \
            const C v = p[i], a = o[i];                                                            \
            o[i] = (EXPR);                                                                         \
        }                                                                                          \
    }
#define DEF_FOLD(NAME, C, EXPR)                                                                    \
    DEF_ONE(NAME, C, EXPR)                                                                         \
    DEF_EACH(NAME, C, EXPR)
#define FLOAT_FOLDS(DEF, S, C, ABS)                                                                \
    DEF(sum_##S, C, a + v)                                                                         \
    DEF(abs_##S, C, a + ABS(v))                                                                    \
    DEF(square_##S, C, a + v * v)                                                                  \
    DEF(prod_##S, C, a *v)                                                                         \
    DEF(max_##S, C, v > a || v != v ? v : a)                                                       \
    DEF(min_##S, C, v < a || v != v ? v : a)
#define U(v) ((uint64_t) (v))
#define INT_FOLDS(S, C, ABS)                                                                       \
    DEF_FOLD(sum_##S, C, (C) (U(a) + U(v)))                                                        \
    DEF_FOLD(abs_##S, C, (C) (U(a) + ABS(v)))                                                      \
    DEF_FOLD(square_##S, C, (C) (U(a) + U(v) * U(v)))                                              \
    DEF_FOLD(prod_##S, C, (C) (U(a) * U(v)))                                                       \
    DEF_FOLD(max_##S, C, v > a ? v : a)                                                            \
    DEF_FOLD(min_##S, C, v < a ? v : a)
#define ABS_I64(v) (v < 0 ? 0 - U(v) : U(v))
FLOAT_FOLDS(DEF_ONE, f32, float, fabsf) /* rows onto a row: kernels */
FLOAT_FOLDS(DEF_FOLD, f64, double, fabs)
INT_FOLDS(i64, int64_t, ABS_I64)
INT_FOLDS(u64, uint64_t, U)

typedef void fold_fn(void *y, const void *x, size_t n);
#define FOLDS(S, form)                                                                             \
    {                                                                                              \
        sum_##S##form, abs_##S##form, square_##S##form, prod_##S##form, max_##S##form,             \
            min_##S##form                                                                          \
    }
static fold_fn *const fold_one[][FOLD_COUNT] = { FOLDS(f32, _one), FOLDS(f64, _one),
                                                 FOLDS(i64, _one), FOLDS(u64, _one) };
static fold_fn *const fold_each[][FOLD_COUNT] = {
    [WIDE_F64] = FOLDS(f64, _each), [WIDE_I64] = FOLDS(i64, _each), [WIDE_U64] = FOLDS(u64, _each)
};

/* Eight rows of f32 at a time, each folded in its own order. */
#define ROWS 8
#define DEF_ROWS(NAME, EXPR)                                                                       \
    static void NAME##_rows(float *y, const float *x, size_t rows, size_t n)                       \
    {                                                                                              \
        size_t r = 0;                                                                              \
        for (; r + ROWS <= rows; r += ROWS) {                                                      \
            float acc[ROWS];                                                                       \
            memcpy(acc, y + r, sizeof acc);                                                        \
            for (size_t i = 0; i < n; i++)                                                         \
                for (size_t k = 0; k < ROWS; k++) {                                                \
                    const float v = x[(r + k) * n + i], a = acc[k];                                \
                    acc[k] = (EXPR);                                                               \
                }                                                                                  \
            memcpy(y + r, acc, sizeof acc);                                                        \
        }                                                                                          \
        for (; r < rows; r++)                                                                      \
            NAME##_f32_one(y + r, x + r * n, n);                                                   \
    }
DEF_ROWS(sum, a + v)
DEF_ROWS(abs, a + fabsf(v))
DEF_ROWS(square, a + v * v)
DEF_ROWS(prod, a *v)
DEF_ROWS(max, v > a || v != v ? v : a)
DEF_ROWS(min, v < a || v != v ? v : a)
typedef void rows_fn(float *y, const float *x, size_t rows, size_t n);
static rows_fn *const fold_rows[FOLD_COUNT] = { sum_rows,  abs_rows, square_rows,
                                                prod_rows, max_rows, min_rows };

/* ---- walking the input ---- */

/* The next place of the input, over axes up to `last`, and of the output; false: there is none. */
static bool place_next(const struct reduce_args *g, int last, size_t *at, size_t *place)
{
    for (int a = last; a >= 0; a--) {
        *place += g->step[a];
        if (++at[a] < g->n[a])
            return true;
        *place -= g->step[a] * g->n[a];
        at[a] = 0;
    }
    return false;
}

/* Visits every row of the last axis in input order and folds it onto its place in the output. */
static void reduce_walk(const struct reduce_args *g, enum kern_fold fold, char *y, const char *x)
{
    int last = g->rank - 1;
    size_t bytes = wide_bytes[g->wide], n = g->n[last], at[RANK_MAX] = { 0 }, place = 0;
    fold_fn *f = g->step[last] ? fold_each[g->wide][fold] : fold_one[g->wide][fold];
    do {
        f(y + place * bytes, x, n);
        x += n * bytes;
    } while (place_next(g, last - 1, at, &place));
}

/* Rows that fall onto one row of the output: axes that stay and axes that go take turns, and the
 * last one stays. */
static size_t rows_onto_one(const struct reduce_args *g)
{
    return g->rank > 1 ? g->n[g->rank - 2] : 1;
}

static void rows_walk(const struct kern *k, const struct reduce_args *g, enum kern_fold fold,
                      float *y, const float *x)
{
    const size_t n = g->n[g->rank - 1], rows = rows_onto_one(g);
    size_t at[RANK_MAX] = { 0 }, place = 0;
    do {
        k->fold_rows_f32(y + place, x, rows, n, fold);
        x += rows * n;
    } while (place_next(g, g->rank - 3, at, &place));
}

#define RUN_LEAST 64

/* Runs are summed in chains, which the kernel puts together. */
static void mean_one(const struct kern *k, double *y, const float *x, size_t n, size_t run)
{
    double a = *y;
    for (size_t i = 0; i < n; i += run) {
        float sum = x[i];
        if (run >= RUN_LEAST)
            k->chains_sum_f32(&sum, x + i, 1, run);
        a += (double) sum;
    }
    *y = a;
}

/* Means of many: long runs in chains, which are summed in order, in f64, as are elements that do
 * not lie together. They are of one frame, whatever the pulse: axes that stay end a run also where
 * their length is 1. Sums are folded in order instead (reduce_walk), which zeros in front of what
 * they sum do not change: rules of pulses count on it. sums: one an output. */
static void means_walk(const struct kern *k, const struct reduce_args *g, float *y, const float *x,
                       double *sums)
{
    const int last = g->rank - 1;
    const size_t run = g->run >= RUN_LEAST ? g->run : 1;
    if (g->rank == 2 && !g->step[1] && run == g->n[1]) { /* a run for each output */
        k->chains_sum_f32(y, x, g->n[0], run);
        return;
    }
    size_t at[RANK_MAX] = { 0 }, place = 0;
    memset(sums, 0, g->count_out * sizeof *sums);
    const bool stays = g->step[last];
    const size_t rows = stays ? rows_onto_one(g) : 1;
    do {
        if (stays)
            k->sum_rows_f64(sums + place, x, rows, g->n[last]);
        else
            mean_one(k, sums + place, x, g->n[last], run);
        x += rows * g->n[last];
    } while (place_next(g, last - (stays ? 2 : 1), at, &place));
    for (size_t i = 0; i < g->count_out; i++)
        y[i] = (float) sums[i];
}

static void reduce_fold(const struct kern *k, const struct reduce_args *g, enum kern_fold fold,
                        void *y, const void *x)
{
    const bool rows = g->wide == WIDE_F32 && g->rank == 2 && !g->step[1];
    if (!g->count_in)
        return;
    if (rows && fold == KERN_FOLD_SUM)
        k->rows_sum_f32(y, x, g->n[0], g->n[1]);
    else if (rows && fold == KERN_FOLD_MAX)
        k->rows_max_f32(y, x, g->n[0], g->n[1]);
    else if (rows)
        fold_rows[fold](y, x, g->n[0], g->n[1]);
    else if (g->wide == WIDE_F32 && g->step[g->rank - 1])
        rows_walk(k, g, fold, y, x);
    else
        reduce_walk(g, fold, y, x);
}

/* Which of two zeros is the greatest is up to the way: it is +0. */
static void zeros_settle(const struct reduce_args *g, float *y)
{
    for (size_t i = 0; i < g->count_out; i++)
        y[i] += 0.0f;
}

static void wide_fill(enum wide w, void *y, size_t n, double f, int64_t i, uint64_t u)
{
    for (size_t k = 0; k < n; k++) {
        if (w == WIDE_F32)
            ((float *) y)[k] = (float) f;
        else if (w == WIDE_F64)
            ((double *) y)[k] = f;
        else
            ((uint64_t *) y)[k] = w == WIDE_I64 ? (uint64_t) i : u;
    }
}

/* The least and the greatest number of an integer type narrower than the loops compute in. */
static int64_t int_limit(enum dtype t, bool most)
{
    unsigned bits = t == DTYPE_BOOL ? 1 : (unsigned) dtype_bytes(t) * 8;
    if (!dtype_is_signed(t))
        return most && bits < 64 ? (INT64_C(1) << bits) - 1 : 0;
    return most ? INT64_MAX >> (64 - bits) : INT64_MIN >> (64 - bits);
}

static void reduce_start(const struct reduce_args *g, enum kern_fold fold, void *y)
{
    size_t n = g->count_out;
    if (fold == KERN_FOLD_MAX)
        wide_fill(g->wide, y, n, -HUGE_VAL, int_limit(g->type, false), 0);
    else if (fold == KERN_FOLD_MIN)
        wide_fill(g->wide, y, n, HUGE_VAL, int_limit(g->type, true), UINT64_MAX);
    else
        wide_fill(g->wide, y, n, fold == KERN_FOLD_PROD, fold == KERN_FOLD_PROD,
                  fold == KERN_FOLD_PROD);
}

/* ---- after folding, and the two-pass LogSumExp ---- */

static void post_f32(const struct eval *e, const struct reduce_args *g, enum post post, float *y)
{
    size_t n = g->count_out;
    if (post == POST_SQRT)
        e->kern->sqrt_f32(y, y, n);
    else if (post == POST_LOG)
        e->kern->log_f32(y, y, n);
    else if (post == POST_MEAN)
        e->kern->divs_f32(y, y, (float) g->reduced, n);
}

static void post_f64(const struct reduce_args *g, enum post post, double *y)
{
    for (size_t i = 0; i < g->count_out; i++)
        y[i] = post == POST_SQRT ? sqrt(y[i])
            : post == POST_LOG   ? log(y[i])
            : post == POST_MEAN  ? y[i] / (double) g->reduced
                                 : y[i];
}

/* t = e^(x - max of its output); an infinite max is not subtracted. Works on input order with
 * output places. */
static void shifted_exp(const struct eval *e, const struct reduce_args *g, void *t, const void *x,
                        const void *top)
{
    size_t at[RANK_MAX] = { 0 }, place = 0;
    for (size_t i = 0; i < g->count_in; i++) {
        double m =
            g->wide == WIDE_F32 ? ((const float *) top)[place] : ((const double *) top)[place];
        m = isinf(m) ? 0 : m;
        if (g->wide == WIDE_F32)
            ((float *) t)[i] = ((const float *) x)[i] - (float) m;
        else
            ((double *) t)[i] = exp(((const double *) x)[i] - m);
        place_next(g, g->rank - 1, at, &place);
    }
    if (g->wide == WIDE_F32)
        e->kern->exp_f32(t, t, g->count_in);
}

static void log_sum_exp(const struct eval *e, const struct reduce_args *g, void *y, const void *x,
                        char *spare)
{
    size_t bytes = wide_bytes[g->wide];
    void *top = spare, *t = spare + (g->count_out * bytes + 63) / 64 * 64;
    reduce_start(g, KERN_FOLD_MAX, top);
    reduce_fold(e->kern, g, KERN_FOLD_MAX, top, x);
    shifted_exp(e, g, t, x, top);
    reduce_start(g, KERN_FOLD_SUM, y);
    reduce_fold(e->kern, g, KERN_FOLD_SUM, y, t);
    if (g->wide == WIDE_F32)
        post_f32(e, g, POST_LOG, y);
    else
        post_f64(g, POST_LOG, y);
    for (size_t i = 0; i < g->count_out; i++) {
        double m = g->wide == WIDE_F32 ? ((float *) top)[i] : ((double *) top)[i];
        if (isinf(m))
            continue;
        if (g->wide == WIDE_F32)
            ((float *) y)[i] += (float) m;
        else
            ((double *) y)[i] += m;
    }
}

/* ---- eval ---- */

static void widen_all(enum wide w, void *ret, const struct tensor *t, const void *x, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        int64_t k = (int64_t) i;
        if (w == WIDE_F32)
            ((float *) ret)[i] = (float) tensor_get_f64(t, x, k);
        else if (w == WIDE_F64)
            ((double *) ret)[i] = tensor_get_f64(t, x, k);
        else
            ((int64_t *) ret)[i] = tensor_get_i64(t, x, k);
    }
}

static void narrow_all(enum wide w, const void *wide, const struct tensor *t, void *y, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        int64_t k = (int64_t) i;
        if (w == WIDE_F32)
            tensor_set_f64(t, y, k, ((const float *) wide)[i]);
        else if (w == WIDE_F64 && dtype_is_int(t->type)) {
            double top = dtype_bytes(t->type) < 8 ? 0x1p31 : 0x1p62, v = ((const double *) wide)[i];
            tensor_set_f64(t, y, k, isnan(v) ? 0 : v > top ? top : v < -top ? -top : v);
        } else if (w == WIDE_F64) {
            tensor_set_f64(t, y, k, ((const double *) wide)[i]);
        } else {
            memcpy((char *) y + i * dtype_bytes(t->type), (const char *) wide + i * 8,
                   dtype_bytes(t->type));
        }
    }
}

/* Means of so many that one chain of f32 would lose what matters. */
static bool many_means(const struct reduce_def *d, const struct reduce_args *g)
{
    return d->post == POST_MEAN && g->wide == WIDE_F32 && g->reduced >= RUN_LEAST && g->count_in;
}

static void reduce_eval(const struct eval *e)
{
    const struct reduce_def *d = (const struct reduce_def *) (const void *) e->node->op;
    const struct reduce_args *g = e->args;
    size_t bytes = wide_bytes[g->wide];
    char *spare = e->scratch;
    const void *x = e->x[0];
    void *y = e->y[0];
    if (g->widen) {
        widen_all(g->wide, spare, e->in[0], x, g->count_in);
        x = spare;
        y = spare += (g->count_in * bytes + 63) / 64 * 64;
        spare += (g->count_out * bytes + 63) / 64 * 64;
    }
    if (d->post == POST_LOGSUMEXP) {
        log_sum_exp(e, g, y, x, spare);
    } else {
        reduce_start(g, d->fold, y);
        if (many_means(d, g))
            means_walk(e->kern, g, y, x, (double *) (void *) spare);
        else
            reduce_fold(e->kern, g, d->fold, y, x);
        if (d->fold == KERN_FOLD_MAX && g->wide == WIDE_F32)
            zeros_settle(g, y);
        if (g->wide == WIDE_F32)
            post_f32(e, g, d->post, y);
        else if (g->wide == WIDE_F64)
            post_f64(g, d->post, y);
    }
    if (g->widen)
        narrow_all(g->wide, y, e->out[0], e->y[0], g->count_out);
}

/* ---- infer and prepare ---- */

static rill_status axes_mark(const struct node *n, rill_error *err, int64_t axis, int rank,
                             bool *marks)
{
    int a = axis_normalise(axis, rank);
    if (a < 0)
        return op_fail(err, RILL_UNSUPPORTED, n, "axis %lld does not exist in a tensor of rank %d",
                       (long long) axis, rank);
    marks[a] = true;
    return RILL_OK;
}

static void axes_default(const struct reduce_attr *a, unsigned n, bool *marks)
{
    for (int i = 0; n == 0 && i < RANK_MAX; i++)
        marks[i] = !a->noop_with_empty_axes;
}

static void infer_reduced(struct infer *c, enum dtype type, const bool *marks, bool keep)
{
    const struct dim *shape[RANK_MAX];
    int rank = 0;
    for (int i = 0; i < c->in[0]->rank; i++)
        if (!marks[i] || keep)
            shape[rank++] = marks[i] ? dim_int(c->dims, 1) : c->in[0]->shape[i];
    infer_shape(c, 0, type, rank, shape);
}

static rill_status reduce_infer(struct infer *c)
{
    const struct reduce_def *d = (const struct reduce_def *) (const void *) c->node->op;
    const struct reduce_attr *a = c->attr;
    bool marks[RANK_MAX] = { false };
    int64_t axes[RANK_MAX];
    unsigned n = 0;
    TRY(elem_check_type(c, 0, d->types));
    if (infer_has(c, 1) && !(c->in[1]->rank == 1 && dim_is(c->in[1]->shape[0], 0)))
        TRY(infer_ints(c, 1, axes, RANK_MAX, &n));
    for (unsigned i = 0; i < n; i++)
        TRY(axes_mark(c->node, c->err, axes[i], c->in[0]->rank, marks));
    axes_default(a, n, marks);
    infer_reduced(c, c->in[0]->type, marks, a->keepdims);
    return RILL_OK;
}

static enum wide wide_of(const struct reduce_def *d, enum dtype t)
{
    if (t == DTYPE_F32 || t == DTYPE_F16 || t == DTYPE_BF16)
        return WIDE_F32;
    if (t == DTYPE_F64 || d->post != POST_NONE)
        return WIDE_F64;
    return t == DTYPE_U64 ? WIDE_U64 : WIDE_I64;
}

static bool wide_is(enum wide w, enum dtype t)
{
    static const enum dtype own[] = { DTYPE_F32, DTYPE_F64, DTYPE_I64, DTYPE_U64 };
    return own[w] == t;
}

static void args_shape(struct reduce_args *g, const struct tensor *in, const bool *marks)
{
    size_t stride = 1;
    g->count_in = (size_t) tensor_count(in);
    g->reduced = g->run = 1;
    for (int i = in->rank; i > 0 && marks[i - 1]; i--)
        g->run *= (size_t) in->dim[i - 1];
    for (int i = 0; i < in->rank; i++) {
        size_t n = (size_t) in->dim[i];
        g->reduced *= marks[i] ? n : 1;
        if (n == 1)
            continue;
        bool merge = g->rank && !g->step[g->rank - 1] == marks[i];
        int r = merge ? g->rank - 1 : g->rank++;
        g->n[r] = merge ? g->n[r] * n : n;
        g->step[r] = !marks[i];
    }
    if (!g->rank)
        g->n[g->rank++] = 1;
    for (int r = g->rank; r-- > 0;)
        if (g->step[r]) {
            g->step[r] = stride;
            stride *= g->n[r];
        }
}

static rill_status reduce_prepare(struct prep *c)
{
    const struct reduce_def *d = (const struct reduce_def *) (const void *) c->node->op;
    struct reduce_args *g = arena_new(c->arena, struct reduce_args);
    bool marks[RANK_MAX] = { false };
    int64_t n = c->n_in > 1 && c->in[1] ? tensor_count(c->in[1]) : 0;
    if (!g)
        return op_fail(c->err, RILL_NOMEM, c->node, "out of memory");
    if (n && !c->in[1]->data)
        return prep_fail(c, "the axes must be constant");
    for (int64_t i = 0; i < n; i++)
        TRY(axes_mark(c->node, c->err, tensor_get_i64(c->in[1], c->in[1]->data, i), c->in[0]->rank,
                      marks));
    axes_default(c->attr, (unsigned) n, marks);
    args_shape(g, c->in[0], marks);
    g->count_out = (size_t) tensor_count(c->out[0]);
    g->type = c->in[0]->type;
    g->wide = wide_of(d, g->type);
    g->widen = !wide_is(g->wide, g->type);
    size_t bytes = wide_bytes[g->wide], in = (g->count_in * bytes + 63) / 64 * 64,
           out = (g->count_out * bytes + 63) / 64 * 64;
    c->scratch_bytes = (g->widen ? in + out : 0) + (d->post == POST_LOGSUMEXP ? in + out : 0) +
        (many_means(d, g) ? 2 * out : 0);
    c->args = g;
    c->kernel = g->step[g->rank - 1] ? "lanes" : "rows";
    return RILL_OK;
}

/* ---- symbolic sizes ---- */

static void reduce_dim(const struct eval *e, struct dims *ds)
{
    const struct reduce_def *d = (const struct reduce_def *) (const void *) e->node->op;
    struct reduce_args g = { 0 };
    bool marks[RANK_MAX] = { false };
    const struct tensor *t = e->in[0];
    int64_t n = e->n_in > 1 && e->in[1] ? tensor_count(e->in[1]) : 0;
    for (int64_t i = 0; i < n; i++)
        marks[axis_normalise(tensor_get_i64(e->in[1], e->x[1], i), t->rank)] = true;
    axes_default(e->attr, (unsigned) n, marks);
    args_shape(&g, t, marks);
    const struct dim **y = e->y[0];
    size_t out = (size_t) tensor_count(e->out[0]);
    for (size_t i = 0; i < out; i++)
        y[i] = NULL;
    for (size_t i = 0; i < g.count_in; i++) {
        size_t place = 0, rest = i;
        for (int a = g.rank; a-- > 0; rest /= g.n[a])
            place += rest % g.n[a] * g.step[a];
        const struct dim *v = elem_dim_at(ds, t, e->x[0], i);
        y[place] = y[place] ? d->dim(ds, y[place], v) : v;
    }
    for (size_t i = 0; i < out; i++)
        y[i] = y[i] ? y[i] : dim_int(ds, d->dim_start);
}

/* ---- ArgMax and ArgMin ---- */

struct arg_def {
    struct op op;
    bool smallest;
};

static rill_status arg_infer(struct infer *c)
{
    const struct arg_attr *a = c->attr;
    bool marks[RANK_MAX] = { false };
    TRY(elem_check_type(c, 0, TYPES_NUM));
    TRY(axes_mark(c->node, c->err, a->on.axis, c->in[0]->rank, marks));
    if (dim_is(c->in[0]->shape[axis_normalise(a->on.axis, c->in[0]->rank)], 0))
        return infer_fail(c, "the axis has no elements to choose from");
    infer_reduced(c, DTYPE_I64, marks, a->keepdims);
    return RILL_OK;
}

/* Whether element i takes the place of the best so far. The first NaN wins over everything. */
static bool arg_better(const struct eval *e, int64_t i, int64_t best, bool smallest, bool last)
{
    const struct tensor *t = e->in[0];
    if (dtype_is_float(t->type)) {
        double v = tensor_get_f64(t, e->x[0], i), b = tensor_get_f64(t, e->x[0], best);
        if (isnan(b) || isnan(v))
            return isnan(v) && (last || !isnan(b));
        return (smallest ? v < b : v > b) || (last && v == b);
    }
    int64_t v = tensor_get_i64(t, e->x[0], i), b = tensor_get_i64(t, e->x[0], best);
    if (t->type == DTYPE_U64) {
        v ^= INT64_MIN;
        b ^= INT64_MIN;
    }
    return (smallest ? v < b : v > b) || (last && v == b);
}

/* The same rule for one line of f32. */
static int64_t arg_line_f32(const float *x, int64_t n, int64_t step, bool smallest, bool last)
{
    int64_t best = 0;
    float top = smallest ? -x[0] : x[0];
    for (int64_t r = 1; r < n; r++) {
        float v = smallest ? -x[r * step] : x[r * step];
        bool take = top == top ? v > top || v != v || (last && v == top) : last && v != v;
        top = take ? v : top;
        best = take ? r : best;
    }
    return best;
}

static void arg_eval(const struct eval *e)
{
    const struct arg_attr *a = e->attr;
    const struct tensor *t = e->in[0];
    bool smallest = ((const struct arg_def *) (const void *) e->node->op)->smallest;
    int axis = axis_normalise(a->on.axis, t->rank);
    int64_t n = t->dim[axis], inner = 1, count = tensor_count(e->out[0]), *y = e->y[0];
    for (int i = axis + 1; i < t->rank; i++)
        inner *= t->dim[i];
    for (int64_t k = 0; k < count; k++) {
        int64_t base = k / inner * n * inner + k % inner, best = 0;
        if (t->type == DTYPE_F32) {
            y[k] = arg_line_f32((const float *) e->x[0] + base, n, inner, smallest,
                                a->select_last_index);
            continue;
        }
        for (int64_t r = 1; r < n; r++)
            if (arg_better(e, base + r * inner, base + best * inner, smallest,
                           a->select_last_index))
                best = r;
        y[k] = best;
    }
}

static rill_status arg_prepare(struct prep *c)
{
    const struct arg_attr *a = c->attr;
    if (c->in[0]->dim[axis_normalise(a->on.axis, c->in[0]->rank)] == 0)
        return prep_fail(c, "the axis has no elements to choose from");
    c->kernel = "c";
    return RILL_OK;
}

/* ---- the tables ---- */

static const struct attr_spec reduce_attrs[] = { { .name = "keepdims",
                                                   .kind = ATTR_INT,
                                                   .offset = offsetof(struct reduce_attr, keepdims),
                                                   .def_i = 1 },
                                                 { .name = "noop_with_empty_axes",
                                                   .kind = ATTR_INT,
                                                   .offset = offsetof(struct reduce_attr,
                                                                      noop_with_empty_axes) },
                                                 { 0 } };
static const struct attr_spec arg_attrs[] = {
    { .name = "axis", .kind = ATTR_INT, .offset = offsetof(struct arg_attr, on.axis) },
    { .name = "keepdims",
      .kind = ATTR_INT,
      .offset = offsetof(struct arg_attr, keepdims),
      .def_i = 1 },
    { .name = "select_last_index",
      .kind = ATTR_INT,
      .offset = offsetof(struct arg_attr, select_last_index) },
    { 0 }
};

#define SIZES(f, start) .op.eval_dim = reduce_dim, .dim = f, .dim_start = start
/* clang-format off */
#define REDUCE_LIST(X)                                                                            \
    X(REDUCE_SUM, ReduceSum, KERN_FOLD_SUM, POST_NONE, TYPES_NUM, "sum", SIZES(dim_add, 0))                        \
    X(REDUCE_MEAN, ReduceMean, KERN_FOLD_SUM, POST_MEAN, TYPES_NUM, "mean", .dim = NULL)                            \
    X(REDUCE_MAX, ReduceMax, KERN_FOLD_MAX, POST_NONE, TYPES_ANY, "largest; NaN wins", SIZES(dim_max, INT64_MIN))  \
    X(REDUCE_MIN, ReduceMin, KERN_FOLD_MIN, POST_NONE, TYPES_ANY, "smallest; NaN wins", SIZES(dim_min, INT64_MAX)) \
    X(REDUCE_PROD, ReduceProd, KERN_FOLD_PROD, POST_NONE, TYPES_NUM, "product", SIZES(dim_mul, 1))                  \
    X(REDUCE_L1, ReduceL1, KERN_FOLD_ABS, POST_NONE, TYPES_NUM, "sum of absolute values", .dim = NULL)            \
    X(REDUCE_L2, ReduceL2, KERN_FOLD_SQUARE, POST_SQRT, TYPES_NUM, "square root of the sum of squares", .dim = NULL) \
    X(REDUCE_LOG_SUM, ReduceLogSum, KERN_FOLD_SUM, POST_LOG, TYPES_NUM, "logarithm of the sum", .dim = NULL)           \
    X(REDUCE_LOG_SUM_EXP, ReduceLogSumExp, KERN_FOLD_SUM, POST_LOGSUMEXP, TYPES_NUM, "logarithm of the sum of e^x", .dim = NULL) \
    X(REDUCE_SUM_SQUARE, ReduceSumSquare, KERN_FOLD_SQUARE, POST_NONE, TYPES_NUM, "sum of squares", .dim = NULL)
/* clang-format on */

#define X(number, stem, how, then, set, words, ...)                                                \
    static const struct reduce_def def_##stem = { .op = { .id = OP_##number,                       \
                                                          .name = #stem,                           \
                                                          .attrs = reduce_attrs,                   \
                                                          .attr_bytes =                            \
                                                              sizeof(struct reduce_attr),          \
                                                          .min_in = 1,                             \
                                                          .max_in = 2,                             \
                                                          .min_out = 1,                            \
                                                          .max_out = 1,                            \
                                                          .infer = reduce_infer,                   \
                                                          .prepare = reduce_prepare,               \
                                                          .eval = reduce_eval,                     \
                                                          .help = words " over axes" },            \
                                                  .fold = how,                                     \
                                                  .post = then,                                    \
                                                  .types = set,                                    \
                                                  __VA_ARGS__ };
REDUCE_LIST(X)
#undef X

#define ARG_OP(number, stem, words, which)                                                         \
    static const struct arg_def def_##stem = { .op = { .id = OP_##number,                          \
                                                       .name = #stem,                              \
                                                       .attrs = arg_attrs,                         \
                                                       .attr_bytes = sizeof(struct arg_attr),      \
                                                       .min_in = 1,                                \
                                                       .max_in = 1,                                \
                                                       .min_out = 1,                               \
                                                       .max_out = 1,                               \
                                                       .infer = arg_infer,                         \
                                                       .prepare = arg_prepare,                     \
                                                       .eval = arg_eval,                           \
                                                       .help = words },                            \
                                               .smallest = which }
ARG_OP(ARG_MAX, ArgMax, "index of the largest element along an axis; the first NaN wins", false);
ARG_OP(ARG_MIN, ArgMin, "index of the smallest element along an axis; the first NaN wins", true);

const struct op *const ops_reduce[] = {
#define X(number, stem, ...) &def_##stem.op,
    REDUCE_LIST(X)
#undef X
        & def_ArgMax.op,
    &def_ArgMin.op, NULL
};
