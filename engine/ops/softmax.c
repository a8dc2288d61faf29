/* SPDX-License-Identifier: MIT */
/* softmax.c - Softmax, LogSoftmax and Hardmax along one axis. e^x is exp_adds_f32's everywhere.
 *
 * The sum of a Softmax is that of eight chains: from the first power that is not 0 on, every eighth
 * belongs to one, and neighbouring chains are added in pairs. Zeros in front, which are of keys
 * that a mask hides, and behind change nothing by that, as little as in index order, so a window of
 * the keys gives the bits that all of them do. The sum of a LogSoftmax runs in index order. */
#include "engine/ops/attrs.h"
#include "engine/ops/ops.h"
#include "engine/ops/elem.h"
#include "engine/ops/slices.h"

#include <math.h>
#include <string.h>

struct softmax_args {
    size_t outer, n, inner; /* the axis has n elements, `inner` apart */
};

enum softmax_form { SOFTMAX, LOG_SOFTMAX, HARDMAX };

struct softmax_def {
    struct op op;
    enum softmax_form form;
};

/* ---- one f32 slice, [n][inner] ---- */

/* Rows of n, several at a time: exponentials of short ones together, sums side by side. */
#define BLOCK 1024
#define BLOCK_ROWS 16 /* and more, if they fit in a block */
static size_t rows_at_once(size_t n)
{
    return n < BLOCK / BLOCK_ROWS ? BLOCK / n : BLOCK_ROWS;
}

/* y = x - max, m rows. */
static void rows_shift(const struct kern *k, float *y, const float *x, size_t m, size_t n)
{
    float top[BLOCK];
    k->rows_max_f32(top, x, m, n);
    for (size_t i = 0; i < m; i++)
        k->adds_f32(y + i * n, x + i * n, -top[i], n);
}

/* y = e^(x - max): of short rows all shifts first, so that vectors are full. */
static void rows_exp(const struct kern *k, float *y, const float *x, size_t m, size_t n)
{
    float top[BLOCK];
    if (n < 2 * BLOCK_ROWS) {
        rows_shift(k, y, x, m, n);
        k->exp_adds_f32(y, y, 0, m * n);
        return;
    }
    k->rows_max_f32(top, x, m, n);
    for (size_t i = 0; i < m; i++)
        k->exp_adds_f32(y + i * n, x + i * n, -top[i], n);
}

#define CHAINS 8

typedef float quad __attribute__((vector_size(16), aligned(4)));

static quad quad_at(const float *x)
{
    return *(const quad *) (const void *) x;
}

static quad pairs_added(quad a, quad b)
{
    return __builtin_shufflevector(a, b, 0, 2, 4, 6) + __builtin_shufflevector(a, b, 1, 3, 5, 7);
}

static float chains_added(const float *s)
{
    return ((s[0] + s[1]) + (s[2] + s[3])) + ((s[4] + s[5]) + (s[6] + s[7]));
}

static size_t zeros_in_front(const float *x, size_t n)
{
    size_t i = 0;
    while (i + CHAINS <= n && chains_added(x + i) == 0)
        i += CHAINS;
    while (i < n && x[i] == 0)
        i++;
    return i;
}

/* Of numbers that are not below 0. */
static float row_sum(const float *x, size_t n)
{
    float s[CHAINS] = { 0 };
    size_t i = zeros_in_front(x, n);
    for (; i + CHAINS <= n; i += CHAINS)
        for (size_t c = 0; c < CHAINS; c++)
            s[c] += x[i + c];
    for (size_t c = 0; i + c < n; c++)
        s[c] += x[i + c];
    return chains_added(s);
}

#define FOUR _Pragma("GCC unroll 4") for (size_t r = 0; r < 4; r++)
/* Four rows without zeros in front. */
static quad four_rows_sum(const float *x, size_t n)
{
    quad low[4] = { { 0 } }, high[4] = { { 0 } };
    size_t i = 0;
    for (; i + CHAINS <= n; i += CHAINS)
        FOUR
        {
            low[r] += quad_at(x + r * n + i);
            high[r] += quad_at(x + r * n + i + 4);
        }
    if (i < n)
        FOUR
        {
            float rest[CHAINS] = { 0 };
            for (size_t c = 0; i + c < n; c++)
                rest[c] = x[r * n + i + c];
            low[r] += quad_at(rest);
            high[r] += quad_at(rest + 4);
        }
    return pairs_added(pairs_added(low[0], low[1]), pairs_added(low[2], low[3])) +
        pairs_added(pairs_added(high[0], high[1]), pairs_added(high[2], high[3]));
}
#undef FOUR

/* Up to three numbers are summed alike in index order. */
static void rows_sum(const struct kern *k, float *sum, const float *x, size_t m, size_t n)
{
    size_t i = 0;
    if (n < 4) {
        memset(sum, 0, m * sizeof *sum);
        k->rows_sum_f32(sum, x, m, n);
        return;
    }
    for (; i + 4 <= m; i += 4, x += 4 * n) {
        const quad sums = four_rows_sum(x, n);
        memcpy(sum + i, &sums, sizeof sums);
        for (size_t r = 0; r < 4; r++)
            if (x[r * n] == 0)
                sum[i + r] = row_sum(x + r * n, n);
    }
    for (; i < m; i++, x += n)
        sum[i] = row_sum(x, n);
}

/* m rows of e^(x - max), divided by their sums later. */
struct divided {
    float *y, sum[BLOCK];
    size_t m;
};

/* rows_exp, and beside it what is left of the rows before is divided. */
static void rows_exp_divs(const struct kern *k, float *y, const float *x, size_t m, size_t n,
                          const struct divided *before)
{
    const size_t both = n < 2 * BLOCK_ROWS ? 0 : m < before->m ? m : before->m;
    float top[BLOCK];
    if (both)
        k->rows_max_f32(top, x, both, n);
    for (size_t i = 0; i < both; i++)
        k->exp_adds_divs_f32(y + i * n, x + i * n, -top[i], before->y + i * n, before->sum[i], n);
    if (both < m)
        rows_exp(k, y + both * n, x + both * n, m - both, n);
    for (size_t i = both; i < before->m; i++)
        k->divs_f32(before->y + i * n, before->y + i * n, before->sum[i], n);
}

static void soft_rows(const struct kern *k, float *y, const float *x, size_t rows, size_t n)
{
    struct divided block = { .m = 0 };
    for (size_t m; rows; rows -= m, x += m * n, y += m * n) {
        m = rows < rows_at_once(n) ? rows : rows_at_once(n);
        rows_exp_divs(k, y, x, m, n, &block);
        block.y = y;
        block.m = m;
        rows_sum(k, block.sum, y, m, n);
    }
    rows_exp_divs(k, NULL, NULL, 0, n, &block);
}

static void slice_top(const struct kern *k, float *top, const float *x, size_t n, size_t inner)
{
    memcpy(top, x, inner * sizeof *top);
    k->fold_rows_f32(top, x + inner, n - 1, inner, KERN_FOLD_MAX);
}

/* chains_sum of every column of x. scratch: (CHAINS - 1) * inner floats */
static void columns_sum(const struct kern *k, float *sum, const float *x, size_t n, size_t inner,
                        float *scratch)
{
    float *chain[CHAINS] = { sum };
    for (size_t c = 1; c < CHAINS; c++)
        chain[c] = scratch + (c - 1) * inner;
    memset(sum, 0, inner * sizeof *sum);
    memset(scratch, 0, (CHAINS - 1) * inner * sizeof *sum);
    for (size_t r = 0; r < n; r++)
        k->add_f32(chain[r % CHAINS], chain[r % CHAINS], x + r * inner, inner);
    for (size_t step = 1; step < CHAINS; step *= 2)
        for (size_t c = 0; c < CHAINS; c += 2 * step)
            k->add_f32(chain[c], chain[c], chain[c + step], inner);
    for (size_t j = 0; j < inner; j++) {
        float s[CHAINS] = { 0 };
        size_t first = 0;
        if (x[j] != 0)
            continue;
        while (first < n && x[first * inner + j] == 0)
            first++;
        for (size_t r = first; r < n; r++)
            s[(r - first) % CHAINS] += x[r * inner + j];
        sum[j] = chains_added(s);
    }
}

/* scratch: (CHAINS + 1) * inner floats */
static void soft_slice(const struct kern *k, float *y, const float *x, size_t n, size_t inner,
                       float *scratch)
{
    float *top = scratch, *sum = scratch + inner;
    slice_top(k, top, x, n, inner);
    for (size_t r = 0; r < n; r++) {
        k->sub_f32(y + r * inner, x + r * inner, top, inner);
        k->exp_adds_f32(y + r * inner, y + r * inner, 0, inner);
    }
    columns_sum(k, sum, y, n, inner, sum + inner);
    for (size_t r = 0; r < n; r++)
        k->div_f32(y + r * inner, y + r * inner, sum, inner);
}

/* x - max - log(sum e^(x - max)); e^ goes through scratch, 3 * inner floats. */
static void log_slice(const struct kern *k, float *y, const float *x, size_t n, size_t inner,
                      float *scratch)
{
    float *top = scratch, *sum = top + inner, *power = sum + inner;
    slice_top(k, top, x, n, inner);
    memset(sum, 0, inner * sizeof *sum);
    for (size_t r = 0; r < n; r++) {
        k->sub_f32(y + r * inner, x + r * inner, top, inner);
        k->exp_adds_f32(power, y + r * inner, 0, inner);
        k->add_f32(sum, sum, power, inner);
    }
    k->log_f32(sum, sum, inner);
    for (size_t r = 0; r < n; r++)
        k->sub_f32(y + r * inner, y + r * inner, sum, inner);
}

/* scratch: as many rows as are taken at once. */
static void log_rows(const struct kern *k, float *y, const float *x, size_t rows, size_t n,
                     float *scratch)
{
    float sum[BLOCK];
    for (size_t m; rows; rows -= m, x += m * n, y += m * n) {
        m = rows < rows_at_once(n) ? rows : rows_at_once(n);
        rows_shift(k, y, x, m, n);
        k->exp_adds_f32(scratch, y, 0, m * n);
        memset(sum, 0, m * sizeof *sum);
        k->rows_sum_f32(sum, scratch, m, n);
        k->log_f32(sum, sum, m);
        for (size_t i = 0; i < m; i++)
            k->adds_f32(y + i * n, y + i * n, -sum[i], n);
    }
}

static void hard_slice(float *y, const float *x, size_t n, size_t inner)
{
    for (size_t j = 0; j < inner; j++) {
        size_t best = 0;
        for (size_t r = 1; r < n; r++)
            if (x[r * inner + j] > x[best * inner + j])
                best = r;
        for (size_t r = 0; r < n; r++)
            y[r * inner + j] = r == best;
    }
}

static void f32_run(const struct eval *e, float *y, const float *x, float *scratch)
{
    const struct softmax_args *g = e->args;
    enum softmax_form form = ((const struct softmax_def *) (const void *) e->node->op)->form;
    if (form == SOFTMAX && g->inner == 1) {
        soft_rows(e->kern, y, x, g->outer, g->n);
        return;
    }
    if (form == LOG_SOFTMAX && g->inner == 1) {
        log_rows(e->kern, y, x, g->outer, g->n, scratch);
        return;
    }
    for (size_t o = 0; o < g->outer; o++, y += g->n * g->inner, x += g->n * g->inner) {
        if (form == HARDMAX)
            hard_slice(y, x, g->n, g->inner);
        else if (form == SOFTMAX)
            soft_slice(e->kern, y, x, g->n, g->inner, scratch);
        else
            log_slice(e->kern, y, x, g->n, g->inner, scratch);
    }
}

/* ---- f64, element by element ---- */

static void f64_line(enum softmax_form form, double *y, const double *x, size_t n, size_t step)
{
    double top = x[0], sum = 0;
    size_t best = 0;
    for (size_t i = 1; i < n; i++) {
        best = x[i * step] > x[best * step] ? i : best;
        top = x[i * step] > top || isnan(x[i * step]) ? x[i * step] : top;
    }
    for (size_t i = 0; i < n; i++)
        sum += exp(x[i * step] - top);
    for (size_t i = 0; i < n; i++) {
        double v = x[i * step] - top;
        y[i * step] = form == HARDMAX ? i == best : form == SOFTMAX ? exp(v) / sum : v - log(sum);
    }
}

static void f64_run(const struct eval *e, double *y, const double *x)
{
    const struct softmax_args *g = e->args;
    enum softmax_form form = ((const struct softmax_def *) (const void *) e->node->op)->form;
    for (size_t o = 0; o < g->outer; o++)
        for (size_t j = 0; j < g->inner; j++)
            f64_line(form, y + o * g->n * g->inner + j, x + o * g->n * g->inner + j, g->n,
                     g->inner);
}

/* ---- infer, prepare, eval ---- */

static rill_status softmax_infer(struct infer *c)
{
    const struct axis_attr *a = c->attr;
    TRY(elem_check_type(c, 0, TYPES_FLOAT));
    if (c->in[0]->rank && axis_normalise(a->axis, c->in[0]->rank) < 0)
        return infer_fail(c, "axis %lld does not exist in a tensor of rank %d", (long long) a->axis,
                          c->in[0]->rank);
    infer_same(c, 0, 0);
    return RILL_OK;
}

static rill_status softmax_prepare(struct prep *c)
{
    const struct axis_attr *a = c->attr;
    const struct tensor *t = c->in[0];
    struct softmax_args *g = arena_new(c->arena, struct softmax_args);
    if (!g)
        return op_fail(c->err, RILL_NOMEM, c->node, "out of memory");
    int axis = t->rank ? axis_normalise(a->axis, t->rank) : 0;
    *g = (struct softmax_args) { 1, t->rank ? (size_t) t->dim[axis] : 1, 1 };
    for (int i = 0; i < t->rank; i++) {
        g->outer *= i < axis ? (size_t) t->dim[i] : 1;
        g->inner *= i > axis ? (size_t) t->dim[i] : 1;
    }
    size_t total = g->outer * g->n * g->inner;
    size_t rows = total && g->inner == 1 ? rows_at_once(g->n) : 1;
    rows = rows < g->outer ? rows : g->outer;
    c->scratch_bytes = total
        ? (rows * g->n + (CHAINS + 1) * g->inner + (dtype_is_half(t->type) ? total : 0)) *
            sizeof(float)
        : 0;
    c->args = g;
    c->kernel = "softmax, exp_adds_f32";
    return RILL_OK;
}

static rill_status softmax_divide(struct prep *c, unsigned most, struct shares *ret)
{
    const struct axis_attr *a = c->attr;
    const struct tensor *t = c->in[0];
    return t->rank ? slices_before(c, axis_normalise(a->axis, t->rank), most, ret) : RILL_OK;
}

static void softmax_eval(const struct eval *e)
{
    const struct softmax_args *g = e->args;
    size_t total = g->outer * g->n * g->inner;
    enum dtype t = e->in[0]->type;
    if (!total)
        return;
    if (t == DTYPE_F32) {
        f32_run(e, e->y[0], e->x[0], e->scratch);
    } else if (t == DTYPE_F64) {
        f64_run(e, e->y[0], e->x[0]);
    } else {
        float *wide = e->scratch, *rest = wide + total;
        elem_widen(t, wide, e->x[0], total);
        f32_run(e, wide, wide, rest);
        elem_narrow(t, e->y[0], wide, total);
    }
}

static const struct attr_spec softmax_attrs[] = {
    { .name = "axis", .kind = ATTR_INT, .offset = offsetof(struct axis_attr, axis), .def_i = -1 },
    { 0 }
};

#define SOFTMAX_OP(stem, number, op_name, which, words)                                            \
    static const struct softmax_def stem = { .op = { .id = OP_##number,                            \
                                                     .name = op_name,                              \
                                                     .attrs = softmax_attrs,                       \
                                                     .attr_bytes = sizeof(struct axis_attr),       \
                                                     .min_in = 1,                                  \
                                                     .max_in = 1,                                  \
                                                     .min_out = 1,                                 \
                                                     .max_out = 1,                                 \
                                                     .infer = softmax_infer,                       \
                                                     .prepare = softmax_prepare,                   \
                                                     .eval = softmax_eval,                         \
                                                     .divide = softmax_divide,                     \
                                                     .help = words },                              \
                                             .form = which }
SOFTMAX_OP(softmax_def, SOFTMAX, "Softmax", SOFTMAX, "e^x divided by its sum along an axis");
SOFTMAX_OP(log_softmax_def, LOG_SOFTMAX, "LogSoftmax", LOG_SOFTMAX, "logarithm of Softmax");
SOFTMAX_OP(hardmax_def, HARDMAX, "Hardmax", HARDMAX,
           "1 at the first largest element along an axis, else 0");

const struct op *const ops_softmax[] = { &softmax_def.op, &log_softmax_def.op, &hardmax_def.op,
                                         NULL };
