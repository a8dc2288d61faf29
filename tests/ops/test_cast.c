/* SPDX-License-Identifier: MIT */
/* Cast between all pairs of types: rounding, saturation, wrapping, truth. */
#include "tests/ops/ops_test.h"

#define COUNT(a) (sizeof(a) / sizeof *(a))

static struct attr to_type(enum dtype t)
{
    return (struct attr) ONE_INT("to", t);
}

/* Small whole numbers survive every pair of types. */
static void test_all_pairs(struct ops_test *t)
{
    const double v[] = { 0, 1, 2, 100, 127 };
    for (int from = DTYPE_F32; from <= DTYPE_BOOL; from++)
        for (int to = DTYPE_F32; to <= DTYPE_BOOL; to++) {
            struct tensor *x = ops_tensor(t, (enum dtype) from, 2, I64S(5, 60), NULL);
            double want[300];
            char what[40];
            for (int i = 0; i < 300; i++) {
                tensor_set_f64(x, x->data, i, v[i / 60]);
                want[i] = from == DTYPE_BOOL || to == DTYPE_BOOL ? v[i / 60] != 0 : v[i / 60];
            }
            snprintf(what, sizeof what, "%s to %s", dtype_name((enum dtype) from),
                     dtype_name((enum dtype) to));
            t->what = what;
            struct attr a = to_type((enum dtype) to);
            if (ops_run(t, "Cast", &a, 1, IN(x), 1) &&
                ops_shape_is(t, 0, (enum dtype) to, 2, x->dim))
                ops_same(t, 0, want, 0);
            struct tensor *like = ops_tensor(t, (enum dtype) to, 1, I64S(0), NULL);
            ops_gives(t, "CastLike", NULL, 0, IN(x, like), want, 0);
        }
    t->what = "";
}

static void test_saturation(struct ops_test *t)
{
    static const double x[] = { 1e30, -1e30, 300.9,    -300.9,    -1.5,
                                2.9,  NAN,   INFINITY, -INFINITY, -0.5 };
    static const struct {
        enum dtype to;
        double want[10];
    } cases[] = { { DTYPE_I8, { 127, -128, 127, -128, -1, 2, 0, 127, -128, 0 } },
                  { DTYPE_U8, { 255, 0, 255, 0, 0, 2, 0, 255, 0, 0 } },
                  { DTYPE_I16, { 32767, -32768, 300, -300, -1, 2, 0, 32767, -32768, 0 } },
                  { DTYPE_U16, { 65535, 0, 300, 0, 0, 2, 0, 65535, 0, 0 } },
                  { DTYPE_I32,
                    { 2147483647, -2147483648.0, 300, -300, -1, 2, 0, 2147483647, -2147483648.0,
                      0 } },
                  { DTYPE_U32, { 4294967295, 0, 300, 0, 0, 2, 0, 4294967295, 0, 0 } },
                  { DTYPE_I64, { 0x1p63, -0x1p63, 300, -300, -1, 2, 0, 0x1p63, -0x1p63, 0 } },
                  { DTYPE_U64, { 0x1p64, 0, 300, 0, 0, 2, 0, 0x1p64, 0, 0 } },
                  { DTYPE_BOOL, { 1, 1, 1, 1, 1, 1, 1, 1, 1, 1 } } };
    for (size_t k = 0; k < COUNT(cases); k++)
        for (int from = DTYPE_F32; from <= DTYPE_F64; from++) {
            struct tensor *v = ops_tensor(t, (enum dtype) from, 1, I64S(10), NULL);
            for (int i = 0; i < 10; i++)
                tensor_set_f64(v, v->data, i, x[i]);
            struct attr a = to_type(cases[k].to);
            t->what = dtype_name(cases[k].to);
            ops_gives(t, "Cast", &a, 1, IN(v), cases[k].want, 0);
        }
    t->what = "";
}

static void test_wrapping(struct ops_test *t)
{
    struct tensor *v = ops_i64s(t, 4, I64S(257, -1, INT64_MIN, 65536 + 200));
    static const struct {
        enum dtype to;
        double want[4];
    } cases[] = { { DTYPE_I8, { 1, -1, 0, -56 } },
                  { DTYPE_U8, { 1, 255, 0, 200 } },
                  { DTYPE_I16, { 257, -1, 0, 200 } },
                  { DTYPE_U32, { 257, 4294967295.0, 0, 65736 } },
                  { DTYPE_U64, { 257, 18446744073709551615.0, 0x1p63, 65736 } },
                  { DTYPE_F16, { 257, -1, -INFINITY, INFINITY } },
                  { DTYPE_BOOL, { 1, 1, 1, 1 } } };
    for (size_t k = 0; k < COUNT(cases); k++) {
        struct attr a = to_type(cases[k].to);
        t->what = dtype_name(cases[k].to);
        ops_gives(t, "Cast", &a, 1, IN(v), cases[k].want, 0);
    }
    t->what = "";
}

/* To half floats: nearest even, once. */
static void test_halves(struct ops_test *t)
{
    const double x[] = { 2049,        2051,  65519, 65520, 0x1p-24, 0x1p-25, 1 + 0x1p-11 + 0x1p-40,
                         1 + 0x1p-11, -65536 };
    const double want[] = { 2048, 2052, 65504, INFINITY, 0x1p-24, 0, 1 + 0x1p-10, 1, -INFINITY };
    struct tensor *v = ops_tensor(t, DTYPE_F64, 1, I64S(9), x);
    struct attr a = to_type(DTYPE_F16);
    ops_gives(t, "Cast", &a, 1, IN(v), want, 0);
    a = to_type(DTYPE_BF16);
    v = ops_tensor(t, DTYPE_F64, 1, I64S(3), WANT(1 + 0x1p-8, 1 + 0x1p-8 + 0x1p-40, 257));
    ops_gives(t, "Cast", &a, 1, IN(v), WANT(1, 1 + 0x1p-7, 256), 0);
}

int main(void)
{
    struct ops_test t = ops_begin();
    test_all_pairs(&t);
    test_saturation(&t);
    test_wrapping(&t);
    test_halves(&t);
    struct attr strange = to_type((enum dtype) 99);
    struct tensor *x = ops_f32(&t, 0, NULL, NULL);
    ops_refused(&t, "Cast", &strange, 1, IN(x), 1, "target type 99");
    ops_refused(&t, "Cast", NULL, 0, IN(x), 1, "'to' is missing");
    return ops_end(&t);
}
