/* SPDX-License-Identifier: MIT */
/* Random expressions against brute force: an expression is made twice, as a tree of its own that is
 * evaluated naively, and by the makers; then values, substitution, slope and the printed form must
 * agree. */
#include "engine/base/dim_even.h"
#include "tests/check.h"

#include <string.h>

#define N_SYM 3
#define N_TREES 1000

static uint64_t seed = 1;

static int rnd(int n)
{
    seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (int) ((seed >> 33) % (unsigned) n);
}

static const char *text(const struct dim *d)
{
    static char buf[2][8000];
    static int which;
    which = !which;
    dim_print(d, buf[which], sizeof buf[which]);
    return buf[which];
}

/* ---- the naive tree ---- */

enum { INT, SYM, ADD, SUB, MUL, MULK, DIV, CEIL, CUT, MIN, MAX, GE, EQ, N_KINDS };
struct tree {
    int kind, k, left, right;
};
static struct tree pool[256];
static int n_pool;

static int tree_random(int depth)
{
    int at = n_pool++;
    struct tree t = { .kind = depth == 0 ? rnd(2) : rnd(N_KINDS), .k = 1 + rnd(7) };
    if (t.kind == INT)
        t.k = rnd(13) - 6;
    if (t.kind == SYM)
        t.k = rnd(N_SYM);
    if (t.kind == MULK)
        t.k = rnd(11) - 5;
    if (t.kind >= ADD)
        t.left = tree_random(depth - 1);
    if (t.kind >= ADD && t.kind != MULK && t.kind != DIV && t.kind != CEIL && t.kind != CUT)
        t.right = tree_random(depth - 1);
    pool[at] = t;
    return at;
}

static int64_t floor_div(int64_t a, int64_t q)
{
    return a >= 0 ? a / q : -((-a + q - 1) / q);
}

static int64_t tree_value(int at, const int64_t *v)
{
    struct tree t = pool[at];
    int64_t a = t.kind >= ADD ? tree_value(t.left, v) : 0, b = t.right ? tree_value(t.right, v) : 0;
    switch (t.kind) {
    case INT: return t.k;
    case SYM: return v[t.k];
    case ADD: return a + b;
    case SUB: return a - b;
    case MUL: return a * b;
    case MULK: return a * t.k;
    case DIV: return floor_div(a, t.k);
    case CEIL: return floor_div(a + t.k - 1, t.k);
    case CUT: return a / t.k;
    case MIN: return a < b ? a : b;
    case MAX: return a > b ? a : b;
    case GE: return a >= b;
    default: return a == b;
    }
}

static const struct dim *tree_dim(struct dims *ds, int at, const struct dim *const *sym)
{
    struct tree t = pool[at];
    const struct dim *a = t.kind >= ADD ? tree_dim(ds, t.left, sym) : NULL;
    const struct dim *b = t.right ? tree_dim(ds, t.right, sym) : NULL;
    switch (t.kind) {
    case INT: return dim_int(ds, t.k);
    case SYM: return sym[t.k];
    case ADD: return dim_add(ds, a, b);
    case SUB: return dim_sub(ds, a, b);
    case MUL: return dim_mul(ds, a, b);
    case MULK: return dim_mul_int(ds, a, t.k);
    case DIV: return dim_div_int(ds, a, t.k);
    case CEIL: return dim_div_ceil_int(ds, a, t.k);
    case CUT: return dim_div_cut_int(ds, a, t.k);
    case MIN: return dim_min(ds, a, b);
    case MAX: return dim_max(ds, a, b);
    case GE: return dim_ge(ds, a, b);
    default: return dim_eq(ds, a, b);
    }
}

/* ---- properties ---- */

static bool value_at(struct dims *ds, const struct dim *d, const struct dim *const *sym,
                     const int64_t *v, int64_t *ret)
{
    for (int i = 1; i < N_SYM; i++)
        d = dim_subst(ds, d, sym[i], dim_int(ds, v[i]));
    return dim_eval(d, sym[0], v[0], ret);
}

/* What the symbols are: `over` more than multiples of `of`. */
struct leaves {
    int64_t of[N_SYM], over[N_SYM];
};

static void check_values(struct dims *ds, int at, const struct dim *d, const struct dim *const *sym,
                         int64_t lo, const struct leaves *l)
{
    for (int i = 0; i < 12; i++) {
        int64_t v[N_SYM], got = 0;
        for (int s = 0; s < N_SYM; s++)
            v[s] = l->of[s] * (lo + rnd(14)) + l->over[s];
        bool known = value_at(ds, d, sym, v, &got);
        CHECK(known && got == tree_value(at, v), "%s at %lld %lld %lld is %lld, not %lld", text(d),
              (long long) v[0], (long long) v[1], (long long) v[2], (long long) tree_value(at, v),
              (long long) got);
    }
}

static void check_print(struct dims *ds, const struct dim *d)
{
    rill_error err = { RILL_OK, "" };
    const struct dim *back = NULL;
    rill_status s = dim_parse(ds, text(d), &back, &err);
    CHECK(s == RILL_OK && back == d, "%s comes back as %s %s", text(d), text(back), err.text);
}

/* Over a period of the denominator the value grows by exactly the numerator. */
static void check_slope(struct dims *ds, const struct dim *d, const struct dim *const *sym)
{
    int64_t num, den, a, b;
    int64_t v[N_SYM] = { 0, rnd(9), rnd(9) };
    if (!dim_slope(d, sym[0], &num, &den))
        return;
    CHECK(den > 0, "slope %lld/%lld of %s", (long long) num, (long long) den, text(d));
    int64_t step = 5040 * den;
    bool known = value_at(ds, d, sym, v, &a);
    v[0] = step;
    known = known && value_at(ds, d, sym, v, &b);
    CHECK(known && b - a == num * 5040, "slope %lld/%lld of %s: %lld to %lld", (long long) num,
          (long long) den, text(d), (long long) a, (long long) b);
}

static void test_random(int64_t lo, const struct leaves *l, const char *const *facts)
{
    struct dims *ds = NULL;
    const struct dim *sym[N_SYM];
    rill_error err;
    for (int i = 0; i < N_TREES; i++) {
        if (i % 200 == 0) {
            dims_free(ds);
            ds = dims_new();
            for (int s = 0; s < N_SYM; s++)
                sym[s] = dim_symbol(ds, (const char *const[]) { "S", "T", "N" }[s]);
            for (const char *const *f = facts; *f; f++)
                CHECK(dims_assert(ds, *f, &err) == RILL_OK, "%s: %s", *f, err.text);
        }
        n_pool = 0;
        int at = tree_random(1 + rnd(4));
        const struct dim *d = tree_dim(ds, at, sym);
        if (dims_status(ds, NULL) != RILL_OK) { /* too large for the limits: start afresh */
            CHECK(dims_status(ds, NULL) == RILL_LIMIT, "%d", dims_status(ds, NULL));
            ds = dims_free(ds);
            i += 199 - i % 200;
            continue;
        }
        check_values(ds, at, d, sym, lo, l);
        check_print(ds, d);
        if (lo == 0)
            check_slope(ds, d, sym);
    }
    dims_free(ds);
}

/* ---- equations ---- */

/* Whatever brute force finds in -400..400 for a random expression, solving finds too, or refuses
 * for a reason of form; what solving finds is a solution, and the only one. */
static void check_solve(struct dims *ds, const struct dim *d, const struct dim *const *sym)
{
    int64_t value = rnd(81) - 40, got = 0, found = 0, x;
    int n = 0;
    d = dim_subst(ds, dim_subst(ds, d, sym[1], dim_int(ds, rnd(9))), sym[2], dim_int(ds, rnd(9)));
    rill_status s = dim_solve(d, sym[0], value, &got, NULL);
    for (int64_t v = -400; v <= 400; v++)
        if (dim_eval(d, sym[0], v, &x) && x == value && n++ == 0)
            found = v;
    int64_t num, den;
    bool linear = dim_slope(d, sym[0], &num, &den) && num && den == 1 && !strchr(text(d), '/') &&
        !strchr(text(d), '(');
    if (s == RILL_OK)
        CHECK(dim_eval(d, sym[0], got, &x) && x == value &&
                  (got < -400 || got > 400 || (n == 1 && found == got)),
              "%s == %lld: %lld, %d by brute force", text(d), (long long) value, (long long) got,
              n);
    else if (linear)
        CHECK(n == 0, "%s == %lld is refused, %lld is one", text(d), (long long) value,
              (long long) found);
}

static void test_solve_random(void)
{
    struct dims *ds = NULL;
    const struct dim *sym[N_SYM];
    int solved = 0;
    for (int i = 0; i < N_TREES; i++) {
        if (!ds || dims_status(ds, NULL) != RILL_OK || i % 200 == 0) {
            dims_free(ds);
            ds = dims_new();
            for (int s = 0; s < N_SYM; s++)
                sym[s] = dim_symbol(ds, (const char *const[]) { "S", "T", "N" }[s]);
        }
        n_pool = 0;
        const struct dim *d = tree_dim(ds, tree_random(1 + rnd(3)), sym);
        d = dim_add(ds, d, dim_mul_int(ds, sym[0], rnd(9) - 4));
        int64_t v = 0;
        if (dims_status(ds, NULL) != RILL_OK)
            continue;
        check_solve(ds, d, sym);
        solved += dim_solve(dim_add_int(ds, dim_mul_int(ds, sym[0], 1 + rnd(9)), rnd(9)), sym[0],
                            rnd(40), &v, NULL) == RILL_OK;
    }
    CHECK(solved > 50, "%d", solved);
    dims_free(ds);
}

/* Of even numbers: filled up to multiples they are no fewer, if that reaches the next one. */
static void test_rests(void)
{
    static const struct {
        const char *expr;
        bool same;
    } rows[] = { { "min(T, 4*((3+T)/4))", true },  { "min(T, 4*((2+T)/4))", true },
                 { "min(T, 4*((1+T)/4))", false }, { "min(T, 6*((4+T)/6))", true },
                 { "min(T, 6*((3+T)/6))", false }, { "max(T, 4*(T/4))", true },
                 { "min(T, 2+4*(T/4))", true },    { "min(T, 1+4*(T/4))", false } };
    struct dims *ds = dims_new();
    const struct dim *d, *t = dim_symbol(ds, "T");
    rill_error err;
    CHECK(dims_assert(ds, "T == 2*(T/2)", &err) == RILL_OK, "%s", err.text);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        CHECK(dim_parse(ds, rows[i].expr, &d, &err) == RILL_OK && (d == t) == rows[i].same,
              "%s is %s", rows[i].expr, text(d));
    dims_free(ds);
}

static const struct {
    const char *facts, *expr;
    int64_t value;
    rill_status status;
    int64_t solution;
    const char *words;
} equations[] = {
    { "", "S", 7, RILL_OK, 7, "" },
    { "", "2*S", 10, RILL_OK, 5, "" },
    { "", "S + 3", 10, RILL_OK, 7, "" },
    { "", "5 - 3*S", -16, RILL_OK, 7, "" },
    { "", "2*(S + 3) - S", 1, RILL_OK, -5, "" },
    { "", "2*S", 7, RILL_INVALID, 0, "fraction" },
    { "", "S/160", 3, RILL_UNSUPPORTED, 0, "number times it" },
    { "", "S + S/2", 3, RILL_UNSUPPORTED, 0, "number times it" },
    { "", "S*S", 9, RILL_UNSUPPORTED, 0, "number times it" },
    { "", "S + T", 9, RILL_UNSUPPORTED, 0, "number times it" },
    { "", "T", 9, RILL_UNSUPPORTED, 0, "not mentioned" },
    { "S>=0", "S + 3", 2, RILL_INVALID, 0, "it has to be at least 0" },
    { "S<=9", "2*S", 20, RILL_INVALID, 0, "it has to be at most 9" },
    { "", "S + 9223372036854775807", -2, RILL_INVALID, 0, "2^63" },
};

static void test_equations(void)
{
    for (size_t i = 0; i < sizeof equations / sizeof *equations; i++) {
        struct dims *ds = dims_new();
        const struct dim *d = NULL;
        rill_error err = { RILL_OK, "" };
        int64_t got = 0;
        bool ok = (!*equations[i].facts || dims_assert(ds, equations[i].facts, &err) == RILL_OK) &&
            dim_parse(ds, equations[i].expr, &d, &err) == RILL_OK;
        rill_status s = dim_solve(d, dim_symbol(ds, "S"), equations[i].value, &got, &err);
        CHECK(ok && s == equations[i].status && (s != RILL_OK || got == equations[i].solution) &&
                  strstr(err.text, equations[i].words),
              "%s: %d %lld %s", equations[i].expr, s, (long long) got, err.text);
        dims_free(ds);
    }
}

/* A bound says for which node it is, also when it was handed on; one that somebody asserted is of
 * no node. */
static void test_askers(void)
{
    struct dims *ds = dims_new();
    const struct dim *s = dim_symbol(ds, "S"), *t = dim_symbol(ds, "T");
    rill_error err = { RILL_OK, "" };
    int64_t got;
    const struct dim_asker before =
        dims_ask_for(ds, (struct dim_asker) { .name = "y", .op = "Gather" });
    bool ok = dims_assume(ds, dim_add_int(ds, s, -10), &err) == RILL_OK;
    dims_ask_for(ds, before);
    ok = ok && dims_assert(ds, "S <= 20", &err) == RILL_OK;
    CHECK(ok && dim_solve(s, s, 9, &got, &err) == RILL_INVALID &&
              strstr(err.text, "it has to be at least 10 for node 'y' (Gather)"),
          "%s", err.text);
    CHECK(dim_solve(s, s, 21, &got, &err) == RILL_INVALID &&
              strstr(err.text, "it has to be at most 20") && !strstr(err.text, "node"),
          "%s", err.text);
    CHECK(dims_inherit(ds, s, dim_mul_int(ds, t, 2), &err) == RILL_OK &&
              dim_solve(t, t, 4, &got, &err) == RILL_INVALID &&
              strstr(err.text, "it has to be at least 5 for node 'y' (Gather)"),
          "%s", err.text);
    dims_free(ds);
}

/* Sizes that turn out not to broadcast are of the node that put them together, after another
 * substitution, too. */
static void test_blame(void)
{
    struct dims *ds = dims_new();
    const struct dim *s = dim_symbol(ds, "S"), *t = dim_symbol(ds, "T");
    const struct dim *d = dim_broadcast(ds, dim_int(ds, 30), s);
    rill_error err = { RILL_OK, "" };
    CHECK(!dim_is_blamed(d) && dim_is_blamed(s), "only a broadcast is blamed");
    dim_blame(ds, d, "node 'mask' (Where)");
    dim_blame(ds, d, "node 'later' (Add)");
    d = dim_subst(ds, dim_add_int(ds, d, 1), s, dim_mul_int(ds, t, 2));
    CHECK(dim_is(dim_subst(ds, d, t, dim_int(ds, 15)), 31), "30 of 15 times 2");
    dim_subst(ds, d, t, dim_int(ds, 20));
    CHECK(dims_status_at(ds, "y", &err) == RILL_INVALID && !strstr(err.text, "'y'") &&
              strstr(err.text, "node 'mask' (Where): sizes 30 and 40 do not broadcast"),
          "%s", err.text);
    dims_free(ds);
}

/* What is known of a symbol is known of what replaces it. */
static void test_carry(void)
{
    static const struct {
        const char *facts, *to, *a, *b;
        bool refused;
    } rows[] = {
        { "S>=3", "T", "ge(T, 3)", "1", false },
        { "S>=3", "2*T", "ge(T, 2)", "1", false },
        { "S<=9", "2*T", "ge(4, T)", "1", false },
        { "S==2*N", "T + 1", "ge(T + 1, 2*N)", "1", false },
        { "S>=3", "2", "0", "0", true },
        { "S<=9", "10", "0", "0", true },
        { "S>=0", "S + 1", "0", "0", true },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct dims *ds = dims_new();
        const struct dim *to = NULL, *a = NULL, *b = NULL;
        rill_error err = { RILL_OK, "" };
        bool ok = dims_assert(ds, rows[i].facts, &err) == RILL_OK &&
            dim_parse(ds, rows[i].to, &to, &err) == RILL_OK;
        rill_status s = dims_inherit(ds, dim_symbol(ds, "S"), to, &err);
        ok = ok && dim_parse(ds, rows[i].a, &a, NULL) == RILL_OK &&
            dim_parse(ds, rows[i].b, &b, NULL) == RILL_OK;
        CHECK(ok && (s != RILL_OK) == rows[i].refused && a == b, "%s, S = %s: %d %s %s",
              rows[i].facts, rows[i].to, s, err.text, text(a));
        dims_free(ds);
    }
}

/* ---- what must be decided ---- */

static const struct {
    const char *facts, *a, *b;
} same[] = {
    { "S>=0", "1 + -1*min(2, -1 + S/160) + S/160", "max(2, -1 + S/160)" },
    { "", "(S/4)/5", "S/20" },
    { "", "(3*S + 2)/3", "S" },
    { "", "(160*S + 159)/160", "S" },
    { "", "(160*S + T)/160", "S + T/160" },
    { "", "(S - 1)/160 + 1", "(S + 159)/160" },
    { "", "(S + 1)*(S - 1)", "S*S - 1" },
    { "", "2*(S + T) - T", "S + T + S" },
    { "", "min(S, S + 3)", "S" },
    { "T>=0", "max(S, S + T)", "S + T" },
    { "S>=0", "min(S/2, S)", "S/2" },
    { "", "min(S, max(S, T))", "S" },
    { "", "broadcast(S, 1)", "S" },
    { "", "broadcast(S, broadcast(T, S))", "broadcast(T, S)" },
    { "S>=1", "ge(S, 1)", "1" },
    { "S>=0", "ge(S - 160*(S/160), 0)", "1" },
    { "", "ge(159, S - 160*(S/160))", "1" },
    { "T < 2*S", "ge(2*S, T)", "1" },
    { "T < 2*S", "ge(T, 2*S)", "0" },
    { "S == T + 1", "eq(S, T + 1)", "1" },
    { "S == T + 1", "eq(S, T)", "0" },
    { "", "eq(2*S, 2*T + 1)", "0" },
    { "S>=0", "ge(1 + -1*min(2, -1 + S/160) + S/160, 2)", "1" },
    { "", "0*S + 7", "7" },
    { "", "-7/2", "-4" },
    { "T == 10*(T/10)", "10*(T/10)", "T" },
    { "T == 10*(T/10)", "160*((16*T)/160)", "16*T" },
    { "T == 10*(T/10)", "5*((2*T)/10)", "T" },
    { "T == 10*(T/10)", "(T + 9)/10", "T/10" },
    { "T == 10*(T/10)", "(T + 27)/20", "(T + 20)/20" },
    { "T == 10*(T/10)", "20*((T + 20)/20)", "20*((T + 27)/20)" },
    { "2*T == 20*(T/10)", "(T - 1)/10", "T/10 - 1" },
    { "10*(T/10) >= T", "(S + 3*T - 1)/10", "3*(T/10) + (S - 1)/10" },
    { "T == 8*(T/8) + 3", "8*(T/8)", "T - 3" },
    { "T == 8*(T/8) + 3", "4*((T - 3)/4)", "T - 3" },
    { "T == 8*(T/8) + 3", "8*((T + 5)/8)", "T + 5" },
    { "T == 8*(T/8) + 3", "(T + 4)/8", "T/8" },
    { "T == 8*(T/8) + 3", "(T + 12)/16", "(T + 5)/16" },
    { "T == 8*(T/8) + 3", "(T + 13)/16", "T/16 + 1" },
    { "T == 8*(T/8) + 3", "2*((1 - T)/2)", "1 - T" },
    { "T == 2*(T/2) + 1", "2*((3*T + 1)/2)", "3*T + 1" },
    { "T == 2*(T/2) + 1", "T/4", "(T - 1)/4" },
    { "5 + 10*(T/10) == T", "5*(T/5)", "T" },
    { "T % 8 == 3", "8*(T/8)", "T - 3" },
    { "(T + 1) % 2 == 0", "2*(T/2) + 1", "T" },
    { "(T + 3) % 4 == 0", "4*(T/4) + 1", "T" },
    { "(T + 5) % 8 == 3", "8*(T/8) + 6", "T" },
    { "T - 9 == 4*((T - 9)/4)", "4*(T/4) + 1", "T" },
    { "", "2*T % 3 + 1", "2*T - 3*((2*T)/3) + 1" },
    { "", "-7 % 4", "1" },
    { "T == 2*(T/2)", "(T + T/2)/3", "T/2" },
    { "T == 2*(T/2)", "3*((3*T)/6)", "T + T/2" },
    { "T == 4*(T/4) + 1", "(T + T/4 - 1)/5", "T/4" },
    { "T == 4*(T/4) + 1", "5*(T/4) + 1", "T + T/4" },
};

static void test_same(void)
{
    for (size_t i = 0; i < sizeof same / sizeof *same; i++) {
        struct dims *ds = dims_new();
        const struct dim *a = NULL, *b = NULL;
        rill_error err = { RILL_OK, "" };
        bool ok = (!*same[i].facts || dims_assert(ds, same[i].facts, &err) == RILL_OK) &&
            dim_parse(ds, same[i].a, &a, &err) == RILL_OK &&
            dim_parse(ds, same[i].b, &b, &err) == RILL_OK;
        CHECK(ok && a == b, "%s is %s, %s is %s %s", same[i].a, text(a), same[i].b, text(b),
              err.text);
        dims_free(ds);
    }
}

/* What a symbol leaves and how large it is at least tell more together, whichever was said first.
 */
static void test_rest_and_bound(void)
{
    static const char *const facts[] = { "(T + 3) % 4 == 0", "T >= 0", "T >= 2" };
    struct dims *ds = dims_new();
    const struct dim *t = dim_symbol(ds, "T");
    rill_error err = { RILL_OK, "" };
    for (int64_t i = 0; i < 3; i++) {
        static const int64_t least[] = { 0, 1, 5 };
        CHECK(dims_assert(ds, facts[i], &err) == RILL_OK, "%s: %s", facts[i], err.text);
        CHECK(i == 0 || dim_max(ds, t, dim_int(ds, least[i])) == t, "%s: T below %d", facts[i],
              (int) least[i]);
    }
    dims_free(ds);
}

static const char *const bad[] = {
    "",
    "S +",
    "(S",
    "S)",
    "S/0",
    "S/(T)",
    "S/-2",
    "S % 0",
    "S % T",
    "S %",
    "f(S)",
    "min(",
    "min(S",
    "ge(S)",
    "9223372036854775808",
    "S $",
    "? ",
    "9223372036854775807*2",
    "9223372036854775807 + 1",
    "\"open",
    "\"a\\q\"",
    "\"\"",
    "1 2",
};

static void test_bad_text(void)
{
    char deep[4000];
    memset(deep, '(', sizeof deep);
    deep[sizeof deep - 1] = '\0';
    for (size_t i = 0; i <= sizeof bad / sizeof *bad; i++) {
        const char *s = i < sizeof bad / sizeof *bad ? bad[i] : deep;
        struct dims *ds = dims_new();
        const struct dim *d = NULL;
        rill_error err = { RILL_OK, "" };
        CHECK(dim_parse(ds, s, &d, &err) != RILL_OK && err.text[0], "'%.40s' was taken", s);
        dims_free(ds);
    }
}

static void test_broadcast_words(void)
{
    struct dims *ds = dims_new();
    const struct dim *d = NULL;
    rill_error err = { RILL_OK, "" };
    CHECK(dim_parse(ds, "broadcast(22, 1, 10)", &d, &err) == RILL_INVALID &&
              strstr(err.text, "sizes 10 and 22 do not broadcast"),
          "%s", err.text);
    dims_free(ds);
}

/* An error stays, is passed on by every maker, and can be printed. */
static void test_sticky(void)
{
    struct dims *ds = dims_new();
    const struct dim *s = dim_symbol(ds, "S");
    const struct dim *d = dim_mul_int(ds, dim_mul_int(ds, s, INT64_MAX / 2), 3);
    int64_t v;
    CHECK(dims_status(ds, NULL) == RILL_LIMIT, "%d", dims_status(ds, NULL));
    CHECK(!dim_is_const(d) && !dim_eval(d, s, 1, &v) && !dim_slope(d, s, &v, &v), "%s", text(d));
    CHECK(dim_add(ds, d, s) == d && dim_div_int(ds, d, 2) == d && dim_min(ds, s, d) == d, "%s",
          text(d));
    CHECK(dim_print(NULL, NULL, 0) > 0 && dim_print(d, NULL, 0) > 0, "%s", text(NULL));
    dims_free(ds);

    ds = dims_new();
    d = dim_int(ds, 1);
    for (int i = 0; i < 2000; i++)
        d = dim_mul(ds, dim_add(ds, dim_fresh(ds), d), dim_fresh(ds));
    CHECK(dims_status(ds, NULL) == RILL_LIMIT, "%d", dims_status(ds, NULL));
    dims_free(ds);
}

static void test_symbols(void)
{
    struct dims *ds = dims_new();
    const struct dim *odd = dim_symbol(ds, "length of \"x\"\\\n\xc3\xa9"),
                     *path = dim_symbol(ds, "a/b.c"), *back = NULL;
    const struct dim *num = dim_symbol(ds, "a/1"), *q0 = dim_symbol(ds, "?0"),
                     *fresh = dim_fresh(ds);
    const struct dim *all[] = { odd, path, num, q0, fresh };
    rill_error err = { RILL_OK, "" };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        CHECK(dim_parse(ds, text(all[i]), &back, &err) == RILL_OK && back == all[i], "%s %s",
              text(all[i]), err.text);
    CHECK(dim_parse(ds,
                    "2*\xf0\x9f\x8e\xaf"
                    "0 + 1",
                    &back, &err) == RILL_OK &&
              back ==
                  dim_add_int(ds,
                              dim_mul_int(ds,
                                          dim_symbol(ds,
                                                     "\xf0\x9f\x8e\xaf"
                                                     "0"),
                                          2),
                              1),
          "letters beyond ASCII: %s", err.text);
    CHECK(dim_parse(ds, "2*\xf0\x9f", &back, &err) != RILL_OK, "no letter");
    CHECK(fresh != q0 && fresh != dim_fresh(ds), "%s", text(fresh));
    CHECK(dim_mentions(dim_add(ds, odd, path), path) && !dim_mentions(odd, path), "%s", text(path));
    const struct dim *list[2] = { num };
    CHECK(dim_symbols(dim_min(ds, dim_mul(ds, odd, num), dim_mul_int(ds, odd, 2)), list, 1, 2) ==
                  2 &&
              list[1] == odd && !strcmp(dim_name(odd), "length of \"x\"\\\n\xc3\xa9") &&
              !dim_name(dim_int(ds, 1)),
          "%s", text(list[1]));
    CHECK(dim_has_symbol(dim_div_int(ds, odd, 3)) && !dim_has_symbol(dim_int(ds, 3)), "%s",
          text(odd));
    dims_free(ds);
}

/* ---- in the long run ---- */

static void even_check(const struct dims *ds, const struct dim *x, const struct dim *const *d)
{
    struct dim_even e[2];
    int64_t v[4];
    if (!dims_even(ds, x, d, 2, 3, e))
        return;
    for (int64_t at = e->from; at < e->from + 3 * e->period + 50; at++) {
        int64_t next = at + e->period;
        CHECK(dims_allow(ds, x, at) == dims_allow(ds, x, next), "%lld", (long long) at);
        for (int k = 0; k < 2; k++) {
            bool here = dim_eval(d[k], x, at, &v[k]), there = dim_eval(d[k], x, next, &v[2 + k]);
            CHECK(here == there && (!here || v[2 + k] - v[k] == e[k].rise), "%s at %lld",
                  text(d[k]), (long long) at);
            if (!here)
                return;
        }
        int64_t now = v[0] - v[1], then = v[2] - v[3];
        CHECK(now == then || ((now > 3) == (then > 3) && (now < -3) == (then < -3) && now != 0),
              "%s against %s at %lld", text(d[0]), text(d[1]), (long long) at);
    }
}

static void test_even(void)
{
    enum { ALL = 3000 };
    unsigned found = 0;
    for (int i = 0; i < ALL; i++) {
        struct dims *ds = dims_new();
        const struct dim *x = dim_symbol(ds, "S"), *sym[N_SYM] = { x, x, x }, *d[2];
        struct dim_even e;
        dims_assert(ds, i % 3 ? "S >= 0" : "S % 4 == 1", NULL);
        for (int k = 0; k < 2; k++) {
            n_pool = 0;
            d[k] = tree_dim(ds, tree_random(1 + rnd(4)), sym);
            found += dim_even(d[k], x, &e);
        }
        if (dims_status(ds, NULL) == RILL_OK)
            even_check(ds, x, d);
        dims_free(ds);
    }
    CHECK(found > ALL, "%u of %d are even", found, 2 * ALL);
}

static const struct dim *parsed(struct dims *ds, const char *what)
{
    const struct dim *d = NULL;
    rill_error err = { RILL_OK, "" };
    CHECK(dim_parse(ds, what, &d, &err) == RILL_OK, "%s: %s", what, err.text);
    return d;
}

/* Rows of a table are as many as are wanted, once that is assumed; a clamp that says nothing new
 * falls out of a comparison. */
static void check_bounds_dropped(void)
{
    struct dims *ds = dims_new();
    rill_error err = { RILL_OK, "" };
    CHECK(dims_assert(ds, "J>=0", &err) == RILL_OK, "%s", err.text);
    CHECK(parsed(ds, "ge(J, max(0, 4*(I/4) - 8))") == parsed(ds, "ge(J, 4*(I/4) - 8)"), "%s",
          text(parsed(ds, "ge(J, max(0, 4*(I/4) - 8))")));
    const struct dim *rows = parsed(ds, "min(599, 295 + (1 + T)/2) - max(0, 304 - (1 + T)/2)"),
                     *want = parsed(ds, "2*((1 + T)/2) - 9");
    CHECK(rows != want && dim_unbounded(ds, rows) == want, "%s", text(dim_unbounded(ds, rows)));
    CHECK(dims_assume_unbounded(ds, rows, &err) == RILL_OK && dim_refresh(ds, rows) == want,
          "%s: %s", text(dim_refresh(ds, rows)), err.text);
    CHECK(dim_unbounded(ds, parsed(ds, "max(3, U)")) == parsed(ds, "max(3, U)"), "a lower bound");
    dims_free(ds);
}

/* What was cut in two and joined is as long as it was. */
static void check_joined(void)
{
    static const char *const pairs[][2] = {
        { "min(1, T) + max(0, T - 1)", "T" },
        { "min(T, 1 + T/2) - min(T - 4, T/2 - 3)", "4" },
        { "min(S, T, 7) - 3*min(S + 2, T + 2, 9)", "-2*min(S, T, 7) - 6" },
        { "min(1 - T + 2*(T/2), 2*(T/2)) + max(0, T - 1)", "2*(T/2)" },
        { "2*min(S, T + 3) + 2*max(U - S, U - T - 3)", "2*U" },
        { "max(S, T)/2 - max(S, T + 1)/2", "max(S, T)/2 - max(S, T + 1)/2" },
        { "S + (max(S, T) - max(S - 4, T - 4))/2", "S + 2" },
        { "5 - 3*min(T, 2*U) - 3*max(T - 4, 2*U - 4)", "17 - 3*T - 6*U" },
        { "min(1, T) + max(0, T - 1) + min(2, T)", "T + min(2, T)" },
    };
    struct dims *ds = dims_new();
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        CHECK(parsed(ds, pairs[i][0]) == parsed(ds, pairs[i][1]), "%s: %s", pairs[i][0],
              text(parsed(ds, pairs[i][0])));
    CHECK(dim_broadcast(ds, parsed(ds, "max(1, 2*T)"), parsed(ds, "2*T")) == parsed(ds, "2*T"),
          "one at least");
    CHECK(dim_broadcast(ds, parsed(ds, "max(2, T)"), parsed(ds, "T")) != parsed(ds, "T"),
          "two at least");
    CHECK(parsed(ds, "min(S, T) - min(S - 4, T - 3)") != parsed(ds, "4"), "not as far apart");
    CHECK(parsed(ds, "min(S, T) - max(S - 4, T - 4)") != parsed(ds, "4"), "least and most");
    CHECK(parsed(ds, "min(1, T) + max(0, T - 2)") != parsed(ds, "T - 1"), "another cut");
    CHECK(parsed(ds, "min(S, T) + max(U - S, U - T - 1)") != parsed(ds, "U"), "another block");
    CHECK(parsed(ds, "min(S, T) + 2*max(U - S, U - T)") != parsed(ds, "U"), "twice as much");
    CHECK(parsed(ds, "min(1, T) - max(0, T - 1)") != parsed(ds, "T"), "a difference");
    dims_free(ds);
}

int main(void)
{
    check_bounds_dropped();
    check_joined();
    static const struct leaves any = { { 1, 1, 1 }, { 0 } }, some = { { 6, 4, 1 }, { 0 } },
                               more = { { 6, 4, 12 }, { 5, 3, 11 } };
    test_random(-7, &any, (const char *const[]) { NULL });
    test_random(-7, &some, (const char *const[]) { "S == 6*(S/6)", "T == 4*(T/4)", NULL });
    test_random(-7, &more,
                (const char *const[]) { "S == 6*(S/6) + 5", "3 + 4*(T/4) == T", "N == 4*(N/4) + 3",
                                        "N == 6*(N/6) + 5", NULL });
    test_random(1, &more,
                (const char *const[]) { "S >= 0", "S == 6*(S/6) + 5", "T >= 1", "T == 4*(T/4) + 3",
                                        "N == 12*(N/12) + 11", "N >= 1", NULL });
    test_random(0, &any, (const char *const[]) { "S>=0", "T >= 0", "0 <= N", NULL });
    test_random(1, &any,
                (const char *const[]) { "S>=1", "T > 0", "N >= 1", "S <= 14", "T + N <= 30",
                                        NULL });
    test_same();
    test_rest_and_bound();
    test_bad_text();
    test_broadcast_words();
    test_sticky();
    test_symbols();
    test_solve_random();
    test_askers();
    test_blame();
    test_rests();
    test_equations();
    test_carry();
    test_even();
    return check_done();
}
