/* SPDX-License-Identifier: MIT */
/* Builders of operators that a row of a table describes fully: its inputs, its attributes, its op.
 */
#include "models/nnef/build.h"

#include <stdio.h>
#include <string.h>

/* Takes the next word off a list such as "x, y" or "size:i hop:i"; false at its end. */
static bool next_word(const char **list, char *word, size_t cap)
{
    const char *at = *list ? *list + strspn(*list, ", ") : "";
    size_t n = strcspn(at, ", ");
    snprintf(word, cap, "%.*s", (int) n, at);
    *list = at + n;
    return n > 0;
}

static rill_status row_inputs(const struct call *c, uint32_t *in, unsigned *ret_n)
{
    char word[40];
    const char *list = c->row->inputs;
    enum dtype type = DTYPE_F32;
    for (*ret_n = 0; next_word(&list, word, sizeof word); (*ret_n)++) {
        struct val v;
        char *kind = strchr(word, ':');
        if (kind)
            *kind = 0;
        TRY(arg_val(c, word, &v));
        TRY(val_to_wire(c->b, c->s, c->e->pos, v, kind ? DTYPE_I64 : type, &in[*ret_n]));
        if (kind && dtype_is_float(wire_fact(c->s, in[*ret_n])->type))
            TRY(build_cast(c->b, c->s, c->e->pos, DTYPE_I64, &in[*ret_n]));
        type = kind ? type : wire_fact(c->s, in[*ret_n])->type;
    }
    return RILL_OK;
}

/* "name:k": parameter and attribute of one name; k is i, f, s, l or b. */
static rill_status row_attr(const struct call *c, char *word, struct attr *ret)
{
    struct builder *b = c->b;
    char kind = word[strlen(word) - 1];
    word[strlen(word) - 2] = 0;
    int64_t *list = arena_array(b->arena, int64_t, RANK_MAX);
    const char **text = arena_new(b->arena, const char *), *name = arena_string(b->arena, word);
    double real = 0;
    unsigned n = 0;
    bool truth = false;
    if (!list || !text || !name)
        return nnef_no_memory(b);
    *ret = (struct attr) { .name = name, .kind = ATTR_INT };
    switch (kind) {
    case 'i': return arg_int(c, word, &ret->i);
    case 'b':
        TRY(arg_bool(c, word, &truth));
        ret->i = truth;
        return RILL_OK;
    case 'f':
        TRY(arg_real(c, word, &real));
        ret->kind = ATTR_FLOAT;
        ret->f = (float) real;
        return RILL_OK;
    case 's':
        TRY(arg_text(c, word, text));
        ret->kind = ATTR_STRINGS;
        ret->strings = (struct attr_strings) { 1, text };
        return RILL_OK;
    default:
        TRY(arg_ints(c, word, list, RANK_MAX, &n));
        ret->kind = ATTR_INTS;
        ret->ints = (struct attr_ints) { n, list };
        return RILL_OK;
    }
}

rill_status build_row(const struct call *c, struct val *ret)
{
    uint32_t in[8], out;
    unsigned n_in, n_attrs;
    struct attr attrs[8];
    char word[40];
    const char *list = c->row->attrs;
    TRY(row_inputs(c, in, &n_in));
    for (n_attrs = 0; next_word(&list, word, sizeof word); n_attrs++)
        TRY(row_attr(c, word, &attrs[n_attrs]));
    TRY(call_node(c, c->row->op, attrs, n_attrs, in, n_in, &out));
    *ret = val_of_wire(out);
    return RILL_OK;
}

/* Element-wise with several inputs: their axes are matched from the first. */
rill_status build_aligned(const struct call *c, struct val *ret)
{
    uint32_t in[8], out;
    unsigned n_in;
    TRY(row_inputs(c, in, &n_in));
    TRY(build_align(c->b, c->s, c->e->pos, in, n_in));
    TRY(call_node(c, c->row->op, NULL, 0, in, n_in, &out));
    *ret = val_of_wire(out);
    return RILL_OK;
}

/* Sizes are whole already. */
rill_status build_rounding(const struct call *c, struct val *ret)
{
    TRY(arg_val(c, "x", ret));
    *ret = val_known(c->b, c->s, *ret);
    return ret->kind == VAL_INT || ret->kind == VAL_DIM ? RILL_OK : build_row(c, ret);
}

/* Halves go away from zero, as in tract and in C's round(); Round of the engine has them even. */
rill_status build_round(const struct call *c, struct val *ret)
{
    struct nnef_expr formula = *c->e;
    TRY(arg_val(c, "x", ret));
    *ret = val_known(c->b, c->s, *ret);
    if (ret->kind == VAL_INT || ret->kind == VAL_DIM)
        return RILL_OK;
    formula.text = c->row->op;
    return eval_expr(c->b, c->s, &formula, ret);
}

/* A condition that is known chooses here. */
rill_status build_select(const struct call *c, struct val *ret)
{
    struct val condition;
    TRY(arg_val(c, "condition", &condition));
    if (condition.kind == VAL_BOOL)
        return arg_val(c, condition.i ? "true_value" : "false_value", ret);
    return build_aligned(c, ret);
}

/* add(x, y) is x + y, numbers included; row->op is the sign. */
rill_status build_infix(const struct call *c, struct val *ret)
{
    struct val x, y;
    TRY(arg_val(c, "x", &x));
    TRY(arg_val(c, "y", &y));
    return eval_infix(c->b, c->s, c->e->pos, c->row->op, x, y, ret);
}
