/* SPDX-License-Identifier: MIT */
/* Operators on numbers and lists that are known as the text is read, and casts by type names. */
#include "models/nnef/build.h"

#include <math.h>
#include <string.h>

/* integer(x), scalar(x), logical(x); row->op is the type of the engine for tensors. */
rill_status build_number(const struct call *c, struct val *ret)
{
    uint32_t w;
    enum dtype to;
    TRY(type_of_text(c, c->row->op, &to));
    TRY(arg_val(c, "x", ret));
    bool size = ret->kind == VAL_DIM && to == DTYPE_I64;
    if (size || ret->kind == VAL_WIRE || ret->kind == VAL_LIST || ret->kind == VAL_DIM) {
        if (size)
            return RILL_OK;
        TRY(val_to_wire(c->b, c->s, c->e->pos, *ret, to, &w));
        TRY(build_cast(c->b, c->s, c->e->pos, to, &w));
        *ret = val_of_wire(w);
        return RILL_OK;
    }
    if (ret->kind != VAL_INT && ret->kind != VAL_REAL && ret->kind != VAL_BOOL)
        return call_fail(c, RILL_MALFORMED, "'%s' of %s, expected a number or a tensor", c->e->text,
                         val_kind_name(*ret));
    double x = ret->kind == VAL_REAL ? ret->real : (double) ret->i;
    if (to == DTYPE_I64 && ret->kind == VAL_REAL && !(fabs(x) < 0x1p53))
        return call_fail(c, RILL_LIMIT, "'integer' of %g, which has no value of 53 bits", x);
    if (to == DTYPE_F32)
        *ret = (struct val) { .kind = VAL_REAL, .real = x };
    else if (to == DTYPE_BOOL)
        *ret = (struct val) { .kind = VAL_BOOL, .i = x != 0 };
    else
        *ret = (struct val) { .kind = VAL_INT, .i = ret->kind == VAL_REAL ? (int64_t) x : ret->i };
    return RILL_OK;
}

/* string(x) */
rill_status build_text(const struct call *c, struct val *ret)
{
    struct val v;
    TRY(arg_val(c, "x", &v));
    if (v.kind != VAL_INT && v.kind != VAL_REAL && v.kind != VAL_BOOL && v.kind != VAL_TEXT)
        return call_fail(c, RILL_MALFORMED, "'string' of %s, expected a number", val_kind_name(v));
    const char *text = v.kind == VAL_TEXT ? v.text
        : v.kind == VAL_REAL              ? arena_printf(c->b->arena, "%.9g", v.real)
        : v.kind == VAL_BOOL              ? (v.i ? "true" : "false")
                                          : arena_printf(c->b->arena, "%lld", (long long) v.i);
    *ret = (struct val) { .kind = VAL_TEXT, .text = text };
    return text ? RILL_OK : nnef_no_memory(c->b);
}

/* cast<T>(input) */
rill_status build_std_cast(const struct call *c, struct val *ret)
{
    uint32_t w;
    TRY(arg_wire(c, "input", &w));
    TRY(build_cast(c->b, c->s, c->e->pos, type_of_call(c), &w));
    *ret = val_of_wire(w);
    return RILL_OK;
}

/* The indices of a list. */
rill_status build_range_of(const struct call *c, struct val *ret)
{
    struct val v;
    TRY(arg_val(c, "items", &v));
    v = val_known(c->b, c->s, v);
    if (v.kind != VAL_LIST)
        return call_fail(c, RILL_MALFORMED, "'range_of' %s, expected a list", val_kind_name(v));
    struct val *list = arena_array(c->b->arena, struct val, (size_t) v.n + 1);
    if (!list)
        return nnef_no_memory(c->b);
    for (uint32_t i = 0; i < v.n; i++)
        list[i] = (struct val) { .kind = VAL_INT, .i = i };
    *ret = (struct val) { .kind = VAL_LIST, .n = v.n, .list = list };
    return RILL_OK;
}

/* Whether a tensor was given where a number is the default. */
rill_status build_given(const struct call *c, struct val *ret)
{
    struct val v;
    TRY(arg_val(c, "x", &v));
    *ret = (struct val) { .kind = VAL_BOOL, .i = v.kind == VAL_WIRE || v.kind == VAL_LIST };
    return RILL_OK;
}

/* Whether a number is known, and no size of the stream. */
rill_status build_known(const struct call *c, struct val *ret)
{
    struct val v;
    TRY(arg_val(c, "x", &v));
    *ret = (struct val) { .kind = VAL_BOOL, .i = v.kind == VAL_INT || v.kind == VAL_REAL };
    return RILL_OK;
}

/* The sum of a list, from its first element on. */
rill_status build_add_n(const struct call *c, struct val *ret)
{
    struct val v;
    TRY(arg_val(c, "x", &v));
    if (v.kind != VAL_LIST || !v.n)
        return call_fail(c, RILL_MALFORMED, "'%s' of %s, expected a list of at least one tensor",
                         c->e->text, v.kind == VAL_LIST ? "an empty list" : val_kind_name(v));
    *ret = v.list[0];
    for (uint32_t i = 1; i < v.n; i++)
        TRY(eval_infix(c->b, c->s, c->e->pos, "+", *ret, v.list[i], ret));
    return RILL_OK;
}

static bool are_words(struct val v)
{
    bool words = v.kind == VAL_LIST && v.n > 0;
    for (uint32_t i = 0; words && i < v.n; i++)
        words = v.list[i].kind == VAL_TEXT;
    return words;
}

/* A word that is among those that are known. */
rill_status build_only(const struct call *c, struct val *ret)
{
    struct val known;
    const char *text;
    TRY(arg_val(c, "x", ret));
    TRY(arg_text(c, "x", &text));
    TRY(arg_val(c, "known", &known));
    if (!are_words(known))
        return call_fail(c, RILL_MALFORMED, "'%s': 'known': expected a list of strings",
                         c->e->text);
    for (uint32_t i = 0; i < known.n; i++)
        if (!strcmp(known.list[i].text, text))
            return RILL_OK;
    return call_fail(c, RILL_UNSUPPORTED, "'%.40s' is not supported here, '%.40s' is", text,
                     known.list[0].text);
}
