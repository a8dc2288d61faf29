/* SPDX-License-Identifier: MIT */
/* Normalisation and pooling against formulas in double. */
#include "tests/ops/ops_test.h"

#define COUNT(a) (sizeof(a) / sizeof *(a))
#define VALUES_MAX 4096

static uint32_t seed = 5;
static double want[VALUES_MAX];

static struct tensor *positive(struct ops_test *t, int64_t n)
{
    struct tensor *x = ops_numbers(t, &seed, 1, &n);
    for (int64_t i = 0; i < n; i++)
        ((float *) x->data)[i] = fabsf(((float *) x->data)[i]) + 0.1f;
    return x;
}

static double at(const struct tensor *x, int64_t i)
{
    return (double) ((const float *) x->data)[i];
}

/* ---- normalisation: [N, C, L], as rows of `n` that share mean and variance ---- */

static void moments(const struct tensor *x, int64_t from, int64_t n, double *mean, double *var)
{
    *mean = *var = 0;
    for (int64_t i = 0; i < n; i++)
        *mean += at(x, from + i) / (double) n;
    for (int64_t i = 0; i < n; i++)
        *var += (at(x, from + i) - *mean) * (at(x, from + i) - *mean) / (double) n;
}

static const int64_t ncl[3] = { 2, 6, 5 };

static void test_batch(struct ops_test *t)
{
    const struct tensor *x = ops_numbers(t, &seed, 3, ncl), *g = ops_numbers(t, &seed, 1, ncl + 1),
                        *b = ops_numbers(t, &seed, 1, ncl + 1);
    const struct tensor *m = ops_numbers(t, &seed, 1, ncl + 1), *v = positive(t, 6);
    struct attr a = ONE_FLOAT("epsilon", 1e-3f);
    for (int64_t i = 0; i < 60; i++) {
        int64_t c = i / 5 % 6;
        want[i] = (at(x, i) - at(m, c)) / sqrt(at(v, c) + (double) 1e-3f) * at(g, c) + at(b, c);
    }
    for (t->runtime = 0; t->runtime < 4;
         t->runtime += 3) { /* constant statistics, then run-time ones */
        t->what = "batch normalisation";
        ops_gives(t, "BatchNormalization", &a, 1, IN(x, g, b, m, v), want, 1e-5);
    }
    t->runtime = 0;
    a = (struct attr) ONE_INT("training_mode", 1);
    ops_refused(t, "BatchNormalization", &a, 1, IN(x, g, b, m, v), 1, "training_mode");
    ops_refused(t, "BatchNormalization", NULL, 0, IN(x, g, b, m, x), 1, "per channel");
}

static void test_layer(struct ops_test *t)
{
    static const int64_t cl[2] = { 6, 5 };
    const struct tensor *x = ops_numbers(t, &seed, 3, ncl), *g = ops_numbers(t, &seed, 2, cl),
                        *b = ops_numbers(t, &seed, 2, cl);
    struct attr a[2] = { ONE_INT("axis", 1), ONE_FLOAT("epsilon", 1e-4f) };
    double mean[2], inv[2];
    for (int64_t n = 0; n < 2; n++) {
        double var;
        moments(x, n * 30, 30, &mean[n], &var);
        inv[n] = 1 / sqrt(var + (double) 1e-4f);
        for (int64_t i = 0; i < 30; i++)
            want[n * 30 + i] = (at(x, n * 30 + i) - mean[n]) * inv[n] * at(g, i) + at(b, i);
    }
    t->what = "layer normalisation";
    if (!ops_run(t, "LayerNormalization", a, 2, IN(x, g, b), 3))
        return;
    ops_same(t, 0, want, 1e-5);
    ops_same(t, 1, mean, 1e-5);
    ops_same(t, 2, inv, 1e-5);
    ops_shape_is(t, 1, DTYPE_F32, 3, I64S(2, 1, 1));
    a[0] = (struct attr) ONE_INT("axis", 5);
    ops_refused(t, "LayerNormalization", a, 2, IN(x, g, b), 1, "axis 5");
}

static void test_groups(struct ops_test *t)
{
    const struct tensor *x = ops_numbers(t, &seed, 3, ncl), *g = ops_numbers(t, &seed, 1, ncl + 1),
                        *b = ops_numbers(t, &seed, 1, ncl + 1);
    for (int64_t groups = -1; groups <= 6; groups++) {
        struct attr a = ONE_INT("num_groups", groups);
        if (groups < 1 || 6 % groups) {
            ops_refused(t, "GroupNormalization", &a, 1, IN(x, g, b), 1, "do not divide");
            continue;
        }
        int64_t n = 30 / groups;
        for (int64_t i = 0; i < 60; i++) {
            double mean, var;
            moments(x, i / n * n, n, &mean, &var);
            want[i] = (at(x, i) - mean) / sqrt(var + 1e-5) * at(g, i / 5 % 6) + at(b, i / 5 % 6);
        }
        t->what = "group normalisation";
        ops_gives(t, "GroupNormalization", &a, 1, IN(x, g, b), want, 1e-5);
    }
    t->what = "instance normalisation"; /* want is that of six groups */
    ops_gives(t, "InstanceNormalization", NULL, 0, IN(x, g, b), want, 1e-5);
}

static void test_lp_lrn(struct ops_test *t)
{
    const struct tensor *x = ops_numbers(t, &seed, 3, ncl);
    for (int64_t p = 1; p <= 2; p++) {
        struct attr a[2] = { ONE_INT("axis", 1), ONE_INT("p", p) };
        for (int64_t i = 0; i < 60; i++) {
            double s = 0;
            for (int64_t c = 0; c < 6; c++) {
                double v = at(x, i / 30 * 30 + c * 5 + i % 5);
                s += p == 1 ? fabs(v) : v * v;
            }
            want[i] = at(x, i) / (p == 1 ? s : sqrt(s));
        }
        t->what = "norm along an axis";
        ops_gives(t, "LpNormalization", a, 2, IN(x), want, 1e-5);
    }
    for (int64_t size = 1; size <= 5; size++) {
        struct attr a[4] = { ONE_INT("size", size), ONE_FLOAT("alpha", 0.5f),
                             ONE_FLOAT("beta", 0.75f), ONE_FLOAT("bias", 2) };
        for (int64_t i = 0; i < 60; i++) {
            double s = 0;
            int64_t c = i / 5 % 6;
            for (int64_t k = c - (size - 1) / 2; k <= c + size / 2; k++)
                if (k >= 0 && k < 6)
                    s += at(x, i / 30 * 30 + k * 5 + i % 5) * at(x, i / 30 * 30 + k * 5 + i % 5);
            want[i] = at(x, i) / pow(2 + 0.5 / (double) size * s, 0.75);
        }
        t->what = "local response";
        ops_gives(t, "LRN", a, 4, IN(x), want, 1e-5);
    }
}

/* ---- pooling over one axis: [1, 2, L] ---- */

struct geometry {
    int64_t length, kernel, stride, dilation, before, after, ceil;
};

static int64_t pooled_length(const struct geometry *g)
{
    int64_t span = g->length + g->before + g->after - ((g->kernel - 1) * g->dilation + 1),
            n = span / g->stride + 1;
    if (g->ceil && span % g->stride && n * g->stride < g->length + g->before)
        n++; /* a last window that starts in the input or the front padding */
    return n;
}

enum kind { POOL_MAX, POOL_MEAN, POOL_MEAN_PADDED, POOL_L2 };

static double pooled(const struct tensor *x, const struct geometry *g, enum kind kind, int64_t ch,
                     int64_t o, int64_t *ret_at)
{
    double best = -INFINITY, sum = 0;
    int64_t inside = 0, padded = 0;
    for (int64_t k = 0; k < g->kernel; k++) {
        int64_t i = o * g->stride - g->before + k * g->dilation;
        padded += i < g->length + g->after;
        if (i < 0 || i >= g->length)
            continue;
        double v = at(x, ch * g->length + i);
        inside++;
        sum += kind == POOL_L2 ? v * v : v;
        if (v > best) {
            best = v;
            *ret_at = ch * g->length + i;
        }
    }
    return kind == POOL_MAX ? best
        : kind == POOL_L2   ? sqrt(sum)
                            : sum / (double) (kind == POOL_MEAN ? inside : padded);
}

static void pool_check(struct ops_test *t, const struct geometry *g, enum kind kind)
{
    static const char *const names[] = { "MaxPool", "AveragePool", "AveragePool", "LpPool" };
    int64_t dim[3] = { 1, 2, g->length }, pads[2] = { g->before, g->after }, n = pooled_length(g);
    const struct tensor *x = ops_numbers(t, &seed, 3, dim);
    double indices[256];
    struct attr a[6] = { INTS_OF("kernel_shape", 1, &g->kernel), INTS_OF("strides", 1, &g->stride),
                         INTS_OF("dilations", 1, &g->dilation),  INTS_OF("pads", 2, pads),
                         ONE_INT("ceil_mode", g->ceil),          ONE_INT("count_include_pad", 1) };
    for (int64_t i = 0; i < 2 * n; i++) {
        int64_t where = 0;
        want[i] = pooled(x, g, kind, i / n, i % n, &where);
        indices[i] = (double) where;
    }
    t->what = names[kind];
    if (!ops_run(t, names[kind], a, kind == POOL_MEAN_PADDED ? 6 : 5, &x, 1,
                 kind == POOL_MAX ? 2 : 1))
        return;
    ops_shape_is(t, 0, DTYPE_F32, 3, I64S(1, 2, n));
    ops_same(t, 0, want, 1e-5);
    if (kind == POOL_MAX)
        ops_same(t, 1, indices, 0);
}

static void test_pool(struct ops_test *t)
{
    for (int64_t kernel = 1; kernel <= 3; kernel++)
        for (int64_t stride = 1; stride <= 3; stride++)
            for (int64_t pads = 0; pads < kernel * kernel; pads++)
                for (int64_t form = 0; form < 4; form++) {
                    struct geometry g = { 11,           kernel,        stride,
                                          1 + form % 2, pads / kernel, pads % kernel,
                                          form / 2 };
                    for (int kind = POOL_MAX; kind <= POOL_L2; kind++)
                        pool_check(t, &g, (enum kind) kind);
                }
    const struct tensor *x = ops_numbers(t, &seed, 3, ncl);
    static const int64_t huge = 20, negative = -1;
    struct attr a = INTS_OF("kernel_shape", 1, &huge);
    ops_refused(t, "MaxPool", &a, 1, &x, 1, 1, "reaches over 20");
    a = (struct attr) INTS_OF("kernel_shape", 1, &negative);
    ops_refused(t, "AveragePool", &a, 1, &x, 1, 1, "kernel_shape");
}

/* ---- whole rows against place by place ---- */

static int64_t below(uint32_t n)
{
    seed = seed * 1664525u + 1013904223u;
    return (seed >> 8) % n;
}

static struct tensor *filled(struct ops_test *t, enum dtype type, int rank, const int64_t *dim)
{
    static const float odd[] = { NAN, INFINITY, -INFINITY, -0.0f, 0 };
    struct tensor *x = ops_tensor(t, type, rank, dim, NULL);
    for (int64_t i = 0, n = tensor_count(x); i < n; i++)
        tensor_set_f64(x, x->data, i,
                       type != DTYPE_F32 ? (double) below(256) - 128 * (type == DTYPE_I8)
                           : below(9)    ? (double) below(2000) * 1e-3 - 1
                                         : (double) odd[below(5)]);
    return x;
}

/* To the bit, but that any NaN is any other. */
static bool is_same(const struct tensor *a, const struct tensor *b)
{
    const size_t bytes = dtype_bytes(a->type);
    for (int64_t i = 0; i < tensor_count(a); i++) {
        const size_t at = (size_t) i * bytes;
        bool nan = isnan(tensor_get_f64(a, a->data, i)) && isnan(tensor_get_f64(b, b->data, i));
        if (!nan && memcmp((const char *) a->data + at, (const char *) b->data + at, bytes) != 0)
            return false;
    }
    return true;
}

/* Places of a maximum, and a list of places that count, are not had row by row. */
static void ways_check(struct ops_test *t, const struct attr *a, const struct tensor *x, bool mean)
{
    const struct tensor *in[2] = { x, ops_tensor(t, DTYPE_BOOL, 1, x->dim + 2, NULL) };
    memset(in[1]->data, 1, (size_t) x->dim[2]);
    const char *name = t->what = mean ? "AveragePool" : "MaxPool";
    if (!ops_run(t, name, a, mean ? 6 : 5, in, 1, 1))
        return;
    const struct tensor *y = t->out[0];
    t->made = true;
    if (ops_run(t, name, a, mean ? 6 : 5, in, mean ? 2 : 1, mean ? 1 : 2))
        ops_check(t, is_same(y, t->out[0]), "%d axes of %s", x->rank - 2, dtype_name(x->type));
    t->made = false;
}

static void lines_check(struct ops_test *t, enum dtype type, bool mean)
{
    const int axes = 1 + (int) below(3);
    int64_t dim[5] = { 1 + below(2), 1 + below(3) }, kernel[3], stride[3], gap[3], pads[6];
    for (int i = 0; i < axes; i++) {
        kernel[i] = 1 + below(4);
        stride[i] = 1 + below(4);
        gap[i] = 1 + below(2);
        pads[i] = below((uint32_t) kernel[i]);
        pads[axes + i] = below((uint32_t) kernel[i]);
        dim[2 + i] = 7 + below(i + 1 == axes ? 150 : 4);
    }
    const uint32_t n = (uint32_t) axes;
    const struct attr a[] = {
        INTS_OF("kernel_shape", n, kernel), INTS_OF("strides", n, stride),
        INTS_OF("dilations", n, gap),       INTS_OF("pads", 2 * n, pads),
        ONE_INT("ceil_mode", below(2)),     ONE_INT("count_include_pad", below(2))
    };
    ways_check(t, a, filled(t, type, 2 + axes, dim), mean);
}

/* Rows that windows cover without a rest, one behind the other. */
static void joined_check(struct ops_test *t, enum dtype type)
{
    const int64_t most = 1 + below(5), kernel[] = { 1, 1 + below((uint32_t) most) },
                  stride[] = { 1, most }, gap[] = { 1, 1 }, pads[4] = { 0 },
                  dim[] = { 1 + below(2), 1 + below(3), 1 + below(4), most * (1 + below(60)) };
    const struct attr a[] = { INTS_OF("kernel_shape", 2, kernel), INTS_OF("strides", 2, stride),
                              INTS_OF("dilations", 2, gap), INTS_OF("pads", 4, pads),
                              ONE_INT("ceil_mode", 0) };
    ways_check(t, a, filled(t, type, 4, dim), false);
}

/* No window reaches outside: lines of a row are taken together, and rows, which windows may cover
 * with a rest. */
static void together_check(struct ops_test *t, enum dtype type)
{
    const int64_t kernel[] = { 1 + below(4), 1 + below(4) },
                  stride[] = { 1 + below(4), 1 + below(5) }, gap[] = { 1 + below(2), 1 + below(2) },
                  pads[4] = { 0 },
                  dim[] = { 1 + below(2), 1 + below(3), (kernel[0] - 1) * gap[0] + 1 + below(40),
                            (kernel[1] - 1) * gap[1] + 1 + below(below(9) ? 150 : 3000) };
    const struct attr a[] = { INTS_OF("kernel_shape", 2, kernel), INTS_OF("strides", 2, stride),
                              INTS_OF("dilations", 2, gap), INTS_OF("pads", 4, pads),
                              ONE_INT("ceil_mode", 0) };
    ways_check(t, a, filled(t, type, 4, dim), false);
}

static void test_lines(struct ops_test *t)
{
    for (int i = 0; i < 100; i++) {
        lines_check(t, DTYPE_F32, true);
        lines_check(t, DTYPE_F32, false);
        lines_check(t, DTYPE_U8, false);
        lines_check(t, DTYPE_I8, false);
        joined_check(t, DTYPE_F32);
        joined_check(t, DTYPE_U8);
        joined_check(t, DTYPE_I8);
        together_check(t, DTYPE_U8);
        together_check(t, DTYPE_I8);
    }
    t->what = "";
}

/* The last places of a long row are those of its end alone: what sums a window knows no length. */
static void long_check(struct ops_test *t, const char *name, int64_t kernel)
{
    enum { LONG = 400000, SHORT = 1000 };
    const int64_t end = SHORT - kernel + 1, first = LONG - SHORT;
    const struct attr a = INTS_OF("kernel_shape", 1, &kernel);
    const struct tensor *x = ops_numbers(t, &seed, 3, I64S(1, 1, LONG)),
                        *last = ops_f32(t, 3, I64S(1, 1, SHORT), (const float *) x->data + first);
    t->what = name;
    if (!ops_run(t, name, &a, 1, &x, 1, 1))
        return;
    const struct tensor *y = t->out[0];
    if (ops_run(t, name, &a, 1, &last, 1, 1))
        ops_check(t,
                  !memcmp((const float *) y->data + first, t->out[0]->data,
                          (size_t) end * sizeof(float)),
                  "windows of %lld are summed otherwise in a long row", (long long) kernel);
}

static void test_long(struct ops_test *t)
{
    long_check(t, "AveragePool", 64);
    long_check(t, "AveragePool", 65);
    long_check(t, "LpPool", 48);
    long_check(t, "MaxPool", 64);
    t->what = "";
}

static void test_global(struct ops_test *t)
{
    static const char *const names[] = { "GlobalMaxPool", "GlobalAveragePool", "GlobalLpPool" };
    static const enum kind kinds[] = { POOL_MAX, POOL_MEAN, POOL_L2 };
    const struct tensor *x = ops_numbers(t, &seed, 3, I64S(1, 2, 40));
    const struct geometry g = { 40, 40, 1, 1, 0, 0, 0 };
    for (size_t i = 0; i < COUNT(names); i++) {
        int64_t where;
        want[0] = pooled(x, &g, kinds[i], 0, 0, &where);
        want[1] = pooled(x, &g, kinds[i], 1, 0, &where);
        t->what = names[i];
        ops_gives(t, names[i], NULL, 0, &x, 1, want, 1e-5);
    }
}

/* SAME padding with windows of 1 that are 8 apart: frames cut off in front, as ONNX Runtime 1.24
 * does it for inputs of 17 to 24. */
static void test_same(struct ops_test *t)
{
    static const char *const pads[] = { "SAME_UPPER", "SAME_LOWER" };
    static const struct {
        const char *op;
        int cut[2][8];
    } cases[] = {
        { "MaxPool", { { 0, 0, 1, 1, 2, 2, 3, 3 }, { 0, 0, 0, 1, 1, 2, 2, 3 } } },
        { "AveragePool", { { 0, 0, 1, 1, 2, 2, 3, 3 }, { 0, 0, 0, 1, 1, 2, 2, 3 } } },
        { "Conv", { { 0, 0, 0, 1, 1, 2, 2, 3 }, { 0, 0, 0, 0, 1, 1, 2, 2 } } },
    };
    const float one = 1;
    float x[24];
    for (int i = 0; i < 24; i++)
        x[i] = (float) i;
    for (int k = 0; k < 3 * 2 * 8; k++) {
        int c = k / 16, lower = k / 8 % 2, n = 17 + k % 8;
        const struct attr a[] = { ONE_TEXT("auto_pad", pads[lower]), INTS_OF("strides", 1, I64S(8)),
                                  INTS_OF("kernel_shape", 1, I64S(1)) };
        const struct tensor *in[] = { ops_f32(t, 3, I64S(1, 1, n), x),
                                      ops_f32(t, 3, I64S(1, 1, 1), &one) };
        float from = (float) cases[c].cut[lower][n - 17];
        t->what = cases[c].op;
        if (ops_run(t, cases[c].op, a, 3, in, c == 2 ? 2 : 1, 1) &&
            ops_shape_is(t, 0, DTYPE_F32, 3, I64S(1, 1, 3)))
            ops_same_f32(t, 0, F32S(from, from + 8, from + 16), 0);
    }
    t->what = "";
}

int main(void)
{
    struct ops_test t = ops_begin();
    test_batch(&t);
    test_layer(&t);
    test_groups(&t);
    test_lp_lrn(&t);
    test_pool(&t);
    test_lines(&t);
    test_long(&t);
    test_global(&t);
    test_same(&t);
    return ops_end(&t);
}
