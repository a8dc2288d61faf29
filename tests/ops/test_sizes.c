/* SPDX-License-Identifier: MIT */
/* Arithmetic on symbolic sizes: what folding of shape computations relies on. */
#include "engine/typing/interp.h"
#include "tests/ops/ops_test.h"

/* A vector of size expressions given as text. */
static struct tensor *sizes(struct ops_test *t, int n, const char *const *text)
{
    struct tensor *x = tensor_new(&t->arena, DTYPE_DIM, 1, I64S(n));
    for (int i = 0; i < n; i++)
        if (dim_parse(t->dims, text[i], &((const struct dim **) x->data)[i], &t->err) != RILL_OK)
            ops_check(t, false, "%s", t->err.text);
    return x;
}

static rill_status fold_try(struct ops_test *t, const char *name, const struct attr *attrs,
                            unsigned n_attrs, const struct tensor *const *in, unsigned n_in,
                            const struct tensor **ret)
{
    const struct op *op = op_find(name);
    void *attr = arena_alloc(&t->arena, op->attr_bytes + 1);
    uint32_t wires[4] = { 0, 1, 2, 3 }, out_wire = 4;
    struct node n = {
        .name = "n", .op = op, .attr = attr, .in = wires, .n_in = n_in, .out = &out_wire, .n_out = 1
    };
    t->what = name;
    TRY(attrs_parse(op, "n", attrs, n_attrs, attr, &t->err));
    return interp_node(t->dims, &n, in, &t->kern, &t->arena, ret, &t->err);
}

static const struct tensor *fold(struct ops_test *t, const char *name, const struct attr *attrs,
                                 unsigned n_attrs, const struct tensor *const *in, unsigned n_in)
{
    const struct tensor *out = NULL;
    if (fold_try(t, name, attrs, n_attrs, in, n_in, &out) == RILL_OK)
        return out;
    ops_check(t, false, "%s", t->err.text);
    return NULL;
}

/* The result must be symbolic and equal to these expressions. */
static void is_sizes(struct ops_test *t, const struct tensor *y, int n, const char *const *text)
{
    if (!y ||
        !ops_check(t, y->type == DTYPE_DIM && tensor_count(y) == n, "result is %s",
                   y ? dtype_name(y->type) : "none"))
        return;
    const struct tensor *want = sizes(t, n, text);
    for (int i = 0; i < n; i++) {
        char got[200];
        const struct dim *d = ((const struct dim *const *) y->data)[i];
        dim_print(d, got, sizeof got);
        ops_check(t, d == ((const struct dim *const *) want->data)[i], "[%d] is %s, wanted %s", i,
                  got, text[i]);
    }
}

/* The result must have lost its symbols. */
static void is_numbers(struct ops_test *t, const struct tensor *y, enum dtype type, int n,
                       const double *want)
{
    if (!y ||
        !ops_check(t, y->type == type && tensor_count(y) == n, "result is %s",
                   y ? dtype_name(y->type) : "none"))
        return;
    for (int i = 0; i < n; i++)
        ops_check(t, tensor_get_f64(y, y->data, i) == want[i], "[%d] is %g, wanted %g", i,
                  tensor_get_f64(y, y->data, i), want[i]);
}

/* clang-format off */
#define LIST(...) (const char *const[]) { __VA_ARGS__ }
#define NUMBERS(...) (const double[]) { __VA_ARGS__ }
/* clang-format on */

static void test_arithmetic(struct ops_test *t)
{
    struct tensor *s = sizes(t, 2, LIST("S", "2*S+4")), *k = ops_i64s(t, 1, I64S(2));
    const struct tensor *in[] = { s, k }, *same[] = { s, s };
    is_sizes(t, fold(t, "Add", NULL, 0, in, 2), 2, LIST("S+2", "2*S+6"));
    is_sizes(t, fold(t, "Sub", NULL, 0, in, 2), 2, LIST("S-2", "2*S+2"));
    is_sizes(t, fold(t, "Mul", NULL, 0, in, 2), 2, LIST("2*S", "4*S+8"));
    is_sizes(t, fold(t, "Div", NULL, 0, in, 2), 2, LIST("max(S/2, min(0, (1 + S)/2))", "S+2"));
    const struct tensor *minus[] = { s, ops_i64s(t, 1, I64S(-2)) };
    is_sizes(t, fold(t, "Div", NULL, 0, minus, 2), 2,
             LIST("-1*max(S/2, min(0, (1 + S)/2))", "-1*S - 2"));
    is_sizes(t, fold(t, "Mod", NULL, 0, minus, 2), 2, LIST("S + 2*((-1*S)/2)", "0"));
    static const struct attr fmod = { .name = "fmod", .kind = ATTR_INT, .i = 1 };
    const struct tensor *turned[] = { sizes(t, 2, LIST("S", "-1*S")), ops_i64s(t, 1, I64S(-3)) };
    is_sizes(t, fold(t, "Mod", &fmod, 1, turned, 2), 2,
             LIST("S - 3*max(S/3, min(0, (2 + S)/3))",
                  "min(3*((2 + S)/3) - S, max(-1*S, 3*(S/3) - S))"));
    const struct tensor *told[] = { sizes(t, 2, LIST("-7", "7")), ops_i64s(t, 1, I64S(3)) };
    is_numbers(t, fold(t, "Mod", &fmod, 1, told, 2), DTYPE_I64, 2, NUMBERS(-1, 1));
    is_sizes(t, fold(t, "Min", NULL, 0, in, 2), 2, LIST("min(S,2)", "min(2*S+4,2)"));
    is_sizes(t, fold(t, "Max", NULL, 0, in, 2), 2, LIST("max(S,2)", "max(2*S+4,2)"));
    is_sizes(t, fold(t, "Neg", NULL, 0, in, 1), 2, LIST("-1*S", "-2*S-4"));
    is_sizes(t, fold(t, "Identity", NULL, 0, in, 1), 2, LIST("S", "2*S+4"));
    struct tensor *powers = ops_i64s(t, 2, I64S(0, 2));
    is_sizes(t, fold(t, "Pow", NULL, 0, (const struct tensor *[]) { in[0], powers }, 2), 2,
             LIST("1", "4*S*S+16*S+16"));
    is_numbers(t, fold(t, "Sub", NULL, 0, same, 2), DTYPE_I64, 2, NUMBERS(0, 0));
    is_numbers(t, fold(t, "Div", NULL, 0, same, 2), DTYPE_I64, 2, NUMBERS(1, 1));
    is_numbers(t, fold(t, "Mod", NULL, 0, same, 2), DTYPE_I64, 2, NUMBERS(0, 0));
    const struct tensor *times[] = { sizes(t, 2, LIST("-3*S", "6*S+12")), same[0] };
    is_numbers(t, fold(t, "Div", NULL, 0, times, 2), DTYPE_I64, 2, NUMBERS(-3, 3));
    is_numbers(t, fold(t, "Mod", NULL, 0, times, 2), DTYPE_I64, 2, NUMBERS(0, 0));
    is_numbers(t, fold(t, "Mod", &fmod, 1, times, 2), DTYPE_I64, 2, NUMBERS(0, 0));
    is_numbers(t, fold(t, "Equal", NULL, 0, same, 2), DTYPE_BOOL, 2, NUMBERS(1, 1));
    is_numbers(t, fold(t, "GreaterOrEqual", NULL, 0, same, 2), DTYPE_BOOL, 2, NUMBERS(1, 1));
    is_numbers(t, fold(t, "Less", NULL, 0, same, 2), DTYPE_BOOL, 2, NUMBERS(0, 0));
}

static void test_selection(struct ops_test *t)
{
    struct tensor *s = sizes(t, 2, LIST("S", "T")), *k = ops_i64s(t, 2, I64S(-1, 7));
    struct tensor *c = ops_tensor(t, DTYPE_BOOL, 1, I64S(2), (uint8_t[]) { 0, 1 });
    is_sizes(t, fold(t, "Where", NULL, 0, (const struct tensor *[]) { c, k, s }, 3), 2,
             LIST("S", "7"));
    struct attr to = ONE_INT("to", DTYPE_I32);
    is_sizes(t, fold(t, "Cast", &to, 1, (const struct tensor *[]) { s }, 1), 2, LIST("S", "T"));
    to.i = DTYPE_BOOL;
    is_numbers(t, fold(t, "Cast", &to, 1, (const struct tensor *[]) { k }, 1), DTYPE_BOOL, 2,
               NUMBERS(1, 1));
    to.i = DTYPE_F32;
    const struct tensor *out, *in[] = { s };
    rill_status st = fold_try(t, "Cast", &to, 1, in, 1, &out);
    ops_check(t, st == RILL_UNSUPPORTED && strstr(t->err.text, "symbolic size cannot become f32"),
              "got '%s'", t->err.text);
}

static const struct tensor *as_type(struct ops_test *t, const struct tensor *x, enum dtype to)
{
    const struct attr a = ONE_INT("to", to);
    return fold(t, "Cast", &a, 1, &x, 1);
}

static void refused(struct ops_test *t, const char *op, const struct attr *attrs, unsigned n_attrs,
                    const struct tensor *const *in, unsigned n_in, const char *words)
{
    const struct tensor *out;
    rill_status s = fold_try(t, op, attrs, n_attrs, in, n_in, &out);
    ops_check(t, s == RILL_UNSUPPORTED && strstr(t->err.text, words), "got '%s', wanted '%s'",
              t->err.text, words);
}

/* A size keeps the type that the file gave it, and a truth value is one. */
static void test_numbers(struct ops_test *t)
{
    struct tensor *s = sizes(t, 1, LIST("S")), *k = ops_i64s(t, 1, I64S(2));
    struct tensor *k32 = ops_tensor(t, DTYPE_I32, 1, I64S(1), (int32_t[]) { 2 });
    struct tensor *yes = ops_tensor(t, DTYPE_BOOL, 1, I64S(1), (uint8_t[]) { 1 });
    const struct tensor *s32 = as_type(t, s, DTYPE_I32), *in[] = { s32, k32 };
    const struct tensor *sum = fold(t, "Add", NULL, 0, in, 2),
                        *less = fold(t, "Less", NULL, 0, in, 2);
    is_sizes(t, sum, 1, LIST("S+2"));
    is_numbers(t, fold(t, "Sub", NULL, 0, (const struct tensor *[]) { sum, sum }, 2), DTYPE_I32, 1,
               NUMBERS(0));
    ops_check(t, less->number == DTYPE_BOOL, "Less gives %s", dtype_name(less->number));
    is_sizes(t, fold(t, "And", NULL, 0, (const struct tensor *[]) { less, yes }, 2), 1,
             LIST("ge(1,S)"));
    is_sizes(t, as_type(t, less, DTYPE_U8), 1, LIST("ge(1,S)"));
    refused(t, "Add", NULL, 0, (const struct tensor *[]) { s32, k }, 2,
            "input 0 is i32 but input 1 is i64");
    refused(t, "And", NULL, 0, (const struct tensor *[]) { less, k }, 2, "input 1 is i64");
    refused(t, "Where", NULL, 0, (const struct tensor *[]) { less, s32, s }, 3, "both must agree");
    const struct attr small = ONE_INT("to", DTYPE_I8);
    refused(t, "Cast", &small, 1, (const struct tensor *[]) { s }, 1, "cannot become i8");
    const struct attr whole = ONE_INT("to", DTYPE_U64);
    struct tensor *below = sizes(t, 1, LIST("S-4"));
    refused(t, "Cast", &whole, 1, (const struct tensor *[]) { below }, 1, "cannot become u64");
}

static void test_reductions(struct ops_test *t)
{
    struct tensor *s = sizes(t, 3, LIST("S", "3", "2"));
    const struct attr drop = ONE_INT("keepdims", 0);
    const struct tensor *in[] = { s };
    is_sizes(t, fold(t, "ReduceProd", &drop, 1, in, 1), 1, LIST("6*S"));
    is_sizes(t, fold(t, "ReduceSum", &drop, 1, in, 1), 1, LIST("S+5"));
    is_sizes(t, fold(t, "ReduceMax", &drop, 1, in, 1), 1, LIST("max(S,3)"));
    is_sizes(t, fold(t, "ReduceMin", &drop, 1, in, 1), 1, LIST("min(S,2)"));
}

int main(void)
{
    struct ops_test t = ops_begin();
    test_arithmetic(&t);
    test_selection(&t);
    test_numbers(&t);
    test_reductions(&t);
    t.what = "";
    return ops_end(&t);
}
