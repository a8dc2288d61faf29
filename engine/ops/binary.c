/* SPDX-License-Identifier: MIT */
/* binary.c - arithmetic, bitwise and logical ops of two or more inputs with broadcasting. Integers
 * wrap; a division by zero gives 0. */
#include "engine/ops/attrs.h"
#include "engine/ops/ops.h"
#include "engine/ops/elem.h"
#include "engine/ops/slices.h"

#include <math.h>
#include <string.h>

struct binary_def {
    struct op op;
    unsigned types;
    elem_fn *const *fns, *const *other_fns; /* other: where fmod or direction asks for it */
};

/* ---- f32 through kernels ---- */

#define KERN_ROWS(NAME, BOTH, RIGHT_SCALAR, LEFT_SCALAR)                                           \
    static void NAME(const struct elem_plan *pl, const struct elem_block *b, const struct kern *k, \
                     void *y, const void *const *x)                                                \
    {                                                                                              \
        (void) pl;                                                                                 \
        float *o = y;                                                                              \
        const float *p = x[0], *q = x[1];                                                          \
        const size_t n = b->n;                                                                     \
        for (size_t i = 0; i < b->m; i++, o += n, p += b->row[0], q += b->row[1]) {                \
            if (b->col[0] && b->col[1])                                                            \
                BOTH;                                                                              \
            else if (b->col[0])                                                                    \
                RIGHT_SCALAR;                                                                      \
            else                                                                                   \
                LEFT_SCALAR;                                                                       \
        }                                                                                          \
    }

static void rsubs(float *y, float s, const float *x, size_t n)
{
    for (size_t i = 0; i < n; i++)
        y[i] = s - x[i];
}

static void divs(float *y, const float *x, float s, size_t n)
{
    for (size_t i = 0; i < n; i++)
        y[i] = x[i] / s;
}

static void rdivs(float *y, float s, const float *x, size_t n)
{
    for (size_t i = 0; i < n; i++)
        y[i] = s / x[i];
}

KERN_ROWS(add_F32, k->add_f32(o, p, q, n), k->adds_f32(o, p, *q, n), k->adds_f32(o, q, *p, n))
KERN_ROWS(sub_F32, k->sub_f32(o, p, q, n), k->adds_f32(o, p, -*q, n), rsubs(o, *p, q, n))
KERN_ROWS(mul_F32, k->mul_f32(o, p, q, n), k->muls_f32(o, p, *q, n), k->muls_f32(o, q, *p, n))
KERN_ROWS(div_F32, k->div_f32(o, p, q, n), divs(o, p, *q, n), rdivs(o, *p, q, n))

/* ---- integers that never trap ---- */

static inline int64_t div_signed(int64_t a, int64_t b)
{
    if (b == 0)
        return 0;
    return b == -1 ? (int64_t) (0 - (uint64_t) a) : a / b;
}

static inline uint64_t div_unsigned(uint64_t a, uint64_t b)
{
    return b ? a / b : 0;
}

/* The remainder has the sign of the divisor. */
static inline int64_t mod_signed(int64_t a, int64_t b)
{
    int64_t r = b == 0 || b == -1 ? 0 : a % b;
    return r && (r < 0) != (b < 0) ? r + b : r;
}

/* The remainder has the sign of the dividend. */
static inline int64_t rem_signed(int64_t a, int64_t b)
{
    return b == 0 || b == -1 ? 0 : a % b;
}

static inline uint64_t mod_unsigned(uint64_t a, uint64_t b)
{
    return b ? a % b : 0;
}

#define DEF_ADD(T, C, op) ELEM_ROWS2(add_##T, C, C, (uint64_t) u + (uint64_t) v)
#define DEF_SUB(T, C, op) ELEM_ROWS2(sub_##T, C, C, (uint64_t) u - (uint64_t) v)
#define DEF_MUL(T, C, op) ELEM_ROWS2(mul_##T, C, C, (uint64_t) u *(uint64_t) v)
#define DEF_MAX(T, C, op) ELEM_ROWS2(max_##T, C, C, u > v ? u : v)
#define DEF_MIN(T, C, op) ELEM_ROWS2(min_##T, C, C, u < v ? u : v)
#define DEF_SDIV(T, C, op) ELEM_ROWS2(div_##T, C, C, div_signed(u, v))
#define DEF_UDIV(T, C, op) ELEM_ROWS2(div_##T, C, C, div_unsigned(u, v))
#define DEF_SMOD(T, C, op) ELEM_ROWS2(mod_##T, C, C, mod_signed(u, v))
#define DEF_UMOD(T, C, op) ELEM_ROWS2(mod_##T, C, C, mod_unsigned(u, v))
#define DEF_SREM(T, C, op) ELEM_ROWS2(rem_##T, C, C, rem_signed(u, v))
#define DEF_UREM(T, C, op) ELEM_ROWS2(rem_##T, C, C, mod_unsigned(u, v))
#define DEF_FMAX(T, C, op) ELEM_ROWS2(max_##T, C, C, u > v || u != u ? u : v)
#define DEF_FMIN(T, C, op) ELEM_ROWS2(min_##T, C, C, u < v || u != u ? u : v)
#define DEF_PRELU(T, C, op) ELEM_ROWS2(prelu_##T, C, C, u < 0 ? u * v : u)
#define DEF_SPRELU(T, C, op)                                                                       \
    ELEM_ROWS2(prelu_##T, C, C, u < 0 ? (uint64_t) u * (uint64_t) v : (uint64_t) u)
#define DEF_UPRELU(T, C, op) ELEM_ROWS2(prelu_##T, C, C, ((void) v, u))
#define DEF_AND(T, C, op) ELEM_ROWS2(and_##T, C, C, u &v)
#define DEF_OR(T, C, op) ELEM_ROWS2(or_##T, C, C, u | v)
#define DEF_XOR(T, C, op) ELEM_ROWS2(xor_##T, C, C, u ^ v)
#define DEF_SHL(T, C, op) ELEM_ROWS2(shl_##T, C, C, v < sizeof(C) * 8 ? (uint64_t) u << v : 0)
#define DEF_SHR(T, C, op) ELEM_ROWS2(shr_##T, C, C, v < sizeof(C) * 8 ? (uint64_t) u >> v : 0)

/* A shift below 0 is one past all bits; signed numbers keep their sign to the right. */
#define SHIFT_OF(C, v) ((uint64_t) (v) < sizeof(C) * 8 ? (unsigned) (v) : 63u)
#define DEF_SSHR(T, C, op) ELEM_ROWS2(shr_##T, C, C, (int64_t) u >> SHIFT_OF(C, v))

#define ELEM_INTS(X, op) ELEM_SIGNED(X, op) ELEM_UNSIGNED(X, op)
ELEM_UNSIGNED(DEF_ADD, _)
ELEM_UNSIGNED(DEF_SUB, _)
ELEM_UNSIGNED(DEF_MUL, _)
ELEM_INTS(DEF_MAX, _)
ELEM_INTS(DEF_MIN, _)
ELEM_SIGNED(DEF_SDIV, _)
ELEM_UNSIGNED(DEF_UDIV, _)
ELEM_SIGNED(DEF_SMOD, _)
ELEM_UNSIGNED(DEF_UMOD, _)
ELEM_SIGNED(DEF_SREM, _)
ELEM_UNSIGNED(DEF_UREM, _)
ELEM_FLOATS(DEF_FMAX, _)
ELEM_FLOATS(DEF_FMIN, _)
ELEM_FLOATS(DEF_PRELU, _)
ELEM_SIGNED(DEF_SPRELU, _)
ELEM_UNSIGNED(DEF_UPRELU, _)
ELEM_UNSIGNED(DEF_AND, _)
ELEM_UNSIGNED(DEF_OR, _)
ELEM_UNSIGNED(DEF_XOR, _)
ELEM_UNSIGNED(DEF_SHL, _)
ELEM_UNSIGNED(DEF_SHR, _)
ELEM_SIGNED(DEF_SSHR, _)
ELEM_ROWS2(add_F64, double, double, u + v)
ELEM_ROWS2(sub_F64, double, double, u - v)
ELEM_ROWS2(mul_F64, double, double, u *v)
ELEM_ROWS2(div_F64, double, double, u / v)
/* As the kernels round_s8 and round_s16, of numbers below `half` and zeros up to twice that. */
static inline float round_whole(float x, float zero, float half)
{
    zero = zero > -2 * half ? zero : -2 * half;
    zero = zero < 2 * half ? zero : 2 * half;
    x = x > -half - zero ? x : -half - zero;
    x = x < half - 1 - zero ? x : half - 1 - zero;
    return (float) lrintf(x);
}

ELEM_ROWS2(round_s8_F32, float, float, round_whole(u, v, 0x1p7f))
ELEM_ROWS2(round_s16_F32, float, float, round_whole(u, v, 0x1p15f))
/* Of the sign of b, zeros too; NaN where b is 0 or a infinite. */
static inline double mod_float(double a, double b)
{
    const double r = fmod(a, b);
    return r < 0 || r > 0 ? ((r < 0) != (b < 0) ? r + b : r) : isnan(r) ? r : copysign(0, b);
}

ELEM_ROWS2(mod_F32, float, float, mod_float((double) u, (double) v))
ELEM_ROWS2(mod_F64, double, double, mod_float(u, v))
ELEM_ROWS2(rem_F32, float, float, fmodf(u, v))
ELEM_ROWS2(rem_F64, double, double, fmod(u, v))
ELEM_ROWS2(land_BOOL, uint8_t, uint8_t, (u != 0) & (v != 0))
ELEM_ROWS2(lor_BOOL, uint8_t, uint8_t, (u | v) != 0)
ELEM_ROWS2(lxor_BOOL, uint8_t, uint8_t, (u != 0) ^ (v != 0))

#define TABLE(NAME, LIST)                                                                          \
    static elem_fn *const NAME##_fns[DTYPE_COUNT] = { LIST(ELEM_TABLE_ENTRY, NAME) }
#define LIST_NUM(X, op) ELEM_FLOATS(X, op) ELEM_INTS(X, op)
/* Sums, products and bits of the one sign are those of the other. */
#define ENTRY_EITHER_SIGN(T, op) [DTYPE_I##T] = op##_U##T, [DTYPE_U##T] = op##_U##T,
#define LIST_EITHER_SIGN(X, op)                                                                    \
    ENTRY_EITHER_SIGN(8, op)                                                                       \
    ENTRY_EITHER_SIGN(16, op) ENTRY_EITHER_SIGN(32, op) ENTRY_EITHER_SIGN(64, op)
#define LIST_WRAPPING(X, op) ELEM_FLOATS(X, op) LIST_EITHER_SIGN(X, op)
#define LIST_BOOL(X, op) X(BOOL, uint8_t, op)
TABLE(add, LIST_WRAPPING);
TABLE(sub, LIST_WRAPPING);
TABLE(mul, LIST_WRAPPING);
TABLE(div, LIST_NUM);
TABLE(max, LIST_NUM);
TABLE(min, LIST_NUM);
TABLE(rem, LIST_NUM);
TABLE(mod, LIST_NUM);
TABLE(prelu, LIST_NUM);
TABLE(and, LIST_EITHER_SIGN);
TABLE(or, LIST_EITHER_SIGN);
TABLE(xor, LIST_EITHER_SIGN);
TABLE(shl, LIST_EITHER_SIGN);
TABLE(shr, ELEM_INTS);
TABLE(land, LIST_BOOL);
TABLE(lor, LIST_BOOL);
TABLE(lxor, LIST_BOOL);
static elem_fn *const round_s8_fns[DTYPE_COUNT] = { [DTYPE_F32] = round_s8_F32 };
static elem_fn *const round_s16_fns[DTYPE_COUNT] = { [DTYPE_F32] = round_s16_F32 };

/* ---- symbolic sizes ---- */

/* Sizes may have been written down when less was known of them. */
static bool dim_same(struct dims *ds, const struct dim *a, const struct dim *b)
{
    return a == b || dim_refresh(ds, a) == dim_refresh(ds, b);
}

/* Rows that are cut out of a table, were it long enough. */
static const struct dim *rows_wanted(struct dims *ds, const struct dim *rows)
{
    const struct dim_parts x = dim_parts(rows);
    for (unsigned i = 0; x.form == DIM_FORM_MOST && x.n == 2 && i < 2; i++)
        rows = dim_is(x.arg[i], 0) ? x.arg[1 - i] : rows;
    return dim_unbounded(ds, rows);
}

static bool is_negative(const struct dim *d)
{
    return dim_is_const(d) && dim_value(d) < 0 && dim_value(d) > INT64_MIN;
}

/* A quotient by a symbol is no size expression, but for a number times the divisor. */
static const struct dim *dim_div(struct dims *ds, const struct dim *a, const struct dim *b)
{
    int64_t k;
    if (dim_is_const(a) && dim_is_const(b))
        return dim_int(ds, div_signed(dim_value(a), dim_value(b)));
    if (dim_is_const(b) && dim_value(b) > 0)
        return dim_div_cut_int(ds, a, dim_value(b));
    if (is_negative(b))
        return dim_mul_int(ds, dim_div_cut_int(ds, a, -dim_value(b)), -1);
    if (dim_ratio(ds, a, b, &k))
        return dim_int(ds, k);
    /* Rows over those that are wanted: 0 where the table is too short. */
    return dim_same(ds, rows_wanted(ds, a), b) ? dim_ge(ds, a, b) : dim_fresh(ds);
}

static const struct dim *dim_mod(struct dims *ds, const struct dim *a, const struct dim *b)
{
    if (dim_is_const(a) && dim_is_const(b))
        return dim_int(ds, mod_signed(dim_value(a), dim_value(b)));
    if (dim_is_const(b) && dim_value(b) > 0)
        return dim_sub(ds, a, dim_mul_int(ds, dim_div_int(ds, a, dim_value(b)), dim_value(b)));
    if (is_negative(b)) /* the sign of the divisor: a quotient rounded down, as above */
        return dim_sub(ds, a,
                       dim_mul_int(ds, dim_div_int(ds, dim_mul_int(ds, a, -1), -dim_value(b)),
                                   dim_value(b)));
    return dim_ratio(ds, a, b, &(int64_t) { 0 }) ? dim_int(ds, 0) : dim_fresh(ds);
}

/* Of the sign of the dividend: what a quotient cut towards 0 leaves. */
static const struct dim *dim_rem(struct dims *ds, const struct dim *a, const struct dim *b)
{
    if (dim_is_const(a) && dim_is_const(b))
        return dim_int(ds, rem_signed(dim_value(a), dim_value(b)));
    const int64_t k = is_negative(b) ? -dim_value(b) : dim_is_const(b) ? dim_value(b) : 0;
    if (k > 0)
        return dim_sub(ds, a, dim_mul_int(ds, dim_div_cut_int(ds, a, k), k));
    return dim_ratio(ds, a, b, &(int64_t) { 0 }) ? dim_int(ds, 0) : dim_fresh(ds);
}

static const struct dim *dim_or(struct dims *ds, const struct dim *a, const struct dim *b)
{
    return dim_max(ds, a, b);
}

static const struct dim *dim_xor(struct dims *ds, const struct dim *a, const struct dim *b)
{
    return dim_sub(ds, dim_int(ds, 1), dim_eq(ds, a, b));
}

ELEM_DIM2(add)
ELEM_DIM2(sub)
ELEM_DIM2(mul)
ELEM_DIM2(div)
ELEM_DIM2(or)
ELEM_DIM2(xor)

static void mod_dim(const struct eval *e, struct dims *ds)
{
    elem_dims2(e, ds, ((const struct binary_attr *) e->attr)->fmod ? dim_rem : dim_mod);
}

/* ---- two inputs ---- */

static const struct binary_def *def_of(const struct node *n)
{
    return (const struct binary_def *) (const void *) n->op;
}

static rill_status binary_infer(struct infer *c)
{
    enum dtype t;
    TRY(elem_common_type(c, 0, 1, def_of(c->node)->types, &t));
    return infer_broadcast(c, 0, t, 0, 1);
}

static elem_fn *const *binary_fns(const struct binary_def *d, const struct binary_attr *a)
{
    return d->other_fns && (a->fmod || a->direction) ? d->other_fns : d->fns;
}

static rill_status plan_new(struct prep *c, elem_fn *const *fns, const struct tensor *const *in,
                            struct elem_plan *ret)
{
    if (!elem_plan_make(ret, c->out[0], in, 2, fns))
        return prep_fail(c, "no loop for elements of type %s", dtype_name(in[0]->type));
    return RILL_OK;
}

/* The kernel that f32 goes through; other loops are plain C. */
static const char *kernel_of(elem_fn *fn)
{
    static const struct {
        elem_fn *fn;
        const char *name;
    } kernels[] = {
        { add_F32, "add_f32" },
        { sub_F32, "sub_f32" },
        { mul_F32, "mul_f32" },
        { div_F32, "div_f32" },
    };
    for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++)
        if (kernels[i].fn == fn)
            return kernels[i].name;
    return "elementwise";
}

static rill_status binary_prepare(struct prep *c)
{
    struct elem_plan *p = arena_new(c->arena, struct elem_plan);
    if (!p)
        return op_fail(c->err, RILL_NOMEM, c->node, "out of memory");
    TRY(plan_new(c, binary_fns(def_of(c->node), c->attr), c->in, p));
    c->args = p;
    c->kernel = kernel_of(p->fn);
    return RILL_OK;
}

/* The slope broadcasts to the input, never the other way. */
static rill_status prelu_infer(struct infer *c)
{
    TRY(binary_infer(c));
    struct fact *o = &c->out[0];
    bool grown = o->rank != c->in[0]->rank;
    for (int i = 0; !grown && i < o->rank; i++)
        grown = dim_is_const(o->shape[i]) && o->shape[i] != c->in[0]->shape[i];
    if (grown) {
        char x[160], s[160];
        fact_print(c->in[0], x, sizeof x);
        fact_print(c->in[1], s, sizeof s);
        return infer_fail(c, "slope %s does not broadcast to %s", s, x);
    }
    infer_same(c, 0, 0);
    return RILL_OK;
}

/* ---- any number of inputs: from the left, two at a time ---- */

struct variadic_args {
    unsigned n;
    struct elem_plan plan[]; /* plan[k]: inputs 0..k with input k+1 */
};

static rill_status variadic_infer(struct infer *c)
{
    enum dtype t;
    TRY(elem_common_type(c, 0, c->n_in - 1, def_of(c->node)->types, &t));
    return infer_broadcast(c, 0, t, 0, c->n_in - 1);
}

static rill_status variadic_prepare(struct prep *c)
{
    unsigned n = c->n_in - 1;
    struct variadic_args *g = arena_alloc(c->arena, sizeof *g + n * sizeof g->plan[0]);
    if (!g)
        return op_fail(c->err, RILL_NOMEM, c->node, "out of memory");
    g->n = n;
    for (unsigned k = 0; k < n; k++) {
        const struct tensor *in[2] = { k ? c->out[0] : c->in[0], c->in[k + 1] };
        TRY(plan_new(c, def_of(c->node)->fns, in, &g->plan[k]));
    }
    c->args = g;
    c->kernel = kernel_of(n ? g->plan[0].fn : NULL);
    return RILL_OK;
}

static void variadic_eval(const struct eval *e)
{
    const struct variadic_args *g = e->args;
    if (!g->n)
        memmove(e->y[0], e->x[0], tensor_bytes(e->out[0]));
    for (unsigned k = 0; k < g->n; k++)
        elem_run(&g->plan[k], e->kern, e->y[0],
                 (const void *const[]) { k ? e->y[0] : e->x[0], e->x[k + 1] });
}

static void mean_eval(const struct eval *e)
{
    variadic_eval(e);
    const struct tensor *t = e->out[0];
    int64_t n = tensor_count(t);
    double by = e->n_in;
    if (t->type == DTYPE_F32)
        divs(e->y[0], e->y[0], (float) by, (size_t) n);
    for (int64_t i = 0; t->type != DTYPE_F32 && i < n; i++)
        tensor_set_f64(t, e->y[0], i, tensor_get_f64(t, e->y[0], i) / by);
}

static void variadic_dim(const struct eval *e, struct dims *ds,
                         const struct dim *(*f)(struct dims *, const struct dim *,
                                                const struct dim *) )
{
    const struct dim **y = e->y[0];
    size_t n = (size_t) tensor_count(e->out[0]);
    for (unsigned k = 0; k < e->n_in; k++) {
        struct elem_loop l;
        elem_loop_make(&l, e->out[0], &e->in[k], 1);
        for (size_t i = 0; i < n; i++) {
            const struct dim *d = elem_dim_at(ds, e->in[k], e->x[k], elem_offset(&l, 0, i));
            y[i] = k ? f(ds, y[i], d) : d;
        }
    }
}

static void max_dim(const struct eval *e, struct dims *ds)
{
    variadic_dim(e, ds, dim_max);
}
static void min_dim(const struct eval *e, struct dims *ds)
{
    variadic_dim(e, ds, dim_min);
}
static void sum_dim(const struct eval *e, struct dims *ds)
{
    variadic_dim(e, ds, dim_add);
}

/* ---- the table ---- */

static const struct attr_spec mod_attrs[] = {
    { .name = "fmod", .kind = ATTR_INT, .offset = offsetof(struct binary_attr, fmod) }, { 0 }
};
static const char *const directions[] = { "LEFT", "RIGHT", NULL };
static const struct attr_spec shift_attrs[] = { { .name = "direction",
                                                  .kind = ATTR_CHOICE,
                                                  .offset = offsetof(struct binary_attr, direction),
                                                  .required = true,
                                                  .choices = directions },
                                                { 0 } };

#define TWO(types_of)                                                                              \
    .min_in = 2, .max_in = 2, .infer = types_of, .prepare = binary_prepare, .eval = elem_eval
#define MANY(run)                                                                                  \
    .min_in = 1, .max_in = -1, .infer = variadic_infer, .prepare = variadic_prepare, .eval = run

/* clang-format off */
#define BINARY_LIST(X)                                                                            \
    X(ADD, Add, TYPES_NUM, add_fns, NULL, "a + b", TWO(binary_infer), .eval_dim = add_dim)             \
    X(SUB, Sub, TYPES_NUM, sub_fns, NULL, "a - b", TWO(binary_infer), .eval_dim = sub_dim)             \
    X(MUL, Mul, TYPES_NUM, mul_fns, NULL, "a * b", TWO(binary_infer), .eval_dim = mul_dim)             \
    X(DIV, Div, TYPES_NUM, div_fns, NULL, "a / b; integers truncate, by zero is 0", TWO(binary_infer), \
        .eval_dim = div_dim)                                                                      \
    X(MOD, Mod, TYPES_NUM, mod_fns, rem_fns, "remainder; fmod takes the sign of the dividend", TWO(binary_infer), \
        .eval_dim = mod_dim,                                                                      \
      .attrs = mod_attrs, .attr_bytes = sizeof(struct binary_attr))                               \
    X(AND, And, TYPE_BOOL, land_fns, NULL, "a and b", TWO(binary_infer), .eval_dim = mul_dim)          \
    X(OR, Or, TYPE_BOOL, lor_fns, NULL, "a or b", TWO(binary_infer), .eval_dim = or_dim)              \
    X(XOR, Xor, TYPE_BOOL, lxor_fns, NULL, "a differs from b", TWO(binary_infer), .eval_dim = xor_dim) \
    X(BITWISE_AND, BitwiseAnd, TYPES_INT, and_fns, NULL, "bits of a and b", TWO(binary_infer))                 \
    X(BITWISE_OR, BitwiseOr, TYPES_INT, or_fns, NULL, "bits of a or b", TWO(binary_infer))                    \
    X(BITWISE_XOR, BitwiseXor, TYPES_INT, xor_fns, NULL, "bits that differ", TWO(binary_infer))                \
    X(BIT_SHIFT, BitShift, TYPES_INT, shl_fns, shr_fns, "a shifted by b bits; all bits out is 0, or the sign", TWO(binary_infer), \
      .attrs = shift_attrs, .attr_bytes = sizeof(struct binary_attr))                             \
    X(PRELU, PRelu, TYPES_NUM, prelu_fns, NULL, "x, or slope * x where negative", TWO(prelu_infer))      \
    X(ROUND_S8, RoundS8, TYPE_F32, round_s8_fns, NULL, "nearest whole number of -128 - b .. 127 - b, halves to even", \
      TWO(binary_infer))                                                                          \
    X(ROUND_S16, RoundS16, TYPE_F32, round_s16_fns, NULL, "nearest whole number of -32768 - b .. 32767 - b, halves to even", \
      TWO(binary_infer))                                                                          \
    X(MAX, Max, TYPES_NUM, max_fns, NULL, "largest of all inputs; NaN wins", MANY(variadic_eval),      \
        .eval_dim = max_dim)                                                                      \
    X(MIN, Min, TYPES_NUM, min_fns, NULL, "smallest of all inputs; NaN wins", MANY(variadic_eval),     \
        .eval_dim = min_dim)                                                                      \
    X(SUM, Sum, TYPES_FLOAT, add_fns, NULL, "sum of all inputs", MANY(variadic_eval), .eval_dim = sum_dim) \
    X(MEAN, Mean, TYPES_FLOAT, add_fns, NULL, "mean of all inputs", MANY(mean_eval))
/* clang-format on */

#define X(number, stem, set, first, second, words, ...)                                            \
    static const struct binary_def def_##stem = { .op = { .id = OP_##number,                       \
                                                          .name = #stem,                           \
                                                          .min_out = 1,                            \
                                                          .max_out = 1,                            \
                                                          .flags = OP_POINTWISE,                   \
                                                          .divide = slices_of_all,                 \
                                                          .help = words,                           \
                                                          __VA_ARGS__ },                           \
                                                  .types = set,                                    \
                                                  .fns = first,                                    \
                                                  .other_fns = second };
BINARY_LIST(X)
#undef X

const struct op *const ops_binary[] = {
#define X(number, stem, ...) &def_##stem.op,
    BINARY_LIST(X)
#undef X
        NULL
};
