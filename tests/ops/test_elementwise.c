/* SPDX-License-Identifier: MIT */
/* Elementwise ops against a reference of one element at a time: every type, broadcasting of every
 * rank, edge values in all pairs. */
#include "tests/ops/ops_test.h"

__extension__ typedef __int128 wide_int;
__extension__ typedef unsigned __int128 wide_bits;

#define COUNT(a) (sizeof(a) / sizeof *(a))

/* ---- values ---- */

static const double float_edges[] = { 0,  -0.0,  1,    -1,    0.5, -2.5,     3,         7,
                                      -7, 1e-30, 1e30, -1e30, 2,   INFINITY, -INFINITY, NAN };

static wide_int type_limit(enum dtype t, bool most)
{
    unsigned bits = (unsigned) dtype_bytes(t) * 8;
    if (t >= DTYPE_U8)
        return most ? ((wide_int) 1 << bits) - 1 : 0;
    return most ? ((wide_int) 1 << (bits - 1)) - 1 : -((wide_int) 1 << (bits - 1));
}

static wide_int int_edge(enum dtype t, int64_t i)
{
    static const int small[] = { 0, 1, -1, 2, 7, -8, 100, 13 };
    int64_t k = i % (int64_t) (COUNT(small) + 2);
    return k < 2 ? type_limit(t, k) : small[k - 2];
}

static void int_set(const struct tensor *t, int64_t i, wide_int v)
{
    memcpy((char *) t->data + (size_t) i * dtype_bytes(t->type), &v, dtype_bytes(t->type));
}

static wide_int int_get(const struct tensor *t, int64_t i)
{
    if (t->type == DTYPE_U64)
        return ((const uint64_t *) t->data)[i];
    return tensor_get_i64(t, t->data, i);
}

/* Edge values of the type, starting with the one numbered `from`. */
static struct tensor *edges(struct ops_test *t, enum dtype type, int rank, const int64_t *dim,
                            int64_t from)
{
    struct tensor *x = ops_tensor(t, type, rank, dim, NULL);
    for (int64_t i = 0, n = tensor_count(x); i < n; i++) {
        if (type == DTYPE_BOOL)
            ((uint8_t *) x->data)[i] = (i + from) % 3 == 1;
        else if (dtype_is_float(type))
            tensor_set_f64(x, x->data, i, float_edges[(i + from) % (int64_t) COUNT(float_edges)]);
        else
            int_set(x, i, int_edge(type, i + from));
    }
    return x;
}

/* Index into x of the element that goes to element `flat` of an output of shape dim. */
static int64_t broadcast_index(const struct tensor *x, const struct tensor *out, int64_t flat)
{
    int64_t at = 0, step = 1;
    for (int k = out->rank - 1, own = x->rank - 1; k >= 0; k--, own--) {
        int64_t i = flat % out->dim[k];
        flat /= out->dim[k];
        if (own >= 0) {
            at += x->dim[own] == 1 ? 0 : i * step;
            step *= x->dim[own];
        }
    }
    return at;
}

/* ---- two inputs ---- */

#define F2(name, value)                                                                            \
    static double f_##name(double a, double b)                                                     \
    {                                                                                              \
        return value;                                                                              \
    }
#define I2(name, value)                                                                            \
    static wide_int i_##name(wide_int a, wide_int b)                                               \
    {                                                                                              \
        return value;                                                                              \
    }
F2(add, a + b)
F2(sub, a - b)
F2(mul, (a * b))
F2(div, a / b)
F2(max, isnan(a) || isnan(b) ? NAN : a > b ? a : b)
F2(min, isnan(a) || isnan(b) ? NAN : a < b ? a : b)
F2(prelu, a < 0 ? a * b : a)
F2(eq, a == b)
F2(gt, a > b)
F2(ge, a >= b)
F2(lt, a < b)
F2(le, a <= b)

I2(add, a + b)
I2(sub, a - b)
I2(mul, (wide_int) ((wide_bits) a *(wide_bits) b))
I2(div, b ? a / b : 0)
I2(rem, b ? a % b : 0)
I2(mod, b ? ((a % b) + b) % b : 0)
I2(max, a > b ? a : b)
I2(min, a < b ? a : b)
I2(prelu, a < 0 ? a * b : a)
I2(eq, a == b)
I2(gt, a > b)
I2(ge, a >= b)
I2(lt, a < b)
I2(le, a <= b)
I2(and, (a & b))
I2(or, a | b)
I2(xor, a ^ b)
I2(shl, b < 64 ? (wide_int) ((wide_bits) a << b) : 0)
I2(shr, b < 64 ? a >> b : 0)

enum { FLOATS = 1, SIGNED = 2, UNSIGNED = 4, INTS = 6, NUM = 7, BOOLS = 8 };

static const struct attr fmod_1 = ONE_INT("fmod", 1);
static const struct attr left = ONE_TEXT("direction", "LEFT");
static const struct attr right = ONE_TEXT("direction", "RIGHT");

static const struct binary_case {
    const char *op;
    unsigned types;
    double (*f)(double, double);
    wide_int (*i)(wide_int, wide_int);
    const struct attr *attr;
    bool one_way; /* only the second input broadcasts */
} binary_cases[] = { { "Add", NUM, f_add, i_add, NULL, false },
                     { "Sub", NUM, f_sub, i_sub, NULL, false },
                     { "Mul", NUM, f_mul, i_mul, NULL, false },
                     { "Div", NUM, f_div, i_div, NULL, false },
                     { "Max", NUM, f_max, i_max, NULL, false },
                     { "Min", NUM, f_min, i_min, NULL, false },
                     { "Sum", FLOATS, f_add, NULL, NULL, false },
                     { "Mod", INTS, NULL, i_mod, NULL, false },
                     { "Mod", NUM, fmod, i_rem, &fmod_1, false },
                     { "PRelu", NUM, f_prelu, i_prelu, NULL, true },
                     { "Equal", NUM | BOOLS, f_eq, i_eq, NULL, false },
                     { "Greater", NUM, f_gt, i_gt, NULL, false },
                     { "GreaterOrEqual", NUM, f_ge, i_ge, NULL, false },
                     { "Less", NUM, f_lt, i_lt, NULL, false },
                     { "LessOrEqual", NUM, f_le, i_le, NULL, false },
                     { "And", BOOLS, NULL, i_and, NULL, false },
                     { "Or", BOOLS, NULL, i_or, NULL, false },
                     { "Xor", BOOLS, NULL, i_xor, NULL, false },
                     { "BitwiseAnd", INTS, NULL, i_and, NULL, false },
                     { "BitwiseOr", INTS, NULL, i_or, NULL, false },
                     { "BitwiseXor", INTS, NULL, i_xor, NULL, false },
                     { "BitShift", UNSIGNED, NULL, i_shl, &left, false },
                     { "BitShift", UNSIGNED, NULL, i_shr, &right, false } };

static const struct shape_pair {
    int a_rank, b_rank;
    int64_t a[6], b[6];
} shape_pairs[] = { { 2, 1, { 31, 1 }, { 37 } }, /* every pair of values */
                    { 0, 0, { 0 }, { 0 } },
                    { 1, 1, { 300 }, { 300 } },
                    { 1, 0, { 33 }, { 0 } },
                    { 0, 1, { 0 }, { 33 } },
                    { 2, 1, { 5, 17 }, { 17 } },
                    { 1, 2, { 17 }, { 5, 17 } },
                    { 2, 2, { 5, 17 }, { 5, 1 } },
                    { 3, 3, { 2, 1, 9 }, { 1, 4, 1 } },
                    { 4, 3, { 2, 3, 4, 5 }, { 3, 1, 5 } },
                    { 5, 5, { 1, 3, 1, 2, 1 }, { 2, 1, 2, 1, 3 } },
                    { 6, 6, { 2, 1, 2, 1, 2, 1 }, { 1, 3, 1, 3, 1, 3 } },
                    { 6, 2, { 2, 2, 1, 2, 3, 2 }, { 3, 1 } },
                    { 2, 2, { 0, 4 }, { 1, 4 } },
                    { 3, 1, { 2, 0, 3 }, { 1 } } };

static bool has_type(unsigned types, enum dtype t)
{
    unsigned bit = t == DTYPE_BOOL ? BOOLS
        : dtype_is_float(t)        ? FLOATS
        : t < DTYPE_U8             ? SIGNED
                                   : UNSIGNED;
    return types & bit;
}

/* want, computed in double, as it reads after being stored in type t. */
static double stored(enum dtype t, double want)
{
    return t == DTYPE_F64 ? want
        : t == DTYPE_F32  ? (double) (float) want
        : t == DTYPE_F16  ? (double) f16_to_f32(f32_to_f16((float) want))
                          : (double) bf16_to_f32(f32_to_bf16((float) want));
}

static bool element_is(const struct binary_case *c, const struct tensor *y, int64_t i,
                       const struct tensor *a, const struct tensor *b)
{
    int64_t ia = broadcast_index(a, y, i), ib = broadcast_index(b, y, i);
    if (dtype_is_float(a->type)) {
        double want = c->f(tensor_get_f64(a, a->data, ia), tensor_get_f64(b, b->data, ib));
        want = y->type == DTYPE_BOOL ? want : stored(y->type, want);
        return ops_close(tensor_get_f64(y, y->data, i), want, 0);
    }
    wide_int want = c->i(int_get(a, ia), int_get(b, ib)), got = int_get(y, i);
    return !memcmp(&want, &got, dtype_bytes(y->type));
}

static void binary_run(struct ops_test *t, const struct binary_case *c, enum dtype type,
                       const struct shape_pair *s)
{
    char what[120];
    snprintf(what, sizeof what, "%s %s shapes #%d", c->op, dtype_name(type),
             (int) (s - shape_pairs));
    t->what = what;
    struct tensor *a = edges(t, type, s->a_rank, s->a, 0), *b = edges(t, type, s->b_rank, s->b, 3);
    const struct tensor *in[] = { a, b };
    if (!ops_run(t, c->op, c->attr, c->attr ? 1 : 0, in, 2, 1))
        return;
    const struct tensor *y = t->out[0];
    for (int64_t i = 0, n = tensor_count(y); i < n; i++)
        if (!element_is(c, y, i, a, b)) {
            ops_check(t, false, "element %lld is %g", (long long) i, tensor_get_f64(y, y->data, i));
            return;
        }
    ops_check(t, true, " ");
}

static void test_binary(struct ops_test *t)
{
    for (size_t k = 0; k < COUNT(binary_cases); k++)
        for (int type = DTYPE_F32; type <= DTYPE_BOOL; type++)
            for (size_t s = 0; s < COUNT(shape_pairs); s++) {
                const struct binary_case *c = &binary_cases[k];
                const struct shape_pair *p = &shape_pairs[s];
                bool grows = s == 0 || p->a_rank < p->b_rank || s == 8 || s == 10 || s == 11;
                if (!has_type(c->types, (enum dtype) type) || (c->one_way && grows))
                    continue;
                binary_run(t, c, (enum dtype) type, p);
                arena_drop(&t->arena);
            }
    t->what = "";
}

static void test_variadic(struct ops_test *t)
{
    struct tensor *a = ops_f32(t, 2, I64S(2, 1), F32S(1, -5));
    struct tensor *b = ops_f32(t, 1, I64S(3), F32S(2, 0, -9));
    struct tensor *c = ops_f32(t, 0, NULL, F32S(-1));
    const struct tensor *in[] = { a, b, c };
    ops_gives(t, "Max", NULL, 0, in, 3, WANT(2, 1, 1, 2, 0, -1), 0);
    ops_gives(t, "Min", NULL, 0, in, 3, WANT(-1, -1, -9, -5, -5, -9), 0);
    ops_gives(t, "Sum", NULL, 0, in, 3, WANT(2, 0, -9, -4, -6, -15), 0);
    ops_gives(t, "Mean", NULL, 0, in, 3, WANT(2 / 3.0, 0, -3, -4 / 3.0, -2, -5), 1e-7);
    ops_gives(t, "Max", NULL, 0, in + 1, 1, WANT(2, 0, -9), 0);
}

/* ---- Where, Clip, Pow ---- */

static void test_where(struct ops_test *t)
{
    for (int type = DTYPE_F32; type <= DTYPE_BOOL; type++) {
        struct tensor *c = edges(t, DTYPE_BOOL, 2, I64S(4, 1), 0);
        struct tensor *a = edges(t, (enum dtype) type, 3, I64S(2, 1, 5), 0);
        struct tensor *b = edges(t, (enum dtype) type, 1, I64S(5), 7);
        if (!ops_run(t, "Where", NULL, 0, IN(c, a, b), 1))
            continue;
        const struct tensor *y = t->out[0];
        bool ok = tensor_count(y) == 40;
        size_t bytes = dtype_bytes(y->type);
        for (int64_t i = 0; ok && i < 40; i++) {
            const struct tensor *from = ((uint8_t *) c->data)[broadcast_index(c, y, i)] ? a : b;
            ok = !memcmp((char *) y->data + (size_t) i * bytes,
                         (char *) from->data + (size_t) broadcast_index(from, y, i) * bytes, bytes);
        }
        ops_check(t, ok, "Where %s", dtype_name((enum dtype) type));
    }
}

static void test_clip(struct ops_test *t)
{
    const double x[] = { -3, -1, 0, 1, 5 };
    for (int type = DTYPE_F32; type < DTYPE_U8; type++) {
        struct tensor *v = ops_tensor(t, (enum dtype) type, 1, I64S(5), NULL);
        struct tensor *lo = ops_tensor(t, (enum dtype) type, 0, NULL, NULL),
                      *hi = ops_tensor(t, (enum dtype) type, 0, NULL, NULL);
        for (int i = 0; i < 5; i++)
            tensor_set_f64(v, v->data, i, x[i]);
        tensor_set_f64(lo, lo->data, 0, -2);
        tensor_set_f64(hi, hi->data, 0, 1);
        ops_gives(t, "Clip", NULL, 0, IN(v, lo, hi), WANT(-2, -1, 0, 1, 1), 0);
        ops_gives(t, "Clip", NULL, 0, IN(v, NULL, hi), WANT(-3, -1, 0, 1, 1), 0);
        ops_gives(t, "Clip", NULL, 0, IN(v), x, 0);
        ops_gives(t, "Clip", NULL, 0, IN(v, hi, lo), WANT(-2, -2, -2, -2, -2), 0);
    }
    struct tensor *n = ops_f32(t, 0, NULL, F32S(NAN)), *one = ops_f32(t, 0, NULL, F32S(1));
    ops_gives(t, "Clip", NULL, 0, IN(n, one, one), WANT(NAN), 0);
}

static void test_pow_floats(struct ops_test *t)
{
    static const float bases[] = { 0,  -0.0f, 1,      -1,    2,        -2,        0.5f,
                                   10, 1.5f,  1e-20f, 3e15f, INFINITY, -INFINITY, NAN };
    static const float exps[] = { 0,        1,    -1, 2,  3,        0.5f,      -0.5f, 5,
                                  1 / 3.0f, 2.7f, -3, 31, INFINITY, -INFINITY, NAN };
    struct tensor *a = ops_f32(t, 2, I64S(COUNT(bases), 1), bases),
                  *b = ops_f32(t, 1, I64S(COUNT(exps)), exps);
    double want[COUNT(bases) * COUNT(exps)];
    for (size_t i = 0; i < COUNT(want); i++)
        want[i] = (float) pow(bases[i / COUNT(exps)], exps[i % COUNT(exps)]);
    t->what = "Pow of all pairs";
    ops_gives(t, "Pow", NULL, 0, IN(a, b), want, 6e-8);
    struct tensor *pair = ops_tensor(t, DTYPE_F32, 1, I64S(COUNT(bases)), bases);
    for (size_t k = 0; k < COUNT(exps);
         k++) { /* a scalar exponent gives the same bits as a vector of it */
        struct tensor *e = ops_f32(t, 0, NULL, &exps[k]),
                      *many = ops_f32(t, 1, I64S(COUNT(bases)), NULL);
        for (size_t i = 0; i < COUNT(bases); i++)
            ((float *) many->data)[i] = exps[k];
        if (!ops_run(t, "Pow", NULL, 0, IN(pair, many), 1))
            continue;
        const struct tensor *first = t->out[0];
        if (ops_run(t, "Pow", NULL, 0, IN(pair, e), 1))
            ops_same_f32(t, 0, first->data, 0);
    }
    t->what = "";
}

static void test_pow_mixed(struct ops_test *t)
{
    static const enum dtype bases[] = { DTYPE_I32, DTYPE_I64, DTYPE_F32, DTYPE_F64, DTYPE_F16 };
    const double x[] = { 2, -3, 1, 0, -1 }, n[] = { 3, 2, 5, 4, 3 };
    for (size_t k = 0; k < COUNT(bases); k++)
        for (int type = DTYPE_F32; type < DTYPE_BOOL; type++) {
            struct tensor *a = ops_tensor(t, bases[k], 1, I64S(5), NULL);
            struct tensor *b = ops_tensor(t, (enum dtype) type, 1, I64S(5), NULL);
            for (int i = 0; i < 5; i++) {
                tensor_set_f64(a, a->data, i, x[i]);
                tensor_set_f64(b, b->data, i, n[i]);
            }
            ops_gives(t, "Pow", NULL, 0, IN(a, b), WANT(8, 9, 1, 0, -1), 0);
        }
    struct tensor *a = ops_i64s(t, 4, I64S(3, INT64_MIN, 0, -1)),
                  *b = ops_i64s(t, 4, I64S(41, 2, -1, -3));
    if (ops_run(t, "Pow", NULL, 0, IN(a, b), 1))
        ops_check(t, !memcmp(t->out[0]->data, I64S(-420491770248316829, 0, 0, -1), 32),
                  "integer powers wrap modulo 2^64: %lld",
                  (long long) *(int64_t *) t->out[0]->data);
}

/* ---- refusals ---- */

static void test_refusals(struct ops_test *t)
{
    struct tensor *f23 = ops_f32(t, 2, I64S(2, 3), NULL), *f4 = ops_f32(t, 1, I64S(4), NULL);
    struct tensor *i3 = ops_i64s(t, 3, NULL), *b3 = ops_tensor(t, DTYPE_BOOL, 1, I64S(3), NULL);
    struct tensor *f3 = ops_f32(t, 1, I64S(3), NULL);
    const struct attr odd = ONE_FLOAT("alpha", 1);
    const struct attr bad = ONE_TEXT("direction", "UP");
    ops_refused(t, "Add", NULL, 0, IN(f23, f4), 1, "do not broadcast");
    ops_refused(t, "Add", NULL, 0, IN(f3, i3), 1, "both must agree");
    ops_refused(t, "Add", NULL, 0, IN(b3, b3), 1, "is bool, supported: f32");
    ops_refused(t, "Add", NULL, 0, IN(f3), 1, "has 1 inputs");
    ops_refused(t, "Add", &odd, 1, IN(f3, f3), 1, "'alpha' is not supported");
    ops_refused(t, "And", NULL, 0, IN(f3, f3), 1, "supported: bool");
    ops_refused(t, "BitShift", &bad, 1, IN(i3, i3), 1, "supported: LEFT, RIGHT");
    ops_refused(t, "PRelu", NULL, 0, IN(f3, f23), 1, "slope");
    ops_refused(t, "Where", NULL, 0, IN(f3, f3, f3), 1, "must be bool");
    ops_refused(t, "Where", NULL, 0, IN(b3, f3, i3), 1, "both must agree");
    ops_refused(t, "Clip", NULL, 0, IN(f3, f3), 1, "must be a scalar");
    ops_refused(t, "Clip", NULL, 0, IN(f3, i3), 1, "but the input is");
    ops_refused(t, "Sqrt", NULL, 0, IN(i3), 1, "is i64, supported: f32");
    ops_refused(t, "Pow", NULL, 0, IN(b3, b3), 1, "is bool");
    ops_refused(t, "Max", NULL, 0, IN(f3, f3, f4), 1, "do not broadcast");
}

int main(void)
{
    struct ops_test t = ops_begin();
    test_binary(&t);
    test_variadic(&t);
    test_where(&t);
    test_clip(&t);
    test_pow_floats(&t);
    test_pow_mixed(&t);
    test_refusals(&t);
    return ops_end(&t);
}
