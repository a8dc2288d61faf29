/* SPDX-License-Identifier: MIT */
/* Ops of one input against the C library in double, on a sweep of values with the edges, in every
 * type. */
#include "tests/ops/ops_test.h"

#define COUNT(a) (sizeof(a) / sizeof *(a))

/* What the ops should give. */
#define REF(name, value)                                                                           \
    static double r_##name(double x)                                                               \
    {                                                                                              \
        return value;                                                                              \
    }
REF(relu, x < 0 ? 0 : x)
REF(sigmoid, 1 / (1 + exp(-x)))
REF(leaky, x < 0 ? 0.25 * x : x)
REF(elu, x < 0 ? 0.25 * expm1(x) : x)
REF(selu, 1.05070102214813232421875 * (x < 0 ? 1.67326319217681884765625 * expm1(x) : x))
REF(celu, x < 0 ? 0.25 * expm1(x / 0.25) : x)
REF(thresholded, x > 0.25 || isnan(x) ? x : 0)
REF(hard_sigmoid, isnan(x) ? x : fmin(fmax(0.25 * x + 0.5, 0), 1))
REF(hard_swish, isnan(x) ? x : x *fmin(fmax(x / 6 + 0.5, 0), 1))
REF(softplus, isnan(x) ? x : fmax(x, 0) + log1p(exp(-fabs(x))))
REF(softsign, x / (1 + fabs(x)))
REF(gelu, 0.5 * x * (1 + erf(x / sqrt(2))))
REF(gelu_tanh, 0.5 * x * (1 + tanh(sqrt(2 / M_PI) * (x + 0.044715 * x * x * x))))
REF(mish, x *tanh(r_softplus(x)))
REF(swish, x / (1 + exp(-0.25 * x)))
REF(reciprocal, 1 / x)
REF(sign, x > 0 ? 1 : x < 0 ? -1 : x)
REF(neg, -x)
REF(shrink, x<-0.5 ? x + 0.25 : x> 0.5 ? x - 0.25 : 0)

static const struct attr alpha = ONE_FLOAT("alpha", 0.25f);
static const struct attr bias = ONE_FLOAT("bias", 0.25f);
static const struct attr by_tanh = ONE_TEXT("approximate", "tanh");

static const struct unary_case {
    const char *op;
    double (*f)(double);
    const struct attr *attr;
    double tolerance_f32; /* relative to 1 + |y| */
    bool finite;          /* only for finite inputs of moderate size */
} cases[] = { { "Abs", fabs, NULL, 0, false },
              { "Neg", r_neg, NULL, 0, false },
              { "Sqrt", sqrt, NULL, 0, false },
              { "Exp", exp, NULL, 3e-7, false },
              { "Log", log, NULL, 2e-7, false },
              { "Sigmoid", r_sigmoid, NULL, 2e-7, false },
              { "Tanh", tanh, NULL, 3e-7, false },
              { "Relu", r_relu, NULL, 0, false },
              { "LeakyRelu", r_leaky, &alpha, 0, false },
              { "Elu", r_elu, &alpha, 2e-7, false },
              { "Selu", r_selu, NULL, 3e-7, false },
              { "Celu", r_celu, &alpha, 3e-7, false },
              { "ThresholdedRelu", r_thresholded, &alpha, 0, false },
              { "HardSigmoid", r_hard_sigmoid, &alpha, 1e-7, false },
              { "HardSwish", r_hard_swish, NULL, 1e-6, true },
              { "Softplus", r_softplus, NULL, 3e-7, false },
              { "Softsign", r_softsign, NULL, 2e-7, true },
              { "Erf", erf, NULL, 3e-7, false },
              { "Gelu", r_gelu, NULL, 1e-6, true },
              { "Gelu", r_gelu_tanh, &by_tanh, 1e-6, true },
              { "Mish", r_mish, NULL, 1e-6, true },
              { "Swish", r_swish, &alpha, 1e-6, true },
              { "Reciprocal", r_reciprocal, NULL, 0, false },
              { "Floor", floor, NULL, 0, false },
              { "Ceil", ceil, NULL, 0, false },
              { "Round", rint, NULL, 0, false },
              { "Sign", r_sign, NULL, 0, false },
              { "Sin", sin, NULL, 6e-8, false },
              { "Cos", cos, NULL, 6e-8, false },
              { "Tan", tan, NULL, 6e-8, false },
              { "Asin", asin, NULL, 6e-8, false },
              { "Acos", acos, NULL, 6e-8, false },
              { "Atan", atan, NULL, 6e-8, false },
              { "Sinh", sinh, NULL, 6e-8, false },
              { "Cosh", cosh, NULL, 6e-8, false },
              { "Asinh", asinh, NULL, 6e-8, false },
              { "Acosh", acosh, NULL, 6e-8, false },
              { "Atanh", atanh, NULL, 6e-8, false },
              { "Shrink", r_shrink, &bias, 0, true } };

/* A dense sweep, then what breaks approximations. */
static const double extras[] = { 0,    -0.0, 0.5,   1.5,  2.5,      -0.5,      -1.5, 1e-8,  -1e-8,
                                 1e-5, 1e-3, 89,    -89,  104,      -104,      1000, -1000, 99999,
                                 1e7,  1e20, -1e20, 3e38, INFINITY, -INFINITY, NAN };
#define SWEEP 1200

static struct tensor *sweep(struct ops_test *t, enum dtype type, bool finite)
{
    int64_t n = SWEEP + (finite ? 11 : (int64_t) COUNT(extras));
    struct tensor *x = ops_tensor(t, type, 1, &n, NULL);
    for (int64_t i = 0; i < n; i++)
        tensor_set_f64(x, x->data, i,
                       i < SWEEP ? ((double) i - SWEEP / 2) * 0.0203 : extras[i - SWEEP]);
    return x;
}

static void case_run(struct ops_test *t, const struct unary_case *c, enum dtype type)
{
    const double half = type == DTYPE_F16 ? 0x1p-11 : 0x1p-8;
    char what[80];
    snprintf(what, sizeof what, "%s %s", c->op, dtype_name(type));
    t->what = what;
    struct tensor *x = sweep(t, type, c->finite);
    if (!ops_run(t, c->op, c->attr, c->attr ? 1 : 0, IN(x), 1))
        return;
    const struct tensor *y = t->out[0];
    double tol = type == DTYPE_F32 ? c->tolerance_f32
        : type == DTYPE_F64        ? 1e-13
                                   : c->tolerance_f32 + half;
    double top = type == DTYPE_F16 ? 65504 : type == DTYPE_F64 ? 1e308 : 3.3e38;
    for (int64_t i = 0, n = tensor_count(x); i < n; i++) {
        double v = tensor_get_f64(x, x->data, i), want = c->f(v),
               got = tensor_get_f64(y, y->data, i);
        want = type == DTYPE_F32 ? (double) (float) want : want;
        bool huge = fabs(want) > top && fabs(got) >= top && (want > 0) == (got > 0);
        if (!huge && !ops_close(got, want, tol)) {
            ops_check(t, false, "f(%.9g) is %.9g, wanted %.9g", v, got, want);
            return;
        }
    }
    ops_check(t, true, " ");
}

static void test_floats(struct ops_test *t)
{
    static const enum dtype types[] = { DTYPE_F32, DTYPE_F64, DTYPE_F16, DTYPE_BF16 };
    for (size_t k = 0; k < COUNT(cases); k++)
        for (size_t i = 0; i < COUNT(types); i++) {
            case_run(t, &cases[k], types[i]);
            arena_drop(&t->arena);
        }
    t->what = "";
}

/* Small results keep their relative precision. */
static void test_small(struct ops_test *t)
{
    static const struct {
        const char *op;
        float x;
        double want;
    } small[] = { { "Elu", -1e-6f, -9.999995e-07 },
                  { "Softplus", -30, 9.357622968840174e-14 },
                  { "Sinh", 1e-6f, 1e-6 },
                  { "Exp", -80, 1.8048513878454153e-35 },
                  { "Sigmoid", -20, 2.061153618190204e-09 },
                  { "Sin", 3.14159274f, -8.742278e-08 },
                  { "Cos", 1.57079637f, -4.371139e-08 },
                  { "Tanh", 1e-4f, 9.99999966666e-05 } };
    for (size_t k = 0; k < COUNT(small); k++) {
        struct tensor *x = ops_f32(t, 0, NULL, &small[k].x);
        if (!ops_run(t, small[k].op, NULL, 0, IN(x), 1))
            continue;
        double got = *(float *) t->out[0]->data, want = small[k].want;
        ops_check(t, fabs(got - want) <= fabs(want) * 1e-6, "%s(%g) is %.9g, wanted %.9g",
                  small[k].op, (double) small[k].x, got, want);
    }
}

static void test_integers(struct ops_test *t)
{
    struct tensor *a = ops_tensor(t, DTYPE_I8, 1, I64S(4), (int8_t[]) { -128, -1, 0, 127 });
    const struct tensor *in[] = { a };
    ops_gives(t, "Abs", NULL, 0, in, 1, WANT(-128, 1, 0, 127), 0);
    ops_gives(t, "Neg", NULL, 0, in, 1, WANT(-128, 1, 0, -127), 0);
    ops_gives(t, "Sign", NULL, 0, in, 1, WANT(-1, -1, 0, 1), 0);
    ops_gives(t, "Relu", NULL, 0, in, 1, WANT(0, 0, 0, 127), 0);
    ops_gives(t, "BitwiseNot", NULL, 0, in, 1, WANT(127, 0, -1, -128), 0);
    in[0] = ops_tensor(t, DTYPE_U64, 1, I64S(2), (uint64_t[]) { UINT64_MAX, 0 });
    if (ops_run(t, "Abs", NULL, 0, in, 1, 1))
        ops_check(t, !memcmp(t->out[0]->data, (uint64_t[]) { UINT64_MAX, 0 }, 16), "Abs u64");
    if (ops_run(t, "BitwiseNot", NULL, 0, in, 1, 1))
        ops_check(t, !memcmp(t->out[0]->data, (uint64_t[]) { 0, UINT64_MAX }, 16),
                  "BitwiseNot u64");
    in[0] = ops_tensor(t, DTYPE_BOOL, 1, I64S(2), (uint8_t[]) { 0, 1 });
    ops_gives(t, "Not", NULL, 0, in, 1, WANT(1, 0), 0);
    ops_gives(t, "Identity", NULL, 0, in, 1, WANT(0, 1), 0);
}

static void test_classes(struct ops_test *t)
{
    const struct attr no_neg = ONE_INT("detect_negative", 0);
    const struct attr no_pos = ONE_INT("detect_positive", 0);
    for (int type = DTYPE_F32; type <= DTYPE_BF16; type++) {
        struct tensor *x = ops_tensor(t, (enum dtype) type, 1, I64S(4), NULL);
        const struct tensor *in[] = { x };
        const double v[] = { NAN, INFINITY, -INFINITY, 0 };
        for (int i = 0; i < 4; i++)
            tensor_set_f64(x, x->data, i, v[i]);
        ops_gives(t, "IsNaN", NULL, 0, in, 1, WANT(1, 0, 0, 0), 0);
        ops_gives(t, "IsInf", NULL, 0, in, 1, WANT(0, 1, 1, 0), 0);
        ops_gives(t, "IsInf", &no_neg, 1, in, 1, WANT(0, 1, 0, 0), 0);
        ops_gives(t, "IsInf", &no_pos, 1, in, 1, WANT(0, 0, 1, 0), 0);
    }
}

static void test_shapes(struct ops_test *t)
{
    struct tensor *x = ops_f32(t, 6, I64S(1, 2, 1, 3, 0, 5), NULL);
    if (ops_run(t, "Tanh", NULL, 0, IN(x), 1))
        ops_shape_is(t, 0, DTYPE_F32, 6, x->dim);
    ops_refused(t, "Tanh", NULL, 0, IN(ops_i64s(t, 2, NULL)), 1, "is i64");
    ops_refused(t, "Not", NULL, 0, IN(x), 1, "supported: bool");
    ops_refused(t, "Elu", &bias, 1, IN(x), 1, "known: alpha");
}

int main(void)
{
    struct ops_test t = ops_begin();
    test_floats(&t);
    test_small(&t);
    test_integers(&t);
    test_classes(&t);
    test_shapes(&t);
    return ops_end(&t);
}
