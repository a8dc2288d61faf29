/* SPDX-License-Identifier: MIT */
/* unary.c - elementwise ops of one input. f32 goes through kernels and own code; f64 through the C
 * library; half floats through f32. */
#include "engine/ops/attrs.h"
#include "engine/ops/ops.h"
#include "engine/ops/elem.h"
#include "engine/ops/fmath.h"
#include "engine/ops/fused.h"
#include "engine/ops/slices.h"

#define CHUNK 256

typedef void f32_fn(const struct kern *k, const struct unary_attr *a, float *y, const float *x,
                    size_t n);
typedef double f64_fn(const struct unary_attr *a, double x);
typedef void int_fn(void *y, const void *x, size_t n);

struct unary_def {
    struct op op;
    unsigned types;
    f32_fn *f32; /* NULL: the kernel of that number, or through `own`, rounded once */
    f64_fn *own; /* for f32, in double, same on every machine */
    f64_fn *f64; /* for f64 */
    int_fn *const *ints;
};

/* ---- f32: what is not a kernel of its own (kernels/pointwise.h) ---- */

#define LOOP1(NAME, EXPR)                                                                          \
    static void NAME(const struct kern *k, const struct unary_attr *a, float *y, const float *x,   \
                     size_t n)                                                                     \
    {                                                                                              \
        (void) k;                                                                                  \
        (void) a;                                                                                  \
        for (size_t i = 0; i < n; i++) {                                                           \
            const float v = x[i];                                                                  \
            y[i] = (EXPR);                                                                         \
        }                                                                                          \
    }
/* The same with the attributes in c, which y cannot alias. */
#define LOOP_ATTR(NAME, EXPR)                                                                      \
    static void NAME(const struct kern *k, const struct unary_attr *a, float *y, const float *x,   \
                     size_t n)                                                                     \
    {                                                                                              \
        (void) k;                                                                                  \
        const struct unary_attr c = *a;                                                            \
        for (size_t i = 0; i < n; i++) {                                                           \
            const float v = x[i];                                                                  \
            y[i] = (EXPR);                                                                         \
        }                                                                                          \
    }
LOOP1(f32_abs, fabsf(v))
LOOP1(f32_neg, -v)
LOOP1(f32_reciprocal, 1 / v)
LOOP1(f32_floor, floorf(v))
LOOP1(f32_ceil, ceilf(v))
LOOP1(f32_round, rintf(v))
LOOP1(f32_sign, v > 0 ? 1.0f : v < 0 ? -1.0f : v == 0 ? 0.0f : v)
LOOP_ATTR(f32_leaky, v < 0 ? v * c.alpha : v)
LOOP_ATTR(f32_thresholded, v > c.alpha ? v : v != v ? v : 0.0f)
LOOP1(f32_softsign, v / (1 + fabsf(v)))
LOOP_ATTR(f32_shrink, v<-c.lambd ? v + c.bias : v> c.lambd ? v - c.bias : 0.0f)

static inline float unit_clamp(float v)
{
    v = v < 0 ? 0 : v;
    return v > 1 ? 1 : v;
}

LOOP_ATTR(f32_hard_sigmoid, unit_clamp(v *c.alpha + c.beta))
LOOP1(f32_hard_swish, v *unit_clamp(v *(1.0f / 6) + 0.5f))

/* Runs BEFORE on each element v into t, a kernel over t, then AFTER with v and t. */
#define KERN_BETWEEN(NAME, BEFORE, SLOT, AFTER)                                                    \
    static void NAME(const struct kern *k, const struct unary_attr *a, float *y, const float *x,   \
                     size_t n)                                                                     \
    {                                                                                              \
        (void) a;                                                                                  \
        float buf[CHUNK];                                                                          \
        for (size_t at = 0; at < n; at += CHUNK) {                                                 \
            size_t m = n - at < CHUNK ? n - at : CHUNK;                                            \
            for (size_t i = 0; i < m; i++) {                                                       \
                const float v = x[at + i];                                                         \
                buf[i] = (BEFORE);                                                                 \
            }                                                                                      \
            k->SLOT(buf, buf, m);                                                                  \
            for (size_t i = 0; i < m; i++) {                                                       \
                const float v = x[at + i], t = buf[i];                                             \
                y[at + i] = (AFTER);                                                               \
            }                                                                                      \
        }                                                                                          \
    }

/* e^v - 1 where t = e^v: a series near 0, where the difference would cancel. */
static inline float exp_minus_1(float v, float t)
{
    float s = 1.0f / 5040;
    s = s * v + 1.0f / 720;
    s = s * v + 1.0f / 120;
    s = s * v + 1.0f / 24;
    s = s * v + 1.0f / 6;
    s = s * v + 0.5f;
    s = s * v * v + v;
    return v > -0.3f ? s : t - 1;
}

static void f32_elu(const struct kern *k, const struct unary_attr *a, float *y, const float *x,
                    size_t n)
{
    k->elu_f32(y, x, a->alpha, n);
}

static void f32_selu(const struct kern *k, const struct unary_attr *a, float *y, const float *x,
                     size_t n)
{
    k->elu_f32(y, x, a->alpha, n);
    k->muls_f32(y, y, a->gamma, n);
}

KERN_BETWEEN(f32_celu, v < 0 ? v / a->alpha : 0, exp_f32,
             v < 0 ? a->alpha * exp_minus_1(v / a->alpha, t) : v)
KERN_BETWEEN(f32_gelu_erf, v * 0.70710678f, erf_f32, 0.5f * v * (1 + t))
KERN_BETWEEN(f32_gelu_tanh, 0.79788456f * (v + 0.044715f * v * v * v), tanh_f32, 0.5f * v * (1 + t))
KERN_BETWEEN(f32_swish, v * a->alpha, sigmoid_f32, v *t)

/* v * tanh(log(1 + e^v)) as a quotient of polynomials in t = e^v. */
KERN_BETWEEN(f32_mish, v<20 ? v : 20, exp_f32, v> 20 ? v : v *(t *(t + 2)) / (t * (t + 2) + 2))

static void f32_gelu(const struct kern *k, const struct unary_attr *a, float *y, const float *x,
                     size_t n)
{
    (a->approximate ? f32_gelu_tanh : f32_gelu_erf)(k, a, y, x, n);
}

/* log(1 + e^x) = max(x, 0) + log(1 + t), t = e^-|x|; the rounding of 1 + t is put right
 * afterwards. */
static void f32_softplus(const struct kern *k, const struct unary_attr *a, float *y, const float *x,
                         size_t n)
{
    (void) a;
    float t[CHUNK], u[CHUNK];
    for (size_t at = 0; at < n; at += CHUNK) {
        size_t m = n - at < CHUNK ? n - at : CHUNK;
        for (size_t i = 0; i < m; i++)
            t[i] = -fabsf(x[at + i]);
        k->exp_f32(t, t, m);
        for (size_t i = 0; i < m; i++)
            u[i] = 1 + t[i];
        k->log_f32(u, u, m);
        for (size_t i = 0; i < m; i++) {
            float one_t = 1 + t[i], v = x[at + i];
            y[at + i] = (v > 0 ? v : 0) + (u[i] + (t[i] - (one_t - 1)) / one_t);
        }
    }
}

/* ---- in double ---- */

#define F64(NAME, EXPR)                                                                            \
    static double NAME(const struct unary_attr *a, double x)                                       \
    {                                                                                              \
        (void) a;                                                                                  \
        return (EXPR);                                                                             \
    }
F64(own_sin, fm_sin(x))
F64(own_cos, fm_cos(x))
F64(own_tan, fm_tan(x))
F64(own_sinh, fm_sinh(x))
F64(own_cosh, fm_cosh(x))
F64(d_abs, fabs(x))
F64(d_neg, -x)
F64(d_sqrt, sqrt(x))
F64(d_exp, exp(x))
F64(d_log, log(x))
F64(d_sigmoid, 1 / (1 + exp(-x)))
F64(d_tanh, tanh(x))
F64(d_relu, x < 0 ? 0 : x)
F64(d_leaky, x < 0 ? x * a->alpha : x)
F64(d_elu, x < 0 ? a->alpha * expm1(x) : x)
F64(d_selu, a->gamma *(x < 0 ? a->alpha * expm1(x) : x))
F64(d_celu, x < 0 ? a->alpha * expm1(x / a->alpha) : x)
F64(d_thresholded, x > a->alpha || x != x ? x : 0)
F64(d_hard_sigmoid, x != x ? x : fmin(fmax(x * a->alpha + a->beta, 0), 1))
F64(d_hard_swish, x *fmin(fmax(x / 6 + 0.5, 0), 1))
F64(d_softplus, fmax(x, 0) + log1p(exp(-fabs(x))))
F64(d_softsign, x / (1 + fabs(x)))
F64(d_erf, erf(x))
F64(d_gelu,
    a->approximate ? 0.5 * x *(1 + tanh(0.7978845608028654 * (x + 0.044715 * x * x * x)))
                   : 0.5 * x * (1 + erf(x * 0.7071067811865476)))
F64(d_mish, x *tanh(fmax(x, 0) + log1p(exp(-fabs(x)))))
F64(d_swish, x / (1 + exp(-x * a->alpha)))
F64(d_reciprocal, 1 / x)
F64(d_floor, floor(x))
F64(d_ceil, ceil(x))
F64(d_round, rint(x))
F64(d_sign, x > 0 ? 1 : x < 0 ? -1 : x)
F64(d_sin, sin(x))
F64(d_cos, cos(x))
F64(d_tan, tan(x))
F64(d_asin, asin(x))
F64(d_acos, acos(x))
F64(d_atan, atan(x))
F64(d_sinh, sinh(x))
F64(d_cosh, cosh(x))
F64(d_asinh, asinh(x))
F64(d_acosh, acosh(x))
F64(d_atanh, atanh(x))
F64(d_shrink, x<-a->lambd ? x + a->bias : x> a->lambd ? x - a->bias : 0)

/* ---- integers ---- */

#define INT_LOOP(NAME, C, EXPR)                                                                    \
    static void NAME(void *y, const void *x, size_t n)                                             \
    {                                                                                              \
        const C *p = x;                                                                            \
        C *o = y;                                                                                  \
        for (size_t i = 0; i < n; i++) {                                                           \
            const C v = p[i];                                                                      \
            o[i] = (C) (EXPR);                                                                     \
        }                                                                                          \
    }
#define DEF_ABS(T, C, op) INT_LOOP(abs_##T, C, v < 0 ? 0 - (uint64_t) v : (uint64_t) v)
#define DEF_UABS(T, C, op) INT_LOOP(abs_##T, C, v)
#define DEF_NEG(T, C, op) INT_LOOP(neg_##T, C, 0 - (uint64_t) v)
#define DEF_SIGN(T, C, op) INT_LOOP(sign_##T, C, (v > 0) - (v < 0))
#define DEF_USIGN(T, C, op) INT_LOOP(sign_##T, C, v != 0)
#define DEF_RELU(T, C, op) INT_LOOP(relu_##T, C, v < 0 ? 0 : v)
#define DEF_NOT(T, C, op) INT_LOOP(bitnot_##T, C, ~(uint64_t) v)
#define ELEM_INTS(X, op) ELEM_SIGNED(X, op) ELEM_UNSIGNED(X, op)
ELEM_SIGNED(DEF_ABS, _)
ELEM_UNSIGNED(DEF_UABS, _)
ELEM_SIGNED(DEF_NEG, _)
ELEM_SIGNED(DEF_SIGN, _)
ELEM_UNSIGNED(DEF_USIGN, _)
ELEM_SIGNED(DEF_RELU, _)
ELEM_INTS(DEF_NOT, _)
INT_LOOP(not_BOOL, uint8_t, v == 0)

#define TABLE(NAME, LIST)                                                                          \
    static int_fn *const NAME##_ints[DTYPE_COUNT] = { LIST(ELEM_TABLE_ENTRY, NAME) }
#define LIST_BOOL(X, op) X(BOOL, uint8_t, op)
TABLE(abs, ELEM_INTS);
TABLE(neg, ELEM_SIGNED);
TABLE(sign, ELEM_INTS);
TABLE(relu, ELEM_SIGNED);
TABLE(bitnot, ELEM_INTS);
TABLE(not, LIST_BOOL);

/* ---- symbolic sizes ---- */

static const struct dim *dim_neg(struct dims *ds, const struct dim *d)
{
    return dim_mul_int(ds, d, -1);
}
static const struct dim *dim_abs(struct dims *ds, const struct dim *d)
{
    return dim_max(ds, d, dim_neg(ds, d));
}
static const struct dim *dim_same(struct dims *ds, const struct dim *d)
{
    (void) ds;
    return d;
}
static const struct dim *dim_not(struct dims *ds, const struct dim *d)
{
    return dim_eq(ds, d, dim_int(ds, 0));
}
static const struct dim *dim_relu(struct dims *ds, const struct dim *d)
{
    return dim_max(ds, d, dim_int(ds, 0));
}

static void unary_dims(const struct eval *e, struct dims *ds,
                       const struct dim *(*f)(struct dims *, const struct dim *) )
{
    const struct dim **y = e->y[0];
    size_t n = (size_t) tensor_count(e->out[0]);
    for (size_t i = 0; i < n; i++)
        y[i] = f(ds, elem_dim_at(ds, e->in[0], e->x[0], i));
}

#define DIM(stem)                                                                                  \
    static void stem##_dim(const struct eval *e, struct dims *ds)                                  \
    {                                                                                              \
        unary_dims(e, ds, dim_##stem);                                                             \
    }
DIM(neg)
DIM(abs)
DIM(same)
DIM(not )
DIM(relu)

/* ---- infer, prepare, eval ---- */

struct unary_args {
    size_t n;
    int_fn *ints;
};

static const struct unary_def *def_of(const struct node *n)
{
    return (const struct unary_def *) (const void *) n->op;
}

static rill_status unary_infer(struct infer *c)
{
    TRY(elem_check_type(c, 0, def_of(c->node)->types));
    infer_same(c, 0, 0);
    return RILL_OK;
}

/* The kernel that f32 goes through; other loops are plain C. */
static const char *kernel_of(const struct unary_def *d, enum dtype t)
{
    static const struct {
        f32_fn *f32;
        const char *name;
    } kernels[] = {
        { f32_elu, "elu_f32" },
        { f32_selu, "elu_f32, muls_f32" },
        { f32_celu, "elementwise, exp_f32" },
        { f32_mish, "elementwise, exp_f32" },
        { f32_gelu, "elementwise, erf_f32" },
        { f32_swish, "elementwise, sigmoid_f32" },
        { f32_softplus, "elementwise, exp_f32" },
    };
    if (t == DTYPE_F32 && fused_function(d->op.id) >= 0)
        return fused_function_name(fused_function(d->op.id));
    for (size_t i = 0; t == DTYPE_F32 && d->f32 && i < sizeof kernels / sizeof *kernels; i++)
        if (kernels[i].f32 == d->f32)
            return kernels[i].name;
    return "elementwise";
}

static rill_status unary_prepare(struct prep *c)
{
    const struct unary_def *d = def_of(c->node);
    struct unary_args *g = arena_new(c->arena, struct unary_args);
    if (!g)
        return op_fail(c->err, RILL_NOMEM, c->node, "out of memory");
    enum dtype t = c->in[0]->type;
    g->n = (size_t) tensor_count(c->out[0]);
    g->ints = d->ints ? d->ints[t] : NULL;
    if (!dtype_is_float(t) && !g->ints)
        return prep_fail(c, "no loop for elements of type %s", dtype_name(t));
    c->args = g;
    c->kernel = kernel_of(d, t);
    return RILL_OK;
}

static void f32_run(const struct eval *e, const struct unary_def *d, float *y, const float *x,
                    size_t n)
{
    int function = fused_function(d->op.id);
    if (function >= 0) {
        kern_map_f32(e->kern, function, y, x, n);
        return;
    }
    if (d->f32) {
        d->f32(e->kern, e->attr, y, x, n);
        return;
    }
    for (size_t i = 0; i < n; i++)
        y[i] = (float) d->own(e->attr, x[i]);
}

static void half_run(const struct eval *e, const struct unary_def *d, uint16_t *y,
                     const uint16_t *x, size_t n)
{
    float buf[CHUNK];
    enum dtype t = e->in[0]->type;
    for (size_t at = 0; at < n; at += CHUNK) {
        size_t m = n - at < CHUNK ? n - at : CHUNK;
        elem_widen(t, buf, x + at, m);
        f32_run(e, d, buf, buf, m);
        elem_narrow(t, y + at, buf, m);
    }
}

static void unary_eval(const struct eval *e)
{
    const struct unary_args *g = e->args;
    const struct unary_def *d = def_of(e->node);
    enum dtype t = e->in[0]->type;
    if (t == DTYPE_F32) {
        f32_run(e, d, e->y[0], e->x[0], g->n);
    } else if (t == DTYPE_F64) {
        for (size_t i = 0; i < g->n; i++)
            ((double *) e->y[0])[i] = d->f64(e->attr, ((const double *) e->x[0])[i]);
    } else if (dtype_is_float(t)) {
        half_run(e, d, e->y[0], e->x[0], g->n);
    } else {
        g->ints(e->y[0], e->x[0], g->n);
    }
}

/* ---- Identity, IsNaN, IsInf ---- */

static rill_status identity_infer(struct infer *c)
{
    infer_same(c, 0, 0);
    c->out[0].value = c->in[0]->value;
    return RILL_OK;
}

static void identity_eval(const struct eval *e)
{
    if (e->y[0] != e->x[0])
        memmove(e->y[0], e->x[0], tensor_bytes(e->out[0]));
}

static rill_status test_infer(struct infer *c)
{
    TRY(elem_check_type(c, 0, def_of(c->node)->types));
    infer_shape(c, 0, DTYPE_BOOL, c->in[0]->rank, c->in[0]->shape);
    return RILL_OK;
}

static void isnan_eval(const struct eval *e)
{
    int64_t n = tensor_count(e->out[0]);
    for (int64_t i = 0; i < n; i++)
        ((uint8_t *) e->y[0])[i] = isnan(tensor_get_f64(e->in[0], e->x[0], i)) != 0;
}

static void isinf_eval(const struct eval *e)
{
    const struct unary_attr *a = e->attr;
    int64_t n = tensor_count(e->out[0]);
    for (int64_t i = 0; i < n; i++) {
        double v = tensor_get_f64(e->in[0], e->x[0], i);
        ((uint8_t *) e->y[0])[i] = isinf(v) && (v > 0 ? a->detect_positive : a->detect_negative);
    }
}

/* ---- the table ---- */

#define AT(member) .offset = offsetof(struct unary_attr, member)
#define FLOAT_ATTR(member, value)                                                                  \
    {                                                                                              \
        .name = #member, .kind = ATTR_FLOAT, AT(member), .def_f = value                            \
    }
/* clang-format off */
#define ATTRS(name, ...) static const struct attr_spec name##_attrs[] = { __VA_ARGS__, { 0 } }
/* clang-format on */
ATTRS(leaky, FLOAT_ATTR(alpha, 0.01f));
ATTRS(alpha_1, FLOAT_ATTR(alpha, 1));
ATTRS(selu, FLOAT_ATTR(alpha, 1.67326319217681884765625f),
      FLOAT_ATTR(gamma, 1.05070102214813232421875f));
ATTRS(hard_sigmoid, FLOAT_ATTR(alpha, 0.2f), FLOAT_ATTR(beta, 0.5f));
ATTRS(shrink, FLOAT_ATTR(lambd, 0.5f), FLOAT_ATTR(bias, 0));
ATTRS(isinf, { .name = "detect_negative", .kind = ATTR_INT, AT(detect_negative), .def_i = 1 },
      { .name = "detect_positive", .kind = ATTR_INT, AT(detect_positive), .def_i = 1 });
static const char *const approximations[] = { "none", "tanh", NULL };
ATTRS(gelu,
      { .name = "approximate", .kind = ATTR_CHOICE, AT(approximate), .choices = approximations });

#define WITH(table) .op.attrs = table##_attrs, .op.attr_bytes = sizeof(struct unary_attr)
#define PLAIN                                                                                      \
    .op.infer = unary_infer, .op.prepare = unary_prepare, .op.eval = unary_eval,                   \
    .op.divide = slices_of_all, .op.flags = OP_POINTWISE
#define FN(name) PLAIN, .f32 = f32_##name, .f64 = d_##name
#define KERNEL(name) PLAIN, .f64 = d_##name
#define OWN(name) PLAIN, .own = own_##name, .f64 = d_##name
#define LIBM(name) PLAIN, .own = d_##name, .f64 = d_##name
#define TEST(fn) .op.infer = test_infer, .op.eval = fn, .op.flags = OP_POINTWISE

/* clang-format off */
#define UNARY_LIST(X)                                                                             \
    X(ABS, Abs, TYPES_NUM, "absolute value", FN(abs), .ints = abs_ints, .op.eval_dim = abs_dim)        \
    X(NEG, Neg, TYPES_FLOAT | TYPES_SIGNED, "-x", FN(neg), .ints = neg_ints, .op.eval_dim = neg_dim)   \
    X(SQRT, Sqrt, TYPES_FLOAT, "square root", KERNEL(sqrt))                                                 \
    X(EXP, Exp, TYPES_FLOAT, "e^x", KERNEL(exp))                                                           \
    X(LOG, Log, TYPES_FLOAT, "natural logarithm", KERNEL(log))                                             \
    X(SIGMOID, Sigmoid, TYPES_FLOAT, "1 / (1 + e^-x)", KERNEL(sigmoid))                                        \
    X(TANH, Tanh, TYPES_FLOAT, "hyperbolic tangent", KERNEL(tanh))                                          \
    X(RELU, Relu, TYPES_FLOAT | TYPES_SIGNED, "max(x, 0)", KERNEL(relu), .ints = relu_ints, .op.eval_dim = relu_dim) \
    X(LEAKY_RELU, LeakyRelu, TYPES_FLOAT, "x, or alpha * x where negative", FN(leaky), WITH(leaky))           \
    X(ELU, Elu, TYPES_FLOAT, "x, or alpha * (e^x - 1) where negative", FN(elu), WITH(alpha_1))         \
    X(SELU, Selu, TYPES_FLOAT, "gamma * Elu", FN(selu), WITH(selu))                                     \
    X(CELU, Celu, TYPES_FLOAT, "x, or alpha * (e^(x/alpha) - 1) where negative", FN(celu), WITH(alpha_1)) \
    X(THRESHOLDED_RELU, ThresholdedRelu, TYPES_FLOAT, "x where above alpha, else 0", FN(thresholded), WITH(alpha_1)) \
    X(HARD_SIGMOID, HardSigmoid, TYPES_FLOAT, "alpha * x + beta, clamped to 0..1", FN(hard_sigmoid), WITH(hard_sigmoid)) \
    X(HARD_SWISH, HardSwish, TYPES_FLOAT, "x * clamp(x / 6 + 0.5)", FN(hard_swish))                           \
    X(SOFTPLUS, Softplus, TYPES_FLOAT, "log(1 + e^x)", FN(softplus))                                        \
    X(SOFTSIGN, Softsign, TYPES_FLOAT, "x / (1 + |x|)", FN(softsign))                                       \
    X(ERF, Erf, TYPES_FLOAT, "error function", KERNEL(erf))                                                \
    X(GELU, Gelu, TYPES_FLOAT, "x * P(N(0,1) < x)", FN(gelu), WITH(gelu))                               \
    X(MISH, Mish, TYPES_FLOAT, "x * tanh(Softplus(x))", FN(mish))                                       \
    X(SWISH, Swish, TYPES_FLOAT, "x * Sigmoid(alpha * x)", FN(swish), WITH(alpha_1))                     \
    X(RECIPROCAL, Reciprocal, TYPES_FLOAT, "1 / x", FN(reciprocal))                                           \
    X(FLOOR, Floor, TYPES_FLOAT, "largest integer not above", FN(floor), .op.eval_dim = same_dim)        \
    X(CEIL, Ceil, TYPES_FLOAT, "smallest integer not below", FN(ceil), .op.eval_dim = same_dim)         \
    X(ROUND, Round, TYPES_FLOAT, "nearest integer, halves to even", FN(round), .op.eval_dim = same_dim)  \
    X(ROUND_F16, RoundF16, TYPE_F32, "nearest number that is one of f16, halves to even", PLAIN) \
    X(ROUND_BF16, RoundBF16, TYPE_F32, "nearest number that is one of bf16, halves to even", PLAIN) \
    X(SIGN, Sign, TYPES_NUM, "-1, 0 or 1", FN(sign), .ints = sign_ints)                                 \
    X(SIN, Sin, TYPES_FLOAT, "sine", OWN(sin))                                                         \
    X(COS, Cos, TYPES_FLOAT, "cosine", OWN(cos))                                                       \
    X(TAN, Tan, TYPES_FLOAT, "tangent", OWN(tan))                                                      \
    X(ASIN, Asin, TYPES_FLOAT, "arc sine", LIBM(asin))                                                  \
    X(ACOS, Acos, TYPES_FLOAT, "arc cosine", LIBM(acos))                                                \
    X(ATAN, Atan, TYPES_FLOAT, "arc tangent", LIBM(atan))                                               \
    X(SINH, Sinh, TYPES_FLOAT, "hyperbolic sine", OWN(sinh))                                            \
    X(COSH, Cosh, TYPES_FLOAT, "hyperbolic cosine", OWN(cosh))                                          \
    X(ASINH, Asinh, TYPES_FLOAT, "inverse of Sinh", LIBM(asinh))                                         \
    X(ACOSH, Acosh, TYPES_FLOAT, "inverse of Cosh", LIBM(acosh))                                         \
    X(ATANH, Atanh, TYPES_FLOAT, "inverse of Tanh", LIBM(atanh))                                         \
    X(SHRINK, Shrink, TYPES_FLOAT, "0 within lambd, else x moved towards 0 by bias", FN(shrink), WITH(shrink)) \
    X(NOT, Not, TYPE_BOOL, "logical negation", PLAIN, .ints = not_ints, .op.eval_dim = not_dim)        \
    X(BITWISE_NOT, BitwiseNot, TYPES_INT, "every bit flipped", PLAIN, .ints = bitnot_ints)                     \
    X(ISNAN, IsNaN, TYPES_FLOAT, "true where not a number", TEST(isnan_eval))                            \
    X(ISINF, IsInf, TYPES_FLOAT, "true where infinite", TEST(isinf_eval), WITH(isinf))                   \
    X(IDENTITY, Identity, TYPES_ANY | TYPE_DIM, "the input", .op.infer = identity_infer, .op.eval = identity_eval, \
      .op.flags = OP_VIEW | OP_POINTWISE)
/* clang-format on */

#define X(number, stem, set, words, ...)                                                           \
    static const struct unary_def def_##stem = { .op = { .id = OP_##number,                        \
                                                         .name = #stem,                            \
                                                         .min_in = 1,                              \
                                                         .max_in = 1,                              \
                                                         .min_out = 1,                             \
                                                         .max_out = 1,                             \
                                                         .help = words },                          \
                                                 .types = set,                                     \
                                                 __VA_ARGS__ };
UNARY_LIST(X)
#undef X

const struct op *const ops_unary[] = {
#define X(number, stem, ...) &def_##stem.op,
    UNARY_LIST(X)
#undef X
        NULL
};
