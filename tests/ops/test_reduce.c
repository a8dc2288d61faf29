/* SPDX-License-Identifier: MIT */
/* Reductions, ArgMax, Softmax, CumSum and TopK against naive loops over coordinates. */
#include "tests/ops/ops_test.h"

#define COUNT(a) (sizeof(a) / sizeof *(a))

static const struct attr drop = ONE_INT("keepdims", 0);
static const struct attr noop = ONE_INT("noop_with_empty_axes", 1);

static uint32_t seed = 1;
static double next_value(void)
{
    seed = seed * 1664525u + 1013904223u;
    return ((double) (seed >> 8) / (1 << 24) - 0.5) * 8;
}

static struct tensor *numbers(struct ops_test *t, enum dtype type, int rank, const int64_t *dim)
{
    struct tensor *x = ops_tensor(t, type, rank, dim, NULL);
    for (int64_t i = 0, n = tensor_count(x); i < n; i++) {
        double v = next_value();
        tensor_set_f64(x, x->data, i, type >= DTYPE_U8 ? fabs(v) : v);
    }
    return x;
}

/* ---- reductions ---- */

enum rule { R_SUM, R_MEAN, R_MAX, R_MIN, R_PROD, R_L1, R_L2, R_LOGSUM, R_LOGSUMEXP, R_SQUARE };
static const struct {
    const char *op;
    enum rule rule;
} rules[] = { { "ReduceSum", R_SUM },
              { "ReduceMean", R_MEAN },
              { "ReduceMax", R_MAX },
              { "ReduceMin", R_MIN },
              { "ReduceProd", R_PROD },
              { "ReduceL1", R_L1 },
              { "ReduceL2", R_L2 },
              { "ReduceLogSum", R_LOGSUM },
              { "ReduceLogSumExp", R_LOGSUMEXP },
              { "ReduceSumSquare", R_SQUARE } };

static const struct {
    int rank, n_axes;
    int64_t dim[6], axes[6];
} shapes[] = { { 1, 1, { 37 }, { 0 } },
               { 2, 1, { 19, 33 }, { 1 } }, /* rows, more than eight */
               { 2, 1, { 19, 33 }, { 0 } }, /* lanes */
               { 2, 0, { 5, 6 }, { 0 } },   /* all */
               { 3, 1, { 4, 5, 6 }, { -2 } },
               { 3, 2, { 4, 5, 6 }, { 2, 0 } },
               { 4, 2, { 3, 4, 5, 2 }, { 1, 3 } },
               { 5, 2, { 2, 1, 3, 1, 4 }, { 1, 2 } },
               { 6, 3, { 2, 3, 2, 3, 2, 3 }, { 0, 2, 4 } },
               { 0, 0, { 0 }, { 0 } },
               { 3, 1, { 2, 0, 3 }, { 2 } }, /* empty output */
               { 2, 1, { 1, 1 }, { 0 } } };

static double fold(enum rule r, double a, double v)
{
    switch (r) {
    case R_PROD: return a * v;
    case R_MAX: return v > a ? v : a;
    case R_MIN: return v < a ? v : a;
    case R_L1: return a + fabs(v);
    case R_L2:
    case R_SQUARE: return a + v * v;
    case R_LOGSUMEXP: return a + exp(v);
    default: return a + v;
    }
}

static double finish(enum rule r, double a, double n)
{
    return r == R_MEAN                      ? a / n
        : r == R_L2                         ? sqrt(a)
        : r == R_LOGSUM || r == R_LOGSUMEXP ? log(a)
                                            : a;
}

/* want: doubles for every output, in the order of the kept coordinates. */
static void naive_reduce(const struct tensor *x, enum rule r, const bool *reduced, double *want,
                         int64_t n_out)
{
    int64_t n = tensor_count(x);
    for (int64_t o = 0; o < n_out; o++)
        want[o] = r == R_PROD ? 1 : r == R_MAX ? -INFINITY : r == R_MIN ? INFINITY : 0;
    for (int64_t i = 0; i < n; i++) {
        int64_t rest = i, place = 0, step = 1;
        for (int k = x->rank - 1; k >= 0; k--) {
            place += reduced[k] ? 0 : rest % x->dim[k] * step;
            step *= reduced[k] ? 1 : x->dim[k];
            rest /= x->dim[k];
        }
        want[place] = fold(r, want[place], tensor_get_f64(x, x->data, i));
    }
    for (int64_t o = 0; o < n_out; o++)
        want[o] = finish(r, want[o], n_out ? (double) (n / n_out) : 1);
}

static void reduce_run(struct ops_test *t, size_t rule, size_t shape, enum dtype type, bool keep)
{
    char what[100];
    snprintf(what, sizeof what, "%s %s shape #%zu keep %d", rules[rule].op, dtype_name(type), shape,
             keep);
    t->what = what;
    struct tensor *x = numbers(t, type, shapes[shape].rank, shapes[shape].dim);
    for (int64_t i = 0; rules[rule].rule == R_LOGSUM && i < tensor_count(x); i++)
        tensor_set_f64(x, x->data, i, fabs(tensor_get_f64(x, x->data, i)) + 1);
    for (int64_t i = 0; rules[rule].rule == R_PROD && i < tensor_count(x); i++)
        tensor_set_f64(x, x->data, i, i % 7 == 3 ? -1 : 1 + i % 2);
    bool reduced[6] = { false };
    for (int k = 0; k < shapes[shape].rank; k++)
        reduced[k] = shapes[shape].n_axes == 0;
    for (int k = 0; k < shapes[shape].n_axes; k++)
        reduced[axis_normalise(shapes[shape].axes[k], x->rank)] = true;
    struct tensor *axes =
        shapes[shape].n_axes ? ops_i64s(t, shapes[shape].n_axes, shapes[shape].axes) : NULL;
    if (!ops_run(t, rules[rule].op, &drop, keep ? 0 : 1, (const struct tensor *[]) { x, axes },
                 axes ? 2 : 1, 1))
        return;
    int64_t dim[6], n_out = 1;
    int rank = 0;
    for (int k = 0; k < x->rank; k++) {
        n_out *= reduced[k] ? 1 : x->dim[k];
        if (keep || !reduced[k])
            dim[rank++] = reduced[k] ? 1 : x->dim[k];
    }
    double want[1000];
    naive_reduce(x, rules[rule].rule, reduced, want, n_out);
    for (int64_t i = 0; !dtype_is_float(type) && i < n_out; i++)
        want[i] = trunc(want[i]);
    double tol = type == DTYPE_F64 ? 1e-12
        : type == DTYPE_F16        ? 2e-3
        : type == DTYPE_BF16       ? 1e-2
                                   : 2e-6;
    if (ops_shape_is(t, 0, type, rank, dim) && (dtype_is_float(type) || rules[rule].rule != R_PROD))
        ops_same(t, 0, want, tol);
}

static void test_reduce(struct ops_test *t)
{
    static const enum dtype types[] = { DTYPE_F32, DTYPE_F64, DTYPE_F16, DTYPE_BF16,
                                        DTYPE_I32, DTYPE_I64, DTYPE_U32, DTYPE_U64 };
    for (size_t r = 0; r < COUNT(rules); r++)
        for (size_t s = 0; s < COUNT(shapes); s++)
            for (size_t k = 0; k < COUNT(types); k++) {
                if (dtype_is_int(types[k]) &&
                    (rules[r].rule == R_LOGSUMEXP || rules[r].rule == R_MEAN))
                    continue;
                reduce_run(t, r, s, types[k], true);
                reduce_run(t, r, s, types[k], false);
                arena_drop(&t->arena);
            }
    t->what = "";
}

static void test_reduce_edges(struct ops_test *t)
{
    struct tensor *x = ops_f32(t, 2, I64S(2, 3), F32S(1, NAN, 3, -INFINITY, -INFINITY, -INFINITY));
    struct tensor *last = ops_i64s(t, 1, I64S(1)), *none = ops_i64s(t, 0, NULL);
    const struct tensor *in[] = { x, last };
    ops_gives(t, "ReduceMax", &drop, 1, in, 2, WANT(NAN, -INFINITY), 0);
    ops_gives(t, "ReduceMin", &drop, 1, in, 2, WANT(NAN, -INFINITY), 0);
    ops_gives(t, "ReduceLogSumExp", &drop, 1, in, 2, WANT(NAN, -INFINITY), 0);
    x = ops_f32(t, 1, I64S(2), F32S(200, 201));
    ops_gives(t, "ReduceLogSumExp", NULL, 0, IN(x), WANT(201.31326168751822), 1e-6);
    x = ops_f32(t, 2, I64S(1, 2), F32S(-3, 4));
    ops_gives(t, "ReduceSum", &noop, 1, IN(x, none), WANT(-3, 4), 0);
    ops_gives(t, "ReduceSumSquare", &noop, 1, IN(x), WANT(9, 16), 0);
    ops_gives(t, "ReduceSum", NULL, 0, IN(x, none), WANT(1), 0);
}

static void test_reduce_empty(struct ops_test *t)
{
    /* clang-format off */
    static const struct { const char *op; enum dtype type; double want; } empty[] = {
        { "ReduceSum", DTYPE_F32, 0 },         { "ReduceProd", DTYPE_F32, 1 },
        { "ReduceMax", DTYPE_F32, -INFINITY }, { "ReduceMin", DTYPE_F64, INFINITY },
        { "ReduceMean", DTYPE_F32, NAN },      { "ReduceLogSumExp", DTYPE_F32, -INFINITY },
        { "ReduceMax", DTYPE_I8, -128 },       { "ReduceMin", DTYPE_I16, 32767 },
        { "ReduceMax", DTYPE_U8, 0 },          { "ReduceMin", DTYPE_U8, 255 },
        { "ReduceMin", DTYPE_BOOL, 1 },        { "ReduceSum", DTYPE_I32, 0 },
        { "ReduceMean", DTYPE_I32, 0 }
    };
    /* clang-format on */
    for (size_t k = 0; k < COUNT(empty); k++) {
        struct tensor *x = ops_tensor(t, empty[k].type, 2, I64S(0, 2), NULL),
                      *axis = ops_i64s(t, 1, I64S(0));
        double want[] = { empty[k].want, empty[k].want };
        t->what = empty[k].op;
        ops_gives(t, empty[k].op, NULL, 0, IN(x, axis), want, 0);
    }
    t->what = "";
}

/* Sums run strictly in index order, so splitting rows over batches changes no bit. */
static void test_reduce_order(struct ops_test *t)
{
    int64_t dim[] = { 21, 300 };
    struct tensor *x = numbers(t, DTYPE_F32, 2, dim), *axis = ops_i64s(t, 1, I64S(1));
    float want[21] = { 0 };
    for (int i = 0; i < 21; i++)
        for (int k = 0; k < 300; k++)
            want[i] += ((float *) x->data)[i * 300 + k];
    if (ops_run(t, "ReduceSum", NULL, 0, IN(x, axis), 1))
        ops_same_f32(t, 0, want, 0);
    x->dim[0] = 1;
    if (ops_run(t, "ReduceSum", NULL, 0, IN(x, axis), 1))
        ops_same_f32(t, 0, want, 0);
}

/* A frame has one mean, alone and among others, whichever axes are reduced round it. */
static void test_mean_frames(struct ops_test *t)
{
    const int64_t of[] = { 3, 5, 150 }; /* the frames are axis 1 */
    struct tensor *x = numbers(t, DTYPE_F32, 3, of), *axes = ops_i64s(t, 2, I64S(0, 2));
    struct tensor *one = ops_f32(t, 3, I64S(3, 1, 150), NULL);
    float want[5];
    if (!ops_run(t, "ReduceMean", NULL, 0, IN(x, axes), 1))
        return;
    memcpy(want, t->out[0]->data, sizeof want);
    for (int f = 0; f < 5; f++) {
        double mean = 0;
        for (int i = 0; i < 450; i++)
            mean += (double) ((float *) x->data)[(i / 150 * 5 + f) * 150 + i % 150] / 450;
        ops_check(t, fabs(mean - (double) want[f]) < 1e-6, "frame %d: %g, wanted %g", f,
                  (double) want[f], mean);
        for (int i = 0; i < 3; i++)
            memcpy((float *) one->data + i * 150, (float *) x->data + (i * 5 + f) * 150,
                   150 * sizeof(float));
        if (ops_run(t, "ReduceMean", NULL, 0, IN(one, axes), 1))
            ops_same_f32(t, 0, &want[f], 0);
    }
}

/* Of thousands that do not lie together, far from 0: as near as two steps of floats to the exact
 * mean. */
static void test_mean_many(struct ops_test *t)
{
    static const struct {
        int64_t shape[3], axes[2];
        int n_axes;
    } rows[] = { { { 900, 5, 24 }, { 0, 2 }, 2 },
                 { { 2000, 5, 70 }, { 0, 2 }, 2 },
                 { { 4000, 5, 1 }, { 0 }, 1 } };
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
        const int64_t *of = rows[r].shape, per = of[0] * of[2];
        struct tensor *x = numbers(t, DTYPE_F32, 3, of),
                      *axes = ops_i64s(t, rows[r].n_axes, rows[r].axes);
        float *v = x->data;
        double mean[5] = { 0 };
        for (int64_t i = 0; i < tensor_count(x); i++) {
            v[i] -= 1000;
            mean[i / of[2] % 5] += (double) v[i] / (double) per;
        }
        if (!ops_run(t, "ReduceMean", NULL, 0, IN(x, axes), 1))
            return;
        for (int f = 0; f < 5; f++)
            ops_check(t, fabs(mean[f] - (double) ((float *) t->out[0]->data)[f]) < 1e-4,
                      "row %zu, mean %d: %g, wanted %g", r, f,
                      (double) ((float *) t->out[0]->data)[f], mean[f]);
    }
}

static void test_arg(struct ops_test *t)
{
    const struct attr axis1 = ONE_INT("axis", -1), last = ONE_INT("select_last_index", 1);
    const struct attr first_axis[] = { axis1, drop }, last_axis[] = { axis1, drop, last };
    const double v[] = { 1, 5, 5, 2, -3, -3 };
    for (int type = DTYPE_F32; type < DTYPE_BOOL; type++) {
        struct tensor *x = ops_tensor(t, (enum dtype) type, 2, I64S(2, 3), NULL);
        for (int i = 0; i < 6; i++)
            tensor_set_f64(x, x->data, i, type >= DTYPE_U8 ? v[i] + 3 : v[i]);
        const struct tensor *in[] = { x };
        ops_gives(t, "ArgMax", first_axis, 2, in, 1, WANT(1, 0), 0);
        ops_gives(t, "ArgMax", last_axis, 3, in, 1, WANT(2, 0), 0);
        ops_gives(t, "ArgMin", first_axis, 2, in, 1, WANT(0, 1), 0);
        ops_gives(t, "ArgMin", last_axis, 3, in, 1, WANT(0, 2), 0);
        if (ops_run(t, "ArgMax", NULL, 0, in, 1, 1) && ops_shape_is(t, 0, DTYPE_I64, 2, I64S(1, 3)))
            ops_same(t, 0, WANT(1, 0, 0), 0);
    }
    for (int type = DTYPE_F32; type <= DTYPE_BF16; type++) { /* the first NaN wins, or the last */
        struct tensor *x = ops_tensor(t, (enum dtype) type, 1, I64S(4), NULL);
        const double with_nan[] = { 1, NAN, 9, NAN };
        for (int i = 0; i < 4; i++)
            tensor_set_f64(x, x->data, i, with_nan[i]);
        const struct tensor *in[] = { x };
        ops_gives(t, "ArgMax", NULL, 0, in, 1, WANT(1), 0);
        ops_gives(t, "ArgMin", &last, 1, in, 1, WANT(3), 0);
    }
}

/* ---- Softmax ---- */

static void naive_softmax(const struct tensor *x, int axis, int form, double *want)
{
    int64_t inner = 1, n = x->dim[axis];
    for (int k = axis + 1; k < x->rank; k++)
        inner *= x->dim[k];
    for (int64_t i = 0; i < tensor_count(x); i++) {
        int64_t base = i / (inner * n) * inner * n + i % inner, best = 0;
        double sum = 0, v = tensor_get_f64(x, x->data, i);
        for (int64_t r = 0; r < n; r++) {
            sum += exp(tensor_get_f64(x, x->data, base + r * inner));
            if (tensor_get_f64(x, x->data, base + r * inner) >
                tensor_get_f64(x, x->data, base + best * inner))
                best = r;
        }
        want[i] = form == 0 ? exp(v) / sum : form == 1 ? v - log(sum) : (i / inner) % n == best;
    }
}

static void test_softmax(struct ops_test *t)
{
    static const char *const ops[] = { "Softmax", "LogSoftmax", "Hardmax" };
    double want[200];
    for (int form = 0; form < 3; form++)
        for (int type = DTYPE_F32; type <= DTYPE_BF16; type++)
            for (int axis = 0; axis < 3; axis++) {
                struct tensor *x = numbers(t, (enum dtype) type, 3, I64S(3, 7, 5));
                struct attr a = ONE_INT("axis", axis - 3);
                naive_softmax(x, axis, form, want);
                t->what = ops[form];
                double tol = type == DTYPE_F64 ? 1e-14
                    : type == DTYPE_F32        ? 5e-7
                    : type == DTYPE_F16        ? 6e-4
                                               : 4e-3;
                ops_gives(t, ops[form], &a, 1, IN(x), want, tol);
            }
    t->what = "";
    struct tensor *big = ops_f32(t, 1, I64S(3), F32S(1e4f, 1e4f, -1e4f));
    ops_gives(t, "Softmax", NULL, 0, IN(big), WANT(0.5, 0.5, 0), 1e-7);
    struct tensor *none = ops_f32(t, 2, I64S(4, 0), NULL);
    if (ops_run(t, "Softmax", NULL, 0, IN(none), 1))
        ops_shape_is(t, 0, DTYPE_F32, 2, none->dim);
}

/* Rows with `front` and `behind` hidden keys beside n others: what the sum of the others is, and in
 * which order, is the same wherever they lie. */
static void softmax_order_check(struct ops_test *t, int front, int n, int behind)
{
    enum { ROWS = 6, MOST = 64 };
    const int all = front + n + behind;
    struct tensor *x = ops_numbers(t, &seed, 2, I64S(ROWS, all)),
                  *turned = ops_f32(t, 2, I64S(all, ROWS), NULL);
    float want[ROWS * MOST];
    struct attr first = ONE_INT("axis", 0);
    for (int r = 0; r < ROWS; r++) {
        float *row = (float *) x->data + r * all, *y = want + r * all, s[8] = { 0 };
        float most = -INFINITY;
        for (int i = 0; i < all; i++) {
            row[i] = i < front || i >= front + n ? -INFINITY : row[i];
            most = row[i] > most ? row[i] : most;
            ((float *) turned->data)[i * ROWS + r] = row[i];
        }
        t->kern.exp_adds_f32(y, row, -most, (size_t) all);
        for (int i = 0; i < n; i++)
            s[i % 8] += y[front + i];
        const float sum = ((s[0] + s[1]) + (s[2] + s[3])) + ((s[4] + s[5]) + (s[6] + s[7]));
        for (int i = 0; i < all; i++)
            y[i] /= sum;
    }
    if (ops_run(t, "Softmax", NULL, 0, IN(x), 1))
        ops_same_f32(t, 0, want, 0);
    float columns[ROWS * MOST];
    for (int i = 0; i < ROWS * all; i++)
        columns[i % all * ROWS + i / all] = want[i];
    if (ops_run(t, "Softmax", &first, 1, IN(turned), 1))
        ops_same_f32(t, 0, columns, 0);
}

static void test_softmax_order(struct ops_test *t)
{
    for (int front = 0; front < 20; front++)
        for (int n = 1; n < 40; n += n < 12 ? 1 : 7)
            softmax_order_check(t, front, n, front % 3);
}

/* ---- CumSum, TopK ---- */

static void test_cumsum(struct ops_test *t)
{
    static const enum dtype types[] = { DTYPE_F32, DTYPE_F64, DTYPE_F16, DTYPE_BF16,
                                        DTYPE_I32, DTYPE_I64, DTYPE_U32, DTYPE_U64 };
    static const double want[2][2][2][6] = { /* [axis][exclusive][reverse] */
                                             { { { 1, 2, 3, 5, 7, 9 }, { 5, 7, 9, 4, 5, 6 } },
                                               { { 0, 0, 0, 1, 2, 3 }, { 4, 5, 6, 0, 0, 0 } } },
                                             { { { 1, 3, 6, 4, 9, 15 }, { 6, 5, 3, 15, 11, 6 } },
                                               { { 0, 1, 3, 0, 4, 9 }, { 5, 3, 0, 11, 6, 0 } } }
    };
    for (size_t k = 0; k < COUNT(types); k++)
        for (int m = 0; m < 8; m++) {
            struct tensor *x = ops_tensor(t, types[k], 2, I64S(2, 3), NULL);
            for (int i = 0; i < 6; i++)
                tensor_set_f64(x, x->data, i, i + 1);
            struct attr a[] = { ONE_INT("exclusive", m & 1), ONE_INT("reverse", m >> 1 & 1) };
            struct tensor *axis =
                ops_tensor(t, DTYPE_I32, 0, NULL, (int32_t[]) { m >> 2 ? -1 : 0 });
            ops_gives(t, "CumSum", a, 2, IN(x, axis), want[m >> 2][m & 1][m >> 1 & 1], 0);
        }
}

static void test_topk(struct ops_test *t)
{
    const struct attr smallest = ONE_INT("largest", 0), axis0 = ONE_INT("axis", 0);
    struct tensor *k3 = ops_i64s(t, 1, I64S(3)), *k2 = ops_i64s(t, 1, I64S(2)),
                  *k0 = ops_i64s(t, 1, I64S(0));
    const double v[] = { 1, 9, 4, 9, 0, 7 };
    for (int type = DTYPE_F32; type < DTYPE_BOOL; type++) {
        struct tensor *x = ops_tensor(t, (enum dtype) type, 1, I64S(6), NULL);
        for (int i = 0; i < 6; i++)
            tensor_set_f64(x, x->data, i, v[i]);
        const struct tensor *in[] = { x, k3 };
        if (ops_run(t, "TopK", NULL, 0, in, 2, 2)) {
            ops_same(t, 0, WANT(9, 9, 7), 0);
            ops_same(t, 1, WANT(1, 3, 5), 0);
        }
        if (ops_run(t, "TopK", &smallest, 1, in, 2, 2)) {
            ops_same(t, 0, WANT(0, 1, 4), 0);
            ops_same(t, 1, WANT(4, 0, 2), 0);
        }
        x->rank = 2;
        x->dim[0] = 3;
        x->dim[1] = 2;
        in[1] = k2;
        if (ops_run(t, "TopK", &axis0, 1, in, 2, 2)) {
            ops_same(t, 0, WANT(4, 9, 1, 9), 0);
            ops_same(t, 1, WANT(1, 0, 0, 1), 0);
        }
        in[1] = k0;
        if (ops_run(t, "TopK", NULL, 0, in, 2, 2))
            ops_shape_is(t, 1, DTYPE_I64, 2, I64S(3, 0));
    }
    struct tensor *many = numbers(t, DTYPE_F32, 1, I64S(500)), *k = ops_i64s(t, 1, I64S(500));
    if (ops_run(t, "TopK", NULL, 0, IN(many, k), 2)) {
        const float *y = t->out[0]->data;
        bool falling = true;
        for (int i = 1; i < 500; i++)
            falling = falling && y[i] <= y[i - 1];
        ops_check(t, falling, "500 values come sorted");
    }
    struct tensor *signs = ops_f32(t, 1, I64S(5), F32S(-0.0f, 0, -1, NAN, -INFINITY));
    if (ops_run(t, "TopK", NULL, 0, IN(signs, ops_i64s(t, 1, I64S(5))), 2))
        ops_same(t, 1, WANT(3, 0, 1, 2, 4), 0);
}

static void test_refusals(struct ops_test *t)
{
    struct tensor *x = ops_f32(t, 2, I64S(2, 3), NULL), *axis = ops_i64s(t, 1, I64S(2));
    struct tensor *b = ops_tensor(t, DTYPE_BOOL, 1, I64S(3), NULL), *k = ops_i64s(t, 1, I64S(4));
    struct tensor *none = ops_f32(t, 1, I64S(0), NULL);
    const struct tensor *in[] = { x, axis };
    const struct attr far = ONE_INT("axis", -3);
    ops_refused(t, "ReduceSum", NULL, 0, in, 2, 1, "axis 2 does not exist in a tensor of rank 2");
    ops_refused(t, "ReduceSum", NULL, 0, IN(b), 1, "is bool");
    ops_refused(t, "ArgMax", &far, 1, in, 1, 1, "axis -3 does not exist");
    ops_refused(t, "ArgMax", NULL, 0, IN(none), 1, "no elements");
    ops_refused(t, "Softmax", &far, 1, in, 1, 1, "axis -3 does not exist");
    ops_refused(t, "CumSum", NULL, 0, in, 2, 1, "axis 2 does not exist");
    ops_refused(t, "CumSum", NULL, 0, IN(x, x), 1, "must be i32 or i64");
    ops_refused(t, "TopK", NULL, 0, IN(x, k), 2, "k = 4 is not within the axis");
    t->runtime = 2;
    ops_refused(t, "ReduceSum", NULL, 0, in, 2, 1, "depends on the data of input 1");
    ops_refused(t, "TopK", NULL, 0, IN(x, k), 2, "depends on the data of input 1");
    ops_refused(t, "CumSum", NULL, 0, in, 2, 1, "must be one constant");
    t->runtime = 0;
}

int main(void)
{
    struct ops_test t = ops_begin();
    test_reduce(&t);
    test_reduce_edges(&t);
    test_reduce_empty(&t);
    test_reduce_order(&t);
    test_mean_frames(&t);
    test_mean_many(&t);
    test_arg(&t);
    test_softmax(&t);
    test_softmax_order(&t);
    test_cumsum(&t);
    test_topk(&t);
    test_refusals(&t);
    return ops_end(&t);
}
