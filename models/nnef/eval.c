/* SPDX-License-Identifier: MIT */
/* The tree of a text is walked: statements bind names, calls go to rows of the table of operators
 * (stdlib.c) or into fragments. */
#include "engine/base/checked.h"
#include "models/nnef/build.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define STEPS_MAX 400000u /* expressions evaluated for one graph */

/* ---- names ---- */

/* A wire of the model that is being patched. */
static rill_status model_wire(struct builder *b, struct scope *s, const struct nnef_expr *e,
                              struct val *ret)
{
    *ret = val_of_wire(graph_find_wire(s->g, e->text));
    const struct fact *f = ret->wire < s->n_model ? wire_fact(s, ret->wire) : NULL;
    if (!f)
        ret->kind = VAL_NONE;
    else if (!f->type || f->rank < 0)
        return nnef_fail(b, s, e->pos, RILL_UNSUPPORTED,
                         "'%.60s' has no known type and shape: the model cannot be typed "
                         "that far",
                         e->text);
    return RILL_OK;
}

static rill_status eval_name(struct builder *b, struct scope *s, const struct nnef_expr *e,
                             struct val *ret)
{
    const struct val *v = scope_find(s, e->text);
    if (!v)
        v = symbol_find(b, e->text);
    if (!v && s->n_model) {
        TRY(model_wire(b, s, e, ret));
        if (ret->kind == VAL_WIRE)
            return RILL_OK;
    }
    if (!v && s->makes_symbols)
        return symbol_add(b, e->text, ret);
    if (!v && !strcmp(e->text, "inf")) { /* as tract writes it */
        *ret = (struct val) { .kind = VAL_REAL, .real = INFINITY };
        return RILL_OK;
    }
    if (!v && (fragment_find(b, e->text) || b->row_find(e->text)))
        return nnef_fail(b, s, e->pos, RILL_MALFORMED,
                         "'%.60s' is an operator; expected a value or '%.60s(...)'", e->text,
                         e->text);
    if (!v)
        return nnef_fail(b, s, e->pos, RILL_MALFORMED,
                         "unknown name '%.60s', expected one that was assigned before%s", e->text,
                         s->n_model ? " or a wire of the model" : "");
    *ret = *v;
    return RILL_OK;
}

/* ---- infix on numbers ---- */

static bool is_number(struct val v)
{
    return v.kind == VAL_INT || v.kind == VAL_REAL;
}
static bool is_size(struct val v)
{
    return v.kind == VAL_INT || v.kind == VAL_DIM;
}
static double real_of(struct val v)
{
    return v.kind == VAL_REAL ? v.real : (double) v.i;
}
static struct val val_bool(bool x)
{
    return (struct val) { .kind = VAL_BOOL, .i = x };
}

static bool int_power(int64_t x, int64_t y, int64_t *ret)
{
    if (y < 0 || y > 63)
        return false;
    for (*ret = 1; y > 0; y--)
        if (!int_mul(*ret, x, ret))
            return false;
    return true;
}

static double real_add(double x, double y)
{
    return x + y;
}
static double real_sub(double x, double y)
{
    return x - y;
}
static double real_mul(double x, double y)
{
    return x * y;
}
static double real_div(double x, double y)
{
    return x / y;
}

/* NULL: not by that. */
static const struct dim *size_div(struct dims *ds, const struct dim *p, const struct dim *q)
{
    if (p == q && p && !dim_is(p, 0)) /* as often as an axis that is there is wanted */
        return dim_int(ds, 1);
    return q && dim_is_const(q) && dim_value(q) > 0 ? dim_div_int(ds, p, dim_value(q)) : NULL;
}

/* Signs of the language, and "min" and "max", which are none, by kinds of operands; NULL: not for
 * those. */
static const struct infix {
    const char *sign, *op; /* of wires */
    bool negate;
    bool (*whole)(int64_t x, int64_t y, int64_t *ret); /* false: no value */
    double (*real)(double x, double y);
    const struct dim *(*size)(struct dims *ds, const struct dim *p, const struct dim *q);
} infixes[] = {
    { "+", "Add", 0, int_add, real_add, dim_add },
    { "-", "Sub", 0, int_sub, real_sub, dim_sub },
    { "*", "Mul", 0, int_mul, real_mul, dim_mul },
    { "/", "Div", 0, int_div_floor, real_div, size_div },
    { "^", "Pow", 0, int_power, pow, NULL },
    { "min", "Min", 0, int_min, fmin, dim_min },
    { "max", "Max", 0, int_max, fmax, dim_max },
    { "<", "Less", 0, NULL, NULL, NULL },
    { ">", "Greater", 0, NULL, NULL, NULL },
    { "<=", "LessOrEqual", 0, NULL, NULL, NULL },
    { ">=", "GreaterOrEqual", 0, NULL, NULL, NULL },
    { "==", "Equal", 0, NULL, NULL, NULL },
    { "!=", "Equal", 1, NULL, NULL, NULL },
    { "&&", "And", 0, NULL, NULL, NULL },
    { "||", "Or", 0, NULL, NULL, NULL },
};

static const struct infix *infix_find(const char *sign)
{
    for (size_t i = 0; i < sizeof infixes / sizeof *infixes; i++)
        if (!strcmp(infixes[i].sign, sign))
            return &infixes[i];
    return NULL;
}

static bool compare(const char *sign, double x, double y)
{
    switch (*sign) {
    case '<': return sign[1] ? x <= y : x < y;
    case '>': return sign[1] ? x >= y : x > y;
    case '=': return x == y;
    default: return x != y;
    }
}

static bool is_compare(const char *sign)
{
    return strchr("<>", *sign) || !strcmp(sign, "==") || !strcmp(sign, "!=");
}

static bool is_logic(const char *sign)
{
    return *sign == '&' || *sign == '|';
}

static rill_status infix_refuse(struct builder *b, struct scope *s, struct nnef_pos pos,
                                const char *sign, struct val x, struct val y)
{
    return nnef_fail(b, s, pos, RILL_MALFORMED, "'%s' does not go with %s and %s", sign,
                     val_kind_name(x), val_kind_name(y));
}

static rill_status infix_numbers(struct builder *b, struct scope *s, struct nnef_pos pos,
                                 const char *sign, struct val x, struct val y, struct val *ret)
{
    if (is_compare(sign)) {
        *ret = val_bool(compare(sign, real_of(x), real_of(y)));
        return RILL_OK;
    }
    const struct infix *f = infix_find(sign);
    if (!f || !f->whole)
        return infix_refuse(b, s, pos, sign, x, y);
    if (x.kind == VAL_REAL || y.kind == VAL_REAL) {
        *ret = (struct val) { .kind = VAL_REAL, .real = f->real(real_of(x), real_of(y)) };
        return RILL_OK;
    }
    *ret = (struct val) { .kind = VAL_INT };
    if (f->whole == int_div_floor && y.i == 0)
        return nnef_fail(b, s, pos, RILL_MALFORMED, "%lld / 0 has no value", (long long) x.i);
    if (!f->whole(x.i, y.i, &ret->i))
        return nnef_fail(b, s, pos, RILL_LIMIT, "%lld %s %lld has no value of 64 bits",
                         (long long) x.i, sign, (long long) y.i);
    return RILL_OK;
}

static rill_status infix_sizes(struct builder *b, struct scope *s, struct nnef_pos pos,
                               const char *sign, struct val x, struct val y, struct val *ret)
{
    const struct infix *f = infix_find(sign);
    const struct dim *d =
        f && f->size ? f->size(b->dims, dim_of_val(b, x), dim_of_val(b, y)) : NULL;
    if (!d)
        return nnef_fail(b, s, pos, RILL_UNSUPPORTED,
                         "'%s' on symbolic sizes: only + - * and / by a positive number", sign);
    TRY(dims_status(b->dims, b->err));
    *ret = val_of_dim(d);
    return RILL_OK;
}

static bool holds_real(struct val v)
{
    bool real = v.kind == VAL_REAL;
    for (uint32_t i = 0; !real && v.kind == VAL_LIST && i < v.n; i++)
        real = holds_real(v.list[i]);
    return real;
}

/* Of two float types the one that holds both. */
static enum dtype float_wider(enum dtype a, enum dtype b)
{
    return a == DTYPE_F64 || b == DTYPE_F64 ? DTYPE_F64 : DTYPE_F32;
}

/* Integers that meet floats become floats, floats of two types the wider; a number takes the type
 * of the tensor it meets. */
static rill_status operands_build(struct builder *b, struct scope *s, struct nnef_pos pos,
                                  struct val x, struct val y, uint32_t *in)
{
    struct val known = x.kind == VAL_WIRE ? x : y, other = x.kind == VAL_WIRE ? y : x;
    enum dtype type = wire_fact(s, known.wire)->type;
    if (!dtype_is_float(type) && other.kind != VAL_WIRE && holds_real(other))
        type = DTYPE_F32;
    TRY(val_to_wire(b, s, pos, x, type, &in[0]));
    TRY(val_to_wire(b, s, pos, y, type, &in[1]));
    enum dtype types[] = { wire_fact(s, in[0])->type, wire_fact(s, in[1])->type };
    for (int i = 0; i < 2; i++)
        if (dtype_is_float(types[i]) && !dtype_is_float(types[1 - i]))
            TRY(build_cast(b, s, pos, types[i], &in[1 - i]));
    for (int i = 0; i < 2 && types[0] != types[1]; i++)
        if (dtype_is_float(types[0]) && dtype_is_float(types[1]))
            TRY(build_cast(b, s, pos, float_wider(types[0], types[1]), &in[i]));
    return RILL_OK;
}

static rill_status infix_wires(struct builder *b, struct scope *s, struct nnef_pos pos,
                               const char *sign, struct val x, struct val y, struct val *ret)
{
    const struct infix *f = infix_find(sign);
    uint32_t in[2], out;
    TRY(operands_build(b, s, pos, x, y, in));
    TRY(build_align(b, s, pos, in, 2));
    if (!f)
        return infix_refuse(b, s, pos, sign, x, y);
    TRY(build_node(b, s, pos, f->op, NULL, 0, in, 2, &out, 1));
    if (f->negate)
        TRY(build_node(b, s, pos, "Not", NULL, 0, &out, 1, &out, 1));
    *ret = val_of_wire(out);
    return RILL_OK;
}

/* What follows from what is assumed of symbols; false: it may be either. */
static bool sizes_compare(struct builder *b, const char *sign, struct val x, struct val y,
                          struct val *ret)
{
    const struct dim *p = dim_of_val(b, x), *q = dim_of_val(b, y);
    bool swap = *sign == '>', equal = *sign == '=' || *sign == '!';
    if (swap) {
        const struct dim *first = p;
        p = q;
        q = first;
    }
    /* p <= q, p < q as not p >= q, or p == q */
    const struct dim *holds = equal ? dim_eq(b->dims, p, q)
        : sign[1]                   ? dim_ge(b->dims, q, p)
                                    : dim_ge(b->dims, p, q);
    if (!holds || !dim_is_const(holds))
        return false;
    bool turned = *sign == '!' || (!equal && !sign[1]);
    *ret = val_bool(dim_is(holds, 1) != turned);
    return true;
}

/* [a, b] + [c] and [a, b] * 2, as the standard's own fragments use them. */
static rill_status infix_lists(struct builder *b, struct scope *s, struct nnef_pos pos,
                               const char *sign, struct val x, struct val y, struct val *ret)
{
    bool sum = y.kind == VAL_LIST;
    if (sum != (*sign == '+'))
        return infix_refuse(b, s, pos, sign, x, y);
    int64_t times = sum ? 1 : y.i;
    uint64_t n = (uint64_t) x.n * (uint64_t) times + (sum ? y.n : 0);
    if (times < 0 || times > STEPS_MAX || n > STEPS_MAX)
        return nnef_fail(b, s, pos, RILL_LIMIT, "a list of more than %u elements", STEPS_MAX);
    struct val *list = arena_array(b->arena, struct val, (size_t) n + 1);
    if (!list)
        return nnef_no_memory(b);
    for (uint32_t i = 0; i < x.n * (uint32_t) times; i++)
        list[i] = x.list[i % x.n];
    for (uint32_t i = 0; sum && i < y.n; i++)
        list[x.n + i] = y.list[i];
    *ret = (struct val) { .kind = VAL_LIST, .n = (uint32_t) n, .list = list };
    return RILL_OK;
}

/* Of one kind: strings, symbolic sizes or truth values. */
static bool val_same(struct val x, struct val y)
{
    if (x.kind == VAL_TEXT)
        return !strcmp(x.text, y.text);
    return x.kind == VAL_DIM ? x.dim == y.dim : x.i == y.i;
}

rill_status eval_infix(struct builder *b, struct scope *s, struct nnef_pos pos, const char *sign,
                       struct val x, struct val y, struct val *ret)
{
    if (x.kind == VAL_WIRE || y.kind == VAL_WIRE)
        return infix_wires(b, s, pos, sign, x, y, ret);
    if (is_logic(sign)) {
        if (x.kind != VAL_BOOL || y.kind != VAL_BOOL)
            return infix_refuse(b, s, pos, sign, x, y);
        *ret = val_bool(*sign == '&' ? x.i && y.i : x.i || y.i);
        return RILL_OK;
    }
    if (is_number(x) && is_number(y))
        return infix_numbers(b, s, pos, sign, x, y, ret);
    if (is_size(x) && is_size(y) && !is_compare(sign))
        return infix_sizes(b, s, pos, sign, x, y, ret);
    if (is_size(x) && is_size(y) && sizes_compare(b, sign, x, y, ret))
        return RILL_OK;
    if (x.kind == VAL_LIST && (y.kind == VAL_LIST || y.kind == VAL_INT) && strchr("+*", *sign))
        return infix_lists(b, s, pos, sign, x, y, ret);
    bool equality = sign[0] == '=' || sign[0] == '!';
    if (equality && x.kind == y.kind &&
        (x.kind == VAL_TEXT || x.kind == VAL_BOOL || x.kind == VAL_DIM)) {
        *ret = val_bool(val_same(x, y) == (sign[0] == '='));
        return RILL_OK;
    }
    return infix_refuse(b, s, pos, sign, x, y);
}

/* ---- expressions ---- */

static rill_status eval_unary(struct builder *b, struct scope *s, const struct nnef_expr *e,
                              struct val *ret)
{
    struct val x;
    TRY(eval_expr(b, s, e->part[0], &x));
    if (x.kind == VAL_WIRE && *e->text != '+') {
        uint32_t w = x.wire;
        TRY(build_node(b, s, e->pos, *e->text == '-' ? "Neg" : "Not", NULL, 0, &w, 1, &w, 1));
        *ret = val_of_wire(w);
        return RILL_OK;
    }
    *ret = x;
    if (*e->text == '!' && x.kind == VAL_BOOL)
        ret->i = !x.i;
    else if (*e->text == '-' && x.kind == VAL_REAL)
        ret->real = -x.real;
    else if (*e->text == '-' && is_size(x))
        return eval_infix(b, s, e->pos, "-", (struct val) { .kind = VAL_INT, .i = 0 }, x, ret);
    else if (*e->text != '+' || !(is_number(x) || is_size(x) || x.kind == VAL_WIRE))
        return nnef_fail(b, s, e->pos, RILL_MALFORMED, "'%s' does not go with %s", e->text,
                         val_kind_name(x));
    return RILL_OK;
}

static rill_status eval_list(struct builder *b, struct scope *s, const struct nnef_expr *e,
                             struct val *ret)
{
    struct val *list = arena_array(b->arena, struct val, (size_t) e->n_part + 1);
    if (!list)
        return nnef_no_memory(b);
    for (uint32_t i = 0; i < e->n_part; i++)
        TRY(eval_expr(b, s, e->part[i], &list[i]));
    *ret = (struct val) { .kind = VAL_LIST, .n = e->n_part, .list = list };
    return RILL_OK;
}

/* Whether one of the list's elements is x. */
static rill_status eval_in(struct builder *b, struct scope *s, struct nnef_pos pos, struct val x,
                           struct val list, struct val *ret)
{
    if (list.kind != VAL_LIST)
        return infix_refuse(b, s, pos, "in", x, list);
    *ret = val_bool(false);
    for (uint32_t i = 0; !ret->i && i < list.n; i++) {
        struct val same;
        TRY(eval_infix(b, s, pos, "==", x, list.list[i], &same));
        if (same.kind != VAL_BOOL)
            return nnef_fail(b, s, pos, RILL_UNSUPPORTED,
                             "'in' between tensors: expected what is known now");
        ret->i = same.i;
    }
    return RILL_OK;
}

/* The lists of a comprehension, which are walked side by side. */
static rill_status each_lists(struct builder *b, struct scope *s, const struct nnef_expr *e,
                              struct val *ret)
{
    for (uint32_t k = 0; k < (uint32_t) e->i; k++) {
        TRY(eval_expr(b, s, e->part[k], &ret[k]));
        ret[k] = val_known(b, s, ret[k]);
        if (ret[k].kind != VAL_LIST)
            return nnef_fail(b, s, e->part[k]->pos, RILL_MALFORMED,
                             "'for %.60s in' goes over %s, expected a list", e->arg_name[k],
                             val_kind_name(ret[k]));
        if (ret[k].n != ret[0].n)
            return nnef_fail(b, s, e->part[k]->pos, RILL_MALFORMED,
                             "'for' goes over lists of %u and %u elements side by side", ret[0].n,
                             ret[k].n);
    }
    return RILL_OK;
}

/* One element of a comprehension, whose names are bound; *ret_n counts those that are kept. */
static rill_status each_element(struct builder *b, struct scope *s, const struct nnef_expr *e,
                                struct val *list, uint32_t *ret_n)
{
    struct val keep = val_bool(true);
    if (e->n_part > e->i + 1)
        TRY(eval_expr(b, s, e->part[e->i + 1], &keep));
    if (keep.kind != VAL_BOOL)
        return nnef_fail(b, s, e->part[e->i + 1]->pos, RILL_UNSUPPORTED,
                         "the condition of 'for' is %s, expected true or false known now",
                         val_kind_name(keep));
    return keep.i ? eval_expr(b, s, e->part[e->i], &list[(*ret_n)++]) : RILL_OK;
}

static rill_status eval_each(struct builder *b, struct scope *s, const struct nnef_expr *e,
                             struct val *ret)
{
    struct val *from = arena_array(b->arena, struct val, (size_t) e->i + 1);
    if (!from)
        return nnef_no_memory(b);
    TRY(each_lists(b, s, e, from));
    struct val *list = arena_array(b->arena, struct val, (size_t) from[0].n + 1);
    if (!list)
        return nnef_no_memory(b);
    uint32_t n = 0, names = s->n_names;
    for (uint32_t i = 0; i < from[0].n; i++) {
        for (uint32_t k = 0; k < (uint32_t) e->i; k++)
            TRY(scope_bind(b, s, e->arg_name[k], from[k].list[i]));
        TRY(each_element(b, s, e, list, &n));
        s->n_names = names;
    }
    *ret = (struct val) { .kind = VAL_LIST, .n = n, .list = list };
    return RILL_OK;
}

static rill_status eval_choice(struct builder *b, struct scope *s, const struct nnef_expr *e,
                               struct val *ret)
{
    struct val c;
    TRY(eval_expr(b, s, e->part[1], &c));
    if (c.kind != VAL_BOOL)
        return nnef_fail(
            b, s, e->part[1]->pos, RILL_UNSUPPORTED,
            "the condition of 'if' is %s, expected true or false known now; between tensors use "
            "select(condition, a, b)",
            val_kind_name(c));
    return eval_expr(b, s, e->part[c.i ? 0 : 2], ret);
}

/* list[from : to] */
static rill_status eval_part(struct builder *b, struct scope *s, const struct nnef_expr *e,
                             struct val list, struct val from, struct val *ret)
{
    struct val to;
    TRY(eval_expr(b, s, e->part[2], &to));
    if (list.kind != VAL_LIST || from.kind != VAL_INT || to.kind != VAL_INT)
        return nnef_fail(b, s, e->pos, RILL_MALFORMED,
                         "%s[%s : %s]: parts are taken of lists, by integers", val_kind_name(list),
                         val_kind_name(from), val_kind_name(to));
    if (to.i == INT64_MAX)
        to.i = list.n;
    if (from.i < 0 || from.i > to.i || to.i > list.n)
        return nnef_fail(b, s, e->pos, RILL_MALFORMED, "elements %lld to %lld of a list of %u",
                         (long long) from.i, (long long) to.i, list.n);
    *ret = (struct val) { .kind = VAL_LIST,
                          .n = (uint32_t) (to.i - from.i),
                          .list = list.list + from.i };
    return RILL_OK;
}

static rill_status eval_index(struct builder *b, struct scope *s, const struct nnef_expr *e,
                              struct val *ret)
{
    struct val list, i;
    TRY(eval_expr(b, s, e->part[0], &list));
    TRY(eval_expr(b, s, e->part[1], &i));
    list = val_known(b, s, list);
    if (e->n_part == 3)
        return eval_part(b, s, e, list, i, ret);
    if (list.kind != VAL_LIST || i.kind != VAL_INT)
        return nnef_fail(b, s, e->pos, RILL_MALFORMED,
                         "%s[%s]: only lists are indexed, by integers", val_kind_name(list),
                         val_kind_name(i));
    if (i.i < 0 || i.i >= list.n)
        return nnef_fail(b, s, e->pos, RILL_MALFORMED, "index %lld of a list of %u",
                         (long long) i.i, list.n);
    *ret = list.list[i.i];
    return RILL_OK;
}

/* ---- calls ---- */

static bool fragment_is_library(const struct builder *b, const struct nnef_fragment *f)
{
    const struct nnef_fragment *x = b->formulas;
    while (x && x != f)
        x = x->next;
    return x != NULL;
}

static rill_status param_index(struct builder *b, struct scope *s, const struct nnef_expr *e,
                               const struct nnef_fragment *sig, uint32_t k, uint32_t *ret)
{
    if (!e->arg_name[k]) {
        if (k >= sig->n_params)
            return nnef_fail(b, s, e->part[k]->pos, RILL_MALFORMED,
                             "'%.60s' takes at most %u arguments", e->text, sig->n_params);
        *ret = k;
        return RILL_OK;
    }
    for (uint32_t i = 0; i < sig->n_params; i++)
        if (!strcmp(sig->params[i].name, e->arg_name[k])) {
            *ret = i;
            return RILL_OK;
        }
    char known[200] = "";
    for (uint32_t i = 0; i < sig->n_params; i++) {
        size_t n = strlen(known);
        snprintf(known + n, sizeof known - n, "%s%s", i ? ", " : "", sig->params[i].name);
    }
    return nnef_fail(b, s, e->part[k]->pos, RILL_MALFORMED,
                     "'%.60s' has no argument '%.60s', expected one of: %s", e->text,
                     e->arg_name[k], known);
}

/* Lines arguments up with parameters; NULL where the default serves. */
static rill_status args_match(struct builder *b, struct scope *s, const struct nnef_expr *e,
                              const struct nnef_fragment *sig, const struct nnef_expr ***ret)
{
    const struct nnef_expr **arg =
        arena_array(b->arena, const struct nnef_expr *, (size_t) sig->n_params + 1);
    if (!arg)
        return nnef_no_memory(b);
    for (uint32_t k = 0; k < e->n_part; k++) {
        uint32_t i = 0;
        TRY(param_index(b, s, e, sig, k, &i));
        if (arg[i])
            return nnef_fail(b, s, e->part[k]->pos, RILL_MALFORMED,
                             "'%.60s': argument '%.60s' is given twice", e->text,
                             sig->params[i].name);
        arg[i] = e->part[k];
    }
    for (uint32_t i = 0; i < sig->n_params; i++)
        if (!arg[i] && !sig->params[i].init)
            return nnef_fail(b, s, e->pos, RILL_MALFORMED, "'%.60s': argument '%.60s' is missing",
                             e->text, sig->params[i].name);
    *ret = arg;
    return RILL_OK;
}

static rill_status call_fragment(struct builder *b, struct scope *s, const struct nnef_expr *e,
                                 const struct nnef_fragment *f, struct val *ret)
{
    const struct nnef_expr **arg;
    const char *prefix =
        arena_printf(b->arena, "%s%s/", s->prefix, s->target ? s->target : f->name);
    struct scope in = { .g = s->g,
                        .prefix = prefix,
                        .file = fragment_is_library(b, f) ? "stdlib" : b->doc->file };
    struct scope none = { .g = s->g, .prefix = prefix, .file = in.file };
    struct val *results = arena_array(b->arena, struct val, f->n_results);
    if (!prefix || !results)
        return nnef_no_memory(b);
    TRY(args_match(b, s, e, f, &arg));
    for (uint32_t i = 0; i < f->n_params; i++) {
        struct val v;
        TRY(arg[i] ? eval_expr(b, s, arg[i], &v) : eval_expr(b, &none, f->params[i].init, &v));
        TRY(scope_bind(b, &in, f->params[i].name, v));
    }
    if (++b->calls > b->limits->calls)
        return nnef_fail(b, s, e->pos, RILL_LIMIT,
                         "fragments call each other more than %u deep ('%.60s')", b->limits->calls,
                         f->name);
    bool library = fragment_is_library(b, f);
    rill_status status = library ? formula_check(b, &in, s, e) : RILL_OK;
    if (status == RILL_OK) {
        status = fragment_run(b, &in, f, results);
        if (status != RILL_OK && library)
            err_prefix(b->err, status, "%s:%u:%u: '%s'", s->file, e->pos.line, e->pos.column,
                       f->name);
    }
    b->calls--;
    TRY(status);
    *ret = (struct val) { .kind = VAL_LIST, .n = f->n_results, .list = results };
    if (f->n_results == 1)
        *ret = results[0];
    return RILL_OK;
}

static rill_status call_row(struct builder *b, struct scope *s, const struct nnef_expr *e,
                            const struct nnef_row *row, struct val *ret)
{
    struct nnef_fragment sig;
    const struct nnef_expr **arg;
    TRY(nnef_parse_signature(&sig, b->arena, row->name, row->signature, b->err));
    TRY(args_match(b, s, e, &sig, &arg));
    struct call c = { .b = b, .s = s, .e = e, .row = row, .sig = &sig, .arg = arg };
    return row->build(&c, ret);
}

/* Those that tract has beside the standard's and writes without a registry. */
static bool is_plain_tract(const char *name)
{
    return !strcmp(name, "square") || !strcmp(name, "recip");
}

/* An operator of tract is known where the text declares its registry. */
static rill_status registry_check(struct builder *b, struct scope *s, const struct nnef_expr *e)
{
    if (is_plain_tract(e->text) && !comes_of_tract(b))
        return nnef_fail(b, s, e->pos, RILL_UNSUPPORTED,
                         "'%.60s' is an operator of tract, which nothing in this text names; the "
                         "standard has sqr and rcp",
                         e->text);
    if (strncmp(e->text, "tract_", 6) != 0 || speaks_tract(b) || !strcmp(s->file, "stdlib"))
        return RILL_OK;
    return nnef_fail(b, s, e->pos, RILL_MALFORMED,
                     "'%.60s' is of a registry that the text does not declare; expected "
                     "'extension tract_registry NAME;' in front",
                     e->text);
}

static rill_status eval_call(struct builder *b, struct scope *s, const struct nnef_expr *e,
                             struct val *ret)
{
    const struct nnef_fragment *f = fragment_find(b, e->text);
    const struct nnef_row *row = f ? NULL : b->row_find(e->text);
    if (row || (f && fragment_is_library(b, f)))
        TRY(registry_check(b, s, e));
    if (f)
        return call_fragment(b, s, e, f, ret);
    if (row)
        return call_row(b, s, e, row, ret);
    const char *registry = registry_of(b, e->text), *missing = missing_because(e->text);
    if (missing)
        return nnef_fail(b, s, e->pos, RILL_UNSUPPORTED, "'%.60s' is not supported: %s", e->text,
                         missing);
    return nnef_fail(b, s, e->pos, RILL_UNSUPPORTED,
                     "unknown operator '%.60s', expected a fragment of this text or a standard "
                     "operator%s%s%s",
                     e->text, registry ? "; of the registry '" : "", registry ? registry : "",
                     registry ? "' only those that docs/nnef.md lists are known" : "");
}

rill_status eval_expr(struct builder *b, struct scope *s, const struct nnef_expr *e,
                      struct val *ret)
{
    if (++b->steps > STEPS_MAX)
        return nnef_fail(b, s, e->pos, RILL_LIMIT, "more than %u expressions to evaluate",
                         STEPS_MAX);
    switch (e->kind) {
    case NNEF_EXPR_INT: *ret = (struct val) { .kind = VAL_INT, .i = e->i }; return RILL_OK;
    case NNEF_EXPR_REAL: *ret = (struct val) { .kind = VAL_REAL, .real = e->real }; return RILL_OK;
    case NNEF_EXPR_BOOL: *ret = val_bool(e->i); return RILL_OK;
    case NNEF_EXPR_TEXT: *ret = (struct val) { .kind = VAL_TEXT, .text = e->text }; return RILL_OK;
    case NNEF_EXPR_NAME: return eval_name(b, s, e, ret);
    case NNEF_EXPR_LIST:
    case NNEF_EXPR_TUPLE: return eval_list(b, s, e, ret);
    case NNEF_EXPR_UNARY: return eval_unary(b, s, e, ret);
    case NNEF_EXPR_CHOICE: return eval_choice(b, s, e, ret);
    case NNEF_EXPR_INDEX: return eval_index(b, s, e, ret);
    case NNEF_EXPR_CALL: return eval_call(b, s, e, ret);
    case NNEF_EXPR_EACH: return eval_each(b, s, e, ret);
    case NNEF_EXPR_BINARY: break;
    }
    struct val x, y;
    TRY(eval_expr(b, s, e->part[0], &x));
    TRY(eval_expr(b, s, e->part[1], &y));
    if (!strcmp(e->text, "in"))
        return eval_in(b, s, e->pos, x, y, ret);
    return eval_infix(b, s, e->pos, e->text, x, y, ret);
}

/* ---- statements ---- */

/* A wire takes the name that it is first assigned to. Names made up on the way hold a ':'. */
static rill_status wire_name(struct builder *b, struct scope *s, const char *name, uint32_t w)
{
    struct wire *wire = &s->g->wires[w];
    if (!strchr(wire->name, ':'))
        return RILL_OK;
    if (!(wire->name = arena_printf(b->arena, "%s%s", s->prefix, name)))
        return nnef_no_memory(b);
    if (wire->node != WIRE_NONE)
        s->g->nodes[wire->node].name = wire->name;
    return RILL_OK;
}

static rill_status assign(struct builder *b, struct scope *s, const struct nnef_expr *left,
                          struct val v)
{
    /* Tract writes a name again where an axis is put back. */
    if (scope_find(s, left->text) && !speaks_tract(b))
        return nnef_fail(b, s, left->pos, RILL_MALFORMED, "'%.60s' is assigned twice", left->text);
    struct quant *q = quant_find(b, s, left->text);
    if (q)
        TRY(quant_assign(b, s, q, &v));
    if (v.kind == VAL_WIRE && v.wire >= s->n_model)
        TRY(wire_name(b, s, left->text, v.wire));
    return scope_bind(b, s, left->text, v);
}

static rill_status statement_run(struct builder *b, struct scope *s,
                                 const struct nnef_statement *st)
{
    const struct nnef_expr *left = st->left;
    bool single = left->kind == NNEF_EXPR_NAME;
    struct val v;
    s->target = single ? left->text : left->part[0]->text;
    s->whole = st->right;
    TRY(eval_expr(b, s, st->right, &v));
    if (single)
        return assign(b, s, left, v);
    if (v.kind != VAL_LIST || v.n != left->n_part)
        return nnef_fail(b, s, left->pos, RILL_MALFORMED,
                         "%u names on the left, the right side gives %u", left->n_part,
                         v.kind == VAL_LIST ? v.n : 1);
    for (uint32_t i = 0; i < v.n; i++)
        TRY(assign(b, s, left->part[i], v.list[i]));
    return RILL_OK;
}

rill_status fragment_run(struct builder *b, struct scope *s, const struct nnef_fragment *f,
                         struct val *ret_results)
{
    for (uint32_t i = 0; i < f->n_body; i++)
        TRY(statement_run(b, s, &f->body[i]));
    for (uint32_t i = 0; i < f->n_results; i++) {
        const struct val *v = scope_find(s, f->results[i].name);
        if (!v)
            return nnef_fail(b, s, f->results[i].pos, RILL_MALFORMED,
                             "'%.60s' promises '%.60s', which nothing assigns", f->name,
                             f->results[i].name);
        ret_results[i] = *v;
    }
    return RILL_OK;
}
